/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From signals to scores: what an attacker who trained shadow models concludes about a target
 * model.
 *
 * Signals are a matrix [models × points]: what each model says about each point, with the
 * membership of the same shape. Higher score = more likely a member of the target, always. */
#ifndef DPA_ATTACK_ATTACK_H
#define DPA_ATTACK_ATTACK_H

#include <stddef.h>
#include <stdint.h>

#include "attack/regression.h"
#include "dpaudit/attack.h"
#include "dpaudit/status.h"
#include "evidence/signals.h"

typedef enum dpa_quantile_form {
    DPA_QUANTILE_NORMAL, /* mean and log-scale of a normal, both linear in the features */
    DPA_QUANTILE_PINBALL /* one quantile, linear in the features, by the pinball loss */
} dpa_quantile_form;

/* Regression of the target's signals on features over the population; needs no model but the
 * target. */
typedef struct dpa_quantile_opts {
    const dpa_features *features;            /* of the points */
    const dpa_features *population_features; /* of the population, the same columns */
    dpa_quantile_form form;                  /* normal */
    double level;                            /* pinball: which quantile, 0 to 1 (0.9) */
    double
        ridge; /* penalty n·ridge/2 · weight², all standardised; NaN: by their number and n (NaN) */
    int squares; /* also use the squares of the features (0) */
} dpa_quantile_opts;

typedef struct dpa_attack_opts {
    size_t target; /* the model under attack */
    const size_t
        *exclude; /* models that serve neither as shadow nor as reference, besides the target */
    size_t exclude_count;
    int offline;           /* use only models without the point */
    dpa_variance variance; /* LiRA */
    double a;     /* RMIA offline: how p over all models follows from p over out models; 0.3 */
    double gamma; /* RMIA: a ratio counts if it is larger than this; 1 */
    const dpa_signals *population; /* RMIA, quantile */
    dpa_quantile_opts quantile;
    unsigned threads; /* 0: as many as the machine has; scores do not depend on it */
} dpa_attack_opts;

DPA_API void dpa__attack_opts_init(dpa_attack_opts *opts);
/* Writes one score per point to scores[signals->points]. */
DPA_API dpa_status dpa__attack_run(dpa_attack attack, const dpa_signals *signals,
                                   const dpa_attack_opts *opts, double *scores,
                                   dpa_error *err) DPA_MUST_USE;

/* ---- Which points leak most (bayesian-estimation, Algorithm 3) ---- */

/* How well an attack tells models trained on a point from models that were not. All numbers come
 * from test models, to which the attack was not fitted. NaN if no test model has the point, or all
 * have it. */
typedef struct dpa_leak {
    size_t point;
    size_t in, out;  /* test models with and without the point */
    double accuracy; /* (TPR + TNR)/2 at the threshold that is best for this point */
    double epsilon;  /* from the rates (k+½)/(n+1) at the best threshold; at least 0. For ranking
                        only, not a bound: the threshold was chosen on the same models */
    double gap;      /* mean score with the point minus mean score without */
} dpa_leak;

typedef struct dpa_leak_opts {
    dpa_attack attack;   /* LiRA */
    dpa_attack_opts how; /* its target is ignored; models in `exclude` are left for the audit */
    double test_share;   /* share of test models; the attack is fitted to the others (0.2) */
    int every_model;     /* 1: enough splits that each model is a test model once (0) */
    uint64_t seed;       /* of the split (1) */
    double delta;        /* of epsilon (1e-5) */
} dpa_leak_opts;

/* What a model was used for. */
typedef enum dpa_model_role {
    DPA_ROLE_FIT,  /* the attack was fitted to it */
    DPA_ROLE_TEST, /* the leaks were measured on it */
    DPA_ROLE_KEPT  /* neither: left for the audit */
} dpa_model_role;

DPA_API void dpa__leak_opts_init(dpa_leak_opts *opts);
/* One leak per point, in the order of the points; roles[models] may be NULL. The models under audit
 * must not be among those fitted or tested here: list them in how.exclude, or train new ones. */
DPA_API dpa_status dpa__leaks_measure(const dpa_signals *signals, const dpa_leak_opts *opts,
                                      dpa_leak *leaks, dpa_model_role *roles,
                                      dpa_error *err) DPA_MUST_USE;

/* Sorts by falling weight; equal weights by gap, then by number; NaN last. */
DPA_API void dpa__leaks_sort(dpa_leak *leaks, size_t count, dpa_weight weight);

DPA_API const char *dpa__challenge_name(dpa_challenge challenge);

/* Chooses `count` of the `points` leaks; their points go to chosen[count]. */
DPA_API dpa_status dpa__challenges_select(const dpa_leak *leaks, size_t points,
                                          dpa_challenge challenge, dpa_weight weight, uint64_t seed,
                                          size_t *chosen, size_t count,
                                          dpa_error *err) DPA_MUST_USE;

/* ---- Who is in which model: functions of (seed, model) ---- */

/* Marks exactly half of the points (rounded down) in member[points], drawn separately for each
 * model. */
DPA_API void dpa__membership_half(uint64_t seed, uint64_t model, size_t points, uint8_t *member);
/* Marks all points except `challenge`, which is in if a coin says so. Returns the coin. */
DPA_API int dpa__membership_leave_one_out(uint64_t seed, uint64_t model, size_t points,
                                          size_t challenge, uint8_t *member);

/* What the attacks share: an attack is fitted to shadow models, then scores targets. */

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
    DPA__VALUE_SIGNAL,         /* sign changed such that higher fits better */
    DPA__VALUE_PROBABILITY,    /* probability of the true label; no variances */
    DPA__VALUE_PROBABILITY_OUT /* the same of the models without the point; no mean of the others */
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

DPA_API dpa_status dpa__fit_new(dpa_attack attack, const dpa_signals *signals,
                                const dpa_attack_opts *opts, const dpa__rows *rows, dpa__fit *out,
                                dpa_error *err);
/* Writes one score per point for one model. */
dpa_status dpa__fit_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err);
/* The score of one point for a model without a row in the signals: `signal` is the model's signal
 * for the point, `target` its row in the population (RMIA, quantile). No augmentations. */
DPA_API dpa_status dpa__fit_score_one(const dpa__fit *fit, size_t target, size_t point,
                                      double signal, double *score, dpa_error *err);
DPA_API void dpa__fit_free(dpa__fit *fit);

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
