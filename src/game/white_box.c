/* SPDX-License-Identifier: GPL-3.0-or-later */
/* White box (tight-auditing Algorithm 2), with gradient and input canaries. The step that training
 * takes never has the canary. Before it, the trainer takes another step from the same weights, with
 * the canary, its own batch and its own noise, and that update is dropped. Both sums come out of
 * the trainer's own step. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "evidence/evidence.h"
#include "game/canary.h"
#include "game/rules.h"
#include "game/white_box.h"

struct dpa__white_box {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_train_data *data;
    dpa__trainer *trainer, *own; /* own: NULL if the trainer is borrowed */
    dpa__game_canary canary;
    dpa__input_canary *input; /* NULL when the canary is a gradient */
    double reach;             /* input canaries: sum of ‖g′‖/C over the steps of a run */
    uint64_t seed, look_seed; /* of this run */
    size_t *batch;            /* [members + 1] */
    float *sum;               /* [weights]; NULL while their number is not known */
};

static int canary_is_in(const dpa__white_box *g, uint64_t step) {
    dpa_rng coin;
    dpa__rng_init(&coin, g->look_seed, DPA_PURPOSE_MEMBERSHIP, step);
    return dpa__rng_uniform(&coin) < g->opts->canary_rate;
}

static dpa_status check(const dpa_game_opts *o, const dpa_train_plan *plan, size_t members,
                        dpa_error *err) {
    const dpa_train_opts *t = &plan->train;
    if (!(isfinite(t->clip) && t->clip > 0.0 && t->sigma > 0.0))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "a white-box game needs DP-SGD: clip and sigma (or epsilon) under privacy, or "
            "under trainer");
    if (t->microbatch != 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "microbatch %zu: white-box canaries need each example clipped by itself",
                         t->microbatch);
    if (!(o->canary_rate > 0.0 && o->canary_rate <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canary rate %g: expected more than 0, at most 1",
                         o->canary_rate);
    if (!(o->quiet_share > 0.0 && o->quiet_share <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quiet share %g: expected more than 0, at most 1",
                         o->quiet_share);
    DPA_TRY(dpa__game_check_wanted(o, err));
    return dpa__sabotage_check(o, t, members, err);
}

/* Sets up what depends on the number of weights. */
static dpa_status make_canary(dpa__white_box *g, dpa_error *err) {
    if (g->sum != NULL) return DPA_OK;
    float *sum = DPA_NEW_ARRAY(float, g->trainer->size, err);
    if (sum == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    if (g->input == NULL)
        status = dpa__game_canary_init(&g->canary, g->opts->canary, g->plan->train.clip,
                                       g->opts->quiet_share, g->trainer, err);
    if (status != DPA_OK) {
        dpa__game_canary_free(&g->canary);
        free(sum);
        return status;
    }
    /* A static random direction is drawn here; a static Dirac stays at the quietest weight. */
    if (g->opts->canary == DPA_GAME_RANDOM) dpa__game_canary_move(&g->canary, g->opts->seed, 0);
    g->sum = sum;
    return DPA_OK;
}

/* Prepares the canary for the current weights. */
static dpa_status place_canary(dpa__white_box *g, uint64_t step, dpa_error *err) {
    if (g->input == NULL) {
        if (g->opts->moving) dpa__game_canary_move(&g->canary, g->seed, step);
        return DPA_OK;
    }
    if (g->opts->moving) dpa__input_canary_draw(g->input, g->seed, step);
    DPA_TRY(dpa__input_canary_aim(g->input, g->trainer->model, err));
    g->reach += dpa__input_canary_reach(g->input);
    return DPA_OK;
}

/* Takes a step, with the canary or without. An input canary is one more example in the batch, and
 * the trainer clips it like the others. A raw canary gradient may have any length, because a
 * correct trainer clips it to C; where nothing clips single gradients, it is made as large as a
 * whole batch. */
static dpa_status take_step(dpa__white_box *g, int look, int has_canary, double *observed,
                            dpa_error *err) {
    const float *row;
    const int raw = g->opts->sabotage == DPA_SABOTAGE_CLIP;
    dpa__step step = {.look = look, .batch = g->batch};
    DPA_TRY(g->trainer->calls->batch(g->trainer, look, g->data->member_count, g->batch, &step.count,
                                     err));
    if (has_canary && g->input != NULL) g->batch[step.count++] = g->trainer->points;
    if (has_canary && g->input == NULL)
        step.extra =
            dpa__game_canary_extra(&g->canary, raw ? (float)g->plan->train.batch : 1.0F, &row);
    DPA_TRY(g->trainer->calls->step(g->trainer, &step, g->sum, err));
    *observed = g->input != NULL ? dpa__input_canary_along(g->input, g->sum)
                                 : dpa__game_canary_along(&g->canary, g->sum);
    return DPA_OK;
}

dpa_status dpa__white_box_play(dpa__white_box *g, uint64_t run, uint64_t count, double *in,
                               double *out, dpa_error *err) {
    const dpa_progress *p = &g->opts->progress;
    dpa_rng seeds;
    dpa__rng_init(&seeds, g->opts->seed, DPA_PURPOSE_ATTACK, run);
    g->reach = 0.0;
    g->seed = dpa__rng_u64(&seeds);
    g->look_seed = dpa__rng_u64(&seeds);
    for (size_t i = 0; i < g->data->member_count; ++i) g->batch[i] = i;
    const dpa__order order = {.members = g->batch,
                              .count = g->data->member_count,
                              .init = g->plan->init_seed,
                              .seed = g->seed,
                              .look_seed = g->look_seed};
    DPA_TRY(g->trainer->calls->start(g->trainer, &order, err));
    DPA_TRY(make_canary(g, err));
    for (uint64_t t = 0; t < count; ++t) {
        DPA_TRY(place_canary(g, t, err));
        DPA_TRY(take_step(g, 1, canary_is_in(g, t), &in[t], err));
        DPA_TRY(take_step(g, 0, 0, &out[t], err));
        if (p->call != NULL && p->call(p->user, "steps", (double)t + 1, (double)count) != 0)
            return dpa__fail(err, DPA_CANCELLED, "stopped after %llu steps",
                             (unsigned long long)t + 1);
    }
    return DPA_OK;
}

double dpa__white_box_reach(const dpa__white_box *g) {
    return g->reach;
}

static int has_input(const dpa__white_box *g) {
    return g->opts->canary >= DPA_GAME_MISLABELLED;
}

static dpa_status set_up_own(dpa__white_box *g, dpa_error *err) {
    const size_t members = g->data->member_count;
    const dpa__local_opts opts = {.opts = g->opts,
                                  .plan = g->plan,
                                  .data = g->data->data,
                                  .rows = g->data->members,
                                  .points = members,
                                  .canaries = has_input(g) ? 1 : 0,
                                  .held = g->data};
    DPA_TRY(dpa__local_new(&opts, &g->own, err));
    g->trainer = g->own;
    if (has_input(g)) {
        DPA_TRY(
            dpa__input_canary_new(g->opts, g->plan, g->data, g->own->size, NULL, &g->input, err));
        dpa__input_canary_serve(g->input, g->own);
    }
    return make_canary(g, err);
}

static dpa_status set_up(dpa__white_box *g, dpa_error *err) {
    g->batch = DPA_NEW_ARRAY(size_t, g->data->member_count + 1, err);
    if (g->batch == NULL) return DPA_NO_MEMORY;
    if (g->trainer == NULL) return set_up_own(g, err);
    if (!has_input(g)) return DPA_OK;
    if (g->trainer->canaries < 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "trainer: canaries 0: an input canary is the first after the points");
    return dpa__input_canary_new(g->opts, g->plan, NULL, 0, g->trainer, &g->input, err);
}

void dpa__white_box_free(dpa__white_box *g) {
    if (g == NULL) return;
    dpa__trainer_close(g->own);
    dpa__game_canary_free(&g->canary);
    dpa__input_canary_free(g->input);
    free(g->batch);
    free(g->sum);
    free(g);
}

dpa_status dpa__white_box_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                              const dpa_train_data *data, dpa__trainer *trainer,
                              dpa__white_box **out, dpa_error *err) {
    DPA_TRY(check(opts, plan, data->member_count, err));
    if (dpa_train_plan_steps(plan, data->member_count) == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a training of 0 steps shows nothing");
    dpa__white_box *g = DPA_NEW(dpa__white_box, err);
    if (g == NULL) return DPA_NO_MEMORY;
    *g = (dpa__white_box){.opts = opts, .plan = plan, .data = data, .trainer = trainer};
    const dpa_status status = set_up(g, err);
    if (status == DPA_OK)
        *out = g;
    else
        dpa__white_box_free(g);
    return status;
}

/* ---- As a game of trials ----
 *
 * A trial is one training, from the same initial weights with its own randomness; its numbers are
 * the observations with the canary, then those without. */

/* With input canaries a trial has one more number: the mean of ‖g′‖/C over the steps. */
static int tells_norm(const dpa_game *game) {
    return game->experiment->kind == DPA_GAME_INPUT_CANARY;
}

static uint64_t steps_of(const dpa_game *game) {
    return dpa_train_plan_steps(game->plan, game->data.member_count);
}

static uint64_t wanted(const dpa_game *game) {
    return dpa__game_wanted(game, steps_of(game));
}

/* The steps that a trial plays: all, or fewer if fewer are wanted in total. */
static uint64_t length(const dpa_game *game) {
    const uint64_t steps = steps_of(game), want = wanted(game);
    return want < steps ? want : steps;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    dpa__white_box *state = NULL;
    DPA_TRY(dpa__white_box_new(&game->experiment->game, game->plan, &game->data, game->remote,
                               &state, err));
    game->state = state;
    game->trainer = state->trainer;
    return DPA_OK;
}

static void close_game(dpa_game *game) {
    dpa__white_box_free(game->state);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    const uint64_t each = length(game), want = wanted(game);
    return (want + each - 1) / each;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    dpa__text_printf(text, "length: %llu\n", (unsigned long long)length(game));
    if (!tells_norm(game)) return;
    dpa__game_put(game, "game.crafting-steps game.crafting-examples game.radius game.filter", text);
    if (game->experiment->game.filter != DPA_FILTER_DOT)
        dpa__game_put(game, "game.filter-examples", text);
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return 2 * (size_t)length(game) + (tells_norm(game) ? 1 : 0);
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)stage, (void)brief;
    const uint64_t count = length(game);
    DPA_TRY(dpa__white_box_play(game->state, index, count, out->items, out->items + count, err));
    if (tells_norm(game)) out->items[2 * count] = dpa__white_box_reach(game->state) / (double)count;
    return DPA_OK;
}

static void expect(const dpa_game *game, dpa_evidence *out) {
    out->scope = DPA_SCOPE_STEP;
    out->training.rate = game->experiment->game.canary_rate;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const uint64_t each = length(game), want = wanted(game);
    DPA_TRY(dpa__gather_halves(game, &stages[0], each, want, out, err));
    if (!tells_norm(game)) return DPA_OK;
    return dpa__gather_mean(&stages[0], 2 * each, "canary_norm_of_clip", out, err);
}

const dpa__rules dpa__white_box_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed game.canary game.moving game.quiet-share game.canary-rate " DPA__SABOTAGE,
    .describe = describe,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
