/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the evidence of a game as files that the other commands read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "output.h"
#include "trials.h"

dpa_status folder_make(const char *folder, dpa_error *err) {
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, folder, "cannot make this folder: %s", strerror(errno));
}

/* The file's name says which command reads it. */
static const char *file_name(const dpa_evidence *e) {
    switch (e->kind) {
    case DPA_EVIDENCE_COUNTS:
        return "counts.npz";
    case DPA_EVIDENCE_SCORES:
        return e->design == DPA_ONE_RUN ? "guesses.npz" : "scores.npz";
    case DPA_EVIDENCE_GUESSES:
        return "guesses.npz";
    case DPA_EVIDENCE_COSINES:
        return "cosines.npz";
    case DPA_EVIDENCE_SIGNALS:
        return "signals.npz";
    }
    return "evidence.npz";
}

/* Whether an array holds flags (membership), which are written as one byte each, as dpaudit attack
 * and other tools expect. */
static int is_flags(const dpa_evidence *evidence, const dpa_named_array *a) {
    return evidence->kind == DPA_EVIDENCE_SIGNALS && strcmp(a->name, "members") == 0;
}

static dpa_status write_flags(const char *path, const dpa_named_array *a, dpa_error *err) {
    unsigned char *flags = malloc(a->count > 0 ? a->count : 1);
    if (flags == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", a->name);
    for (size_t i = 0; i < a->count; ++i) flags[i] = a->items[i] > 0.0;
    const dpa_array array = {.dtype = DPA_U8,
                             .ndim = 2,
                             .shape = {a->rows, a->rows > 0 ? a->count / a->rows : 0},
                             .count = a->count,
                             .data = flags};
    const dpa_status status = dpa__array_write(path, &array, err);
    free(flags);
    return status;
}

static dpa_array as_array(const dpa_named_array *a) {
    dpa_array out = {
        .dtype = DPA_F64, .ndim = 1, .shape = {a->count}, .count = a->count, .data = a->items};
    if (a->rows == 0) return out;
    out.ndim = 2;
    out.shape[0] = a->rows;
    out.shape[1] = a->count / a->rows;
    return out;
}

dpa_status evidence_write(const dpa_evidence *evidence, const char *folder, dpa_error *err) {
    char path[4096];
    DPA_TRY(folder_make(folder, err));
    (void)snprintf(path, sizeof path, "%s/%s", folder, file_name(evidence));
    return dpa_evidence_write(evidence, path, err);
}

/* One row per line, with enough digits to read back the same doubles. */
static dpa_status write_csv(const char *path, const dpa_named_array *a, dpa_error *err) {
    const size_t columns = a->rows > 0 ? a->count / a->rows : 1;
    size_t used = 0;
    char *text = malloc(26 * a->count + 1);
    if (text == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", a->name);
    for (size_t i = 0; i < a->count; ++i)
        used += (size_t)snprintf(text + used, 26, "%.17g%c", a->items[i],
                                 (i + 1) % columns == 0 ? '\n' : ',');
    const dpa_status status = dpa__file_write(path, text, used, err);
    free(text);
    return status;
}

dpa_status evidence_export(const dpa_evidence *evidence, const char *folder, int csv,
                           dpa_error *err) {
    DPA_TRY(folder_make(folder, err));
    for (size_t i = 0; i < evidence->array_count; ++i) {
        const dpa_named_array *a = &evidence->arrays[i];
        const dpa_array array = as_array(a);
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s.%s", folder, a->name, csv ? "csv" : "npy");
        DPA_TRY(csv                     ? write_csv(path, a, err)
                : is_flags(evidence, a) ? write_flags(path, a, err)
                                        : dpa__array_write(path, &array, err));
    }
    return DPA_OK;
}
