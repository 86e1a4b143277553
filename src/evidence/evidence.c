/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence in memory: its kind, arrays by name, facts for the report. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"
#include "evidence/evidence.h"

const char *dpa__evidence_kind_name(dpa_evidence_kind kind) {
    static const char *const names[DPA_EVIDENCE_KINDS] = {"counts", "scores", "guesses", "cosines",
                                                          "signals"};
    return (unsigned)kind < DPA_EVIDENCE_KINDS ? names[kind] : NULL;
}

void dpa__evidence_init(dpa_evidence *evidence, dpa_evidence_kind kind) {
    *evidence = (dpa_evidence){.kind = kind, .inclusion_rate = 0.5, .options = 2};
    evidence->training =
        (dpa_training_facts){.q = NAN, .sigma = NAN, .rate = 1, .participations = NAN};
    dpa_claim_init(&evidence->claim);
}

dpa_status dpa__evidence_add(dpa_evidence *e, const char *name, double *items, size_t count,
                             size_t rows, dpa_error *err) {
    if (e->array_count == DPA_EVIDENCE_ARRAYS) {
        free(items);
        return dpa__fail(err, DPA_BAD_ARGUMENT, "more than %d arrays of evidence",
                         (int)DPA_EVIDENCE_ARRAYS);
    }
    dpa_named_array *a = &e->arrays[e->array_count++];
    *a = (dpa_named_array){.items = items, .count = count, .rows = rows};
    (void)snprintf(a->name, sizeof a->name, "%s", name);
    return DPA_OK;
}

dpa_status dpa_evidence_copy(dpa_evidence *e, const char *name, const double *items, size_t count,
                             dpa_error *err) {
    double *copy = DPA_NEW_ARRAY(double, count, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    if (count > 0) memcpy(copy, items, count * sizeof *copy);
    return dpa__evidence_add(e, name, copy, count, 0, err);
}

dpa_status dpa_evidence_fact(dpa_evidence *e, const char *name, double value, dpa_error *err) {
    if (e->fact_count == DPA_EVIDENCE_FACTS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "more than %d facts", (int)DPA_EVIDENCE_FACTS);
    dpa_named_number *f = &e->facts[e->fact_count++];
    f->value = value;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    return DPA_OK;
}

const dpa_named_array *dpa__evidence_find(const dpa_evidence *e, const char *name) {
    for (size_t i = 0; i < e->array_count; ++i)
        if (strcmp(e->arrays[i].name, name) == 0) return &e->arrays[i];
    return NULL;
}

dpa_array dpa__named_array_view(const dpa_named_array *a) {
    dpa_array out = {
        .dtype = DPA_F64, .ndim = 1, .shape = {a->count}, .count = a->count, .data = a->items};
    if (a->rows == 0) return out;
    out.ndim = 2;
    out.shape[0] = a->rows;
    out.shape[1] = a->count / a->rows;
    return out;
}

void dpa__evidence_clear(dpa_evidence *e) {
    if (e == NULL) return;
    for (size_t i = 0; i < e->array_count; ++i) free(e->arrays[i].items);
    free(e->protocol);
    *e = (dpa_evidence){0};
}

/* ── on the heap, and from text ──────────────────────────────────────────────────────── */

dpa_status dpa_evidence_new(dpa_evidence_kind kind, dpa_evidence **out, dpa_error *err) {
    *out = DPA_NEW(dpa_evidence, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    dpa__evidence_init(*out, kind);
    return DPA_OK;
}

void dpa_evidence_free(dpa_evidence *evidence) {
    dpa__evidence_clear(evidence);
    free(evidence);
}

dpa_status dpa_evidence_set(dpa_evidence *e, const char *key, const char *value, dpa_error *err) {
    double options = (double)e->options, dim = (double)e->dim, steps = (double)e->training.steps;
    const struct {
        const char *key;
        double *number, least, most;
    } numbers[] = {{"inclusion-rate", &e->inclusion_rate, 1e-300, 1},
                   {"options", &options, 2, 9007199254740992.0},
                   {"dim", &dim, 0, 9007199254740992.0},
                   {"q", &e->training.q, 1e-300, 1},
                   {"steps", &steps, 1, 9007199254740992.0},
                   {"sigma", &e->training.sigma, 0, 1e300},
                   {"canary-rate", &e->training.rate, 1e-300, 1},
                   {"participations", &e->training.participations, 0, 1e300}};
    static const struct {
        const char *key, *words;
        size_t offset; /* of an int or an enum */
    } choices[] = {{"scope", DPA__SCOPES, offsetof(dpa_evidence, scope)},
                   {"design", DPA__DESIGNS, offsetof(dpa_evidence, design)},
                   {"side", "both|in|out", offsetof(dpa_evidence, side)}};
    if (value == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", key);
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; ++i) {
        const int place = dpa__word_place(value, choices[i].words);
        if (strcmp(key, choices[i].key) != 0) continue;
        if (place < 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is unknown", key, value);
        memcpy((char *)e + choices[i].offset, &place, sizeof place);
        return DPA_OK;
    }
    if (strcmp(key, "direction") == 0) {
        (void)snprintf(e->direction, sizeof e->direction, "%s", value);
        return DPA_OK;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        double number = 0;
        if (strcmp(key, numbers[i].key) != 0) continue;
        if (!dpa__number_whole(value, &number) ||
            !(number >= numbers[i].least && number <= numbers[i].most))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not in its range", key, value);
        *numbers[i].number = number;
        e->options = (uint64_t)options;
        e->dim = (size_t)dim;
        e->training.steps = (uint64_t)steps;
        return DPA_OK;
    }
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no option is called '%s'", key);
}

/* ── what is odd about it ────────────────────────────────────────────────────────────── */

dpa_status dpa__lints_add(dpa_lints *lints, dpa_error *err, const char *code, const char *format,
                          ...) {
    dpa_lint *grown = dpa__grown(lints->items, lints->count, &lints->capacity, sizeof *grown, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    lints->items = grown;
    dpa_lint *lint = &lints->items[lints->count++];
    (void)snprintf(lint->code, sizeof lint->code, "%s", code);
    va_list args;
    va_start(args, format);
    (void)dpa__vprint(lint->text, sizeof lint->text, format, args);
    va_end(args);
    return DPA_OK;
}

void dpa__lints_free(dpa_lints *lints) {
    if (lints == NULL) return;
    free(lints->items);
    *lints = (dpa_lints){0};
}
