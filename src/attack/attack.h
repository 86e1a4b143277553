/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the attacks share: an attack is first fitted to shadow models, then asked about targets. */
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
/* −1 for losses: higher fits better afterwards. */
double dpa__signal_sign(const dpa_signals *signals);

/* Per column: how many of the models have the point, and mean and variance (divided by n) of their
 * values. */
typedef struct dpa__side {
    double *count, *mean, *variance;
} dpa__side;

typedef struct dpa__shadow {
    dpa__side in, out;
    double *block; /* all of them */
} dpa__shadow;

typedef enum dpa__value {
    DPA__VALUE_SIGNAL,     /* turned so that higher fits better */
    DPA__VALUE_PROBABILITY /* of the true label; no variances */
} dpa__value;

/* One pass over the matrix. A signal that is not finite is DPA_BAD_INPUT with model and point. */
dpa_status dpa__shadow_new(const dpa_signals *signals, const dpa__rows *rows, dpa__value value,
                           unsigned threads, dpa__shadow *out, dpa_error *err);
void dpa__shadow_free(dpa__shadow *shadow);
/* A point that fewer than `least` models of the wanted side cover: DPA_BAD_INPUT with its number.
 */
dpa_status dpa__need_side(const dpa_signals *signals, const dpa__side *side, double least,
                          const char *which, dpa_error *err);
/* DPA_BAD_INPUT with the point unless all signals of the model are finite. */
dpa_status dpa__need_finite(const dpa_signals *signals, size_t model, dpa_error *err);

/* Quantile: features of the population, which is fitted to, and of the points. */
typedef struct dpa__designs {
    dpa__design population, points;
} dpa__designs;

/* An attack that knows its shadow models. Signals, options and population are borrowed. */
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
/* One score per point for one model. */
dpa_status dpa__fit_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err);
/* The score of one point in a model that has no row in the signals: `signal` is what it says of the
 * point, `target` its row in the population (RMIA, quantile). There are no augmentations. */
dpa_status dpa__fit_score_one(const dpa__fit *fit, size_t target, size_t point, double signal,
                              double *score, dpa_error *err);
void dpa__fit_free(dpa__fit *fit);

/* Each attack's part of the two. */
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
