/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a report: what was asked, what was found, what it was found in. The parts that only
 * some evidence has (facts, sections, charts) are kept as JSON, because that is how they leave. */
#ifndef DPA_REPORT_MODEL_H
#define DPA_REPORT_MODEL_H

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "dpaudit/report.h"

enum { DPA__CONTRADICTIONS = 4 };

/* An assumption that the data speak against: index of DPA_ASSUMPTION_LIST, and why. */
typedef struct dpa__contradiction {
    unsigned assumption;
    char reason[240];
} dpa__contradiction;

/* Written by the judge (src/judge/verdict.c); everybody else only draws it. */
typedef struct dpa__verdict {
    int is_made; /* 0: the report judges nothing (account, plan, …) */
    dpa_state state;
    dpa_claim claim;      /* as it was made */
    double claim_epsilon; /* what it says at the report's δ; NaN: no claim */
    dpa_scope scope;      /* of epsilon_lower */
    double epsilon_lower, confidence, p_value;
    int is_all_rejected;  /* every member of the claimed mechanism's family, the claimed one too */
    unsigned assumptions; /* of the test that decides */
    const char *conditional;
    int is_posterior; /* a posterior probability decided, because that was asked for */
    dpa__contradiction contradicted[DPA__CONTRADICTIONS];
    size_t contradictions;
    double detect_worst, detect_gaussian; /* NaN: not known */
    double must_detect;
    char obstacle[240]; /* why the evidence cannot speak about the claim; "" when it can */
    char protocol[DPA_SHA256_SIZE];
    int is_registered, is_as_registered;
    char headline[1000];
} dpa__verdict;

struct dpa_report {
    char command[DPA_NAME_SIZE];
    char subject[256]; /* what the command was about; "" where its evidence says it */
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
    json_t *protocol; /* that was carried out; NULL: nothing was judged */
    dpa__text lines;  /* of dpa_report_say */
};

/* The whole report as a JSON value (new reference), NULL when memory is out. */
json_t *dpa__report_to_json(const dpa_report *report);

/* What a result says beside its bound, by name; NaN where it does not. */
double dpa__result_extra(const dpa_result *result, const char *name);

/* Columns that a terminal shows for a UTF-8 text: continuation bytes take none. */
int dpa__shown_width(const char *text);

#endif
