/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where to evaluate a pair of fitted laws: a grid as fine as a fraction of every component's
 * deviation, reaching to where its tail is negligible. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "evidence/scores_sort.h"
#include "math/dist.h"

static const double FARTHEST = 38.0; /* deviations: Φ(−38) is about 3e-316 */

static size_t half_width(double tail, int fine) {
    const double z = tail > 0.0 ? dpa__norm_quantile(tail, DPA_UPPER) : FARTHEST;
    return (size_t)ceil(fmin(FARTHEST, fmax(z, 1.0) + 1.0) * fine);
}

static size_t add_components(const dpa_mixture *m, size_t half, int fine, double *grid) {
    size_t n = 0;
    for (size_t i = 0; i < m->count; ++i)
        for (size_t j = 0; j <= 2 * half; ++j)
            grid[n++] = m->mean[i] + m->deviation[i] * ((double)j - (double)half) / fine;
    return n;
}

static dpa_status add_levels(const dpa_mixture *m, double level, double *grid, dpa_error *err) {
    DPA_TRY(dpa__mixture_upper_quantile(m, level, &grid[0], err));
    return dpa__mixture_upper_quantile(m, 1.0 - level, &grid[1], err);
}

dpa_status dpa__fit_grid(const dpa_loss_fit *fit, int fine, double tail, double level,
                         double **grid, size_t *count, dpa_error *err) {
    const size_t half = half_width(tail, fine);
    const size_t most = (2 * half + 1) * (fit->train.count + fit->heldout.count) + 4;
    dpa_status status = DPA_OK;
    *grid = DPA_NEW_ARRAY(double, most, err);
    if (*grid == NULL) return DPA_NO_MEMORY;
    *count = add_components(&fit->train, half, fine, *grid);
    *count += add_components(&fit->heldout, half, fine, *grid + *count);
    if (level > 0.0) {
        status = add_levels(&fit->train, level, *grid + *count, err);
        if (status == DPA_OK) status = add_levels(&fit->heldout, level, *grid + *count + 2, err);
        *count += 4;
    }
    if (status == DPA_OK) status = dpa__sort_numbers(*grid, *count, err);
    if (status != DPA_OK) free(*grid);
    return status;
}
