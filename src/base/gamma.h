/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DPA_BASE_GAMMA_H
#define DPA_BASE_GAMMA_H

#include <math.h>

/* log |Γ(x)|. C's lgamma also writes the global signgam, which is a race between threads. */
static inline double dpa__log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

#endif
