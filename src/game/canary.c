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
