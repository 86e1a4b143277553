/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A private sum over Poisson batches has the mean q·Σgᵢ and the covariance
 *     M = σ²C²·I + q(1−q)·Σ gᵢgᵢᵀ,
 * where gᵢ are the clipped gradients of the members. The best linear test for a canary with
 * gradient g′ projects on w = M⁻¹g′: ⟨w, sum⟩ has variance ⟨w, g′⟩, and the canary shifts it by ⟨w,
 * g′⟩. The sums are taken over K examples of the pool and scaled by members/K. With G [K × size] of
 * their gradients and λ = σ²C²·K/(q(1−q)·members), Woodbury's identity gives M⁻¹g = (g − Gᵀ(λI +
 * GGᵀ)⁻¹Gg)/(σ²C²). w depends on weights and data alone, never on whether the canary is in, so
 * scores stay valid however well or badly K examples represent the members. */
#include "game/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"
#include "train/product.h"

struct dpa__matched {
    dpa__pool pool;
    size_t size, examples, *rows; /* rows: [examples] of the pool's data */
    double clip, noise;           /* C and σ²C² */
    double spread;                /* q(1−q)·members/K; 0: nothing but noise hides the canary */
    double expected;              /* q·members/K */
    float *gradients;             /* [examples × size], clipped */
    float *mean;                  /* [size] mean of a sum without the canary */
    float *gram32;                /* [examples × examples] */
    float *products;              /* [examples] */
    double *solution;             /* [examples] */
    dpa__gram gram;               /* factor of λI + GGᵀ */
};

static double rate_of(const dpa_train_plan *plan, size_t members) {
    const double q = dpa_train_plan_q(plan, members);
    if (isfinite(q)) return q;
    return fmin(1.0, (double)plan->train.batch / (double)members);
}

static dpa_status set_up(dpa__matched *m, uint64_t seed, dpa_error *err) {
    const size_t k = m->examples;
    m->rows = dpa__pool_draw(&m->pool, k, seed, 1, err);
    m->gradients = dpa__malloc(k, m->size * sizeof(float), err);
    m->mean = DPA_NEW_ARRAY(float, m->size, err);
    m->gram32 = DPA_NEW_ARRAY(float, k *k, err);
    m->products = DPA_NEW_ARRAY(float, k, err);
    m->solution = DPA_NEW_ARRAY(double, k, err);
    if (m->rows == NULL || m->gradients == NULL || m->mean == NULL || m->gram32 == NULL ||
        m->products == NULL || m->solution == NULL)
        return DPA_NO_MEMORY;
    return dpa__gram_new(k, &m->gram, err);
}

dpa_status dpa__matched_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                            const dpa__pool *pool, size_t members, size_t size, dpa__matched **out,
                            dpa_error *err) {
    dpa__matched *m = DPA_NEW(dpa__matched, err);
    if (m == NULL) return DPA_NO_MEMORY;
    const double q = rate_of(plan, members), clip = plan->train.clip, sigma = plan->train.sigma;
    const size_t k =
        opts->filter_examples < pool->count ? (size_t)opts->filter_examples : pool->count;
    *m = (dpa__matched){.pool = *pool,
                        .size = size,
                        .examples = k,
                        .clip = clip,
                        .noise = sigma * sigma * clip * clip,
                        .spread = q * (1.0 - q) * (double)members / (double)k,
                        .expected = q * (double)members / (double)k};
    const dpa_status status = set_up(m, opts->seed, err);
    if (status == DPA_OK)
        *out = m;
    else
        dpa__matched_free(m);
    return status;
}

void dpa__matched_free(dpa__matched *m) {
    if (m == NULL) return;
    free(m->rows);
    free(m->gradients);
    free(m->mean);
    free(m->gram32);
    free(m->products);
    free(m->solution);
    dpa__gram_free(&m->gram);
    free(m);
}

/* Computes gradient i, clipped as the trainer clips it, and adds it to the mean. */
static dpa_status find_gradient(dpa__matched *m, const dpa_model *model, dpa__trainer *trainer,
                                size_t i, dpa_error *err) {
    float *g = m->gradients + i * m->size;
    const size_t row = m->rows[i];
    const dpa_dataset *data = m->pool.data;
    DPA_TRY(trainer != NULL ? trainer->calls->gradient(trainer, row, g, err)
                            : dpa_model_gradient(model, dpa_dataset_row(data, row),
                                                 dpa_dataset_label(data, row), g, NULL, err));
    const double square = dpa__dot64(g, g, m->size);
    if (!isfinite(square))
        return dpa__fail(err, DPA_NUMERIC, "a gradient of the data is not finite");
    const float factor = square > m->clip * m->clip ? (float)(m->clip / sqrt(square)) : 1.0F;
    for (size_t j = 0; j < m->size; ++j) {
        g[j] *= factor;
        m->mean[j] += (float)m->expected * g[j];
    }
    return DPA_OK;
}

dpa_status dpa__matched_look(dpa__matched *m, const dpa_model *model, dpa__trainer *trainer,
                             dpa_error *err) {
    const size_t k = m->examples;
    memset(m->mean, 0, m->size * sizeof *m->mean);
    for (size_t i = 0; i < k; ++i) DPA_TRY(find_gradient(m, model, trainer, i, err));
    if (!(m->spread > 0.0)) return DPA_OK;
    dpa__product(k, k, m->size, dpa__rows_of(m->gradients, m->size),
                 dpa__columns_of(m->gradients, m->size), 0, m->gram32);
    for (size_t i = 0; i < k; ++i)
        for (size_t j = i; j < k; ++j) m->gram.g[i * k + j] = (double)m->gram32[i * k + j];
    for (size_t i = 0; i < k; ++i) m->gram.g[i * k + i] += m->noise / m->spread;
    dpa__gram_cholesky(&m->gram);
    return DPA_OK;
}

double dpa__matched_apply(dpa__matched *m, const float *g, float *w) {
    const size_t k = m->examples;
    for (size_t j = 0; j < m->size; ++j) w[j] = g[j];
    if (m->spread > 0.0) {
        dpa__product(k, 1, m->size, dpa__rows_of(m->gradients, m->size), dpa__rows_of(g, 1), 0,
                     m->products);
        for (size_t i = 0; i < k; ++i) m->solution[i] = (double)m->products[i];
        dpa__gram_solve(&m->gram, m->solution);
        for (size_t i = 0; i < k; ++i) m->products[i] = (float)-m->solution[i];
        dpa__add_weighted(m->gradients, k, m->size, m->products, w);
    }
    double product = 0.0;
    for (size_t j = 0; j < m->size; ++j) {
        w[j] = (float)((double)w[j] / m->noise);
        product += (double)w[j] * (double)g[j];
    }
    return product;
}

double dpa__matched_along(const dpa__matched *m, const float *w, const float *sum) {
    double dot = 0.0;
    for (size_t j = 0; j < m->size; ++j)
        dot += (double)w[j] * ((double)sum[j] - (double)m->mean[j]);
    return dot;
}
