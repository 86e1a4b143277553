/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The training that a game plays against. If its file asks for an ε, the noise is computed here, so
 * that every process that plays a trial has the same. */

#include <math.h>
#include <stdio.h>

#include "account/account.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/stream.h"
#include "game/rules.h"

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

dpa_status dpa__training_check(const dpa_game *game, dpa_error *err) {
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

dpa_status dpa__training_open(dpa_game *game, dpa_error *err) {
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
