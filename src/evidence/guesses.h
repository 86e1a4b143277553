/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run's guesses, most confident first: who is guessed, who is left out, how many are right.
 *
 * The order depends on the scores alone, never on the answers; inside a tie the wrong guesses come
 * first, so that no number of guesses profits from how a tie was broken. */
#ifndef DPA_EVIDENCE_GUESSES_H
#define DPA_EVIDENCE_GUESSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/data.h"
#include "dpaudit/status.h"
#include "evidence/evidence.h"

/* Which end of the scores is guessed. BOTH: one half of the guesses says "in" for the highest
 * scores, the other "out" for the lowest; with an odd number "in" gets one more. */
typedef enum dpa_guess_side { DPA_GUESS_BOTH, DPA_GUESS_IN, DPA_GUESS_OUT } dpa_guess_side;

typedef struct dpa_guesses {
    uint64_t canaries;
    uint64_t *correct; /* [canaries + 1]: correct[g] of the first g guesses are right */
} dpa_guesses;

/* score[i] is higher if canary i looks more like "in"; in[i] is 1 if it was in. Free *out with
 * dpa__guesses_free. */
dpa_status dpa__guesses_from_scores(const double *score, const uint8_t *in, size_t count,
                                    dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                    dpa_error *err) DPA_MUST_USE;
/* The same with two arrays of scores: canaries that were in, canaries that were out. */
dpa_status dpa__guesses_from_pair(const double *members, size_t member_count,
                                  const double *nonmembers, size_t nonmember_count,
                                  dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                  dpa_error *err) DPA_MUST_USE;
/* For guesses that were already made, one per canary among any number of options: confidence[i]
 * says how sure, right[i] whether it was right. */
dpa_status dpa__guesses_from_confidence(const double *confidence, const uint8_t *right,
                                        size_t count, dpa_guesses *out, dpa_lints *lints,
                                        dpa_error *err) DPA_MUST_USE;
void dpa__guesses_free(dpa_guesses *guesses);

#endif
