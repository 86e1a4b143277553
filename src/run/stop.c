/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops a run once the claim is refuted.
 *
 * Trials finish in any order, but the audit takes them by number, and only as far as all earlier
 * ones are decided, so that the stopping point depends on the outcomes alone. The scores of earlier
 * trials must not change when later ones come. This is checked, because an attack that learns from
 * all models (coins and LiRA, for example) would change them, and the bound would not hold. */
#include "run/stop.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/sequential/sequential.h"

typedef struct class_of_scores {
    double *items; /* scores as they were pushed */
    size_t count, room;
} class_of_scores;

struct dpa__stop {
    const dpa_request *request;
    dpa_game *game;
    dpa_sequential *audit;
    uint64_t looked; /* number of trials at the last look */
    class_of_scores pushed[2];
};

static const char *const names[2] = {"nonmembers", "members"};

dpa_status dpa__stop_open(const dpa_request *request, dpa_game *game, dpa__stop **out,
                          dpa_error *err) {
    dpa__stop *stop = DPA_NEW(dpa__stop, err);
    *out = NULL;
    if (stop == NULL) return DPA_NO_MEMORY;
    stop->request = request;
    stop->game = game;
    const dpa_status status = dpa__sequential_new(request, &stop->audit, err);
    if (status == DPA_OK)
        *out = stop;
    else
        free(stop);
    return status;
}

void dpa__stop_close(dpa__stop *stop) {
    if (stop == NULL) return;
    dpa__sequential_free(stop->audit);
    free(stop->pushed[0].items);
    free(stop->pushed[1].items);
    free(stop);
}

/* The evidence of the first `count` trials of the last stage; *some is 0 if they are too few for
 * the game. */
static dpa_status gather(const dpa__stop *stop, const dpa_trials *trials, uint64_t count,
                         dpa_evidence *out, int *some, dpa_error *err) {
    const int last = dpa_game_stages(stop->game) - 1;
    dpa_trials first[DPA_GAME_STAGES];
    memcpy(first, trials, (size_t)(last + 1) * sizeof *first);
    dpa_values *items = dpa__calloc((size_t)trials[last].count, sizeof *items, err);
    uint8_t *ends = dpa__calloc((size_t)trials[last].count, sizeof *ends, err);
    dpa_status status = items != NULL && ends != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        memcpy(items, trials[last].items, (size_t)count * sizeof *items);
        memcpy(ends, trials[last].ends, (size_t)count * sizeof *ends);
        first[last].items = items;
        first[last].ends = ends;
        status = dpa_game_gather(stop->game, first, out, err);
    }
    free(items);
    free(ends);
    *some = status == DPA_OK;
    return status == DPA_NO_MEMORY ? status : DPA_OK;
}

static dpa_status keep(class_of_scores *c, double score, dpa_error *err) {
    double *grown = dpa__grown(c->items, c->count, &c->room, sizeof *grown, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    c->items = grown;
    c->items[c->count++] = score;
    return DPA_OK;
}

static dpa_status push_new(dpa__stop *stop, const dpa_evidence *evidence, dpa_error *err) {
    for (int c = 0; c < 2; ++c) {
        const dpa_named_array *scores = dpa__evidence_find(evidence, names[c]);
        class_of_scores *old = &stop->pushed[c];
        if (scores == NULL || evidence->kind != DPA_EVIDENCE_SCORES ||
            evidence->design != DPA_INDEPENDENT_RUNS)
            return dpa__fail(err, DPA_BAD_INPUT,
                             "stop: refuted: the game gives no scores of independent trials");
        const size_t same = old->count < scores->count ? old->count : scores->count;
        if (same < old->count ||
            (same > 0 && memcmp(old->items, scores->items, same * sizeof *old->items) != 0))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "stop: refuted: the scores of earlier trials change with later ones "
                             "(an attack that learns from all models); they cannot be judged as "
                             "they come");
        for (size_t i = same; i < scores->count; ++i) {
            DPA_TRY(dpa__sequential_push(stop->audit, c, scores->items[i], err));
            DPA_TRY(keep(old, scores->items[i], err));
        }
    }
    return DPA_OK;
}

/* Whether the first `count` trials refute the claim. Starts a new audit, so that it can be asked
 * for any number. */
static dpa_status refutes(const dpa__stop *stop, const dpa_trials *trials, uint64_t count, int *out,
                          dpa_error *err) {
    dpa__stop *fresh = NULL;
    dpa_evidence evidence;
    int some;
    *out = 0;
    DPA_TRY(gather(stop, trials, count, &evidence, &some, err));
    if (!some) return DPA_OK;
    dpa_status status = dpa__stop_open(stop->request, stop->game, &fresh, err);
    if (status == DPA_OK) status = push_new(fresh, &evidence, err);
    if (status == DPA_OK) *out = dpa__sequential_refuted(fresh->audit);
    dpa__stop_close(fresh);
    dpa__evidence_clear(&evidence);
    return status;
}

dpa_status dpa__stop_look(dpa__stop *stop, const dpa_trials *trials, uint64_t decided,
                          uint64_t planned, uint64_t *needed, dpa_error *err) {
    dpa_evidence evidence;
    int some;
    *needed = 0;
    /* Gathering visits all trials, so it is not done for every new one. */
    if (decided < stop->looked + 1 + stop->looked / 50 &&
        (decided < planned || decided == stop->looked))
        return DPA_OK;
    DPA_TRY(gather(stop, trials, decided, &evidence, &some, err));
    if (!some) return DPA_OK;
    const dpa_status status = push_new(stop, &evidence, err);
    dpa__evidence_clear(&evidence);
    DPA_TRY(status);
    uint64_t low = stop->looked, high = decided;
    stop->looked = decided;
    if (!dpa__sequential_refuted(stop->audit)) return DPA_OK;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        int is_enough;
        DPA_TRY(refutes(stop, trials, middle, &is_enough, err));
        if (is_enough)
            high = middle;
        else
            low = middle;
    }
    *needed = high;
    return DPA_OK;
}
