/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The idealised one-run game (fdp-in-one-run, Algorithm 4): what the best attack on a Gaussian
 * mechanism can count on, without Monte Carlo.
 *
 * Two options: the observation of a canary is N(±μ/2, 1), μ = 1/σ, and the attacker guesses the
 * sign of the largest |x|. With the threshold x, of m canaries mΦ̄(x−μ/2) are guessed right and
 * mΦ̄(x+μ/2) wrong. So w wrong guesses come with C(w) = w + mΦ̄(Φ̄⁻¹(w/m) − μ) guesses in all.
 *
 * Rounding the expected right guesses down makes the bound a sawtooth in the number of guesses. For
 * a given number of wrong guesses one more right guess only helps, so the peaks are at c′ = ⌊C(w)⌋,
 * c = c′ − w: one candidate per w, not one per c′.
 *
 * k options: the true one of k coordinates is N(d, 1), d = 1/(√2 σ), all others N(0, 1). Guessing
 * the largest is right with probability ∫ φ(x−d) Φ(x)^(k−1) dx. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "evidence/guesses.h"
#include "math/dist.h"
#include "math/quad.h"
#include "math/root.h"

enum { ALL_WRONG_COUNTS = 4096, MAX_EVALUATIONS = 200000 };
static const double wrong_ratio = 1.01;

static dpa_status check(const dpa_ideal *ideal, uint64_t guesses, dpa_error *err) {
    const dpa_one_run game = {ideal->canaries, ideal->options, guesses, 0};
    if (!(ideal->sigma > 0.0) || isinf(ideal->sigma))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sigma: must be positive and finite, not %g",
                         ideal->sigma);
    return dpa__one_run_check(&game, err);
}

static double tail(double x) {
    return dpa__norm_cdf(x, DPA_UPPER);
}

typedef struct threshold_search {
    double mu, share;
} threshold_search;

/* The share of canaries beyond ±x minus the wanted share. */
static double surplus(double x, void *user) {
    const threshold_search *s = user;
    return tail(x - 0.5 * s->mu) + tail(x + 0.5 * s->mu) - s->share;
}

/* The x ≥ 0 beyond which a share of all canaries is expected. */
static dpa_status find_threshold(double mu, double share, double *x, dpa_error *err) {
    threshold_search search = {mu, share};
    dpa__bracket found;
    *x = 0.0;
    if (share >= 1.0) return DPA_OK;
    /* a little further, because for tiny μ rounding would leave no change of sign */
    const double far = dpa__norm_quantile(0.5 * share, DPA_UPPER) + 0.5 * mu + 1e-6;
    DPA_TRY(dpa__root(surplus, &search, 0.0, far, 1e-15, 1e-15, &found, err));
    *x = 0.5 * (found.lower + found.upper);
    return DPA_OK;
}

typedef struct largest {
    double distance, others;
} largest;

static double largest_is_true(double x, void *user) {
    const largest *l = user;
    return exp(dpa__norm_log_pdf(x - l->distance) + l->others * dpa__norm_cdf(x, DPA_LOG_LOWER));
}

static dpa_status share_of_largest(const dpa_ideal *ideal, double *out, dpa_error *err) {
    largest l = {M_SQRT1_2 / ideal->sigma, (double)ideal->options - 1.0};
    /* around the largest of the other options, and the whole mass of the true one */
    const double edge = dpa__norm_quantile(1.0 / (double)ideal->options, DPA_UPPER);
    double breaks[5] = {l.distance - 10.0, l.distance, l.distance + 10.0};
    size_t count = 3;
    if (edge > breaks[0] && edge < breaks[2] && edge != breaks[1]) {
        breaks[3] = breaks[2];
        breaks[edge < breaks[1] ? 1 : 2] = edge;
        breaks[edge < breaks[1] ? 2 : 1] = l.distance;
        count = 4;
    }
    dpa__quad quad;
    DPA_TRY(dpa__integrate(largest_is_true, &l, breaks, count, 1e-14, 1e-12, MAX_EVALUATIONS, &quad,
                           err));
    *out = quad.value;
    return DPA_OK;
}

dpa_status dpa__ideal_expected(const dpa_ideal *ideal, uint64_t guesses, double *out,
                               dpa_error *err) {
    DPA_TRY(check(ideal, guesses, err));
    const double m = (double)ideal->canaries, mu = 1.0 / ideal->sigma;
    *out = 0.0;
    if (guesses == 0) return DPA_OK;
    if (ideal->options == 2) {
        double x;
        DPA_TRY(find_threshold(mu, (double)guesses / m, &x, err));
        *out = m * tail(x - 0.5 * mu);
        return DPA_OK;
    }
    if (guesses != ideal->canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "with more than two options the expected count is known for guessing all "
                         "canaries only; simulate");
    DPA_TRY(share_of_largest(ideal, out, err));
    *out *= m;
    return DPA_OK;
}

typedef struct ranked {
    double mu, others, taken;
} ranked;

/* The density of a canary that is "in" times the probability that it is among the `taken` highest.
 */
static double in_and_taken(double x, void *user) {
    const ranked *r = user;
    const double above = 0.5 * (tail(x - 0.5 * r->mu) + tail(x + 0.5 * r->mu));
    return exp(dpa__norm_log_pdf(x - 0.5 * r->mu)) *
           dpa__binom_cdf(r->taken - 1.0, r->others, above, DPA_LOWER);
}

/* Expected number of "in" among the `taken` highest of all. */
static dpa_status right_at_one_end(const dpa_ideal *ideal, double taken, double *out,
                                   dpa_error *err) {
    const double m = (double)ideal->canaries, mu = 1.0 / ideal->sigma;
    ranked r = {mu, m - 1.0, taken};
    *out = 0.0;
    if (taken <= 0.0) return DPA_OK;
    const double share = fmin(taken / m, 0.999);
    threshold_search search = {mu, 2.0 * share};
    dpa__bracket found;
    const double reach = fabs(dpa__norm_quantile(0.5 * share, DPA_UPPER)) + mu + 1.0;
    DPA_TRY(dpa__root(surplus, &search, -reach, reach, 1e-9, 0.0, &found, err));
    const double centre = found.lower, width = fmin(1.0, 4.0 / sqrt(taken)), end = 0.5 * mu + 11.0;
    const double breaks[7] = {fmin(-0.5 * mu, centre) - 11.0,
                              centre - 4.0 * width,
                              centre - width,
                              centre,
                              centre + width,
                              centre + 4.0 * width,
                              fmax(end, centre + 11.0)};
    dpa__quad quad;
    DPA_TRY(dpa__integrate(in_and_taken, &r, breaks, 7, 0.0, 1e-11, MAX_EVALUATIONS, &quad, err));
    *out = 0.5 * m * quad.value;
    return DPA_OK;
}

dpa_status dpa__ideal_ranked(const dpa_ideal *ideal, uint64_t guesses, double *out,
                             dpa_error *err) {
    DPA_TRY(check(ideal, guesses, err));
    if (ideal->options != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "ranks are for two options; simulate");
    double top, bottom;
    DPA_TRY(right_at_one_end(ideal, (double)(guesses - guesses / 2), &top, err));
    DPA_TRY(right_at_one_end(ideal, (double)(guesses / 2), &bottom, err));
    *out = top + bottom;
    return DPA_OK;
}

/* C(w), at most m. */
static double most_guesses(const dpa_ideal *ideal, double wrong) {
    const double m = (double)ideal->canaries;
    if (wrong >= m) return m;
    const double x = dpa__norm_quantile(wrong / m, DPA_UPPER);
    return fmin(m, floor(wrong + m * tail(x - 1.0 / ideal->sigma)));
}

/* Fills `games` unless it is NULL; returns their number. */
static size_t list_games(const dpa_ideal *ideal, double all_wrong, dpa_one_run *games) {
    size_t count = 0;
    for (double wrong = 1.0; wrong < all_wrong;) {
        const double guesses = most_guesses(ideal, wrong);
        if (guesses >= (double)ideal->canaries || guesses <= wrong) break;
        if (games != NULL)
            games[count] = (dpa_one_run){ideal->canaries, ideal->options, (uint64_t)guesses,
                                         (uint64_t)(guesses - wrong)};
        ++count;
        wrong = wrong < ALL_WRONG_COUNTS ? wrong + 1.0 : ceil(wrong * wrong_ratio);
    }
    return count;
}

dpa_status dpa__ideal_games(const dpa_ideal *ideal, dpa_one_run **games, size_t *count,
                            dpa_error *err) {
    double expected;
    *games = NULL;
    *count = 0;
    DPA_TRY(dpa__ideal_expected(ideal, ideal->canaries, &expected, err));
    const double m = (double)ideal->canaries, all_wrong = ideal->options == 2 ? m - expected : 0.0;
    const size_t listed = list_games(ideal, all_wrong, NULL);
    dpa_one_run *list = DPA_NEW_ARRAY(dpa_one_run, listed + 1, err);
    if (list == NULL) return DPA_NO_MEMORY;
    (void)list_games(ideal, all_wrong, list);
    /* and all of them */
    list[listed] =
        (dpa_one_run){ideal->canaries, ideal->options, ideal->canaries, (uint64_t)floor(expected)};
    *games = list;
    *count = listed + 1;
    return DPA_OK;
}

/* The idealised one-run game played with random numbers (fdp-in-one-run, Algorithm 4), through the
 * same ranking as any score file. Unlike the paper's code it counts the guesses it makes, on both
 * ends, and rounds nothing up. Play j draws from its own stream: the same numbers in any order. */

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
