/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses as evidence, sorted once when they are read, so that every estimator is a single sweep;
 * and the loss of a prediction (epsilon-star, footnote 1). */
#include "evidence/losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static dpa_status copy_sorted(const char *what, const double *from, size_t count, double **out,
                              dpa_error *err) {
    if (count == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "%s: no loss; at least one is needed", what);
    for (size_t i = 0; i < count; ++i)
        if (isnan(from[i]))
            return dpa__fail(err, DPA_BAD_INPUT, "%s: loss %zu is NaN; a number is right", what,
                             i + 1);
    *out = DPA_NEW_ARRAY(double, count, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    memcpy(*out, from, count * sizeof **out);
    return dpa__sort_numbers(*out, count, err);
}

dpa_status dpa__losses_new(const double *train, size_t train_count, const double *heldout,
                           size_t heldout_count, dpa_losses *out, dpa_error *err) {
    *out = (dpa_losses){.train_count = train_count, .heldout_count = heldout_count};
    dpa_status status = copy_sorted("training losses", train, train_count, &out->train, err);
    if (status == DPA_OK)
        status = copy_sorted("held-out losses", heldout, heldout_count, &out->heldout, err);
    if (status == DPA_OK) {
        out->train_rows = DPA_NEW_ARRAY(double, train_count, err);
        if (out->train_rows == NULL)
            status = DPA_NO_MEMORY;
        else
            memcpy(out->train_rows, train, train_count * sizeof *train);
    }
    if (status != DPA_OK) dpa__losses_free(out);
    return status;
}

void dpa__losses_free(dpa_losses *losses) {
    if (losses == NULL) return;
    free(losses->train);
    free(losses->heldout);
    free(losses->train_rows);
    *losses = (dpa_losses){0};
}

double dpa__loss_class(double probability) {
    if (!(probability >= 0.0 && probability <= 1.0)) return NAN;
    return log1p(-probability) - log(probability);
}

double dpa__loss_binary(double probability, int label) {
    const double loss = dpa__loss_class(probability);
    return label ? loss : -loss;
}

static dpa_status check_row(const double *row, size_t classes, double label, size_t number,
                            dpa_error *err) {
    double sum = 0.0;
    const size_t labels = classes == 1 ? 2 : classes;
    if (!(label >= 0.0 && label < (double)labels && label == floor(label)))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "label %zu is %g; a whole number from 0 to %zu is right", number, label,
                         labels - 1);
    for (size_t j = 0; j < classes; ++j) {
        if (!(row[j] >= 0.0 && row[j] <= 1.0))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "prediction %zu is %g; a probability from 0 to 1 is right", number,
                             row[j]);
        sum += row[j];
    }
    if (classes > 1 && !(fabs(sum - 1.0) <= 1e-3))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "the probabilities of prediction %zu sum to %g; 1 is right", number, sum);
    return DPA_OK;
}

dpa_status dpa__losses_from_predictions(const double *probability, size_t rows, size_t classes,
                                        const double *label, double *out, dpa_error *err) {
    if (classes == 0) return dpa__fail(err, DPA_BAD_INPUT, "predictions without a class");
    for (size_t i = 0; i < rows; ++i) {
        const double *row = probability + i * classes;
        DPA_TRY(check_row(row, classes, label[i], i + 1, err));
        out[i] = classes == 1 ? dpa__loss_binary(row[0], label[i] != 0.0)
                              : dpa__loss_class(row[(size_t)label[i]]);
    }
    return DPA_OK;
}

dpa_status dpa__losses_from_regression(const double *prediction, const double *label, size_t rows,
                                       int squared, double *out, dpa_error *err) {
    for (size_t i = 0; i < rows; ++i) {
        const double off = prediction[i] - label[i];
        if (!isfinite(off))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "prediction %zu is %g and its label %g; finite numbers are right",
                             i + 1, prediction[i], label[i]);
        out[i] = squared ? off * off : fabs(off);
    }
    return DPA_OK;
}

/* ── records that stand out: those with losses lower than held-out losses ────────────────
 *
 * If a record looks like a held-out one, its rank among m held-out losses is uniform, so (1 +
 * #{held-out ≤ loss})/(m + 1) is a p-value. The p-values of all records share the held-out
 * losses and are positively dependent in the way that Benjamini–Hochberg needs (Bates et al.,
 * Annals of Statistics 51, 2023), so q-values control the false discovery rate. */

typedef struct entry {
    double loss;
    size_t row;
} entry;

static int compare(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->loss != b->loss) return a->loss < b->loss ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The q-value of rank i (by rising p) is the least of p_j·n/j over j ≥ i. p rises with the loss, so
 * one pass down from the largest loss computes all of them. */
static void q_values(const entry *e, size_t n, const double *heldout, size_t m, double rate,
                     dpa_loss_record *out, size_t most, size_t *found) {
    size_t below = m, j = n;
    double least = 1.0;
    *found = 0;
    while (j > 0) {
        const size_t last = j; /* ties share the rank of their last */
        const double loss = e[j - 1].loss;
        while (below > 0 && heldout[below - 1] > loss) --below;
        const double p = (1.0 + (double)below) / (1.0 + (double)m);
        least = fmin(least, p * (double)n / (double)last);
        for (; j > 0 && e[j - 1].loss == loss; --j) {
            *found += least <= rate;
            if (j - 1 < most) out[j - 1] = (dpa_loss_record){e[j - 1].row + 1, loss, p, least};
        }
    }
}

dpa_status dpa__loss_records(const double *train, size_t train_count, const double *heldout,
                             size_t heldout_count, double rate, dpa_loss_record *out, size_t most,
                             size_t *count, size_t *found, dpa_error *err) {
    *count = *found = 0;
    for (size_t i = 0; i < train_count; ++i)
        if (isnan(train[i]))
            return dpa__fail(err, DPA_BAD_INPUT, "training loss %zu is NaN; a number is right",
                             i + 1);
    entry *e = DPA_NEW_ARRAY(entry, train_count, err);
    double *sorted = DPA_NEW_ARRAY(double, heldout_count, err);
    dpa_status status = e != NULL && sorted != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        memcpy(sorted, heldout, heldout_count * sizeof *sorted);
        status = dpa__sort_numbers(sorted, heldout_count, err);
    }
    if (status == DPA_OK) {
        for (size_t i = 0; i < train_count; ++i) e[i] = (entry){train[i], i};
        qsort(e, train_count, sizeof *e, compare);
        *count = most < train_count ? most : train_count;
        q_values(e, train_count, sorted, heldout_count, rate, out, *count, found);
    }
    free(e);
    free(sorted);
    return status;
}
