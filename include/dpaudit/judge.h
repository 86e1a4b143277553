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

/* Which test decides. Whatever is not set is chosen by the rule in docs/judging.md, which looks at
 * the claim and at the kind of evidence, never at its numbers. */
typedef struct dpa_protocol {
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
    double at_epsilon; /* also bound δ at this ε; NaN: no */
    char group[64];    /* column of the table to split the evidence by; "": none */
} dpa_protocol;

DPA_API void dpa_protocol_init(dpa_protocol *protocol);
/* The same on the heap, for bindings that do not know the struct layout; free with dpa_free. */
DPA_API dpa_status dpa_protocol_new(dpa_protocol **out, dpa_error *err) DPA_MUST_USE;
/* The callback for progress and for stopping long calls; copied. */
DPA_API void dpa_protocol_progress(dpa_protocol *protocol, const dpa_progress *progress);
/* Sets one field from text: those of dpa_request_set, "guesses", "decide", "must-detect", and the
 * flags "bare", "plain", "all", "curve", "explain", "pointwise" (value ignored), "at-epsilon",
 * "group". */
DPA_API dpa_status dpa_protocol_set(dpa_protocol *protocol, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* Reads a protocol file. Only keys that were not set by name are taken from it, and the claim only
 * if none was made. */
DPA_API dpa_status dpa_protocol_read(dpa_protocol *protocol, dpa_claim *claim, const char *path,
                                     dpa_error *err) DPA_MUST_USE;
/* The protocol as canonical text, with every choice made for evidence of this kind (the arrays are
 * not looked at). Free with dpa_free. dpa_protocol_read reads it back; its SHA-256 is the one that
 * the verdict carries. */
DPA_API dpa_status dpa_protocol_text(const dpa_protocol *protocol, const dpa_claim *claim,
                                     const dpa_evidence *evidence, char **out,
                                     dpa_error *err) DPA_MUST_USE;
/* Fails if a name does not exist or does not apply to this kind of evidence. Call it before
 * anything expensive is trained. */
DPA_API dpa_status dpa_protocol_check(const dpa_protocol *protocol, const dpa_claim *claim,
                                      const dpa_evidence *evidence, dpa_error *err) DPA_MUST_USE;

/* The deciding test as a request for its estimator: family, method, selection, δ, confidence, and
 * the claim converted to the scope of one observation (NaN: none). Used by runs that stop as soon
 * as the claim is refuted. */
DPA_API dpa_status dpa_protocol_request(const dpa_protocol *protocol, const dpa_claim *claim,
                                        const dpa_evidence *evidence, dpa_request *out,
                                        dpa_error *err) DPA_MUST_USE;

/* Judges the evidence. `claim` NULL: the claim that the evidence carries. `protocol` NULL: the
 * default. The caller frees *out with dpa_report_free. Nothing global is written: threads may judge
 * at the same time. */
DPA_API dpa_status dpa_judge(const dpa_evidence *evidence, const dpa_claim *claim,
                             const dpa_protocol *protocol, dpa_report **out,
                             dpa_error *err) DPA_MUST_USE;

/* Checks a stored JSON result: it was not altered, does not contradict itself, and judging the
 * evidence files again gives the same. DPA_BAD_INPUT with the first difference if not. A result
 * from counts needs no evidence files. */
DPA_API dpa_status dpa_verify(const char *path, const char *const *evidence, size_t count,
                              dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
