/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds: a certificate from one federated training (docs/methods/known-rounds.md). First
 * what the rounds of one canary leak, then by the accountant the whole training.
 *
 * The auditor draws each canary's rounds, then its coin. The channel from a canary's coin to what
 * is released is at least as private as N(0,1) against N(μ,1), μ = spread·√R/σ for a canary of R
 * rounds, and the channels of different canaries are independent; so the rank statistic of the
 * scores is stochastically no larger than that of independent normal draws (section "one run,
 * independent channels" there), and the rank bound on μ holds as it does for independent runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "account/family.h"
#include "base/error.h"
#include "base/text.h"
#include "estimate/cosines/cosine.h"
#include "estimate/one_run/one_run.h"
#include "estimate/ranks/scan.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "tradeoff/tradeoff.h"

/* The range of noise that the accountant accepts; ε falls with the noise. */
static const double LEAST_SIGMA = 0.001, MOST_SIGMA = 1e9;

static const double MOST_MU = 1e3;    /* a larger μ is treated as infinite */
static const double RANK_SHARE = 0.8; /* share of the error; the scan gets the other part */
static const double LEAST_P = 3e-4;   /* the scan's draws cannot resolve less */

static dpa_account_opts account_opts(double sigma, double delta) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    /* ε in the hundreds needs no third digit, and the grid could not provide it. */
    if (sigma < 0.5) opts.tolerance = 0.2;
    return opts;
}

static dpa_status check_rule(const dpa_participation_rule *rule, dpa_error *err) {
    if (isnan(rule->q) ? !(rule->times >= 1.0) || !isfinite(rule->times)
                       : !(rule->q > 0.0 && rule->q <= 1.0) || rule->rounds < 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "participation: expected at least 1 known round, or a rate q above 0 and "
                         "at most 1 and rounds");
    return DPA_OK;
}

static dpa_status sampled_epsilon(const dpa_participation_rule *rule, double sigma, double delta,
                                  dpa_interval *out, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, rule->q, rule->rounds};
    const dpa_account_opts opts = account_opts(sigma, delta);
    dpa_account *account = NULL;
    DPA_TRY(dpa_account_new(&phase, 1, &opts, &account, err));
    const dpa_status status = dpa_account_epsilon(account, delta, out, err);
    dpa_account_free(account);
    return status;
}

dpa_status dpa__participation_epsilon(const dpa_participation_rule *rule, double sigma,
                                      double delta, dpa_interval *out, dpa_error *err) {
    DPA_TRY(check_rule(rule, err));
    if (!(sigma >= 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "noise multiplier %g: expected 0 or more", sigma);
    *out = (dpa_interval){0.0, 0.0};
    if (sigma == (double)INFINITY) return DPA_OK;
    if (sigma == 0.0) {
        *out = (dpa_interval){(double)INFINITY, (double)INFINITY};
        return DPA_OK;
    }
    if (!isnan(rule->q)) {
        const double near = fmin(fmax(sigma, LEAST_SIGMA), MOST_SIGMA);
        DPA_TRY(sampled_epsilon(rule, near, delta, out, err));
        if (sigma < near) out->upper = (double)INFINITY;
        if (sigma > near) out->lower = 0.0;
        return DPA_OK;
    }
    const double epsilon = dpa_gaussian_epsilon(sqrt(rule->times) / sigma, delta);
    const double error = 1e-9 * fmax(1.0, epsilon);
    *out = (dpa_interval){fmax(0.0, epsilon - error), epsilon + error};
    return DPA_OK;
}

/* Calibration rounds up, so its target is raised until the ε of the noise is not below the claim.
 */
dpa_status dpa__known_rounds_claim(const dpa_known_rounds *known, double epsilon, double delta,
                                   double *mu, dpa_error *err) {
    const dpa_participation_rule *rule = &known->rule;
    *mu = (double)INFINITY;
    if (isnan(rule->q)) {
        *mu = dpa_gaussian_mu(epsilon, delta) / sqrt(rule->times);
        return DPA_OK;
    }
    const dpa_phase phase = {DPA_GAUSSIAN, 1.0, rule->q, rule->rounds};
    const dpa_account_opts opts = account_opts(1.0, delta);
    double sigma = 0.0, target = epsilon;
    dpa_interval achieved = {0, 0};
    for (int i = 0; i < 4 && achieved.lower < epsilon; ++i) {
        DPA_TRY(dpa_calibrate(&phase, 1, DPA_CALIBRATE_SIGMA, target, delta, &opts, &sigma,
                              &achieved, err));
        target += 1.01 * fmax(0.0, epsilon - achieved.lower) + 1e-9;
    }
    if (achieved.lower >= epsilon) *mu = 1.0 / sigma;
    return DPA_OK;
}

static dpa_status check(const dpa_known_rounds *k, dpa_error *err) {
    DPA_TRY(check_rule(&k->rule, err));
    if (k->observed_count < 2 || k->unobserved_count < 2)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "known rounds: %zu observed and %zu unobserved canaries: at least 2 of "
                         "each are needed",
                         k->observed_count, k->unobserved_count);
    if (!(k->canary_rounds >= 1.0) || !isfinite(k->canary_rounds))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rounds of a canary: at least 1, not %g",
                         k->canary_rounds);
    if (!(k->spread >= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "spread of the canaries: at least 1, not %g",
                         k->spread);
    return DPA_OK;
}

/* One test in the Gaussian family, about the μ of a canary. `claim`: μ of one round (NaN: none). */
static dpa_status run_test(const dpa_known_rounds *k, const dpa_scores *scores, const char *method,
                           double confidence, const dpa_request *request, double claim,
                           dpa_result *out, dpa_error *err) {
    dpa_results results = {0};
    dpa_request one = *request;
    one.sides = 1;
    one.confidence = confidence;
    one.select[0] = '\0';
    (void)snprintf(one.family, sizeof one.family, "gaussian");
    (void)snprintf(one.method, sizeof one.method, "%s", method);
    const double mu = claim * k->spread * sqrt(k->canary_rounds);
    one.claim_epsilon =
        isnan(mu) ? (double)NAN : dpa_gaussian_epsilon(fmin(mu, MOST_MU), request->delta);
    one.claim_delta = (double)NAN;
    dpa_status status = dpa__estimate_scores(scores, &one, &results, err);
    if (status == DPA_OK && results.count != 1)
        status = dpa__fail(err, DPA_NUMERIC, "known rounds: no bound by %s", method);
    if (status == DPA_OK) *out = results.items[0];
    dpa__results_free(&results);
    return status;
}

/* Tests whether the scan rejects "the μ of a canary is at most mu" at this error. */
static dpa_status scan_rejects(const dpa_scores *scores, const dpa_curve *curve, double error,
                               const dpa_request *request, int *is_rejected, dpa_error *err) {
    dpa_request strict = *request;
    strict.confidence = 1.0 - error;
    strict.sides = 1;
    return dpa__scan_rejects(scores, curve, &strict, is_rejected, err);
}

/* The scan's p-value of "the μ of a canary is at most mu" if it is below `most`, else 1. One cheap
 * test decides that first, because the value itself needs many more draws. */
static dpa_status scan_p_value(const dpa_scores *scores, double mu, double most,
                               const dpa_request *request, double *p, dpa_error *err) {
    dpa_curve *curve = NULL;
    int is_less = 0;
    *p = 1.0;
    if (!(mu < MOST_MU) || most < LEAST_P) return DPA_OK;
    DPA_TRY(dpa_curve_gaussian(mu, &curve, err));
    dpa_status status = scan_rejects(scores, curve, fmin(most, 0.5), request, &is_less, err);
    if (status == DPA_OK && is_less) status = dpa__scan_p_value(scores, curve, request, p, err);
    dpa_curve_free(curve);
    return status;
}

/* The scan's bound if it is above `mu`. One test decides whether it can be, because the walk is
 * long. */
static dpa_status scan_above(const dpa_known_rounds *k, const dpa_scores *scores, double error,
                             const dpa_request *request, double *mu, dpa_error *err) {
    int is_above = 0;
    dpa_curve *curve = NULL;
    dpa_result scan;
    if (!(*mu < MOST_MU)) return DPA_OK;
    DPA_TRY(dpa_curve_gaussian(*mu, &curve, err));
    const dpa_status status = scan_rejects(scores, curve, error, request, &is_above, err);
    dpa_curve_free(curve);
    if (status != DPA_OK || !is_above) return status;
    DPA_TRY(run_test(k, scores, "scan", 1.0 - error, request, (double)NAN, &scan, err));
    *mu = fmax(*mu, scan.parameter_lower);
    return DPA_OK;
}

/* Ranks see a leak of all canaries best, the scan one of a few of them: a client that counts ten
 * times. Together they err no more often than asked for; the larger μ is the bound. */
static dpa_status both_tests(const dpa_known_rounds *k, const dpa_scores *scores,
                             const dpa_request *request, double claim, dpa_result *out,
                             dpa_error *err) {
    const double p = 1.0 - request->confidence, scan_share = 1.0 - RANK_SHARE;
    double mu, by_scan;
    if (dpa__registry_is_rank(request->method))
        return run_test(k, scores, "rank", request->confidence, request, claim, out, err);
    DPA_TRY(run_test(k, scores, "rank", 1.0 - RANK_SHARE * p, request, claim, out, err));
    const double by_rank = mu = out->parameter_lower;
    DPA_TRY(scan_above(k, scores, scan_share * p, request, &mu, err));
    out->parameter_lower = mu;
    out->extra_count = 0;
    dpa__result_add_extra(out, "mu_by_rank", by_rank);
    if (mu > by_rank) dpa__result_add_extra(out, "mu_by_scan", mu);
    if (isnan(claim)) return DPA_OK;
    DPA_TRY(scan_p_value(scores, claim * k->spread * sqrt(k->canary_rounds),
                         out->p_value / RANK_SHARE * scan_share, request, &by_scan, err));
    out->p_value = fmin(1.0, fmin(out->p_value / RANK_SHARE, by_scan / scan_share));
    return DPA_OK;
}

/* 1 if the claimed participation is what the canaries did: as many rounds, known to the attacker.
 */
static int is_as_claimed(const dpa_known_rounds *k) {
    return isnan(k->rule.q) && k->rule.times == k->canary_rounds;
}

static int is_gaussian(const char *family) {
    return family[0] == '\0' || dpa__family_is_gaussian(family);
}

/* Another family than the Gaussian one: the channels of orthogonal canaries, ranked or scanned. The
 * claim is the ε of a canary's rounds; of other rounds it follows by Gaussian noise. */
static dpa_status run_family(const dpa_known_rounds *k, const dpa_scores *scores,
                             const dpa_request *request, double claim, dpa_result *out,
                             dpa_error *err) {
    dpa_request one = *request;
    one.sides = 1;
    one.method[0] = one.select[0] = '\0';
    one.claim_delta = (double)NAN;
    if (!is_as_claimed(k) && !isnan(claim))
        one.claim_epsilon =
            dpa_gaussian_epsilon(fmin(claim * sqrt(k->canary_rounds), MOST_MU), request->delta);
    return dpa__one_run_channels(scores, &one, out, err);
}

static dpa_status run_tests(const dpa_known_rounds *k, const dpa_request *request, double claim,
                            dpa_result *out, dpa_lints *lints, dpa_error *err) {
    dpa_scores scores = {0};
    DPA_TRY(dpa__scores_from(k->observed, k->observed_count, k->unobserved, k->unobserved_count,
                             &scores, err));
    dpa_status status = dpa__scores_prepare_here(&scores, lints, err);
    if (status == DPA_OK)
        status = is_gaussian(request->family) ? both_tests(k, &scores, request, claim, out, err)
                                              : run_family(k, &scores, request, claim, out, err);
    dpa__scores_free(&scores);
    return status;
}

static dpa_status lint(const dpa_known_rounds *k, dpa_lints *lints, dpa_error *err) {
    if (isinf(k->spread))
        return dpa__lints_add(lints, err, "spread",
                              "how much these canaries overlap is not known, so nothing can be "
                              "certified: use direction hadamard");
    if (k->spread > 1.2)
        return dpa__lints_add(lints, err, "spread",
                              "the canaries of a round overlap (spread %.3g), which costs that "
                              "factor: direction hadamard has none",
                              k->spread);
    return DPA_OK;
}

/* Overlapping canaries are worth independent ones with less Gaussian noise; nothing like that is
 * known of other noise. */
static dpa_status check_family(const dpa_known_rounds *k, const char *family, dpa_error *err) {
    if (is_gaussian(family) || k->spread == 1.0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "family: '%.60s' needs canaries that do not overlap (direction hadamard); for "
                     "others there is the family gaussian",
                     family);
}

static void describe(const dpa_known_rounds *k, const dpa_request *request, dpa_result *out) {
    (void)snprintf(out->method, sizeof out->method, "known-rounds");
    (void)dpa__print(out->note, sizeof out->note,
                     "about a canary in %.6g known round%s: ranked among canaries that stayed at "
                     "home, each over its own rounds",
                     k->canary_rounds, k->canary_rounds == 1.0 ? "" : "s");
    out->scope = DPA_SCOPE_PARTICIPATION;
    out->confidence = request->confidence;
    out->assumptions |= DPA_ASSUME_ONE_RUN_CANARIES | DPA_ASSUME_CHANNELS;
    if (k->direction != DPA_DIRECTION_SPHERE) out->assumptions |= DPA_ASSUME_SIGN_CANARIES;
    if (k->direction == DPA_DIRECTION_SPHERE) out->assumptions |= DPA_ASSUME_RANDOM_CANARIES;
    dpa__result_add_extra(out, "canary_rounds", k->canary_rounds);
    dpa__result_add_extra(out, "spread", k->spread);
}

dpa_status dpa__known_rounds_participation(const dpa_known_rounds *known,
                                           const dpa_request *request, dpa_result *out,
                                           dpa_lints *lints, dpa_error *err) {
    const dpa_participation_rule once = {1.0, (double)NAN, 0};
    double claim = (double)NAN;
    dpa_interval epsilon;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check(known, err));
    DPA_TRY(check_family(known, request->family, err));
    DPA_TRY(lint(known, lints, err));
    if (!isnan(request->claim_epsilon))
        DPA_TRY(
            dpa__known_rounds_claim(known, request->claim_epsilon, request->delta, &claim, err));
    DPA_TRY(run_tests(known, request, claim, out, lints, err));
    if (is_gaussian(request->family)) {
        out->assumptions = DPA_ASSUME_FAMILY_GAUSSIAN;
        out->parameter_lower /= known->spread;
        const double mu = out->parameter_lower;
        DPA_TRY(dpa__participation_epsilon(&once, mu > 0.0 ? 1.0 / mu : (double)INFINITY,
                                           request->delta, &epsilon, err));
        out->epsilon_lower = epsilon.lower;
        out->numerical_error = epsilon.upper - epsilon.lower;
    }
    describe(known, request, out);
    return DPA_OK;
}

/* The μ of one round that a bound on a canary's rounds shows; of Gaussian noise, which a bound for
 * any mechanism does not assume. */
static dpa_status mu_of_one_round(const dpa_known_rounds *k, const dpa_result *participation,
                                  double delta, double *mu, dpa_error *err) {
    const double epsilon = participation->epsilon_lower;
    const int is_universal = dpa__family_is_universal(participation->family);
    if (!is_universal && !is_gaussian(participation->family))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "a bound in this family is about the rounds that the canaries were in (%.6g), "
            "and says nothing about another participation; leave --family out, or "
            "--claim-scope participation",
            k->canary_rounds);
    *mu = participation->parameter_lower;
    if (is_universal)
        *mu = isinf(epsilon) ? epsilon : epsilon > 0.0 ? dpa_gaussian_mu(epsilon, delta) : 0.0;
    *mu /= sqrt(k->canary_rounds);
    return DPA_OK;
}

static void describe_training(const dpa_known_rounds *k, double mu, dpa_result *out) {
    (void)dpa__print(
        out->note, sizeof out->note,
        isnan(k->rule.q)
            ? "about a client in %.6g known round%s: canaries ranked over their own "
              "rounds, through the accountant; conditional on Gaussian noise"
            : "about a client in Poisson rounds (q %.6g, %s): ranks of canaries over "
              "their own rounds, through the accountant; conditional on Gaussian noise",
        isnan(k->rule.q) ? k->rule.times : k->rule.q,
        !isnan(k->rule.q)      ? "rounds hidden"
        : k->rule.times == 1.0 ? ""
                               : "s");
    (void)snprintf(out->family, sizeof out->family, "gaussian");
    (void)snprintf(out->parameter, sizeof out->parameter, "mu");
    out->assumptions &= ~(unsigned)DPA_ASSUME_FAMILY_DP;
    out->assumptions |= DPA_ASSUME_FAMILY_GAUSSIAN;
    out->parameter_lower = mu;
    dpa__result_add_extra(out, "mu_of_one_round", mu);
    dpa__result_add_extra(out, "sigma_upper", mu > 0.0 ? 1.0 / mu : (double)INFINITY);
}

dpa_status dpa__known_rounds_training(const dpa_known_rounds *known,
                                      const dpa_result *participation, double delta,
                                      dpa_result *out, dpa_error *err) {
    double mu = 0.0;
    dpa_interval epsilon;
    DPA_TRY(check_rule(&known->rule, err));
    *out = *participation;
    out->scope = DPA_SCOPE_TRAINING;
    if (is_as_claimed(known) && !is_gaussian(participation->family)) return DPA_OK;
    DPA_TRY(mu_of_one_round(known, participation, delta, &mu, err));
    DPA_TRY(dpa__participation_epsilon(&known->rule, mu > 0.0 ? 1.0 / mu : (double)INFINITY, delta,
                                       &epsilon, err));
    describe_training(known, mu, out);
    out->epsilon_lower = epsilon.lower;
    out->numerical_error = epsilon.upper - epsilon.lower;
    return DPA_OK;
}
