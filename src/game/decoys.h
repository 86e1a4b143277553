/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries for an adversary who sees only the final model: held-out rows with a wrong label. */
#ifndef DPA_GAME_DECOYS_H
#define DPA_GAME_DECOYS_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/lab/game.h"

typedef struct dpa__decoys {
    size_t count, classes;
    const dpa_dataset *from;
    size_t *row;    /* [count] rows of `from`, all different */
    uint32_t *turn; /* [count] which of its wrong labels is option 0 */
} dpa__decoys;

/* Draws `options` wrong labels for each row. The draw depends on the seed alone. Borrows the
 * data. */
dpa_status dpa__decoys_init(dpa__decoys *decoys, size_t count, size_t options, uint64_t seed,
                            const dpa_train_data *data, dpa_error *err);
void dpa__decoys_free(dpa__decoys *decoys);
/* Never the right label; different options give different labels. */
int32_t dpa__decoys_label(const dpa__decoys *decoys, size_t index, size_t option);

#endif
