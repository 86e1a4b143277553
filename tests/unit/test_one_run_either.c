/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default for (ε,δ)-DP from one run takes the smaller of two bounds on one probability: it is
 * never worse than either of them, and never below the probability itself. */
#include "check.h"

#include "estimate/one_run/one_run.h"
#include "math/dist.h"

static double bound(const char *method, dpa_one_run game, double delta, double p) {
    dpa_request request;
    dpa_result result;
    dpa_error err;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = delta;
    request.confidence = 1 - p;
    if (dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return result.epsilon_lower;
}

static void behind_neither(void **state) {
    (void)state;
    static const double ratio[] = {0, 0.02, 0.1, 0.2, 0.5, 2, 20, 200}; /* of m·δ to p */
    static const double error[] = {0.05, 1e-3};
    static const uint64_t sizes[] = {16, 60, 300, 3000};
    int ahead[2] = {0, 0};
    for (size_t s = 0; s < 4; ++s)
        for (size_t r = 0; r < sizeof ratio / sizeof ratio[0]; ++r)
            for (size_t e = 0; e < 2; ++e)
                for (double share = 0.5; share <= 1; share += 0.125) {
                    const uint64_t guesses = sizes[s], canaries = 4 * guesses;
                    const dpa_one_run game = {canaries, 2, guesses,
                                              (uint64_t)ceil(share * (double)guesses)};
                    const double delta = ratio[r] * error[e] / (double)canaries;
                    const double one = bound("steinke", game, delta, error[e]);
                    const double other = bound("recursion", game, delta, error[e]);
                    const double both = bound("", game, delta, error[e]);
                    assert_relative(both, fmax(one, other), 1e-9);
                    ahead[0] += one > 1.01 * other;
                    ahead[1] += other > 1.01 * one;
                }
    assert_true(ahead[0] > 10 && ahead[1] > 10); /* the grid has both sides */
}

/* A canary is revealed with probability δ and otherwise answered truthfully with odds e^ε: right
 * guesses are binomial, and no test may call them rarer than they are. */
static void never_below_the_truth(void **state) {
    (void)state;
    dpa_request request;
    dpa__one_run_test test;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    for (double epsilon = 0; epsilon < 3; epsilon += 0.5)
        for (double delta = 0; delta < 0.1; delta += 0.03) {
            const double right = delta + (1 - delta) / (1 + exp(-epsilon));
            assert_ok(dpa__one_run_test_init(&test, &request, delta, 2, NULL));
            assert_int_equal(test.method, DPA__EITHER);
            for (uint64_t m = 1; m <= 40; m = 2 * m + 1)
                for (uint64_t c = 0; c <= m; ++c) {
                    const dpa_one_run game = {m, 2, m, c};
                    const double truth = dpa__binom_cdf((double)c - 1, (double)m, right, DPA_UPPER);
                    const double p = dpa__one_run_test_p_value(&test, epsilon, &game);
                    assert_true(p >= truth * (1 - 1e-9));
                    if (p < 0.999)
                        assert_true(dpa__one_run_test_refutes(&test, epsilon, &game, p * 1.001));
                    assert_false(dpa__one_run_test_refutes(&test, epsilon, &game, p * 0.999));
                }
            dpa__one_run_test_free(&test);
        }
}

/* A case where the old default showed a third of the leak. */
static void many_canaries(void **state) {
    (void)state;
    const dpa_one_run game = {1000000, 2, 1500, 1429};
    assert_absolute(bound("steinke", game, 1e-5, 0.05), 0.92, 0.005);
    assert_absolute(bound("", game, 1e-5, 0.05), 2.75, 0.005);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(behind_neither),
                                       cmocka_unit_test(never_below_the_truth),
                                       cmocka_unit_test(many_canaries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
