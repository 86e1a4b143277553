/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores: sorting, lints, files, corners, and the choice of thresholds against slow routines. */
#include "check.h"
#include "prepared.h"

#include "base/rng.h"
#include "base/text.h"
#include "estimate/rates/roc.h"
#include "estimate/scores.h"
#include "evidence/evidence.h"

static dpa_scores gaussian(uint64_t seed, size_t n, double mu, double grid) {
    double *values = malloc(2 * n * sizeof *values);
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < 2 * n; ++i) {
        values[i] = dpa__rng_normal(&rng) + (i < n ? mu : 0);
        if (grid > 0) values[i] = grid * floor(values[i] / grid);
    }
    const dpa_scores scores = prepared(values, n, values + n, n);
    free(values);
    return scores;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sorts(void **state) {
    (void)state;
    for (size_t n = 0; n < 3000; n = n < 70 ? n + 1 : 2 * n + 1) {
        double *a = malloc((n + 1) * sizeof *a), *b = malloc((n + 1) * sizeof *b);
        dpa_rng rng;
        dpa__rng_init(&rng, n, DPA_PURPOSE_TEST, 1);
        for (size_t i = 0; i < n; ++i)
            a[i] = b[i] = i % 7 == 0 ? floor(3 * dpa__rng_normal(&rng))
                                     : exp(200 * dpa__rng_normal(&rng)) * (i % 2 ? 1 : -1);
        if (n > 300) a[5] = b[5] = HUGE_VAL, a[6] = b[6] = -HUGE_VAL;
        assert_ok(dpa__sort_numbers(a, n, NULL));
        qsort(b, n, sizeof *b, compare);
        for (size_t i = 0; i < n; ++i) assert_true(a[i] == b[i]);
        free(a);
        free(b);
    }
}

static int has_lint(const dpa_lints *lints, const char *code) {
    for (size_t i = 0; i < lints->count; ++i)
        if (strcmp(lints->items[i].code, code) == 0) return 1;
    return 0;
}

static int says(const dpa_lints *lints, const char *words) {
    for (size_t i = 0; i < lints->count; ++i)
        if (strstr(lints->items[i].text, words) != NULL) return 1;
    return 0;
}

static void lint(const double *in, size_t m, const double *out, size_t n, const char *code,
                 int expected) {
    dpa_scores scores;
    dpa_lints lints = {0};
    assert_ok(dpa__scores_from(in, m, out, n, &scores, NULL));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
    if (has_lint(&lints, code) != expected) fail_msg("lint %s", code);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
}

static void lints(void **state) {
    (void)state;
    double in[100], out[100];
    for (int i = 0; i < 100; ++i) in[i] = 0.3 + i, out[i] = 0.6 + i;
    static const char *const all[] = {"nan",  "infinite", "duplicates",    "ties",
                                      "sign", "tiny",     "copied-scores", "shared-scores"};
    for (int i = 0; i < 8; ++i) lint(in, 100, out, 100, all[i], 0);
    lint(in, 10, out, 100, "tiny", 1);
    in[3] = NAN;
    lint(in, 100, out, 100, "nan", 1);
    lint(in, 100, out, 100, "infinite", 0);
    in[4] = HUGE_VAL;
    lint(in, 100, out, 100, "infinite", 1);
    in[3] = in[4] = out[7];
    lint(in, 100, out, 100, "ties", 1);
    in[5] = in[6] = in[3];
    lint(in, 100, out, 100, "duplicates", 1);
    for (int i = 0; i < 100; ++i) in[i] = out[i] - 60;
    lint(in, 100, out, 100, "sign", 1);
    for (int i = 0; i < 100; ++i) in[i] = 1; /* equal scores are no sign of anything */
    lint(in, 100, in, 100, "sign", 0);
    lint(in, 100, in, 100, "ties", 1);
}

/* Members with the score of a non-member, and pairs won, counted one by one, beside what two
 * threads find: each takes half of the members, also where a tie lies across the middle. */
static void classes_by_halves(void **state) {
    (void)state;
    for (size_t m = 1; m <= 40; ++m)
        for (unsigned threads = 1; threads <= 3; ++threads) {
            double in[40], out[60];
            size_t tied = 0, won = 0, equal = 0;
            for (size_t i = 0; i < m; ++i) in[i] = (double)((i * 7 + m) % 11) - 6;
            for (size_t j = 0; j < 60; ++j) out[j] = (double)(j * 5 % 13);
            for (size_t i = 0; i < m; ++i) {
                const size_t before = equal;
                for (size_t j = 0; j < 60; ++j) won += in[i] > out[j], equal += in[i] == out[j];
                tied += equal > before;
            }
            const dpa_scores given = {
                .member = in, .nonmember = out, .members = m, .nonmembers = 60};
            dpa_scores scores;
            dpa_lints lints = {0};
            char ties[80] = "", sign[80] = "";
            assert_ok(dpa__scores_prepare(&given, threads, &scores, &lints, NULL));
            (void)snprintf(ties, sizeof ties, "%zu members share", tied);
            (void)dpa__print(sign, sizeof sign, "(AUC %.3f)",
                             ((double)won + 0.5 * (double)equal) / (60.0 * (double)m));
            assert_int_equal(says(&lints, ties), tied > 0);
            assert_true(says(&lints, sign) || m < 11);
            dpa__lints_free(&lints);
            dpa__scores_free(&scores);
        }
}

/* Fewer than twenty different scores may come in twos by chance; failed trials always do. */
static void copied_rows(void **state) {
    (void)state;
    double twice[100], out[100], alone[100];
    for (int i = 0; i < 100; ++i) twice[i] = i / 2, out[i] = 0.25 + i, alone[i] = 0.75 + i;
    lint(twice, 100, out, 100, "copied-scores", 1);
    lint(out, 100, twice, 100, "copied-scores", 1);
    lint(twice, 40, out, 100, "copied-scores", 1);
    lint(twice, 38, out, 100, "copied-scores", 0);
    lint(twice, 99, out, 100, "copied-scores", 0);
    twice[0] = twice[1] = twice[2];
    lint(twice, 100, out, 100, "copied-scores", 1);
    for (int i = 0; i < 3; ++i) twice[10 + i] = alone[10 + i] = i ? -HUGE_VAL : HUGE_VAL;
    twice[13] = -HUGE_VAL;
    lint(twice, 100, out, 100, "copied-scores", 1);
    lint(alone, 100, out, 100, "copied-scores", 0);
    for (int i = 0; i < 60; ++i) twice[i] = i / 3;
    lint(twice, 60, out, 100, "copied-scores", 1);
    for (int i = 0; i < 40; ++i) twice[60 + i] = 30 + i / 4;
    lint(twice, 100, out, 100, "copied-scores", 0); /* threes and fours */
}

static void constant_scores(void **state) {
    (void)state;
    double in[20], out[20], whole[20];
    for (int i = 0; i < 20; ++i) in[i] = 1.5, out[i] = 0.25, whole[i] = 1;
    lint(in, 20, out, 20, "constant-scores", 1);
    lint(in, 20, out, 20, "duplicates", 0);
    lint(in, 19, out, 20, "constant-scores", 0);
    lint(in, 20, out, 19, "constant-scores", 0);
    lint(whole, 20, out, 20, "constant-scores", 0);
    lint(whole, 20, out, 20, "duplicates", 1);
    in[7] = -HUGE_VAL; /* a trial that failed */
    lint(in, 20, out, 20, "constant-scores", 0);
    for (int i = 0; i < 20; ++i) in[i] = HUGE_VAL;
    lint(in, 20, out, 20, "constant-scores", 0);
}

static void the_same_in_both_classes(void **state) {
    (void)state;
    double in[100], out[100], grid[100];
    for (int i = 0; i < 100; ++i) in[i] = i, out[i] = i < 20 ? i : 0.5 + i;
    for (int i = 0; i < 100; ++i) grid[i] = floor(0.3 * i);
    lint(in, 100, in, 100, "shared-scores", 1);
    lint(grid, 100, grid, 100, "shared-scores", 1);
    lint(grid, 65, grid, 65, "shared-scores", 1);
    lint(grid, 64, grid, 64, "shared-scores", 0); /* 19 different scores */
    lint(in, 100, out, 100, "shared-scores", 1);
    lint(out, 99, in, 100, "shared-scores", 1);
    lint(in + 1, 99, out, 100, "shared-scores", 0);
    in[99] = in[98];
    lint(in, 100, out, 100, "shared-scores", 0);
    for (int i = 20; i < 24; ++i) out[i] = i;
    lint(in, 100, out, 100, "shared-scores", 1);
    lint(in + 1, 99, out, 100, "shared-scores", 0);
    lint(grid, 100, grid, 99, "shared-scores", 0); /* rounded scores */
}

static void no_honest_answer(void **state) {
    (void)state;
    const double one = 1, bad = NAN;
    dpa_scores scores;
    dpa_lints found = {0};
    dpa_error err;
    assert_ok(dpa__scores_from(&one, 1, &one, 0, &scores, NULL));
    assert_int_equal(dpa__scores_prepare_here(&scores, &found, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "non-members"));
    dpa__scores_free(&scores);
    assert_ok(dpa__scores_from(&bad, 1, &one, 1, &scores, NULL));
    assert_int_equal(dpa__scores_prepare_here(&scores, &found, &err), DPA_BAD_INPUT);
    dpa__scores_free(&scores);
    dpa__lints_free(&found);
}

/* Corners: no threshold outside the list beats the corners in both counts. */
static void corners(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 40; ++seed) {
        dpa_scores s = gaussian(seed, 5 + seed, 1, seed % 3 ? 0 : 0.5);
        dpa__roc roc;
        assert_ok(dpa__roc_of(&s, &roc, NULL));
        for (size_t i = 0; i < roc.count; ++i) {
            const dpa_counts c = dpa__scores_counts(&s, roc.items[i].threshold);
            assert_int_equal(c.fn, roc.items[i].fn);
            assert_int_equal(c.fp, roc.items[i].fp);
            if (i > 0) assert_true(roc.items[i].fn < roc.items[i - 1].fn);
            if (i > 0) assert_true(roc.items[i].fp > roc.items[i - 1].fp);
        }
        for (size_t k = 0; k < s.members; ++k) { /* every threshold is beaten by a corner */
            const dpa_counts c = dpa__scores_counts(&s, s.member[k]);
            int beaten = 0;
            for (size_t i = 0; i < roc.count; ++i)
                beaten |= roc.items[i].fn <= c.fn && roc.items[i].fp <= c.fp;
            assert_true(beaten);
        }
        dpa__roc_free(&roc);
        dpa__scores_free(&s);
    }
}

static dpa_request request_of(const char *family, const char *method, const char *select) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    return request;
}

static dpa_result one(const dpa_scores *s, const dpa_request *request) {
    dpa_results results = {0};
    dpa_error err = {0};
    if (dpa__estimate_scores(s, request, &results, &err) != DPA_OK)
        fail_msg("%s %s %s: %s", request->family, request->method, request->select, err.text);
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

static double from_counts(const dpa_counts *counts, const dpa_request *request) {
    dpa_results results = {0};
    assert_ok(dpa__estimate_counts(counts, request, &results, NULL));
    const double lower = results.items[0].epsilon_lower;
    dpa__results_free(&results);
    return lower;
}

static const char *const families[] = {"dp", "gaussian", "laplace"};
static const char *const methods[] = {"cp", "jeffreys", "bayes"};

static void fixed_is_counts(void **state) {
    (void)state;
    dpa_scores s = gaussian(3, 200, 1, 0);
    for (int f = 0; f < 3; ++f)
        for (int m = 0; m < 3; ++m) {
            dpa_request request = request_of(families[f], methods[m], "fixed:0.5");
            const dpa_result r = one(&s, &request);
            const dpa_counts counts = dpa__scores_counts(&s, 0.5);
            assert_true(r.epsilon_lower == from_counts(&counts, &request));
            assert_true(r.valid && r.assumptions & DPA_ASSUME_THRESHOLD_FIXED);
        }
    dpa__scores_free(&s);
}

/* max is the largest bound over all thresholds, found by trying them all. */
static void max_is_the_largest(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; ++seed)
        for (int f = 0; f < 3; ++f)
            for (int m = 0; m < 3; ++m) {
                dpa_scores s = gaussian(seed, 60, 1, seed == 3 ? 0.25 : 0);
                dpa_request request = request_of(families[f], methods[m], "max");
                const dpa_result r = one(&s, &request);
                double largest = 0;
                for (size_t k = 0; k < s.members; ++k) {
                    const dpa_counts counts = dpa__scores_counts(&s, s.member[k]);
                    largest = fmax(largest, from_counts(&counts, &request));
                }
                assert_relative(r.epsilon_lower, largest, 1e-8);
                assert_false(r.valid);
                dpa__scores_free(&s);
            }
}

/* The same for intervals, whose lower end may be the opposite attack's (mu below 0) and, for dp, is
 * small if a rate is zero (mu 4: nearly separated), so it is not at a corner. */
static void max_of_intervals(void **state) {
    (void)state;
    static const char *const all[] = {"cp", "jeffreys", "bayes", "katz"};
    static const double mu[] = {1, -1, 4, 0};
    int beyond_corners = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed)
        for (int f = 0; f < 2; ++f)
            for (int m = 0; m < (f == 0 ? 4 : 3); ++m) {
                dpa_scores s = gaussian(seed, 60, mu[seed - 1], seed == 4 ? 0.25 : 0);
                dpa_request request = request_of(families[f], all[m], "max");
                request.sides = 2;
                if (m == 3) request.delta = 0; /* all that a ratio of rates knows */
                const dpa_result r = one(&s, &request);
                double largest = 0, at_members = 0;
                for (size_t k = 0; k < s.members + s.nonmembers; ++k) {
                    const int is_member = k < s.members;
                    const dpa_counts counts = dpa__scores_counts(
                        &s, is_member ? s.member[k] : s.nonmember[k - s.members]);
                    const double here = from_counts(&counts, &request);
                    largest = fmax(largest, here);
                    if (is_member) at_members = fmax(at_members, here);
                }
                assert_absolute(r.epsilon_lower, largest, 1e-8 * fmax(1, largest));
                const dpa_counts chosen = dpa__scores_counts(&s, r.threshold);
                assert_absolute(from_counts(&chosen, &request), largest, 1e-8 * fmax(1, largest));
                beyond_corners += largest > at_members;
                dpa__scores_free(&s);
            }
    assert_true(beyond_corners > 0);
}

/* The fast path for many corners stays very close to trying them all. */
static void many_corners(void **state) {
    (void)state;
    dpa_scores s = gaussian(11, 6000, 1, 0);
    for (int f = 0; f < 3; ++f) {
        dpa_request request = request_of(families[f], "cp", "max");
        const dpa_result r = one(&s, &request);
        double largest = 0;
        for (size_t k = 0; k < s.members; k += f == 2 ? 7 : 1) {
            const dpa_counts counts = dpa__scores_counts(&s, s.member[k]);
            largest = fmax(largest, from_counts(&counts, &request));
        }
        assert_true(r.epsilon_lower >= largest * (1 - 1e-3));
    }
    dpa__scores_free(&s);
}

static void simultaneous_below_max(void **state) {
    (void)state;
    dpa_scores s = gaussian(5, 300, 1, 0);
    for (int f = 0; f < 3; ++f) {
        dpa_request all = request_of(families[f], "cp", "simultaneous");
        dpa_request max = request_of(families[f], "cp", "max");
        const dpa_result r = one(&s, &all);
        assert_true(r.valid);
        assert_between(r.epsilon_lower, 0.01, one(&s, &max).epsilon_lower);
        assert_non_null(strstr(r.note, "table"));
    }
    dpa__scores_free(&s);
}

static void splits(void **state) {
    (void)state;
    dpa_scores s = gaussian(9, 400, 1.5, 0);
    dpa_request request = request_of("gaussian", "cp", "split");
    const dpa_result r = one(&s, &request);
    assert_int_equal(r.counts.fn + r.counts.tp, 200);
    assert_int_equal(r.counts.fp + r.counts.tn, 200);
    assert_true(r.valid);
    assert_true(one(&s, &request).epsilon_lower == r.epsilon_lower); /* same seed, same bytes */
    request.seed = 2;
    assert_true(one(&s, &request).threshold != r.threshold);
    dpa_request many = request_of("gaussian", "cp", "multi-split");
    assert_between(one(&s, &many).epsilon_lower, 0.5, 8);
    dpa_request fpr = request_of("gaussian", "cp", "fixed-fpr:0.05");
    assert_int_equal(one(&s, &fpr).counts.fp, 20);
    dpa__scores_free(&s);
}

static void refusals(void **state) {
    (void)state;
    dpa_scores s = gaussian(1, 30, 1, 0);
    static const char *const bad[][3] = {
        {"dp", "cp", "fixed"},
        {"dp", "cp", "fixed:"},
        {"dp", "cp", "fixed:x"},
        {"dp", "cp", "fixed-fpr:1.5"},
        {"dp", "cp", "best"},
        {"dp", "cp", "split:3"},
        {"dp", "bayes", "simultaneous"},
        {"dp", "rank", ""},
        {"gaussian", "rank", "max"},
        {"dp", "katz", ""},
        {"gaussian", "katz", "max"},
        {"normal", "cp", ""},
        {"dp", "wald", ""},
        {"gaussian", "rank:x", ""},
        {"dp", "point", "max"},
        {"dp", "cp:x", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const dpa_request request = request_of(bad[i][0], bad[i][1], bad[i][2]);
        dpa_results results = {0};
        dpa_error err = {0};
        if (dpa__estimate_scores(&s, &request, &results, &err) != DPA_BAD_ARGUMENT)
            fail_msg("accepted: %s %s %s", bad[i][0], bad[i][1], bad[i][2]);
        assert_true(strlen(err.text) > 10);
        dpa__results_free(&results);
    }
    dpa__scores_free(&s);
}

/* One score per class, all equal, or perfect: an answer or a clear zero, never NaN. */
static void extremes(void **state) {
    (void)state;
    const double zero = 0, five = 5;
    double equal[50] = {0}, high[50];
    for (int i = 0; i < 50; ++i) high[i] = 10.0 + i;
    dpa_scores cases[] = {prepared(&five, 1, &zero, 1), prepared(&zero, 1, &five, 1),
                          prepared(equal, 50, equal, 50), prepared(high, 50, equal, 50),
                          prepared(equal, 50, high, 50)};
    static const char *const selects[] = {"",        "max",         "split",
                                          "fixed:3", "fixed-fpr:0", "simultaneous"};
    for (size_t c = 0; c < 5; ++c)
        for (size_t i = 0; i < 6; ++i) {
            if (c < 2 && i == 2) continue; /* nothing to split */
            const dpa_request request = request_of("", "", selects[i]);
            dpa_results results = {0};
            assert_ok(dpa__estimate_scores(&cases[c], &request, &results, NULL));
            for (size_t k = 0; k < results.count; ++k) {
                const dpa_result *r = &results.items[k];
                if (r->kind == DPA_ESTIMATE) continue;
                assert_true(r->epsilon_lower >= 0); /* nor NaN */
                if (c != 3 && r->valid && strcmp(r->method, "bayes") != 0)
                    assert_true(r->epsilon_lower == 0);
            }
            dpa__results_free(&results);
        }
    for (size_t c = 0; c < 5; ++c) dpa__scores_free(&cases[c]);
}

/* Mann–Whitney by hand, and intervals that contain what they must. */
static void quality(void **state) {
    (void)state;
    const double in[] = {3, 1, 2, 2}, out[] = {0, 2, 1};
    dpa_scores s = prepared(in, 4, out, 3);
    dpa_request request = request_of("", "", "");
    dpa_quality q;
    assert_ok(dpa__scores_quality(&s, &request, &q, NULL));
    assert_relative(q.auc.value, (3 + 1.5 + 2.5 + 2.5) / 12, 1e-15);
    assert_between(q.auc.lower, 0, q.auc.value);
    assert_between(q.auc.upper, q.auc.value, 1);
    assert_relative(q.accuracy.value, 0.5 * (0.75 + 2.0 / 3), 1e-15);
    assert_relative(q.tpr[0].value, 0.25, 1e-15);
    dpa__scores_free(&s);
    s = gaussian(4, 1000, 1, 0);
    assert_ok(dpa__scores_quality(&s, &request, &q, NULL));
    assert_between(0.7602, q.auc.lower, q.auc.upper);
    assert_between(q.auc.upper - q.auc.lower, 0.035, 0.05); /* 2·1.96·0.0107 */
    dpa_measure drawn;
    assert_ok(dpa__scores_auc_bootstrap(&s, &request, &drawn, NULL));
    assert_relative(drawn.value, q.auc.value, 1e-15);
    assert_absolute(drawn.lower, q.auc.lower, 0.1 * (q.auc.upper - q.auc.lower));
    assert_absolute(drawn.upper, q.auc.upper, 0.1 * (q.auc.upper - q.auc.lower));
    dpa__scores_free(&s);
    /* one score in a class says nothing about the spread */
    s = prepared(in, 1, out, 3);
    assert_ok(dpa__scores_quality(&s, &request, &q, NULL));
    assert_between(q.auc.lower, 0, 0.3);
    assert_true(q.auc.upper == 1);
    dpa__scores_free(&s);
}

/* DeLong's interval covers the AUC of two normals, Φ(1/√2), in small samples too. */
static void auc_coverage(void **state) {
    (void)state;
    const dpa_request request = request_of("", "", "");
    const size_t sizes[] = {12, 60};
    for (size_t k = 0; k < 2; ++k) {
        int held = 0;
        for (uint64_t seed = 1; seed <= 1000; ++seed) {
            dpa_scores s = gaussian(seed, sizes[k], 1, 0);
            dpa_quality q;
            assert_ok(dpa__scores_quality(&s, &request, &q, NULL));
            held += q.auc.lower <= 0.760250 && 0.760250 <= q.auc.upper;
            dpa__scores_free(&s);
        }
        assert_between(held, 925, 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts),
        cmocka_unit_test(lints),
        cmocka_unit_test(classes_by_halves),
        cmocka_unit_test(copied_rows),
        cmocka_unit_test(constant_scores),
        cmocka_unit_test(the_same_in_both_classes),
        cmocka_unit_test(no_honest_answer),
        cmocka_unit_test(corners),
        cmocka_unit_test(fixed_is_counts),
        cmocka_unit_test(max_is_the_largest),
        cmocka_unit_test(many_corners),
        cmocka_unit_test(max_of_intervals),
        cmocka_unit_test(simultaneous_below_max),
        cmocka_unit_test(splits),
        cmocka_unit_test(refusals),
        cmocka_unit_test(extremes),
        cmocka_unit_test(quality),
        cmocka_unit_test(auc_coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
