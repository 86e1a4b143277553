/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of readers: reads bytes into an array or an error, and writes files. */
#ifndef DPA_TESTS_READERS_H
#define DPA_TESTS_READERS_H

#include "check.h"

#include <fcntl.h>

#include "base/array.h"
#include "base/data.h"
#include "base/stream.h"
#include "base/text.h"

static inline dpa_status read_bytes(const void *bytes, size_t size, const char *member,
                                    dpa_array *out, dpa_error *err) {
    dpa__stream *stream;
    memset(err, 0, sizeof *err);
    const dpa_status opened = dpa__stream_open_memory("mem", bytes, size, &stream, err);
    if (opened != DPA_OK) return opened;
    const dpa_status status = dpa__array_from_stream(stream, member, out, err);
    dpa__stream_close(stream);
    return status;
}

/* Asserts that the bytes are bad input, at this place, for a reason that contains `text`. */
#define assert_bad(bytes, size, place_, text_)                                                     \
    do {                                                                                           \
        dpa_array bad_array;                                                                       \
        dpa_error bad_err;                                                                         \
        check_bad(read_bytes((bytes), (size), NULL, &bad_array, &bad_err), &bad_err, (place_),     \
                  (text_), __FILE__, __LINE__);                                                    \
        assert_null(bad_array.data);                                                               \
    } while (0)

static inline void check_bad(dpa_status status, const dpa_error *err, const char *place,
                             const char *text, const char *file, int line) {
    if (status == DPA_BAD_INPUT && err->status == status && strcmp(err->place, place) == 0 &&
        strstr(err->text, text) != NULL)
        return;
    print_error("%s:%d: status %d, place '%s', text '%s'; want '%s', '…%s…'\n", file, line,
                (int)status, status == DPA_OK ? "" : err->place, status == DPA_OK ? "" : err->text,
                place, text);
    fail();
}

/* Makes an NPY file from a header dictionary and a payload. */
static inline void make_npy(dpa__text *out, int version, const char *dict, const void *payload,
                            size_t size) {
    const size_t length = strlen(dict);
    const char start[8] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y', (char)version, 0};
    const char sizes[4] = {(char)(length & 255), (char)(length >> 8 & 255), 0, 0};
    out->length = 0;
    dpa__text_add_bytes(out, start, sizeof start);
    dpa__text_add_bytes(out, sizes, version == 1 ? 2 : 4);
    dpa__text_add(out, dict);
    dpa__text_add_bytes(out, payload, size);
}

/* Makes a new file in /tmp with these bytes; returns its name. */
static inline const char *make_file(const void *bytes, size_t size) {
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/dpaudit_test_XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(close(fd), 0);
    return path;
}

/* A file of tests/data. */
static inline const char *data_file(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/tests/data/%s", DPA_SOURCE, name);
    return path;
}

#endif
