/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scan: counted paths against all orders enumerated, simulated laws against computed and naive
 * ones, the bound against a walk over every grid point, ties, extremes. */
#include "check.h"
#include "prepared.h"

#include <string.h>

#include "base/rng.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/scores.h"

static dpa_request request_of(double delta, const char *family) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = delta;
    request.threads = 1;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "scan");
    return request;
}

static dpa_result bound_of(const dpa_scores *scores, const dpa_request *request) {
    dpa_results results = {0};
    assert_ok(dpa__estimate_scores(scores, request, &results, NULL));
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* ── every order of small samples ──────────────────────────────────────────────────────────── */

enum { SMALL = 12 };

typedef struct enumeration {
    size_t members, nonmembers;
    double epsilon, delta;
    void (*visit)(const int *labels, double probability,
                  void *user); /* 1: a member; from the top */
    void *user;
} enumeration;

static double choose(size_t n, size_t k) {
    double value = 1;
    for (size_t i = 0; i < k; ++i) value *= (double)(n - i) / (double)(i + 1);
    return value;
}

/* All orders of one zone from `at` on, then the next zone. ends[z]: members and non-members of zone
 * z. */
static void fill_orders(const enumeration *e, int *labels, size_t at, int zone,
                        const size_t left[4][2], size_t in, size_t out, double probability) {
    if (in + out == 0) {
        if (zone == 3) {
            e->visit(labels, probability, e->user);
            return;
        }
        const size_t next_in = left[zone + 1][0], next_out = left[zone + 1][1];
        fill_orders(e, labels, at, zone + 1, left, next_in, next_out,
                    probability / choose(next_in + next_out, next_in));
        return;
    }
    if (in > 0) {
        labels[at] = 1;
        fill_orders(e, labels, at + 1, zone, left, in - 1, out, probability);
    }
    if (out > 0) {
        labels[at] = 0;
        fill_orders(e, labels, at + 1, zone, left, in, out - 1, probability);
    }
}

/* Probability of (a,b,c) among n when their shares are these. */
static double multinomial(size_t n, const size_t *k, const double *share) {
    return choose(n, k[0]) * choose(n - k[0], k[1]) * pow(share[0], (double)k[0]) *
           pow(share[1], (double)k[1]) * pow(share[2], (double)k[2]);
}

static void enumerate(const enumeration *e) {
    const double large = exp(e->epsilon) / (1 + exp(e->epsilon)), rest = 1 - e->delta;
    const double in_share[] = {e->delta, rest * large, rest * (1 - large)};
    const double out_share[] = {rest * (1 - large), rest * large, e->delta};
    const size_t n1 = e->members, n0 = e->nonmembers;
    int labels[SMALL];
    for (size_t a = 0; a <= n1; ++a)
        for (size_t b = 0; a + b <= n1; ++b)
            for (size_t c = 0; c <= n0; ++c)
                for (size_t d = 0; c + d <= n0; ++d) {
                    const size_t in[] = {a, b, n1 - a - b}, out[] = {c, d, n0 - c - d};
                    const size_t left[4][2] = {{a, 0}, {b, c}, {in[2], d}, {0, out[2]}};
                    const double p =
                        multinomial(n1, in, in_share) * multinomial(n0, out, out_share);
                    if (p > 0) fill_orders(e, labels, 0, 0, left, a, 0, p);
                }
}

static dpa_scores scores_of(const int *labels, size_t members, size_t nonmembers) {
    double in[SMALL], out[SMALL];
    size_t i = 0, j = 0;
    for (size_t at = 0; at < members + nonmembers; ++at)
        if (labels[at])
            in[i++] = -(double)at;
        else
            out[j++] = -(double)at;
    return prepared(in, members, out, nonmembers);
}

typedef struct sums {
    const dpa__scan_looks *looks;
    const dpa__scan_null *null;
    double value; /* of the statistic */
    double reached, total, rejected;
    const enumeration *e;
} sums;

static void add_statistic(const int *labels, double probability, void *user) {
    sums *s = user;
    dpa__scan_counts counts;
    dpa_scores scores = scores_of(labels, s->e->members, s->e->nonmembers);
    assert_ok(dpa__scan_counts_new(s->looks, &counts, NULL));
    dpa__scan_observe(s->looks, &scores, 1, &counts);
    s->total += probability;
    if (dpa__scan_statistic(s->null, &counts) >= s->value - 1e-9) s->reached += probability;
    dpa__scan_counts_free(&counts);
    dpa__scores_free(&scores);
}

static void check_enumeration(size_t members, size_t nonmembers, double epsilon, double delta) {
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts reach;
    dpa_curve *curve;
    enumeration e = {members, nonmembers, epsilon, delta, add_statistic, NULL};
    assert_ok(dpa_curve_dp(epsilon, delta, &curve, NULL));
    assert_ok(dpa__scan_looks_open(members, nonmembers, &looks, NULL));
    assert_ok(dpa__scan_null_open(&looks, curve, &null, NULL));
    assert_ok(dpa__scan_counts_new(&looks, &reach, NULL));
    const double values[] = {0.01, 0.4, 1, 1.7, 2.5, 4};
    for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
        sums s = {&looks, &null, values[v], 0, 0, 0, &e};
        double p;
        e.user = &s;
        enumerate(&e);
        assert_absolute(s.total, 1, 1e-12);
        dpa__scan_reach(&null, values[v], &reach);
        assert_ok(dpa__scan_lattice(&looks, &reach, epsilon, delta, DPA__FINE, &p, NULL));
        assert_absolute(p, s.reached, 3e-11);
    }
    dpa__scan_counts_free(&reach);
    dpa__scan_null_close(&null);
    dpa__scan_looks_close(&looks);
    dpa_curve_free(curve);
}

static void test_paths_are_all_orders(void **state) {
    (void)state;
    check_enumeration(1, 1, 0.5, 0);
    check_enumeration(3, 4, 0, 0);
    check_enumeration(4, 3, 1, 0.1);
    check_enumeration(5, 2, 0.3, 0.02);
    check_enumeration(2, 6, 2.5, 0.3);
    check_enumeration(5, 5, 1, 0);
}

static void add_rejection(const int *labels, double probability, void *user) {
    sums *s = user;
    double p;
    dpa_request request = request_of(s->e->delta, "dp");
    dpa_scores scores = scores_of(labels, s->e->members, s->e->nonmembers);
    assert_ok(dpa__scan_p_value_dp(&scores, s->e->epsilon, s->e->delta, &request, &p, NULL));
    if (p <= s->value) s->rejected += probability;
    dpa__scores_free(&scores);
}

/* The error at the truth, summed over every outcome, never exceeds the level. */
static void test_level_by_enumeration(void **state) {
    (void)state;
    const double levels[] = {0.01, 0.05, 0.2, 0.5};
    for (size_t l = 0; l < 4; ++l)
        for (int is_mixed = 0; is_mixed < 2; ++is_mixed) {
            enumeration e = {4, 5, 0.4, is_mixed ? 0.05 : 0, add_rejection, NULL};
            sums s = {.value = levels[l], .e = &e};
            e.user = &s;
            enumerate(&e);
            assert_true(s.rejected <= levels[l]);
            assert_true(l < 2 || s.rejected > 0.2 * levels[l]);
        }
}

/* ── simulated laws ────────────────────────────────────────────────────────────────────────── */

/* Shares that reach a value, by paths and by lazy draws. */
static void check_draws(size_t members, size_t nonmembers, double epsilon, double delta,
                        double value) {
    enum { DRAWS = 20000 };
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts reach;
    dpa_curve *curve;
    size_t reached;
    double p;
    assert_ok(dpa_curve_dp(epsilon, delta, &curve, NULL));
    assert_ok(dpa__scan_looks_open(members, nonmembers, &looks, NULL));
    assert_ok(dpa__scan_null_open(&looks, curve, &null, NULL));
    assert_ok(dpa__scan_counts_new(&looks, &reach, NULL));
    dpa__scan_reach(&null, value, &reach);
    assert_ok(dpa__scan_lattice(&looks, &reach, epsilon, delta, DPA__COARSE, &p, NULL));
    const dpa__scan_law law = {&looks, curve, 1, 0, 1};
    assert_ok(dpa__scan_simulate(&law, null.count, &reach, 0, DRAWS, DRAWS, &reached, NULL));
    assert_true(p > 0.02 && p < 0.98);
    assert_absolute((double)reached / DRAWS, p, 4.5 * sqrt(p * (1 - p) / DRAWS));
    dpa__scan_counts_free(&reach);
    dpa__scan_null_close(&null);
    dpa__scan_looks_close(&looks);
    dpa_curve_free(curve);
}

static void test_draws_follow_the_paths(void **state) {
    (void)state;
    check_draws(100, 100, 0, 0, 1.5);
    check_draws(50, 200, 0.7, 0.02, 2);
    check_draws(300, 40, 2, 1e-5, 1);
    check_draws(1, 500, 1, 0, 0.3);
    check_draws(700, 1, 0.2, 0.05, 0.5);
    check_draws(1000, 1000, 1, 0.002, 2.2);
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share of whole samples, drawn under a curve one by one, whose statistic reaches the value. */
static double naive_share(const dpa__scan_looks *looks, const dpa__scan_null *null,
                          const dpa_curve *curve, double value, int draws) {
    double in[64], out[64];
    int reached = 0;
    dpa__scan_counts counts;
    assert_ok(dpa__scan_counts_new(looks, &counts, NULL));
    for (int d = 0; d < draws; ++d) {
        dpa_rng rng;
        dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, (uint64_t)d);
        const size_t n1 = looks->other[0], n0 = looks->base[0];
        for (size_t i = 0; i < n1; ++i)
            in[i] = -dpa__curve_fpr_at_tpr(curve, dpa__rng_uniform(&rng));
        for (size_t j = 0; j < n0; ++j) out[j] = -dpa__rng_uniform(&rng);
        qsort(in, n1, sizeof *in, rising);
        qsort(out, n0, sizeof *out, rising);
        const dpa_scores scores = {in, out, n1, n0, 1, {"", ""}};
        dpa__scan_observe(looks, &scores, 1, &counts);
        reached += dpa__scan_statistic(null, &counts) >= value;
    }
    dpa__scan_counts_free(&counts);
    return reached / (double)draws;
}

static void check_curve(dpa_curve *curve, double value) {
    enum { DRAWS = 10000 };
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts reach;
    size_t reached;
    assert_ok(dpa__scan_looks_open(40, 60, &looks, NULL));
    assert_ok(dpa__scan_null_open(&looks, curve, &null, NULL));
    assert_ok(dpa__scan_counts_new(&looks, &reach, NULL));
    dpa__scan_reach(&null, value, &reach);
    const dpa__scan_law law = {&looks, curve, 1, 0, 1};
    assert_ok(dpa__scan_simulate(&law, null.count, &reach, 0, DRAWS, DRAWS, &reached, NULL));
    const double p = naive_share(&looks, &null, curve, value, DRAWS);
    assert_true(p > 0.02 && p < 0.9);
    assert_absolute((double)reached / DRAWS, p, 4.5 * sqrt(2 * p * (1 - p) / DRAWS));
    dpa__scan_counts_free(&reach);
    dpa__scan_null_close(&null);
    dpa__scan_looks_close(&looks);
    dpa_curve_free(curve);
}

static void test_draws_of_curves(void **state) {
    const double fpr[] = {0, 0.1, 0.6}, fnr[] = {0.8, 0.5, 0};
    dpa_curve *curve, *whole;
    (void)state;
    assert_ok(dpa_curve_gaussian(1, &curve, NULL));
    check_curve(curve, 1.5);
    assert_ok(dpa_curve_gaussian(2, &whole, NULL));
    assert_ok(dpa__curve_diluted(whole, 0.2, &curve, NULL)); /* one sampled step */
    dpa_curve_free(whole);
    check_curve(curve, 1);
    assert_ok(dpa_curve_points(fpr, fnr, 3, &curve, NULL)); /* flat ends, not symmetric */
    check_curve(curve, 1);
}

static void test_random_numbers(void **state) {
    enum { DRAWS = 40000 };
    const struct {
        double n, p;
    } cases[] = {{1, 0.3}, {40, 0.01}, {40, 0.5}, {1000, 0.02}, {1e6, 0.4}, {1e5, 0.9999}};
    dpa_rng rng;
    (void)state;
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const double n = cases[c].n, mean = n * cases[c].p, spread = mean * (1 - cases[c].p);
        double sum = 0, square = 0;
        for (int d = 0; d < DRAWS; ++d) {
            const double x = dpa__random_binomial(&rng, n, cases[c].p);
            assert_true(x >= 0 && x <= n && x == floor(x));
            sum += x - mean;
            square += (x - mean) * (x - mean);
        }
        assert_absolute(sum / DRAWS, 0, 4.5 * sqrt(spread / DRAWS));
        const double excess = 2 + (1 - 6 * cases[c].p * (1 - cases[c].p)) / spread;
        assert_absolute(square / DRAWS / spread, 1, 4.5 * sqrt(excess / DRAWS));
    }
    for (double shape = 1; shape < 1e5; shape *= 7) {
        double sum = 0, square = 0;
        for (int d = 0; d < DRAWS; ++d) {
            const double x = dpa__random_gamma(&rng, shape) - shape;
            sum += x;
            square += x * x;
        }
        assert_absolute(sum / DRAWS, 0, 4.5 * sqrt(shape / DRAWS));
        assert_absolute(square / DRAWS / shape, 1, 4.5 * sqrt((2 + 6 / shape) / DRAWS));
    }
}

/* ── bounds ────────────────────────────────────────────────────────────────────────────────── */

static void draw(uint64_t seed, double mu, double *in, size_t m, double *out, size_t n) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < m; ++i) in[i] = mu + dpa__rng_normal(&rng);
    for (size_t j = 0; j < n; ++j) out[j] = dpa__rng_normal(&rng);
}

/* The bound is the first grid point that is not rejected, with every point tested. */
static void test_bound_is_the_walk(void **state) {
    double in[60], out[80];
    (void)state;
    for (uint64_t seed = 0; seed < 6; ++seed) {
        const double delta = seed % 2 == 0 ? 1e-5 : 0.03;
        draw(seed, 1.6, in, 60, out, 80);
        dpa_scores scores = prepared(in, 60, out, 80);
        const dpa_request request = request_of(delta, "dp");
        const double bound = bound_of(&scores, &request).epsilon_lower;
        double last = 0, p = 0;
        for (int i = 0; p <= 0.05; ++i) {
            const double epsilon = i <= 200 ? 0.005 * i : pow(1.005, i - 200);
            assert_ok(dpa__scan_p_value_dp(&scores, epsilon, delta, &request, &p, NULL));
            if (p <= 0.05) last = epsilon;
        }
        assert_absolute(bound, last, 1e-12);
        assert_true(seed != 0 || bound > 0.3);
        dpa__scores_free(&scores);
    }
}

static void test_claim_has_its_p_value(void **state) {
    double in[100], out[100], p;
    (void)state;
    draw(1, 1.5, in, 100, out, 100);
    dpa_scores scores = prepared(in, 100, out, 100);
    dpa_request request = request_of(1e-5, "dp");
    assert_true(isnan(bound_of(&scores, &request).p_value));
    request.claim_epsilon = 0.2;
    request.claim_delta = 0.01;
    assert_ok(dpa__scan_p_value_dp(&scores, 0.2, 0.01, &request, &p, NULL));
    assert_true(p > 0 && p < 0.05);
    assert_true(bound_of(&scores, &request).p_value == p);
    request.claim_epsilon = INFINITY;
    assert_true(bound_of(&scores, &request).p_value == 1);
    dpa__scores_free(&scores);
}

static void test_extremes(void **state) {
    const double one = 1, two = 2;
    double in[400], out[400];
    (void)state;
    dpa_scores scores = prepared(&two, 1, &one, 1);
    dpa_request request = request_of(1e-5, "dp");
    assert_true(bound_of(&scores, &request).epsilon_lower == 0);
    dpa__scores_free(&scores);
    const double high[] = {3, 4}, low[] = {1, 2};
    scores = prepared(high, 2, low, 2);
    request.confidence = 0.8; /* Pr[both members are on top] = 1/6 without a leak */
    assert_between(bound_of(&scores, &request).epsilon_lower, 0.01, 0.3);
    dpa__scores_free(&scores);
    for (int i = 0; i < 400; ++i) {
        in[i] = 2 + i;
        out[i] = 1 - i;
    }
    request = request_of(1e-5, "dp");
    scores = prepared(in, 400, out, 400);
    const double perfect = bound_of(&scores, &request).epsilon_lower;
    assert_true(perfect > 4.5 && perfect < 6); /* Clopper–Pearson of 0 of 400: log(400/3)=4.9 */
    request.sides = 2;
    const dpa_result both = bound_of(&scores, &request);
    assert_true(both.epsilon_lower < perfect && isinf(both.epsilon_upper));
    dpa__scores_free(&scores);
    scores = prepared(out, 400, in, 400); /* the opposite attack */
    assert_true(bound_of(&scores, &request).epsilon_lower == 0);
    dpa__scores_free(&scores);
}

/* If the scores have no information, the order is decided by the coin. */
static void test_ties_at_random(void **state) {
    double same[300] = {0}, p, below = 0;
    (void)state;
    dpa_scores scores = prepared(same, 300, same, 300);
    dpa_request request = request_of(0, "dp");
    double other = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        request.seed = seed;
        assert_ok(dpa__scan_p_value_dp(&scores, 0, 0, &request, &p, NULL));
        below += p <= 0.2;
        if (seed == 1) other = p;
    }
    request.seed = 1;
    assert_ok(dpa__scan_p_value_dp(&scores, 0, 0, &request, &p, NULL));
    assert_true(p == other);
    assert_true(below > 20 && below < 62); /* 40 ± 4 deviations */
    dpa__scores_free(&scores);
}

/* ── one curve ─────────────────────────────────────────────────────────────────────────────── */

typedef dpa_status (*curve_test)(const dpa_scores *, const dpa_curve *, const dpa_request *,
                                 double *, dpa_error *);

/* One step of DP-SGD, sampled: q=.1, μ=3. The curve of the right direction (without → with) does
 * not refute itself, its inverse would (methods.md, section 12). */
static void check_direction(curve_test test, int can_tell, uint64_t audits) {
    enum { N = 500, POINTS = 500 };
    static double in[N], out[N], fpr[POINTS], fnr[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        const double x = -8 + 20.0 * i / POINTS;
        fpr[i] = 0.5 * erfc(x / sqrt(2));
        fnr[i] = 0.45 * erfc(-x / sqrt(2)) + 0.05 * erfc((3 - x) / sqrt(2));
    }
    dpa_curve *right, *inverse;
    assert_ok(dpa_curve_points(fpr, fnr, POINTS, &right, NULL));
    assert_ok(dpa_curve_points(fnr, fpr, POINTS, &inverse, NULL));
    int refuted[2] = {0, 0};
    for (uint64_t audit = 0; audit < audits; ++audit) {
        dpa_rng rng;
        dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, audit);
        for (int i = 0; i < N; ++i) {
            in[i] = dpa__rng_normal(&rng) + (dpa__rng_uniform(&rng) < 0.1 ? 3 : 0);
            out[i] = dpa__rng_normal(&rng);
        }
        dpa_scores scores = prepared(in, N, out, N);
        dpa_request request = request_of(1e-5, "");
        request.confidence = 0.5; /* fewer draws suffice for a p-value near 0.05 */
        double p[2];
        assert_ok(test(&scores, right, &request, &p[0], NULL));
        assert_ok(test(&scores, inverse, &request, &p[1], NULL));
        for (int i = 0; i < 2; ++i) refuted[i] += p[i] <= 0.05;
        dpa__scores_free(&scores);
    }
    assert_true(refuted[0] <= 4); /* of 8 at 5%: five or more in 1 of 60,000 */
    if (can_tell) assert_int_equal(refuted[1], audits);
    dpa_curve_free(right);
    dpa_curve_free(inverse);
}

static void test_direction_of_a_curve(void **state) {
    (void)state;
    check_direction(dpa__scan_p_value, 1, 8);
    check_direction(dpa__rank_p_value, 0, 3);
}

/* The claimed σ is too good: μ = 1 promised, 2 delivered. */
static void test_curve_is_refuted(void **state) {
    static double in[300], out[300];
    dpa_curve *curve;
    double p;
    (void)state;
    draw(9, 2, in, 300, out, 300);
    dpa_scores scores = prepared(in, 300, out, 300);
    const dpa_request request = request_of(1e-5, "");
    assert_ok(dpa_curve_gaussian(1, &curve, NULL));
    assert_ok(dpa__scan_p_value(&scores, curve, &request, &p, NULL));
    assert_true(p < 0.01);
    assert_ok(dpa__rank_p_value(&scores, curve, &request, &p, NULL));
    assert_true(p < 0.01);
    dpa_curve_free(curve);
    assert_ok(dpa_curve_gaussian(2.2, &curve, NULL));
    assert_ok(dpa__scan_p_value(&scores, curve, &request, &p, NULL));
    assert_true(p > 0.05);
    assert_ok(dpa__rank_p_value(&scores, curve, &request, &p, NULL));
    assert_true(p > 0.05);
    dpa_curve_free(curve);
    dpa__scores_free(&scores);
}

/* The test agrees with the p-value wherever that is not within the draws' error of the limit; also
 * for scores with two values, which are counted. */
static void test_rejects_as_the_p_value_does(void **state) {
    static double in[300], out[300];
    (void)state;
    for (int two_values = 0; two_values < 2; ++two_values) {
        draw(9, 2, in, 300, out, 300);
        for (size_t i = 0; i < 300 && two_values; ++i) in[i] = in[i] > 1, out[i] = out[i] > 1;
        dpa_scores scores = prepared(in, 300, out, 300);
        for (double confidence = 0.9; confidence < 0.99; confidence += 0.08)
            for (double mu = 1.0; mu < 2.3; mu += 0.4) {
                dpa_request request = request_of(1e-5, "");
                dpa_curve *curve;
                double p;
                int is_rejected;
                request.confidence = confidence;
                assert_ok(dpa_curve_gaussian(mu, &curve, NULL));
                assert_ok(dpa__scan_p_value(&scores, curve, &request, &p, NULL));
                assert_ok(dpa__scan_rejects(&scores, curve, &request, &is_rejected, NULL));
                const double error = 1 - confidence;
                if (p < 0.5 * error) assert_true(is_rejected);
                if (p > 1.1 * error) assert_false(is_rejected);
                dpa_curve_free(curve);
            }
        dpa__scores_free(&scores);
    }
}

/* Families are searched with simulated laws: the bound is below the truth and near that of
 * ranks. */
static void test_families(void **state) {
    static double in[200], out[200];
    (void)state;
    draw(4, 1, in, 200, out, 200);
    dpa_scores scores = prepared(in, 200, out, 200);
    dpa_request request = request_of(1e-5, "gaussian");
    request.claim_epsilon = 0.1;
    const dpa_result result = bound_of(&scores, &request);
    assert_true(result.parameter_lower > 0.4 && result.parameter_lower < 1.1);
    assert_true(result.p_value < 0.05);
    dpa__scores_free(&scores);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_all_orders),
        cmocka_unit_test(test_level_by_enumeration),
        cmocka_unit_test(test_draws_follow_the_paths),
        cmocka_unit_test(test_draws_of_curves),
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_bound_is_the_walk),
        cmocka_unit_test(test_claim_has_its_p_value),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_ties_at_random),
        cmocka_unit_test(test_direction_of_a_curve),
        cmocka_unit_test(test_curve_is_refuted),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_rejects_as_the_p_value_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
