/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the attacks share: an attack is fitted to shadow models, then scores targets. */
#ifndef DPA_ATTACK_ATTACK_H
#define DPA_ATTACK_ATTACK_H

#include "attack/regression.h"
#include "dpaudit/attack.h"

/* Models by number, ascending. */
typedef struct dpa__rows {
    size_t *row;
    size_t count;
} dpa__rows;

/* All models but the target and the excluded ones. */
dpa_status dpa__rows_used(const dpa_signals *signals, const dpa_attack_opts *opts, dpa__rows *out,
                          dpa_error *err);

/* Columns of the matrix: points × augmentations. */
size_t dpa__columns(const dpa_signals *signals);
size_t dpa__augmentations(const dpa_signals *signals); /* at least 1 */
/* −1 for losses, else 1; the product is higher for a better fit. */
double dpa__signal_sign(const dpa_signals *signals);

/* Per column: how many of the models have (or lack) the point, and the mean and variance (divided
 * by n) of their values. */
typedef struct dpa__side {
    double *count, *mean, *variance;
} dpa__side;

typedef struct dpa__shadow {
    dpa__side in, out;
    double *block; /* the memory of all of them */
} dpa__shadow;

typedef enum dpa__value {
    DPA__VALUE_SIGNAL,     /* sign changed such that higher fits better */
    DPA__VALUE_PROBABILITY /* probability of the true label; no variances */
} dpa__value;

/* One pass over the matrix. A signal that is not finite gives DPA_BAD_INPUT with model and point.
 */
dpa_status dpa__shadow_new(const dpa_signals *signals, const dpa__rows *rows, dpa__value value,
                           unsigned threads, dpa__shadow *out, dpa_error *err);
void dpa__shadow_free(dpa__shadow *shadow);
/* DPA_BAD_INPUT with the first point that fewer than `least` models of this side cover. */
dpa_status dpa__need_side(const dpa_signals *signals, const dpa__side *side, double least,
                          const char *which, dpa_error *err);
/* DPA_BAD_INPUT with the point if a signal of the model is not finite. */
dpa_status dpa__need_finite(const dpa_signals *signals, size_t model, dpa_error *err);

/* For the quantile attack: features of the population, to which it is fitted, and of the points. */
typedef struct dpa__designs {
    dpa__design population, points;
} dpa__designs;

/* A fitted attack. Signals, options and population are borrowed. */
typedef struct dpa__fit {
    dpa_attack attack;
    const dpa_signals *signals;
    const dpa_attack_opts *opts;
    dpa__shadow shadow;
    double *usual;            /* RMIA: p(x) of each column */
    double *usual_population; /* RMIA: the same for the population */
    dpa__designs *designs;    /* quantile */
} dpa__fit;

dpa_status dpa__fit_new(dpa_attack attack, const dpa_signals *signals, const dpa_attack_opts *opts,
                        const dpa__rows *rows, dpa__fit *out, dpa_error *err);
/* Writes one score per point for one model. */
dpa_status dpa__fit_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err);
/* The score of one point for a model without a row in the signals: `signal` is the model's signal
 * for the point, `target` its row in the population (RMIA, quantile). No augmentations. */
dpa_status dpa__fit_score_one(const dpa__fit *fit, size_t target, size_t point, double signal,
                              double *score, dpa_error *err);
void dpa__fit_free(dpa__fit *fit);

/* Each attack's implementation of fit and score. */
dpa_status dpa__lira_fit(dpa__fit *fit, const dpa__rows *rows, dpa_error *err);
void dpa__lira_score(const dpa__fit *fit, size_t target, double *scores);
double dpa__lira_score_one(const dpa__fit *fit, size_t column, double signal);
dpa_status dpa__rmia_fit(dpa__fit *fit, const dpa__rows *rows, dpa_error *err);
dpa_status dpa__rmia_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err);
dpa_status dpa__rmia_score_one(const dpa__fit *fit, size_t target, size_t column, double signal,
                               double *score, dpa_error *err);
dpa_status dpa__quantile_fit(dpa__fit *fit, dpa_error *err);
void dpa__quantile_free(dpa__fit *fit);
dpa_status dpa__quantile_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err);
dpa_status dpa__quantile_score_one(const dpa__fit *fit, size_t target, size_t point, double signal,
                                   double *score, dpa_error *err);

#endif
