/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* by slices of the records, and the records that stand out. */
#include "judge/losses_sections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/model.h"

/* ── slices ────────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_slice(json_t *rows, const char *name, const dpa_losses *l, double epsilon,
                            double lower, dpa_error *err) {
    return DPA__JSON_ADD(rows, err, {"group", .text = name}, {"train", (double)l->train_count},
                         {"heldout", (double)l->heldout_count}, {"epsilon", epsilon},
                         {"epsilon_lower", lower});
}

/* The default method's estimate, and the bound without a fit at this slice's share of the error. */
static dpa_status slice(dpa_report *report, const char *name, const dpa_losses *l,
                        const dpa_request *request, size_t slices, json_t *rows, dpa_error *err) {
    dpa_binormal b;
    dpa_star bound;
    dpa_result r;
    if (l->train_count == 0 || l->heldout_count == 0)
        return dpa__report_say(report, err, "  group %s: left out: losses of one side only", name);
    DPA_TRY(dpa__star_binormal(l, request, &b, err));
    DPA_TRY(dpa__star_lower(l, request->delta, 1.0 - (1.0 - request->confidence) / (double)slices,
                            0, &bound, err));
    DPA_TRY(dpa__report_say(
        report, err, "  group %s: %zu training, %zu held-out losses: ε* = %.4f, at least %.4f",
        name, l->train_count, l->heldout_count, b.star.epsilon, bound.epsilon));
    DPA_TRY(put_slice(rows, name, l, b.star.epsilon, bound.epsilon, err));
    dpa__result_init(&r, request);
    (void)snprintf(r.method, sizeof r.method, "simultaneous");
    (void)snprintf(r.select, sizeof r.select, "group %.30s", name);
    r.epsilon_lower = bound.epsilon;
    r.sides = 1;
    r.valid = 1;
    r.threshold = bound.threshold;
    r.assumptions = DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES;
    r.numerical_error = 1e-9;
    (void)snprintf(r.note, sizeof r.note,
                   "about the records of this group, in this one model; the "
                   "bounds of all groups hold together");
    return dpa__report_add(report, &r, err);
}

dpa_status dpa__losses_slices(dpa_report *report, const char *path, const char *column,
                              const dpa_request *request, json_t *section, dpa_error *err) {
    dpa_loss_groups groups;
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "groups", rows, err));
    DPA_TRY(dpa__loss_groups_read(path, column, &groups, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < groups.count && status == DPA_OK; ++i)
        status = slice(report, groups.names[i], &groups.items[i], request, groups.count, rows, err);
    dpa__loss_groups_free(&groups);
    return status;
}

/* ── records ───────────────────────────────────────────────────────────────────────────────── */

static const double RATE = 0.1;

static dpa_status put_record(json_t *rows, const dpa_loss_record *r, dpa_error *err) {
    return DPA__JSON_ADD(rows, err, {"record", (double)r->number}, {"loss", r->loss},
                         {"p_value", r->p_value}, {"q_value", r->q_value});
}

static dpa_status say_records(dpa_report *report, const dpa_losses *l, const dpa_loss_record *r,
                              size_t count, size_t found, json_t *section, dpa_error *err) {
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "records", rows, err));
    DPA_TRY(dpa__json_put(section, "records_found", (double)found, err));
    DPA_TRY(
        dpa__report_say(report, err,
                        "  %zu of %zu training records stand out from held-out ones (at most 10%% "
                        "of them by chance)",
                        found, l->train_count));
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(put_record(rows, &r[i], err));
        DPA_TRY(dpa__report_say(report, err, "  record %zu: loss %.6g, p %.3g, q %.3g", r[i].number,
                                r[i].loss, r[i].p_value, r[i].q_value));
    }
    return DPA_OK;
}

dpa_status dpa__losses_records(dpa_report *report, const dpa_losses *l, size_t most,
                               json_t *section, dpa_error *err) {
    size_t count, found;
    dpa_loss_record *records = DPA_NEW_ARRAY(dpa_loss_record, most, err);
    if (records == NULL) return DPA_NO_MEMORY;
    dpa_status status =
        dpa__loss_records(l->train_rows, l->train_count, l->heldout, l->heldout_count, RATE,
                          records, most, &count, &found, err);
    if (status == DPA_OK) status = say_records(report, l, records, count, found, section, err);
    free(records);
    return status;
}
