/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one way to a verdict: evidence, a claim and a protocol in, a report out.
 *
 * The claim says what was promised, the protocol which test decides; both are fixed before the
 * evidence is looked at. Only that test sets state, headline and exit code; everything else in the
 * report is shown, never decides (docs/judging.md). */
#ifndef DPAUDIT_JUDGE_H
#define DPAUDIT_JUDGE_H

#include "dpaudit/claim.h"
#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/report.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* Which test decides. What is not said is chosen by the rule of docs/judging.md, which looks at the
 * claim and at the kind of evidence, never at its numbers. */
typedef struct dpa_protocol {
    dpa_request request; /* δ, confidence, sides, family, method, select, seed; several families or
                            methods are joined by '+' and share the error. Its claim is not read. */
    unsigned given;      /* bits of the keys that were set by name */
    char guesses[24];    /* one run: a number, "auto" (default) or "max" */
    int decides_by_posterior; /* let a posterior probability decide, and say so */
    double must_detect;       /* inconclusive unless this ε would have been seen; NaN: no */
    char registered[DPA_SHA256_SIZE]; /* of the protocol file that was read; "": none */
    /* Wishes for the report; no part of the protocol. */
    int bare;  /* the verdict alone: no other rows, no sections, not what would be detected */
    int plain; /* for a text: without the sections that only pages, charts and JSON show */
    int all, curve, explain, pointwise;
    double at_epsilon; /* also the least δ at this ε; NaN: no */
    char group[64];    /* a column of the table to cut by; "": no */
} dpa_protocol;

DPA_API void dpa_protocol_init(dpa_protocol *protocol);
/* The same on the heap, for languages that do not know the struct; free with dpa_free. */
DPA_API dpa_status dpa_protocol_new(dpa_protocol **out, dpa_error *err) DPA_MUST_USE;
/* Who is told how far a long call is, and may stop it. */
DPA_API void dpa_protocol_progress(dpa_protocol *protocol, const dpa_progress *progress);
/* Sets one field from text: those of dpa_request_set, "guesses", "decide", "must-detect", and the
 * flags "bare", "plain", "all", "curve", "explain", "pointwise" (value ignored), "at-epsilon",
 * "group". */
DPA_API dpa_status dpa_protocol_set(dpa_protocol *protocol, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* Fills what was not set by name from a protocol file, and the claim where none was made. */
DPA_API dpa_status dpa_protocol_read(dpa_protocol *protocol, dpa_claim *claim, const char *path,
                                     dpa_error *err) DPA_MUST_USE;
/* The canonical text of what would be done with evidence of this kind (its arrays are not looked
 * at), to be freed with dpa_free: a file of it is what dpa_protocol_read takes, and its SHA-256 is
 * the one that the verdict carries. */
DPA_API dpa_status dpa_protocol_text(const dpa_protocol *protocol, const dpa_claim *claim,
                                     const dpa_evidence *evidence, char **out,
                                     dpa_error *err) DPA_MUST_USE;
/* Do the names exist, and do they apply to this kind of evidence? For before anything is trained.
 */
DPA_API dpa_status dpa_protocol_check(const dpa_protocol *protocol, const dpa_claim *claim,
                                      const dpa_evidence *evidence, dpa_error *err) DPA_MUST_USE;

/* The deciding test as a request for its estimator, in the terms of the evidence: family, method,
 * selection, δ, confidence, and the claim for one observation's scope (NaN: none). For a run that
 * stops when the claim falls. */
DPA_API dpa_status dpa_protocol_request(const dpa_protocol *protocol, const dpa_claim *claim,
                                        const dpa_evidence *evidence, dpa_request *out,
                                        dpa_error *err) DPA_MUST_USE;

/* claim NULL: the one that the evidence carries. protocol NULL: the default. */
DPA_API dpa_status dpa_judge(const dpa_evidence *evidence, const dpa_claim *claim,
                             const dpa_protocol *protocol, dpa_report **out,
                             dpa_error *err) DPA_MUST_USE;

/* A result that was stored as JSON: unchanged, without contradictions, and judged again from its
 * evidence the same? DPA_BAD_INPUT and the difference when not. A result of counts needs no files.
 */
DPA_API dpa_status dpa_verify(const char *path, const char *const *evidence, size_t count,
                              dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
