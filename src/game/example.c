/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries that are examples: mislabelled, blank, or the start of a crafted one. */
#include "game/example.h"

#include <string.h>

#include "base/rng.h"

dpa__pool dpa__pool_of(const dpa_train_data *d) {
    if (d->heldout_count > 0)
        return (dpa__pool){d->test != NULL ? d->test : d->data, d->heldout, d->heldout_count};
    return (dpa__pool){d->data, d->members, d->member_count};
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
