/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A held-out row with a wrong label contradicts what the model learns from all others, so its loss
 * is clearly lower if it was trained on (tight-auditing section 6.4). */
#include "game/decoys.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* Knuth's algorithm S: every subset of the held-out rows is equally likely. */
static void draw(dpa__decoys *d, const dpa_train_data *data, uint64_t seed) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_CANARY, 0);
    size_t taken = 0;
    for (size_t i = 0; taken < d->count; ++i) {
        if (dpa__rng_below(&rng, data->heldout_count - i) >= d->count - taken) continue;
        d->row[taken] = data->heldout[i];
        d->turn[taken++] = (uint32_t)dpa__rng_below(&rng, d->classes - 1);
    }
}

dpa_status dpa__decoys_init(dpa__decoys *d, size_t count, size_t options, uint64_t seed,
                            const dpa_train_data *data, dpa_error *err) {
    *d = (dpa__decoys){.count = count, .from = data->test != NULL ? data->test : data->data};
    d->classes = dpa_dataset_classes(d->from);
    if (data->heldout_count < count)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu black-box canaries are made from as many held-out rows; there are "
                         "%zu",
                         count, data->heldout_count);
    if (options > d->classes - 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu options: the black-box ones are wrong labels, and there are %zu",
                         options, d->classes - 1);
    d->row = DPA_NEW_ARRAY(size_t, count, err);
    d->turn = DPA_NEW_ARRAY(uint32_t, count, err);
    if (d->row == NULL || d->turn == NULL) {
        dpa__decoys_free(d);
        return DPA_NO_MEMORY;
    }
    draw(d, data, seed);
    return DPA_OK;
}

void dpa__decoys_free(dpa__decoys *d) {
    free(d->row);
    free(d->turn);
    *d = (dpa__decoys){0};
}

int32_t dpa__decoys_label(const dpa__decoys *d, size_t index, size_t option) {
    const size_t wrong = (d->turn[index] + option) % (d->classes - 1);
    const size_t right = (size_t)dpa_dataset_label(d->from, d->row[index]);
    return (int32_t)((right + 1 + wrong) % d->classes);
}
