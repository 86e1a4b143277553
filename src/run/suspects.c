/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/suspects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/health.h"

enum { KINDS = 2 }; /* process, machine */

static size_t machine_length(const char *place, size_t size) {
    const char *space = memchr(place, ' ', size);
    return space != NULL ? (size_t)(space - place) : size;
}

/* Finds the process and the machine of a record. */
static dpa_status find(dpa__suspects *s, const dpa__record *r, dpa__place *out[KINDS],
                       dpa_error *err) {
    const size_t lengths[KINDS] = {r->place_size, machine_length(r->place, r->place_size)};
    uint32_t code[KINDS];
    for (int i = 0; i < KINDS; ++i)
        DPA_TRY(dpa__levels_code(&s->names, r->place, lengths[i], &code[i], err));
    if (s->names.count > s->room) {
        const size_t room = 2 * (size_t)s->names.count;
        dpa__place *more = dpa__realloc(s->places, room, sizeof *more, err);
        if (more == NULL) return DPA_NO_MEMORY;
        for (size_t i = s->room; i < room; ++i) more[i] = (dpa__place){.played = -(double)INFINITY};
        s->places = more;
        s->room = room;
    }
    for (int i = 0; i < KINDS; ++i) out[i] = &s->places[code[i]];
    return DPA_OK;
}

dpa_status dpa__suspects_add(dpa__suspects *s, const dpa__record *r, dpa_error *err) {
    dpa__place *at[KINDS];
    if (r->end != DPA_TRIAL_PLAYED && r->end != DPA_TRIAL_FAILED) return DPA_OK;
    ++s->ended;
    s->failed += r->end == DPA_TRIAL_FAILED;
    if (r->end != DPA_TRIAL_PLAYED) return DPA_OK;
    DPA_TRY(find(s, r, at, err));
    for (int i = 0; i < KINDS; ++i) at[i]->played = fmax(at[i]->played, r->started);
    return DPA_OK;
}

dpa_status dpa__suspects_count(dpa__suspects *s, const dpa__record *r, dpa_error *err) {
    dpa__place *at[KINDS];
    if (r->end != DPA_TRIAL_FAILED) return DPA_OK;
    DPA_TRY(find(s, r, at, err));
    for (int i = 0; i < KINDS; ++i)
        if (r->started > at[i]->played && (i == 0 || at[i] != at[0])) ++at[i]->row;
    return DPA_OK;
}

/* Whether the process belongs to a machine that is broken as a whole. */
static int is_named_already(const dpa__suspects *s, uint32_t code) {
    const char *name = dpa__levels_text(&s->names, code);
    const size_t length = machine_length(name, strlen(name));
    for (uint32_t i = 0; i < s->names.count && name[length] != '\0'; ++i) {
        const char *other = dpa__levels_text(&s->names, i);
        if (s->places[i].is_broken && strlen(other) == length && memcmp(name, other, length) == 0)
            return 1;
    }
    return 0;
}

size_t dpa__suspects_decide(dpa__suspects *s, char *names, size_t size) {
    size_t count = 0, used = 0;
    for (uint32_t i = 0; i < s->names.count && i < s->room; ++i) {
        dpa__place *p = &s->places[i];
        const double k = (double)p->row;
        p->is_broken =
            p->row > 0 && !dpa__is_chance(k, (double)s->failed - k, (double)s->ended - k);
        count += p->is_broken != 0;
    }
    for (uint32_t i = 0; i < s->names.count && count > 0; ++i) {
        if (!s->places[i].is_broken || is_named_already(s, i)) continue;
        const int n = snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "",
                               dpa__levels_text(&s->names, i));
        if (n < 0 || used + (size_t)n >= size) break;
        used += (size_t)n;
    }
    return count;
}

dpa_status dpa__suspects_blame(dpa__suspects *s, const dpa__record *r, int *out, dpa_error *err) {
    dpa__place *at[KINDS];
    *out = 0;
    if (r->end != DPA_TRIAL_FAILED) return DPA_OK;
    DPA_TRY(find(s, r, at, err));
    for (int i = 0; i < KINDS; ++i) *out |= at[i]->is_broken && r->started > at[i]->played;
    return DPA_OK;
}

void dpa__suspects_free(dpa__suspects *s) {
    dpa__levels_free(&s->names);
    free(s->places);
    *s = (dpa__suspects){0};
}
