/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are plans right? Their power is compared with 1,000 simulated audits by the estimators themselves
 * in every game, and with every outcome of a small audit; sizes, detectable leaks, the ceiling and
 * precision with their definitions. */
#include "check.h"

#include "account/account.h"
#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/plan.h"
#include "estimate/plan/power.h"
#include "estimate/scores.h"
#include "tradeoff/tradeoff.h"

enum { AUDITS = 1000, MOST = 1024, DIM = 1000000 };

static dpa_request request_of(const dpa_plan *plan) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", plan->family);
    (void)snprintf(request.method, sizeof request.method, "%s", plan->method);
    request.delta = plan->delta;
    request.confidence = plan->confidence;
    request.threads = 1;
    return request;
}

static dpa_result from_counts(dpa_counts counts, const dpa_plan *plan) {
    const dpa_request request = request_of(plan);
    dpa_results results = {0};
    assert_ok(dpa__estimate_counts(&counts, &request, &results, NULL));
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* ── one simulated audit of each kind: returns 1 if it refutes the claim ───────────────────── */

/* The truth of the simulation: the shift of a normal score, or Laplace noise. */
typedef struct truth {
    double mu, epsilon0;
} truth;

static double laplace(dpa_rng *rng, double scale) {
    const double size = -scale * log(dpa__rng_uniform(rng));
    return dpa__rng_below(rng, 2) == 1 ? size : -size;
}

static dpa_counts draw_counts(const dpa_plan_answer *a, const truth *t, dpa_rng *rng) {
    dpa_counts c = {0};
    /* the same false positive rate on the scale of the noise */
    const double fpr = 0.5 * erfc(a->threshold / sqrt(2)), scale = 1 / t->epsilon0;
    const double cut = fpr < 0.5 ? -scale * log(2 * fpr) : scale * log(2 * (1 - fpr));
    for (uint64_t i = 0; i < a->size; ++i) {
        if (t->epsilon0 > 0) {
            c.tp += 1 + laplace(rng, scale) >= cut;
            c.fp += laplace(rng, scale) >= cut;
        } else {
            c.tp += t->mu + dpa__rng_normal(rng) >= a->threshold;
            c.fp += dpa__rng_normal(rng) >= a->threshold;
        }
    }
    c.fn = a->size - c.tp;
    c.tn = a->size - c.fp;
    return c;
}

static dpa_result from_ranks(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                             dpa_rng *rng) {
    double in[MOST], out[MOST];
    const dpa_request request = request_of(plan);
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_results results = {0};
    for (uint64_t i = 0; i < a->size; ++i) {
        in[i] = t->mu + dpa__rng_normal(rng);
        out[i] = dpa__rng_normal(rng);
    }
    assert_ok(dpa__scores_from(in, a->size, out, a->size, &scores, NULL));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
    assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return result;
}

static dpa_result observe(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                          dpa_rng *rng) {
    return strcmp(plan->method, "rank") == 0 ? from_ranks(plan, a, t, rng)
                                             : from_counts(draw_counts(a, t, rng), plan);
}

static int audit_runs(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                      dpa_rng *rng) {
    return observe(plan, a, t, rng).epsilon_lower > plan->claim_epsilon;
}

/* ε of the whole training with this noise. */
static double end_to_end(const dpa_plan *plan, double sigma, int side) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, plan->q, plan->steps};
    dpa_account *account = NULL;
    dpa_interval epsilon;
    assert_ok(dpa_account_new(&phase, 1, NULL, &account, NULL));
    assert_ok(dpa_account_epsilon(account, plan->delta, &epsilon, NULL));
    dpa_account_free(account);
    return side < 0 ? epsilon.lower : epsilon.upper;
}

/* Turning a step's bound on μ into ε needs the accountant, which is slow, so only few audits do it
 * and the others compare μ. */
static int audit_steps(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                       dpa_rng *rng) {
    static int left = 8;
    const double mu = observe(plan, a, t, rng).parameter_lower;
    const int refutes = mu > 1 / plan->claim_sigma;
    if (left > 0 && fabs(mu * plan->claim_sigma - 1) > 0.01) {
        --left;
        const double claim = end_to_end(plan, plan->claim_sigma, 1);
        assert_int_equal(end_to_end(plan, 1 / mu, -1) > claim, refutes);
    }
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

/* Canaries at +μ/2 or −μ/2 by a coin; the surest are guessed by their sign. */
static int audit_one_run(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                         dpa_rng *rng) {
    guess g[MOST];
    const dpa_request request = request_of(plan);
    dpa_one_run game = {a->size, 2, a->guesses, 0};
    dpa_result result;
    for (uint64_t i = 0; i < a->size; ++i) {
        const double side = dpa__rng_below(rng, 2) == 1 ? 1 : -1;
        const double score = side * t->mu / 2 + dpa__rng_normal(rng);
        g[i] = (guess){fabs(score), score * side > 0};
    }
    qsort(g, a->size, sizeof g[0], by_certainty);
    for (uint64_t i = 0; i < a->guesses; ++i) game.correct += (uint64_t)g[i].is_right;
    assert_ok(dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, NULL));
    return result.epsilon_lower > plan->claim_epsilon;
}

static int audit_cosines(const dpa_plan *plan, const dpa_plan_answer *a, const truth *t,
                         dpa_rng *rng) {
    double cosine[MOST];
    const double unit = 1 / sqrt((double)DIM);
    dpa_request request = request_of(plan);
    request.family[0] = '\0';
    if (strcmp(plan->method, "jeffreys-split") == 0) /* the command's default */
        (void)snprintf(request.method, sizeof request.method, "jeffreys");
    if (!isnan(a->threshold))
        (void)snprintf(request.select, sizeof request.select, "fixed:%.17g", a->threshold * unit);
    for (uint64_t i = 0; i < a->size; ++i) cosine[i] = unit * (t->mu + dpa__rng_normal(rng));
    const dpa_cosines cosines = {.observed = cosine, .observed_count = a->size, .dim = DIM};
    dpa_results results = {0};
    dpa_lints lints = {0};
    assert_ok(dpa__cosines_results(&cosines, &request, &results, &lints, NULL));
    assert_int_equal(results.count, 1);
    const int refutes = results.items[0].epsilon_lower > plan->claim_epsilon;
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    return refutes;
}

static int (*const audits[DPA_PLAN_GAMES])(const dpa_plan *, const dpa_plan_answer *, const truth *,
                                           dpa_rng *) = {audit_runs, audit_steps, audit_one_run,
                                                         audit_cosines};

static dpa_plan plan_of(dpa_plan_game game, const char *family, const char *method, double claim,
                        double suspected) {
    dpa_plan plan;
    dpa__plan_init(&plan);
    plan.game = game;
    plan.family = family;
    plan.method = method;
    plan.claim_epsilon = claim;
    plan.truth_epsilon = suspected;
    if (game != DPA_PLAN_STEPS) return plan;
    plan.claim_sigma = claim; /* for steps the claim is a noise */
    plan.truth_sigma = suspected;
    plan.claim_epsilon = plan.truth_epsilon = NAN;
    plan.q = 0.01;
    plan.steps = 1000;
    return plan;
}

static void simulated_audits(void **state) {
    (void)state;
    static const struct {
        dpa_plan_game game;
        const char *family, *method;
        double claim, truth; /* ε; for steps σ */
        uint64_t n;
        const char *truth_family;
    } rows[] = {
        {DPA_PLAN_RUNS, "dp", "cp", 1, 4, 600, ""},
        {DPA_PLAN_RUNS, "dp", "jeffreys", 1, 4, 600, ""},
        {DPA_PLAN_RUNS, "dp", "bayes", 1, 4, 300, ""},
        {DPA_PLAN_RUNS, "dp", "katz", 1, 2, 60, "laplace"},
        {DPA_PLAN_RUNS, "dp", "inverse-sinh", 1, 2, 60, "laplace"},
        {DPA_PLAN_RUNS, "gaussian", "cp", 1, 4, 100, ""},
        {DPA_PLAN_RUNS, "gaussian", "jeffreys", 4, 10, 40, ""},
        {DPA_PLAN_RUNS, "gaussian", "bayes", 1, 4, 40, ""},
        {DPA_PLAN_RUNS, "gaussian", "rank", 1, 4, 30, ""},
        {DPA_PLAN_RUNS, "laplace", "cp", 1, 2, 100, "laplace"},
        {DPA_PLAN_STEPS, "gaussian", "cp", 1, 0.8, 700, ""},
        {DPA_PLAN_STEPS, "gaussian", "bayes", 1, 0.8, 300, ""},
        {DPA_PLAN_ONE_RUN, "dp", "either", 1, 4, 300, ""},
        {DPA_PLAN_ONE_RUN, "gaussian", "recursion", 1, 4, 120, ""},
        {DPA_PLAN_ONE_RUN, "gaussian", "recursion", 3, 6, 400, ""},
        {DPA_PLAN_ONE_RUN, "laplace", "recursion", 1, 4, 150, ""},
        {DPA_PLAN_COSINES, "gaussian", "mean", 1, 4, 18, ""},
        {DPA_PLAN_COSINES, "gaussian", "mean-and-deviation", 1, 4, 20, ""},
        {DPA_PLAN_COSINES, "dp", "jeffreys", 1, 4, 70, ""},
        {DPA_PLAN_COSINES, "dp", "scan", 1, 4, 80, ""},
        {DPA_PLAN_COSINES, "dp", "scan", 3, 8, 70, ""},
        {DPA_PLAN_COSINES, "dp", "jeffreys-split", 1, 8, 80, ""},
        {DPA_PLAN_COSINES, "dp", "jeffreys-split", 0.5, 6, 121, ""},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        dpa_plan plan =
            plan_of(rows[r].game, rows[r].family, rows[r].method, rows[r].claim, rows[r].truth);
        plan.truth = rows[r].truth_family;
        const int is_laplace = plan.truth[0] != '\0';
        if (is_laplace && strcmp(plan.family, "dp") == 0) plan.delta = 0;
        truth t = {plan.game == DPA_PLAN_STEPS ? 1 / plan.truth_sigma
                                               : dpa_gaussian_mu(plan.truth_epsilon, plan.delta),
                   0};
        /* at δ = 0 Laplace noise has ε = ε₀; else ε₀ − 2·log1p(−δ) */
        if (is_laplace) t.epsilon0 = plan.truth_epsilon - 2 * log1p(-plan.delta);
        dpa_plan_answer answer;
        unsigned refuted = 0;
        assert_ok(dpa__ask_power(&plan, rows[r].n, &answer, NULL));
        assert_true((answer.error > 0) == (strcmp(plan.method, "rank") == 0 ||
                                           strcmp(plan.method, "jeffreys-split") == 0));
        for (unsigned i = 0; i < AUDITS; ++i) {
            dpa_rng rng;
            dpa__rng_init(&rng, 100 + r, DPA_PURPOSE_TEST, i);
            refuted += (unsigned)audits[plan.game](&plan, &answer, &t, &rng);
        }
        const double share = refuted / (double)AUDITS;
        const double error = hypot(answer.error, sqrt(answer.power * (1 - answer.power) / AUDITS));
        print_message("| %s | %s | %s | %g | %g | %.0f | %.4f | %.4f | %.4f |\n",
                      dpa__plan_game_name(plan.game), plan.family, plan.method, rows[r].claim,
                      rows[r].truth, (double)rows[r].n, answer.power, share, error);
        assert_absolute(share, answer.power, 3.5 * error);
        assert_between(answer.power, 0.3, 0.95); /* a setting that can fail both ways */
    }
}

/* ── exact ─────────────────────────────────────────────────────────────────────────────────── */

static double binomial(unsigned k, unsigned n, double p) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)) * pow(p, k) *
           pow(1 - p, n - k);
}

static double upper(double x) {
    return 0.5 * erfc(x / sqrt(2));
}

/* The power at a threshold, summed over all outcomes, each judged by the estimator itself. */
static double enumerated(const dpa_plan *plan, unsigned runs, double fnr, double fpr) {
    double sum = 0;
    for (unsigned fn = 0; fn <= runs; ++fn)
        for (unsigned fp = 0; fp <= runs; ++fp) {
            const dpa_counts counts = {fn, runs - fn, fp, runs - fp};
            if (from_counts(counts, plan).epsilon_lower > plan->claim_epsilon)
                sum += binomial(fn, runs, fnr) * binomial(fp, runs, fpr);
        }
    return sum;
}

static void every_outcome(void **state) {
    (void)state;
    enum { RUNS = 13 };
    static const struct {
        const char *family, *method;
        double claim, delta;
    } rows[] = {
        {"dp", "cp", 0.5, 1e-5},       {"gaussian", "cp", 0.5, 1e-5},
        {"laplace", "cp", 0.5, 1e-5},  {"dp", "jeffreys", 0.5, 1e-5},
        {"dp", "bayes", 0.5, 1e-5},    {"gaussian", "bayes", 1, 1e-5},
        {"laplace", "bayes", 1, 1e-5}, {"dp", "katz", 0.5, 0},
        {"dp", "adjusted-log", 1, 0},  {"dp", "bailey", 1, 0},
        {"dp", "inverse-sinh", 1, 0},  {"dp", "bayes", 0.02, 0.05},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        dpa_plan plan = plan_of(DPA_PLAN_RUNS, rows[r].family, rows[r].method, rows[r].claim, 3);
        dpa_plan_answer best;
        plan.delta = rows[r].delta;
        plan.truth = "laplace";
        const double epsilon0 = 3 - 2 * log1p(-plan.delta);
        assert_ok(dpa__ask_power(&plan, RUNS, &best, NULL));
        for (double threshold = -0.4; threshold < 2; threshold += 0.6) {
            const double fpr = upper(threshold);
            dpa_curve *curve = NULL;
            double got;
            assert_ok(dpa_curve_laplace(epsilon0, &curve, NULL));
            const double want = enumerated(&plan, RUNS, dpa_curve_fnr(curve, fpr), fpr);
            dpa_curve_free(curve);
            assert_ok(dpa__plan_power_at(&plan, RUNS, threshold, &got, NULL));
            assert_absolute(got, want, 1e-10);
            assert_true(best.power >= got - 0.01);
        }
    }
}

/* If all canaries are guessed, the power is plainly binomial. Fewer guesses are compared with
 * simulated audits below. */
static void guesses_all(void **state) {
    (void)state;
    enum { CANARIES = 8 };
    const dpa_plan plan = plan_of(DPA_PLAN_ONE_RUN, "gaussian", "recursion", 0.1, 8);
    const dpa_request request = request_of(&plan);
    const double mu = dpa_gaussian_mu(8, plan.delta), right = upper(-mu / 2);
    dpa_plan_answer answer;
    double want = 0;
    assert_ok(dpa__ask_power(&plan, CANARIES, &answer, NULL));
    assert_int_equal(answer.guesses, CANARIES);
    for (unsigned c = 0; c <= CANARIES; ++c) {
        const dpa_one_run game = {CANARIES, 2, CANARIES, c};
        dpa_result result;
        assert_ok(dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, NULL));
        if (result.epsilon_lower > 0.1) want += binomial(c, CANARIES, right);
    }
    assert_absolute(answer.power, want, 1e-10);
    assert_true(want > 0.1 && want < 0.99);
}

/* ── sizes, leaks, ceilings ────────────────────────────────────────────────────────────────── */

static void sizes_and_leaks(void **state) {
    (void)state;
    for (int g = 0; g < DPA_PLAN_GAMES; ++g) {
        const char *method;
        if (g == DPA_PLAN_STEPS) continue;
        for (size_t m = 0; (method = dpa__plan_method((dpa_plan_game)g, "gaussian", 1e-5, m));
             ++m) {
            if (strcmp(method, "sequential") == 0) continue; /* test_plan_sequential.c */
            dpa_plan plan = plan_of((dpa_plan_game)g, "gaussian", method, 1, 4);
            dpa_plan_answer needed, half;
            dpa_plan_leak leak;
            assert_ok(dpa__ask_size(&plan, 0.8, 5000, &needed, NULL));
            assert_true(needed.size > 0 && needed.power >= 0.8);
            assert_ok(dpa__ask_power(&plan, needed.size / 2, &half, NULL));
            assert_true(half.power < 0.8);
            assert_ok(dpa__ask_detectable(&plan, needed.size, 0.8, &leak, NULL));
            /* of a simulated power size and leak are found with other draws */
            const double slack = strcmp(method, "scan") == 0 ? 3 * leak.error : 0;
            assert_between(leak.epsilon, 3.5, strcmp(method, "rank") == 0 ? 4.3 : 4.002 + slack);
            plan.truth_epsilon = 1; /* the claim is true: no size refutes it often */
            assert_ok(dpa__ask_size(&plan, 0.8, 500, &needed, NULL));
            assert_int_equal(needed.size, 0);
            assert_true(needed.power <= 0.08);
        }
    }
}

/* Canaries with channels need twice the runs of ranks or scan, whether or not the powers of runs
 * are known; a known power is not one of another family, claim or truth. */
static void known_powers(void **state) {
    (void)state;
    static const char *const families[] = {"dp", "gaussian"}, *const methods[] = {"scan", "rank"};
    dpa__known *known = dpa__known_new(NULL);
    assert_non_null(known);
    for (int round = 0; round < 2; ++round)
        for (int f = 0; f < 2; ++f) {
            dpa_plan runs = plan_of(DPA_PLAN_RUNS, families[f], methods[f], 1, round ? 6 : 4);
            dpa_plan canaries =
                plan_of(DPA_PLAN_ONE_RUN, families[f], "channels", 1, round ? 6 : 4);
            dpa_plan_answer alone, together, of_runs;
            assert_ok(dpa__ask_power(&canaries, 90, &alone, NULL));
            runs.known = canaries.known = known;
            assert_ok(dpa__ask_power(&runs, 45, &of_runs, NULL));
            assert_ok(dpa__ask_power(&canaries, 90, &together, NULL));
            assert_true(alone.power == together.power && alone.error == together.error);
            assert_true(together.power == of_runs.power && together.size == 90);
            assert_ok(dpa__ask_size(&canaries, 0.8, 2000, &together, NULL));
            canaries.known = NULL;
            assert_ok(dpa__ask_size(&canaries, 0.8, 2000, &alone, NULL));
            assert_true(alone.size == together.size && alone.power == together.power);
        }
    dpa__known_free(known);
}

/* A learned threshold: the size found suffices, the leak found is detected, and the power is never
 * more than that of the best threshold on the half on which it is used. */
static void learned_threshold(void **state) {
    (void)state;
    dpa_plan plan = plan_of(DPA_PLAN_COSINES, "dp", "jeffreys-split", 1, 6);
    dpa_plan_answer needed, same, best;
    dpa_plan_leak leak;
    assert_ok(dpa__ask_size(&plan, 0.8, 5000, &needed, NULL));
    assert_true(needed.power >= 0.8 && needed.error > 0);
    assert_ok(dpa__ask_power(&plan, needed.size / 2, &same, NULL));
    assert_true(same.power < 0.8);
    plan.threads = 1;
    assert_ok(dpa__ask_power(&plan, needed.size, &same, NULL));
    assert_absolute(same.power, needed.power, 0);
    assert_ok(dpa__ask_detectable(&plan, needed.size, 0.8, &leak, NULL));
    assert_between(leak.error, 1e-3, 0.3);
    assert_absolute(leak.epsilon, 6, 4 * leak.error);
    dpa_plan fixed = plan_of(DPA_PLAN_COSINES, "dp", "jeffreys", 1, 6);
    assert_ok(dpa__ask_power(&fixed, needed.size - needed.size / 2, &best, NULL));
    assert_true(best.power >= needed.power);
    assert_ok(dpa__ask_power(&plan, 1, &same, NULL)); /* nothing to learn from */
    assert_absolute(same.power, 0, 0);
    assert_ok(dpa__ask_power(&plan, 2, &same, NULL));
    assert_true(same.power < 0.2);
}

/* With q = 1 and one step, a plan for steps is a plan for one release. */
static void a_step_is_a_run(void **state) {
    (void)state;
    dpa_plan run = plan_of(DPA_PLAN_RUNS, "gaussian", "cp", 1, 4);
    dpa_plan step = plan_of(DPA_PLAN_STEPS, "gaussian", "cp", 1, 1);
    dpa_plan_answer one, other;
    double most;
    dpa_plan_leak leak, same;
    step.q = 1;
    step.steps = 1;
    step.claim_sigma = 1 / dpa_gaussian_mu(1, 1e-5);
    step.truth_sigma = 1 / dpa_gaussian_mu(4, 1e-5);
    assert_ok(dpa__ask_power(&run, 100, &one, NULL));
    assert_ok(dpa__ask_power(&step, 100, &other, NULL));
    assert_absolute(other.power, one.power, 1e-9);
    assert_ok(dpa__ask_detectable(&run, 100, 0.8, &leak, NULL));
    assert_ok(dpa__ask_detectable(&step, 100, 0.8, &same, NULL));
    assert_absolute(same.epsilon, leak.epsilon, 1e-6);
    /* ε and σ give the same */
    run.claim_epsilon = run.truth_epsilon = NAN;
    run.claim_sigma = step.claim_sigma;
    run.truth_sigma = step.truth_sigma;
    assert_ok(dpa__ask_power(&run, 100, &other, NULL));
    assert_absolute(other.power, one.power, 1e-9);
    assert_ok(dpa__ask_most(&step, 100, &most, NULL));
    dpa_plan asked = plan_of(DPA_PLAN_RUNS, "gaussian", "cp", 1, 4);
    assert_relative(most, from_counts((dpa_counts){0, 100, 0, 100}, &asked).epsilon_lower, 1e-9);
}

/* q = 1 and T steps compose to one Gaussian mechanism with μ = √T/σ. */
static void training_as_truth(void **state) {
    (void)state;
    dpa_plan plan = plan_of(DPA_PLAN_RUNS, "gaussian", "cp", 1, 4);
    dpa_plan_answer one, other;
    assert_ok(dpa__ask_power(&plan, 100, &one, NULL));
    plan.truth_epsilon = NAN;
    plan.steps = 16;
    plan.truth_sigma = 4 / dpa_gaussian_mu(4, 1e-5);
    assert_ok(dpa__ask_power(&plan, 100, &other, NULL));
    assert_absolute(other.power, one.power, 2e-3);
    /* canaries take the same ε */
    plan.game = DPA_PLAN_COSINES;
    plan.method = "mean";
    assert_ok(dpa__ask_power(&plan, 19, &other, NULL));
    plan.truth_sigma = NAN;
    plan.truth_epsilon = 4;
    assert_ok(dpa__ask_power(&plan, 19, &one, NULL));
    assert_absolute(other.power, one.power, 2e-3);
    /* and a family of trainings finds its own member in the claim */
    plan = plan_of(DPA_PLAN_RUNS, "subsampled-gaussian:q=1,steps=16", "cp", 1, 4);
    assert_ok(dpa__ask_power(&plan, 100, &other, NULL));
    plan.family = "gaussian";
    assert_ok(dpa__ask_power(&plan, 100, &one, NULL));
    assert_absolute(other.power, one.power, 0.02);
}

/* A perfect attack stays below the ceiling by every valid bound; at the ceiling the probability
 * that all answers are right is exactly one minus the confidence. */
static void ceiling(void **state) {
    (void)state;
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    for (uint64_t n = 5; n <= 5000; n *= 10)
        for (int f = 0; f < 3; ++f) {
            const dpa_plan plan = plan_of(DPA_PLAN_RUNS, families[f], "cp", 0, 1);
            double top, most, right = 0;
            assert_ok(dpa__plan_ceiling(families[f], 2 * n, 1e-5, 0.95, &top, NULL));
            if (f == 0) right = 1e-5 + (1 - 1e-5) / (1 + exp(-top));
            if (f == 1) right = 1 - upper(dpa_gaussian_mu(top, 1e-5) / 2);
            if (f == 2) right = 1 - exp(-(top - 2 * log1p(-1e-5)) / 2) / 2;
            assert_absolute(pow(right, 2 * (double)n), 0.05, 1e-6);
            assert_ok(dpa__ask_most(&plan, n, &most, NULL));
            assert_true(most < top && (n < 50 || most > 0.3 * top));
        }
    double top;
    assert_int_equal(dpa__plan_ceiling("none", 10, 1e-5, 0.95, &top, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__plan_ceiling("dp", 0, 1e-5, 0.95, &top, NULL), DPA_BAD_ARGUMENT);
}

/* Figure 4 of bayesian-estimation: 90%, FNR = FPR = 0.4, ±0.15: about 1500, a little less, and just
 * over 500 samples of both classes together. */
static void precision(void **state) {
    (void)state;
    static const struct {
        const char *method;
        uint64_t least, most;
    } rows[] = {{"cp", 1450, 1550}, {"jeffreys", 1380, 1449}, {"bayes", 500, 560}};
    for (int r = 0; r < 3; ++r) {
        const dpa_precision plan = {"dp", rows[r].method, 0.4, 0.4, 1e-5, 0.9};
        dpa_precision_answer found, before;
        assert_ok(dpa__plan_half_width(&plan, 0.15, 20000, &found, NULL));
        assert_between(2 * (double)found.size, (double)rows[r].least, (double)rows[r].most);
        assert_true(found.upper - found.lower <= 0.3);
        assert_ok(dpa__plan_interval(&plan, found.size - 1, &before, NULL));
        assert_true(before.upper - before.lower > 0.3);
        assert_ok(dpa__plan_half_width(&plan, 0.15, 100, &found, NULL));
        assert_int_equal(found.size, 0);
        assert_int_equal(dpa__plan_half_width(&plan, 0, 100, &found, NULL), DPA_BAD_ARGUMENT);
    }
    dpa_precision bad = {"dp", "rank", 0.4, 0.4, 1e-5, 0.9};
    dpa_precision_answer a;
    assert_int_equal(dpa__plan_interval(&bad, 10, &a, NULL), DPA_BAD_ARGUMENT);
    bad.method = "katz"; /* at δ > 0 */
    assert_int_equal(dpa__plan_interval(&bad, 10, &a, NULL), DPA_BAD_ARGUMENT);
    bad.method = "cp";
    bad.fnr = 1.1;
    assert_int_equal(dpa__plan_interval(&bad, 10, &a, NULL), DPA_BAD_ARGUMENT);
}

static void refusals(void **state) {
    (void)state;
    const dpa_plan good = plan_of(DPA_PLAN_RUNS, "dp", "cp", 1, 4);
    enum { BAD = 18 };
    dpa_plan_answer answer;
    dpa_plan bad[BAD];
    for (int i = 0; i < BAD; ++i) bad[i] = good;
    bad[0].family = "none";
    bad[1].method = "rank"; /* of dp */
    bad[2].delta = 0;       /* a Gaussian truth */
    bad[3].confidence = 1;
    bad[4].claim_epsilon = -1;
    bad[5].truth_epsilon = NAN;
    bad[6].method = "none";
    bad[7].method = "point";
    bad[8].game = (dpa_plan_game)9;
    bad[9].claim_sigma = 1; /* and an ε */
    bad[10].q = 0;
    bad[11].steps = 0;
    bad[12].game = DPA_PLAN_STEPS; /* of dp */
    bad[13].method = "katz";       /* at δ > 0 */
    bad[14].truth = "none";
    bad[15].game = DPA_PLAN_COSINES; /* by cp */
    bad[16].game = DPA_PLAN_COSINES;
    bad[16].method = "mean"; /* of dp */
    bad[17].game = DPA_PLAN_ONE_RUN;
    bad[17].method = "mean";
    for (int i = 0; i < BAD; ++i) {
        dpa_error err = {0};
        if (dpa__ask_power(&bad[i], 10, &answer, &err) != DPA_BAD_ARGUMENT)
            fail_msg("plan %d is not refused", i);
        assert_true(strlen(err.text) > 10);
    }
    double power;
    assert_int_equal(dpa__ask_power(&good, 0, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__ask_power(&good, 1000000, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__ask_size(&good, 1, 10, &answer, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__plan_power_at(&good, 10, NAN, &power, NULL), DPA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome),     cmocka_unit_test(guesses_all),
        cmocka_unit_test(sizes_and_leaks),   cmocka_unit_test(known_powers),
        cmocka_unit_test(learned_threshold), cmocka_unit_test(a_step_is_a_run),
        cmocka_unit_test(training_as_truth), cmocka_unit_test(ceiling),
        cmocka_unit_test(precision),         cmocka_unit_test(refusals),
        cmocka_unit_test(simulated_audits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
