/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times Epsilon* of 10⁶ + 10⁶ losses relative to reading and sorting them, and an EM step per loss
 * and component relative to one exponential of libm. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#include "base/data.h"
#include "base/rng.h"
#include "estimate/losses/epsilon_star.h"

enum { N = 1000000, ROUNDS = 3, STEPS = 5 };

static const char *const path[] = {"bench-train.npy", "bench-heldout.npy"};

static int write_losses(double *x, double shift, const char *where) {
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, (uint64_t)(10 * shift));
    for (int i = 0; i < N; ++i) x[i] = exp(shift + 0.5 * dpa__rng_normal(&rng));
    const dpa_array array = {.dtype = DPA_F64, .ndim = 1, .shape = {N}, .count = N, .data = x};
    return dpa__array_write(where, &array, NULL) == DPA_OK;
}

/* Times one call on the losses, as a multiple of reading and sorting. */
#define CALL(what, unit, call)                                                                     \
    do {                                                                                           \
        double best;                                                                               \
        BENCH_BEST(ROUNDS, best, failed |= (call) != DPA_OK);                                      \
        bench_row(what, best, "reading and sorting", best / (unit));                               \
    } while (0)

static int estimates(void) {
    const dpa_losses_files files = {.train = path[0], .heldout = path[1]};
    dpa_losses losses = {0};
    dpa_loss_fit fit;
    dpa_star star;
    int failed = 0;
    double unit;
    BENCH_BEST(ROUNDS, unit, {
        dpa__losses_free(&losses);
        failed |= dpa__losses_read(&files, &losses, NULL) != DPA_OK;
    });
    bench_row("read and sort 10^6 + 10^6 losses", unit, "itself", 1.0);
    if (failed) return 1;
    CALL("empirical", unit, dpa__star_empirical(&losses, 1e-5, &star, NULL));
    CALL("normal, fit", unit, dpa__fit_normal(&losses, DPA_TRANSFORM_PAPER, &fit, NULL));
    CALL("normal, supremum", unit, dpa__star_fitted(&fit, 1e-5, &star, NULL));
    CALL("simultaneous", unit, dpa__star_lower(&losses, 1e-5, 0.95, 0, &star, NULL));
    dpa__losses_free(&losses);
    return failed;
}

static int mixtures(const double *x) {
    double unit, sum = 0.0;
    int failed = 0;
    BENCH_BEST(ROUNDS, unit, for (size_t i = 0; i < 100000; ++i) sum += exp(-x[i]));
    unit /= 100000;
    bench_row("exp of libm", unit, "itself", 1.0);
    for (size_t n = 50000; n <= 200000; n *= 2)
        for (size_t k = 4; k <= 16; k *= 2) {
            const dpa__weighted sample = {x, NULL, n, (double)n};
            dpa_mixture start, m;
            char what[64];
            double best;
            if (dpa__mixture_start(&sample, k, 1, &start, NULL) != DPA_OK) return 1;
            BENCH_BEST(ROUNDS, best, {
                m = start;
                failed |= dpa__mixture_em(&sample, &m, STEPS, NULL, NULL, NULL) != DPA_OK;
            });
            const double each = best / ((double)(m.iterations + 1) * (double)n * (double)k);
            (void)snprintf(what, sizeof what,
                           "EM, %zu losses, %zu components, per step, loss, comp.", n, k);
            bench_row(what, each, "exp of libm", each / unit);
        }
    return failed || !(sum > 0.0);
}

int main(void) {
    double *x = malloc(N * sizeof *x);
    int failed = x == NULL || !write_losses(x, 0.5, path[1]) || !write_losses(x, 0.0, path[0]);
    if (!failed) failed = estimates() || mixtures(x);
    (void)remove(path[0]);
    (void)remove(path[1]);
    free(x);
    return failed;
}
