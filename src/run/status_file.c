/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STORE.status.json: how far a run is, readable from anywhere. SQLite's log can be read only on the
 * machine that writes it; this file is replaced as a whole and needs no lock to be read. Times are
 * seconds since 1970 on the machine of the run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "run/schedule.h"

static const double silence = 30.0; /* seconds without a word after which a run elsewhere is gone */

double dpa__wall_clock(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static dpa_status name_of(const char *store, const char *end, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_printf(&text, "%s.status.json%s", store, end);
    return dpa__text_take(&text, out, err);
}

/* ---- Writing ---- */

static json_t *pack_trials(const dpa_run_status *s) {
    json_t *all = json_array();
    for (size_t i = 0; i < s->trial_count && all != NULL; ++i) {
        const dpa_run_trial *t = &s->trials[i];
        (void)json_array_append_new(
            all, json_pack("{s:I, s:f, s:s, s:f, s:f}", "trial", (json_int_t)t->index, "seconds",
                           t->seconds, "place", t->place, "done", t->done, "total", t->total));
    }
    return all;
}

static json_t *pack(const dpa_run_status *s, const char *host) {
    return json_pack(
        "{s:i, s:I, s:s, s:f, s:f, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
        "s:f, "
        "s:o, s:s, s:o}",
        "state", (int)s->state, "process", (json_int_t)getpid(), "host", host, "started",
        s->started, "updated", dpa__wall_clock(), "stage", s->stage, "stages", s->stages, "planned",
        (json_int_t)s->planned, "done", (json_int_t)s->stored, "played", (json_int_t)s->played,
        "failed_attempts", (json_int_t)s->failed, "running", (json_int_t)s->running, "workers",
        (json_int_t)s->workers, "failed_trials", (json_int_t)s->failed_trials, "lost_trials",
        (json_int_t)s->lost, "recent", (json_int_t)s->recent, "recent_since", s->recent_since,
        "ended", s->ended, "trial_seconds", dpa__json_number(s->trial_seconds), "quarantine",
        s->quarantine, "trials", pack_trials(s));
}

/* Best effort: a failure here must not affect the run. */
void dpa__status_write(const char *store, const dpa_run_status *now) {
    char host[64] = "", *name = NULL, *part = NULL;
    (void)gethostname(host, sizeof host - 1);
    json_t *json = pack(now, host);
    if (json != NULL && name_of(store, "", &name, NULL) == DPA_OK &&
        name_of(store, ".part", &part, NULL) == DPA_OK &&
        (json_dump_file(json, part, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
         rename(part, name) != 0))
        (void)unlink(part);
    json_decref(json);
    free(name);
    free(part);
}

/* ---- Reading ---- */

static double get_number(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static uint64_t get_count(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    const json_int_t count = json_is_integer(value) ? json_integer_value(value) : 0;
    return count > 0 ? (uint64_t)count : 0;
}

static void get_text(const json_t *json, const char *key, char *out, size_t size) {
    const char *value = json_string_value(json_object_get(json, key));
    (void)snprintf(out, size, "%s", value != NULL ? value : "");
}

static void unpack_trials(const json_t *all, dpa_run_status *out) {
    for (size_t i = 0; i < json_array_size(all) && i < DPA_RUN_LISTED; ++i) {
        const json_t *from = json_array_get(all, i);
        dpa_run_trial *to = &out->trials[out->trial_count++];
        to->index = get_count(from, "trial");
        to->seconds = get_number(from, "seconds");
        to->done = get_number(from, "done");
        to->total = get_number(from, "total");
        get_text(from, "place", to->place, sizeof to->place);
    }
}

static void unpack(const json_t *json, dpa_run_status *out) {
    const uint64_t state = get_count(json, "state");
    *out =
        (dpa_run_status){.state = state <= DPA_RUN_KILLED ? (dpa_run_state)state : DPA_RUN_STOPPED};
    out->process = (int64_t)get_count(json, "process");
    get_text(json, "host", out->host, sizeof out->host);
    out->started = get_number(json, "started");
    out->updated = get_number(json, "updated");
    out->stage = (int)get_count(json, "stage");
    out->stages = (int)get_count(json, "stages");
    out->planned = get_count(json, "planned");
    out->stored = get_count(json, "done");
    out->played = get_count(json, "played");
    out->failed = get_count(json, "failed_attempts");
    out->running = get_count(json, "running");
    out->workers = get_count(json, "workers");
    out->failed_trials = get_count(json, "failed_trials");
    out->lost = get_count(json, "lost_trials");
    out->recent = get_count(json, "recent");
    out->recent_since = get_number(json, "recent_since");
    out->ended = get_number(json, "ended");
    out->trial_seconds = get_number(json, "trial_seconds");
    get_text(json, "quarantine", out->quarantine, sizeof out->quarantine);
    unpack_trials(json_object_get(json, "trials"), out);
}

/* Detects a run that was killed: on this machine by its lock, on another one by its silence. */
static void look_for_death(const char *store, int is_here, double now, dpa_run_status *s) {
    if (s->state != DPA_RUN_RUNNING) return;
    if (is_here ? dpa__store_is_locked(store) : now - s->updated < silence) return;
    s->state = DPA_RUN_KILLED;
    s->running = 0;
    s->trial_count = 0;
}

/* Fills in what depends on the time of looking: `left`, `stalled`, the age of trials. */
static void judge_status(double now, dpa_run_status *s) {
    s->left = (double)NAN;
    s->stalled = 0;
    if (s->state != DPA_RUN_RUNNING) return;
    const double quiet = now - fmax(s->ended, s->started);
    for (size_t i = 0; i < s->trial_count; ++i) s->trials[i].seconds += fmax(0.0, now - s->updated);
    if (s->recent == 0 || !(s->ended > 0.0)) return;
    /* Time without progress counts too, so that a run that hangs does not show "about 2 s left" for
     * ever. */
    const double each = (now - s->recent_since) / (double)s->recent;
    s->left = (double)(s->planned - s->stored) * each;
    s->stalled =
        quiet >
        5.0 * fmax(s->trial_seconds, (s->ended - s->recent_since) / (double)s->recent) + 1.0;
}

static dpa_status from_store(const char *path, dpa_run_status *out, dpa_error *err) {
    dpa_store *store = NULL;
    DPA_TRY(dpa_store_open(path, DPA_STORE_READ, &store, err));
    dpa_status status = dpa_store_check(store, err);
    if (status == DPA_OK) status = dpa_store_status(store, out, err);
    dpa_store_close(store);
    return status;
}

dpa_status dpa_run_status_read(const char *store, dpa_run_status *out, dpa_error *err) {
    char host[64] = "", *name = NULL;
    json_t *json = NULL;
    *out = (dpa_run_status){0};
    DPA_TRY(name_of(store, "", &name, err));
    const int is_there =
        access(name, R_OK) == 0 && dpa__json_read(name, &json, NULL, NULL) == DPA_OK;
    free(name);
    if (!is_there) return from_store(store, out, err);
    unpack(json, out);
    json_decref(json);
    (void)gethostname(host, sizeof host - 1);
    const int is_here = strcmp(host, out->host) == 0;
    const double now = dpa__wall_clock();
    look_for_death(store, is_here, now, out);
    judge_status(now, out);
    if (!is_here || out->state == DPA_RUN_RUNNING) return DPA_OK;
    dpa_run_status stored; /* nobody writes it; checks that it is complete */
    return from_store(store, &stored, err);
}
