/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From trials to the arrays of evidence. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/rules.h"

dpa_status dpa__gather_halves(const dpa_trials *trials, size_t each, size_t want, dpa_evidence *out,
                              dpa_error *err) {
    static const char *const names[2] = {"members", "nonmembers"};
    for (size_t half = 0; half < 2; ++half) {
        double *items = DPA_NEW_ARRAY(double, want, err);
        if (items == NULL) return DPA_NO_MEMORY;
        size_t filled = 0;
        for (uint64_t i = 0; i < trials->count && filled < want; ++i) {
            const dpa_trial_end end = dpa_trials_end(trials, i);
            const size_t count = want - filled < each ? want - filled : each;
            if (end == DPA_TRIAL_NONE) continue;
            if (end == DPA_TRIAL_PLAYED)
                memcpy(items + filled, trials->items[i].items + half * each, count * sizeof *items);
            else
                for (size_t k = 0; k < count; ++k) items[filled + k] = dpa__score_of_end(end);
            filled += count;
        }
        DPA_TRY(dpa__evidence_add(out, names[half], items, filled, 0, err));
    }
    return DPA_OK;
}

dpa_status dpa__gather_mean(const dpa_trials *trials, size_t place, const char *name,
                            dpa_evidence *out, dpa_error *err) {
    double sum = 0.0, played = 0.0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        if (trials->items[i].items == NULL) continue;
        sum += trials->items[i].items[place];
        played += 1.0;
    }
    if (played == 0.0) return DPA_OK;
    return dpa_evidence_fact(out, name, sum / played, err);
}
