/* SPDX-License-Identifier: GPL-3.0-or-later */
/* White box, one canary, whole trainings: half of the trainings have the canary as one more member,
 * which the trainer samples like any other; the adversary sees all steps and gives each training
 * one score. This is slower than looking at single steps, but it also audits how batches are drawn:
 * in single steps, a canary that comes in by a coin looks the same whether or not the coins of
 * different steps are independent. A trial is a block of trainings, so that bookkeeping does not
 * dominate short ones; its numbers are the scores with the canary, then those without. */
#include "base/error.h"
#include "evidence/evidence.h"
#include "game/one_run.h"
#include "game/rules.h"

enum { BLOCK = 16, USUAL_OBSERVATIONS = 500 };

/* The number of trainings wanted of each kind. */
static uint64_t wanted(const dpa_game *game) {
    return dpa__game_wanted(game, USUAL_OBSERVATIONS);
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_game_opts *o = &game->experiment->game;
    dpa__one_run *run = NULL;
    DPA_TRY(dpa__game_check_wanted(o, err));
    if (o->access != DPA_ACCESS_STEPS)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "access: whole trainings are looked at step by step; kind: black-box sees "
                         "the final models");
    DPA_TRY(
        dpa__one_run_new(o, 0, game->plan, &game->data, game->remote, DPA_TRAINER_LOSS, &run, err));
    game->state = run;
    game->trainer = dpa__one_run_trainer(run);
    return DPA_OK;
}

static void close_game(dpa_game *game) {
    dpa__one_run_free(game->state);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    return (wanted(game) + BLOCK - 1) / BLOCK;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)game, (void)stage, (void)index;
    return (size_t)2 * BLOCK;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)stage, (void)brief;
    const dpa_progress *p = &game->experiment->game.progress;
    for (size_t i = 0; i < out->count; ++i) {
        const size_t is_in = i < BLOCK;
        double answer;
        dpa__one_run_result result = {.secret = &is_in, .score = &out->items[i], .answer = &answer};
        DPA_TRY(dpa__one_run_play(game->state, index * 2 * BLOCK + i, &result, err));
        if (p->call != NULL && p->call(p->user, "trainings", (double)i + 1, 2.0 * BLOCK) != 0)
            return dpa__fail(err, DPA_CANCELLED, "stopped after %zu trainings", i + 1);
    }
    return DPA_OK;
}

static void expect(const dpa_game *game, dpa_evidence *out) {
    (void)game;
    out->training.sees_all = 1;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    return dpa__gather_halves(game, &stages[0], BLOCK, (size_t)wanted(game), out, err);
}

const dpa__rules dpa__whole_training_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed game.canary game.score " DPA__SABOTAGE,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
