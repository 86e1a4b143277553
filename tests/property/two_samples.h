/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of an attack on a Gaussian mechanism, for the conformance suites. */
#ifndef DPA_TESTS_TWO_SAMPLES_H
#define DPA_TESTS_TWO_SAMPLES_H

#include "base/rng.h"

/* `count` members N(shift, 1) and as many non-members N(0, 1). */
static inline void draw_two(double shift, uint64_t seed, uint64_t index, double *in, double *out,
                            size_t count) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, index);
    for (size_t i = 0; i < count; ++i) in[i] = shift + dpa__rng_normal(&rng);
    for (size_t i = 0; i < count; ++i) out[i] = dpa__rng_normal(&rng);
}

#endif
