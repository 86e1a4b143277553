/* SPDX-License-Identifier: GPL-3.0-or-later */
/* White box (tight-auditing Algorithm 2), gradient and input canaries. Two trainers share their
 * weights: the first takes the step that training takes and never has the canary; the second takes
 * a step from the same weights on its own batch with its own noise, with the canary, and its update
 * is dropped. Both sums come out of the trainer's own step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/lab/game.h"
#include "dpaudit/rng.h"
#include "game/canary.h"
#include "game/input_canary.h"
#include "game/sabotage.h"
#include "game/white_box.h"

typedef dpa__white_box game;

typedef struct side {
    game *game;
    dpa_model *model;
    dpa_trainer *trainer;
    int has_canary;
    uint64_t seed; /* of its sampling, noise and coins in this run */
    double observed;
} side;

struct dpa__white_box {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_train_data *data;
    dpa__game_canary canary;
    dpa__input_canary *input; /* NULL when the canary is a gradient */
    double reach;             /* input canaries: sum over the steps of a run */
    side out, in;
};

static int canary_is_in(const side *s, uint64_t step) {
    dpa_rng coin;
    dpa_rng_init(&coin, s->seed, DPA_PURPOSE_MEMBERSHIP, step);
    return s->has_canary && dpa_rng_uniform(&coin) < s->game->opts->canary_rate;
}

/* An input canary is one example more in the batch: the trainer clips it like the others. */
static dpa_status on_sample(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                            dpa_error *err) {
    (void)err;
    const side *s = user;
    const game *g = s->game;
    dpa__sabotage_sample(g->opts, &g->plan->train, g->data->member_count, step, count);
    if (g->input != NULL && canary_is_in(s, step) && *count < capacity)
        rows[(*count)++] = dpa_dataset_rows(g->data->data);
    return DPA_OK;
}

/* A raw canary gradient may be as large as it likes, a correct trainer clips it to C. Where nothing
 * clips single gradients it comes in as large as a whole batch. */
static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const side *s = user;
    const game *g = s->game;
    const dpa_train_opts *claimed = &g->plan->train;
    const int raw = g->opts->sabotage == DPA_SABOTAGE_CLIP;
    if (g->input == NULL && canary_is_in(s, step))
        dpa__game_canary_add(&g->canary, raw ? (float)claimed->batch : 1.0F, sum);
    dpa__sabotage_sum(g->opts, claimed, g->data->member_count, step, sum, size);
    return DPA_OK;
}

static dpa_status on_release(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    side *s = user;
    const game *g = s->game;
    dpa__sabotage_release(g->opts, &g->plan->train, s->seed, step, sum, size);
    s->observed = g->input != NULL ? dpa__input_canary_along(g->input, sum)
                                   : dpa__game_canary_along(&g->canary, sum);
    return DPA_OK;
}

/* The options of the trainer as it is really run. */
static dpa_train_opts real_opts(const game *g, side *s) {
    dpa_train_opts o = g->plan->train;
    o.steps = dpa_train_plan_steps(g->plan, g->data->member_count);
    o.seed = s->seed;
    o.hooks =
        (dpa_train_hooks){.user = s, .sample = on_sample, .sum = on_sum, .release = on_release};
    if (s->has_canary) o.rate = 0.0;
    if (g->input != NULL) o.extra = dpa__input_canary_row(g->input);
    dpa__sabotage_opts(g->opts, &o);
    return o;
}

static dpa_status check(const dpa_game_opts *o, const dpa_train_plan *plan, size_t members,
                        dpa_error *err) {
    const dpa_train_opts *t = &plan->train;
    if (!(isfinite(t->clip) && t->clip > 0.0 && t->sigma > 0.0))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "a white-box game needs DP-SGD: clip and sigma (or epsilon) under privacy");
    if (t->microbatch != 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "microbatch %zu: white-box canaries need each example clipped by itself",
                         t->microbatch);
    if (!(o->canary_rate > 0.0 && o->canary_rate <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canary rate %g: expected more than 0, at most 1",
                         o->canary_rate);
    if (o->observations > 1U << 30)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu observations: expected at most 2^30",
                         (unsigned long long)o->observations);
    return dpa__sabotage_check(o, t, members, err);
}

static dpa_status start_side(game *g, side *s, uint64_t seed, dpa_error *err) {
    s->seed = seed;
    dpa_trainer_free(s->trainer);
    s->trainer = NULL;
    dpa_model_init(s->model, g->plan->init_seed);
    const dpa_train_opts o = real_opts(g, s);
    return dpa_trainer_new(s->model, g->data->data, g->data->members, g->data->member_count, &o,
                           &s->trainer, err);
}

/* The canary for the weights as they are now. */
static dpa_status place_canary(game *g, uint64_t step, dpa_error *err) {
    if (g->input == NULL) {
        if (g->opts->moving) dpa__game_canary_move(&g->canary, g->out.seed, step);
        return DPA_OK;
    }
    if (g->opts->moving) dpa__input_canary_draw(g->input, g->out.seed, step);
    DPA_TRY(dpa__input_canary_aim(g->input, g->out.model, err));
    g->reach += dpa__input_canary_reach(g->input);
    return DPA_OK;
}

static dpa_status observe(game *g, uint64_t step, double *in, double *out, dpa_error *err) {
    DPA_TRY(place_canary(g, step, err));
    memcpy(dpa_model_weights(g->in.model), dpa_model_weights(g->out.model),
           dpa_model_size(g->out.model) * sizeof(float));
    DPA_TRY(dpa_trainer_step(g->in.trainer, NULL, err));
    DPA_TRY(dpa_trainer_step(g->out.trainer, NULL, err));
    *in = g->in.observed;
    *out = g->out.observed;
    return DPA_OK;
}

dpa_status dpa__white_box_play(game *g, uint64_t run, uint64_t count, double *in, double *out,
                               dpa_error *err) {
    const dpa_progress *p = &g->opts->progress;
    dpa_rng seeds;
    dpa_rng_init(&seeds, g->opts->seed, DPA_PURPOSE_ATTACK, run);
    g->reach = 0.0;
    DPA_TRY(start_side(g, &g->out, dpa_rng_u64(&seeds), err));
    DPA_TRY(start_side(g, &g->in, dpa_rng_u64(&seeds), err));
    for (uint64_t t = 0; t < count; ++t) {
        DPA_TRY(observe(g, t, &in[t], &out[t], err));
        if (p->call != NULL && p->call(p->user, "steps", (double)t + 1, (double)count) != 0)
            return dpa__fail(err, DPA_CANCELLED, "stopped after %llu steps",
                             (unsigned long long)t + 1);
    }
    return DPA_OK;
}

double dpa__white_box_reach(const game *g) {
    return g->reach;
}

static dpa_status set_up(game *g, dpa_error *err) {
    const dpa_shape shape = dpa_dataset_shape(g->data->data);
    const size_t classes = dpa_dataset_classes(g->data->data);
    DPA_TRY(dpa_model_new(g->plan->layers, shape, classes, g->plan->loss, &g->out.model, err));
    DPA_TRY(dpa_model_new(g->plan->layers, shape, classes, g->plan->loss, &g->in.model, err));
    dpa_model_init(g->out.model, g->plan->init_seed);
    if (g->opts->canary >= DPA_GAME_MISLABELLED)
        return dpa__input_canary_new(g->opts, g->plan, g->data, dpa_model_size(g->out.model),
                                     &g->input, err);
    DPA_TRY(dpa__game_canary_init(&g->canary, g->opts->canary, g->plan->train.clip, g->out.model,
                                  g->data, err));
    /* A static random direction; a static Dirac stays at the quietest weight. */
    if (g->opts->canary == DPA_GAME_RANDOM) dpa__game_canary_move(&g->canary, g->opts->seed, 0);
    return DPA_OK;
}

static void clear_side(side *s) {
    dpa_trainer_free(s->trainer);
    dpa_model_free(s->model);
}

void dpa__white_box_free(game *g) {
    if (g == NULL) return;
    clear_side(&g->out);
    clear_side(&g->in);
    dpa__game_canary_free(&g->canary);
    dpa__input_canary_free(g->input);
    free(g);
}

dpa_status dpa__white_box_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                              const dpa_train_data *data, game **out, dpa_error *err) {
    DPA_TRY(check(opts, plan, data->member_count, err));
    if (dpa_train_plan_steps(plan, data->member_count) == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a training of 0 steps shows nothing");
    game *g = DPA_NEW(game, err);
    if (g == NULL) return DPA_NO_MEMORY;
    *g = (game){.opts = opts, .plan = plan, .data = data};
    g->out.game = g->in.game = g;
    g->in.has_canary = 1;
    const dpa_status status = set_up(g, err);
    if (status == DPA_OK)
        *out = g;
    else
        dpa__white_box_free(g);
    return status;
}
