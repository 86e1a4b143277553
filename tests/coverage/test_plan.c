/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a plan keep its word? Power against 1,000 simulated audits by the estimators themselves, and
 * against every outcome of a small one; sizes, detectable leaks and the ceiling against their
 * definitions. */
#include "check.h"

#include "dpaudit/onerun.h"
#include "dpaudit/plan.h"
#include "dpaudit/rng.h"
#include "dpaudit/scores.h"
#include "dpaudit/tradeoff.h"

enum { AUDITS = 1000, MOST = 1024 };

static dpa_request request_of(const dpa_plan *plan, const char *method) {
    dpa_request request;
    dpa_request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", plan->family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = plan->delta;
    request.confidence = plan->confidence;
    request.threads = 1;
    return request;
}

static double from_counts(dpa_counts counts, const dpa_plan *plan) {
    const dpa_request request = request_of(plan, "cp");
    dpa_results results = {0};
    assert_ok(dpa_estimate_counts(&counts, &request, &results, NULL));
    const double bound = results.items[0].epsilon_lower;
    dpa_results_free(&results);
    return bound;
}

/* ── one simulated audit of each kind: 1 when it refutes the claim ─────────────────────────── */

static int audit_counts(const dpa_plan *plan, const dpa_plan_answer *a, double mu, dpa_rng *rng) {
    dpa_counts c = {0};
    for (uint64_t i = 0; i < a->size; ++i) {
        c.tp += mu + dpa_rng_normal(rng) >= a->threshold;
        c.fp += dpa_rng_normal(rng) >= a->threshold;
    }
    c.fn = a->size - c.tp;
    c.tn = a->size - c.fp;
    return from_counts(c, plan) > plan->claim_epsilon;
}

static int audit_ranks(const dpa_plan *plan, const dpa_plan_answer *a, double mu, dpa_rng *rng) {
    double in[MOST], out[MOST];
    const dpa_request request = request_of(plan, "rank");
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_results results = {0};
    for (uint64_t i = 0; i < a->size; ++i) {
        in[i] = mu + dpa_rng_normal(rng);
        out[i] = dpa_rng_normal(rng);
    }
    assert_ok(dpa_scores_from(in, a->size, out, a->size, &scores, NULL));
    assert_ok(dpa_scores_prepare(&scores, &lints, NULL));
    assert_ok(dpa_estimate_scores(&scores, &request, &results, NULL));
    const int refutes = results.items[0].epsilon_lower > plan->claim_epsilon;
    dpa_results_free(&results);
    dpa_lints_free(&lints);
    dpa_scores_free(&scores);
    return refutes;
}

typedef struct guess {
    double certainty;
    int is_right;
} guess;

static int by_certainty(const void *a, const void *b) {
    const double x = ((const guess *)a)->certainty, y = ((const guess *)b)->certainty;
    return (x < y) - (x > y);
}

/* Canaries at +μ/2 or −μ/2 by a coin, the surest guessed by their sign. */
static int audit_one_run(const dpa_plan *plan, const dpa_plan_answer *a, double mu, dpa_rng *rng) {
    guess g[MOST];
    const dpa_request request = request_of(plan, "");
    dpa_onerun game = {a->size, 2, a->guesses, 0};
    dpa_result result;
    for (uint64_t i = 0; i < a->size; ++i) {
        const double side = dpa_rng_below(rng, 2) == 1 ? 1 : -1;
        const double score = side * mu / 2 + dpa_rng_normal(rng);
        g[i] = (guess){fabs(score), score * side > 0};
    }
    qsort(g, a->size, sizeof g[0], by_certainty);
    for (uint64_t i = 0; i < a->guesses; ++i) game.correct += (uint64_t)g[i].is_right;
    assert_ok(dpa_onerun_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, NULL));
    return result.epsilon_lower > plan->claim_epsilon;
}

static int (*const audits[DPA_PLAN_METHODS])(const dpa_plan *, const dpa_plan_answer *, double,
                                             dpa_rng *) = {audit_counts, audit_ranks,
                                                           audit_one_run};

static void simulated_audits(void **state) {
    (void)state;
    static const struct {
        dpa_plan plan;
        uint64_t n;
        unsigned audits;
    } rows[] = {
        {{DPA_PLAN_CP, "dp", 1, 4, 1e-5, 0.95}, 600, AUDITS},
        {{DPA_PLAN_CP, "dp", 0, 2, 1e-5, 0.9}, 100, AUDITS},
        {{DPA_PLAN_CP, "gaussian", 1, 4, 1e-5, 0.95}, 100, AUDITS},
        {{DPA_PLAN_CP, "gaussian", 4, 10, 1e-5, 0.95}, 40, AUDITS},
        {{DPA_PLAN_RANK, "gaussian", 1, 4, 1e-5, 0.95}, 30, AUDITS},
        {{DPA_PLAN_RANK, "gaussian", 3, 5, 1e-5, 0.9}, 60, AUDITS},
        {{DPA_PLAN_ONE_RUN, "dp", 1, 4, 1e-5, 0.95}, 300, AUDITS},
        {{DPA_PLAN_ONE_RUN, "gaussian", 1, 4, 1e-5, 0.95}, 120, AUDITS},
        {{DPA_PLAN_ONE_RUN, "gaussian", 3, 6, 1e-5, 0.95}, 400, AUDITS},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        const dpa_plan *plan = &rows[r].plan;
        const double mu = dpa_gaussian_mu(plan->truth_epsilon, plan->delta);
        dpa_plan_answer answer;
        unsigned refuted = 0;
        assert_ok(dpa_plan_power(plan, rows[r].n, &answer, NULL));
        for (unsigned i = 0; i < rows[r].audits; ++i) {
            dpa_rng rng;
            dpa_rng_init(&rng, 100 + r, DPA_PURPOSE_TEST, i);
            refuted += (unsigned)audits[plan->method](plan, &answer, mu, &rng);
        }
        const double share = refuted / (double)rows[r].audits;
        const double error = sqrt(answer.power * (1 - answer.power) / rows[r].audits);
        print_message(
            "%-8s %-8s claim %g truth %g n %4.0f: plan %.4f, simulated %.4f (error %.4f)\n",
            dpa_plan_method_name(plan->method), plan->family, plan->claim_epsilon,
            plan->truth_epsilon, (double)rows[r].n, answer.power, share, error);
        assert_absolute(share, answer.power, 3.5 * error);
    }
}

/* ── exactly ───────────────────────────────────────────────────────────────────────────────── */

static double binomial(unsigned k, unsigned n, double p) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)) * pow(p, k) *
           pow(1 - p, n - k);
}

static double upper(double x) {
    return 0.5 * erfc(x / sqrt(2));
}

static void every_outcome(void **state) {
    (void)state;
    enum { RUNS = 25 };
    static const char *const families[] = {"dp", "gaussian"};
    for (int f = 0; f < 2; ++f) {
        const dpa_plan plan = {DPA_PLAN_CP, families[f], 0.5, 5, 1e-5, 0.9};
        const double mu = dpa_gaussian_mu(5, 1e-5);
        for (double threshold = 0; threshold < 2; threshold += 0.4) {
            double want = 0, got;
            for (unsigned fn = 0; fn <= RUNS; ++fn)
                for (unsigned fp = 0; fp <= RUNS; ++fp)
                    if (from_counts((dpa_counts){fn, RUNS - fn, fp, RUNS - fp}, &plan) > 0.5)
                        want += binomial(fn, RUNS, upper(mu - threshold)) *
                                binomial(fp, RUNS, upper(threshold));
            assert_ok(dpa_plan_power_at(&plan, RUNS, threshold, &got, NULL));
            assert_absolute(got, want, 1e-10);
            dpa_plan_answer best;
            assert_ok(dpa_plan_power(&plan, RUNS, &best, NULL));
            assert_true(best.power >= got - 1e-3);
        }
    }
}

static void sizes_and_leaks(void **state) {
    (void)state;
    for (int m = 0; m < DPA_PLAN_METHODS; ++m) {
        dpa_plan plan = {(dpa_plan_method)m, "gaussian", 1, 4, 1e-5, 0.95};
        dpa_plan_answer needed, half;
        double leak;
        assert_ok(dpa_plan_size(&plan, 0.8, 5000, &needed, NULL));
        assert_true(needed.size > 0 && needed.power >= 0.8);
        assert_ok(dpa_plan_power(&plan, needed.size / 2, &half, NULL));
        assert_true(half.power < 0.8);
        assert_ok(dpa_plan_detectable(&plan, needed.size, 0.8, &leak, NULL));
        assert_between(leak, 3.5, 4.001);
        plan.truth_epsilon = 1; /* the claim is true: no size refutes it often */
        assert_ok(dpa_plan_size(&plan, 0.8, 500, &needed, NULL));
        assert_int_equal(needed.size, 0);
        assert_true(needed.power <= 0.06);
    }
}

/* A perfect attack stays below the ceiling, by every valid bound; at the ceiling the chance of only
 * right answers is what the confidence leaves. */
static void ceiling(void **state) {
    (void)state;
    for (uint64_t n = 5; n <= 5000; n *= 10) {
        const dpa_plan dp = {DPA_PLAN_CP, "dp", 0, 0, 1e-5, 0.95};
        const dpa_plan gaussian = {DPA_PLAN_CP, "gaussian", 0, 0, 1e-5, 0.95};
        const dpa_counts perfect = {0, n, 0, n};
        const double top = dpa_plan_ceiling("dp", 2 * n, 1e-5, 0.95);
        const double r = 1e-5 + (1 - 1e-5) / (1 + exp(-top));
        assert_absolute(pow(r, 2 * (double)n), 0.05, 1e-9);
        assert_true(from_counts(perfect, &dp) < top);
        const double normal = dpa_plan_ceiling("gaussian", 2 * n, 1e-5, 0.95);
        const double half = upper(dpa_gaussian_mu(normal, 1e-5) / 2);
        assert_absolute(pow(1 - half, 2 * (double)n), 0.05, 1e-6);
        assert_true(from_counts(perfect, &gaussian) < normal);
    }
    assert_true(isnan(dpa_plan_ceiling("laplace", 10, 1e-5, 0.95)));
}

static void refusals(void **state) {
    (void)state;
    const dpa_plan good = {DPA_PLAN_CP, "dp", 1, 4, 1e-5, 0.95};
    dpa_plan_answer answer;
    dpa_plan bad[7];
    for (int i = 0; i < 7; ++i) bad[i] = good;
    bad[0].family = "laplace";
    bad[1].method = DPA_PLAN_RANK;
    bad[2].delta = 0;
    bad[3].confidence = 1;
    bad[4].claim_epsilon = -1;
    bad[5].truth_epsilon = NAN;
    bad[6].method = (dpa_plan_method)9;
    for (int i = 0; i < 7; ++i)
        assert_int_equal(dpa_plan_power(&bad[i], 10, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_plan_power(&good, 0, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_plan_power(&good, 1000000, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_plan_size(&good, 1, 10, &answer, NULL), DPA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome),    cmocka_unit_test(sizes_and_leaks),
        cmocka_unit_test(ceiling),          cmocka_unit_test(refusals),
        cmocka_unit_test(simulated_audits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
