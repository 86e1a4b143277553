/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated powers that were already computed for the same command. Canaries with noise of their
 * own are planned like half as many runs, by the same test against the same claim and truth, so
 * their rows ask for powers that the rows of runs have asked for. A power is a function of what the
 * key holds; seed, confidence and δ are those of the command. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/plan/plan.h"

typedef struct key {
    const dpa__power *like;
    uint64_t n;
    dpa__care care;
    double wanted;
    char family[DPA_FAMILY_SIZE], suspect[DPA_FAMILY_SIZE];
    int is_directed;
    double claim, truth;
} key;

struct dpa__known {
    size_t count, room;
    struct {
        key key;
        dpa_plan_answer answer;
    } * items;
};

dpa__known *dpa__known_new(dpa_error *err) {
    return DPA_NEW(dpa__known, err);
}

void dpa__known_free(dpa__known *known) {
    if (known == NULL) return;
    free(known->items);
    free(known);
}

/* All bytes are set, padding included: keys are compared as bytes. */
static void fill_key(const dpa__plan *plan, const dpa__power *like, uint64_t n, dpa__care care,
                     key *out) {
    memset(out, 0, sizeof *out);
    out->like = like;
    out->n = n;
    out->care = care;
    out->wanted = dpa__plan_enough(plan, care);
    strcpy(out->family, plan->model.spec);
    strcpy(out->suspect, plan->suspect.spec);
    out->is_directed = plan->model.is_directed;
    out->claim = plan->claim.t;
    out->truth = plan->truth.t;
}

dpa_status dpa__power_like(dpa__plan *plan, const dpa__power *like, uint64_t n, dpa__care care,
                           dpa_plan_answer *out, dpa_error *err) {
    dpa__known *known = plan->asked->known;
    const uint64_t size = out->size;
    key wanted;
    if (known == NULL || (like != &dpa__planned_ranks && like != &dpa__planned_scores))
        return like->at(plan, n, care, out, err);
    fill_key(plan, like, n, care, &wanted);
    for (size_t i = 0; i < known->count; ++i)
        if (memcmp(&known->items[i].key, &wanted, sizeof wanted) == 0) {
            *out = known->items[i].answer;
            out->size = size;
            return DPA_OK;
        }
    void *grown = dpa__grown(known->items, known->count, &known->room, sizeof *known->items, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    known->items = grown;
    DPA_TRY(like->at(plan, n, care, out, err));
    known->items[known->count].key = wanted;
    known->items[known->count++].answer = *out;
    return DPA_OK;
}
