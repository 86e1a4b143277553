/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices of losses by a column of their table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/columns.h"
#include "evidence/losses.h"

typedef struct rows {
    dpa__columns of;
    const double *loss;
    uint8_t *member;
    size_t count;
} rows;

/* The rows of one group: members go to the front, others to the back of `value`. */
static dpa_status cut(const rows *r, const uint32_t *codes, size_t group, double *value,
                      dpa_losses *out, dpa_error *err) {
    size_t front = 0, back = r->count;
    for (size_t i = 0; i < r->count; ++i) {
        if (codes[i] != group) continue;
        if (isnan(r->loss[i]))
            return dpa__fail_line(err, DPA_BAD_INPUT, r->of.path, i + 2, 0,
                                  "loss is NaN; a number is right");
        value[r->member[i] ? front++ : --back] = r->loss[i];
    }
    *out = (dpa_losses){0};
    if (front == 0 || back == r->count) return DPA_OK; /* nothing to compare with */
    return dpa__losses_new(value, front, value + back, r->count - back, out, err);
}

static dpa_status cut_all(const rows *r, const char *column, dpa_loss_groups *out, dpa_error *err) {
    const dpa_table *table = r->of.table;
    const ptrdiff_t at = dpa__table_find(table, column);
    if (at < 0)
        return dpa__fail_line(err, DPA_BAD_INPUT, r->of.path, 1, 0, "no column '%s' to group by",
                              column);
    const size_t levels = table->column[at].levels.count;
    out->items = dpa__calloc(levels, sizeof *out->items, err);
    out->names = dpa__calloc(levels, sizeof *out->names, err);
    double *value = DPA_NEW_ARRAY(double, r->count, err);
    dpa_status status = DPA_OK;
    if (out->items == NULL || out->names == NULL || value == NULL) status = DPA_NO_MEMORY;
    for (; status == DPA_OK && out->count < levels; ++out->count) {
        status = cut(r, table->column[at].codes, out->count, value, &out->items[out->count], err);
        (void)snprintf(out->names[out->count], sizeof out->names[0], "%s",
                       dpa__levels_text(&table->column[at].levels, out->count));
    }
    free(value);
    return status;
}

dpa_status dpa__loss_groups_read(const char *path, const char *column, dpa_loss_groups *out,
                                 dpa_error *err) {
    const char *const text[] = {column, NULL};
    rows r = {.of = {.path = path, .header = "loss,member"}};
    *out = (dpa_loss_groups){0};
    DPA_TRY(dpa__columns_read(&r.of, text, err));
    r.count = r.of.table->rows;
    dpa_status status = dpa__columns_numbers(&r.of, "loss", &r.loss, err);
    if (status == DPA_OK) status = dpa__columns_answers(&r.of, "member", &r.member, err);
    if (status == DPA_OK) status = cut_all(&r, column, out, err);
    free(r.member);
    dpa__table_free(r.of.table);
    if (status != DPA_OK) dpa__loss_groups_free(out);
    return status;
}

void dpa__loss_groups_free(dpa_loss_groups *groups) {
    if (groups == NULL) return;
    for (size_t i = 0; i < groups->count; ++i) dpa__losses_free(&groups->items[i]);
    free(groups->items);
    free(groups->names);
    *groups = (dpa_loss_groups){0};
}
