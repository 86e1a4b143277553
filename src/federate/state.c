/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a federation on disk, from which an interrupted training goes on. All randomness is
 * a function of (seed, round), so the remaining rounds come out the same to the last bit.
 *
 * PATH holds the round, S, the weights, the state of the server's optimiser and the caller's
 * numbers, then a CRC-32. The canaries are in PATH.ROUND
 * (dpa__canaries_save), which is written first, so PATH only ever names a round for which both
 * files exist. Numbers are stored as in memory, so the files are good on this machine only. A file
 * that does not fit (another key, cut short, damaged) counts as absent. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/text.h"
#include "base/write.h"
#include "federate/federation.h"

typedef struct head {
    char magic[8], key[DPA_SHA256_SIZE + 7]; /* no padding between the fields */
    uint64_t version, round, size, parts, canaries, more;
    double clip;
} head;

/* A piece of memory that the file stores; bytes is 0 if this federation does not have it. */
typedef struct piece {
    void *at;
    size_t bytes;
} piece;
enum { PIECES = 4, VERSION = 2 };

static void pieces_of(dpa_federation *f, double *more, size_t count, piece out[PIECES]) {
    const size_t model = f->model->size * sizeof(float);
    out[0] = (piece){f->model->weight, model};
    out[1] = (piece){f->velocity, f->velocity != NULL ? model : 0};
    out[2] = (piece){f->square, f->square != NULL ? model : 0};
    out[3] = (piece){more, count * sizeof *more};
}

static head head_of(const dpa_federation *f, const char *key, size_t count) {
    head h = {.version = VERSION,
              .round = f->round,
              .size = f->model->size,
              .parts = (f->velocity != NULL ? 1U : 0U) | (f->square != NULL ? 2U : 0U),
              .canaries = f->canaries != NULL ? f->opts.canaries + f->opts.unobserved : 0,
              .more = count,
              .clip = f->clip};
    memcpy(h.magic, "DPAROUND", sizeof h.magic);
    (void)snprintf(h.key, sizeof h.key, "%s", key);
    return h;
}

static dpa_status canary_path(const char *path, uint64_t round, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_printf(&text, "%s.%llu", path, (unsigned long long)round);
    return dpa__text_take(&text, out, err);
}

static dpa_status add(dpa__writer *w, const void *at, size_t bytes, uLong *crc, dpa_error *err) {
    *crc = crc32_z(*crc, at, bytes);
    return dpa__writer_add(w, at, bytes, err);
}

static dpa_status write_all(dpa__writer *w, const head *h, const piece *pieces, dpa_error *err) {
    uLong crc = crc32_z(0, NULL, 0);
    DPA_TRY(add(w, h, sizeof *h, &crc, err));
    for (size_t i = 0; i < PIECES; ++i)
        if (pieces[i].bytes > 0) DPA_TRY(add(w, pieces[i].at, pieces[i].bytes, &crc, err));
    const uint32_t sum = (uint32_t)crc;
    return dpa__writer_add(w, &sum, sizeof sum, err);
}

static dpa_status write_state(dpa_federation *f, const char *key, double *more, size_t count,
                              const char *path, dpa_error *err) {
    dpa__writer *w = NULL;
    piece pieces[PIECES];
    const head h = head_of(f, key, count);
    pieces_of(f, more, count, pieces);
    DPA_TRY(dpa__writer_open(path, &w, err));
    const dpa_status status = write_all(w, &h, pieces, err);
    if (status == DPA_OK) return dpa__writer_commit(w, err);
    dpa__writer_abandon(w);
    return status;
}

/* The round of a file that was written for this training; 0 if it was not. */
static uint64_t round_of(FILE *file, const dpa_federation *f, const char *key, size_t count,
                         head *out) {
    const head want = head_of(f, key, count);
    if (fread(out, sizeof *out, 1, file) != 1) return 0;
    const int fits = memcmp(out->magic, want.magic, sizeof want.magic) == 0 &&
                     memcmp(out->key, want.key, sizeof want.key) == 0 &&
                     out->version == want.version && out->size == want.size &&
                     out->parts == want.parts && out->canaries == want.canaries &&
                     out->more == want.more;
    return fits && out->round >= 1 && out->round <= f->opts.rounds && out->clip > 0.0 &&
                   isfinite(out->clip)
               ? out->round
               : 0;
}

/* Removes the canary files of all rounds except `but`, including those of a training that was
 * killed between writing its two files. */
static void sweep(const char *path, uint64_t but) {
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(base);
    char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *all = folder != NULL ? opendir(folder) : NULL;
    for (const struct dirent *e; all != NULL && (e = readdir(all)) != NULL;) {
        char *end = NULL;
        if (strncmp(e->d_name, base, length) != 0 || e->d_name[length] != '.') continue;
        const uint64_t round = strtoull(e->d_name + length + 1, &end, 10);
        if (*end == '\0' && round != but) (void)unlinkat(dirfd(all), e->d_name, 0);
    }
    if (all != NULL) (void)closedir(all);
    free(folder);
}

dpa_status dpa__federation_save(dpa_federation *f, const char *key, double *more, size_t count,
                                const char *path, dpa_error *err) {
    char *canaries = NULL;
    DPA_TRY(dpa__audit_settle(f, err));
    dpa_status status = canary_path(path, f->round, &canaries, err);
    if (status == DPA_OK && f->canaries != NULL)
        status = dpa__canaries_save(f->canaries, canaries, err);
    if (status == DPA_OK) status = write_state(f, key, more, count, path, err);
    if (status == DPA_OK) sweep(path, f->round);
    free(canaries);
    return status;
}

void dpa__federation_forget(const char *path) {
    (void)unlink(path);
    sweep(path, 0);
}

/* Whether the remainder of the file is complete and its checksum fits. */
static int is_whole(FILE *file, const head *h, const piece *pieces) {
    static const size_t BLOCK = 1 << 16;
    unsigned char *block = malloc(BLOCK);
    size_t left = 0;
    uLong crc = crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)h, sizeof *h);
    uint32_t sum = 0;
    for (size_t i = 0; i < PIECES; ++i) left += pieces[i].bytes;
    while (block != NULL && left > 0) {
        const size_t want = left < BLOCK ? left : BLOCK;
        if (fread(block, 1, want, file) != want) break;
        crc = crc32_z(crc, block, want);
        left -= want;
    }
    const int whole = block != NULL && left == 0 && fread(&sum, sizeof sum, 1, file) == 1 &&
                      sum == (uint32_t)crc && fgetc(file) == EOF;
    free(block);
    return whole;
}

static dpa_status take(dpa_federation *f, FILE *file, const head *h, const piece *pieces,
                       const char *path, dpa_error *err) {
    if (fseek(file, (long)sizeof *h, SEEK_SET) != 0)
        return dpa__fail_file(err, DPA_IO, path, "%s", strerror(errno));
    for (size_t i = 0; i < PIECES; ++i)
        if (pieces[i].bytes > 0 && fread(pieces[i].at, 1, pieces[i].bytes, file) != pieces[i].bytes)
            return dpa__fail_file(err, DPA_IO, path, "the state of a training changed while read");
    f->round = h->round;
    f->clip = h->clip;
    return DPA_OK;
}

/* The canaries of the file if they belong to this training; else NULL. */
static dpa_canaries *canaries_kept(const dpa_federation *f, const char *path, uint64_t round) {
    dpa_canaries_opts opts;
    dpa_canaries *kept = NULL;
    char *name = NULL;
    dpa__canaries_opts_init(&opts);
    opts.threads = f->opts.threads;
    if (canary_path(path, round, &name, NULL) != DPA_OK) return NULL;
    const dpa_status status = dpa__canaries_load(name, &opts, &kept, NULL);
    free(name);
    if (status != DPA_OK) return NULL;
    if (dpa__canaries_seed(kept) == f->opts.canary_seed &&
        dpa__canaries_dim(kept) == f->model->size &&
        dpa__canaries_direction(kept) == f->opts.direction &&
        dpa__canaries_observed(kept) == f->opts.canaries &&
        dpa__canaries_unobserved(kept) == f->opts.unobserved)
        return kept;
    dpa__canaries_free(kept);
    return NULL;
}

static dpa_status resume_from(dpa_federation *f, FILE *file, const char *key, double *more,
                              size_t count, const char *path, dpa_error *err) {
    head h;
    piece pieces[PIECES];
    dpa_canaries *kept = NULL;
    pieces_of(f, more, count, pieces);
    if (round_of(file, f, key, count, &h) == 0 || !is_whole(file, &h, pieces)) return DPA_OK;
    if (f->canaries != NULL) {
        kept = canaries_kept(f, path, h.round);
        if (kept == NULL) return DPA_OK;
    }
    const dpa_status status = take(f, file, &h, pieces, path, err);
    if (kept == NULL) return status;
    dpa__canaries_free(f->canaries);
    f->canaries = kept;
    return status;
}

dpa_status dpa__federation_resume(dpa_federation *f, const char *key, double *more, size_t count,
                                  const char *path, dpa_error *err) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return DPA_OK;
    const dpa_status status = resume_from(f, file, key, more, count, path, err);
    (void)fclose(file);
    return status;
}
