/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a game leaves for the estimators: named arrays and named numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/rules.h"

dpa_status dpa_game_evidence_add(dpa_game_evidence *e, const char *name, double *items,
                                 size_t count, size_t rows, dpa_error *err) {
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

dpa_status dpa_game_evidence_fact(dpa_game_evidence *e, const char *name, double value,
                                  dpa_error *err) {
    if (e->fact_count == DPA_EVIDENCE_FACTS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "more than %d facts", (int)DPA_EVIDENCE_FACTS);
    dpa_named_number *f = &e->facts[e->fact_count++];
    f->value = value;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    return DPA_OK;
}

const dpa_named_array *dpa_game_evidence_find(const dpa_game_evidence *e, const char *name) {
    for (size_t i = 0; i < e->array_count; ++i)
        if (strcmp(e->arrays[i].name, name) == 0) return &e->arrays[i];
    return NULL;
}

void dpa_game_evidence_free(dpa_game_evidence *e) {
    if (e == NULL) return;
    for (size_t i = 0; i < e->array_count; ++i) free(e->arrays[i].items);
    *e = (dpa_game_evidence){0};
}

dpa_status dpa__gather_halves(const dpa_trials *trials, size_t each, size_t want,
                              dpa_game_evidence *out, dpa_error *err) {
    static const char *const names[2] = {"members", "nonmembers"};
    for (size_t half = 0; half < 2; ++half) {
        double *items = DPA_NEW_ARRAY(double, want, err);
        if (items == NULL) return DPA_NO_MEMORY;
        size_t filled = 0;
        for (uint64_t i = 0; i < trials->count && filled < want; ++i) {
            const dpa_values *v = &trials->items[i];
            if (v->items == NULL) continue;
            const size_t count = want - filled < each ? want - filled : each;
            memcpy(items + filled, v->items + half * each, count * sizeof(double));
            filled += count;
        }
        DPA_TRY(dpa_game_evidence_add(out, names[half], items, filled, 0, err));
    }
    return DPA_OK;
}

dpa_status dpa__gather_mean(const dpa_trials *trials, size_t place, const char *name,
                            dpa_game_evidence *out, dpa_error *err) {
    double sum = 0.0, played = 0.0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        if (trials->items[i].items == NULL) continue;
        sum += trials->items[i].items[place];
        played += 1.0;
    }
    if (played == 0.0) return DPA_OK;
    return dpa_game_evidence_fact(out, name, sum / played, err);
}
