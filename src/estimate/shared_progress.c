/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that work on one part and report to one progress call, one at a time. */
#include "base/error.h"
#include "estimate/epsilon_star.h"

dpa_status dpa__watch_init(dpa__watch *watch, const dpa_progress *progress, const char *what,
                           double total, dpa_error *err) {
    *watch = (dpa__watch){.progress = progress, .what = what, .total = total};
    if (pthread_mutex_init(&watch->lock, NULL) != 0)
        return dpa__fail(err, DPA_INTERNAL, "%s: no lock", what);
    return DPA_OK;
}

int dpa__watch_count(dpa__watch *watch) {
    if (watch->progress->call == NULL) return 0;
    (void)pthread_mutex_lock(&watch->lock);
    watch->done += 1.0;
    const int stop =
        watch->progress->call(watch->progress->user, watch->what, watch->done, watch->total);
    (void)pthread_mutex_unlock(&watch->lock);
    return stop;
}

void dpa__watch_free(dpa__watch *watch) {
    (void)pthread_mutex_destroy(&watch->lock);
}
