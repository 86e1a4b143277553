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

static dpa_status problem_of(dpa__piece *p, int code, int no_memory, int ends_early) {
    p->problem = code == ends_early ? "end early: the file is cut off" : "are damaged";
    return code == no_memory ? DPA_NO_MEMORY : DPA_BAD_INPUT;
}

/* The input was cut short: there is no more of it, and the decoder still had room to write. */
static int is_cut(const dpa__piece *p) {
    return p->is_last && p->used == p->in_size && p->made < p->out_size;
}

static dpa_status run_gzip(dpa__decoder *d, dpa__piece *p) {
    if (d->between && p->in_size == 0) {
        p->is_done = p->is_last;
        return DPA_OK;
    }
    if (d->between && inflateReset(&d->z) != Z_OK)
        return problem_of(p, Z_DATA_ERROR, Z_MEM_ERROR, Z_BUF_ERROR);
    const unsigned in = p->in_size < UINT_MAX ? (unsigned)p->in_size : UINT_MAX;
    const unsigned out = p->out_size < UINT_MAX ? (unsigned)p->out_size : UINT_MAX;
    d->z.next_in = (unsigned char *)(uintptr_t)p->in; /* zlib does not write there */
    d->z.avail_in = in;
    d->z.next_out = p->out;
    d->z.avail_out = out;
    const int code = inflate(&d->z, Z_NO_FLUSH);
    p->used = in - d->z.avail_in;
    p->made = out - d->z.avail_out;
    d->between = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END || (code == Z_BUF_ERROR && !is_cut(p))) return DPA_OK;
    return problem_of(p, code, Z_MEM_ERROR, Z_BUF_ERROR);
}

static dpa_status run_xz(dpa__decoder *d, dpa__piece *p) {
    d->x.next_in = p->in;
    d->x.avail_in = p->in_size;
    d->x.next_out = p->out;
    d->x.avail_out = p->out_size;
    const lzma_ret code = lzma_code(&d->x, p->is_last ? LZMA_FINISH : LZMA_RUN);
    p->used = p->in_size - d->x.avail_in;
    p->made = p->out_size - d->x.avail_out;
    p->is_done = code == LZMA_STREAM_END;
    if (code == LZMA_OK || code == LZMA_STREAM_END || (code == LZMA_BUF_ERROR && !is_cut(p)))
        return DPA_OK;
    if (code != LZMA_MEMLIMIT_ERROR)
        return problem_of(p, (int)code, LZMA_MEM_ERROR, LZMA_BUF_ERROR);
    p->problem = "need more than 160 MiB of memory to be undone";
    return DPA_BAD_INPUT;
}

dpa_status dpa__decoder_run(dpa__decoder *d, dpa__piece *p) {
    p->used = p->made = 0;
    p->is_done = 0;
    return d->xz ? run_xz(d, p) : run_gzip(d, p);
}
