/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

const char *status_state(const dpa_run_status *s) {
    static const char *const names[] = {"not started", "running", "done", "stopped", "killed"};
    return names[s->state];
}

/* ---- Printing ---- */

typedef struct printer {
    int in_line;
} printer;

static void put(printer *p, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const char c = bytes[i];
        if (!p->in_line) (void)fputs("    | ", stdout);
        p->in_line = c != '\n';
        (void)putchar((unsigned char)c < ' ' && c != '\t' && c != '\n' ? '?' : c);
    }
}

static void end_line(printer *p) {
    if (p->in_line) (void)putchar('\n');
    p->in_line = 0;
}

void print_said(const char *said) {
    printer p = {0};
    if (said == NULL) return;
    put(&p, said, strlen(said));
    end_line(&p);
}

/* ---- A running trial ---- */

typedef struct look {
    const char *store;
    uint64_t index;
    dpa_run_status status;
    FILE *log;
    char *path; /* of the log that is open */
    printer printer;
    int stage; /* the stage that the run was in at the beginning */
    live_seen seen;
} look;

static const dpa_run_trial *running(const look *l) {
    for (size_t i = 0; i < l->status.trial_count; ++i)
        if (l->status.trials[i].index == l->index) return &l->status.trials[i];
    return NULL;
}

static void read_status(look *l) {
    if (dpa_run_status_read(l->store, &l->status, NULL) != DPA_OK)
        l->status = (dpa_run_status){.state = DPA_RUN_NONE};
}

static void say_where(look *l) {
    const dpa_run_trial *t = running(l);
    if (l->seen != LIVE_NOTHING || (t == NULL && l->log == NULL)) return;
    l->seen = LIVE_PLACE;
    (void)printf("stage %d trial %" PRIu64 ": ", l->stage + 1, l->index);
    if (l->status.state != DPA_RUN_RUNNING)
        (void)printf("not finished, the run was %s\n", status_state(&l->status));
    else if (t == NULL)
        (void)puts("running");
    else
        (void)printf("running on %s for %.3g s\n", t->place, t->seconds);
}

static void close_log(look *l) {
    if (l->log != NULL) (void)fclose(l->log);
    free(l->path);
    l->log = NULL;
    l->path = NULL;
    end_line(&l->printer);
}

static void open_log(look *l) {
    if (l->log != NULL || dpa_run_log_find(l->store, l->index, &l->path, NULL) != DPA_OK) return;
    if (l->path != NULL) l->log = fopen(l->path, "re");
    if (l->log == NULL) close_log(l);
}

/* Prints the new part of the log. If the log has become shorter, it was started over. */
static void read_log(look *l) {
    char bytes[4096];
    struct stat now;
    if (l->log == NULL) return;
    l->seen = LIVE_WORDS;
    if (fstat(fileno(l->log), &now) == 0 && now.st_size < ftello(l->log)) rewind(l->log);
    clearerr(l->log);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, l->log)) > 0;) put(&l->printer, bytes, n);
    (void)fflush(stdout);
}

/* The log is removed when its trial ends. */
static int log_is_over(const look *l) {
    struct stat open_file, named;
    return l->log != NULL &&
           (stat(l->path, &named) != 0 || fstat(fileno(l->log), &open_file) != 0 ||
            named.st_ino != open_file.st_ino);
}

typedef struct search {
    const look *l;
    int found;
} search;

static int is_it(void *user, const dpa_store_entry *e) {
    search *s = user;
    s->found = e->index == s->l->index && e->stage == s->l->stage;
    return s->found;
}

static int is_stored(const look *l) {
    dpa_store *store = NULL;
    search s = {l, 0};
    if (dpa_store_open(l->store, DPA_STORE_READ, &store, NULL) != DPA_OK) return 0;
    const dpa_status status = dpa_store_trials(store, NULL, is_it, &s, NULL);
    dpa_store_close(store);
    return status == DPA_OK && s.found;
}

static void follow_it(look *l) {
    const struct timespec nap = {0, 200000000};
    for (;;) {
        const int is_over = log_is_over(l); /* before the last look into it */
        read_log(l);
        if (is_over) close_log(l);
        read_status(l);
        if (l->status.state != DPA_RUN_RUNNING) return;
        if (l->log == NULL && running(l) == NULL && is_stored(l)) return;
        (void)nanosleep(&nap, NULL);
        open_log(l);
        say_where(l);
    }
}

live_seen live_show(const char *store, uint64_t index, int follow) {
    look l = {.store = store, .index = index};
    read_status(&l);
    l.stage = l.status.stage;
    open_log(&l);
    say_where(&l);
    read_log(&l);
    if (follow) follow_it(&l);
    close_log(&l);
    return l.seen;
}
