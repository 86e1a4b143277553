/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-run games and whole trainings with their first, second, … allocation failing. */
#include "game/file.h"

#include "evidence/evidence.h"
#include "fault/alloc.h"

static dpa_error err;

static void play(const char *keys, const char *array) {
    char text[512];
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_status status;
    const dpa_values brief = {0};
    dpa_values values = {0};
    (void)snprintf(text, sizeof text,
                   "{training: train.yaml, game: {%s}, estimators: {guesses: auto}}\n", keys);
    const char *path = game_write("audit.yaml", text);
    FAULT_EVERY(status, dpa_experiment_read(path, &e, &err), (void)0);
    FAULT_EVERY(status, dpa_game_open(e, &game, &err), (void)0);
    FAULT_EVERY(status, dpa_game_trial(game, 0, 0, &brief, &values, &err), (void)0);
    const dpa_trials trials = {&values, 1, NULL};
    dpa_evidence evidence;
    FAULT_EVERY(status, dpa_game_gather(game, &trials, &evidence, &err), (void)0);
    assert_non_null(dpa__evidence_find(&evidence, array));
    dpa__evidence_clear(&evidence);
    dpa_values_free(&values);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

static void games(void **state) {
    (void)state;
    (void)game_write("data.csv", "a,kind\n1,x\n-1,y\n0.5,z\n2,x\n1,y\n0,z\n");
    (void)game_write("train.yaml",
                     "data: {format: table, path: data.csv, label: kind, members: 0..3, heldout: "
                     "3..6}\nmodel: mlp:8\ntrain: {sampling: poisson, batch: 2, steps: 2, average: "
                     "ema}\nprivacy: {clip: 1, sigma: 1}\n");
    play("kind: membership, canaries: 9", "nonmembers");
    play("kind: membership, canaries: 9, canary: random", "members");
    play("kind: membership, canaries: 3, access: black-box", "members");
    play("kind: reconstruction, canaries: 3, options: 2", "correct");
    play("kind: reconstruction, canaries: 3, options: 2, access: black-box", "score");
    play("kind: whole-training, observations: 2, score: likelihood", "members");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(games)};
    return cmocka_run_group_tests(tests, NULL, game_clean);
}
