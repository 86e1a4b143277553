/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays to NPY version 1 files. */
#include "base/array.h"
#include "base/error.h"
#include "base/write.h"

dpa_status dpa__array_check(const dpa_array *array, dpa_error *err) {
    size_t count = 1;
    int overflow = array->ndim > DPA_MAX_DIMS || dpa__dtype_size(array->dtype) == 0;
    for (unsigned i = 0; i < array->ndim && !overflow; ++i)
        overflow = __builtin_mul_overflow(count, array->shape[i], &count);
    if (!overflow && count == array->count && (array->data != NULL || count == 0)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "the array to write is not one: its type, shape, count or data is wrong");
}

dpa_status dpa__array_write(const char *path, const dpa_array *array, dpa_error *err) {
    dpa__writer *w = NULL;
    dpa__text header = {0};
    DPA_TRY(dpa__array_check(array, err));
    dpa__npy_header(array, &header);
    dpa_status status = header.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a header")
                                      : dpa__writer_open(path, &w, err);
    if (status == DPA_OK) status = dpa__writer_add(w, header.data, header.length, err);
    if (status == DPA_OK)
        status = dpa__writer_add(w, array->data, array->count * dpa__dtype_size(array->dtype), err);
    dpa__text_free(&header);
    if (status == DPA_OK) return dpa__writer_commit(w, err);
    dpa__writer_abandon(w);
    return status;
}
