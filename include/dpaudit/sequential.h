/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound that may be looked at after every trial.
 *
 * Trials arrive one by one, members and non-members in any order; after each of them the lower
 * bound holds at its confidence, however often it was looked at and for whatever reason the audit
 * stops (docs/methods/sequential.md has the construction and its proof). The k-th member and the
 * k-th non-member make a pair; a pair multiplies the wealth of a bet against "at most ε". What is
 * bet on a pair depends on earlier pairs only. The result is a function of the two lists of scores,
 * not of how they were pushed. */
#ifndef DPAUDIT_SEQUENTIAL_H
#define DPAUDIT_SEQUENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_sequential dpa_sequential;

/* The request gives delta, confidence, one family (it must be named), select, the claim. select:
 * "" or "running": thresholds are learned from earlier pairs; "fixed:T". A guess instead of a score
 * is 1 for "in" and 0 for "out", with select "fixed:0.5". */
DPA_API dpa_status dpa_sequential_new(const dpa_request *request, dpa_sequential **out,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_sequential_free(dpa_sequential *audit);

/* One trial. Higher scores mean "in"; NaN counts against the attack. On failure (memory) the trial
 * is not taken. */
DPA_API dpa_status dpa_sequential_push(dpa_sequential *audit, int is_member, double score,
                                       dpa_error *err) DPA_MUST_USE;

typedef struct dpa_sequential_now {
    uint64_t members, nonmembers; /* pushed */
    uint64_t pairs;               /* min of both: what the numbers rest on */
    double epsilon_lower;         /* the largest bound that was shown so far */
    double parameter_lower;       /* the same as the family's parameter */
    double log_e_value;           /* against the claim, now; NaN without a claim */
    double p_value;      /* anytime-valid, of the claim: 1/its largest e-value, at most 1 */
    uint64_t refuted_at; /* the pair at which the claim fell; 0: it stands */
} dpa_sequential_now;
DPA_API dpa_status dpa_sequential_look(const dpa_sequential *audit, dpa_sequential_now *out,
                                       dpa_error *err) DPA_MUST_USE;
/* 1 once the claim is refuted; costs nothing, for the inner loop of a run. */
DPA_API int dpa_sequential_refuted(const dpa_sequential *audit);
/* log of the e-value against "at most epsilon" at the request's delta, now. It falls as epsilon
 * rises. */
DPA_API dpa_status dpa_sequential_log_e(const dpa_sequential *audit, double epsilon, double *out,
                                        dpa_error *err) DPA_MUST_USE;

/* The state as bytes (about 100 kB at most, whatever the number of trials; unpaired scores and the
 * newest 4096 pairs are among them). Free them with dpa_free. Loading gives an audit that goes on
 * bit for bit; bytes that are damaged or of another version are an error. */
DPA_API dpa_status dpa_sequential_save(const dpa_sequential *audit, unsigned char **bytes,
                                       size_t *count, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_sequential_load(const unsigned char *bytes, size_t count,
                                       dpa_sequential **out, dpa_error *err) DPA_MUST_USE;

/* Two lists in the order of arrival, not prepared (preparing sorts them): one result per family of
 * the request. This is `--method sequential`. */
DPA_API dpa_status dpa_estimate_sequential(const dpa_scores *in_order, const dpa_request *request,
                                           dpa_results *results, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
