/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals of shadow models and features of points: a matrix [models × points] of what each model
 * says about each point, with the membership of the same shape. */
#ifndef DPA_EVIDENCE_SIGNALS_H
#define DPA_EVIDENCE_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/attack.h"
#include "dpaudit/status.h"

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
 * and point. Free *out with dpa__signals_free. */
DPA_API dpa_status dpa__signals_read(const char *path, const char *members_path,
                                     dpa_signal_kind kind, dpa_signals *out,
                                     dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__signals_free(dpa_signals *signals);

/* What is known about points besides their signals: columns of a table, pixels, labels as 0 and 1.
 */
typedef struct dpa_features {
    size_t points, count;
    double *value; /* [points × count], finite */
} dpa_features;

/* Reads NPY [points × features] or [points], the array `member` of an NPZ (NULL for other files),
 * or a CSV with a header and numeric columns. A number that is not finite is an error that names
 * point and feature. Free *out with dpa__features_free. */
DPA_API dpa_status dpa__features_read(const char *path, const char *member, dpa_features *out,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__features_free(dpa_features *features);
#endif
