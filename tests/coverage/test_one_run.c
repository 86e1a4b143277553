/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a one-run bound exceed the truth more often than promised?
 *
 * The bound exceeds the truth exactly when the true member of the family is refuted, so one test
 * per audit suffices (the first audits check that against the bound itself). If the number of right
 * guesses is binomial, the error is summed exactly; if the guesses are chosen by rank, it is
 * simulated with fixed seeds, for the Gaussian mechanism of the idealised game and for none at
 * all. */
#include "check.h"

#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "evidence/guesses.h"
#include "math/dist.h"
#include "report/model/report.h"

static const double p = 0.05;

/* ── exact ──────────────────────────────────────────────────────────────────────────────── */

/* Pr[refuted] if each of the m guesses is right with probability q, independently. */
static double exact_error(uint64_t canaries, uint64_t options, double q, const dpa_curve *curve) {
    double error = 0.0;
    for (uint64_t c = 0; c <= canaries; ++c) {
        const dpa_one_run game = {canaries, options, canaries, c};
        if (dpa__one_run_refutes(&game, curve, p))
            error += exp(dpa__binom_log_pmf((double)c, (double)canaries, q));
    }
    return error;
}

static void exact_gaussian(void **state) {
    (void)state;
    static const double mus[] = {0.0, 0.2, 1.0, 2.5};
    static const uint64_t sizes[] = {1, 2, 5, 20, 100, 700}, options[] = {2, 3, 10, 200};
    double worst = 0.0;
    for (size_t u = 0; u < 4; ++u)
        for (size_t n = 0; n < 6; ++n)
            for (size_t k = 0; k < 4; ++k) {
                double expected = 1.0 / (double)options[k];
                const dpa_ideal ideal = {1.0 / mus[u], 1, options[k]};
                dpa_curve *curve;
                if (mus[u] > 0.0) assert_ok(dpa__ideal_expected(&ideal, 1, &expected, NULL));
                assert_ok(dpa_curve_gaussian(mus[u], &curve, NULL));
                const double error = exact_error(sizes[n], options[k], expected, curve);
                assert_true(error <= p);
                worst = fmax(worst, error);
                dpa_curve_free(curve);
            }
    print_message("gaussian, all guessed: error at most %.4f\n", worst);
    assert_true(worst > 0.005); /* the test does refute sometimes */
}

/* Randomised response is (ε,0)-DP and the worst such mechanism: Steinke's p-value is its tail. */
static void exact_randomised_response(void **state) {
    (void)state;
    double worst = 0.0;
    for (double epsilon = 0.0; epsilon < 6.0; epsilon += 0.5)
        for (uint64_t n = 1; n <= 400; n = 2 * n + 3) {
            const double q = 1.0 / (1.0 + exp(-epsilon));
            double error = 0.0, by_recursion;
            dpa_curve *curve;
            for (uint64_t c = 0; c <= n; ++c) {
                const dpa_one_run game = {n, 2, n, c};
                if (dpa__one_run_dp_p_value(&game, epsilon, 0.0) <= p)
                    error += exp(dpa__binom_log_pmf((double)c, (double)n, q));
            }
            assert_true(error <= p * (1.0 + 1e-9));
            worst = fmax(worst, error);
            assert_ok(dpa_curve_dp(epsilon, 0.0, &curve, NULL));
            by_recursion = exact_error(n, 2, q, curve);
            assert_true(by_recursion <= p * (1.0 + 1e-9));
            dpa_curve_free(curve);
        }
    print_message("randomised response: error at most %.4f\n", worst);
    assert_true(worst > 0.04);
}

/* With probability δ′ everything is revealed, otherwise nothing: all guesses are right or wrong
 * together. */
static void exact_all_or_nothing(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 300; n += 13)
        for (double share = 0.001; share < 0.3; share *= 1.7) {
            /* every canary is (0, share)-DP: at δ = share the truth is ε = 0 */
            dpa_curve *curve;
            double error = 0.0, by_recursion = 0.0;
            assert_ok(dpa_curve_dp(0.0, share, &curve, NULL));
            for (uint64_t c = 0; c <= n; ++c) {
                const dpa_one_run game = {n, 2, n, c};
                const double mass =
                    (1.0 - share) * exp(dpa__binom_log_pmf((double)c, (double)n, 0.5)) +
                    (c == n ? share : 0.0);
                if (dpa__one_run_dp_p_value(&game, 0.0, share) <= p) error += mass;
                if (dpa__one_run_refutes(&game, curve, p)) by_recursion += mass;
            }
            assert_true(error <= p && by_recursion <= p);
            dpa_curve_free(curve);
        }
}

/* ── simulated ──────────────────────────────────────────────────────────────────────────── */

enum { CANARIES = 300, AUDITS = 12000, MAX_AUDITS = 2000, GRID = 8 };

typedef struct tally {
    unsigned fixed_few, fixed_all, split, split_dp, best; /* refutations of the truth */
} tally;

static void play(double mu, uint64_t index, dpa_guesses *ranked) {
    double score[CANARIES];
    uint8_t in[CANARIES];
    dpa_rng rng;
    dpa_lints lints = {0};
    dpa__rng_init(&rng, 20, DPA_PURPOSE_SIMULATE, index);
    for (size_t i = 0; i < CANARIES; ++i) {
        in[i] = (uint8_t)(dpa__rng_u32(&rng) >> 31);
        score[i] = dpa__rng_normal(&rng) + (in[i] ? 0.5 : -0.5) * mu;
    }
    assert_ok(dpa__guesses_from_scores(score, in, CANARIES, DPA_GUESS_BOTH, ranked, &lints, NULL));
    dpa__lints_free(&lints);
}

static dpa_one_run game_of(const dpa_guesses *ranked, uint64_t guesses) {
    return (dpa_one_run){CANARIES, 2, guesses, ranked->correct[guesses]};
}

static double bound_of(const dpa_one_run *games, size_t count, dpa_guess_choice choice,
                       const char *family) {
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    request.confidence = 1.0 - p;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    assert_ok(dpa__one_run_bound(games, count, choice, &request, &result, NULL));
    return result.epsilon_lower;
}

/* Checks the shortcut of this file: the bound exceeds the truth if and only if the true member is
 * refuted. */
static void check_bounds(const dpa_guesses *ranked, const dpa_one_run *grid, size_t count,
                         double truth, int is_refuted, int is_split_refuted) {
    const dpa_one_run few = game_of(ranked, 40);
    const double fixed = bound_of(&few, 1, DPA_GUESSES_FIXED, "gaussian");
    const double split = bound_of(grid, count, DPA_GUESSES_AUTO, "gaussian");
    assert_int_equal(fixed > truth, is_refuted);
    assert_int_equal(split > truth, is_split_refuted);
}

static tally audit(double mu) {
    tally t = {0};
    uint64_t counts[GRID];
    dpa_curve *curve;
    const size_t count = dpa__one_run_grid(CANARIES, counts, GRID);
    const double truth = dpa_gaussian_epsilon(mu, 1e-5);
    assert_ok(dpa_curve_gaussian(mu, &curve, NULL));
    for (uint64_t a = 0; a < AUDITS; ++a) {
        dpa_guesses ranked;
        dpa_one_run grid[GRID];
        play(mu, a, &ranked);
        const dpa_one_run few = game_of(&ranked, 40), all = game_of(&ranked, CANARIES);
        const int is_refuted = dpa__one_run_refutes(&few, curve, p);
        int split = 0, split_dp = 0, best = 0;
        for (size_t i = 0; i < count; ++i) {
            grid[i] = game_of(&ranked, counts[i]);
            split |= dpa__one_run_refutes(&grid[i], curve, p / (double)count);
            split_dp |= dpa__one_run_dp_p_value(&grid[i], truth, 1e-5) <= p / (double)count;
        }
        for (uint64_t g = 1; a < MAX_AUDITS && g <= CANARIES && !best; ++g) {
            const dpa_one_run game = game_of(&ranked, g);
            best = dpa__one_run_refutes(&game, curve, p);
        }
        t.fixed_few += (unsigned)is_refuted;
        t.fixed_all += (unsigned)dpa__one_run_refutes(&all, curve, p);
        t.split += (unsigned)split;
        t.split_dp += (unsigned)split_dp;
        t.best += (unsigned)best;
        if (a < 100) check_bounds(&ranked, grid, count, truth, is_refuted, split);
        dpa__guesses_free(&ranked);
    }
    dpa_curve_free(curve);
    return t;
}

static void simulated(void **state) {
    (void)state;
    static const double mus[] = {0.0, 0.5, 1.0, 2.0};
    const double allowed = p + 3.0 * sqrt(p * (1.0 - p) / AUDITS);
    for (size_t i = 0; i < 4; ++i) {
        const tally t = audit(mus[i]);
        print_message("mu %.1f, %d audits above the truth: 40 guesses %.4f, all %.4f, auto %.4f, "
                      "auto dp %.4f, max (not valid) %.4f\n",
                      mus[i], AUDITS, (double)t.fixed_few / AUDITS, (double)t.fixed_all / AUDITS,
                      (double)t.split / AUDITS, (double)t.split_dp / AUDITS,
                      (double)t.best / MAX_AUDITS);
        assert_true(t.fixed_few <= allowed * AUDITS && t.fixed_all <= allowed * AUDITS);
        assert_true(t.split <= allowed * AUDITS && t.split_dp <= allowed * AUDITS);
        if (mus[i] == 0.0) assert_true(t.best > 0.1 * MAX_AUDITS); /* why max is flagged */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_gaussian),
        cmocka_unit_test(exact_randomised_response),
        cmocka_unit_test(exact_all_or_nothing),
        cmocka_unit_test(simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
