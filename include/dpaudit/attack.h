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

typedef enum dpa_signal_kind {
    DPA_SIGNAL_LOGIT, /* log(p/(1−p)) of the true label: higher fits better */
    DPA_SIGNAL_LOSS   /* −log p: lower fits better */
} dpa_signal_kind;

/* Row-major, one row per model. With augmentations (several views of each point, all asked of each
 * model) a point has as many neighbouring signals; every attack gives their mean score. */
typedef struct dpa_signals {
    dpa_signal_kind kind;
    size_t models, points;
    double *signal;       /* [models × points × augmentations], finite */
    uint8_t *member;      /* [models × points], 0 or 1; NULL: a population that no model knows */
    size_t augmentations; /* 0 means 1 */
} dpa_signals;

/* NPY files: signals [models × points] or [models × points × augmentations], membership
 * [models × points]; `members_path` NULL: nobody is a member. A NaN or an infinity is an error that
 * names model and point. */
DPA_API dpa_status dpa_signals_read(const char *path, const char *members_path,
                                    dpa_signal_kind kind, dpa_signals *out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_signals_free(dpa_signals *signals);

typedef enum dpa_attack {
    DPA_ATTACK_LOSS,       /* the target's own signal (Yeom et al. 2018) */
    DPA_ATTACK_CALIBRATED, /* minus its mean over models without the point (Watson et al. 2022) */
    DPA_ATTACK_LIRA,       /* likelihood ratio of two fitted normals (Carlini et al. 2022) */
    DPA_ATTACK_RMIA /* robust pairwise ratios against a population (Zarifzadeh et al. 2024) */
} dpa_attack;

typedef enum dpa_variance {
    DPA_VARIANCE_AUTO,  /* per point from 64 models a side on, else pooled */
    DPA_VARIANCE_POINT, /* each point's own */
    DPA_VARIANCE_POOLED /* one for all points: the mean of their variances */
} dpa_variance;

typedef struct dpa_attack_opts {
    size_t target; /* the model under attack */
    const size_t
        *exclude; /* models that serve neither as shadow nor as reference, besides the target */
    size_t exclude_count;
    int offline;           /* use only models without the point */
    dpa_variance variance; /* LiRA */
    double a;     /* RMIA offline: how p over all models follows from p over out models; 0.3 */
    double gamma; /* RMIA: how much larger a ratio must be to count; 1 */
    const dpa_signals *population; /* RMIA */
    unsigned threads;              /* 0: as many as the machine has; scores do not depend on it */
} dpa_attack_opts;

DPA_API void dpa_attack_opts_init(dpa_attack_opts *opts);
/* One score per point. `scores` has signals->points places. */
DPA_API dpa_status dpa_attack_run(dpa_attack attack, const dpa_signals *signals,
                                  const dpa_attack_opts *opts, double *scores,
                                  dpa_error *err) DPA_MUST_USE;

#endif
