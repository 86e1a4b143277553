/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A claim: defaults, fields from text, ranges. */
#include "dpaudit/claim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
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

static dpa_status set_number(const char *key, const char *value, double *out, dpa_error *err) {
    const char *at = value, *end = value + strlen(value);
    double number;
    if (dpa__number_parse(&at, end, &number) != DPA__NUMBER_OK || at != end || isnan(number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a number", key, value);
    *out = number;
    return DPA_OK;
}

static dpa_status set_steps(const char *value, uint64_t *out, dpa_error *err) {
    double number = 0;
    DPA_TRY(set_number("claim-steps", value, &number, err));
    if (!(number >= 1 && number <= 9007199254740992.0) || number != floor(number))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-steps: '%s' is not a whole number from 1 on",
                         value);
    *out = (uint64_t)number;
    return DPA_OK;
}

static dpa_status set_scope(const char *value, dpa_scope *out, dpa_error *err) {
    for (unsigned i = 0; i < DPA_SCOPE_MODEL; ++i)
        if (strcmp(value, dpa__scope_name((dpa_scope)i)) == 0) {
            *out = (dpa_scope)i;
            return DPA_OK;
        }
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "claim-scope: '%s' is none of training, step, participation", value);
}

static dpa_status set_neighbours(const char *value, int *out, dpa_error *err) {
    *out = strcmp(value, "replace-one") == 0;
    if (*out || strcmp(value, "add-remove") == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "neighbours: '%s' is neither add-remove nor replace-one", value);
}

static dpa_status set_curve(const char *value, char *out, dpa_error *err) {
    if (strlen(value) >= DPA_CURVE_PATH_SIZE)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-curve: longer than %d characters",
                         DPA_CURVE_PATH_SIZE - 1);
    memcpy(out, value, strlen(value) + 1);
    return DPA_OK;
}

dpa_status dpa_claim_set(dpa_claim *claim, const char *key, const char *value, dpa_error *err) {
    const struct {
        const char *key;
        double *number;
    } numbers[] = {
        {"claim-epsilon", &claim->epsilon},
        {"claim-delta", &claim->delta},
        {"claim-sigma", &claim->sigma},
        {"claim-q", &claim->q},
    };
    if (value == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", key);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (strcmp(key, numbers[i].key) == 0) return set_number(key, value, numbers[i].number, err);
    if (strcmp(key, "claim-steps") == 0) return set_steps(value, &claim->steps, err);
    if (strcmp(key, "claim-scope") == 0) return set_scope(value, &claim->scope, err);
    if (strcmp(key, "neighbours") == 0) return set_neighbours(value, &claim->replace_one, err);
    if (strcmp(key, "claim-curve") == 0) return set_curve(value, claim->curve, err);
    return dpa__fail(err, DPA_BAD_ARGUMENT, "no option is called '%s'", key);
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
