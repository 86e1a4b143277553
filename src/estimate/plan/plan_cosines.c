/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of an audit by canary cosines. In units of the null's deviation a cosine is N(μ,1), μ
 * of the Gaussian mechanism that is suspected (the dimension is taken as large).
 *
 * mean: the interval's lower end is that of |m̂| − z/√k, m̂ ~ N(μ, 1/k). Closed form.
 * mean-and-deviation: the lower end also depends on the fitted deviation, ŝ² ~ χ²(k−1)/k and
 *   independent of m̂; for each ŝ it exceeds the claim beyond some |m̂|. One integral over ŝ, by
 *   fixed Gauss–Legendre nodes on its normal scale (to about 1e-3).
 * jeffreys: "cosine ≥ threshold" with the exact FPR; the canaries missed are binomial. Exact.
 * jeffreys-split: the threshold is learned from a random half of the canaries and used on the other
 *   half, the default of the command `cosines` (estimate/cosines/cosine_lower.c). Only the choice
 * is simulated, by the function that makes it. Given the threshold, the number of missed canaries
 * in the other half is binomial, so its power is exact; the plan's power is the mean over simulated
 *   choices. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"
#include "estimate/cosines/cosine.h"
#include "estimate/plan/plan.h"
#include "estimate/rates/berkjones.h"
#include "evidence/evidence.h"
#include "math/dist.h"
#include "math/quad.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

enum { NODES = 32, STEPS = 128 };

/* Pr[|m̂| > limit]. */
static double beyond(double limit, double mu, double k) {
    return dpa__norm_cdf((limit - mu) * sqrt(k), DPA_UPPER) +
           dpa__norm_cdf((-limit - mu) * sqrt(k), DPA_LOWER);
}

static double power_of_mean(const dpa__plan *plan, double k) {
    const double z = dpa__norm_quantile(plan->p / 2, DPA_UPPER);
    return beyond(plan->claim.t + z / sqrt(k), plan->mu, k);
}

/* ── mean and deviation ────────────────────────────────────────────────────────────────────── */

/* The interval is the range of ε over a region: s from ŝ·low to ŝ·high, |m − m̂| ≤ slope·s
 * (estimate/cosines/cosine_estimate.c). Its lower end is above the claim when |m̂| > slope·s +
 * m_c(s) for every such s, where ε(m_c(s), s) is the claim: a function of s alone, tabulated once.
 */
typedef struct needed {
    double first, ratio; /* log of the first s, and of the step */
    double mean[STEPS];  /* m_c; −INFINITY where the deviation alone exceeds the claim */
} needed;

typedef struct point {
    const dpa__plan *plan;
    double deviation;
    double mean[2], excess[2]; /* that are known: 0, and the last that was asked for */
} point;

static double excess(double mean, void *user) {
    point *p = user;
    for (int i = 0; i < 2; ++i)
        if (mean == p->mean[i]) return p->excess[i];
    const int i = mean > 0;
    p->mean[i] = mean;
    p->excess[i] = dpa__two_gaussians_epsilon(0, 1, mean, p->deviation, p->plan->asked->delta) -
                   p->plan->claim_epsilon;
    return p->excess[i];
}

/* m_c of one deviation; −INFINITY where that alone exceeds the claim. */
static dpa_status mean_of(const dpa__plan *plan, double deviation, double *mean, dpa_error *err) {
    point p = {plan, deviation, {NAN, NAN}, {NAN, NAN}};
    double high = plan->claim.t + 1;
    dpa__bracket root;
    *mean = -HUGE_VAL;
    if (excess(0, &p) > 0) return DPA_OK;
    while (excess(high, &p) <= 0) high *= 2;
    DPA_TRY(dpa__root(excess, &p, 0, high, 1e-6, 1e-6, &root, err));
    *mean = root.upper;
    return DPA_OK;
}

/* The further a deviation is from 1, the more it alone shows: from s = 1 both ways, until one
 * exceeds the claim, as all beyond it do. */
static dpa_status tabulate(const dpa__plan *plan, double least, double most, needed *out,
                           dpa_error *err) {
    out->first = log(least);
    out->ratio = (log(most) - out->first) / (STEPS - 1);
    for (int i = 0; i < STEPS; ++i) out->mean[i] = -HUGE_VAL;
    const int middle = (int)fmin(fmax(-out->first / out->ratio, 0), STEPS - 1);
    for (int way = -1; way <= 1; way += 2)
        for (int i = way < 0 ? middle : middle + 1; i >= 0 && i < STEPS; i += way) {
            DPA_TRY(mean_of(plan, exp(out->first + out->ratio * i), &out->mean[i], err));
            if (isinf(out->mean[i])) break;
        }
    return DPA_OK;
}

/* m_c by linear interpolation; it falls steeply on both sides of its sharp maximum at s = 1, which
 * is known exactly. */
static double mean_at(const needed *t, double s) {
    const double place = fmin(fmax((log(s) - t->first) / t->ratio, 0), STEPS - 1);
    const int i = (int)fmin(floor(place), STEPS - 2);
    const double part = place - i;
    if (isinf(t->mean[i]) || isinf(t->mean[i + 1])) return fmax(t->mean[i], t->mean[i + 1]);
    return (1 - part) * t->mean[i] + part * t->mean[i + 1];
}

/* The |m̂| from which on the claim is refuted for every s in [low, high]. */
static double least_mean(const needed *t, double top, double slope, double low, double high) {
    double limit = fmax(slope * low + mean_at(t, low), slope * high + mean_at(t, high));
    if (low <= 1 && high >= 1) limit = fmax(limit, slope + top);
    for (int i = 0; i < STEPS; ++i) {
        const double s = exp(t->first + t->ratio * i);
        if (s > low && s < high) limit = fmax(limit, slope * s + t->mean[i]);
    }
    return fmax(limit, 0);
}

static dpa_status power_of_both(const dpa__plan *plan, double k, dpa_plan_answer *out,
                                dpa_error *err) {
    double node[NODES], weight[NODES], deviation[NODES], power = 0;
    const double reach = 6, half_error = (1 - sqrt(plan->asked->confidence)) / 2;
    const double low = sqrt(k / dpa__chisq_quantile(half_error, k - 1, DPA_UPPER));
    const double high = sqrt(k / dpa__chisq_quantile(half_error, k - 1, DPA_LOWER));
    const double slope = dpa__norm_quantile(half_error, DPA_UPPER) / sqrt(k);
    needed table;
    dpa__gauss_legendre(NODES, node, weight);
    for (int i = 0; i < NODES; ++i) {
        const double level = dpa__norm_cdf(reach * node[i], DPA_LOG_LOWER);
        deviation[i] = sqrt(dpa__chisq_quantile(exp(level), k - 1, DPA_LOWER) / k);
    }
    DPA_TRY(tabulate(plan, deviation[0] * low, deviation[NODES - 1] * high, &table, err));
    for (int i = 0; i < NODES; ++i) {
        const double limit =
            least_mean(&table, plan->claim.t, slope, deviation[i] * low, deviation[i] * high);
        power += reach * weight[i] * exp(dpa__norm_log_pdf(reach * node[i])) *
                 beyond(limit, plan->mu, k);
    }
    out->power = fmin(1, power);
    return DPA_OK;
}

/* ── a threshold ───────────────────────────────────────────────────────────────────────────── */

typedef struct cut {
    const dpa__plan *plan;
    double k;
    const dpa__missed *limit; /* by the canaries missed; NULL: not computed */
} cut;

/* 1 if ε ≥ max{log((1−δ−FPR)/FNR), log((1−δ−FNR)/FPR)} is above the claim
 * (estimate/cosines/cosine_lower.c). */
static int refutes(const cut *c, double missed, double threshold) {
    const double delta = c->plan->asked->delta, claim = c->plan->claim_epsilon;
    const dpa__missed limit =
        c->limit != NULL ? c->limit[(size_t)missed]
                         : dpa__cosine_missed(dpa__jeffreys_upper(missed, c->k, c->plan->p), delta);
    const double first = 1 - delta - dpa__norm_cdf(threshold, DPA_UPPER);
    return (first > 0 && log(first) - limit.log_fnr > claim) ||
           limit.log_rest - dpa__norm_cdf(threshold, DPA_LOG_UPPER) > claim;
}

static double power_at(double threshold, void *user) {
    const cut *c = user;
    double low = -1, high = c->k + 1; /* low refutes, high does not */
    while (high - low > 1) {
        const double middle = floor((low + high) / 2);
        if (refutes(c, middle, threshold))
            low = middle;
        else
            high = middle;
    }
    const double fnr = dpa__norm_cdf(threshold - c->plan->mu, DPA_LOWER);
    return low < 0 ? 0 : dpa__binom_cdf(low, c->k, fnr, DPA_LOWER);
}

/* ── a threshold that is learned ───────────────────────────────────────────────────────────── */

enum { FEW = 100, MANY = 400, LEAST = 25, MOST_DRAWS = 2000000 };

typedef struct halves {
    const dpa__plan *plan;
    size_t learning, other; /* canaries of the two halves */
    dpa__missed *limit[2];  /* by the canaries missed in the learning and other half */
    double *power;          /* per simulated choice */
    double *cosines;        /* per choice: room for `learning` */
    atomic_int has_failed;
} halves;

static int learn(void *user, size_t task) {
    halves *h = user;
    dpa_error ignored;
    double *cosine = h->cosines + task * h->learning;
    dpa_rng rng;
    dpa__rng_init(&rng, h->plan->asked->seed, DPA_PURPOSE_SIMULATE, task);
    for (size_t i = 0; i < h->learning; ++i) cosine[i] = h->plan->mu + dpa__rng_normal(&rng);
    if (dpa__sort_numbers(cosine, h->learning, &ignored) != DPA_OK) {
        atomic_store(&h->has_failed, 1);
        return 1;
    }
    const double threshold =
        dpa__cosine_learn(cosine, h->learning, h->plan->asked->delta, h->limit[0]);
    cut c = {h->plan, (double)h->other, h->limit[1]};
    h->power[task] = power_at(threshold, &c);
    return 0;
}

static void average(const double *power, size_t count, dpa_plan_answer *out) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) sum += power[i];
    out->power = sum / (double)count;
    for (size_t i = 0; i < count; ++i) squares += pow(power[i] - out->power, 2);
    /* even if all choices drawn have the same power, others may not */
    out->error = fmax(sqrt(squares / (double)(count - 1) / (double)count),
                      dpa__share_error(0, (double)count * (double)count));
}

static dpa__missed *new_limits(const dpa__plan *plan, size_t count, dpa_error *err) {
    dpa__missed *limit = DPA_NEW_ARRAY(dpa__missed, count + 1, err);
    for (size_t i = 0; limit != NULL && i <= count; ++i)
        limit[i] = dpa__cosine_missed(dpa__jeffreys_upper((double)i, (double)count, plan->p),
                                      plan->asked->delta);
    return limit;
}

static dpa_status simulate(const dpa__plan *plan, size_t n, size_t count, dpa_plan_answer *out,
                           dpa_error *err) {
    halves h = {.plan = plan, .learning = n / 2, .other = n - n / 2};
    h.limit[0] = new_limits(plan, h.learning, err);
    h.limit[1] = h.other > h.learning ? new_limits(plan, h.other, err) : h.limit[0];
    h.power = DPA_NEW_ARRAY(double, count, err);
    h.cosines = dpa__malloc(count, h.learning * sizeof(double), err);
    dpa_status status =
        h.limit[0] == NULL || h.limit[1] == NULL || h.power == NULL || h.cosines == NULL
            ? DPA_NO_MEMORY
            : DPA_OK;
    if (status == DPA_OK)
        status = dpa__parallel(dpa__threads(plan->asked->threads), count, learn, &h, err);
    if (atomic_load(&h.has_failed)) status = dpa__fail(err, DPA_NO_MEMORY, "out of memory");
    if (status == DPA_OK) average(h.power, count, out);
    if (h.limit[1] != h.limit[0]) free(h.limit[1]);
    free(h.limit[0]);
    free(h.power);
    free(h.cosines);
    return status;
}

static dpa_status by_split(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                           dpa_error *err) {
    out->power = 0;
    if (n < 2) return DPA_OK; /* too few to halve */
    const uint64_t wanted = care == DPA__ROUGHLY ? FEW : MANY, can = MOST_DRAWS / n;
    return simulate(plan, (size_t)n,
                    (size_t)(can < LEAST    ? LEAST
                             : can < wanted ? can
                                            : wanted),
                    out, err);
}

/* ── the methods ───────────────────────────────────────────────────────────────────────────── */

static dpa_status by_mean(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                          dpa_error *err) {
    (void)care, (void)err;
    out->power = power_of_mean(plan, (double)n);
    return DPA_OK;
}

static dpa_status by_mean_and_deviation(dpa__plan *plan, uint64_t n, dpa__care care,
                                        dpa_plan_answer *out, dpa_error *err) {
    (void)care;
    out->power = 0;
    return n < 2 ? DPA_OK : power_of_both(plan, (double)n, out, err);
}

static dpa_status by_threshold(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                               dpa_error *err) {
    cut c = {plan, (double)n, NULL};
    (void)err;
    dpa__best_threshold(power_at, &c, -1, plan->mu + 6, dpa__plan_enough(plan, care), out);
    return DPA_OK;
}

/* The scan refutes when the cosine above which all but i canaries lie is large enough, for some i:
 * when a false positive rate below a_i = max{1 − δ − e^ε·limit_i, e^−ε·(1 − δ − limit_i)} is seen
 * there. The canaries' rates under the truth are uniform order statistics, so the power is a
 * crossing probability. */
static dpa_status by_scan(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                          dpa_error *err) {
    const double known = 1 - plan->asked->delta, e = exp(plan->claim_epsilon);
    const size_t count = (size_t)n;
    double *limit = DPA_NEW_ARRAY(double, count + 1, err);
    double *enough = DPA_NEW_ARRAY(double, count, err);
    dpa_status status = limit != NULL && enough != NULL ? DPA_OK : DPA_NO_MEMORY;
    (void)care;
    if (status == DPA_OK) status = dpa__cosine_scan_limits(count, plan->p, limit, err);
    for (size_t missed = 0; status == DPA_OK && missed < count; ++missed) {
        const double fnr = limit[missed], most = fmax(known - e * fnr, (known - fnr) / e);
        const double least = most > 0 ? dpa__norm_quantile(most, DPA_UPPER) : HUGE_VAL;
        enough[count - missed - 1] = most > 0 ? dpa__norm_cdf(least - plan->mu, DPA_UPPER) : 0;
    }
    if (status == DPA_OK) status = dpa__crossing(count, enough, &out->power, err);
    free(limit);
    free(enough);
    return status;
}

const dpa__power dpa__planned_mean = {by_mean, DPA__IN_COSINES, .limit = DPA__MOST_SIZE,
                                      .fine = 1e-4};
const dpa__power dpa__planned_mean_and_deviation = {by_mean_and_deviation, DPA__IN_COSINES,
                                                    .limit = DPA__MOST_SIZE, .fine = 1e-4};
const dpa__power dpa__planned_jeffreys = {by_threshold, DPA__IN_COSINES, .limit = DPA__MOST_SIZE,
                                          .fine = 1e-4};
const dpa__power dpa__planned_jeffreys_split = {by_split, DPA__IN_COSINES, .limit = 100000,
                                                .parts = 40, .fine = 2e-3};
const dpa__power dpa__planned_cosine_scan = {by_scan, DPA__IN_COSINES, .limit = 20000,
                                             .fine = 1e-4};
