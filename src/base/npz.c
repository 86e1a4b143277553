/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NPZ: a zip archive of NPY files, NAME.npy for each array, stored or deflated, by libzip (which
 * checks the CRC). A plain file is read in place. Input from a pipe or out of gzip is held in
 * memory, because the table of contents of a zip is at its end. Arrays are written stored, as
 * numpy.savez does, and with a fixed date, so that the same arrays give the same bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/write.h"
#include "base/zip.h"

typedef struct archive {
    zip_t *zip;
    char *bytes; /* the archive, where it is held in memory */
    char sha256[DPA_SHA256_SIZE];
} archive;

int dpa__npz_matches(const unsigned char *bytes, size_t count) {
    return count >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

static void close_archive(archive *a) {
    if (a->zip != NULL) dpa__zip->discard(a->zip);
    free(a->bytes);
}

static dpa_status fail_zip(const char *name, zip_error_t *error, dpa_error *err) {
    const int no_memory = dpa__zip->error_code_zip(error) == ZIP_ER_MEMORY;
    return dpa__fail_file(err, no_memory ? DPA_NO_MEMORY : DPA_BAD_INPUT, name,
                          "not a sound NPZ (zip) file, perhaps cut off: %s",
                          dpa__zip->error_strerror(error));
}

static dpa_status open_source(dpa__stream *stream, archive *a, zip_source_t **source,
                              zip_error_t *error, dpa_error *err) {
    FILE *file;
    size_t count;
    *source = NULL;
    DPA_TRY(dpa__stream_seekable(stream, &file, err));
    if (file != NULL) {
        *source = dpa__zip->source_filep_create(file, 0, -1, error);
        if (*source == NULL) (void)fclose(file);
    } else {
        DPA_TRY(dpa__stream_read_all(stream, &a->bytes, &count, err));
        *source = dpa__zip->source_buffer_create(a->bytes, count, 0, error);
    }
    if (*source == NULL) return fail_zip(dpa__stream_name(stream), error, err);
    return DPA_OK;
}

static dpa_status open_archive(dpa__stream *stream, archive *a, dpa_error *err) {
    zip_error_t error;
    zip_source_t *source;
    DPA_TRY(dpa__zip_load(err));
    dpa__zip->error_init(&error);
    dpa_status status = open_source(stream, a, &source, &error, err);
    if (status == DPA_OK) {
        a->zip = dpa__zip->open_from_source(source, ZIP_RDONLY, &error);
        if (a->zip == NULL) {
            dpa__zip->source_free(source);
            status = fail_zip(dpa__stream_name(stream), &error, err);
        }
    }
    dpa__zip->error_fini(&error);
    if (status == DPA_OK) status = dpa__stream_finish(stream, "the archive", a->sha256, err);
    return status;
}

/* The name of the first array from entry *index on, which is "x" for the entry "x.npy", and its
 * length; NULL if there is none. */
static const char *next_array(zip_t *zip, zip_int64_t *index, size_t *length) {
    for (; *index < dpa__zip->get_num_entries(zip, 0); ++*index) {
        const char *entry = dpa__zip->get_name(zip, (zip_uint64_t)*index, ZIP_FL_ENC_RAW);
        *length = entry != NULL ? strlen(entry) : 0;
        if (*length <= 4 || strcmp(entry + *length - 4, ".npy") != 0) continue;
        *length -= 4;
        return entry;
    }
    return NULL;
}

/* How many arrays there are; *index is the one called `member` (NULL: any one), or -1. */
static size_t find_array(zip_t *zip, const char *member, zip_int64_t *index) {
    const char *name;
    size_t arrays = 0, length;
    *index = -1;
    for (zip_int64_t i = 0; (name = next_array(zip, &i, &length)) != NULL; ++i, ++arrays)
        if (member == NULL || (strlen(member) == length && memcmp(name, member, length) == 0))
            *index = i;
    return arrays;
}

static dpa_status fail_names(zip_t *zip, const char *name, const char *member, size_t arrays,
                             dpa_error *err) {
    enum { ROOM = 300 };
    char list[ROOM + 8] = "";
    const char *array;
    size_t used = 0, length;
    for (zip_int64_t i = 0; used < ROOM && (array = next_array(zip, &i, &length)) != NULL; ++i)
        used += (size_t)snprintf(list + used, ROOM - used, "%s%.*s", used > 0 ? ", " : "",
                                 (int)(length < 60 ? length : 60), array);
    if (used >= ROOM) memcpy(list + ROOM - 1, " ...", 5);
    if (arrays == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, name,
                              "the archive holds no array (NAME.npy); an NPZ is right");
    if (member == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, name,
                              "the NPZ holds %zu arrays (%s) where one is expected", arrays, list);
    return dpa__fail_file(err, DPA_BAD_INPUT, name, "the NPZ has no array '%.100s'; it has %s",
                          member, list);
}

typedef struct member_source {
    zip_file_t *file;
    const char *name;
    uint64_t stored, made; /* compressed bytes in the archive, bytes unpacked so far */
} member_source;

static ptrdiff_t read_member(void *user, void *to, size_t max, dpa_error *err) {
    member_source *m = user;
    const zip_int64_t got = dpa__zip->fread(m->file, to, max);
    if (got >= 0) {
        m->made += (uint64_t)got;
        if (dpa__may_expand(m->stored, m->made)) return (ptrdiff_t)got;
        (void)dpa__fail_expansion(m->name, err);
        return -1;
    }
    (void)fail_zip(m->name, dpa__zip->file_get_error(m->file), err);
    return -1;
}

static dpa_status read_entry(zip_t *zip, zip_int64_t index, const char *name, dpa_array *out,
                             dpa_error *err) {
    dpa__stream *stream = NULL;
    dpa__text label = {0};
    member_source m = {.file = dpa__zip->fopen_index(zip, (zip_uint64_t)index, 0)};
    if (m.file == NULL) return fail_zip(name, dpa__zip->get_error(zip), err);
    zip_stat_t about;
    dpa__zip->stat_init(&about);
    if (dpa__zip->stat_index(zip, (zip_uint64_t)index, 0, &about) == 0) m.stored = about.comp_size;
    dpa__text_printf(&label, "%s[%s]", name,
                     dpa__zip->get_name(zip, (zip_uint64_t)index, ZIP_FL_ENC_RAW));
    m.name = label.data;
    dpa_status status = label.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a name")
                                     : dpa__stream_open_call(m.name, read_member, &m, &stream, err);
    if (status == DPA_OK) status = dpa__stream_need(stream, 8, err);
    if (status == DPA_OK) {
        size_t count;
        const unsigned char *bytes = dpa__stream_window(stream, &count);
        status = dpa__npy_matches(bytes, count)
                     ? dpa__npy_read(stream, out, err)
                     : dpa__fail_offset(err, DPA_BAD_INPUT, m.name, 0, "not an NPY file");
    }
    dpa__stream_close(stream);
    dpa__text_free(&label);
    (void)dpa__zip->fclose(m.file);
    return status;
}

dpa_status dpa__npz_read(dpa__stream *stream, const char *member, dpa_array *out, dpa_error *err) {
    archive a = {0};
    const char *const name = dpa__stream_name(stream);
    zip_int64_t index = -1;
    dpa_status status = open_archive(stream, &a, err);
    if (status == DPA_OK) {
        const size_t arrays = find_array(a.zip, member, &index);
        status = index < 0 || (member == NULL && arrays > 1)
                     ? fail_names(a.zip, name, member, arrays, err)
                     : read_entry(a.zip, index, name, out, err);
    }
    memcpy(out->sha256, a.sha256, sizeof a.sha256);
    close_archive(&a);
    return status;
}

/* Opens the archive inside a compressed file (gzip, xz). */
static dpa_status open_compressed(const char *path, archive *a) {
    dpa__stream *stream;
    size_t count;
    DPA_TRY(dpa__stream_open(path, &stream, NULL));
    dpa_status status = dpa__stream_need(stream, 4, NULL);
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (status == DPA_OK && !dpa__npz_matches(bytes, count)) status = DPA_BAD_INPUT;
    if (status == DPA_OK) status = open_archive(stream, a, NULL);
    dpa__stream_close(stream);
    return status;
}

dpa_status dpa__npz_refuse(dpa__stream *stream, dpa_error *err) {
    archive a = {0};
    const dpa_status status = open_archive(stream, &a, err);
    close_archive(&a);
    if (status != DPA_OK) return status;
    return dpa__fail_file(err, DPA_BAD_INPUT, dpa__stream_name(stream),
                          "found an NPZ (zip) file; a CSV table is right");
}

static int starts_as_zip(const char *path) {
    unsigned char bytes[4];
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL) (void)fclose(file);
    return dpa__npz_matches(bytes, count);
}

/* Opens a plain zip file; NULL if it is not one. Pipes and standard input are not tried, because
 * looking at them consumes bytes. */
static zip_t *open_file(const char *path, archive *a) {
    struct stat what;
    if (strcmp(path, "-") == 0 || stat(path, &what) != 0 || !S_ISREG(what.st_mode)) return NULL;
    if (starts_as_zip(path) && dpa__zip_load(NULL) == DPA_OK)
        a->zip = dpa__zip->open(path, ZIP_RDONLY, NULL);
    if (a->zip == NULL) (void)open_compressed(path, a);
    return a->zip;
}

static dpa_status read_text(zip_t *zip, zip_int64_t index, const char *path, char **out,
                            size_t *count, dpa_error *err) {
    enum { MOST = 1 << 24 };
    zip_stat_t what;
    if (dpa__zip->stat_index(zip, (zip_uint64_t)index, 0, &what) != 0 || what.size > MOST)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "its description is not sound");
    char *text = dpa__malloc((size_t)what.size + 1, 1, err);
    if (text == NULL) return DPA_NO_MEMORY;
    zip_file_t *file = dpa__zip->fopen_index(zip, (zip_uint64_t)index, 0);
    const zip_int64_t got = file != NULL ? dpa__zip->fread(file, text, what.size) : -1;
    dpa_status status = DPA_OK;
    if (got != (zip_int64_t)what.size) status = fail_zip(path, dpa__zip->get_error(zip), err);
    if (file != NULL) (void)dpa__zip->fclose(file);
    if (status != DPA_OK) {
        free(text);
        return status;
    }
    text[what.size] = '\0';
    *out = text;
    *count = (size_t)what.size;
    return DPA_OK;
}

dpa_status dpa__npz_text(const char *path, const char *entry, char **out, size_t *count,
                         dpa_error *err) {
    archive a = {0};
    *out = NULL;
    *count = 0;
    dpa_status status = DPA_OK;
    if (open_file(path, &a) != NULL) {
        const zip_int64_t index = dpa__zip->name_locate(a.zip, entry, ZIP_FL_ENC_RAW);
        if (index >= 0) status = read_text(a.zip, index, path, out, count, err);
    }
    close_archive(&a);
    return status;
}

dpa_status dpa__npz_names(const char *path, char (*names)[32], size_t most, size_t *count,
                          dpa_error *err) {
    archive a = {0};
    dpa_status status = DPA_OK;
    const char *name;
    size_t length;
    *count = 0;
    if (open_file(path, &a) == NULL)
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "not a sound NPZ (zip) file");
    for (zip_int64_t i = 0; status == DPA_OK && (name = next_array(a.zip, &i, &length)); ++i)
        if (length > 31 || *count == most)
            status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                    "more than %zu arrays, or a name longer than 31 bytes", most);
        else
            (void)snprintf(names[(*count)++], 32, "%.*s", (int)length, name);
    close_archive(&a);
    return status;
}

int dpa__npz_has(const char *path, const char *member) {
    archive a = {0};
    zip_int64_t index = -1;
    if (open_file(path, &a) != NULL) (void)find_array(a.zip, member, &index);
    close_archive(&a);
    return index >= 0;
}

/* ---- writing: the archive is made in memory and then written whole ---- */

enum { FIRST_DAY = 1 << 5 | 1 }; /* 1980-01-01 in zip's own form, the first date it can express */

static dpa_status fail_making(const char *path, zip_error_t *error, dpa_error *err) {
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
        return fail_making(path, dpa__zip->source_error(source), err);
    dpa_status status = dpa__writer_open(path, &w, err);
    while (status == DPA_OK && (got = dpa__zip->source_read(source, block, sizeof block)) > 0)
        status = dpa__writer_add(w, block, (size_t)got, err);
    if (status == DPA_OK && got < 0)
        status = fail_making(path, dpa__zip->source_error(source), err);
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
        const dpa_status status = fail_making(path, &error, err);
        dpa__zip->error_fini(&error);
        return status;
    }
    dpa__zip->source_keep(target); /* zip_close drops one reference */
    int failed = 0;
    for (size_t i = 0; i < count && !failed; ++i)
        failed = add_array(zip, names[i], &arrays[i], &headers[i]) != 0;
    if (!failed && entry != NULL) failed = add_text(zip, entry, text) != 0;
    if (!failed && dpa__zip->close(zip) == 0) return DPA_OK;
    const dpa_status status = fail_making(path, dpa__zip->get_error(zip), err);
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
    dpa_status status = target == NULL ? fail_making(path, &error, err)
                                       : fill_archive(target, path, names, arrays, count, headers,
                                                      entry, text, err);
    if (status == DPA_OK) status = copy_out(target, path, err);
    if (target != NULL) dpa__zip->source_free(target);
    for (size_t i = 0; i < count; ++i) dpa__text_free(&headers[i]);
    free(headers);
    dpa__zip->error_fini(&error);
    return status;
}
