/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The binormal curve of one end, by generalised least squares (docs/methods/epsilon-star.md).
 *
 * Both coordinates of a threshold, Φ⁻¹ of the two observed rates, have errors, correlated between
 * thresholds as those of empirical distribution functions are: Cov(p̂_i, p̂_j) = min(p)−p_i·p_j over
 * n, times the slopes of Φ⁻¹. So the residual a − intercept − slope·b has the covariance
 * V = C_a + slope²·C_b; Gauss–Newton steps with the weights V⁻¹, each from the point of the line
 * that the observation is nearest to. Ranks alone enter, so any rising transform of the losses, an
 * outlier or an infinite loss changes nothing. */
#include "estimate/loss_line.h"

#include <math.h>

#include "base/error.h"
#include "math/dist.h"

enum { MOST = 14, LEAST_COUNT = 5, STEPS = 6, LEAST_POINTS = 4 };
static const double SHARES[DPA__WINDOWS] = {0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03};
static const double LEAST_LOSSES = 100.0, REJECT = 0.05, NUGGET = 1e-9;
static const double SLOPE_LOW = 0.05, SLOPE_HIGH = 20.0;

/* Observed rates of up to MOST thresholds. */
typedef struct points {
    size_t count;
    double train[MOST], heldout[MOST];   /* rates */
    double a[MOST], b[MOST];             /* Φ⁻¹ of them */
    double slope_a[MOST], slope_b[MOST]; /* of Φ⁻¹ there */
    double n, m;
} points;

typedef struct matrix {
    double at[MOST][MOST];
} matrix;

static double between(const double *rate, const double *slope, double size, size_t i, size_t j) {
    return (fmin(rate[i], rate[j]) - rate[i] * rate[j]) / size * slope[i] * slope[j];
}

static double of_train(const points *p, size_t i, size_t j) {
    return between(p->train, p->slope_a, p->n, i, j);
}

static double of_heldout(const points *p, size_t i, size_t j) {
    return between(p->heldout, p->slope_b, p->m, i, j);
}

/* Lower triangle L with L·Lᵀ = V; 0 when V is not positive. */
static int cholesky(const points *p, double slope, matrix *l) {
    for (size_t i = 0; i < p->count; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = of_train(p, i, j) + slope * slope * of_heldout(p, i, j);
            if (i == j) sum += NUGGET;
            for (size_t k = 0; k < j; ++k) sum -= l->at[i][k] * l->at[j][k];
            if (i == j && !(sum > 0.0)) return 0;
            l->at[i][j] = i == j ? sqrt(sum) : sum / l->at[j][j];
        }
    return 1;
}

/* y = V⁻¹ x */
static void solve(const matrix *l, size_t count, const double *x, double *y) {
    for (size_t i = 0; i < count; ++i) {
        y[i] = x[i];
        for (size_t k = 0; k < i; ++k) y[i] -= l->at[i][k] * y[k];
        y[i] /= l->at[i][i];
    }
    for (size_t i = count; i-- > 0;) {
        for (size_t k = i + 1; k < count; ++k) y[i] -= l->at[k][i] * y[k];
        y[i] /= l->at[i][i];
    }
}

static double dot(const double *x, const double *y, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) sum += x[i] * y[i];
    return sum;
}

/* One step; 0 when the thresholds cannot tell intercept from slope. */
static int gauss_newton(const points *p, dpa__line *line) {
    matrix l;
    double r[MOST], weighted[MOST], x[MOST], ones[MOST], of_x[MOST], of_one[MOST];
    const size_t n = p->count;
    if (!cholesky(p, line->slope, &l)) return 0;
    for (size_t i = 0; i < n; ++i) {
        r[i] = p->a[i] - line->intercept - line->slope * p->b[i];
        ones[i] = 1.0;
    }
    solve(&l, n, r, weighted);
    for (size_t i = 0; i < n; ++i) { /* the nearest point of the line */
        double moved = 0.0;
        for (size_t j = 0; j < n; ++j) moved += of_heldout(p, i, j) * weighted[j];
        x[i] = p->b[i] + line->slope * moved;
    }
    solve(&l, n, x, of_x);
    solve(&l, n, ones, of_one);
    const double w11 = dot(ones, of_one, n), w12 = dot(x, of_one, n), w22 = dot(x, of_x, n);
    const double determinant = w11 * w22 - w12 * w12;
    if (!(determinant > 1e-12 * w11 * w22)) return 0;
    const double g1 = dot(of_one, r, n), g2 = dot(of_x, r, n);
    line->chi_square = dot(r, weighted, n);
    line->covariance[0] = w22 / determinant;
    line->covariance[1] = -w12 / determinant;
    line->covariance[2] = w11 / determinant;
    line->intercept += (w22 * g1 - w12 * g2) / determinant;
    line->slope += (w11 * g2 - w12 * g1) / determinant;
    line->slope = fmin(fmax(line->slope, SLOPE_LOW), SLOPE_HIGH);
    return isfinite(line->intercept) != 0;
}

static void add_point(points *p, double train, double heldout) {
    p->train[p->count] = train / p->n;
    p->heldout[p->count] = heldout / p->m;
    p->a[p->count] = dpa__norm_quantile(p->train[p->count], DPA_LOWER);
    p->b[p->count] = dpa__norm_quantile(p->heldout[p->count], DPA_LOWER);
    p->slope_a[p->count] = exp(-dpa__norm_log_pdf(p->a[p->count]));
    p->slope_b[p->count] = exp(-dpa__norm_log_pdf(p->b[p->count]));
    ++p->count;
}

/* Thresholds where both sides have LEAST_COUNT losses below (and two above), evenly spread in the
 * logarithm of the pooled count, from the first of them to the window's end or half as far again.
 */
static void collect(const dpa__cells *c, double first, double share, points *p) {
    const double all = c->train_total + c->heldout_total;
    const double last = fmax(share * all, 1.5 * first + LEAST_COUNT);
    const double step = pow(last / first, 1.0 / (MOST - 1));
    double train = 0.0, heldout = 0.0, wanted = first;
    *p = (points){.n = c->train_total, .m = c->heldout_total};
    for (size_t i = 0; i < c->count && p->count < MOST; ++i) {
        train += c->train[i];
        heldout += c->heldout[i];
        if (train + heldout > last) break;
        if (train + heldout < wanted * (1.0 - 1e-9)) continue;
        if (train > p->n - 2.0 || heldout > p->m - 2.0) break;
        add_point(p, train, heldout);
        while (wanted <= train + heldout) wanted *= step;
    }
}

/* The pooled count at the first threshold that has enough of both sides. */
static double first_count(const dpa__cells *c) {
    double train = 0.0, heldout = 0.0;
    for (size_t i = 0; i < c->count; ++i) {
        train += c->train[i];
        heldout += c->heldout[i];
        if (train >= LEAST_COUNT && heldout >= LEAST_COUNT) return train + heldout;
    }
    return INFINITY;
}

static int fit_window(const dpa__cells *c, double first, double share, dpa__line *line) {
    points p;
    collect(c, first, share, &p);
    if (p.count < LEAST_POINTS) return 0;
    *line = (dpa__line){.share = share, .slope = 1.0, .points = p.count};
    for (size_t i = 0; i < p.count; ++i) line->intercept += (p.a[i] - p.b[i]) / (double)p.count;
    for (int step = 0; step < STEPS; ++step)
        if (!gauss_newton(&p, line)) return 0;
    return 1;
}

double dpa__line_p_value(const dpa__line *line) {
    return dpa__gamma_cdf(0.5 * line->chi_square, 0.5 * ((double)line->points - 2.0), 1.0,
                          DPA_UPPER);
}

dpa_status dpa__line_fit(const dpa__cells *c, dpa__line line[DPA__WINDOWS], size_t *tried,
                         size_t *chosen, dpa_error *err) {
    const double all = c->train_total + c->heldout_total, first = first_count(c);
    double best = -1.0;
    int accepted = 0;
    *tried = *chosen = 0;
    for (size_t w = 0; w < DPA__WINDOWS; ++w) {
        if (*tried > 0 && SHARES[w] * all < fmax(LEAST_LOSSES, 6.0 * first)) break;
        if (!(first < all) || !fit_window(c, first, SHARES[w], &line[*tried])) break;
        const double p = dpa__line_p_value(&line[*tried]);
        if (!accepted && p > best) {
            best = p;
            *chosen = *tried;
            accepted = p >= REJECT;
        }
        ++*tried;
        if (accepted && *tried > *chosen + 1) break; /* the chosen one and the next narrower */
    }
    if (*tried == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "too few thresholds have losses of both sides on both of their sides");
    return DPA_OK;
}
