/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/live_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "dpaudit/lab/run.h"
#include "run/scratch.h"

/* A trainer may write for weeks, so a log that reaches this many bytes starts over. */
enum { LOG_MOST = 1 << 20 };

static int path_of(const dpa__live_log *log, char path[PATH_MAX]) {
    const int n = snprintf(path, PATH_MAX, "%s/%zu/trial-%" PRIu64 ".log", log->scratch, log->slot,
                           log->index);
    return n > 0 && n < PATH_MAX;
}

static void begin(dpa__live_log *log) {
    char path[PATH_MAX];
    if (!path_of(log, path)) return;
    (void)mkdir(log->scratch, 0777);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0777);
    *slash = '/';
    log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    log->is_open = log->fd >= 0;
    log->size = 0;
}

void dpa__live_log_add(dpa__live_log *log, const char *bytes, size_t count) {
    if (!log->is_open) begin(log);
    if (!log->is_open) return;
    if (log->size > LOG_MOST && ftruncate(log->fd, 0) == 0) log->size = 0;
    const ssize_t written = write(log->fd, bytes, count);
    if (written > 0) log->size += (size_t)written;
}

void dpa__live_log_end(dpa__live_log *log) {
    char path[PATH_MAX];
    if (!log->is_open) return;
    (void)close(log->fd);
    log->is_open = 0;
    if (path_of(log, path)) (void)unlink(path);
}

/* ---- Reading a log of another process ---- */

typedef struct search {
    uint64_t index;
    dpa__text found;
} search;

static void look_into(void *user, const char *folder, long rank) {
    search *s = user;
    (void)rank;
    DIR *all = opendir(folder);
    if (all == NULL) return;
    for (const struct dirent *e; s->found.length == 0 && (e = readdir(all)) != NULL;) {
        char path[PATH_MAX], *end;
        const dpa__live_log log = {
            .scratch = folder, .slot = strtoul(e->d_name, &end, 10), .index = s->index};
        if (end == e->d_name || *end != '\0' || !path_of(&log, path)) continue;
        if (access(path, R_OK) == 0) dpa__text_add(&s->found, path);
    }
    (void)closedir(all);
}

dpa_status dpa_run_log_find(const char *store, uint64_t index, char **out, dpa_error *err) {
    search s = {.index = index};
    *out = NULL;
    dpa__scratch_list(store, look_into, &s);
    return s.found.length > 0 || s.found.failed ? dpa__text_take(&s.found, out, err) : DPA_OK;
}
