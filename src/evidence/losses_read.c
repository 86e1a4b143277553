/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses from files: two arrays, an NPZ of both, or a table `loss,member`; or predictions with
 * labels in the same places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/columns.h"
#include "evidence/losses.h"

static dpa_status read_numbers(const char *path, const char *member, dpa_array *out,
                               dpa_error *err) {
    DPA_TRY(dpa__array_read(path, member, out, err));
    const dpa_status status = dpa__array_to_double(out, err);
    if (status != DPA_OK) dpa__array_free(out);
    return status;
}

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
    DPA_TRY(read_numbers(path, member, out, err));
    dpa_status status = DPA_OK;
    if (labels != NULL) {
        status = read_numbers(labels, labels_member, &label, err);
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

/* Moves members to the front of `loss` and counts them. */
static dpa_status split_members(const char *path, const double *value, const uint8_t *member,
                                size_t rows, double *loss, size_t *members, dpa_error *err) {
    size_t front = 0, back = rows;
    for (size_t i = 0; i < rows; ++i) {
        if (isnan(value[i]))
            return dpa__fail_line(err, DPA_BAD_INPUT, path, i + 2, 0,
                                  "loss is NaN; a number is right");
        loss[member[i] ? front++ : --back] = value[i];
    }
    *members = front;
    return DPA_OK;
}

static dpa_status split(const dpa__columns *c, const double *value, const uint8_t *member,
                        dpa_losses *out, dpa_error *err) {
    const size_t rows = c->table->rows;
    size_t members = 0;
    double *loss = DPA_NEW_ARRAY(double, rows, err);
    if (loss == NULL) return DPA_NO_MEMORY;
    dpa_status status = split_members(c->path, value, member, rows, loss, &members, err);
    if (status == DPA_OK)
        status = dpa__name_place(
            dpa__losses_new(loss, members, loss + members, rows - members, out, err), c->path, err);
    free(loss);
    if (status != DPA_OK) return status;
    memcpy(out->train_sha256, c->table->sha256, sizeof out->train_sha256);
    memcpy(out->heldout_sha256, c->table->sha256, sizeof out->heldout_sha256);
    return DPA_OK;
}

static dpa_status from_table(const dpa__columns *c, dpa_losses *out, dpa_error *err) {
    const double *value;
    uint8_t *member;
    DPA_TRY(dpa__columns_numbers(c, "loss", &value, err));
    DPA_TRY(dpa__columns_answers(c, "member", &member, err));
    const dpa_status status = split(c, value, member, out, err);
    free(member);
    return status;
}

static dpa_status read_table(const char *path, dpa_losses *out, dpa_error *err) {
    dpa__columns c = {.path = path, .header = "loss,member"};
    DPA_TRY(dpa__columns_read(&c, NULL, err));
    const dpa_status status = from_table(&c, out, err);
    dpa__table_free(c.table);
    return status;
}

dpa_status dpa__losses_read(const dpa_losses_files *files, dpa_losses *out, dpa_error *err) {
    *out = (dpa_losses){0};
    if (err != NULL) *err = (dpa_error){0};
    if (files->train == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "losses of training points are needed");
    if (files->loss != NULL && strcmp(files->loss, "log-odds") != 0 &&
        strcmp(files->loss, "squared") != 0 && strcmp(files->loss, "absolute") != 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "loss: log-odds, squared or absolute is right, not '%s'", files->loss);
    if ((files->train_labels == NULL) != (files->heldout_labels == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "labels are needed for both the training and the held-out predictions");
    if (files->heldout == NULL && !dpa__npz_has(files->train, "train"))
        return read_table(files->train, out, err);
    return read_pair(files, out, err);
}
