/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timing for benchmarks: CPU time of this thread, best of several rounds, reported as ratios. */
#ifndef DPA_BENCH_H
#define DPA_BENCH_H

#include <stdio.h>
#include <time.h>

static inline double bench_cpu(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU seconds of one call of `body`: the best of `rounds`, because noise only ever adds time. */
#define BENCH_BEST(rounds, result, body)                                                           \
    do {                                                                                           \
        (result) = 1e300;                                                                          \
        for (int bench_round = 0; bench_round < (rounds); ++bench_round) {                         \
            const double bench_start = bench_cpu();                                                \
            body;                                                                                  \
            const double bench_time = bench_cpu() - bench_start;                                   \
            if (bench_time < (result)) (result) = bench_time;                                      \
        }                                                                                          \
    } while (0)

static inline void bench_row(const char *what, double seconds, const char *baseline, double ratio) {
    (void)printf("%-52s %12.3f us  %10.2f x %s\n", what, 1e6 * seconds, ratio, baseline);
}

#endif
