/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The central limit: subsampled Gaussian steps composed are close to one Gaussian mechanism of
 * μ² = Σ steps·q²(e^(1/σ²) − 1) (Bu, Dong, Long, Su 2020, Poisson sampling). An approximation that
 * can be too small; shown as a cross-check only. Phases without sampling enter exactly. */
#include <math.h>

#include "account/account.h"

double dpa__account_gdp_epsilon(const dpa_phase *phases, size_t count, double delta) {
    if (!(delta > 0 && delta < 1) || count == 0) return NAN;
    double square = 0;
    for (size_t k = 0; k < count; ++k) {
        const dpa_phase *p = &phases[k];
        if (p->mechanism != DPA_GAUSSIAN || !(p->sigma > 0) || !(p->q > 0 && p->q <= 1)) return NAN;
        const double precision = 1 / (p->sigma * p->sigma);
        square += (double)p->steps * (p->q == 1 ? precision : p->q * p->q * expm1(precision));
    }
    return isfinite(square) ? dpa_gaussian_epsilon(sqrt(square), delta) : HUGE_VAL;
}
