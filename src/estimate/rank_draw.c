/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of (W*, V): V uniform, W* with CDF 1−f, both sorted.
 *
 * Sorted uniforms come from exponential spacings, no sort needed. W* = (1−f)⁻¹(U) with U fixed
 * once: as t grows, f falls and every W* falls with it, so the statistic of a replicate only grows.
 * For `gaussian` W* against V is N(μ,1) against N(0,1): the draws are kept on the normal scale and
 * t is a shift. Elsewhere W* < V is asked as U < 1−f(V), one curve evaluation per non-member. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "dpaudit/rng.h"
#include "estimate/rank.h"
#include "math/dist.h"

/* Ascending uniforms: partial sums of exponentials over their total. */
static void sorted_uniforms(dpa_rng *rng, double *out, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        sum -= log(dpa_rng_uniform(rng));
        out[i] = sum;
    }
    sum -= log(dpa_rng_uniform(rng));
    const double scale = 1 / sum;
    for (size_t i = 0; i < count; ++i) out[i] *= scale;
}

static void to_normal(double *values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = dpa__norm_quantile(values[i], DPA_UPPER);
}

dpa_status dpa__rank_draw(const dpa__model *model, size_t members, size_t nonmembers,
                          size_t replicates, uint64_t seed, dpa__rank_draws *out, dpa_error *err) {
    const size_t each = members + nonmembers;
    *out = (dpa__rank_draws){.replicates = replicates,
                             .members = members,
                             .nonmembers = nonmembers,
                             .is_normal = model->kind == DPA__MODEL_GAUSSIAN};
    out->values = dpa__malloc(replicates, each * sizeof(double), err);
    if (out->values == NULL) return DPA_NO_MEMORY;
    for (size_t b = 0; b < replicates; ++b) {
        dpa_rng rng;
        double *values = out->values + b * each;
        dpa_rng_init(&rng, seed, DPA_PURPOSE_RANK, b);
        sorted_uniforms(&rng, values, members);
        sorted_uniforms(&rng, values + members, nonmembers);
        if (out->is_normal) to_normal(values, each);
    }
    return DPA_OK;
}

void dpa__rank_draws_free(dpa__rank_draws *draws) {
    free(draws->values);
    draws->values = NULL;
}

double dpa__rank_simulated(const dpa__rank_draws *draws, size_t replicate,
                           const dpa__member *member, const double *weights, double *scratch) {
    const double *in = draws->values + replicate * (draws->members + draws->nonmembers);
    const double *out = in + draws->members;
    double sum = 0;
    size_t above = 0;
    if (draws->is_normal) {
        for (size_t i = 0; i < draws->members; ++i) {
            const double score = in[i] + member->t;
            while (above < draws->nonmembers && out[above] >= score) ++above;
            sum += weights[above];
        }
        return sum;
    }
    for (size_t j = 0; j < draws->nonmembers; ++j)
        scratch[j] = dpa_curve_tpr(member->curve, out[j]);
    for (size_t i = 0; i < draws->members; ++i) {
        while (above < draws->nonmembers && scratch[above] <= in[i]) ++above;
        sum += weights[above];
    }
    return sum;
}
