/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every θ of a Chernoff bound gives a valid bound, so a search for the best one need not be exact:
 * steps by a factor of 4, then 2, then 1.4, then 1.2, for as long as they gain. */
#include "account/rough_minimum.h"

#include <math.h>

/* Smaller gains do not justify a more extreme place. */
static const double LEAST_GAIN = 1e-4;

double dpa__descend(dpa__fn fn, void *user, double start, double *value) {
    static const double factors[] = {4, 2, 1.4142135623730951, 1.189207115002721};
    double place = start, best = fn(start, user);
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; ++f) {
        for (int side = 0; side < 2; ++side) {
            const double step = side == 0 ? factors[f] : 1 / factors[f];
            int moved = 0;
            for (int tries = 0; tries < 40; ++tries) {
                const double here = fn(place * step, user);
                if (!(here < best - LEAST_GAIN * fabs(best)) && !isnan(best)) break;
                best = here;
                place *= step;
                moved = 1;
            }
            if (moved) break; /* we just came from the other direction */
        }
    }
    *value = best;
    return place;
}
