/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The binormal curve of one end, by generalised least squares (docs/methods/epsilon-star.md).
 *
 * Both coordinates of a threshold, Φ⁻¹ of the two observed rates, have errors, correlated between
 * thresholds as those of empirical distribution functions are: Cov(p̂_i, p̂_j) = min(p)−p_i·p_j over
 * n, times the slopes of Φ⁻¹. So the residual a − intercept − slope·b has the covariance
 * V = C_a + slope²·C_b; Gauss–Newton steps with the weights V⁻¹, each from the point of the line
 * that the observation is nearest to. Ranks alone enter, so any rising transform of the losses, an
 * outlier or an infinite loss changes nothing. */
#include "estimate/losses/epsilon_star.h"

#include <math.h>

#include "base/error.h"
#include "math/dist.h"

enum { MOST = DPA__POINTS, LEAST_COUNT = 5, STEPS = 6, LEAST_POINTS = 3, HALVINGS = 12 };
static const double SHARES[] = {0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03};
static const double LEAST_LOSSES = 100.0, REJECT = 0.05, NUGGET = 1e-9;
static const double SLOPE_LOW = 0.05, SLOPE_HIGH = 20.0;
/* For the band: the least and most that the slope may wander per unit of z; it wanders more if the
 * residuals have a smaller p-value than CHANCE; the losses that a reliable rate has. */
static const double WANDER = 0.2, MOST_WANDER = 4.0, CHANCE = 0.2, SURE_COUNT = 10.0;

/* Observed rates of up to MOST thresholds. */
typedef struct points {
    size_t count;
    double pooled[MOST];                 /* losses of both sides */
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

/* One Gauss–Newton step; 0 if the thresholds cannot separate intercept from slope. */
static int gauss_newton(const points *p, dpa__line *line) {
    matrix l;
    double r[MOST], weighted[MOST], x[MOST], ones[MOST], of_x[MOST], of_one[MOST];
    const size_t n = p->count;
    if (n < LEAST_POINTS || !cholesky(p, line->slope, &l)) return 0;
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
    if (!isfinite(line->intercept)) return 0;
    return 1;
}

static void add_point(points *p, double train, double heldout) {
    p->pooled[p->count] = train + heldout;
    p->train[p->count] = train / p->n;
    p->heldout[p->count] = heldout / p->m;
    p->a[p->count] = dpa__norm_quantile(p->train[p->count], DPA_LOWER);
    p->b[p->count] = dpa__norm_quantile(p->heldout[p->count], DPA_LOWER);
    p->slope_a[p->count] = exp(-dpa__norm_log_pdf(p->a[p->count]));
    p->slope_b[p->count] = exp(-dpa__norm_log_pdf(p->b[p->count]));
    ++p->count;
}

/* Thresholds at which both sides have LEAST_COUNT losses below (and two above), evenly spaced in
 * the logarithm of the pooled count, from the first of them to the window's end or half as far
 * again. */
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

/* The pooled count at the first threshold with enough losses of both sides. */
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

/* The z at which the line has `pooled` losses of both sides beyond it. */
static double place(const points *p, const dpa__line *line, double pooled) {
    double low = -40.0, high = 40.0;
    for (int i = 0; i < 40; ++i) {
        const double z = 0.5 * (low + high);
        const double beyond = p->n * dpa__norm_cdf(line->intercept + line->slope * z, DPA_LOWER) +
                              p->m * dpa__norm_cdf(z, DPA_LOWER);
        *(beyond > pooled ? &high : &low) = z;
    }
    return 0.5 * (low + high);
}

/* Replaces the rates, and so the variances, by those of the line at the same pooled count. */
static void expect(points *p, const dpa__line *line) {
    for (size_t i = 0; i < p->count; ++i) {
        const double z = place(p, line, p->pooled[i]), a = line->intercept + line->slope * z;
        p->train[i] = dpa__norm_cdf(a, DPA_LOWER);
        p->heldout[i] = dpa__norm_cdf(z, DPA_LOWER);
        p->slope_a[i] = exp(-dpa__norm_log_pdf(a));
        p->slope_b[i] = exp(-dpa__norm_log_pdf(z));
    }
}

/* Fits the line again with those variances. */
static int fit_expected(points *p, dpa__line *line) {
    for (int step = 0; step < STEPS; ++step) {
        expect(p, line);
        if (!gauss_newton(p, line)) return 0;
    }
    return 1;
}

static double p_value(const dpa__line *line) {
    return dpa__gamma_cdf(0.5 * line->chi_square, 0.5 * ((double)line->points - 2.0), 1.0,
                          DPA_UPPER);
}

double dpa__line_p_value(const dpa__cells *c, const dpa__line *line) {
    dpa__line again = *line;
    points p;
    collect(c, first_count(c), line->share, &p);
    return fit_expected(&p, &again) ? p_value(&again) : (double)NAN;
}

dpa_status dpa__line_fit(const dpa__cells *c, dpa__line *out, dpa_error *err) {
    const double all = c->train_total + c->heldout_total, first = first_count(c);
    double best = -1.0;
    for (size_t w = 0; w < sizeof SHARES / sizeof SHARES[0] && best < REJECT; ++w) {
        dpa__line line;
        if (w > 0 && SHARES[w] * all < fmax(LEAST_LOSSES, 6.0 * first)) break;
        if (!(first < all) || !fit_window(c, first, SHARES[w], &line)) break;
        const double p = p_value(&line);
        if (!(p > best)) continue;
        best = p;
        *out = line;
    }
    if (best < 0.0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "too few thresholds have losses of both sides on both of their sides");
    return DPA_OK;
}

/* ── the band ──────────────────────────────────────────────────────────────────────────────── */

/* Covariance of the walk ∫(u−s)₊ dW(s) at two distances from its origin. */
static double walk(const dpa__band *band, double z, double other) {
    const double u = band->origin - z, v = band->origin - other, near = fmin(u, v);
    return band->wander * band->wander * near * near * (0.5 * fmax(u, v) - near / 6.0);
}

/* L⁻¹ x */
static void forward(const dpa__band *b, const double *x, double *y) {
    for (size_t i = 0; i < b->count; ++i) {
        y[i] = x[i];
        for (size_t k = 0; k < i; ++k) y[i] -= b->root[i][k] * y[k];
        y[i] /= b->root[i][i];
    }
}

/* An error of z changes the height by the local slope, which wanders too. */
static int band_root(const points *p, double slope, dpa__band *b) {
    const double range = p->b[p->count - 1] - p->b[0];
    const double square = slope * slope + 0.5 * range * b->wander * b->wander;
    for (size_t i = 0; i < p->count; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = of_train(p, i, j) + square * of_heldout(p, i, j) +
                         walk(b, p->b[i], p->b[j]) + (i == j ? NUGGET : 0.0);
            for (size_t k = 0; k < j; ++k) sum -= b->root[i][k] * b->root[j][k];
            if (i == j && !(sum > 0.0)) return 0;
            b->root[i][j] = i == j ? sqrt(sum) : sum / b->root[j][j];
        }
    return 1;
}

/* Generalised least squares with the walk in V; returns χ² of the residuals, NaN if there is no
 * solution. */
static double band_solve(const points *p, double slope, dpa__band *b) {
    double ones[MOST], a[MOST];
    const size_t n = p->count;
    if (!band_root(p, slope, b)) return NAN;
    for (size_t i = 0; i < n; ++i) ones[i] = 1.0;
    forward(b, ones, b->of_one);
    forward(b, p->b, b->of_z);
    forward(b, p->a, a);
    const double w11 = dot(b->of_one, b->of_one, n), w12 = dot(b->of_one, b->of_z, n);
    const double w22 = dot(b->of_z, b->of_z, n), determinant = w11 * w22 - w12 * w12;
    if (!(determinant > 1e-12 * w11 * w22)) return NAN;
    const double g1 = dot(b->of_one, a, n), g2 = dot(b->of_z, a, n);
    b->covariance[0] = w22 / determinant;
    b->covariance[1] = -w12 / determinant;
    b->covariance[2] = w11 / determinant;
    b->intercept = (w22 * g1 - w12 * g2) / determinant;
    b->slope = (w11 * g2 - w12 * g1) / determinant;
    for (size_t i = 0; i < n; ++i)
        b->of_rest[i] = a[i] - b->intercept * b->of_one[i] - b->slope * b->of_z[i];
    return dot(b->of_rest, b->of_rest, n);
}

/* The smallest wander for which the residuals may be chance, else the largest. */
static int settle(const points *p, double slope, dpa__band *out) {
    const double freedom = (double)p->count - 2.0;
    const double limit = 2.0 * dpa__gamma_quantile(CHANCE, 0.5 * freedom, 1.0, DPA_UPPER);
    double low = log(WANDER), high = log(MOST_WANDER);
    out->wander = WANDER;
    const double chi_square = band_solve(p, slope, out);
    if (!(chi_square > limit)) return !isnan(chi_square);
    for (int i = 0; i < HALVINGS; ++i) {
        const double middle = 0.5 * (low + high);
        out->wander = exp(middle);
        *(band_solve(p, slope, out) > limit ? &low : &high) = middle;
    }
    out->wander = exp(high);
    return !isnan(band_solve(p, slope, out));
}

int dpa__band_fit(const dpa__cells *c, const dpa__line *line, dpa__weights weights,
                  dpa__band *out) {
    points p;
    collect(c, first_count(c), line->share, &p);
    if (p.count < LEAST_POINTS) return 0;
    *out = (dpa__band){.count = p.count, .origin = p.b[p.count - 1] + 0.5, .edge = INFINITY};
    for (size_t i = p.count; i-- > 0;) {
        out->z[i] = p.b[i];
        if (fmin(p.train[i] * p.n, p.heldout[i] * p.m) > SURE_COUNT - 0.5) out->edge = p.b[i];
    }
    dpa__line again = *line;
    if (weights == DPA__EXPECTED && !fit_expected(&p, &again)) return 0;
    return settle(&p, again.slope, out);
}

double dpa__band_at(const dpa__band *b, double z, double *deviation) {
    double with[MOST], k[MOST];
    for (size_t i = 0; i < b->count; ++i) with[i] = walk(b, z, b->z[i]);
    forward(b, with, k);
    const double x0 = 1.0 - dot(b->of_one, k, b->count), x1 = z - dot(b->of_z, k, b->count);
    const double variance = walk(b, z, z) - dot(k, k, b->count) + b->covariance[0] * x0 * x0 +
                            2.0 * b->covariance[1] * x0 * x1 + b->covariance[2] * x1 * x1;
    *deviation = sqrt(fmax(variance, 0.0));
    return b->intercept + b->slope * z + dot(k, b->of_rest, b->count);
}
