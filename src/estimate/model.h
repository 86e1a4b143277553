/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A family of trade-off curves as the estimators of rates see it: one member f at parameter t,
 * leakier as t grows. `dp` and `gaussian` are closed forms here, because an audit evaluates them
 * millions of times; every other family comes as a dpa_family and its curves. */
#ifndef DPA_ESTIMATE_MODEL_H
#define DPA_ESTIMATE_MODEL_H

#include "account/account.h"
#include "estimate/estimate.h"
#include "tradeoff/tradeoff.h"

typedef enum dpa__model_kind {
    DPA__MODEL_DP,
    DPA__MODEL_GAUSSIAN,
    DPA__MODEL_CURVES
} dpa__model_kind;

typedef struct dpa__model {
    dpa__model_kind kind;
    char spec[DPA_FAMILY_SIZE]; /* as it was asked for */
    const char *parameter;      /* "epsilon", "mu", … */
    unsigned assumption;        /* DPA_ASSUME_FAMILY_… */
    double delta;
    double max;         /* of t */
    dpa_family *family; /* of DPA__MODEL_CURVES */
    int is_directed;    /* members are T(without → with), not the hull with the inverse */
} dpa__model;

dpa_status dpa__model_open(const char *spec, double delta, dpa__model *out, dpa_error *err);
void dpa__model_close(dpa__model *model);
/* The same family where the false positives are those of runs without the record, which is so
 * whenever the two lists of scores are compared in order. Borrows; not to be closed. */
dpa__model dpa__model_directed(const dpa__model *model);
/* 1 if the text begins with the name of a family, followed by ':', '+' or the end. */
int dpa__model_is_named(const char *text);
/* The bit DPA_ASSUME_FAMILY_… of a family. */
unsigned dpa__model_assumption(const char *spec);
/* The named parameter at t (σ = 1/t). */
double dpa__model_value(const dpa__model *model, double t);
/* ε at δ of the member at t; `side` < 0 rounds down (lower bounds), > 0 up. */
dpa_status dpa__model_epsilon(const dpa__model *model, double t, double delta, int side,
                              double *out, dpa_error *err);
/* The t of a claim: the most private member that leaks at least as much as (ε,δ) allows. NaN where
 * the family has no such member: dp at another δ. */
dpa_status dpa__model_claim(const dpa__model *model, double epsilon, double delta, double *t,
                            dpa_error *err);
/* The δ of the member at t at this ε, rounded down. */
dpa_status dpa__model_delta(const dpa__model *model, double t, double epsilon, double *out,
                            dpa_error *err);

/* The curve at t of a family of any kind. */
dpa_status dpa__model_curve(const dpa__model *model, double t, dpa_curve **out, dpa_error *err);

/* One curve f of the family. f(fixed) = fixed; f is 0 from `end` on. */
typedef struct dpa__member {
    dpa__model_kind kind;
    double t, delta;
    double fixed, end;
    dpa_curve *curve;
} dpa__member;

dpa_status dpa__member_open(const dpa__model *model, double t, dpa__member *out, dpa_error *err);
/* Completes a member of DPA__MODEL_CURVES that has its curve; on failure it is closed. */
dpa_status dpa__member_complete(dpa__member *member, dpa_error *err);
void dpa__member_close(dpa__member *member);
/* f(s) for a rate s in [0,end]. `rest` is end − s, passed separately because it may be far below an
 * ulp of s. */
double dpa__member_fnr(const dpa__member *member, double s, double rest);
/* The same for f⁻¹. */
double dpa__member_fpr(const dpa__member *member, double s, double rest);
/* ∂f/∂t at s ≥ fixed; for `dp` and `gaussian` only. */
double dpa__member_slope(const dpa__member *member, double s, double rest);

/* The t of a pair of rates: the least leaky member that allows an attack with this FNR and FPR.
 * Rates above the diagonal are those of the opposite attack. Found to 1e-12, rounded to `side`. */
dpa_status dpa__model_locate(const dpa__model *model, double fnr, double fpr, int side, double *out,
                             dpa_error *err);

#endif
