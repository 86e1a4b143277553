/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays and seeds as JSON, or as files beside it. */
#include "game/trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

const char *const dpa__level_names[DPA__LEVELS] = {"train", "gradient", "step", "round", "canary"};
const char *const dpa__signal_names[3] = {"confidence", "loss", "gradient"};

static int file_path(const char *folder, const char *name, char path[PATH_MAX]) {
    const int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX;
}

dpa_status dpa__write_plainly(const char *path, dpa__text *head, const void *more, size_t bytes,
                              dpa_error *err) {
    FILE *file = head->failed ? NULL : fopen(path, "we");
    int bad = file == NULL;
    if (file != NULL) {
        bad = head->length > 0 && fwrite(head->data, head->length, 1, file) != 1;
        bad |= bytes > 0 && fwrite(more, bytes, 1, file) != 1;
        bad |= fclose(file) != 0;
    }
    dpa_status status = DPA_OK;
    if (head->failed)
        status = dpa__fail(err, DPA_NO_MEMORY, "no memory for a file of a trainer");
    else if (bad)
        status = dpa__fail_file(err, DPA_IO, path, "cannot write: %s", strerror(errno));
    dpa__text_free(head);
    return status;
}

static dpa_status put_file(dpa__text *line, const char *key, const dpa_array *array,
                           const char *folder, const char *side, dpa_error *err) {
    char name[64], path[PATH_MAX];
    dpa__text header = {0};
    (void)snprintf(name, sizeof name, "%s-%s.npy", side, key);
    if (!file_path(folder, name, path))
        return dpa__fail(err, DPA_IO, "the folder for arrays has too long a name");
    dpa__npy_header(array, &header);
    DPA_TRY(dpa__write_plainly(path, &header, array->data,
                               array->count * dpa__dtype_size(array->dtype), err));
    dpa__text_printf(line, ",\"%s\":{\"npy\":\"%s\"}", key, name);
    return DPA_OK;
}

/* Not by printf, which would be most of a trial's cost besides the training. */
static void put_id(dpa__text *line, size_t id) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + id % 10);
        id /= 10;
    } while (id > 0);
    dpa__text_add_bytes(line, digits + at, sizeof digits - at);
}

static void put_number(dpa__text *line, double value) {
    char digits[40];
    dpa__number_text(value, digits, sizeof digits);
    dpa__text_add(line, isfinite(value) ? digits : "null");
}

/* `rows` 0: a plain list. */
static dpa_status put(dpa__text *line, const char *key, dpa_dtype dtype, const void *data,
                      size_t rows, size_t columns, const char *folder, const char *side,
                      dpa_error *err) {
    const dpa_array array = {.dtype = dtype,
                             .ndim = rows > 0 ? 2 : 1,
                             .shape = {rows > 0 ? rows : columns, columns},
                             .count = (rows > 0 ? rows : 1) * columns,
                             .data = (void *)(uintptr_t)data};
    if (array.count > (dtype == DPA_U64 ? DPA__INLINE_IDS : DPA__INLINE_MOST))
        return put_file(line, key, &array, folder, side, err);
    dpa__text_printf(line, ",\"%s\":[", key);
    for (size_t i = 0; i < array.count; ++i) {
        const int starts = rows > 0 && i % columns == 0;
        dpa__text_add(line, starts ? (i > 0 ? "],[" : "[") : (i > 0 ? "," : ""));
        if (dtype == DPA_U64)
            put_id(line, ((const size_t *)data)[i]);
        else
            put_number(line, dtype == DPA_F64 ? ((const double *)data)[i]
                                              : (double)((const float *)data)[i]);
    }
    dpa__text_add(line, rows > 0 ? "]]" : "]");
    return DPA_OK;
}

dpa_status dpa__put_ids(dpa__text *line, const char *key, const size_t *ids, size_t count,
                        const char *folder, const char *side, dpa_error *err) {
    return put(line, key, DPA_U64, ids, 0, count, folder, side, err);
}

dpa_status dpa__put_doubles(dpa__text *line, const char *key, const double *items, size_t count,
                            const char *folder, const char *side, dpa_error *err) {
    return put(line, key, DPA_F64, items, 0, count, folder, side, err);
}

dpa_status dpa__put_floats(dpa__text *line, const char *key, const float *items, size_t rows,
                           size_t columns, const char *folder, const char *side, dpa_error *err) {
    return put(line, key, DPA_F32, items, rows, columns, folder, side, err);
}

/* Writes the low 32 bits, which every library accepts, and all 64 bits as text for those that want
 * them. */
void dpa__put_seed(dpa__text *line, const char *key, uint64_t seed) {
    dpa__text_printf(line, ",\"%s\":%" PRIu32 ",\"%s_hex\":\"%016" PRIx64 "\"", key, (uint32_t)seed,
                     key, seed);
}

/* ---- Reading ---- */

static dpa_status take_file(const json_t *value, const char *key, const char *folder,
                            double **items, size_t *count, dpa_error *err) {
    const char *name = json_string_value(json_object_get(value, "npy"));
    char path[PATH_MAX];
    if (name == NULL || strchr(name, '/') != NULL)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "\"%s\": expected a list of numbers or {\"npy\": NAME}, a file in the "
                         "folder of the hello",
                         key);
    if (!file_path(folder, name, path))
        return dpa__fail(err, DPA_BAD_INPUT, "\"%s\": the name of the file is too long", key);
    dpa_array array;
    DPA_TRY(dpa__doubles_read(path, NULL, &array, err));
    *items = array.data;
    *count = array.count;
    return DPA_OK;
}

/* Reads a list of numbers, or of lists of numbers one after the other. */
static dpa_status take_list(const json_t *list, const char *key, double *items, size_t *count,
                            dpa_error *err) {
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        if (json_is_array(item)) {
            DPA_TRY(take_list(item, key, items, count, err));
            continue;
        }
        if (!json_is_number(item))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "\"%s\": entry %zu is not a number (NaN and infinities are none)", key,
                             *count + 1);
        if (items != NULL) items[*count] = json_number_value(item);
        ++*count;
    }
    return DPA_OK;
}

dpa_status dpa__take_numbers(const json_t *message, const char *key, const char *folder,
                             double **items, size_t *count, dpa_error *err) {
    const json_t *value = json_object_get(message, key);
    *items = NULL;
    *count = 0;
    if (value == NULL) return dpa__fail(err, DPA_BAD_INPUT, "\"%s\" is missing", key);
    if (!json_is_array(value)) {
        DPA_TRY(take_file(value, key, folder, items, count, err));
    } else {
        DPA_TRY(take_list(value, key, NULL, count, err));
        *items = DPA_NEW_ARRAY(double, *count, err);
        if (*items == NULL) return DPA_NO_MEMORY;
        *count = 0;
        DPA_TRY(take_list(value, key, *items, count, err));
    }
    for (size_t i = 0; i < *count; ++i) {
        if (isfinite((*items)[i])) continue;
        const double bad = (*items)[i];
        free(*items);
        *items = NULL;
        return dpa__fail(err, DPA_BAD_INPUT, "\"%s\": number %zu is %g: expected a finite one", key,
                         i + 1, bad);
    }
    return DPA_OK;
}

dpa_status dpa__take_ids(const json_t *message, const char *key, const char *folder, size_t limit,
                         size_t **ids, size_t *count, dpa_error *err) {
    double *numbers;
    *ids = NULL;
    DPA_TRY(dpa__take_numbers(message, key, folder, &numbers, count, err));
    *ids = DPA_NEW_ARRAY(size_t, *count, err);
    dpa_status status = *ids != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < *count && status == DPA_OK; ++i) {
        const double x = numbers[i];
        if (x >= 0.0 && x < (double)limit && x == floor(x))
            (*ids)[i] = (size_t)x;
        else
            status = dpa__fail(err, DPA_BAD_INPUT,
                               "\"%s\": number %zu is %g: expected an example's, 0 to %zu", key,
                               i + 1, x, limit > 0 ? limit - 1 : 0);
    }
    free(numbers);
    if (status == DPA_OK) return DPA_OK;
    free(*ids);
    *ids = NULL;
    return status;
}

dpa_status dpa__take_seed(const json_t *message, const char *key, uint64_t *seed, dpa_error *err) {
    char name[40];
    (void)snprintf(name, sizeof name, "%s_hex", key);
    const char *hex = json_string_value(json_object_get(message, name));
    const json_t *small = json_object_get(message, key);
    if (hex != NULL && strlen(hex) == 16 && strspn(hex, "0123456789abcdef") == 16) {
        *seed = strtoull(hex, NULL, 16);
        return DPA_OK;
    }
    if (hex != NULL || !json_is_integer(small) || json_integer_value(small) < 0)
        return dpa__fail(err, DPA_BAD_INPUT, "\"%s\": expected a whole number from 0 on", key);
    *seed = (uint64_t)json_integer_value(small);
    return DPA_OK;
}
