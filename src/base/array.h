/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays from streams: one reader per format, and the code that the binary formats share. */
#ifndef DPA_BASE_ARRAY_H
#define DPA_BASE_ARRAY_H

#include "base/data.h"
#include "base/stream.h"
#include "base/text.h"

/* Reads any format, chosen by the first bytes. dpa__array_read calls it once the file is open. */
dpa_status dpa__array_from_stream(dpa__stream *stream, const char *member, dpa_array *out,
                                  dpa_error *err);

/* The same of dpa__table_read. */
DPA_API dpa_status dpa__table_from_stream(dpa__stream *stream, const dpa_table_opts *opts,
                                          dpa_table **out, dpa_error *err);

dpa_status dpa__npy_read(dpa__stream *stream, dpa_array *out, dpa_error *err);
dpa_status dpa__npz_read(dpa__stream *stream, const char *member, dpa_array *out, dpa_error *err);
/* The error for an NPZ where a table is expected: what is wrong with the archive, or that it is
 * one. */
dpa_status dpa__npz_refuse(dpa__stream *stream, dpa_error *err);
dpa_status dpa__idx_read(dpa__stream *stream, dpa_array *out, dpa_error *err);
dpa_status dpa__numbers_read(dpa__stream *stream, dpa_array *out, dpa_error *err);

int dpa__npy_matches(const unsigned char *bytes, size_t count);
int dpa__npz_matches(const unsigned char *bytes, size_t count);
int dpa__idx_matches(const unsigned char *bytes, size_t count);

/* An element type: its name, bytes, and its code in NPY and in IDX (0: none). */
typedef struct dpa__dtype_row {
    const char *name;
    size_t size;
    char npy[3];
    unsigned char idx;
} dpa__dtype_row;
extern const dpa__dtype_row dpa__dtypes[DPA_F64 + 1];

/* The byte order of this machine. */
enum { DPA__IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/* How the elements are stored in the file. */
typedef struct dpa__layout {
    int swapped; /* the other byte order */
    int fortran; /* first index fastest */
} dpa__layout;

/* Reads the elements of an array whose dtype, ndim and shape are set: computes the count (overflow
 * is an error), reads, and converts to native byte order and C order. Fails if bytes follow. */
dpa_status dpa__array_fill(dpa__stream *stream, dpa__layout layout, dpa_array *array,
                           dpa_error *err);

/* Fails unless the array can be written. */
dpa_status dpa__array_check(const dpa_array *array, dpa_error *err);
/* The bytes in front of the elements of an NPY file, version 1. */
DPA_API void dpa__npy_header(const dpa_array *array, dpa__text *out);

/* As dpa__npz_write, with one entry of text beside the arrays; `entry` NULL: none. */
dpa_status dpa__npz_write_with(const char *path, const char *const *names, const dpa_array *arrays,
                               size_t count, const char *entry, const char *text, dpa_error *err);
/* That text, for the caller to free, and its length; *out stays NULL if the file is no NPZ or has
 * no such entry. At most 16 MiB. */
dpa_status dpa__npz_text(const char *path, const char *entry, char **out, size_t *count,
                         dpa_error *err);
/* The names of the arrays of an NPZ, each at most 31 bytes long; more than `most` is an error. */
dpa_status dpa__npz_names(const char *path, char (*names)[32], size_t most, size_t *count,
                          dpa_error *err);

#endif
