/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input of every reader: a file, standard input ("-"), memory, or a function that delivers
 * bytes. gzip and xz are recognised by their magic numbers and decompressed. The stored bytes
 * are hashed on the way.
 *
 * A reader looks at a window of decoded bytes and skips what it has used, or reads a large
 * payload straight into its final place. Memory is allocated only for bytes that have arrived,
 * never because a header announces them. */
#ifndef DPA_BASE_STREAM_H
#define DPA_BASE_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/data.h"
#include "dpaudit/status.h"

typedef struct dpa__stream dpa__stream;

/* Writes up to `max` bytes to `to`; returns their number, 0 at the end, or -1 with `err` filled. */
typedef ptrdiff_t dpa__stream_call(void *user, void *to, size_t max, dpa_error *err);

DPA_API dpa_status dpa__stream_open(const char *path, dpa__stream **out, dpa_error *err);
/* Bytes that the caller keeps alive. */
DPA_API dpa_status dpa__stream_open_memory(const char *name, const void *bytes, size_t size,
                                           dpa__stream **out, dpa_error *err);
/* Bytes from a function; gzip and xz are not looked for. */
dpa_status dpa__stream_open_call(const char *name, dpa__stream_call *call, void *user,
                                 dpa__stream **out, dpa_error *err);
DPA_API void dpa__stream_close(dpa__stream *stream);

/* The name for errors: the path, or "standard input" for "-". */
DPA_API const char *dpa__stream_name(const dpa__stream *stream);
/* How many decoded bytes were skipped or read so far. */
uint64_t dpa__stream_offset(const dpa__stream *stream);

/* The decoded bytes that are ready; valid until the next call other than skip. */
DPA_API const unsigned char *dpa__stream_window(const dpa__stream *stream, size_t *count);
/* Reads more into the window, which grows as needed; *end is set if nothing more will come. */
dpa_status dpa__stream_more(dpa__stream *stream, int *end, dpa_error *err);
/* Reads until the window has `want` bytes or the stream has ended. */
DPA_API dpa_status dpa__stream_need(dpa__stream *stream, size_t want, dpa_error *err);
void dpa__stream_skip(dpa__stream *stream, size_t count);

/* Reads exactly `count` bytes into a new block *out; too few are an error. The block grows with the
 * bytes that arrive, so a lying header costs at most twice the bytes of the file. */
dpa_status dpa__stream_read(dpa__stream *stream, size_t count, void **out, dpa_error *err);
/* Reads all remaining bytes and adds a NUL. The second refuses more than `most` bytes and keeps
 * none of them. */
#define DPA__ANY_SIZE ((size_t)PTRDIFF_MAX - 2)
DPA_API dpa_status dpa__stream_read_all(dpa__stream *stream, char **out, size_t *count,
                                        dpa_error *err);
dpa_status dpa__stream_read_most(dpa__stream *stream, size_t most, char **out, size_t *count,
                                 dpa_error *err);
/* Fails if any byte is left, otherwise gives the hash of the stored bytes. `what` names what has
 * just ended ("the array"). */
dpa_status dpa__stream_finish(dpa__stream *stream, const char *what, char sha256[DPA_SHA256_SIZE],
                              dpa_error *err);

/* 1 if this many stored bytes may unpack to that many: at most 200 times as many plus 64 MB.
 * Without a limit a small file could use up all memory. */
int dpa__may_expand(uint64_t stored, uint64_t unpacked);
dpa_status dpa__fail_expansion(const char *name, dpa_error *err);

/* The bytes of a file ("-": standard input), at most DPA__ANY_SIZE or fewer, with a NUL after them,
 * for the caller to free. */
DPA_API dpa_status dpa__file_read(const char *path, size_t most, char **out, size_t *count,
                                  dpa_error *err);
/* The hash of a file's stored bytes, without keeping them. */
DPA_API dpa_status dpa__file_sha256(const char *path, char sha256[DPA_SHA256_SIZE], dpa_error *err);

/* A FILE on the same plain file, for reading at any place; the caller closes it. All bytes of the
 * stream must have been skipped (and so hashed) before. *out is NULL if the stream is no plain
 * file. */
dpa_status dpa__stream_seekable(dpa__stream *stream, FILE **out, dpa_error *err);

#endif
