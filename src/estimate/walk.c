/* SPDX-License-Identifier: GPL-3.0-or-later */
/* If a statistic changes with the parameter, bisection is not valid: the set of parameters that are
 * not rejected may have gaps. Walking a fixed grid is valid: for the bound to be above the truth,
 * the first grid point at or above the truth must have been rejected by its own test. */
#include "estimate/walk.h"

#include <math.h>

#include "base/error.h"

static const double STEP = 0.005;
enum { EVEN_STEPS = 200, LONGEST = 64, LAST = 2240 };

double dpa__walk_at(const dpa__grid *grid, size_t i) {
    const size_t n = i * grid->stride;
    const double t = n <= EVEN_STEPS ? STEP * (double)n : pow(1 + STEP, (double)(n - EVEN_STEPS));
    return fmin(t, grid->max);
}

dpa_status dpa__walk_up(dpa__walk_test test, void *user, const dpa__grid *grid, double *t,
                        dpa_error *err) {
    size_t next = 0, length = LONGEST;
    *t = 0;
    while (next < LAST) {
        int is_rejected;
        while (next % length != 0) length /= 2;
        DPA_TRY(test(user, next, next + length - 1, &is_rejected, err));
        if (!is_rejected && length == 1) return DPA_OK;
        if (!is_rejected) {
            length /= 2;
            continue;
        }
        next += length;
        *t = dpa__walk_at(grid, next - 1);
        if (*t >= grid->max) return DPA_OK;
        if (length < LONGEST) length *= 2;
    }
    return DPA_OK;
}

dpa_status dpa__walk_down(dpa__walk_test test, void *user, const dpa__grid *grid, double *t,
                          dpa_error *err) {
    size_t next = LAST, length = LONGEST; /* points from `next` on are rejected */
    *t = INFINITY;
    while (next > 0) {
        int is_rejected;
        while (next % length != 0) length /= 2;
        DPA_TRY(test(user, next - length, next - 1, &is_rejected, err));
        if (!is_rejected && length == 1) return DPA_OK;
        if (!is_rejected) {
            length /= 2;
            continue;
        }
        next -= length;
        *t = dpa__walk_at(grid, next);
        if (length < LONGEST) length *= 2;
    }
    return DPA_OK;
}

double dpa__walk_agreed(const dpa__grid *grid, double t, double claim, double p, double allowed) {
    const int stands = t <= claim && t < grid->max;
    return stands ? fmax(p, nextafter(allowed, 1)) : p;
}
