/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradient canaries (tight-auditing section 5.3 and appendix B.1). The adversary knows the model
 * and the data, so it places a Dirac canary where the data's gradients disturb it least: in a small
 * network, a random weight would carry a good part of every gradient. */
#include "game/canary.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

enum { PROBES = 256 };

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
    double dot = 0.0;
    for (size_t i = 0; i < c->size; ++i) dot += (double)c->direction[i] * (double)sum[i];
    return dot / (c->clip * c->clip);
}
