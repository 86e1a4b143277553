/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rounds of canaries, and which canaries an audit by known rounds uses. Rounds are drawn before
 * it is drawn who takes part, so choosing by rounds reveals nothing about participation; a canary
 * left out just adds to the noise. */
#include <math.h>

#include "base/error.h"
#include "base/rng.h"
#include "evidence/canary.h"

/* Uses the same streams as federate/participation.c, with the canaries' seed. */
dpa_status dpa__canaries_schedule(const dpa_canaries *canaries, size_t canary, uint64_t rounds,
                                  uint64_t times, uint64_t *out, dpa_error *err) {
    const uint64_t index = canaries->opts.first + canary;
    if (times < 1 || times > rounds || rounds > UINT64_C(1) << 24)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "schedule: %llu times in %llu rounds: expected at least 1 in at most 2^24",
                         (unsigned long long)times, (unsigned long long)rounds);
    if (canary >= canaries->count || index >> 32 != 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "schedule: canary %zu of %zu, or an index above "
                         "2^32",
                         canary, canaries->count);
    for (uint64_t part = 0; part < times; ++part) {
        const uint64_t start = (part * rounds + times - 1) / times;
        const uint64_t end = ((part + 1) * rounds + times - 1) / times;
        dpa_rng rng;
        dpa__rng_init(&rng, canaries->opts.seed, DPA_PURPOSE_MEMBERSHIP, index << 24 | part);
        (void)dpa__rng_uniform(&rng);
        out[part] = start + dpa__rng_below(&rng, end - start);
    }
    return DPA_OK;
}

/* The μ of one round that canaries with at most `most` rounds are expected to certify, by the
 * normal law of ranks near no leak: the mean of √(R/most), times μ, minus 1.645 deviations. */
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

double dpa__canaries_choose(double *score, const double *times, size_t observed, size_t count,
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
