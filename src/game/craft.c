/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Crafts examples by gradients with respect to the input. An orthogonal canary minimises |c(x)|
 * with c(x) = cos(u, m), where u(x) is the gradient with respect to the weights and m the mean of
 * the data's gradients. Its gradient is
 *     ∂c/∂x = Jᵀv, v = ∂c/∂u = (m/‖m‖ − c·u/‖u‖)/‖u‖, J = ∂u/∂x,
 * and Jᵀv = ∂/∂h of the input's gradient at the weights θ + h·v, computed as a central difference.
 * The minimum is known to be 0, so the step is Polyak's: c/‖∂c/∂x‖² times the gradient. The mean is
 * over gradients clipped as the trainer clips them, because those are in the observed sum;
 * Algorithm 3 as printed does not clip them. */
#include "game/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Single precision gives cosines to about this accuracy. */
static const double ENOUGH = 1e-5;

struct dpa__craft {
    const dpa_game_opts *opts;
    dpa__pool pool;
    size_t size, features, batch;
    dpa_model *model;     /* a copy with the same layers, whose weights are moved */
    dpa_trainer *trainer; /* sums clipped gradients of all probes at `model`'s weights */
    float *mean;          /* [size] */
    float *gradient;      /* [size] of the canary, with respect to the weights */
    float *direction;     /* [size] v, of length 1 */
    float *slope;         /* [features] gradient of the cosine with respect to the input */
    float *other;         /* [features] */
    float *best;          /* [features] */
    float low, high;      /* range of the pool's features */
    double clip;
};

static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)step;
    (void)err;
    dpa__craft *c = user;
    for (size_t i = 0; i < size; ++i) c->mean[i] = sum[i] / (float)c->batch;
    return DPA_OK;
}

/* A trainer that only sums gradients: all probes in every step, in the same order, no noise,
 * learning rate 0. */
static dpa_status make_trainer(dpa__craft *c, const dpa_train_plan *plan, dpa_error *err) {
    size_t *probe = dpa__pool_draw(&c->pool, c->batch, c->opts->seed, 0, err);
    if (probe == NULL) return DPA_NO_MEMORY;
    dpa_train_opts o;
    dpa_train_opts_init(&o);
    o.sampling = DPA_SAMPLE_POISSON;
    o.q = 1.0;
    o.batch = c->batch;
    o.rate = 0.0;
    o.clip = plan->train.clip;
    o.hooks = (dpa_train_hooks){.user = c, .sum = on_sum};
    const dpa_status status =
        dpa_trainer_new(c->model, c->pool.data, probe, c->batch, &o, &c->trainer, err);
    free(probe);
    return status;
}

static void find_range(dpa__craft *c) {
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t i = 0; i < c->pool.count; ++i) {
        const float *x = dpa_dataset_row(c->pool.data, c->pool.rows[i]);
        for (size_t j = 0; j < c->features; ++j) {
            c->low = fminf(c->low, x[j]);
            c->high = fmaxf(c->high, x[j]);
        }
    }
}

static dpa_status set_up(dpa__craft *c, const dpa_train_plan *plan, dpa_error *err) {
    DPA_TRY(dpa_model_new(plan->layers, dpa_dataset_shape(c->pool.data),
                          dpa_dataset_classes(c->pool.data), plan->loss, &c->model, err));
    c->size = dpa_model_size(c->model);
    float **const weights[] = {&c->mean, &c->gradient, &c->direction};
    float **const inputs[] = {&c->slope, &c->other, &c->best};
    for (size_t i = 0; i < 3; ++i) {
        *weights[i] = DPA_NEW_ARRAY(float, c->size, err);
        *inputs[i] = DPA_NEW_ARRAY(float, c->features, err);
        if (*weights[i] == NULL || *inputs[i] == NULL) return DPA_NO_MEMORY;
    }
    find_range(c);
    return make_trainer(c, plan, err);
}

dpa_status dpa__craft_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                          const dpa__pool *pool, dpa__craft **out, dpa_error *err) {
    dpa__craft *c = DPA_NEW(dpa__craft, err);
    if (c == NULL) return DPA_NO_MEMORY;
    *c = (dpa__craft){.opts = opts,
                      .pool = *pool,
                      .features = dpa_dataset_features(pool->data),
                      .clip = plan->train.clip};
    c->batch = opts->crafting_examples < pool->count ? opts->crafting_examples : pool->count;
    const dpa_status status = set_up(c, plan, err);
    if (status == DPA_OK)
        *out = c;
    else
        dpa__craft_free(c);
    return status;
}

void dpa__craft_free(dpa__craft *c) {
    if (c == NULL) return;
    dpa_trainer_free(c->trainer);
    dpa_model_free(c->model);
    free(c->mean);
    free(c->gradient);
    free(c->direction);
    free(c->slope);
    free(c->other);
    free(c->best);
    free(c);
}

static float between(float x, float low, float high) {
    return fminf(fmaxf(x, low), high);
}

dpa_status dpa__craft_adversarial(dpa__craft *c, const dpa_model *model, int32_t label, float *x,
                                  dpa_error *err) {
    const uint64_t steps = c->opts->crafting_steps;
    const float radius = (float)c->opts->radius;
    const float stride = (float)(2.5 * c->opts->radius / (double)steps); /* Madry et al. 2018 */
    memcpy(c->best, x, c->features * sizeof *x);                         /* the centre */
    for (uint64_t t = 0; t < steps; ++t) {
        DPA_TRY(dpa_model_gradient(model, x, label, NULL, c->slope, err));
        for (size_t j = 0; j < c->features; ++j) {
            if (c->slope[j] == 0.0F) continue;
            const float to = x[j] + copysignf(stride, c->slope[j]);
            const float near = between(to, c->best[j] - radius, c->best[j] + radius);
            x[j] = between(near, c->low, c->high);
        }
    }
    return DPA_OK;
}

static double length(const float *a, size_t count) {
    return sqrt(dpa__dot64(a, a, count));
}

/* Computes the cosine at x; NaN if one of the gradients vanishes. Leaves the gradient in
 * c->gradient. */
static dpa_status cosine(dpa__craft *c, const dpa_model *model, const float *x, int32_t label,
                         double *out, dpa_error *err) {
    DPA_TRY(dpa_model_gradient(model, x, label, c->gradient, NULL, err));
    const double norms = length(c->gradient, c->size) * length(c->mean, c->size);
    *out = norms > 0.0 ? dpa__dot64(c->gradient, c->mean, c->size) / norms : (double)NAN;
    return DPA_OK;
}

/* slope ← the input's gradient at θ + shift·direction */
static dpa_status moved_gradient(dpa__craft *c, dpa_model *model, double shift, const float *x,
                                 int32_t label, float *slope, dpa_error *err) {
    const float *from = dpa_model_weights(model);
    float *to = dpa_model_weights(c->model);
    for (size_t i = 0; i < c->size; ++i)
        to[i] = (float)((double)from[i] + shift * (double)c->direction[i]);
    return dpa_model_gradient(c->model, x, label, NULL, slope, err);
}

/* c->slope ← Jᵀ·direction/`by`, as a central difference. */
static dpa_status differentiate(dpa__craft *c, dpa_model *model, const float *x, int32_t label,
                                double by, dpa_error *err) {
    /* Small compared with the weights, large compared with their rounding. */
    const double scale = length(c->direction, c->size);
    const double shift = 1e-3 * (1.0 + length(dpa_model_weights(model), c->size)) / scale;
    DPA_TRY(moved_gradient(c, model, shift, x, label, c->slope, err));
    DPA_TRY(moved_gradient(c, model, -shift, x, label, c->other, err));
    for (size_t j = 0; j < c->features; ++j)
        c->slope[j] = (float)(((double)c->slope[j] - (double)c->other[j]) / (2.0 * shift * by));
    return DPA_OK;
}

/* c->slope ← ∂cos/∂x, from c->gradient at x, where the cosine is `cos`. */
static dpa_status find_slope(dpa__craft *c, dpa_model *model, const float *x, int32_t label,
                             double cos, dpa_error *err) {
    const double own = length(c->gradient, c->size), mean = length(c->mean, c->size);
    for (size_t i = 0; i < c->size; ++i)
        c->direction[i] = (float)((double)c->mean[i] / mean - cos * (double)c->gradient[i] / own);
    return differentiate(c, model, x, label, own, err);
}

dpa_status dpa__craft_orthogonal(dpa__craft *c, dpa_model *model, int32_t label, float *x,
                                 dpa_error *err) {
    const size_t features = c->features;
    /* Limits the step: beyond the range of the features the slope says nothing. */
    const double most = 0.5 * (double)(c->high - c->low) * sqrt((double)features);
    double lowest = INFINITY;
    memcpy(dpa_model_weights(c->model), dpa_model_weights(model), c->size * sizeof(float));
    DPA_TRY(dpa_trainer_step(c->trainer, NULL, err));
    memcpy(c->best, x, features * sizeof *x);
    for (uint64_t t = 0; t <= c->opts->crafting_steps; ++t) {
        double cos;
        DPA_TRY(cosine(c, model, x, label, &cos, err));
        if (fabs(cos) < lowest) {
            lowest = fabs(cos);
            memcpy(c->best, x, features * sizeof *x);
        }
        if (!(fabs(cos) > ENOUGH) || t == c->opts->crafting_steps) break;
        DPA_TRY(find_slope(c, model, x, label, cos, err));
        const double steep = length(c->slope, features);
        if (!(steep > 0.0) || !isfinite(steep)) break;
        const double move = copysign(fmin(fabs(cos) / steep, most), cos) / steep;
        for (size_t j = 0; j < features; ++j) x[j] -= (float)(move * (double)c->slope[j]);
    }
    memcpy(x, c->best, features * sizeof *x);
    return DPA_OK;
}

/* Computes what the filter sees of the clipped gradient u at x, f = uᵀM⁻¹u·min(1, C/‖u‖)², and in
 * c->direction the derivative of f with respect to u (up to the factor 2): M⁻¹u if u is not
 * clipped, else C²/‖u‖²·(M⁻¹u − (uᵀM⁻¹u/‖u‖²)·u). */
static dpa_status seen_at(dpa__craft *c, dpa__matched *m, const dpa_model *model, const float *x,
                          int32_t label, double *out, dpa_error *err) {
    DPA_TRY(dpa_model_gradient(model, x, label, c->gradient, NULL, err));
    const double whole = dpa__matched_apply(m, c->gradient, c->direction);
    const double norm = length(c->gradient, c->size);
    *out = whole;
    if (!(norm > c->clip)) return DPA_OK;
    const double cut = c->clip * c->clip / (norm * norm), share = whole / (norm * norm);
    for (size_t i = 0; i < c->size; ++i)
        c->direction[i] = (float)(cut * ((double)c->direction[i] - share * (double)c->gradient[i]));
    *out = cut * whole;
    return DPA_OK;
}

dpa_status dpa__craft_matched(dpa__craft *c, dpa__matched *m, dpa_model *model, int32_t label,
                              float *x, dpa_error *err) {
    const size_t features = c->features;
    /* Steps of a given length along the slope, which grows after a success and shrinks after a
     * failure. */
    double stride = 0.1 * (double)(c->high - c->low) * sqrt((double)features), most;
    DPA_TRY(seen_at(c, m, model, x, label, &most, err));
    for (uint64_t t = 0; t < c->opts->crafting_steps; ++t) {
        if (!(length(c->direction, c->size) > 0.0)) break;
        DPA_TRY(differentiate(c, model, x, label, 1.0, err));
        const double steep = length(c->slope, features);
        if (!(steep > 0.0) || !isfinite(steep)) break;
        for (size_t j = 0; j < features; ++j)
            c->best[j] = between((float)((double)x[j] + stride / steep * (double)c->slope[j]),
                                 c->low, c->high);
        double seen;
        DPA_TRY(seen_at(c, m, model, c->best, label, &seen, err));
        if (seen > most) {
            most = seen;
            stride *= 1.5;
            memcpy(x, c->best, features * sizeof *x);
        } else {
            stride *= 0.3;
            DPA_TRY(seen_at(c, m, model, x, label, &seen, err)); /* recomputes the direction at x */
        }
    }
    return DPA_OK;
}
