/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes, detectable leaks and the ceiling: searches over the power of plan_power.c. Power grows
 * with n and with the truth but for the teeth of discrete counts, so the searches end at a size or
 * leak that was seen to do. */
#include "dpaudit/plan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dpaudit/tradeoff.h"
#include "math/dist.h"

const char *dpa_plan_method_name(dpa_plan_method method) {
    static const char *const names[DPA_PLAN_METHODS] = {"cp", "rank", "one-run"};
    return (unsigned)method < DPA_PLAN_METHODS ? names[method] : NULL;
}

static dpa_status check_power(double power, dpa_error *err) {
    if (power > 0 && power < 1) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "power: %g is not between 0 and 1", power);
}

dpa_status dpa_plan_size(const dpa_plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                         dpa_error *err) {
    uint64_t low = 0, high = most < 8 ? most : 8;
    dpa_plan_answer answer;
    DPA_TRY(check_power(power, err));
    DPA_TRY(dpa_plan_power(plan, high, &answer, err));
    while (answer.power < power && high < most) {
        low = high;
        high = high > most / 2 ? most : 2 * high;
        DPA_TRY(dpa_plan_power(plan, high, &answer, err));
    }
    *out = answer;
    if (answer.power < power) {
        out->size = 0;
        return DPA_OK;
    }
    while (high - low > 1 && high - low > high / 200) {
        const uint64_t middle = low + (high - low) / 2;
        DPA_TRY(dpa_plan_power(plan, middle, &answer, err));
        if (answer.power < power) {
            low = middle;
        } else {
            high = middle;
            *out = answer;
        }
    }
    return DPA_OK;
}

dpa_status dpa_plan_detectable(const dpa_plan *plan, uint64_t n, double power, double *out,
                               dpa_error *err) {
    dpa_plan trial = *plan;
    dpa_plan_answer answer;
    double low = plan->claim_epsilon, high = 100;
    DPA_TRY(check_power(power, err));
    trial.truth_epsilon = high;
    DPA_TRY(dpa_plan_power(&trial, n, &answer, err));
    *out = INFINITY;
    if (answer.power < power) return DPA_OK;
    while (high - low > 1e-3) {
        trial.truth_epsilon = low + (high - low) / 2;
        DPA_TRY(dpa_plan_power(&trial, n, &answer, err));
        if (answer.power < power)
            low = trial.truth_epsilon;
        else
            high = trial.truth_epsilon;
    }
    *out = high;
    return DPA_OK;
}

double dpa_plan_ceiling(const char *family, uint64_t observations, double delta,
                        double confidence) {
    /* r = p^(1/N) and 1 − r, which is what is small */
    const double log_r = log1p(-confidence) / (double)observations;
    const double wrong = -expm1(log_r);
    if (strcmp(family, "gaussian") == 0)
        return dpa_gaussian_epsilon(fmax(0, 2 * dpa__norm_quantile(wrong, DPA_UPPER)), delta);
    if (strcmp(family, "dp") != 0) return NAN;
    /* r = δ + (1−δ)q and q = e^ε/(1+e^ε) */
    const double right = exp(log_r) - delta;
    return right <= 0 ? 0 : fmax(0, log(right / wrong));
}
