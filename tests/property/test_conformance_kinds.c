/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of test_conformance.c for every other kind of evidence: trials in the order of
 * arrival, guesses of one run, canary cosines, losses. The same two lists of numbers are turned
 * into each kind of evidence, and every method must satisfy: more evidence never gives a smaller
 * answer; no leak gives nothing; the order does not matter; δ and confidence only lower the answer;
 * it states its assumptions. A method that cannot do something by definition says so in its row;
 * nothing else is excused. */
#include "check.h"

#include "estimate/cosines/cosine.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/one_run/one_run.h"
#include "estimate/scores.h"
#include "estimate/sequential/sequential.h"
#include "evidence/guesses.h"
#include "math/dist.h"
#include "two_samples.h"

enum { SIZE = 150, DIM = 40000 };
static const double slack = 2e-9;

typedef struct sample {
    double in[SIZE], out[SIZE];
} sample;

static sample draw(double shift, uint64_t index) {
    sample s;
    draw_two(shift, 15, index, s.in, s.out, SIZE);
    return s;
}

static sample backwards(const sample *s) {
    sample r;
    for (int i = 0; i < SIZE; ++i) {
        r.in[i] = s->in[SIZE - 1 - i];
        r.out[i] = s->out[SIZE - 1 - i];
    }
    return r;
}

/* ── two lists as evidence of each kind ────────────────────────────────────────────────────── */

typedef struct row row;
typedef dpa_status (*asker)(const row *about, const sample *s, const dpa_request *request,
                            dpa_results *out, dpa_error *err);

enum {
    ORDER_MATTERS = 1, /* the order is the evidence, or decides who is in which half */
    LEARNS = 2, /* bets or halves are chosen from the data, so it is not monotone point by point */
    NEVER_SILENT = 4,    /* an estimate, not a bound: noise gives more than 0 */
    OPTIMISTIC = 8,      /* must be marked as not valid */
    BOTH_DIRECTIONS = 16 /* scores the wrong way round leak as much */
};

struct row {
    asker ask;
    const char *kind, *family, *method, *select;
    unsigned excused;
    unsigned assumes; /* at least these */
};

static dpa_status ask_order(const row *about, const sample *s, const dpa_request *request,
                            dpa_results *out, dpa_error *err) {
    dpa_scores scores = {0};
    dpa_status status = dpa__scores_from(s->in, SIZE, s->out, SIZE, &scores, err);
    (void)about;
    if (status == DPA_OK) status = dpa__estimate_sequential(&scores, request, out, err);
    dpa__scores_free(&scores);
    return status;
}

/* Each list is one class of canaries; takes 64 guesses, or the best number of the grid. */
static dpa_status ask_one_run(const row *about, const sample *s, const dpa_request *request,
                              dpa_results *out, dpa_error *err) {
    dpa_guesses guesses = {0};
    dpa_lints lints = {0};
    dpa_one_run games[32];
    uint64_t counts[32];
    dpa_result result;
    const int is_fixed = strcmp(about->select, "fixed") == 0;
    dpa_request asked = *request;
    asked.select[0] = '\0';
    size_t count = is_fixed ? 1 : dpa__one_run_grid(2 * SIZE, counts, 32);
    dpa_status status =
        dpa__guesses_from_pair(s->in, SIZE, s->out, SIZE, DPA_GUESS_BOTH, &guesses, &lints, err);
    if (is_fixed) counts[0] = 64;
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        games[i] = (dpa_one_run){2 * SIZE, 2, counts[i], guesses.correct[counts[i]]};
    if (status == DPA_OK)
        status = dpa__one_run_bound(games, count,
                                    is_fixed                             ? DPA_GUESSES_FIXED
                                    : strcmp(about->select, "auto") == 0 ? DPA_GUESSES_AUTO
                                                                         : DPA_GUESSES_MAX,
                                    &asked, &result, err);
    if (status == DPA_OK) status = dpa__results_add(out, &result, err);
    dpa__guesses_free(&guesses);
    dpa__lints_free(&lints);
    return status;
}

/* Scales by the null's deviation and cuts to the range of a cosine. */
static void to_cosines(const double *from, double *to) {
    for (int i = 0; i < SIZE; ++i) to[i] = fmax(-1, fmin(1, from[i] / sqrt((double)DIM)));
}

static dpa_status ask_cosines(const row *about, const sample *s, const dpa_request *request,
                              dpa_results *out, dpa_error *err) {
    double observed[SIZE], unobserved[SIZE];
    dpa_lints lints = {0};
    to_cosines(s->in, observed);
    to_cosines(s->out, unobserved);
    const int has_null = strcmp(about->kind, "final") != 0;
    const dpa_cosines cosines = {.observed = observed,
                                 .observed_count = SIZE,
                                 .unobserved = has_null ? unobserved : NULL,
                                 .unobserved_count = has_null ? SIZE : 0,
                                 .dim = DIM};
    const dpa_status status = dpa__cosines_results(&cosines, request, out, &lints, err);
    dpa__lints_free(&lints);
    return status;
}

/* Canaries of one run with noise of their own: the lists are their scores. */
static dpa_status ask_channels(const row *about, const sample *s, const dpa_request *request,
                               dpa_results *out, dpa_error *err) {
    dpa_scores scores = {0};
    dpa_lints lints = {0};
    dpa_result result;
    dpa_request asked = *request;
    (void)about;
    asked.method[0] = '\0'; /* its default for the family */
    dpa_status status = dpa__scores_from(s->in, SIZE, s->out, SIZE, &scores, err);
    if (status == DPA_OK) status = dpa__scores_prepare_here(&scores, &lints, err);
    if (status == DPA_OK) status = dpa__one_run_channels(&scores, &asked, &result, err);
    if (status == DPA_OK) status = dpa__results_add(out, &result, err);
    dpa__scores_free(&scores);
    dpa__lints_free(&lints);
    return status;
}

/* Canaries of a federated training, each in one round. */
static dpa_status ask_known_rounds(const row *about, const sample *s, const dpa_request *request,
                                   dpa_results *out, dpa_error *err) {
    const dpa_known_rounds known = {.observed = s->in,
                                    .observed_count = SIZE,
                                    .unobserved = s->out,
                                    .unobserved_count = SIZE,
                                    .canary_rounds = 1,
                                    .spread = 1,
                                    .rule = {1, (double)NAN, 0},
                                    .direction = DPA_DIRECTION_HADAMARD};
    dpa_lints lints = {0};
    dpa_result result;
    dpa_request asked = *request;
    (void)about;
    asked.method[0] = '\0';
    dpa_status status = dpa__known_rounds_participation(&known, &asked, &result, &lints, err);
    if (status == DPA_OK) status = dpa__results_add(out, &result, err);
    dpa__lints_free(&lints);
    return status;
}

static dpa_status ask_losses(const row *about, const sample *s, const dpa_request *request,
                             dpa_results *out, dpa_error *err) {
    double train[SIZE], heldout[SIZE];
    dpa_losses losses = {0};
    dpa_lints lints = {0};
    dpa_star_opts opts;
    (void)about;
    dpa__star_opts_init(&opts);
    opts.bootstrap = 0;
    opts.mixture.components = 2;
    for (int i = 0; i < SIZE; ++i) {
        train[i] = -s->in[i];
        heldout[i] = -s->out[i];
    }
    dpa_status status = dpa__losses_new(train, SIZE, heldout, SIZE, &losses, err);
    if (status == DPA_OK) status = dpa__star_results(&losses, &opts, request, out, &lints, err);
    dpa__losses_free(&losses);
    dpa__lints_free(&lints);
    return status;
}

#define ONE_RUN(family, method)                                                                    \
    {ask_one_run,                                                                                  \
     "one-run",                                                                                    \
     family,                                                                                       \
     method,                                                                                       \
     "fixed",                                                                                      \
     0,                                                                                            \
     DPA_ASSUME_ONE_RUN_CANARIES | DPA_ASSUME_GUESSES_FIXED},                                      \
        {ask_one_run, "one-run", family, method, "auto", 0, DPA_ASSUME_ONE_RUN_CANARIES}, {        \
        ask_one_run, "one-run", family, method, "max", OPTIMISTIC,                                 \
            DPA_ASSUME_ONE_RUN_CANARIES | DPA_ASSUME_NO_SELECTION                                  \
    }
#define ARRIVAL DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_ORDER_OF_ARRIVAL
#define COSINES DPA_ASSUME_RANDOM_CANARIES
#define FITTED DPA_ASSUME_RANDOM_CANARIES | DPA_ASSUME_GAUSSIAN_COSINES
#define CHANNELS DPA_ASSUME_ONE_RUN_CANARIES | DPA_ASSUME_CHANNELS
#define INSTANCE DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES

static const row rows[] = {
    {ask_order, "order", "dp", "sequential", "", ORDER_MATTERS | LEARNS, ARRIVAL},
    {ask_order, "order", "gaussian", "sequential", "", ORDER_MATTERS | LEARNS, ARRIVAL},
    {ask_order, "order", "laplace", "sequential", "", ORDER_MATTERS | LEARNS, ARRIVAL},
    {ask_order, "order", "dp", "sequential", "fixed:0.7", ORDER_MATTERS | LEARNS, ARRIVAL},
    ONE_RUN("dp", "either"),
    ONE_RUN("dp", "steinke"),
    ONE_RUN("dp", "recursion"),
    ONE_RUN("gaussian", "recursion"),
    ONE_RUN("laplace", "recursion"),
    ONE_RUN("gaussian", "pointwise"),
    {ask_channels, "channels", "dp", "scan", "", 0, CHANNELS},
    {ask_channels, "channels", "gaussian", "rank", "", 0, CHANNELS},
    {ask_known_rounds, "known-rounds", "dp", "known-rounds", "", 0, CHANNELS},
    {ask_known_rounds, "known-rounds", "gaussian", "known-rounds", "", 0, CHANNELS},
    {ask_cosines, "final", "", "mean", "", BOTH_DIRECTIONS, FITTED},
    {ask_cosines, "final", "", "mean-and-deviation", "", BOTH_DIRECTIONS, FITTED},
    {ask_cosines, "final", "", "jeffreys", "fixed:0.01", 0, COSINES | DPA_ASSUME_THRESHOLD_FIXED},
    {ask_cosines, "final", "", "jeffreys", "split", ORDER_MATTERS | LEARNS, COSINES},
    {ask_cosines, "final", "", "jeffreys", "max", OPTIMISTIC | NEVER_SILENT,
     COSINES | DPA_ASSUME_NO_SELECTION},
    {ask_cosines, "final", "", "scan", "", 0, COSINES},
    {ask_cosines, "all-iterates", "", "all-iterates", "", BOTH_DIRECTIONS, FITTED},
    {ask_cosines, "all-iterates-scan", "", "scan", "", 0, COSINES},
    {ask_cosines, "all-iterates-jeffreys", "", "jeffreys", "fixed:0.01", 0, COSINES},
    {ask_cosines, "all-iterates-jeffreys", "", "jeffreys", "split", ORDER_MATTERS | LEARNS,
     COSINES},
    {ask_losses, "losses", "", "empirical", "", BOTH_DIRECTIONS, INSTANCE},
    {ask_losses, "losses", "", "normal", "", BOTH_DIRECTIONS | LEARNS,
     INSTANCE | DPA_ASSUME_FIT_GOOD},
    {ask_losses, "losses", "", "mixture", "", BOTH_DIRECTIONS | LEARNS,
     INSTANCE | DPA_ASSUME_FIT_GOOD},
    {ask_losses, "losses", "", "simultaneous", "", 0, INSTANCE},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ── asking ────────────────────────────────────────────────────────────────────────────────── */

static dpa_request request_of(const row *about) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", about->family);
    (void)snprintf(request.method, sizeof request.method, "%s", about->method);
    (void)snprintf(request.select, sizeof request.select, "%s", about->select);
    request.threads = 1;
    return request;
}

static dpa_result ask(const row *about, const sample *s, const dpa_request *request) {
    dpa_results results = {0};
    dpa_error err = {0};
    if (about->ask(about, s, request, &results, &err) != DPA_OK)
        fail_msg("%s, %s, %s: %s", about->kind, about->method, about->select, err.text);
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* The number that must not exceed the truth: the bound, the lower end of an estimate, or the
 * estimate. */
static double said(const dpa_result *r) {
    const double value = isnan(r->epsilon_lower) ? r->epsilon : r->epsilon_lower;
    assert_true(value >= 0);
    return value;
}

static double value_of(const row *about, const sample *s, const dpa_request *request) {
    const dpa_result r = ask(about, s, request);
    return said(&r);
}

#define fail_row(about, format, ...)                                                               \
    fail_msg("%s, %s %s, %s: " format, (about)->kind, (about)->family, (about)->method,            \
             (about)->select, __VA_ARGS__)

/* ── the demands ───────────────────────────────────────────────────────────────────────────── */

static void monotone_in_the_evidence(void **state) {
    (void)state;
    static const double shifts[] = {0, 0.5, 1, 2, 4, 8, 30};
    for (size_t r = 0; r < ROWS; ++r) {
        const dpa_request request = request_of(&rows[r]);
        const int learns = (rows[r].excused & LEARNS) != 0;
        double before = 0, first = 0;
        for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; ++i) {
            const sample s = draw(shifts[i], 0);
            const double value = value_of(&rows[r], &s, &request);
            if (i == 0) first = value;
            /* a method that looks both ways may first see noise on the other side */
            const int counts = !learns && (i > 1 || !(rows[r].excused & BOTH_DIRECTIONS));
            if (counts && !(value >= before * (1 - slack)))
                fail_row(&rows[r], "shift %g lowers %g to %g", shifts[i], before, value);
            before = value;
        }
        if (!(before > first + 0.5))
            fail_row(&rows[r], "%g from noise, %g from all", first, before);
    }
}

static void nothing_where_nothing_leaks(void **state) {
    (void)state;
    for (size_t r = 0; r < ROWS; ++r) {
        const dpa_request request = request_of(&rows[r]);
        if (rows[r].excused & NEVER_SILENT) continue;
        /* the same numbers in both classes: quantiles of the normal law, mixed */
        sample s;
        for (int i = 0; i < SIZE; ++i)
            s.in[i] = s.out[i] = dpa__norm_quantile((i * 67 % SIZE + 0.5) / SIZE, DPA_LOWER);
        const double same = value_of(&rows[r], &s, &request);
        if (!(same <= slack)) fail_row(&rows[r], "%g from two equal lists", same);
        if (rows[r].excused & BOTH_DIRECTIONS) continue;
        s = draw(-6, 1);
        const double wrong = value_of(&rows[r], &s, &request);
        if (!(wrong <= slack)) fail_row(&rows[r], "%g from scores the wrong way round", wrong);
    }
}

static void order_does_not_matter(void **state) {
    (void)state;
    for (size_t r = 0; r < ROWS; ++r) {
        const dpa_request request = request_of(&rows[r]);
        const sample s = draw(1.5, 2), t = backwards(&s);
        const double value = value_of(&rows[r], &s, &request);
        const double again = value_of(&rows[r], &s, &request);
        if (again != value) fail_row(&rows[r], "%g, and asked again %g", value, again);
        if (rows[r].excused & ORDER_MATTERS) continue;
        const double other = value_of(&rows[r], &t, &request);
        if (!(fabs(other - value) <= 1e-9 * fmax(1, value)))
            fail_row(&rows[r], "%.17g, backwards %.17g", value, other);
    }
}

/* Raising `field` of the request through the values never raises the answer. */
static void only_lowers(const row *about, const sample *s, dpa_request *request, double *field,
                        const char *name, const double *values, size_t count) {
    const double allowed = about->excused & LEARNS ? 0.25 : slack, usual = *field;
    double before = INFINITY;
    for (size_t i = 0; i < count; ++i) {
        *field = values[i];
        const double value = value_of(about, s, request);
        if (!(value <= before * (1 + allowed)))
            fail_row(about, "%s %g raises %g to %g", name, values[i], before, value);
        before = value;
    }
    *field = usual;
}

static void delta_and_confidence_lower(void **state) {
    (void)state;
    static const double deltas[] = {1e-9, 1e-6, 1e-3, 0.02, 0.2};
    static const double confidences[] = {0.5, 0.9, 0.99, 0.9999};
    const sample s = draw(3, 3);
    for (size_t r = 0; r < ROWS; ++r) {
        dpa_request request = request_of(&rows[r]);
        only_lowers(&rows[r], &s, &request, &request.delta, "delta", deltas, 5);
        only_lowers(&rows[r], &s, &request, &request.confidence, "confidence", confidences, 4);
    }
}

static void assumptions_are_said(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; ++i) {
        const dpa_request request = request_of(&rows[i]);
        const sample s = draw(2, 4);
        const dpa_result r = ask(&rows[i], &s, &request);
        assert_string_equal(r.method, rows[i].method);
        if (rows[i].family[0] != '\0') assert_string_equal(r.family, rows[i].family);
        if ((r.assumptions & rows[i].assumes) != rows[i].assumes)
            fail_row(&rows[i], "assumptions %x, want %x", r.assumptions, rows[i].assumes);
        assert_true((r.assumptions >> DPA_ASSUMPTION_COUNT) == 0);
        assert_true(r.kind == DPA_ESTIMATE || r.valid == !(rows[i].excused & OPTIMISTIC));
        assert_true(r.kind == DPA_BOUND || r.note[0] != '\0'); /* what the number is not */
        assert_true(r.numerical_error >= 0 && r.numerical_error <= 1e-6);
        assert_true(r.kind == DPA_ESTIMATE || r.confidence == request.confidence);
        assert_true(r.extra_count <= DPA_EXTRA_COUNT);
    }
}

/* The p-value refutes a claim exactly when the bound is above it. */
static void bound_and_p_value_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < ROWS; ++i)
        for (double shift = 1; shift < 4; shift += 1) {
            dpa_request request = request_of(&rows[i]);
            const sample s = draw(shift, 5);
            const dpa_result r = ask(&rows[i], &s, &request);
            if (r.kind != DPA_BOUND || !(said(&r) > 0.1)) continue;
            for (int above = 0; above < 2; ++above) {
                request.claim_epsilon = said(&r) * (above ? 1.02 : 0.98);
                const double p = ask(&rows[i], &s, &request).p_value;
                if (isnan(p) || (rows[i].excused & LEARNS)) continue;
                if ((p <= 0.05 * (1 + 1e-9)) == above)
                    fail_row(&rows[i], "bound %g, claim %g, p %g", said(&r), request.claim_epsilon,
                             p);
            }
        }
}

/* Every registered method that gives a bound from more than counts or scores must have a row here,
 * under its name or as a kind of evidence of its own. */
static void every_registered_kind(void **state) {
    (void)state;
    const unsigned known = DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_FROM_ORDER | DPA_FROM_GUESSES |
                           DPA_FROM_COSINES | DPA_FROM_LOSSES | DPA_GIVES_BOUND |
                           DPA_GIVES_INTERVAL | DPA_GIVES_DENSITY | DPA_GIVES_ESTIMATE;
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *about = dpa__estimator_at(i);
        int found = (about->what & (DPA_FROM_COUNTS | DPA_FROM_SCORES)) != 0 ||
                    (about->what & DPA_GIVES_BOUND) == 0;
        for (size_t r = 0; r < ROWS && !found; ++r)
            found =
                strcmp(rows[r].method, about->name) == 0 || strcmp(rows[r].kind, about->name) == 0;
        if (!found || (about->what & ~known) != 0)
            fail_msg("%s: of a kind that no conformance suite asks", about->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_registered_kind),       cmocka_unit_test(monotone_in_the_evidence),
        cmocka_unit_test(nothing_where_nothing_leaks), cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(delta_and_confidence_lower),  cmocka_unit_test(assumptions_are_said),
        cmocka_unit_test(bound_and_p_value_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
