/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Power, sizes and detectable leaks. Power grows with n and with the truth, apart from the
 * discreteness of counts and the noise of simulations, so each search ends at a size or leak that
 * was verified. A simulated power is searched roughly first: for ranks by their normal law, for a
 * learned threshold by few simulations. */
#include "account/family.h"
#include "estimate/plan/power.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/plan.h"

const char *dpa__plan_game_name(dpa_plan_game game) {
    static const char *const names[DPA_PLAN_GAMES] = {"runs", "steps", "one-run", "cosines"};
    return (unsigned)game < DPA_PLAN_GAMES ? names[game] : NULL;
}

/* ── methods ───────────────────────────────────────────────────────────────────────────────── */

static const char *listed(dpa_plan_game game, const dpa__model *model, const char *family,
                          double delta, size_t index) {
    const dpa__entry *entry;
    for (size_t i = 0; (entry = dpa__registry_planned(game, i)) != NULL; ++i) {
        /* simulated audits take seconds where the accountant computes the family */
        const int is_slow = entry->power->is_slow ||
                            (entry->power->leak != NULL && dpa__family_is_composed(family));
        if (!is_slow && dpa__registry_refusal(entry, model, delta) == NULL && index-- == 0)
            return entry->about.name;
    }
    return NULL;
}

const char *dpa__plan_method(dpa_plan_game game, const char *family, double delta, size_t index) {
    const int is_dp = dpa__family_is_universal(family);
    const int is_gaussian = dpa__family_is_gaussian(family);
    const dpa__model model = {.kind = is_dp         ? DPA__MODEL_DP
                                      : is_gaussian ? DPA__MODEL_GAUSSIAN
                                                    : DPA__MODEL_CURVES};
    if (game == DPA_PLAN_STEPS && !is_gaussian) return NULL;
    if (game != DPA_PLAN_ONE_RUN) return listed(game, &model, family, delta, index);
    return index == 0   ? dpa__one_run_method_name(dpa__one_run_default(is_dp, 2))
           : index == 1 ? DPA__CHANNELS
                        : NULL;
}

/* ── power ─────────────────────────────────────────────────────────────────────────────────── */

int dpa__plan_is_sequential(const dpa__plan *plan) {
    return plan->entry->power == &dpa__planned_pairs;
}

int dpa__plan_has_channels(const dpa__plan *plan) {
    return plan->entry->power == &dpa__planned_channels;
}

double dpa__plan_enough(const dpa__plan *plan, dpa__care care) {
    return care == DPA__ROUGHLY ? plan->wanted : (double)NAN;
}

dpa_status dpa__plan_progress(const dpa__plan *plan, const char *what, double done, double total,
                              dpa_error *err) {
    const dpa_progress *progress = &plan->asked->progress;
    if (progress->call == NULL || !progress->call(progress->user, what, done, total)) return DPA_OK;
    return dpa__fail(err, DPA_CANCELLED, "stopped on request");
}

dpa_status dpa__plan_check_size(const dpa__plan *plan, uint64_t n, dpa_error *err) {
    const uint64_t limit = plan->entry->power->limit;
    if (n >= 1 && n <= limit) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "method %s with %" PRIu64 " observations: 1 to %" PRIu64 " can be planned",
                     plan->asked->method, n, limit);
}

dpa_status dpa__plan_power(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                           dpa_error *err) {
    *out = (dpa_plan_answer){.size = n, .power = NAN, .threshold = NAN};
    DPA_TRY(dpa__plan_check_size(plan, n, err));
    DPA_TRY(dpa__plan_progress(plan, "powers computed", plan->powers++, 0, err));
    return dpa__power_like(plan, plan->entry->power, n, care, out, err);
}

dpa_status dpa__ask_power(const dpa_plan *asked, uint64_t n, dpa_plan_answer *out, dpa_error *err) {
    return dpa__plan_curve(asked, &n, 1, out, err);
}

dpa_status dpa__plan_curve(const dpa_plan *asked, const uint64_t *sizes, size_t count,
                           dpa_plan_answer *out, dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        status = dpa__plan_power(&plan, sizes[i], DPA__CAREFULLY, &out[i], err);
    dpa__plan_close(&plan);
    return status;
}

dpa_status dpa__plan_power_at(const dpa_plan *asked, uint64_t n, double threshold, double *power,
                              dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    dpa_status status = DPA_OK;
    if (plan.entry->from_counts == NULL || !isfinite(threshold))
        status = dpa__fail(err, DPA_BAD_ARGUMENT,
                           "only methods from counts have a threshold, a finite one");
    else
        status = dpa__plan_check_size(&plan, n, err);
    if (status == DPA_OK) status = dpa__plan_counts_at(&plan, n, threshold, power, err);
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

/* Starts from a size that is roughly right and moves down while the simulation confirms it, or up
 * until it does. */
static dpa_status confirm_size(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                               dpa_error *err) {
    dpa_plan_answer answer;
    DPA_TRY(dpa__plan_power(plan, out->size, DPA__CAREFULLY, out, err));
    const int is_enough = out->power >= power;
    const uint64_t parts = plan->entry->power->parts;
    for (int i = 0; i < 40; ++i) {
        const uint64_t step = 1 + out->size / parts;
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
    DPA_TRY(dpa__plan_check_size(plan, most, err));
    const dpa__power *method = plan->entry->power;
    plan->wanted = power;
    DPA_TRY((method->size != NULL ? method->size : search_size)(plan, power, most, out, err));
    plan->wanted = NAN;
    if (method->parts > 0)
        DPA_TRY(confirm_size(plan, power, most, out, err));
    else if (method->size == NULL && (out->power >= power || plan->entry->from_counts != NULL))
        /* it was compared only; now the best threshold, exactly */
        DPA_TRY(dpa__plan_power(plan, out->size, DPA__CAREFULLY, out, err));
    if (out->power < power) out->size = 0;
    return DPA_OK;
}

dpa_status dpa__ask_size(const dpa_plan *asked, double power, uint64_t most, dpa_plan_answer *out,
                         dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    const dpa_status status = dpa__plan_size(&plan, power, most, out, err);
    dpa__plan_close(&plan);
    return status;
}

/* ── leak ──────────────────────────────────────────────────────────────────────────────────── */

static dpa_status power_if(dpa__plan *plan, double t, uint64_t n, dpa_plan_answer *out,
                           dpa_error *err) {
    DPA_TRY(dpa__plan_suspect(plan, t, err));
    return dpa__plan_power(plan, n, DPA__ROUGHLY, out, err);
}

/* Converts the error of a simulated power to one of the leak, by the slope between two leaks 3%
 * away. */
static dpa_status leak_error(dpa__plan *plan, double t, uint64_t n, double error, double *out,
                             dpa_error *err) {
    dpa_plan_answer answer[2];
    double epsilon[2];
    *out = 0;
    if (!(error > 0)) return DPA_OK;
    for (int i = 0; i < 2; ++i) {
        const double near = t * (i == 0 ? 0.97 : 1.03);
        DPA_TRY(power_if(plan, near, n, &answer[i], err));
        DPA_TRY(dpa__plan_truth_epsilon(plan, near, &epsilon[i], err));
    }
    const double rise = answer[1].power - answer[0].power;
    *out = rise > 0 ? error * (epsilon[1] - epsilon[0]) / rise : (double)NAN;
    return DPA_OK;
}

dpa_status dpa__plan_search_leak(const dpa__plan *plan, double fine, dpa__leak_test test,
                                 void *user, double *t, dpa_error *err) {
    double low, high;
    int enough = 0;
    *t = INFINITY;
    DPA_TRY(dpa__plan_truth_t(plan, plan->claim_epsilon, &low, err));
    for (double step = fmax(0.05, 0.25 * low);; step *= 2) {
        double epsilon;
        high = fmin(low + step, plan->suspect.max);
        DPA_TRY(dpa__plan_truth_epsilon(plan, high, &epsilon, err));
        if (!(epsilon <= 2000)) return DPA_OK;
        DPA_TRY(test(user, high, &enough, err));
        if (enough) break;
        if (epsilon > 100 || high >= plan->suspect.max) return DPA_OK;
        low = high;
    }
    while (high - low > fine * high) {
        const double middle = low + (high - low) / 2;
        DPA_TRY(test(user, middle, &enough, err));
        *(enough ? &high : &low) = middle;
    }
    *t = high;
    return DPA_OK;
}

typedef struct leak_search {
    dpa__plan *plan;
    uint64_t n;
    double wanted, error; /* error: of the power at the last leak that was large enough */
} leak_search;

static dpa_status is_detected(void *user, double t, int *enough, dpa_error *err) {
    leak_search *s = user;
    dpa_plan_answer answer;
    DPA_TRY(power_if(s->plan, t, s->n, &answer, err));
    *enough = answer.power >= s->wanted;
    if (*enough) s->error = answer.error;
    return DPA_OK;
}

static dpa_status search_leak(dpa__plan *plan, uint64_t n, double wanted, dpa_plan_leak *out,
                              dpa_error *err) {
    leak_search s = {plan, n, wanted, 0};
    double t;
    *out = (dpa_plan_leak){INFINITY, NAN};
    /* a simulated power is asked for its error too, which needs all of the audits */
    plan->wanted = plan->entry->power->parts > 0 ? (double)NAN : wanted;
    DPA_TRY(dpa__plan_search_leak(plan, plan->entry->power->fine, is_detected, &s, &t, err));
    plan->wanted = NAN;
    if (isinf(t)) return DPA_OK;
    DPA_TRY(dpa__plan_truth_epsilon(plan, t, &out->epsilon, err));
    if (out->epsilon > 100) out->epsilon = INFINITY;
    return isinf(out->epsilon) ? DPA_OK : leak_error(plan, t, n, s.error, &out->error, err);
}

dpa_status dpa__plan_detectable(dpa__plan *plan, uint64_t n, double wanted, dpa_plan_leak *out,
                                dpa_error *err) {
    DPA_TRY(check_power(wanted, err));
    DPA_TRY(dpa__plan_check_size(plan, n, err));
    const dpa__power *method = plan->entry->power;
    return (method->leak != NULL ? method->leak : search_leak)(plan, n, wanted, out, err);
}

dpa_status dpa__ask_detectable(const dpa_plan *asked, uint64_t n, double power, dpa_plan_leak *out,
                               dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 0, &plan, err));
    const dpa_status status = dpa__plan_detectable(&plan, n, power, out, err);
    dpa__plan_close(&plan);
    return status;
}

/* ── when to stop ──────────────────────────────────────────────────────────────────────────── */

dpa_status dpa__ask_stop(const dpa_plan *asked, uint64_t most, dpa_plan_stops *out,
                         dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 1, &plan, err));
    const dpa_status status =
        dpa__plan_is_sequential(&plan)
            ? dpa__plan_stop(&plan, most, out, err)
            : dpa__fail(err, DPA_BAD_ARGUMENT, "only method sequential may stop at any time");
    dpa__plan_close(&plan);
    return status;
}
