/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* with generalised Pareto tails: each sample as observed between its thresholds, beyond
 * them Pr[X > u + y] = p·(1 + ξy/σ)^(−1/ξ), down to rates of δ.
 *
 * A threshold leaves k = min(n/5, 3√n) losses beyond it. ξ and σ by Zhang and Stephens
 * (Technometrics 51, 2009): the posterior mean over a grid of ξ/σ, no iteration and no failure for
 * any k. Their covariance is that of the maximum likelihood estimate, (1/k)·[(1+ξ)², −σ(1+ξ);
 * −σ(1+ξ), 2σ²(1+ξ)] for ξ > −1/2, and that of ξ = −1/2 below; parameters drawn from it carry the
 * uncertainty of the tails into ε*. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/losses/epsilon_star.h"
#include "evidence/evidence.h"
#include "math/dist.h"

enum { PER_TAIL = 200, LEAST = 20 };

typedef struct tail {
    double at, share, shape, scale; /* threshold (of mirrored losses at the upper end) */
    double k;
} tail;

/* Losses of one end as sign·x, ordered from the end inwards, such that the tail points downwards.
 */
typedef struct end {
    const double *sorted;
    size_t count;
    int upper;
} end;

static double value(const end *e, size_t i) {
    return e->upper ? -e->sorted[e->count - 1 - i] : e->sorted[i];
}

/* b = −ξ/σ over a grid, weighted by its profile likelihood. `excess` rises. */
static void zhang_stephens(const double *excess, size_t k, double *shape, double *scale) {
    const size_t grid = 30 + (size_t)sqrt((double)k);
    const double quartile = excess[(size_t)fmax(floor(0.25 * (double)k + 0.5) - 1.0, 0.0)];
    double sum = 0.0, weights = 0.0, most = -HUGE_VAL;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t j = 0; j < grid; ++j) {
            const double b = 1.0 / excess[k - 1] +
                             (1.0 - sqrt((double)grid / ((double)j + 0.5))) / (3.0 * quartile);
            double mean = 0.0;
            for (size_t i = 0; i < k; ++i) mean += log1p(-b * excess[i]);
            mean /= (double)k;
            const double log_likelihood = (double)k * (log(-b / mean) - mean - 1.0);
            if (isnan(log_likelihood)) continue;
            if (pass == 0) {
                most = fmax(most, log_likelihood);
                continue;
            }
            const double weight = exp(log_likelihood - most);
            sum += weight * b;
            weights += weight;
        }
    const double b = sum / weights;
    double mean = 0.0;
    for (size_t i = 0; i < k; ++i) mean += log1p(-b * excess[i]);
    *shape = mean / (double)k;
    *scale = -*shape / b;
}

static dpa_status fit(const end *e, tail *out, dpa_error *err) {
    const double n = (double)e->count;
    const size_t k = (size_t)fmin(0.2 * n, 3.0 * sqrt(n));
    *out = (tail){.share = (double)k / n, .k = (double)k};
    if (k < LEAST) return dpa__fail(err, DPA_BAD_INPUT, "fewer than %d losses in a tail", LEAST);
    out->at = value(e, k);
    double *excess = DPA_NEW_ARRAY(double, k, err);
    if (excess == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < k; ++i) excess[i] = out->at - value(e, k - 1 - i);
    dpa_status status = DPA_OK;
    if (!(excess[(k + 3) / 4] > 0.0) || !isfinite(excess[k - 1]))
        status = dpa__fail(err, DPA_BAD_INPUT, "a tail is made of equal or infinite losses");
    else
        zhang_stephens(excess, k, &out->shape, &out->scale);
    free(excess);
    if (status == DPA_OK && !(isfinite(out->shape) && out->scale > 0.0))
        status = dpa__fail(err, DPA_BAD_INPUT, "a tail has no generalised Pareto fit");
    return status;
}

static double below(const tail *t, double x) {
    const double y = (t->at - x) / t->scale, inside = 1.0 + t->shape * y;
    if (fabs(t->shape) < 1e-9) return t->share * exp(-y);
    return inside > 0.0 ? t->share * exp(-log(inside) / t->shape) : 0.0;
}

static double quantile(const tail *t, double rate) {
    const double l = log(rate / t->share);
    if (fabs(t->shape) < 1e-9) return t->at + t->scale * l;
    return t->at - t->scale * expm1(-t->shape * l) / t->shape;
}

static double rate_at(const end *e, const tail *t, double x, double least) {
    const double n = (double)e->count;
    double p = below(t, x);
    if (x >= t->at)
        p = e->upper
                ? 1.0 - (double)dpa__count_upto(e->sorted, e->count, nextafter(-x, -HUGE_VAL)) / n
                : (double)dpa__count_upto(e->sorted, e->count, x) / n;
    return fmin(fmax(p, least), 1.0 - least);
}

typedef struct place {
    double ratio, x, train, heldout;
    int backward;
} place;

static void look(const end *e, const tail *t, double delta, double least, double x, place *best) {
    const double a = rate_at(&e[0], &t[0], x, least), b = rate_at(&e[1], &t[1], x, least);
    const double forward = (a - delta) / b, backward = (b - delta) / a;
    if (!(fmax(forward, backward) > best->ratio)) return;
    *best = (place){fmax(forward, backward), x, a, b, backward > forward};
}

/* Searches rates from `least` to that of each side's threshold, evenly spaced in their logarithms,
 * and observed rates up to the innermost threshold. */
static place search(const end *e, const tail *t, double delta, double least) {
    place best = {1.0, NAN, NAN, NAN, 0};
    const double inner = fmax(t[0].at, t[1].at);
    for (int s = 0; s < 2; ++s) {
        if (!(least < t[s].share)) continue;
        for (int i = 0; i <= PER_TAIL; ++i)
            look(e, t, delta, least,
                 quantile(&t[s], exp(log(least) + (log(t[s].share) - log(least)) * i / PER_TAIL)),
                 &best);
        const double half = floor(0.5 * (double)e[s].count);
        for (int i = 0; i <= PER_TAIL; ++i) {
            const double x = value(&e[s], (size_t)(half * i / PER_TAIL));
            if (x >= fmin(t[0].at, t[1].at)) look(e, t, delta, least, x, &best);
        }
    }
    look(e, t, delta, least, inner, &best);
    return best;
}

typedef struct sample {
    end end[2][2]; /* by end, by side */
    tail tail[2][2];
    double delta, least;
} sample;

static double both_ends(const sample *s, dpa_star *out) {
    double most = 1.0;
    for (int upper = 0; upper < 2; ++upper) {
        const place p = search(s->end[upper], s->tail[upper], s->delta, s->least);
        if (!(p.ratio > most)) continue;
        most = p.ratio;
        if (out == NULL) continue;
        *out = (dpa_star){.epsilon = log(most), .threshold = upper ? -p.x : p.x};
        out->fpr = upper ? 1.0 - p.heldout : p.heldout;
        out->fnr = upper ? p.train : 1.0 - p.train;
        out->ratio = upper ? (p.backward ? DPA_STAR_TNR_FNR : DPA_STAR_FNR_TNR)
                           : (p.backward ? DPA_STAR_FPR_TPR : DPA_STAR_TPR_FPR);
    }
    return log(most);
}

/* A random draw of shape and scale within their estimation error. */
static tail drawn(const tail *t, dpa_rng *rng) {
    const double one = 1.0 + fmax(t->shape, -0.5), sd = one / sqrt(t->k);
    const double x = dpa__rng_normal(rng), y = dpa__rng_normal(rng);
    tail out = *t;
    out.shape = t->shape + sd * x;
    /* Var(log σ) = 2(1+ξ)/k, Cov = −(1+ξ)/k: σ stays positive */
    const double along = -1.0 / sqrt(t->k);
    out.scale = t->scale * exp(along * x + sqrt(fmax(2.0 * one / t->k - along * along, 0.0)) * y);
    return out;
}

static dpa_status spread(const sample *s, size_t draws, const dpa_request *request, double *lower,
                         double *upper, dpa_error *err) {
    *lower = *upper = NAN;
    if (draws == 0) return DPA_OK;
    double *epsilon = DPA_NEW_ARRAY(double, draws, err);
    if (epsilon == NULL) return DPA_NO_MEMORY;
    for (size_t d = 0; d < draws; ++d) {
        sample other = *s;
        dpa_rng rng;
        dpa__rng_init(&rng, request->seed, DPA_PURPOSE_BOOTSTRAP, (UINT64_C(1) << 42) + d);
        for (int i = 0; i < 4; ++i) other.tail[i / 2][i % 2] = drawn(&s->tail[i / 2][i % 2], &rng);
        epsilon[d] = both_ends(&other, NULL);
    }
    const dpa_status status = dpa__sort_numbers(epsilon, draws, err);
    const double rank = 0.5 * (1.0 - request->confidence) * ((double)draws + 1.0);
    const size_t k = rank < 1.0 ? 0 : (size_t)rank - 1;
    *lower = epsilon[k];
    *upper = epsilon[draws - 1 - k];
    free(epsilon);
    return status;
}

dpa_status dpa__star_tail(const dpa_losses *l, size_t draws, const dpa_request *request,
                          dpa_star *out, double *lower, double *upper, dpa_error *err) {
    const double fewest = fmin((double)l->train_count, (double)l->heldout_count);
    sample s = {.delta = request->delta};
    *out = (dpa_star){.threshold = NAN, .fpr = NAN, .fnr = NAN};
    DPA_TRY(dpa__request_check(request, err));
    s.least = s.delta > 0.0 ? s.delta : 1.0 / fewest;
    for (int i = 0; i < 4; ++i) {
        end *e = &s.end[i / 2][i % 2];
        *e = i % 2 ? (end){l->heldout, l->heldout_count, i / 2}
                   : (end){l->train, l->train_count, i / 2};
        DPA_TRY(fit(e, &s.tail[i / 2][i % 2], err));
    }
    (void)both_ends(&s, out);
    DPA_TRY(spread(&s, draws, request, lower, upper, err));
    *lower = fmin(*lower, out->epsilon);
    *upper = fmax(*upper, out->epsilon);
    return DPA_OK;
}
