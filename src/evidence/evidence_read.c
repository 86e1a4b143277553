/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence from files of any program: dpaudit's own files describe themselves; for plain arrays and
 * tables the caller says what they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/columns.h"
#include "evidence/evidence.h"

static void note_file(dpa_evidence *e, int which, const char *path, const char *sha256) {
    (void)snprintf(e->path[which], sizeof e->path[which], "%s", path);
    (void)snprintf(e->sha256[which], sizeof e->sha256[which], "%s", sha256);
}

/* Adds one array of a file (`name` in an NPZ) under its name in the evidence. */
static dpa_status add_file(dpa_evidence *e, int which, const char *path, const char *name,
                           const char *as, dpa_error *err) {
    dpa_array array;
    DPA_TRY(dpa__doubles_read(path, name, &array, err));
    note_file(e, which, path, array.sha256);
    return dpa__evidence_add(e, as, array.data, array.count, 0, err);
}

/* Moves the scores into the evidence. */
static dpa_status take_scores(dpa_evidence *e, dpa_scores *s, dpa_error *err) {
    const dpa_status status = dpa__evidence_add(e, "members", s->member, s->members, 0, err);
    s->member = NULL;
    DPA_TRY(status);
    double *none = s->nonmember;
    s->nonmember = NULL;
    return dpa__evidence_add(e, "nonmembers", none, s->nonmembers, 0, err);
}

static dpa_status read_scores(const char *path, const char *nonmembers_path, unsigned threads,
                              dpa_evidence *out, dpa_error *err) {
    dpa_scores scores;
    DPA_TRY(dpa__scores_read(path, nonmembers_path, threads, &scores, err));
    note_file(out, 0, path, scores.sha256[0]);
    if (nonmembers_path != NULL) note_file(out, 1, nonmembers_path, scores.sha256[1]);
    const dpa_status status = take_scores(out, &scores, err);
    dpa__scores_free(&scores);
    return status;
}

/* Reads a file of dpaudit's own, which must be of one of these kinds. */
static dpa_status read_own(const char *path, dpa_evidence_kind kind, dpa_evidence_kind other,
                           dpa_evidence *out, dpa_error *err) {
    DPA_TRY(dpa__evidence_read(path, out, err));
    if (out->kind == kind || out->kind == other) return DPA_OK;
    const dpa_status status =
        dpa__fail_file(err, DPA_BAD_INPUT, path, "the file holds %s; %s are wanted here",
                       dpa__evidence_kind_name(out->kind), dpa__evidence_kind_name(kind));
    dpa__evidence_clear(out);
    return status;
}

static dpa_status finish(dpa_status status, dpa_evidence *out) {
    if (status != DPA_OK) dpa__evidence_clear(out);
    return status;
}

dpa_status dpa__evidence_scores(const char *path, const char *nonmembers_path, unsigned threads,
                                dpa_evidence *out, dpa_error *err) {
    if (nonmembers_path == NULL && dpa__evidence_is_file(path))
        return read_own(path, DPA_EVIDENCE_SCORES, DPA_EVIDENCE_SCORES, out, err);
    dpa__evidence_init(out, DPA_EVIDENCE_SCORES);
    return finish(read_scores(path, nonmembers_path, threads, out, err), out);
}

/* ── one run ─────────────────────────────────────────────────────────────────────────── */

static void negate(dpa_evidence *e) {
    for (size_t a = 0; a < e->array_count; ++a)
        for (size_t i = 0; i < e->arrays[a].count; ++i) e->arrays[a].items[i] *= -1;
}

static dpa_status read_pair(const char *members, const char *nonmembers, int are_losses,
                            dpa_evidence *out, dpa_error *err) {
    DPA_TRY(add_file(out, 0, members, NULL, "members", err));
    DPA_TRY(add_file(out, 1, nonmembers, NULL, "nonmembers", err));
    if (are_losses) negate(out);
    return DPA_OK;
}

static dpa_status check_bits(const char *path, const dpa_evidence *e, dpa_error *err) {
    const dpa_named_array *score = dpa__evidence_find(e, "score");
    const dpa_named_array *correct = dpa__evidence_find(e, "correct");
    if (score->count != correct->count)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "%zu scores, but %zu answers in `correct`",
                              score->count, correct->count);
    for (size_t i = 0; i < correct->count; ++i)
        if (correct->items[i] != 0.0 && correct->items[i] != 1.0)
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "correct in row %zu is %g; 0 or 1 is right", i + 1,
                                  correct->items[i]);
    return DPA_OK;
}

static dpa_status read_answers(const char *path, dpa_evidence *out, dpa_error *err) {
    out->kind = DPA_EVIDENCE_GUESSES;
    DPA_TRY(add_file(out, 0, path, "score", "score", err));
    DPA_TRY(add_file(out, 0, path, "correct", "correct", err));
    return check_bits(path, out, err);
}

/* Adds the rows whose answer is `wanted`; if wanted < 0, all rows: `value`, or if it is NULL the
 * answers. */
static dpa_status add_rows(dpa_evidence *e, const char *name, const dpa__columns *c,
                           const double *value, int wanted, dpa_error *err) {
    double *items = DPA_NEW_ARRAY(double, c->table->rows, err);
    size_t count = 0;
    if (items == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < c->table->rows; ++i)
        if (wanted < 0 || c->answer[i] == wanted)
            items[count++] = value != NULL ? value[i] : (double)c->answer[i];
    return dpa__evidence_add(e, name, items, count, 0, err);
}

static dpa_status take_table(const dpa__columns *c, dpa_evidence *out, dpa_error *err) {
    if (dpa__columns_find(c, "correct") < 0) {
        DPA_TRY(add_rows(out, "members", c, c->value, 1, err));
        return add_rows(out, "nonmembers", c, c->value, 0, err);
    }
    out->kind = DPA_EVIDENCE_GUESSES;
    DPA_TRY(add_rows(out, "score", c, c->value, -1, err));
    return add_rows(out, "correct", c, NULL, -1, err);
}

static dpa_status read_csv(const char *path, dpa_evidence *out, dpa_error *err) {
    dpa__columns c = {.path = path, .header = "score,member or score,correct"};
    DPA_TRY(dpa__columns_open(&c, "score", "member", "correct", NULL, err));
    const dpa_status status = take_table(&c, out, err);
    note_file(out, 0, path, c.table->sha256);
    dpa__columns_close(&c);
    return status;
}

dpa_status dpa__evidence_one_run(const char *path, const char *nonmembers_path, int are_losses,
                                 dpa_evidence *out, dpa_error *err) {
    if (nonmembers_path == NULL && dpa__evidence_is_file(path)) {
        DPA_TRY(read_own(path, DPA_EVIDENCE_GUESSES, DPA_EVIDENCE_SCORES, out, err));
        out->design = DPA_ONE_RUN;
        return DPA_OK;
    }
    dpa__evidence_init(out, DPA_EVIDENCE_SCORES);
    out->design = DPA_ONE_RUN;
    if (err != NULL) *err = (dpa_error){0};
    dpa_status status;
    if (nonmembers_path != NULL)
        status = read_pair(path, nonmembers_path, are_losses, out, err);
    else if (dpa__npz_has(path, "members"))
        status = read_scores(path, NULL, 1, out, err);
    else if (dpa__npz_has(path, "correct"))
        status = read_answers(path, out, err);
    else
        status = read_csv(path, out, err);
    return finish(dpa__name_place(status, path, err), out);
}

/* ── cosines ─────────────────────────────────────────────────────────────────────────── */

static dpa_status read_cosines(const char *path, const char *null_path, dpa_evidence *out,
                               dpa_error *err) {
    DPA_TRY(add_file(out, 0, path, NULL, null_path != NULL ? "observed" : "final", err));
    return null_path != NULL ? add_file(out, 1, null_path, NULL, "unobserved", err) : DPA_OK;
}

dpa_status dpa__evidence_cosines(const char *path, const char *null_path, dpa_evidence *out,
                                 dpa_error *err) {
    if (null_path == NULL && dpa__evidence_is_file(path))
        return read_own(path, DPA_EVIDENCE_COSINES, DPA_EVIDENCE_COSINES, out, err);
    dpa__evidence_init(out, DPA_EVIDENCE_COSINES);
    out->design = DPA_ONE_RUN;
    return finish(read_cosines(path, null_path, out, err), out);
}

/* ── the same on the heap ────────────────────────────────────────────────────────────── */

/* Gives what was read as a block of its own. */
static dpa_status give(dpa_status status, dpa_evidence *read, dpa_evidence **out, dpa_error *err) {
    *out = NULL;
    if (status != DPA_OK) return status;
    *out = DPA_NEW(dpa_evidence, err);
    if (*out == NULL) return finish(DPA_NO_MEMORY, read);
    **out = *read;
    return DPA_OK;
}

dpa_status dpa_evidence_scores(const char *path, const char *nonmembers_path, dpa_evidence **out,
                               dpa_error *err) {
    dpa_evidence read;
    return give(dpa__evidence_scores(path, nonmembers_path, 1, &read, err), &read, out, err);
}

dpa_status dpa_evidence_one_run(const char *path, const char *nonmembers_path, int are_losses,
                                dpa_evidence **out, dpa_error *err) {
    dpa_evidence read;
    return give(dpa__evidence_one_run(path, nonmembers_path, are_losses, &read, err), &read, out,
                err);
}

dpa_status dpa_evidence_cosines(const char *path, const char *null_path, dpa_evidence **out,
                                dpa_error *err) {
    dpa_evidence read;
    return give(dpa__evidence_cosines(path, null_path, &read, err), &read, out, err);
}

dpa_status dpa_evidence_read(const char *path, dpa_evidence **out, dpa_error *err) {
    dpa_evidence read;
    return give(dpa__evidence_read(path, &read, err), &read, out, err);
}
