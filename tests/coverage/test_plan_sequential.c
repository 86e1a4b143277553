/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of sequential audits, compared with all outcomes of twelve pairs and with audits simulated
 * here; the detected leak with the power there, and the largest bound with the most that any bet
 * can win. */
#include "check.h"

#include "base/rng.h"
#include "estimate/plan/power.h"
#include "estimate/sequential/sequential.h"
#include "report/model/report.h"
#include "tradeoff/tradeoff.h"

static dpa_plan plan_of(const char *family, double claim, double suspected) {
    dpa_plan plan;
    dpa__plan_init(&plan);
    plan.method = "sequential";
    plan.family = family;
    plan.claim_epsilon = claim;
    plan.truth_epsilon = suspected;
    return plan;
}

static dpa_sequential *audit_of(const dpa_plan *plan, double claim) {
    dpa_request request;
    dpa_sequential *audit;
    dpa__request_init(&request);
    request.delta = plan->delta;
    request.confidence = plan->confidence;
    request.claim_epsilon = claim;
    (void)snprintf(request.family, sizeof request.family, "%s", plan->family);
    assert_ok(dpa__sequential_new(&request, &audit, NULL));
    return audit;
}

/* ── every outcome ─────────────────────────────────────────────────────────────────────────── */

/* Randomised response has four outcomes per pair. What an audit does next depends on the number of
 * accusations so far and on the wealth, not on their order, so states that agree in these (the
 * wealth against four ε, which determine the bets) are merged. */
enum { PAIRS = 12, NULLS = 4, MOST_STATES = 40000 };

typedef struct state {
    int accused[2];
    double log_e[NULLS], chance;
    int outcomes[PAIRS]; /* one way that leads here */
} state;

static int same_state(const state *a, const state *b) {
    if (a->accused[0] != b->accused[0] || a->accused[1] != b->accused[1]) return 0;
    for (int i = 0; i < NULLS; ++i)
        if (fabs(a->log_e[i] - b->log_e[i]) > 1e-9) return 0;
    return 1;
}

typedef struct level {
    state *items;
    size_t count;
} level;

static void add_state(level *to, const state *s) {
    for (size_t i = 0; i < to->count; ++i)
        if (same_state(&to->items[i], s)) {
            to->items[i].chance += s->chance;
            return;
        }
    assert_true(to->count < MOST_STATES);
    to->items[to->count++] = *s;
}

/* The probability that this outcome of pair number `pair` ends the audit; otherwise the state is
 * kept. */
static double try_outcome(const dpa_plan *plan, const state *from, int pair, int outcome,
                          level *to) {
    static const double nulls[NULLS] = {0, 0.2, 0.6, 1.5};
    const double right = 1 / (1 + exp(-plan->truth_epsilon));
    const int member = outcome & 1, nonmember = outcome >> 1;
    dpa_sequential *audit = audit_of(plan, plan->claim_epsilon);
    state next = *from;
    next.accused[0] += nonmember;
    next.accused[1] += member;
    next.chance *= (member ? right : 1 - right) * (nonmember ? 1 - right : right);
    next.outcomes[pair] = outcome;
    for (int i = 0; i <= pair; ++i) {
        assert_ok(dpa__sequential_push(audit, 1, next.outcomes[i] & 1, NULL));
        assert_ok(dpa__sequential_push(audit, 0, next.outcomes[i] >> 1, NULL));
    }
    const int is_refuted = dpa__sequential_refuted(audit);
    if (!is_refuted) {
        for (int i = 0; i < NULLS; ++i)
            assert_ok(dpa__sequential_log_e(audit, nulls[i], &next.log_e[i], NULL));
        add_state(to, &next);
    }
    dpa__sequential_free(audit);
    return is_refuted ? next.chance : 0;
}

/* power[n]: the probability that n pairs refute. */
static void enumerate(const dpa_plan *plan, double power[PAIRS + 1]) {
    level now = {calloc(MOST_STATES, sizeof(state)), 1};
    level next = {calloc(MOST_STATES, sizeof(state)), 0};
    now.items[0].chance = 1;
    power[0] = 0;
    for (int n = 1; n <= PAIRS; ++n) {
        power[n] = power[n - 1];
        for (size_t i = 0; i < now.count; ++i)
            for (int o = 0; o < 4; ++o)
                power[n] += try_outcome(plan, &now.items[i], n - 1, o, &next);
        const level swap = now;
        now = next;
        next = swap;
        next.count = 0;
    }
    free(now.items);
    free(next.items);
}

static void every_outcome(void **unused) {
    (void)unused;
    double exact[PAIRS + 1], mean = 0;
    dpa_plan_stops stops;
    dpa_plan plan = plan_of("dp", 0.1, 2.5);
    plan.truth = "dp";
    plan.delta = 0;
    plan.confidence = 0.7;
    plan.audits = 2000;
    enumerate(&plan, exact);
    uint64_t sizes[PAIRS];
    dpa_plan_answer answers[PAIRS];
    for (uint64_t n = 1; n <= PAIRS; ++n) sizes[n - 1] = n;
    assert_ok(dpa__plan_curve(&plan, sizes, PAIRS, answers, NULL));
    for (int n = 1; n <= PAIRS; ++n) {
        const dpa_plan_answer *a = &answers[n - 1];
        print_message("%2d pairs: exactly %.5f, plan %.5f ± %.5f\n", n, exact[n], a->power,
                      a->error);
        assert_absolute(a->power, exact[n], 3.5 * a->error);
        mean += 1 - exact[n - 1];
    }
    assert_between(exact[PAIRS], 0.5, 0.98);
    /* the mean of min{T, 12}: audits without a result count as 12, so only the median can be
     * compared */
    assert_true(mean > 4 && mean < PAIRS);
    assert_ok(dpa__ask_stop(&plan, PAIRS, &stops, NULL));
    assert_true(isinf(stops.mean) && isnan(stops.mean_error));
    assert_true(exact[(int)stops.median] > 0.46 && exact[(int)stops.median - 1] < 0.54);
}

/* ── simulated audits ──────────────────────────────────────────────────────────────────────── */

enum { AUDITS = 300 };

typedef struct sample {
    double stop[AUDITS];
} sample;

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Laplace noise (mu = 0) or a normal shift. */
static double score_of(int is_member, double mu, double epsilon0, dpa_rng *rng) {
    if (mu > 0) return mu * is_member + dpa__rng_normal(rng);
    const double size = -log(dpa__rng_uniform(rng)) / epsilon0;
    return is_member + (dpa__rng_below(rng, 2) == 1 ? size : -size);
}

static void draw_sample(const dpa_plan *plan, double claim, double mu, double epsilon0,
                        sample *out) {
    for (uint64_t i = 0; i < AUDITS; ++i) {
        dpa_sequential *audit = audit_of(plan, claim);
        dpa_rng rng;
        uint64_t pairs = 0;
        dpa__rng_init(&rng, 77, DPA_PURPOSE_TEST, i);
        while (!dpa__sequential_refuted(audit)) {
            for (int c = 0; c < 2; ++c)
                assert_ok(dpa__sequential_push(audit, c, score_of(c, mu, epsilon0, &rng), NULL));
            assert_true(++pairs < 5000);
        }
        dpa_sequential_now now;
        assert_ok(dpa__sequential_look(audit, &now, NULL));
        assert_int_equal(now.refuted_at, pairs);
        out->stop[i] = (double)pairs;
        dpa__sequential_free(audit);
    }
    qsort(out->stop, AUDITS, sizeof out->stop[0], rising);
}

static void compare(const char *name, const dpa_plan *plan, const sample *s) {
    dpa_plan_stops stops;
    dpa_plan_answer at;
    double sum = 0, squares = 0, by = 0;
    for (int i = 0; i < AUDITS; ++i) sum += s->stop[i];
    const double mean = sum / AUDITS;
    for (int i = 0; i < AUDITS; ++i) squares += (s->stop[i] - mean) * (s->stop[i] - mean);
    const double error = sqrt(squares / (AUDITS - 1.0) / AUDITS);
    assert_ok(dpa__ask_stop(plan, 5000, &stops, NULL));
    assert_int_equal(stops.refuted, plan->audits);
    assert_ok(dpa__ask_power(plan, (uint64_t)mean, &at, NULL));
    for (int i = 0; i < AUDITS; ++i) by += s->stop[i] <= floor(mean);
    const double median = s->stop[AUDITS / 2], late = s->stop[9 * AUDITS / 10];
    print_message("| %s | mean %.1f±%.1f, %.1f±%.1f | median %.0f±%.1f, %.0f | nine in ten "
                  "%.0f±%.1f, %.0f | power %.3f±%.3f, %.3f |\n",
                  name, stops.mean, stops.mean_error, mean, error, stops.median, stops.median_error,
                  median, stops.late, stops.late_error, late, at.power, at.error, by / AUDITS);
    assert_absolute(mean, stops.mean, 3.5 * hypot(error, stops.mean_error));
    assert_absolute(stops.mean_error, error * sqrt((double)AUDITS / (double)plan->audits),
                    0.4 * error * sqrt((double)AUDITS / (double)plan->audits));
    assert_absolute(median, stops.median, 5 * stops.median_error + 1);
    assert_absolute(late, stops.late, 5 * stops.late_error + 1);
    assert_absolute(by / AUDITS, at.power, 3.5 * hypot(at.error, 0.029));
}

static void simulated_audits(void **unused) {
    (void)unused;
    static sample s;
    dpa_plan plan = plan_of("gaussian", 1, 8);
    draw_sample(&plan, 1, dpa_gaussian_mu(8, plan.delta), 0, &s);
    compare("gaussian, claim 1, truth 8", &plan, &s);
    plan = plan_of("dp", 0.5, 3);
    plan.truth = "laplace";
    plan.delta = 0;
    draw_sample(&plan, 0.5, 0, 3, &s);
    compare("dp, claim 0.5, Laplace noise with 3", &plan, &s);
    plan = plan_of("gaussian", NAN, NAN);
    plan.game = DPA_PLAN_STEPS;
    plan.claim_sigma = 1;
    plan.truth_sigma = 0.5;
    plan.q = 0.01;
    plan.steps = 1000;
    draw_sample(&plan, dpa_gaussian_epsilon(1, plan.delta), 2, 0, &s);
    compare("steps, claim σ 1, truth σ 0.5", &plan, &s);
}

/* ── size, leak, the largest bound ─────────────────────────────────────────────────────────── */

static void sizes_and_leaks(void **unused) {
    (void)unused;
    dpa_plan plan = plan_of("gaussian", 1, 8);
    dpa_plan_answer needed, one;
    dpa_plan_leak leak;
    dpa_plan_stops stops, single;
    assert_ok(dpa__ask_size(&plan, 0.8, 2000, &needed, NULL));
    assert_true(needed.power >= 0.8 && needed.power < 0.83);
    assert_ok(dpa__ask_power(&plan, needed.size - 1, &one, NULL));
    assert_true(one.power < 0.8);
    assert_ok(dpa__ask_detectable(&plan, needed.size, 0.8, &leak, NULL));
    assert_between(leak.error, 0.02, 1);
    assert_absolute(leak.epsilon, 8, 4 * leak.error);
    /* the same on one thread; another seed gives another result */
    assert_ok(dpa__ask_stop(&plan, 500, &stops, NULL));
    plan.threads = 1;
    assert_ok(dpa__ask_stop(&plan, 500, &single, NULL));
    assert_absolute(stops.mean, single.mean, 0);
    plan.seed = 2;
    assert_ok(dpa__ask_stop(&plan, 500, &single, NULL));
    assert_true(stops.mean != single.mean);
    /* a true claim is hardly ever refuted; few audits are enough to show that */
    plan.truth_epsilon = 1;
    assert_ok(dpa__ask_size(&plan, 0.8, 300, &needed, NULL));
    assert_int_equal(needed.size, 0);
    assert_true(needed.power <= 0.2 && needed.error > 0);
    assert_ok(dpa__ask_stop(&plan, 300, &stops, NULL));
    assert_true(stops.audits < plan.audits && isinf(stops.median));
    plan.audits = 0;
    assert_int_equal(dpa__ask_stop(&plan, 300, &stops, NULL), DPA_BAD_ARGUMENT);
    plan.audits = 2001;
    assert_int_equal(dpa__ask_stop(&plan, 300, &stops, NULL), DPA_BAD_ARGUMENT);
    plan.audits = 10;
    assert_int_equal(dpa__ask_stop(&plan, 0, &stops, NULL), DPA_BAD_ARGUMENT);
    plan.method = "cp";
    assert_int_equal(dpa__ask_stop(&plan, 300, &stops, NULL), DPA_BAD_ARGUMENT);
}

/* The most that a bet of any slope, point and size wins on a perfect pair against (t, 0)-DP. */
static double most_pay(double t) {
    double most = 1;
    for (int i = 0; i <= 40; ++i) {
        const double s = t * i / 40, k = exp(s), delta = -expm1(s - t) / (1 + exp(-t));
        for (int j = 0; j <= 400; ++j) {
            const double q = j / 400.0 * fmin(1, 4 / k);
            const double limit = fmin(1 / (1 + k * q), 1 / (k * (1 - q)));
            for (int l = 1; l <= 4; ++l) {
                const double size = limit * l / 4;
                most = fmax(most, (1 + size * (1 - k * q - delta)) * (1 + size * k * q));
            }
        }
    }
    return most;
}

/* No sequence of n pairs wins more than n times the best bet on a perfect pair. */
static void largest_bound(void **unused) {
    (void)unused;
    double before = 0;
    for (uint64_t n = 20; n <= 2000; n *= 10) {
        dpa_plan plan = plan_of("dp", 1, 4);
        double most, top = 0;
        plan.delta = 0;
        plan.truth = "laplace";
        assert_ok(dpa__ask_most(&plan, n, &most, NULL));
        while ((double)n * log(most_pay(top + 0.05)) >= log(20)) top += 0.05;
        print_message("%4.0f perfect pairs: %.4f, no bets above %.2f\n", (double)n, most, top);
        assert_true(most > before && most <= top + 0.05 && most > 0.3 * top);
        before = most;
        /* the audit itself */
        dpa_sequential *audit = audit_of(&plan, 1);
        dpa_sequential_now now;
        for (uint64_t i = 0; i < n; ++i) {
            assert_ok(dpa__sequential_push(audit, 0, -1, NULL));
            assert_ok(dpa__sequential_push(audit, 1, 5, NULL));
        }
        assert_ok(dpa__sequential_look(audit, &now, NULL));
        dpa__sequential_free(audit);
        assert_relative(most, now.epsilon_lower, 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome),
        cmocka_unit_test(sizes_and_leaks),
        cmocka_unit_test(largest_bound),
        cmocka_unit_test(simulated_audits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
