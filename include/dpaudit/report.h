/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was found: state, headline, every number, and the document as text, JSON or a web page.
 *
 * dpa_judge makes a report. Several threads may read one at the same time. */
#ifndef DPAUDIT_REPORT_H
#define DPAUDIT_REPORT_H

#include <stddef.h>

#include "dpaudit/export.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_report dpa_report;

/* What the deciding test says about the claim. */
typedef enum dpa_state {
    DPA_NO_CLAIM,
    DPA_NOT_REFUTED,
    DPA_REFUTED,
    DPA_INCONCLUSIVE /* the data contradict an assumption, or the test lacks the power asked for */
} dpa_state;

/* Frees the report and all that belongs to it; NULL is allowed. */
DPA_API void dpa_report_free(dpa_report *report);
/* Returns what the report says about the claim. */
DPA_API dpa_state dpa_report_state(const dpa_report *report);
/* Returns "no-claim", "not-refuted", "refuted" or "inconclusive", a constant string. */
DPA_API const char *dpa_state_name(dpa_state state);

/* ── its numbers ─────────────────────────────────────────────────────────────────────── */

/* One number with all that it stands on: a row of the table. It belongs to the report, as do the
 * texts that are asked of it. */
typedef struct dpa_result dpa_result;

/* Returns how many results there are. */
DPA_API size_t dpa_report_count(const dpa_report *report);
/* Returns the result with this index, NULL past the last. */
DPA_API const dpa_result *dpa_report_result(const dpa_report *report, size_t index);
/* Returns the result that decided, NULL if there is none. */
DPA_API const dpa_result *dpa_report_primary(const dpa_report *report);
/* Returns a number of the result by its name in the JSON output: "epsilon" (of an estimate),
 * "epsilon_lower", "epsilon_upper" (may be INFINITY), "parameter_lower", "parameter_upper",
 * "confidence", "sides", "threshold", "p_value", "numerical_error", the counts "fn", "tp", "fp" and
 * "tn", or what only some methods have ("fpr", …). NaN if it has no such number. */
DPA_API double dpa_result_number(const dpa_result *result, const char *name);
/* Returns a text of the result by its name: "family", "method", "select", "parameter" (the name of
 * the family's parameter: "mu"), "guarantee" ("confidence", "posterior", "estimate", "optimistic"),
 * "conditional" (the assumption about the mechanism that it needs), "role" ("primary", "shown"),
 * "scope", "note" (how not to read the number). "" where there is nothing to say, NULL if no text
 * has this name. */
DPA_API const char *dpa_result_text(const dpa_result *result, const char *name);
/* Returns the name of the result's assumption with this index ("independent-runs"), NULL past the
 * last. *sentence gets the words for people; it may be NULL. Both are constant strings. */
DPA_API const char *dpa_result_assumption(const dpa_result *result, size_t index,
                                          const char **sentence);

/* ── as a document ───────────────────────────────────────────────────────────────────── */

typedef struct dpa_text_style {
    int width;   /* 80 */
    int colour;  /* 0 */
    int unicode; /* 1 */
    int brief;   /* 0; 1: of the plots only the bounds */
} dpa_text_style;

/* Each of the following gives a new string in *out, to be freed with dpa_free, and returns DPA_OK
 * or DPA_NO_MEMORY. */

/* The verdict in one sentence: the first line of every output. */
DPA_API dpa_status dpa_report_headline(const dpa_report *report, char **out,
                                       dpa_error *err) DPA_MUST_USE;
/* The text that the command prints. `style` NULL: the defaults at its fields. */
DPA_API dpa_status dpa_report_text(const dpa_report *report, const dpa_text_style *style,
                                   char **out, dpa_error *err) DPA_MUST_USE;
/* The whole report as JSON, which dpa_verify checks. */
DPA_API dpa_status dpa_report_json(const dpa_report *report, char **out,
                                   dpa_error *err) DPA_MUST_USE;
/* A web page that needs no other file. */
DPA_API dpa_status dpa_report_html(const dpa_report *report, char **out,
                                   dpa_error *err) DPA_MUST_USE;
/* The verdict for CI systems, as one JUnit test case (XML). */
DPA_API dpa_status dpa_report_junit(const dpa_report *report, char **out,
                                    dpa_error *err) DPA_MUST_USE;
/* The verdict for CI systems, as one SARIF 2.1.0 finding. */
DPA_API dpa_status dpa_report_sarif(const dpa_report *report, char **out,
                                    dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
