/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public functions of all families: arguments are checked here, once, and the two orientations
 * of an asymmetric curve are combined. */
#include "tradeoff/curve.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

void *dpa__curve_new(size_t size, const dpa__curve_kind *kind, int symmetric, dpa_error *err) {
    dpa_curve *curve = dpa__calloc(1, size, err);
    if (curve == NULL) return NULL;
    curve->kind = kind;
    curve->symmetric = symmetric;
    atomic_init(&curve->references, 1);
    return curve;
}

dpa_curve *dpa__curve_share(const dpa_curve *curve) {
    /* The reference count is all that ever changes in a curve, so the const cast is harmless. */
    dpa_curve *shared = (dpa_curve *)curve;
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

void dpa_curve_free(dpa_curve *curve) {
    if (curve == NULL) return;
    if (atomic_fetch_sub_explicit(&curve->references, 1, memory_order_acq_rel) != 1) return;
    if (curve->kind->release != NULL) curve->kind->release(curve);
    free(curve);
}

int dpa__curve_is_symmetric(const dpa_curve *curve) {
    return curve->symmetric;
}

static int is_rate(double x) {
    return x >= 0.0 && x <= 1.0;
}

double dpa_curve_fnr(const dpa_curve *curve, double fpr) {
    if (!is_rate(fpr)) return NAN;
    return curve->kind->fnr(curve, fpr);
}

double dpa__curve_tpr(const dpa_curve *curve, double fpr) {
    if (!is_rate(fpr)) return NAN;
    return curve->kind->tpr(curve, fpr);
}

double dpa_curve_fpr(const dpa_curve *curve, double fnr) {
    if (!is_rate(fnr)) return NAN;
    return curve->symmetric ? curve->kind->fnr(curve, fnr) : curve->kind->fpr(curve, fnr);
}

double dpa__curve_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    if (!is_rate(tpr)) return NAN;
    return curve->kind->fpr_at_tpr(curve, tpr);
}

double dpa__curve_log_fnr(const dpa_curve *curve, double log_fpr) {
    if (!(log_fpr <= 0.0)) return NAN;
    return curve->kind->log_fnr(curve, log_fpr);
}

double dpa__curve_log_delta(const dpa_curve *curve, double epsilon) {
    if (!(epsilon >= 0.0)) return NAN;
    const double forward = curve->kind->log_delta(curve, epsilon, DPA__FORWARD);
    if (curve->symmetric) return forward;
    return fmax(forward, curve->kind->log_delta(curve, epsilon, DPA__BACKWARD));
}

double dpa_curve_delta(const dpa_curve *curve, double epsilon) {
    const dpa__curve_kind *kind = curve->kind;
    if (!(epsilon >= 0.0) || kind->delta == NULL) return exp(dpa__curve_log_delta(curve, epsilon));
    const double forward = kind->delta(curve, epsilon, DPA__FORWARD);
    if (curve->symmetric) return forward;
    return fmax(forward, kind->delta(curve, epsilon, DPA__BACKWARD));
}

double dpa_curve_epsilon(const dpa_curve *curve, double delta) {
    if (!is_rate(delta)) return NAN;
    if (delta == 1.0) return 0.0;
    const double forward = curve->kind->epsilon(curve, delta, DPA__FORWARD);
    if (curve->symmetric) return forward;
    return fmax(forward, curve->kind->epsilon(curve, delta, DPA__BACKWARD));
}
