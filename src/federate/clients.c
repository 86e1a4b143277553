/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which client owns which rows: given by a number for each row, dealt out at random, or read. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "federate/federation.h"

typedef struct owned {
    double owner;
    size_t row;
} owned;

static int by_owner(const void *a, const void *b) {
    const owned *x = a, *y = b;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Cuts `list`, which is sorted by owner, into one piece per client. */
static dpa_status cut(dpa_clients *c, const owned *list, size_t count, dpa_error *err) {
    c->start = DPA_NEW_ARRAY(size_t, count + 1, err);
    c->row = DPA_NEW_ARRAY(size_t, count, err);
    if (c->start == NULL || c->row == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        if (i == 0 || list[i].owner != list[i - 1].owner) c->start[c->count++] = i;
        c->row[i] = list[i].row;
    }
    c->start[c->count] = count;
    return DPA_OK;
}

dpa_status dpa_clients_new(const double *owner, size_t rows, dpa_clients **out, dpa_error *err) {
    owned *list = DPA_NEW_ARRAY(owned, rows, err);
    dpa_clients *c = list != NULL ? DPA_NEW(dpa_clients, err) : NULL;
    dpa_status status = c != NULL ? DPA_OK : DPA_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < rows && status == DPA_OK; ++i)
        if (!isnan(owner[i])) list[count++] = (owned){owner[i], i};
    if (status == DPA_OK && count == 0)
        status = dpa__fail(err, DPA_BAD_INPUT, "no clients: no row has an owner");
    if (status == DPA_OK) {
        qsort(list, count, sizeof *list, by_owner);
        status = cut(c, list, count, err);
    }
    free(list);
    if (status == DPA_OK)
        *out = c;
    else
        dpa_clients_free(c);
    return status;
}

void dpa_clients_free(dpa_clients *c) {
    if (c == NULL) return;
    free(c->start);
    free(c->row);
    free(c);
}

size_t dpa_clients_count(const dpa_clients *c) {
    return c->count;
}

const size_t *dpa_clients_rows(const dpa_clients *c, size_t client, size_t *count) {
    *count = c->start[client + 1] - c->start[client];
    return c->row + c->start[client];
}

/* ---- Dirichlet ---- */

/* log of a gamma variate of shape a, scale 1: Marsaglia and Tsang 2000 for shape a + 1, times
 * u^(1/a). Computed in logs, because for small a the variates underflow. */
static double log_gamma_variate(dpa_rng *rng, double a) {
    const double d = a + 1.0 - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        const double z = dpa__rng_normal(rng), v = 1.0 + c * z, u = dpa__rng_uniform(rng);
        if (v <= 0.0) continue;
        const double v3 = v * v * v;
        if (log(u) < 0.5 * z * z + d - d * v3 + d * log(v3))
            return log(d * v3) + log(dpa__rng_uniform(rng)) / a;
    }
}

/* share[0..clients): the cumulative shares of one class; the last one is 1. */
static void draw_shares(dpa_rng *rng, double concentration, size_t clients, double *share) {
    double largest = -(double)INFINITY, total = 0.0;
    for (size_t i = 0; i < clients; ++i) {
        share[i] = log_gamma_variate(rng, concentration);
        if (share[i] > largest) largest = share[i];
    }
    for (size_t i = 0; i < clients; ++i) total += share[i] = exp(share[i] - largest);
    double sum = 0.0;
    for (size_t i = 0; i < clients; ++i) {
        sum += share[i] / total;
        share[i] = sum;
    }
    share[clients - 1] = 1.0;
}

/* Deals out the rows of class k: puts them in random order and cuts at the cumulative shares. */
static void deal_class(const dpa_dataset *data, size_t k, dpa_rng *rng, const double *share,
                       size_t *row, double *owner) {
    const size_t rows = dpa_dataset_rows(data);
    size_t count = 0, client = 0;
    for (size_t i = 0; i < rows; ++i)
        if ((size_t)dpa_dataset_label(data, i) == k) row[count++] = i;
    dpa__rng_shuffle(rng, row, count);
    for (size_t i = 0; i < count; ++i) {
        while (((double)i + 0.5) / (double)count > share[client]) ++client;
        owner[row[i]] = (double)client;
    }
}

dpa_status dpa_clients_dirichlet(const dpa_dataset *data, size_t clients, double concentration,
                                 uint64_t seed, dpa_clients **out, dpa_error *err) {
    const size_t rows = dpa_dataset_rows(data);
    if (clients < 1 || clients > rows)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu clients: expected 1 to the number of rows, %zu", clients, rows);
    if (!(concentration > 0.0 && isfinite(concentration)))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "concentration %g: expected more than 0",
                         concentration);
    double *share = DPA_NEW_ARRAY(double, clients, err);
    double *owner = DPA_NEW_ARRAY(double, rows, err);
    size_t *row = DPA_NEW_ARRAY(size_t, rows, err);
    dpa_status status = DPA_NO_MEMORY;
    if (share != NULL && owner != NULL && row != NULL) {
        for (size_t k = 0; k < dpa_dataset_classes(data); ++k) {
            dpa_rng rng;
            dpa__rng_init(&rng, seed, DPA_PURPOSE_SPLIT, k);
            draw_shares(&rng, concentration, clients, share);
            deal_class(data, k, &rng, share, row, owner);
        }
        status = dpa_clients_new(owner, rows, out, err);
    }
    free(share);
    free(owner);
    free(row);
    return status;
}

/* ---- From a file: an array, a column of one, or a column of a table ---- */

static dpa_status check_rows(const char *path, size_t found, size_t rows, dpa_error *err) {
    if (found == rows) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "%zu rows of owners, the data have %zu", found,
                          rows);
}

static dpa_status from_table(const char *path, const char *column, size_t rows, dpa_clients **out,
                             dpa_error *err) {
    dpa_table *table;
    DPA_TRY(dpa__table_read(path, NULL, &table, err));
    const ptrdiff_t at = dpa__table_find(table, column);
    dpa_status status = check_rows(path, table->rows, rows, err);
    if (status == DPA_OK && at < 0)
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "no column '%s'", column);
    double *owner = status == DPA_OK ? DPA_NEW_ARRAY(double, rows, err) : NULL;
    if (status == DPA_OK && owner == NULL) status = DPA_NO_MEMORY;
    if (status == DPA_OK) {
        const double *number = table->column[at].numbers;
        const uint32_t *code = table->column[at].codes;
        for (size_t i = 0; i < rows; ++i) owner[i] = number != NULL ? number[i] : (double)code[i];
        status = dpa_clients_new(owner, rows, out, err);
    }
    free(owner);
    dpa__table_free(table);
    return status;
}

/* column < 0: the array must have one column only. */
static dpa_status from_array(const char *path, dpa_array *array, long column, size_t rows,
                             dpa_clients **out, dpa_error *err) {
    DPA_TRY(dpa__array_to_double(array, err));
    const size_t width = array->ndim == 2 ? array->shape[1] : 1;
    if (array->ndim != (column < 0 ? 1U : 2U))
        return dpa__fail_file(
            err, DPA_BAD_INPUT, path, "an array of %u dimensions, expected %s", array->ndim,
            column < 0 ? "one number for each row (or say which column)" : "rows × columns");
    if (column >= 0 && (size_t)column >= width)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "column %ld of %zu (from 0)", column,
                              width);
    DPA_TRY(check_rows(path, array->shape[0], rows, err));
    double *owner = array->data;
    if (column > 0 || width > 1)
        for (size_t i = 0; i < rows; ++i) owner[i] = owner[i * width + (size_t)column];
    return dpa_clients_new(owner, rows, out, err);
}

dpa_status dpa_clients_read(const char *path, const char *column, size_t rows, dpa_clients **out,
                            dpa_error *err) {
    const int is_number = column != NULL && *column != '\0' &&
                          strspn(column, "0123456789") == strlen(column) && strlen(column) < 10;
    if (column != NULL && !is_number) return from_table(path, column, rows, out, err);
    dpa_array array = {0};
    DPA_TRY(dpa__array_read(path, NULL, &array, err));
    const dpa_status status =
        from_array(path, &array, is_number ? strtol(column, NULL, 10) : -1, rows, out, err);
    dpa__array_free(&array);
    return status;
}
