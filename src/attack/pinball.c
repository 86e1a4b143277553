/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantile regression (Koenker and Bassett 1978) with a ridge:
 *
 *     min over b of  Σ ρ(y − x·b) + ½ n·ridge·|b|²,   ρ(r) = level·r for r ≥ 0, (level − 1)·r
 * below,
 *
 * the intercept free. A primal-dual interior point method with Mehrotra's corrector, as Portnoy and
 * Koenker (1997) use. With r = u − v, u and v ≥ 0, the dual is a in [level − 1, level] with
 * X'a = n·ridge·b; the slacks are s = level − a beside u and t = a − level + 1 beside v.
 *
 * ρ(r) ≥ a·r for every a of the box, so that Σ y·a − ½ n·ridge·|b|² is below the optimum: the
 * distance to it is the certificate. The fit is done when it is below 1e-10 per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"

enum { MOST_ROUNDS = 200 };
static const double settled = 1e-10, almost = 0.99995;

/* A direction, or the current point of the iteration. */
typedef struct place {
    double *b;         /* [columns] */
    double *a, *u, *v; /* [rows] */
} place;

typedef struct work {
    const dpa__design *design;
    const double *y;
    double level, ridge; /* ridge times rows */
    unsigned threads;
    place at, step;
    double *weight, *residual; /* [rows]; residual: y − Xb − u + v */
    double *first, *second;    /* [rows]: right sides of u·s = … and v·t = … */
    double *slack;             /* [columns]: X'a − ridge·b */
    double *room;              /* [rows] */
    double *block;
    dpa__gram gram;
} work;

static dpa_status make_rooms(work *w, double *b, dpa_error *err) {
    const size_t n = w->design->rows, p = w->design->columns;
    double *next = dpa__malloc(11 * n + 2 * p, sizeof(double), err);
    if (next == NULL) return DPA_NO_MEMORY;
    double **const of_rows[] = {&w->at.a,   &w->at.u,   &w->at.v,   &w->step.a,
                                &w->step.u, &w->step.v, &w->weight, &w->residual,
                                &w->first,  &w->second, &w->room};
    w->block = next;
    w->at.b = b;
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; ++i, next += n) *of_rows[i] = next;
    w->step.b = next;
    w->slack = next + p;
    return dpa__gram_new(p, &w->gram, err);
}

static double penalty(const work *w) {
    double sum = 0.0;
    for (size_t c = 1; c < w->design->columns; ++c) sum += w->at.b[c] * w->at.b[c];
    return 0.5 * w->ridge * sum;
}

/* Starts from least squares: u − v is its residual, and all slacks are well inside their bounds. */
static dpa_status start(work *w, dpa_error *err) {
    const dpa__design *d = w->design;
    const size_t n = d->rows;
    double mean = 0.0;
    for (size_t i = 0; i < n; ++i) w->weight[i] = 1.0;
    dpa__design_transposed(d, w->y, w->at.b);
    DPA_TRY(dpa__gram_factor(&w->gram, d, w->weight, w->ridge, w->threads, err));
    dpa__gram_solve(&w->gram, w->at.b);
    dpa__design_times(d, w->at.b, w->room);
    for (size_t i = 0; i < n; ++i) mean += fabs(w->y[i] - w->room[i]) / (double)n;
    const double wall = 0.5 * mean + 1e-3;
    for (size_t i = 0; i < n; ++i) {
        const double r = w->y[i] - w->room[i];
        w->at.a[i] = 0.0;
        w->at.u[i] = fmax(r, 0.0) + wall;
        w->at.v[i] = fmax(-r, 0.0) + wall;
    }
    return DPA_OK;
}

static double slack_above(const work *w, size_t i) {
    return w->level - w->at.a[i];
}

static double slack_below(const work *w, size_t i) {
    return w->at.a[i] + (1.0 - w->level);
}

/* Computes the residuals; returns per row how far the objective is above the dual's. */
static double look(work *w) {
    const dpa__design *d = w->design;
    double gap = 2.0 * penalty(w), worst = 0.0;
    dpa__design_times(d, w->at.b, w->room);
    for (size_t i = 0; i < d->rows; ++i) {
        const double r = w->y[i] - w->room[i];
        w->residual[i] = r - w->at.u[i] + w->at.v[i];
        gap += (r >= 0.0 ? w->level * r : (w->level - 1.0) * r) - w->y[i] * w->at.a[i];
    }
    dpa__design_transposed(d, w->at.a, w->slack);
    for (size_t c = 1; c < d->columns; ++c) w->slack[c] -= w->ridge * w->at.b[c];
    for (size_t c = 0; c < d->columns; ++c) worst = fmax(worst, fabs(w->slack[c]));
    return fmax(gap, worst) / (double)d->rows;
}

/* Factors the normal equations with the weights of this round. */
static dpa_status factor(work *w, dpa_error *err) {
    for (size_t i = 0; i < w->design->rows; ++i)
        w->weight[i] = 1.0 / (w->at.u[i] / slack_above(w, i) + w->at.v[i] / slack_below(w, i));
    return dpa__gram_factor(&w->gram, w->design, w->weight, w->ridge, w->threads, err);
}

/* The direction in which both products change by `first` and `second` and both residuals vanish. */
static void solve(work *w) {
    const dpa__design *d = w->design;
    for (size_t i = 0; i < d->rows; ++i)
        w->room[i] = w->weight[i] * (w->residual[i] - w->first[i] / slack_above(w, i) +
                                     w->second[i] / slack_below(w, i));
    dpa__design_transposed(d, w->room, w->step.b);
    for (size_t c = 0; c < d->columns; ++c) w->step.b[c] += w->slack[c];
    dpa__gram_solve(&w->gram, w->step.b);
    dpa__design_times(d, w->step.b, w->step.a);
    for (size_t i = 0; i < d->rows; ++i) {
        const double a = w->room[i] - w->weight[i] * w->step.a[i];
        w->step.a[i] = a;
        w->step.u[i] = (w->first[i] + w->at.u[i] * a) / slack_above(w, i);
        w->step.v[i] = (w->second[i] - w->at.v[i] * a) / slack_below(w, i);
    }
}

static double reach(double share, double value, double step) {
    return step < 0.0 ? fmin(share, -value / step) : share;
}

/* How far the direction can be followed before a bound is hit, at most 1. */
static double longest(const work *w) {
    double share = 1.0;
    for (size_t i = 0; i < w->design->rows; ++i) {
        share = reach(share, w->at.u[i], w->step.u[i]);
        share = reach(share, w->at.v[i], w->step.v[i]);
        share = reach(share, slack_above(w, i), -w->step.a[i]);
        share = reach(share, slack_below(w, i), w->step.a[i]);
    }
    return share;
}

/* The mean product after following a share of the direction. */
static double product(const work *w, double share) {
    double sum = 0.0;
    for (size_t i = 0; i < w->design->rows; ++i) {
        const double a = share * w->step.a[i];
        sum += (w->at.u[i] + share * w->step.u[i]) * (slack_above(w, i) - a) +
               (w->at.v[i] + share * w->step.v[i]) * (slack_below(w, i) + a);
    }
    return sum / (2.0 * (double)w->design->rows);
}

/* First a step towards products of 0; what it would leave says how much centring is needed, and its
 * second-order term is corrected for. */
static void direct(work *w) {
    const size_t n = w->design->rows;
    for (size_t i = 0; i < n; ++i) {
        w->first[i] = -w->at.u[i] * slack_above(w, i);
        w->second[i] = -w->at.v[i] * slack_below(w, i);
    }
    solve(w);
    const double now = product(w, 0.0), then = product(w, longest(w)), left = then / now;
    const double centre = now * left * left * left;
    for (size_t i = 0; i < n; ++i) {
        w->first[i] += centre + w->step.u[i] * w->step.a[i];
        w->second[i] += centre - w->step.v[i] * w->step.a[i];
    }
    solve(w);
}

static void follow(work *w) {
    const double share = fmin(1.0, almost * longest(w));
    for (size_t c = 0; c < w->design->columns; ++c) w->at.b[c] += share * w->step.b[c];
    for (size_t i = 0; i < w->design->rows; ++i) {
        w->at.a[i] += share * w->step.a[i];
        w->at.u[i] += share * w->step.u[i];
        w->at.v[i] += share * w->step.v[i];
    }
}

static dpa_status descend(work *w, dpa__fit_quality *quality, dpa_error *err) {
    DPA_TRY(start(w, err));
    for (int round = 0; round <= MOST_ROUNDS; ++round) {
        *quality = (dpa__fit_quality){round, look(w)};
        if (quality->gap < settled) return DPA_OK;
        if (!isfinite(quality->gap)) break;
        DPA_TRY(factor(w, err));
        direct(w);
        follow(w);
    }
    return dpa__fail(err, DPA_NUMERIC,
                     "quantile: the pinball fit did not settle, %g per point is left after %d "
                     "rounds",
                     quality->gap, quality->rounds);
}

dpa_status dpa__pinball_fit(const dpa__design *design, const double *y, double level, double ridge,
                            unsigned threads, double *b, dpa__fit_quality *quality,
                            dpa_error *err) {
    work w = {.design = design,
              .y = y,
              .level = level,
              .ridge = ridge * (double)design->rows,
              .threads = threads};
    dpa_status status = make_rooms(&w, b, err);
    if (status == DPA_OK) status = descend(&w, quality, err);
    dpa__gram_free(&w.gram);
    free(w.block);
    return status;
}
