/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the results of a report to its verdict. */
#ifndef DPA_JUDGE_VERDICT_H
#define DPA_JUDGE_VERDICT_H

#include "report/model.h"

/* Starts a verdict about this claim; `epsilon` is what the claim promises at the report's δ. */
void dpa__verdict_begin(dpa_report *report, const dpa_claim *claim, double epsilon);
/* Records that the data contradict an assumption of the test: the verdict will be inconclusive. */
void dpa__verdict_contradict(dpa_report *report, unsigned assumption, const char *format, ...)
    DPA_PRINTF(3, 4);
/* 1 if a deciding result exceeds the claim. */
int dpa__verdict_refutes(const dpa_report *report);
/* Sets state and headline from the results with role DPA_PRIMARY. */
dpa_status dpa__verdict_conclude(dpa_report *report, dpa_error *err) DPA_MUST_USE;

#endif
