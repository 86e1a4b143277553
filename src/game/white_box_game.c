/* SPDX-License-Identifier: GPL-3.0-or-later */
/* White box as a game of trials. A trial is one training, from the same initial weights with its
 * own randomness; its numbers are the observations with the canary, then those without. */
#include "game/white_box.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "game/sabotage.h"

static uint64_t wanted(const dpa_game_opts *o, uint64_t steps) {
    return o->observations > 0 ? o->observations : steps;
}

dpa_status dpa_game_white_box(const dpa_game_opts *opts, const dpa_train_plan *plan,
                              const dpa_train_data *data, dpa_scores *scores, dpa_error *err) {
    *scores = (dpa_scores){0};
    dpa__white_box *g = NULL;
    DPA_TRY(dpa__white_box_new(opts, plan, data, NULL, &g, err));
    const uint64_t steps = dpa_train_plan_steps(plan, data->member_count);
    const uint64_t count = wanted(opts, steps);
    scores->member = DPA_NEW_ARRAY(double, count, err);
    scores->nonmember = DPA_NEW_ARRAY(double, count, err);
    scores->members = scores->nonmembers = count;
    dpa_status status =
        scores->member != NULL && scores->nonmember != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (uint64_t t = 0; t < count && status == DPA_OK; t += steps)
        status = dpa__white_box_play(g, t / steps, count - t < steps ? count - t : steps,
                                     &scores->member[t], &scores->nonmember[t], err);
    dpa__white_box_free(g);
    if (status != DPA_OK) dpa__scores_free(scores);
    return status;
}

static uint64_t steps_of(const dpa_game *game) {
    return dpa_train_plan_steps(game->plan, game->data.member_count);
}

/* The steps that a trial plays: all, or fewer if fewer are wanted in total. */
static uint64_t length(const dpa_game *game) {
    const uint64_t steps = steps_of(game), want = wanted(&game->experiment->game, steps);
    return want < steps ? want : steps;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    dpa__white_box *state = NULL;
    DPA_TRY(dpa__white_box_new(&game->experiment->game, game->plan, &game->data, game->remote,
                               &state, err));
    game->state = state;
    game->trainer = dpa__white_box_trainer(state);
    return DPA_OK;
}

static void close_game(dpa_game *game) {
    dpa__white_box_free(game->state);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    const uint64_t each = length(game), want = wanted(&game->experiment->game, steps_of(game));
    return (want + each - 1) / each;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    dpa__game_put(game,
                  "seed game.canary game.moving game.quiet-share game.canary-rate " DPA__SABOTAGE,
                  text);
    dpa__text_printf(text, "length: %llu\n", (unsigned long long)length(game));
}

static void describe_input(const dpa_game *game, int stage, dpa__text *text) {
    describe(game, stage, text);
    dpa__game_put(game, "game.crafting-steps game.crafting-examples game.radius game.filter", text);
    if (game->experiment->game.filter != DPA_FILTER_DOT)
        dpa__game_put(game, "game.filter-examples", text);
}

/* With input canaries a trial has one more number: the mean of ‖g′‖/C over the steps. */
static int has_input(const dpa_game *game) {
    return game->rules == &dpa__input_canary_rules;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return 2 * (size_t)length(game) + (has_input(game) ? 1 : 0);
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)brief;
    const uint64_t count = length(game);
    DPA_TRY(dpa__values_new(numbers(game, stage, index), out, err));
    DPA_TRY(dpa__white_box_play(game->state, index, count, out->items, out->items + count, err));
    if (has_input(game)) out->items[2 * count] = dpa__white_box_reach(game->state) / (double)count;
    return DPA_OK;
}

static void expect(const dpa_game *game, dpa_evidence *out) {
    out->scope = DPA_SCOPE_STEP;
    out->training.rate = game->experiment->game.canary_rate;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const uint64_t each = length(game), want = wanted(&game->experiment->game, steps_of(game));
    DPA_TRY(dpa__gather_halves(&stages[0], each, want, out, err));
    if (!has_input(game)) return DPA_OK;
    return dpa__gather_mean(&stages[0], 2 * each, "canary_norm_of_clip", out, err);
}

const dpa__rules dpa__white_box_rules = {
    .name = "white-box",
    .stages = 1,
    .canaries = 1U << DPA_GAME_DIRAC | 1U << DPA_GAME_CONSTANT | 1U << DPA_GAME_RANDOM,
    .usual = DPA_GAME_DIRAC,
    .needs_training = 1,
    .takes_trainer = 1,
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};

const dpa__rules dpa__input_canary_rules = {
    .name = "input-canary",
    .stages = 1,
    .canaries = 1U << DPA_GAME_MISLABELLED | 1U << DPA_GAME_BLANK | 1U << DPA_GAME_ADVERSARIAL |
                1U << DPA_GAME_CRAFTED | 1U << DPA_GAME_MATCHED,
    .usual = DPA_GAME_CRAFTED,
    .needs_training = 1,
    .takes_trainer = 1,
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe_input,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
