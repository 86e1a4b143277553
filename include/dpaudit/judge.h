/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one way to a verdict: evidence, a claim and a protocol in, a report out.
 *
 * The claim says what was promised, the protocol which test decides; both are fixed before the
 * evidence is looked at. Only that test sets state, headline and exit code; everything else in the
 * report is shown, never decides (docs/judging.md). */
#ifndef DPAUDIT_JUDGE_H
#define DPAUDIT_JUDGE_H

#include <stddef.h>

#include "dpaudit/claim.h"
#include "dpaudit/evidence.h"
#include "dpaudit/export.h"
#include "dpaudit/report.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* Which test decides: δ, confidence, family, method, … Whatever is not set is chosen by the rule in
 * docs/judging.md, which looks at the claim and at the kind of evidence, never at its numbers. */
typedef struct dpa_protocol dpa_protocol;

/* Makes a protocol in *out in which nothing is set; free it with dpa_free. Returns DPA_OK or
 * DPA_NO_MEMORY. */
DPA_API dpa_status dpa_protocol_new(dpa_protocol **out, dpa_error *err) DPA_MUST_USE;
/* Sets one field by the name of its command-line option: "delta", "confidence", "one-sided",
 * "two-sided", "family", "method", "select", "seed", "threads", "guesses", "decide", "must-detect";
 * and what the report shall show: "bare", "plain", "all", "curve", "explain", "pointwise",
 * "at-epsilon", "group". `value` is what the option would take, or NULL for one that takes nothing;
 * texts are copied. Several families or methods are joined by '+' and share the error. Returns
 * DPA_BAD_ARGUMENT, and says which values are right, if this one is not. */
DPA_API dpa_status dpa_protocol_set(dpa_protocol *protocol, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* Reads a protocol file. Only keys that were not set by name are taken from it, and the claim only
 * if none was made. Returns DPA_IO or DPA_BAD_INPUT if the file is not right. */
DPA_API dpa_status dpa_protocol_read(dpa_protocol *protocol, dpa_claim *claim, const char *path,
                                     dpa_error *err) DPA_MUST_USE;
/* Gives the protocol as canonical text, with every choice made for evidence of this kind (the
 * arrays are not looked at). Free *out with dpa_free. dpa_protocol_read reads it back; its SHA-256
 * is the one that the verdict carries. Fails as dpa_protocol_check does. */
DPA_API dpa_status dpa_protocol_text(const dpa_protocol *protocol, const dpa_claim *claim,
                                     const dpa_evidence *evidence, char **out,
                                     dpa_error *err) DPA_MUST_USE;
/* Returns DPA_BAD_ARGUMENT if a name does not exist or does not apply to this kind of evidence
 * (whose arrays are not looked at). Call it before anything expensive is trained. */
DPA_API dpa_status dpa_protocol_check(const dpa_protocol *protocol, const dpa_claim *claim,
                                      const dpa_evidence *evidence, dpa_error *err) DPA_MUST_USE;
/* Sets the callback by which a long dpa_judge says how far it is and can be stopped. The struct is
 * copied; what its `user` points to must outlive the calls that use the protocol. */
DPA_API void dpa_protocol_progress(dpa_protocol *protocol, const dpa_progress *progress);

/* Judges the evidence and gives a report, to be freed with dpa_report_free. `claim` NULL: the claim
 * that the evidence carries, if it does. `protocol` NULL: the default. Nothing global is written:
 * threads may judge at the same time, also the same evidence. Returns DPA_BAD_INPUT if the evidence
 * cannot be judged, DPA_BAD_ARGUMENT if claim or protocol are not right, DPA_NUMERIC if an accuracy
 * was not reached, DPA_CANCELLED if the progress callback said so, or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_judge(const dpa_evidence *evidence, const dpa_claim *claim,
                             const dpa_protocol *protocol, dpa_report **out,
                             dpa_error *err) DPA_MUST_USE;

/* Checks a stored JSON result: it was not altered, does not contradict itself, and judging its
 * evidence[count] files again gives the same. Returns DPA_BAD_INPUT with the first difference if
 * not. A result from counts needs no evidence files. */
DPA_API dpa_status dpa_verify(const char *path, const char *const *evidence, size_t count,
                              dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
