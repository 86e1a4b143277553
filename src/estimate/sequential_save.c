/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sequential audit as bytes, and back. One walk over the fields serves both directions, so they
 * cannot differ: 8 bytes per number, little-endian, then the SHA-256 of everything before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "estimate/sequential.h"

static const char magic[8] = "dpaseq1";
enum { HASH_SIZE = 64 };

typedef struct tape {
    unsigned char *bytes; /* NULL: only measuring */
    size_t at, size;
    int is_loading, is_short;
} tape;

static void walk_bytes(tape *t, void *field, size_t count) {
    if (t->is_loading && count > t->size - t->at) {
        t->is_short = 1;
        return;
    }
    if (t->is_loading)
        memcpy(field, t->bytes + t->at, count);
    else if (t->bytes != NULL)
        memcpy(t->bytes + t->at, field, count);
    t->at += count;
}

static void walk_u64(tape *t, uint64_t *field) {
    unsigned char b[8] = {0};
    for (int i = 0; i < 8; ++i) b[i] = (unsigned char)(*field >> (8 * i));
    walk_bytes(t, b, sizeof b);
    if (!t->is_loading || t->is_short) return;
    *field = 0;
    for (int i = 0; i < 8; ++i) *field |= (uint64_t)b[i] << (8 * i);
}

static void walk_double(tape *t, double *field) {
    uint64_t bits;
    memcpy(&bits, field, sizeof bits);
    walk_u64(t, &bits);
    memcpy(field, &bits, sizeof bits);
}

static void walk_request(tape *t, dpa_request *r) {
    walk_double(t, &r->delta);
    walk_double(t, &r->confidence);
    walk_double(t, &r->claim_epsilon);
    walk_double(t, &r->claim_delta);
    walk_bytes(t, r->family, sizeof r->family);
    walk_bytes(t, r->select, sizeof r->select);
    r->family[sizeof r->family - 1] = '\0';
    r->select[sizeof r->select - 1] = '\0';
}

static void walk_stage(tape *t, dpa__stage *stage) {
    walk_u64(t, &stage->first);
    walk_u64(t, &stage->count);
    walk_double(t, &stage->kept);
    if (stage->count > DPA__BETS) {
        t->is_short = 1;
        return;
    }
    for (uint64_t j = 0; j < stage->count; ++j) {
        dpa__bet *bet = &stage->bet[j];
        double *const fields[] = {&bet->slope, &bet->threshold, &bet->point, &bet->size,
                                  &bet->share};
        for (int i = 0; i < 5; ++i) walk_double(t, fields[i]);
    }
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b) walk_u64(t, &stage->cell[a][b]);
}

/* The numbers that change after opening, except lists. */
static void walk_numbers(tape *t, dpa_sequential *s) {
    uint64_t *const whole[] = {&s->pushed[0], &s->pushed[1], &s->pairs, &s->stage_end,
                               &s->refuted_at};
    double *const real[] = {&s->best, &s->aim, &s->claim_closed, &s->claim_now, &s->claim_most};
    for (int i = 0; i < 5; ++i) walk_u64(t, whole[i]);
    for (int i = 0; i < 5; ++i) walk_double(t, real[i]);
}

/* ── lists ─────────────────────────────────────────────────────────────────────────────────── */

static void walk_history(tape *t, dpa_sequential *s) {
    const uint64_t kept = s->pairs < DPA__HISTORY ? s->pairs : DPA__HISTORY;
    for (int c = 0; c < 2; ++c)
        for (uint64_t i = 0; i < kept && !t->is_short; ++i) walk_double(t, &s->history[c][i]);
}

/* 1 if the tape has enough bytes left for this count, which may be a damaged one. */
static int fits(const tape *t, uint64_t count, size_t each) {
    return count <= (t->size - t->at) / each;
}

static dpa_status walk_pending(tape *t, dpa_sequential *s, dpa_error *err) {
    uint64_t count = s->pending_count - s->pending_first;
    walk_u64(t, &count);
    if (t->is_loading) {
        if (t->is_short || !fits(t, count, 8)) return DPA_BAD_INPUT;
        s->pending = DPA_NEW_ARRAY(double, (size_t)count + 1, err);
        if (s->pending == NULL) return DPA_NO_MEMORY;
        s->pending_room = (size_t)count + 1;
        s->pending_count = (size_t)count;
        s->pending_is_member = s->pushed[1] > s->pushed[0];
    }
    for (size_t i = s->pending_first; i < s->pending_count; ++i) walk_double(t, &s->pending[i]);
    return DPA_OK;
}

static dpa_status walk_stages(tape *t, dpa_sequential *s, dpa_error *err) {
    uint64_t count = s->stage_count;
    walk_u64(t, &count);
    if (t->is_loading) {
        if (t->is_short || count == 0 || !fits(t, count, 32)) return DPA_BAD_INPUT;
        dpa__stage *stages = dpa__realloc(s->stages, (size_t)count, sizeof *stages, err);
        if (stages == NULL) return DPA_NO_MEMORY;
        memset(stages, 0, (size_t)count * sizeof *stages);
        s->stages = stages;
        s->stage_room = s->stage_count = (size_t)count;
    }
    for (size_t i = 0; i < s->stage_count && !t->is_short; ++i) walk_stage(t, &s->stages[i]);
    return DPA_OK;
}

static dpa_status walk_state(tape *t, dpa_sequential *s, dpa_error *err) {
    walk_numbers(t, s);
    walk_history(t, s);
    DPA_TRY(walk_pending(t, s, err));
    DPA_TRY(walk_stages(t, s, err));
    return t->is_short ? DPA_BAD_INPUT : DPA_OK;
}

/* ── both ways ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status write_all(tape *t, const dpa_sequential *audit, dpa_error *err) {
    dpa_sequential *s = (dpa_sequential *)(uintptr_t)audit; /* saving changes nothing */
    char word[sizeof magic];
    memcpy(word, magic, sizeof word);
    walk_bytes(t, word, sizeof word);
    walk_request(t, &s->request);
    return walk_state(t, s, err);
}

dpa_status dpa__sequential_save(const dpa_sequential *audit, unsigned char **bytes, size_t *count,
                                dpa_error *err) {
    tape measure = {0};
    char hex[HASH_SIZE + 1];
    *bytes = NULL;
    *count = 0;
    DPA_TRY(write_all(&measure, audit, err));
    tape to = {.bytes = DPA_NEW_ARRAY(unsigned char, measure.at + HASH_SIZE, err)};
    if (to.bytes == NULL) return DPA_NO_MEMORY;
    const dpa_status status = write_all(&to, audit, err);
    if (status != DPA_OK) {
        free(to.bytes);
        return status;
    }
    dpa__sha256_of(to.bytes, to.at, hex);
    memcpy(to.bytes + to.at, hex, HASH_SIZE);
    *bytes = to.bytes;
    *count = to.at + HASH_SIZE;
    return DPA_OK;
}

static dpa_status damaged(dpa_error *err) {
    return dpa__fail(err, DPA_BAD_INPUT,
                     "not a saved sequential audit of this version, or damaged");
}

dpa_status dpa__sequential_load(const unsigned char *bytes, size_t count, dpa_sequential **out,
                                dpa_error *err) {
    char hex[HASH_SIZE + 1], word[sizeof magic];
    dpa_request request;
    *out = NULL;
    if (count < sizeof magic + HASH_SIZE) return damaged(err);
    dpa__sha256_of(bytes, count - HASH_SIZE, hex);
    if (memcmp(hex, bytes + count - HASH_SIZE, HASH_SIZE) != 0) return damaged(err);
    tape from = {
        .bytes = (unsigned char *)(uintptr_t)bytes, .size = count - HASH_SIZE, .is_loading = 1};
    dpa__request_init(&request);
    walk_bytes(&from, word, sizeof word);
    walk_request(&from, &request);
    if (from.is_short || memcmp(word, magic, sizeof magic) != 0) return damaged(err);
    DPA_TRY(dpa__sequential_new(&request, out, err));
    dpa_status status = walk_state(&from, *out, err);
    if (status == DPA_OK) status = dpa__sequential_price(*out, err);
    if (status == DPA_OK && from.at == from.size) return DPA_OK;
    dpa__sequential_free(*out);
    *out = NULL;
    return status == DPA_OK || status == DPA_BAD_INPUT ? damaged(err) : status;
}
