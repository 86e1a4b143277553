/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian mixtures in one dimension by EM.
 *
 * One step costs count × components exponentials (dpa__mixture_block); points of weight 0 are left
 * out beforehand. The variances are kept at or above FLOOR times the sample's: the constrained
 * maximiser of each step is the larger of the two, so the likelihood still never falls (tests
 * assert it), and a component cannot collapse on one point. Ends when a step gains less than
 * TOLERANCE per point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "estimate/losses/epsilon_star.h"
#include "math/logspace.h"

/* The expectation step of EM over one block of points, in loops that compilers turn into vector
 * instructions: per component and point one exponential, per point one logarithm.
 *
 * The exponential of x ≤ 0: x = n·log 2 + r, |r| ≤ log(2)/2, e^r by its series to r¹³ (the rest is
 * below 5e-18), 2^n added to the exponent's bits: within 4e-16 (tests). Below LEAST it stays at
 * e^LEAST, 1e-304. Sums run over DPA_LANES lanes, so all instruction sets give the same bytes. */

/* Adding this to a small number leaves the nearest integer in the lowest bits. */
static const double ROUND = 6755399441055744.0; /* 1.5·2⁵² */
static const double LOG2_E = 1.4426950408889634, LN2_HIGH = 0x1.62e42fefa3800p-1,
                    LN2_LOW = 0x1.ef35793c76730p-45, LEAST = -700.0;

/* A separate loop, because gcc would turn the choice into a jump around the exponential. */
static inline void keep_above_least(double *x) {
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = x[i] > LEAST ? x[i] : LEAST;
}

static inline double exponential(double x) {
    const double shifted = x * LOG2_E + ROUND, n = shifted - ROUND;
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = (p * r) * r + r;
    return dpa__of_bits(dpa__bits_of(1.0 + p) + (dpa__bits_of(shifted) << 52));
}

DPA_CLONES void dpa__block_exp(double *x) {
    keep_above_least(x);
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = exponential(x[i]);
}

/* Adds the lanes pairwise. */
static inline double fold(double *lane) {
    for (size_t width = DPA_LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; ++l) lane[l] += lane[l + width];
    return lane[0];
}

/* Σ r, Σ r·d, Σ r·d² with r = density·factor, d = x − centre. */
static inline dpa__moments moments_of(const double *density, const double *factor, const double *x,
                                      double centre) {
    double weight[DPA_LANES] = {0}, first[DPA_LANES] = {0}, second[DPA_LANES] = {0};
    for (size_t i = 0; i < DPA__BLOCK; i += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l) {
            const double r = density[i + l] * factor[i + l], d = x[i + l] - centre;
            weight[l] += r;
            first[l] += r * d;
            second[l] += r * d * d;
        }
    return (dpa__moments){fold(weight), fold(first), fold(second)};
}

DPA_CLONES double dpa__mixture_block(const dpa__mixture_terms *t, const double *x,
                                     const double *weight, dpa__moments *sum) {
    double term[DPA_MIXTURE_MAX][DPA__BLOCK], most[DPA__BLOCK], total[DPA__BLOCK] = {0};
    double factor[DPA__BLOCK], lane[DPA_LANES] = {0};
    for (size_t i = 0; i < DPA__BLOCK; ++i) most[i] = -1e300;
    for (size_t j = 0; j < t->count; ++j)
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            const double z = (x[i] - t->mean[j]) * t->scale[j];
            const double here = t->log_factor[j] - 0.5 * z * z;
            term[j][i] = here;
            most[i] = here > most[i] ? here : most[i];
        }
    for (size_t j = 0; j < t->count; ++j) {
        for (size_t i = 0; i < DPA__BLOCK; ++i) term[j][i] -= most[i];
        keep_above_least(term[j]);
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            term[j][i] = exponential(term[j][i]);
            total[i] += term[j][i];
        }
    }
    for (size_t i = 0; i < DPA__BLOCK; ++i) factor[i] = weight[i] / total[i];
    for (size_t j = 0; j < t->count; ++j) {
        const dpa__moments m = moments_of(term[j], factor, x, t->centre);
        sum[j].weight += m.weight;
        sum[j].first += m.first;
        sum[j].second += m.second;
    }
    dpa__logs(total, DPA__BLOCK, total);
    for (size_t i = 0; i < DPA__BLOCK; i += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l)
            lane[l] += weight[i + l] * (most[i + l] + total[i + l]);
    return fold(lane);
}

static const double FLOOR = 1e-6, TOLERANCE = 1e-8, VANISHED = 1e-8;
/* The log of a weight of 0: its component is nowhere the likeliest. */
static const double LOG_NOTHING = -1e5;

typedef struct step {
    double *x, *weight; /* the points with weight, padded to whole blocks with weight 0 */
    size_t count;
    double total, floor;
    dpa__mixture_terms terms;
    dpa__moments sum[DPA_MIXTURE_MAX];
} step;

static dpa_status step_new(step *e, const dpa__weighted *s, double centre, dpa_error *err) {
    size_t used = 0;
    for (size_t i = 0; i < s->count; ++i) used += s->weight == NULL || s->weight[i] > 0;
    e->count = (used + DPA__BLOCK - 1) / DPA__BLOCK * DPA__BLOCK;
    e->x = DPA_NEW_ARRAY(double, 2 * e->count, err);
    if (e->x == NULL) return DPA_NO_MEMORY;
    e->weight = e->x + e->count;
    size_t at = 0;
    for (size_t i = 0; i < s->count; ++i) {
        if (s->weight != NULL && s->weight[i] == 0) continue;
        e->x[at] = s->value[i];
        e->weight[at++] = s->weight != NULL ? (double)s->weight[i] : 1.0;
    }
    for (; at < e->count; ++at) {
        e->x[at] = centre;
        e->weight[at] = 0.0;
    }
    e->total = s->total;
    e->terms.centre = centre;
    return DPA_OK;
}

/* Sums block by block, which keeps rounding errors small. */
static double expectation(step *e, const dpa_mixture *m) {
    dpa__mixture_terms *t = &e->terms;
    dpa__sum likelihood = {0, 0};
    memset(e->sum, 0, sizeof e->sum);
    t->count = m->count;
    for (size_t j = 0; j < m->count; ++j) {
        t->mean[j] = m->mean[j];
        t->scale[j] = 1.0 / m->deviation[j];
        t->log_factor[j] =
            fmax(log(m->weight[j]), LOG_NOTHING) - log(m->deviation[j]) - 0.5 * log(2.0 * M_PI);
    }
    for (size_t i = 0; i < e->count; i += DPA__BLOCK)
        dpa__sum_add(&likelihood, dpa__mixture_block(t, e->x + i, e->weight + i, e->sum));
    return dpa__sum_get(&likelihood);
}

static void maximisation(const step *e, dpa_mixture *m) {
    for (size_t j = 0; j < m->count; ++j) {
        const dpa__moments *s = &e->sum[j];
        m->weight[j] = s->weight / e->total;
        if (!(s->weight > VANISHED)) continue; /* nothing to estimate the rest from */
        const double mean = s->first / s->weight;
        m->mean[j] = e->terms.centre + mean;
        m->deviation[j] = sqrt(fmax(s->second / s->weight - mean * mean, e->floor));
    }
}

static void sort_components(dpa_mixture *m) {
    for (size_t i = 1; i < m->count; ++i)
        for (size_t j = i; j > 0 && m->mean[j] < m->mean[j - 1]; --j) {
            double *const field[3] = {m->weight, m->mean, m->deviation};
            for (int f = 0; f < 3; ++f) {
                const double held = field[f][j];
                field[f][j] = field[f][j - 1];
                field[f][j - 1] = held;
            }
        }
}

/* Steps until one gains too little, or `most`. */
static dpa_status run_steps(step *e, dpa_mixture *m, unsigned most, double *trace,
                            dpa__watch *watch, dpa_error *err) {
    double before = -HUGE_VAL;
    m->converged = 0;
    for (m->iterations = 0; m->iterations < most && !m->converged; ++m->iterations) {
        m->log_likelihood = expectation(e, m);
        if (trace != NULL) trace[m->iterations] = m->log_likelihood;
        m->converged = m->log_likelihood - before < TOLERANCE * e->total;
        before = m->log_likelihood;
        if (!m->converged) maximisation(e, m);
        if (watch != NULL && dpa__watch_count(watch))
            return dpa__fail(err, DPA_CANCELLED, "%s: stopped on request", watch->what);
    }
    if (!m->converged) m->log_likelihood = expectation(e, m);
    m->bic = -2.0 * m->log_likelihood + (3.0 * (double)m->count - 1.0) * log(e->total);
    sort_components(m);
    return DPA_OK;
}

dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa__watch *watch, dpa_error *err) {
    dpa_mixture whole;
    DPA_TRY(dpa__normal_fit(sample, "given", &whole, err));
    step e = {.floor = FLOOR * whole.deviation[0] * whole.deviation[0]};
    DPA_TRY(step_new(&e, sample, whole.mean[0], err));
    const dpa_status status = run_steps(&e, m, most, trace, watch, err);
    free(e.x);
    return status;
}

/* ── where to start, and how many components ───────────────────────────────────────────────── */

/* k-means++ from a named random stream, and the Bayes information criterion over 1, 2, …
 * components, ended by PATIENCE counts in a row that do not improve it. */

enum { LLOYD_ROUNDS = 4, MOST_STEPS = 500, PATIENCE = 3 };

void dpa__mixture_opts_init(dpa_mixture_opts *opts) {
    *opts = (dpa_mixture_opts){.components = 0, .most = DPA_MIXTURE_MAX, .seed = 1};
}

static double weight_of(const dpa__weighted *s, size_t i) {
    return s->weight != NULL ? (double)s->weight[i] : 1.0;
}

/* The next centre: a point drawn with probability proportional to its squared distance to the
 * nearest centre so far. 0 if every point is a centre already. */
static int draw_centre(dpa_rng *rng, const dpa__weighted *s, const double *distance,
                       double *centre) {
    double total = 0.0;
    for (size_t i = 0; i < s->count; ++i) total += weight_of(s, i) * distance[i];
    if (!(total > 0.0)) return 0;
    double left = total * dpa__rng_uniform(rng);
    size_t i = 0;
    for (; i + 1 < s->count && left > weight_of(s, i) * distance[i]; ++i)
        left -= weight_of(s, i) * distance[i];
    *centre = s->value[i];
    return 1;
}

static void shorten(const dpa__weighted *s, double centre, double *distance) {
    for (size_t i = 0; i < s->count; ++i) {
        const double d = s->value[i] - centre;
        if (d * d < distance[i]) distance[i] = d * d;
    }
}

static size_t nearest(const dpa_mixture *m, double x) {
    size_t best = 0;
    for (size_t j = 1; j < m->count; ++j)
        if (fabs(x - m->mean[j]) < fabs(x - m->mean[best])) best = j;
    return best;
}

/* Assigns points to their nearest mean; recomputes weights, means and deviations. */
static void regroup(const dpa__weighted *s, double spread, dpa_mixture *m) {
    double n[DPA_MIXTURE_MAX] = {0}, first[DPA_MIXTURE_MAX] = {0}, second[DPA_MIXTURE_MAX] = {0};
    for (size_t i = 0; i < s->count; ++i) {
        const size_t j = nearest(m, s->value[i]);
        const double d = s->value[i] - m->mean[j], weight = weight_of(s, i);
        n[j] += weight;
        first[j] += weight * d;
        second[j] += weight * d * d;
    }
    for (size_t j = 0; j < m->count; ++j) {
        const double shift = n[j] > 0.0 ? first[j] / n[j] : 0.0;
        const double variance = n[j] > 0.0 ? second[j] / n[j] - shift * shift : 0.0;
        m->mean[j] += shift;
        m->weight[j] = (n[j] + 1.0) / (s->total + (double)m->count);
        m->deviation[j] = fmax(sqrt(fmax(variance, 0.0)), 0.01 * spread);
    }
}

/* The value of the point of this number, groups counted by their weights. */
static double point_at(const dpa__weighted *s, uint64_t number) {
    size_t i = 0;
    double left = (double)number;
    for (; i + 1 < s->count && left >= weight_of(s, i); ++i) left -= weight_of(s, i);
    return s->value[i];
}

dpa_status dpa__mixture_start(const dpa__weighted *s, size_t components, uint64_t seed,
                              dpa_mixture *out, dpa_error *err) {
    DPA_TRY(dpa__normal_fit(s, "given", out, err));
    if (components == 1) return DPA_OK;
    const double spread = out->deviation[0];
    double *distance = DPA_NEW_ARRAY(double, s->count, err);
    if (distance == NULL) return DPA_NO_MEMORY;
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_MIXTURE, components);
    out->mean[0] = point_at(s, dpa__rng_below(&rng, (uint64_t)s->total));
    for (size_t i = 0; i < s->count; ++i) distance[i] = HUGE_VAL;
    shorten(s, out->mean[0], distance);
    while (out->count < components && draw_centre(&rng, s, distance, &out->mean[out->count]))
        shorten(s, out->mean[out->count++], distance);
    free(distance);
    for (int round = 0; round < LLOYD_ROUNDS; ++round) regroup(s, spread, out);
    return DPA_OK;
}

static dpa_status fit_count(const dpa__weighted *s, size_t components, uint64_t seed,
                            dpa__watch *watch, dpa_mixture *out, dpa_error *err) {
    DPA_TRY(dpa__mixture_start(s, components, seed, out, err));
    return out->count == 1 ? dpa__normal_fit(s, "given", out, err)
                           : dpa__mixture_em(s, out, MOST_STEPS, NULL, watch, err);
}

static dpa_status fit(const dpa__weighted *s, const dpa_mixture_opts *opts, dpa__watch *watch,
                      dpa_mixture *out, dpa_error *err) {
    const size_t most = opts->components > 0 ? opts->components : opts->most;
    if (most < 1 || most > DPA_MIXTURE_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "components: 1 to %d, not %zu", DPA_MIXTURE_MAX,
                         most);
    if (s->count == 0) return dpa__fail(err, DPA_BAD_INPUT, "no number to fit a mixture to");
    if (opts->components > 0) return fit_count(s, most, opts->seed, watch, out, err);
    DPA_TRY(fit_count(s, 1, opts->seed, watch, out, err));
    for (size_t k = 2, worse = 0; k <= most && worse < PATIENCE; ++k) {
        dpa_mixture next;
        DPA_TRY(fit_count(s, k, opts->seed, watch, &next, err));
        worse = next.bic < out->bic ? 0 : worse + 1;
        if (worse == 0) *out = next;
    }
    return DPA_OK;
}

dpa_status dpa__mixture_fit(const double *x, size_t count, const dpa_mixture_opts *opts,
                            dpa_mixture *out, dpa_error *err) {
    const dpa__weighted sample = {x, NULL, count, (double)count};
    return fit(&sample, opts, NULL, out, err);
}

/* The two sides are two tasks. */
typedef struct sides {
    const double *x[2];
    size_t count[2];
    dpa_mixture *out[2];
    const dpa_mixture_opts *opts;
    dpa__watch *watch;
    dpa_status status[2];
    dpa_error err[2];
} sides;

static int fit_side(void *user, size_t i) {
    sides *s = user;
    dpa__point_groups groups;
    s->status[i] = dpa__point_groups_new(s->x[i], s->count[i], dpa__grain(s->x[i], s->count[i]),
                                         &groups, &s->err[i]);
    if (s->status[i] != DPA_OK) return 1;
    const dpa__weighted sample = dpa__point_groups_sample(&groups);
    s->status[i] = fit(&sample, s->opts, s->watch, s->out[i], &s->err[i]);
    dpa__point_groups_free(&groups);
    return s->status[i] != DPA_OK && s->status[i] != DPA_BAD_INPUT;
}

static dpa_status fit_sides(sides *s, unsigned threads, dpa_error *err) {
    const dpa_status status = dpa__parallel(threads, 2, fit_side, s, err);
    for (size_t i = 0; i < 2; ++i)
        if (s->status[i] != DPA_OK) return dpa__fail(err, s->status[i], "%s", s->err[i].text);
    return status;
}

dpa_status dpa__fit_mixture(const dpa_losses *l, const dpa_mixture_opts *opts,
                            const dpa_request *request, dpa_loss_fit *out, dpa_error *err) {
    static const dpa_progress silent = {NULL, NULL};
    dpa__watch watch;
    dpa__phi phi;
    DPA_TRY(dpa__phi_new(l, opts->transform, &phi, err));
    *out = (dpa_loss_fit){.low = phi.low, .high = phi.high};
    sides s = {.x = {phi.train, phi.heldout},
               .count = {l->train_count, l->heldout_count},
               .out = {&out->train, &out->heldout},
               .opts = opts,
               .watch = &watch};
    dpa_status status = dpa__watch_init(&watch, request != NULL ? &request->progress : &silent,
                                        "mixtures, steps", 0.0, err);
    if (status == DPA_OK) {
        status = fit_sides(&s, request != NULL ? dpa__threads(request->threads) : 1, err);
        dpa__watch_free(&watch);
    }
    dpa__phi_free(&phi);
    return status;
}
