/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds and p-values from a confusion matrix by the exact unconditional test (methods.md, section
 * 14): outcomes are ordered by their likelihood ratio against the hypothesis, and the p-value is
 * the largest probability, over the hypothesis, of an outcome at least as extreme. As in scan.c the
 * bound is the last rejected point of a fixed grid. A run of grid points is rejected at once if
 * this test rejects: the order of its first point, the hypothesis of its last, and the observed
 * ratio against its last. */
#include "estimate/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "estimate/walk.h"

/* The share of the error that goes to the box of rates. */
static const double BOX = 0.02;

typedef struct audit {
    const dpa__model *model;
    dpa__grid grid;
    dpa__outcome observed;
    double p;
    int is_turned; /* 1: upper limits (how private can it be?) */
} audit;

static dpa__edge edge_of(const audit *a, const dpa_curve *curve, double t) {
    return a->model->kind == DPA__MODEL_DP ? dpa__edge_dp(curve, t, a->model->delta, a->is_turned)
                                           : dpa__edge_of(curve, a->is_turned);
}

static dpa_status test_run(void *user, size_t first, size_t last, int *is_rejected,
                           dpa_error *err) {
    const audit *a = user;
    /* order: the end with the larger ratios; null: the end with the nearer edge */
    const size_t at[2] = {a->is_turned ? last : first, a->is_turned ? first : last};
    dpa_curve *curves[2] = {NULL, NULL};
    dpa__edge edges[2];
    dpa_status status = DPA_OK;
    double p = 1;
    for (int i = 0; i < 2 && status == DPA_OK; ++i) {
        const double t = dpa__walk_at(&a->grid, at[i]);
        status = dpa__model_curve(a->model, t, &curves[i], err);
        edges[i] = edge_of(a, curves[i], t);
    }
    if (status == DPA_OK)
        status = dpa__exact_supremum(&edges[0], &edges[1], &a->observed,
                                     dpa__edge_ratio(&edges[1], &a->observed), BOX * a->p, a->p, &p,
                                     err);
    *is_rejected = p <= a->p * (1 + 1e-12);
    dpa_curve_free(curves[0]);
    dpa_curve_free(curves[1]);
    return status;
}

static dpa__outcome outcome_of(const dpa_counts *c, int is_turned) {
    return (dpa__outcome){(double)(c->fn + c->tp), (double)(c->fp + c->tn),
                          (double)(is_turned ? c->tp : c->fn), (double)(is_turned ? c->tn : c->fp)};
}

/* ── p-values ──────────────────────────────────────────────────────────────────────────────── */

static dpa_status p_value(const dpa_counts *counts, const dpa__edge *edge,
                          const dpa_request *request, double *p, dpa_error *err) {
    const dpa__outcome o = outcome_of(counts, 0);
    const double share = BOX * (1 - request->confidence) / request->sides;
    return dpa__exact_supremum(edge, edge, &o, dpa__edge_ratio(edge, &o), share, 0, p, err);
}

dpa_status dpa__exact_p_value(const dpa_counts *counts, const dpa_curve *curve,
                              const dpa_request *request, double *p, dpa_error *err) {
    const dpa__edge edge = dpa__edge_of(curve, 0);
    return p_value(counts, &edge, request, p, err);
}

dpa_status dpa__exact_p_value_dp(const dpa_counts *counts, double epsilon, double delta,
                                 const dpa_request *request, double *p, dpa_error *err) {
    dpa_curve *curve = NULL;
    *p = 1;
    if (isinf(epsilon) || delta >= 1) return DPA_OK; /* nothing can be refuted */
    DPA_TRY(dpa_curve_dp(epsilon, delta, &curve, err));
    const dpa__edge edge = dpa__edge_dp(curve, epsilon, delta, 0);
    const dpa_status status = p_value(counts, &edge, request, p, err);
    dpa_curve_free(curve);
    return status;
}

/* The p-value of the claim beside the bound t. */
static dpa_status claim_p(const audit *a, const dpa_counts *counts, const dpa_request *r, double t,
                          double *p, dpa_error *err) {
    const double delta = dpa__claim_delta(r);
    dpa_curve *curve = NULL;
    double claim;
    if (isnan(r->claim_epsilon)) return DPA_OK;
    DPA_TRY(dpa__model_claim(a->model, r->claim_epsilon, delta, &claim, err));
    if (a->model->kind == DPA__MODEL_DP) {
        DPA_TRY(dpa__exact_p_value_dp(counts, r->claim_epsilon, delta, r, p, err));
    } else {
        DPA_TRY(dpa__model_curve(a->model, claim, &curve, err));
        const dpa_status status = dpa__exact_p_value(counts, curve, r, p, err);
        dpa_curve_free(curve);
        DPA_TRY(status);
    }
    *p = dpa__walk_agreed(&a->grid, t, claim, *p, a->p);
    return DPA_OK;
}

/* ── the estimator ─────────────────────────────────────────────────────────────────────────── */

/* The largest parameter that the counts allow: neither this attack nor the opposite one may be that
 * good. */
static dpa_status upper_limit(audit *a, const dpa_counts *c, double *t, dpa_error *err) {
    const dpa_counts opposite = {c->tp, c->fn, c->tn, c->fp};
    double here, there;
    a->is_turned = 1;
    a->observed = outcome_of(c, 1);
    DPA_TRY(dpa__walk_down(test_run, a, &a->grid, &here, err));
    a->observed = outcome_of(&opposite, 1);
    DPA_TRY(dpa__walk_down(test_run, a, &a->grid, &there, err));
    *t = fmax(here, there);
    return DPA_OK;
}

int dpa__exact_applies(const dpa_counts *c) {
    return c->fn + c->tp <= DPA__EXACT_MOST && c->fp + c->tn <= DPA__EXACT_MOST;
}

dpa_status dpa__from_exact(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err) {
    audit a = {.model = model,
               .grid = {1, model->max},
               .observed = outcome_of(counts, 0),
               .p = (1 - request->confidence) / request->sides};
    double lower, upper = NAN;
    (void)entry;
    if (!dpa__exact_applies(counts))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "method exact: at most 10^6 of each class; use cp");
    DPA_TRY(dpa__walk_up(test_run, &a, &a.grid, &lower, err));
    if (request->sides == 2) DPA_TRY(upper_limit(&a, counts, &upper, err));
    DPA_TRY(claim_p(&a, counts, request, lower, &result->p_value, err));
    (void)snprintf(result->note, sizeof result->note,
                   "Exact unconditional test, the worst case over the other rate certified.");
    return dpa__result_limits(result, model, request->delta, lower, upper, 0, err);
}
