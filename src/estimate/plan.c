/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Power, sizes and detectable leaks. Power grows with n and with the truth but for the teeth of
 * discrete counts and the noise of simulations, so the searches end at a size or leak that was seen
 * to do. A simulated power is searched for by its normal law first. */
#include "dpaudit/plan.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/plan.h"

const char *dpa_plan_game_name(dpa_plan_game game) {
    static const char *const names[DPA_PLAN_GAMES] = {"runs", "steps", "one-run", "cosines"};
    return (unsigned)game < DPA_PLAN_GAMES ? names[game] : NULL;
}

/* ── methods ───────────────────────────────────────────────────────────────────────────────── */

static int is_listed(const dpa__entry *entry, const dpa__model *model, double delta) {
    const int has_power = entry->from_counts != NULL || strcmp(entry->about.name, "rank") == 0;
    return has_power && (entry->about.what & DPA_GIVES_BOUND) != 0 &&
           dpa__registry_refusal(entry, model, delta) == NULL;
}

static const char *from_registry(const dpa__model *model, double delta, size_t index) {
    const dpa__entry *entry;
    for (size_t i = 0; (entry = dpa__registry_at(i)) != NULL; ++i)
        if (is_listed(entry, model, delta) && index-- == 0) return entry->about.name;
    return NULL;
}

const char *dpa_plan_method(dpa_plan_game game, const char *family, double delta, size_t index) {
    const int is_dp = strcmp(family, "dp") == 0, is_gaussian = strcmp(family, "gaussian") == 0;
    const dpa__model model = {.kind = is_dp         ? DPA__MODEL_DP
                                      : is_gaussian ? DPA__MODEL_GAUSSIAN
                                                    : DPA__MODEL_CURVES};
    static const char *const fitted[] = {"mean", "mean-and-deviation"};
    switch (game) {
    case DPA_PLAN_RUNS:
        return from_registry(&model, delta, index);
    case DPA_PLAN_STEPS:
        return is_gaussian ? from_registry(&model, delta, index) : NULL;
    case DPA_PLAN_ONE_RUN:
        return index > 0 ? NULL : is_dp ? "steinke" : "recursion";
    case DPA_PLAN_COSINES:
        if (is_dp) return index == 0 ? "jeffreys" : NULL;
        return is_gaussian && index < 2 ? fitted[index] : NULL;
    default:
        return NULL;
    }
}

/* ── power ─────────────────────────────────────────────────────────────────────────────────── */

static int is_rank(const dpa__plan *plan) {
    return plan->entry != NULL && plan->entry->from_counts == NULL;
}

dpa_status dpa__plan_power(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                           dpa_error *err) {
    *out = (dpa_plan_answer){.size = n, .power = NAN, .threshold = NAN};
    if (n < 1 || n > 1000000000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu observations: 1 to 1e9 can be planned",
                         (unsigned long long)n);
    switch (plan->asked->game) {
    case DPA_PLAN_ONE_RUN:
        return dpa__plan_guesses(plan, n, out, err);
    case DPA_PLAN_COSINES:
        return dpa__plan_cosines(plan, n, out, err);
    default:
        return is_rank(plan) ? dpa__plan_ranks(plan, n, care, out, err)
                             : dpa__plan_counts(plan, n, out, err);
    }
}

dpa_status dpa_plan_power(const dpa_plan *asked, uint64_t n, dpa_plan_answer *out, dpa_error *err) {
    return dpa_plan_curve(asked, &n, 1, out, err);
}

dpa_status dpa_plan_curve(const dpa_plan *asked, const uint64_t *sizes, size_t count,
                          dpa_plan_answer *out, dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        status = dpa__plan_power(&plan, sizes[i], DPA__CAREFULLY, &out[i], err);
    dpa__plan_close(&plan);
    return status;
}

dpa_status dpa_plan_power_at(const dpa_plan *asked, uint64_t n, double threshold, double *power,
                             dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    dpa_status status = DPA_OK;
    if (plan.entry == NULL || is_rank(&plan) || !isfinite(threshold) || n < 1)
        status = dpa__fail(err, DPA_BAD_ARGUMENT,
                           "only methods from counts have a threshold, a finite one");
    else
        status = dpa__plan_counts_at(&plan, n, threshold, power, err);
    dpa__plan_close(&plan);
    return status;
}

/* ── size ──────────────────────────────────────────────────────────────────────────────────── */

static dpa_status check_power(double power, dpa_error *err) {
    if (power > 0 && power < 1) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "power: %g is not between 0 and 1", power);
}

/* Doubling, then bisection to 0.5%. */
static dpa_status search_size(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                              dpa_error *err) {
    uint64_t low = 0, high = most < 8 ? most : 8;
    dpa_plan_answer answer;
    DPA_TRY(dpa__plan_power(plan, high, DPA__ROUGHLY, out, err));
    while (out->power < power && high < most) {
        low = high;
        high = high > most / 2 ? most : 2 * high;
        DPA_TRY(dpa__plan_power(plan, high, DPA__ROUGHLY, out, err));
    }
    if (out->power < power) return DPA_OK;
    while (high - low > 1 && high - low > high / 200) {
        const uint64_t middle = low + (high - low) / 2;
        DPA_TRY(dpa__plan_power(plan, middle, DPA__ROUGHLY, &answer, err));
        if (answer.power < power) {
            low = middle;
        } else {
            high = middle;
            *out = answer;
        }
    }
    return DPA_OK;
}

/* From the size that the normal law gives, down while the simulation allows it or up until it does,
 * in steps of 2.5%. */
static dpa_status confirm_size(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                               dpa_error *err) {
    dpa_plan_answer answer;
    DPA_TRY(dpa__plan_power(plan, out->size, DPA__CAREFULLY, out, err));
    const int is_enough = out->power >= power;
    for (int i = 0; i < 40; ++i) {
        const uint64_t step = 1 + out->size / 40;
        if (is_enough ? out->size <= step : out->size >= most) return DPA_OK;
        const uint64_t more = out->size > most - step ? most : out->size + step;
        DPA_TRY(dpa__plan_power(plan, is_enough ? out->size - step : more, DPA__CAREFULLY, &answer,
                                err));
        if (is_enough && answer.power < power) return DPA_OK;
        *out = answer;
        if (!is_enough && answer.power >= power) return DPA_OK;
    }
    return DPA_OK;
}

dpa_status dpa__plan_size(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                          dpa_error *err) {
    DPA_TRY(check_power(power, err));
    DPA_TRY(search_size(plan, power, most, out, err));
    if (is_rank(plan)) DPA_TRY(confirm_size(plan, power, most, out, err));
    if (out->power < power) out->size = 0;
    return DPA_OK;
}

dpa_status dpa_plan_size(const dpa_plan *asked, double power, uint64_t most, dpa_plan_answer *out,
                         dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    const dpa_status status = dpa__plan_size(&plan, power, most, out, err);
    dpa__plan_close(&plan);
    return status;
}

/* ── leak ──────────────────────────────────────────────────────────────────────────────────── */

static dpa_status power_if(dpa__plan *plan, double t, uint64_t n, double *power, dpa_error *err) {
    dpa_plan_answer answer;
    DPA_TRY(dpa__plan_suspect(plan, t, err));
    DPA_TRY(dpa__plan_power(plan, n, DPA__ROUGHLY, &answer, err));
    *power = answer.power;
    return DPA_OK;
}

/* From the claim up in growing steps, then bisection to 1e-4 of t. */
dpa_status dpa__plan_detectable(dpa__plan *plan, uint64_t n, double wanted, double *out,
                                dpa_error *err) {
    double low, high, power = 0;
    *out = INFINITY;
    DPA_TRY(check_power(wanted, err));
    DPA_TRY(dpa__plan_truth_t(plan, plan->claim_epsilon, &low, err));
    for (double step = fmax(0.05, 0.25 * low);; step *= 2) {
        double epsilon;
        high = fmin(low + step, plan->suspect.max);
        DPA_TRY(dpa__plan_truth_epsilon(plan, high, &epsilon, err));
        if (!(epsilon <= 2000)) return DPA_OK;
        DPA_TRY(power_if(plan, high, n, &power, err));
        if (power >= wanted) break;
        if (epsilon > 100 || high >= plan->suspect.max) return DPA_OK;
        low = high;
    }
    while (high - low > 1e-4 * high) {
        const double middle = low + (high - low) / 2;
        DPA_TRY(power_if(plan, middle, n, &power, err));
        if (power < wanted)
            low = middle;
        else
            high = middle;
    }
    DPA_TRY(dpa__plan_truth_epsilon(plan, high, out, err));
    if (*out > 100) *out = INFINITY;
    return DPA_OK;
}

dpa_status dpa_plan_detectable(const dpa_plan *asked, uint64_t n, double power, double *out,
                               dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 0, &plan, err));
    const dpa_status status = dpa__plan_detectable(&plan, n, power, out, err);
    dpa__plan_close(&plan);
    return status;
}
