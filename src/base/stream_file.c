/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files by way of a stream. */
#include "base/stream.h"

#include "base/error.h"

dpa_status dpa__file_read_all(const char *path, char **out, size_t *count, dpa_error *err) {
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__stream_read_all(stream, out, count, err);
    dpa__stream_close(stream);
    return status;
}

dpa_status dpa__file_sha256(const char *path, char sha256[DPA_SHA256_SIZE], dpa_error *err) {
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    int end = 0;
    dpa_status status = DPA_OK;
    while (status == DPA_OK && !end) {
        size_t count = 0;
        status = dpa__stream_more(stream, &end, err);
        (void)dpa__stream_window(stream, &count);
        dpa__stream_skip(stream, count);
    }
    if (status == DPA_OK) status = dpa__stream_finish(stream, "the file", sha256, err);
    dpa__stream_close(stream);
    return status;
}
