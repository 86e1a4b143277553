/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The library has no global state: eight threads that estimate, judge, account and read at once get
 * the same as one (scripts/test also runs this under ThreadSanitizer), and 100,000 calls, good and
 * bad ones, leave no more memory in use than the first few. */
#include <malloc.h>
#include <pthread.h>

#include "judged.h"

#include "dpaudit/onerun.h"

enum { THREADS = 8, NUMBERS = 8 };

typedef struct findings {
    double number[NUMBERS];
} findings;

static double bound_of(const dpa_evidence *e, const dpa_claim *claim, const char *family,
                       const char *method) {
    dpa_protocol p = protocol_of(family, method);
    p.bare = 1;
    p.request.threads = 2;
    dpa_report *report = judged(e, claim, &p);
    const double bound = report->verdict.epsilon_lower;
    dpa_report_free(report);
    return bound;
}

static void *find_all(void *user) {
    findings *f = user;
    const dpa_claim claim = epsilon_claim(1);
    dpa_evidence scores, counts, guesses;
    normal_scores(&scores, 1, 1);
    count_evidence(&counts, 24, 76, 4, 96);
    guess_evidence(&guesses, 1000, 200, 180);
    f->number[0] = bound_of(&scores, &claim, NULL, NULL);
    f->number[1] = bound_of(&scores, &claim, "gaussian", "rank");
    f->number[2] = bound_of(&scores, &claim, NULL, "cp");
    f->number[3] = bound_of(&counts, &claim, NULL, NULL);
    f->number[4] = bound_of(&counts, &claim, "gaussian", "jeffreys");
    f->number[5] = bound_of(&guesses, &claim, NULL, NULL);
    f->number[6] = accounted(0.8, 0.1, 50, DPA_ADD_REMOVE, 1e-5).upper;
    f->number[7] = accounted(2.0, 0.01, 100, DPA_REPLACE_ONE, 1e-6).upper;
    dpa_evidence_free(&scores);
    dpa_evidence_free(&counts);
    dpa_evidence_free(&guesses);
    return NULL;
}

static void eight_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    findings alone = {{0}}, together[THREADS];
    (void)find_all(&alone);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, find_all, &together[i]), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; ++i) assert_memory_equal(&together[i], &alone, sizeof alone);
    for (int k = 0; k < NUMBERS; ++k) assert_true(isfinite(alone.number[k]));
}

/* ── growth ──────────────────────────────────────────────────────────────────────────── */

/* Five calls that succeed and three that are refused. */
static void call_all(int i) {
    dpa_error err;
    dpa_evidence e;
    dpa_claim claim;
    dpa_protocol p;
    dpa_results results = {0};
    dpa_request request;
    dpa_curve *curve = NULL;
    const dpa_counts counts = {(uint64_t)(i % 50), 50, 5, 95};
    const double x[2] = {i, 1};
    dpa_request_init(&request);
    request.confidence = 0.9;
    assert_int_equal(dpa_request_set(&request, "method", "cp", &err), DPA_OK);
    assert_int_equal(dpa_estimate_counts(&counts, &request, &results, &err), DPA_OK);
    dpa_results_free(&results);
    dpa_evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_int_equal(dpa_evidence_copy(&e, "members", x, 2, &err), DPA_OK);
    dpa_claim_init(&claim);
    assert_int_equal(dpa_judge(&e, &claim, NULL, &(dpa_report *){NULL}, &err), DPA_BAD_INPUT);
    dpa_evidence_free(&e);
    dpa_protocol_init(&p);
    assert_int_not_equal(dpa_protocol_set(&p, "nonsense", "1", &err), DPA_OK);
    assert_int_equal(dpa_curve_gaussian(1 + i % 3, &curve, &err), DPA_OK);
    dpa_curve_free(curve);
    assert_int_equal(dpa_curve_gaussian(-1, &curve, &err), DPA_BAD_ARGUMENT);
}

static void no_growth(void **state) {
    (void)state;
    enum { CALLS = 8, ROUNDS = 12500, FIRST = 500 };
    for (int i = 0; i < FIRST; ++i) call_all(i);
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < ROUNDS; ++i) call_all(i);
    const size_t after = mallinfo2().uordblks;
    print_message("%d calls: %zu bytes in use before, %zu after\n", CALLS * ROUNDS, before, after);
    assert_true(after <= before + 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(eight_threads),
                                       cmocka_unit_test(no_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
