/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reports on counts and on scores share. */
#ifndef DPA_REPORT_AUDIT_RATES_H
#define DPA_REPORT_AUDIT_RATES_H

#include "report/model.h"

/* Moves results into the report; empties the list. */
dpa_status dpa__report_take(dpa_report *report, dpa_results *results, dpa_error *err);
/* Section "posterior" of the first result by joint posterior, if there is one. */
dpa_status dpa__section_posterior(dpa_report *report, dpa_error *err);
/* Section "epsilon_delta": every bound of the report that a threshold or rank gives, at other δ. */
dpa_status dpa__section_curve(dpa_report *report, const dpa_scores *scores, dpa_error *err);
/* Section "delta_at_epsilon" and its lines, from the counts of the results or their parameter. */
dpa_status dpa__section_delta(dpa_report *report, double epsilon, dpa_error *err);
/* Sections "histogram", "roc" and "quality", and the lines on quality. */
dpa_status dpa__section_scores(dpa_report *report, const dpa_scores *scores, dpa_error *err);
/* Why the strongest bound is what it is. `scores` NULL: from the counts of the results. */
dpa_status dpa__explain(dpa_report *report, const dpa_scores *scores, dpa_error *err);

#endif
