/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of one one-run bound, in units of one normal quantile and one normal CDF (the cost of a
 * step of the recursion for the Gaussian family), and of the recursion on a composed DP-SGD
 * curve. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "estimate/one_run/one_run.h"
#include "math/dist.h"

static double pair_cost(void) {
    enum { CALLS = 20000 };
    double seconds;
    volatile double sink = 0.0;
    BENCH_BEST(5, seconds, {
        for (int i = 0; i < CALLS; ++i) {
            const double r = 7e-4 + 1e-8 * (double)i;
            sink = sink + dpa__norm_cdf(dpa__norm_quantile(r, DPA_UPPER) + 0.8, DPA_UPPER);
        }
    });
    return seconds / CALLS;
}

static double bound_cost(const char *family, const dpa_one_run *game, double *epsilon) {
    dpa_request request;
    dpa_result result;
    dpa_error err;
    double seconds;
    dpa__request_init(&request);
    memcpy(request.family, family, strlen(family) + 1);
    BENCH_BEST(5, seconds, {
        if (dpa__one_run_bound(game, 1, DPA_GUESSES_FIXED, &request, &result, &err) != DPA_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
    });
    *epsilon = result.epsilon_lower;
    return seconds;
}

static void show_bounds(double unit) {
    static const dpa_one_run games[] = {{100000, 2, 16, 15},
                                        {100000, 2, 150, 143},
                                        {100000, 2, 1500, 1429},
                                        {100000, 2, 15000, 12000},
                                        {100000, 2, 100000, 60000},
                                        {100000, 2, 100000, 51000},
                                        {10000000, 2, 1000000, 800000},
                                        {10000000, 2, 1000000, 1000000},
                                        {10000000, 2, 1000000, 510000}};
    static const char *const families[] = {"gaussian", "laplace", "dp"};
    for (size_t f = 0; f < 3; ++f)
        for (size_t i = 0; i < sizeof games / sizeof games[0]; ++i) {
            double epsilon;
            char what[128];
            const double seconds = bound_cost(families[f], &games[i], &epsilon);
            (void)snprintf(what, sizeof what, "%s m=%.0e %llu/%llu eps %.4f", families[f],
                           (double)games[i].canaries, (unsigned long long)games[i].correct,
                           (unsigned long long)games[i].guesses, epsilon);
            bench_row(what, seconds, "quantile+cdf", seconds / unit);
        }
}

/* Times the recursion at levels around its p-value, where an evaluation is most expensive. */
static double recursion_cost(const dpa_one_run *game, const dpa_curve *curve) {
    double seconds;
    volatile int sink = 0;
    const double p = dpa__one_run_p_value(game, curve);
    BENCH_BEST(5, seconds, {
        for (int i = 0; i < 20; ++i)
            sink = sink + dpa__one_run_refutes(game, curve, p * (1.0 - 1e-3 * (double)(i - 10)));
    });
    return seconds / 20;
}

static void show_composed(double unit) {
    static const dpa_one_run games[] = {{100000, 2, 1500, 1429}, {100000, 2, 100000, 60000}};
    for (size_t i = 0; i < 2; ++i) {
        dpa_family *family = NULL;
        dpa_curve *composed = NULL, *symmetric = NULL, *gaussian = NULL;
        double build;
        const double t = i == 0 ? 1.2 : 0.9;
        if (dpa__family_parse("subsampled-gaussian:q=0.01,steps=1000", 1e-5, &family, NULL) !=
            DPA_OK)
            exit(1);
        BENCH_BEST(1, build, {
            if (dpa__family_curve(family, t, &composed, NULL) != DPA_OK) exit(1);
        });
        dpa_interval epsilon;
        if (dpa__family_epsilon(family, t, 1e-5, &epsilon, NULL) != DPA_OK ||
            dpa__one_run_symmetric(composed, &symmetric, NULL) != DPA_OK ||
            dpa_curve_gaussian(dpa_gaussian_mu(epsilon.upper, 1e-5), &gaussian, NULL) != DPA_OK)
            exit(1);
        const double one = recursion_cost(&games[i], gaussian);
        const double two = recursion_cost(&games[i], symmetric);
        bench_row("recursion, gaussian curve", one, "quantile+cdf", one / unit);
        bench_row("recursion, composed curve of the same epsilon", two, "gaussian", two / one);
        bench_row("building that curve", build, "gaussian", build / one);
        dpa_curve_free(composed);
        dpa_curve_free(symmetric);
        dpa_curve_free(gaussian);
        dpa__family_free(family);
    }
}

int main(void) {
    const double unit = pair_cost();
    bench_row("one normal quantile and CDF", unit, "itself", 1.0);
    show_bounds(unit);
    show_composed(unit);
    return 0;
}
