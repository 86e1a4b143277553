/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds from counts and scores: one joint-posterior interval relative to 2,000 incomplete-beta
 * evaluations at points of the same posterior (must be below 1); all thresholds with all methods
 * for 10⁵ + 10⁵ scores, reading included; ranks at 1000 + 1000; growth; how much of the work of
 * judging 10⁶ + 10⁶ a second thread does. `bench_scores large` also does 10⁷ + 10⁷ and prints the
 * peak memory. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench.h"
#include "estimate/rates/posterior.h"
#include "estimate/scores.h"
#include "judge/judge.h"
#include "math/dist.h"
#include "report/model/report.h"

static double price_of_beta(const dpa__posterior *p) {
    const double a = p->fnr.a, b = p->fnr.b, n = a + b, middle = a / n;
    const double deviation = sqrt(middle * (1 - middle) / n);
    volatile double sum = 0;
    double seconds;
    BENCH_BEST(
        20, seconds, for (int i = 0; i < 2000; ++i) {
            const double x = middle + deviation * (-3 + 6 * (i + 0.5) / 2000);
            sum = sum + dpa__beta_cdf(fmin(fmax(x, 1e-9), 1), a, b, DPA_LOWER);
        });
    return seconds;
}

static void bench_interval(const char *family, const dpa_counts *counts, double delta) {
    const dpa__posterior posterior = dpa__posterior_of(counts);
    dpa__model model;
    char name[96];
    double seconds, t, error;
    if (dpa__model_open(family, delta, &model, NULL) != DPA_OK) exit(1);
    BENCH_BEST(20, seconds, {
        (void)!dpa__posterior_quantile(&posterior, &model, 0.025, &t, &error, NULL);
        (void)!dpa__posterior_quantile(&posterior, &model, 0.975, &t, &error, NULL);
    });
    (void)snprintf(name, sizeof name, "joint interval, %s, fn %g tp %g fp %g tn %g", family,
                   (double)counts->fn, (double)counts->tp, (double)counts->fp, (double)counts->tn);
    bench_row(name, seconds, "2,000 incomplete betas", seconds / price_of_beta(&posterior));
    dpa__model_close(&model);
}

/* Writes n scores of N(mu, 1) to an NPY file. */
static void write_scores(const char *path, size_t n, double mu, uint64_t seed) {
    dpa_array array = {.dtype = DPA_F64, .ndim = 1, .shape = {n}, .count = n};
    double *values = malloc(n * sizeof *values);
    dpa_rng rng;
    if (values == NULL) exit(1);
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, 0);
    for (size_t i = 0; i < n; ++i) values[i] = mu + dpa__rng_normal(&rng);
    array.data = values;
    if (dpa__array_write(path, &array, NULL) != DPA_OK) exit(1);
    free(values);
}

static double audit(const char *in, const char *out, const char *method, const char *select) {
    const double start = bench_cpu();
    dpa_scores scores;
    dpa_lints lints = {0};
    dpa_results results = {0};
    dpa_request request;
    dpa_error err = {0};
    dpa__request_init(&request);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    if (method[0] != '\0') (void)snprintf(request.family, sizeof request.family, "gaussian");
    if (dpa__scores_read(in, out, 1, &scores, &err) != DPA_OK ||
        dpa__scores_prepare_here(&scores, &lints, &err) != DPA_OK ||
        dpa__estimate_scores(&scores, &request, &results, &err) != DPA_OK) {
        (void)printf("%s\n", err.text);
        exit(1);
    }
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return bench_cpu() - start;
}

static void bench_size(size_t n, double *before) {
    char in[64], out[64], name[96];
    (void)snprintf(in, sizeof in, "in-%zu.npy", n);
    (void)snprintf(out, sizeof out, "out-%zu.npy", n);
    write_scores(in, n, 1, 1);
    write_scores(out, n, 0, 2);
    const double usual = audit(in, out, "", ""), all = audit(in, out, "", "max");
    (void)snprintf(name, sizeof name, "scores %zu + %zu: every default result, reading", n, n);
    bench_row(name, usual, "one second", usual);
    (void)snprintf(name, sizeof name, "scores %zu + %zu: all thresholds, all methods, reading", n,
                   n);
    bench_row(name, all, "one second", all);
    if (*before > 0) (void)printf("    %.1f times the time of a tenth of it\n", all / *before);
    *before = all;
    (void)remove(in);
    (void)remove(out);
}

static double process_cpu(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What one judgement took: CPU seconds of all threads, the share that was not this one's, seconds
 * by the clock. */
typedef struct taken {
    double cpu, others, clock;
} taken;

/* With all defaults, the best of three by the clock. */
static taken judge(const dpa_evidence *evidence, const char *threads) {
    taken best = {0, 0, 1e300};
    for (int round = 0; round < 3; ++round) {
        dpa_protocol protocol;
        dpa_report *report;
        dpa__protocol_init(&protocol);
        protocol.plain = 1;
        if (dpa_protocol_set(&protocol, "threads", threads, NULL) != DPA_OK) exit(1);
        const double start = process_cpu(), own = bench_cpu(), began = dpa__clock();
        if (dpa_judge(evidence, NULL, &protocol, &report, NULL) != DPA_OK) exit(1);
        const double clock = dpa__clock() - began, all = process_cpu() - start;
        if (clock < best.clock) best = (taken){all, 1 - (bench_cpu() - own) / all, clock};
        dpa_report_free(report);
    }
    return best;
}

/* The clock says something only on two idle cores; the CPU time also on a busy machine: with a
 * share of s by the second thread and c times the CPU time, the clock can show 1/(c·(1−s)). */
static void bench_threads(void) {
    dpa_evidence evidence;
    write_scores("in.npy", 1000000, 1, 1);
    write_scores("out.npy", 1000000, 0, 2);
    if (dpa__evidence_scores("in.npy", "out.npy", 1, &evidence, NULL) != DPA_OK) exit(1);
    const taken one = judge(&evidence, "1"), two = judge(&evidence, "2");
    bench_row("judging 1000000 + 1000000 on one thread", one.cpu, "itself", 1);
    bench_row("the same on two, all CPU time", two.cpu, "one thread", two.cpu / one.cpu);
    (void)printf("    %.0f%% of it by the second thread: %.2f times as fast on idle cores; now, by "
                 "the clock, %.2f times\n",
                 100 * two.others, one.cpu / (two.cpu * fmax(two.others, 1 - two.others)),
                 one.clock / two.clock);
    dpa__evidence_clear(&evidence);
    (void)remove("in.npy");
    (void)remove("out.npy");
}

int main(int argc, char **argv) {
    static const dpa_counts counts[] = {{35, 65, 25, 75},    {0, 1000, 0, 1000},
                                        {3282, 543, 3, 154}, {258, 361, 293, 3459},
                                        {1, 164, 48, 209},   {400000, 600000, 50000, 950000}};
    char folder[] = "/tmp/bench-scores-XXXXXX";
    double before = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        bench_interval("dp", &counts[i], i == 0 ? 0.05 : 1e-5);
        bench_interval("gaussian", &counts[i], 1e-5);
    }
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
    write_scores("in.npy", 1000, 1, 1);
    write_scores("out.npy", 1000, 0, 2);
    const double rank = audit("in.npy", "out.npy", "rank", "");
    bench_row("ranks, 1000 + 1000, normal law", rank, "0.3 seconds", rank / 0.3);
    (void)remove("in.npy");
    (void)remove("out.npy");
    bench_threads();
    const size_t most = argc > 1 && strcmp(argv[1], "large") == 0 ? 10000000 : 1000000;
    for (size_t n = 10000; n <= most; n *= 10) bench_size(n, &before);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("peak memory %.0f MB for scores of %.0f MB\n", (double)usage.ru_maxrss / 1024,
                 16e-6 * (double)most);
    (void)rmdir(folder);
    return 0;
}
