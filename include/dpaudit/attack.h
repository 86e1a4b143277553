/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From signals to scores: what an attacker who trained shadow models concludes about a target
 * model.
 *
 * Signals are a matrix [models × points]: what each model says about each point, with the
 * membership of the same shape. Higher score = more likely a member of the target, always. */
#ifndef DPAUDIT_ATTACK_H
#define DPAUDIT_ATTACK_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

DPA_C_BEGIN

typedef enum dpa_signal_kind {
    DPA_SIGNAL_LOGIT, /* log(p/(1−p)) of the true label: higher fits better */
    DPA_SIGNAL_LOSS   /* −log p: lower fits better */
} dpa_signal_kind;

/* Row-major, one row per model. With augmentations (several views of each point, all shown to each
 * model) the signals of a point's views are neighbours, and every attack returns their mean score.
 */
typedef struct dpa_signals {
    dpa_signal_kind kind;
    size_t models, points;
    double *signal;       /* [models × points × augmentations], finite */
    uint8_t *member;      /* [models × points], 0 or 1; NULL: a population, in no training set */
    size_t augmentations; /* 0 means 1 */
} dpa_signals;

/* Reads NPY files: signals [models × points] or [models × points × augmentations], and membership
 * [models × points], or [points] for one model. `members_path` NULL: a population, nobody is a
 * member. Or NPZ files as games write them: `shadow_signals` or `signals`, `shadow_members` or
 * `members`, `population_signals` or `signals`. A NaN or an infinity is an error that names model
 * and point. Free *out with dpa_signals_free. */
DPA_API dpa_status dpa_signals_read(const char *path, const char *members_path,
                                    dpa_signal_kind kind, dpa_signals *out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_signals_free(dpa_signals *signals);

typedef enum dpa_attack {
    DPA_ATTACK_LOSS,       /* the target's own signal (Yeom et al. 2018) */
    DPA_ATTACK_CALIBRATED, /* minus the mean over models without the point (Watson et al. 2022) */
    DPA_ATTACK_LIRA,       /* likelihood ratio of two fitted normals (Carlini et al. 2022) */
    DPA_ATTACK_RMIA,    /* robust pairwise ratios against a population (Zarifzadeh et al. 2024) */
    DPA_ATTACK_QUANTILE /* compared with similar non-members (Bertran et al. 2023) */
} dpa_attack;

typedef enum dpa_variance {
    DPA_VARIANCE_AUTO,  /* per point if a side has 64 models or more, else pooled */
    DPA_VARIANCE_POINT, /* each point's own */
    DPA_VARIANCE_POOLED /* one for all points: the mean of their variances */
} dpa_variance;

/* What is known about points besides their signals: columns of a table, pixels, labels as 0 and 1.
 */
typedef struct dpa_features {
    size_t points, count;
    double *value; /* [points × count], finite */
} dpa_features;

/* Reads NPY [points × features] or [points], the array `member` of an NPZ (NULL for other files),
 * or a CSV with a header and numeric columns. A number that is not finite is an error that names
 * point and feature. Free *out with dpa_features_free. */
DPA_API dpa_status dpa_features_read(const char *path, const char *member, dpa_features *out,
                                     dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_features_free(dpa_features *features);

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

DPA_API void dpa_attack_opts_init(dpa_attack_opts *opts);
/* Writes one score per point to scores[signals->points]. */
DPA_API dpa_status dpa_attack_run(dpa_attack attack, const dpa_signals *signals,
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

DPA_API void dpa_leak_opts_init(dpa_leak_opts *opts);
/* One leak per point, in the order of the points; roles[models] may be NULL. The models under audit
 * must not be among those fitted or tested here: list them in how.exclude, or train new ones. */
DPA_API dpa_status dpa_leaks_measure(const dpa_signals *signals, const dpa_leak_opts *opts,
                                     dpa_leak *leaks, dpa_model_role *roles,
                                     dpa_error *err) DPA_MUST_USE;

typedef enum dpa_weight { DPA_WEIGHT_ACCURACY, DPA_WEIGHT_EPSILON } dpa_weight;

/* Sorts by falling weight; equal weights by gap, then by number; NaN last. */
DPA_API void dpa_leaks_sort(dpa_leak *leaks, size_t count, dpa_weight weight);

typedef enum dpa_challenge {
    DPA_CHALLENGE_WORST,  /* the largest weights: what the most exposed person risks */
    DPA_CHALLENGE_RANDOM, /* drawn at random, without regard to the weights */
    DPA_CHALLENGE_AVERAGE /* weights closest to their mean: what a typical person risks */
} dpa_challenge;
DPA_API const char *dpa_challenge_name(dpa_challenge challenge);

/* Chooses `count` of the `points` leaks; their points go to chosen[count]. */
DPA_API dpa_status dpa_challenges_select(const dpa_leak *leaks, size_t points,
                                         dpa_challenge challenge, dpa_weight weight, uint64_t seed,
                                         size_t *chosen, size_t count, dpa_error *err) DPA_MUST_USE;

/* ---- Who is in which model: functions of (seed, model) ---- */

/* Marks exactly half of the points (rounded down) in member[points], drawn separately for each
 * model. */
DPA_API void dpa_membership_half(uint64_t seed, uint64_t model, size_t points, uint8_t *member);
/* Marks all points except `challenge`, which is in if a coin says so. Returns the coin. */
DPA_API int dpa_membership_leave_one_out(uint64_t seed, uint64_t model, size_t points,
                                         size_t challenge, uint8_t *member);

DPA_C_END

#endif
