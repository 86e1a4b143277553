/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of the posterior of a family's parameter. Φ⁻¹(F(t)) is close to a straight line, so
 * solving Φ⁻¹(F(t)) = Φ⁻¹(p) takes about six evaluations of F. The bracket comes from single rates:
 * the member for both rates' quantiles at p/2 lies below the root, the one for quantiles at √p
 * above it (unless the mirror image of the region matters: then the bracket is widened). For the
 * closed families Newton's method on quick panels comes first, and one exact evaluation ends it. */
#include <math.h>

#include "base/error.h"
#include "estimate/posterior.h"
#include "math/dist.h"
#include "math/root.h"

typedef struct search {
    const dpa__posterior *posterior;
    const dpa__model *model;
    double level;      /* Φ⁻¹(p) */
    double quadrature; /* largest error of F seen */
    dpa_status status;
    dpa_error *err;
} search;

static double excess(double t, void *user) {
    search *s = user;
    dpa__mass mass;
    if (s->status == DPA_OK)
        s->status = dpa__posterior_mass(s->posterior, s->model, t, &mass, s->err);
    if (s->status != DPA_OK) return NAN;
    s->quadrature = fmax(s->quadrature, mass.error);
    return dpa__norm_quantile(mass.value, DPA_LOWER) - s->level;
}

/* The member for both rates' upper quantiles at `tail`; 0 above the diagonal. */
static dpa_status corner(const search *s, double tail, double *out, dpa_error *err) {
    const dpa__posterior *p = s->posterior;
    const double x = dpa__beta_quantile(tail, p->fnr.a, p->fnr.b, DPA_UPPER);
    const double y = dpa__beta_quantile(tail, p->fpr.a, p->fpr.b, DPA_UPPER);
    *out = 0;
    return x + y < 1 ? dpa__model_locate(s->model, x, y, 0, out, err) : DPA_OK;
}

/* [low, high] with F(low) < p ≤ F(high); low = high = 0 if the atom at 0 has enough mass. */
static dpa_status bracket(search *s, double p, double *low, double *high, dpa_error *err) {
    DPA_TRY(corner(s, 0.5 * p, low, err));
    DPA_TRY(corner(s, sqrt(p), high, err));
    *low = fmin(*low * (1 - 1e-9), s->model->max);
    *high = fmin(fmax(*high * (1 + 1e-9), 1e-3), s->model->max);
    if (*low > 0 && excess(*low, s) >= 0) *low = 0;
    if (*low == 0 && excess(0, s) >= 0) *high = 0;
    while (*high > 0 && *high < s->model->max && excess(*high, s) < 0) {
        *low = *high;
        *high = fmin(2 * *high, s->model->max);
        if (*high > 1e6)
            return dpa__fail(err, DPA_NUMERIC, "no member of the family is leaky enough");
    }
    return s->status;
}

/* Newton's method on z(t) = Φ⁻¹(F(t)) with the quick panels; NaN if it does not converge. */
static double newton(const search *s, double *slope) {
    dpa__gauss gauss;
    double t = NAN;
    dpa__gauss_legendre(DPA__GAUSS, gauss.node, gauss.weight);
    /* start where both rates contribute equally to the level */
    if (corner(s, dpa__norm_cdf(s->level * M_SQRT1_2, DPA_LOWER), &t, NULL) != DPA_OK) return NAN;
    for (int i = 0; i < 8 && t > 0 && isfinite(t); ++i) {
        double mass, density;
        dpa__posterior_quick(s->posterior, s->model, t, &gauss, &mass, &density);
        const double z = dpa__norm_quantile(mass, DPA_LOWER);
        *slope = density / exp(dpa__norm_log_pdf(z));
        const double step = (z - s->level) / *slope;
        if (!isfinite(step)) return NAN;
        t -= fmax(fmin(step, 0.5 * t), -0.5 * t);
        if (fabs(z - s->level) < 1e-3) return t; /* the next residual is about its square */
    }
    return NAN;
}

/* Exact evaluations and final Newton steps from `t`, usually one. *is_done stays 0 if `t` was too
 * far away. */
static dpa_status polish(const search *s, double slope, double *t, double *error, int *is_done,
                         dpa_error *err) {
    for (int i = 0; i < 4; ++i) {
        dpa__mass mass;
        DPA_TRY(dpa__posterior_mass(s->posterior, s->model, *t, &mass, err));
        const double z = dpa__norm_quantile(mass.value, DPA_LOWER);
        const double step = (z - s->level) / slope;
        if (!(fabs(z - s->level) < 1e-4 && fabs(step) < 1e-2 * *t)) return DPA_OK;
        *t -= step;
        /* the slope is that of the last quick step, less than 0.001 deviations away */
        const double left = 1e-3 * fabs(step);
        *error = (mass.error + 1e-15) / (slope * exp(dpa__norm_log_pdf(z))) + 1e-15 * *t + left;
        *is_done = left < 1e-10;
        if (*is_done) return DPA_OK;
    }
    return DPA_OK;
}

static dpa_status by_bracket(search *s, double p, double *t, double *error, dpa_error *err) {
    double low, high, density;
    DPA_TRY(bracket(s, p, &low, &high, err));
    *t = high;
    *error = 0;
    if (high == 0) return DPA_OK;
    if (high >= s->model->max && excess(high, s) < 0) return s->status;
    dpa__bracket root;
    const dpa_status status = dpa__root(excess, s, low, high, 1e-12, 1e-12, &root, err);
    if (s->status != DPA_OK) return s->status;
    DPA_TRY(status);
    *t = 0.5 * (root.lower + root.upper);
    DPA_TRY(dpa__posterior_density(s->posterior, s->model, *t, &density, err));
    *error = root.upper - root.lower + (s->quadrature + 1e-15) / density;
    return DPA_OK;
}

dpa_status dpa__posterior_quantile(const dpa__posterior *posterior, const dpa__model *model,
                                   double p, double *t, double *error, dpa_error *err) {
    search s = {posterior, model, dpa__norm_quantile(p, DPA_LOWER), 0, DPA_OK, err};
    if (model->kind != DPA__MODEL_CURVES) {
        double slope;
        int is_done = 0;
        *t = newton(&s, &slope);
        if (isfinite(*t)) DPA_TRY(polish(&s, slope, t, error, &is_done, err));
        if (is_done) return DPA_OK;
    }
    return by_bracket(&s, p, t, error, err);
}
