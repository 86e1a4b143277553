/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε_lo from canary cosines (one-shot-federated, section 5): "cosine ≥ threshold" says "in". The
 * false positive rate is known exactly for the final model (for canaries of signs it has an upper
 * limit that holds for every model, at most 3.178 times a normal law's); the false negative rate
 * has a Jeffreys limit, or for all thresholds at once a Berk–Jones band. ε ≥
 * max{log((1−δ−FPR)/FNR), log((1−δ−FNR)/FPR)} falls in both rates, so their upper limits give the
 * bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "estimate/rates/berkjones.h"
#include "estimate/rates/select.h"
#include "evidence/evidence.h"
#include "math/dist.h"
#include "math/root.h"

/* More thresholds than this are thinned out evenly. */
enum { MOST_CANDIDATES = 4096 };

typedef struct sample {
    double *sorted;
    size_t count;
} sample;

typedef struct problem {
    sample observed, unobserved; /* unobserved.count = 0: the exact null */
    size_t dim;                  /* 0: so many that a cosine is normal, in units of its deviation */
    dpa_direction direction;
    double delta, p;
    /* [missed] limits of the FNR with the exact null; NULL: not computed */
    const dpa__missed *limit;
    const double *fnr;
    double band, null_band; /* levels that hold at every threshold at once; 0: one threshold */
} problem;

/* How many are below t. */
static size_t below(const sample *s, double t) {
    return s->count - dpa__count_at_least(s->sorted, s->count, t);
}

static double log_one_minus(double delta, double rate) {
    const double rest = 1.0 - delta - rate;
    return rest > 0.0 ? log(rest) : -HUGE_VAL;
}

dpa__missed dpa__cosine_missed(double fnr, double delta) {
    return (dpa__missed){fnr, log(fnr), log_one_minus(delta, fnr)};
}

/* The upper limit of a rate after k of n; `band` > 0: a limit that holds at every threshold at
 * once. */
static double rate_limit(size_t k, size_t n, double p, double band) {
    return band > 0 ? dpa__cp_upper((double)k, (double)n, band)
                    : dpa__jeffreys_upper((double)k, (double)n, p);
}

static dpa__missed missed_limit(const problem *q, size_t missed, double p) {
    if (q->limit != NULL) return q->limit[missed];
    return dpa__cosine_missed(q->fnr != NULL ? q->fnr[missed]
                                             : rate_limit(missed, q->observed.count, p, q->band),
                              q->delta);
}

/* The bound at threshold t if `more` canaries were missed in addition. */
static dpa_cosine_bound bound_at(const problem *q, double t, size_t more) {
    dpa_cosine_bound b = {.threshold = t, .count = q->observed.count};
    const size_t n0 = q->unobserved.count;
    const double p = n0 > 0 ? q->p / 2.0 : q->p;
    b.missed = below(&q->observed, t) + more;
    if (b.missed > b.count) b.missed = b.count;
    if (n0 > 0) {
        const size_t wrong = n0 - below(&q->unobserved, t);
        b.log_fpr = log(rate_limit(wrong, n0, p, q->null_band));
    } else {
        const double cosine = fmax(-1.0, fmin(1.0, t));
        b.log_fpr = q->dim == 0 ? dpa__norm_cdf(t, DPA_LOG_UPPER)
                    : q->direction == DPA_DIRECTION_SIGNS
                        ? dpa__cosine_signs_log_upper(cosine, q->dim)
                        : dpa__cosine_null_log_upper(cosine, q->dim);
    }
    const dpa__missed missed = missed_limit(q, b.missed, p);
    b.fnr_upper = missed.fnr;
    const double first = log_one_minus(q->delta, exp(b.log_fpr)) - missed.log_fnr;
    const double second = missed.log_rest - b.log_fpr;
    b.epsilon = fmax(0.0, fmax(first, second));
    return b;
}

/* Up to the next observed cosine the false positive rate falls while the false negative rate stays,
 * so the best threshold is an observed cosine. A threshold for the other half needs a margin: if h
 * canaries are above it here, about h ± √(2h) are in another sample. Without it, a large leak would
 * make the highest cosine look best, which no canary of the other half reaches. */
static size_t unlucky(double hits) {
    return (size_t)ceil(fmin(hits, 2 * sqrt(2 * hits)));
}

static size_t stride_of(size_t count) {
    return (count + MOST_CANDIDATES - 1) / MOST_CANDIDATES;
}

static dpa_cosine_bound best(const problem *q, int is_for_others) {
    const size_t n = q->observed.count, stride = stride_of(n);
    dpa_cosine_bound top = bound_at(q, q->observed.sorted[0], 0);
    for (size_t i = 0; i < n; i += stride) {
        const size_t more = is_for_others ? unlucky((double)(n - i)) : 0;
        const dpa_cosine_bound b = bound_at(q, q->observed.sorted[i], more);
        if (b.epsilon > top.epsilon) top = b;
    }
    return top;
}

/* As `best` for others, from the highest cosine down: the false positive rate rises, so that of the
 * last bound and the new limit of the other rate tell most candidates not to be it. */
double dpa__cosine_learn(double *sorted, size_t count, double delta, const dpa__missed *limit) {
    const problem q = {.observed = {sorted, count}, .delta = delta, .limit = limit};
    const double rounding = 1e-9, most = log_one_minus(delta, 0);
    const size_t stride = stride_of(count);
    const dpa_cosine_bound lowest = bound_at(&q, sorted[0], 0);
    dpa_cosine_bound top = lowest, last = {.log_fpr = -HUGE_VAL};
    for (size_t i = (count - 1) / stride * stride;; i -= stride) {
        size_t more = unlucky((double)(count - i)), missing = i + more;
        while (missing > more && sorted[missing - more - 1] == sorted[i]) --missing;
        const dpa__missed *missed = &limit[missing < count ? missing : count];
        if (fmax(most - missed->log_fnr, missed->log_rest - last.log_fpr) + rounding >
            top.epsilon) {
            last = bound_at(&q, sorted[i], more);
            if (last.epsilon > lowest.epsilon && last.epsilon >= top.epsilon) top = last;
        }
        if (i == 0) return top.threshold;
    }
}

static dpa_status shuffled(const double *x, size_t count, uint64_t seed, uint64_t which,
                           double **out, dpa_error *err) {
    double *mixed = DPA_NEW_ARRAY(double, count, err);
    if (mixed == NULL) return DPA_NO_MEMORY;
    memcpy(mixed, x, count * sizeof *mixed);
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SPLIT, which);
    for (size_t i = count; i > 1; --i) {
        const size_t j = (size_t)dpa__rng_below(&rng, i);
        const double swap = mixed[i - 1];
        mixed[i - 1] = mixed[j];
        mixed[j] = swap;
    }
    *out = mixed;
    return DPA_OK;
}

/* Half number `half` of the sample in a random order, or all of it for half = −1; sorted. */
static dpa_status take(const double *x, size_t count, int half, uint64_t seed, uint64_t which,
                       sample *out, dpa_error *err) {
    double *mixed = NULL;
    if (half >= 0) DPA_TRY(shuffled(x, count, seed, which, &mixed, err));
    const double *from = half < 0 ? x : half == 0 ? mixed : mixed + count / 2;
    out->count = half < 0 ? count : half == 0 ? count / 2 : count - count / 2;
    out->sorted = dpa__cosine_sorted(from, out->count, err);
    free(mixed);
    return out->sorted != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status problem_init(problem *q, const dpa_cosines *c, int half, uint64_t seed,
                               dpa_error *err) {
    DPA_TRY(take(c->observed, c->observed_count, half, seed, 0, &q->observed, err));
    if (c->unobserved == NULL) return DPA_OK;
    return take(c->unobserved, c->unobserved_count, half, seed, 1, &q->unobserved, err);
}

static void problem_free(problem *q) {
    free(q->observed.sorted);
    free(q->unobserved.sorted);
}

/* All thresholds at once: a Berk–Jones band for the observed cosines and, if the unobserved ones
 * are the null, another for these, with half of the error each. */
static dpa_status solve_all(const dpa_cosines *c, double delta, double p, dpa_cosine_bound *out,
                            dpa_error *err) {
    problem q = {.dim = c->dim, .direction = c->direction, .delta = delta, .p = p};
    const double each = c->unobserved != NULL ? p / 2 : p;
    dpa__berkjones_how how;
    DPA_TRY(dpa__berkjones_level(c->observed_count, each, &q.band, &how, err));
    if (c->unobserved != NULL)
        DPA_TRY(dpa__berkjones_level(c->unobserved_count, each, &q.null_band, &how, err));
    const dpa_status status = problem_init(&q, c, -1, 0, err);
    if (status == DPA_OK) *out = best(&q, 0);
    problem_free(&q);
    return status;
}

/* threshold NaN: the best. */
static dpa_status solve(const dpa_cosines *c, int half, double threshold, double delta, double p,
                        uint64_t seed, dpa_cosine_bound *out, dpa_error *err) {
    problem q = {.dim = c->dim, .direction = c->direction, .delta = delta, .p = p};
    const dpa_status status = problem_init(&q, c, half, seed, err);
    if (status == DPA_OK)
        *out = isnan(threshold) ? best(&q, half >= 0) : bound_at(&q, threshold, 0);
    problem_free(&q);
    return status;
}

static dpa_status check(const dpa_cosines *c, double delta, double confidence, dpa_error *err) {
    dpa_cosine_fit fit;
    DPA_TRY(dpa__cosine_fit_sample(c->observed, c->observed_count, &fit, err));
    if (c->unobserved != NULL)
        DPA_TRY(dpa__cosine_fit_sample(c->unobserved, c->unobserved_count, &fit, err));
    else if (c->dim < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "dim: at least 2, not %zu", c->dim);
    if (!(delta >= 0.0 && delta < 1.0) || !(confidence > 0.0 && confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta or confidence out of range: %g, %g", delta,
                         confidence);
    return DPA_OK;
}

dpa_status dpa__cosines_scan(const dpa_cosines *c, double delta, double confidence,
                             dpa_cosine_bound *out, dpa_error *err) {
    problem q = {.dim = c->dim, .direction = c->direction, .delta = delta, .p = 1.0 - confidence};
    DPA_TRY(check(c, delta, confidence, err));
    double *limit = DPA_NEW_ARRAY(double, c->observed_count + 1, err);
    if (limit == NULL) return DPA_NO_MEMORY;
    q.fnr = limit;
    dpa_status status = dpa__cosine_scan_limits(c->observed_count, q.p, limit, err);
    if (status == DPA_OK) status = problem_init(&q, c, -1, 0, err);
    if (status == DPA_OK) *out = best(&q, 0);
    problem_free(&q);
    free(limit);
    return status;
}

static dpa_status fixed_threshold(const char *select, double *out, dpa_error *err) {
    const char *at = select + strlen("fixed:"), *end = at + strlen(at);
    if (dpa__number_parse(&at, end, out) != DPA__NUMBER_OK || at != end || !(fabs(*out) <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "select: '%s' needs a threshold between -1 and 1 after 'fixed:'", select);
    return DPA_OK;
}

dpa_status dpa__cosines_lower(const dpa_cosines *cosines, const char *select, double delta,
                              double confidence, uint64_t seed, dpa_cosine_bound *out,
                              dpa_error *err) {
    const double p = 1.0 - confidence;
    DPA_TRY(check(cosines, delta, confidence, err));
    if (dpa__select_is(select, DPA__FIXED)) {
        double threshold;
        DPA_TRY(fixed_threshold(select, &threshold, err));
        return solve(cosines, -1, threshold, delta, p, seed, out, err);
    }
    if (dpa__select_is(select, DPA__MAX)) return solve(cosines, -1, NAN, delta, p, seed, out, err);
    if (dpa__select_is(select, DPA__SIMULTANEOUS)) return solve_all(cosines, delta, p, out, err);
    if (!dpa__select_is(select, DPA__SPLIT))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "select: 'fixed:T', 'simultaneous', 'split' or 'max', not '%s'", select);
    if (cosines->observed_count < 2 ||
        (cosines->unobserved != NULL && cosines->unobserved_count < 2))
        return dpa__fail(err, DPA_BAD_INPUT, "select 'split': needs at least two canaries");
    DPA_TRY(solve(cosines, 0, NAN, delta, p, seed, out, err));
    return solve(cosines, 1, out->threshold, delta, p, seed, out, err);
}

/* The scan of cosines whose null is known (docs/methods/one-shot-cosines.md). Let W_i be the rate
 * at which absent canaries reach the i-th highest of k cosines. If the trade-off is at least f,
 * 1−f(W_i) is no smaller than the i-th of k uniform order statistics U_(i), so
 *   T = max over i of k·KL⁺(i/k ‖ 1−f(W_i)) − log(1+log i)
 * is stochastically at most the same of U, whatever f is: one critical value serves every ε, and
 * its law is a boundary that order statistics cross, by the exact recursion of berkjones.c. */

/* The u < i/k with k·KL(i/k ‖ u) = value. In log u the divergence is convex, so Newton's steps from
 * a point where it is larger (KL ≥ a·log(a/u) − a + u) stay there and approach it. */
static double least_rate(double i, double k, double value) {
    const double a = i / k, wanted = value / k;
    double x = log(a) - wanted / a - 1;
    for (int step = 0; step < 60; ++step) {
        const double u = exp(x);
        const double rest = a < 1 ? (1 - a) * (log1p(-a) - log1p(-u)) : 0;
        const double excess = a * (log(a) - x) + rest - wanted;
        const double move = excess / (a - (1 - a) * u / (1 - u));
        if (!(move > 1e-14 * fabs(x))) break;
        x += move;
    }
    return exp(x);
}

/* Far down every 512th part of a place is looked at: between two looks the boundary is flat, and
 * the recursion has nothing to do. */
enum { PARTS = 512 };

static void fill(size_t count, double value, double *rate) {
    for (size_t i = 1; i <= count; ++i) {
        const int is_look = i < PARTS || i % (i / PARTS) == 0;
        const double here =
            is_look ? least_rate((double)i, (double)count, value + log1p(log((double)i))) : 0;
        /* U_(i) is never below U_(i−1) */
        rate[i - 1] = i > 1 ? fmax(here, rate[i - 2]) : here;
    }
}

typedef struct search {
    size_t count;
    double p, *rate;
} search;

static dpa_status excess(double value, void *user, double *out, dpa_error *err) {
    const search *s = user;
    double crossing;
    fill(s->count, value, s->rate);
    DPA_TRY(dpa__crossing(s->count, s->rate, &crossing, err));
    *out = log(fmax(crossing, 1e-300) / s->p);
    return DPA_OK;
}

dpa_status dpa__cosine_scan_limits(size_t count, double p, double *limit, dpa_error *err) {
    if (count > DPA__COSINE_SCAN_MOST)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method scan: %zu canaries; at most %d, or method jeffreys with select "
                         "simultaneous",
                         count, DPA__COSINE_SCAN_MOST);
    double *rate = DPA_NEW_ARRAY(double, count, err);
    search s = {count, p, rate};
    if (rate == NULL) return DPA_NO_MEMORY;
    /* Pr[k·KL⁺ ≥ z] ≤ exp(−z) for each i, so the upper end is beyond */
    const double least = 1e-3, most = log((double)count / p) + 1;
    dpa__bracket root = {.upper = least};
    double above;
    dpa_status status = excess(least, &s, &above, err);
    if (status == DPA_OK && above > 0)
        status = dpa__root_try(excess, &s, least, most, 1e-4, 0, &root, err);
    if (status == DPA_OK) fill(count, root.upper, rate);
    limit[count] = 1; /* nothing was found */
    for (size_t missed = 0; missed < count; ++missed) limit[missed] = 1 - rate[count - missed - 1];
    free(rate);
    return status;
}
