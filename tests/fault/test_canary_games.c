/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input-canary and black-box games with their first, second, … allocation failing. */
#include "game/file.h"

#include "evidence/evidence.h"
#include "fault/alloc.h"

static dpa_error err;

static void whole_game(const char *keys) {
    char text[512];
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_status status;
    const dpa_values brief = {0};
    dpa_values values[2] = {{0}};
    (void)snprintf(text, sizeof text, "{training: train.yaml, game: {%s}}\n", keys);
    const char *path = game_write("audit.yaml", text);
    FAULT_EVERY(status, dpa_experiment_read(path, &e, &err), (void)0);
    FAULT_EVERY(status, dpa_game_open(e, &game, &err), (void)0);
    char key[DPA_SHA256_SIZE];
    FAULT_EVERY(status, dpa_game_key(game, 0, key, &err), (void)0);
    for (uint64_t i = 0; i < 2; ++i)
        FAULT_EVERY(status, dpa_game_trial(game, 0, i, &brief, &values[i], &err), (void)0);
    const dpa_trials trials = {values, 2, NULL};
    dpa_evidence evidence;
    FAULT_EVERY(status, dpa_game_gather(game, &trials, &evidence, &err), (void)0);
    assert_non_null(dpa__evidence_find(&evidence, "members"));
    dpa__evidence_clear(&evidence);
    for (uint64_t i = 0; i < 2; ++i) dpa_values_free(&values[i]);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

static void games(void **state) {
    (void)state;
    (void)game_write("data.csv", "a,kind\n1,x\n-1,y\n0.5,x\n2,y\n");
    (void)game_write("train.yaml",
                     "data: {format: table, path: data.csv, label: kind, members: 0..3, heldout: "
                     "3..4}\nmodel: mlp:2\ntrain: {sampling: poisson, batch: 2, steps: 2, average: "
                     "ema}\nprivacy: {clip: 1, sigma: 1}\n");
    whole_game("kind: input-canary, canary: crafted, crafting-steps: 2, observations: 4");
    whole_game("kind: input-canary, canary: adversarial, crafting-steps: 2, observations: 4");
    whole_game("kind: black-box, canary: mislabelled, observations: 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(games)};
    return cmocka_run_group_tests(tests, NULL, game_clean);
}
