/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranking, abstaining and guessing (fdp-in-one-run, Algorithms 1 and 4): sort by score, guess from
 * the ends. One prefix sum answers "how many right" for every number of guesses at once. */
#include "evidence/guesses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"

/* The scores of both answers, each ascending: all that a ranking needs. */
typedef struct ranked {
    double *value[2]; /* by answer; value[0] holds the memory of both */
    size_t count[2];
} ranked;

static void ranked_free(ranked *r) {
    free(r->value[0]);
    *r = (ranked){0};
}

static dpa_status rank(const double *score, const uint8_t *answer, size_t count, ranked *out,
                       dpa_error *err) {
    *out = (ranked){0};
    for (size_t i = 0; i < count; ++i) ++out->count[answer[i]];
    out->value[0] = DPA_NEW_ARRAY(double, count, err);
    if (out->value[0] == NULL) return DPA_NO_MEMORY;
    out->value[1] = out->value[0] + out->count[0];
    size_t next[2] = {0, 0};
    for (size_t i = 0; i < count; ++i) out->value[answer[i]][next[answer[i]]++] = score[i];
    dpa_status status = DPA_OK;
    for (int k = 0; k < 2 && status == DPA_OK; ++k)
        status = dpa__sort_numbers(out->value[k], out->count[k], err);
    if (status != DPA_OK) ranked_free(out);
    return status;
}

/* The k-th score of an answer, from the top or from the bottom. */
static double kth(const ranked *r, int answer, size_t k, int from_top) {
    return r->value[answer][from_top ? r->count[answer] - 1 - k : k];
}

/* How many scores of an answer from the k-th on are equal to `value`. */
static size_t run_of(const ranked *r, int answer, size_t k, int from_top, double value) {
    size_t end = k;
    while (end < r->count[answer] && kth(r, answer, end, from_top) == value) ++end;
    return end - k;
}

/* right[g]: how many of the g surest guesses are right ("in" from the top or "out" from the
 * bottom); within a tie the wrong ones come first. Returns how many guesses are in ties between
 * right and wrong ones. */
static uint64_t count_right(const ranked *r, int says_in, uint64_t *right) {
    uint64_t tied = 0, sum = 0;
    size_t at[2] = {0, 0};
    right[0] = 0;
    while (at[0] < r->count[0] || at[1] < r->count[1]) {
        const int only = at[0] == r->count[0] ? 1 : at[1] == r->count[1] ? 0 : -1;
        double value;
        if (only >= 0) {
            value = kth(r, only, at[only], says_in);
        } else {
            const double x = kth(r, 0, at[0], says_in), y = kth(r, 1, at[1], says_in);
            value = says_in ? fmax(x, y) : fmin(x, y);
        }
        const size_t wrong = run_of(r, !says_in, at[!says_in], says_in, value);
        const size_t good = run_of(r, says_in, at[says_in], says_in, value);
        uint64_t *to = right + at[0] + at[1] + 1;
        for (size_t k = 0; k < wrong; ++k) *to++ = sum;
        for (size_t k = 0; k < good; ++k) *to++ = ++sum;
        if (wrong > 0 && good > 0) tied += wrong + good;
        at[!says_in] += wrong;
        at[says_in] += good;
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
    return dpa__lints_add(lints, err, "infinite-scores",
                          "%zu of %zu scores are infinite; they rank first or last.", infinite,
                          count);
}

static dpa_status note_ties(uint64_t tied, size_t count, dpa_lints *lints, dpa_error *err) {
    if (tied == 0) return DPA_OK;
    return dpa__lints_add(lints, err, "ties",
                          "%llu of %zu guesses share their score with others of the other answer; "
                          "ties count against the attack.",
                          (unsigned long long)tied, count);
}

/* correct[g] = top[⌈g/2⌉] + bottom[⌊g/2⌋], where `correct` holds top. Going down from the largest g
 * overwrites nothing before its last use, since ⌈g/2⌉ ≤ g. */
static void join_ends(uint64_t *correct, const uint64_t *bottom, size_t count) {
    for (size_t g = count; g > 0; --g) correct[g] = correct[g - g / 2] + bottom[g / 2];
}

/* With fair coins about half of the canaries are members; five standard deviations off is not
 * chance. */
static dpa_status check_coins(const uint8_t *in, size_t count, dpa_lints *lints, dpa_error *err) {
    double members = 0.0;
    const double n = (double)count;
    for (size_t i = 0; i < count; ++i) members += in[i];
    if (fabs(members - 0.5 * n) <= 2.5 * sqrt(n)) return DPA_OK;
    return dpa__lints_add(lints, err, "unfair-coin",
                          "%.0f of %zu canaries were members: not what fair coins give. The bound "
                          "needs every canary included with probability 1/2.",
                          members, count);
}

static dpa_status check_sign(const dpa_guesses *guesses, dpa_lints *lints, dpa_error *err) {
    const double n = (double)guesses->canaries, right = (double)guesses->correct[guesses->canaries];
    if (right - 0.5 * n >= -2.5 * sqrt(n)) return DPA_OK;
    return dpa__lints_add(
        lints, err, "reversed-scores",
        "Only %.0f of %.0f guesses are right, fewer than by chance: higher scores "
        "must mean \"in\".",
        right, n);
}

static dpa_status guess_both(const ranked *r, size_t count, dpa_guesses *out, dpa_lints *lints,
                             dpa_error *err) {
    uint64_t *bottom = DPA_NEW_ARRAY(uint64_t, count + 1, err);
    if (bottom == NULL) return DPA_NO_MEMORY;
    const uint64_t tied = count_right(r, 1, out->correct);
    (void)count_right(r, 0, bottom);
    join_ends(out->correct, bottom, count);
    free(bottom);
    DPA_TRY(note_ties(tied, count, lints, err));
    return tied == 0 ? check_sign(out, lints, err) : DPA_OK;
}

/* Frees the ranking. */
static dpa_status make_guesses(ranked *r, dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                               dpa_error *err) {
    const size_t count = r->count[0] + r->count[1];
    dpa_status status = DPA_NO_MEMORY;
    *out = (dpa_guesses){count, DPA_NEW_ARRAY(uint64_t, count + 1, err)};
    if (out->correct != NULL)
        status =
            side == DPA_GUESS_BOTH
                ? guess_both(r, count, out, lints, err)
                : note_ties(count_right(r, side == DPA_GUESS_IN, out->correct), count, lints, err);
    ranked_free(r);
    if (status != DPA_OK) dpa__guesses_free(out);
    return status;
}

/* Ranks and counts. `names`: of the guesses with answer 1 and with answer 0. */
static dpa_status guesses_of(const double *score, const uint8_t *answer, size_t count,
                             dpa_guess_side side, const char *const names[2], dpa_guesses *out,
                             dpa_lints *lints, dpa_error *err) {
    ranked r;
    DPA_TRY(rank(score, answer, count, &r, err));
    const dpa_scores scores = {.member = r.value[1],
                               .nonmember = r.value[0],
                               .members = r.count[1],
                               .nonmembers = r.count[0]};
    const dpa_status status = dpa__scores_lint_copies(&scores, names, lints, err);
    if (status == DPA_OK) return make_guesses(&r, side, out, lints, err);
    ranked_free(&r);
    return status;
}

dpa_status dpa__guesses_from_confidence(const double *confidence, const uint8_t *right,
                                        size_t count, dpa_guesses *out, dpa_lints *lints,
                                        dpa_error *err) {
    static const char *const names[] = {"right guesses", "wrong guesses"};
    *out = (dpa_guesses){0};
    DPA_TRY(check_scores(confidence, right, count, lints, err));
    return guesses_of(confidence, right, count, DPA_GUESS_IN, names, out, lints, err);
}

dpa_status dpa__guesses_from_scores(const double *score, const uint8_t *in, size_t count,
                                    dpa_guess_side side, dpa_guesses *out, dpa_lints *lints,
                                    dpa_error *err) {
    static const char *const names[] = {"members", "non-members"};
    *out = (dpa_guesses){0};
    DPA_TRY(check_scores(score, in, count, lints, err));
    DPA_TRY(check_coins(in, count, lints, err));
    return guesses_of(score, in, count, side, names, out, lints, err);
}

dpa_status dpa__guesses_from_pair(const double *members, size_t member_count,
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
        status = dpa__guesses_from_scores(score, in, count, side, out, lints, err);
    }
    free(score);
    free(in);
    return status;
}

void dpa__guesses_free(dpa_guesses *guesses) {
    if (guesses == NULL) return;
    free(guesses->correct);
    *guesses = (dpa_guesses){0};
}
