/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit selftest: checks that this build gives the right numbers on this machine.
 *
 * It compares with known answers (published ones or closed forms), computes the same number in two
 * ways, enumerates small audits for exact coverage, and checks calibration on simulated audits
 * without a leak. The limit of a random check is exceeded by chance less than once in 10,000
 * times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate/sequential/sequential.h"
#include "output.h"

typedef struct selftest_options {
    uint64_t seed;
    double spoil;
} selftest_options;

static const option table[] = {
    {"seed", OPTION_COUNT, "N", "seed of the simulated audits (default 1)",
     offsetof(selftest_options, seed)},
    {"spoil", OPTION_NUMBER, "X", "add X to every answer, to see the checks fail",
     offsetof(selftest_options, spoil)},
    END_OPTIONS,
};

static void init(void *options) {
    *(selftest_options *)options = (selftest_options){.seed = 1};
}

/* Counts of checks so far. */
typedef struct tally {
    unsigned checks, off;
    uint64_t seed;
    double spoil;
} tally;

/* Prints whole numbers in full. */
static void print_value(char *text, size_t size, double value) {
    (void)snprintf(text, size, value == rint(value) && fabs(value) < 1e10 ? "%.0f" : "%.6g", value);
}

static void judge(tally *t, const char *what, double got, const char *want, double distance,
                  double allowed) {
    const int is_off = !(distance <= allowed); /* true for NaN too */
    char text[32];
    print_value(text, sizeof text, got);
    ++t->checks;
    t->off += (unsigned)is_off;
    (void)printf("  %-3s %-32s %-11s %-14s %.0e of %.0e\n", is_off ? "OFF" : "ok", what, text, want,
                 distance, allowed);
}

static void near(tally *t, const char *what, double got, double want, double allowed) {
    char text[32];
    got += t->spoil;
    print_value(text, sizeof text, want);
    judge(t, what, got, text, fabs(got - want), allowed);
}

/* Checks a range: the distance is 0 inside it, else that to the nearer end. */
static void inside(tally *t, const char *what, double got, double low, double high) {
    char text[48];
    got += t->spoil;
    (void)snprintf(text, sizeof text, "[%.4g, %.4g]", low, high);
    judge(t, what, got, text, fmax(fmax(low - got, got - high), got == got ? 0 : (double)NAN), 0);
}

/* ── counts ────────────────────────────────────────────────────────────────────────────────── */

static dpa_request ask(const char *family, const char *method, double delta, double confidence,
                       int sides) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = delta;
    request.confidence = confidence;
    request.sides = sides;
    return request;
}

static dpa_interval from_counts(dpa_counts counts, const dpa_request *request) {
    dpa_results results = {0};
    dpa_interval out = {NAN, NAN};
    if (dpa__estimate_counts(&counts, request, &results, NULL) == DPA_OK && results.count == 1)
        out = (dpa_interval){results.items[0].epsilon_lower, results.items[0].epsilon_upper};
    dpa__results_free(&results);
    return out;
}

static void check_counts(tally *t) {
    const dpa_counts weak = {35, 65, 25, 75}, perfect = {0, 1000, 0, 1000}, edge = {10, 90, 0, 100};
    static const struct {
        const char *method;
        double lower, upper;
    } rows[] = {{"bayes", 0.521786649, 1.266648517},
                {"jeffreys", 0.320950, 1.456373},
                {"cp", 0.295151, 1.488733}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const dpa_request request = ask("dp", rows[i].method, 0.05, 0.95, 2);
        const dpa_interval got = from_counts(weak, &request);
        const double allowed = i == 0 ? 1e-9 : 1e-6;
        char what[64];
        (void)snprintf(what, sizeof what, "counts, %s, lower end", rows[i].method);
        near(t, what, got.lower, rows[i].lower, allowed);
        (void)snprintf(what, sizeof what, "counts, %s, upper end", rows[i].method);
        near(t, what, got.upper, rows[i].upper, allowed);
    }
    dpa_request request = ask("dp", "cp", 1e-5, 0.9, 2);
    near(t, "counts, cp, perfect attack", from_counts(perfect, &request).lower, 5.600577, 1e-6);
    near(t, "counts, cp, no false positive", from_counts(edge, &request).lower, 3.124368, 1e-6);
    request = ask("dp", "exact", 1e-5, 0.95, 1);
    near(t, "counts, exact, 24 and 4 of 100",
         from_counts((dpa_counts){76, 24, 4, 96}, &request).lower, 0.98, 1e-9);
    request = ask("gaussian", "bayes", 1e-5, 0.95, 1);
    near(t, "counts, gaussian bayes, perfect", from_counts(perfect, &request).lower, 44.0615, 1e-4);
    request = ask("gaussian", "cp", 1e-5, 0.95, 1);
    near(t, "counts, gaussian cp, perfect", from_counts(perfect, &request).lower, 36.489488, 1e-6);
}

/* ── the accountant and closed forms ───────────────────────────────────────────────────────── */

static dpa_interval composed(double sigma, uint64_t steps, double delta) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, 1.0, steps};
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_interval out = {NAN, NAN};
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    if (dpa_account_new(&phase, 1, &opts, &account, NULL) == DPA_OK &&
        dpa_account_epsilon(account, delta, &out, NULL) != DPA_OK)
        out = (dpa_interval){NAN, NAN};
    dpa_account_free(account);
    return out;
}

/* δ of N(0,1) against N(m,s²) at ε: sums the positive part of p − e^ε q on a fine grid. */
static double summed_delta(double m, double s, double epsilon) {
    enum { CELLS = 2000000 };
    const double low = -40, high = 40, h = (high - low) / CELLS, root = sqrt(2 * 3.14159265358979);
    double sum = 0;
    for (int i = 0; i < CELLS; ++i) {
        const double x = low + (i + 0.5) * h, z = (x - m) / s;
        sum += fmax(0, exp(-0.5 * x * x) / root - exp(epsilon - 0.5 * z * z) / (s * root));
    }
    return sum * h;
}

static void check_account(tally *t) {
    const dpa_interval many = composed(10, 100, 1e-5);
    const double closed = dpa_gaussian_epsilon(1, 1e-5), far = dpa_gaussian_epsilon(40, 1e-300);
    const double apart = dpa__two_gaussians_directed(0, 1, 1, 1.5, 1e-3);
    near(t, "gaussian, mu 1: epsilon", closed, 4.377178095681, 1e-11);
    near(t, "gaussian, mu 2: epsilon", dpa_gaussian_epsilon(2, 1e-5), 9.997256146434, 1e-11);
    near(t, "gaussian, delta 1e-300 and back", dpa_gaussian_mu(far, 1e-300), 40, 1e-9);
    inside(t, "account, 100 steps of sigma 10", closed, many.lower, many.upper);
    near(t, "account, width of that interval", many.upper - many.lower, 0, 1e-3 * closed);
    near(t, "two gaussians, same deviation", dpa__two_gaussians_epsilon(0, 1, 1, 1, 1e-5), closed,
         1e-9);
    near(t, "two gaussians, delta by sums", summed_delta(1, 1.5, apart), 1e-3, 1e-9);
}

/* ── one run ───────────────────────────────────────────────────────────────────────────────── */

static double from_one_run(dpa_one_run game, const char *family) {
    const dpa_request request = ask(family, "", 1e-5, 0.95, 1);
    dpa_result result;
    if (dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, NULL) != DPA_OK)
        return NAN;
    return result.epsilon_lower;
}

/* 100 canaries in, of which 24 score 1, and 100 out, of which 4 do: two values are counts, so this
 * is the exact test of the counts once more. */
static double from_channels(void) {
    enum { SIDE = 100 };
    const dpa_request request = ask("dp", "scan", 1e-5, 0.95, 1);
    double in[SIDE], out[SIDE], bound = NAN;
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_result result;
    for (int i = 0; i < SIDE; ++i) {
        in[i] = i < 24;
        out[i] = i < 4;
    }
    if (dpa__scores_from(in, SIDE, out, SIDE, &scores, NULL) == DPA_OK &&
        dpa__scores_prepare_here(&scores, &lints, NULL) == DPA_OK &&
        dpa__one_run_channels(&scores, &request, &result, NULL) == DPA_OK)
        bound = result.epsilon_lower;
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return bound;
}

static void check_one_run(tally *t) {
    near(t, "one run, dp, 60 of 100 right", from_one_run((dpa_one_run){500, 2, 100, 60}, "dp"),
         0.050735610892, 1e-10);
    near(t, "one run, dp, 23 of 35 right", from_one_run((dpa_one_run){500, 2, 35, 23}, "dp"),
         0.014548720201, 1e-10);
    near(t, "one run, gaussian, 1429 of 1500",
         from_one_run((dpa_one_run){100000, 2, 1500, 1429}, "gaussian"), 3.29923509768, 1e-8);
    near(t, "one run, half right: nothing",
         from_one_run((dpa_one_run){1000, 2, 1000, 500}, "gaussian"), 0, 0);
    near(t, "one run, channels, 24 and 4", from_channels(), 0.98, 1e-9);
}

/* ── sequential audits, cosines, plans, random numbers ─────────────────────────────────────── */

/* The number of the pair at which a perfect attack refutes ε = 4. */
static double perfect_pairs(void) {
    dpa_request request = ask("dp", "", 0, 0.95, 1);
    dpa_sequential *audit = NULL;
    dpa_sequential_now now = {0};
    request.claim_epsilon = 4;
    if (dpa__sequential_new(&request, &audit, NULL) != DPA_OK) return NAN;
    int is_well = 1;
    for (int i = 0; i < 1000 && is_well && !dpa__sequential_refuted(audit); ++i)
        is_well = dpa__sequential_push(audit, 1, 1, NULL) == DPA_OK &&
                  dpa__sequential_push(audit, 0, 0, NULL) == DPA_OK;
    if (is_well) is_well = dpa__sequential_look(audit, &now, NULL) == DPA_OK;
    dpa__sequential_free(audit);
    return is_well ? (double)now.refuted_at : (double)NAN;
}

static double planned_power(double sigma, uint64_t canaries) {
    dpa_plan plan;
    dpa_plan_answer answer;
    dpa__plan_init(&plan);
    plan.game = DPA_PLAN_COSINES;
    plan.family = "gaussian";
    plan.method = "mean";
    plan.claim_epsilon = 1;
    plan.truth_sigma = sigma;
    return dpa__ask_power(&plan, canaries, &answer, NULL) == DPA_OK ? answer.power : (double)NAN;
}

/* 1 − Φ(x). */
static double normal_above(double x) {
    return 0.5 * erfc(x / sqrt(2));
}

static void check_rest(tally *t) {
    double ceiling = NAN;
    dpa_rng rng;
    near(t, "sequential, pairs against 4", perfect_pairs(), 311, 0);
    near(t, "cosines, uniform in 3 dimensions", exp(dpa__cosine_null_log_upper(0.4, 3)), 0.3,
         1e-12);
    /* 9 canaries, deviation 1/3, two-sided at 95% */
    const double limit = dpa_gaussian_mu(1, 1e-5) + 1.959963984540054 / 3;
    near(t, "plan, power of 9 cosines", planned_power(1, 9),
         normal_above(3 * (limit - 1)) + normal_above(3 * (limit + 1)), 1e-9);
    const double right = pow(0.05, 1e-3);
    if (dpa__plan_ceiling("dp", 1000, 0, 0.95, &ceiling, NULL) != DPA_OK) ceiling = NAN;
    near(t, "plan, ceiling of 1000 answers", ceiling, log(right / (1 - right)), 1e-9);
    dpa__rng_init(&rng, 0, DPA_PURPOSE_TEST, 0); /* Random123's own answer for all zeros */
    near(t, "random numbers, Philox4x32-10", dpa__rng_u32(&rng), 0x6627e8d5, 0);
}

/* ── coverage, exactly: every outcome of 12 + 12 runs of randomized response ───────────────── */

static double binomial(unsigned k, unsigned n, double p) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) +
               (n - k) * log1p(-p));
}

static double covered(const char *family, double epsilon) {
    enum { RUNS = 12 };
    const double error = 1 / (1 + exp(epsilon));
    const dpa_request request = ask(family, "cp", 0, 0.9, 1);
    double share = 0;
    for (unsigned fn = 0; fn <= RUNS; ++fn)
        for (unsigned fp = 0; fp <= RUNS; ++fp) {
            const dpa_interval got =
                from_counts((dpa_counts){fn, RUNS - fn, fp, RUNS - fp}, &request);
            if (got.lower <= epsilon * (1 + 1e-9))
                share += binomial(fn, RUNS, error) * binomial(fp, RUNS, error);
        }
    return share;
}

static void check_coverage(tally *t) {
    static const double truth[] = {0.1, 1, 2.5};
    for (size_t i = 0; i < sizeof truth / sizeof truth[0]; ++i) {
        char what[64];
        (void)snprintf(what, sizeof what, "coverage, cp, 12+12, epsilon %g", truth[i]);
        inside(t, what, covered("dp", truth[i]), 0.9, 1 + 1e-9);
    }
}

/* ── no leak: how many audits claim one ────────────────────────────────────────────────────── */

enum { AUDITS = 200, EACH = 50 };

static int claims_leak(const char *family, const char *method, uint64_t seed, uint64_t index) {
    double in[EACH], out[EACH];
    dpa_rng rng;
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_results results = {0};
    dpa_request request = ask(family, method, 1e-5, 0.9, 1);
    request.threads = 1;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, index);
    for (int i = 0; i < EACH; ++i) in[i] = dpa__rng_normal(&rng);
    for (int i = 0; i < EACH; ++i) out[i] = dpa__rng_normal(&rng);
    int claims = -1;
    if (dpa__scores_from(in, EACH, out, EACH, &scores, NULL) == DPA_OK &&
        dpa__scores_prepare_here(&scores, &lints, NULL) == DPA_OK &&
        dpa__estimate_scores(&scores, &request, &results, NULL) == DPA_OK && results.count == 1)
        claims = results.items[0].epsilon_lower > 0;
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return claims;
}

/* The least k with Pr[Bin(n,p) > k] ≤ 1e-4. */
static double most(unsigned n, double p) {
    double below = 0;
    unsigned k = 0;
    while (k < n && (below += binomial(k, n, p)) < 1 - 1e-4) ++k;
    return k;
}

static void check_null(tally *t, const char *family, const char *method) {
    char what[64];
    double claims = 0;
    for (uint64_t i = 0; i < AUDITS; ++i) {
        const int one = claims_leak(family, method, t->seed, i);
        claims = one < 0 ? (double)NAN : claims + one;
    }
    (void)snprintf(what, sizeof what, "no leak, %s %s, of %d", family, method, AUDITS);
    inside(t, what, claims, 0, most(AUDITS, 0.1));
}

static int run(void *options, const word_list *words) {
    const selftest_options *o = options;
    tally t = {.seed = o->seed, .spoil = o->spoil};
    (void)words;
    (void)printf("dpaudit %s selftest\n      %-32s %-11s %-14s %s\n", dpa_version(), "checked",
                 "got", "wanted", "off by");
    check_counts(&t);
    check_account(&t);
    check_one_run(&t);
    check_rest(&t);
    check_coverage(&t);
    check_null(&t, "gaussian", "rank");
    check_null(&t, "gaussian", "cp");
    check_null(&t, "dp", "cp");
    check_null(&t, "dp", "scan");
    (void)printf("%u checks, %u off\n", t.checks, t.off);
    return t.off == 0 ? EXIT_STANDS : EXIT_FAILURE_RUNNING;
}

const command command_selftest = {
    .name = "selftest",
    .summary = "known answers, calibration and coverage, checked on this machine",
    .operands = "",
    .about = "Checks in seconds that this build gives the right numbers here: known answers, two "
             "ways to the same number, exact coverage of small audits, and how often an audit "
             "without a leak claims one. Prints what was checked and how far off it was. Exit 4 "
             "when anything is off; --spoil shows that this can happen.",
    .examples = "dpaudit selftest\n"
                "dpaudit selftest --seed 7",
    .options = table,
    .size = sizeof(selftest_options),
    .init = init,
    .run = run,
};
