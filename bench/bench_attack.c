/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times attacks on 256 models × 5000 points relative to one pass over the same matrix, and their
 * growth with models and points. RMIA reads a second matrix, that of the population: with half of
 * the models as its references (127 of 255) it reads as many signals as one pass does. One thread,
 * so that its CPU time is all the work. */
#include <stdint.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "base/rng.h"
#include "bench.h"

static dpa_signals make(size_t models, size_t points, int with_members) {
    const size_t count = models * points;
    dpa_signals s = {DPA_SIGNAL_LOGIT, models, points, malloc(count * sizeof(double)), NULL, 1};
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, with_members ? 1 : 2);
    if (with_members) s.member = malloc(count);
    for (size_t i = 0; i < count; ++i) {
        s.signal[i] = dpa__rng_normal(&rng);
        if (with_members) s.member[i] = (uint8_t)(dpa__rng_u32(&rng) & 1);
    }
    return s;
}

static volatile double sink;

/* Four independent sums, so that an addition does not wait for the previous one. */
static void stream(const dpa_signals *s) {
    double sum[4] = {0};
    const size_t count = s->models * s->points;
    for (size_t i = 0; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; ++k) sum[k] += s->signal[i + k];
    sink = sum[0] + sum[1] + sum[2] + sum[3];
}

static void attack(dpa_attack which, const dpa_signals *s, const dpa_attack_opts *opts,
                   double *scores) {
    if (dpa__attack_run(which, s, opts, scores, NULL) != DPA_OK) abort();
}

static void measure(size_t models, size_t points) {
    dpa_signals signals = make(models, points, 1), population = make(models, points, 0);
    double *scores = malloc(points * sizeof *scores);
    size_t *half = malloc(models / 2 * sizeof *half); /* of the models: no references */
    double base, both, lira, rmia, few;
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.population = &population;
    opts.threads = 1;
    BENCH_BEST(7, base, stream(&signals));
    BENCH_BEST(7, both, {
        stream(&signals);
        stream(&population);
    });
    BENCH_BEST(5, lira, attack(DPA_ATTACK_LIRA, &signals, &opts, scores));
    opts.offline = 1;
    BENCH_BEST(5, rmia, attack(DPA_ATTACK_RMIA, &signals, &opts, scores));
    for (size_t i = 0; i < models / 2; ++i) half[i] = models - 1 - i;
    opts.exclude = half;
    opts.exclude_count = models / 2;
    BENCH_BEST(5, few, attack(DPA_ATTACK_RMIA, &signals, &opts, scores));
    (void)printf("%zu models x %zu points\n", models, points);
    bench_row("  one pass over the matrix", base, "itself", 1.0);
    bench_row("  lira", lira, "one pass", lira / base);
    bench_row("  rmia, half of the models as references", few, "one pass", few / base);
    bench_row("  one pass over each of two matrices", both, "itself", 1.0);
    bench_row("  rmia (two matrices)", rmia, "one pass over each", rmia / both);
    free(scores);
    free(half);
    dpa__signals_free(&signals);
    dpa__signals_free(&population);
}

int main(void) {
    measure(256, 5000);
    measure(2560, 5000);
    measure(256, 50000);
    return 0;
}
