/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-shot-federated, Table 1: Algorithm 1 on the Gaussian mechanism, k = √d canaries, no other
 * data. Judged by the public interface; canaries and noise are those of `dpaudit canaries` and of
 * the trainer (private headers). Built and run by scripts/papers/one-shot-federated-table1.
 *
 * The release is ρ = S + σZ, S the sum of the canaries, Z standard normal. ⟨c,ρ⟩ is linear in ρ, so
 * the cosines with S and with Z give those of every σ: within a simulation the three rows share
 * canaries and noise.
 *
 * table1 D RUNS: one line per σ: d, k, σ, ε, runs, then mean and deviation over the runs of `mean`
 * and of `mean-and-deviation`, and how many 95% intervals of each held the true ε. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "dpaudit/evidence.h"
#include "dpaudit/judge.h"
#include "dpaudit/tradeoff.h"
#include "evidence/canary.h"

enum { SIGMAS = 3 };
static const double delta = 1e-6;
static const double targets[SIGMAS] = {10.0, 3.0, 1.0};

typedef struct tally {
    double sum, square;
    int covered;
} tally;

typedef struct simulation {
    size_t d, k;
    float *sum, *noise;            /* [d] */
    double *with_sum, *with_noise; /* [k] cosines */
    double *norm;                  /* [k] ones */
} simulation;

static void stop(const dpa_error *err) {
    (void)fprintf(stderr, "table1: %s %s\n", err->place, err->text);
    exit(1);
}

static void *block(size_t count, size_t size) {
    void *b = calloc(count, size);
    if (b == NULL) exit(1);
    return b;
}

static void release(simulation *s, uint64_t seed) {
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa_error err;
    dpa_rng rng;
    dpa__canaries_opts_init(&opts);
    opts.seed = seed;
    opts.dim = s->d;
    opts.observed = s->k;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_NOISE, 0);
    for (size_t i = 0; i < s->d; ++i) {
        s->noise[i] = (float)dpa__rng_normal(&rng);
        s->sum[i] = 0.0F;
    }
    const dpa_vector z = {.f32 = s->noise, .dim = s->d}, c = {.f32 = s->sum, .dim = s->d};
    if (dpa__canaries_new(&opts, &canaries, &err) != DPA_OK ||
        dpa__canaries_cosines(canaries, &z, NULL, s->with_noise, NULL, &err) != DPA_OK ||
        dpa__canaries_sum_f32(canaries, s->norm, s->sum, NULL, &err) != DPA_OK ||
        dpa__canaries_cosines(canaries, &c, NULL, s->with_sum, NULL, &err) != DPA_OK)
        stop(&err);
    dpa__canaries_free(canaries);
}

/* Squared norms of S and Z and their product. */
static void products(const simulation *s, double *ss, double *zz, double *sz) {
    *ss = *zz = *sz = 0.0;
    for (size_t i = 0; i < s->d; ++i) {
        const double a = (double)s->sum[i], b = (double)s->noise[i];
        *ss += a * a;
        *zz += b * b;
        *sz += a * b;
    }
}

static void count(tally *t, const dpa_result *result, double truth) {
    const double epsilon = dpa_result_number(result, "epsilon");
    t->sum += epsilon;
    t->square += epsilon * epsilon;
    t->covered += dpa_result_number(result, "epsilon_lower") <= truth &&
                  truth <= dpa_result_number(result, "epsilon_upper");
}

/* Both estimates from k cosines, with 95% intervals. */
static void judge(const simulation *s, const double *g, double truth, tally *mean, tally *both) {
    dpa_evidence *evidence = NULL;
    dpa_protocol *protocol = NULL;
    dpa_report *report = NULL;
    dpa_error err;
    char dim[32], level[32];
    (void)snprintf(dim, sizeof dim, "%zu", s->d);
    (void)snprintf(level, sizeof level, "%g", delta);
    if (dpa_evidence_new(DPA_EVIDENCE_COSINES, &evidence, &err) != DPA_OK ||
        dpa_evidence_copy(evidence, "final", g, s->k, &err) != DPA_OK ||
        dpa_evidence_set(evidence, "dim", dim, &err) != DPA_OK ||
        dpa_protocol_new(&protocol, &err) != DPA_OK ||
        dpa_protocol_set(protocol, "delta", level, &err) != DPA_OK ||
        dpa_protocol_set(protocol, "all", NULL, &err) != DPA_OK ||
        dpa_judge(evidence, NULL, protocol, &report, &err) != DPA_OK)
        stop(&err);
    int found = 0;
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        const int is_mean = strcmp(dpa_result_text(r, "method"), "mean") == 0;
        const int is_both = strcmp(dpa_result_text(r, "method"), "mean-and-deviation") == 0;
        if (is_mean || is_both) count(is_mean ? mean : both, r, truth);
        found += is_mean || is_both;
    }
    if (found != 2) exit(1);
    dpa_report_free(report);
    dpa_free(protocol);
    dpa_evidence_free(evidence);
}

static void estimate(const simulation *s, double *g, tally mean[SIGMAS], tally both[SIGMAS]) {
    double ss, zz, sz;
    products(s, &ss, &zz, &sz);
    for (int row = 0; row < SIGMAS; ++row) {
        const double sigma = 1.0 / dpa_gaussian_mu(targets[row], delta);
        const double norm = sqrt(ss + 2.0 * sigma * sz + sigma * sigma * zz);
        for (size_t i = 0; i < s->k; ++i)
            g[i] = (s->with_sum[i] * sqrt(ss) + sigma * s->with_noise[i] * sqrt(zz)) / norm;
        judge(s, g, targets[row], &mean[row], &both[row]);
    }
}

static double deviation(const tally *t, int runs) {
    const double mean = t->sum / runs;
    return runs > 1 ? sqrt(fmax(0.0, t->square / runs - mean * mean) * runs / (runs - 1)) : NAN;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const double dim = strtod(argv[1], NULL);
    const int runs = atoi(argv[2]);
    if (!(dim >= 4 && dim < 1e9) || runs < 1) return 2;
    simulation s = {.d = (size_t)dim, .k = (size_t)sqrt(dim)};
    s.sum = block(s.d, sizeof *s.sum);
    s.noise = block(s.d, sizeof *s.noise);
    s.with_sum = block(s.k, sizeof *s.with_sum);
    s.with_noise = block(s.k, sizeof *s.with_noise);
    s.norm = block(s.k, sizeof *s.norm);
    double *g = block(s.k, sizeof *g);
    for (size_t i = 0; i < s.k; ++i) s.norm[i] = 1.0;
    tally mean[SIGMAS] = {{0}}, both[SIGMAS] = {{0}};
    for (int run = 0; run < runs; ++run) {
        release(&s, 1000 + (uint64_t)run);
        estimate(&s, g, mean, both);
    }
    for (int row = 0; row < SIGMAS; ++row)
        (void)printf("%zu,%zu,%.3f,%g,%d,%.3f,%.3f,%d,%.3f,%.3f,%d\n", s.d, s.k,
                     1.0 / dpa_gaussian_mu(targets[row], delta), targets[row], runs,
                     mean[row].sum / runs, deviation(&mean[row], runs), mean[row].covered,
                     both[row].sum / runs, deviation(&both[row], runs), both[row].covered);
    free(s.sum);
    free(s.noise);
    free(s.with_sum);
    free(s.with_noise);
    free(s.norm);
    free(g);
    return 0;
}
