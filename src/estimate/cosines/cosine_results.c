/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canary cosines in, results out: every method that applies, each with its assumptions and
 * attacker; and lints for what is odd about the cosines. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/cosines/cosine.h"
#include "estimate/ranks/scan.h"
#include "estimate/rates/select.h"
#include "estimate/registry.h"
#include "math/dist.h"

static const double LEAST_P = 0.01; /* p-value of Anderson–Darling */
static const double CROWDED = 0.1;  /* the canaries' share of the squared length */
enum { FEW = 30, SMALL_DIM = 1000 };

typedef struct context {
    const dpa_cosines *cosines;
    const dpa_request *request;
    dpa_cosine_fit observed, unobserved;
    double statistic, p_value; /* Anderson–Darling of the observed */
    dpa_results *results;
} context;

static int wanted(const context *c, const char *method) {
    return dpa__list_asks(c->request->method, method);
}

/* k·(σ̂√d)² is chi-squared if the deviation is the null's. */
static int is_wide(const dpa_cosine_fit *fit, double d) {
    const double k = (double)fit->count, square = fit->deviation * fit->deviation * d;
    return k > 2.0 && fabs(square - 1.0) > 3.0 * sqrt(2.0 / k);
}

static unsigned about_canaries(const context *c) {
    return c->cosines->direction == DPA_DIRECTION_SPHERE ? DPA_ASSUME_RANDOM_CANARIES
                                                         : DPA_ASSUME_SIGN_CANARIES;
}

static const char final_note[] =
    "an estimate, not a bound: what an attacker who sees only the final model and compares it with "
    "a client's update could tell; other attackers may do better";
static const char corrected_note[] = "an estimate, not a bound: 'mean' without the length that the "
                                     "other canaries give the model, for "
                                     "canaries of equal part in it";
static const char rounds_note[] =
    "an estimate, not a bound: what an attacker who sees every round's model change and compares "
    "each with a client's update could tell; other attackers may do better";

static dpa_status add_estimate(context *c, const char *method, const dpa_cosine_estimate *e,
                               unsigned assumptions, const char *note, dpa_error *err) {
    dpa_result result;
    dpa__result_init(&result, c->request);
    result.kind = DPA_ESTIMATE;
    (void)snprintf(result.method, sizeof result.method, "%s", method);
    (void)snprintf(result.note, sizeof result.note, "%s", note);
    result.epsilon = e->epsilon;
    result.epsilon_lower = e->lower;
    result.epsilon_upper = e->upper;
    result.sides = 2;
    result.assumptions = about_canaries(c) | DPA_ASSUME_GAUSSIAN_COSINES | assumptions;
    result.numerical_error = 1e-9 * fmax(1.0, e->epsilon);
    dpa__result_add_extra(&result, "mean", e->mean);
    dpa__result_add_extra(&result, "deviation", e->deviation);
    dpa__result_add_extra(&result, "cosine_mean", c->observed.mean);
    dpa__result_add_extra(&result, "cosine_deviation", c->observed.deviation);
    dpa__result_add_extra(&result, "anderson_darling", c->statistic);
    dpa__result_add_extra(&result, "anderson_darling_p", c->p_value);
    return dpa__results_add(c->results, &result, err);
}

/* 1 unless the cosines contradict the assumptions of `mean`: they are normal with deviation 1/√dim,
 * there are so many dimensions that an absent canary's cosine is normal too, and the canaries are a
 * small part of the model. */
static int mean_holds(const context *c) {
    const double k = (double)c->observed.count, d = (double)c->cosines->dim;
    return c->p_value >= LEAST_P && k >= FEW && d >= SMALL_DIM && 10.0 * k <= d &&
           !is_wide(&c->observed, d) && dpa__cosines_crowd(&c->observed, k, 0.0) <= CROWDED;
}

/* The lower limit of `mean` at the whole error, if nothing contradicts its assumptions: the mean of
 * the cosines has deviation 1/√(k·dim). */
static dpa_status add_mean(context *c, dpa_error *err) {
    const dpa_request *q = c->request;
    dpa_cosine_estimate e, one_sided;
    DPA_TRY(dpa__cosines_mean(&c->observed, c->cosines->dim, q->delta, q->confidence, &e, err));
    DPA_TRY(add_estimate(c, "mean", &e, 0, final_note, err));
    if (!mean_holds(c) || q->confidence <= 0.5) return DPA_OK;
    DPA_TRY(dpa__cosines_mean(&c->observed, c->cosines->dim, q->delta, 2.0 * q->confidence - 1.0,
                              &one_sided, err));
    dpa__result_add_extra(&c->results->items[c->results->count - 1], "epsilon_lower_one_sided",
                          c->observed.mean > 0.0 ? one_sided.lower : 0.0);
    return DPA_OK;
}

/* The number of canaries in one model; those of other trainings do not lengthen it. */
static double crowd_of(const context *c) {
    const size_t runs = c->cosines->runs;
    return (double)c->observed.count / (double)(runs > 0 ? runs : 1);
}

static dpa_status add_final(context *c, dpa_error *err) {
    const dpa_request *q = c->request;
    const size_t dim = c->cosines->dim;
    dpa_cosine_estimate e;
    if (wanted(c, "mean")) DPA_TRY(add_mean(c, err));
    if (wanted(c, "mean-corrected")) {
        DPA_TRY(dpa__cosines_corrected(&c->observed, dim, crowd_of(c), 0.0, q->delta, q->confidence,
                                       &e, err));
        if (!isnan(e.epsilon))
            DPA_TRY(add_estimate(c, "mean-corrected", &e, 0, corrected_note, err));
    }
    /* a sample without spread is an error if the method was asked for by name; otherwise it is
     * skipped */
    const int can = c->observed.count > 1 && c->observed.deviation > 0.0;
    if (!wanted(c, "mean-and-deviation") || (!can && q->method[0] == '\0')) return DPA_OK;
    DPA_TRY(dpa__cosines_mean_and_deviation(&c->observed, dim, q->delta, q->confidence, &e, err));
    return add_estimate(c, "mean-and-deviation", &e, 0, final_note, err);
}

static dpa_status add_rounds(context *c, dpa_error *err) {
    const dpa_request *q = c->request;
    dpa_cosine_estimate e;
    if (!wanted(c, "all-iterates")) return DPA_OK;
    DPA_TRY(
        dpa__cosines_all_iterates(&c->unobserved, &c->observed, q->delta, q->confidence, &e, err));
    return add_estimate(c, "all-iterates", &e, DPA_ASSUME_LARGE_SAMPLE, rounds_note, err);
}

/* Hadamard canaries treated as random signs: one by itself is that on a power of two of the
 * coordinates. The model's other coordinates only make its cosines smaller. */
static dpa_cosines as_signs_of(const dpa_cosines *cosines) {
    dpa_cosines c = *cosines;
    if (c.direction != DPA_DIRECTION_HADAMARD) return c;
    c.direction = DPA_DIRECTION_SIGNS;
    c.dim = 1;
    while (c.dim <= cosines->dim / 2) c.dim *= 2;
    return c;
}

/* Adds a bound with the assumptions that all bounds here share. */
static dpa_status finish_bound(context *c, dpa_result *result, const char *method,
                               unsigned assumptions, dpa_error *err) {
    (void)snprintf(result->family, sizeof result->family, "dp");
    (void)snprintf(result->method, sizeof result->method, "%s", method);
    (void)snprintf(result->note, sizeof result->note,
                   "%s: a lower bound for the attacker of the estimates beside it; the canaries "
                   "of one run are counted as independent",
                   method);
    result->sides = 1;
    result->assumptions =
        about_canaries(c) | DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_DP | assumptions;
    return dpa__results_add(c->results, result, err);
}

/* Copies a bound at a threshold into a result. */
static void take_bound(const dpa_cosine_bound *b, dpa_result *result) {
    result->epsilon_lower = b->epsilon;
    result->threshold = b->threshold;
    result->numerical_error = 1e-9;
    dpa__result_add_extra(result, "missed", (double)b->missed);
    dpa__result_add_extra(result, "counted", (double)b->count);
    dpa__result_add_extra(result, "fnr_upper", b->fnr_upper);
    dpa__result_add_extra(result, "log_fpr", b->log_fpr);
}

static dpa_status add_threshold(context *c, dpa_error *err) {
    const dpa_request *q = c->request;
    const char *select = q->select[0] != '\0' ? q->select : dpa__select_name(DPA__SPLIT);
    unsigned assumptions = 0;
    dpa_cosine_bound b;
    dpa_result result;
    if (!wanted(c, "jeffreys")) return DPA_OK;
    const int is_split = dpa__select_is(select, DPA__SPLIT);
    if (c->observed.count < 2 && q->method[0] == '\0' && is_split) return DPA_OK;
    const dpa_cosines as_signs = as_signs_of(c->cosines);
    DPA_TRY(dpa__cosines_lower(&as_signs, select, q->delta, q->confidence, q->seed, &b, err));
    dpa__result_init(&result, q);
    (void)snprintf(result.select, sizeof result.select, "%.*s", (int)strcspn(select, ":"), select);
    take_bound(&b, &result);
    result.valid = !dpa__select_is(select, DPA__MAX);
    if (!dpa__select_is(select, DPA__SIMULTANEOUS)) assumptions |= DPA_ASSUME_BAYES_PRIOR;
    if (!result.valid) assumptions |= DPA_ASSUME_NO_SELECTION;
    if (dpa__select_is(select, DPA__FIXED)) assumptions |= DPA_ASSUME_THRESHOLD_FIXED;
    return finish_bound(c, &result, "jeffreys", assumptions, err);
}

/* Unobserved canaries are the null: the scan of two samples. */
static dpa_status scan_samples(const dpa_cosines *x, const dpa_request *q, dpa_result *out,
                               dpa_error *err) {
    dpa_request one = *q;
    dpa_scores scores;
    dpa_lints lints = {0};
    dpa__model model;
    one.sides = 1;
    one.claim_epsilon = (double)NAN; /* claims are judged elsewhere */
    DPA_TRY(dpa__model_open("dp", q->delta, &model, err));
    dpa_status status = dpa__scores_from(x->observed, x->observed_count, x->unobserved,
                                         x->unobserved_count, &scores, err);
    if (status == DPA_OK) {
        status = dpa__scores_prepare_here(&scores, &lints, err);
        if (status == DPA_OK) status = dpa__scan_run("scan", &model, &scores, &one, out, err);
        dpa__lints_free(&lints);
        dpa__scores_free(&scores);
    }
    dpa__model_close(&model);
    return status;
}

static dpa_status add_scan(context *c, dpa_error *err) {
    const dpa_request *q = c->request;
    const dpa_cosines as_signs = as_signs_of(c->cosines);
    dpa_result result;
    if (!wanted(c, "scan")) return DPA_OK;
    if (c->observed.count > DPA__COSINE_SCAN_MOST && c->cosines->unobserved == NULL &&
        q->method[0] == '\0')
        return DPA_OK;
    if (c->cosines->unobserved != NULL) {
        DPA_TRY(scan_samples(&as_signs, q, &result, err));
    } else {
        dpa_cosine_bound b;
        DPA_TRY(dpa__cosines_scan(&as_signs, q->delta, q->confidence, &b, err));
        dpa__result_init(&result, q);
        take_bound(&b, &result);
    }
    result.select[0] = '\0';
    return finish_bound(c, &result, "scan", 0, err);
}

/* Warns unless the cosines are normal, numerous, few against the dimension, and mostly positive. */
static dpa_status lint(const context *c, dpa_lints *lints, dpa_error *err) {
    const double k = (double)c->observed.count, d = (double)c->cosines->dim;
    if (c->p_value < LEAST_P)
        DPA_TRY(dpa__lints_add(lints, err, "not-normal",
                               "the %s are not normally distributed (Anderson-Darling %.3g, "
                               "p = %.2g): the estimate rests on a fit that does not fit",
                               c->cosines->unobserved != NULL
                                   ? "largest cosines over the rounds (all-iterates)"
                                   : "cosines with the final model",
                               c->statistic, c->p_value));
    if (c->observed.count < FEW)
        DPA_TRY(dpa__lints_add(lints, err, "few-canaries",
                               "%zu canaries say little: look at the interval", c->observed.count));
    if (c->cosines->unobserved != NULL) return DPA_OK;
    if (crowd_of(c) * 10.0 > d)
        DPA_TRY(dpa__lints_add(lints, err, "many-canaries",
                               "%.0f canaries in %zu dimensions disturb each other; the method "
                               "wants far fewer canaries than dimensions",
                               crowd_of(c), c->cosines->dim));
    const double crowd = dpa__cosines_crowd(&c->observed, crowd_of(c), 0.0);
    if (c->observed.mean > 0.0 && crowd > CROWDED)
        DPA_TRY(dpa__lints_add(lints, err, "crowded",
                               "the canaries are %.0f%% of the model's squared length, so 'mean' "
                               "understates the leak; 'mean-corrected' allows for them%s",
                               100.0 * fmin(crowd, 1.0),
                               crowd > 0.95 ? ", but nothing else is left: use fewer" : ""));
    if (c->cosines->dim < SMALL_DIM)
        DPA_TRY(
            dpa__lints_add(lints, err, "small-dimension",
                           "in %zu dimensions an absent canary's cosine is not normal (off by up "
                           "to %.2g in probability); 'jeffreys' uses its exact law",
                           c->cosines->dim, dpa__cosine_null_distance(c->cosines->dim)));
    if (c->observed.mean * sqrt(k * d) < -3.0)
        DPA_TRY(
            dpa__lints_add(lints, err, "negative-mean",
                           "the mean cosine is %.3g, significantly below 0: was the sign of the "
                           "update or of the model change turned?",
                           c->observed.mean));
    const double ratio = c->observed.deviation * sqrt(d);
    if (is_wide(&c->observed, d))
        DPA_TRY(dpa__lints_add(
            lints, err, "deviation",
            "the cosines' deviation is %.3g times 1/sqrt(dim): 'mean' takes it as "
            "1, 'mean-and-deviation' as it is%s",
            ratio, ratio < 0.5 || ratio > 2.0 ? "; or is the dimension wrong?" : ""));
    return DPA_OK;
}

static dpa_status check_method(const dpa_cosines *cosines, const char *method, dpa_error *err) {
    const int is_rounds = cosines->unobserved != NULL;
    if (method[0] == '\0') return DPA_OK;
    const dpa__entry *entry = dpa__registry_for(DPA_FROM_COSINES, method, err);
    if (entry == NULL) return DPA_BAD_ARGUMENT;
    if (entry->variant & (is_rounds ? DPA__COSINES_ROUNDS : DPA__COSINES_FINAL)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     is_rounds
                         ? "method: with unobserved canaries 'all-iterates', 'jeffreys' or 'scan', "
                           "not '%s'"
                         : "method: for the final model 'mean', 'mean-corrected', "
                           "'mean-and-deviation', 'jeffreys' or 'scan' "
                           "('all-iterates' needs unobserved canaries), not '%s'",
                     method);
}

dpa_status dpa__cosines_results(const dpa_cosines *cosines, const dpa_request *request,
                                dpa_results *results, dpa_lints *lints, dpa_error *err) {
    context c = {.cosines = cosines, .request = request, .results = results};
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check_method(cosines, request->method, err));
    DPA_TRY(dpa__cosine_fit_sample(cosines->observed, cosines->observed_count, &c.observed, err));
    DPA_TRY(dpa__anderson_darling(cosines->observed, cosines->observed_count, &c.statistic,
                                  &c.p_value, err));
    if (cosines->unobserved != NULL) {
        DPA_TRY(dpa__cosine_fit_sample(cosines->unobserved, cosines->unobserved_count,
                                       &c.unobserved, err));
        DPA_TRY(add_rounds(&c, err));
    } else {
        DPA_TRY(add_final(&c, err));
    }
    DPA_TRY(add_threshold(&c, err));
    DPA_TRY(add_scan(&c, err));
    return lint(&c, lints, err);
}
