/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events on a random sample of the records.
 *
 * Poisson: (P, Q) → ((1−q)Q + qP, Q) for add/remove (Zhu, Dong, Wang 2022, Theorem 11). Samples of
 * a fixed size, for replace-one (Balle, Barthe, Gaboardi 2018): without replacement, rate γ = m/n,
 * δ′(ε′) = γ·δ(ε) with e^ε′ = 1 + γ(e^ε − 1) (Theorem 9): the same transform with γ for q, for
 * ε′ ≥ 0, and symmetric. With replacement, γ = 1−(1−1/n)^m and δ is the mean over the number k of
 * times that the record was drawn (Theorem 10): k is revealed. Both are upper bounds; the interval
 * encloses the ε of the theorem's pair. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/event.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"

/* A Gaussian whose mean moves by `distance`, as a pair. */
static dpa_status moved(double sigma, double distance, dpa_pair **out, dpa_error *err) {
    const double zero = 0, one = 1;
    return dpa__pair_gaussians(sigma, &distance, &one, 1, &zero, &one, 1, out, err);
}

/* The inner event as a pair; replace-one doubles the sensitivity of the noise. */
static dpa_status inner_pair(const dpa__event_made *made, dpa_adjacency adjacency, dpa_pair **out,
                             dpa_error *err) {
    const double distance = adjacency == DPA_REPLACE_ONE ? 2 : 1;
    if (made->pair != NULL) {
        *out = made->pair;
        return DPA_OK;
    }
    if (made->phase.q == 1 && made->phase.mechanism == DPA_GAUSSIAN)
        return moved(made->phase.sigma / sqrt((double)made->phase.steps), distance, out, err);
    if (made->phase.mechanism == DPA_LAPLACE && made->phase.steps == 1)
        return dpa__pair_laplace(made->phase.sigma / distance, out, err);
    if (made->phase.mechanism == DPA_RANDOMIZED_RESPONSE && made->phase.steps == 1)
        return dpa__pair_epsilon_delta(made->phase.sigma, 0, out, err);
    return dpa__fail(err, DPA_BAD_INPUT, "the event on a sample must be one mechanism");
}

static dpa_status poisson(const json_t *event, dpa_adjacency adjacency, dpa__event_made *made,
                          dpa_error *err) {
    double q;
    dpa_pair *pair;
    DPA_TRY(dpa__event_number(event, "sampling_probability", &q, err));
    if (!(q > 0 && q <= 1))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "PoissonSampled: sampling_probability is %g; it must be in (0, 1]", q);
    if (q == 1) return DPA_OK;
    if (made->pair == NULL && made->phase.mechanism == DPA_GAUSSIAN && made->phase.q == 1) {
        made->phase.sigma /= sqrt((double)made->phase.steps); /* all steps use the same sample */
        made->phase.steps = 1;
        made->phase.q = q;
        return DPA_OK;
    }
    if (adjacency == DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "PoissonSampled: for replace-one only Gaussian noise has a known pair");
    DPA_TRY(inner_pair(made, adjacency, &pair, err));
    made->pair = NULL;
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, q, &made->pair, err));
    made->phase.steps = 1;
    return DPA_OK;
}

static dpa_status without_replacement(double n, double m, dpa__event_made *made, dpa_error *err) {
    dpa_pair *pair;
    DPA_TRY(inner_pair(made, DPA_REPLACE_ONE, &pair, err));
    made->pair = NULL;
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, m / n, &pair, err));
    return dpa__pair_node(DPA__PAIR_SYMMETRIC, pair, 1, &made->pair, err);
}

enum { MOST_DRAWS = 200 };

/* Gaussian noise only, because the pair of a record drawn k times is known for it. */
static dpa_status with_replacement(double n, double m, dpa__event_made *made, dpa_error *err) {
    if (made->pair != NULL || made->phase.mechanism != DPA_GAUSSIAN || made->phase.q != 1)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "SampledWithReplacement: only Gaussian noise has a known pair");
    const double sigma = made->phase.sigma / sqrt((double)made->phase.steps);
    const double drawn = -expm1(m * log1p(-1 / n));
    dpa_pair *part[MOST_DRAWS], *pair;
    double chance[MOST_DRAWS], rest = 1;
    size_t count = 0;
    while (count < MOST_DRAWS && rest > 1e-30 && (double)count < m) {
        const double k = (double)(count + 1);
        const dpa_status status = moved(sigma, 2 * k, &part[count], err);
        if (status != DPA_OK) {
            for (size_t i = 0; i < count; ++i) dpa_pair_free(part[i]);
            return status;
        }
        chance[count] = exp(dpa__binom_log_pmf(k, m, 1 / n)) / drawn;
        rest = dpa__binom_cdf(k, m, 1 / n, DPA_UPPER) / drawn;
        ++count;
    }
    DPA_TRY(dpa__pair_choice(part, chance, count, &pair, err));
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, drawn, &pair, err));
    return dpa__pair_node(DPA__PAIR_SYMMETRIC, pair, 1, &made->pair, err);
}

static dpa_status fixed_size(const json_t *event, const char *name, dpa_adjacency adjacency,
                             dpa__event_made *made, dpa_error *err) {
    double n, m;
    DPA_TRY(dpa__event_number(event, "source_dataset_size", &n, err));
    DPA_TRY(dpa__event_number(event, "sample_size", &m, err));
    if (adjacency != DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%s: samples of a fixed size are known for replace-one: add --adjacency "
                         "replace-one",
                         name);
    const int without = strcmp(name, "SampledWithoutReplacement") == 0;
    if (!(n >= 2 && n <= 1e15 && m >= 1 && m <= 1e15 && (!without || m < n)))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%s: %g records of %g; the sample must have at least one and be smaller "
                         "than the data",
                         name, m, n);
    made->is_limit = 1;
    return without ? without_replacement(n, m, made, err) : with_replacement(n, m, made, err);
}

static int is_sampling(const char *name) {
    return strcmp(name, "PoissonSampled") == 0 || strcmp(name, "SampledWithReplacement") == 0 ||
           strcmp(name, "SampledWithoutReplacement") == 0;
}

dpa_status dpa__event_sampled(const json_t *event, const char *name, dpa_adjacency adjacency,
                              dpa__event_made *out, dpa_error *err) {
    const json_t *inside = json_object_get(event, "event");
    char inner[64];
    double count = 1;
    if (!is_sampling(name))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "sampling '%s' is none of PoissonSampled, SampledWithReplacement, "
                         "SampledWithoutReplacement",
                         name);
    DPA_TRY(dpa__event_name(inside, inner, err));
    if (strcmp(inner, "SelfComposed") == 0) {
        DPA_TRY(dpa__event_number(inside, "count", &count, err));
        inside = json_object_get(inside, "event");
        DPA_TRY(dpa__event_name(inside, inner, err));
    }
    DPA_TRY(dpa__event_mechanism(inside, inner, adjacency, out, err));
    out->phase.steps *= (uint64_t)fmax(count, 1);
    dpa_pair *made = out->pair;
    if (made != NULL && out->phase.steps > 1) {
        dpa_pair_free(made);
        return dpa__fail(err, DPA_BAD_INPUT, "the event on a sample must be one mechanism");
    }
    const dpa_status status = strcmp(name, "PoissonSampled") == 0
                                  ? poisson(event, adjacency, out, err)
                                  : fixed_size(event, name, adjacency, out, err);
    if (status != DPA_OK && out->pair == made) dpa_pair_free(made);
    return status;
}
