/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes that every reader stands on: a file, standard input ("-"), memory, or a function that
 * delivers; gzip and xz are undone where their magic number is found. The stored bytes are hashed
 * as they pass.
 *
 * A reader looks at a window of decoded bytes and skips what it has used, or reads a large payload
 * straight into its final place. Nothing is allocated because a header says so: only because bytes
 * have come. */
#ifndef DPA_BASE_STREAM_H
#define DPA_BASE_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dpaudit/data.h"
#include "dpaudit/status.h"

typedef struct dpa__stream dpa__stream;

/* Up to `max` bytes into `to`: the number, 0 at the end, -1 on failure with `err` filled. */
typedef ptrdiff_t dpa__stream_call(void *user, void *to, size_t max, dpa_error *err);

dpa_status dpa__stream_open(const char *path, dpa__stream **out, dpa_error *err);
/* Bytes that the caller keeps alive. */
dpa_status dpa__stream_open_memory(const char *name, const void *bytes, size_t size,
                                   dpa__stream **out, dpa_error *err);
/* Bytes from a function; not searched for gzip or xz. */
dpa_status dpa__stream_open_call(const char *name, dpa__stream_call *call, void *user,
                                 dpa__stream **out, dpa_error *err);
void dpa__stream_close(dpa__stream *stream);

/* What errors call it: the path, "standard input" for "-". */
const char *dpa__stream_name(const dpa__stream *stream);
/* How many decoded bytes were skipped or read. */
uint64_t dpa__stream_offset(const dpa__stream *stream);

/* The decoded bytes at hand; valid until the next call but skip. */
const unsigned char *dpa__stream_window(const dpa__stream *stream, size_t *count);
/* Adds to the window; *end is set when nothing more will come. The window grows as needed. */
dpa_status dpa__stream_more(dpa__stream *stream, int *end, dpa_error *err);
/* Calls more until the window has `want` bytes or the stream has ended. */
dpa_status dpa__stream_need(dpa__stream *stream, size_t want, dpa_error *err);
void dpa__stream_skip(dpa__stream *stream, size_t count);

/* Exactly `count` bytes into a new block at *out; fewer are an error that says so. The block grows
 * with what arrives, so a lying header costs at most twice the bytes that are there. */
dpa_status dpa__stream_read(dpa__stream *stream, size_t count, void **out, dpa_error *err);
/* All the rest, with a NUL after it. The second refuses more than `most` bytes without keeping
 * them. */
dpa_status dpa__stream_read_all(dpa__stream *stream, char **out, size_t *count, dpa_error *err);
dpa_status dpa__stream_read_most(dpa__stream *stream, size_t most, char **out, size_t *count,
                                 dpa_error *err);
/* Fails if any byte is left, else gives the hash of the stored bytes. `what` has just ended
 * ("the array"). */
dpa_status dpa__stream_finish(dpa__stream *stream, const char *what, char sha256[DPA_SHA256_SIZE],
                              dpa_error *err);

/* Whether so many stored bytes may unpack to so many: 200 times as many and 64 MB. Beyond, a small
 * file could take all memory. */
int dpa__may_expand(uint64_t stored, uint64_t unpacked);
dpa_status dpa__fail_expansion(const char *name, dpa_error *err);

/* All bytes of a file ("-": standard input) with a NUL after them, for the caller to free. */
dpa_status dpa__file_read_all(const char *path, char **out, size_t *count, dpa_error *err);
dpa_status dpa__file_read_most(const char *path, size_t most, char **out, size_t *count,
                               dpa_error *err);
/* The hash of a file's stored bytes, without keeping them. */
dpa_status dpa__file_sha256(const char *path, char sha256[DPA_SHA256_SIZE], dpa_error *err);

/* A plain file that can be read at any place: a FILE of its own for the caller to close, once all
 * bytes have been passed over (and hashed). *out is NULL for streams that have no such file. */
dpa_status dpa__stream_seekable(dpa__stream *stream, FILE **out, dpa_error *err);

#endif
