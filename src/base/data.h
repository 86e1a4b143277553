/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of numbers: strict readers for arrays and tables.
 *
 * A path of "-" is standard input. Gzip and xz are undone wherever they are found. What a file is,
 * is told by its first bytes, not by its name: NPY, NPZ (zip), IDX, else text. Any other bytes are
 * an error that names file, line and column (text) or byte offset (binary), what was found and what
 * would be right. */
#ifndef DPA_BASE_DATA_H
#define DPA_BASE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/dictionary.h"
#include "dpaudit/status.h"

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

enum { DPA_MAX_DIMS = 8 };

/* Elements in native byte order and C order, in one allocation that dpa__array_free releases. */
typedef struct dpa_array {
    dpa_dtype dtype;
    unsigned ndim;
    size_t shape[DPA_MAX_DIMS];
    size_t count; /* product of the shape; 1 for a scalar */
    void *data;
    char
        sha256[DPA_SHA256_SIZE]; /* of the file's bytes as stored, lower-case hex; "" if not read */
} dpa_array;

/* Bytes of one element, and the name ("float64"), a constant string. */
DPA_API size_t dpa__dtype_size(dpa_dtype dtype);
DPA_API const char *dpa__dtype_name(dpa_dtype dtype);

/* Reads one array: NPY, IDX, an NPZ that holds only one, or text with one number per line and no
 * header line (text with a header is a table). `member` names the array in an NPZ; NULL otherwise.
 * The caller frees *out with dpa__array_free. */
DPA_API dpa_status dpa__array_read(const char *path, const char *member, dpa_array *out,
                                   dpa_error *err) DPA_MUST_USE;
/* The same with its elements converted to double. */
DPA_API dpa_status dpa__doubles_read(const char *path, const char *member, dpa_array *out,
                                     dpa_error *err) DPA_MUST_USE;
/* Converts the elements to double; nothing happens if they are doubles already. On failure the
 * array is unchanged. */
DPA_API dpa_status dpa__array_to_double(dpa_array *array, dpa_error *err) DPA_MUST_USE;
/* Writes NPY version 1 under a temporary name, then renames it, so that no reader sees half a file.
 */
DPA_API dpa_status dpa__array_write(const char *path, const dpa_array *array,
                                    dpa_error *err) DPA_MUST_USE;
/* Frees the elements and zeroes the struct; NULL is allowed. */
DPA_API void dpa__array_free(dpa_array *array);
/* Writes a file that appears whole or not at all: under a temporary name, synced, then renamed. */
DPA_API dpa_status dpa__file_write(const char *path, const void *bytes, size_t count,
                                   dpa_error *err) DPA_MUST_USE;
/* 1 if the file is an NPZ with this member, else 0. Also 0 for standard input and pipes, because
 * looking would consume them. */
DPA_API int dpa__npz_has(const char *path, const char *member);
/* Writes an uncompressed NPZ with arrays[i] under names[i], as dpa__array_write does. */
DPA_API dpa_status dpa__npz_write(const char *path, const char *const *names,
                                  const dpa_array *arrays, size_t count,
                                  dpa_error *err) DPA_MUST_USE;

/* A CSV file (RFC 4180, UTF-8) in memory. A column in which every cell is a number is numeric; any
 * other is text, stored as codes into its sorted distinct values. Blanks around a cell are dropped.
 */
typedef enum dpa_column_kind { DPA_COLUMN_NUMBER, DPA_COLUMN_TEXT } dpa_column_kind;

typedef struct dpa_column {
    char *name;
    dpa_column_kind kind;
    uint64_t text_line; /* first line with a cell that is no number; 0: none, or not looked for */
    double *numbers;    /* [rows]; NULL for a text column */
    uint32_t *codes;    /* [rows], the places of the texts in `levels`; NULL for a numeric column */
    dpa__levels levels; /* the distinct texts, sorted */
} dpa_column;

typedef struct dpa_table {
    size_t rows, columns;
    dpa_column *column;           /* [columns] */
    char sha256[DPA_SHA256_SIZE]; /* of the file as stored, lower-case hex */
} dpa_table;

/* A separator for dpa_table_opts: take whichever of comma, semicolon and tab is most frequent in
 * the first line. */
enum { DPA_ANY_SEPARATOR = '?' };

typedef struct dpa_table_opts {
    char separator;          /* ',' */
    int has_header;          /* 1; 0: no header, columns are called c1, c2, … */
    const char *comment;     /* skip lines that start with this; NULL: none */
    const char *const *text; /* columns to read as text even if they look numeric; names that the
                                file does not have are ignored; NULL-ended, or NULL */
} dpa_table_opts;

/* Fills in the defaults that the comments at the fields give. */
DPA_API void dpa__table_opts_init(dpa_table_opts *opts);
/* `opts` NULL: the defaults. The caller frees *out with dpa__table_free. */
DPA_API dpa_status dpa__table_read(const char *path, const dpa_table_opts *opts, dpa_table **out,
                                   dpa_error *err) DPA_MUST_USE;
/* NULL is allowed. */
DPA_API void dpa__table_free(dpa_table *table);
/* The index of the column with this name, or -1. */
DPA_API ptrdiff_t dpa__table_find(const dpa_table *table, const char *name);
/* The text of a row of a text column. */
static inline const char *dpa__column_text(const dpa_column *column, size_t row) {
    return dpa__levels_text(&column->levels, column->codes[row]);
}

/* 1 if the whole text is one number ("1e-5", "inf"; not "nan", nor one too large for a double),
 * read with a decimal point whatever the locale is; else 0, and *out means nothing. */
DPA_API int dpa__number_whole(const char *text, double *out);

#endif
