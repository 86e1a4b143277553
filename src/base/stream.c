/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source → hash → decoder → window. A plain file is read by read(2) straight into its final buffer;
 * only compressed data pass through a second one. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"

enum { RAW_SIZE = 1 << 16, WINDOW_SIZE = 1 << 18, FIRST_CHUNK = 1 << 20, MAGIC_SIZE = 6 };
enum format { PLAIN, GZIP, XZ };

/* xz -9 asks for 65 MiB; a header may not ask for more than this. */
#define XZ_MEMORY (UINT64_C(160) << 20)

struct dpa__stream {
    char *name;
    /* where bytes come from: the first of these that is set */
    dpa__stream_call *call;
    void *user;
    const unsigned char *memory;
    size_t memory_left;
    int fd; /* -1: none */
    int own_fd, regular;
    dpa__sha256 sha;  /* hash of the stored bytes */
    uint64_t fetched; /* stored bytes read so far */
    /* stored bytes that were read but not used yet */
    unsigned char *raw;
    size_t raw_at, raw_size;
    int raw_end;
    enum format format;
    z_stream gzip;
    lzma_stream xz;
    lzma_allocator allocator;
    int between;   /* gzip: a member has ended, another may follow */
    int decoded;   /* the compressed data ended correctly */
    uint64_t made; /* decoded bytes so far */
    /* decoded bytes */
    unsigned char *window;
    size_t at, size, capacity;
    uint64_t offset;
};

int dpa__may_expand(uint64_t stored, uint64_t unpacked) {
    return unpacked <= UINT64_C(64000000) || (unpacked - UINT64_C(64000000)) / 200 <= stored;
}

dpa_status dpa__fail_expansion(const char *name, dpa_error *err) {
    return dpa__fail_file(err, DPA_BAD_INPUT, name,
                          "unpacks to more than 200 times its size; if that is meant, unpack it "
                          "first (an NPZ: save it uncompressed)");
}

/* ---- the stored bytes ---- */

static ptrdiff_t from_fd(dpa__stream *s, void *to, size_t max, dpa_error *err) {
    ssize_t got;
    do got = read(s->fd, to, max < SSIZE_MAX ? max : SSIZE_MAX);
    while (got < 0 && errno == EINTR);
    if (got < 0) (void)dpa__fail_file(err, DPA_BAD_INPUT, s->name, "%s", strerror(errno));
    return got;
}

static ptrdiff_t from_memory(dpa__stream *s, void *to, size_t max) {
    const size_t take = max < s->memory_left ? max : s->memory_left;
    if (take > 0) memcpy(to, s->memory, take);
    s->memory += take;
    s->memory_left -= take;
    return (ptrdiff_t)take;
}

static dpa_status read_stored(dpa__stream *s, void *to, size_t max, size_t *got, dpa_error *err) {
    *got = 0;
    if (s->raw_end) return DPA_OK;
    const ptrdiff_t count = s->call != NULL     ? s->call(s->user, to, max, err)
                            : s->memory != NULL ? from_memory(s, to, max)
                                                : from_fd(s, to, max, err);
    if (count < 0) return err != NULL ? err->status : DPA_BAD_INPUT;
    s->raw_end = count == 0;
    *got = (size_t)count;
    dpa__sha256_add(&s->sha, to, *got);
    s->fetched += *got;
    return DPA_OK;
}

/* How many stored bytes are left, if that can be known. */
static int stored_left(const dpa__stream *s, uint64_t *left) {
    if (s->raw_end) {
        *left = 0;
        return 1;
    }
    if (s->call != NULL) return 0;
    if (s->memory != NULL) {
        *left = s->memory_left;
        return 1;
    }
    struct stat info;
    const off_t at = lseek(s->fd, 0, SEEK_CUR);
    if (!s->regular || at < 0 || fstat(s->fd, &info) != 0 || info.st_size < at) return 0;
    *left = (uint64_t)(info.st_size - at);
    return *left > 0; /* files in /proc claim a size of 0 */
}

/* ---- gzip (RFC 1952, several members in a row are one file) and xz ----
 *
 * zlib and liblzma check their checksums, so that a damaged file cannot pass for data. */

static void *z_get(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return dpa__calloc(count, size, NULL);
}

static void *x_get(void *opaque, size_t count, size_t size) {
    (void)opaque;
    return dpa__malloc(count, size, NULL);
}

static void put(void *opaque, void *block) {
    (void)opaque;
    free(block);
}

/* Prepares to undo the compression that the first stored bytes tell. */
static dpa_status start_decoding(dpa__stream *s, dpa_error *err) {
    static const unsigned char gzip[2] = {0x1f, 0x8b}, xz[6] = {0xfd, '7', 'z', 'X', 'Z', 0};
    if (s->raw_size >= sizeof gzip && memcmp(s->raw, gzip, sizeof gzip) == 0) {
        s->gzip = (z_stream){.zalloc = z_get, .zfree = put};
        if (inflateInit2(&s->gzip, 15 + 16) == Z_OK) s->format = GZIP;
    } else if (s->raw_size >= sizeof xz && memcmp(s->raw, xz, sizeof xz) == 0) {
        s->allocator = (lzma_allocator){.alloc = x_get, .free = put};
        s->xz = (lzma_stream)LZMA_STREAM_INIT;
        s->xz.allocator = &s->allocator;
        if (lzma_stream_decoder(&s->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK)
            s->format = XZ;
        else
            lzma_end(&s->xz);
    } else {
        return DPA_OK;
    }
    if (s->format != PLAIN) return DPA_OK;
    return dpa__fail(err, DPA_NO_MEMORY, "no memory to undo the compression");
}

static void end_decoding(dpa__stream *s) {
    if (s->format == GZIP) (void)inflateEnd(&s->gzip);
    if (s->format == XZ) lzma_end(&s->xz);
}

static const char CUT[] = "end early: the file is cut off", DAMAGED[] = "are damaged",
                  GREEDY[] = "need more than 160 MiB of memory to be undone", NO_MEMORY[] = "";

/* The input was cut short: there is no more of it, and the decoder still had room to write. */
static int is_cut(const dpa__stream *s, size_t got, size_t max) {
    return s->raw_end && s->raw_at == s->raw_size && got < max;
}

/* Both turn stored bytes into up to `max` decoded ones and return what is wrong with the data, or
 * NULL. */
static const char *run_gzip(dpa__stream *s, unsigned char *to, size_t max, size_t *got) {
    z_stream *z = &s->gzip;
    if (s->between && s->raw_at == s->raw_size) {
        s->decoded = s->raw_end;
        return NULL;
    }
    if (s->between && inflateReset(z) != Z_OK) return DAMAGED;
    const unsigned room = max < UINT_MAX ? (unsigned)max : UINT_MAX;
    z->next_in = s->raw + s->raw_at;
    z->avail_in = (unsigned)(s->raw_size - s->raw_at);
    z->next_out = to;
    z->avail_out = room;
    const int code = inflate(z, Z_NO_FLUSH);
    s->raw_at = s->raw_size - z->avail_in;
    *got = room - z->avail_out;
    s->between = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END) return NULL;
    if (code == Z_BUF_ERROR) return is_cut(s, *got, max) ? CUT : NULL;
    return code == Z_MEM_ERROR ? NO_MEMORY : DAMAGED;
}

static const char *run_xz(dpa__stream *s, unsigned char *to, size_t max, size_t *got) {
    lzma_stream *x = &s->xz;
    x->next_in = s->raw + s->raw_at;
    x->avail_in = s->raw_size - s->raw_at;
    x->next_out = to;
    x->avail_out = max;
    const lzma_ret code = lzma_code(x, s->raw_end ? LZMA_FINISH : LZMA_RUN);
    s->raw_at = s->raw_size - x->avail_in;
    *got = max - x->avail_out;
    s->decoded = code == LZMA_STREAM_END;
    if (code == LZMA_OK || code == LZMA_STREAM_END) return NULL;
    if (code == LZMA_BUF_ERROR) return is_cut(s, *got, max) ? CUT : NULL;
    return code == LZMA_MEM_ERROR ? NO_MEMORY : code == LZMA_MEMLIMIT_ERROR ? GREEDY : DAMAGED;
}

static dpa_status pull_decoded(dpa__stream *s, unsigned char *to, size_t max, size_t *got,
                               dpa_error *err) {
    *got = 0;
    while (*got == 0 && !s->decoded) {
        if (s->raw_at == s->raw_size) {
            s->raw_at = 0;
            DPA_TRY(read_stored(s, s->raw, RAW_SIZE, &s->raw_size, err));
        }
        const char *problem = s->format == XZ ? run_xz(s, to, max, got) : run_gzip(s, to, max, got);
        s->made += *got;
        if (!dpa__may_expand(s->fetched, s->made)) return dpa__fail_expansion(s->name, err);
        if (problem == NO_MEMORY)
            return dpa__fail_file(err, DPA_NO_MEMORY, s->name, "no memory to undo the compression");
        if (problem != NULL)
            return dpa__fail_offset(err, DPA_BAD_INPUT, s->name,
                                    s->fetched - (s->raw_size - s->raw_at), "the %s data %s",
                                    s->format == XZ ? "xz" : "gzip", problem);
    }
    return DPA_OK;
}

/* ---- the decoded bytes ---- */

/* Delivers up to `max` bytes; none only at the end. */
static dpa_status pull(dpa__stream *s, unsigned char *to, size_t max, size_t *got, dpa_error *err) {
    if (s->format != PLAIN) return pull_decoded(s, to, max, got, err);
    const size_t have = s->raw_size - s->raw_at;
    if (have == 0) return read_stored(s, to, max, got, err);
    *got = have < max ? have : max;
    memcpy(to, s->raw + s->raw_at, *got);
    s->raw_at += *got;
    return DPA_OK;
}

static int decoded_left(const dpa__stream *s, uint64_t *left) {
    if (s->format != PLAIN || !stored_left(s, left)) return 0;
    *left += (s->size - s->at) + (s->raw_size - s->raw_at);
    return 1;
}

/* ---- opening ---- */

static dpa_status sniff(dpa__stream *s, dpa_error *err) {
    while (s->raw_size < MAGIC_SIZE && !s->raw_end) {
        size_t got;
        DPA_TRY(read_stored(s, s->raw + s->raw_size, RAW_SIZE - s->raw_size, &got, err));
        s->raw_size += got;
    }
    return start_decoding(s, err);
}

static dpa_status new_stream(const char *name, dpa__stream **out, dpa_error *err) {
    dpa__stream *s = DPA_NEW(dpa__stream, err);
    *out = NULL;
    if (s == NULL) return DPA_NO_MEMORY;
    s->fd = -1;
    s->name = dpa__strdup(name, err);
    s->raw = DPA_NEW_ARRAY(unsigned char, RAW_SIZE, err);
    s->window = DPA_NEW_ARRAY(unsigned char, WINDOW_SIZE, err);
    s->capacity = WINDOW_SIZE;
    if (s->name == NULL || s->raw == NULL || s->window == NULL) {
        dpa__stream_close(s);
        return DPA_NO_MEMORY;
    }
    dpa__sha256_init(&s->sha);
    *out = s;
    return DPA_OK;
}

static dpa_status sniffed(dpa__stream **out, dpa_error *err) {
    const dpa_status status = sniff(*out, err);
    if (status != DPA_OK) {
        dpa__stream_close(*out);
        *out = NULL;
    }
    return status;
}

dpa_status dpa__stream_open(const char *path, dpa__stream **out, dpa_error *err) {
    const int is_stdin = strcmp(path, "-") == 0;
    struct stat info;
    DPA_TRY(new_stream(is_stdin ? "standard input" : path, out, err));
    dpa__stream *s = *out;
    s->own_fd = !is_stdin;
    s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        const dpa_status status = dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", strerror(errno));
        dpa__stream_close(s);
        *out = NULL;
        return status;
    }
    s->regular = fstat(s->fd, &info) == 0 && S_ISREG(info.st_mode);
    return sniffed(out, err);
}

dpa_status dpa__stream_open_memory(const char *name, const void *bytes, size_t size,
                                   dpa__stream **out, dpa_error *err) {
    DPA_TRY(new_stream(name, out, err));
    (*out)->memory = size > 0 ? bytes : (const void *)"";
    (*out)->memory_left = size;
    return sniffed(out, err);
}

dpa_status dpa__stream_open_call(const char *name, dpa__stream_call *call, void *user,
                                 dpa__stream **out, dpa_error *err) {
    DPA_TRY(new_stream(name, out, err));
    (*out)->call = call;
    (*out)->user = user;
    return DPA_OK;
}

void dpa__stream_close(dpa__stream *s) {
    if (s == NULL) return;
    end_decoding(s);
    if (s->own_fd && s->fd >= 0) (void)close(s->fd);
    free(s->window);
    free(s->raw);
    free(s->name);
    free(s);
}

/* ---- the window ---- */

const char *dpa__stream_name(const dpa__stream *s) {
    return s->name;
}

uint64_t dpa__stream_offset(const dpa__stream *s) {
    return s->offset;
}

const unsigned char *dpa__stream_window(const dpa__stream *s, size_t *count) {
    *count = s->size - s->at;
    return s->window + s->at;
}

void dpa__stream_skip(dpa__stream *s, size_t count) {
    s->at += count;
    s->offset += count;
}

dpa_status dpa__stream_more(dpa__stream *s, int *end, dpa_error *err) {
    size_t got;
    if (s->at > 0) {
        memmove(s->window, s->window + s->at, s->size - s->at);
        s->size -= s->at;
        s->at = 0;
    }
    if (s->size == s->capacity) {
        unsigned char *grown = dpa__realloc(s->window, 2 * s->capacity, 1, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        s->window = grown;
        s->capacity *= 2;
    }
    DPA_TRY(pull(s, s->window + s->size, s->capacity - s->size, &got, err));
    s->size += got;
    *end = got == 0;
    return DPA_OK;
}

dpa_status dpa__stream_need(dpa__stream *s, size_t want, dpa_error *err) {
    int end = 0;
    while (s->size - s->at < want && !end) DPA_TRY(dpa__stream_more(s, &end, err));
    return DPA_OK;
}

/* ---- payloads ---- */

static size_t take_window(dpa__stream *s, unsigned char *to, size_t max) {
    const size_t have = s->size - s->at, take = have < max ? have : max;
    if (take > 0) memcpy(to, s->window + s->at, take);
    dpa__stream_skip(s, take);
    return take;
}

/* Fills to[*have .. limit) as far as there are bytes; sets *end if there were not enough. */
static dpa_status fill(dpa__stream *s, unsigned char *to, size_t *have, size_t limit, int *end,
                       dpa_error *err) {
    *have += take_window(s, to + *have, limit - *have);
    *end = 0;
    while (*have < limit && !*end) {
        size_t got;
        DPA_TRY(pull(s, to + *have, limit - *have, &got, err));
        *have += got;
        s->offset += got;
        *end = got == 0;
    }
    return DPA_OK;
}

/* Reads at most `most` bytes into a block that starts at `first` bytes, doubles as needed and keeps
 * one byte spare. */
static dpa_status grow_and_fill(dpa__stream *s, size_t first, size_t most, unsigned char **out,
                                size_t *count, dpa_error *err) {
    unsigned char *block = NULL;
    size_t limit = first < most ? first : most;
    int end = 0;
    dpa_status status = DPA_OK;
    *count = 0;
    for (;;) {
        unsigned char *grown = dpa__realloc(block, limit + 1, 1, err);
        status = grown == NULL ? DPA_NO_MEMORY : DPA_OK;
        if (grown != NULL) {
            block = grown;
            status = fill(s, block, count, limit, &end, err);
        }
        if (status != DPA_OK || end || limit == most) break;
        limit = limit < most / 2 ? 2 * limit : most;
    }
    if (status != DPA_OK) {
        free(block);
        block = NULL;
    }
    *out = block;
    return status;
}

dpa_status dpa__stream_read(dpa__stream *s, size_t count, void **out, dpa_error *err) {
    unsigned char *block = NULL;
    size_t got = 0;
    uint64_t left;
    const int known = decoded_left(s, &left);
    *out = NULL;
    if (known && left < count)
        return dpa__fail_offset(err, DPA_BAD_INPUT, s->name, s->offset,
                                "the header promises %zu bytes of data; only %llu are there", count,
                                (unsigned long long)left);
    DPA_TRY(grow_and_fill(s, known ? count : FIRST_CHUNK, count, &block, &got, err));
    if (got < count) {
        free(block);
        return dpa__fail_offset(err, DPA_BAD_INPUT, s->name, s->offset,
                                "the data end after %zu of the %zu bytes that the header promises",
                                got, count);
    }
    *out = block;
    return DPA_OK;
}

dpa_status dpa__stream_read_all(dpa__stream *s, char **out, size_t *count, dpa_error *err) {
    return dpa__stream_read_most(s, DPA__ANY_SIZE, out, count, err);
}

dpa_status dpa__stream_read_most(dpa__stream *s, size_t most, char **out, size_t *count,
                                 dpa_error *err) {
    unsigned char *block = NULL;
    uint64_t left;
    size_t first = FIRST_CHUNK;
    if (decoded_left(s, &left) && left < most) first = (size_t)left + 1;
    *out = NULL;
    DPA_TRY(grow_and_fill(s, first, most + 1, &block, count, err));
    if (*count > most) {
        free(block);
        return dpa__fail_file(err, DPA_BAD_INPUT, s->name, "longer than %zu bytes", most);
    }
    block[*count] = '\0';
    *out = (char *)block;
    return DPA_OK;
}

dpa_status dpa__stream_finish(dpa__stream *s, const char *what, char sha256[DPA_SHA256_SIZE],
                              dpa_error *err) {
    DPA_TRY(dpa__stream_need(s, 1, err));
    if (s->size > s->at)
        return dpa__fail_offset(err, DPA_BAD_INPUT, s->name, s->offset,
                                "%s has ended, but bytes follow it", what);
    dpa__sha256_hex(&s->sha, sha256);
    return DPA_OK;
}

dpa_status dpa__stream_seekable(dpa__stream *s, FILE **out, dpa_error *err) {
    *out = NULL;
    if (!s->regular || !s->own_fd || s->format != PLAIN) return DPA_OK;
    int end = 0;
    while (!end) {
        dpa__stream_skip(s, s->size - s->at);
        DPA_TRY(dpa__stream_more(s, &end, err));
    }
    const int copy = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    *out = copy < 0 ? NULL : fdopen(copy, "rb");
    if (*out != NULL) return DPA_OK;
    const dpa_status status = dpa__fail_file(err, DPA_IO, s->name, "%s", strerror(errno));
    if (copy >= 0) (void)close(copy);
    return status;
}

/* ---- whole files ---- */

dpa_status dpa__file_read(const char *path, size_t most, char **out, size_t *count,
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
