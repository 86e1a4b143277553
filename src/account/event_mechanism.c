/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events without sampling, each expressed as a phase or a pair of the accountant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/event.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"

static dpa_status gaussian(const json_t *event, dpa__event_made *out, dpa_error *err) {
    return dpa__event_number(event, "noise_multiplier", &out->phase.sigma, err);
}

static dpa_status laplace(const json_t *event, dpa__event_made *out, dpa_error *err) {
    out->phase.mechanism = DPA_LAPLACE;
    return dpa__event_number(event, "noise_multiplier", &out->phase.sigma, err);
}

/* The loss of permute-and-flip is that of Laplace noise of scale 1/ε (McKenna, Sheldon 2020). */
static dpa_status permute_and_flip(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double epsilon;
    DPA_TRY(dpa__event_number(event, "epsilon", &epsilon, err));
    out->phase.mechanism = DPA_LAPLACE;
    out->phase.sigma = 1 / epsilon;
    return DPA_OK;
}

/* Pure ε: binary randomized response dominates, more than it must (the loss of one exponential
 * mechanism has a range of ε, not of 2ε). */
static dpa_status exponential(const json_t *event, dpa__event_made *out, dpa_error *err) {
    out->phase.mechanism = DPA_RANDOMIZED_RESPONSE;
    out->is_limit = 1;
    return dpa__event_number(event, "epsilon", &out->phase.sigma, err);
}

static dpa_status epsilon_delta(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double epsilon, delta;
    DPA_TRY(dpa__event_number(event, "epsilon", &epsilon, err));
    DPA_TRY(dpa__event_number(event, "delta", &delta, err));
    return dpa__pair_epsilon_delta(epsilon, delta, &out->pair, err);
}

static dpa_status response(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double noise, buckets;
    DPA_TRY(dpa__event_number(event, "noise_parameter", &noise, err));
    DPA_TRY(dpa__event_number(event, "num_buckets", &buckets, err));
    return dpa__pair_response(noise, buckets, &out->pair, err);
}

static dpa_status discrete_laplace(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double a;
    DPA_TRY(dpa__event_number(event, "noise_parameter", &a, err));
    return dpa__pair_discrete_laplace(a, dpa__event_number_or(event, "sensitivity", 1), &out->pair,
                                      err);
}

static dpa_status discrete_gaussian(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double sigma;
    DPA_TRY(dpa__event_number(event, "sigma", &sigma, err));
    if (dpa__event_number_or(event, "dimension", 0) != 1)
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "DiscreteGaussian: only \"dimension\": 1 has a dominating pair of its own");
    return dpa__pair_discrete_gaussian(sigma, dpa__event_number_or(event, "sensitivity", 1),
                                       &out->pair, err);
}

typedef struct mixture {
    double *mean, *weight;
    size_t count;
} mixture;

static dpa_status read_mixture(const json_t *event, mixture *m, dpa_error *err) {
    const json_t *means = json_object_get(event, "sensitivities");
    const json_t *chances = json_object_get(event, "sampling_probs");
    m->count = json_array_size(means);
    if (m->count == 0 || json_array_size(chances) != m->count)
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "MixtureOfGaussians: 'sensitivities' and 'sampling_probs' must be lists of "
            "one length");
    m->mean = DPA_NEW_ARRAY(double, m->count, err);
    m->weight = m->mean == NULL ? NULL : DPA_NEW_ARRAY(double, m->count, err);
    if (m->weight == NULL) return DPA_NO_MEMORY;
    double total = 0, largest = 0;
    for (size_t i = 0; i < m->count; ++i) {
        const json_t *mean = json_array_get(means, i), *chance = json_array_get(chances, i);
        m->mean[i] = json_number_value(mean);
        m->weight[i] = json_number_value(chance);
        if (!json_is_number(mean) || !json_is_number(chance) || m->mean[i] < 0 || m->weight[i] < 0)
            return dpa__fail(err, DPA_BAD_INPUT,
                             "MixtureOfGaussians: sensitivities and probabilities must be numbers, "
                             "none of them negative");
        total += m->weight[i];
        largest = fmax(largest, m->mean[i]);
    }
    if (fabs(total - 1) <= 1e-9 && largest > 0) return DPA_OK;
    return dpa__fail(
        err, DPA_BAD_INPUT,
        "MixtureOfGaussians: the probabilities sum to %.9g and the largest sensitivity "
        "is %g; they must be 1 and above 0",
        total, largest);
}

static dpa_status mixture_of_gaussians(const json_t *event, dpa__event_made *out, dpa_error *err) {
    const double zero = 0, one = 1;
    double sigma;
    mixture m = {0};
    DPA_TRY(dpa__event_number(event, "standard_deviation", &sigma, err));
    if (!(sigma >= 1e-3 && sigma <= 1e9))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "MixtureOfGaussians: standard_deviation is %g; it must be in [0.001, 1e9]",
                         sigma);
    dpa_status status = read_mixture(event, &m, err);
    if (status == DPA_OK)
        status =
            dpa__pair_gaussians(sigma, m.mean, m.weight, m.count, &zero, &one, 1, &out->pair, err);
    free(m.mean);
    free(m.weight);
    return status;
}

/* The largest number of steps of the tree. */
static double most_steps(const json_t *event) {
    const json_t *steps = json_object_get(event, "step_counts");
    double most = json_is_number(steps) ? json_number_value(steps) : 0;
    for (size_t i = 0; i < json_array_size(steps); ++i)
        most = fmax(most, json_number_value(json_array_get(steps, i)));
    return most;
}

/* A record is in one leaf, hence in one node of every level: ⌈log₂(steps+1)⌉ Gaussian releases
 * (Kairouz et al. 2021, appendix D). */
static dpa_status tree(const json_t *event, dpa__event_made *out, dpa_error *err) {
    const double steps = most_steps(event);
    if (!(steps >= 1 && steps <= 1e12))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "SingleEpochTreeAggregation: 'step_counts' is missing or not in [1, 1e12]");
    DPA_TRY(gaussian(event, out, err));
    out->phase.steps = (uint64_t)ceil(log2(steps + 1));
    return DPA_OK;
}

/* At most Σ c² over the nodes of a binary tree over `steps` leaves, c being how many of `times`
 * leaves, any two at least `apart` from each other, lie below a node. Per level: no node of width w
 * has more than ⌈w/apart⌉, and the sum of squares is largest if as many as possible have that
 * many. Exact where `apart` is a power of 2 that divides the steps; elsewhere no level can be
 * better, but two levels may not be at their best at once. */
static double tree_squares(double steps, double apart, double times) {
    double sum = 0;
    for (double width = 1; width <= steps; width *= 2) {
        const double most = fmin(ceil(width / apart), times), nodes = floor(steps / width);
        const double full = fmin(floor(times / most), nodes);
        const double rest = full < nodes ? times - full * most : 0;
        sum += full * most * most + rest * rest;
    }
    return sum;
}

/* A tree that is not restarted, in which a record is several times: each node is a Gaussian release
 * to which the record contributes once for each of its leaves below (Kairouz et al. 2021, appendix
 * D.2); Gaussian releases of sensitivities c are Σ c² of sensitivity 1. */
static dpa_status tree_of_many(const json_t *event, dpa__event_made *out, dpa_error *err) {
    static const double MOST = 1e15;
    double steps;
    DPA_TRY(gaussian(event, out, err));
    DPA_TRY(dpa__event_number(event, "steps", &steps, err));
    const double apart = dpa__event_number_or(event, "min_separation", 1);
    const double most = ceil(steps / apart);
    const double times = fmin(dpa__event_number_or(event, "max_participations", most), most);
    if (!(steps >= 1 && steps <= 1e12 && apart >= 1 && times >= 1) || steps != floor(steps) ||
        apart != floor(apart) || times != floor(times))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "TreeAggregation: steps, min_separation and max_participations must be "
                         "whole numbers from 1 on, steps at most 1e12");
    const double squares = tree_squares(steps, apart, times);
    if (squares > MOST)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "TreeAggregation: a record counts for %.3g releases; at most %g", squares,
                         MOST);
    out->phase.steps = (uint64_t)squares;
    out->is_limit = times > 1;
    return DPA_OK;
}

/* Correlated noise C⁻¹z with a banded, lower triangular C whose columns have at most unit norm
 * (Choquette-Choo et al. 2023). Without sampling: participations at least `min_separation` ≥ bands
 * apart touch disjoint rows of C, so k of them are k Gaussian releases. With Poisson sampling of
 * one of `bands` parts of the data at a time, at rate q of that part: iterations/bands sampled
 * Gaussian releases (their Theorem 4). */
static dpa_status banded(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double bands, iterations;
    DPA_TRY(gaussian(event, out, err));
    DPA_TRY(dpa__event_number(event, "bands", &bands, err));
    DPA_TRY(dpa__event_number(event, "iterations", &iterations, err));
    const double q = dpa__event_number_or(event, "sampling_probability", 1);
    const double separation = dpa__event_number_or(event, "min_separation", bands);
    const double most = ceil(iterations / separation);
    const double times = fmin(dpa__event_number_or(event, "max_participations", most), most);
    if (!(bands >= 1 && iterations >= 1 && iterations <= 1e12 && times >= 1))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "BandedMatrixFactorization: bands, iterations and max_participations must "
                         "be at least 1");
    if (separation < bands)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "BandedMatrixFactorization: min_separation %g is below bands %g: columns "
                         "overlap, and the sensitivity is not that of the norm alone",
                         separation, bands);
    out->phase.q = q;
    out->phase.sigma /= dpa__event_number_or(event, "column_norm", 1);
    out->is_limit = q < 1;
    out->phase.steps = (uint64_t)(q < 1 ? ceil(iterations / bands) : times);
    return DPA_OK;
}

/* Each record is used once per epoch, in a batch that the attacker does not know. */
static dpa_status shuffled(const json_t *event, dpa__event_made *out, dpa_error *err) {
    double batches, epochs;
    DPA_TRY(gaussian(event, out, err));
    DPA_TRY(dpa__event_number(event, "batches", &batches, err));
    DPA_TRY(dpa__event_number(event, "epochs", &epochs, err));
    if (!(batches >= 1 && batches <= 1e12 && epochs >= 1 && epochs <= 1e9))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "ShuffledBatches: batches must be in [1, 1e12], epochs in [1, 1e9]");
    out->phase.mechanism = DPA_SHUFFLED;
    out->phase.q = 1 / batches;
    out->phase.steps = (uint64_t)epochs;
    return DPA_OK;
}

/* Poisson sampling truncated to B of the n records, as Google accounts for it: if more than B are
 * drawn, the record may displace another one, which is a replacement; whether that happened is
 * revealed. */
static dpa_status truncated(const json_t *event, dpa_adjacency adjacency, dpa__event_made *out,
                            dpa_error *err) {
    double n, q, most, sigma;
    DPA_TRY(dpa__event_number(event, "dataset_size", &n, err));
    DPA_TRY(dpa__event_number(event, "sampling_probability", &q, err));
    DPA_TRY(dpa__event_number(event, "truncated_batch_size", &most, err));
    DPA_TRY(dpa__event_number(event, "noise_multiplier", &sigma, err));
    if (!(n >= 1 && q > 0 && q < 1 && most >= 1 && sigma >= 1e-3))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "TruncatedSubsampledGaussian: sizes must be at least 1, the probability in "
            "(0, 1), the noise at least 0.001");
    const double cut = dpa__binom_cdf(most - 1, n - 1, q, DPA_UPPER);
    const double inside = cut > 0 ? dpa__binom_cdf(most, n, q, DPA_UPPER) * most / cut / n : 0;
    const double mean[2] = {0, 1}, other[2] = {0, -1}, zero = 0, one = 1;
    const double usual[2] = {1 - q, q}, pushed[2] = {1 - inside, inside};
    dpa_pair *part[2] = {NULL, NULL};
    if (adjacency == DPA_ADD_REMOVE)
        DPA_TRY(dpa__pair_gaussians(sigma, mean, usual, 2, &zero, &one, 1, &part[0], err));
    else
        DPA_TRY(dpa__pair_gaussians(sigma, mean, usual, 2, other, usual, 2, &part[0], err));
    const dpa_status status =
        dpa__pair_gaussians(sigma / 2, mean, pushed, 2, other, pushed, 2, &part[1], err);
    if (status != DPA_OK) {
        dpa_pair_free(part[0]);
        return status;
    }
    const double chance[2] = {1 - cut, cut};
    out->is_limit = 1;
    return dpa__pair_choice(part, chance, 2, &out->pair, err);
}

static dpa_status pmfs(const json_t *event, dpa__event_made *out, dpa_error *err) {
    return dpa__pair_from_json("DominatingPair", event, &out->pair, err);
}

dpa_status dpa__event_mechanism(const json_t *event, const char *name, dpa_adjacency adjacency,
                                dpa__event_made *out, dpa_error *err) {
    static const struct {
        const char *name;
        dpa_status (*make)(const json_t *event, dpa__event_made *out, dpa_error *err);
    } table[] = {
        {"Gaussian", gaussian},
        {"Laplace", laplace},
        {"PermuteAndFlip", permute_and_flip},
        {"ExponentialMechanism", exponential},
        {"EpsilonDelta", epsilon_delta},
        {"RandomizedResponse", response},
        {"DiscreteLaplace", discrete_laplace},
        {"DiscreteGaussian", discrete_gaussian},
        {"MixtureOfGaussians", mixture_of_gaussians},
        {"SingleEpochTreeAggregation", tree},
        {"TreeAggregation", tree_of_many},
        {"BandedMatrixFactorization", banded},
        {"ShuffledBatches", shuffled},
        {"DominatingPair", pmfs},
    };
    if (strcmp(name, "TruncatedSubsampledGaussian") == 0)
        return truncated(event, adjacency, out, err);
    for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
        if (strcmp(name, table[k].name) == 0) return table[k].make(event, out, err);
    return dpa__fail(err, DPA_BAD_INPUT,
                     "event '%s' has no dominating pair here; docs/methods/account.md lists those "
                     "that have",
                     name);
}
