/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request: defaults, fields from text, ranges. The command line and Python both use this code, so
 * that a wrong value is refused in one place with one wording. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "estimate/estimate.h"

void dpa__request_init(dpa_request *request) {
    *request = (dpa_request){
        .delta = 1e-5,
        .confidence = 0.95,
        .sides = 1,
        .claim_epsilon = NAN,
        .claim_delta = NAN,
        .seed = 1,
    };
}

double dpa__claim_delta(const dpa_request *request) {
    return isnan(request->claim_delta) ? request->delta : request->claim_delta;
}

static const dpa__key keys[] = {
    DPA__KEY(NUMBER, "delta", dpa_request, delta),
    DPA__KEY(NUMBER, "confidence", dpa_request, confidence),
    DPA__KEY(NUMBER, "claim-epsilon", dpa_request, claim_epsilon),
    DPA__KEY(NUMBER, "claim-delta", dpa_request, claim_delta),
    DPA__KEY(TEXT, "family", dpa_request, family),
    DPA__KEY(TEXT, "method", dpa_request, method),
    DPA__KEY(TEXT, "select", dpa_request, select),
    DPA__KEY(COUNT, "seed", dpa_request, seed),
    DPA__KEY_OF(COUNT, "threads", dpa_request, threads, .most = 4096),
    {0},
};

dpa_status dpa__request_set(dpa_request *request, const char *key, const char *value,
                            dpa_error *err) {
    if (strcmp(key, "one-sided") == 0 || strcmp(key, "two-sided") == 0) {
        request->sides = key[0] == 'o' ? 1 : 2;
        return DPA_OK;
    }
    DPA_TRY(dpa__keys_set(keys, request, key, value, err));
    return dpa__request_check(request, err);
}

dpa_status dpa__request_check(const dpa_request *request, dpa_error *err) {
    if (!(request->delta >= 0.0 && request->delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: must be at least 0 and less than 1, not %g",
                         request->delta);
    if (!(request->confidence > 0.0 && request->confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "confidence: must be between 0 and 1 (0.95 for 95%%), not %g",
                         request->confidence);
    if (request->sides != 1 && request->sides != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sides: 1 or 2, not %d", request->sides);
    if (request->claim_epsilon < 0.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-epsilon: must not be negative, not %g",
                         request->claim_epsilon);
    if (request->claim_delta < 0.0 || request->claim_delta >= 1.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-delta: must be at least 0 and less than 1, not %g",
                         request->claim_delta);
    return DPA_OK;
}
