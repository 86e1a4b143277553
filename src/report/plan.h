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

/* How precise an estimate gets: sections "precision" and "precision_curve". */
dpa_status dpa__plan_precision(dpa_report *report, const dpa_plan_query *query, dpa_error *err);

#endif
