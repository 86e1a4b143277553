/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games as trials: the table of all kinds, and what they share. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/stream.h"
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
    double *items = DPA_NEW_ARRAY(double, count, err);
    *out = (dpa_values){items, items != NULL ? count : 0};
    return items != NULL ? DPA_OK : DPA_NO_MEMORY;
}

dpa_status dpa__values_copy(const void *numbers, size_t count, dpa_values *out, dpa_error *err) {
    DPA_TRY(dpa__values_new(count, out, err));
    if (count > 0) memcpy(out->items, numbers, count * sizeof *out->items);
    return DPA_OK;
}

/* ---- The training that a game plays against ----
 *
 * If its file asks for an ε, the noise is computed here, so that every process that plays a trial
 * has the same. */

dpa_status dpa_train_plan_noise(dpa_train_plan *plan, size_t members, dpa_error *err) {
    if (!(plan->epsilon > 0.0)) return DPA_OK;
    const dpa_phase phase = {DPA_GAUSSIAN, 1.0, dpa_train_plan_q(plan, members),
                             dpa_train_plan_steps(plan, members)};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = plan->delta;
    dpa_interval achieved;
    double noise = 0.0;
    DPA_TRY(dpa_calibrate(&phase, 1, DPA_CALIBRATE_SIGMA, plan->epsilon, plan->delta, &opts, &noise,
                          &achieved, err));
    /* With microbatches one example moves the sum by up to 2C. */
    plan->train.sigma = plan->train.microbatch > 1 ? 2.0 * noise : noise;
    return DPA_OK;
}

dpa_status dpa__training_noise(dpa_game *game, dpa_error *err) {
    const size_t members = game->data.member_count;
    if (game->plan->epsilon > 0.0 && isnan(dpa_train_plan_q(game->plan, members)))
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "privacy: epsilon needs sampling: poisson (shuffled batches are not "
                              "accounted for)");
    return dpa_train_plan_noise(game->plan, members, err);
}

static dpa_status find_digest(dpa_game *game, dpa_error *err) {
    const dpa_train_plan *plan = game->plan;
    const char *const files[] = {game->experiment->training, plan->data.path, plan->data.labels,
                                 plan->test.path, plan->test.labels};
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        char hex[DPA_SHA256_SIZE] = "";
        if (files[i] != NULL) DPA_TRY(dpa__file_sha256(files[i], hex, err));
        dpa__sha256_add(&sha, hex, sizeof hex);
    }
    /* Hashed as numbers, because the ids may come from a file. */
    dpa__sha256_add(&sha, game->data.members, game->data.member_count * sizeof(size_t));
    dpa__sha256_add(&sha, game->data.heldout, game->data.heldout_count * sizeof(size_t));
    dpa__sha256_hex(&sha, game->digest);
    return DPA_OK;
}

static dpa_status check_training(const dpa_game *game, dpa_error *err) {
    const dpa_experiment *e = game->experiment;
    if (e->trainer.command == NULL) return DPA_OK;
    if (e->training != NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "training and trainer: the one or the other is audited");
    if (game->rules->trains_itself)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "trainer: games of kind %s are played against dpaudit's own trainer",
                              dpa_game_name(game));
    if (e->game.sabotage != DPA_SABOTAGE_NONE)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, e->path,
            "game: sabotage breaks dpaudit's own trainer from inside; a trainer of "
            "your own is broken by changing it: leave sabotage out");
    return DPA_OK;
}

int dpa__tells_accuracy(const dpa_game *game) {
    return game->remote != NULL ? game->remote->tells_accuracy : game->data.heldout_count > 0;
}

/* Translates what the experiment says about a trainer program into a training plan. */
static dpa_status open_remote(dpa_game *game, dpa_error *err) {
    const dpa_trainer_opts *o = &game->experiment->trainer;
    dpa_train_plan *plan = game->plan = DPA_NEW(dpa_train_plan, err);
    size_t *members = DPA_NEW_ARRAY(size_t, (size_t)o->points, err);
    game->data.members = members;
    if (plan == NULL || members == NULL) return DPA_NO_MEMORY;
    game->data.member_count = (size_t)o->points;
    game->data.heldout_count = (size_t)o->heldout;
    for (size_t i = 0; i < o->points; ++i) members[i] = i;
    dpa_train_opts_init(&plan->train);
    plan->train.sampling = isnan(o->q) ? DPA_SAMPLE_SHUFFLE : DPA_SAMPLE_POISSON;
    if (!isnan(o->q)) plan->train.q = o->q;
    plan->train.steps = o->steps;
    plan->train.clip = o->clip;
    plan->train.sigma = o->sigma;
    plan->init_seed = o->init_seed;
    plan->delta = o->delta;
    DPA_TRY(
        dpa__remote_new(o, game->experiment->path, &game->experiment->confine, &game->remote, err));
    game->trainer = game->remote;
    (void)snprintf(game->digest, sizeof game->digest, "%s", dpa__remote_files(game->remote));
    return DPA_OK;
}

static dpa_status open_training(dpa_game *game, dpa_error *err) {
    if (game->experiment->trainer.command != NULL) return open_remote(game, err);
    const char *path = game->experiment->training;
    if (path == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->path,
                              "a game of kind %s needs `training`, the file of what is audited, or "
                              "`trainer`, a program that trains",
                              dpa_game_name(game));
    DPA_TRY(dpa_train_plan_read(path, &game->plan, err));
    DPA_TRY(dpa_train_plan_load(game->plan, &game->data, err));
    if (!game->rules->finds_noise) DPA_TRY(dpa__training_noise(game, err));
    return find_digest(game, err);
}

/* ---- Opening and closing ---- */

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
    dpa_status status = check_training(game, err);
    if (status == DPA_OK && !game->rules->trains_itself) status = open_training(game, err);
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
