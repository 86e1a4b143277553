/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times the scan relative to its alternatives: simulated ranks at 1000 + 1000, sorting the scores
 * for larger sizes, and the exact test of counts. `bench_scan large` also does 10⁷ + 10⁷. CPU time
 * of one thread. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench.h"
#include "estimate/scores.h"

static dpa_scores make(size_t n, double *sorting) {
    dpa_scores scores;
    dpa_lints lints = {0};
    dpa_rng rng;
    double *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    if (in == NULL || out == NULL) exit(1);
    dpa__rng_init(&rng, 1, DPA_PURPOSE_SIMULATE, n);
    for (size_t i = 0; i < n; ++i) in[i] = 1 + dpa__rng_normal(&rng);
    for (size_t i = 0; i < n; ++i) out[i] = dpa__rng_normal(&rng);
    if (dpa__scores_from(in, n, out, n, &scores, NULL) != DPA_OK) exit(1);
    const double start = bench_cpu();
    if (dpa__scores_prepare_here(&scores, &lints, NULL) != DPA_OK) exit(1);
    *sorting = bench_cpu() - start;
    dpa__lints_free(&lints);
    free(in);
    free(out);
    return scores;
}

static double audit(const dpa_scores *scores, const char *family, const char *method) {
    dpa_results results = {0};
    dpa_request request;
    dpa__request_init(&request);
    request.threads = 1;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    const double start = bench_cpu();
    if (dpa__estimate_scores(scores, &request, &results, NULL) != DPA_OK) exit(1);
    const double seconds = bench_cpu() - start;
    dpa__results_free(&results);
    return seconds;
}

static void bench_size(size_t n) {
    double sorting;
    char name[96];
    dpa_scores scores = make(n, &sorting);
    const double scan = audit(&scores, "dp", "scan");
    (void)snprintf(name, sizeof name, "scan, %zu + %zu, beyond sorting", n, n);
    if (n <= 1000) {
        const double rank = audit(&scores, "gaussian", "rank:slope");
        bench_row(name, scan, "simulated ranks", scan / rank);
    } else {
        const int is_large = n >= 10000000;
        bench_row(name, scan,
                  is_large ? "2 x sorting, all in all" : "3 x sorting + 0.2 s, all in all",
                  (sorting + scan) / (is_large ? 2 * sorting : 3 * sorting + 0.2));
    }
    dpa__scores_free(&scores);
}

static void bench_counts(uint64_t n) {
    const dpa_counts counts = {n * 76 / 100, n - n * 76 / 100, n * 4 / 100, n - n * 4 / 100};
    dpa_results results = {0};
    dpa_request request;
    char name[96];
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    (void)snprintf(request.method, sizeof request.method, "exact");
    const double start = bench_cpu();
    if (dpa__estimate_counts(&counts, &request, &results, NULL) != DPA_OK) exit(1);
    const double seconds = bench_cpu() - start;
    dpa__results_free(&results);
    (void)snprintf(name, sizeof name, "exact, counts of %g + %g", (double)n, (double)n);
    bench_row(name, seconds, "two seconds", seconds / 2);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {100, 1000, 10000, 100000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) bench_size(sizes[i]);
    if (argc > 1 && strcmp(argv[1], "large") == 0) bench_size(10000000);
    bench_counts(1000);
    bench_counts(100000);
    bench_counts(1000000);
    return 0;
}
