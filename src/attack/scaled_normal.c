/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A normal whose mean and log-scale are linear in the features, y ~ N(x·b, e^(x·g)²) (Bertran et
 * al. 2023, section 3.2: the Gaussian form), by penalised likelihood. With r = y − x·b it minimises
 *
 *     Σ x·g + ½ (r² + floor²)·e^(−2 x·g)  +  ½ n·ridge·(|b|² + |g|²),   intercepts free.
 *
 * Given g the best b solves weighted normal equations; given b the problem is convex in g and takes
 * a step of Fisher scoring, whose matrix is the same in all rounds, halved until it descends. Both
 * in turn descend to a stationary point; it has been reached when what both steps can still promise
 * is less than 1e-11 per row. The floor, a millionth of the deviation of y, bounds the scale from
 * below where features explain y exactly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"

enum { MOST_ROUNDS = 500, MOST_HALVES = 60 };
static const double settled = 1e-11, floor_share = 1e-6;

typedef struct work {
    const dpa__design *design;
    const double *y;
    double ridge; /* ridge times rows */
    double floor; /* squared */
    unsigned threads;
    double *b, *g;      /* [columns] */
    double *step, *try; /* [columns] */
    double *spread;     /* [rows]: r² + floor² */
    double *scale;      /* [rows]: x·g */
    double *weight;     /* [rows] */
    double *block;
    dpa__gram gram;        /* of b, for the scales at hand */
    dpa__gram information; /* of g: 2·X'X and the ridge, whatever the scales */
} work;

static dpa_status make_rooms(work *w, dpa_error *err) {
    const size_t n = w->design->rows, p = w->design->columns;
    w->block = dpa__malloc(3 * n + 2 * p, sizeof(double), err);
    if (w->block == NULL) return DPA_NO_MEMORY;
    w->spread = w->block;
    w->scale = w->spread + n;
    w->weight = w->scale + n;
    w->step = w->weight + n;
    w->try = w->step + p;
    DPA_TRY(dpa__gram_new(p, &w->gram, err));
    DPA_TRY(dpa__gram_new(p, &w->information, err));
    for (size_t i = 0; i < n; ++i) w->weight[i] = 2.0;
    return dpa__gram_factor(&w->information, w->design, w->weight, w->ridge, w->threads, err);
}

static double penalty(const work *w, const double *b) {
    double sum = 0.0;
    for (size_t c = 1; c < w->design->columns; ++c) sum += b[c] * b[c];
    return 0.5 * w->ridge * sum;
}

/* The cost of g; writes x·g to `scale`. */
static double cost(const work *w, const double *g, double *scale) {
    double sum = penalty(w, g);
    dpa__design_times(w->design, g, scale);
    for (size_t i = 0; i < w->design->rows; ++i)
        sum += scale[i] + 0.5 * w->spread[i] * exp(-2.0 * scale[i]);
    return sum;
}

/* Finds the best b for the current scales; *gain is how much it improved. */
static dpa_status move_mean(work *w, double *gain, dpa_error *err) {
    const dpa__design *d = w->design;
    double *residual = w->spread;
    dpa__design_times(d, w->b, residual);
    for (size_t i = 0; i < d->rows; ++i) w->weight[i] = exp(-2.0 * w->scale[i]);
    for (size_t i = 0; i < d->rows; ++i) residual[i] = w->weight[i] * (w->y[i] - residual[i]);
    dpa__design_transposed(d, residual, w->step);
    for (size_t c = 1; c < d->columns; ++c) w->step[c] -= w->ridge * w->b[c];
    memcpy(w->try, w->step, d->columns * sizeof(double));
    DPA_TRY(dpa__gram_factor(&w->gram, d, w->weight, w->ridge, w->threads, err));
    dpa__gram_solve(&w->gram, w->step);
    *gain = 0.0;
    for (size_t c = 0; c < d->columns; ++c) {
        *gain += 0.5 * w->try[c] * w->step[c];
        w->b[c] += w->step[c];
    }
    dpa__design_times(d, w->b, residual);
    for (size_t i = 0; i < d->rows; ++i) {
        const double r = w->y[i] - residual[i];
        w->spread[i] = r * r + w->floor;
    }
    return DPA_OK;
}

/* Takes a scoring step of g, halved until it descends; *gain is what it promised. */
static void move_scale(work *w, double *gain) {
    const dpa__design *d = w->design;
    double *slope = w->try;
    const double before = cost(w, w->g, w->scale);
    for (size_t i = 0; i < d->rows; ++i)
        w->weight[i] = w->spread[i] * exp(-2.0 * w->scale[i]) - 1.0;
    dpa__design_transposed(d, w->weight, slope);
    for (size_t c = 1; c < d->columns; ++c) slope[c] -= w->ridge * w->g[c];
    memcpy(w->step, slope, d->columns * sizeof(double));
    dpa__gram_solve(&w->information, w->step);
    *gain = 0.0;
    for (size_t c = 0; c < d->columns; ++c) *gain += 0.5 * slope[c] * w->step[c];
    double share = 1.0;
    for (int halves = 0; halves < MOST_HALVES; ++halves, share *= 0.5) {
        for (size_t c = 0; c < d->columns; ++c) w->try[c] = w->g[c] + share * w->step[c];
        if (cost(w, w->try, w->scale) <= before) {
            memcpy(w->g, w->try, d->columns * sizeof(double));
            return;
        }
    }
    (void)cost(w, w->g, w->scale); /* only rounding is left to gain: keep g */
    *gain = 0.0;
}

/* Starts from the mean and deviation of y. */
static void start(work *w) {
    const size_t n = w->design->rows, p = w->design->columns;
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; ++i) mean += w->y[i] / (double)n;
    for (size_t i = 0; i < n; ++i) square += (w->y[i] - mean) * (w->y[i] - mean) / (double)n;
    const double least = floor_share * sqrt(square) + 1e-12 * (1.0 + fabs(mean));
    memset(w->b, 0, p * sizeof(double));
    memset(w->g, 0, p * sizeof(double));
    w->floor = least * least;
    w->b[0] = mean;
    w->g[0] = 0.5 * log(square + w->floor);
    for (size_t i = 0; i < n; ++i) w->scale[i] = w->g[0];
}

static dpa_status descend(work *w, dpa__fit_quality *quality, dpa_error *err) {
    const double n = (double)w->design->rows;
    start(w);
    for (int round = 1; round <= MOST_ROUNDS; ++round) {
        double mean = 0.0, scale = 0.0;
        DPA_TRY(move_mean(w, &mean, err));
        move_scale(w, &scale);
        *quality = (dpa__fit_quality){round, (mean + scale) / n};
        if (!isfinite(mean + scale))
            return dpa__fail(err, DPA_NUMERIC, "quantile: the normal fit left the finite numbers");
        if (quality->gap < settled) return DPA_OK;
    }
    return dpa__fail(err, DPA_NUMERIC, "quantile: the normal fit did not settle in %d rounds",
                     MOST_ROUNDS);
}

dpa_status dpa__scaled_normal_fit(const dpa__design *design, const double *y, double ridge,
                                  unsigned threads, double *b, double *g, dpa__fit_quality *quality,
                                  dpa_error *err) {
    work w = {.design = design,
              .y = y,
              .ridge = ridge * (double)design->rows,
              .threads = threads,
              .b = b,
              .g = g};
    dpa_status status = make_rooms(&w, err);
    if (status == DPA_OK) status = descend(&w, quality, err);
    dpa__gram_free(&w.gram);
    dpa__gram_free(&w.information);
    free(w.block);
    return status;
}
