/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The posterior of ε as a function: density, distribution, mean, quantiles; and δ at a fixed ε. The
 * family's parameter t carries the computation, ε(t) is a change of variable. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/rates.h"
#include "estimate/registry.h"
#include "math/quad.h"
#include "math/root.h"

static dpa_status open_both(const dpa_counts *counts, const dpa_request *request,
                            const char *family, dpa__posterior *posterior, dpa__model *model,
                            dpa_error *err) {
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(dpa__counts_check(counts, err));
    *posterior = dpa__posterior_of(counts);
    return dpa__model_open(family, request->delta, model, err);
}

/* dε/dt by a central difference: 1 for dp. */
static dpa_status epsilon_slope(const dpa__model *model, double t, double delta, double *out,
                                dpa_error *err) {
    double low, high;
    *out = 1;
    if (model->kind == DPA__MODEL_DP) return DPA_OK;
    const double step = 1e-4 * t;
    const double above = fmin(t + step, model->max);
    DPA_TRY(dpa__model_epsilon(model, t - step, delta, 1, &low, err));
    DPA_TRY(dpa__model_epsilon(model, above, delta, 1, &high, err));
    *out = (high - low) / (above - (t - step));
    return DPA_OK;
}

/* F and its density to 1e-7, enough for a picture: one pass of fixed panels if the family has a
 * closed form. */
static dpa_status draw_at(const dpa__posterior *posterior, const dpa__model *model, double t,
                          const dpa__gauss *gauss, double *cumulative, double *density,
                          dpa_error *err) {
    dpa__mass mass;
    if (model->kind != DPA__MODEL_CURVES) {
        dpa__posterior_quick(posterior, model, t, gauss, cumulative, density);
        if (!isnan(*cumulative)) return DPA_OK;
    }
    DPA_TRY(dpa__posterior_mass(posterior, model, t, &mass, err));
    *cumulative = mass.value;
    return dpa__posterior_density(posterior, model, t, density, err);
}

static dpa_status point_at(const dpa__posterior *posterior, const dpa__model *model, double t,
                           double delta, const dpa__gauss *gauss, dpa__posterior_point *out,
                           dpa_error *err) {
    double density, slope;
    DPA_TRY(draw_at(posterior, model, t, gauss, &out->cumulative, &density, err));
    DPA_TRY(dpa__model_epsilon(model, t, delta, 1, &out->epsilon, err));
    DPA_TRY(epsilon_slope(model, t, delta, &slope, err));
    out->density = slope > 0 ? density / slope : 0;
    return DPA_OK;
}

static dpa_status trace(const dpa__posterior *posterior, const dpa__model *model, double delta,
                        dpa__posterior_point *points, size_t count, double *atom, dpa_error *err) {
    dpa__mass mass;
    dpa__gauss gauss;
    double low, high, error;
    dpa__gauss_legendre(DPA__GAUSS, gauss.node, gauss.weight);
    DPA_TRY(dpa__posterior_mass(posterior, model, 0, &mass, err));
    *atom = mass.value < 1e-11 ? 0 : mass.value;
    DPA_TRY(dpa__posterior_quantile(posterior, model, 0.001, &low, &error, err));
    DPA_TRY(dpa__posterior_quantile(posterior, model, 0.999, &high, &error, err));
    /* not at 0 itself, where ε(t) has no slope */
    low = fmax(low, 1e-3 * high);
    for (size_t i = 0; i < count; ++i) {
        const double share = count > 1 ? (double)i / (double)(count - 1) : 0.5;
        DPA_TRY(
            point_at(posterior, model, low + share * (high - low), delta, &gauss, &points[i], err));
    }
    return DPA_OK;
}

dpa_status dpa__posterior_curve(const dpa_counts *counts, const dpa_request *request,
                                const char *family, dpa__posterior_point *points, size_t count,
                                double *atom, dpa_error *err) {
    dpa__posterior posterior;
    dpa__model model;
    DPA_TRY(open_both(counts, request, family, &posterior, &model, err));
    const dpa_status status = trace(&posterior, &model, request->delta, points, count, atom, err);
    dpa__model_close(&model);
    return status;
}

typedef struct moment {
    const dpa__posterior *posterior;
    const dpa__model *model;
    double delta;
    dpa__gauss gauss;
    dpa_status status;
    dpa_error *err;
} moment;

static double weighted_epsilon(double t, void *user) {
    moment *m = user;
    double cumulative, density, epsilon;
    if (m->status == DPA_OK)
        m->status = draw_at(m->posterior, m->model, t, &m->gauss, &cumulative, &density, m->err);
    if (m->status == DPA_OK)
        m->status = dpa__model_epsilon(m->model, t, m->delta, 1, &epsilon, m->err);
    return m->status == DPA_OK ? density * epsilon : 0;
}

static dpa_status mean_of(moment *m, double *mean, dpa_error *err) {
    static const double level[] = {1e-3, 0.05, 0.5, 0.95, 0.999, 1 - 1e-12};
    double breaks[7] = {0}, error;
    size_t count = 1;
    for (size_t i = 0; i < sizeof level / sizeof level[0]; ++i) {
        double t;
        DPA_TRY(dpa__posterior_quantile(m->posterior, m->model, level[i], &t, &error, err));
        if (t > breaks[count - 1]) breaks[count++] = t;
    }
    *mean = 0;
    if (count < 2) return DPA_OK;
    if (m->model->kind != DPA__MODEL_CURVES) { /* smooth between the breaks: fixed panels do */
        for (size_t k = 1; k < count; ++k) {
            const double middle = 0.5 * (breaks[k] + breaks[k - 1]);
            const double half = 0.5 * (breaks[k] - breaks[k - 1]);
            for (int j = 0; j < DPA__GAUSS; ++j)
                *mean += half * m->gauss.weight[j] *
                         weighted_epsilon(middle + half * m->gauss.node[j], m);
        }
        return m->status;
    }
    dpa__quad quad;
    dpa_status status =
        dpa__integrate(weighted_epsilon, m, breaks, count, 1e-7, 1e-7, 4000, &quad, err);
    if (m->status != DPA_OK) return m->status;
    *mean = quad.value;
    return status == DPA_NUMERIC && quad.error < 1e-5 * quad.value ? DPA_OK : status;
}

dpa_status dpa__posterior_mean(const dpa_counts *counts, const dpa_request *request,
                               const char *family, double *mean, dpa_error *err) {
    dpa__posterior posterior;
    dpa__model model;
    DPA_TRY(open_both(counts, request, family, &posterior, &model, err));
    moment m = {&posterior, &model, request->delta, {{0}, {0}}, DPA_OK, err};
    dpa__gauss_legendre(DPA__GAUSS, m.gauss.node, m.gauss.weight);
    const dpa_status status = mean_of(&m, mean, err);
    dpa__model_close(&model);
    return status;
}

dpa_status dpa__posterior_epsilon(const dpa_counts *counts, const dpa_request *request,
                                  const char *family, double p, double *epsilon, dpa_error *err) {
    dpa__posterior posterior;
    dpa__model model;
    double t, error;
    if (!(p > 0 && p < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quantile: must be between 0 and 1, not %g", p);
    DPA_TRY(open_both(counts, request, family, &posterior, &model, err));
    dpa_status status = dpa__posterior_quantile(&posterior, &model, p, &t, &error, err);
    if (status == DPA_OK)
        status = dpa__model_epsilon(&model, t, request->delta, p < 0.5 ? -1 : 1, epsilon, err);
    dpa__model_close(&model);
    return status;
}

/* ── δ at a fixed ε ────────────────────────────────────────────────────────────────────────── */

typedef struct delta_search {
    const dpa__posterior *posterior;
    double epsilon, p;
} delta_search;

/* F at (ε,δ) minus p: grows with δ. */
static dpa_status region_excess(double delta, void *user, double *out, dpa_error *err) {
    const delta_search *s = user;
    const dpa__model model = {.kind = DPA__MODEL_DP, .delta = delta, .max = HUGE_VAL};
    dpa__mass mass;
    DPA_TRY(dpa__posterior_mass(s->posterior, &model, s->epsilon, &mass, err));
    *out = mass.value - s->p;
    return DPA_OK;
}

static dpa_status delta_by_posterior(const dpa__posterior *posterior, double epsilon, double p,
                                     double *delta, dpa_error *err) {
    delta_search s = {posterior, epsilon, p};
    dpa__bracket root;
    double at_zero;
    *delta = 0;
    DPA_TRY(region_excess(0, &s, &at_zero, err));
    if (at_zero >= 0) return DPA_OK;
    DPA_TRY(dpa__root_try(region_excess, &s, 0, 1, 1e-13, 1e-11, &root, err));
    *delta = root.lower;
    return DPA_OK;
}

static dpa_status dp_delta(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa_request *request, double epsilon, double *delta,
                           dpa_error *err) {
    const double p = 1 - request->confidence;
    if (entry->from_counts == dpa__from_posterior) {
        const dpa__posterior posterior = dpa__posterior_of(counts);
        return delta_by_posterior(&posterior, epsilon, p / request->sides, delta, err);
    }
    const dpa__rectangle r =
        dpa__rectangle_of(counts, (dpa__limit)entry->variant, p, request->sides);
    const double x = r.fnr[1], y = r.fpr[1], factor = exp(epsilon);
    *delta = fmax(0, fmax(1 - x - factor * y, 1 - y - factor * x));
    return DPA_OK;
}

static dpa_status family_delta(const dpa__entry *entry, const dpa_counts *counts,
                               const dpa__model *model, const dpa_request *request, double epsilon,
                               double *delta, dpa_error *err) {
    const double p = 1 - request->confidence;
    double t, error;
    if (entry->from_counts == dpa__from_posterior) {
        const dpa__posterior posterior = dpa__posterior_of(counts);
        DPA_TRY(dpa__posterior_quantile(&posterior, model, p / request->sides, &t, &error, err));
    } else {
        const dpa__rectangle r =
            dpa__rectangle_of(counts, (dpa__limit)entry->variant, p, request->sides);
        DPA_TRY(dpa__rectangle_lower(model, &r, &t, err));
    }
    return dpa__model_delta(model, t, epsilon, delta, err);
}

dpa_status dpa__delta_at_epsilon(const dpa_counts *counts, const dpa_request *request,
                                 const char *family, const char *method, double epsilon,
                                 double *delta, dpa_error *err) {
    dpa__posterior posterior;
    dpa__model model;
    const dpa__entry *entry = dpa__registry_find(method, err);
    if (entry == NULL) return DPA_BAD_ARGUMENT;
    if (entry->from_counts != dpa__from_posterior && entry->from_counts != dpa__from_rectangle)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "delta at an epsilon: by cp, jeffreys or bayes, "
                         "not %s",
                         method);
    if (!(epsilon >= 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "at-epsilon: must not be negative, not %g",
                         epsilon);
    DPA_TRY(open_both(counts, request, family, &posterior, &model, err));
    const dpa_status status =
        model.kind == DPA__MODEL_DP
            ? dp_delta(entry, counts, request, epsilon, delta, err)
            : family_delta(entry, counts, &model, request, epsilon, delta, err);
    dpa__model_close(&model);
    return status;
}
