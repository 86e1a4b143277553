/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership inference with shadow models (bayesian-estimation, Experiment 2 and section 4), in two
 * stages. Stage 0: shadow models, each on a half of the points; what they say of all points fits
 * the attack and selects the challenge points. Stage 1: targets, each on a half of the other points
 * and, by the toss of a coin, a challenge point. No target has a part in fit or selection.
 *
 * Given the half S, a target is trained on S or on S and the challenge: neighbours by add/remove.
 * With design `leave-one-out` S is the same for all targets, as in the paper; with `half` each has
 * its own, and rates are means over S. Privacy regions are convex: both bound the same ε. */
#include "game/shadow.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/rng.h"
#include "game/final_model.h"
#include "game/sabotage.h"
#include "game/training.h"
#include "train/kernels.h"

enum { MOST_POPULATION = 4000 };

/* Streams of membership and of training: shadow models, targets, the half that targets share. */
static const uint64_t targets_from = UINT64_C(1) << 40, common_half = UINT64_C(1) << 41;

size_t dpa__shadow_half(const dpa_game *game) {
    return game->data.member_count / 2;
}

int dpa__shadow_target(const dpa_game *game, uint64_t index, size_t challenge, uint8_t *member) {
    const dpa_game_opts *o = &game->experiment->game;
    const uint64_t half = o->shadow.design == DPA_SHADOW_HALF ? targets_from + index : common_half;
    dpa_membership_half(o->seed, half, game->data.member_count, member);
    const int coin = dpa_membership_leave_one_out(o->seed, targets_from + index, 0, 0, member);
    member[challenge] = (uint8_t)coin;
    return coin;
}

/* ── opening ── */

static int has_population(const dpa_shadow_opts *opts) {
    return opts->attack == DPA_ATTACK_RMIA || opts->attack == DPA_ATTACK_QUANTILE;
}

static dpa_status check(const dpa_game *game, dpa_error *err) {
    const dpa_game_opts *o = &game->experiment->game;
    const dpa_shadow_opts *s = &o->shadow;
    const char *path = game->experiment->path;
    const size_t points = game->data.member_count;
    if (points < 4)
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "members: %zu: a shadow game needs at least 4 to halve", points);
    if (s->models < 4 || s->models > 1U << 20)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "shadow: models %llu: expected 4 to 2^20",
                              (unsigned long long)s->models);
    if (s->targets < 2 || s->targets > 1U << 30)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "shadow: targets %llu: expected 2 to 2^30",
                              (unsigned long long)s->targets);
    if (s->challenges < 1 || s->challenges > points)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: challenges %llu: expected 1 to %zu",
                              (unsigned long long)s->challenges, points);
    if (s->attack == DPA_ATTACK_RMIA && s->signal == DPA_SHADOW_GRADIENT)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: attack rmia needs probabilities: signal confidence");
    if (has_population(s) && game->data.heldout_count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "heldout: attack %s compares with points that nobody was trained on",
                              s->attack == DPA_ATTACK_RMIA ? "rmia" : "quantile");
    return dpa__sabotage_check(o, &game->plan->train, points / 2 + 1, err);
}

/* The training that is audited has half of the file's members: its rate, length and noise are set
 * once, so that they depend neither on coins nor on who asks. */
static dpa_status settle_plan(dpa_game *game, dpa_error *err) {
    dpa_train_plan *plan = game->plan;
    const size_t half = dpa__shadow_half(game);
    plan->train.steps = dpa_train_plan_steps(plan, half);
    if (plan->train.sampling == DPA_SAMPLE_POISSON) plan->train.q = dpa_train_plan_q(plan, half);
    plan->epochs = 0.0;
    if (plan->train.sampling == DPA_SAMPLE_POISSON && !(plan->train.q <= 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "batch %zu: more than half of the members, %zu", plan->train.batch,
                              half);
    return dpa__training_noise(game, err);
}

static dpa_status make_rooms(const dpa_game *game, dpa__shadow_game *s, dpa_error *err) {
    const size_t most = s->points > s->population ? s->points : s->population;
    s->logits = dpa__malloc(most, dpa_model_outputs(s->model) * sizeof(float), err);
    s->rows = DPA_NEW_ARRAY(size_t, s->points, err);
    s->member = DPA_NEW_ARRAY(uint8_t, s->points, err);
    if (s->logits == NULL || s->rows == NULL || s->member == NULL) return DPA_NO_MEMORY;
    if (game->experiment->game.shadow.signal != DPA_SHADOW_GRADIENT) return DPA_OK;
    s->gradient = DPA_NEW_ARRAY(float, dpa_model_size(s->model), err);
    return s->gradient != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_train_data *d = &game->data;
    DPA_TRY(check(game, err));
    DPA_TRY(settle_plan(game, err));
    dpa__shadow_game *s = DPA_NEW(dpa__shadow_game, err);
    if (s == NULL) return DPA_NO_MEMORY;
    game->state = s; /* close_game frees it also when this fails */
    s->points = d->member_count;
    s->has_accuracy = d->heldout_count > 0;
    if (has_population(&game->experiment->game.shadow))
        s->population = d->heldout_count < MOST_POPULATION ? d->heldout_count : MOST_POPULATION;
    DPA_TRY(dpa_model_new(game->plan->layers, dpa_dataset_shape(d->data),
                          dpa_dataset_classes(d->data), game->plan->loss, &s->model, err));
    return make_rooms(game, s, err);
}

static void close_game(dpa_game *game) {
    dpa__shadow_game *s = game->state;
    if (s == NULL) return;
    dpa_model_free(s->model);
    free(s->logits);
    free(s->gradient);
    free(s->rows);
    free(s->member);
    free(s);
}

static uint64_t trials(const dpa_game *game, int stage) {
    const dpa_shadow_opts *s = &game->experiment->game.shadow;
    return stage == 0 ? s->models : s->targets;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    const dpa_game_opts *o = &game->experiment->game;
    const dpa__shadow_game *s = game->state;
    dpa__text_printf(text, "seed %llu\nsignal %d\npopulation %zu\n", (unsigned long long)o->seed,
                     (int)o->shadow.signal, s->population);
    if (stage == 1) dpa__text_printf(text, "design %d\n", (int)o->shadow.design);
    dpa__sabotage_describe(o, text);
}

/* ── a trial ── */

/* Black box: log(p/(1 − p)) of the label. White box: −log of the norm of the loss's gradient by the
 * weights, which is small where the model was fitted. Both are larger for members. */
static dpa_status signals_of(const dpa__shadow_game *s, const dpa_dataset *data, const size_t *rows,
                             size_t count, double *out, dpa_error *err) {
    const size_t outputs = dpa_model_outputs(s->model);
    if (s->gradient == NULL)
        DPA_TRY(dpa_model_evaluate(s->model, data, rows, count, s->logits, NULL, NULL, err));
    for (size_t i = 0; i < count; ++i) {
        const int32_t label = dpa_dataset_label(data, rows[i]);
        if (s->gradient != NULL) {
            DPA_TRY(dpa_model_gradient(s->model, dpa_dataset_row(data, rows[i]), label, s->gradient,
                                       NULL, err));
            const double square = dpa__sum_squares(s->gradient, dpa_model_size(s->model));
            out[i] = -0.5 * log(fmax(square, 1e-60));
        } else
            out[i] = dpa__confidence(s->logits + i * outputs, outputs, label);
        if (!isfinite(out[i]))
            return dpa__fail(err, DPA_NUMERIC, "the model's outputs are not finite");
    }
    return DPA_OK;
}

static dpa_status train(dpa_game *game, uint64_t model, dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    dpa_rng seeds;
    size_t count = 0;
    for (size_t p = 0; p < s->points; ++p)
        if (s->member[p]) s->rows[count++] = game->data.members[p];
    dpa_rng_init(&seeds, game->experiment->game.seed, DPA_PURPOSE_ATTACK, model);
    const uint64_t init = dpa_rng_u64(&seeds), seed = dpa_rng_u64(&seeds);
    return dpa__final_train(game, s->model, game->data.data, s->rows, count, init, seed, err);
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)index;
    const dpa__shadow_game *s = game->state;
    return (stage == 0 ? s->points : 1) + s->population + (size_t)s->has_accuracy;
}

/* rows [count]: whom the model is asked about. */
static dpa_status look(dpa_game *game, const size_t *rows, size_t count, dpa_values *out,
                       dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    const dpa_train_data *d = &game->data;
    DPA_TRY(signals_of(s, d->data, rows, count, out->items, err));
    if (s->population > 0)
        DPA_TRY(signals_of(s, d->test != NULL ? d->test : d->data, d->heldout, s->population,
                           out->items + count, err));
    return s->has_accuracy
               ? dpa__final_accuracy(game, s->model, &out->items[count + s->population], err)
               : DPA_OK;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    const uint64_t seed = game->experiment->game.seed;
    DPA_TRY(dpa__values_new(numbers(game, stage, index), out, err));
    if (stage == 0) {
        dpa_membership_half(seed, index, s->points, s->member);
        DPA_TRY(train(game, index, err));
        return look(game, game->data.members, s->points, out, err);
    }
    const size_t challenge = (size_t)brief->items[index % brief->count];
    (void)dpa__shadow_target(game, index, challenge, s->member);
    DPA_TRY(train(game, targets_from + index, err));
    return look(game, &game->data.members[challenge], 1, out, err);
}

const dpa__rules dpa__shadow_rules = {
    .name = "shadow",
    .stages = 2,
    .needs_training = 1,
    .finds_noise = 1,
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .brief = dpa__shadow_brief,
    .trial = trial,
    .gather = dpa__shadow_gather,
    .arm = dpa__shadow_arm,
};
