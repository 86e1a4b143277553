/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The idealised one-run game played with random numbers (fdp-in-one-run, Algorithm 4), through the
 * same ranking as any score file. Unlike the paper's code it counts the guesses it makes, on both
 * ends, and rounds nothing up. Play j draws from its own stream: the same numbers in any order. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/onerun.h"
#include "evidence/guesses.h"

/* score = N(±μ/2, 1). */
static void play_two(const dpa_ideal *ideal, dpa_rng *rng, double *score, uint8_t *in) {
    for (uint64_t i = 0; i < ideal->canaries; ++i) {
        in[i] = (uint8_t)(dpa__rng_u32(rng) >> 31);
        score[i] = dpa__rng_normal(rng) + (in[i] ? 0.5 : -0.5) / ideal->sigma;
    }
}

/* One canary with k options: is the likeliest the true one, and how likely is it? Option 0 is true
 * without loss of generality. The posterior of option j is e^(d y_j)/Σ e^(d y_i). */
static void play_many(const dpa_ideal *ideal, dpa_rng *rng, double *score, uint8_t *right) {
    const double d = M_SQRT1_2 / ideal->sigma;
    for (uint64_t i = 0; i < ideal->canaries; ++i) {
        double best = d + dpa__rng_normal(rng), sum = 1.0; /* Σ e^(d (y_j − best)) */
        right[i] = 1;
        for (uint64_t j = 1; j < ideal->options; ++j) {
            const double y = dpa__rng_normal(rng);
            if (y > best) {
                sum = sum * exp(d * (best - y)) + 1.0;
                best = y;
                right[i] = 0;
            } else
                sum += exp(d * (y - best));
        }
        score[i] = 1.0 / sum;
    }
}

static dpa_status play(const dpa_ideal *ideal, uint64_t guesses, dpa_rng *rng, double *score,
                       uint8_t *answer, double *correct, dpa_error *err) {
    dpa_guesses made;
    dpa_lints lints = {0};
    dpa_status status;
    if (ideal->options == 2) {
        play_two(ideal, rng, score, answer);
        status = dpa__guesses_from_scores(score, answer, ideal->canaries, DPA_GUESS_BOTH, &made,
                                          &lints, err);
    } else {
        play_many(ideal, rng, score, answer);
        status = dpa__guesses_from_confidence(score, answer, ideal->canaries, &made, &lints, err);
    }
    dpa__lints_free(&lints);
    if (status != DPA_OK) return status;
    *correct = (double)made.correct[guesses];
    dpa__guesses_free(&made);
    return DPA_OK;
}

dpa_status dpa__ideal_simulate(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                               uint64_t seed, double *mean, double *deviation, dpa_error *err) {
    double least;
    dpa_ideal two = *ideal; /* the checks are those of the exact count */
    two.options = 2;
    DPA_TRY(dpa__ideal_expected(&two, guesses, &least, err));
    if (ideal->options < 2 || repeats < 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "at least 2 options and 1 repeat");
    double *score = DPA_NEW_ARRAY(double, ideal->canaries, err);
    uint8_t *answer = DPA_NEW_ARRAY(uint8_t, ideal->canaries, err);
    dpa_status status = score != NULL && answer != NULL ? DPA_OK : DPA_NO_MEMORY;
    double squares = 0.0;
    *mean = 0.0;
    for (uint64_t i = 0; status == DPA_OK && i < repeats; ++i) {
        dpa_rng rng;
        double correct = 0.0;
        dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, i);
        status = play(ideal, guesses, &rng, score, answer, &correct, err);
        const double step = correct - *mean; /* Welford */
        *mean += step / (double)(i + 1);
        squares += step * (correct - *mean);
    }
    free(score);
    free(answer);
    *deviation = repeats > 1 ? sqrt(squares / (double)(repeats - 1)) : 0.0;
    return status;
}
