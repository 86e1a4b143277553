/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making errors. Every function returns the status it stores, so that callers write `return
 * dpa__fail(…)`. */
#ifndef DPA_BASE_ERROR_H
#define DPA_BASE_ERROR_H

#include <stdint.h>

#include "dpaudit/status.h"

DPA_API dpa_status dpa__fail(dpa_error *err, dpa_status status, const char *format, ...)
    DPA_PRINTF(3, 4);
/* An error at a place in a text file; column 0: no column. */
DPA_API dpa_status dpa__fail_line(dpa_error *err, dpa_status status, const char *file,
                                  uint64_t line, uint64_t column, const char *format, ...)
    DPA_PRINTF(6, 7);
/* An error at a place in a binary file. */
DPA_API dpa_status dpa__fail_offset(dpa_error *err, dpa_status status, const char *file,
                                    uint64_t offset, const char *format, ...) DPA_PRINTF(5, 6);
/* An error of which only the file is known. */
DPA_API dpa_status dpa__fail_file(dpa_error *err, dpa_status status, const char *file,
                                  const char *format, ...) DPA_PRINTF(4, 5);

/* For a sequence of calls: returns the status of the first one that fails. */
#define DPA_TRY(call)                                                                              \
    do {                                                                                           \
        const dpa_status dpa_try_status = (call);                                                  \
        if (dpa_try_status != DPA_OK) return dpa_try_status;                                       \
    } while (0)

/* Adds the file's name to a bad-input error that has no place yet, because the function that failed
 * did not know where its input came from. Returns `status`. */
dpa_status dpa__name_place(dpa_status status, const char *path, dpa_error *err);

#endif
