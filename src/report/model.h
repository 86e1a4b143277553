/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a report: what was asked, what was found, what it was found in. The parts that only
 * some evidence has (facts, sections, charts) are kept as JSON, because that is how they leave. */
#ifndef DPA_REPORT_MODEL_H
#define DPA_REPORT_MODEL_H

#include <jansson.h>

#include "base/text.h"
#include "dpaudit/report.h"

struct dpa_report {
    char command[DPA_NAME_SIZE];
    char subject[256];         /* what the command was about; "" where its evidence says it */
    char scope[DPA_NAME_SIZE]; /* what claim and bounds are about; "": all that is audited */
    dpa_request request;
    dpa_results results;
    json_t *evidence; /* object: kind, facts */
    json_t *lints;    /* array of {code, text} */
    json_t *inputs;   /* array of {path, sha256} */
    json_t *sections; /* object: key → anything */
    json_t *provenance;
    json_t *notes;   /* array of sentences */
    dpa__text lines; /* of dpa_report_say */
};

/* Steals `value`; an allocation that failed on the way shows as DPA_NO_MEMORY. */
dpa_status dpa__json_set(json_t *object, const char *key, json_t *value, dpa_error *err);
dpa_status dpa__json_append(json_t *array, json_t *value, dpa_error *err);
/* A number under a key, as dpa__json_number has it. */
dpa_status dpa__json_put(json_t *object, const char *key, double value, dpa_error *err);
/* A number as JSON has it: null for NaN and infinities. */
json_t *dpa__json_number(double value);
/* Text from outside may be any bytes; JSON wants UTF-8, so what is not becomes '?'. */
json_t *dpa__json_text(const char *text);
/* JSON text with the shortest digits that read back as the same double. */
void dpa__json_write(dpa__text *out, const json_t *value, int indent);
/* The whole report as a JSON value (new reference), NULL when memory is out. */
json_t *dpa__report_to_json(const dpa_report *report);
/* The shortest %g text that gives the same double back. */
void dpa__number_text(double value, char *out, size_t size);

/* What a result says beside its bound, by name; NaN where it does not. */
double dpa__result_extra(const dpa_result *result, const char *name);

/* Columns that a terminal shows for a UTF-8 text: continuation bytes take none. */
int dpa__shown_width(const char *text);

/* The δ at which the claim was made. */
double dpa__claim_delta(const dpa_request *request);
/* A report about a claim alone (account, calibrate) has nothing to judge. */
int dpa__has_verdict(const dpa_report *report);
/* Can the report's δ say anything about the claim? (ε,δ)-DP implies (ε,δ′)-DP for δ′ ≥ δ only. */
int dpa__claim_is_comparable(const dpa_request *request);
/* May this result decide the verdict? Valid bounds do; credible ones (with a prior) only among
 * themselves. */
int dpa__decides(const dpa_report *report, const dpa_result *result);
int dpa__refutes(const dpa_report *report, const dpa_result *result);

#endif
