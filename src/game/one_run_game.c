/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership and reconstruction in one run, as games of one trial. Its numbers are the scores of
 * all canaries, then the answers, then the accuracy of the model if there are held-out rows, then
 * the noise of the null coordinates. */
#include "game/one_run.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "game/sabotage.h"
#include "game/training.h"

static size_t canaries_of(const dpa_game *game) {
    return (size_t)game->experiment->game.canaries;
}

static dpa_status open_as(dpa_game *game, uint64_t options, dpa_error *err) {
    dpa__one_run *state = NULL;
    const dpa__one_run_against against = {game->remote, game->experiment->trainer.signal};
    DPA_TRY(dpa__one_run_new(&game->experiment->game, options, game->plan, &game->data,
                             game->remote != NULL ? &against : NULL, &state, err));
    game->state = state;
    game->trainer = dpa__one_run_trainer(state);
    return DPA_OK;
}

static dpa_status open_membership(dpa_game *game, dpa_error *err) {
    return open_as(game, 0, err);
}

static dpa_status open_reconstruction(dpa_game *game, dpa_error *err) {
    if (game->experiment->game.options == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "0 options: expected 2 to 65536");
    return open_as(game, game->experiment->game.options, err);
}

static void close_game(dpa_game *game) {
    dpa__one_run_free(game->state);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)game, (void)stage;
    return 1;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    dpa__game_put(
        game, "seed game.canary game.canaries game.options game.access game.score " DPA__SABOTAGE,
        text);
    if (game->experiment->game.null_coordinates > 0)
        dpa__game_put(game, "game.null-coordinates", text);
}

static size_t noise_numbers(const dpa_game *game) {
    return dpa__one_run_noise_rows(game->state) * game->experiment->game.null_coordinates;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return 2 * canaries_of(game) + (size_t)dpa__tells_accuracy(game) + noise_numbers(game);
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)brief;
    const size_t count = canaries_of(game);
    DPA_TRY(dpa__values_new(numbers(game, stage, index), out, err));
    dpa__one_run_result result = {.score = out->items,
                                  .answer = out->items + count,
                                  .noise = out->items + out->count - noise_numbers(game)};
    DPA_TRY(dpa__one_run_play(game->state, index, &result, err));
    if (dpa__tells_accuracy(game)) out->items[2 * count] = result.accuracy;
    return DPA_OK;
}

static dpa_status find_trial(const dpa_trials *stage, const double **out, dpa_error *err) {
    if (stage->count < 1 || stage->items[0].items == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "the one training of this game is missing");
    *out = stage->items[0].items;
    return DPA_OK;
}

static void expect_membership(const dpa_game *game, dpa_evidence *out) {
    (void)game;
    out->design = DPA_ONE_RUN;
}

/* One of K options is in, so neighbours differ by a replaced record. */
static void expect_reconstruction(const dpa_game *game, dpa_evidence *out) {
    out->kind = DPA_EVIDENCE_GUESSES;
    out->design = DPA_ONE_RUN;
    out->options = game->experiment->game.options;
    out->training.replace_one = 1;
}

static dpa_status add_facts(const dpa_game *game, const double *values, dpa_evidence *out,
                            dpa_error *err) {
    if (!dpa__tells_accuracy(game)) return DPA_OK;
    return dpa_evidence_fact(out, "heldout_accuracy", values[2 * canaries_of(game)], err);
}

/* Adds the scores with this answer (−1: all) as an array of the evidence. */
static dpa_status add_scores(const dpa_game *game, const double *values, const char *name,
                             double answer, dpa_evidence *out, dpa_error *err) {
    const size_t count = canaries_of(game);
    double *items = DPA_NEW_ARRAY(double, count, err);
    if (items == NULL) return DPA_NO_MEMORY;
    size_t taken = 0;
    for (size_t i = 0; i < count; ++i)
        if (answer < 0.0 || values[count + i] == answer) items[taken++] = values[i];
    return dpa__evidence_add(out, name, items, taken, 0, err);
}

/* Adds the noise of the null coordinates, without columns beyond the last weight. */
static dpa_status add_noise(const dpa_game *game, const dpa_values *trial, dpa_evidence *out,
                            dpa_error *err) {
    const size_t rows = dpa__one_run_noise_rows(game->state), all = noise_numbers(game);
    if (all == 0) return DPA_OK;
    const double *from = trial->items + trial->count - all;
    size_t taken = 0;
    double *items = DPA_NEW_ARRAY(double, all, err);
    if (items == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < all; ++i)
        if (!isnan(from[i])) items[taken++] = from[i];
    if (taken >= 2 * rows) return dpa__evidence_add(out, "null_noise", items, taken, rows, err);
    free(items); /* no weight is left to compare with another */
    return DPA_OK;
}

static dpa_status gather_membership(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                                    dpa_error *err) {
    const double *values = NULL;
    DPA_TRY(find_trial(&stages[0], &values, err));
    DPA_TRY(add_scores(game, values, "members", 1.0, out, err));
    DPA_TRY(add_scores(game, values, "nonmembers", 0.0, out, err));
    DPA_TRY(add_noise(game, &stages[0].items[0], out, err));
    return add_facts(game, values, out, err);
}

static dpa_status gather_reconstruction(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                                        dpa_error *err) {
    const double *values = NULL;
    DPA_TRY(find_trial(&stages[0], &values, err));
    DPA_TRY(add_scores(game, values, "score", -1.0, out, err));
    DPA_TRY(add_scores(game, values + canaries_of(game), "correct", -1.0, out, err));
    return add_facts(game, values, out, err);
}

const dpa__rules dpa__membership_rules = {
    .name = "membership",
    .stages = 1,
    .needs_training = 1,
    .takes_trainer = 1,
    .canaries = 1U << DPA_GAME_DIRAC | 1U << DPA_GAME_RANDOM,
    .open = open_membership,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .trial = trial,
    .expect = expect_membership,
    .gather = gather_membership,
};

const dpa__rules dpa__reconstruction_rules = {
    .name = "reconstruction",
    .stages = 1,
    .needs_training = 1,
    .takes_trainer = 1,
    .canaries = 1U << DPA_GAME_DIRAC | 1U << DPA_GAME_RANDOM,
    .open = open_reconstruction,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .trial = trial,
    .expect = expect_reconstruction,
    .gather = gather_reconstruction,
};
