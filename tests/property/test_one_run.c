/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-run bounds: more right guesses never lower them, fast and plain sums agree, every limit
 * behaves, and the ways to choose the number of guesses are ordered as they must be. */
#include "check.h"

#include "estimate/one_run/one_run.h"
#include "math/dist.h"
#include "report/model/report.h"

static const struct {
    const char *family, *method;
} ways[] = {{"dp", "steinke"},        {"dp", "recursion"},       {"gaussian", "recursion"},
            {"laplace", "recursion"}, {"gaussian", "pointwise"}, {"dp", "either"}};

static double bounds(const dpa_one_run *games, size_t count, dpa_guess_choice choice,
                     const char *family, const char *method, dpa_result *result) {
    dpa_request request;
    dpa_error err;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    if (dpa__one_run_bound(games, count, choice, &request, result, &err) != DPA_OK)
        fail_msg("%s", err.text);
    assert_true(result->epsilon_lower >= 0.0);
    return result->epsilon_lower;
}

static double bound(dpa_one_run game, size_t way) {
    dpa_result result;
    return bounds(&game, 1, DPA_GUESSES_FIXED, ways[way].family, ways[way].method, &result);
}

static void grows_with_right_guesses(void **state) {
    (void)state;
    static const dpa_one_run games[] = {{60, 2, 60, 0},  {60, 2, 25, 0}, {100000, 2, 40, 0},
                                        {60, 12, 60, 0}, {3, 2, 3, 0},   {1000000, 2, 30, 0}};
    for (size_t g = 0; g < sizeof games / sizeof games[0]; ++g)
        for (size_t way = 0; way < 6; ++way) {
            if (games[g].options > 2 && strcmp(ways[way].method, "recursion") != 0) continue;
            double last = 0.0;
            for (uint64_t c = 0; c <= games[g].guesses; ++c) {
                dpa_one_run game = games[g];
                game.correct = c;
                const double now = bound(game, way);
                assert_true(now >= last * (1.0 - 1e-12));
                if (c * games[g].options <= games[g].guesses) assert_true(now == 0.0);
                last = now;
            }
            /* if mδ is not small, (ε,δ) alone shows little */
            if (games[g].guesses > 20 && (way == 2 || way == 3 || games[g].canaries < 1000))
                assert_true(last > 0.5);
        }
}

/* One more right guess is more evidence; dpa__ideal_games relies on this to leave games out. */
static void grows_with_guesses_that_are_right(void **state) {
    (void)state;
    for (size_t way = 0; way < 4; ++way)
        for (uint64_t wrong = 0; wrong < 8; ++wrong) {
            double last = 0.0;
            for (uint64_t c = 1; c + wrong <= 80; ++c) {
                const double now = bound((dpa_one_run){80, 2, c + wrong, c}, way);
                assert_true(now >= last * (1.0 - 1e-12));
                last = now;
            }
        }
}

/* The maximum over i by a loop over i. */
static double plain_p_value(const dpa_one_run *game, double epsilon, double delta) {
    const double n = (double)game->guesses, q = 1.0 / (1.0 + exp(-epsilon));
    double tail = 0.0, window = 0.0, best = 0.0;
    for (uint64_t k = game->correct; k <= game->guesses; ++k)
        tail += exp(dpa__binom_log_pmf((double)k, n, q));
    for (uint64_t i = 1; i <= game->correct; ++i) {
        window += exp(dpa__binom_log_pmf((double)(game->correct - i), n, q));
        best = fmax(best, window / (double)i);
    }
    return fmin(1.0, tail + 2.0 * (double)game->canaries * delta * best);
}

static void window_is_the_best_one(void **state) {
    (void)state;
    static const double epsilons[] = {0.0, 0.1, 1.0, 3.0, 12.0, 40.0};
    static const double deltas[] = {0.0, 1e-9, 1e-5, 1e-2, 0.5};
    for (uint64_t n = 1; n <= 130; n = n * 2 + 1)
        for (uint64_t c = 0; c <= n; ++c)
            for (size_t e = 0; e < 6; ++e)
                for (size_t d = 0; d < 5; ++d) {
                    const dpa_one_run game = {1000, 2, n, c};
                    const double want = c > 0 ? plain_p_value(&game, epsilons[e], deltas[d]) : 1.0;
                    assert_relative(dpa__one_run_dp_p_value(&game, epsilons[e], deltas[d]), want,
                                    2e-11);
                }
    const dpa_one_run big = {1000000, 2, 50000, 26000};
    for (size_t e = 0; e < 5; ++e)
        assert_relative(dpa__one_run_dp_p_value(&big, 0.05 * (double)e, 1e-6),
                        plain_p_value(&big, 0.05 * (double)e, 1e-6), 1e-9);
}

static void p_value_is_where_refutation_starts(void **state) {
    (void)state;
    static const dpa_one_run games[] = {
        {1000, 2, 100, 70}, {1000, 2, 100, 100}, {50, 9, 50, 20}, {100000, 2, 1500, 1429}};
    for (size_t g = 0; g < 4; ++g)
        for (double mu = 0.0; mu < 2.5; mu += 0.3) {
            dpa_curve *curve;
            assert_ok(dpa_curve_gaussian(mu, &curve, NULL));
            const double p = dpa__one_run_p_value(&games[g], curve);
            assert_between(p, 1e-300, 1.0);
            if (p < 1.0) assert_true(dpa__one_run_refutes(&games[g], curve, p));
            if (p > 1e-300) assert_false(dpa__one_run_refutes(&games[g], curve, p * (1.0 - 1e-9)));
            dpa_curve_free(curve);
        }
}

static void limits(void **state) {
    (void)state;
    for (size_t way = 0; way < 6; ++way) {
        assert_true(bound((dpa_one_run){1, 2, 1, 1}, way) == 0.0);
        assert_true(bound((dpa_one_run){1, 2, 0, 0}, way) == 0.0);
        assert_true(bound((dpa_one_run){1000, 2, 1000, 0}, way) == 0.0);
        assert_true(bound((dpa_one_run){1000, 2, 1000, 500}, way) == 0.0);
        assert_true(bound((dpa_one_run){1000, 2, 1000, 1000}, way) > 4.0);
        assert_true(bound((dpa_one_run){1000000000, 2, 1000, 1000}, way) < HUGE_VAL);
    }
    /* chance one in a million: a single right guess of ten says much, none says nothing */
    assert_true(bound((dpa_one_run){10, 1000000, 10, 10}, 1) > 13.0);
    assert_true(bound((dpa_one_run){10, 1000000, 10, 1}, 2) > 1.0);
    assert_true(bound((dpa_one_run){10, 1000000, 10, 0}, 2) == 0.0);
}

/* in against out only: the hull with the inverse is what the audit must use, whichever is given */
static void orientation_does_not_matter(void **state) {
    (void)state;
    const double x[] = {0.0, 0.05, 0.4, 1.0}, y[] = {0.9, 0.5, 0.2, 0.0};
    dpa_curve *one, *other, *hull[2];
    assert_ok(dpa_curve_points(x, y, 4, &one, NULL));
    assert_ok(dpa_curve_points(y, x, 4, &other, NULL));
    assert_false(dpa__curve_is_symmetric(one));
    assert_ok(dpa__one_run_symmetric(one, &hull[0], NULL));
    assert_ok(dpa__one_run_symmetric(other, &hull[1], NULL));
    for (double a = 0.0; a <= 1.0; a += 0.01) {
        assert_absolute(dpa_curve_fnr(hull[0], a), dpa_curve_fnr(hull[1], a), 1e-15);
        assert_absolute(dpa_curve_fnr(hull[0], a), dpa_curve_fpr(hull[0], a), 1e-13);
        assert_true(dpa_curve_fnr(hull[0], a) <=
                    fmin(dpa_curve_fnr(one, a), dpa_curve_fpr(one, a)) + 1e-15);
    }
    dpa_curve_free(one);
    dpa_curve_free(other);
    dpa_curve_free(hull[0]);
    dpa_curve_free(hull[1]);
}

static void choices_are_ordered(void **state) {
    (void)state;
    dpa_one_run games[40];
    dpa_result result;
    for (uint64_t i = 0; i < 40; ++i) {
        const uint64_t guesses = 50 * (i + 1);
        games[i] = (dpa_one_run){2000, 2, guesses, guesses - guesses * guesses / 6000};
    }
    for (size_t way = 0; way < 6; ++way) {
        double best = 0.0;
        for (size_t i = 0; i < 40; ++i) best = fmax(best, bound(games[i], way));
        const double all =
            bounds(games, 40, DPA_GUESSES_MAX, ways[way].family, ways[way].method, &result);
        assert_absolute(all, best, 1e-10);
        assert_false(result.valid);
        const double split =
            bounds(games, 40, DPA_GUESSES_AUTO, ways[way].family, ways[way].method, &result);
        assert_true(split < all && split > 0.0);
        assert_true(result.valid);
    }
    uint64_t grid[32];
    assert_int_equal(dpa__one_run_grid(1, grid, 32), 1);
    assert_int_equal(grid[0], 1);
    assert_int_equal(dpa__one_run_grid(2000, grid, 32), 5);
    assert_int_equal(grid[3], 1024);
    assert_int_equal(grid[4], 2000);
    assert_true(dpa__one_run_grid((uint64_t)1 << 53, grid, 32) <= 27);
}

static void subsampled_at_full_rate_is_gaussian(void **state) {
    (void)state;
    const dpa_one_run game = {100000, 2, 1500, 1429};
    dpa_result result;
    const double exact = bounds(&game, 1, DPA_GUESSES_FIXED, "gaussian", "recursion", &result);
    const double composed = bounds(&game, 1, DPA_GUESSES_FIXED, "subsampled-gaussian:q=1,steps=4",
                                   "recursion", &result);
    assert_string_equal(result.parameter, "sigma");
    assert_between(composed, 0.99 * exact, exact + 1e-9);
}

/* The list of games worth checking is complete: it has the best number of guesses of all. */
static void ideal_list_has_the_best(void **state) {
    (void)state;
    static const double sigmas[] = {0.4, 1.0, 3.0};
    for (size_t s = 0; s < 3; ++s)
        for (size_t way = 0; way < 3; ++way) {
            const dpa_ideal ideal = {sigmas[s], 400, 2};
            dpa_one_run all[400], *listed;
            dpa_result result;
            size_t count;
            for (uint64_t g = 1; g <= 400; ++g) {
                double expected;
                assert_ok(dpa__ideal_expected(&ideal, g, &expected, NULL));
                all[g - 1] = (dpa_one_run){400, 2, g, (uint64_t)floor(expected)};
            }
            assert_ok(dpa__ideal_games(&ideal, &listed, &count, NULL));
            const double want =
                bounds(all, 400, DPA_GUESSES_MAX, ways[way].family, ways[way].method, &result);
            const double got =
                bounds(listed, count, DPA_GUESSES_MAX, ways[way].family, ways[way].method, &result);
            assert_absolute(got, want, 1e-10);
            dpa_free(listed);
        }
}

static void ideal_counts_agree_with_play(void **state) {
    (void)state;
    static const struct {
        dpa_ideal ideal;
        uint64_t guesses;
    } rows[] = {{{1.0, 300, 2}, 40}, {{1.0, 300, 2}, 300}, {{0.5, 40, 2}, 7}, {{0.6, 60, 20}, 60}};
    enum { REPEATS = 4000 };
    for (size_t i = 0; i < 4; ++i) {
        double exact, mean, deviation;
        if (rows[i].ideal.options == 2)
            assert_ok(dpa__ideal_ranked(&rows[i].ideal, rows[i].guesses, &exact, NULL));
        else
            assert_ok(dpa__ideal_expected(&rows[i].ideal, rows[i].guesses, &exact, NULL));
        assert_ok(dpa__ideal_simulate(&rows[i].ideal, rows[i].guesses, REPEATS, 3, &mean,
                                      &deviation, NULL));
        assert_absolute(mean, exact, 4.0 * deviation / sqrt((double)REPEATS));
    }
    const dpa_ideal two = {0.7, 1000, 2};
    double by_threshold, all;
    assert_ok(dpa__ideal_expected(&two, 1000, &all, NULL));
    assert_absolute(all, 1000.0 * dpa__norm_cdf(0.5 / 0.7, DPA_LOWER), 1e-9);
    assert_ok(dpa__ideal_expected(&two, 1, &by_threshold, NULL));
    assert_between(by_threshold, 0.5, 1.0);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        dpa_one_run game;
        const char *family, *method, *says;
    } rows[] = {{{0, 2, 0, 0}, "dp", "", "canaries"},
                {{10, 1, 5, 3}, "dp", "", "options"},
                {{10, 2, 11, 3}, "dp", "", "guesses"},
                {{10, 2, 5, 6}, "dp", "", "correct"},
                {{10, 3, 5, 5}, "dp", "steinke", "two options"},
                {{10, 3, 5, 5}, "gaussian", "pointwise", "two options"},
                {{10, 2, 5, 5}, "gaussian", "steinke", "family dp"},
                {{10, 2, 5, 5}, "gaussian", "either", "family dp"},
                {{10, 2, 5, 5}, "dp", "pointwise", "other than dp"},
                {{10, 2, 5, 5}, "dp", "magic", "magic"},
                {{10, 2, 5, 5}, "cauchy", "", "cauchy"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_request request;
        dpa_result result;
        dpa_error err;
        dpa__request_init(&request);
        (void)snprintf(request.family, sizeof request.family, "%s", rows[i].family);
        (void)snprintf(request.method, sizeof request.method, "%s", rows[i].method);
        assert_int_equal(
            dpa__one_run_bound(&rows[i].game, 1, DPA_GUESSES_FIXED, &request, &result, &err),
            DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_with_right_guesses),
        cmocka_unit_test(grows_with_guesses_that_are_right),
        cmocka_unit_test(window_is_the_best_one),
        cmocka_unit_test(p_value_is_where_refutation_starts),
        cmocka_unit_test(limits),
        cmocka_unit_test(orientation_does_not_matter),
        cmocka_unit_test(choices_are_ordered),
        cmocka_unit_test(subsampled_at_full_rate_is_gaussian),
        cmocka_unit_test(ideal_list_has_the_best),
        cmocka_unit_test(ideal_counts_agree_with_play),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
