/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tails, density and quantiles of a mixture of normals, each tail summed from its own side; ε
 * between two of them. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/losses/epsilon_star.h"
#include "evidence/evidence.h"
#include "math/dist.h"
#include "math/logspace.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

static double tail(const dpa_mixture *m, double x, dpa__tail which) {
    double sum = 0.0;
    for (size_t i = 0; i < m->count; ++i)
        sum += m->weight[i] * dpa__norm_cdf((x - m->mean[i]) / m->deviation[i], which);
    return sum;
}

double dpa__mixture_upper(const dpa_mixture *m, double x) {
    return tail(m, x, DPA_UPPER);
}

double dpa__mixture_lower(const dpa_mixture *m, double x) {
    return tail(m, x, DPA_LOWER);
}

double dpa__mixture_log_pdf(const dpa_mixture *m, double x) {
    double term[DPA_MIXTURE_MAX];
    for (size_t i = 0; i < m->count; ++i)
        term[i] = log(m->weight[i]) - log(m->deviation[i]) +
                  dpa__norm_log_pdf((x - m->mean[i]) / m->deviation[i]);
    return dpa__log_sum(term, m->count);
}

double dpa__mixture_log_interval(const dpa_mixture *m, double a, double b) {
    double term[DPA_MIXTURE_MAX];
    for (size_t i = 0; i < m->count; ++i)
        term[i] = log(m->weight[i]) + dpa__norm_log_interval((a - m->mean[i]) / m->deviation[i],
                                                             (b - m->mean[i]) / m->deviation[i]);
    return dpa__log_sum(term, m->count);
}

typedef struct quantile_query {
    const dpa_mixture *m;
    double p;
} quantile_query;

static double excess(double x, void *user) {
    const quantile_query *q = user;
    return dpa__mixture_upper(q->m, x) - q->p;
}

dpa_status dpa__mixture_upper_quantile(const dpa_mixture *m, double p, double *x, dpa_error *err) {
    quantile_query q = {m, p};
    const double z = dpa__norm_quantile(p, DPA_UPPER);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < m->count; ++i) {
        const double at = m->mean[i] + z * m->deviation[i];
        low = fmin(low, at);
        high = fmax(high, at);
    }
    *x = low;
    if (!(low < high)) return DPA_OK;
    /* the mixture's quantile lies between those of its components, up to rounding */
    const double margin = 1e-9 * (high - low) + 1e-12 * fmax(fabs(low), fabs(high));
    dpa__bracket b;
    const dpa_status status =
        dpa__root(excess, &q, low - margin, high + margin, 0.0, 1e-15, &b, err);
    *x = 0.5 * (b.lower + b.upper);
    return status;
}

double dpa__mixture_draw(const dpa_mixture *m, dpa_rng *rng) {
    double u = dpa__rng_uniform(rng);
    size_t i = 0;
    while (i + 1 < m->count && u > m->weight[i]) u -= m->weight[i++];
    return m->mean[i] + m->deviation[i] * dpa__rng_normal(rng);
}

int dpa__mixture_equal(const dpa_mixture *a, const dpa_mixture *b) {
    int equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; ++i)
        equal = a->weight[i] == b->weight[i] && a->mean[i] == b->mean[i] &&
                a->deviation[i] == b->deviation[i];
    return equal;
}

int dpa__mixture_tails_differ(const dpa_mixture *a, const dpa_mixture *b) {
    size_t i = 0, j = 0;
    for (size_t k = 1; k < a->count; ++k)
        if (a->deviation[k] > a->deviation[i]) i = k;
    for (size_t k = 1; k < b->count; ++k)
        if (b->deviation[k] > b->deviation[j]) j = k;
    return a->deviation[i] != b->deviation[j] || a->mean[i] != b->mean[j];
}

/* Where to evaluate a pair of fitted laws: a grid as fine as a fraction of every component's
 * deviation, reaching to where its tail is negligible. */

static const double FARTHEST = 38.0; /* deviations: Φ(−38) is about 3e-316 */

static size_t half_width(double tail, int fine) {
    const double z = tail > 0.0 ? dpa__norm_quantile(tail, DPA_UPPER) : FARTHEST;
    return (size_t)ceil(fmin(FARTHEST, fmax(z, 1.0) + 1.0) * fine);
}

static size_t add_components(const dpa_mixture *m, size_t half, int fine, double *grid) {
    size_t n = 0;
    for (size_t i = 0; i < m->count; ++i)
        for (size_t j = 0; j <= 2 * half; ++j)
            grid[n++] = m->mean[i] + m->deviation[i] * ((double)j - (double)half) / fine;
    return n;
}

static dpa_status add_levels(const dpa_mixture *m, double level, double *grid, dpa_error *err) {
    DPA_TRY(dpa__mixture_upper_quantile(m, level, &grid[0], err));
    return dpa__mixture_upper_quantile(m, 1.0 - level, &grid[1], err);
}

dpa_status dpa__fit_grid(const dpa_loss_fit *fit, int fine, double tail, double level,
                         double **grid, size_t *count, dpa_error *err) {
    const size_t half = half_width(tail, fine);
    const size_t most = (2 * half + 1) * (fit->train.count + fit->heldout.count) + 4;
    dpa_status status = DPA_OK;
    *grid = DPA_NEW_ARRAY(double, most, err);
    if (*grid == NULL) return DPA_NO_MEMORY;
    *count = add_components(&fit->train, half, fine, *grid);
    *count += add_components(&fit->heldout, half, fine, *grid + *count);
    if (level > 0.0) {
        status = add_levels(&fit->train, level, *grid + *count, err);
        if (status == DPA_OK) status = add_levels(&fit->heldout, level, *grid + *count + 2, err);
        *count += 4;
    }
    if (status == DPA_OK) status = dpa__sort_numbers(*grid, *count, err);
    if (status != DPA_OK) free(*grid);
    return status;
}

/* ε(δ) between two fitted laws over all events.
 *
 * The best event at ε is {p > e^ε q}: a union of intervals that end where log p − log q = ε. The
 * ends are bracketed on a grid and found to the last bits, and the masses of the intervals come
 * from tails, so δ(ε) = P − e^ε Q has no quadrature error. What a grid can miss is a pair of ends
 * inside one cell; the answer on a grid twice as fine is given, with the difference as its error. A
 * pair of single normals has a closed form (dpa__two_gaussians_epsilon). */

enum { FINE = 12 };

typedef struct pair {
    const dpa_mixture *p, *q;
    const double *grid;
    double *loss; /* log p − log q at the grid */
    size_t count;
    double epsilon; /* the level whose crossings are searched */
    double log_delta;
} pair;

static double loss_at(double x, void *user) {
    const pair *c = user;
    return dpa__mixture_log_pdf(c->p, x) - dpa__mixture_log_pdf(c->q, x) - c->epsilon;
}

/* log(P − e^ε Q) of one interval, −INFINITY when rounding makes it negative. */
static double log_gain(const pair *c, double a, double b) {
    const double p = dpa__mixture_log_interval(c->p, a, b);
    const double q = c->epsilon + dpa__mixture_log_interval(c->q, a, b);
    return p > q ? dpa__log_sub(p, q) : -HUGE_VAL;
}

static double log_delta_at(pair *c, double epsilon) {
    double total = -HUGE_VAL, from = -HUGE_VAL;
    c->epsilon = epsilon;
    for (size_t i = 0; i + 1 < c->count; ++i) {
        const int here = c->loss[i] > epsilon, next = c->loss[i + 1] > epsilon;
        if (here == next) continue;
        dpa__bracket end;
        double at = 0.5 * (c->grid[i] + c->grid[i + 1]);
        if (dpa__root(loss_at, c, c->grid[i], c->grid[i + 1], 0.0, 1e-15, &end, NULL) == DPA_OK)
            at = 0.5 * (end.lower + end.upper);
        if (here) total = dpa__log_add(total, log_gain(c, from, at));
        from = at;
    }
    if (c->loss[c->count - 1] > epsilon) total = dpa__log_add(total, log_gain(c, from, HUGE_VAL));
    return total;
}

static int is_enough(double epsilon, void *user) {
    pair *c = user;
    return log_delta_at(c, epsilon) <= c->log_delta;
}

static dpa_status directed(pair *c, double *epsilon, dpa_error *err) {
    double highest = 0.0;
    for (size_t i = 0; i < c->count; ++i) {
        c->loss[i] =
            dpa__mixture_log_pdf(c->p, c->grid[i]) - dpa__mixture_log_pdf(c->q, c->grid[i]);
        if (isnan(c->loss[i])) c->loss[i] = 0.0; /* both densities underflow */
        highest = fmax(highest, c->loss[i]);
    }
    *epsilon = 0.0;
    if (is_enough(0.0, c)) return DPA_OK;
    dpa__bracket b;
    DPA_TRY(dpa__bisect(is_enough, c, 0.0, highest + 1.0, 1e-12, 1e-14, &b, err));
    *epsilon = b.upper;
    return DPA_OK;
}

static dpa_status on_grid(const dpa_loss_fit *fit, int fine, double delta, double *epsilon,
                          dpa_error *err) {
    double *grid;
    size_t count;
    double forward = 0.0, backward = 0.0;
    DPA_TRY(dpa__fit_grid(fit, fine, 1e-12 * delta, 0.0, &grid, &count, err));
    pair c = {.p = &fit->train, .q = &fit->heldout, .grid = grid, .count = count};
    c.log_delta = log(delta);
    c.loss = DPA_NEW_ARRAY(double, count, err);
    dpa_status status = c.loss != NULL ? directed(&c, &forward, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        c.p = &fit->heldout;
        c.q = &fit->train;
        status = directed(&c, &backward, err);
    }
    free(c.loss);
    free(grid);
    *epsilon = fmax(forward, backward);
    return status;
}

dpa_status dpa__mixture_epsilon(const dpa_loss_fit *fit, double delta, double *epsilon,
                                double *error, dpa_error *err) {
    double coarse;
    DPA_TRY(on_grid(fit, FINE, delta, &coarse, err));
    DPA_TRY(on_grid(fit, 2 * FINE, delta, epsilon, err));
    *error = fabs(*epsilon - coarse) + 1e-10 * fmax(1.0, *epsilon);
    return DPA_OK;
}

dpa_status dpa__fit_epsilon(const dpa_loss_fit *fit, double delta, double *epsilon, double *error,
                            dpa_error *err) {
    const dpa_mixture *a = &fit->train, *b = &fit->heldout;
    *epsilon = *error = 0.0;
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", delta);
    if (dpa__mixture_equal(a, b)) return DPA_OK;
    if (delta == 0.0) {
        *epsilon = dpa__mixture_tails_differ(a, b) ? (double)INFINITY : (double)NAN;
        return DPA_OK;
    }
    if (a->count > 1 || b->count > 1) return dpa__mixture_epsilon(fit, delta, epsilon, error, err);
    *epsilon =
        dpa__two_gaussians_epsilon(a->mean[0], a->deviation[0], b->mean[0], b->deviation[0], delta);
    *error = 1e-9 * fmax(1.0, *epsilon);
    return DPA_OK;
}
