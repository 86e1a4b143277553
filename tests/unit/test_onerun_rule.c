/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice between Steinke's test and the recursion: fixed before the data, and never far behind
 * the better of the two. */
#include "check.h"

#include "estimate/onerun_rule.h"

typedef struct question {
    dpa_onerun game;
    double delta, p;
} question;

static int is_refuted(dpa__onerun_method method, const question *q, double epsilon) {
    if (method == DPA__STEINKE) return dpa__onerun_dp_refutes(&q->game, epsilon, q->delta, q->p);
    dpa_curve *curve = NULL;
    dpa_error err;
    assert_ok(dpa_curve_dp(epsilon, q->delta, &curve, &err));
    const int refuted = dpa_onerun_refutes(&q->game, curve, q->p);
    dpa_curve_free(curve);
    return refuted;
}

static double bound(dpa__onerun_method method, const question *q) {
    double low = 0, high = 1;
    if (!is_refuted(method, q, 0)) return 0;
    while (is_refuted(method, q, high)) {
        low = high;
        high *= 2;
    }
    for (int k = 0; k < 30; ++k) {
        const double middle = 0.5 * (low + high);
        *(is_refuted(method, q, middle) ? &low : &high) = middle;
    }
    return low;
}

/* What the rule's choice loses against the better one, of ε or absolute, the smaller. */
static double loss(const question *q) {
    const double p[] = {bound(DPA__STEINKE, q), bound(DPA__RECURSION, q)};
    const dpa__onerun_method chosen =
        dpa__onerun_rule(q->game.canaries, q->game.guesses, q->delta, 1 - q->p);
    const double best = fmax(p[0], p[1]), own = p[chosen == DPA__RECURSION];
    return best > 0 ? fmin(best - own, (best - own) / best) : 0;
}

static double worst(uint64_t guesses, double shares) {
    static const double ratio[] = {0, 0.02, 0.1, 0.199, 0.201, 0.5, 2, 20, 200};
    static const double error[] = {0.05, 1e-3};
    double most = 0;
    for (size_t r = 0; r < sizeof ratio / sizeof ratio[0]; ++r)
        for (size_t e = 0; e < 2; ++e)
            for (double share = 0.5; share <= 1; share += shares) {
                const uint64_t correct = (uint64_t)ceil(share * (double)guesses);
                const uint64_t canaries = 4 * guesses;
                const question q = {{canaries, 2, guesses, correct},
                                    ratio[r] * error[e] / (double)canaries,
                                    error[e]};
                most = fmax(most, loss(&q));
            }
    return most;
}

static void never_far_behind(void **state) {
    (void)state;
    assert_true(worst(16, 0.0625) < 0.026);
    assert_true(worst(60, 0.05) < 0.026);
    assert_true(worst(300, 0.05) < 0.02);
    assert_true(worst(1000, 0.05) < 0.01);
    assert_true(worst(10000, 0.125) < 0.01);
}

/* Three settings where the old default showed half of what was there. */
static void issue_29(void **state) {
    (void)state;
    const question q = {{1000000, 2, 1500, 1429}, 1e-5, 0.05};
    assert_int_equal(dpa__onerun_rule(1000000, 1500, 1e-5, 0.95), DPA__RECURSION);
    assert_absolute(bound(DPA__STEINKE, &q), 0.92, 0.005);
    assert_absolute(bound(DPA__RECURSION, &q), 2.75, 0.005);
}

static void fixed_and_public(void **state) {
    (void)state;
    assert_int_equal(dpa__onerun_rule(1000, 500, 0, 0.95), DPA__STEINKE);
    assert_int_equal(dpa__onerun_rule(1000, 500, 1e-5, 0.95), DPA__STEINKE);
    assert_int_equal(dpa__onerun_rule(1000, 500, 1.01e-5, 0.95), DPA__RECURSION);
    assert_int_equal(dpa__onerun_rule(1000, 500, 1e-5, 0.99), DPA__RECURSION);
    char text[128];
    dpa__onerun_rule_say(100000, 100, 1e-5, 0.95, text, sizeof text);
    assert_string_equal(text, "recursion, since m·δ = 1 > (1 − confidence)/5 = 0.01");
    dpa__onerun_rule_say(100, 100, 1e-5, 0.95, text, sizeof text);
    assert_string_equal(text, "Steinke, since m·δ = 0.001 ≤ (1 − confidence)/5 = 0.01");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_far_behind),
                                       cmocka_unit_test(issue_29),
                                       cmocka_unit_test(fixed_and_public)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
