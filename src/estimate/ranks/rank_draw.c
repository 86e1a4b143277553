/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of (W*, V): V uniform, W* with CDF 1−f, both sorted.
 *
 * Sorted uniforms come from exponential spacings, no sort needed. W* = (1−f)⁻¹(U) with U fixed
 * once: as t grows, f falls and every W* falls with it, so the statistic of a replicate only grows.
 * For `gaussian` W* against V is N(μ,1) against N(0,1): the draws are kept on the normal scale and
 * t is a shift. Elsewhere W* < V is asked as U < 1−f(V), one curve evaluation per non-member.
 *
 * Whether a statistic reaches a value is mostly told by every k-th draw alone. Between two of them
 * the number of non-members above a member is known to within k, so the statistic lies between two
 * sums; with k = √n/4 these are about one deviation of it apart, whatever n is. Only what they do
 * not decide is looked at whole, and only that is brought to the normal scale whole. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/ranks/rank.h"
#include "math/dist.h"
#include "math/quad.h"

/* Ascending uniforms: partial sums of exponentials over their total. */
static void sorted_uniforms(dpa_rng *rng, double *out, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        sum -= log(dpa__rng_uniform(rng));
        out[i] = sum;
    }
    sum -= log(dpa__rng_uniform(rng));
    const double scale = 1 / sum;
    for (size_t i = 0; i < count; ++i) out[i] *= scale;
}

/* Converts the values at multiples of the stride or, later, all others. */
static void to_normal(double *values, size_t count, size_t stride, int is_rest) {
    for (size_t i = 0; i < count; ++i)
        if ((i % stride == 0) != is_rest) values[i] = dpa__norm_quantile(values[i], DPA_UPPER);
}

static void convert(const dpa__rank_draws *d, size_t replicate, int is_rest) {
    double *values = d->values + replicate * (d->members + d->nonmembers);
    to_normal(values, d->members, d->stride, is_rest);
    to_normal(values + d->members, d->nonmembers, d->stride, is_rest);
}

dpa_status dpa__rank_draw(const dpa__model *model, size_t members, size_t nonmembers,
                          size_t replicates, uint64_t seed, dpa__rank_draws *out, dpa_error *err) {
    const size_t each = members + nonmembers;
    const double stride = 0.25 * sqrt((double)(members < nonmembers ? members : nonmembers));
    *out = (dpa__rank_draws){.replicates = replicates,
                             .members = members,
                             .nonmembers = nonmembers,
                             .is_normal = model->kind == DPA__MODEL_GAUSSIAN,
                             .stride = stride > 2 ? (size_t)stride : 2};
    out->values = dpa__malloc(replicates, each * sizeof(double), err);
    out->is_whole = dpa__calloc(replicates, 1, err);
    if (out->values == NULL || out->is_whole == NULL) {
        dpa__rank_draws_free(out);
        return DPA_NO_MEMORY;
    }
    for (size_t b = 0; b < replicates; ++b) {
        dpa_rng rng;
        double *values = out->values + b * each;
        dpa__rng_init(&rng, seed, DPA_PURPOSE_RANK, b);
        sorted_uniforms(&rng, values, members);
        sorted_uniforms(&rng, values + members, nonmembers);
        if (out->is_normal) convert(out, b, 0);
    }
    return DPA_OK;
}

void dpa__rank_draws_free(dpa__rank_draws *draws) {
    free(draws->values);
    free(draws->is_whole);
    draws->values = NULL;
    draws->is_whole = NULL;
}

double dpa__rank_simulated(const dpa__rank_draws *draws, size_t replicate,
                           const dpa__member *member, const double *weights, double *scratch) {
    const double *in = draws->values + replicate * (draws->members + draws->nonmembers);
    const double *out = in + draws->members;
    double sum = 0;
    size_t above = 0;
    if (draws->is_normal) {
        if (!draws->is_whole[replicate]) convert(draws, replicate, 1);
        draws->is_whole[replicate] = 1;
        for (size_t i = 0; i < draws->members; ++i) {
            const double score = in[i] + member->t;
            while (above < draws->nonmembers && out[above] >= score) ++above;
            sum += weights[above];
        }
        return sum;
    }
    for (size_t j = 0; j < draws->nonmembers; ++j)
        scratch[j] = dpa__curve_tpr(member->curve, out[j]);
    for (size_t i = 0; i < draws->members; ++i) {
        while (above < draws->nonmembers && scratch[above] <= in[i]) ++above;
        sum += weights[above];
    }
    return sum;
}

/* A non-member counts against a member if its key is at most the member's. Keys rise along both
 * lists. */
static double key_of(const dpa__rank_draws *d, const dpa__member *member, double out) {
    return d->is_normal ? -out : dpa__curve_tpr(member->curve, out);
}

/* Two sums that enclose the statistic. */
static void enclose(const dpa__rank_draws *d, size_t replicate, const dpa__member *member,
                    const double *weights, double *low, double *high) {
    const double *in = d->values + replicate * (d->members + d->nonmembers);
    const double *out = in + d->members;
    const size_t stride = d->stride;
    size_t next = 0; /* the first sampled non-member that is not above */
    double key = key_of(d, member, out[0]);
    *low = *high = 0;
    for (size_t i = 0; i < d->members; i += stride) {
        const double limit = d->is_normal ? -(in[i] + member->t) : in[i];
        const size_t left = d->members - i, length = left < stride ? left : stride;
        while (next < d->nonmembers && key <= limit) {
            next += stride;
            if (next < d->nonmembers) key = key_of(d, member, out[next]);
        }
        const size_t most = next < d->nonmembers ? next : d->nonmembers;
        *high += (double)length * weights[next > 0 ? next - stride + 1 : 0];
        if (i > 0) *low += (double)stride * weights[most]; /* the members before this one */
        if (left <= stride) *low += (double)length * weights[d->nonmembers];
    }
}

int dpa__rank_reaches(const dpa__rank_draws *draws, size_t replicate, const dpa__member *member,
                      const double *weights, double observed, double *scratch) {
    double low, high;
    enclose(draws, replicate, member, weights, &low, &high);
    /* more than the rounding error of any of the sums */
    const double rounding =
        1e-11 * (double)draws->members * fmax(fabs(weights[0]), fabs(weights[draws->nonmembers]));
    if (low - rounding > observed) return 1;
    if (high + rounding < observed) return 0;
    return dpa__rank_simulated(draws, replicate, member, weights, scratch) >= observed;
}

/* Mean and variance of U* = #{(i,j): W*_i < V_j} for m members and n non-members. With g = 1−f,
 *   A = Pr[W* < V] = ∫ g,  Q₁ = Pr[both of two W* < V] = ∫ g²,  Q₂ = Pr[W* < two V] = ∫ 2(1−v) g(v)
 * dv, Var U* = mn·(A(1−A) + (m−1)(Q₁−A²) + (n−1)(Q₂−A²)). For `gaussian` Q₁ = Q₂ by reflection.
 * Relative error of the quadrature: 1e-12. */

typedef struct integral {
    const dpa__member *member;
    enum { POWER_1, POWER_2, WEIGHTED, NORMAL } which;
} integral;

static double integrand(double v, void *user) {
    const integral *w = user;
    if (w->which == NORMAL) {
        const double win = dpa__norm_cdf(w->member->t - v, DPA_LOWER);
        return exp(dpa__norm_log_pdf(v)) * win * win;
    }
    const double g = dpa__curve_tpr(w->member->curve, v);
    return w->which == POWER_1 ? g : w->which == POWER_2 ? g * g : 2 * (1 - v) * g;
}

static dpa_status integrate(const dpa__member *member, int which, double *out, dpa_error *err) {
    static const double rates[] = {0, 1e-12, 1e-8, 1e-5, 1e-3, 0.05, 0.3, 0.5, 0.8, 1};
    const double normal[] = {-10, -5, 0, member->t, member->t + 5, member->t + 10};
    const double plain[] = {-10, -5, 0, 5, 10};
    integral w = {member, POWER_1};
    w.which = which;
    const int is_far = member->t > 0 && member->t < 5;
    const double *breaks = which != NORMAL ? rates : is_far ? normal : plain;
    const size_t count = which != NORMAL ? 10 : is_far ? 6 : 5;
    dpa__quad quad;
    const dpa_status status =
        dpa__integrate(integrand, &w, breaks, count, 1e-13, 1e-12, 200000, &quad, err);
    *out = quad.value;
    return status == DPA_NUMERIC ? DPA_OK : status; /* a curve of many corners: good to 1e-9 */
}

dpa_status dpa__rank_moments(const dpa__member *member, double m, double n, double *mean,
                             double *deviation, dpa_error *err) {
    double area, two_in, two_out;
    if (member->kind == DPA__MODEL_GAUSSIAN) {
        area = dpa__norm_cdf(member->t * M_SQRT1_2, DPA_LOWER);
        DPA_TRY(integrate(member, NORMAL, &two_in, err));
        two_out = two_in;
    } else {
        DPA_TRY(integrate(member, POWER_1, &area, err));
        DPA_TRY(integrate(member, POWER_2, &two_in, err));
        DPA_TRY(integrate(member, WEIGHTED, &two_out, err));
    }
    const double square = area * area;
    *mean = m * n * area;
    *deviation = sqrt(
        m * n *
        fmax(area * (1 - area) + (m - 1) * (two_in - square) + (n - 1) * (two_out - square), 0));
    return DPA_OK;
}
