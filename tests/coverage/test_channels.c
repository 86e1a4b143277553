/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries of one training, each with a coordinate of its own: how much ranks show, and how often
 * they refute a true claim. Each canary is put in by a coin and sampled in each step; the gradients
 * of the data depend on the weights of all coordinates. The quick test plays few trainings; `full`
 * computes the numbers of docs/coverage.md (some minutes). */
#include "check.h"

#include <string.h>

#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/power.h"
#include "estimate/ranks/rank.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "prepared.h"
#include "tradeoff/tradeoff.h"

static int is_full;

enum { MOST = 10000 };

typedef struct training {
    const char *name;
    double q, sigma;
    int steps;
    double data;     /* size of the data's gradients */
    int is_known;    /* the attacker knows and subtracts them */
    double momentum; /* momentum of the optimiser */
    int sees_end;    /* only the weights after the last step are seen */
} training;

/* The log likelihood ratio of one step's observation. */
static double evidence_of(const training *t, double seen) {
    const double square = t->sigma * t->sigma;
    if (t->q >= 1) return seen / square;
    return log1p(t->q * expm1((seen - 0.5) / square));
}

/* Computes scores and coins of one training. */
static void train(const training *t, size_t m, dpa_rng *rng, double *score, int *coin) {
    static double weight[MOST], speed[MOST], known[MOST], known_speed[MOST], before[MOST];
    for (size_t i = 0; i < m; ++i) {
        coin[i] = dpa__rng_uniform(rng) < 0.5;
        score[i] = weight[i] = speed[i] = known[i] = known_speed[i] = 0;
    }
    for (int s = 0; s < t->steps; ++s) {
        memcpy(before, weight, m * sizeof *weight);
        for (size_t i = 0; i < m; ++i) {
            const double data =
                t->data * (sin(3 * before[i] + before[(i + 1) % m]) + 0.2 * cos((double)i));
            const int is_sampled = coin[i] && (t->q >= 1 || dpa__rng_uniform(rng) < t->q);
            const double sum = is_sampled + data + t->sigma * dpa__rng_normal(rng);
            speed[i] = t->momentum * speed[i] + sum;
            known_speed[i] = t->momentum * known_speed[i] + data;
            weight[i] += speed[i];
            known[i] += known_speed[i];
            score[i] += evidence_of(t, sum - (t->is_known ? data : 0));
        }
    }
    for (size_t i = 0; i < m && t->sees_end; ++i)
        score[i] = weight[i] - (t->is_known ? known[i] : 0);
}

static dpa_scores play(const training *t, size_t m, uint64_t index) {
    static double score[MOST], in[MOST], out[MOST];
    static int coin[MOST];
    size_t members = 0, others = 0;
    dpa_rng rng;
    dpa__rng_init(&rng, 31, DPA_PURPOSE_TEST, index);
    train(t, m, &rng, score, coin);
    for (size_t i = 0; i < m; ++i) *(coin[i] ? &in[members++] : &out[others++]) = score[i];
    return prepared(in, members, out, others);
}

/* ── how much they show ────────────────────────────────────────────────────────────────────── */

static void show(const training *t, size_t m, int audits, const char *family, double least) {
    double sum = 0, squares = 0;
    for (int a = 0; a < audits; ++a) {
        dpa_scores scores = play(t, m, (uint64_t)a);
        dpa_request request;
        dpa_result result;
        dpa__request_init(&request);
        (void)snprintf(request.family, sizeof request.family, "%s", family);
        assert_ok(dpa__one_run_channels(&scores, &request, &result, NULL));
        sum += result.epsilon_lower;
        squares += result.epsilon_lower * result.epsilon_lower;
        dpa__scores_free(&scores);
    }
    const double mean = sum / audits, error = sqrt((squares / audits - mean * mean) / audits);
    print_message("| %s | %zu | %d | %.3f | %.3f | %.1f |\n", t->name, m, audits, mean, error,
                  least);
    assert_true(mean >= least);
}

static void test_means(void **state) {
    const training once = {"one step, σ 1 (truth 4.38)", 1, 1, 1, 0, 1, 0, 0};
    const training sampled = {"q 0.1, 100 steps, σ 1.3 (truth 4.44)", 0.1, 1.3, 100, 0, 1, 0, 0};
    (void)state;
    show(&once, 1000, is_full ? 200 : 4, "gaussian", is_full ? 3.7 : 2.9); /* one: ±0.36 */
    if (!is_full) return;
    show(&once, 10000, 200, "gaussian", 4.1);
    show(&sampled, 1000, 200, "subsampled-gaussian:q=0.1,steps=100", 3.5);
}

/* What plan says they show: the share of trainings in which ε ≤ 1 is refuted. */
static void test_power(void **state) {
    const training once = {"one step, σ 1", 1, 1, 1, 0, 1, 0, 0};
    const int audits = is_full ? 4000 : 100;
    const double delta = 1e-5, claimed = 1;
    const size_t m = 60;
    dpa_plan plan;
    dpa_plan_answer answer;
    int refuted = 0;
    (void)state;
    dpa__plan_init(&plan);
    plan.game = DPA_PLAN_ONE_RUN;
    plan.method = DPA__CHANNELS;
    plan.family = "gaussian";
    plan.delta = delta;
    plan.claim_epsilon = claimed;
    plan.truth_epsilon = dpa_gaussian_epsilon(1, delta);
    assert_ok(dpa__ask_power(&plan, m, &answer, NULL));
    for (int a = 0; a < audits; ++a) {
        dpa_scores scores = play(&once, m, 5000 + (uint64_t)a);
        dpa_request request;
        dpa_result result;
        dpa__request_init(&request);
        (void)snprintf(request.family, sizeof request.family, "%s", plan.family);
        assert_ok(dpa__one_run_channels(&scores, &request, &result, NULL));
        refuted += result.epsilon_lower > claimed;
        dpa__scores_free(&scores);
    }
    const double share = (double)refuted / audits, p = answer.power;
    const double error = sqrt(p * (1 - p) / audits + answer.error * answer.error);
    print_message("| ε ≤ 1 refuted, %s (truth 4.38) | %zu | %d | %.1f | %.1f | %.1f |\n", once.name,
                  m, audits, 100 * share, 100 * error, 100 * p);
    assert_true(p > 0.5 && p < 0.95 && fabs(share - p) < 4 * error);
}

/* ── how often they are wrong ──────────────────────────────────────────────────────────────── */

/* Tests scores with Mann–Whitney statistic u against the curve. */
static int is_refuted(size_t members, size_t others, double u, const dpa_curve *curve) {
    static double in[MOST], out[MOST];
    const dpa_scores scores = {in, out, members, others, 1, {"", ""}};
    dpa_request request;
    double p;
    for (size_t j = 0; j < others; ++j) out[j] = (double)j;
    for (size_t i = members; i > 0; --i) { /* in ascending order */
        const double above = fmin(u, (double)others);
        in[i - 1] = above - 0.5;
        u -= above;
    }
    dpa__request_init(&request);
    assert_ok(dpa__rank_p_value(&scores, curve, &request, &p, NULL));
    return p <= 0.05;
}

static double least_refuted(size_t members, size_t others, const dpa_curve *curve) {
    double low = 0, high = (double)members * (double)others;
    while (high - low > 1) {
        const double middle = floor(0.5 * (low + high));
        *(is_refuted(members, others, middle, curve) ? &high : &low) = middle;
    }
    return high;
}

static double u_of(const dpa_scores *s) {
    double u = 0;
    size_t below = 0;
    for (size_t i = 0; i < s->members; ++i) {
        while (below < s->nonmembers && s->nonmember[below] < s->member[i]) ++below;
        u += (double)below;
    }
    return u;
}

/* The claim is the training's own curve. The number of members varies with the coins, so the least
 * U that refutes is cached for each number. */
static void check_error(const training *t, size_t m, int trainings, int is_sharp) {
    double least[200];
    dpa_curve *curve;
    int wrong = 0;
    for (size_t n = 0; n <= m; ++n) least[n] = -1;
    if (t->q < 1) {
        dpa_family *family;
        char spec[80];
        (void)snprintf(spec, sizeof spec, "subsampled-gaussian:q=%g,steps=%d", t->q, t->steps);
        assert_ok(dpa__family_parse(spec, 1e-5, &family, NULL));
        assert_ok(dpa__family_curve(family, dpa__family_t(family, t->sigma), &curve, NULL));
        dpa__family_free(family);
    } else {
        assert_ok(dpa_curve_gaussian(sqrt(t->steps) / t->sigma, &curve, NULL));
    }
    for (int a = 0; a < trainings; ++a) {
        dpa_scores s = play(t, m, (uint64_t)a + 1000000);
        double *limit = &least[s.members];
        if (*limit < 0) *limit = least_refuted(s.members, s.nonmembers, curve);
        wrong += u_of(&s) >= *limit;
        dpa__scores_free(&s);
    }
    dpa_curve_free(curve);
    const double share = (double)wrong / trainings, error = sqrt(0.05 * 0.95 / trainings);
    print_message("| %s | %zu | %d | %.2f | %.2f |\n", t->name, m, trainings, 100 * share,
                  100 * error);
    assert_true(share <= 0.05 + 3 * error);
    if (is_sharp) assert_true(share >= 0.045 - 3 * error);
}

static void test_errors(void **state) {
    const training all[] = {
        {"every step seen, q 0.1, no data", 0.1, 1.3, 100, 0, 1, 0, 0},
        {"every step seen, q 0.1, data subtracted", 0.1, 1.3, 100, 1, 1, 0, 0},
        {"every step seen, q 0.1, data not subtracted", 0.1, 1.3, 100, 1, 0, 0, 0},
        {"every step seen, q 0.1, data subtracted, momentum", 0.1, 1.3, 100, 1, 1, 0.9, 0},
        {"final model only, data subtracted", 1, 5, 20, 1, 1, 0, 1},
        {"final model only, data not subtracted", 1, 5, 20, 1, 0, 0, 1},
        {"final model only, momentum, data subtracted", 1, 5, 20, 1, 1, 0.9, 1},
        {"final model only, momentum, data not subtracted", 1, 5, 20, 1, 0, 0.9, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (!is_full && i != 4 && i != 7) continue;
        check_error(&all[i], is_full ? 100 : 16, is_full ? 10000 : 1500,
                    (i < 2 || i == 3 || i == 4) && is_full);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_means), cmocka_unit_test(test_power),
                                       cmocka_unit_test(test_errors)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
