/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian mixtures in one dimension by EM.
 *
 * One step costs count × components exponentials. The variances are kept at or above FLOOR times
 * the sample's: the constrained maximiser of each step is the larger of the two, so the likelihood
 * still never falls (tests assert it), and a component cannot collapse on one point. Ends when a
 * step gains less than TOLERANCE per point. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/epsilon_star.h"
#include "math/logspace.h"

enum { BLOCK = 256 };
static const double FLOOR = 1e-6, TOLERANCE = 1e-8, VANISHED = 1e-8;

typedef struct moments {
    double weight, first, second; /* Σ r, Σ r(x−c), Σ r(x−c)² */
} moments;

typedef struct step {
    const dpa__weighted *sample;
    double centre, floor;
    double log_factor[DPA_MIXTURE_MAX], scale[DPA_MIXTURE_MAX];
    moments sum[DPA_MIXTURE_MAX];
} step;

static double weight_of(const dpa__weighted *s, size_t i) {
    return s->weight != NULL ? (double)s->weight[i] : 1.0;
}

/* Responsibilities of one point go into `sum`; its log-likelihood is returned. */
static double add_point(const step *e, const dpa_mixture *m, double x, double weight,
                        moments *sum) {
    double term[DPA_MIXTURE_MAX], most = -HUGE_VAL, total = 0.0;
    for (size_t j = 0; j < m->count; ++j) {
        const double z = (x - m->mean[j]) * e->scale[j];
        term[j] = e->log_factor[j] - 0.5 * z * z;
        if (term[j] > most) most = term[j];
    }
    for (size_t j = 0; j < m->count; ++j) total += term[j] = exp(term[j] - most);
    const double d = x - e->centre;
    for (size_t j = 0; j < m->count; ++j) {
        const double r = weight * term[j] / total;
        sum[j].weight += r;
        sum[j].first += r * d;
        sum[j].second += r * d * d;
    }
    return weight * (most + log(total));
}

/* Block by block, so that rounding errors stay those of BLOCK plus count/BLOCK additions. */
static double expectation(step *e, const dpa_mixture *m) {
    const dpa__weighted *s = e->sample;
    dpa__sum likelihood = {0, 0};
    memset(e->sum, 0, sizeof e->sum);
    for (size_t j = 0; j < m->count; ++j) {
        e->scale[j] = 1.0 / m->deviation[j];
        e->log_factor[j] = log(m->weight[j]) - log(m->deviation[j]) - 0.5 * log(2.0 * M_PI);
    }
    for (size_t first = 0; first < s->count; first += BLOCK) {
        moments block[DPA_MIXTURE_MAX] = {{0, 0, 0}};
        const size_t end = first + BLOCK < s->count ? first + BLOCK : s->count;
        double part = 0.0;
        for (size_t i = first; i < end; ++i)
            if (weight_of(s, i) > 0.0) part += add_point(e, m, s->value[i], weight_of(s, i), block);
        dpa__sum_add(&likelihood, part);
        for (size_t j = 0; j < m->count; ++j) {
            e->sum[j].weight += block[j].weight;
            e->sum[j].first += block[j].first;
            e->sum[j].second += block[j].second;
        }
    }
    return dpa__sum_get(&likelihood);
}

static void maximisation(const step *e, dpa_mixture *m) {
    for (size_t j = 0; j < m->count; ++j) {
        const moments *s = &e->sum[j];
        m->weight[j] = s->weight / e->sample->total;
        if (!(s->weight > VANISHED)) continue; /* nothing to estimate the rest from */
        const double mean = s->first / s->weight;
        m->mean[j] = e->centre + mean;
        m->deviation[j] = sqrt(fmax(s->second / s->weight - mean * mean, e->floor));
    }
}

static void sort_components(dpa_mixture *m) {
    for (size_t i = 1; i < m->count; ++i)
        for (size_t j = i; j > 0 && m->mean[j] < m->mean[j - 1]; --j) {
            double *const field[3] = {m->weight, m->mean, m->deviation};
            for (int f = 0; f < 3; ++f) {
                const double held = field[f][j];
                field[f][j] = field[f][j - 1];
                field[f][j - 1] = held;
            }
        }
}

dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa_error *err) {
    dpa_mixture whole;
    DPA_TRY(dpa__normal_fit(sample, "given", &whole, err));
    step e = {.sample = sample,
              .centre = whole.mean[0],
              .floor = FLOOR * whole.deviation[0] * whole.deviation[0]};
    double before = -HUGE_VAL;
    m->converged = 0;
    for (m->iterations = 0; m->iterations < most && !m->converged; ++m->iterations) {
        m->log_likelihood = expectation(&e, m);
        if (trace != NULL) trace[m->iterations] = m->log_likelihood;
        m->converged = m->log_likelihood - before < TOLERANCE * sample->total;
        before = m->log_likelihood;
        if (!m->converged) maximisation(&e, m);
    }
    if (!m->converged) m->log_likelihood = expectation(&e, m);
    m->bic = -2.0 * m->log_likelihood + (3.0 * (double)m->count - 1.0) * log(sample->total);
    sort_components(m);
    return DPA_OK;
}
