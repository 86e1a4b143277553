/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a handle remembers of the rounds of a training. For all iterates (one-shot-federated,
 * Algorithm 3): each canary's largest cosine. For known rounds (docs/methods/known-rounds.md): the
 * sum of each canary's part in the releases over the rounds for which it is a candidate. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "evidence/canary.h"

static dpa_status check_own(const dpa_canaries *canaries, const dpa_own_round *own,
                            dpa_error *err) {
    if (!(own->unit > 0.0) || !isfinite(own->unit))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "unit of a round: what a whole canary adds to it, more than 0, not %g",
                         own->unit);
    for (size_t i = 0; i < own->candidates; ++i)
        if (own->candidate[i] >= canaries->count)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "candidate %zu: there are only %zu canaries",
                             own->candidate[i], canaries->count);
    return DPA_OK;
}

static dpa_status add_spread(dpa_canaries *canaries, const dpa_own_round *own, dpa_error *err) {
    double spread;
    DPA_TRY(dpa__canaries_spread(canaries, own->candidate, own->candidates, &spread, err));
    canaries->spread = fmax(canaries->spread, spread);
    return DPA_OK;
}

/* cosine[i·step] belongs to candidate i if `which` is NULL, else to canary i. */
static void add_own(dpa_canaries *canaries, const dpa_own_round *own, const dpa__target *released,
                    const double *cosine, size_t step, int by_canary) {
    const double length = released->norm / released->scale / own->unit;
    for (size_t i = 0; i < own->candidates; ++i) {
        const size_t canary = own->candidate[i];
        canaries->own[canary] += cosine[(by_canary ? canary : i) * step] * length;
        ++canaries->times[canary];
    }
}

dpa_status dpa__canaries_own(dpa_canaries *canaries, const dpa_vector *released,
                             const dpa_own_round *own, const dpa_progress *progress,
                             dpa_error *err) {
    dpa__target target;
    DPA_TRY(check_own(canaries, own, err));
    DPA_TRY(dpa__target_init(&target, released, NULL, canaries->opts.dim, 1, err));
    if (own->candidates == 0) return DPA_OK;
    double *cosine = DPA_NEW_ARRAY(double, own->candidates, err);
    if (cosine == NULL) return DPA_NO_MEMORY;
    dpa_status status = dpa__canary_cosines(canaries, &target, 1, own->candidate, own->candidates,
                                            cosine, progress, err);
    if (status == DPA_OK) status = add_spread(canaries, own, err);
    if (status == DPA_OK) add_own(canaries, own, &target, cosine, 1, 0);
    free(cosine);
    return status;
}

static dpa_status rounds(dpa_canaries *canaries, const dpa_vector *change, const dpa_own_round *own,
                         size_t count, dpa__target *target, double *cosine,
                         const dpa_progress *progress, dpa_error *err) {
    for (size_t m = 0; m < count; ++m) {
        if (own != NULL) DPA_TRY(check_own(canaries, &own[m], err));
        DPA_TRY(dpa__target_init(&target[m], &change[m], NULL, canaries->opts.dim, 0, err));
    }
    DPA_TRY(
        dpa__canary_cosines(canaries, target, count, NULL, canaries->count, cosine, progress, err));
    for (size_t m = 0; own != NULL && m < count; ++m) DPA_TRY(add_spread(canaries, &own[m], err));
    for (size_t i = 0; i < canaries->count; ++i)
        for (size_t m = 0; m < count; ++m)
            if (cosine[i * count + m] > canaries->largest[i])
                canaries->largest[i] = cosine[i * count + m];
    for (size_t m = 0; own != NULL && m < count; ++m)
        add_own(canaries, &own[m], &target[m], cosine + m, count, 1);
    canaries->rounds += count;
    return DPA_OK;
}

dpa_status dpa__canaries_round_many(dpa_canaries *canaries, const dpa_vector *change,
                                    const dpa_own_round *own, size_t count,
                                    const dpa_progress *progress, dpa_error *err) {
    if (count == 0) return DPA_OK;
    if (count > DPA_CANARIES_ROUNDS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu rounds at once: at most %d", count,
                         (int)DPA_CANARIES_ROUNDS);
    dpa__target *target = DPA_NEW_ARRAY(dpa__target, count, err);
    double *cosine =
        target != NULL ? dpa__malloc(count * canaries->count, sizeof(double), err) : NULL;
    const dpa_status status =
        cosine != NULL ? rounds(canaries, change, own, count, target, cosine, progress, err)
                       : DPA_NO_MEMORY;
    free(target);
    free(cosine);
    return status;
}

dpa_status dpa__canaries_round(dpa_canaries *canaries, const dpa_vector *change,
                               const dpa_progress *progress, dpa_error *err) {
    return dpa__canaries_round_many(canaries, change, NULL, 1, progress, err);
}

uint64_t dpa__canaries_rounds(const dpa_canaries *canaries) {
    return canaries->rounds;
}

const double *dpa__canaries_largest(const dpa_canaries *canaries) {
    return canaries->largest;
}

double dpa__canaries_own_score(const dpa_canaries *canaries, size_t canary) {
    if (canary >= canaries->count || canaries->times[canary] == 0) return (double)NAN;
    return canaries->own[canary] / sqrt((double)canaries->times[canary]);
}

uint64_t dpa__canaries_own_times(const dpa_canaries *canaries, size_t canary) {
    return canary < canaries->count ? canaries->times[canary] : 0;
}

double dpa__canaries_own_spread(const dpa_canaries *canaries) {
    return canaries->spread;
}

/* ── who has which rounds, and which canaries an audit by known rounds uses ──────────────
 *
 * Rounds are drawn before it is drawn who takes part, so choosing by rounds reveals nothing about
 * participation; a canary left out just adds to the noise. */

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
