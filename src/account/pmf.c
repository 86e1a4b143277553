/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From cells to the two pmfs on the grid.
 *
 * Pessimistic: every cell's mass sits on its two edges (connect-the-dots, Doroshenko, Ghazi,
 * Kamath, Kumar, Manurangsi 2022): under Q a mean-preserving spread of the likelihood ratio, so
 * every hockey-stick divergence grows, also after composition. Optimistic: merge.c. */
#include <math.h>
#include <stdlib.h>

#include "account/merge.h"
#include "account/pld.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"

static dpa_status pmf_alloc(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                            dpa_error *err) {
    *out = (dpa__pmf){.h = cells->h,
                      .origin = cells->origin,
                      .first = cells->first,
                      .count = cells->count + 1,
                      .steps = steps,
                      .shift = cells->shift};
    out->log_mass = DPA_NEW_ARRAY(double, out->count, err);
    return out->log_mass == NULL ? DPA_NO_MEMORY : DPA_OK;
}

void dpa__pmf_free(dpa__pmf *pmf) {
    free(pmf->log_mass);
    *pmf = (dpa__pmf){0};
}

dpa_status dpa__pmf_pessimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                                dpa_error *err) {
    DPA_TRY(pmf_alloc(cells, steps, out, err));
    for (size_t i = 0; i < out->count; ++i) {
        const double low = i < cells->count ? cells->log_low[i] : -HUGE_VAL;
        const double high = i > 0 ? cells->log_high[i - 1] : -HUGE_VAL;
        const float error_low = i < cells->count ? cells->error[i] : 0;
        const float error_high = i > 0 ? cells->error[i - 1] : 0;
        out->log_mass[i] = dpa__log_add(low, high) + (double)fmaxf(error_low, error_high);
    }
    out->out = cells->p_out;
    return DPA_OK;
}

dpa_status dpa__pmf_optimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                               dpa_error *err) {
    DPA_TRY(pmf_alloc(cells, steps, out, err));
    out->out = cells->p_sure;
    const dpa_status status = dpa__merge(cells, out->log_mass, err);
    if (status != DPA_OK) dpa__pmf_free(out);
    return status;
}

double dpa__pmf_log_mgf(const dpa__pmf *pmf, double theta) {
    double top = -HUGE_VAL;
    for (size_t i = 0; i < pmf->count; ++i)
        top = fmax(top, pmf->log_mass[i] + theta * pmf->h * (double)(pmf->first + (ptrdiff_t)i));
    if (!isfinite(top)) return top;
    dpa__sum sum = {0};
    for (size_t i = 0; i < pmf->count; ++i)
        dpa__sum_add(&sum, exp(pmf->log_mass[i] +
                               theta * pmf->h * (double)(pmf->first + (ptrdiff_t)i) - top));
    return theta * pmf->origin + top + log(dpa__sum_get(&sum));
}
