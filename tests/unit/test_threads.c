/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The library has no global state: eight threads that estimate, judge, account and read at once get
 * the same as one (scripts/test also runs this under ThreadSanitizer), and 100,000 calls, good and
 * bad ones, leave no more memory in use than the first few. */
#include <malloc.h>
#include <pthread.h>

#include "judged.h"

#include "estimate/losses/epsilon_star.h"

enum { THREADS = 8, SCORES = 60, MOST = 128 };

/* What was found, in the order in which it was looked for. */
typedef struct findings {
    size_t count;
    double number[MOST];
} findings;

static void note(findings *f, double number) {
    assert_true(f->count < MOST);
    f->number[f->count++] = number;
}

static void note_row(findings *f, const dpa_result *r) {
    note(f, r->kind == DPA_BOUND ? r->epsilon_lower : r->epsilon);
}

static void make_evidence(unsigned source, dpa_evidence *e) {
    double in[SCORES], out[SCORES];
    if (source == DPA_FROM_COUNTS) count_evidence(e, 24, 76, 4, 96);
    if (source == DPA_FROM_SCORES || source == DPA_FROM_ORDER || source == DPA_FROM_GUESSES) {
        dpa__evidence_init(e, DPA_EVIDENCE_SCORES);
        add_normal(e, SCORES, 2, 1);
        if (source == DPA_FROM_GUESSES) e->design = DPA_ONE_RUN;
    }
    if (source != DPA_FROM_COSINES) return;
    for (int i = 0; i < SCORES; ++i) {
        out[i] = 0.01 * dpa__norm_quantile((i + 0.5) / SCORES, DPA_LOWER);
        in[i] = out[i] + 0.02;
    }
    dpa__evidence_init(e, DPA_EVIDENCE_COSINES);
    e->design = DPA_ONE_RUN;
    e->dim = 10000;
    assert_ok(dpa_evidence_copy(e, "final", in, SCORES, NULL));
    assert_ok(dpa_evidence_copy(e, "observed", in, SCORES, NULL));
    assert_ok(dpa_evidence_copy(e, "unobserved", out, SCORES, NULL));
}

/* The judge with this method alone; cosines have no families. */
static void judge_by(findings *f, const dpa_estimator *method, unsigned source) {
    const int is_ratio = strcmp(method->families, "dp at delta 0") == 0;
    const int is_curve = strcmp(method->families, "every family but dp") == 0;
    dpa_protocol p = protocol_of(source == DPA_FROM_COSINES ? NULL
                                 : is_curve                 ? "gaussian"
                                                            : "dp",
                                 method->name);
    dpa_evidence e;
    p.request.threads = 2;
    if (is_ratio) p.request.delta = 0;
    make_evidence(source, &e);
    dpa_report *report = judged(&e, NULL, &p);
    note_row(f, row_of(report, NULL, method->name));
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void certify_rounds(findings *f) {
    double score[2 * SCORES];
    for (size_t i = 0; i < SCORES; ++i) {
        score[SCORES + i] = dpa__norm_quantile(((double)i + 0.5) / SCORES, DPA_LOWER);
        score[i] = score[SCORES + i] + 2;
    }
    const dpa_known_rounds k = {.observed = score,
                                .observed_count = SCORES,
                                .unobserved = score + SCORES,
                                .unobserved_count = SCORES,
                                .canary_rounds = 1,
                                .spread = 1,
                                .rule = {.times = 1, .q = (double)NAN},
                                .direction = DPA_DIRECTION_HADAMARD};
    dpa_request request;
    dpa_lints lints = {0};
    dpa_result r;
    dpa__request_init(&request);
    assert_ok(dpa__known_rounds_participation(&k, &request, &r, &lints, NULL));
    assert_string_equal(r.method, "known-rounds");
    note_row(f, &r);
    dpa__lints_free(&lints);
}

static void estimate_losses(findings *f) {
    double train[SCORES], heldout[SCORES];
    dpa_losses losses;
    dpa_star_opts opts;
    dpa_request request;
    dpa_results results = {0};
    dpa_lints lints = {0};
    for (int i = 0; i < SCORES; ++i) {
        heldout[i] = exp(dpa__norm_quantile((i + 0.5) / SCORES, DPA_LOWER));
        train[i] = 0.5 * heldout[i];
    }
    dpa__star_opts_init(&opts);
    dpa__request_init(&request);
    opts.bootstrap = 3;
    opts.mixture.components = 2;
    request.threads = 2;
    assert_ok(dpa__losses_new(train, SCORES, heldout, SCORES, &losses, NULL));
    assert_ok(dpa__star_results(&losses, &opts, &request, &results, &lints, NULL));
    for (size_t i = 0; i < results.count; ++i) note_row(f, &results.items[i]);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__losses_free(&losses);
}

/* Every estimator of the registry from everything that it takes, ε* and the accountant. */
static void *find_all(void *user) {
    static const unsigned sources[] = {DPA_FROM_COUNTS, DPA_FROM_SCORES, DPA_FROM_ORDER,
                                       DPA_FROM_GUESSES, DPA_FROM_COSINES};
    findings *f = user;
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *method = dpa__estimator_at(i);
        for (size_t k = 0; k < sizeof sources / sizeof sources[0]; ++k) {
            if ((method->what & sources[k]) == 0) continue;
            if (strcmp(method->name, "known-rounds") == 0)
                certify_rounds(f);
            else
                judge_by(f, method, sources[k]);
        }
    }
    estimate_losses(f);
    note(f, accounted(0.8, 0.1, 50, DPA_ADD_REMOVE, 1e-5).upper);
    note(f, accounted(2.0, 0.01, 100, DPA_REPLACE_ONE, 1e-6).upper);
    return NULL;
}

static void eight_threads(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    static findings alone, together[THREADS];
    (void)find_all(&alone);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, find_all, &together[i]), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; ++i) assert_memory_equal(&together[i], &alone, sizeof alone);
    for (size_t k = 0; k < alone.count; ++k) assert_true(alone.number[k] >= 0);
    print_message("%zu numbers from each of %d threads\n", alone.count, THREADS);
    assert_true(alone.count > dpa__estimator_count());
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
    dpa__request_init(&request);
    request.confidence = 0.9;
    assert_int_equal(dpa__request_set(&request, "method", "cp", &err), DPA_OK);
    assert_int_equal(dpa__estimate_counts(&counts, &request, &results, &err), DPA_OK);
    dpa__results_free(&results);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_int_equal(dpa_evidence_copy(&e, "members", x, 2, &err), DPA_OK);
    dpa_claim_init(&claim);
    assert_int_equal(dpa_judge(&e, &claim, NULL, &(dpa_report *){NULL}, &err), DPA_BAD_INPUT);
    dpa__evidence_clear(&e);
    dpa__protocol_init(&p);
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
