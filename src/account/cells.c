/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of the privacy loss: allocation, and the reversed pair. */
#include <math.h>
#include <stdlib.h>

#include "account/pld.h"
#include "base/error.h"
#include "base/memory.h"

/* Cells for all losses in [first·h, last·h], empty. */
dpa_status dpa__loss_cells_alloc(double h, double first, double last, size_t max,
                                 dpa__loss_cells *out, dpa_error *err) {
    const double count = last - first;
    *out = (dpa__loss_cells){.h = h};
    if (!(count <= (double)max) || !(fabs(first) < 1e15) || !(fabs(last) < 1e15))
        return dpa__fail(
            err, DPA_NUMERIC,
            "one step's losses need %.3g cells of width %.3g, more than the grid limit "
            "%zu: raise the tolerance, or max_grid of the library",
            count, h, max);
    out->first = (ptrdiff_t)first;
    out->count = (size_t)count;
    out->log_low = DPA_NEW_ARRAY(double, out->count, err);
    out->log_high = DPA_NEW_ARRAY(double, out->count, err);
    out->error = DPA_NEW_ARRAY(float, out->count, err);
    if (out->log_low == NULL || out->log_high == NULL || out->error == NULL) {
        dpa__loss_cells_free(out);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < out->count; ++i) {
        out->log_low[i] = out->log_high[i] = -HUGE_VAL;
        out->error[i] = 0;
    }
    return DPA_OK;
}

void dpa__loss_cells_free(dpa__loss_cells *cells) {
    free(cells->log_low);
    free(cells->log_high);
    free(cells->error);
    *cells = (dpa__loss_cells){0};
}

dpa_status dpa__loss_cells_mirror(const dpa__loss_cells *cells, dpa__loss_cells *out,
                                  dpa_error *err) {
    const ptrdiff_t last = cells->first + (ptrdiff_t)cells->count;
    DPA_TRY(dpa__loss_cells_alloc(cells->h, -(double)last, -(double)cells->first, cells->count, out,
                                  err));
    for (size_t i = 0; i < cells->count; ++i) {
        const double lower = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)i);
        const size_t j = cells->count - 1 - i;
        out->log_high[j] = cells->log_low[i] - lower;
        out->log_low[j] = cells->log_high[i] - (lower + cells->h);
        /* rounding of the exponent */
        out->error[j] = cells->error[i] + 1e-15F * (1 + fabsf((float)lower));
    }
    out->origin = -cells->origin;
    out->p_out = cells->q_out;
    out->q_out = cells->p_out;
    out->p_sure = cells->q_sure;
    out->q_sure = cells->p_sure;
    out->shift = cells->shift;
    return DPA_OK;
}
