/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which points are in which model. Each model has its own random stream, so that any model can be
 * reproduced without the others. */
#include <string.h>

#include "attack/attack.h"
#include "base/rng.h"

/* Separates the streams of coins and of halves for the same seed and model. */
static const uint64_t coins = UINT64_C(1) << (DPA_RNG_INDEX_BITS - 1);

/* Selection sampling (Fan, Muller, Rezucha 1962): uniform over all subsets of the size. */
void dpa__membership_half(uint64_t seed, uint64_t model, size_t points, uint8_t *member) {
    dpa_rng rng;
    size_t wanted = points / 2;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_MEMBERSHIP, model);
    for (size_t p = 0; p < points; ++p) {
        member[p] = dpa__rng_below(&rng, points - p) < wanted;
        wanted -= member[p];
    }
}

int dpa__membership_leave_one_out(uint64_t seed, uint64_t model, size_t points, size_t challenge,
                                  uint8_t *member) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_MEMBERSHIP, coins | model);
    const int coin = (int)(dpa__rng_u32(&rng) & 1U);
    memset(member, 1, points);
    if (challenge < points) member[challenge] = (uint8_t)coin;
    return coin;
}
