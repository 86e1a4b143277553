/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sweep from the highest score down. A corner is where, after members, the next step down adds
 * a non-member. */
#include "estimate/roc.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static dpa_status push(dpa__roc *roc, const dpa__corner *corner, dpa_error *err) {
    if (roc->count == roc->capacity) {
        const size_t capacity = roc->capacity > 0 ? 2 * roc->capacity : 64;
        dpa__corner *grown = dpa__realloc(roc->items, capacity, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        roc->items = grown;
        roc->capacity = capacity;
    }
    roc->items[roc->count++] = *corner;
    return DPA_OK;
}

dpa_status dpa__roc_of(const dpa_scores *s, dpa__roc *out, dpa_error *err) {
    *out = (dpa__roc){.members = s->members, .nonmembers = s->nonmembers};
    size_t i = s->members, j = s->nonmembers; /* how many are still below */
    dpa__corner last = {0};
    int is_waiting = 0;
    while (i > 0) {
        const double in = s->member[i - 1];
        const double value = j > 0 && s->nonmember[j - 1] > in ? s->nonmember[j - 1] : in;
        const size_t i_before = i, j_before = j;
        while (j > 0 && s->nonmember[j - 1] == value) --j;
        while (i > 0 && s->member[i - 1] == value) --i;
        if (j < j_before && is_waiting) {
            const dpa_status status = push(out, &last, err);
            if (status != DPA_OK) {
                dpa__roc_free(out);
                return status;
            }
            is_waiting = 0;
        }
        if (i == i_before) continue;
        last = (dpa__corner){i, s->nonmembers - j, value};
        is_waiting = 1;
    }
    if (!is_waiting) return DPA_OK;
    const dpa_status status = push(out, &last, err);
    if (status != DPA_OK) dpa__roc_free(out);
    return status;
}

dpa_status dpa__roc_all(const dpa_scores *s, dpa__roc *out, dpa_error *err) {
    *out = (dpa__roc){.members = s->members, .nonmembers = s->nonmembers};
    size_t i = s->members, j = s->nonmembers; /* how many are still below */
    while (i + j > 0) {
        const double in = i > 0 ? s->member[i - 1] : -HUGE_VAL;
        const double value = j > 0 && s->nonmember[j - 1] > in ? s->nonmember[j - 1] : in;
        while (j > 0 && s->nonmember[j - 1] == value) --j;
        while (i > 0 && s->member[i - 1] == value) --i;
        const dpa__corner corner = {i, s->nonmembers - j, value};
        const dpa_status status = push(out, &corner, err);
        if (status != DPA_OK) {
            dpa__roc_free(out);
            return status;
        }
    }
    return DPA_OK;
}

void dpa__roc_free(dpa__roc *roc) {
    if (roc == NULL) return;
    free(roc->items);
    *roc = (dpa__roc){0};
}

dpa_counts dpa__roc_counts(const dpa__roc *roc, size_t index) {
    const dpa__corner *c = &roc->items[index];
    return (dpa_counts){
        .fn = c->fn, .tp = roc->members - c->fn, .fp = c->fp, .tn = roc->nonmembers - c->fp};
}
