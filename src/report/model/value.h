/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading JSON that anybody may have written: every function has an answer for every type. */
#ifndef DPA_REPORT_VALUE_H
#define DPA_REPORT_VALUE_H

#include <jansson.h>

/* The string under the key; "" if there is none. */
const char *dpa__word_of(const json_t *object, const char *key);
/* The number under the key; NaN if there is none. */
double dpa__number_of(const json_t *object, const char *key);
int dpa__is_word(const json_t *object, const char *key, const char *word);

/* The claim that was judged, or NULL. */
const json_t *dpa__claim_of(const json_t *result);
/* The result that decided, or NULL. */
const json_t *dpa__primary_of(const json_t *results);
/* The result that decided, else the first one: what the headline is about. */
const json_t *dpa__headline_of(const json_t *results);
/* What a result promises, in one word for tables and charts: "confidence", "posterior",
 * "optimistic" or "estimate". */
const char *dpa__standing_of(const json_t *result);
/* "gaussian · cp · split", truncated to the size. */
void dpa__result_name(const json_t *result, char *out, size_t size);

/* A share as a percentage: four digits, or more if needed to tell it from 100. */
typedef struct dpa__percent {
    char text[32];
} dpa__percent;
dpa__percent dpa__percent_of(double share);

#endif
