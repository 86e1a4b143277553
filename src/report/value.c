/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading JSON of unknown shape, and what is asked of a result more than once. */
#include "report/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dpaudit/estimate.h"

const char *dpa__word_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

double dpa__number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

int dpa__is_word(const json_t *object, const char *key, const char *word) {
    return strcmp(dpa__word_of(object, key), word) == 0;
}

/* Does the bound hold on average over a prior only? */
static int is_credible(const json_t *result) {
    const json_t *assumptions = json_object_get(result, "assumptions");
    const char *prior = dpa_assumption_name(DPA_ASSUMPTION_INDEX_BAYES_PRIOR);
    for (size_t i = 0; i < json_array_size(assumptions); ++i) {
        const char *name = json_string_value(json_array_get(assumptions, i));
        if (name != NULL && strcmp(name, prior) == 0) return 1;
    }
    return 0;
}

static const json_t *strongest(const json_t *results, int credible) {
    const json_t *best = NULL;
    double largest = -INFINITY;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        const int infinite = json_is_true(json_object_get(item, "epsilon_lower_infinite"));
        const double lower = infinite ? (double)INFINITY : dpa__number_of(item, "epsilon_lower");
        if (json_is_true(json_object_get(item, "valid")) && lower > largest &&
            dpa__is_word(item, "kind", "bound") && is_credible(item) == credible) {
            largest = lower;
            best = item;
        }
    }
    return best;
}

/* As in verdict.c: a credible bound counts only where there is no other. */
const json_t *dpa__strongest_of(const json_t *results) {
    const json_t *best = strongest(results, 0);
    return best != NULL ? best : strongest(results, 1);
}

const json_t *dpa__headline_of(const json_t *results) {
    const json_t *best = dpa__strongest_of(results);
    return best != NULL ? best : json_array_get(results, 0);
}

const char *dpa__standing_of(const json_t *result) {
    if (dpa__is_word(result, "kind", "estimate")) return "estimate";
    if (!json_is_true(json_object_get(result, "valid"))) return "optimistic";
    return is_credible(result) ? "credible" : "valid";
}

/* A cut must not leave half of a UTF-8 character behind: JSON would refuse it. */
static void trim_cut_character(char *text, size_t length) {
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) --start;
    if (start == 0) return;
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (length - (start - 1) < want) text[start - 1] = '\0';
}

void dpa__result_name(const json_t *result, char *out, size_t size) {
    static const char *const keys[] = {"family", "method", "select"};
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        const char *word = dpa__word_of(result, keys[i]);
        if (word[0] == '\0' || length + 1 >= size) continue;
        length +=
            (size_t)snprintf(out + length, size - length, "%s%s", length > 0 ? " · " : "", word);
    }
    if (length >= size) trim_cut_character(out, size - 1);
}

dpa__percent dpa__percent_of(double share) {
    dpa__percent out = {""};
    const double allowed = 1e-3 * fmin(share, 1.0 - share);
    for (int digits = 4; digits <= 17 && !isnan(share); ++digits) {
        (void)snprintf(out.text, sizeof out.text, "%.*g%%", digits, 100.0 * share);
        if (fabs(strtod(out.text, NULL) / 100.0 - share) <= allowed) break;
    }
    return out;
}
