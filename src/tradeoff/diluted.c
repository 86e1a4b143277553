/* SPDX-License-Identifier: GPL-3.0-or-later */
/* t·f(α) + (1−t)(1−α): the member's law is a mixture of the exposed one (weight t) and the null,
 * hence 1 − f_t = t·tpr(α) + (1−t)·α, and δ_t(ε) = t·δ(ε') with e^ε' = 1 + (e^ε−1)/t (amplification
 * by sampling). Here f is symmetric. Of the two orders of the pair this one has the larger δ for
 * every ε ≥ 0 (Dong, Roth, Su, section 4.2: f_t lies below f_t⁻¹ where its slope is steeper than
 * −1), so δ(ε) and ε(δ) are closed forms. The inverse of f_t is found by a bracketed root search to
 * about 1e-15, relative also for small rates. A piecewise linear curve, symmetric or not, is
 * diluted by moving its vertices, without any search. */
#include <math.h>

#include "base/error.h"
#include "math/logspace.h"
#include "math/root.h"
#include "tradeoff/curve.h"

static const double tight = 1e-15;

typedef struct diluted_curve {
    dpa_curve base;
    dpa_curve *of; /* symmetric */
    double t;
} diluted_curve;

static const diluted_curve *diluted(const dpa_curve *curve) {
    return (const diluted_curve *)curve;
}

/* log(e^x − 1) for any x ≥ 0. */
static double log_expm1(double x) {
    return x > 1.0 ? x + log1p(-exp(-x)) : log(expm1(x));
}

/* e^ε = 1 + t (e^ε' − 1): how mixing with the null changes ε', and back. */
static double dilute_epsilon(double epsilon, double t) {
    if (epsilon < 700.0) return log1p(t * expm1(epsilon));
    return dpa__log1p_exp(log(t) + epsilon);
}

static double undilute_epsilon(double epsilon, double t) {
    return dpa__log1p_exp(log_expm1(epsilon) - log(t));
}

static double diluted_fnr(const dpa_curve *curve, double fpr) {
    const diluted_curve *c = diluted(curve);
    return c->t * dpa_curve_fnr(c->of, fpr) + (1.0 - c->t) * (1.0 - fpr);
}

static double diluted_tpr(const dpa_curve *curve, double fpr) {
    const diluted_curve *c = diluted(curve);
    return c->t * dpa__curve_tpr(c->of, fpr) + (1.0 - c->t) * fpr;
}

static double diluted_log_fnr(const dpa_curve *curve, double log_fpr) {
    const diluted_curve *c = diluted(curve);
    const double tpr = diluted_tpr(curve, exp(log_fpr));
    if (tpr < 0.5) return log1p(-tpr);
    return dpa__log_add(log(c->t) + dpa__curve_log_fnr(c->of, log_fpr),
                        log1p(-c->t) + dpa__log1m_exp(log_fpr));
}

typedef struct search {
    const dpa_curve *curve;
    double target;
} search;

static double tpr_gap(double fpr, void *user) {
    const search *s = user;
    return diluted_tpr(s->curve, fpr) / s->target - 1.0;
}

static double fnr_gap(double fpr, void *user) {
    const search *s = user;
    return s->target - diluted_fnr(s->curve, fpr);
}

/* α lies between the inverse of the undiluted curve and tpr itself, because α ≤ 1−f_t(α) ≤ 1−f(α).
 */
static double diluted_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    const diluted_curve *c = diluted(curve);
    if (tpr <= diluted_tpr(curve, 0.0)) return 0.0;
    const double lowest = dpa__curve_fpr_at_tpr(c->of, tpr);
    search s = {curve, tpr};
    dpa__bracket root;
    if (dpa__root(tpr_gap, &s, lowest, tpr, 0.0, tight, &root, NULL) != DPA_OK)
        return tpr_gap(lowest, &s) >= 0.0 ? lowest : tpr; /* rounding put the root at an end */
    return root.upper;
}

static double diluted_fpr(const dpa_curve *curve, double fnr) {
    if (fnr > 0.5) return diluted_fpr_at_tpr(curve, 1.0 - fnr);
    const double highest = 1.0 - fnr; /* f_t(α) ≤ 1 − α */
    search s = {curve, fnr};
    dpa__bracket root;
    if (dpa__root(fnr_gap, &s, 0.0, highest, 0.0, tight, &root, NULL) != DPA_OK)
        return fnr_gap(0.0, &s) >= 0.0 ? 0.0 : highest;
    return root.upper;
}

static double diluted_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side; /* the larger of both */
    const diluted_curve *c = diluted(curve);
    return log(c->t) + dpa__curve_log_delta(c->of, undilute_epsilon(epsilon, c->t));
}

static double diluted_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side;
    const diluted_curve *c = diluted(curve);
    return c->t * dpa_curve_delta(c->of, undilute_epsilon(epsilon, c->t));
}

static double diluted_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    (void)side;
    const diluted_curve *c = diluted(curve);
    if (delta >= c->t) return 0.0;
    /* If δ covers the mass at α = 0, δ/t must cover it too, despite rounding. */
    const double atom = dpa__curve_tpr(c->of, 0.0);
    const double inner = delta >= c->t * atom ? fmax(delta / c->t, atom) : delta / c->t;
    return dilute_epsilon(dpa_curve_epsilon(c->of, inner), c->t);
}

static void diluted_release(dpa_curve *curve) {
    dpa_curve_free(((diluted_curve *)curve)->of);
}

static const dpa__curve_kind diluted_kind = {
    .fnr = diluted_fnr,
    .tpr = diluted_tpr,
    .fpr = diluted_fpr,
    .fpr_at_tpr = diluted_fpr_at_tpr,
    .log_fnr = diluted_log_fnr,
    .delta = diluted_delta,
    .log_delta = diluted_log_delta,
    .epsilon = diluted_epsilon,
    .release = diluted_release,
};

/* The vertices of a piecewise linear curve move straight up, towards 1 − α. When the curve reaches
 * zero before α = 1, the flat part becomes a segment of its own. */
static dpa_status dilute_points(const dpa__points *p, double t, dpa_curve **out, dpa_error *err) {
    const size_t old = p->count;
    const size_t count = old + (p->tnr[old - 1] > 0.0);
    dpa__points *c = dpa__points_new(count, err);
    if (c == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        const int end = i == old; /* (1, 0) */
        c->fpr[i] = end ? 1.0 : p->fpr[i];
        c->tnr[i] = end ? 0.0 : p->tnr[i];
        c->tpr[i] = end ? 1.0 : t * p->tpr[i] + (1.0 - t) * p->fpr[i];
        c->fnr[i] = end ? 0.0 : t * p->fnr[i] + (1.0 - t) * p->tnr[i];
    }
    for (size_t i = 0; i + 1 < count; ++i) {
        const double dx = i + 1 < old ? p->dx[i] : p->tnr[old - 1];
        const double dy = i + 1 < old ? p->dy[i] : 0.0;
        c->dx[i] = dx;
        c->dy[i] = t * dy + (1.0 - t) * dx;
    }
    dpa__points_seal(c);
    *out = &c->base;
    return DPA_OK;
}

dpa_status dpa__curve_diluted(const dpa_curve *curve, double t, dpa_curve **out, dpa_error *err) {
    if (!(t >= 0.0 && t <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the share is %g; it must be from 0 to 1", t);
    if (t == 0.0) return dpa_curve_dp(0.0, 0.0, out, err);
    if (t == 1.0) {
        *out = dpa__curve_share(curve);
        return DPA_OK;
    }
    const dpa__points *points = dpa__points_of(curve);
    if (points != NULL) return dilute_points(points, t, out, err);
    diluted_curve *c = dpa__curve_new(sizeof *c, &diluted_kind, 0, err);
    if (c == NULL) return DPA_NO_MEMORY;
    const int twice = curve->kind == &diluted_kind; /* diluting twice multiplies the shares */
    c->of = dpa__curve_share(twice ? diluted(curve)->of : curve);
    c->t = twice ? t * diluted(curve)->t : t;
    *out = &c->base;
    return DPA_OK;
}
