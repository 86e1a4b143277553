/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential audits: the mean of every payment over all outcomes, order and chunks, what is
 * refused, and log wealth against a slow, obvious computation. tests/coverage/test_sequential.c
 * checks that bounds hold under continuous monitoring. */
#include "check.h"

#include "base/rng.h"
#include "estimate/scores.h"
#include "estimate/sequential/sequential.h"
#include "judge/judge.h"

static dpa_request request_of(const char *family, double delta, double claim) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    request.delta = delta;
    request.claim_epsilon = claim;
    return request;
}

static double score_of(uint64_t seed, int is_member, uint64_t index) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, 2 * index + (uint64_t)is_member);
    return 1.2 * is_member + dpa__rng_normal(&rng);
}

static dpa_sequential *audit_of(const dpa_request *request, uint64_t seed, uint64_t pairs) {
    dpa_sequential *audit;
    assert_ok(dpa__sequential_new(request, &audit, NULL));
    for (uint64_t i = 0; i < pairs; ++i) {
        assert_ok(dpa__sequential_push(audit, 1, score_of(seed, 1, i), NULL));
        assert_ok(dpa__sequential_push(audit, 0, score_of(seed, 0, i), NULL));
    }
    return audit;
}

/* ── one bet ───────────────────────────────────────────────────────────────────────────────── */

static double mean_payment(const dpa__bet *bet, double delta, double hit, double false_alarm) {
    double mean = 0;
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
            mean += (a ? hit : 1 - hit) * (b ? false_alarm : 1 - false_alarm) *
                    dpa__bet_pay(bet, delta, a, b);
    return mean;
}

/* At the null point the mean is 1; at every other point that the null allows it is at most 1. */
static void payments_are_fair(void **state) {
    (void)state;
    static const double slopes[] = {0, 0.4, -0.4, 2.5, -2.5};
    for (int i = 0; i < 5; ++i)
        for (double delta = 0; delta < 0.9; delta += 0.29)
            for (double share = 0.05; share < 1; share += 0.3) {
                const double k = exp(fabs(slopes[i])), q = share * (1 - delta) / k;
                const dpa__bet bet = {.slope = slopes[i],
                                      .point = q,
                                      .size = fmin(1 / (1 + k * q), 1 / (k * (1 - q)))};
                const double good = k * q + delta;
                const double hit = slopes[i] >= 0 ? good : 1 - q;
                const double alarm = slopes[i] >= 0 ? q : 1 - good;
                assert_absolute(mean_payment(&bet, delta, hit, alarm), 1, 1e-14);
                for (double bad = 0; bad <= 1; bad += 0.01) {
                    const double most = fmin(1, k * bad + delta);
                    for (double g = 0; g <= most; g += 0.05) {
                        const double h = slopes[i] >= 0 ? g : 1 - bad;
                        const double f = slopes[i] >= 0 ? bad : 1 - g;
                        assert_true(mean_payment(&bet, delta, h, f) <= 1 + 1e-14);
                    }
                }
            }
}

/* δ_t(s) is the largest Pr[hit] − e^s·Pr[false alarm] on the curve. */
static void delta_of_the_null(void **state) {
    (void)state;
    static const struct {
        const char *family;
        double t, delta;
    } cases[] = {{"dp", 1.3, 0}, {"dp", 0.5, 0.01}, {"gaussian", 0.8, 1e-5}, {"laplace", 1.1, 0}};
    for (int c = 0; c < 4; ++c) {
        dpa__model model;
        dpa__member null;
        assert_ok(dpa__model_open(cases[c].family, cases[c].delta, &model, NULL));
        assert_ok(dpa__member_open(&model, cases[c].t, &null, NULL));
        for (double s = 0; s < 2; s += 0.25) {
            double most = 0;
            for (double x = 0; x <= null.end; x += 1e-5)
                most = fmax(most, 1 - dpa__member_fnr(&null, x, null.end - x) - exp(s) * x);
            const double got = dpa__null_delta(&null, s);
            assert_true(got >= most - 1e-12);
            assert_absolute(got, most, 1e-4);
        }
        dpa__member_close(&null);
        dpa__model_close(&model);
    }
}

/* The slopes of a Gaussian stage are what 20 bisections of δ_t(s) = share·δ_t(0) find, to the bit.
 */
static double bisected(const dpa__member *null, double goal) {
    double low = 0, high = 0.125;
    while (high < 40 && dpa__null_delta(null, high) > goal) high *= 2;
    high = fmin(high, 40);
    for (int i = 0; i < 20; ++i) {
        const double middle = 0.5 * (low + high);
        *(dpa__null_delta(null, middle) > goal ? &low : &high) = middle;
    }
    return high;
}

static void slopes_by_bisection(void **state) {
    (void)state;
    static const double shares[] = {0.65, 0.3, 0.08};
    double member[200], nonmember[200];
    unsigned found = 0;
    for (int i = 0; i < 200; ++i) {
        nonmember[i] = (i - 100) / 40.0;
        member[i] = nonmember[i] + 2.5;
    }
    for (double cap = 0.01; cap < 3; cap *= 1.3) {
        dpa__model model;
        dpa__member null;
        dpa__stage stage = {.kept = 1};
        double aim;
        const dpa__past past = {member, nonmember, 200, 2000, log(20), NAN, cap, cap};
        assert_ok(dpa__model_open("gaussian", 1e-5, &model, NULL));
        assert_ok(dpa__stage_plan(&model, &past, &stage, &aim, NULL));
        assert_ok(dpa__member_open(&model, aim, &null, NULL));
        for (uint64_t j = 0; j < stage.count; ++j) {
            int is_one = stage.bet[j].slope == 0;
            for (int i = 0; i < 3 && !is_one; ++i)
                is_one = fabs(stage.bet[j].slope) ==
                         bisected(&null, shares[i] * dpa__null_delta(&null, 0));
            assert_true(is_one);
            found += stage.bet[j].slope != 0;
        }
        dpa__member_close(&null);
        dpa__model_close(&model);
    }
    assert_true(found > 60);
}

/* ── exact enumeration ─────────────────────────────────────────────────────────────────────── */

/* All outcomes of n pairs of guesses, for rates on the curve: the mean of the wealth, and the
 * probability that it ever reached 1/p. The audit learns from its own past in every branch. */
typedef struct tree {
    dpa_request request;
    double hit, alarm;
    double mean, ruin; /* of wealth, of ever having 5/4, which six pairs can reach */
    int refuted;
    int reached[16], guess[2][16];
} tree;

static void walk(tree *t, int depth, int pairs, double chance) {
    if (depth == pairs) {
        dpa_sequential *audit;
        double wealth = 0;
        int reached = 0, refuted = 0;
        assert_ok(dpa__sequential_new(&t->request, &audit, NULL));
        for (int i = 0; i < pairs; ++i) {
            assert_ok(dpa__sequential_push(audit, 1, t->guess[1][i], NULL));
            assert_ok(dpa__sequential_push(audit, 0, t->guess[0][i], NULL));
            assert_ok(dpa__sequential_log_e(audit, t->request.claim_epsilon, &wealth, NULL));
            reached |= wealth >= log(1.25);
            refuted |= wealth >= -log1p(-t->request.confidence);
        }
        assert_int_equal(refuted, dpa__sequential_refuted(audit));
        t->refuted |= refuted;
        t->mean += chance * exp(wealth);
        t->ruin += chance * reached;
        dpa__sequential_free(audit);
        return;
    }
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) {
            const double part = (a ? t->hit : 1 - t->hit) * (b ? t->alarm : 1 - t->alarm);
            t->guess[1][depth] = a;
            t->guess[0][depth] = b;
            walk(t, depth + 1, pairs, chance * part);
        }
}

static void enumeration(void **state) {
    (void)state;
    enum { PAIRS = 6 };
    /* the curve of (ε,0)-DP with this e^ε passes through the point, but for the diagonal ones */
    static const double points[][3] = {{3, 0.6, 0.2},     {3, 0.75, 0.25}, {3, 0.9, 0.7},
                                       {3, 0.5, 0.5},     {1, 0.5, 0.5},   {1.25, 0.25, 0.2},
                                       {1.25, 0.9, 0.875}};
    int refuted = 0;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        tree t = {.request = request_of("dp", 0, log(points[i][0])),
                  .hit = points[i][1],
                  .alarm = points[i][2]};
        t.request.confidence = 0.5;
        (void)snprintf(t.request.select, sizeof t.request.select, "fixed:0.5");
        walk(&t, 0, PAIRS, 1);
        print_message("hit %.2f, false alarm %.2f: mean wealth %.6f, ever at 5/4: %.4f\n", t.hit,
                      t.alarm, t.mean, t.ruin);
        assert_true(t.mean <= 1 + 1e-12);
        assert_true(t.mean > 0.8);
        assert_true(t.ruin <= 0.8);
        assert_true(t.ruin > 0);
        refuted |= t.refuted;
    }
    assert_true(refuted); /* the barrier of the confidence is reached, too */
}

/* ── the same from any order, in any pieces ────────────────────────────────────────────────── */

static void order_of_classes(void **state) {
    (void)state;
    enum { PAIRS = 150 };
    const dpa_request request = request_of("gaussian", 1e-5, 2);
    dpa_sequential *by_turns = audit_of(&request, 3, PAIRS), *members_first, *mixed;
    dpa_sequential_now now, other;
    assert_ok(dpa__sequential_new(&request, &members_first, NULL));
    assert_ok(dpa__sequential_new(&request, &mixed, NULL));
    for (int c = 1; c >= 0; --c)
        for (uint64_t i = 0; i < PAIRS; ++i)
            assert_ok(dpa__sequential_push(members_first, c, score_of(3, c, i), NULL));
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    uint64_t next[2] = {0, 0};
    while (next[0] + next[1] < 2 * PAIRS) {
        int c = (int)dpa__rng_below(&rng, 2);
        if (next[c] == PAIRS) c = !c;
        assert_ok(dpa__sequential_push(mixed, c, score_of(3, c, next[c]), NULL));
        ++next[c];
        if (next[0] % 7 == 0) assert_ok(dpa__sequential_look(mixed, &other, NULL));
    }
    assert_ok(dpa__sequential_look(by_turns, &now, NULL));
    assert_ok(dpa__sequential_look(members_first, &other, NULL));
    assert_memory_equal(&now, &other, sizeof now);
    assert_ok(dpa__sequential_look(mixed, &other, NULL));
    assert_memory_equal(&now, &other, sizeof now);
    assert_int_equal(now.pairs, PAIRS);
    assert_true(now.epsilon_lower > 1);
    dpa__sequential_free(by_turns);
    dpa__sequential_free(members_first);
    dpa__sequential_free(mixed);
}

/* ── numbers ───────────────────────────────────────────────────────────────────────────────── */

/* A perfect attack on guesses: how fast can a claim be refuted? Clopper–Pearson needs about 3e^ε
 * runs of each kind for the low corner. */
static void perfect_attack(void **state) {
    (void)state;
    static const double claims[] = {0, 1, 2, 4};
    for (int c = 0; c < 4; ++c) {
        dpa_request request = request_of("dp", 0, claims[c]);
        dpa_sequential *audit;
        dpa_sequential_now now;
        (void)snprintf(request.select, sizeof request.select, "fixed:0.5");
        assert_ok(dpa__sequential_new(&request, &audit, NULL));
        while (!dpa__sequential_refuted(audit)) {
            assert_ok(dpa__sequential_push(audit, 1, 1, NULL));
            assert_ok(dpa__sequential_push(audit, 0, 0, NULL));
        }
        assert_ok(dpa__sequential_look(audit, &now, NULL));
        print_message("perfect attack: ε = %g falls after %d pairs\n", claims[c], (int)now.pairs);
        assert_true(now.epsilon_lower >= claims[c]);
        assert_true(now.p_value <= 0.05);
        assert_true((double)now.pairs < 20 + 6 * exp(claims[c]));
        dpa__sequential_free(audit);
    }
}

/* δ of a Gaussian pair at s from the error function. */
static double gaussian_delta(double mu, double s) {
    return 0.5 * erfc((s / mu - mu / 2) / sqrt(2)) -
           exp(s) * 0.5 * erfc((s / mu + mu / 2) / sqrt(2));
}

/* Pair by pair from the scores and the bets of the stages, without cells. */
static void wealth_by_hand(void **state) {
    (void)state;
    const dpa_request request = request_of("gaussian", 1e-5, NAN);
    const double mu = 0.7;
    dpa_sequential *audit = audit_of(&request, 33, 500);
    double log_wealth = 0, got;
    for (uint64_t i = 0; i < 500; ++i) {
        const double in = score_of(33, 1, i), out = score_of(33, 0, i);
        size_t at = audit->stage_count - 1;
        while (audit->stages[at].first > i) --at;
        const dpa__stage *stage = &audit->stages[at];
        double wealth = stage->kept;
        for (uint64_t j = 0; j < stage->count; ++j) {
            const dpa__bet *b = &stage->bet[j];
            const double k = exp(fabs(b->slope)), delta = gaussian_delta(mu, fabs(b->slope));
            const int good = b->slope >= 0 ? in >= b->threshold : out < b->threshold;
            const int bad = b->slope >= 0 ? out >= b->threshold : in < b->threshold;
            wealth += b->share * (1 + b->size * (good - (k * b->point + delta))) *
                      (1 + b->size * k * (b->point - bad));
        }
        log_wealth += log(wealth);
    }
    assert_ok(dpa__sequential_log_e(audit, dpa_gaussian_epsilon(mu, 1e-5), &got, NULL));
    assert_true(log_wealth > 3);
    assert_absolute(got, log_wealth, 1e-8);
    dpa__sequential_free(audit);
}

static void wealth_falls_with_epsilon(void **state) {
    (void)state;
    const char *const families[] = {"dp", "gaussian", "laplace"};
    for (int f = 0; f < 3; ++f) {
        const dpa_request request = request_of(families[f], 1e-5, NAN);
        dpa_sequential *audit = audit_of(&request, 5, 300);
        dpa_sequential_now now;
        double last = HUGE_VAL, wealth;
        assert_ok(dpa__sequential_look(audit, &now, NULL));
        for (double epsilon = 0; epsilon < 6; epsilon += 0.1) {
            assert_ok(dpa__sequential_log_e(audit, epsilon, &wealth, NULL));
            assert_true(wealth <= last + 1e-12);
            last = wealth;
            /* the best bound so far may exceed what the wealth says now, but is never below it */
            if (wealth >= log(20)) assert_true(now.epsilon_lower >= epsilon);
        }
        assert_true(isnan(now.p_value) && isnan(now.log_e_value));
        dpa__sequential_free(audit);
    }
}

static void odd_scores(void **state) {
    (void)state;
    const dpa_request request = request_of("gaussian", 1e-5, 1);
    const double odd[] = {NAN, HUGE_VAL, -HUGE_VAL, 0, -0.0, 1e308, -1e308, 7, 7, 7};
    dpa_sequential *audit;
    dpa_sequential_now now;
    assert_ok(dpa__sequential_new(&request, &audit, NULL));
    for (int i = 0; i < 400; ++i) {
        assert_ok(dpa__sequential_push(audit, 1, odd[i % 10], NULL));
        assert_ok(dpa__sequential_push(audit, 0, odd[(3 * i) % 10], NULL));
    }
    assert_ok(dpa__sequential_look(audit, &now, NULL));
    assert_true(now.epsilon_lower == 0);
    assert_true(isfinite(now.log_e_value));
    dpa__sequential_free(audit);
    /* all NaN: nothing but losses */
    assert_ok(dpa__sequential_new(&request, &audit, NULL));
    for (int i = 0; i < 100; ++i) {
        assert_ok(dpa__sequential_push(audit, i % 2, NAN, NULL));
        assert_ok(dpa__sequential_look(audit, &now, NULL));
    }
    assert_true(now.epsilon_lower == 0);
    dpa__sequential_free(audit);
}

static void refusals(void **state) {
    (void)state;
    dpa_sequential *audit;
    dpa_error err;
    dpa_request request = request_of("", 1e-5, NAN);
    assert_int_equal(dpa__sequential_new(&request, &audit, &err), DPA_BAD_ARGUMENT);
    assert_null(audit);
    request = request_of("gaussian", 1e-5, NAN);
    (void)snprintf(request.select, sizeof request.select, "max");
    assert_int_equal(dpa__sequential_new(&request, &audit, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "earlier trials"));
    request.select[0] = '\0';
    request.sides = 2;
    assert_int_equal(dpa__sequential_new(&request, &audit, &err), DPA_BAD_ARGUMENT);
    request.sides = 1;
    double sorted[40];
    for (int i = 0; i < 40; ++i) sorted[i] = i;
    dpa_scores scores = {.member = sorted, .nonmember = sorted, .members = 40, .nonmembers = 40};
    dpa_results results = {0};
    assert_int_equal(dpa__estimate_sequential(&scores, &request, &results, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "sorted"));
    dpa__results_free(&results);
}

static void as_a_method(void **state) {
    (void)state;
    double member[120], nonmember[100];
    for (uint64_t i = 0; i < 120; ++i) member[i] = score_of(21, 1, i);
    for (uint64_t i = 0; i < 100; ++i) nonmember[i] = score_of(21, 0, i);
    const dpa_request request = request_of("gaussian", 1e-5, 1);
    dpa_evidence evidence;
    dpa_claim claim;
    dpa_protocol protocol;
    dpa_report *report;
    dpa_sequential_now now;
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&evidence, "members", member, 120, NULL));
    assert_ok(dpa_evidence_copy(&evidence, "nonmembers", nonmember, 100, NULL));
    dpa_claim_init(&claim);
    claim.epsilon = 1;
    dpa__protocol_init(&protocol);
    assert_ok(dpa_protocol_set(&protocol, "family", "gaussian", NULL));
    assert_ok(dpa_protocol_set(&protocol, "method", "sequential", NULL));
    assert_ok(dpa_judge(&evidence, &claim, &protocol, &report, NULL));
    const dpa_result *result = dpa_report_primary(report);
    assert_non_null(result);
    dpa_sequential *audit = audit_of(&request, 21, 100);
    assert_ok(dpa__sequential_look(audit, &now, NULL));
    assert_true(result->epsilon_lower == now.epsilon_lower);
    assert_true(result->p_value == now.p_value);
    assert_true(result->assumptions & DPA_ASSUME_ORDER_OF_ARRIVAL);
    assert_non_null(strstr(result->note, "20 scores"));
    dpa__sequential_free(audit);
    dpa_report_free(report);
    dpa__evidence_clear(&evidence);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payments_are_fair),   cmocka_unit_test(delta_of_the_null),
        cmocka_unit_test(slopes_by_bisection), cmocka_unit_test(enumeration),
        cmocka_unit_test(order_of_classes),    cmocka_unit_test(perfect_attack),
        cmocka_unit_test(wealth_by_hand),      cmocka_unit_test(wealth_falls_with_epsilon),
        cmocka_unit_test(odd_scores),          cmocka_unit_test(refusals),
        cmocka_unit_test(as_a_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
