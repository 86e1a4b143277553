/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/scratch.h"

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
#include "base/write.h"
#include "dpaudit/lab/run.h"

static const char ending[] = ".scratch", rank_ending[] = ".rank";

dpa_status dpa__scratch_name(const char *store, int rank, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_printf(&text, "%s%s", store, ending);
    if (rank > 0) dpa__text_printf(&text, "%s%d", rank_ending, rank);
    return dpa__text_take(&text, out, err);
}

/* The rank whose folder has this name; −1 if it does not belong to this store. */
static long rank_of(const char *name, const char *base) {
    const size_t length = strlen(base), end = sizeof ending - 1, more = sizeof rank_ending - 1;
    if (strncmp(name, base, length) != 0 || strncmp(name + length, ending, end) != 0) return -1;
    name += length + end;
    if (name[0] == '\0') return 0;
    if (strncmp(name, rank_ending, more) != 0) return -1;
    return strtol(name + more, NULL, 10);
}

void dpa__scratch_list(const char *store, dpa__scratch_visit *visit, void *user) {
    const char *slash = strrchr(store, '/');
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    DIR *all = dpa__folder_of(store, folder, sizeof folder) ? opendir(folder) : NULL;
    if (all == NULL) return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        const long rank = rank_of(e->d_name, slash != NULL ? slash + 1 : store);
        if (rank < 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        visit(user, path, rank);
    }
    (void)closedir(all);
}

/* ---- Logs of running trials ---- */

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
