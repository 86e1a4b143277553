/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one way to a verdict: evidence, a claim and a protocol in, a report out.
 *
 * The claim says what was promised, the protocol which test decides; both are fixed before the
 * evidence is looked at. Only that test sets state, headline and exit code; everything else in the
 * report is shown, never decides (docs/judging.md). */
#ifndef DPA_JUDGE_JUDGE_H
#define DPA_JUDGE_JUDGE_H

#include "dpaudit/claim.h"
#include "dpaudit/judge.h"
#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "evidence/evidence.h"
#include "report/model/report.h"

/* Which test decides. Whatever is not set is chosen by the rule in docs/judging.md, which looks at
 * the claim and at the kind of evidence, never at its numbers. */
struct dpa_protocol {
    dpa_request request; /* δ, confidence, sides, family, method, select, seed; several families or
                            methods are joined by '+' and share the error. Its claim is not read. */
    unsigned given;      /* which keys were set by name, one bit each */
    char guesses[24];    /* one run: a number, "auto" (default) or "max" */
    int decides_by_posterior; /* 1: a posterior probability may decide, and the report says so */
    double must_detect; /* inconclusive unless a leak of this ε would have been detected; NaN: no */
    char registered[DPA_SHA256_SIZE]; /* hash of the protocol file that was read; "": none */
    /* What the report shall show; not part of the protocol. */
    int bare;  /* only the verdict: no other rows, no sections, no detectable ε */
    int plain; /* for text output: skip sections that only pages, charts and JSON show */
    int all, curve, explain, pointwise;
    int bootstrap_auc; /* the AUC's interval by a bootstrap instead of DeLong's variance */
    double at_epsilon; /* also bound δ at this ε; NaN: no */
    char group[64];    /* column of the table to split the evidence by; "": none */
};

DPA_API void dpa__protocol_init(dpa_protocol *protocol);

/* The deciding test as a request for its estimator: family, method, selection, δ, confidence, and
 * the claim converted to the scope of one observation (NaN: none). Used by runs that stop as soon
 * as the claim is refuted. */
DPA_API dpa_status dpa__protocol_request(const dpa_protocol *protocol, const dpa_claim *claim,
                                         const dpa_evidence *evidence, dpa_request *out,
                                         dpa_error *err) DPA_MUST_USE;

#endif
