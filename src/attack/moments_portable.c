/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel for all other processors: two columns at a time. Where there is no instruction for
 * it, `fma` is a call of the mathematical library: many times slower, the same bits. */
#include "attack/moments_kernel.h"

#include <math.h>

#define TARGET
#define OP static inline __attribute__((always_inline))
#define LANES 2

#define widen(p) ((masks){(p)[0], (p)[1]})
#define fuse(a, b, c) ((numbers){fma((a)[0], (b)[0], (c)[0]), fma((a)[1], (b)[1], (c)[1])})
#define chosen(mask, a, b) ((numbers)(((masks)(a) & (masks)(mask)) | ((masks)(b) & ~(masks)(mask))))
#define least(a, b) chosen((a) < (b), a, b)
#define most(a, b) chosen((a) > (b), a, b)

#include "attack/moments_vector.h"

static int is_supported(void) {
    return 1;
}

const dpa__moments_kernel dpa__moments_portable = {"portable", is_supported, signals, probabilities,
                                                   map};
