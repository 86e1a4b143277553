/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dominating pair from a file: masses (or densities between edges) of P and Q, as the arrays `p`
 * and `q` (and `edges`) of an NPZ or the same keys of a JSON object. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "account/event.h"
#include "base/data.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

typedef struct column {
    double *value;
    size_t count;
} column;

typedef struct columns {
    column p, q, edges;
} columns;

static void columns_free(columns *c) {
    free(c->p.value);
    free(c->q.value);
    free(c->edges.value);
}

static dpa_status from_npz(const char *path, const char *name, column *out, dpa_error *err) {
    dpa_array array;
    DPA_TRY(dpa__doubles_read(path, name, &array, err));
    if (array.ndim != 1) {
        dpa__array_free(&array);
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "'%s' is not a list of numbers", name);
    }
    out->value = array.data;
    out->count = array.count;
    return DPA_OK;
}

static dpa_status from_json(const char *path, const json_t *object, const char *name, column *out,
                            dpa_error *err) {
    const json_t *list = json_object_get(object, name);
    if (!json_is_array(list))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "'%s' is not a list of numbers", name);
    out->count = json_array_size(list);
    out->value = DPA_NEW_ARRAY(double, out->count, err);
    if (out->value == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < out->count; ++i) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_number(item))
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "'%s': item %zu is not a number", name,
                                  i + 1);
        out->value[i] = json_number_value(item);
    }
    return DPA_OK;
}

static dpa_status read_npz(const char *path, columns *c, dpa_error *err) {
    DPA_TRY(from_npz(path, "p", &c->p, err));
    DPA_TRY(from_npz(path, "q", &c->q, err));
    return dpa__npz_has(path, "edges") ? from_npz(path, "edges", &c->edges, err) : DPA_OK;
}

static dpa_status read_object(const char *path, const json_t *object, columns *c, dpa_error *err) {
    DPA_TRY(from_json(path, object, "p", &c->p, err));
    DPA_TRY(from_json(path, object, "q", &c->q, err));
    if (json_object_get(object, "edges") == NULL) return DPA_OK;
    return from_json(path, object, "edges", &c->edges, err);
}

/* Densities that are constant between edges become masses. */
static dpa_status to_masses(const char *path, columns *c, dpa_error *err) {
    if (c->p.count != c->q.count)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "p has %zu numbers and q %zu", c->p.count,
                              c->q.count);
    if (c->edges.value == NULL) return DPA_OK;
    if (c->edges.count != c->p.count + 1)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "%zu edges around %zu densities; there must be one more",
                              c->edges.count, c->p.count);
    for (size_t i = 0; i < c->p.count; ++i) {
        const double width = c->edges.value[i + 1] - c->edges.value[i];
        if (!(width > 0))
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "edge %zu is not above the one before",
                                  i + 2);
        c->p.value[i] *= width;
        c->q.value[i] *= width;
    }
    return DPA_OK;
}

static dpa_status finish(const char *path, columns *c, dpa_pair **out, dpa_error *err) {
    DPA_TRY(to_masses(path, c, err));
    dpa_error inner;
    const dpa_status status = dpa_pair_new(c->p.value, c->q.value, c->p.count, out, &inner);
    if (status == DPA_OK) return DPA_OK;
    return dpa__fail_file(err, status, path, "%s", inner.text);
}

dpa_status dpa__pair_from_json(const char *path, const json_t *object, dpa_pair **out,
                               dpa_error *err) {
    columns c = {0};
    *out = NULL;
    dpa_status status = read_object(path, object, &c, err);
    if (status == DPA_OK) status = finish(path, &c, out, err);
    columns_free(&c);
    return status;
}

dpa_status dpa_pair_read(const char *path, dpa_pair **out, dpa_error *err) {
    *out = NULL;
    if (!dpa__npz_has(path, "p")) {
        json_t *object;
        DPA_TRY(dpa__json_read(path, &object, NULL, err));
        const dpa_status status = dpa__pair_from_json(path, object, out, err);
        json_decref(object);
        return status;
    }
    columns c = {0};
    dpa_status status = read_npz(path, &c, err);
    if (status == DPA_OK) status = finish(path, &c, out, err);
    columns_free(&c);
    return status;
}
