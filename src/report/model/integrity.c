/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stored result has a seal (a SHA-256 of everything else in it) and must not contradict itself: a
 * page is drawn only from what the judge could have written. */
#include "report/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "report/model/value.h"

#define SEAL "sha256"

/* ── the seal ────────────────────────────────────────────────────────────────────────── */

static dpa_status digest_of(const json_t *value, char hex[DPA_SHA256_SIZE], dpa_error *err) {
    json_t *copy = dpa__json_copy(value);
    dpa__text text = {0};
    if (copy == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a digest");
    (void)json_object_del(copy, SEAL);
    dpa__json_write(&text, copy, -1);
    json_decref(copy);
    const int failed = text.failed;
    if (!failed) dpa__sha256_of(text.data, text.length, hex);
    dpa__text_free(&text);
    return failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a digest") : DPA_OK;
}

dpa_status dpa__result_seal(json_t *result, dpa_error *err) {
    char hex[DPA_SHA256_SIZE];
    DPA_TRY(digest_of(result, hex, err));
    return dpa__json_set(result, SEAL, json_string(hex), err);
}

/* ── contradictions ──────────────────────────────────────────────────────────────────── */

static int is_one_of(const char *word, const char *const *list) {
    for (; *list != NULL; ++list)
        if (strcmp(word, *list) == 0) return 1;
    return 0;
}

/* 1 if a primary row has the claim's scope and exceeds the claim. */
static int row_refutes(const json_t *verdict, const json_t *row) {
    const json_t *claim = json_object_get(verdict, "claim");
    const char *needed = dpa__word_of(verdict, "decided_by");
    const int infinite = json_is_true(json_object_get(row, "epsilon_lower_infinite"));
    const double lower = infinite ? (double)INFINITY : dpa__number_of(row, "epsilon_lower");
    const int may = dpa__is_word(row, "guarantee", "confidence") ||
                    (strcmp(needed, "posterior") == 0 && dpa__is_word(row, "guarantee", needed));
    return may && dpa__is_word(row, "role", "primary") &&
           dpa__is_word(row, "scope", dpa__word_of(claim, "scope")) &&
           lower > dpa__number_of(claim, "epsilon");
}

static const char *rows_problem(const json_t *verdict, const json_t *results) {
    static const char *const roles[] = {"primary", "shown", NULL};
    static const char *const guarantees[] = {"confidence", "posterior", "estimate", "optimistic",
                                             NULL};
    const int is_free = json_array_size(json_object_get(verdict, "contradicted")) == 0 &&
                        json_object_get(verdict, "obstacle") == NULL;
    int refutes = json_is_true(json_object_get(verdict, "all_rejected"));
    size_t index;
    json_t *row;
    json_array_foreach(results, index, row) {
        if (!is_one_of(dpa__word_of(row, "role"), roles)) return "a result has no role";
        if (!is_one_of(dpa__word_of(row, "guarantee"), guarantees))
            return "a result has no guarantee";
        refutes |= row_refutes(verdict, row);
    }
    if (dpa__is_word(verdict, "state", "refuted") && !(refutes && is_free))
        return "it says refuted, and no deciding bound exceeds the claim";
    if (dpa__is_word(verdict, "state", "not-refuted") && refutes)
        return "it says not refuted, and the deciding bound exceeds the claim";
    return NULL;
}

static const char *verdict_problem(const json_t *verdict) {
    static const struct {
        const char *state, *begin;
    } states[] = {{"no-claim", ""},
                  {"refuted", "REFUTED"},
                  {"not-refuted", "Not refuted"},
                  {"inconclusive", "INCONCLUSIVE"}};
    const char *state = dpa__word_of(verdict, "state"),
               *headline = dpa__word_of(verdict, "headline");
    const json_t *refuted = json_object_get(verdict, "refuted");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; ++i) {
        if (strcmp(state, states[i].state) != 0) continue;
        if (!json_is_boolean(refuted) || json_is_true(refuted) != (i == 1))
            return "`refuted` is not what the state says";
        if (strncmp(headline, states[i].begin, strlen(states[i].begin)) != 0)
            return "the headline is not what the state says";
        if ((i == 0) != (json_object_get(verdict, "claim") == NULL))
            return "the claim is not what the state says";
        return NULL;
    }
    return "the state of its verdict is unknown";
}

/* The first contradiction in a result, in words; NULL if there is none. */
static const char *result_problem(const json_t *result) {
    const json_t *verdict = json_object_get(result, "verdict");
    if (verdict == NULL) return NULL;
    const char *problem = verdict_problem(verdict);
    return problem != NULL ? problem : rows_problem(verdict, json_object_get(result, "results"));
}

dpa_status dpa__result_check(const char *path, const json_t *result, dpa_error *err) {
    char hex[DPA_SHA256_SIZE];
    if (!json_is_string(json_object_get(result, "dpaudit")) ||
        !json_is_string(json_object_get(result, "command")))
        return dpa__fail_file(
            err, DPA_BAD_INPUT, path,
            "not a result of dpaudit: it has no \"dpaudit\" and \"command\"; write one "
            "with --json=FILE.json");
    DPA_TRY(digest_of(result, hex, err));
    if (strcmp(hex, dpa__word_of(result, SEAL)) != 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "changed since it was written: its sha256 does not fit");
    const char *problem = result_problem(result);
    if (problem == NULL) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "the result contradicts itself: %s", problem);
}
