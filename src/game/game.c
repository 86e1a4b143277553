/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games as trials: the table of all kinds, and what they share. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/rules.h"

static const dpa__rules *const all[DPA_GAME_KINDS] = {
    [DPA_GAME_WHITE_BOX] = &dpa__white_box_rules,
    [DPA_GAME_INPUT_CANARY] = &dpa__white_box_rules,
    [DPA_GAME_BLACK_BOX] = &dpa__black_box_rules,
    [DPA_GAME_MEMBERSHIP] = &dpa__one_run_rules,
    [DPA_GAME_RECONSTRUCTION] = &dpa__one_run_rules,
    [DPA_GAME_COMMAND] = &dpa__command_rules,
    [DPA_GAME_SHADOW] = &dpa__shadow_rules,
    [DPA_GAME_FEDERATED] = &dpa__federated_rules,
    [DPA_GAME_WHOLE_TRAINING] = &dpa__whole_training_rules,
};

uint64_t dpa__game_wanted(const dpa_game *game, uint64_t usual) {
    const uint64_t asked = game->experiment->game.observations;
    return asked > 0 ? asked : usual;
}

dpa_status dpa__game_check_wanted(const dpa_game_opts *o, dpa_error *err) {
    if (o->observations <= 1U << 30) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu observations: expected at most 2^30",
                     (unsigned long long)o->observations);
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
    if (status == DPA_OK && !game->rules->trains_itself) status = dpa__training_open(game, err);
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
                             dpa_game_name(game))
            : dpa__trainer_serve(game->trainer, in, out, err);
    dpa_game_close(game);
    return status;
}

const char *dpa_game_name(const dpa_game *game) {
    return dpa__word_text(dpa__game_kinds, (int)game->experiment->kind);
}

int dpa_game_stages(const dpa_game *game) {
    return game->rules->brief != NULL ? 2 : 1;
}

uint64_t dpa_game_trials(const dpa_game *game, int stage) {
    return game->rules->trials(game, stage);
}

dpa_status dpa_game_trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                          dpa_values *out, dpa_error *err) {
    DPA_TRY(dpa__values_new(game->rules->numbers(game, stage, index), out, err));
    const dpa_status status = game->rules->trial(game, stage, index, brief, out, err);
    if (status != DPA_OK) dpa_values_free(out);
    return status;
}
