/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SGD and DP-SGD (Abadi et al. 2016; tight-auditing section 2.2): sample, clipped sum, noise σC,
 * division by the expected batch, update with momentum, averaging. */
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/kernels.h"
#include "train/noise.h"

void dpa_train_opts_init(dpa_train_opts *opts) {
    *opts = (dpa_train_opts){.sampling = DPA_SAMPLE_SHUFFLE,
                             .batch = 256,
                             .steps = 1000,
                             .rate = 0.1,
                             .rate_factor = 0.1,
                             .clip = (double)INFINITY,
                             .microbatch = 1,
                             .augment = 1,
                             .average_decay = 0.999};
}

enum { MOST_ROWS = 1 << 20 }; /* largest number of rows in the network at once */

/* Whether x is finite and in [low, high]. */
static int within(double x, double low, double high) {
    return x >= low && x <= high && isfinite(x);
}

static dpa_status check_privacy(const dpa_train_opts *o, dpa_error *err) {
    if (!(o->clip > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "clipping norm %g: expected more than 0", o->clip);
    if (!within(o->sigma, 0.0, 1e6))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "noise multiplier %g: expected 0 to 1e6", o->sigma);
    if (o->sigma > 0.0 && !isfinite(o->clip))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "noise without clipping: set the clipping norm");
    if (o->q != 0.0 && !(o->q > 0.0 && o->q <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sampling rate %g: expected more than 0, at most 1",
                         o->q);
    if (o->microbatch < 1 || o->microbatch > MOST_ROWS || o->augment < 1 ||
        o->augment > MOST_ROWS / o->microbatch)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "microbatch %zu, augmentation multiplicity %zu: expected at least 1, "
                         "together at most %d",
                         o->microbatch, o->augment, MOST_ROWS);
    if (o->batch < 1 || o->batch % o->microbatch != 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "batch of %zu: expected a positive multiple of the microbatch (%zu)",
                         o->batch, o->microbatch);
    return DPA_OK;
}

static dpa_status check(const dpa_train_opts *o, dpa_error *err) {
    DPA_TRY(check_privacy(o, err));
    if (!within(o->rate, 0.0, 1e6) || !within(o->decay, 0.0, 1e6))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "learning rate %g, weight decay %g: expected 0 to 1e6", o->rate, o->decay);
    if (!(o->momentum >= 0.0 && o->momentum < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "momentum %g: expected 0 up to less than 1",
                         o->momentum);
    if (!within(o->rate_factor, 0.0, 1.0) || (o->schedule == DPA_RATE_STEPS && o->rate_every == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "schedule: factor %g every %llu steps: expected 0 to 1, at least 1",
                         o->rate_factor, (unsigned long long)o->rate_every);
    if (!(o->average_decay >= 0.0 && o->average_decay < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "averaging decay %g: expected 0 up to less than 1",
                         o->average_decay);
    if (o->chunk > MOST_ROWS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "chunk of %zu rows: expected at most %d", o->chunk,
                         MOST_ROWS);
    if (o->shift > 1000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "shift by %zu pixels: expected at most 1000",
                         o->shift);
    return DPA_OK;
}

/* As many rows as have their values and deltas in a cache of 2 MB, between 8 and 128: more than 128
 * make no product faster, and fewer than 8 make dense layers slow. */
static size_t automatic_chunk(const dpa_model *model) {
    size_t floats = dpa__shape_size(model->input);
    for (size_t l = 0; l < model->layer_count; ++l)
        if (!model->layer[l].type->in_place) floats += 2 * model->layer[l].out_size;
    const size_t rows = (2U << 20) / sizeof(float) / floats;
    return rows < 8 ? 8 : rows > 128 ? 128 : rows;
}

static dpa_status allocate(dpa_trainer *t, dpa_error *err) {
    const size_t size = t->model->size, group = t->opts.microbatch * t->opts.augment;
    t->capacity = t->sampler.members + (t->opts.extra != NULL ? t->opts.extra->rows : 0);
    t->chunk = t->opts.chunk > 0 ? t->opts.chunk : automatic_chunk(t->model);
    if (t->chunk < group) t->chunk = group;
    t->sum = dpa__calloc(size, sizeof(float), err);
    t->velocity = dpa__calloc(size, sizeof(float), err);
    t->rows = DPA_NEW_ARRAY(size_t, t->capacity, err);
    t->group_start = DPA_NEW_ARRAY(size_t, t->capacity + 1, err);
    t->row_start = DPA_NEW_ARRAY(size_t, t->chunk + 1, err);
    t->label = DPA_NEW_ARRAY(int32_t, t->chunk, err);
    t->loss = DPA_NEW_ARRAY(double, t->chunk, err);
    t->norm2 = DPA_NEW_ARRAY(double, t->chunk, err);
    t->factor = DPA_NEW_ARRAY(float, t->chunk, err);
    if (t->sum == NULL || t->velocity == NULL || t->rows == NULL || t->group_start == NULL ||
        t->row_start == NULL || t->label == NULL || t->loss == NULL || t->norm2 == NULL ||
        t->factor == NULL)
        return DPA_NO_MEMORY;
    if (t->opts.averaging != DPA_AVERAGE_NONE) {
        t->mean = DPA_NEW_ARRAY(float, size, err);
        if (t->mean == NULL) return DPA_NO_MEMORY;
        memcpy(t->mean, t->model->weight, size * sizeof(float));
    }
    return dpa__net_new(t->model, t->chunk, group, DPA_NET_WEIGHTS, &t->net, err);
}

dpa_status dpa_trainer_new(dpa_model *model, const dpa_dataset *data, const size_t *members,
                           size_t count, const dpa_train_opts *opts, dpa_trainer **out,
                           dpa_error *err) {
    DPA_TRY(check(opts, err));
    DPA_TRY(dpa__model_fits(model, data, err));
    if (opts->extra != NULL) DPA_TRY(dpa__model_fits(model, opts->extra, err));
    if ((members != NULL ? count : data->rows) == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "nobody to train on: the list of members is empty");
    dpa_trainer *t = DPA_NEW(dpa_trainer, err);
    if (t == NULL) return DPA_NO_MEMORY;
    t->model = model;
    t->data = data;
    t->opts = *opts;
    dpa_status status = dpa__sampler_init(&t->sampler, opts, members, count, data->rows, err);
    if (status == DPA_OK) status = allocate(t, err);
    if (status == DPA_OK)
        *out = t;
    else
        dpa_trainer_free(t);
    return status;
}

void dpa_trainer_free(dpa_trainer *t) {
    if (t == NULL) return;
    dpa__sampler_free(&t->sampler);
    dpa__net_free(t->net);
    free(t->sum);
    free(t->velocity);
    free(t->mean);
    free(t->rows);
    free(t->group_start);
    free(t->row_start);
    free(t->label);
    free(t->loss);
    free(t->norm2);
    free(t->factor);
    free(t);
}

static double rate_at(const dpa_train_opts *o, uint64_t step) {
    const double done = o->steps > 0 ? (double)step / (double)o->steps : 0.0;
    double rate = o->rate;
    if (o->schedule == DPA_RATE_LINEAR) rate *= fmax(1.0 - done, 0.0);
    if (o->schedule == DPA_RATE_COSINE)
        rate *= 0.5 * (1.0 + cos(3.14159265358979324 * fmin(done, 1.0)));
    if (o->schedule == DPA_RATE_STEPS) rate *= pow(o->rate_factor, (double)(step / o->rate_every));
    if (step < o->warmup) rate *= (double)(step + 1) / (double)o->warmup;
    return rate;
}

/* The weight of θ in the running average after this step. */
static float average_weight(const dpa_train_opts *o, uint64_t step) {
    if (o->averaging == DPA_AVERAGE_EMA) return (float)(1.0 - o->average_decay);
    if (step < o->average_from) return 1.0F;
    return (float)(1.0 / (double)(step - o->average_from + 1));
}

/* Adds the noise, calls the release hook and updates the weights. Works in blocks that stay in the
 * cache, unless a hook wants the whole noisy sum first; the bytes are the same either way. */
static dpa_status finish(dpa_trainer *t, dpa_error *err) {
    enum { BLOCK = 32 * DPA_NOISE_GROUP };
    const dpa_train_opts *o = &t->opts;
    const size_t size = t->model->size;
    const float noise = (float)(o->sigma > 0.0 ? o->sigma * o->clip : 0.0);
    const int whole = o->hooks.release != NULL;
    if (whole) {
        if (noise > 0.0F)
            dpa__noise_add(o->seed, DPA_PURPOSE_NOISE, t->step, 0, noise, t->sum, size);
        DPA_TRY(o->hooks.release(o->hooks.user, t->step, t->sum, size, err));
    }
    const dpa__update update = {
        .scale = (float)((double)o->microbatch / (double)o->batch),
        .decay = (float)o->decay,
        .momentum = (float)o->momentum,
        .rate = (float)rate_at(o, t->step),
    };
    for (size_t first = 0; first < size; first += BLOCK) {
        const size_t n = size - first < BLOCK ? size - first : BLOCK;
        if (!whole && noise > 0.0F)
            dpa__noise_add(o->seed, DPA_PURPOSE_NOISE, t->step, first, noise, t->sum + first, n);
        dpa__sgd(&update, t->sum + first, t->velocity + first, t->model->weight + first, n);
        if (t->mean != NULL)
            dpa__average(t->mean + first, t->model->weight + first, average_weight(o, t->step), n);
    }
    return DPA_OK;
}

static dpa_status sample(dpa_trainer *t, size_t *count, dpa_error *err) {
    *count = dpa__sampler_draw(&t->sampler, t->step, t->rows);
    if (t->opts.hooks.sample == NULL) return DPA_OK;
    DPA_TRY(t->opts.hooks.sample(t->opts.hooks.user, t->step, t->rows, count, t->capacity, err));
    const size_t rows = t->data->rows + (t->opts.extra != NULL ? t->opts.extra->rows : 0);
    if (*count > t->capacity)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the sample hook gave %zu rows, room is for %zu",
                         *count, t->capacity);
    for (size_t i = 0; i < *count; ++i)
        if (t->rows[i] >= rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "the sample hook gave row %zu of %zu",
                             t->rows[i], rows);
    return DPA_OK;
}

static dpa_step_info info_of(const dpa_trainer *t, const dpa__tally *tally) {
    const double rows = (double)tally->rows, groups = (double)tally->groups;
    const int clips = isfinite(t->opts.clip) && tally->groups > 0;
    return (dpa_step_info){
        .step = t->step,
        .batch = tally->rows / t->opts.augment,
        .loss = tally->rows > 0 ? tally->loss / rows : (double)NAN,
        .accuracy = tally->rows > 0 ? (double)tally->right / rows : (double)NAN,
        .norm_mean = clips ? tally->norms / groups : (double)NAN,
        .norm_share = clips ? (double)tally->clipped / groups : (double)NAN,
    };
}

dpa_status dpa_trainer_step(dpa_trainer *t, dpa_step_info *info, dpa_error *err) {
    size_t count;
    dpa__tally tally = {0};
    DPA_TRY(sample(t, &count, err));
    DPA_TRY(dpa__clipped_sum(t, count, &tally, err));
    if (t->opts.hooks.sum != NULL)
        DPA_TRY(t->opts.hooks.sum(t->opts.hooks.user, t->step, t->sum, t->model->size, err));
    DPA_TRY(finish(t, err));
    ++t->step;
    if (info != NULL) *info = info_of(t, &tally);
    return DPA_OK;
}

dpa_status dpa_trainer_run(dpa_trainer *t, const dpa_progress *progress, dpa_error *err) {
    while (t->step < t->opts.steps) {
        DPA_TRY(dpa_trainer_step(t, NULL, err));
        if (progress != NULL && progress->call != NULL &&
            progress->call(progress->user, "step", (double)t->step, (double)t->opts.steps) != 0)
            return dpa__fail(err, DPA_CANCELLED, "stopped after step %llu",
                             (unsigned long long)t->step);
    }
    return DPA_OK;
}

uint64_t dpa_trainer_steps_done(const dpa_trainer *t) {
    return t->step;
}

uint64_t dpa_trainer_epoch_steps(const dpa_trainer *t) {
    return dpa__sampler_epoch_steps(&t->sampler);
}

double dpa_trainer_noise(const dpa_trainer *t) {
    return t->opts.microbatch > 1 ? 0.5 * t->opts.sigma : t->opts.sigma;
}

dpa_status dpa_trainer_average(const dpa_trainer *t, dpa_model *model, dpa_error *err) {
    if (t->mean == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "the trainer does not average");
    if (model->size != t->model->size)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a model of %zu weights, expected %zu", model->size,
                         t->model->size);
    memcpy(model->weight, t->mean, model->size * sizeof(float));
    return DPA_OK;
}
