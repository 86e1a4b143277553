/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results and lists of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "estimate/estimate.h"

static const struct {
    const char *name, *text;
} assumptions[] = {
#define ROW(id, name, text) {name, text},
    DPA_ASSUMPTION_LIST(ROW)
#undef ROW
};

const char *dpa__assumption_name(unsigned index) {
    return index < DPA_ASSUMPTION_COUNT ? assumptions[index].name : NULL;
}

const char *dpa__assumption_text(unsigned index) {
    return index < DPA_ASSUMPTION_COUNT ? assumptions[index].text : NULL;
}

void dpa__result_init(dpa_result *result, const dpa_request *request) {
    *result = (dpa_result){
        .kind = DPA_BOUND,
        .epsilon = NAN,
        .epsilon_lower = NAN,
        .epsilon_upper = NAN,
        .parameter_lower = NAN,
        .parameter_upper = NAN,
        .confidence = request->confidence,
        .sides = request->sides,
        .valid = 1,
        .threshold = NAN,
        .p_value = NAN,
        .numerical_error = NAN,
    };
}

void dpa__result_add_extra(dpa_result *result, const char *name, double value) {
    if (result->extra_count == DPA_EXTRA_COUNT) return;
    dpa_extra *extra = &result->extra[result->extra_count++];
    (void)snprintf(extra->name, sizeof extra->name, "%s", name);
    extra->value = value;
}

dpa_status dpa__results_add(dpa_results *results, const dpa_result *result, dpa_error *err) {
    if (results->count == results->capacity) {
        const size_t capacity = results->capacity > 0 ? 2 * results->capacity : 8;
        dpa_result *grown = dpa__realloc(results->items, capacity, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        results->items = grown;
        results->capacity = capacity;
    }
    results->items[results->count++] = *result;
    return DPA_OK;
}

void dpa__results_free(dpa_results *results) {
    if (results == NULL) return;
    free(results->items);
    *results = (dpa_results){0};
}

dpa_guarantee dpa__result_guarantee(const dpa_result *result) {
    if (result->kind != DPA_BOUND) return DPA_ESTIMATE_ONLY;
    if (!result->valid) return DPA_OPTIMISTIC;
    return (result->assumptions & DPA_ASSUME_BAYES_PRIOR) != 0 ? DPA_POSTERIOR : DPA_CONFIDENCE;
}

const char *dpa__guarantee_name(dpa_guarantee guarantee) {
    static const char *const names[] = {"confidence", "posterior", "estimate", "optimistic"};
    return names[guarantee];
}

const char *dpa__result_conditional(const dpa_result *result) {
    static const unsigned families[] = {
        DPA_ASSUMPTION_INDEX_FAMILY_GAUSSIAN, DPA_ASSUMPTION_INDEX_FAMILY_LAPLACE,
        DPA_ASSUMPTION_INDEX_FAMILY_SUBSAMPLED, DPA_ASSUMPTION_INDEX_FAMILY_POINTS,
        DPA_ASSUMPTION_INDEX_CHANNELS};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i)
        if (result->assumptions >> families[i] & 1U) return dpa__assumption_name(families[i]);
    return NULL;
}
