/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound that is valid after every trial, however often one looks.
 *
 * Trials arrive one by one, members and non-members in any order. After each trial the lower
 * bound holds at its confidence, no matter how often it was looked at and why the audit stops
 * (construction and proof: docs/methods/sequential.md). The k-th member and the k-th non-member
 * form a pair. Each pair is a bet against "at most ε", whose stake depends on earlier pairs
 * only. The result depends on the two lists of scores, not on how members and non-members were
 * interleaved. An audit belongs to one thread at a time. */
#ifndef DPAUDIT_SEQUENTIAL_H
#define DPAUDIT_SEQUENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_sequential dpa_sequential;

/* Of the request it uses delta, confidence, exactly one family, select and the claim. select "" or
 * "running": thresholds are learned from earlier pairs; "fixed:T": the threshold T. For guesses
 * instead of scores push 1 for "in" and 0 for "out" and use "fixed:0.5". */
DPA_API dpa_status dpa_sequential_new(const dpa_request *request, dpa_sequential **out,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_sequential_free(dpa_sequential *audit);

/* Adds one trial. Higher scores mean "in"; NaN counts against the attack. If it fails (no memory),
 * the trial was not added. */
DPA_API dpa_status dpa_sequential_push(dpa_sequential *audit, int is_member, double score,
                                       dpa_error *err) DPA_MUST_USE;

typedef struct dpa_sequential_now {
    uint64_t members, nonmembers; /* pushed */
    uint64_t pairs;               /* complete pairs, on which all numbers rest */
    double epsilon_lower;         /* the largest lower bound so far */
    double parameter_lower;       /* the same bound as the family's parameter */
    double log_e_value;           /* current e-value against the claim; NaN without a claim */
    double p_value;      /* of the claim, anytime-valid: 1/(largest e-value so far), at most 1 */
    uint64_t refuted_at; /* the pair at which the claim was refuted; 0: not refuted */
} dpa_sequential_now;
/* The state after the trials so far; it does not change the audit. */
DPA_API dpa_status dpa_sequential_look(const dpa_sequential *audit, dpa_sequential_now *out,
                                       dpa_error *err) DPA_MUST_USE;
/* 1 once the claim is refuted. Cheap enough for an inner loop. */
DPA_API int dpa_sequential_refuted(const dpa_sequential *audit);
/* The current log e-value against "at most epsilon" at the request's delta; it falls as epsilon
 * rises. */
DPA_API dpa_status dpa_sequential_log_e(const dpa_sequential *audit, double epsilon, double *out,
                                        dpa_error *err) DPA_MUST_USE;

/* Saves the state as bytes, to be freed with dpa_free: at most about 100 kB for any number of
 * trials, because only unpaired scores and the newest 4096 pairs are kept. A loaded audit continues
 * bit for bit. Damaged bytes and other versions are an error. */
DPA_API dpa_status dpa_sequential_save(const dpa_sequential *audit, unsigned char **bytes,
                                       size_t *count, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_sequential_load(const unsigned char *bytes, size_t count,
                                       dpa_sequential **out, dpa_error *err) DPA_MUST_USE;

/* The same for two lists in order of arrival; do not prepare them, since preparing sorts. One
 * result per family of the request. This is `--method sequential`. */
DPA_API dpa_status dpa_estimate_sequential(const dpa_scores *in_order, const dpa_request *request,
                                           dpa_results *results, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
