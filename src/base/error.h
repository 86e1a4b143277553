/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making errors: every function returns the status it stores, so that `return dpa__fail(…)` is the
 * idiom. */
#ifndef DPA_BASE_ERROR_H
#define DPA_BASE_ERROR_H

#include <stdint.h>

#include "dpaudit/status.h"

dpa_status dpa__fail(dpa_error *err, dpa_status status, const char *format, ...) DPA_PRINTF(3, 4);
/* A place in a text file; column 0 leaves the column out. */
dpa_status dpa__fail_line(dpa_error *err, dpa_status status, const char *file, uint64_t line,
                          uint64_t column, const char *format, ...) DPA_PRINTF(6, 7);
/* A place in a binary file. */
dpa_status dpa__fail_offset(dpa_error *err, dpa_status status, const char *file, uint64_t offset,
                            const char *format, ...) DPA_PRINTF(5, 6);
/* Only the file is known. */
dpa_status dpa__fail_file(dpa_error *err, dpa_status status, const char *file, const char *format,
                          ...) DPA_PRINTF(4, 5);

/* Calls in a row: return on the first that fails. */
#define DPA_TRY(call)                                                                              \
    do {                                                                                           \
        const dpa_status dpa_try_status = (call);                                                  \
        if (dpa_try_status != DPA_OK) return dpa_try_status;                                       \
    } while (0)

/* A function that knows no file has failed on what was read from one: puts the file's name into an
 * error about bad input that has no place yet. Gives the status back. */
dpa_status dpa__name_place(dpa_status status, const char *path, dpa_error *err);

#endif
