/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was promised, and about what.
 *
 * A claim is (ε,δ), or the noise of a mechanism (σ, and q and T of DP-SGD), or a trade-off curve;
 * it is about the whole training, one step of it, or one participation. NaN and "" mean "not said".
 */
#ifndef DPAUDIT_CLAIM_H
#define DPAUDIT_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/export.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* What a claim, an observation or a bound is about. */
typedef enum dpa_scope {
    DPA_SCOPE_TRAINING,      /* everything the training released */
    DPA_SCOPE_STEP,          /* one noisy step */
    DPA_SCOPE_PARTICIPATION, /* the rounds that one client was in */
    DPA_SCOPE_MODEL          /* this one model, not the mechanism that made it */
} dpa_scope;
enum { DPA_CURVE_PATH_SIZE = 500 };

typedef struct dpa_claim {
    dpa_scope scope;                 /* training */
    double epsilon, delta;           /* δ NaN: use the δ of the request */
    double sigma, q;                 /* noise multiplier, sampling rate (1) … */
    uint64_t steps;                  /* … and steps (1) of DP-SGD */
    int replace_one;                 /* neighbours: 0 add or remove a record, 1 replace one */
    char curve[DPA_CURVE_PATH_SIZE]; /* path of a trade-off curve (columns fpr, fnr) */
} dpa_claim;

/* Makes *claim empty: nothing promised, defaults as in the comments at the fields. There is nothing
 * to free. */
DPA_API void dpa_claim_init(dpa_claim *claim);
/* The same on the heap, for languages that do not know the struct: *out is freed with dpa_free.
 * Returns DPA_OK or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_claim_new(dpa_claim **out, dpa_error *err) DPA_MUST_USE;
/* Sets one field by the name of its command-line option: "claim-epsilon", "claim-delta",
 * "claim-sigma", "claim-q", "claim-steps", "claim-curve", "claim-scope" or "neighbours". `value` is
 * what the option would take; both texts are copied. Returns DPA_BAD_ARGUMENT if there is no such
 * key or the value is not right; the claim is unchanged then. */
DPA_API dpa_status dpa_claim_set(dpa_claim *claim, const char *key, const char *value,
                                 dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
