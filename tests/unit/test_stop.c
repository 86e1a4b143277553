/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs that stop once the claim is refuted. */
#include "check.h"

#include "base/error.h"
#include "base/rng.h"
#include "estimate/sequential/sequential.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "run/stop.h"

enum { TRIALS = 400 };

static dpa_error err;
static int is_odd, learns; /* what the game gathers: not scores of runs; other scores each time */

/* Even trials have the record. */
static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *error) {
    double *items[2] = {malloc(TRIALS * sizeof(double)), malloc(TRIALS * sizeof(double))};
    size_t count[2] = {0, 0};
    (void)game;
    for (uint64_t i = 0; i < stages[0].count; ++i)
        if (dpa_trials_end(&stages[0], i) == DPA_TRIAL_PLAYED)
            items[i % 2 == 0][count[i % 2 == 0]++] = stages[0].items[i].items[0];
    if (count[0] == 0 || count[1] == 0) {
        free(items[0]);
        free(items[1]);
        return dpa__fail(error, DPA_BAD_INPUT, "too few");
    }
    if (learns) items[1][0] += (double)count[1];
    out->kind = is_odd ? DPA_EVIDENCE_GUESSES : DPA_EVIDENCE_SCORES;
    out->design = DPA_INDEPENDENT_RUNS;
    DPA_TRY(dpa__evidence_add(out, "nonmembers", items[0], count[0], 0, error));
    return dpa__evidence_add(out, "members", items[1], count[1], 0, error);
}

static uint64_t trials_of(const dpa_game *game, int stage) {
    (void)game, (void)stage;
    return TRIALS;
}

static size_t numbers(const dpa_game *played, int stage, uint64_t index) {
    (void)played, (void)stage, (void)index;
    return 1;
}

static int arm(const dpa_game *played, uint64_t index) {
    (void)played;
    return index % 2 == 0;
}

static const dpa__rules rules = {
    .trials = trials_of, .numbers = numbers, .gather = gather, .arm = arm};
static const dpa_experiment experiment = {0};
static dpa_game game = {.experiment = &experiment, .rules = &rules};
static double scores[TRIALS];
static dpa_values values[TRIALS];
static uint8_t ends[TRIALS];
static const dpa_trials trials = {values, TRIALS, ends};

static dpa_request request;

static int set_up(void **state) {
    (void)state;
    is_odd = learns = 0;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    request.delta = 1e-5;
    request.claim_epsilon = 0.3;
    for (int i = 0; i < TRIALS; ++i) {
        dpa_rng rng;
        dpa__rng_init(&rng, 5, DPA_PURPOSE_SIMULATE, (uint64_t)i);
        scores[i] = 2.0 * (i % 2 == 0) + dpa__rng_normal(&rng);
        values[i] = (dpa_values){.items = &scores[i], .count = 1};
        ends[i] = DPA_TRIAL_PLAYED;
    }
    return 0;
}

/* The audit of the first n trials, from the beginning. */
static int refutes(uint64_t n) {
    dpa_sequential *audit;
    assert_ok(dpa__sequential_new(&request, &audit, &err));
    for (int c = 0; c < 2; ++c)
        for (uint64_t i = 0; i < n; ++i)
            if ((i % 2 == 0) == c && ends[i] == DPA_TRIAL_PLAYED)
                assert_ok(dpa__sequential_push(audit, c, scores[i], &err));
    const int is = dpa__sequential_refuted(audit);
    dpa__sequential_free(audit);
    return is;
}

static uint64_t first_that_refutes(void) {
    for (uint64_t n = 2; n <= TRIALS; ++n)
        if (refutes(n)) return n;
    return 0;
}

/* Looked at in steps of this size. */
static uint64_t looked_at(uint64_t step) {
    dpa__stop *stop;
    uint64_t needed = 0;
    assert_ok(dpa__stop_open(&request, &game, &stop, &err));
    for (uint64_t n = step < TRIALS ? step : TRIALS; needed == 0; n += step) {
        if (n > TRIALS) n = TRIALS;
        assert_ok(dpa__stop_look(stop, &trials, n, TRIALS, &needed, &err));
        if (n == TRIALS) break;
    }
    dpa__stop_close(stop);
    return needed;
}

/* Whoever looks how often: the number of trials that it took is the same. */
static void same_place(void **state) {
    (void)state;
    const uint64_t want = first_that_refutes();
    assert_in_range(want, 20, 300);
    static const uint64_t steps[] = {1, 2, 7, 60, TRIALS};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; ++k)
        assert_int_equal(looked_at(steps[k]), want);
    ends[3] = ends[10] = DPA_TRIAL_FAILED; /* are passed over */
    assert_int_equal(looked_at(TRIALS), first_that_refutes());
    request.claim_epsilon = 30;
    assert_int_equal(looked_at(50), 0);
    dpa__stop_close(NULL);
}

/* Too few for the game is not yet an answer; what cannot be judged as it comes is refused. */
static void refusals(void **state) {
    (void)state;
    dpa__stop *stop;
    uint64_t needed = 7;
    assert_ok(dpa__stop_open(&request, &game, &stop, &err));
    assert_ok(dpa__stop_look(stop, &trials, 1, TRIALS, &needed, &err));
    assert_int_equal(needed, 0);
    learns = 1;
    assert_ok(dpa__stop_look(stop, &trials, 6, TRIALS, &needed, &err));
    assert_int_equal(dpa__stop_look(stop, &trials, 8, TRIALS, &needed, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "the scores of earlier trials change with later ones"));
    dpa__stop_close(stop);
    learns = 0;
    is_odd = 1;
    assert_ok(dpa__stop_open(&request, &game, &stop, &err));
    assert_int_equal(dpa__stop_look(stop, &trials, 6, TRIALS, &needed, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "the game gives no scores of independent trials"));
    dpa__stop_close(stop);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(same_place, set_up),
                                       cmocka_unit_test_setup(refusals, set_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
