/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How trials without numbers enter the evidence.
 *
 * A trainer that diverges or runs out of memory may do so because of the challenge. Leaving such
 * trials out can double epsilon (a pure epsilon = 1 mechanism is then refuted at its own claim in
 * 43% of audits), so they keep their place, with a score fixed in advance. */
#include <math.h>

#include "base/error.h"
#include "evidence/evidence.h"
#include "game/rules.h"

dpa_trial_end dpa_trials_end(const dpa_trials *trials, uint64_t index) {
    if (trials->items[index].items != NULL) return DPA_TRIAL_PLAYED;
    return trials->ends != NULL ? (dpa_trial_end)trials->ends[index] : DPA_TRIAL_NONE;
}

double dpa__score_of_end(dpa_trial_end end) {
    return end == DPA_TRIAL_FAILED ? -(double)INFINITY : (double)NAN;
}

typedef struct arm_counts {
    double trials, failed, lost;
} arm_counts;

static void count_in(arm_counts *arm, dpa_trial_end end) {
    arm->trials += end != DPA_TRIAL_NONE;
    arm->failed += end == DPA_TRIAL_FAILED;
    arm->lost += end == DPA_TRIAL_LOST;
}

static int has_some(const dpa_trials *trials) {
    for (uint64_t i = 0; i < trials->count; ++i)
        if (dpa_trials_end(trials, i) >= DPA_TRIAL_FAILED) return 1;
    return 0;
}

dpa_status dpa__gather_failures(const dpa_game *game, const dpa_trials *trials, dpa_evidence *out,
                                dpa_error *err) {
    arm_counts in = {0, 0, 0}, none = {0, 0, 0};
    if (!has_some(trials)) return DPA_OK;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const dpa_trial_end end = dpa_trials_end(trials, i);
        const int arm = game->rules->arm != NULL ? game->rules->arm(game, i) : -1;
        if (arm != 0) count_in(&in, end);
        if (arm != 1) count_in(&none, end);
    }
    out->failed[0] = (uint64_t)in.failed;
    out->failed[1] = (uint64_t)none.failed;
    out->absent[0] = (uint64_t)in.lost;
    out->absent[1] = (uint64_t)none.lost;
    const struct {
        const char *name;
        double value;
    } facts[] = {{"trials_members", in.trials}, {"trials_nonmembers", none.trials},
                 {"failed_members", in.failed}, {"failed_nonmembers", none.failed},
                 {"missing_members", in.lost},  {"missing_nonmembers", none.lost}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; ++i)
        DPA_TRY(dpa_evidence_fact(out, facts[i].name, facts[i].value, err));
    return DPA_OK;
}
