/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses of one model on points it was trained on and on points it was not. */
#ifndef DPA_EVIDENCE_LOSSES_H
#define DPA_EVIDENCE_LOSSES_H

#include <stddef.h>

#include "base/data.h"
#include "dpaudit/status.h"
#include "evidence/evidence.h"

/* Sorted, lowest first; infinite losses are allowed, NaN is not. */
typedef struct dpa_losses {
    double *train, *heldout;
    size_t train_count, heldout_count;
    char train_sha256[DPA_SHA256_SIZE], heldout_sha256[DPA_SHA256_SIZE]; /* of the files, or "" */
    double *train_rows; /* the training losses in the order given */
} dpa_losses;

/* Copies and sorts; each side needs at least one loss. Free with dpa__losses_free. */
dpa_status dpa__losses_new(const double *train, size_t train_count, const double *heldout,
                           size_t heldout_count, dpa_losses *out, dpa_error *err) DPA_MUST_USE;
void dpa__losses_free(dpa_losses *losses);

/* The loss of a prediction in the Epsilon* paper (footnote 1): log-odds against the label,
 * (1−2y)(log p − log(1−p)) for p = Pr[label 1], y in {0,1}. Infinite for p = 0 and 1; NaN if p is
 * no probability. */
double dpa__loss_binary(double probability, int label);
/* The same for many classes: −(log p − log(1−p)), p the probability of the true class. */
double dpa__loss_class(double probability);
/* The losses of `rows` predictions into out[rows]: with `classes` = 1 dpa__loss_binary, with more
 * dpa__loss_class of the label's column. Each probability must be in [0,1], each row of classes
 * must sum to 1 (to 1e-3), and each label must be a class. */
DPA_API dpa_status dpa__losses_from_predictions(const double *probability, size_t rows,
                                                size_t classes, const double *label, double *out,
                                                dpa_error *err) DPA_MUST_USE;

/* The losses of a regression into out[rows]: (prediction − label)² if `squared`, else the absolute
 * difference. All numbers must be finite. */
DPA_API dpa_status dpa__losses_from_regression(const double *prediction, const double *label,
                                               size_t rows, int squared, double *out,
                                               dpa_error *err) DPA_MUST_USE;

/* The files with the losses of one model. If `heldout` is NULL, `train` holds both: an NPZ with the
 * arrays `train` and `heldout`, or a CSV with the columns `loss,member`. If there are labels (for
 * an NPZ the arrays `train_labels` and `heldout_labels`), the numbers are predictions instead:
 * [points] probabilities of label 1, or [points × classes]. */
typedef struct dpa_losses_files {
    const char *train, *heldout;
    const char *train_labels, *heldout_labels; /* NULL: the arrays are losses */
    const char *loss; /* for predictions: NULL or "log-odds" (footnote 1), "squared", "absolute" */
} dpa_losses_files;

/* Reads the losses of one model; the caller frees *out with dpa__losses_free. */
dpa_status dpa__losses_read(const dpa_losses_files *files, dpa_losses *out,
                            dpa_error *err) DPA_MUST_USE;

/* The losses of a table `loss,member,COLUMN`, one item for each value of the column. */
typedef struct dpa_loss_groups {
    dpa_losses *items; /* a group without losses on one side has counts of 0 and NULL there */
    char (*names)[64];
    size_t count;
} dpa_loss_groups;

/* Reads such a table; the caller frees *out with dpa__loss_groups_free. */
dpa_status dpa__loss_groups_read(const char *path, const char *column, dpa_loss_groups *out,
                                 dpa_error *err) DPA_MUST_USE;
void dpa__loss_groups_free(dpa_loss_groups *groups);

/* ── records that stand out ──────────────────────────────────────────────────────────── */

/* A training record, by its place among the training losses (from 1). */
typedef struct dpa_loss_record {
    size_t number;
    double loss;
    double p_value; /* (1 + held-out losses at or below)/(1 + held-out losses) */
    double q_value; /* the smallest false discovery rate that lists it (Benjamini–Hochberg) */
} dpa_loss_record;

/* The `most` training records with the lowest losses (or all, if fewer), lowest first, into out[];
 * *count says how many. *found says how many of all records have a q-value of at most `rate`: on
 * average at most that share of them look no different from held-out records. Losses may be in any
 * order. */
dpa_status dpa__loss_records(const double *train, size_t train_count, const double *heldout,
                             size_t heldout_count, double rate, dpa_loss_record *out, size_t most,
                             size_t *count, size_t *found, dpa_error *err) DPA_MUST_USE;

/* Adds a lint for anything odd: few points, ties, infinities, the wrong direction. */
dpa_status dpa__losses_lint(const dpa_losses *losses, dpa_lints *lints,
                            dpa_error *err) DPA_MUST_USE;

#endif
