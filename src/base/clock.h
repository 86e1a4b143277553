/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A clock that only goes forward, whatever happens to the date. */
#ifndef DPA_BASE_CLOCK_H
#define DPA_BASE_CLOCK_H

#include <time.h>

/* Seconds since some moment, for differences. */
static inline double dpa__clock(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void dpa__sleep(double seconds) {
    const struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    (void)nanosleep(&t, NULL);
}

#endif
