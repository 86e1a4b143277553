/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was observed, from files or from memory.
 *
 * Evidence has a kind, arrays with names, and what is known about them. It belongs to one thread
 * while it is filled; afterwards several may judge it. */
#ifndef DPAUDIT_EVIDENCE_H
#define DPAUDIT_EVIDENCE_H

#include <stddef.h>

#include "dpaudit/export.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_evidence dpa_evidence;

/* Which arrays the evidence has. Evidence of a game is read by the command of the same name. */
typedef enum dpa_evidence_kind {
    DPA_EVIDENCE_COUNTS,  /* counts: fn, tp, fp, tn */
    DPA_EVIDENCE_SCORES,  /* members, nonmembers */
    DPA_EVIDENCE_GUESSES, /* score, correct: guesses among `options` */
    DPA_EVIDENCE_COSINES, /* final; or observed and unobserved for all iterates */
    DPA_EVIDENCE_SIGNALS  /* signals, members [models × points]: input of `attack`, which makes
                             scores of them */
} dpa_evidence_kind;

/* ── from files ──────────────────────────────────────────────────────────────────────── */

/* Each of the four makes new evidence in *out, to be freed with dpa_evidence_free. They return
 * DPA_IO if a file cannot be read, DPA_BAD_INPUT with file and place if it holds something else, or
 * DPA_NO_MEMORY. A path of "-" is standard input; gzip and xz are undone. The first bytes of a file
 * say what it is, not its name. */

/* Reads attack scores (higher means "in"): from two files of one array each; or, if
 * `nonmembers_path` is NULL, from one file: an NPZ with the arrays `members` and `nonmembers`, a
 * CSV with the columns `score` and `member` (0 or 1), or evidence that dpaudit wrote. */
DPA_API dpa_status dpa_evidence_scores(const char *path, const char *nonmembers_path,
                                       dpa_evidence **out, dpa_error *err) DPA_MUST_USE;
/* Reads what was seen of the canaries of one run: from two arrays of scores (of losses if
 * `are_losses`: lower means "in"); or, if `nonmembers_path` is NULL, from a CSV with the columns
 * score,member or score,correct, an NPZ with arrays of these names or with members and nonmembers,
 * or evidence that dpaudit wrote. */
DPA_API dpa_status dpa_evidence_one_run(const char *path, const char *nonmembers_path,
                                        int are_losses, dpa_evidence **out,
                                        dpa_error *err) DPA_MUST_USE;
/* Reads canary cosines: with the final model from `path`; or, if `null_path` is not NULL, the
 * largest ones over the rounds, of canaries that took part and of canaries that did not. Evidence
 * that dpaudit wrote is read from `path` alone. */
DPA_API dpa_status dpa_evidence_cosines(const char *path, const char *null_path, dpa_evidence **out,
                                        dpa_error *err) DPA_MUST_USE;
/* Reads a file that dpa_evidence_write or a game of dpaudit wrote, of any kind. */
DPA_API dpa_status dpa_evidence_read(const char *path, dpa_evidence **out,
                                     dpa_error *err) DPA_MUST_USE;

/* ── from memory ─────────────────────────────────────────────────────────────────────── */

/* Makes empty evidence of this kind in *out, of independent runs of a whole training, to be filled
 * with dpa_evidence_copy and freed with dpa_evidence_free. Returns DPA_OK or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_evidence_new(dpa_evidence_kind kind, dpa_evidence **out,
                                    dpa_error *err) DPA_MUST_USE;
/* Frees the evidence and its arrays; NULL is allowed. */
DPA_API void dpa_evidence_free(dpa_evidence *evidence);
/* Adds a copy of items[count] as the array `name` (see dpa_evidence_kind). Returns DPA_BAD_ARGUMENT
 * if there are more arrays than any evidence has, or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_evidence_copy(dpa_evidence *evidence, const char *name, const double *items,
                                     size_t count, dpa_error *err) DPA_MUST_USE;
/* Says what the arrays are about. Keys: "scope" ("training", "step", "participation", "model"),
 * "design" ("independent-runs", "one-run"), "inclusion-rate", "options", "side" ("both", "in",
 * "out"), "dim", "direction"; and facts of the training: "q", "steps", "sigma", "canary-rate",
 * "participations". Both texts are copied. Returns DPA_BAD_ARGUMENT, and changes nothing, if there
 * is no such key or the value is not right. */
DPA_API dpa_status dpa_evidence_set(dpa_evidence *evidence, const char *key, const char *value,
                                    dpa_error *err) DPA_MUST_USE;
/* Adds a number that the report shall show, such as "accuracy"; `name` is copied. Returns
 * DPA_BAD_ARGUMENT if there are too many. */
DPA_API dpa_status dpa_evidence_fact(dpa_evidence *evidence, const char *name, double value,
                                     dpa_error *err) DPA_MUST_USE;
/* Writes an NPZ with the arrays and an entry dpaudit.json that describes them; it appears whole or
 * not at all. Returns DPA_IO if it cannot be written, or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_evidence_write(const dpa_evidence *evidence, const char *path,
                                      dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
