/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files on a plan's report share. */
#ifndef DPA_REPORT_PLAN_H
#define DPA_REPORT_PLAN_H

#include "estimate/plan.h"
#include "report/model.h"
#include "report/report.h"

enum { DPA__CELL_SIZE = 32 };
/* A cell of a printed table; empty if there is no number. */
typedef struct dpa__cell {
    char text[DPA__CELL_SIZE];
} dpa__cell;
dpa__cell dpa__cell_of(const char *format, double value);

/* The families to plan for: the request's, else dp and, at δ > 0, gaussian. NULL past the last. */
const char *dpa__plan_family(const dpa_request *request, size_t index);

typedef struct dpa__plan_row {
    dpa_plan_answer needed, budget;
    dpa_plan_leak detectable;
    double most;
    dpa_plan_stops stops; /* for sequential audits; otherwise its `audits` is 0 */
} dpa__plan_row;
int dpa__plan_has_truth(const dpa_plan_query *query);
/* Computes everything but the detectable leak. */
dpa_status dpa__plan_row_compute(dpa__plan *plan, const dpa_plan_query *query, dpa__plan_row *row,
                                 dpa_error *err);
dpa_status dpa__plan_row_put(json_t *row, const dpa__plan_row *r, int with_truth, dpa_error *err);
dpa_status dpa__plan_head_say(dpa_report *report, const dpa_plan_query *query, dpa_error *err);
dpa_status dpa__plan_row_say(dpa_report *report, const dpa_plan *plan, const dpa_plan_query *query,
                             const dpa__plan_row *r, dpa_error *err);
dpa_status dpa__plan_stops_put(json_t *stops, const dpa_plan *plan, const dpa_plan_stops *s,
                               dpa_error *err);
dpa_status dpa__plan_stops_say(dpa_report *report, const json_t *stops, dpa_error *err);

/* How precise an estimate gets: sections "precision" and "precision_curve". */
dpa_status dpa__plan_precision(dpa_report *report, const dpa_plan_query *query, dpa_error *err);

#endif
