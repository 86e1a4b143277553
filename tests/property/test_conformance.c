/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One suite over the registry, so that every new estimator gets these checks automatically. For
 * every estimator and every family it takes: more errors of the attack never give a larger bound; a
 * valid one shows nothing where nothing leaks; exchanging the classes, the order of the scores or
 * their scale changes nothing; raising δ or the confidence only lowers the bound; it states its
 * assumptions. The one-run methods, which are not in the registry, go through the same checks where
 * these make sense. */
#include "check.h"

#include "estimate/one_run/one_run.h"
#include "estimate/scores.h"
#include "two_samples.h"

static const char *const families[] = {"dp", "gaussian", "laplace"};
static const unsigned family_bits[] = {DPA_ASSUME_FAMILY_DP, DPA_ASSUME_FAMILY_GAUSSIAN,
                                       DPA_ASSUME_FAMILY_LAPLACE};
enum { FAMILIES = 3, RUNS = 16, SCORES = 60 };

/* Bounds are roots found to about 1e-9; this tolerance is used where two of them are compared. */
static const double slack = 2e-9;

static dpa_request request_of(const char *family, const char *method, double delta) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = delta;
    request.threads = 1;
    return request;
}

/* Returns 1 if the estimator takes the request; a refusal must say why. */
static int from_counts(dpa_counts counts, const dpa_request *request, dpa_result *out) {
    dpa_results results = {0};
    dpa_error err = {0};
    const dpa_status status = dpa__estimate_counts(&counts, request, &results, &err);
    if (status != DPA_OK) {
        assert_int_equal(status, DPA_BAD_ARGUMENT);
        assert_true(strlen(err.text) > 10);
        return 0;
    }
    assert_int_equal(results.count, 1);
    *out = results.items[0];
    dpa__results_free(&results);
    return 1;
}

/* The number of a result: the bound, or the estimate if the estimator gives no bound. */
static double said(const dpa_result *result) {
    return result->kind == DPA_ESTIMATE ? result->epsilon : result->epsilon_lower;
}

/* Two rows of the registry cannot satisfy everything, by definition; what they do instead is
 * checked.
 * A posterior of ε is a density if δ is small, with Pr[ε = 0] = 0, so its quantile is above 0
 * whatever was observed, and it takes an attack that is wrong too often for one that leaks.
 * A large-sample interval of a ratio does not exist if a count is 0, and says 0 there. */
static int is_posterior(const dpa_estimator *about) {
    return (about->what & DPA_GIVES_DENSITY) != 0;
}

/* The point estimate looks both ways too. */
static int looks_both_ways(const dpa_estimator *about) {
    return is_posterior(about) || !(about->what & DPA_GIVES_BOUND);
}

static int needs_counts(const dpa_estimator *about) {
    return (about->assumptions & DPA_ASSUME_LARGE_SAMPLE) != 0;
}

typedef void (*check_counts)(const dpa_estimator *about, size_t family, double delta);

/* Calls `check` for every combination of estimator from counts, family and δ. */
static void for_counts(check_counts check) {
    static const double deltas[] = {0, 1e-5, 0.05};
    unsigned used = 0;
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *about = dpa__estimator_at(i);
        unsigned of_this = 0;
        if (!(about->what & DPA_FROM_COUNTS)) continue;
        for (size_t f = 0; f < FAMILIES; ++f)
            for (size_t d = 0; d < 3; ++d) {
                const dpa_request request = request_of(families[f], about->name, deltas[d]);
                dpa_result result;
                if (!from_counts((dpa_counts){3, 13, 2, 14}, &request, &result)) continue;
                ++of_this;
                check(about, f, deltas[d]);
            }
        assert_true(of_this > 0);
        used += of_this;
    }
    assert_true(used >= 30);
}

static double bound_at(const dpa_request *request, unsigned fn, unsigned fp) {
    dpa_result result;
    assert_true(from_counts((dpa_counts){fn, RUNS - fn, fp, RUNS - fp}, request, &result));
    const double value = said(&result);
    assert_true(value >= 0); /* also false for NaN */
    return value;
}

static void grow(const dpa_estimator *about, size_t family, double delta) {
    const dpa_request request = request_of(families[family], about->name, delta);
    static double bound[RUNS + 1][RUNS + 1];
    for (unsigned fn = 0; fn <= RUNS; ++fn)
        for (unsigned fp = 0; fp <= RUNS; ++fp) bound[fn][fp] = bound_at(&request, fn, fp);
    const unsigned least = needs_counts(about) ? 1 : 0;
    for (unsigned fn = least; fn < RUNS; ++fn)
        for (unsigned fp = least; fp < RUNS; ++fp) {
            if (looks_both_ways(about) && fn + fp >= RUNS) continue;
            const double here = bound[fn][fp] * (1 + slack) + slack;
            if (!(bound[fn + 1][fp] <= here) || !(bound[fn][fp + 1] <= here))
                fail_msg("%s, %s, delta %g: more errors, larger bound at fn=%u fp=%u: %g, then %g "
                         "and %g",
                         about->name, families[family], delta, fn, fp, bound[fn][fp],
                         bound[fn + 1][fp], bound[fn][fp + 1]);
            assert_absolute(bound[fn][fp], bound[fp][fn], here * slack + slack);
        }
}

/* More errors give a smaller bound, and exchanging the two classes changes nothing. */
static void monotone_and_symmetric(void **state) {
    (void)state;
    for_counts(grow);
}

/* The posterior's bound from a guessing attack is never 0, but four times the runs halve it. */
static void shrink(const dpa_request *request) {
    double before = INFINITY;
    for (unsigned n = 64; n <= 65536; n *= 4) {
        dpa_result result;
        assert_true(from_counts((dpa_counts){n, n, n, n}, request, &result));
        assert_true(said(&result) <= 0.6 * before);
        before = said(&result);
    }
    assert_true(before < 1e-3);
}

static void nothing(const dpa_estimator *about, size_t family, double delta) {
    const dpa_request request = request_of(families[family], about->name, delta);
    if (is_posterior(about)) {
        if (family == 0 || delta > 0) shrink(&request);
        return;
    }
    for (unsigned fn = 0; fn <= RUNS; ++fn) {
        const double bound = bound_at(&request, fn, RUNS - fn);
        if (bound > slack)
            fail_msg("%s, %s: %g from an attack that guesses (fn=%u)", about->name,
                     families[family], bound, fn);
    }
}

static void nothing_from_guessing(void **state) {
    (void)state;
    for_counts(nothing);
}

static void loosen(const dpa_estimator *about, size_t family, double delta) {
    dpa_request request = request_of(families[family], about->name, delta);
    double before = INFINITY;
    for (double confidence = 0.5; confidence < 0.9999; confidence = 1 - (1 - confidence) / 3) {
        request.confidence = confidence;
        const double bound = bound_at(&request, 2, 1);
        assert_true(bound <= before * (1 + slack));
        before = bound;
    }
}

static void confidence_costs(void **state) {
    (void)state;
    for_counts(loosen);
}

/* More runs at the same rates show at least as much. */
static void enlarge(const dpa_estimator *about, size_t family, double delta) {
    const dpa_request request = request_of(families[family], about->name, delta);
    double before = 0;
    for (unsigned n = 1; n <= 4096; n *= 4) {
        dpa_result result;
        assert_true(from_counts((dpa_counts){2 * n, 8 * n, n, 9 * n}, &request, &result));
        assert_true(said(&result) >= before * (1 - slack));
        before = said(&result);
    }
    assert_true(before > 0.5);
}

static void runs_help(void **state) {
    (void)state;
    for_counts(enlarge);
}

static void delta_lowers(void **state) {
    (void)state;
    static const double deltas[] = {0, 1e-300, 1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.5};
    for (size_t i = 0; i < dpa__estimator_count(); ++i)
        for (size_t f = 0; f < FAMILIES; ++f) {
            const dpa_estimator *about = dpa__estimator_at(i);
            double before = INFINITY, parameter = NAN;
            if (!(about->what & DPA_FROM_COUNTS)) continue;
            for (size_t d = 0; d < sizeof deltas / sizeof deltas[0]; ++d) {
                const dpa_request request = request_of(families[f], about->name, deltas[d]);
                dpa_result r;
                if (!from_counts((dpa_counts){30, 170, 20, 180}, &request, &r)) continue;
                assert_true(said(&r) <= before);
                before = said(&r);
                if (f == 0) continue; /* only the curves of dp depend on δ */
                if (!isnan(parameter)) assert_relative(r.parameter_lower, parameter, slack);
                parameter = r.parameter_lower;
            }
        }
}

/* The registry's row, the result and the texts agree. */
static void say(const dpa_estimator *about, size_t family, double delta) {
    const dpa_request request = request_of(families[family], about->name, delta);
    dpa_result r;
    assert_true(from_counts((dpa_counts){3, 13, 2, 14}, &request, &r));
    assert_string_equal(r.method, about->name);
    assert_string_equal(r.family, families[family]);
    assert_int_equal(r.valid, about->valid);
    assert_int_equal(r.assumptions & about->assumptions, about->assumptions);
    assert_true(r.kind == DPA_ESTIMATE || (r.assumptions & family_bits[family]) != 0);
    assert_true(r.kind == DPA_ESTIMATE || r.numerical_error <= 1e-6);
    assert_true(r.kind == DPA_ESTIMATE || r.confidence == request.confidence);
    assert_true(r.valid || r.note[0] != '\0' || (r.assumptions & DPA_ASSUME_LARGE_SAMPLE) != 0);
    for (unsigned bit = 0; bit < DPA_ASSUMPTION_COUNT; ++bit)
        if (r.assumptions >> bit & 1u) assert_true(strlen(dpa__assumption_text(bit)) > 20);
    assert_true((r.assumptions >> DPA_ASSUMPTION_COUNT) == 0);
}

static void assumptions_are_said(void **state) {
    (void)state;
    for_counts(say);
}

/* ── scores ────────────────────────────────────────────────────────────────────────────────── */

typedef struct sample {
    double in[SCORES], out[SCORES];
} sample;

static sample draw(double mu, uint64_t index) {
    sample s;
    draw_two(mu, 14, index, s.in, s.out, SCORES);
    return s;
}

/* NaN if the estimator refuses. */
static double from_scores(const sample *s, const dpa_request *request) {
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_results results = {0};
    dpa_error err = {0};
    double value = NAN;
    assert_ok(dpa__scores_from(s->in, SCORES, s->out, SCORES, &scores, &err));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, &err));
    if (dpa__estimate_scores(&scores, request, &results, &err) == DPA_OK) {
        assert_int_equal(results.count, 1);
        value = said(&results.items[0]);
    } else {
        assert_true(strlen(err.text) > 10);
    }
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    return value;
}

typedef void (*check_scores)(const dpa_estimator *about, const dpa_request *request);

static void for_scores(check_scores check) {
    unsigned used = 0;
    const sample s = draw(1.5, 0);
    for (size_t i = 0; i < dpa__estimator_count(); ++i)
        for (size_t f = 0; f < FAMILIES; ++f)
            for (int d = 0; d < 2; ++d) {
                const dpa_estimator *about = dpa__estimator_at(i);
                const dpa_request request = request_of(families[f], about->name, d ? 1e-5 : 0);
                if (!(about->what & DPA_FROM_SCORES) || isnan(from_scores(&s, &request))) continue;
                ++used;
                check(about, &request);
            }
    assert_true(used >= 20);
}

static void reorder(const dpa_estimator *about, const dpa_request *request) {
    (void)about;
    const sample s = draw(1.5, 1);
    sample backwards, scaled;
    for (int i = 0; i < SCORES; ++i) {
        backwards.in[i] = s.in[SCORES - 1 - i];
        backwards.out[i] = s.out[SCORES - 1 - i];
        scaled.in[i] = exp(0.5 * s.in[i]) - 3;
        scaled.out[i] = exp(0.5 * s.out[i]) - 3;
    }
    const double bound = from_scores(&s, request);
    assert_relative(from_scores(&backwards, request), bound, 0);
    assert_relative(from_scores(&scaled, request), bound, 0);
    assert_relative(from_scores(&s, request), bound, 0); /* and the same twice */
}

static void order_and_scale_do_not_matter(void **state) {
    (void)state;
    for_scores(reorder);
}

/* Neither sample leaks: the classes have the same numbers, or are the wrong way round. */
static void expect_silence(const sample *s, const dpa_request *request, const char *what) {
    const double bound = from_scores(s, request);
    if (!(bound <= slack))
        fail_msg("%s, %s, delta %g: %g from %s", request->method, request->family, request->delta,
                 bound, what);
}

static void silent(const dpa_estimator *about, const dpa_request *request) {
    sample s = draw(0, 2);
    if (is_posterior(about)) return;
    memcpy(s.in, s.out, sizeof s.in);
    expect_silence(&s, request, "the same scores twice");
    for (int i = 0; i < SCORES; ++i) {
        s.in[i] = -5 - i;
        s.out[i] = 5 + i;
    }
    expect_silence(&s, request, "scores the wrong way round");
    for (int i = 0; i < SCORES; ++i) s.in[i] = s.out[i] = 1;
    expect_silence(&s, request, "ties only");
}

static void nothing_from_equal_scores(void **state) {
    (void)state;
    for_scores(silent);
}

static void separate(const dpa_estimator *about, const dpa_request *request) {
    if (needs_counts(about)) return;
    sample s = draw(0, 3);
    const double weak = from_scores(&s, request);
    for (int i = 0; i < SCORES; ++i) s.in[i] += 50;
    const double strong = from_scores(&s, request);
    /* a Gaussian curve has no finite ε at δ = 0, however small the leak */
    if (isinf(weak) && isinf(strong) && request->delta == 0) return;
    if (!(strong > weak))
        fail_msg("%s, %s: %g from noise, %g from a perfect attack", request->method,
                 request->family, weak, strong);
}

static void separation_shows(void **state) {
    (void)state;
    for_scores(separate);
}

/* ── one run ───────────────────────────────────────────────────────────────────────────────── */

static double from_one_run(dpa_one_run game, const dpa_request *request) {
    dpa_result result;
    assert_ok(dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, request, &result, NULL));
    assert_true(result.epsilon_lower >= 0);
    assert_true((result.assumptions & DPA_ASSUME_ONE_RUN_CANARIES) != 0);
    assert_true((result.assumptions & DPA_ASSUME_GUESSES_FIXED) != 0);
    return result.epsilon_lower;
}

static void one_run_methods(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"dp", "either"},         {"dp", "steinke"},
                                          {"dp", "recursion"},      {"gaussian", "recursion"},
                                          {"laplace", "recursion"}, {"gaussian", "pointwise"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_request request = request_of(rows[i][0], rows[i][1], 1e-5);
        double before = 0;
        for (uint64_t correct = 100; correct <= 200; correct += 4) {
            const double bound = from_one_run((dpa_one_run){1000, 2, 200, correct}, &request);
            assert_true(bound >= before * (1 - slack));
            assert_true(correct > 100 || bound == 0);
            before = bound;
        }
        assert_true(before > 1);
        for (int d = 1; d <= 3; ++d) {
            request.delta = pow(10, -5 + d);
            const double bound = from_one_run((dpa_one_run){1000, 2, 200, 200}, &request);
            assert_true(bound <= before * (1 + slack));
            before = bound;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotone_and_symmetric),
        cmocka_unit_test(nothing_from_guessing),
        cmocka_unit_test(confidence_costs),
        cmocka_unit_test(runs_help),
        cmocka_unit_test(delta_lowers),
        cmocka_unit_test(assumptions_are_said),
        cmocka_unit_test(order_and_scale_do_not_matter),
        cmocka_unit_test(nothing_from_equal_scores),
        cmocka_unit_test(separation_shows),
        cmocka_unit_test(one_run_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
