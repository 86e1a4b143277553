/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A canary handle for tests. */
#ifndef DPA_TESTS_CANARIES_H
#define DPA_TESTS_CANARIES_H

#include "check.h"

#include "evidence/canary.h"

static inline dpa_canaries *test_canaries(dpa_direction direction, uint64_t seed, size_t dim,
                                          size_t observed, size_t unobserved, unsigned threads,
                                          const char *kernel) {
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa__canaries_opts_init(&opts);
    opts.seed = seed;
    opts.dim = dim;
    opts.observed = observed;
    opts.unobserved = unobserved;
    opts.threads = threads;
    opts.kernel = kernel;
    opts.direction = direction;
    assert_ok(dpa__canaries_new(&opts, &canaries, NULL));
    return canaries;
}

#endif
