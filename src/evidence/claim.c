/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A claim: defaults, fields from text, ranges. */
#include "dpaudit/claim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "evidence/evidence.h"

const char *dpa__scope_name(dpa_scope scope) {
    static const char *const names[DPA_SCOPES] = {"training", "step", "participation", "model"};
    return (unsigned)scope < DPA_SCOPES ? names[scope] : NULL;
}

void dpa_claim_init(dpa_claim *claim) {
    *claim = (dpa_claim){.epsilon = NAN, .delta = NAN, .sigma = NAN, .q = 1, .steps = 1};
}

dpa_status dpa_claim_new(dpa_claim **out, dpa_error *err) {
    *out = DPA_NEW(dpa_claim, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    dpa_claim_init(*out);
    return DPA_OK;
}

int dpa__claim_is_made(const dpa_claim *claim) {
    return !isnan(claim->epsilon) || !isnan(claim->sigma) || claim->curve[0] != '\0';
}

static dpa_status set_steps(const char *value, uint64_t *out, dpa_error *err) {
    double number = 0;
    if (!dpa__number_whole(value, &number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-steps: '%s' is not a number", value);
    if (!(number >= 1 && number <= 9007199254740992.0) || number != floor(number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-steps: '%s' is not a whole number from 1 on",
                         value);
    *out = (uint64_t)number;
    return DPA_OK;
}

static dpa_status set_scope(const char *value, dpa_scope *out, dpa_error *err) {
    const int place = dpa__word_place(value, DPA__CLAIM_SCOPES);
    if (place < 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-scope: '%s' is none of training, step, participation", value);
    *out = (dpa_scope)place;
    return DPA_OK;
}

static dpa_status set_neighbours(const char *value, int *out, dpa_error *err) {
    *out = strcmp(value, "replace-one") == 0;
    if (*out || strcmp(value, "add-remove") == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "neighbours: '%s' is neither add-remove nor replace-one", value);
}

dpa_status dpa_claim_set(dpa_claim *claim, const char *key, const char *value, dpa_error *err) {
    static const dpa__key keys[] = {DPA__KEY(NUMBER, "claim-epsilon", dpa_claim, epsilon),
                                    DPA__KEY(NUMBER, "claim-delta", dpa_claim, delta),
                                    DPA__KEY(NUMBER, "claim-sigma", dpa_claim, sigma),
                                    DPA__KEY(NUMBER, "claim-q", dpa_claim, q),
                                    DPA__KEY(TEXT, "claim-curve", dpa_claim, curve),
                                    {0}};
    if (value == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", key);
    if (strcmp(key, "claim-steps") == 0) return set_steps(value, &claim->steps, err);
    if (strcmp(key, "claim-scope") == 0) return set_scope(value, &claim->scope, err);
    if (strcmp(key, "neighbours") == 0) return set_neighbours(value, &claim->replace_one, err);
    return dpa__keys_set(keys, claim, key, value, err);
}

dpa_status dpa__claim_check(const dpa_claim *c, dpa_error *err) {
    const int made = !isnan(c->epsilon) + !isnan(c->sigma) + (c->curve[0] != '\0');
    if (made > 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s and %s: one claim only",
                         made == 3           ? "claim-epsilon, claim-sigma"
                         : isnan(c->epsilon) ? "claim-sigma"
                                             : "claim-epsilon",
                         c->curve[0] != '\0' ? "claim-curve" : "claim-sigma");
    if (c->epsilon < 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-epsilon: must not be negative, not %g",
                         c->epsilon);
    if (c->delta < 0 || c->delta >= 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-delta: must be at least 0 and less than 1, not %g", c->delta);
    if (!isnan(c->sigma) && !(c->sigma > 0 && isfinite(c->sigma)))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-sigma: must be positive, not %g", c->sigma);
    if (!(c->q > 0 && c->q <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-q: must be more than 0 and at most 1, not %g", c->q);
    if (made == 0 && !isnan(c->delta))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-delta: there is no claim; give claim-epsilon too");
    return DPA_OK;
}
