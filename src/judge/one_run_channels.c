/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run whose canaries have independent channels (docs/methods/one-run-channels.md): ranks or the
 * scan instead of guesses, and the check of the noise that they rely on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "judge/case.h"
#include "judge/one_run.h"

dpa_status dpa__channels_row(const dpa__case *c, const dpa_request *request, const char *family,
                             dpa_result *out, dpa_error *err) {
    const dpa_named_array *in = dpa__evidence_find(c->evidence, "members");
    const dpa_named_array *none = dpa__evidence_find(c->evidence, "nonmembers");
    dpa_request one = *request;
    dpa_scores scores;
    dpa_lints lints = {0};
    if (in == NULL || none == NULL || c->evidence->options != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method channels: needs the scores of members and of non-members");
    (void)snprintf(one.family, sizeof one.family, "%s", family);
    one.method[0] = one.select[0] = '\0';
    DPA_TRY(dpa__scores_from(in->items, in->count, none->items, none->count, &scores, err));
    dpa_status status = dpa__scores_prepare_here(&scores, &lints, err);
    if (status == DPA_OK) status = dpa__onerun_channels(&scores, &one, out, err);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    if (status != DPA_OK) return status;
    (void)snprintf(out->method, sizeof out->method, "%s", DPA__CHANNELS);
    return DPA_OK;
}

static dpa_status find_noise(const dpa__case *c, dpa_named_array *out, dpa_error *err) {
    const dpa_named_array *noise = dpa__evidence_find(c->evidence, "null_noise");
    const dpa_named_array *steps = dpa__evidence_find(c->evidence, "null_steps");
    *out = (dpa_named_array){.count = 0};
    if (noise == NULL) return DPA_OK;
    *out = *noise;
    if (noise->rows == 0 && steps != NULL && steps->count == 1 && steps->items[0] >= 1 &&
        steps->items[0] <= (double)noise->count)
        out->rows = (size_t)steps->items[0];
    if (out->rows > 0 && out->count % out->rows == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "null_noise: a matrix is needed, steps by coordinates");
}

/* Replaces channels by recursion in the list of deciding methods. */
static void fall_back(dpa__test *t) {
    char name[DPA_NAME_SIZE], list[DPA_NAME_SIZE] = "";
    size_t used = 0;
    for (size_t m = 0; dpa__list_item(t->method, m, name, sizeof name) && used < sizeof list; ++m)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", m > 0 ? "+" : "",
                                 dpa__registry_is_channels(name) ? "recursion" : name);
    (void)snprintf(t->method, sizeof t->method, "%s", list);
}

static int decides(const dpa__test *t) {
    char name[DPA_NAME_SIZE];
    for (size_t m = 0; dpa__list_item(t->method, m, name, sizeof name); ++m)
        if (dpa__registry_is_channels(name)) return 1;
    return 0;
}

dpa_status dpa__channels_check(dpa__case *c, dpa_error *err) {
    dpa_named_array noise;
    dpa_channels_check check;
    if (!decides(&c->test)) return DPA_OK;
    DPA_TRY(find_noise(c, &noise, err));
    if (noise.count == 0)
        return dpa__report_say(
            c->report, err,
            "Nothing says whether the noise is independent from canary to canary: "
            "give coordinates that no canary touched (null_noise; a game watches them by "
            "null-coordinates).");
    DPA_TRY(
        dpa__onerun_channels_check(noise.items, noise.rows, noise.count / noise.rows, &check, err));
    DPA_TRY(dpa__report_fact(c->report, "noise_correlation_p", check.correlation_p, err));
    DPA_TRY(dpa__report_fact(c->report, "noise_energy_p", check.energy_p, err));
    if (!check.is_refuted) return DPA_OK;
    fall_back(&c->test);
    return dpa__report_say(c->report, err,
                           "The noise of coordinates without a canary %s: channels are not "
                           "independent, and guesses decide in their place (method recursion).",
                           check.correlation_p < check.energy_p
                               ? "is correlated from one to the next"
                               : "changes its scale from step to step");
}
