/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trainer's end of the protocol (docs/trainer.md), for any trainer that implements
 * dpa__trainer: reads a request, makes the call, answers. Also an example of what a trainer in
 * another language has to do. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "game/rules.h"

typedef struct server {
    dpa__trainer *trainer;
    int out;
    char folder[PATH_MAX];
    size_t examples; /* number of examples that can be trained on */
} server;

static dpa_status hello(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    const char *folder = json_string_value(json_object_get(request, "folder"));
    const json_t *protocol = json_object_get(request, "protocol");
    if (!json_is_integer(protocol) || json_integer_value(protocol) != DPA__TRAINER_PROTOCOL)
        return dpa__fail(err, DPA_BAD_INPUT, "this trainer speaks protocol %d",
                         DPA__TRAINER_PROTOCOL);
    if (folder == NULL || strlen(folder) >= sizeof s->folder)
        return dpa__fail(err, DPA_BAD_INPUT, "\"folder\": expected a folder for arrays");
    (void)snprintf(s->folder, sizeof s->folder, "%s", folder);
    dpa__text_printf(line, ",\"protocol\":%d", DPA__TRAINER_PROTOCOL);
    dpa__text_printf(line, ",\"points\":%zu,\"canaries\":%zu,\"heldout\":%zu", s->trainer->points,
                     s->trainer->canaries, s->trainer->heldout);
    dpa__text_add(line, ",\"levels\":[");
    for (int k = 0, n = 0; k < DPA__LEVELS; ++k)
        if ((s->trainer->levels >> k & 1) != 0)
            dpa__text_printf(line, "%s\"%s\"", n++ > 0 ? "," : "", dpa__level_names[k]);
    dpa__text_add(line, "]");
    return DPA_OK;
}

static dpa_status take_signal(const json_t *request, dpa_trainer_signal *out, dpa_error *err) {
    const char *name = json_string_value(json_object_get(request, "signal"));
    for (int k = 0; k < 3 && name != NULL; ++k)
        if (strcmp(name, dpa__signal_names[k]) == 0) {
            *out = (dpa_trainer_signal)k;
            return DPA_OK;
        }
    return dpa__fail(err, DPA_BAD_INPUT, "\"signal\": expected confidence, loss or gradient");
}

/* `order` NULL: asks the training by steps. */
static dpa_status answer_signals(server *s, const json_t *request, const dpa__order *order,
                                 dpa__text *line, dpa_error *err) {
    size_t *ids, count;
    double accuracy = (double)NAN;
    dpa__question ask = {.accuracy = NULL};
    DPA_TRY(take_signal(request, &ask.signal, err));
    DPA_TRY(dpa__take_ids(request, "queries", s->folder, s->examples + s->trainer->heldout, &ids,
                          &count, err));
    ask.ids = ids;
    ask.count = count;
    ask.signals = DPA_NEW_ARRAY(double, count, err);
    if (json_is_true(json_object_get(request, "accuracy"))) ask.accuracy = &accuracy;
    dpa_status status = ask.signals != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK)
        status = order != NULL ? s->trainer->calls->train(s->trainer, order, &ask, err)
                               : s->trainer->calls->signals(s->trainer, &ask, err);
    if (status == DPA_OK)
        status = dpa__put_doubles(line, "signals", ask.signals, count, s->folder, "from", err);
    if (status == DPA_OK && ask.accuracy != NULL)
        dpa__text_printf(line, ",\"accuracy\":%.17g", accuracy);
    free(ask.signals);
    free(ids);
    return status;
}

static dpa_status take_order(server *s, const json_t *request, dpa__order *order, size_t **members,
                             dpa_error *err) {
    DPA_TRY(dpa__take_seed(request, "seed", &order->seed, err));
    DPA_TRY(dpa__take_seed(request, "init", &order->init, err));
    if (json_object_get(request, "look_seed") != NULL)
        DPA_TRY(dpa__take_seed(request, "look_seed", &order->look_seed, err));
    DPA_TRY(dpa__take_ids(request, "members", s->folder, s->examples, members, &order->count, err));
    order->members = *members;
    return DPA_OK;
}

static dpa_status train(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    dpa__order order = {0};
    size_t *members;
    DPA_TRY(take_order(s, request, &order, &members, err));
    const dpa_status status = answer_signals(s, request, &order, line, err);
    free(members);
    return status;
}

static dpa_status signals(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    return answer_signals(s, request, NULL, line, err);
}

static dpa_status start(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    dpa__order order = {0};
    size_t *members;
    DPA_TRY(take_order(s, request, &order, &members, err));
    const dpa_status status = s->trainer->calls->start(s->trainer, &order, err);
    free(members);
    dpa__text_printf(line, ",\"size\":%zu", s->trainer->size);
    return status;
}

static int looks(const json_t *request) {
    return json_is_true(json_object_get(request, "look"));
}

static dpa_status batch(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    size_t count = 0, *ids = DPA_NEW_ARRAY(size_t, s->examples, err);
    if (ids == NULL) return DPA_NO_MEMORY;
    dpa_status status =
        s->trainer->calls->batch(s->trainer, looks(request), s->examples, ids, &count, err);
    if (status == DPA_OK) status = dpa__put_ids(line, "batch", ids, count, s->folder, "from", err);
    free(ids);
    return status;
}

/* Memory that `extra` points to during a step. */
typedef struct extras {
    size_t *place;
    double *numbers;
    float *floats;
    const float **row;
} extras;

static void extras_free(extras *e) {
    free(e->place);
    free(e->numbers);
    free(e->floats);
    free((void *)(uintptr_t)e->row);
}

static dpa_status take_places(server *s, const json_t *request, dpa__extra *out, extras *e,
                              dpa_error *err) {
    size_t one = 0;
    DPA_TRY(
        dpa__take_ids(request, "places", s->folder, s->trainer->size, &e->place, &out->count, err));
    DPA_TRY(dpa__take_numbers(request, "value", s->folder, &e->numbers, &one, err));
    if (one != 1) return dpa__fail(err, DPA_BAD_INPUT, "\"value\": expected one number");
    out->place = e->place;
    out->value = (float)e->numbers[0];
    return DPA_OK;
}

static dpa_status take_rows(server *s, const json_t *request, dpa__extra *out, extras *e,
                            dpa_error *err) {
    size_t count;
    const size_t size = s->trainer->size;
    DPA_TRY(dpa__take_numbers(request, "extra", s->folder, &e->numbers, &count, err));
    if (count % size != 0)
        return dpa__fail(err, DPA_BAD_INPUT, "\"extra\": %zu numbers for gradients of %zu weights",
                         count, size);
    out->count = count / size;
    e->floats = DPA_NEW_ARRAY(float, count, err);
    e->row = dpa__malloc(out->count, sizeof *e->row, err);
    if (e->floats == NULL || e->row == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) e->floats[i] = (float)e->numbers[i];
    for (size_t k = 0; k < out->count; ++k) e->row[k] = e->floats + k * size;
    out->row = e->row;
    out->wide = e->numbers;
    out->value = 1.0F;
    return DPA_OK;
}

/* Answers with as many numbers as there are weights, unless they could not be found; frees them. */
static dpa_status put_floats(server *s, dpa_status found, dpa__text *line, const char *key,
                             float *floats, dpa_error *err) {
    if (found == DPA_OK)
        found = dpa__put_floats(line, key, floats, 0, s->trainer->size, s->folder, "from", err);
    free(floats);
    return found;
}

static dpa_status play_step(server *s, const json_t *request, dpa__step *taken, extras *e,
                            dpa__text *line, dpa_error *err) {
    if (json_object_get(request, "places") != NULL)
        DPA_TRY(take_places(s, request, &taken->extra, e, err));
    else if (json_object_get(request, "extra") != NULL)
        DPA_TRY(take_rows(s, request, &taken->extra, e, err));
    float *sum = DPA_NEW_ARRAY(float, s->trainer->size, err);
    if (sum == NULL) return DPA_NO_MEMORY;
    return put_floats(s, s->trainer->calls->step(s->trainer, taken, sum, err), line, "sum", sum,
                      err);
}

static dpa_status step(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    size_t *ids;
    dpa__step taken = {.look = looks(request)};
    extras e = {0};
    DPA_TRY(dpa__take_ids(request, "batch", s->folder, s->examples, &ids, &taken.count, err));
    taken.batch = ids;
    const dpa_status status = play_step(s, request, &taken, &e, line, err);
    extras_free(&e);
    free(ids);
    return status;
}

static dpa_status gradient(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    const json_t *example = json_object_get(request, "example");
    if (!json_is_integer(example) || json_integer_value(example) < 0)
        return dpa__fail(err, DPA_BAD_INPUT, "\"example\": expected the number of one");
    float *out = DPA_NEW_ARRAY(float, s->trainer->size, err);
    if (out == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        s->trainer->calls->gradient(s->trainer, (size_t)json_integer_value(example), out, err);
    return put_floats(s, status, line, "gradient", out, err);
}

static dpa_status weights(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    (void)request;
    float *out = DPA_NEW_ARRAY(float, s->trainer->size, err);
    if (out == NULL) return DPA_NO_MEMORY;
    return put_floats(s, s->trainer->calls->weights(s->trainer, out, err), line, "weights", out,
                      err);
}

static dpa_status canary(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    (void)line;
    const char *kind = json_string_value(json_object_get(request, "kind"));
    const json_t *index = json_object_get(request, "index");
    uint64_t seed;
    DPA_TRY(dpa__take_seed(request, "seed", &seed, err));
    if (!json_is_integer(index) || json_integer_value(index) < 0)
        return dpa__fail(err, DPA_BAD_INPUT, "\"index\": expected a whole number");
    const uint64_t at = (uint64_t)json_integer_value(index);
    for (const dpa__word *w = dpa__game_canaries; w->text != NULL && kind != NULL; ++w)
        if (strcmp(w->text, kind) == 0)
            return s->trainer->calls->canary(s->trainer, (dpa_game_canary)w->value, seed, at, err);
    return dpa__fail(err, DPA_BAD_INPUT, "\"kind\": there is no canary '%.40s'",
                     kind != NULL ? kind : "");
}

static const struct {
    const char *name;
    dpa_status (*answer)(server *s, const json_t *request, dpa__text *line, dpa_error *err);
} calls[] = {{"hello", hello},       {"train", train},     {"start", start},
             {"batch", batch},       {"step", step},       {"signals", signals},
             {"gradient", gradient}, {"weights", weights}, {"canary", canary}};

static dpa_status dispatch(server *s, const json_t *request, dpa__text *line, dpa_error *err) {
    const char *name = json_string_value(json_object_get(request, "call"));
    for (size_t i = 0; name != NULL && i < sizeof calls / sizeof calls[0]; ++i)
        if (strcmp(name, calls[i].name) == 0) return calls[i].answer(s, request, line, err);
    return dpa__fail(err, DPA_BAD_INPUT, "there is no call '%.40s'", name != NULL ? name : "");
}

static dpa_status send_all(const server *s, dpa__text *line, dpa_error *err) {
    dpa__text_add(line, "}\n");
    dpa_status status = DPA_OK;
    if (line->failed) status = dpa__fail(err, DPA_NO_MEMORY, "no memory for an answer");
    for (size_t sent = 0; status == DPA_OK && sent < line->length;) {
        const ssize_t n = write(s->out, line->data + sent, line->length - sent);
        if (n > 0) sent += (size_t)n;
        if (n < 0 && errno != EINTR)
            status = dpa__fail(err, DPA_IO, "nobody hears the answers: %s", strerror(errno));
    }
    dpa__text_free(line);
    return status;
}

static dpa_status put_error(dpa__text *line, const dpa_error *why, dpa_error *err) {
    json_t *text = dpa__json_text(why->text);
    if (text == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for an answer");
    const int machine = why->status == DPA_IO || why->status == DPA_NO_MEMORY;
    dpa__text_add(line, ",\"error\":{\"message\":");
    dpa__json_write(line, text, -1);
    dpa__text_printf(line, ",\"machine\":%s}", machine ? "true" : "false");
    json_decref(text);
    return DPA_OK;
}

static dpa_status answer(server *s, const char *text, size_t length, dpa_error *err) {
    json_t *request = NULL;
    dpa_error why = {0};
    dpa__text line = {0};
    long long id = -1;
    dpa_status status = dpa__json_parse("request", text, length, &request, &why);
    if (status == DPA_OK) id = json_integer_value(json_object_get(request, "id"));
    dpa__text_printf(&line, "{\"id\":%lld", id);
    const size_t begun = line.length;
    if (status == DPA_OK) status = dispatch(s, request, &line, &why);
    json_decref(request);
    if (status != DPA_OK) {
        line.length = begun;
        status = put_error(&line, &why, err);
    }
    if (status == DPA_OK) return send_all(s, &line, err);
    dpa__text_free(&line);
    return status;
}

dpa_status dpa__trainer_serve(dpa__trainer *trainer, int in, int out, dpa_error *err) {
    server s = {.trainer = trainer, .out = out, .examples = trainer->points + trainer->canaries};
    FILE *input = fdopen(in, "r");
    char *line = NULL;
    size_t room = 0;
    dpa_status status = DPA_OK;
    if (input == NULL) return dpa__fail(err, DPA_IO, "cannot read requests: %s", strerror(errno));
    for (ssize_t n; status == DPA_OK && (n = getline(&line, &room, input)) > 0;)
        status = answer(&s, line, (size_t)n, err);
    free(line);
    (void)fclose(input);
    return status;
}
