/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tails, density and quantiles of a mixture of normals, each tail summed from its own side. */
#include <math.h>

#include "estimate/epsilon_star.h"
#include "math/dist.h"
#include "math/logspace.h"
#include "math/root.h"

static double tail(const dpa_mixture *m, double x, dpa__tail which) {
    double sum = 0.0;
    for (size_t i = 0; i < m->count; ++i)
        sum += m->weight[i] * dpa__norm_cdf((x - m->mean[i]) / m->deviation[i], which);
    return sum;
}

double dpa__mixture_upper(const dpa_mixture *m, double x) {
    return tail(m, x, DPA_UPPER);
}

double dpa__mixture_lower(const dpa_mixture *m, double x) {
    return tail(m, x, DPA_LOWER);
}

double dpa__mixture_log_pdf(const dpa_mixture *m, double x) {
    double term[DPA_MIXTURE_MAX];
    for (size_t i = 0; i < m->count; ++i)
        term[i] = log(m->weight[i]) - log(m->deviation[i]) +
                  dpa__norm_log_pdf((x - m->mean[i]) / m->deviation[i]);
    return dpa__log_sum(term, m->count);
}

double dpa__mixture_log_interval(const dpa_mixture *m, double a, double b) {
    double term[DPA_MIXTURE_MAX];
    for (size_t i = 0; i < m->count; ++i)
        term[i] = log(m->weight[i]) + dpa__norm_log_interval((a - m->mean[i]) / m->deviation[i],
                                                             (b - m->mean[i]) / m->deviation[i]);
    return dpa__log_sum(term, m->count);
}

typedef struct quantile_query {
    const dpa_mixture *m;
    double p;
} quantile_query;

static double excess(double x, void *user) {
    const quantile_query *q = user;
    return dpa__mixture_upper(q->m, x) - q->p;
}

dpa_status dpa__mixture_upper_quantile(const dpa_mixture *m, double p, double *x, dpa_error *err) {
    quantile_query q = {m, p};
    const double z = dpa__norm_quantile(p, DPA_UPPER);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < m->count; ++i) {
        const double at = m->mean[i] + z * m->deviation[i];
        low = fmin(low, at);
        high = fmax(high, at);
    }
    *x = low;
    if (!(low < high)) return DPA_OK;
    /* the mixture's quantile lies between those of its components, up to rounding */
    const double margin = 1e-9 * (high - low) + 1e-12 * fmax(fabs(low), fabs(high));
    dpa__bracket b;
    const dpa_status status =
        dpa__root(excess, &q, low - margin, high + margin, 0.0, 1e-15, &b, err);
    *x = 0.5 * (b.lower + b.upper);
    return status;
}

double dpa__mixture_draw(const dpa_mixture *m, dpa_rng *rng) {
    double u = dpa__rng_uniform(rng);
    size_t i = 0;
    while (i + 1 < m->count && u > m->weight[i]) u -= m->weight[i++];
    return m->mean[i] + m->deviation[i] * dpa__rng_normal(rng);
}

int dpa__mixture_equal(const dpa_mixture *a, const dpa_mixture *b) {
    int equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; ++i)
        equal = a->weight[i] == b->weight[i] && a->mean[i] == b->mean[i] &&
                a->deviation[i] == b->deviation[i];
    return equal;
}

int dpa__mixture_tails_differ(const dpa_mixture *a, const dpa_mixture *b) {
    size_t i = 0, j = 0;
    for (size_t k = 1; k < a->count; ++k)
        if (a->deviation[k] > a->deviation[i]) i = k;
    for (size_t k = 1; k < b->count; ++k)
        if (b->deviation[k] > b->deviation[j]) j = k;
    return a->deviation[i] != b->deviation[j] || a->mean[i] != b->mean[j];
}
