/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound from ranks alone (methods.md, end of section 4; proof in docs/methods/rank.md).
 *
 * f-DP says that the rate W = Pr[an out-score is at least the in-score] has Pr[W ≤ a] ≤ 1−f(a), so
 * a statistic that only grows when in-scores rise is stochastically largest for W* with CDF 1−f
 * against uniform V. With the same draws for all t, T*_b grows with t, so replicate b reaches T at
 * some t_b; the hypothesis t is refuted while fewer than j of the t_b are ≤ t, and the bound is the
 * next t_b: an order statistic, found by bisection in which only undecided replicates are looked
 * at. Given the draws the level is Beta(j, B+1−j); j is the largest with which it is above p for
 * one seed in a thousand, since everybody uses the same seed.
 *
 * From 1000 of each class on the normal law of U* (exact mean and deviation) takes its place,
 * 0.0005 taken off p. U* is skewed to the left under every curve, so that the normal tail is the
 * larger one: W* has a falling density, a mixture of uniforms on (0,a), whose third central moment
 * is E[(a−Ea)²a]/4 ≥ 0, and U* falls when W* rises; by the inverse curve the same holds for V.
 * Measured levels are in docs/methods/rank.md; draws that have to hold for one seed have less power
 * there. */
#include "estimate/ranks/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/ranks/scan.h"
#include "math/dist.h"
#include "math/root.h"

/* Draws that are cheap, which is also the most that are made; replicates beyond 1/p that are
 * wanted, and that are needed. */
static const double MOST = 6e6, WANTED = 1000, NEEDED = 60;
/* Size of the smaller class from which on the normal law is used. */
static const double NORMAL_FROM = 1000;

/* log −f′(v): the log likelihood ratio that the best attack on f sees at false positive rate v. */
static double log_slope(const dpa__member *member, double v) {
    if (member->kind == DPA__MODEL_GAUSSIAN) return dpa__norm_quantile(v, DPA_UPPER);
    const double step = 0.01 * fmin(v, 1 - v);
    const double rise =
        dpa__curve_tpr(member->curve, v + step) - dpa__curve_tpr(member->curve, v - step);
    return log(fmax(rise / (2 * step), 1e-300));
}

dpa_status dpa__rank_weights(dpa__rank_score score, const dpa__model *model, double t,
                             size_t nonmembers, double **out, dpa_error *err) {
    dpa__member member;
    double *weights = DPA_NEW_ARRAY(double, nonmembers + 1, err);
    *out = NULL;
    if (weights == NULL) return DPA_NO_MEMORY;
    if (score == DPA__RANK_SLOPE) {
        const dpa_status status = dpa__member_open(model, t, &member, err);
        if (status != DPA_OK) {
            free(weights);
            return status;
        }
        for (size_t j = 0; j <= nonmembers; ++j) {
            weights[j] = log_slope(&member, ((double)j + 0.5) / ((double)nonmembers + 1));
            /* a convex curve has falling slopes; do not let rounding violate that */
            if (j > 0) weights[j] = fmin(weights[j], weights[j - 1]);
        }
        dpa__member_close(&member);
    } else {
        for (size_t j = 0; j <= nonmembers; ++j) weights[j] = (double)(nonmembers - j);
    }
    *out = weights;
    return DPA_OK;
}

double dpa__rank_statistic(const dpa_scores *s, const double *weights) {
    double sum = 0;
    size_t below = s->nonmembers; /* non-members that score less */
    for (size_t i = s->members; i > 0; --i) {
        while (below > 0 && s->nonmember[below - 1] >= s->member[i - 1]) --below;
        sum += weights[s->nonmembers - below];
    }
    return sum;
}

/* The member that the claim names; NaN if there is none. */
static dpa_status claimed_t(const dpa__model *model, const dpa_request *request, double *t,
                            dpa_error *err) {
    const double delta = dpa__claim_delta(request);
    *t = NAN;
    if (isnan(request->claim_epsilon)) return DPA_OK;
    return dpa__model_claim(model, request->claim_epsilon, delta, t, err);
}

/* ── the simulated p-value ─────────────────────────────────────────────────────────────────── */

typedef struct study {
    const dpa__model *model;
    const dpa__rank_draws *draws;
    const double *weights;
    double observed; /* reduced by the rounding error of a sum */
    double *scratch;
    size_t *open; /* replicates that are not decided yet */
} study;

/* Moves those of open[from, to) that reach the observed value at t to the front; returns their end.
 */
static dpa_status partition(const study *s, double t, size_t from, size_t to, size_t *end,
                            dpa_error *err) {
    dpa__member member;
    DPA_TRY(dpa__member_open(s->model, t, &member, err));
    *end = from;
    for (size_t i = from; i < to; ++i) {
        const size_t b = s->open[i];
        if (!dpa__rank_reaches(s->draws, b, &member, s->weights, s->observed, s->scratch)) continue;
        s->open[i] = s->open[*end];
        s->open[(*end)++] = b;
    }
    dpa__member_close(&member);
    return DPA_OK;
}

/* The t at which replicate number `wanted` (in the order of t_b) reaches the observed value, or
 * rather the last t seen at which it has not. The search starts at `guess`. t = 0 is not tested if
 * a larger t is refuted. */
static dpa_status order_statistic(const study *s, size_t wanted, double guess, double *t,
                                  dpa_error *err) {
    double low = 0, high = s->model->max;
    size_t from = 0, to = s->draws->replicates, end;
    double next = guess, step = 0.02 * fmax(guess, 1e-3);
    int is_bracketed = 0, is_known = 0; /* a high end; a low end */
    *t = 0;
    while (!is_known || !is_bracketed || high - low > 1e-10 * fmax(1, high)) {
        if (is_bracketed) next = is_known ? 0.5 * (low + high) : 0;
        next = fmin(next, s->model->max);
        DPA_TRY(partition(s, next, from, to, &end, err));
        if (end > wanted) {
            if (next == 0) return DPA_OK;
            to = end;
            high = next;
            is_bracketed = 1;
        } else {
            from = end;
            low = next;
            is_known = 1;
            if (low >= s->model->max || low > 1e6) break;
            next = low > 0 ? low + step : 1e-3;
            if (low > 0) step *= 2;
        }
    }
    *t = low;
    return DPA_OK;
}

/* ── the normal law ────────────────────────────────────────────────────────────────────────── */

typedef struct normal_law {
    const dpa__model *model;
    double members, nonmembers, observed, z;
} normal_law;

/* By how much the observed value is above the mean at t, and the deviation there. */
static dpa_status standing(const normal_law *n, double t, double *over, double *deviation,
                           dpa_error *err) {
    dpa__member member;
    double mean = 0;
    DPA_TRY(dpa__member_open(n->model, t, &member, err));
    const dpa_status status =
        dpa__rank_moments(&member, n->members, n->nonmembers, &mean, deviation, err);
    dpa__member_close(&member);
    *over = n->observed - 0.5 - mean;
    return status;
}

/* Positive while t is refuted. */
static dpa_status margin(double t, void *user, double *out, dpa_error *err) {
    const normal_law *n = user;
    double over, deviation;
    DPA_TRY(standing(n, t, &over, &deviation, err));
    *out = over - n->z * deviation;
    return DPA_OK;
}

static dpa_status normal_bound(normal_law *n, double *t, dpa_error *err) {
    static const double FAR = 0x1p10;
    dpa__bracket root;
    double at_zero;
    *t = 0;
    DPA_TRY(margin(0, n, &at_zero, err));
    if (!(at_zero > 0)) return DPA_OK;
    DPA_TRY(dpa__root_above(margin, n, 1, fmin(n->model->max, FAR), 1e-11, &root, err));
    *t = root.lower;
    return DPA_OK;
}

static dpa_status normal_p_value(const normal_law *n, const dpa_request *request, double *out,
                                 dpa_error *err) {
    double over, deviation, t;
    DPA_TRY(claimed_t(n->model, request, &t, err));
    if (!isfinite(t)) return DPA_OK;
    DPA_TRY(standing(n, t, &over, &deviation, err));
    *out = fmin(1, DPA__RANK_NORMAL_ERROR + dpa__norm_cdf(over / deviation, DPA_UPPER));
    return DPA_OK;
}

/* ── putting it together ───────────────────────────────────────────────────────────────────── */

size_t dpa__rank_replicates(dpa__rank_score score, double p, double members, double nonmembers) {
    if (score == DPA__RANK_AUC && fmin(members, nonmembers) >= NORMAL_FROM) return 0;
    const double wanted = fmin(WANTED, floor(MOST * p / (members + nonmembers)));
    return wanted >= NEEDED ? (size_t)(ceil(wanted / p - 1e-9) - 1) : 0;
}

double dpa__rank_normal_level(double p) {
    return fmax(p - DPA__RANK_NORMAL_ERROR, 0.9 * p);
}

/* What is asked of the scores: the bound, and the p-value of the claim (NaN without one). */
typedef struct answer {
    double t, p_value;
} answer;

static dpa_status simulate(const dpa__model *model, const dpa_scores *scores, const double *weights,
                           double observed, double p, size_t replicates, const dpa_request *request,
                           answer *out, dpa_error *err) {
    dpa__rank_draws draws;
    study s = {model, &draws, weights, observed - 1e-12 * fabs(observed), NULL, NULL};
    double claim = NAN;
    DPA_TRY(dpa__rank_draw(model, scores->members, scores->nonmembers, replicates, request->seed,
                           &draws, err));
    s.scratch = DPA_NEW_ARRAY(double, scores->nonmembers, err);
    s.open = DPA_NEW_ARRAY(size_t, replicates, err);
    dpa_status status = s.scratch != NULL && s.open != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        for (size_t b = 0; b < replicates; ++b) s.open[b] = b;
        const size_t allowed =
            dpa__scan_may_reach(p, replicates, DPA__SCAN_DOUBT); /* fewer than this */
        if (allowed > 0) status = order_statistic(&s, allowed - 1, out->t, &out->t, err);
    }
    if (status == DPA_OK) status = claimed_t(model, request, &claim, err);
    if (status == DPA_OK && isfinite(claim)) {
        size_t reached;
        status = partition(&s, claim, 0, replicates, &reached, err);
        out->p_value = dpa__cp_upper((double)reached, (double)replicates, DPA__SCAN_DOUBT);
    }
    free(s.scratch);
    free(s.open);
    dpa__rank_draws_free(&draws);
    return status;
}

/* The t whose slopes weight the ranks: the claim's if there is one, else ε = 1 at the same δ. Fixed
 * before the scores are seen. */
static dpa_status reference_t(const dpa__model *model, const dpa_request *request, double *t,
                              dpa_error *err) {
    const double epsilon = isnan(request->claim_epsilon) ? 1 : request->claim_epsilon;
    double low = 0, high = fmin(1, model->max), here = 0;
    *t = high;
    if (model->kind == DPA__MODEL_GAUSSIAN) return DPA_OK; /* its slopes are the same up to scale */
    for (int i = 0; i < 30; ++i) {
        DPA_TRY(dpa__model_epsilon(model, *t, request->delta, 1, &here, err));
        if (here < epsilon)
            low = *t;
        else
            high = *t;
        if (here < epsilon && *t >= model->max) break;
        *t = high > low ? 0.5 * (low + high) : fmin(2 * low, model->max);
        if (high <= low) high = *t;
    }
    return DPA_OK;
}

static dpa_status mann_whitney(const dpa__model *model, const dpa_scores *scores, double *out,
                               dpa_error *err) {
    double *weights;
    DPA_TRY(dpa__rank_weights(DPA__RANK_AUC, model, 0, scores->nonmembers, &weights, err));
    *out = dpa__rank_statistic(scores, weights);
    free(weights);
    return DPA_OK;
}

static dpa_status bound(dpa__rank_score score, const dpa__model *model, const dpa_scores *scores,
                        const double *weights, const dpa_request *request, dpa_result *out,
                        dpa_error *err) {
    const double p = (1 - request->confidence) / request->sides;
    const double size = (double)(scores->members + scores->nonmembers);
    const double observed = dpa__rank_statistic(scores, weights);
    const size_t replicates =
        dpa__rank_replicates(score, p, (double)scores->members, (double)scores->nonmembers);
    answer found = {0, NAN};
    if (replicates == 0 && score != DPA__RANK_AUC)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method rank:slope: too many scores (%.0f) to simulate; use rank:auc",
                         size);
    double area = observed;
    if (score != DPA__RANK_AUC) DPA_TRY(mann_whitney(model, scores, &area, err));
    normal_law law = {model, (double)scores->members, (double)scores->nonmembers, area,
                      dpa__norm_quantile(dpa__rank_normal_level(p), DPA_UPPER)};
    DPA_TRY(normal_bound(&law, &found.t, err)); /* the search starts here */
    if (replicates > 0)
        DPA_TRY(simulate(model, scores, weights, observed, p, replicates, request, &found, err));
    else
        DPA_TRY(normal_p_value(&law, request, &found.p_value, err));
    const double t = found.t;
    out->p_value = found.p_value;
    dpa__result_add_extra(out, "statistic", observed);
    dpa__result_add_extra(out, "replicates", (double)replicates);
    if (replicates > 0)
        (void)snprintf(out->note, sizeof out->note,
                       "All ranks, no threshold; exact p-value from %zu simulated audits (seed "
                       "%llu).",
                       replicates, (unsigned long long)request->seed);
    else
        (void)snprintf(out->note, sizeof out->note,
                       "All ranks, no threshold; p-value from the normal law, on the safe side.");
    return dpa__result_lower(out, model, request, t, 1e-10 * fmax(1, t), err);
}

dpa_status dpa__rank_run(const char *method, const dpa__model *model, const dpa_scores *scores,
                         const dpa_request *request, dpa_result *out, dpa_error *err) {
    const dpa__model directed = dpa__model_directed(model);
    const dpa__rank_score score = (dpa__rank_score)dpa__registry_flavour(method);
    double t = 0, *weights = NULL;
    if (score == DPA__RANK_SLOPE) DPA_TRY(reference_t(model, request, &t, err));
    DPA_TRY(dpa__rank_weights(score, &directed, t, scores->nonmembers, &weights, err));
    dpa__result_begin(out, request, model, score == DPA__RANK_SLOPE ? "rank:slope" : "rank",
                      DPA_ASSUME_INDEPENDENT_RUNS);
    const dpa_status status = bound(score, &directed, scores, weights, request, out, err);
    free(weights);
    return status;
}

/* ── one curve: no family, no search ───────────────────────────────────────────────────────── */

static dpa_status simulated(const dpa_scores *scores, const dpa__member *null,
                            const double *weights, double observed, size_t replicates,
                            uint64_t seed, double *p, dpa_error *err) {
    const dpa__model any = {.kind = DPA__MODEL_CURVES};
    dpa__rank_draws draws = {0};
    size_t reached = 0;
    double *scratch = DPA_NEW_ARRAY(double, scores->nonmembers, err);
    if (scratch == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        dpa__rank_draw(&any, scores->members, scores->nonmembers, replicates, seed, &draws, err);
    for (size_t b = 0; status == DPA_OK && b < replicates; ++b)
        reached += dpa__rank_reaches(&draws, b, null, weights, observed, scratch) != 0;
    *p = dpa__cp_upper((double)reached, (double)replicates, DPA__SCAN_DOUBT);
    dpa__rank_draws_free(&draws);
    free(scratch);
    return status;
}

static dpa_status by_normal_law(const dpa_scores *scores, const dpa__member *null, double observed,
                                double *p, dpa_error *err) {
    double mean, deviation;
    DPA_TRY(dpa__rank_moments(null, (double)scores->members, (double)scores->nonmembers, &mean,
                              &deviation, err));
    *p = fmin(1, DPA__RANK_NORMAL_ERROR +
                     dpa__norm_cdf((observed - 0.5 - mean) / deviation, DPA_UPPER));
    return DPA_OK;
}

/* Mann–Whitney's U against its law under the curve itself. Simulated where that is quick; the value
 * given is then the upper 99.9% limit of the exact one, so that the level holds for the one seed
 * that everybody uses. Else the normal law with exact mean and deviation; its error at such sizes
 * (from 10,000 scores on) is below 0.0005 at p = 0.05, which is added. */
dpa_status dpa__rank_p_value(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, double *p, dpa_error *err) {
    static const double ALL_DRAWS = 1.2e7, LEAST = 1199, ENOUGH = 19999;
    const dpa__member null = {.kind = DPA__MODEL_CURVES, .curve = (dpa_curve *)curve};
    const double size = (double)scores->members + (double)scores->nonmembers;
    const double replicates = fmin(ENOUGH, floor(ALL_DRAWS / size));
    double *weights = NULL;
    DPA_TRY(dpa__rank_weights(DPA__RANK_AUC, NULL, 0, scores->nonmembers, &weights, err));
    const double observed = dpa__rank_statistic(scores, weights);
    const dpa_status status = replicates < LEAST
                                  ? by_normal_law(scores, &null, observed, p, err)
                                  : simulated(scores, &null, weights, observed, (size_t)replicates,
                                              request->seed, p, err);
    free(weights);
    return status;
}
