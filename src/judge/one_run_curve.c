/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound against the number of guesses, at up to eight counts per octave. For looking only:
 * picking the best of them is what `max` does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "estimate/registry.h"
#include "judge/one_run.h"

static const double ratio = 1.0905077326652577; /* 2^(1/8) */

static dpa_status put_point(json_t *curve, const dpa_onerun *game, const dpa_request *request,
                            dpa_error *err) {
    dpa_result result;
    DPA_TRY(dpa__onerun_bound(game, 1, DPA_GUESSES_FIXED, request, &result, err));
    return DPA__JSON_ADD(curve, err, {"family", .text = result.family},
                         {"method", .text = result.method}, {"guesses", (double)game->guesses},
                         {"correct", (double)game->correct},
                         {"epsilon_lower", result.epsilon_lower});
}

static dpa_status put_family(json_t *curve, const dpa_guesses *ranked, uint64_t options,
                             const dpa_request *request, dpa_error *err) {
    for (double g = fmin(8.0, (double)ranked->canaries);; g = fmax(g + 1.0, floor(g * ratio))) {
        const uint64_t guesses = g < (double)ranked->canaries ? (uint64_t)g : ranked->canaries;
        const dpa_onerun game = {ranked->canaries, options, guesses, ranked->correct[guesses]};
        DPA_TRY(put_point(curve, &game, request, err));
        if (guesses == ranked->canaries) return DPA_OK;
    }
}

dpa_status dpa__onerun_put_curve(dpa_report *report, const dpa_guesses *ranked, uint64_t options,
                                 const dpa_request *request, dpa_error *err) {
    static const char *const usual[] = {"dp", "gaussian"};
    dpa_request one = *request;
    json_t *curve = json_array();
    DPA_TRY(dpa__json_set(report->sections, "guesses_curve", curve, err));
    one.claim_epsilon = NAN;
    if (request->family[0]) {
        /* composing every member would take minutes, too long for a picture */
        if (dpa__family_is_composed(request->family)) return DPA_OK;
        if (dpa__registry_is_channels(one.method)) one.method[0] = '\0'; /* guesses, as usual */
        return put_family(curve, ranked, options, &one, err);
    }
    one.method[0] = '\0';
    for (size_t i = 0; i < 2; ++i) {
        (void)snprintf(one.family, sizeof one.family, "%s", usual[i]);
        DPA_TRY(put_family(curve, ranked, options, &one, err));
    }
    return DPA_OK;
}
