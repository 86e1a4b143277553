/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of charts of results that are made up: which rows are drawn and which are not, at the
 * edges of what a result can say. Charts of results that commands give are in tests/golden. */
#include "check.h"

#include <jansson.h>
#include <math.h>

#include "account/family.h"
#include "report/charts/charts.h"
#include "report/model/value.h"
#include "tradeoff/tradeoff.h"

/* All charts of a result, whose JSON is given with ' for ". */
static json_t *charts_of(const char *text) {
    char *json = strdup(text);
    json_error_t why;
    assert_non_null(json);
    for (char *at = json; (at = strchr(at, '\'')) != NULL;) *at = '"';
    json_t *result = json_loads(json, 0, &why);
    if (result == NULL) fail_msg("%s: %s", why.text, json);
    json_t *charts = dpa__charts(result);
    assert_non_null(charts);
    json_decref(result);
    free(json);
    return charts;
}

static const json_t *chart_of(const json_t *charts, const char *id) {
    size_t index;
    json_t *chart;
    json_array_foreach(charts, index, chart) if (dpa__is_word(chart, "id", id)) return chart;
    return NULL;
}

static const json_t *rows_of(const json_t *charts, const char *id, const char *set) {
    const json_t *spec = json_object_get(chart_of(charts, id), "spec");
    return json_object_get(json_object_get(spec, "datasets"), set);
}

static size_t count_of(const json_t *charts, const char *id, const char *set) {
    return json_array_size(rows_of(charts, id, set));
}

/* A number of a row. */
static void is_at(const json_t *rows, size_t row, const char *key, double wanted) {
    assert_absolute(dpa__number_of(json_array_get(rows, row), key), wanted, 1e-6 * fabs(wanted));
}

static void says(const json_t *charts, const char *id, const char *words) {
    const char *said = dpa__word_of(chart_of(charts, id), "alternative");
    if (strstr(said, words) == NULL) fail_msg("'%s' does not say '%s'", said, words);
}

static void says_not(const json_t *charts, const char *id, const char *words) {
    const char *said = dpa__word_of(chart_of(charts, id), "alternative");
    if (strstr(said, words) != NULL) fail_msg("'%s' says '%s'", said, words);
}

/* ── ε ───────────────────────────────────────────────────────────────────────────────── */

static void bounds(void **state) {
    (void)state;
    json_t *charts = charts_of("{'results': [{'method': 'a', 'epsilon_lower': 1}]}");
    says(charts, "bounds", "1 result on one axis");
    says_not(charts, "bounds", "The dashed line");
    assert_null(rows_of(charts, "bounds", "interval"));
    assert_null(rows_of(charts, "bounds", "claim"));
    json_decref(charts);
    charts = charts_of("{'verdict': {'claim': {'epsilon': 1.5}}, 'results': [{'method': 'a', "
                       "'epsilon_lower': 1, 'epsilon_upper': 3}, {'method': 'none'}, {'method': "
                       "'b', 'epsilon': 2, 'epsilon_lower': 0.5}]}");
    says(charts, "bounds", "2 results on one axis");
    says(charts, "bounds", "The dashed line is the claim, ε = 1.5.");
    const json_t *rows = rows_of(charts, "bounds", "main");
    assert_int_equal(json_array_size(rows), 2);
    is_at(rows, 0, "epsilon", 1);
    is_at(rows, 1, "epsilon", 2);
    is_at(rows, 1, "lower", 0.5);
    assert_int_equal(count_of(charts, "bounds", "interval"), 1);
    is_at(rows_of(charts, "bounds", "claim"), 0, "epsilon", 1.5);
    json_decref(charts);
}

/* A number has seven digits, and what is not finite is not drawn. */
static void numbers(void **state) {
    (void)state;
    json_t *charts = charts_of(
        "{'results': [{'method': 'a', 'epsilon_lower': 1.23456789, 'epsilon_upper': 1e300}]}");
    const json_t *row = json_array_get(rows_of(charts, "bounds", "main"), 0);
    assert_true(dpa__number_of(row, "lower") == 1.234568);
    assert_true(dpa__number_of(row, "upper") == 1e300);
    json_decref(charts);
}

static void posterior(void **state) {
    static const char plain[] =
        "{'posterior': {'family': 'dp', 'mean': 1.25, 'atom': 1e-6, 'points': [{'epsilon': 0, "
        "'density': 1, 'cumulative': 0}, {'epsilon': 1, 'density': 0.5, 'cumulative': 0.5}]}, "
        "'results': [{'method': 'bayes', 'family': 'other', 'epsilon_lower': 1}]}";
    static const char full[] =
        "{'posterior': {'family': 'dp', 'atom': 2e-6, 'points': [{'epsilon': 0, 'density': 1}]}, "
        "'results': [{'method': 'cp', 'family': 'dp', 'epsilon_lower': 3}, {'method': 'bayes', "
        "'family': 'dp', 'epsilon_lower': 1, 'confidence': 0.9}]}";
    (void)state;
    json_t *charts = charts_of(plain);
    says(charts, "posterior", "(family dp); mean 1.25.");
    says_not(charts, "posterior", "The solid line");
    says_not(charts, "posterior", "Probability");
    assert_int_equal(count_of(charts, "posterior", "main"), 2);
    is_at(rows_of(charts, "posterior", "main"), 1, "cumulative", 0.5);
    assert_null(rows_of(charts, "posterior", "quantile"));
    json_decref(charts);
    charts = charts_of(full);
    says(charts, "posterior", "The solid line is the lower bound");
    says(charts, "posterior", "Probability 2e-06 sits at ε = 0");
    says_not(charts, "posterior", "mean");
    is_at(rows_of(charts, "posterior", "quantile"), 0, "lower", 1);
    is_at(rows_of(charts, "posterior", "quantile"), 0, "confidence", 0.9);
    json_decref(charts);
}

/* One line per family: of its strongest bound at a confidence, else of what there is; optimistic
 * ones never. */
static void epsilon_delta(void **state) {
    static const char json[] =
        "{'verdict': {'claim': {'epsilon': 2, 'delta': 0.25}}, 'results': ["
        "{'family': 'dp', 'method': 'a', 'guarantee': 'posterior', 'epsilon_lower': 9},"
        "{'family': 'dp', 'method': 'b', 'guarantee': 'confidence', 'epsilon_lower': 1},"
        "{'family': 'dp', 'method': 'c', 'guarantee': 'confidence', 'epsilon_lower': 2},"
        "{'family': 'dp', 'method': 'd', 'guarantee': 'confidence', 'epsilon_lower': 2},"
        "{'family': 'dp', 'method': 'e', 'guarantee': 'optimistic', 'epsilon_lower': 10}],"
        "'epsilon_delta': ["
        "{'family': 'dp', 'method': 'b', 'delta': 0.1, 'epsilon_lower': 1},"
        "{'family': 'dp', 'method': 'c', 'delta': 0.1, 'epsilon_lower': 2},"
        "{'family': 'dp', 'method': 'c', 'delta': 0, 'epsilon_lower': 3},"
        "{'family': 'dp', 'method': 'd', 'delta': 0.1, 'epsilon_lower': 2},"
        "{'family': 'x', 'method': 'y', 'delta': 0.2, 'epsilon_lower': 4}]}";
    (void)state;
    json_t *charts = charts_of(json);
    const json_t *rows = rows_of(charts, "epsilon-delta", "main");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(dpa__word_of(json_array_get(rows, 0), "name"), "dp · c");
    is_at(rows, 0, "epsilon", 2);
    assert_string_equal(dpa__word_of(json_array_get(rows, 1), "name"), "x · y");
    is_at(rows_of(charts, "epsilon-delta", "claim"), 0, "delta", 0.25);
    json_decref(charts);
}

/* Without a section a Gaussian bound has its whole curve, four δ per decade. */
static void gaussian_curve(void **state) {
    static const char *const none[] = {
        "{'results': [{'family': 'gaussian', 'method': 'cp', 'guarantee': 'confidence', "
        "'epsilon_lower': 1, 'parameter': {'name': 'mu', 'lower': 0}}]}",
        "{'results': [{'family': 'gaussian', 'method': 'cp', 'guarantee': 'posterior', "
        "'epsilon_lower': 1, 'parameter': {'name': 'mu', 'lower': 1}}]}",
        "{'results': [{'family': 'gaussian', 'method': 'cp', 'guarantee': 'confidence', "
        "'epsilon_lower': 1, 'parameter': {'name': 'sigma', 'lower': 1}}]}",
        "{'results': [{'family': 'laplace', 'method': 'cp', 'guarantee': 'confidence', "
        "'epsilon_lower': 1, 'parameter': {'name': 'mu', 'lower': 1}}]}"};
    (void)state;
    json_t *charts =
        charts_of("{'verdict': {'claim': {'epsilon': 2, 'delta': 0}}, 'results': [{'family': "
                  "'gaussian', 'method': 'cp', 'guarantee': 'confidence', 'epsilon_lower': 1, "
                  "'parameter': {'name': 'mu', 'lower': 0.5}}]}");
    const json_t *rows = rows_of(charts, "epsilon-delta", "main");
    assert_int_equal(json_array_size(rows), 39);
    for (size_t i = 0; i < 39; ++i) {
        const double delta = pow(10, ((double)i - 40) / 4);
        is_at(rows, i, "delta", delta);
        is_at(rows, i, "epsilon", dpa_gaussian_epsilon(0.5, delta));
    }
    assert_null(rows_of(charts, "epsilon-delta", "claim")); /* at δ = 0 nothing is on a log axis */
    json_decref(charts);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i) {
        charts = charts_of(none[i]);
        assert_null(chart_of(charts, "epsilon-delta"));
        json_decref(charts);
    }
}

static void plans(void **state) {
    static const char json[] =
        "{'plan': {'power': 0.8}, 'power_curve': [{'series': 'a', 'size': 0, 'power': 0.1},"
        "{'series': 'a', 'size': 10, 'power': 0.05, 'error': 0.04}, {'series': 'a', 'size': 20, "
        "'power': 0.5, 'error': 0.1}, {'series': 'a', 'size': 30, 'power': 0.95, 'error': 0.04},"
        "{'series': 'a', 'size': 40, 'power': 0.99, 'error': 0}],"
        "'precision_curve': [{'series': 'b', 'samples': 0}, {'series': 'b', 'samples': 8, "
        "'epsilon_lower': 1, 'epsilon_upper': 3}],"
        "'guesses_curve': [{'family': 'dp', 'guesses': 0, 'epsilon_lower': 1}, {'family': 'dp', "
        "'guesses': 4, 'correct': 3, 'epsilon_lower': 2}]}";
    (void)state;
    json_t *charts = charts_of(json);
    const json_t *rows = rows_of(charts, "power", "simulated");
    assert_int_equal(count_of(charts, "power", "main"), 4);
    assert_int_equal(json_array_size(rows), 3);
    is_at(rows, 0, "low", 0);
    is_at(rows, 0, "high", 0.13);
    is_at(rows, 1, "low", 0.3);
    is_at(rows, 1, "high", 0.7);
    is_at(rows, 2, "low", 0.87);
    is_at(rows, 2, "high", 1);
    is_at(rows_of(charts, "power", "wanted"), 0, "power", 0.8);
    rows = rows_of(charts, "precision", "main");
    assert_int_equal(json_array_size(rows), 2);
    is_at(rows, 0, "epsilon", 1);
    is_at(rows, 1, "epsilon", 3);
    assert_true(dpa__is_word(json_array_get(rows, 0), "end", "lower"));
    rows = rows_of(charts, "guesses", "main");
    assert_int_equal(json_array_size(rows), 1);
    is_at(rows, 0, "correct", 3);
    json_decref(charts);
    charts = charts_of("{'plan': {'power': 0.8}, 'guesses_curve': [{'guesses': 0}], 'verdict': "
                       "{'claim': {'epsilon': 1}}}");
    assert_null(chart_of(charts, "power"));
    assert_null(chart_of(charts, "guesses"));
    json_decref(charts);
}

static void trend(void **state) {
    (void)state;
    json_t *charts = charts_of(
        "{'trend': [{'audit': 'a', 'epsilon': 1, 'claim': 2, 'detects': 3}, {'audit': 'b', "
        "'epsilon': 2, 'claim': 4}, {'audit': 'c', 'epsilon': 3, 'detects': 5}]}");
    assert_int_equal(count_of(charts, "trend", "main"), 3);
    assert_int_equal(count_of(charts, "trend", "detects"), 2);
    assert_int_equal(count_of(charts, "trend", "claims"), 2);
    assert_int_equal(count_of(charts, "trend", "last"), 1);
    is_at(rows_of(charts, "trend", "last"), 0, "claim", 4);
    says(charts, "trend", "3 audits in their order");
    json_decref(charts);
}

/* ── error rates ─────────────────────────────────────────────────────────────────────── */

static void roc(void **state) {
    static const char json[] =
        "{'roc': [{'fpr': 0, 'tpr': 0.1, 'tpr_lower': 0.05, 'tpr_upper': 0.2}, {'fpr': 0.01, "
        "'tpr': 0.3, 'tpr_lower': 0.001, 'tpr_upper': 0.5}, {'fpr': 0.5, 'tpr': 0.005}, {'fpr': 1, "
        "'tpr': 1}], 'quality': {'auc': {'value': 0.75}}, 'verdict': {'claim': {'epsilon': 1, "
        "'delta': 0}}, 'results': [{'role': 'primary', 'confidence': 0.95}]}";
    dpa_curve *curve = NULL;
    (void)state;
    assert_ok(dpa_curve_dp(1, 0, &curve, NULL));
    json_t *charts = charts_of(json);
    const json_t *rows = rows_of(charts, "roc", "main");
    assert_int_equal(json_array_size(rows), 4 + 81 + 2);
    for (size_t i = 0; i <= 80; ++i) {
        const double share = (double)i / 80;
        is_at(rows, 4 + i, "fpr", share * share);
        is_at(rows, 4 + i, "tpr", dpa__curve_tpr(curve, share * share));
    }
    is_at(rows, 85, "fpr", 0);
    is_at(rows, 85, "tpr", 0);
    is_at(rows, 86, "tpr", 1);
    is_at(rows_of(charts, "roc", "band"), 1, "tpr_lower", 0.001);
    assert_int_equal(count_of(charts, "roc", "band"), 2);
    says(charts, "roc", " Area under the curve: 0.7500.");
    says(charts, "roc", "has no attack above the limit");
    says(charts, "roc", "at 95%.");
    /* logarithmic axes begin at the smallest rate above 0; points below it are not drawn */
    rows = rows_of(charts, "roc-log", "main");
    assert_int_equal(json_array_size(rows), 2 + 81 + 2);
    is_at(rows, 0, "fpr", 0.01);
    is_at(rows, 2, "fpr", 0.01);
    is_at(rows, 42, "fpr", 0.1);
    is_at(rows, 83, "fpr", 0.01);
    is_at(rows, 83, "tpr", 0.01);
    is_at(rows_of(charts, "roc-log", "band"), 0, "tpr_lower", 0.01);
    assert_int_equal(count_of(charts, "roc-log", "band"), 1);
    json_decref(charts);
    dpa_curve_free(curve);
    charts = charts_of("{'roc': [{'fpr': 1e-8, 'tpr': 0.5}, {'fpr': 1e-6, 'tpr': 0.5}]}");
    assert_int_equal(count_of(charts, "roc-log", "main"), 1 + 2);
    is_at(rows_of(charts, "roc-log", "main"), 0, "fpr", 1e-6);
    says_not(charts, "roc", "Area");
    says_not(charts, "roc", "limit");
    says_not(charts, "roc", "band");
    json_decref(charts);
    charts = charts_of("{'roc': []}");
    assert_null(chart_of(charts, "roc"));
    json_decref(charts);
}

static void region(void **state) {
    static const char *const none[] = {"{'evidence': {'fn': -1, 'tp': 2, 'fp': 1, 'tn': 1}}",
                                       "{'evidence': {'fn': 0, 'tp': 0, 'fp': 1, 'tn': 1}}",
                                       "{'evidence': {'fn': 1, 'tp': 1, 'fp': 0, 'tn': 0}}",
                                       "{'evidence': {'fn': 1, 'tp': 1, 'fp': 1}}",
                                       "{'evidence': {}}"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i) {
        json_t *charts = charts_of(none[i]);
        assert_null(chart_of(charts, "region"));
        json_decref(charts);
    }
    json_t *charts = charts_of("{'evidence': {'fn': 0, 'tp': 4, 'fp': 0, 'tn': 4}}");
    says(charts, "region", "FPR 0 and FNR 0");
    says_not(charts, "region", "limit");
    assert_int_equal(count_of(charts, "region", "curves"), 121); /* guessing alone */
    json_decref(charts);
    /* the counts of the strongest posterior, with the claim and the bound beside them */
    charts = charts_of(
        "{'delta': 1e-5, 'verdict': {'claim': {'epsilon': 1, 'delta': 1e-5}}, 'evidence': {'fn': 9,"
        " 'tp': 1, 'fp': 9, 'tn': 1}, 'results': [{'role': 'primary', 'guarantee': 'confidence', "
        "'family': 'gaussian', 'epsilon_lower': 2, 'counts': {'fn': 8, 'tp': 2, 'fp': 8, 'tn': 2}},"
        "{'method': 'bayes', 'epsilon_lower': 1, 'counts': {'fn': 1, 'tp': 3, 'fp': 1, 'tn': 4}},"
        "{'method': 'bayes', 'epsilon_lower': 0.5, 'counts': {'fn': 7, 'tp': 3, 'fp': 7, 'tn': 3}},"
        "{'method': 'bayes', 'epsilon_lower': 3}]}");
    says(charts, "region", "FPR 0.2 and FNR 0.25, as a cross");
    says(charts, "region", "Below the limit of the claim");
    const json_t *rows = rows_of(charts, "region", "curves");
    assert_int_equal(json_array_size(rows), 3 * 121);
    is_at(rows, 60, "fpr", 0.25);
    dpa_curve *gaussian = NULL;
    assert_ok(dpa_curve_gaussian(dpa_gaussian_mu(2, 1e-5), &gaussian, NULL));
    is_at(rows, 121 + 60, "fnr", dpa_curve_fnr(gaussian, 0.25));
    is_at(rows, 242 + 60, "fnr", 0.75);
    dpa_curve_free(gaussian);
    /* the cloud: within four deviations of Beta(fp + ½, tn + ½), down to a hundredth of its top */
    rows = rows_of(charts, "region", "posterior");
    const double mean = 1.5 / 6, deviation = sqrt(1.5 / 6 * (4.5 / 6) / 7);
    const double high = fmin(mean + 4 * deviation, 1), cell = high / 20;
    double top = 0;
    for (size_t i = 0; i < json_array_size(rows); ++i) {
        const json_t *row = json_array_get(rows, i);
        const double from = dpa__number_of(row, "fpr"), density = dpa__number_of(row, "density");
        assert_absolute(dpa__number_of(row, "fpr_to") - from, cell, 1e-6);
        assert_absolute(from / cell, round(from / cell), 1e-5);
        assert_true(density >= 0.01 && density <= 1);
        top = fmax(top, density);
    }
    assert_true(top == 1);
    assert_true(json_array_size(rows) > 100 && json_array_size(rows) < 400);
    json_decref(charts);
}

/* ── samples ─────────────────────────────────────────────────────────────────────────── */

static void histogram(void **state) {
    (void)state;
    json_t *charts =
        charts_of("{'evidence': {'members': 4, 'nonmembers': 2}, 'histogram': {'edges': [0, 1, 3], "
                  "'members': [3, 1], 'nonmembers': [0, 2]}, 'results': [{'threshold': 1.5}]}");
    const json_t *rows = rows_of(charts, "histogram", "main");
    assert_int_equal(json_array_size(rows), 4);
    is_at(rows, 0, "share", 0.75);
    is_at(rows, 1, "from", 1);
    is_at(rows, 1, "to", 3);
    is_at(rows, 1, "share", 0.25);
    is_at(rows, 1, "density", 0.125);
    is_at(rows, 3, "count", 2);
    rows = rows_of(charts, "histogram", "outline");
    assert_int_equal(json_array_size(rows), 6);
    is_at(rows, 2, "x", 3);
    is_at(rows, 2, "share", 0);
    is_at(rows, 2, "density", 0);
    is_at(rows_of(charts, "histogram", "threshold"), 0, "threshold", 1.5);
    says(charts, "histogram", "Scores of 4 members and 2 non-members. ");
    json_decref(charts);
    charts = charts_of("{'histogram': {'edges': [0, 1, 3], 'members': [3], 'nonmembers': [0, 0]}}");
    assert_null(chart_of(charts, "histogram"));
    json_decref(charts);
}

static void cosines(void **state) {
    static const char small[] =
        "{'evidence': {'dim': 2}, 'cosines': {'edges': [-0.5, 0.5], 'observed': [3]}}";
    static const char known[] =
        "{'evidence': {'dim': 3}, 'cosines': {'edges': [-0.5, 0.5], 'observed': [3]}, 'results': "
        "[{'cosine_deviation': 0}, {'cosine_mean': 0.25, 'cosine_deviation': 0.5}]}";
    (void)state;
    json_t *charts = charts_of(small);
    assert_null(rows_of(charts, "cosines", "law"));
    says(charts, "cosines", "and the exact law of a canary that did not");
    json_decref(charts);
    charts = charts_of(known);
    const json_t *rows = rows_of(charts, "cosines", "law");
    size_t index, null_count = 0, canaries = 0;
    json_t *row;
    /* four deviations of the null to both sides; in three dimensions it is uniform in (−1, 1) */
    const double reach = 4 / sqrt(3);
    json_array_foreach(rows, index, row) {
        const double at = dpa__number_of(row, "cosine"), density = dpa__number_of(row, "density");
        const double z = (at - 0.25) / 0.5;
        if (dpa__is_word(row, "class", "null")) {
            assert_true(fabs(at) < 1);
            assert_absolute(density, 0.5, 1e-6);
            ++null_count;
        } else {
            assert_absolute(at, -reach + 2 * reach * (double)canaries / 160, 1e-6);
            assert_absolute(density, exp(-0.5 * z * z) / (0.5 * sqrt(2 * acos(-1))), 1e-6);
            ++canaries;
        }
    }
    assert_int_equal(canaries, 161);
    assert_int_equal(null_count, 69);
    json_decref(charts);
}

static void losses(void **state) {
    (void)state;
    json_t *charts = charts_of(
        "{'epsilon_star': {'rates': [{'threshold': 1, 'fnr': 0.25, 'fpr': 0.1, 'fpr_fitted': 0.2}],"
        "'models': [{'results': [{'method': 'a', 'threshold': 2, 'epsilon': 3, 'ratio': 'r'}, "
        "{'method': 'none'}, {'method': 'b', 'threshold': 4, 'epsilon_lower': 5}]}, {'results': "
        "[{'method': 'other', 'threshold': 2}]}]}}");
    const json_t *rows = rows_of(charts, "losses", "main");
    assert_int_equal(json_array_size(rows), 3);
    is_at(rows, 0, "share", 0.75);
    is_at(rows, 1, "share", 0.1);
    is_at(rows, 2, "share", 0.2);
    assert_true(dpa__is_word(json_array_get(rows, 2), "losses", "held-out, fitted"));
    rows = rows_of(charts, "losses", "attained");
    assert_int_equal(json_array_size(rows), 2);
    is_at(rows, 0, "label_at", 0.06);
    is_at(rows, 1, "label_at", 0.22);
    is_at(rows, 1, "epsilon", 5);
    json_decref(charts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),         cmocka_unit_test(numbers),
        cmocka_unit_test(posterior),      cmocka_unit_test(epsilon_delta),
        cmocka_unit_test(gaussian_curve), cmocka_unit_test(plans),
        cmocka_unit_test(trend),          cmocka_unit_test(roc),
        cmocka_unit_test(region),         cmocka_unit_test(histogram),
        cmocka_unit_test(cosines),        cmocka_unit_test(losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
