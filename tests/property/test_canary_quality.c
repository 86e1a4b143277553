/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the canaries what they should be? Marginal normality at 10⁸ draws, tails, independence of
 * neighbours, norms, mutual cosines, streams that never overlap. All seeds are fixed; unless stated
 * otherwise, a correct generator exceeds each limit with probability of about one in a million. */
#include "check.h"

#include "base/rng.h"
#include "evidence/canary.h"
#include "evidence/canary_kernel.h"
#include "math/dist.h"

enum { BINS = 1 << 16, DRAWS_PER_CALL = DPA__CHUNK, CALLS = 48829 }; /* 48829·2048 = 100,001,792 */

typedef struct census {
    uint64_t bin[BINS]; /* of [−8, 8), 2⁻¹² wide */
    double sum, square, fourth, pairs, next, across;
    uint64_t draws;
} census;

static void count_draws(census *c, const float *z) {
    for (size_t i = 0; i < DRAWS_PER_CALL; ++i) {
        const double x = (double)z[i];
        const size_t bin = (size_t)((x + 8.0) * (BINS / 16));
        ++c->bin[bin];
        c->sum += x;
        c->square += x * x;
        c->fourth += x * x * x * x;
        if (i % 32 < 16) c->pairs += x * (double)z[i + 16]; /* the two of a Box–Muller pair */
        if (i + 1 < DRAWS_PER_CALL) c->next += x * (double)z[i + 1];
        if (i + 32 < DRAWS_PER_CALL) c->across += x * (double)z[i + 32];
    }
    c->draws += DRAWS_PER_CALL;
}

/* Kolmogorov–Smirnov at the bins' edges: √n·D is above 2.7 with probability 2·exp(−2·2.7²) = 1e-6.
 */
static void check_distribution(const census *c) {
    double worst = 0.0;
    uint64_t below = 0;
    for (size_t b = 0; b < BINS; ++b) {
        const double edge = (double)b * 16.0 / BINS - 8.0;
        const double gap = (double)below / (double)c->draws - dpa__norm_cdf(edge, DPA_LOWER);
        worst = fmax(worst, fabs(gap));
        below += c->bin[b];
    }
    const double statistic = worst * sqrt((double)c->draws);
    print_message("KS: sqrt(n) D = %.3f over %.0f draws\n", statistic, (double)c->draws);
    assert_true(statistic < 2.7);
}

static void check_tails(const census *c) {
    for (int limit = 3; limit <= 5; ++limit) {
        uint64_t outside = 0;
        for (size_t b = 0; b < BINS; ++b)
            if (b < (size_t)(8 - limit) * (BINS / 16) || b >= (size_t)(8 + limit) * (BINS / 16))
                outside += c->bin[b];
        const double want = 2.0 * dpa__norm_cdf(limit, DPA_UPPER) * (double)c->draws;
        print_message("beyond %d: %.0f, expected %.1f\n", limit, (double)outside, want);
        assert_absolute((double)outside, want, 5.0 * sqrt(want));
    }
}

static void marginals(void **state) {
    (void)state;
    static census c;
    static float z[DRAWS_PER_CALL];
    const dpa__canary_kernel *kernel = dpa__canary_kernel_find(NULL);
    dpa__canary_stream stream;
    for (uint64_t call = 0; call < CALLS; ++call) {
        dpa__canary_stream_init(&stream, 1, call / 500); /* 98 canaries, about 10⁶ draws each */
        kernel->normals(&stream, call % 500 * (DRAWS_PER_CALL / DPA__GROUP),
                        DRAWS_PER_CALL / DPA__GROUP, z);
        count_draws(&c, z);
    }
    const double n = (double)c.draws;
    check_distribution(&c);
    check_tails(&c);
    assert_absolute(c.sum / n, 0.0, 5.0 / sqrt(n));
    assert_absolute(c.square / n, 1.0, 5.0 * sqrt(2.0 / n));
    assert_absolute(c.fourth / n, 3.0, 5.0 * sqrt(96.0 / n));
    assert_absolute(c.pairs / n, 0.0, 5.0 / sqrt(2.0 * n));
    assert_absolute(c.next / n, 0.0, 5.0 / sqrt(n));
    assert_absolute(c.across / n, 0.0, 5.0 / sqrt(n));
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cosines between canaries: t² ~ Beta(½, (d−1)/2) exactly (Proposition 3.1), so a small d tests as
 * well as a large one. */
static void mutual_cosines(void **state) {
    (void)state;
    static const size_t dims[] = {2, 3, 20, 1000};
    enum { COUNT = 200, PAIRS = COUNT / 2 * (COUNT - 1) };
    for (size_t n = 0; n < sizeof dims / sizeof dims[0]; ++n) {
        const size_t d = dims[n];
        static double canary[COUNT][1000], square[PAIRS];
        dpa_canaries_opts opts;
        dpa_canaries *canaries = NULL;
        dpa__canaries_opts_init(&opts);
        opts.seed = 99;
        opts.dim = d;
        opts.observed = COUNT;
        assert_ok(dpa__canaries_new(&opts, &canaries, NULL));
        double sum = 0.0;
        size_t pairs = 0;
        for (size_t i = 0; i < COUNT; ++i) {
            assert_ok(dpa__canaries_make_f64(canaries, i, 1.0, canary[i], NULL));
            for (size_t j = 0; j < i; ++j) {
                double t = 0.0;
                for (size_t k = 0; k < d; ++k) t += canary[i][k] * canary[j][k];
                sum += t;
                square[pairs++] = t * t;
            }
        }
        qsort(square, pairs, sizeof square[0], ascending);
        double worst = 0.0;
        for (size_t k = 0; k < pairs; ++k)
            worst =
                fmax(worst, fabs(((double)k + 0.5) / (double)pairs -
                                 dpa__beta_cdf(square[k], 0.5, ((double)d - 1) / 2, DPA_LOWER)));
        /* pairs share canaries and are only pairwise independent, so the limit is wide */
        assert_true(worst * sqrt((double)pairs) < 4.0);
        assert_absolute(sum / (double)pairs, 0.0, 5.0 / sqrt((double)pairs * (double)d));
        dpa__canaries_free(canaries);
    }
}

/* Norms before normalisation: chi-squared with d degrees of freedom. */
static void norms(void **state) {
    (void)state;
    enum { D = 1024, COUNT = 4000 };
    static const double zero[D];
    double mean = 0.0, variance = 0.0;
    for (uint64_t i = 0; i < COUNT; ++i) {
        dpa__canary_stream stream;
        dpa__lanes lanes = {{0}, {0}};
        dpa__canary_stream_init(&stream, 4, i);
        dpa__canary_kernel_find(NULL)->sums(&stream, 0, D / DPA__GROUP, zero, &lanes);
        const double chi = dpa__lanes_fold(lanes.square);
        mean += chi / COUNT;
        variance += (chi - D) * (chi - D) / COUNT;
    }
    assert_absolute(mean, D, 5.0 * sqrt(2.0 * D / COUNT));
    assert_relative(variance, 2.0 * D, 5.0 * sqrt(2.0 / COUNT));
}

static int compare_words(const void *a, const void *b) {
    return memcmp(a, b, 16);
}

/* Streams differ in words 2 and 3 of the counter, and for a given key Philox is a bijection of the
 * counter, so no two blocks of one seed can be equal. */
static void streams_never_meet(void **state) {
    (void)state;
    enum { CANARIES = 1000, BLOCKS = 200 };
    static uint32_t block[CANARIES * BLOCKS][4];
    for (size_t i = 0; i < CANARIES; ++i) {
        dpa_rng rng;
        dpa__rng_init(&rng, 12, DPA_PURPOSE_CANARY, i);
        for (size_t j = 0; j < BLOCKS; ++j)
            for (size_t w = 0; w < 4; ++w) block[i * BLOCKS + j][w] = dpa__rng_u32(&rng);
    }
    qsort(block, CANARIES * BLOCKS, sizeof block[0], compare_words);
    for (size_t i = 1; i < CANARIES * BLOCKS; ++i)
        assert_true(memcmp(block[i - 1], block[i], sizeof block[0]) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marginals),
        cmocka_unit_test(mutual_cosines),
        cmocka_unit_test(norms),
        cmocka_unit_test(streams_never_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
