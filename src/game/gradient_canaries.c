/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many gradient canaries. Dirac canaries are orthogonal, so none disturbs another, and there are at
 * most as many as weights. Random ones have inner products of about 1/√weights. */
#include "game/gradient_canaries.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/canary.h"

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
    const float *direction = b->direction + index * b->size;
    double dot = 0.0;
    for (size_t i = 0; i < b->size; ++i) dot += (double)direction[i] * (double)sum[i];
    return dot / (b->clip * b->clip);
}
