/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training to its end, and what its model says of an example. */
#include "game/final_model.h"

#include <math.h>

#include "base/error.h"
#include "game/sabotage.h"

/* What the hooks of a training know. */
typedef struct training {
    const dpa_game *game;
    size_t members; /* who are trained on */
    uint64_t seed;
} training;

static dpa_status on_sample(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                            dpa_error *err) {
    (void)rows, (void)capacity, (void)err;
    const training *t = user;
    dpa__sabotage_sample(&t->game->experiment->game, &t->game->plan->train, t->members, step,
                         count);
    return DPA_OK;
}

static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const training *t = user;
    dpa__sabotage_sum(&t->game->experiment->game, &t->game->plan->train, t->members, step, sum,
                      size);
    return DPA_OK;
}

static dpa_status on_release(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const training *t = user;
    dpa__sabotage_release(&t->game->experiment->game, &t->game->plan->train, t->seed, step, sum,
                          size);
    return DPA_OK;
}

static dpa_train_opts real_opts(training *t) {
    const dpa_game *game = t->game;
    const dpa_game_opts *o = &game->experiment->game;
    const size_t members = game->data.member_count;
    dpa_train_opts train = game->plan->train;
    train.steps = dpa_train_plan_steps(game->plan, members);
    const double q = dpa_train_plan_q(game->plan, members);
    if (train.sampling == DPA_SAMPLE_POISSON) train.q = q;
    train.seed = t->seed;
    if (o->sabotage != DPA_SABOTAGE_NONE)
        train.hooks =
            (dpa_train_hooks){.user = t, .sample = on_sample, .sum = on_sum, .release = on_release};
    dpa__sabotage_opts(o, &train);
    return train;
}

dpa_status dpa__final_train(const dpa_game *game, dpa_model *model, const dpa_dataset *data,
                            const size_t *rows, size_t count, uint64_t init, uint64_t seed,
                            dpa_error *err) {
    training t = {game, count, seed};
    const dpa_train_opts o = real_opts(&t);
    dpa_trainer *trainer = NULL;
    dpa_model_init(model, init);
    DPA_TRY(dpa_trainer_new(model, data, rows, count, &o, &trainer, err));
    dpa_status status = dpa_trainer_run(trainer, &game->experiment->game.progress, err);
    if (status == DPA_OK && o.averaging != DPA_AVERAGE_NONE)
        status = dpa_trainer_average(trainer, model, err);
    dpa_trainer_free(trainer);
    return status;
}

/* The logit itself, or the label's logit less the log of the sum over the others. */
double dpa__confidence(const float *logits, size_t outputs, int32_t label) {
    if (outputs == 1) return label == 1 ? (double)logits[0] : -(double)logits[0];
    double most = -INFINITY, sum = 0.0;
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) most = fmax(most, (double)logits[k]);
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) sum += exp((double)logits[k] - most);
    return (double)logits[label] - most - log(sum);
}

dpa_status dpa__final_accuracy(const dpa_game *game, const dpa_model *model, double *out,
                               dpa_error *err) {
    const dpa_train_data *d = &game->data;
    const size_t most = DPA__MOST_EVALUATED;
    dpa_utility utility;
    DPA_TRY(dpa_model_evaluate(model, d->test != NULL ? d->test : d->data, d->heldout,
                               d->heldout_count < most ? d->heldout_count : most, NULL, NULL,
                               &utility, err));
    *out = utility.accuracy;
    return DPA_OK;
}
