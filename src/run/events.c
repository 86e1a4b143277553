/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "game/rules.h"
#include "run/schedule.h"

enum { VALUES_MOST = 16 }; /* the event of a longer trial shows only its first numbers */

dpa_status dpa__events_open(dpa__events *e, const char *path, dpa_error *err) {
    *e = (dpa__events){.fd = -1};
    if (path == NULL) return DPA_OK;
    e->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (e->fd >= 0) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, path, "cannot write events: %s", strerror(errno));
}

void dpa__events_drop(dpa__events *e) {
    if (e->waiting.failed) dpa__text_free(&e->waiting);
    e->waiting.length = 0;
}

void dpa__events_flush(dpa__events *e) {
    size_t sent = 0;
    while (e->fd >= 0 && !e->waiting.failed && sent < e->waiting.length) {
        const ssize_t n = write(e->fd, e->waiting.data + sent, e->waiting.length - sent);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) sent += (size_t)n;
    }
    dpa__events_drop(e);
}

void dpa__events_close(dpa__events *e) {
    dpa__events_flush(e);
    dpa__text_free(&e->waiting);
    if (e->fd >= 0) (void)close(e->fd);
    e->fd = -1;
}

/* Begins {"event": NAME, "time": …}; NULL if there is no events file. Members are set without
 * checking for errors, because a line without one of them is better than no run. */
static json_t *begin(const dpa__events *e, const char *name) {
    if (e->fd < 0) return NULL;
    json_t *line = json_object();
    (void)json_object_set_new(line, "event", json_string(name));
    (void)json_object_set_new(line, "time", json_real(dpa__wall_clock()));
    return line;
}

static void put_count(json_t *line, const char *key, uint64_t count) {
    (void)json_object_set_new(line, key, json_integer((json_int_t)count));
}

static void put_text(json_t *line, const char *key, const char *text) {
    (void)json_object_set_new(line, key, dpa__json_text(text));
}

static void finish(dpa__events *e, json_t *line) {
    if (line == NULL) return;
    dpa__json_write(&e->waiting, line, -1);
    dpa__text_add(&e->waiting, "\n");
    json_decref(line);
}

static void put_place(json_t *line, const dpa__events_place *place) {
    put_count(line, "stage", (uint64_t)place->stage);
    put_count(line, "stages", (uint64_t)place->stages);
    put_count(line, "done", place->done);
    put_count(line, "planned", place->planned);
}

void dpa__events_run(dpa__events *e, const dpa_game *game, uint64_t workers) {
    json_t *line = begin(e, "run");
    if (line == NULL) return;
    put_text(line, "game", dpa_game_name(game));
    if (game->experiment->path != NULL) put_text(line, "experiment", game->experiment->path);
    put_count(line, "workers", workers);
    finish(e, line);
    dpa__events_flush(e);
}

void dpa__events_stage(dpa__events *e, const dpa__events_place *place) {
    json_t *line = begin(e, "stage");
    if (line == NULL) return;
    put_place(line, place);
    finish(e, line);
    dpa__events_flush(e);
}

void dpa__events_trial(dpa__events *e, const dpa__events_place *place, const dpa__outcome *o,
                       const char *ended, const char *where) {
    json_t *line = begin(e, "trial");
    if (line == NULL) return;
    put_place(line, place);
    put_count(line, "trial", o->index);
    put_text(line, "ended", ended);
    if (o->status == DPA_OK) {
        json_t *values = json_array();
        for (size_t i = 0; i < o->values.count && i < VALUES_MOST; ++i)
            (void)json_array_append_new(values, dpa__json_number(o->values.items[i]));
        (void)json_object_set_new(line, "seconds", dpa__json_number(o->seconds));
        (void)json_object_set_new(line, "values", values);
    } else {
        put_text(line, "reason", o->error.text);
    }
    put_text(line, "place", where);
    finish(e, line);
}

void dpa__events_end(dpa__events *e, const dpa_run_summary *summary, dpa_status status) {
    json_t *line = begin(e, "end");
    if (line == NULL) return;
    const int done = status == DPA_OK && summary->missing == 0;
    put_text(line, "state", done ? "done" : "stopped");
    put_count(line, "played", summary->played);
    put_count(line, "failed_trials", summary->failed_trials);
    put_count(line, "lost_trials", summary->lost);
    (void)json_object_set_new(line, "seconds", dpa__json_number(summary->seconds));
    finish(e, line);
}
