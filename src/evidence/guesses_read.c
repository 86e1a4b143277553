/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guesses from a file: `score,member` or `score,correct` as a table, or an NPZ with the arrays
 * members and nonmembers, or score and correct. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/guesses.h"
#include "evidence/columns.h"
#include "evidence/place.h"

static dpa_status to_bits(const char *path, const char *name, const double *value, size_t count,
                          uint8_t **out, dpa_error *err) {
    *out = DPA_NEW_ARRAY(uint8_t, count, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        if (value[i] != 0.0 && value[i] != 1.0) {
            free(*out);
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s in row %zu is %g; 0 or 1 is right",
                                  name, i + 1, value[i]);
        }
        (*out)[i] = (uint8_t)value[i];
    }
    return DPA_OK;
}

static dpa_status from_table(const dpa__columns *c, dpa_guess_side side, dpa_guesses *out,
                             int *is_membership, dpa_lints *lints, dpa_error *err) {
    *is_membership = dpa__columns_find(c, "correct") < 0;
    const size_t rows = dpa_table_rows(c->table);
    const double *score;
    uint8_t *bits;
    DPA_TRY(dpa__columns_numbers(c, "score", &score, err));
    DPA_TRY(dpa__columns_answers(c, *is_membership ? "member" : "correct", &bits, err));
    const dpa_status status =
        *is_membership ? dpa_guesses_from_scores(score, bits, rows, side, out, lints, err)
                       : dpa_guesses_from_confidence(score, bits, rows, out, lints, err);
    free(bits);
    if (status == DPA_OK)
        memcpy(out->sha256, dpa_table_sha256(c->table), strlen(dpa_table_sha256(c->table)) + 1);
    return status;
}

static dpa_status from_csv(const char *path, dpa_guess_side side, dpa_guesses *out,
                           int *is_membership, dpa_lints *lints, dpa_error *err) {
    dpa__columns c = {.path = path, .header = "score,member or score,correct"};
    DPA_TRY(dpa__columns_read(&c, NULL, err));
    const dpa_status status = from_table(&c, side, out, is_membership, lints, err);
    dpa_table_free(c.table);
    return status;
}

/* Losses become scores: the lower, the more likely in. */
static dpa_status join(dpa_array *members, dpa_array *nonmembers, int are_losses,
                       dpa_guess_side side, dpa_guesses *out, dpa_lints *lints, dpa_error *err) {
    dpa_array *const both[2] = {members, nonmembers};
    for (size_t a = 0; a < 2 && are_losses; ++a) {
        double *value = both[a]->data;
        for (size_t i = 0; i < both[a]->count; ++i) value[i] = -value[i];
    }
    DPA_TRY(dpa_guesses_from_pair(members->data, members->count, nonmembers->data,
                                  nonmembers->count, side, out, lints, err));
    memcpy(out->sha256, members->sha256, sizeof out->sha256);
    return DPA_OK;
}

static dpa_status read_doubles(const char *path, const char *name, dpa_array *out, dpa_error *err) {
    DPA_TRY(dpa_array_read(path, name, out, err));
    return dpa_array_to_double(out, err);
}

/* Two arrays: members of one NPZ (`names`), or a file each. */
static dpa_status from_arrays(const char *const paths[2], const char *const names[2],
                              int are_losses, dpa_guess_side side, dpa_guesses *out,
                              dpa_lints *lints, dpa_error *err) {
    dpa_array array[2] = {{0}};
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < 2 && status == DPA_OK; ++i)
        status = read_doubles(paths[i], names[i], &array[i], err);
    if (status == DPA_OK) status = join(&array[0], &array[1], are_losses, side, out, lints, err);
    dpa_array_free(&array[0]);
    dpa_array_free(&array[1]);
    return status;
}

static dpa_status from_npz(const char *path, dpa_guess_side side, dpa_guesses *out,
                           dpa_lints *lints, dpa_error *err) {
    static const char *const names[2] = {"members", "nonmembers"};
    return from_arrays((const char *const[2]){path, path}, names, 0, side, out, lints, err);
}

static dpa_status judge_confidence(const char *path, const dpa_array *score,
                                   const dpa_array *correct, dpa_guesses *out, dpa_lints *lints,
                                   dpa_error *err) {
    if (score->count != correct->count)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "%zu scores, but %zu answers in `correct`",
                              score->count, correct->count);
    uint8_t *bits;
    DPA_TRY(to_bits(path, "correct", correct->data, correct->count, &bits, err));
    const dpa_status status =
        dpa_guesses_from_confidence(score->data, bits, score->count, out, lints, err);
    free(bits);
    if (status == DPA_OK) memcpy(out->sha256, score->sha256, sizeof out->sha256);
    return status;
}

static dpa_status guesses_from_npz(const char *path, dpa_guesses *out, dpa_lints *lints,
                                   dpa_error *err) {
    dpa_array score = {0}, correct = {0};
    dpa_status status = read_doubles(path, "score", &score, err);
    if (status == DPA_OK) status = read_doubles(path, "correct", &correct, err);
    if (status == DPA_OK) status = judge_confidence(path, &score, &correct, out, lints, err);
    dpa_array_free(&score);
    dpa_array_free(&correct);
    return status;
}

dpa_status dpa_guesses_read(const char *path, dpa_guess_side side, dpa_guesses *out,
                            int *is_membership, dpa_lints *lints, dpa_error *err) {
    *out = (dpa_guesses){0};
    *is_membership = 1;
    if (err != NULL) *err = (dpa_error){0};
    dpa_status status;
    if (dpa_npz_has(path, "members"))
        status = from_npz(path, side, out, lints, err);
    else if (dpa_npz_has(path, "correct")) {
        *is_membership = 0;
        status = guesses_from_npz(path, out, lints, err);
    } else
        status = from_csv(path, side, out, is_membership, lints, err);
    return dpa__name_place(status, path, err);
}

dpa_status dpa_guesses_read_pair(const char *members, const char *nonmembers, int are_losses,
                                 dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                 dpa_error *err) {
    static const char *const names[2] = {NULL, NULL};
    *out = (dpa_guesses){0};
    if (err != NULL) *err = (dpa_error){0};
    const dpa_status status = from_arrays((const char *const[2]){members, nonmembers}, names,
                                          are_losses, side, out, lints, err);
    return dpa__name_place(status, members, err);
}
