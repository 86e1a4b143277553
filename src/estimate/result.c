/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results and lists of them; requests. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
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
    dpa_result *items =
        dpa__grown(results->items, results->count, &results->capacity, sizeof *items, err);
    if (items == NULL) return DPA_NO_MEMORY;
    results->items = items;
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

/* A request: defaults, fields from text, ranges. The command line and Python both use this code, so
 * that a wrong value is refused in one place with one wording. */

void dpa__request_init(dpa_request *request) {
    *request = (dpa_request){
        .delta = 1e-5,
        .confidence = 0.95,
        .sides = 1,
        .claim_epsilon = NAN,
        .claim_delta = NAN,
        .seed = 1,
    };
}

double dpa__claim_delta(const dpa_request *request) {
    return isnan(request->claim_delta) ? request->delta : request->claim_delta;
}

static const dpa__key keys[] = {
    DPA__KEY(NUMBER, "delta", dpa_request, delta),
    DPA__KEY(NUMBER, "confidence", dpa_request, confidence),
    DPA__KEY(NUMBER, "claim-epsilon", dpa_request, claim_epsilon),
    DPA__KEY(NUMBER, "claim-delta", dpa_request, claim_delta),
    DPA__KEY(TEXT, "family", dpa_request, family),
    DPA__KEY(TEXT, "method", dpa_request, method),
    DPA__KEY(TEXT, "select", dpa_request, select),
    DPA__KEY(COUNT, "seed", dpa_request, seed),
    DPA__KEY_OF(COUNT, "threads", dpa_request, threads, .most = 4096),
    {0},
};

dpa_status dpa__request_set(dpa_request *request, const char *key, const char *value,
                            dpa_error *err) {
    if (strcmp(key, "one-sided") == 0 || strcmp(key, "two-sided") == 0) {
        request->sides = key[0] == 'o' ? 1 : 2;
        return DPA_OK;
    }
    DPA_TRY(dpa__keys_set(keys, request, key, value, err));
    return dpa__request_check(request, err);
}

dpa_status dpa__request_check(const dpa_request *request, dpa_error *err) {
    if (!(request->delta >= 0.0 && request->delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: must be at least 0 and less than 1, not %g",
                         request->delta);
    if (!(request->confidence > 0.0 && request->confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "confidence: must be between 0 and 1 (0.95 for 95%%), not %g",
                         request->confidence);
    if (request->sides != 1 && request->sides != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sides: 1 or 2, not %d", request->sides);
    if (request->claim_epsilon < 0.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-epsilon: must not be negative, not %g",
                         request->claim_epsilon);
    if (request->claim_delta < 0.0 || request->claim_delta >= 1.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-delta: must be at least 0 and less than 1, not %g",
                         request->claim_delta);
    return DPA_OK;
}
