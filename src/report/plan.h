/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two halves of a plan's report share. */
#ifndef DPA_REPORT_PLAN_H
#define DPA_REPORT_PLAN_H

#include "dpaudit/report.h"
#include "report/model.h"

enum { DPA__CELL_SIZE = 32 };
/* A cell of a table for people: empty where there is no number. */
typedef struct dpa__cell {
    char text[DPA__CELL_SIZE];
} dpa__cell;
dpa__cell dpa__cell_of(const char *format, double value);

dpa_status dpa__json_put(json_t *row, const char *key, double value, dpa_error *err);
/* Families of a request that names none: dp and gaussian. NULL past the last. */
const char *dpa__plan_family(const dpa_request *request, size_t index);

/* How precise an estimate gets: sections "precision" and "precision_curve". */
dpa_status dpa__plan_precision(dpa_report *report, const dpa_plan_query *query, dpa_error *err);

#endif
