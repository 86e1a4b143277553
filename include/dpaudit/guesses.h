/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run's guesses, most confident first: who is guessed, who is left out, how many are right.
 *
 * The order depends on the scores alone, never on the answers; inside a tie the wrong guesses come
 * first, so that no number of guesses profits from how a tie was broken. */
#ifndef DPAUDIT_GUESSES_H
#define DPAUDIT_GUESSES_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/data.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* Which end of the scores is guessed. Both: half of the guesses are "in" for the highest scores
 * (the odd one too), half are "out" for the lowest. */
typedef enum dpa_guess_side { DPA_GUESS_BOTH, DPA_GUESS_IN, DPA_GUESS_OUT } dpa_guess_side;

typedef struct dpa_guesses {
    uint64_t canaries;
    uint64_t *correct;            /* [canaries + 1]: right ones among the first g guesses */
    char sha256[DPA_SHA256_SIZE]; /* of the file it was read from, or "" */
} dpa_guesses;

/* score[i] is higher when canary i looks more like "in"; in[i] says whether it was. */
DPA_API dpa_status dpa_guesses_from_scores(const double *score, const uint8_t *in, size_t count,
                                           dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                           dpa_error *err) DPA_MUST_USE;
/* The same with the canaries that were in and those that were out in arrays of their own. */
DPA_API dpa_status dpa_guesses_from_pair(const double *members, size_t member_count,
                                         const double *nonmembers, size_t nonmember_count,
                                         dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                         dpa_error *err) DPA_MUST_USE;
/* One guess per canary was made already (any number of options): how sure, and whether right. */
DPA_API dpa_status dpa_guesses_from_confidence(const double *confidence, const uint8_t *right,
                                               size_t count, dpa_guesses *out, dpa_lints *lints,
                                               dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_guesses_free(dpa_guesses *guesses);

DPA_C_END

#endif
