/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses from files: two arrays, an NPZ of both, or a table `loss,member`; or predictions with
 * labels in the same places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/losses.h"
#include "evidence/place.h"

static dpa_status read_numbers(const char *path, const char *member, dpa_array *out,
                               dpa_error *err) {
    DPA_TRY(dpa_array_read(path, member, out, err));
    const dpa_status status = dpa_array_to_double(out, err);
    if (status != DPA_OK) dpa_array_free(out);
    return status;
}

/* Replaces predictions by losses. */
static dpa_status apply_labels(const char *path, dpa_array *values, const dpa_array *labels,
                               dpa_error *err) {
    const size_t rows = values->ndim == 0 ? 1 : values->shape[0];
    if (values->ndim > 2 || rows != labels->count || labels->ndim > 1)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "%u dimensions and %zu rows of predictions for %zu labels; one row "
                              "per label, of one probability or one per class, is right",
                              values->ndim, rows, labels->count);
    const size_t classes = rows == 0 ? 1 : values->count / rows;
    double *losses = DPA_NEW_ARRAY(double, rows, err);
    if (losses == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        dpa_losses_from_predictions(values->data, rows, classes, labels->data, losses, err);
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

/* Member names are for an NPZ; `labels` NULL: the array holds losses. */
static dpa_status read_side(const char *path, const char *member, const char *labels,
                            const char *labels_member, dpa_array *out, dpa_error *err) {
    dpa_array label = {0};
    DPA_TRY(read_numbers(path, member, out, err));
    dpa_status status = DPA_OK;
    if (labels != NULL) {
        status = read_numbers(labels, labels_member, &label, err);
        if (status == DPA_OK) status = apply_labels(path, out, &label, err);
        dpa_array_free(&label);
    } else if (out->ndim > 1) {
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "%u dimensions: one loss per point is right; predictions need "
                                "labels beside them",
                                out->ndim);
    }
    if (status != DPA_OK) dpa_array_free(out);
    return status;
}

static dpa_status join(const char *path, const dpa_array *train, const dpa_array *heldout,
                       dpa_losses *out, dpa_error *err) {
    const dpa_status status =
        dpa_losses_new(train->data, train->count, heldout->data, heldout->count, out, err);
    if (status != DPA_OK) return dpa__name_place(status, path, err);
    memcpy(out->train_sha256, train->sha256, sizeof out->train_sha256);
    memcpy(out->heldout_sha256, heldout->sha256, sizeof out->heldout_sha256);
    return DPA_OK;
}

static dpa_status read_pair(const dpa_losses_files *f, dpa_losses *out, dpa_error *err) {
    dpa_array train = {0}, heldout = {0};
    const int both = f->heldout == NULL; /* in one NPZ */
    const char *path = both ? f->train : f->heldout;
    const char *train_labels = f->train_labels, *heldout_labels = f->heldout_labels;
    if (both && dpa_npz_has(path, "train_labels")) train_labels = heldout_labels = path;
    dpa_status status = read_side(f->train, both ? "train" : NULL, train_labels,
                                  both ? "train_labels" : NULL, &train, err);
    if (status == DPA_OK)
        status = read_side(path, both ? "heldout" : NULL, heldout_labels,
                           both ? "heldout_labels" : NULL, &heldout, err);
    if (status == DPA_OK) status = join(f->train, &train, &heldout, out, err);
    dpa_array_free(&train);
    dpa_array_free(&heldout);
    return status;
}

/* Members to the front of `loss`; how many there are. */
static dpa_status split_members(const char *path, const double *value, const double *member,
                                size_t rows, double *loss, size_t *members, dpa_error *err) {
    size_t front = 0, back = rows;
    for (size_t i = 0; i < rows; ++i) {
        if (member[i] != 0.0 && member[i] != 1.0)
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "member in row %zu is %g; 0 or 1 is right", i + 1, member[i]);
        if (isnan(value[i]))
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "loss in row %zu is NaN", i + 1);
        loss[member[i] != 0.0 ? front++ : --back] = value[i];
    }
    *members = front;
    return DPA_OK;
}

static dpa_status from_table(const char *path, const dpa_table *table, dpa_losses *out,
                             dpa_error *err) {
    const ptrdiff_t at = dpa_table_find(table, "loss"), who = dpa_table_find(table, "member");
    const double *value = at < 0 ? NULL : dpa_table_numbers(table, (size_t)at);
    const double *member = who < 0 ? NULL : dpa_table_numbers(table, (size_t)who);
    const size_t rows = dpa_table_rows(table);
    size_t members = 0;
    if (value == NULL || member == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "a table of losses has the numeric columns loss,member");
    double *loss = DPA_NEW_ARRAY(double, rows, err);
    if (loss == NULL) return DPA_NO_MEMORY;
    dpa_status status = split_members(path, value, member, rows, loss, &members, err);
    if (status == DPA_OK)
        status = dpa__name_place(
            dpa_losses_new(loss, members, loss + members, rows - members, out, err), path, err);
    free(loss);
    if (status != DPA_OK) return status;
    memcpy(out->train_sha256, dpa_table_sha256(table), sizeof out->train_sha256);
    memcpy(out->heldout_sha256, dpa_table_sha256(table), sizeof out->heldout_sha256);
    return DPA_OK;
}

static dpa_status read_table(const char *path, dpa_losses *out, dpa_error *err) {
    dpa_table_opts opts;
    dpa_table *table;
    dpa_table_opts_init(&opts);
    DPA_TRY(dpa_table_read(path, &opts, &table, err));
    const dpa_status status = from_table(path, table, out, err);
    dpa_table_free(table);
    return status;
}

dpa_status dpa_losses_read(const dpa_losses_files *files, dpa_losses *out, dpa_error *err) {
    *out = (dpa_losses){0};
    if (err != NULL) *err = (dpa_error){0};
    if (files->train == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "losses of training points are needed");
    if ((files->train_labels == NULL) != (files->heldout_labels == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "labels are needed for both the training and the held-out predictions");
    if (files->heldout == NULL && !dpa_npz_has(files->train, "train"))
        return read_table(files->train, out, err);
    return read_pair(files, out, err);
}
