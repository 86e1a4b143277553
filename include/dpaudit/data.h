/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of numbers: strict readers for arrays and tables.
 *
 * A path of "-" is standard input. Gzip and xz are undone wherever they are found. What a file is,
 * is told by its first bytes, not by its name: NPY, NPZ (zip), IDX, else text. Any other bytes are
 * an error that names file, line and column (text) or byte offset (binary), what was found and what
 * would be right. */
#ifndef DPAUDIT_DATA_H
#define DPAUDIT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

DPA_C_BEGIN

typedef enum dpa_dtype {
    DPA_BOOL,
    DPA_I8,
    DPA_U8,
    DPA_I16,
    DPA_U16,
    DPA_I32,
    DPA_U32,
    DPA_I64,
    DPA_U64,
    DPA_F16,
    DPA_F32,
    DPA_F64
} dpa_dtype;

enum { DPA_MAX_DIMS = 8, DPA_SHA256_SIZE = 65 };

/* Native byte order, C order, one allocation. */
typedef struct dpa_array {
    dpa_dtype dtype;
    unsigned ndim;
    size_t shape[DPA_MAX_DIMS];
    size_t count; /* product of the shape; 1 for a scalar */
    void *data;
    char
        sha256[DPA_SHA256_SIZE]; /* of the file's bytes as stored, lower-case hex; "" if not read */
} dpa_array;

DPA_API size_t dpa_dtype_size(dpa_dtype dtype);
DPA_API const char *dpa_dtype_name(dpa_dtype dtype);

/* One array: NPY, IDX, an NPZ that holds just one, or text with one number a line (an optional
 * header line is not allowed: that is a table). `member` names the array of an NPZ; NULL elsewhere.
 */
DPA_API dpa_status dpa_array_read(const char *path, const char *member, dpa_array *out,
                                  dpa_error *err) DPA_MUST_USE;
/* Turn the elements into double, in place where they are doubles already. */
DPA_API dpa_status dpa_array_to_double(dpa_array *array, dpa_error *err) DPA_MUST_USE;
/* NPY version 1, written to a temporary name and renamed. */
DPA_API dpa_status dpa_array_write(const char *path, const dpa_array *array,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_array_free(dpa_array *array);
/* A file that appears whole or not at all: written under a temporary name, synced, renamed. */
DPA_API dpa_status dpa_file_write(const char *path, const void *bytes, size_t count,
                                  dpa_error *err) DPA_MUST_USE;
/* 1 when the file is an NPZ that has this member, 0 when not (or not an NPZ). Standard input and
 * pipes are not looked into: 0. */
DPA_API int dpa_npz_has(const char *path, const char *member);
/* NPZ of the arrays under these names, uncompressed; written to a temporary name and renamed. */
DPA_API dpa_status dpa_npz_write(const char *path, const char *const *names,
                                 const dpa_array *arrays, size_t count,
                                 dpa_error *err) DPA_MUST_USE;

/* CSV (RFC 4180, UTF-8) with a header. A column whose every cell is a number is numeric, any other
 * is text, kept as codes into its sorted distinct values. */
typedef struct dpa_table dpa_table;

/* As a separator: whichever of comma, semicolon and tab the first line has most of. */
enum { DPA_ANY_SEPARATOR = '?' };

typedef struct dpa_table_opts {
    char separator;          /* ',' */
    int has_header;          /* 1; 0 names the columns c1, c2, … */
    int trim;                /* 1: blanks around a cell are not part of it */
    const char *comment;     /* lines that start so are skipped; NULL: none */
    const char *const *text; /* columns to keep as text although they look numeric, where they are;
                                NULL-ended or NULL */
} dpa_table_opts;

typedef enum dpa_column_kind { DPA_COLUMN_NUMBER, DPA_COLUMN_TEXT } dpa_column_kind;

DPA_API void dpa_table_opts_init(dpa_table_opts *opts);
DPA_API dpa_status dpa_table_read(const char *path, const dpa_table_opts *opts, dpa_table **out,
                                  dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_table_free(dpa_table *table);
DPA_API size_t dpa_table_rows(const dpa_table *table);
DPA_API size_t dpa_table_columns(const dpa_table *table);
DPA_API const char *dpa_table_name(const dpa_table *table, size_t column);
DPA_API const char *dpa_table_sha256(const dpa_table *table);
/* The column of that name, or -1. */
DPA_API ptrdiff_t dpa_table_find(const dpa_table *table, const char *name);
DPA_API dpa_column_kind dpa_table_kind(const dpa_table *table, size_t column);
/* The first line with a cell that is not a number, for saying why a column is not numeric; 0 when
 * every cell is a number. */
DPA_API uint64_t dpa_table_text_line(const dpa_table *table, size_t column);
/* rows numbers; NULL for a text column. */
DPA_API const double *dpa_table_numbers(const dpa_table *table, size_t column);
/* rows codes into dpa_table_level(…, code); NULL for a numeric column. */
DPA_API const uint32_t *dpa_table_codes(const dpa_table *table, size_t column);
DPA_API size_t dpa_table_levels(const dpa_table *table, size_t column);
DPA_API const char *dpa_table_level(const dpa_table *table, size_t column, size_t code);

DPA_C_END

#endif
