/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Both samples of losses as counts in a few hundred cells, cut at pooled ranks. That is all the
 * rates of thresholds need, and it is as small for 10⁷ losses as for 10³. */
#ifndef DPA_ESTIMATE_LOSS_CELLS_H
#define DPA_ESTIMATE_LOSS_CELLS_H

#include "base/rng.h"
#include "evidence/losses.h"

enum { DPA__CELLS = 640 };

/* Cell i holds the losses in (upper[i−1], upper[i]]. */
typedef struct dpa__cells {
    size_t count;
    double train_total, heldout_total;
    double train[DPA__CELLS], heldout[DPA__CELLS], upper[DPA__CELLS];
} dpa__cells;

/* From either end a cell holds a fifth of the losses before it, at least one and at most a
 * hundredth of all; ties stay together. Fewer than DPA__CELLS for any number of losses below 2⁵³.
 */
void dpa__cells_new(const dpa_losses *losses, dpa__cells *out);
/* The same cells in reverse order, so that the upper end becomes the lower one; the sides stay. */
void dpa__cells_mirror(const dpa__cells *cells, dpa__cells *out);
/* Labels a random train_total of the pooled losses as training losses, all choices equally likely.
 */
void dpa__cells_exchange(const dpa__cells *cells, dpa_rng *rng, dpa__cells *out);
/* `total` points fall into cells with the given probabilities (of sum 1). */
void dpa__cells_draw(const double *probability, size_t count, double total, dpa_rng *rng,
                     double *out);

/* Exact draws by inversion from the mode outwards; the number of steps is about the deviation. */
double dpa__draw_binomial(dpa_rng *rng, double n, double p);
/* How many marked ones are among `drawn` of `all`, of which `marked` are marked. */
double dpa__draw_hypergeometric(dpa_rng *rng, double all, double marked, double drawn);

#endif
