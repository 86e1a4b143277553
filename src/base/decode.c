/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gzip (RFC 1952, several members in a row are one file) on zlib; xz on liblzma. Both check their
 * checksums, so that a damaged file cannot pass for data. */
#include "base/decode.h"

#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"

/* xz -9 asks for 65 MiB; a header may not ask for more than this. */
#define XZ_MEMORY (UINT64_C(160) << 20)

struct dpa__decoder {
    int xz;
    int between; /* gzip: a member has ended, another may follow */
    z_stream z;
    lzma_stream x;
    lzma_allocator allocator;
};

static void *z_get(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return dpa__calloc(count, size, NULL);
}

static void z_put(void *opaque, void *block) {
    (void)opaque;
    free(block);
}

static void *x_get(void *opaque, size_t count, size_t size) {
    (void)opaque;
    return dpa__malloc(count, size, NULL);
}

static dpa_status init(dpa__decoder *d, dpa_error *err) {
    if (!d->xz) {
        d->z.zalloc = z_get;
        d->z.zfree = z_put;
        if (inflateInit2(&d->z, 15 + 16) == Z_OK) return DPA_OK;
    } else {
        d->allocator = (lzma_allocator){.alloc = x_get, .free = z_put};
        d->x = (lzma_stream)LZMA_STREAM_INIT;
        d->x.allocator = &d->allocator;
        if (lzma_stream_decoder(&d->x, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK) return DPA_OK;
    }
    return dpa__fail(err, DPA_NO_MEMORY, "no memory to undo the compression");
}

dpa_status dpa__decoder_new(const unsigned char *magic, size_t count, dpa__decoder **out,
                            dpa_error *err) {
    const int gzip = count >= 2 && memcmp(magic, "\x1f\x8b", 2) == 0;
    const int xz = count >= 6 && memcmp(magic,
                                        "\xfd"
                                        "7zXZ\0",
                                        6) == 0;
    *out = NULL;
    if (!gzip && !xz) return DPA_OK;
    dpa__decoder *d = DPA_NEW(dpa__decoder, err);
    if (d == NULL) return DPA_NO_MEMORY;
    d->xz = xz;
    const dpa_status status = init(d, err);
    if (status != DPA_OK)
        dpa__decoder_free(d);
    else
        *out = d;
    return status;
}

void dpa__decoder_free(dpa__decoder *d) {
    if (d == NULL) return;
    if (d->xz)
        lzma_end(&d->x);
    else
        (void)inflateEnd(&d->z);
    free(d);
}

const char *dpa__decoder_name(const dpa__decoder *d) {
    return d->xz ? "xz" : "gzip";
}

static dpa_status problem_of(int code, int no_memory, int ends_early, const char **problem) {
    *problem = code == ends_early ? "end early: the file is cut off" : "are damaged";
    return code == no_memory ? DPA_NO_MEMORY : DPA_BAD_INPUT;
}

static dpa_status run_gzip(dpa__decoder *d, int last, int *done, const char **problem) {
    if (d->between) {
        if (d->z.avail_in == 0) {
            *done = last;
            return DPA_OK;
        }
        d->between = 0;
        if (inflateReset(&d->z) != Z_OK) return problem_of(Z_DATA_ERROR, 0, 0, problem);
    }
    const int code = inflate(&d->z, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
        d->between = 1;
        return DPA_OK;
    }
    if (code == Z_OK) return DPA_OK;
    if (code == Z_BUF_ERROR && !(last && d->z.avail_in == 0 && d->z.avail_out > 0)) return DPA_OK;
    return problem_of(code, Z_MEM_ERROR, Z_BUF_ERROR, problem);
}

static dpa_status run_xz(dpa__decoder *d, int last, int *done, const char **problem) {
    const lzma_ret code = lzma_code(&d->x, last ? LZMA_FINISH : LZMA_RUN);
    *done = code == LZMA_STREAM_END;
    if (code == LZMA_OK || code == LZMA_STREAM_END) return DPA_OK;
    if (code == LZMA_BUF_ERROR && !(last && d->x.avail_in == 0 && d->x.avail_out > 0))
        return DPA_OK;
    if (code == LZMA_MEMLIMIT_ERROR) {
        *problem = "need more than 160 MiB of memory to be undone";
        return DPA_BAD_INPUT;
    }
    return problem_of((int)code, LZMA_MEM_ERROR, LZMA_BUF_ERROR, problem);
}

dpa_status dpa__decoder_run(dpa__decoder *d, const unsigned char *in, size_t in_size, int last,
                            size_t *used, unsigned char *out, size_t out_size, size_t *made,
                            int *done, const char **problem) {
    dpa_status status;
    *done = 0;
    if (d->xz) {
        d->x.next_in = in;
        d->x.avail_in = in_size;
        d->x.next_out = out;
        d->x.avail_out = out_size;
        status = run_xz(d, last, done, problem);
        *used = in_size - d->x.avail_in;
        *made = out_size - d->x.avail_out;
    } else {
        const unsigned in_now = in_size < UINT_MAX ? (unsigned)in_size : UINT_MAX;
        const unsigned out_now = out_size < UINT_MAX ? (unsigned)out_size : UINT_MAX;
        d->z.next_in = (unsigned char *)(uintptr_t)in; /* zlib does not write there */
        d->z.avail_in = in_now;
        d->z.next_out = out;
        d->z.avail_out = out_now;
        status = run_gzip(d, last && in_now == in_size, done, problem);
        *used = in_now - d->z.avail_in;
        *made = out_now - d->z.avail_out;
    }
    return status;
}
