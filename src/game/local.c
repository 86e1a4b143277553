/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit's own trainer behind the interface that all trainers share. A training by steps has a
 * second trainer, the observer: it takes its steps from the weights of the first, on its own
 * batches with its own noise, and its updates are dropped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "game/trainer.h"
#include "train/kernels.h"
#include "train/noise.h"
#include "train/trainer.h"

/* ---- Sabotage ----
 *
 * The bugs of tight-auditing section 6.3, and others that real code has had, put in from outside:
 * through the options and the hooks. The trainer itself stays correct. */

dpa_status dpa__sabotage_check(const dpa_game_opts *o, const dpa_train_opts *claimed,
                               size_t members, dpa_error *err) {
    if (!(o->noise_scale >= 0.0 && o->noise_scale <= 1e3))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "noise scale %g: expected 0 to 1000",
                         o->noise_scale);
    if (o->seeds < 1 || o->workers < 1 || o->workers > 1024)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%llu seeds, %llu workers: expected at least 1, 1 to 1024",
                         (unsigned long long)o->seeds, (unsigned long long)o->workers);
    const int shuffles = o->sabotage == DPA_SABOTAGE_SHUFFLE || o->sabotage == DPA_SABOTAGE_PARTIAL;
    if (shuffles && claimed->sampling != DPA_SAMPLE_POISSON)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "batches are shuffled already: the bug is to claim sampling: poisson");
    if (o->sabotage == DPA_SABOTAGE_PARTIAL && members > 0 &&
        (claimed->batch == 0 || members % claimed->batch == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu members make whole batches of %zu: no partial one to divide wrongly",
                         members, claimed->batch);
    return DPA_OK;
}

/* Turns the claimed options into those that the trainer really runs with. */
static void sabotage_opts(const dpa_game_opts *o, dpa_train_opts *train) {
    switch (o->sabotage) {
    case DPA_SABOTAGE_SCALE:
        train->sigma *= o->noise_scale;
        break;
    case DPA_SABOTAGE_CLIP: /* the noise stays, but no gradient reaches the clipping norm */
        train->clip *= 1e6;
        train->sigma *= 1e-6;
        break;
    case DPA_SABOTAGE_SEEDS:
    case DPA_SABOTAGE_WORKERS: /* dpa__sabotage_release adds the noise instead */
        train->sigma = 0.0;
        break;
    case DPA_SABOTAGE_SHUFFLE:
    case DPA_SABOTAGE_PARTIAL:
        train->sampling = DPA_SAMPLE_SHUFFLE;
        break;
    case DPA_SABOTAGE_NONE:
        break;
    }
}

/* The size of this step's batch if the last batch of an epoch gets the remainder. */
static size_t batch_size(const dpa_train_opts *claimed, size_t members, uint64_t step) {
    const uint64_t steps = members / claimed->batch;
    const size_t rest = members % claimed->batch;
    return step % steps + 1 == steps && rest > 0 ? rest : claimed->batch;
}

/* Before the game looks at the batch. */
static void sabotage_sample(const dpa_game_opts *o, const dpa_train_opts *claimed, size_t members,
                            uint64_t step, size_t *count) {
    if (o->sabotage != DPA_SABOTAGE_PARTIAL) return;
    const size_t size = batch_size(claimed, members, step);
    if (*count > size) *count = size;
}

static void multiply(float *sum, size_t size, double factor) {
    for (size_t i = 0; i < size; ++i) sum[i] *= (float)factor;
}

/* Clips the mean only, with noise σC on batch·mean, as someone would who believes that to be
 * enough. */
static void clip_mean(const dpa_train_opts *claimed, float *sum, size_t size) {
    double square = 0.0;
    for (size_t i = 0; i < size; ++i) square += (double)sum[i] * (double)sum[i];
    const double most = claimed->clip * (double)claimed->batch, norm = sqrt(square);
    if (norm > most) multiply(sum, size, most / norm);
}

/* After the game has added its part. Incomplete batch: the mean over the examples present gets the
 * noise that fits a full batch. On the scale of the sum, which the trainer divides by a full batch,
 * each of them counts for more than one. */
static void sabotage_sum(const dpa_game_opts *o, const dpa_train_opts *claimed, size_t members,
                         uint64_t step, float *sum, size_t size) {
    if (o->sabotage == DPA_SABOTAGE_CLIP) clip_mean(claimed, sum, size);
    if (o->sabotage == DPA_SABOTAGE_PARTIAL)
        multiply(sum, size, (double)claimed->batch / (double)batch_size(claimed, members, step));
}

/* Before the game looks. `seed` is that of the training. */
static void sabotage_release(const dpa_game_opts *o, const dpa_train_opts *claimed, uint64_t seed,
                             uint64_t step, float *sum, size_t size) {
    const double noise = claimed->sigma * claimed->clip;
    if (o->sabotage == DPA_SABOTAGE_SEEDS) {
        dpa_rng pick;
        dpa__rng_init(&pick, seed, DPA_PURPOSE_ATTACK, step);
        dpa__noise_add(o->seed, DPA_PURPOSE_NOISE, dpa__rng_below(&pick, o->seeds), 0, (float)noise,
                       sum, size);
    }
    if (o->sabotage == DPA_SABOTAGE_WORKERS)
        for (uint64_t w = 0; w < o->workers; ++w)
            dpa__noise_add(seed, DPA_PURPOSE_NOISE, step * o->workers + w, 0,
                           (float)(noise / (double)o->workers), sum, size);
}

/* ---- The trainer ---- */

typedef struct local local;

typedef struct side {
    local *owner;
    dpa_model *model;
    dpa_trainer *trainer;
    uint64_t seed;
    const dpa__step *step; /* the step being taken; NULL: the trainer runs by itself */
    float *sum;            /* receives what is released */
} side;

struct local {
    dpa__trainer base;
    dpa__local_opts o;
    const dpa_dataset *extra; /* canaries that are not rows of the data */
    dpa__canary_maker *make;  /* NULL: canaries stay as they are */
    void *maker;
    const dpa_model *asked; /* the model that signals are asked of */
    side sides[2];          /* the training, and the observer */
    size_t *members;        /* [points + canaries] rows in the training */
    size_t count;
    size_t *id_of;   /* [rows of data + extra] the example number of each row */
    float *logits;   /* [asked × outputs] */
    float *gradient; /* [size] */
};

/* ---- Rows and numbers ---- */

static size_t all_rows(const local *l) {
    return dpa_dataset_rows(l->o.data) + (l->o.rows != NULL ? l->base.canaries : 0);
}

void dpa__local_set_canary(dpa__trainer *trainer, const dpa_dataset *canaries,
                           dpa__canary_maker *make, void *user) {
    local *l = (local *)trainer;
    l->extra = canaries;
    l->make = make;
    l->maker = user;
    trainer->levels |= DPA__LEVEL_CANARY;
}

static dpa_status row_of(const local *l, size_t id, size_t *row, dpa_error *err) {
    if (id >= l->base.points + l->base.canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "example %zu: there are %zu and %zu canaries", id,
                         l->base.points, l->base.canaries);
    *row = l->o.rows == NULL     ? id
           : id < l->base.points ? l->o.rows[id]
                                 : dpa_dataset_rows(l->o.data) + id - l->base.points;
    return DPA_OK;
}

static dpa_status number_rows(local *l, dpa_error *err) {
    l->id_of = DPA_NEW_ARRAY(size_t, all_rows(l), err);
    if (l->id_of == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < all_rows(l); ++i) l->id_of[i] = i;
    for (size_t id = 0; id < l->base.points + l->base.canaries; ++id) {
        size_t row = 0;
        DPA_TRY(row_of(l, id, &row, err));
        l->id_of[row] = id;
    }
    return DPA_OK;
}

/* Finds the data set of an example and its row there. */
static dpa_status find_example(const local *l, size_t id, const dpa_dataset **data, size_t *row,
                               dpa_error *err) {
    const size_t first = l->base.points + l->base.canaries;
    const dpa_train_data *held = l->o.held;
    if (id >= first && id - first < l->base.heldout) {
        *data = held->test != NULL ? held->test : held->data;
        *row = held->heldout[id - first];
        return DPA_OK;
    }
    DPA_TRY(row_of(l, id, row, err));
    const size_t rows = dpa_dataset_rows(l->o.data);
    *data = *row < rows ? l->o.data : l->extra;
    if (*row >= rows) *row -= rows;
    return DPA_OK;
}

/* ---- Sabotage, and what the game puts in ---- */

static dpa_status on_sample(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                            dpa_error *err) {
    const side *s = user;
    const local *l = s->owner;
    if (s->step == NULL) {
        sabotage_sample(l->o.opts, &l->o.plan->train, l->count, step, count);
        return DPA_OK;
    }
    if (s->step->count > capacity)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a batch of %zu: at most %zu have room",
                         s->step->count, capacity);
    *count = s->step->count;
    for (size_t i = 0; i < *count; ++i) DPA_TRY(row_of(l, s->step->batch[i], &rows[i], err));
    return DPA_OK;
}

static void add_extra(const dpa__extra *e, float *sum, size_t size) {
    for (size_t k = 0; k < e->count; ++k) {
        if (e->place != NULL) {
            sum[e->place[k]] += e->value;
            continue;
        }
        const float *row = e->row[k];
        for (size_t i = 0; i < size; ++i) sum[i] += e->value * row[i];
    }
}

static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const side *s = user;
    const local *l = s->owner;
    if (s->step != NULL) add_extra(&s->step->extra, sum, size);
    sabotage_sum(l->o.opts, &l->o.plan->train, l->count, step, sum, size);
    return DPA_OK;
}

static dpa_status on_release(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const side *s = user;
    const local *l = s->owner;
    sabotage_release(l->o.opts, &l->o.plan->train, s->seed, step, sum, size);
    if (s->step != NULL) memcpy(s->sum, sum, size * sizeof *sum);
    return DPA_OK;
}

/* The options that the trainer really runs with. Sampling rate and number of steps are the claimed
 * ones whoever is in the training, because they must not reveal it. */
static dpa_train_opts real_opts(const local *l, side *s, int by_steps) {
    dpa_train_opts o = l->o.plan->train;
    const double q = dpa_train_plan_q(l->o.plan, l->o.points);
    o.steps = dpa_train_plan_steps(l->o.plan, l->o.points);
    if (o.sampling == DPA_SAMPLE_POISSON) o.q = q;
    o.seed = s->seed;
    o.extra = l->extra;
    if (by_steps || l->o.opts->sabotage != DPA_SABOTAGE_NONE)
        o.hooks =
            (dpa_train_hooks){.user = s, .sample = on_sample, .sum = on_sum, .release = on_release};
    sabotage_opts(l->o.opts, &o);
    if (l->o.keeps_rate && l->o.opts->sabotage == DPA_SABOTAGE_SHUFFLE)
        o.batch = (size_t)fmax(1.0, round(q * (double)l->count));
    return o;
}

/* ---- The calls ---- */

static dpa_status take_members(local *l, const dpa__order *order, dpa_error *err) {
    if (order->count > l->base.points + l->base.canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu members of %zu examples", order->count,
                         l->base.points + l->base.canaries);
    l->count = order->count;
    size_t copies = 0;
    for (size_t i = 0; i < order->count; ++i) {
        /* Each copy of a canary has a row of its own and is sampled independently. */
        const int is_copy = l->o.opts->copies > 1 && order->members[i] == l->base.points;
        DPA_TRY(row_of(l, order->members[i] + (is_copy ? copies++ : 0), &l->members[i], err));
    }
    return DPA_OK;
}

static dpa_status start_side(local *l, side *s, const dpa__order *order, int by_steps,
                             dpa_error *err) {
    const int looks = s == &l->sides[1];
    s->seed = looks ? order->look_seed : order->seed;
    s->step = NULL;
    dpa_trainer_free(s->trainer);
    s->trainer = NULL;
    dpa_model_init(s->model, order->init);
    dpa_train_opts o = real_opts(l, s, by_steps);
    if (looks) o.rate = 0.0;
    return dpa_trainer_new(s->model, l->o.data, l->members, l->count, &o, &s->trainer, err);
}

static dpa_status start(dpa__trainer *trainer, const dpa__order *order, dpa_error *err) {
    local *l = (local *)trainer;
    DPA_TRY(take_members(l, order, err));
    DPA_TRY(start_side(l, &l->sides[0], order, 1, err));
    return start_side(l, &l->sides[1], order, 1, err);
}

static dpa_status need_start(const side *s, dpa_error *err) {
    if (s->trainer != NULL) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no training was started");
}

static dpa_status batch(dpa__trainer *trainer, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *err) {
    local *l = (local *)trainer;
    side *s = &l->sides[look != 0];
    DPA_TRY(need_start(s, err));
    if (room < l->count)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "room for a batch of %zu, %zu may be in", room,
                         l->count);
    *count = dpa__sampler_draw(&s->trainer->sampler, s->trainer->step, ids);
    sabotage_sample(l->o.opts, &l->o.plan->train, l->count, s->trainer->step, count);
    for (size_t i = 0; i < *count; ++i) ids[i] = l->id_of[ids[i]];
    return DPA_OK;
}

static dpa_status take_step(dpa__trainer *trainer, const dpa__step *step, float *sum,
                            dpa_error *err) {
    local *l = (local *)trainer;
    side *s = &l->sides[step->look != 0];
    DPA_TRY(need_start(s, err));
    if (step->look)
        memcpy(dpa_model_weights(s->model), dpa_model_weights(l->sides[0].model),
               trainer->size * sizeof(float));
    s->step = step;
    s->sum = sum;
    const dpa_status status = dpa_trainer_step(s->trainer, NULL, err);
    s->step = NULL;
    return status;
}

static dpa_status find_weights(dpa__trainer *trainer, float *weights, dpa_error *err) {
    const local *l = (const local *)trainer;
    DPA_TRY(need_start(&l->sides[0], err));
    memcpy(weights, dpa_model_weights(l->sides[0].model), trainer->size * sizeof *weights);
    return DPA_OK;
}

/* The kind is the game's that this trainer was made for. */
static dpa_status make_canary(dpa__trainer *trainer, dpa_game_canary kind, uint64_t seed,
                              uint64_t index, dpa_error *err) {
    const local *l = (const local *)trainer;
    if (l->make == NULL || kind != l->o.opts->canary)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "this trainer makes no such canary");
    return l->make(l->maker, seed, index, err);
}

static dpa_status find_gradient(dpa__trainer *trainer, size_t id, float *gradient, dpa_error *err) {
    const local *l = (const local *)trainer;
    const dpa_dataset *data = NULL;
    size_t row = 0;
    DPA_TRY(find_example(l, id, &data, &row, err));
    return dpa_model_gradient(trainer->model, dpa_dataset_row(data, row),
                              dpa_dataset_label(data, row), gradient, NULL, err);
}

/* ---- Signals of a model ---- */

/* log(p/(1 − p)), where p is the probability that the outputs give to the label: for one output the
 * logit itself; else the label's logit minus the log of the sum over the other labels. */
static double confidence(const float *logits, size_t outputs, int32_t label) {
    if (outputs == 1) return label == 1 ? (double)logits[0] : -(double)logits[0];
    double most = -INFINITY, sum = 0.0;
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) most = fmax(most, (double)logits[k]);
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) sum += exp((double)logits[k] - most);
    return (double)logits[label] - most - log(sum);
}

static dpa_status signals_of(const local *l, const dpa_dataset *data, const size_t *rows,
                             size_t count, dpa_trainer_signal signal, double *out, dpa_error *err) {
    const dpa_model *model = l->asked;
    const size_t outputs = dpa_model_outputs(model);
    if (signal != DPA_TRAINER_GRADIENT)
        DPA_TRY(dpa_model_evaluate(model, data, rows, count,
                                   signal == DPA_TRAINER_CONFIDENCE ? l->logits : NULL,
                                   signal == DPA_TRAINER_LOSS ? out : NULL, NULL, err));
    for (size_t i = 0; i < count; ++i) {
        const int32_t label = dpa_dataset_label(data, rows[i]);
        if (signal == DPA_TRAINER_CONFIDENCE)
            out[i] = confidence(l->logits + i * outputs, outputs, label);
        if (signal == DPA_TRAINER_GRADIENT) {
            DPA_TRY(dpa_model_gradient(model, dpa_dataset_row(data, rows[i]), label, l->gradient,
                                       NULL, err));
            out[i] = -0.5 * log(fmax(dpa__sum_squares(l->gradient, l->base.size), 1e-60));
        }
        if (!isfinite(out[i]))
            return dpa__fail(err, DPA_NUMERIC, "the model's outputs are not finite");
    }
    return DPA_OK;
}

/* Asks about runs of examples from the same data set together. */
static dpa_status answer_all(local *l, const dpa__question *ask, size_t *rows, dpa_error *err) {
    for (size_t i = 0; i < ask->count;) {
        const dpa_dataset *data = NULL, *next = NULL;
        size_t n = 0, row = 0;
        while (i + n < ask->count) {
            DPA_TRY(find_example(l, ask->ids[i + n], &next, &row, err));
            if (data != NULL && next != data) break;
            data = next;
            rows[n++] = row;
        }
        DPA_TRY(signals_of(l, data, rows, n, ask->signal, ask->signals + i, err));
        i += n;
    }
    return DPA_OK;
}

static dpa_status find_accuracy(const local *l, double *out, dpa_error *err) {
    const dpa_train_data *d = l->o.held;
    const size_t most = l->o.evaluated, all = l->base.heldout;
    const size_t count = most > 0 && most < all ? most : all;
    dpa_utility utility;
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "nothing is held out");
    DPA_TRY(dpa_model_evaluate(l->asked, d->test != NULL ? d->test : d->data, d->heldout, count,
                               NULL, NULL, &utility, err));
    *out = utility.accuracy;
    return DPA_OK;
}

static dpa_status ask_model(local *l, const dpa_model *model, const dpa__question *ask,
                            dpa_error *err) {
    l->asked = model;
    size_t *rows = DPA_NEW_ARRAY(size_t, ask->count, err);
    free(l->logits);
    l->logits = dpa__malloc(ask->count, dpa_model_outputs(model) * sizeof(float), err);
    dpa_status status = rows != NULL && l->logits != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) status = answer_all(l, ask, rows, err);
    if (status == DPA_OK && ask->accuracy != NULL) status = find_accuracy(l, ask->accuracy, err);
    free(rows);
    return status;
}

static dpa_status train(dpa__trainer *trainer, const dpa__order *order, const dpa__question *ask,
                        dpa_error *err) {
    local *l = (local *)trainer;
    side *s = &l->sides[0];
    DPA_TRY(take_members(l, order, err));
    DPA_TRY(start_side(l, s, order, 0, err));
    dpa_status status = dpa_trainer_run(s->trainer, &l->o.opts->progress, err);
    if (status == DPA_OK && l->o.plan->train.averaging != DPA_AVERAGE_NONE)
        status = dpa_trainer_average(s->trainer, s->model, err);
    dpa_trainer_free(s->trainer);
    s->trainer = NULL;
    return status == DPA_OK ? ask_model(l, s->model, ask, err) : status;
}

/* Uses the averaged weights if there are any; they go into the observer's model. */
static dpa_status find_signals(dpa__trainer *trainer, const dpa__question *ask, dpa_error *err) {
    local *l = (local *)trainer;
    DPA_TRY(need_start(&l->sides[0], err));
    if (l->o.plan->train.averaging == DPA_AVERAGE_NONE)
        return ask_model(l, trainer->model, ask, err);
    DPA_TRY(dpa_trainer_average(l->sides[0].trainer, l->sides[1].model, err));
    return ask_model(l, l->sides[1].model, ask, err);
}

/* ---- Opening and closing ---- */

static void close_local(dpa__trainer *trainer) {
    local *l = (local *)trainer;
    for (int i = 0; i < 2; ++i) {
        dpa_trainer_free(l->sides[i].trainer);
        dpa_model_free(l->sides[i].model);
    }
    free(l->members);
    free(l->id_of);
    free(l->logits);
    free(l->gradient);
    free(l);
}

static const dpa__trainer_calls calls = {
    .close = close_local,
    .train = train,
    .start = start,
    .batch = batch,
    .step = take_step,
    .gradient = find_gradient,
    .signals = find_signals,
    .weights = find_weights,
    .canary = make_canary,
};

static dpa_status set_up(local *l, dpa_error *err) {
    const dpa__local_opts *o = &l->o;
    for (int i = 0; i < 2; ++i) {
        l->sides[i].owner = l;
        DPA_TRY(dpa_model_new(o->plan->layers, dpa_dataset_shape(o->data),
                              dpa_dataset_classes(o->data), o->plan->loss, &l->sides[i].model,
                              err));
        dpa_model_init(l->sides[i].model, o->plan->init_seed);
    }
    l->base.model = l->sides[0].model;
    l->base.size = dpa_model_size(l->base.model);
    l->members = DPA_NEW_ARRAY(size_t, o->points + o->canaries, err);
    l->gradient = DPA_NEW_ARRAY(float, l->base.size, err);
    if (l->members == NULL || l->gradient == NULL) return DPA_NO_MEMORY;
    return number_rows(l, err);
}

dpa_status dpa__local_new(const dpa__local_opts *opts, dpa__trainer **out, dpa_error *err) {
    local *l = DPA_NEW(local, err);
    if (l == NULL) return DPA_NO_MEMORY;
    l->o = *opts;
    l->base = (dpa__trainer){.calls = &calls,
                             .levels = DPA__LEVEL_TRAIN | DPA__LEVEL_GRADIENT | DPA__LEVEL_STEP |
                                       DPA__LEVEL_ROUND,
                             .points = opts->points,
                             .canaries = opts->canaries,
                             .heldout = opts->held->heldout_count};
    l->base.tells_accuracy = l->base.heldout > 0;
    const dpa_status status = set_up(l, err);
    if (status == DPA_OK)
        *out = &l->base;
    else
        close_local(&l->base);
    return status;
}

void dpa__trainer_close(dpa__trainer *trainer) {
    if (trainer != NULL) trainer->calls->close(trainer);
}
