/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a confusion matrix to results, by every estimator of the registry that applies. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/rates/exact.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/rates.h"
#include "estimate/rates/ratio.h"
#include "estimate/registry.h"

static double error_level(const dpa_request *request) {
    return 1 - request->confidence;
}

/* An error of t changes ε by the local slope of ε(t). */
static dpa_status epsilon_error(const dpa__model *model, double t, double delta, double error,
                                double *out, dpa_error *err) {
    double here, there;
    *out = error;
    if (model->kind == DPA__MODEL_DP || !isfinite(t) || t <= 0) return DPA_OK;
    const double step = fmax(1e-6 * t, error);
    if (!(t + step <= model->max)) return DPA_OK;
    DPA_TRY(dpa__model_epsilon(model, t, delta, 1, &here, err));
    DPA_TRY(dpa__model_epsilon(model, t + step, delta, 1, &there, err));
    *out = isfinite(there - here) ? error * (there - here) / step : error;
    return DPA_OK;
}

dpa_status dpa__result_limits(dpa_result *result, const dpa__model *model, double delta,
                              double lower, double upper, double error, dpa_error *err) {
    double slack, wide = 0;
    DPA_TRY(dpa__model_epsilon(model, lower, delta, -1, &result->epsilon_lower, err));
    result->parameter_lower = dpa__model_value(model, lower);
    DPA_TRY(epsilon_error(model, lower, delta, error, &slack, err));
    if (model->kind == DPA__MODEL_CURVES) { /* ε of a composed mechanism is itself an interval */
        double most;
        DPA_TRY(dpa__model_epsilon(model, lower, delta, 1, &most, err));
        if (isfinite(most)) slack += most - result->epsilon_lower;
    }
    if (!isnan(upper)) {
        DPA_TRY(dpa__model_epsilon(model, upper, delta, 1, &result->epsilon_upper, err));
        result->parameter_upper = dpa__model_value(model, upper);
        DPA_TRY(epsilon_error(model, upper, delta, error, &wide, err));
    }
    (void)snprintf(result->parameter, sizeof result->parameter, "%s", model->parameter);
    result->numerical_error = fmax(slack, wide);
    return DPA_OK;
}

dpa_status dpa__result_lower(dpa_result *result, const dpa__model *model,
                             const dpa_request *request, double lower, double error,
                             dpa_error *err) {
    const int is_one_sided = request->sides == 1;
    const size_t used = strlen(result->note);
    (void)snprintf(result->note + used, sizeof result->note - used, "%s",
                   is_one_sided ? "" : " No upper limit: another attack may see more.");
    return dpa__result_limits(result, model, request->delta, lower,
                              is_one_sided ? (double)NAN : HUGE_VAL, error, err);
}

void dpa__result_begin(dpa_result *result, const dpa_request *request, const dpa__model *model,
                       const char *method, unsigned assumptions) {
    dpa__result_init(result, request);
    (void)snprintf(result->family, sizeof result->family, "%s", model->spec);
    (void)snprintf(result->method, sizeof result->method, "%s", method);
    result->assumptions = assumptions | model->assumption;
}

dpa_status dpa__from_rectangle(const dpa__entry *entry, const dpa_counts *counts,
                               const dpa__model *model, const dpa_request *request,
                               dpa_result *result, dpa_error *err) {
    const dpa__rectangle r =
        dpa__rectangle_of(counts, (dpa__limit)entry->variant, error_level(request), request->sides);
    double lower, upper = NAN;
    DPA_TRY(dpa__rectangle_lower(model, &r, &lower, err));
    if (request->sides == 2) DPA_TRY(dpa__rectangle_upper(model, &r, &upper, err));
    dpa__result_add_extra(result, "fnr_upper", r.fnr[1]);
    dpa__result_add_extra(result, "fpr_upper", r.fpr[1]);
    /* a relative error of 1e-13 of a rate near 1/2 is what the quantile leaves */
    const double largest = isfinite(upper) ? fmax(lower, upper) : lower;
    return dpa__result_limits(result, model, request->delta, lower, upper,
                              1e-12 * fmax(1, isfinite(largest) ? largest : 1), err);
}

dpa_status dpa__from_posterior(const dpa__entry *entry, const dpa_counts *counts,
                               const dpa__model *model, const dpa_request *request,
                               dpa_result *result, dpa_error *err) {
    const dpa__posterior posterior = dpa__posterior_of(counts);
    const double p = error_level(request) / request->sides;
    double lower, upper = NAN, slack, wide = 0;
    (void)entry;
    DPA_TRY(dpa__posterior_quantile(&posterior, model, p, &lower, &slack, err));
    if (request->sides == 2)
        DPA_TRY(dpa__posterior_quantile(&posterior, model, 1 - p, &upper, &wide, err));
    return dpa__result_limits(result, model, request->delta, lower, upper, fmax(slack, wide), err);
}

dpa_status dpa__from_ratio(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err) {
    double lower, upper;
    if (!dpa__ratio_epsilon((dpa__ratio)entry->variant, counts, error_level(request),
                            request->sides, &lower, &upper)) {
        (void)snprintf(result->note, sizeof result->note,
                       "No interval: a zero count leaves the logarithm of the ratio without one.");
        lower = 0;
        upper = HUGE_VAL;
    } else {
        (void)snprintf(result->note, sizeof result->note,
                       "A large-sample approximation, shown for comparison.");
    }
    return dpa__result_limits(result, model, request->delta, lower,
                              request->sides == 2 ? upper : (double)NAN, 1e-14 * (1 + lower), err);
}

dpa_status dpa__from_point(const dpa__entry *entry, const dpa_counts *c, const dpa__model *model,
                           const dpa_request *request, dpa_result *result, dpa_error *err) {
    const double fnr = (double)c->fn / (double)(c->fn + c->tp);
    const double fpr = (double)c->fp / (double)(c->fp + c->tn);
    double t;
    (void)entry;
    result->kind = DPA_ESTIMATE;
    result->confidence = NAN;
    DPA_TRY(dpa__model_locate(model, fnr, fpr, 0, &t, err));
    DPA_TRY(dpa__model_epsilon(model, t, request->delta, -1, &result->epsilon, err));
    (void)snprintf(result->note, sizeof result->note,
                   "The observed rates taken as the true ones: no confidence goes with it.");
    return DPA_OK;
}

dpa_status dpa__counts_check(const dpa_counts *c, dpa_error *err) {
    const uint64_t most = (uint64_t)1 << 52;
    if (c->fn > most || c->tp > most || c->fp > most || c->tn > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "counts: at most 2^52 each");
    if (c->fn + c->tp == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "no members: fn and tp are both 0");
    if (c->fp + c->tn == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "no non-members: fp and tn are both 0");
    return DPA_OK;
}

dpa_status dpa__estimate_one(const dpa__entry *entry, const dpa_counts *counts,
                             const dpa__model *model, const dpa_request *request, dpa_result *out,
                             dpa_error *err) {
    dpa__result_begin(out, request, model, entry->about.name, entry->about.assumptions);
    out->valid = entry->about.valid;
    out->has_counts = 1;
    out->counts = *counts;
    return entry->from_counts(entry, counts, model, request, out, err);
}

static dpa_status estimate_family(const dpa_counts *counts, const dpa_request *request,
                                  const dpa__model *model, dpa_results *results, dpa_error *err) {
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa__entry *entry = dpa__registry_at(i);
        const int is_asked = request->method[0] != '\0';
        if (entry->from_counts == NULL) continue;
        if (!dpa__list_asks(request->method, entry->about.name)) continue;
        if (!is_asked && entry->from_counts == dpa__from_exact && !dpa__exact_applies(counts))
            continue;
        const char *refusal = dpa__registry_refusal(entry, model, request->delta);
        if (refusal != NULL && is_asked && request->family[0] != '\0')
            return dpa__fail(err, DPA_BAD_ARGUMENT, "method %s, family %s: %s", entry->about.name,
                             model->spec, refusal);
        if (refusal != NULL) continue;
        dpa_result result;
        DPA_TRY(dpa__estimate_one(entry, counts, model, request, &result, err));
        if (result.kind == DPA_BOUND) result.assumptions |= DPA_ASSUME_THRESHOLD_FIXED;
        DPA_TRY(dpa__results_add(results, &result, err));
    }
    return DPA_OK;
}

dpa_status dpa__estimate_counts(const dpa_counts *counts, const dpa_request *request,
                                dpa_results *results, dpa_error *err) {
    const char *family;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(dpa__counts_check(counts, err));
    if (request->method[0] != '\0' &&
        dpa__registry_for(DPA_FROM_COUNTS, request->method, err) == NULL)
        return DPA_BAD_ARGUMENT;
    const size_t before = results->count;
    for (size_t i = 0; (family = dpa__request_family(request, i)) != NULL; ++i) {
        dpa__model model;
        DPA_TRY(dpa__model_open(family, request->delta, &model, err));
        const dpa_status status = estimate_family(counts, request, &model, results, err);
        dpa__model_close(&model);
        if (status != DPA_OK) return status;
    }
    if (results->count == before)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method %s: a ratio of rates bounds epsilon for "
                         "family dp at delta 0 only: use --delta 0",
                         request->method);
    return DPA_OK;
}
