/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times one evaluation of a curve of each family relative to the two library calls that a Gaussian
 * answer needs at least: a normal quantile and a normal tail. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#include "math/dist.h"
#include "tradeoff/tradeoff.h"

enum { CALLS = 20000, ROUNDS = 5 };

static volatile double sink;

static double rate(int i) {
    return exp(-18.0 * ((i * 7919) % CALLS + 0.5) / CALLS);
}

static double baseline(void) {
    double best;
    BENCH_BEST(ROUNDS, best, {
        double sum = 0.0;
        for (int i = 0; i < CALLS; ++i)
            sum += dpa__norm_cdf(dpa__norm_quantile(rate(i), DPA_UPPER) - 1.0, DPA_UPPER);
        sink = sum;
    });
    return best / CALLS;
}

static void ask(const char *what, const dpa_curve *curve,
                double (*question)(const dpa_curve *, double), double unit) {
    double best;
    BENCH_BEST(ROUNDS, best, {
        double sum = 0.0;
        for (int i = 0; i < CALLS; ++i) sum += question(curve, rate(i));
        sink = sum;
    });
    bench_row(what, best / CALLS, "qnorm + pnorm", best / CALLS / unit);
}

/* A piecewise linear curve with `count` vertices on the Gaussian one. */
static dpa_curve *points(int count) {
    double *fpr = malloc((size_t)count * sizeof *fpr), *fnr = malloc((size_t)count * sizeof *fnr);
    dpa_curve *curve = NULL;
    if (fpr != NULL && fnr != NULL) {
        for (int i = 0; i < count; ++i) {
            const double z = -8.0 + 17.0 * i / count;
            fpr[i] = dpa__norm_cdf(z, DPA_UPPER);
            fnr[i] = dpa__norm_cdf(z - 1.0, DPA_LOWER);
        }
        if (dpa_curve_points(fpr, fnr, (size_t)count, &curve, NULL) != DPA_OK) curve = NULL;
    }
    free(fpr);
    free(fnr);
    return curve;
}

static void all(const char *name, dpa_curve *curve, double unit) {
    char what[64];
    if (curve == NULL) exit(1);
    (void)snprintf(what, sizeof what, "%s: fnr", name);
    ask(what, curve, dpa_curve_fnr, unit);
    (void)snprintf(what, sizeof what, "%s: fpr_at_tpr", name);
    ask(what, curve, dpa__curve_fpr_at_tpr, unit);
    (void)snprintf(what, sizeof what, "%s: epsilon(delta)", name);
    ask(what, curve, dpa_curve_epsilon, unit);
    dpa_curve_free(curve);
}

int main(void) {
    const double unit = baseline();
    dpa_curve *curve = NULL;
    bench_row("qnorm + pnorm", unit, "qnorm + pnorm", 1.0);
    if (dpa_curve_dp(1.0, 1e-5, &curve, NULL) != DPA_OK) return 1;
    all("dp", curve, unit);
    if (dpa_curve_gaussian(1.0, &curve, NULL) != DPA_OK) return 1;
    all("gaussian", curve, unit);
    if (dpa_curve_laplace(1.0, &curve, NULL) != DPA_OK) return 1;
    all("laplace", curve, unit);
    dpa_curve *whole = NULL;
    if (dpa_curve_gaussian(1.0, &whole, NULL) != DPA_OK) return 1;
    if (dpa__curve_diluted(whole, 0.1, &curve, NULL) != DPA_OK) return 1;
    dpa_curve_free(whole);
    all("diluted gaussian", curve, unit);
    all("1000 points", points(1000), unit);
    all("100000 points", points(100000), unit);
    double best;
    BENCH_BEST(ROUNDS, best, {
        for (int i = 0; i < 200; ++i)
            sink = dpa__two_gaussians_epsilon(0.0, 1.0, 1.0, 1.0 + 0.001 * (i + 1), 1e-5);
    });
    bench_row("two gaussians: epsilon", best / 200, "qnorm + pnorm", best / 200 / unit);
    return 0;
}
