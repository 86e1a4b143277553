/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses of one model on points it was trained on and on points it was not. */
#ifndef DPAUDIT_LOSSES_H
#define DPAUDIT_LOSSES_H

#include <stddef.h>

#include "dpaudit/data.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* Both sorted, lowest first; infinite losses are allowed, NaN is not. */
typedef struct dpa_losses {
    double *train, *heldout;
    size_t train_count, heldout_count;
    char train_sha256[DPA_SHA256_SIZE], heldout_sha256[DPA_SHA256_SIZE]; /* of the files, or "" */
    double *train_rows; /* the training losses in the order given */
} dpa_losses;

/* Copies and sorts. At least one loss on each side. */
DPA_API dpa_status dpa_losses_new(const double *train, size_t train_count, const double *heldout,
                                  size_t heldout_count, dpa_losses *out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_losses_free(dpa_losses *losses);

/* The paper's loss of a prediction (epsilon-star, footnote 1), log-odds against the label:
 * (1−2y)(log p − log(1−p)) for p = Pr[label 1], y in {0,1}. Infinite for p = 0 and 1; NaN outside.
 */
DPA_API double dpa_loss_binary(double probability, int label);
/* −(log p − log(1−p)) for the probability p of the true class: the same footnote for many classes.
 */
DPA_API double dpa_loss_class(double probability);
/* Row by row from predictions: `classes` = 1 gives dpa_loss_binary, more give dpa_loss_class of the
 * label's column. Each probability is in [0,1], a row of classes sums to 1 (to 1e-3), each label is
 * a class. */
DPA_API dpa_status dpa_losses_from_predictions(const double *probability, size_t rows,
                                               size_t classes, const double *label, double *out,
                                               dpa_error *err) DPA_MUST_USE;

/* (prediction − label)², or its absolute value: the losses of a regression. All numbers finite. */
DPA_API dpa_status dpa_losses_from_regression(const double *prediction, const double *label,
                                              size_t rows, int squared, double *out,
                                              dpa_error *err) DPA_MUST_USE;

/* Where the losses of one model are. Without `heldout` the file `train` holds both: an NPZ with
 * `train` and `heldout` (and `train_labels`, `heldout_labels`: then they are predictions), or a CSV
 * with the columns `loss,member`. With labels the arrays are predictions: [points] of the
 * probability of label 1, or [points × classes]. */
typedef struct dpa_losses_files {
    const char *train, *heldout;
    const char *train_labels, *heldout_labels; /* NULL: the arrays are losses */
    const char *loss; /* of predictions: NULL or "log-odds" (footnote 1), "squared", "absolute" */
} dpa_losses_files;

DPA_API dpa_status dpa_losses_read(const dpa_losses_files *files, dpa_losses *out,
                                   dpa_error *err) DPA_MUST_USE;

/* Slices of a table `loss,member,COLUMN`: one for each value of the column. */
typedef struct dpa_loss_groups {
    dpa_losses *items; /* a group without losses on one side has counts of 0 and NULL there */
    char (*names)[64];
    size_t count;
} dpa_loss_groups;

DPA_API dpa_status dpa_loss_groups_read(const char *path, const char *column, dpa_loss_groups *out,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_loss_groups_free(dpa_loss_groups *groups);

/* ── records that stand out ──────────────────────────────────────────────────────────── */

/* One training record, by its place among the training losses (from 1). */
typedef struct dpa_loss_record {
    size_t number;
    double loss;
    double p_value; /* (1 + held-out losses at or below)/(1 + held-out losses) */
    double q_value; /* the least false discovery rate at which it is listed (Benjamini–Hochberg) */
} dpa_loss_record;

/* The `most` training records with the lowest losses (fewer if there are fewer), lowest first;
 * *found is how many have a q-value of at most `rate`: on average no more than that share of these
 * are records that a held-out record could pass for. Losses in any order. */
DPA_API dpa_status dpa_loss_records(const double *train, size_t train_count, const double *heldout,
                                    size_t heldout_count, double rate, dpa_loss_record *out,
                                    size_t most, size_t *count, size_t *found,
                                    dpa_error *err) DPA_MUST_USE;

/* What is odd about them: few points, ties, infinities, wrong direction. */
DPA_API dpa_status dpa_losses_lint(const dpa_losses *losses, dpa_lints *lints,
                                   dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
