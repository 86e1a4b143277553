/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses as evidence, sorted once when they are read, so that every estimator is a single sweep;
 * and the loss of a prediction (epsilon-star, footnote 1). */
#include "evidence/losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/scores_sort.h"

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
