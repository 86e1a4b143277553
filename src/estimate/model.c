/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families for the estimators of rates: members, and the member that a pair of rates points at.
 *
 * `dp`: f(α) = max(0, 1−δ−e^ε α, e^−ε(1−δ−α)), and a pair (x,y) below the diagonal belongs to
 * ε = max{log((1−δ−y)/x), log((1−δ−x)/y), 0} (bayesian-estimation, Eq. 1).
 * `gaussian`: f(α) = Φ(Φ⁻¹(1−α)−μ), and μ = Φ⁻¹(1−y) − Φ⁻¹(x) (tight-auditing, Eq. 12).
 * Both to a few ulps of their parts. Other families: a bracketed root over t, each step one curve.
 */
#include "estimate/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "math/dist.h"
#include "math/root.h"

static const struct {
    const char *name;
    dpa__model_kind kind;
    unsigned assumption;
} known[] = {
    {"dp", DPA__MODEL_DP, DPA_ASSUME_FAMILY_DP},
    {"gaussian", DPA__MODEL_GAUSSIAN, DPA_ASSUME_FAMILY_GAUSSIAN},
    {"laplace", DPA__MODEL_CURVES, DPA_ASSUME_FAMILY_LAPLACE},
    {"subsampled-gaussian", DPA__MODEL_CURVES, DPA_ASSUME_FAMILY_SUBSAMPLED},
    {"points", DPA__MODEL_CURVES, DPA_ASSUME_FAMILY_POINTS},
    {"pair", DPA__MODEL_CURVES, DPA_ASSUME_FAMILY_POINTS},
    {"ledger", DPA__MODEL_CURVES, DPA_ASSUME_FAMILY_POINTS},
};

/* The row of the name at the beginning of a text, which one of `ends` or nothing follows; -1: none.
 */
static int find_name(const char *text, const char *ends) {
    const size_t length = strcspn(text, ends);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (strlen(known[i].name) == length && strncmp(text, known[i].name, length) == 0)
            return (int)i;
    return -1;
}

int dpa__model_is_named(const char *text) {
    return find_name(text, ":+") >= 0;
}

unsigned dpa__model_assumption(const char *spec) {
    const int i = find_name(spec, ":");
    return i < 0 ? 0 : known[i].assumption;
}

dpa_status dpa__model_open(const char *spec, double delta, dpa__model *out, dpa_error *err) {
    *out = (dpa__model){.delta = delta, .max = INFINITY};
    const int i = find_name(spec, ":");
    if (strlen(spec) >= sizeof out->spec)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family: longer than %zu characters",
                         sizeof out->spec - 1);
    memcpy(out->spec, spec, strlen(spec) + 1);
    if (i < 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "family: '%s' is none of dp, gaussian, laplace, "
                         "subsampled-gaussian:q=Q,steps=T, points:FILE, pair:FILE, ledger:FILE",
                         spec);
    out->kind = known[i].kind;
    out->assumption = known[i].assumption;
    out->parameter = out->kind == DPA__MODEL_DP ? "epsilon" : "mu";
    if (out->kind != DPA__MODEL_CURVES && strchr(spec, ':') == NULL) return DPA_OK;
    DPA_TRY(dpa__family_parse(spec, delta, &out->family, err));
    if (out->kind != DPA__MODEL_CURVES) return DPA_OK;
    out->parameter = dpa__family_parameter(out->family);
    out->max = dpa__family_max(out->family);
    return DPA_OK;
}

void dpa__model_close(dpa__model *model) {
    if (model == NULL) return;
    dpa__family_free(model->family);
    model->family = NULL;
}

dpa__model dpa__model_directed(const dpa__model *model) {
    dpa__model directed = *model;
    directed.is_directed = 1;
    return directed;
}

dpa_status dpa__model_curve(const dpa__model *model, double t, dpa_curve **out, dpa_error *err) {
    switch (model->kind) {
    case DPA__MODEL_DP:
        return dpa_curve_dp(t, model->delta, out, err);
    case DPA__MODEL_GAUSSIAN:
        return dpa_curve_gaussian(t, out, err);
    case DPA__MODEL_CURVES:
        break;
    }
    return model->is_directed ? dpa__family_directed(model->family, t, out, err)
                              : dpa__family_curve(model->family, t, out, err);
}

double dpa__model_value(const dpa__model *model, double t) {
    return model->kind == DPA__MODEL_CURVES ? dpa__family_value(model->family, t) : t;
}

dpa_status dpa__model_epsilon(const dpa__model *model, double t, double delta, int side,
                              double *out, dpa_error *err) {
    dpa_interval interval;
    switch (model->kind) {
    case DPA__MODEL_DP: /* (t,δ₀)-DP is not known to be better at another δ */
        *out = t;
        return DPA_OK;
    case DPA__MODEL_GAUSSIAN:
        *out = isinf(t) ? HUGE_VAL : dpa_gaussian_epsilon(t, delta);
        return DPA_OK;
    case DPA__MODEL_CURVES:
        if (t == 0 || isinf(t)) {
            *out = t;
            return DPA_OK;
        }
        DPA_TRY(dpa__family_epsilon(model->family, t, delta, &interval, err));
        *out = side < 0 ? interval.lower : interval.upper;
        return DPA_OK;
    }
    return dpa__fail(err, DPA_INTERNAL, "model of no kind");
}

dpa_status dpa__model_claim(const dpa__model *model, double epsilon, double delta, double *t,
                            dpa_error *err) {
    switch (model->kind) {
    case DPA__MODEL_DP:
        *t = delta == model->delta ? epsilon : (double)NAN;
        return DPA_OK;
    case DPA__MODEL_GAUSSIAN:
        *t = dpa_gaussian_mu(epsilon, delta);
        return DPA_OK;
    case DPA__MODEL_CURVES:
        return dpa__family_claim(model->family, epsilon, delta, t, err);
    }
    return dpa__fail(err, DPA_INTERNAL, "model of no kind");
}

dpa_status dpa__model_delta(const dpa__model *model, double t, double epsilon, double *out,
                            dpa_error *err) {
    if (model->kind == DPA__MODEL_DP)
        return dpa__fail(err, DPA_INTERNAL,
                         "delta of a dp member is what the family was made with");
    if (model->kind == DPA__MODEL_GAUSSIAN || t == 0 || isinf(t)) {
        *out = t > 0 ? exp(dpa__gaussian_log_delta(t, epsilon)) : 0;
        return DPA_OK;
    }
    dpa_curve *curve = NULL;
    DPA_TRY(dpa__family_curve(model->family, t, &curve, err));
    *out = dpa_curve_delta(curve, epsilon);
    dpa_curve_free(curve);
    return DPA_OK;
}

/* ── members ───────────────────────────────────────────────────────────────────────────────── */

static double above_fixed(double s, void *user) {
    return dpa_curve_fnr(user, s) - s;
}

dpa_status dpa__member_open(const dpa__model *model, double t, dpa__member *out, dpa_error *err) {
    *out = (dpa__member){.kind = model->kind, .t = t, .delta = model->delta, .end = 1};
    switch (model->kind) {
    case DPA__MODEL_DP:
        out->end = 1 - model->delta;
        out->fixed = out->end / (1 + exp(t));
        return DPA_OK;
    case DPA__MODEL_GAUSSIAN:
        out->fixed = dpa__norm_cdf(-0.5 * t, DPA_LOWER);
        return DPA_OK;
    case DPA__MODEL_CURVES:
        break;
    }
    DPA_TRY(dpa__model_curve(model, t, &out->curve, err));
    return dpa__member_complete(out, err);
}

dpa_status dpa__member_complete(dpa__member *m, dpa_error *err) {
    dpa__bracket fixed;
    m->end = 1;
    const dpa_status status = dpa__root(above_fixed, m->curve, 0, 1, 1e-300, 1e-15, &fixed, err);
    m->fixed = fixed.upper;
    if (status != DPA_OK) dpa__member_close(m);
    return status;
}

void dpa__member_close(dpa__member *member) {
    dpa_curve_free(member->curve);
    member->curve = NULL;
}

/* Φ⁻¹(1−s) from the smaller of s and 1−s. */
static double normal_of_rate(double s, double rest) {
    return s < 0.5 ? dpa__norm_quantile(s, DPA_UPPER) : dpa__norm_quantile(rest, DPA_LOWER);
}

double dpa__member_fnr(const dpa__member *m, double s, double rest) {
    switch (m->kind) {
    case DPA__MODEL_DP:
        return s >= m->fixed ? exp(-m->t) * fmax(rest, 0) : fmax(m->end - exp(m->t) * s, 0);
    case DPA__MODEL_GAUSSIAN:
        return dpa__norm_cdf(normal_of_rate(s, rest) - m->t, DPA_LOWER);
    case DPA__MODEL_CURVES:
        break;
    }
    return dpa_curve_fnr(m->curve, s);
}

double dpa__member_fpr(const dpa__member *m, double s, double rest) {
    return m->kind == DPA__MODEL_CURVES ? dpa_curve_fpr(m->curve, s) : dpa__member_fnr(m, s, rest);
}

double dpa__member_slope(const dpa__member *m, double s, double rest) {
    if (m->kind == DPA__MODEL_DP) return -exp(-m->t) * fmax(rest, 0);
    if (m->kind == DPA__MODEL_GAUSSIAN)
        return -exp(dpa__norm_log_pdf(normal_of_rate(s, rest) - m->t));
    return NAN;
}

/* ── from rates to a member ────────────────────────────────────────────────────────────────── */

static double locate_dp(double x, double y, double delta) {
    const double first = (1 - delta - y) / x, second = (1 - delta - x) / y;
    const double ratio = fmax(first, second);
    return ratio > 1 ? log(ratio) : 0;
}

/* Where a search ends: beyond it a member is taken for the leakiest. */
static const double FAR = 0x1p20;

typedef struct search {
    const dpa_family *family;
    double fnr, fpr;
} search;

/* Positive while the member at t is too private for the pair. */
static dpa_status excess(double t, void *user, double *out, dpa_error *err) {
    const search *s = user;
    dpa_curve *curve;
    DPA_TRY(dpa__family_curve(s->family, t, &curve, err));
    const double one = dpa_curve_fnr(curve, s->fpr) - s->fnr;
    const double other =
        dpa__curve_is_symmetric(curve) ? one : dpa_curve_fnr(curve, s->fnr) - s->fpr;
    dpa_curve_free(curve);
    *out = fmax(one, other);
    return DPA_OK;
}

dpa_status dpa__model_locate(const dpa__model *model, double fnr, double fpr, int side, double *out,
                             dpa_error *err) {
    const int is_opposite = fnr + fpr > 1;
    const double x = is_opposite ? 1 - fnr : fnr, y = is_opposite ? 1 - fpr : fpr;
    if (model->kind == DPA__MODEL_DP) {
        *out = x == 0 && y == 0 ? HUGE_VAL : locate_dp(x, y, model->delta);
        return DPA_OK;
    }
    if (x + y >= 1) {
        *out = 0;
        return DPA_OK;
    }
    if ((x == 0 || y == 0) && isinf(model->max)) { /* no finite member has a rate of zero */
        *out = INFINITY;
        return DPA_OK;
    }
    if (model->kind == DPA__MODEL_GAUSSIAN) {
        *out = fmax(0, normal_of_rate(y, 1 - y) - dpa__norm_quantile(x, DPA_LOWER));
        return DPA_OK;
    }
    search s = {model->family, x, y};
    const double most = fmin(model->max, FAR);
    dpa__bracket root;
    DPA_TRY(dpa__root_above(excess, &s, 1, most, 1e-12, &root, err));
    *out = root.lower >= most ? model->max : side < 0 ? root.lower : root.upper;
    return DPA_OK;
}
