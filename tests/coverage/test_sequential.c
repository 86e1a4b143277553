/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential bounds under continuous monitoring: the adversary stops as soon as the bound exceeds
 * the truth. Mechanisms whose trade-off curve is exactly the claim; seeded. Also the number of
 * trials needed to refute a wrong claim.
 *
 * `test_coverage_sequential full` computes the numbers of docs/methods/sequential.md: up to 5000
 * trials (2500 pairs) and 2000 audits, and the fixed sizes to compare with. The test is an eighth
 * of that: a 95% bound that is wrong in 1 to 2% of audits is caught by few audits or by none. Every
 * audit also checks that a claim falls exactly when its p-value reaches 5%. */
#include "check.h"

#include "base/rng.h"
#include "estimate/scores.h"
#include "estimate/sequential/sequential.h"
#include "tradeoff/tradeoff.h"

typedef enum mechanism { GAUSSIAN, RESPONSE, LAPLACE, NO_LEAK } mechanism;

static double score_of(mechanism kind, int is_member, dpa_rng *rng) {
    const double u = dpa__rng_uniform(rng);
    switch (kind) {
    case GAUSSIAN:
        return is_member + dpa__rng_normal(rng);
    case RESPONSE: /* randomised response with e^ε = 3: right 3 times in 4 */
        return (u < 0.75) == (is_member != 0) ? 1 : 0;
    case LAPLACE: /* scale 1, sensitivity 1: ε = 1 */
        return is_member + (u < 0.5 ? log(2 * u) : -log(2 * (1 - u)));
    case NO_LEAK:
        break;
    }
    return u;
}

typedef struct plan {
    const char *name, *family, *select;
    mechanism kind;
    double delta, truth;
    int audits, pairs;
    int is_claimed; /* 1: a claim is checked after every pair; 0: no claim, only the largest bound
                       is recorded */
} plan;

static int is_full;

/* The share of audits that are wrong at any time. */
static double wrong_of(const plan *p) {
    int wrong = 0;
    for (int audit = 0; audit < p->audits; ++audit) {
        dpa_request request;
        dpa_sequential *s;
        dpa_sequential_now now;
        dpa_rng rng;
        dpa__request_init(&request);
        request.delta = p->delta;
        if (p->is_claimed) request.claim_epsilon = p->truth;
        (void)snprintf(request.family, sizeof request.family, "%s", p->family);
        (void)snprintf(request.select, sizeof request.select, "%s", p->select);
        assert_ok(dpa__sequential_new(&request, &s, NULL));
        dpa__rng_init(&rng, 2026, DPA_PURPOSE_SIMULATE, (uint64_t)audit);
        for (int i = 0; i < p->pairs && !dpa__sequential_refuted(s); ++i)
            for (int c = 0; c < 2; ++c)
                assert_ok(dpa__sequential_push(s, c, score_of(p->kind, c, &rng), NULL));
        assert_ok(dpa__sequential_look(s, &now, NULL));
        const int is_wrong = now.epsilon_lower > p->truth;
        assert_true(!p->is_claimed || is_wrong <= dpa__sequential_refuted(s));
        if (p->is_claimed) assert_int_equal(now.p_value <= 0.05, dpa__sequential_refuted(s));
        wrong += p->is_claimed ? dpa__sequential_refuted(s) : is_wrong;
        dpa__sequential_free(s);
    }
    return (double)wrong / p->audits;
}

static void optional_stopping(void **state) {
    (void)state;
    const double mu1 = dpa_gaussian_epsilon(1, 1e-5);
    const plan plans[] = {
        {"gaussian, thresholds learned", "gaussian", "", GAUSSIAN, 1e-5, mu1, 2000, 2500, 1},
        {"gaussian, no claim", "gaussian", "", GAUSSIAN, 1e-5, mu1, 300, 1000, 0},
        {"gaussian, fixed:0.5", "gaussian", "fixed:0.5", GAUSSIAN, 1e-5, mu1, 300, 1000, 1},
        {"randomised response, dp", "dp", "fixed:0.5", RESPONSE, 0, log(3), 2000, 2500, 1},
        {"randomised response, no claim", "dp", "", RESPONSE, 0, log(3), 300, 1000, 0},
        {"laplace noise, dp", "dp", "", LAPLACE, 0, 1, 300, 1000, 1},
        {"laplace noise, laplace", "laplace", "", LAPLACE, 0, 1, 60, 500, 1},
        {"no leak", "dp", "", NO_LEAK, 0, 0, 1000, 500, 0},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; ++i) {
        plan p = plans[i];
        if (!is_full) {
            p.audits = p.audits > 300 ? p.audits / 8 : p.audits / 3;
            p.pairs = p.pairs / 2;
        }
        const double rate = wrong_of(&p);
        print_message("%-30s %4d audits, monitored to %4d pairs: ever above the truth in %.2f%%\n",
                      p.name, p.audits, p.pairs, 100 * rate);
        assert_true(rate <= 0.05);
    }
}

/* ── how many trials ───────────────────────────────────────────────────────────────────────── */

/* Mean number of pairs until the claim is refuted. */
static double pairs_to_refute(const char *family, double delta, double claim, double mu,
                              int audits) {
    double sum = 0;
    for (int audit = 0; audit < audits; ++audit) {
        dpa_request request;
        dpa_sequential *s;
        dpa_rng rng;
        int pairs = 0;
        dpa__request_init(&request);
        request.delta = delta;
        request.claim_epsilon = claim;
        (void)snprintf(request.family, sizeof request.family, "%s", family);
        assert_ok(dpa__sequential_new(&request, &s, NULL));
        dpa__rng_init(&rng, 31, DPA_PURPOSE_SIMULATE, (uint64_t)audit);
        for (; pairs < 20000 && !dpa__sequential_refuted(s); ++pairs)
            for (int c = 0; c < 2; ++c)
                assert_ok(dpa__sequential_push(s, c, mu * c + dpa__rng_normal(&rng), NULL));
        assert_true(dpa__sequential_refuted(s));
        sum += pairs;
        dpa__sequential_free(s);
    }
    return sum / audits;
}

/* The share of audits of n pairs whose bound for a fixed n exceeds the claim. */
static double power_at(const char *family, const char *method, double delta, double claim,
                       double mu, size_t n, int audits) {
    double *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    int found = 0;
    for (int audit = 0; audit < audits; ++audit) {
        dpa_request request;
        dpa_results results = {0};
        dpa_scores scores;
        dpa_lints lints = {0};
        dpa_rng rng;
        dpa__request_init(&request);
        request.delta = delta;
        (void)snprintf(request.family, sizeof request.family, "%s", family);
        (void)snprintf(request.method, sizeof request.method, "%s", method);
        dpa__rng_init(&rng, 31, DPA_PURPOSE_SIMULATE, (uint64_t)audit);
        for (size_t i = 0; i < n; ++i) {
            out[i] = dpa__rng_normal(&rng);
            in[i] = mu + dpa__rng_normal(&rng);
        }
        assert_ok(dpa__scores_from(in, n, out, n, &scores, NULL));
        assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
        assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
        found += results.items[0].epsilon_lower > claim;
        dpa__results_free(&results);
        dpa__lints_free(&lints);
        dpa__scores_free(&scores);
    }
    free(in);
    free(out);
    return (double)found / audits;
}

/* The smallest n on a coarse scale with power 1/2: the fixed size to compare with. */
static size_t fixed_size(const char *family, const char *method, double delta, double claim,
                         double mu) {
    for (double n = 8; n < 20000; n *= 1.15)
        if (power_at(family, method, delta, claim, mu, (size_t)n, 24) >= 0.5) return (size_t)n;
    return 20000;
}

static void power(void **state) {
    (void)state;
    static const struct {
        const char *family, *method;
        double delta, claim, mu, most; /* most: limit of sequential size over fixed size */
    } cases[] = {
        {"gaussian", "rank", 1e-5, 3, 1, 5},
        {"gaussian", "rank", 1e-5, 1, 1, 5},
        {"gaussian", "cp", 1e-5, 3, 1, 2},
        {"dp", "cp", 0, 1.5, 2, 2},
    };
    for (int i = 0; i < 4; ++i) {
        const double mean = pairs_to_refute(cases[i].family, cases[i].delta, cases[i].claim,
                                            cases[i].mu, is_full ? 100 : 40);
        const size_t least = (size_t)(mean / cases[i].most);
        const double found = power_at(cases[i].family, cases[i].method, cases[i].delta,
                                      cases[i].claim, cases[i].mu, least, 24);
        print_message("N(%g,1), claim ε = %g, family %s: %.0f pairs on average; %s at %zu has "
                      "power %.2f\n",
                      cases[i].mu, cases[i].claim, cases[i].family, mean, cases[i].method, least,
                      found);
        assert_true(found < 0.5); /* so a fixed size needs more than this */
        if (is_full)
            print_message("  and needs %zu for power 1/2\n",
                          fixed_size(cases[i].family, cases[i].method, cases[i].delta,
                                     cases[i].claim, cases[i].mu));
    }
}

int main(int argc, char **argv) {
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optional_stopping),
        cmocka_unit_test(power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
