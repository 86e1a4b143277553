/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership inference with shadow models (bayesian-estimation, Experiment 2 and section 4), in two
 * stages. Stage 0: shadow models, each trained on half of the points; their signals of all points
 * fit the attack and select the challenge points. Stage 1: targets, each trained on half of the
 * other points and, by the toss of a coin, a challenge point. No target is used for fit or
 * selection.
 *
 * Given the half S, a target is trained on S or on S and the challenge: neighbours by add/remove.
 * With design `leave-one-out` S is the same for all targets, as in the paper; with `half` each has
 * its own, and the rates are means over S. Privacy regions are convex, so both bound the same ε. */
#include "game/shadow.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "game/final_model.h"
#include "game/sabotage.h"
#include "game/training.h"

enum { MOST_POPULATION = 4000 };

/* First streams of the targets' membership and training (shadow models start at 0), and the stream
 * of the half that all targets share. */
static const uint64_t targets_from = UINT64_C(1) << 40, common_half = UINT64_C(1) << 41;

/* Half the number of points: the size of a shadow model's training. */
static size_t half_of(const dpa_game *game) {
    return game->data.member_count / 2;
}

int dpa__shadow_target(const dpa_game *game, uint64_t index, size_t challenge, uint8_t *member) {
    const dpa_game_opts *o = &game->experiment->game;
    const uint64_t half = o->shadow.design == DPA_SHADOW_HALF ? targets_from + index : common_half;
    dpa__membership_half(o->seed, half, game->data.member_count, member);
    const int coin = dpa__membership_leave_one_out(o->seed, targets_from + index, 0, 0, member);
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
    const char *source = game->remote != NULL ? path : game->experiment->training;
    const size_t points = game->data.member_count;
    if (points < 4)
        return dpa__fail_file(err, DPA_BAD_INPUT, source,
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
        return dpa__fail_file(err, DPA_BAD_INPUT, source,
                              "heldout: attack %s compares with points that nobody was trained on",
                              s->attack == DPA_ATTACK_RMIA ? "rmia" : "quantile");
    if (s->attack == DPA_ATTACK_QUANTILE && game->remote != NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: attack quantile needs the inputs of the points, which a "
                              "trainer keeps to itself");
    return dpa__sabotage_check(o, &game->plan->train, points / 2 + 1, err);
}

/* The audited training has half of the file's members. Its rate, length and noise are set once, so
 * that they depend neither on coins nor on who asks. */
static dpa_status settle_plan(dpa_game *game, dpa_error *err) {
    dpa_train_plan *plan = game->plan;
    const size_t half = half_of(game);
    plan->train.steps = dpa_train_plan_steps(plan, half);
    if (plan->train.sampling == DPA_SAMPLE_POISSON) plan->train.q = dpa_train_plan_q(plan, half);
    plan->epochs = 0.0;
    if (plan->train.sampling == DPA_SAMPLE_POISSON && !(plan->train.q <= 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "batch %zu: more than half of the members, %zu", plan->train.batch,
                              half);
    return dpa__training_noise(game, err);
}

static dpa_status make_rooms(dpa__shadow_game *s, dpa_error *err) {
    s->trained_on = DPA_NEW_ARRAY(size_t, s->points, err);
    s->asked = DPA_NEW_ARRAY(size_t, s->points + s->population, err);
    s->member = DPA_NEW_ARRAY(uint8_t, s->points, err);
    return s->trained_on != NULL && s->asked != NULL && s->member != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status open_own(dpa_game *game, dpa__shadow_game *s, dpa_error *err) {
    const dpa__local_opts opts = {.opts = &game->experiment->game,
                                  .plan = game->plan,
                                  .data = game->data.data,
                                  .rows = game->data.members,
                                  .points = s->points,
                                  .claimed = s->points,
                                  .held = &game->data,
                                  .evaluated = DPA__MOST_EVALUATED};
    DPA_TRY(dpa__local_new(&opts, &s->own, err));
    game->trainer = s->own;
    return DPA_OK;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_train_data *d = &game->data;
    DPA_TRY(check(game, err));
    DPA_TRY(settle_plan(game, err));
    dpa__shadow_game *s = DPA_NEW(dpa__shadow_game, err);
    if (s == NULL) return DPA_NO_MEMORY;
    game->state = s; /* close_game frees it also when this fails */
    s->points = d->member_count;
    s->has_accuracy = dpa__tells_accuracy(game);
    if (has_population(&game->experiment->game.shadow))
        s->population = d->heldout_count < MOST_POPULATION ? d->heldout_count : MOST_POPULATION;
    if (game->remote == NULL) DPA_TRY(open_own(game, s, err));
    return make_rooms(s, err);
}

static void close_game(dpa_game *game) {
    dpa__shadow_game *s = game->state;
    if (s == NULL) return;
    dpa__trainer_close(s->own);
    free(s->trained_on);
    free(s->asked);
    free(s->member);
    free(s);
}

static uint64_t trials(const dpa_game *game, int stage) {
    const dpa_shadow_opts *s = &game->experiment->game.shadow;
    return stage == 0 ? s->models : s->targets;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    const dpa__shadow_game *s = game->state;
    dpa__game_put(game, "seed shadow.signal " DPA__SABOTAGE, text);
    if (stage == 1) dpa__game_put(game, "shadow.design", text);
    dpa__text_printf(text, "population: %zu\n", s->population);
}

/* ── a trial ── */

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)index;
    const dpa__shadow_game *s = game->state;
    return (stage == 0 ? s->points : 1) + s->population + (size_t)s->has_accuracy;
}

/* Black box: log(p/(1 − p)) of the label. White box: −log of the norm of the loss's gradient with
 * respect to the weights, which is small where the model was fitted. Both are larger for members,
 * and so is the signal made from losses. */
static dpa_trainer_signal signal_of(const dpa_game *game) {
    if (game->experiment->game.shadow.signal == DPA_SHADOW_GRADIENT) return DPA_TRAINER_GRADIENT;
    return game->experiment->trainer.signal;
}

/* log(p/(1 − p)) where the loss is −log p. */
static void confide(double *signals, size_t count) {
    for (size_t i = 0; i < count; ++i)
        signals[i] = -signals[i] - log(fmax(-expm1(-fmax(signals[i], 0.0)), 1e-300));
}

/* Trains on the members; asks about the first `count` of `asked`. */
static dpa_status play(dpa_game *game, uint64_t model, size_t count, dpa_values *out,
                       dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    dpa_rng seeds;
    dpa__order order = {.members = s->trained_on};
    for (size_t p = 0; p < s->points; ++p)
        if (s->member[p]) s->trained_on[order.count++] = p;
    for (size_t i = 0; i < s->population; ++i)
        s->asked[count + i] = game->trainer->points + game->trainer->canaries + i;
    dpa__rng_init(&seeds, game->experiment->game.seed, DPA_PURPOSE_ATTACK, model);
    order.init = dpa__rng_u64(&seeds);
    order.seed = dpa__rng_u64(&seeds);
    const size_t all = count + s->population;
    const dpa__question ask = {.ids = s->asked,
                               .count = all,
                               .signal = signal_of(game),
                               .signals = out->items,
                               .accuracy = s->has_accuracy ? &out->items[all] : NULL};
    DPA_TRY(game->trainer->calls->train(game->trainer, &order, &ask, err));
    if (ask.signal == DPA_TRAINER_LOSS) confide(out->items, all);
    return DPA_OK;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    const uint64_t seed = game->experiment->game.seed;
    DPA_TRY(dpa__values_new(numbers(game, stage, index), out, err));
    if (stage == 0) {
        dpa__membership_half(seed, index, s->points, s->member);
        for (size_t p = 0; p < s->points; ++p) s->asked[p] = p;
        return play(game, index, s->points, out, err);
    }
    const size_t challenge = (size_t)brief->items[index % brief->count];
    (void)dpa__shadow_target(game, index, challenge, s->member);
    s->asked[0] = challenge;
    return play(game, targets_from + index, 1, out, err);
}

const dpa__rules dpa__shadow_rules = {
    .name = "shadow",
    .stages = 2,
    .needs_training = 1,
    .takes_trainer = 1,
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
