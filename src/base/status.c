/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status codes, their texts and the making of errors. */
#include "dpaudit/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static const struct {
    const char *text;
    int exit_code;
} statuses[] = {
#define ROW(name, exit_code, text) {text, exit_code},
    DPA_STATUS_LIST(ROW)
#undef ROW
};

enum { STATUS_COUNT = (int)(sizeof statuses / sizeof statuses[0]) };

const char *dpa_status_text(dpa_status status) {
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? statuses[i].text : "unknown status";
}

int dpa_status_exit_code(dpa_status status) {
    const int i = (int)status;
    return i >= 0 && i < STATUS_COUNT ? statuses[i].exit_code : 4;
}

const char *dpa_version(void) {
    return DPA_VERSION;
}

DPA_PRINTF(3, 0)
static void set_text(dpa_error *err, dpa_status status, const char *format, va_list args) {
    err->status = status;
    (void)dpa__vprint(err->text, sizeof err->text, format, args);
    /* Names and cells from files get into both texts, which may be printed on a terminal. */
    dpa__utf8_tame(err->place, "");
    dpa__utf8_tame(err->text, "");
}

dpa_status dpa__fail(dpa_error *err, dpa_status status, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->place[0] = '\0';
        set_text(err, status, format, args);
        va_end(args);
    }
    return status;
}

dpa_status dpa__fail_line(dpa_error *err, dpa_status status, const char *file, uint64_t line,
                          uint64_t column, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        if (column > 0)
            (void)snprintf(err->place, sizeof err->place, "%.400s:%" PRIu64 ":%" PRIu64, file, line,
                           column);
        else
            (void)snprintf(err->place, sizeof err->place, "%.400s:%" PRIu64, file, line);
        set_text(err, status, format, args);
        va_end(args);
    }
    return status;
}

dpa_status dpa__fail_offset(dpa_error *err, dpa_status status, const char *file, uint64_t offset,
                            const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)snprintf(err->place, sizeof err->place, "%.400s: offset %" PRIu64, file, offset);
        set_text(err, status, format, args);
        va_end(args);
    }
    return status;
}

dpa_status dpa__fail_file(dpa_error *err, dpa_status status, const char *file, const char *format,
                          ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)snprintf(err->place, sizeof err->place, "%.400s", file);
        set_text(err, status, format, args);
        va_end(args);
    }
    return status;
}

dpa_status dpa__name_place(dpa_status status, const char *path, dpa_error *err) {
    if (status != DPA_BAD_INPUT || err == NULL || err->place[0] != '\0') return status;
    char text[DPA_TEXT_SIZE];
    memcpy(text, err->text, sizeof text);
    return dpa__fail_file(err, status, path, "%s", text);
}
