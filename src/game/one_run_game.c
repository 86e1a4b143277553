/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership and reconstruction in one run, as games of one trial. Its numbers are the scores of
 * all canaries, then the answers, then the accuracy of the model if there are held-out rows, then
 * the noise of the null coordinates. */
#include "game/one_run.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "evidence/evidence.h"
#include "game/rules.h"

static size_t canaries_of(const dpa_game *game) {
    return (size_t)game->experiment->game.canaries;
}

static int is_membership(const dpa_game *game) {
    return game->experiment->kind == DPA_GAME_MEMBERSHIP;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_experiment *e = game->experiment;
    dpa__one_run *state = NULL;
    if (!is_membership(game) && e->game.options == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "0 options: expected 2 to 65536");
    DPA_TRY(dpa__one_run_new(
        &e->game, is_membership(game) ? 0 : e->game.options, game->plan, &game->data, game->remote,
        game->remote != NULL ? e->trainer.signal : DPA_TRAINER_LOSS, &state, err));
    game->state = state;
    game->trainer = dpa__one_run_trainer(state);
    return DPA_OK;
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
    (void)stage, (void)brief;
    const size_t count = canaries_of(game);
    dpa__one_run_result result = {.score = out->items,
                                  .answer = out->items + count,
                                  .noise = out->items + out->count - noise_numbers(game)};
    DPA_TRY(dpa__one_run_play(game->state, index, &result, err));
    if (dpa__tells_accuracy(game)) out->items[2 * count] = result.accuracy;
    return DPA_OK;
}

/* In reconstruction one of K options is in, so neighbours differ by a replaced record. */
static void expect(const dpa_game *game, dpa_evidence *out) {
    out->design = DPA_ONE_RUN;
    if (is_membership(game)) return;
    out->kind = DPA_EVIDENCE_GUESSES;
    out->options = game->experiment->game.options;
    out->training.replace_one = 1;
}

/* Adds the noise of the null coordinates, without columns beyond the last weight. */
static dpa_status add_noise(const dpa_game *game, const dpa_values *trial, dpa_evidence *out,
                            dpa_error *err) {
    const size_t rows = dpa__one_run_noise_rows(game->state), all = noise_numbers(game);
    if (all == 0) return DPA_OK;
    const double *from = trial->items + trial->count - all;
    dpa_named_array *a = dpa__gather_array(out, "null_noise", all, err);
    if (a == NULL) return DPA_NO_MEMORY;
    a->rows = rows;
    for (size_t i = 0; i < all; ++i)
        if (!isnan(from[i])) a->items[a->count++] = from[i];
    if (a->count >= 2 * rows) return DPA_OK;
    free(a->items); /* no weight is left to compare with another */
    --out->array_count;
    return DPA_OK;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const size_t count = canaries_of(game);
    const double *values = stages[0].count > 0 ? stages[0].items[0].items : NULL;
    if (values == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "the one training of this game is missing");
    if (is_membership(game)) {
        DPA_TRY(dpa__gather_split(values, values + count, count, out, err));
        DPA_TRY(add_noise(game, &stages[0].items[0], out, err));
    } else {
        DPA_TRY(dpa_evidence_copy(out, "score", values, count, err));
        DPA_TRY(dpa_evidence_copy(out, "correct", values + count, count, err));
    }
    if (!dpa__tells_accuracy(game)) return DPA_OK;
    return dpa__gather_mean(&stages[0], 2 * count, "heldout_accuracy", out, err);
}

const dpa__rules dpa__one_run_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
