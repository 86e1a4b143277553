/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses from files: two arrays, an NPZ of both, or a table `loss,member`, whole or cut by a
 * column; or predictions with labels in the same places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "evidence/columns.h"
#include "evidence/losses.h"

/* `loss` as in dpa_losses_files, checked. */
static dpa_status to_losses(const char *loss, const dpa_array *values, size_t rows, size_t classes,
                            const double *label, double *out, dpa_error *err) {
    if (loss == NULL || strcmp(loss, "log-odds") == 0)
        return dpa__losses_from_predictions(values->data, rows, classes, label, out, err);
    if (classes != 1)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%zu columns of predictions; one number a row is right for '%s' losses",
                         classes, loss);
    return dpa__losses_from_regression(values->data, label, rows, strcmp(loss, "squared") == 0, out,
                                       err);
}

/* Replaces predictions by losses. */
static dpa_status apply_labels(const char *path, const char *loss, dpa_array *values,
                               const dpa_array *labels, dpa_error *err) {
    const size_t rows = values->ndim == 0 ? 1 : values->shape[0];
    if (values->ndim > 2 || rows != labels->count || labels->ndim > 1)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "%u dimensions and %zu rows of predictions for %zu labels; one row "
                              "per label, of one probability or one per class, is right",
                              values->ndim, rows, labels->count);
    const size_t classes = rows == 0 ? 1 : values->count / rows;
    double *losses = DPA_NEW_ARRAY(double, rows, err);
    if (losses == NULL) return DPA_NO_MEMORY;
    const dpa_status status = to_losses(loss, values, rows, classes, labels->data, losses, err);
    if (status != DPA_OK) {
        free(losses);
        return dpa__name_place(status, path, err);
    }
    free(values->data);
    values->data = losses;
    values->ndim = 1;
    values->count = rows;
    return DPA_OK;
}

/* `member` names the array of an NPZ; `labels` NULL: the array contains losses. */
static dpa_status read_side(const char *path, const char *member, const char *labels,
                            const char *labels_member, const char *loss, dpa_array *out,
                            dpa_error *err) {
    dpa_array label = {0};
    DPA_TRY(dpa__doubles_read(path, member, out, err));
    dpa_status status = DPA_OK;
    if (labels != NULL) {
        status = dpa__doubles_read(labels, labels_member, &label, err);
        if (status == DPA_OK) status = apply_labels(path, loss, out, &label, err);
        dpa__array_free(&label);
    } else if (out->ndim > 1) {
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "%u dimensions: one loss per point is right; predictions need "
                                "labels beside them",
                                out->ndim);
    }
    if (status != DPA_OK) dpa__array_free(out);
    return status;
}

static dpa_status join(const char *path, const dpa_array *train, const dpa_array *heldout,
                       dpa_losses *out, dpa_error *err) {
    const dpa_status status =
        dpa__losses_new(train->data, train->count, heldout->data, heldout->count, out, err);
    if (status != DPA_OK) return dpa__name_place(status, path, err);
    memcpy(out->train_sha256, train->sha256, sizeof out->train_sha256);
    memcpy(out->heldout_sha256, heldout->sha256, sizeof out->heldout_sha256);
    return DPA_OK;
}

static dpa_status read_pair(const dpa_losses_files *f, dpa_losses *out, dpa_error *err) {
    dpa_array train = {0}, heldout = {0};
    const int both = f->heldout == NULL; /* both in one NPZ */
    const char *path = both ? f->train : f->heldout;
    const char *train_labels = f->train_labels, *heldout_labels = f->heldout_labels;
    if (both && dpa__npz_has(path, "train_labels")) train_labels = heldout_labels = path;
    dpa_status status = read_side(f->train, both ? "train" : NULL, train_labels,
                                  both ? "train_labels" : NULL, f->loss, &train, err);
    if (status == DPA_OK)
        status = read_side(path, both ? "heldout" : NULL, heldout_labels,
                           both ? "heldout_labels" : NULL, f->loss, &heldout, err);
    if (status == DPA_OK) status = join(f->train, &train, &heldout, out, err);
    dpa__array_free(&train);
    dpa__array_free(&heldout);
    return status;
}

/* The losses of the rows whose code is `group` (codes NULL: of all rows): members go to the front
 * of a block, others to its back. A group of one kind only stays empty: there is nothing to
 * compare. */
static dpa_status split(const dpa__columns *c, const uint32_t *codes, size_t group, dpa_losses *out,
                        dpa_error *err) {
    const size_t rows = c->table->rows;
    size_t front = 0, back = rows;
    double *loss = DPA_NEW_ARRAY(double, rows, err);
    dpa_status status = loss != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < rows && status == DPA_OK; ++i) {
        if (codes != NULL && codes[i] != group) continue;
        if (isnan(c->value[i]))
            status = dpa__fail_line(err, DPA_BAD_INPUT, c->path, i + 2, 0,
                                    "loss is NaN; a number is right");
        else
            loss[c->answer[i] ? front++ : --back] = c->value[i];
    }
    if (status == DPA_OK && (codes == NULL || (front > 0 && back < rows)))
        status = dpa__losses_new(loss, front, loss + back, rows - back, out, err);
    free(loss);
    return dpa__name_place(status, c->path, err);
}

static dpa_status read_table(const char *path, dpa_losses *out, dpa_error *err) {
    dpa__columns c = {.path = path, .header = "loss,member"};
    DPA_TRY(dpa__columns_open(&c, "loss", "member", NULL, NULL, err));
    const dpa_status status = split(&c, NULL, 0, out, err);
    if (status == DPA_OK) {
        memcpy(out->train_sha256, c.table->sha256, sizeof out->train_sha256);
        memcpy(out->heldout_sha256, c.table->sha256, sizeof out->heldout_sha256);
    }
    dpa__columns_close(&c);
    return status;
}

dpa_status dpa__losses_read(const dpa_losses_files *files, dpa_losses *out, dpa_error *err) {
    *out = (dpa_losses){0};
    if (err != NULL) *err = (dpa_error){0};
    if (files->train == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "losses of training points are needed");
    if (files->loss != NULL && dpa__word_place(files->loss, "log-odds|squared|absolute") < 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "loss: log-odds, squared or absolute is right, not '%s'", files->loss);
    if ((files->train_labels == NULL) != (files->heldout_labels == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "labels are needed for both the training and the held-out predictions");
    if (files->heldout == NULL && !dpa__npz_has(files->train, "train"))
        return read_table(files->train, out, err);
    return read_pair(files, out, err);
}

static dpa_status cut_groups(const dpa__columns *c, const char *column, dpa_loss_groups *out,
                             dpa_error *err) {
    const dpa_column *by = NULL;
    DPA_TRY(dpa__columns_groups(c, column, &by, &out->names, err));
    out->items = dpa__calloc(by->levels.count, sizeof *out->items, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    for (; out->count < by->levels.count; ++out->count)
        DPA_TRY(split(c, by->codes, out->count, &out->items[out->count], err));
    return DPA_OK;
}

dpa_status dpa__loss_groups_read(const char *path, const char *column, dpa_loss_groups *out,
                                 dpa_error *err) {
    const char *const text[] = {column, NULL};
    dpa__columns c = {.path = path, .header = "loss,member"};
    *out = (dpa_loss_groups){0};
    DPA_TRY(dpa__columns_open(&c, "loss", "member", NULL, text, err));
    const dpa_status status = cut_groups(&c, column, out, err);
    dpa__columns_close(&c);
    if (status != DPA_OK) dpa__loss_groups_free(out);
    return status;
}

void dpa__loss_groups_free(dpa_loss_groups *groups) {
    if (groups == NULL) return;
    for (size_t i = 0; i < groups->count; ++i) dpa__losses_free(&groups->items[i]);
    free(groups->items);
    free(groups->names);
    *groups = (dpa_loss_groups){0};
}
