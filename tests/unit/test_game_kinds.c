/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games as the runner plays them, on small examples: how many numbers a trial has, where each goes
 * in the evidence, and what the evidence says about the training. */
#include "check.h"

#include "base/text.h"
#include "base/write.h"
#include "dpaudit/lab/game.h"
#include "evidence/evidence.h"

enum { MOST = 4 };

static dpa_error err;
static char folder[] = "/tmp/dpaudit-kinds-XXXXXX";
static char path[96];

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/run.yaml", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

typedef struct play {
    dpa_experiment *experiment;
    dpa_game *game;
    dpa_values items[MOST];
    size_t count;
    dpa_evidence evidence;
} play;

/* Plays every trial of an experiment about a training file of the examples. */
static void play_game(const char *training, const char *keys, play *p) {
    dpa__text text = {0};
    const dpa_values none = {0};
    dpa__text_printf(&text, "training: %s/examples/%s\n%s", DPA_SOURCE, training, keys);
    assert_ok(dpa__file_write(path, text.data, text.length, &err));
    dpa__text_free(&text);
    *p = (play){0};
    if (dpa_experiment_read(path, &p->experiment, &err) != DPA_OK ||
        dpa_game_open(p->experiment, &p->game, &err) != DPA_OK)
        fail_msg("%s", err.text);
    p->count = (size_t)dpa_game_trials(p->game, 0);
    assert_true(p->count <= MOST);
    for (uint64_t i = 0; i < p->count; ++i)
        if (dpa_game_trial(p->game, 0, i, &none, &p->items[i], &err) != DPA_OK)
            fail_msg("%s", err.text);
    const dpa_trials trials = {p->items, p->count, NULL};
    if (dpa_game_gather(p->game, &trials, &p->evidence, &err) != DPA_OK) fail_msg("%s", err.text);
}

static void end_game(play *p) {
    for (size_t i = 0; i < p->count; ++i) dpa_values_free(&p->items[i]);
    dpa__evidence_clear(&p->evidence);
    dpa_game_close(p->game);
    dpa_experiment_free(p->experiment);
}

/* NaN: the evidence does not say. */
static double fact(const play *p, const char *name) {
    for (size_t i = 0; i < p->evidence.fact_count; ++i)
        if (strcmp(p->evidence.facts[i].name, name) == 0) return p->evidence.facts[i].value;
    return NAN;
}

static void assert_fact(const play *p, const char *name, double want) {
    if (!(fact(p, name) == want)) fail_msg("%s is %g: expected %g", name, fact(p, name), want);
}

/* The array `name` is numbers first … first+each−1 of the first `trials` trials. */
static void assert_array(const play *p, const char *name, size_t first, size_t each,
                         size_t trials) {
    const dpa_named_array *a = dpa__evidence_find(&p->evidence, name);
    if (a == NULL) fail_msg("no %s", name);
    assert_int_equal(a->count, each * trials);
    for (size_t i = 0; i < trials; ++i)
        assert_memory_equal(a->items + i * each, p->items[i].items + first, each * sizeof(double));
}

/* Two federated trainings with canaries and their two baselines. */
static void federated(void **state) {
    (void)state;
    enum { CANARIES = 12, UNOBSERVED = 9, POINT = 7 };
    play p;
    play_game("federated-client.yaml",
              "game: {kind: federated}\n"
              "federate: {split: 40, rounds: 5, participation: shuffle, cohort: 8, canaries: 12,\n"
              "  unobserved: 9, repetitions: 1, runs: 2, checkpoints: 2, baseline: true}\n",
              &p);
    assert_int_equal(p.count, 4);
    const size_t head = p.items[2].count; /* without canaries: what every training tells */
    assert_int_equal(p.items[3].count, head);
    assert_int_equal(p.items[0].count,
                     head + 2 * CANARIES + UNOBSERVED + 2 * (CANARIES + UNOBSERVED) + 2 * POINT);
    assert_array(&p, "final", head, CANARIES, 2);
    assert_array(&p, "observed", head + CANARIES, CANARIES, 2);
    assert_array(&p, "unobserved", head + 2 * CANARIES, UNOBSERVED, 2);
    assert_array(&p, "trajectory", p.items[0].count - 2 * POINT, 2 * POINT, 2);
    assert_int_equal(dpa__evidence_find(&p.evidence, "trajectory")->rows, 4);
    assert_memory_not_equal(p.items[0].items + head, p.items[1].items + head, 8 * CANARIES);
    /* every canary of a shuffle takes part once, so none is left out */
    const dpa_named_array *in = dpa__evidence_find(&p.evidence, "members");
    const dpa_named_array *out = dpa__evidence_find(&p.evidence, "nonmembers");
    const size_t known = head + 2 * CANARIES + UNOBSERVED;
    assert_int_equal(in->count, 2 * CANARIES);
    assert_int_equal(out->count, 2 * UNOBSERVED);
    for (int i = 0; i < 2; ++i) {
        assert_memory_equal(in->items + i * CANARIES, p.items[i].items + known, 8 * CANARIES);
        assert_memory_equal(out->items + i * UNOBSERVED, p.items[i].items + known + CANARIES,
                            8 * UNOBSERVED);
    }
    assert_fact(&p, "runs", 2);
    assert_fact(&p, "clients", 40);
    assert_fact(&p, "cohort", 8);
    assert_fact(&p, "rounds", 5);
    assert_fact(&p, "sigma", 1.5);
    assert_fact(&p, "participations", 1);
    assert_fact(&p, "checkpoints", 2);
    assert_fact(&p, "fixed_divisor", 1);
    assert_fact(&p, "canary_rounds", 1);
    assert_true(isnan(fact(&p, "q")) && isnan(fact(&p, "last_clip")));
    const double dim = fact(&p, "dim");
    assert_true(dim > 10000 && (size_t)dim == p.evidence.dim);
    assert_relative(fact(&p, "energy_noise"), 1.5 * 1.5 * dim, 0.05);
    assert_true(fact(&p, "energy_clients") > 0 && fact(&p, "energy_canaries") > 0);
    assert_between(fact(&p, "accuracy"), 0.01, 1);
    assert_between(fact(&p, "accuracy_without_canaries"), 0.01, 1);
    assert_int_equal(p.evidence.kind, DPA_EVIDENCE_COSINES);
    assert_int_equal(p.evidence.scope, DPA_SCOPE_PARTICIPATION);
    assert_int_equal(p.evidence.training.steps, 5);
    assert_true(p.evidence.training.sigma == 1.5 && p.evidence.training.participations == 1);
    assert_true(isnan(p.evidence.training.q));
    assert_true(p.evidence.claim.sigma == 1.5 && p.evidence.claim.q == 1);
    assert_int_equal(p.evidence.claim.steps, 1);
    end_game(&p);
}

/* Coins for participation, the final model alone, nobody who stays at home. */
static void federated_by_coins(void **state) {
    (void)state;
    play p;
    play_game("federated-client.yaml",
              "game: {kind: federated}\n"
              "federate: {split: 40, rounds: 3, participation: poisson, cohort: 8, canaries: 10,\n"
              "  unobserved: 0, all-iterates: false}\n",
              &p);
    assert_int_equal(p.count, 1);
    assert_int_equal(dpa__evidence_find(&p.evidence, "final")->count, 10);
    static const char *const none[] = {"observed", "unobserved", "members", "trajectory"};
    for (int i = 0; i < 4; ++i) assert_null(dpa__evidence_find(&p.evidence, none[i]));
    assert_true(isnan(fact(&p, "runs")) && isnan(fact(&p, "checkpoints")));
    assert_true(isnan(fact(&p, "accuracy_without_canaries")));
    assert_fact(&p, "q", 0.2);
    assert_true(p.evidence.training.q == 0.2 && p.evidence.claim.q == 0.2);
    assert_int_equal(p.evidence.claim.steps, 3);
    end_game(&p);
}

/* Membership: a score for each canary beside its coin. Reconstruction: the guess's score, and
 * whether it is right. */
static void one_run(void **state) {
    (void)state;
    play p;
    play_game("run-wide.yaml", "game: {kind: membership, canaries: 40}\n", &p);
    assert_int_equal(p.count, 1);
    const double *x = p.items[0].items;
    size_t members = 0, seen[2] = {0, 0};
    const dpa_named_array *side[2] = {dpa__evidence_find(&p.evidence, "nonmembers"),
                                      dpa__evidence_find(&p.evidence, "members")};
    for (size_t i = 0; i < 40; ++i) {
        assert_true(x[40 + i] == 0 || x[40 + i] == 1);
        const int coin = x[40 + i] == 1;
        members += (size_t)coin;
        assert_true(side[coin]->items[seen[coin]++] == x[i]);
    }
    assert_true(members > 5 && members < 35);
    assert_int_equal(side[1]->count, members);
    assert_int_equal(side[0]->count, 40 - members);
    end_game(&p);
    play_game("run-wide.yaml", "game: {kind: reconstruction, canaries: 30, options: 4}\n", &p);
    assert_int_equal(p.count, 1);
    assert_array(&p, "score", 0, 30, 1);
    assert_array(&p, "correct", 30, 30, 1);
    assert_int_equal(p.evidence.options, 4);
    assert_true(p.evidence.training.replace_one);
    assert_null(dpa__evidence_find(&p.evidence, "members"));
    end_game(&p);
}

/* What each kind wants to know. */
static void refusals(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"run-wide.yaml", "game: {kind: reconstruction, canaries: 30, options: 0}\n", "0 options"},
        {"run-wide.yaml", "game: {kind: reconstruction, canaries: 30, options: 1}\n", "options"},
        {"federated-client.yaml", "game: {kind: federated}\nfederate: {split: 40, canaries: 0}\n",
         "expected at least 1"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa__text text = {0};
        dpa_experiment *e = NULL;
        dpa_game *game = NULL;
        dpa__text_printf(&text, "training: %s/examples/%s\n%s", DPA_SOURCE, rows[k][0], rows[k][1]);
        assert_ok(dpa__file_write(path, text.data, text.length, &err));
        dpa__text_free(&text);
        dpa_status status = dpa_experiment_read(path, &e, &err);
        if (status == DPA_OK) status = dpa_game_open(e, &game, &err);
        assert_true(status != DPA_OK);
        if (strstr(err.text, rows[k][2]) == NULL) fail_msg("'%s': no '%s'", err.text, rows[k][2]);
        dpa_experiment_free(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(federated),
                                       cmocka_unit_test(federated_by_coins),
                                       cmocka_unit_test(one_run), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
