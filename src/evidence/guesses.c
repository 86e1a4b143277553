/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranking, abstaining and guessing (fdp-in-one-run, Algorithms 1 and 4): sort by score, guess from
 * the ends. One prefix sum answers "how many right" for every number of guesses at once. */
#include "dpaudit/guesses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

typedef struct guess {
    double sureness;
    unsigned is_right;
} guess;

/* Surest first; in a tie the wrong ones first. */
static int by_sureness(const void *a, const void *b) {
    const guess *x = a, *y = b;
    if (x->sureness != y->sureness) return x->sureness > y->sureness ? -1 : 1;
    return (int)x->is_right - (int)y->is_right;
}

/* right[g]: of the g surest guesses. Gives the number of guesses in ties between right and wrong
 * ones. */
static uint64_t count_right(guess *guesses, size_t count, uint64_t *right) {
    qsort(guesses, count, sizeof *guesses, by_sureness);
    uint64_t tied = 0;
    right[0] = 0;
    for (size_t first = 0, i = 0; i < count; ++i) {
        right[i + 1] = right[i] + guesses[i].is_right;
        if (i + 1 < count && guesses[i + 1].sureness == guesses[i].sureness) continue;
        if (guesses[first].is_right != guesses[i].is_right) tied += i + 1 - first;
        first = i + 1;
    }
    return tied;
}

static dpa_status check_scores(const double *score, const uint8_t *answer, size_t count,
                               dpa_lints *lints, dpa_error *err) {
    size_t infinite = 0;
    if (count == 0) return dpa__fail(err, DPA_BAD_INPUT, "no canaries");
    for (size_t i = 0; i < count; ++i) {
        if (isnan(score[i]))
            return dpa__fail(err, DPA_BAD_INPUT, "score %zu is not a number", i + 1);
        if (answer[i] > 1)
            return dpa__fail(err, DPA_BAD_INPUT, "answer %zu is %u; 0 or 1 is right", i + 1,
                             answer[i]);
        infinite += isinf(score[i]) != 0;
    }
    if (infinite == 0) return DPA_OK;
    return dpa_lints_add(lints, err, "infinite-scores",
                         "%zu of %zu scores are infinite; they rank first or last.", infinite,
                         count);
}

static dpa_status note_ties(uint64_t tied, size_t count, dpa_lints *lints, dpa_error *err) {
    if (tied == 0) return DPA_OK;
    return dpa_lints_add(lints, err, "ties",
                         "%llu of %zu guesses share their score with others of the other answer; "
                         "ties count against the attack.",
                         (unsigned long long)tied, count);
}

static dpa_status allocate(size_t count, guess **guesses, dpa_guesses *out, dpa_error *err) {
    *out = (dpa_guesses){.canaries = count};
    *guesses = DPA_NEW_ARRAY(guess, count, err);
    out->correct = DPA_NEW_ARRAY(uint64_t, count + 1, err);
    if (*guesses != NULL && out->correct != NULL) return DPA_OK;
    free(*guesses);
    dpa_guesses_free(out);
    return DPA_NO_MEMORY;
}

dpa_status dpa_guesses_from_confidence(const double *confidence, const uint8_t *right, size_t count,
                                       dpa_guesses *out, dpa_lints *lints, dpa_error *err) {
    *out = (dpa_guesses){0};
    DPA_TRY(check_scores(confidence, right, count, lints, err));
    guess *guesses;
    DPA_TRY(allocate(count, &guesses, out, err));
    for (size_t i = 0; i < count; ++i) guesses[i] = (guess){confidence[i], right[i]};
    const uint64_t tied = count_right(guesses, count, out->correct);
    free(guesses);
    const dpa_status status = note_ties(tied, count, lints, err);
    if (status != DPA_OK) dpa_guesses_free(out);
    return status;
}

/* All guesses from one end: "in" from the top or "out" from the bottom. */
static uint64_t guess_end(const double *score, const uint8_t *in, size_t count, int says_in,
                          guess *guesses, uint64_t *right) {
    for (size_t i = 0; i < count; ++i)
        guesses[i] = (guess){says_in ? score[i] : -score[i], (unsigned)(in[i] == says_in)};
    return count_right(guesses, count, right);
}

/* correct[g] = top[⌈g/2⌉] + bottom[⌊g/2⌋]; `correct` holds top. From the largest g down, nothing is
 * overwritten before its last use, since ⌈g/2⌉ ≤ g. */
static void join_ends(uint64_t *correct, const uint64_t *bottom, size_t count) {
    for (size_t g = count; g > 0; --g) correct[g] = correct[g - g / 2] + bottom[g / 2];
}

/* Fair coins give half members up to chance; five standard deviations are no chance. */
static dpa_status check_coins(const uint8_t *in, size_t count, dpa_lints *lints, dpa_error *err) {
    double members = 0.0;
    const double n = (double)count;
    for (size_t i = 0; i < count; ++i) members += in[i];
    if (fabs(members - 0.5 * n) <= 2.5 * sqrt(n)) return DPA_OK;
    return dpa_lints_add(lints, err, "unfair-coin",
                         "%.0f of %zu canaries were members: not what fair coins give. The bound "
                         "needs every canary included with probability 1/2.",
                         members, count);
}

static dpa_status check_sign(const dpa_guesses *guesses, dpa_lints *lints, dpa_error *err) {
    const double n = (double)guesses->canaries, right = (double)guesses->correct[guesses->canaries];
    if (right - 0.5 * n >= -2.5 * sqrt(n)) return DPA_OK;
    return dpa_lints_add(lints, err, "reversed-scores",
                         "Only %.0f of %.0f guesses are right, fewer than by chance: higher scores "
                         "must mean \"in\".",
                         right, n);
}

static dpa_status guess_both(const double *score, const uint8_t *in, size_t count, guess *guesses,
                             dpa_guesses *out, dpa_lints *lints, dpa_error *err) {
    uint64_t *bottom = DPA_NEW_ARRAY(uint64_t, count + 1, err);
    if (bottom == NULL) return DPA_NO_MEMORY;
    const uint64_t tied = guess_end(score, in, count, 1, guesses, out->correct);
    (void)guess_end(score, in, count, 0, guesses, bottom);
    join_ends(out->correct, bottom, count);
    free(bottom);
    DPA_TRY(note_ties(tied, count, lints, err));
    return tied == 0 ? check_sign(out, lints, err) : DPA_OK;
}

dpa_status dpa_guesses_from_scores(const double *score, const uint8_t *in, size_t count,
                                   dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                   dpa_error *err) {
    *out = (dpa_guesses){0};
    DPA_TRY(check_scores(score, in, count, lints, err));
    DPA_TRY(check_coins(in, count, lints, err));
    guess *guesses;
    dpa_status status;
    DPA_TRY(allocate(count, &guesses, out, err));
    if (side == DPA_GUESS_BOTH)
        status = guess_both(score, in, count, guesses, out, lints, err);
    else
        status = note_ties(guess_end(score, in, count, side == DPA_GUESS_IN, guesses, out->correct),
                           count, lints, err);
    free(guesses);
    if (status != DPA_OK) dpa_guesses_free(out);
    return status;
}

dpa_status dpa_guesses_from_pair(const double *members, size_t member_count,
                                 const double *nonmembers, size_t nonmember_count,
                                 dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                 dpa_error *err) {
    const size_t count = member_count + nonmember_count;
    *out = (dpa_guesses){0};
    double *score = DPA_NEW_ARRAY(double, count, err);
    uint8_t *in = DPA_NEW_ARRAY(uint8_t, count, err);
    dpa_status status = DPA_NO_MEMORY;
    if (score != NULL && in != NULL) {
        if (member_count > 0) memcpy(score, members, member_count * sizeof *score);
        if (nonmember_count > 0)
            memcpy(score + member_count, nonmembers, nonmember_count * sizeof *score);
        memset(in, 1, member_count);
        memset(in + member_count, 0, nonmember_count);
        status = dpa_guesses_from_scores(score, in, count, side, out, lints, err);
    }
    free(score);
    free(in);
    return status;
}

void dpa_guesses_free(dpa_guesses *guesses) {
    if (guesses == NULL) return;
    free(guesses->correct);
    *guesses = (dpa_guesses){0};
}
