/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes several arrays into one NPZ with libzip: stored, as numpy.savez does, and with a fixed
 * date, so that the same arrays give the same bytes. The archive is made in memory and then written
 * whole. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/write.h"
#include "base/zip.h"

enum { FIRST_DAY = 1 << 5 | 1 }; /* 1980-01-01 in zip's own form, the first date it can express */

static dpa_status fail_zip(const char *path, zip_error_t *error, dpa_error *err) {
    const int code = dpa__zip->error_code_zip(error);
    const int no_memory = code == ZIP_ER_MEMORY || code == ZIP_ER_OK; /* OK: our own failed */
    return dpa__fail_file(err, no_memory ? DPA_NO_MEMORY : DPA_IO, path, "cannot make the NPZ: %s",
                          dpa__zip->error_strerror(error));
}

/* Adds an entry, stored; the archive takes the source, also when this fails. */
static int add_entry(zip_t *zip, const char *name, zip_source_t *source) {
    const zip_int64_t index =
        source != NULL ? dpa__zip->file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        dpa__zip->source_free(source);
        return -1;
    }
    if (dpa__zip->set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0) return -1;
    return dpa__zip->file_set_dostime(zip, (zip_uint64_t)index, 0, FIRST_DAY, 0);
}

/* The header stays with the caller until the archive is closed. */
static int add_array(zip_t *zip, const char *name, const dpa_array *array, dpa__text *header) {
    dpa__text entry = {0};
    dpa__npy_header(array, header);
    dpa__text_printf(&entry, "%s.npy", name);
    const zip_buffer_fragment_t parts[2] = {
        {(zip_uint8_t *)header->data, header->length},
        {array->data, array->count * dpa__dtype_size(array->dtype)}};
    const int failed = header->failed || entry.failed;
    const int status =
        failed ? -1
               : add_entry(zip, entry.data, dpa__zip->source_buffer_fragment(zip, parts, 2, 0));
    dpa__text_free(&entry);
    return status;
}

/* Adds a text entry under its plain name; numpy shows it as bytes. */
static int add_text(zip_t *zip, const char *name, const char *text) {
    return add_entry(zip, name, dpa__zip->source_buffer(zip, text, strlen(text), 0));
}

static dpa_status copy_out(zip_source_t *source, const char *path, dpa_error *err) {
    dpa__writer *w;
    char block[1 << 14];
    zip_int64_t got = 0;
    if (dpa__zip->source_open(source) != 0)
        return fail_zip(path, dpa__zip->source_error(source), err);
    dpa_status status = dpa__writer_open(path, &w, err);
    while (status == DPA_OK && (got = dpa__zip->source_read(source, block, sizeof block)) > 0)
        status = dpa__writer_add(w, block, (size_t)got, err);
    if (status == DPA_OK && got < 0) status = fail_zip(path, dpa__zip->source_error(source), err);
    (void)dpa__zip->source_close(source);
    if (status == DPA_OK) return dpa__writer_commit(w, err);
    dpa__writer_abandon(w);
    return status;
}

/* Makes the archive in `target`. */
static dpa_status fill_archive(zip_source_t *target, const char *path, const char *const *names,
                               const dpa_array *arrays, size_t count, dpa__text *headers,
                               const char *entry, const char *text, dpa_error *err) {
    zip_error_t error;
    dpa__zip->error_init(&error);
    zip_t *zip = dpa__zip->open_from_source(target, ZIP_TRUNCATE, &error);
    if (zip == NULL) {
        const dpa_status status = fail_zip(path, &error, err);
        dpa__zip->error_fini(&error);
        return status;
    }
    dpa__zip->source_keep(target); /* zip_close drops one reference */
    int failed = 0;
    for (size_t i = 0; i < count && !failed; ++i)
        failed = add_array(zip, names[i], &arrays[i], &headers[i]) != 0;
    if (!failed && entry != NULL) failed = add_text(zip, entry, text) != 0;
    if (!failed && dpa__zip->close(zip) == 0) return DPA_OK;
    const dpa_status status = fail_zip(path, dpa__zip->get_error(zip), err);
    dpa__zip->discard(zip);
    return status;
}

dpa_status dpa__npz_write(const char *path, const char *const *names, const dpa_array *arrays,
                          size_t count, dpa_error *err) {
    return dpa__npz_write_with(path, names, arrays, count, NULL, NULL, err);
}

dpa_status dpa__npz_write_with(const char *path, const char *const *names, const dpa_array *arrays,
                               size_t count, const char *entry, const char *text, dpa_error *err) {
    zip_error_t error;
    for (size_t i = 0; i < count; ++i) DPA_TRY(dpa__array_check(&arrays[i], err));
    DPA_TRY(dpa__zip_load(err));
    dpa__text *headers = dpa__calloc(count, sizeof *headers, err);
    if (headers == NULL) return DPA_NO_MEMORY;
    dpa__zip->error_init(&error);
    zip_source_t *target = dpa__zip->source_buffer_create(NULL, 0, 0, &error);
    dpa_status status = target == NULL ? fail_zip(path, &error, err)
                                       : fill_archive(target, path, names, arrays, count, headers,
                                                      entry, text, err);
    if (status == DPA_OK) status = copy_out(target, path, err);
    if (target != NULL) dpa__zip->source_free(target);
    for (size_t i = 0; i < count; ++i) dpa__text_free(&headers[i]);
    free(headers);
    dpa__zip->error_fini(&error);
    return status;
}
