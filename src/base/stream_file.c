/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files by way of a stream. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sha256.h"

dpa_status dpa__file_read_all(const char *path, char **out, size_t *count, dpa_error *err) {
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__stream_read_all(stream, out, count, err);
    dpa__stream_close(stream);
    return status;
}

dpa_status dpa__file_read_most(const char *path, size_t most, char **out, size_t *count,
                               dpa_error *err) {
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__stream_read_most(stream, most, out, count, err);
    dpa__stream_close(stream);
    return status;
}

/* Compressed bytes are hashed as stored, so a file that was just read is not decompressed again. */
dpa_status dpa__file_sha256(const char *path, char sha256[DPA_SHA256_SIZE], dpa_error *err) {
    unsigned char block[1 << 16];
    ssize_t count;
    dpa__sha256 sha;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", strerror(errno));
    dpa__sha256_init(&sha);
    do {
        count = read(file, block, sizeof block);
        if (count > 0) dpa__sha256_add(&sha, block, (size_t)count);
    } while (count > 0 || (count < 0 && errno == EINTR));
    const int failed = count < 0 ? errno : 0;
    (void)close(file);
    if (failed != 0) return dpa__fail_file(err, DPA_IO, path, "%s", strerror(failed));
    dpa__sha256_hex(&sha, sha256);
    return DPA_OK;
}
