/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which canaries an audit by known rounds is made of. Rounds are drawn before it is drawn who takes
 * part, so a choice by rounds says nothing about that: a canary left out is part of the noise. */
#include <math.h>

#include "dpaudit/canary.h"

/* What canaries of at most `most` rounds are expected to certify of one round, by the normal law of
 * ranks near no leak: mean of √(R/most) times μ, less 1.645 deviations. */
static double expected(const double *times, size_t observed, size_t count, double most, double mu) {
    double sum = 0.0, in = 0.0, out = 0.0;
    for (size_t i = 0; i < count; ++i) {
        if (times[i] < 1.0 || times[i] > most) continue;
        if (i < observed) {
            in += 1.0;
            sum += sqrt(times[i] / most);
        } else {
            out += 1.0;
        }
    }
    if (in < 2.0 || out < 2.0) return -HUGE_VAL;
    return mu * sum / in - 1.645 * sqrt((1.0 / in + 1.0 / out) / most);
}

double dpa_canaries_choose(double *score, const double *times, size_t observed, size_t count,
                           double sigma) {
    const double mu = fmin(1.0 / sigma, 3.0);
    double largest = 1.0, best = 1.0, most = -HUGE_VAL;
    for (size_t i = 0; i < count; ++i) largest = fmax(largest, times[i]);
    for (double r = 1.0; r <= largest; r += 1.0) {
        const double here = expected(times, observed, count, r, mu);
        if (here > most) {
            most = here;
            best = r;
        }
    }
    for (size_t i = 0; i < count; ++i)
        if (times[i] < 1.0 || times[i] > best) score[i] = (double)NAN;
    return best;
}
