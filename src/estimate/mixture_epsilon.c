/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε(δ) between two fitted laws over all events.
 *
 * The best event at ε is {p > e^ε q}: a union of intervals that end where log p − log q = ε. The
 * ends are bracketed on a grid and found to the last bits, and the masses of the intervals come
 * from tails, so δ(ε) = P − e^ε Q has no quadrature error. What a grid can miss is a pair of ends
 * inside one cell; the answer on a grid twice as fine is given, with the difference as its error. A
 * pair of single normals has a closed form (dpa__two_gaussians_epsilon). */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "math/logspace.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

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
