/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models and checkpoints: an NPZ file whose member `header` holds the bytes of a JSON object, so
 * that numpy can read everything (json.loads(bytes(f["header"]))). A step depends only on options,
 * step number, weights, velocity and average, so saving these is enough to resume. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/trainer.h"

static json_t *model_header(const dpa_model *m) {
    return json_pack("{s:s, s:s, s:[I,I,I], s:I, s:s}", "dpaudit", dpa_version(), "layers",
                     m->layers, "input", (json_int_t)m->input.height, (json_int_t)m->input.width,
                     (json_int_t)m->input.channels, "classes", (json_int_t)m->classes, "loss",
                     m->loss == DPA_LOSS_BINARY ? "binary" : "softmax");
}

/* Everything that a step depends on, with numbers as exact texts. */
static json_t *options_header(const dpa_trainer *t) {
    const dpa_train_opts *o = &t->opts;
    json_t *out = json_object();
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"q", t->sampler.q},
                   {"rate", o->rate},
                   {"momentum", o->momentum},
                   {"decay", o->decay},
                   {"rate_factor", o->rate_factor},
                   {"clip", o->clip},
                   {"sigma", o->sigma},
                   {"average_decay", o->average_decay}};
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"seed", o->seed},
                  {"sampling", (uint64_t)o->sampling},
                  {"batch", o->batch},
                  {"steps", o->steps},
                  {"schedule", (uint64_t)o->schedule},
                  {"rate_every", o->rate_every},
                  {"warmup", o->warmup},
                  {"microbatch", o->microbatch},
                  {"augment", o->augment},
                  {"shift", o->shift},
                  {"flip", (uint64_t)(o->flip != 0)},
                  {"averaging", (uint64_t)o->averaging},
                  {"average_from", o->average_from},
                  {"chunk", o->chunk},
                  {"members", t->sampler.members},
                  {"rows", t->data->rows}};
    char text[40];
    int failed = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        (void)dpa__print(text, sizeof text, "%.17g", numbers[i].value);
        failed |= json_object_set_new(out, numbers[i].name, json_string(text));
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)counts[i].value);
        failed |= json_object_set_new(out, counts[i].name, json_string(text));
    }
    if (!failed) return out;
    json_decref(out);
    return NULL;
}

static dpa_array floats(float *data, size_t count) {
    return (dpa_array){.dtype = DPA_F32, .ndim = 1, .shape = {count}, .count = count, .data = data};
}

static const char *const names[] = {"header", "weights", "velocity", "mean"};

/* Writes the first `count` of `names`, arrays[0] being the header, the reference to which it
 * steals. */
static dpa_status write_npz(const char *path, json_t *header, dpa_array *arrays, size_t count,
                            dpa_error *err) {
    char *text = header != NULL ? json_dumps(header, JSON_INDENT(1)) : NULL;
    json_decref(header);
    if (text == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a header");
    const size_t length = strlen(text);
    arrays[0] =
        (dpa_array){.dtype = DPA_U8, .ndim = 1, .shape = {length}, .count = length, .data = text};
    const dpa_status status = dpa__npz_write(path, names, arrays, count, err);
    free(text);
    return status;
}

static dpa_status read_header(const char *path, json_t **out, dpa_error *err) {
    dpa_array bytes = {0};
    DPA_TRY(dpa__array_read(path, "header", &bytes, err));
    json_t *header = NULL;
    dpa_status status = DPA_OK;
    if (bytes.dtype == DPA_U8)
        status = dpa__json_parse(path, bytes.data, bytes.count, &header, err);
    dpa__array_free(&bytes);
    DPA_TRY(status);
    if (!json_is_object(header)) {
        json_decref(header);
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "the header is not a JSON object");
    }
    *out = header;
    return DPA_OK;
}

/* Reads a member that must hold exactly `count` finite floats. */
static dpa_status read_floats(const char *path, const char *member, size_t count, float *out,
                              dpa_error *err) {
    dpa_array array = {0};
    DPA_TRY(dpa__array_read(path, member, &array, err));
    dpa_status status = DPA_OK;
    if (array.dtype != DPA_F32 || array.count != count)
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "%s: %zu numbers of type %s, expected %zu of type float32", member,
                                array.count, dpa__dtype_name(array.dtype), count);
    const float *values = array.data;
    for (size_t i = 0; status == DPA_OK && i < count; ++i)
        if (!isfinite(values[i]))
            status =
                dpa__fail_file(err, DPA_BAD_INPUT, path, "%s: number %zu is not finite", member, i);
    if (status == DPA_OK) memcpy(out, values, count * sizeof *out);
    dpa__array_free(&array);
    return status;
}

dpa_status dpa_model_save(const dpa_model *model, const char *path, dpa_error *err) {
    dpa_array arrays[] = {{0}, floats(model->weight, model->size)};
    return write_npz(path, model_header(model), arrays, 2, err);
}

dpa_status dpa_trainer_save(const dpa_trainer *t, const char *path, dpa_error *err) {
    json_t *header = model_header(t->model);
    if (json_object_set_new(header, "step", json_integer((json_int_t)t->step)) != 0 ||
        json_object_set_new(header, "options", options_header(t)) != 0) {
        json_decref(header);
        header = NULL;
    }
    const size_t size = t->model->size;
    dpa_array arrays[] = {
        {0}, floats(t->model->weight, size), floats(t->velocity, size), floats(t->mean, size)};
    return write_npz(path, header, arrays, t->mean != NULL ? 4 : 3, err);
}

/* Fails if the headers differ; the message names the first differing key. */
static dpa_status check_same(const char *path, json_t *want, json_t *got, dpa_error *err) {
    const char *key;
    json_t *value;
    json_object_foreach(want, key, value) {
        if (strcmp(key, "dpaudit") == 0) continue;
        json_t *other = json_object_get(got, key);
        if (json_equal(value, other)) continue;
        if (json_is_object(value) && json_is_object(other))
            return check_same(path, value, other, err);
        char *a = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        char *b = other != NULL ? json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        const dpa_status status = dpa__fail_file(
            err, DPA_BAD_INPUT, path, "the checkpoint has %s %.100s, this run has %.100s", key,
            b != NULL ? b : "nothing", a != NULL ? a : "?");
        free(a);
        free(b);
        return status;
    }
    return DPA_OK;
}

static dpa_status resume(dpa_trainer *t, const char *path, json_t *header, dpa_error *err) {
    json_t *want = model_header(t->model);
    const json_t *step = json_object_get(header, "step");
    dpa_status status = json_object_set_new(want, "options", options_header(t)) == 0
                            ? check_same(path, want, header, err)
                            : dpa__fail(err, DPA_NO_MEMORY, "no memory for a header");
    json_decref(want);
    if (status == DPA_OK && (!json_is_integer(step) || json_integer_value(step) < 0))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "the header does not say after how many steps it was written");
    /* Read everything first, so that a damaged file leaves the trainer unchanged. */
    const size_t size = t->model->size, parts = t->mean != NULL ? 3 : 2;
    float *const to[] = {t->model->weight, t->velocity, t->mean};
    float *copy = status == DPA_OK ? DPA_NEW_ARRAY(float, parts *size, err) : NULL;
    if (status == DPA_OK && copy == NULL) status = DPA_NO_MEMORY;
    for (size_t i = 0; i < parts && status == DPA_OK; ++i)
        status = read_floats(path, names[i + 1], size, copy + i * size, err);
    for (size_t i = 0; i < parts && status == DPA_OK; ++i)
        memcpy(to[i], copy + i * size, size * sizeof *copy);
    if (status == DPA_OK) t->step = (uint64_t)json_integer_value(step);
    free(copy);
    return status;
}

dpa_status dpa_trainer_resume(dpa_trainer *t, const char *path, dpa_error *err) {
    json_t *header = NULL;
    DPA_TRY(read_header(path, &header, err));
    const dpa_status status = resume(t, path, header, err);
    json_decref(header);
    return status;
}
