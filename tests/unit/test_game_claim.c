/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a game says about the audited training and claims for it, before a trial is played and in
 * the evidence. */
#include "evidence/evidence.h"
#include "game/file.h"

#include <jansson.h>

static void write_training(const char *train, const char *privacy) {
    char text[1024];
    (void)game_write("data.csv", "a,b,kind\n1,0.5,x\n-1,2,y\n0.25,0,x\n2,1,y\n-0.5,1,y\n1,1,x\n"
                                 "0,3,x\n0,2,y\n");
    (void)snprintf(text, sizeof text,
                   "data: {format: table, path: data.csv, label: kind, members: 0..8}\n"
                   "model: \"\"\nloss: binary\nseed: 3\ntrain: {%s}\nprivacy: {%s}\n",
                   train, privacy);
    (void)game_write("train.yaml", text);
}

/* The expected evidence of a game of this kind; `rest` is appended to the experiment file. */
static void expected(const char *game, const char *rest, dpa_evidence *out) {
    char text[512];
    dpa_experiment *e = NULL;
    dpa_game *opened = NULL;
    dpa_error err = {0};
    (void)snprintf(text, sizeof text, "{training: train.yaml, game: {%s}%s}\n", game, rest);
    if (dpa_experiment_read(game_write("audit.yaml", text), &e, &err) != DPA_OK ||
        dpa_game_open(e, &opened, &err) != DPA_OK || dpa_game_expect(opened, out, &err) != DPA_OK)
        fail_msg("%s: %s", err.place, err.text);
    assert_string_equal(out->game, dpa_game_name(opened));
    assert_string_equal(out->source, "audit.yaml");
    dpa_game_close(opened);
    dpa_experiment_free(e);
}

static const char POISSON[] = "sampling: poisson, batch: 4, q: 0.5, steps: 6, rate: 0.5";

static void noise_is_the_claim(void **state) {
    (void)state;
    dpa_evidence e;
    write_training(POISSON, "clip: 1, sigma: 1.5, delta: 0.001");
    expected("kind: black-box, canary: blank", "", &e);
    assert_true(e.training.q == 0.5 && e.training.sigma == 1.5);
    assert_int_equal(e.training.steps, 6);
    assert_true(e.claim.sigma == 1.5 && e.claim.q == 0.5 && e.claim.delta == 0.001);
    assert_int_equal(e.claim.steps, 6);
    assert_true(isnan(e.claim.epsilon));
    assert_int_equal(e.claim.scope, DPA_SCOPE_TRAINING);
    assert_int_equal(e.scope, DPA_SCOPE_TRAINING);
    assert_false(e.training.sees_all);
    dpa__evidence_clear(&e);
    /* the experiment's claim takes precedence */
    expected("kind: black-box, canary: blank", ", claim: {epsilon: 2, delta: 0.01}", &e);
    assert_true(e.claim.epsilon == 2 && e.claim.delta == 0.01 && isnan(e.claim.sigma));
    assert_true(e.training.sigma == 1.5);
    dpa__evidence_clear(&e);
}

/* A record can turn its microbatch's sum from +C to −C: the noise counts half. */
static void microbatches_halve_the_noise(void **state) {
    (void)state;
    dpa_evidence e;
    write_training(POISSON, "clip: 1, sigma: 1.5, delta: 0.001, microbatch: 4");
    expected("kind: black-box, canary: blank", "", &e);
    assert_true(e.training.sigma == 0.75);
    assert_true(e.claim.sigma == 0.75);
    dpa__evidence_clear(&e);
}

/* Without noise, or with batches that are not Poisson samples, the training promises nothing. */
static void no_promise(void **state) {
    (void)state;
    dpa_evidence e;
    write_training(POISSON, "clip: 1, sigma: 0, delta: 0.001");
    expected("kind: black-box, canary: blank", "", &e);
    assert_false(dpa__claim_is_made(&e.claim));
    assert_true(isnan(e.training.sigma));
    dpa__evidence_clear(&e);
    write_training("sampling: shuffle, batch: 4, steps: 6, rate: 0.5",
                   "clip: 1, sigma: 1.5, delta: 0.001");
    expected("kind: black-box, canary: blank", "", &e);
    assert_false(dpa__claim_is_made(&e.claim));
    dpa__evidence_clear(&e);
}

/* Each game says what a single observation is about. */
static void scopes_and_designs(void **state) {
    (void)state;
    static const struct {
        const char *game;
        dpa_scope scope;
        dpa_evidence_design design;
        dpa_evidence_kind kind;
        int sees_all, replace_one;
    } games[] = {
        {"kind: white-box, canary-rate: 0.25", DPA_SCOPE_STEP, DPA_INDEPENDENT_RUNS,
         DPA_EVIDENCE_SCORES, 0, 0},
        {"kind: whole-training", DPA_SCOPE_TRAINING, DPA_INDEPENDENT_RUNS, DPA_EVIDENCE_SCORES, 1,
         0},
        {"kind: black-box, canary: blank", DPA_SCOPE_TRAINING, DPA_INDEPENDENT_RUNS,
         DPA_EVIDENCE_SCORES, 0, 0},
        {"kind: membership, canaries: 3", DPA_SCOPE_TRAINING, DPA_ONE_RUN, DPA_EVIDENCE_GUESSES, 0,
         0},
        {"kind: reconstruction, canaries: 1, options: 2", DPA_SCOPE_TRAINING, DPA_ONE_RUN,
         DPA_EVIDENCE_GUESSES, 0, 1},
    };
    write_training(POISSON, "clip: 1, sigma: 1.5, delta: 0.001");
    for (size_t i = 0; i < sizeof games / sizeof games[0]; ++i) {
        dpa_evidence e;
        expected(games[i].game, "", &e);
        print_message("%s\n", games[i].game);
        assert_int_equal(e.scope, games[i].scope);
        assert_int_equal(e.design, games[i].design);
        assert_int_equal(e.training.sees_all, games[i].sees_all);
        assert_int_equal(e.training.replace_one, games[i].replace_one);
        assert_true(e.training.rate == (i == 0 ? 0.25 : 1));
        dpa__evidence_clear(&e);
    }
}

/* Estimators that the experiment names are part of the protocol. */
static void the_experiments_protocol(void **state) {
    (void)state;
    dpa_evidence e;
    write_training(POISSON, "clip: 1, sigma: 1.5, delta: 0.001");
    expected(
        "kind: black-box, canary: blank",
        ", estimators: {family: gaussian, method: cp, select: split}, claim: {confidence: 0.9}",
        &e);
    json_t *p = json_loads(e.protocol, 0, NULL);
    assert_non_null(p);
    assert_string_equal(json_string_value(json_object_get(p, "family")), "gaussian");
    assert_string_equal(json_string_value(json_object_get(p, "method")), "cp");
    assert_string_equal(json_string_value(json_object_get(p, "select")), "split");
    assert_true(json_number_value(json_object_get(p, "confidence")) == 0.9);
    assert_true(json_number_value(json_object_get(p, "delta")) == 0.001);
    json_decref(p);
    dpa__evidence_clear(&e);
    /* a stopping time chosen by what was seen needs a bound that holds at any time */
    expected("kind: black-box, canary: blank", ", budget: {stop: refuted}", &e);
    p = json_loads(e.protocol, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(p, "method")), "sequential");
    json_decref(p);
    dpa__evidence_clear(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_the_claim),
        cmocka_unit_test(microbatches_halve_the_noise),
        cmocka_unit_test(no_promise),
        cmocka_unit_test(scopes_and_designs),
        cmocka_unit_test(the_experiments_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, game_clean);
}
