/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games as trials: the table of all kinds, and what they share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/command.h"
#include "game/rules.h"
#include "game/training.h"
#include "settings/settings.h"

static const dpa__rules *const all[DPA_GAME_KINDS] = {
    [DPA_GAME_WHITE_BOX] = &dpa__white_box_rules,
    [DPA_GAME_INPUT_CANARY] = &dpa__input_canary_rules,
    [DPA_GAME_BLACK_BOX] = &dpa__black_box_rules,
    [DPA_GAME_MEMBERSHIP] = &dpa__membership_rules,
    [DPA_GAME_RECONSTRUCTION] = &dpa__reconstruction_rules,
    [DPA_GAME_COMMAND] = &dpa__command_rules,
    [DPA_GAME_SHADOW] = &dpa__shadow_rules,
    [DPA_GAME_FEDERATED] = &dpa__federated_rules,
    [DPA_GAME_WHOLE_TRAINING] = &dpa__whole_training_rules,
};

const dpa__rules *dpa__rules_of(dpa_game_kind kind) {
    return all[kind];
}

void dpa_game_opts_init(dpa_game_opts *opts) {
    *opts = (dpa_game_opts){
        .quiet_share = 0.1,
        .canary_rate = 1.0,
        .crafting_steps = 20,
        .crafting_examples = 64,
        .filter_examples = 256,
        .radius = 0.1,
        .seed = 1,
        .noise_scale = 1.0,
        .seeds = 100,
        .workers = 4,
        .canaries = 1000,
        .options = 4,
        .copies = 1,
        .shadow = {.models = 64, .targets = 512, .attack = DPA_ATTACK_LIRA, .challenges = 1}};
}

void dpa_values_free(dpa_values *values) {
    if (values == NULL) return;
    free(values->items);
    *values = (dpa_values){0};
}

dpa_status dpa__values_new(size_t count, dpa_values *out, dpa_error *err) {
    *out = (dpa_values){DPA_NEW_ARRAY(double, count, err), count};
    return out->items != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa_game_close(dpa_game *game) {
    if (game == NULL) return;
    if (game->rules->close != NULL) game->rules->close(game);
    dpa__trainer_close(game->remote);
    dpa_train_data_free(&game->data);
    dpa_train_plan_free(game->plan);
    free(game);
}

/* Settings that the game refuses came from the experiment file, so the error names it. */
static dpa_status blame_file(const dpa_experiment *experiment, dpa_error *err) {
    if (err == NULL) return DPA_BAD_INPUT;
    err->status = DPA_BAD_INPUT;
    if (experiment->path != NULL)
        (void)snprintf(err->place, sizeof err->place, "%.*s", DPA_PLACE_SIZE - 1, experiment->path);
    return DPA_BAD_INPUT;
}

dpa_status dpa_game_open(const dpa_experiment *experiment, dpa_game **out, dpa_error *err) {
    dpa_game *game = DPA_NEW(dpa_game, err);
    if (game == NULL) return DPA_NO_MEMORY;
    game->experiment = experiment;
    game->rules = all[experiment->kind];
    dpa_status status = dpa__training_check(game, err);
    if (status == DPA_OK && game->rules->needs_training) status = dpa__training_open(game, err);
    if (status == DPA_OK && game->rules->open != NULL) status = game->rules->open(game, err);
    if (status == DPA_BAD_ARGUMENT) status = blame_file(experiment, err);
    status = dpa__settings_locate(status, err);
    if (status == DPA_OK)
        *out = game;
    else
        dpa_game_close(game);
    return status;
}

int dpa__game_stays(const dpa_game *game, dpa_status status) {
    if (game->remote == NULL) return 0;
    if (status != DPA_OK && status != DPA_TRAINER) dpa__remote_stop(game->remote);
    return dpa__remote_runs(game->remote);
}

dpa_status dpa_trainer_serve(const dpa_experiment *experiment, int in, int out, dpa_error *err) {
    dpa_game *game = NULL;
    DPA_TRY(dpa_game_open(experiment, &game, err));
    const dpa_status status =
        game->trainer == NULL || game->remote != NULL
            ? dpa__fail_file(err, DPA_BAD_INPUT, experiment->path,
                             "a game of kind %s without a trainer of dpaudit's own to serve",
                             game->rules->name)
            : dpa__trainer_serve(game->trainer, in, out, err);
    dpa_game_close(game);
    return status;
}

const char *dpa_game_name(const dpa_game *game) {
    return game->rules->name;
}

int dpa_game_stages(const dpa_game *game) {
    return game->rules->stages;
}

uint64_t dpa_game_trials(const dpa_game *game, int stage) {
    return game->rules->trials(game, stage);
}

const dpa_train_plan *dpa_game_training(const dpa_game *game) {
    return game->plan;
}

/* Checks the trials of the first `stages` stages. */
static dpa_status check_numbers(const dpa_game *game, int stages, const dpa_trials *trials,
                                dpa_error *err) {
    for (int s = 0; s < stages; ++s)
        for (uint64_t i = 0; i < trials[s].count; ++i) {
            const dpa_values *v = &trials[s].items[i];
            const size_t want = game->rules->numbers(game, s, i);
            if (v->items != NULL && v->count != want)
                return dpa__fail(err, DPA_BAD_INPUT,
                                 "trial %llu has %zu numbers, expected %zu: is the store of "
                                 "another version?",
                                 (unsigned long long)i, v->count, want);
        }
    return DPA_OK;
}

dpa_status dpa_game_brief(dpa_game *game, int stage, const dpa_trials *earlier, dpa_values *brief,
                          dpa_error *err) {
    *brief = (dpa_values){0};
    if (stage == 0 || game->rules->brief == NULL) return DPA_OK;
    DPA_TRY(check_numbers(game, stage, earlier, err));
    return game->rules->brief(game, stage, earlier, brief, err);
}

dpa_status dpa_game_trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                          dpa_values *out, dpa_error *err) {
    *out = (dpa_values){0};
    const dpa_status status = game->rules->trial(game, stage, index, brief, out, err);
    if (status != DPA_OK) dpa_values_free(out);
    return status;
}

dpa_status dpa_game_expect(const dpa_game *game, dpa_evidence *out, dpa_error *err) {
    dpa__evidence_init(out, DPA_EVIDENCE_SCORES);
    const dpa_status status = dpa__game_describe(game, out, err);
    if (status == DPA_OK && game->rules->expect != NULL) game->rules->expect(game, out);
    return status;
}

dpa_status dpa_game_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                           dpa_error *err) {
    *out = (dpa_evidence){0};
    DPA_TRY(check_numbers(game, game->rules->stages, stages, err));
    dpa_status status = dpa_game_expect(game, out, err);
    if (status == DPA_OK) status = game->rules->gather(game, stages, out, err);
    if (status == DPA_OK)
        status = dpa__gather_failures(game, &stages[game->rules->stages - 1], out, err);
    if (status == DPA_OK) status = dpa__confine_facts(&game->experiment->confine, out, err);
    if (status != DPA_OK) dpa__evidence_clear(out);
    return status;
}
