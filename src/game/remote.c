/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trainer that is another program, started once and asked many times (docs/trainer.md describes
 * the protocol). Every answer is checked before a game sees it. The trainer's own mistakes are
 * DPA_TRAINER, an outcome of the trial that asked; failures from outside are DPA_IO. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "game/command.h"
#include "game/rules.h"

typedef struct remote {
    dpa__trainer base;
    const dpa_trainer_opts *opts;
    dpa__external external;
    dpa__child child;
    char folder[DPA__ATTEMPT_SIZE]; /* for files with arrays; "": none yet */
    uint64_t id;                    /* of the last request */
    const char *call;               /* name of the last request */
    dpa_error unheard;              /* used when the caller passes no dpa_error */
} remote;

/* ---- One request, one answer ---- */

void dpa__remote_stop(dpa__trainer *trainer) {
    remote *r = (remote *)trainer;
    const pid_t process = r->child.process;
    if (process > 0) dpa__descendants_kill(process);
    dpa__child_end(&r->child, 0.0);
}

/* The trainer broke the protocol, so nothing it says afterwards can be trusted. */
static dpa_status refuse(remote *r, dpa_error *err) {
    dpa_error why = *err;
    dpa__remote_stop(&r->base);
    return dpa__fail(err, DPA_TRAINER, "request %" PRIu64 " (%s): %.380s%s%.60s", r->id, r->call,
                     why.text, why.place[0] != '\0' ? " in " : "", why.place);
}

static void begin(remote *r, dpa__text *line, const char *call) {
    r->call = call;
    dpa__text_printf(line, "{\"id\":%" PRIu64 ",\"call\":\"%s\"", ++r->id, call);
}

/* Turns the answer's {"message": …, "machine": true} into an error. */
static dpa_status fail_by(remote *r, const json_t *error, dpa_error *err) {
    const char *message = json_string_value(json_object_get(error, "message"));
    const int machine = json_is_true(json_object_get(error, "machine"));
    if (message == NULL) {
        (void)dpa__fail(err, DPA_TRAINER, "\"error\": expected {\"message\": TEXT}");
        return refuse(r, err);
    }
    return dpa__fail(err, machine ? DPA_IO : DPA_TRAINER, "request %" PRIu64 " (%s): %.400s", r->id,
                     r->call, message);
}

static dpa_status check_answer(remote *r, const json_t *answer, dpa_error *err) {
    const json_t *id = json_object_get(answer, "id");
    if (!json_is_integer(id) || json_integer_value(id) != (json_int_t)r->id) {
        char *text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
        (void)dpa__fail(err, DPA_TRAINER, "\"id\" is %.40s: expected %" PRIu64,
                        text != NULL ? text : "missing", r->id);
        free(text);
        return refuse(r, err);
    }
    const json_t *error = json_object_get(answer, "error");
    return error != NULL ? fail_by(r, error, err) : DPA_OK;
}

static dpa_status parse(remote *r, const char *line, size_t length, json_t **answer,
                        dpa_error *err) {
    dpa_error why = {0};
    *answer = NULL;
    if (dpa__json_parse("answer", line, length, answer, &why) == DPA_OK && json_is_object(*answer))
        return DPA_OK;
    json_decref(*answer);
    *answer = NULL;
    char start[61];
    size_t n = 0;
    for (; n < sizeof start - 1 && line[n] != '\0'; ++n)
        start[n] = (unsigned char)line[n] < ' ' ? '?' : line[n];
    start[n] = '\0';
    (void)dpa__fail(err, DPA_TRAINER,
                    "'%s%s' on standard output, which belongs to the protocol: expected one JSON "
                    "object a line; print to standard error",
                    start, line[n] != '\0' ? "…" : "");
    return refuse(r, err);
}

/* The first answer includes the start of the program, and imports take seconds: a `timeout` that
 * fits the trainings must not end a trainer before it has begun. */
static double patience(const remote *r) {
    const double start = 60.0;
    return strcmp(r->call, "hello") == 0 ? fmax(r->opts->timeout, start) : r->opts->timeout;
}

/* Sends the line, unless `written` says that it could not be, and frees it; the caller must
 * json_decref the answer. */
static dpa_status exchange(remote *r, dpa_status written, dpa__text *line, json_t **answer,
                           dpa_error *err) {
    char *heard;
    size_t length;
    dpa__text_add(line, "}");
    dpa_status status = written;
    if (status == DPA_OK && line->failed)
        status = dpa__fail(err, DPA_NO_MEMORY, "no memory for a request");
    if (status == DPA_OK)
        status = dpa__child_send(&r->child, line->data, line->length, patience(r), err);
    dpa__text_free(line);
    if (status == DPA_OK) status = dpa__child_hear(&r->child, patience(r), &heard, &length, err);
    if (status != DPA_OK && written == DPA_OK) {
        const dpa_error why = *err;
        return dpa__fail(err, status, "request %" PRIu64 " (%s): %.400s", r->id, r->call, why.text);
    }
    DPA_TRY(status);
    DPA_TRY(parse(r, heard, length, answer, err));
    status = check_answer(r, *answer, err);
    if (status == DPA_OK) return DPA_OK;
    json_decref(*answer);
    *answer = NULL;
    return status;
}

/* ---- Hello ---- */

static dpa_status take_levels(remote *r, const json_t *answer, dpa_error *err) {
    const json_t *levels = json_object_get(answer, "levels");
    r->base.levels = 0;
    for (size_t i = 0; i < json_array_size(levels); ++i) {
        const char *name = json_string_value(json_array_get(levels, i));
        int bit = 0;
        for (int k = 0; k < DPA__LEVELS && name != NULL; ++k)
            if (strcmp(name, dpa__level_names[k]) == 0) bit = 1 << k;
        if (bit == 0)
            return dpa__fail(err, DPA_TRAINER,
                             "\"levels\": '%.40s' is none of train, gradient, step, round, canary",
                             name != NULL ? name : "?");
        r->base.levels |= bit;
    }
    if (r->base.levels != 0) return DPA_OK;
    return dpa__fail(
        err, DPA_TRAINER,
        "\"levels\": expected a list of train, gradient, step, round, canary: what it can do");
}

/* What the trainer says about itself must agree with the experiment. */
static dpa_status take_count(const json_t *answer, const char *key, size_t *to, dpa_error *err) {
    const json_t *value = json_object_get(answer, key);
    if (value == NULL || json_is_null(value)) return DPA_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return dpa__fail(err, DPA_TRAINER, "\"%s\": expected a whole number", key);
    const size_t said = (size_t)json_integer_value(value);
    if (*to != SIZE_MAX && said < *to)
        return dpa__fail(err, DPA_TRAINER, "\"%s\" is %zu, and the experiment asks for %zu", key,
                         said, *to);
    if (*to == SIZE_MAX) *to = said;
    return DPA_OK;
}

static dpa_status take_hello(remote *r, const json_t *answer, dpa_error *err) {
    const json_t *protocol = json_object_get(answer, "protocol");
    if (!json_is_integer(protocol) || json_integer_value(protocol) != DPA__TRAINER_PROTOCOL)
        return dpa__fail(err, DPA_TRAINER, "\"protocol\": expected %d", DPA__TRAINER_PROTOCOL);
    DPA_TRY(take_levels(r, answer, err));
    DPA_TRY(take_count(answer, "points", &r->base.points, err));
    DPA_TRY(take_count(answer, "canaries", &r->base.canaries, err));
    return take_count(answer, "heldout", &r->base.heldout, err);
}

static dpa_status launch(remote *r, dpa_error *err) {
    static const char *const environment[] = {"DPAUDIT_TRAINER=1", NULL};
    if (r->folder[0] == '\0') DPA_TRY(dpa__attempt_begin(&r->external, 0, r->folder, err));
    DPA_TRY(dpa__external_confine(&r->external, err));
    const dpa__command command = {.words = r->external.words.items,
                                  .environment = environment,
                                  .folder = r->external.folder,
                                  .confine = &r->external.confine};
    return dpa__child_start(&r->child, &command, err);
}

dpa_status dpa__remote_hello(dpa__trainer *trainer, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa_error own = {0};
    if (err == NULL) err = &own;
    if (r->child.process > 0) return DPA_OK;
    DPA_TRY(launch(r, err));
    dpa__text line = {0};
    json_t *answer;
    begin(r, &line, "hello");
    dpa__text_printf(&line, ",\"protocol\":%d,\"slot\":%d,\"folder\":", DPA__TRAINER_PROTOCOL,
                     atoi(dpa__slot_name()));
    json_t *folder = dpa__json_text(r->folder);
    dpa__json_write(&line, folder, -1);
    json_decref(folder);
    DPA_TRY(exchange(r, DPA_OK, &line, &answer, err));
    const dpa_status status = take_hello(r, answer, err);
    json_decref(answer);
    return status == DPA_OK ? DPA_OK : refuse(r, err);
}

/* Begins a request that needs one of these levels. A caller without a dpa_error gets r->unheard,
 * because the error text is needed to describe the request. */
static dpa_status request(remote *r, int level, const char *call, dpa__text *line,
                          dpa_error **err) {
    if (*err == NULL) *err = &r->unheard;
    DPA_TRY(dpa__remote_hello(&r->base, *err));
    if ((r->base.levels & level) == 0)
        return dpa__fail(*err, DPA_TRAINER,
                         "the game needs `%s`, and the trainer has declared no level with it",
                         call);
    begin(r, line, call);
    return DPA_OK;
}

/* ---- The calls ---- */

static dpa_status put_order(remote *r, dpa__text *line, const dpa__order *order, dpa_error *err) {
    dpa__put_seed(line, "seed", order->seed);
    dpa__put_seed(line, "init", order->init);
    return dpa__put_ids(line, "members", order->members, order->count, r->folder, "to", err);
}

static dpa_status put_question(remote *r, dpa__text *line, const dpa__question *ask,
                               dpa_error *err) {
    dpa__text_printf(line, ",\"signal\":\"%s\",\"accuracy\":%s", dpa__signal_names[ask->signal],
                     ask->accuracy != NULL ? "true" : "false");
    return dpa__put_ids(line, "queries", ask->ids, ask->count, r->folder, "to", err);
}

/* Takes the array under a key, which must have `want` numbers. */
static dpa_status take(remote *r, const json_t *answer, const char *key, size_t want, double **out,
                       dpa_error *err) {
    size_t count = 0;
    dpa_status status = dpa__take_numbers(answer, key, r->folder, out, &count, err);
    if (status == DPA_OK && count != want) {
        status =
            dpa__fail(err, DPA_TRAINER, "\"%s\" has %zu numbers: expected %zu", key, count, want);
        free(*out);
        *out = NULL;
    }
    return status == DPA_NO_MEMORY ? status : status == DPA_OK ? DPA_OK : refuse(r, err);
}

static dpa_status take_answers(remote *r, const json_t *answer, const dpa__question *ask,
                               dpa_error *err) {
    double *signals;
    DPA_TRY(take(r, answer, "signals", ask->count, &signals, err));
    for (size_t i = 0; i < ask->count; ++i) ask->signals[i] = signals[i]; /* may be none */
    free(signals);
    if (ask->accuracy == NULL) return DPA_OK;
    const json_t *accuracy = json_object_get(answer, "accuracy");
    *ask->accuracy = json_is_number(accuracy) ? json_number_value(accuracy) : (double)NAN;
    if (*ask->accuracy >= 0.0 && *ask->accuracy <= 1.0) return DPA_OK;
    (void)dpa__fail(err, DPA_TRAINER, "\"accuracy\": expected a number from 0 to 1");
    return refuse(r, err);
}

static dpa_status ask_signals(remote *r, dpa_status written, dpa__text *line,
                              const dpa__question *ask, dpa_error *err) {
    json_t *answer;
    if (written == DPA_OK) written = put_question(r, line, ask, err);
    DPA_TRY(exchange(r, written, line, &answer, err));
    const dpa_status status = take_answers(r, answer, ask, err);
    json_decref(answer);
    return status;
}

static dpa_status train(dpa__trainer *trainer, const dpa__order *order, const dpa__question *ask,
                        dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    DPA_TRY(request(r, DPA__LEVEL_TRAIN, "train", &line, &err));
    return ask_signals(r, put_order(r, &line, order, err), &line, ask, err);
}

static dpa_status find_signals(dpa__trainer *trainer, const dpa__question *ask, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    DPA_TRY(request(r, DPA__LEVEL_STEP | DPA__LEVEL_ROUND, "signals", &line, &err));
    return ask_signals(r, DPA_OK, &line, ask, err);
}

static dpa_status take_size(remote *r, const json_t *answer, dpa_error *err) {
    const json_t *size = json_object_get(answer, "size");
    const json_int_t said = json_is_integer(size) ? json_integer_value(size) : 0;
    if (said >= 1 && said <= INT32_MAX && (r->base.size == 0 || r->base.size == (size_t)said)) {
        r->base.size = (size_t)said;
        return DPA_OK;
    }
    if (r->base.size > 0)
        (void)dpa__fail(err, DPA_TRAINER, "\"size\" is %lld: expected %zu, as before",
                        (long long)said, r->base.size);
    else
        (void)dpa__fail(err, DPA_TRAINER, "\"size\": expected the number of weights");
    return refuse(r, err);
}

static dpa_status start(dpa__trainer *trainer, const dpa__order *order, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    json_t *answer;
    DPA_TRY(request(r, ~DPA__LEVEL_TRAIN, "start", &line, &err));
    dpa__put_seed(&line, "look_seed", order->look_seed);
    DPA_TRY(exchange(r, put_order(r, &line, order, err), &line, &answer, err));
    const dpa_status status = take_size(r, answer, err);
    json_decref(answer);
    return status;
}

static dpa_status batch(dpa__trainer *trainer, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    json_t *answer;
    DPA_TRY(request(r, DPA__LEVEL_STEP | DPA__LEVEL_ROUND, "batch", &line, &err));
    dpa__text_printf(&line, ",\"look\":%s", look ? "true" : "false");
    DPA_TRY(exchange(r, DPA_OK, &line, &answer, err));
    size_t *given;
    dpa_status status = dpa__take_ids(answer, "batch", r->folder,
                                      trainer->points + trainer->canaries, &given, count, err);
    json_decref(answer);
    if (status == DPA_OK && *count > room)
        status =
            dpa__fail(err, DPA_TRAINER, "\"batch\" has %zu examples of %zu members", *count, room);
    if (status == DPA_OK) memcpy(ids, given, *count * sizeof *ids);
    free(given);
    return status == DPA_OK || status == DPA_NO_MEMORY ? status : refuse(r, err);
}

/* Writes {"places": […], "value": V}, or rows. */
static dpa_status put_extra(remote *r, dpa__text *line, const dpa__extra *e, dpa_error *err) {
    if (e->count == 0) return DPA_OK;
    if (e->place != NULL) {
        const double value = (double)e->value;
        DPA_TRY(dpa__put_ids(line, "places", e->place, e->count, r->folder, "to", err));
        return dpa__put_doubles(line, "value", &value, 1, r->folder, "to", err);
    }
    const size_t size = r->base.size;
    if (e->wide != NULL)
        return dpa__put_doubles(line, "extra", e->wide, e->count * size, r->folder, "to", err);
    float *rows = dpa__malloc(e->count, size * sizeof *rows, err);
    if (rows == NULL) return DPA_NO_MEMORY;
    for (size_t k = 0; k < e->count; ++k)
        for (size_t i = 0; i < size; ++i) rows[k * size + i] = e->value * e->row[k][i];
    const dpa_status status =
        dpa__put_floats(line, "extra", rows, e->count, size, r->folder, "to", err);
    free(rows);
    return status;
}

/* Asks for as many numbers as there are weights. */
static dpa_status ask_floats(remote *r, dpa_status written, dpa__text *line, const char *key,
                             float *out, dpa_error *err) {
    json_t *answer;
    double *items;
    DPA_TRY(exchange(r, written, line, &answer, err));
    const dpa_status status = take(r, answer, key, r->base.size, &items, err);
    json_decref(answer);
    DPA_TRY(status);
    for (size_t i = 0; i < r->base.size; ++i) out[i] = (float)items[i];
    free(items);
    return DPA_OK;
}

static dpa_status take_step(dpa__trainer *trainer, const dpa__step *step, float *sum,
                            dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    DPA_TRY(request(r, DPA__LEVEL_STEP | DPA__LEVEL_ROUND, "step", &line, &err));
    dpa__text_printf(&line, ",\"look\":%s", step->look ? "true" : "false");
    dpa_status status =
        dpa__put_ids(&line, "batch", step->batch, step->count, r->folder, "to", err);
    if (status == DPA_OK) status = put_extra(r, &line, &step->extra, err);
    return ask_floats(r, status, &line, "sum", sum, err);
}

static dpa_status find_gradient(dpa__trainer *trainer, size_t id, float *gradient, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    DPA_TRY(request(r, DPA__LEVEL_GRADIENT, "gradient", &line, &err));
    dpa__text_printf(&line, ",\"example\":%zu", id);
    return ask_floats(r, DPA_OK, &line, "gradient", gradient, err);
}

static dpa_status find_weights(dpa__trainer *trainer, float *weights, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    DPA_TRY(request(r, DPA__LEVEL_ROUND, "weights", &line, &err));
    return ask_floats(r, DPA_OK, &line, "weights", weights, err);
}

static dpa_status make_canary(dpa__trainer *trainer, dpa_game_canary kind, uint64_t seed,
                              uint64_t index, dpa_error *err) {
    remote *r = (remote *)trainer;
    dpa__text line = {0};
    json_t *answer;
    DPA_TRY(request(r, DPA__LEVEL_CANARY, "canary", &line, &err));
    dpa__put_seed(&line, "seed", seed);
    dpa__text_printf(&line, ",\"kind\":\"%s\",\"index\":%" PRIu64,
                     dpa__word_text(dpa__game_canaries, (int)kind), index);
    DPA_TRY(exchange(r, DPA_OK, &line, &answer, err));
    json_decref(answer);
    return DPA_OK;
}

/* ---- Opening and closing ----
 *
 * Python's dpaudit.run serves a trainer object of its own process. How to reach it is in the
 * environment, because it differs each time and must not be part of the trials' key. */

static void close_remote(dpa__trainer *trainer) {
    enum { GRACE = 1 };
    remote *r = (remote *)trainer;
    const pid_t process = r->child.process;
    if (process > 0) {
        dpa__child_end(&r->child, GRACE); /* closing its input asks it to end */
        dpa__descendants_kill(process);
    }
    if (r->folder[0] != '\0') dpa__attempt_end(r->folder, 0);
    dpa__external_close(&r->external);
    free(r);
}

static const dpa__trainer_calls calls = {
    .close = close_remote,
    .train = train,
    .start = start,
    .batch = batch,
    .step = take_step,
    .gradient = find_gradient,
    .signals = find_signals,
    .weights = find_weights,
    .canary = make_canary,
};

int dpa__remote_runs(const dpa__trainer *trainer) {
    return ((const remote *)trainer)->child.process > 0;
}

const char *dpa__remote_files(const dpa__trainer *trainer) {
    return ((const remote *)trainer)->external.digest;
}

dpa_status dpa__remote_new(const dpa_trainer_opts *opts, const char *path,
                           const dpa_confine *confine, dpa__trainer **out, dpa_error *err) {
    remote *r = DPA_NEW(remote, err);
    if (r == NULL) return DPA_NO_MEMORY;
    r->opts = opts;
    r->child = (dpa__child){.in = -1, .out = -1};
    r->base = (dpa__trainer){.calls = &calls,
                             .points = (size_t)opts->points,
                             .canaries = (size_t)opts->canaries,
                             .heldout = (size_t)opts->heldout,
                             .tells_accuracy = opts->accuracy,
                             .size = (size_t)opts->size};
    static const char marker[] = "trainer-of-this-process"; /* followed by a digest of its source */
    const char *here = strncmp(opts->command, marker, sizeof marker - 1) == 0
                           ? getenv("DPAUDIT_TRAINER_COMMAND")
                           : NULL;
    /* Python's dpaudit.run trains in its own process. Without it no trial can be played, so this
     * process ends with it and frees the store for the next run. */
    if (here != NULL) (void)dpa__end_with_parent(SIGTERM);
    dpa_status status =
        dpa__external_open(path, here != NULL ? here : opts->command, confine, &r->external, err);
    if (status == DPA_OK && here != NULL && dpa__confine_is_set(&r->external.confine))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "confine: the trainer is part of the Python process that called "
                                "dpaudit.run; confine that, or make the trainer a program");
    if (status == DPA_OK)
        *out = &r->base;
    else
        close_remote(&r->base);
    return status;
}
