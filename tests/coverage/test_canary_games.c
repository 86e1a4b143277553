/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Correct trainers are refuted in at most 5% of audits, by the sharpest input-canary and black-box
 * games possible: the canary is alone in its batch, or one step of full-batch logistic regression
 * makes the score of a blank example a Gaussian mechanism with exactly the claimed μ = 1/σ. Seeded;
 * if the true rate is 5%, the limits are exceeded with probability below 0.001. */
#include "game/table.h"

#include "game/file.h"

enum { AUDITS = 200, MOST = 21, SIZE = 100 };

static double rank_bound(dpa_scores *scores) {
    dpa_request request;
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "family", "gaussian", NULL));
    assert_ok(dpa__request_set(&request, "method", "rank", NULL));
    dpa_results results = {0};
    dpa_lints lints = {0};
    assert_ok(dpa__scores_prepare_here(scores, &lints, NULL));
    assert_ok(dpa__estimate_scores(scores, &request, &results, NULL));
    const double mu = results.items[0].parameter_lower;
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    return mu;
}

/* Plays with seeds 1, 2, …; returns how many bounds exceed the claim. */
static size_t refuted(const table_game *t, dpa_game_opts *o, size_t audits, double *mean) {
    size_t count = 0;
    *mean = 0.0;
    for (uint64_t seed = 1; seed <= audits; ++seed) {
        dpa_scores s;
        o->seed = seed;
        assert_ok(play_white_box(t, o, &s, NULL));
        const double mu = rank_bound(&s);
        count += mu > 1.0 / t->plan.train.sigma;
        *mean += mu * t->plan.train.sigma / (double)audits;
        dpa__scores_free(&s);
    }
    return count;
}

static void input_canaries(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    t.plan.train.sigma = 1.0;
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.observations = SIZE;
    o.canary = DPA_GAME_CRAFTED;
    o.moving = 1;
    double mean;
    size_t count = refuted(&t, &o, AUDITS / 2, &mean);
    print_message("crafted, with data: %zu of %d refuted, mean bound %.2f of the claim\n", count,
                  AUDITS / 2, mean);
    assert_true(count <= 13);
    assert_true(mean > 0.3);
    t.plan.train.q = 1e-12; /* no other example is sampled */
    o.canary = DPA_GAME_BLANK;
    count = refuted(&t, &o, AUDITS, &mean);
    print_message("blank, alone: %zu of %d refuted, mean bound %.2f of the claim\n", count, AUDITS,
                  mean);
    assert_true(count <= MOST);
    assert_true(mean > 0.6);
    dpa_dataset_free(t.data.data);
}

static void black_box(void **state) {
    (void)state;
    (void)game_write("data.csv", "a,kind\n1,x\n-1,y\n0.5,x\n");
    (void)game_write("train.yaml", "data: {format: table, path: data.csv, label: kind}\n"
                                   "model: \"\"\nloss: binary\n"
                                   "train: {sampling: poisson, batch: 3, steps: 1}\n"
                                   "privacy: {clip: 0.4, sigma: 1}\n");
    dpa_experiment *e = black_box_experiment("canary: blank, observations: 100");
    size_t count = 0;
    double mean = 0.0;
    for (uint64_t seed = 1; seed <= AUDITS; ++seed) {
        e->game.seed = seed;
        dpa_game *game = game_open(e);
        dpa_evidence evidence;
        game_gather(game, &evidence);
        const dpa_named_array *in = dpa__evidence_find(&evidence, "members");
        const dpa_named_array *out = dpa__evidence_find(&evidence, "nonmembers");
        dpa_scores s;
        assert_ok(dpa__scores_from(in->items, in->count, out->items, out->count, &s, NULL));
        const double mu = rank_bound(&s);
        count += mu > 1.0;
        mean += mu / AUDITS;
        dpa__scores_free(&s);
        dpa__evidence_clear(&evidence);
        dpa_game_close(game);
    }
    print_message("black box: %zu of %d refuted, mean bound %.2f of the claim\n", count, AUDITS,
                  mean);
    assert_true(count <= MOST);
    assert_true(mean > 0.6);
    dpa_experiment_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(input_canaries),
                                       cmocka_unit_test(black_box)};
    return cmocka_run_group_tests(tests, NULL, game_clean);
}
