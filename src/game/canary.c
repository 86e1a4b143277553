/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradient canaries (tight-auditing section 5.3 and appendix B.1). The adversary knows the model
 * and the data, so it places a Dirac canary where the data's gradients disturb it least: in a small
 * network, a random weight would carry a good part of every gradient. */
#include "game/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

enum { PROBES = 256 };

double dpa__dot64(const float *a, const float *b, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) sum += (double)a[i] * (double)b[i];
    return sum;
}

typedef struct loudness {
    double level;
    size_t weight;
} loudness;

static int compare(const void *a, const void *b) {
    const loudness *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    return x->weight < y->weight ? -1 : x->weight > y->weight;
}

static dpa_status measure(dpa__trainer *trainer, float *gradient, loudness *level, size_t size,
                          dpa_error *err) {
    const size_t probes = trainer->points < PROBES ? trainer->points : PROBES;
    for (size_t i = 0; i < size; ++i) level[i] = (loudness){0.0, i};
    for (size_t p = 0; p < probes; ++p) {
        DPA_TRY(trainer->calls->gradient(trainer, p, gradient, err));
        for (size_t i = 0; i < size; ++i) level[i].level += fabs((double)gradient[i]);
    }
    return DPA_OK;
}

static dpa_status find_quiet(dpa__game_canary *c, dpa__trainer *trainer, dpa_error *err) {
    float *gradient = DPA_NEW_ARRAY(float, c->size, err);
    loudness *level = DPA_NEW_ARRAY(loudness, c->size, err);
    c->quiet = DPA_NEW_ARRAY(size_t, c->size, err);
    dpa_status status = DPA_NO_MEMORY;
    if (gradient != NULL && level != NULL && c->quiet != NULL)
        status = measure(trainer, gradient, level, c->size, err);
    if (status == DPA_OK) {
        qsort(level, c->size, sizeof *level, compare);
        for (size_t i = 0; i < c->size; ++i) c->quiet[i] = level[i].weight;
        c->place = c->quiet[0];
    }
    free(gradient);
    free(level);
    return status;
}

dpa_status dpa__game_canary_init(dpa__game_canary *c, dpa_game_canary kind, double clip,
                                 double quiet_share, dpa__trainer *trainer, dpa_error *err) {
    *c = (dpa__game_canary){.kind = kind, .clip = clip, .size = trainer->size};
    c->among = (size_t)ceil(quiet_share * (double)c->size);
    if (kind == DPA_GAME_DIRAC) return find_quiet(c, trainer, err);
    c->direction = DPA_NEW_ARRAY(float, c->size, err);
    if (c->direction == NULL) return DPA_NO_MEMORY;
    const double each = clip / sqrt((double)c->size);
    for (size_t i = 0; i < c->size; ++i) c->direction[i] = (float)each;
    return DPA_OK;
}

void dpa__game_canary_free(dpa__game_canary *c) {
    free(c->quiet);
    free(c->direction);
    *c = (dpa__game_canary){0};
}

void dpa__game_canary_move(dpa__game_canary *c, uint64_t seed, uint64_t index) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_CANARY, index);
    if (c->kind == DPA_GAME_DIRAC) c->place = c->quiet[dpa__rng_below(&rng, c->among)];
    if (c->kind != DPA_GAME_RANDOM) return;
    double square = 0.0;
    for (size_t i = 0; i < c->size; ++i) {
        c->direction[i] = (float)dpa__rng_normal(&rng);
        square += (double)c->direction[i] * (double)c->direction[i];
    }
    const double factor = c->clip / sqrt(square);
    for (size_t i = 0; i < c->size; ++i)
        c->direction[i] = (float)(factor * (double)c->direction[i]);
}

dpa__extra dpa__game_canary_extra(const dpa__game_canary *c, float scale, const float **row) {
    if (c->kind == DPA_GAME_DIRAC)
        return (dpa__extra){.count = 1, .place = &c->place, .value = scale * (float)c->clip};
    *row = c->direction;
    return (dpa__extra){.count = 1, .row = row, .value = scale};
}

double dpa__game_canary_along(const dpa__game_canary *c, const float *sum) {
    if (c->kind == DPA_GAME_DIRAC) return (double)sum[c->place] / c->clip;
    return dpa__dot64(c->direction, sum, c->size) / (c->clip * c->clip);
}

/* ---- Many of them ----
 *
 * Dirac canaries are orthogonal, so none disturbs another, and there are at most as many as
 * weights. Random ones have inner products of about 1/√weights. */

enum { MOST_FLOATS = 1 << 27 }; /* limit for all random directions together: half a gigabyte */

static dpa_status check(dpa_game_canary kind, size_t count, size_t size, dpa_error *err) {
    if (kind == DPA_GAME_CONSTANT)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "constant canaries are all the same: take dirac or random");
    if (kind == DPA_GAME_DIRAC && count > size)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu dirac directions (canaries times options of reconstruction) in a "
                         "model of %zu weights: each needs its own",
                         count, size);
    if (kind == DPA_GAME_RANDOM && count > MOST_FLOATS / size)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu random directions of %zu weights: at most %zu have room", count, size,
                         MOST_FLOATS / size);
    return DPA_OK;
}

static dpa_status take_places(dpa__bank *b, const dpa__game_canary *c, dpa_error *err) {
    b->place = DPA_NEW_ARRAY(size_t, b->count, err);
    if (b->place == NULL) return DPA_NO_MEMORY;
    memcpy(b->place, c->quiet, b->count * sizeof *b->place);
    return DPA_OK;
}

static dpa_status draw_directions(dpa__bank *b, dpa__game_canary *c, uint64_t seed,
                                  dpa_error *err) {
    b->direction = DPA_NEW_ARRAY(float, b->count * b->size, err);
    if (b->direction == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < b->count; ++i) {
        dpa__game_canary_move(c, seed, i);
        memcpy(b->direction + i * b->size, c->direction, b->size * sizeof(float));
    }
    return DPA_OK;
}

dpa_status dpa__bank_init(dpa__bank *b, dpa_game_canary kind, size_t count, double clip,
                          uint64_t seed, dpa__trainer *trainer, dpa_error *err) {
    *b = (dpa__bank){.count = count, .size = trainer->size, .clip = clip};
    DPA_TRY(check(kind, count, b->size, err));
    dpa__game_canary c;
    dpa_status status = dpa__game_canary_init(&c, kind, clip, 1.0, trainer, err);
    if (status == DPA_OK)
        status =
            kind == DPA_GAME_DIRAC ? take_places(b, &c, err) : draw_directions(b, &c, seed, err);
    dpa__game_canary_free(&c);
    return status;
}

void dpa__bank_free(dpa__bank *b) {
    free(b->place);
    free(b->direction);
    *b = (dpa__bank){0};
}

double dpa__bank_along(const dpa__bank *b, size_t index, const float *sum) {
    if (b->place != NULL) return (double)sum[b->place[index]] / b->clip;
    return dpa__dot64(b->direction + index * b->size, sum, b->size) / (b->clip * b->clip);
}

/* ---- Input canaries ----
 *
 * The gradient of an example (tight-auditing Algorithm 2, appendix B.2). The observation is divided
 * by C and by the length of the direction, not by that of the clipped gradient. The noise in it is
 * then N(0, σ²) at every step, and a canary whose gradient is shorter than C moves it by less than
 * 1. */

dpa__pool dpa__pool_of(const dpa_train_data *d) {
    if (d->heldout_count > 0)
        return (dpa__pool){d->test != NULL ? d->test : d->data, d->heldout, d->heldout_count};
    return (dpa__pool){d->data, d->members, d->member_count};
}

size_t *dpa__pool_draw(const dpa__pool *pool, size_t count, uint64_t seed, uint64_t index,
                       dpa_error *err) {
    size_t *rows = DPA_NEW_ARRAY(size_t, pool->count, err);
    if (rows == NULL) return NULL;
    memcpy(rows, pool->rows, pool->count * sizeof *rows);
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SPLIT, index);
    for (size_t i = 0; i < count; ++i) {
        const size_t j = i + dpa__rng_below(&rng, pool->count - i), held = rows[i];
        rows[i] = rows[j];
        rows[j] = held;
    }
    return rows;
}

void dpa__example_draw(dpa_game_canary kind, const dpa__pool *pool, uint64_t seed, uint64_t index,
                       float *x, int32_t *label) {
    const size_t features = dpa_dataset_features(pool->data);
    const size_t classes = dpa_dataset_classes(pool->data);
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_CANARY, index);
    const size_t row = pool->rows[dpa__rng_below(&rng, pool->count)];
    const int32_t right = dpa_dataset_label(pool->data, row);
    *label = right;
    if (kind == DPA_GAME_BLANK) {
        memset(x, 0, features * sizeof *x);
        *label = (int32_t)dpa__rng_below(&rng, classes);
        return;
    }
    memcpy(x, dpa_dataset_row(pool->data, row), features * sizeof *x);
    if (kind != DPA_GAME_MISLABELLED && kind != DPA_GAME_MATCHED) return;
    /* Uniform over the wrong labels. */
    const int32_t other = (int32_t)dpa__rng_below(&rng, classes - 1);
    *label = other < right ? other : other + 1;
}

struct dpa__input_canary {
    const dpa_game_opts *opts;
    double clip;
    size_t size, features;
    dpa__pool pool;
    dpa__craft *craft;     /* NULL for canaries that are used as drawn */
    dpa__matched *matched; /* NULL: the sum is projected on the gradient itself */
    float *filter;         /* [size] the matched filter's w, scaled for the score */
    double sigma;
    dpa__trainer *trainer; /* who has the canary as its first one; NULL: it is made here */
    const dpa_train_plan *plan;
    size_t *ids;          /* the trainer's examples that the matched filter may learn from */
    uint64_t seed, index; /* the stream of the canary */
    dpa_model *served;    /* the model against which it is made for somebody else */
    dpa_dataset *row;     /* the canary as the trainer sees it */
    float *start, *x;     /* [features] as drawn, and as crafted */
    int32_t label;
    float *gradient; /* [size], not clipped */
    double norm;     /* norm of `gradient` */
};

static dpa_status set_up(dpa__input_canary *c, const dpa_train_data *data, size_t size,
                         dpa_error *err) {
    const dpa_train_plan *plan = c->plan;
    c->size = size;
    c->features = dpa_dataset_features(data->data);
    c->pool = dpa__pool_of(data);
    const int crafted = c->opts->canary == DPA_GAME_ADVERSARIAL ||
                        c->opts->canary == DPA_GAME_CRAFTED || c->opts->canary == DPA_GAME_MATCHED;
    c->start = DPA_NEW_ARRAY(float, c->features, err);
    c->x = DPA_NEW_ARRAY(float, c->features, err);
    c->gradient = DPA_NEW_ARRAY(float, c->size, err);
    if (c->start == NULL || c->x == NULL || c->gradient == NULL) return DPA_NO_MEMORY;
    if (crafted) DPA_TRY(dpa__craft_new(c->opts, plan, &c->pool, &c->craft, err));
    if (c->opts->filter == DPA_FILTER_MATCHED) {
        c->filter = DPA_NEW_ARRAY(float, c->size, err);
        if (c->filter == NULL) return DPA_NO_MEMORY;
        DPA_TRY(dpa__matched_new(c->opts, plan, &c->pool, data->member_count, c->size, &c->matched,
                                 err));
    }
    dpa__input_canary_draw(c, c->opts->seed, 0);
    return dpa_dataset_new(c->start, &c->label, 1, dpa_dataset_shape(data->data),
                           dpa_dataset_classes(data->data), &c->row, err);
}

static dpa_status check_crafting(const dpa_game_opts *o, dpa_error *err) {
    if (o->filter_examples < 1 || o->filter_examples > 100000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu filter examples: expected 1 to 100000",
                         (unsigned long long)o->filter_examples);
    if (o->crafting_steps < 1 || o->crafting_steps > 100000 || o->crafting_examples < 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%llu crafting steps by %llu examples: expected 1 to 100000, at least 1",
                         (unsigned long long)o->crafting_steps,
                         (unsigned long long)o->crafting_examples);
    if (o->canary == DPA_GAME_MATCHED && o->filter != DPA_FILTER_MATCHED)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canary matched needs filter matched");
    if (!(o->radius > 0.0 && o->radius <= 1e6))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "radius %g: expected more than 0, at most 1e6",
                         o->radius);
    return DPA_OK;
}

/* The matched filter learns from held-out examples or, if there are none, from the points. */
static dpa_status choose_examples(dpa__input_canary *c, dpa_error *err) {
    const dpa__trainer *t = c->trainer;
    const size_t count = t->heldout > 0 ? t->heldout : t->points;
    c->ids = DPA_NEW_ARRAY(size_t, count, err);
    if (c->ids == NULL) return DPA_NO_MEMORY;
    const size_t first = t->heldout > 0 ? t->points + t->canaries : 0;
    for (size_t i = 0; i < count; ++i) c->ids[i] = first + i;
    c->pool = (dpa__pool){.rows = c->ids, .count = count};
    return DPA_OK;
}

dpa_status dpa__input_canary_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                 const dpa_train_data *data, size_t size, dpa__trainer *trainer,
                                 dpa__input_canary **out, dpa_error *err) {
    DPA_TRY(check_crafting(opts, err));
    dpa__input_canary *c = DPA_NEW(dpa__input_canary, err);
    if (c == NULL) return DPA_NO_MEMORY;
    *c = (dpa__input_canary){.opts = opts,
                             .plan = plan,
                             .clip = plan->train.clip,
                             .sigma = plan->train.sigma,
                             .trainer = trainer,
                             .seed = opts->seed};
    const dpa_status status =
        trainer != NULL ? choose_examples(c, err) : set_up(c, data, size, err);
    if (status == DPA_OK)
        *out = c;
    else
        dpa__input_canary_free(c);
    return status;
}

void dpa__input_canary_free(dpa__input_canary *c) {
    if (c == NULL) return;
    dpa__craft_free(c->craft);
    dpa__matched_free(c->matched);
    free(c->filter);
    dpa_dataset_free(c->row);
    free(c->start);
    free(c->x);
    free(c->gradient);
    free(c->ids);
    free(c);
}

void dpa__input_canary_draw(dpa__input_canary *c, uint64_t seed, uint64_t index) {
    c->seed = seed;
    c->index = index;
    if (c->trainer == NULL)
        dpa__example_draw(c->opts->canary, &c->pool, seed, index, c->start, &c->label);
}

/* Computes w for the clipped gradient, scaled so that an observation has deviation σ if the
 * filter's model of the data holds, as the plain product has when there are no data. */
static void aim_filter(dpa__input_canary *c) {
    const double seen = dpa__matched_apply(c->matched, c->gradient, c->filter);
    const double scale =
        seen > 0.0 ? c->sigma / sqrt(seen) : 0.0; /* of g′ itself: clipping cancels */
    for (size_t i = 0; i < c->size; ++i) c->filter[i] = (float)(scale * (double)c->filter[i]);
}

/* Memory for as many weights as the trainer has by now said to have. */
static dpa_status size_up(dpa__input_canary *c, dpa_error *err) {
    if (c->gradient != NULL) return DPA_OK;
    c->size = c->trainer->size;
    if (c->opts->filter == DPA_FILTER_MATCHED && c->matched == NULL)
        DPA_TRY(dpa__matched_new(c->opts, c->plan, &c->pool, c->trainer->points, c->size,
                                 &c->matched, err));
    if (c->filter == NULL) c->filter = DPA_NEW_ARRAY(float, c->size, err);
    if (c->filter != NULL) c->gradient = DPA_NEW_ARRAY(float, c->size, err);
    return c->gradient != NULL ? DPA_OK : DPA_NO_MEMORY;
}

/* A mislabelled or blank canary that does not move is the trainer's as it is. */
static dpa_status ask_trainer(dpa__input_canary *c, dpa_error *err) {
    const dpa__trainer_calls *calls = c->trainer->calls;
    const dpa_game_canary kind = c->opts->canary;
    DPA_TRY(size_up(c, err));
    if (c->opts->moving || (kind != DPA_GAME_MISLABELLED && kind != DPA_GAME_BLANK))
        DPA_TRY(calls->canary(c->trainer, kind, c->seed, c->index, err));
    if (c->matched != NULL) DPA_TRY(dpa__matched_look(c->matched, NULL, c->trainer, err));
    return calls->gradient(c->trainer, c->trainer->points, c->gradient, err);
}

static dpa_status make(dpa__input_canary *c, dpa_model *model, dpa_error *err) {
    memcpy(c->x, c->start, c->features * sizeof(float));
    if (c->matched != NULL) DPA_TRY(dpa__matched_look(c->matched, model, NULL, err));
    if (c->opts->canary == DPA_GAME_ADVERSARIAL)
        DPA_TRY(dpa__craft_adversarial(c->craft, model, c->label, c->x, err));
    if (c->opts->canary == DPA_GAME_CRAFTED)
        DPA_TRY(dpa__craft_orthogonal(c->craft, model, c->label, c->x, err));
    if (c->opts->canary == DPA_GAME_MATCHED)
        DPA_TRY(dpa__craft_matched(c->craft, c->matched, model, c->label, c->x, err));
    DPA_TRY(dpa_dataset_set_row(c->row, 0, c->x, c->label, err));
    return dpa_model_gradient(model, c->x, c->label, c->gradient, NULL, err);
}

static dpa_status make_anew(void *user, uint64_t seed, uint64_t index, dpa_error *err) {
    dpa__input_canary *c = user;
    dpa__input_canary_draw(c, seed, index);
    return make(c, c->served, err);
}

void dpa__input_canary_serve(dpa__input_canary *c, dpa__trainer *trainer) {
    c->served = trainer->model;
    dpa__local_set_canary(trainer, c->row, make_anew, c);
}

dpa_status dpa__input_canary_aim(dpa__input_canary *c, dpa_model *model, dpa_error *err) {
    DPA_TRY(c->trainer != NULL ? ask_trainer(c, err) : make(c, model, err));
    c->norm = sqrt(dpa__dot64(c->gradient, c->gradient, c->size));
    if (!isfinite(c->norm))
        return dpa__fail(err, DPA_NUMERIC, "the canary's gradient is not finite");
    if (c->matched != NULL) aim_filter(c);
    return DPA_OK;
}

double dpa__input_canary_along(const dpa__input_canary *c, const float *sum) {
    if (!(c->norm > 0.0)) return 0.0;
    if (c->matched != NULL) return dpa__matched_along(c->matched, c->filter, sum);
    return dpa__dot64(c->gradient, sum, c->size) / (c->norm * c->clip);
}

double dpa__input_canary_reach(const dpa__input_canary *c) {
    return fmin(c->norm / c->clip, 1.0);
}
