/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian mixtures in one dimension by EM.
 *
 * One step costs count × components exponentials (mixture_block.c); points of weight 0 are left out
 * beforehand. The variances are kept at or above FLOOR times the sample's: the constrained
 * maximiser of each step is the larger of the two, so the likelihood still never falls (tests
 * assert it), and a component cannot collapse on one point. Ends when a step gains less than
 * TOLERANCE per point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "math/logspace.h"

static const double FLOOR = 1e-6, TOLERANCE = 1e-8, VANISHED = 1e-8;
/* The log of a weight of 0: its component is nowhere the likeliest. */
static const double LOG_NOTHING = -1e5;

typedef struct step {
    double *x, *weight; /* the points with weight, padded to whole blocks with weight 0 */
    size_t count;
    double total, floor;
    dpa__mixture_terms terms;
    dpa__moments sum[DPA_MIXTURE_MAX];
} step;

static dpa_status step_new(step *e, const dpa__weighted *s, double centre, dpa_error *err) {
    size_t used = 0;
    for (size_t i = 0; i < s->count; ++i) used += s->weight == NULL || s->weight[i] > 0;
    e->count = (used + DPA__BLOCK - 1) / DPA__BLOCK * DPA__BLOCK;
    e->x = DPA_NEW_ARRAY(double, 2 * e->count, err);
    if (e->x == NULL) return DPA_NO_MEMORY;
    e->weight = e->x + e->count;
    size_t at = 0;
    for (size_t i = 0; i < s->count; ++i) {
        if (s->weight != NULL && s->weight[i] == 0) continue;
        e->x[at] = s->value[i];
        e->weight[at++] = s->weight != NULL ? (double)s->weight[i] : 1.0;
    }
    for (; at < e->count; ++at) {
        e->x[at] = centre;
        e->weight[at] = 0.0;
    }
    e->total = s->total;
    e->terms.centre = centre;
    return DPA_OK;
}

/* Sums block by block, which keeps rounding errors small. */
static double expectation(step *e, const dpa_mixture *m) {
    dpa__mixture_terms *t = &e->terms;
    dpa__sum likelihood = {0, 0};
    memset(e->sum, 0, sizeof e->sum);
    t->count = m->count;
    for (size_t j = 0; j < m->count; ++j) {
        t->mean[j] = m->mean[j];
        t->scale[j] = 1.0 / m->deviation[j];
        t->log_factor[j] =
            fmax(log(m->weight[j]), LOG_NOTHING) - log(m->deviation[j]) - 0.5 * log(2.0 * M_PI);
    }
    for (size_t i = 0; i < e->count; i += DPA__BLOCK)
        dpa__sum_add(&likelihood, dpa__mixture_block(t, e->x + i, e->weight + i, e->sum));
    return dpa__sum_get(&likelihood);
}

static void maximisation(const step *e, dpa_mixture *m) {
    for (size_t j = 0; j < m->count; ++j) {
        const dpa__moments *s = &e->sum[j];
        m->weight[j] = s->weight / e->total;
        if (!(s->weight > VANISHED)) continue; /* nothing to estimate the rest from */
        const double mean = s->first / s->weight;
        m->mean[j] = e->terms.centre + mean;
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

/* Steps until one gains too little, or `most`. */
static dpa_status run_steps(step *e, dpa_mixture *m, unsigned most, double *trace,
                            dpa__watch *watch, dpa_error *err) {
    double before = -HUGE_VAL;
    m->converged = 0;
    for (m->iterations = 0; m->iterations < most && !m->converged; ++m->iterations) {
        m->log_likelihood = expectation(e, m);
        if (trace != NULL) trace[m->iterations] = m->log_likelihood;
        m->converged = m->log_likelihood - before < TOLERANCE * e->total;
        before = m->log_likelihood;
        if (!m->converged) maximisation(e, m);
        if (watch != NULL && dpa__watch_count(watch))
            return dpa__fail(err, DPA_CANCELLED, "%s: stopped on request", watch->what);
    }
    if (!m->converged) m->log_likelihood = expectation(e, m);
    m->bic = -2.0 * m->log_likelihood + (3.0 * (double)m->count - 1.0) * log(e->total);
    sort_components(m);
    return DPA_OK;
}

dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa__watch *watch, dpa_error *err) {
    dpa_mixture whole;
    DPA_TRY(dpa__normal_fit(sample, "given", &whole, err));
    step e = {.floor = FLOOR * whole.deviation[0] * whole.deviation[0]};
    DPA_TRY(step_new(&e, sample, whole.mean[0], err));
    const dpa_status status = run_steps(&e, m, most, trace, watch, err);
    free(e.x);
    return status;
}
