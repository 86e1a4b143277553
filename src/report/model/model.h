/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a report: the request, the results, the evidence. Parts that only some evidence has
 * (facts, sections, charts) are stored as JSON, because JSON is how they are written out. */
#ifndef DPA_REPORT_MODEL_H
#define DPA_REPORT_MODEL_H

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "report/model/report.h"

enum { DPA__CONTRADICTIONS = 4 };

/* An assumption that the data contradict: its index in DPA_ASSUMPTION_LIST, and why. */
typedef struct dpa__contradiction {
    unsigned assumption;
    char reason[240];
} dpa__contradiction;

/* Written by the judge (src/judge/verdict.c); everything else only shows it. */
typedef struct dpa__verdict {
    int is_made; /* 0: no verdict (account, plan, …) */
    dpa_state state;
    dpa_claim claim;      /* as it was made */
    double claim_epsilon; /* what it promises at the report's δ; NaN: no claim */
    uint64_t records;     /* … for this many records at once, if more than 1 */
    dpa_scope scope;      /* of epsilon_lower */
    double epsilon_lower, confidence, p_value;
    int is_all_rejected;  /* every member of the claimed family was rejected, the claimed one
                             included */
    unsigned assumptions; /* of the deciding test */
    const char *conditional;
    int is_posterior; /* a posterior probability decided, as the protocol allows */
    dpa__contradiction contradicted[DPA__CONTRADICTIONS];
    size_t contradictions;
    double detect_worst, detect_gaussian; /* NaN: not known */
    double must_detect;
    char obstacle[240]; /* why the evidence cannot test the claim; "" if it can */
    char protocol[DPA_SHA256_SIZE];
    int is_registered, is_as_registered;
    char headline[1000];
} dpa__verdict;

struct dpa_report {
    char command[DPA_NAME_SIZE];
    char subject[256]; /* what the command was about; "" if the evidence says it */
    dpa_request request;
    dpa__verdict verdict;
    int shows_all; /* every row, not only the first six */
    dpa_results results;
    json_t *evidence; /* object: kind, facts */
    json_t *lints;    /* array of {code, text} */
    json_t *inputs;   /* array of {path, sha256} */
    json_t *sections; /* object: key → anything */
    json_t *provenance;
    json_t *notes;    /* array of sentences */
    json_t *protocol; /* the one carried out; NULL: nothing was judged */
    dpa__text lines;  /* from dpa__report_say */
};

/* The whole report as a JSON value (new reference); NULL if memory ran out. */
json_t *dpa__report_to_json(const dpa_report *report);

/* ── stored results (integrity.c) ────────────────────────────────────────────────────── */

/* Adds the digest of everything else in the result. */
dpa_status dpa__result_seal(json_t *result, dpa_error *err);
/* DPA_BAD_INPUT unless this is a result of dpaudit that is unchanged and does not contradict
 * itself. */
dpa_status dpa__result_check(const char *path, const json_t *result, dpa_error *err);

/* ── parts of reports ────────────────────────────────────────────────────────────────── */

/* Hands a report over or, if making it failed, frees it; returns the status. */
dpa_status dpa__report_end(dpa_report *report, dpa_status status, dpa_report **out);

typedef struct dpa__sample {
    const char *name; /* the key of its counts */
    const double *values;
    size_t count;
} dpa__sample;
/* Section `key`: {"edges": […], NAME: [counts], …} of the finite values, in bins of equal width, so
 * that a page of a million values stays small. Adds nothing if a sample has no finite value or if
 * all are equal. */
dpa_status dpa__section_histogram(dpa_report *report, const char *key, const dpa__sample *samples,
                                  size_t count, dpa_error *err);

/* A named extra number of a result; NaN if it has none. */
double dpa__result_extra(const dpa_result *result, const char *name);

/* The columns that a UTF-8 text takes on a terminal: continuation bytes take none. */
int dpa__shown_width(const char *text);
/* Adds the words wrapped to the width and ends the line; the first is put at `column`, the lines
 * after it are indented. */
DPA_API void dpa__print_words(dpa__text *out, const char *text, size_t length, int width,
                              int column, int indent);
/* The text in at most `width` columns; if it is longer, its beginning and its end joined by "...".
 */
void dpa__shorten(char *out, size_t size, const char *text, int width);

#endif
