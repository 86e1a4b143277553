/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading JSON of unknown shape, and questions that are asked of a result in several places. */
#include "report/model/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

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

const json_t *dpa__claim_of(const json_t *result) {
    return json_object_get(json_object_get(result, "verdict"), "claim");
}

const json_t *dpa__primary_of(const json_t *results) {
    const json_t *best = NULL;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        if (!dpa__is_word(item, "role", "primary")) continue;
        const int infinite = json_is_true(json_object_get(item, "epsilon_lower_infinite"));
        if (best == NULL || infinite ||
            dpa__number_of(item, "epsilon_lower") > dpa__number_of(best, "epsilon_lower"))
            best = item;
    }
    return best;
}

const json_t *dpa__headline_of(const json_t *results) {
    const json_t *best = dpa__primary_of(results);
    return best != NULL ? best : json_array_get(results, 0);
}

const char *dpa__standing_of(const json_t *result) {
    const char *guarantee = dpa__word_of(result, "guarantee");
    return guarantee[0] != '\0' ? guarantee : "estimate";
}

/* Truncation must not leave half of a UTF-8 character, which JSON would refuse. */
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
    const char *scope = dpa__word_of(result, "scope");
    if (scope[0] != '\0' && strcmp(scope, "training") != 0 && length + 1 < size)
        length += (size_t)snprintf(out + length, size - length, " · one %s", scope);
    if (length >= size) trim_cut_character(out, size - 1);
}

dpa__percent dpa__percent_of(double share) {
    dpa__percent out = {""};
    const double allowed = 1e-3 * fmin(share, 1.0 - share);
    for (int digits = 4; digits <= 17 && !isnan(share); ++digits) {
        (void)dpa__print(out.text, sizeof out.text, "%.*g%%", digits, 100.0 * share);
        const char *at = out.text;
        double shown = NAN;
        (void)dpa__number_parse(&at, at + strlen(at), &shown);
        if (fabs(shown / 100.0 - share) <= allowed) break;
    }
    return out;
}
