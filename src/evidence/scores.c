/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two lists of scores, sorted once; anything odd about them becomes a lint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "evidence/evidence.h"

enum { TINY = 20 };

dpa_status dpa__scores_room(size_t members, size_t nonmembers, dpa_scores *out, dpa_error *err) {
    *out = (dpa_scores){.members = members, .nonmembers = nonmembers};
    out->member = DPA_NEW_ARRAY(double, members, err);
    out->nonmember = DPA_NEW_ARRAY(double, nonmembers, err);
    if (out->member != NULL && out->nonmember != NULL) return DPA_OK;
    dpa__scores_free(out);
    return DPA_NO_MEMORY;
}

dpa_status dpa__scores_from(const double *member, size_t members, const double *nonmember,
                            size_t nonmembers, dpa_scores *out, dpa_error *err) {
    DPA_TRY(dpa__scores_room(members, nonmembers, out, err));
    if (members > 0) memcpy(out->member, member, members * sizeof *member);
    if (nonmembers > 0) memcpy(out->nonmember, nonmember, nonmembers * sizeof *nonmember);
    return DPA_OK;
}

void dpa__scores_free(dpa_scores *scores) {
    if (scores == NULL) return;
    free(scores->member);
    free(scores->nonmember);
    *scores = (dpa_scores){0};
}

/* Replaces every NaN by `value`, and −0 by the equal 0. Returns how many NaN there were. */
static size_t replace_nan(double *values, size_t count, double value) {
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
        if (isnan(values[i])) {
            values[i] = value;
            ++found;
        }
        values[i] += 0.0;
    }
    return found;
}

static size_t infinities(const double *sorted, size_t count) {
    size_t first = 0, last = 0;
    while (first < count && isinf(sorted[first])) ++first;
    while (last < count - first && isinf(sorted[count - 1 - last])) ++last;
    return first + last;
}

static size_t repeats(const double *sorted, size_t count) {
    size_t found = 0;
    for (size_t i = 1; i < count; ++i) found += sorted[i] == sorted[i - 1];
    return found;
}

/* Members that share their score with a non-member, and pairs won and lost. */
typedef struct comparison {
    size_t tied;
    double won, lost;
} comparison;

/* A thread's share of the members. */
typedef struct part {
    const dpa_scores *scores;
    size_t first, end;
    comparison found;
} part;

static int compare_part(void *user, size_t task) {
    part *p = (part *)user + task;
    const dpa_scores *s = p->scores;
    comparison c = {0, 0, 0};
    size_t below = 0, upto = 0;
    if (p->first > 0)
        below =
            s->nonmembers - dpa__count_at_least(s->nonmember, s->nonmembers, s->member[p->first]);
    for (size_t i = p->first; i < p->end; ++i) {
        while (below < s->nonmembers && s->nonmember[below] < s->member[i]) ++below;
        if (upto < below) upto = below;
        while (upto < s->nonmembers && s->nonmember[upto] == s->member[i]) ++upto;
        c.tied += upto > below;
        c.won += (double)below;
        c.lost += (double)(s->nonmembers - upto);
    }
    p->found = c;
    return 0;
}

static comparison compare_classes(const dpa_scores *s, unsigned threads) {
    const size_t half = threads > 1 ? s->members / 2 : 0;
    part parts[] = {{s, half, s->members, {0, 0, 0}}, {s, 0, half, {0, 0, 0}}};
    if (half == 0 || dpa__parallel(2, 2, compare_part, parts, NULL) != DPA_OK)
        for (size_t i = 0; i < 2; ++i) (void)compare_part(parts, i);
    return (comparison){parts[0].found.tied + parts[1].found.tied,
                        parts[0].found.won + parts[1].found.won,
                        parts[0].found.lost + parts[1].found.lost};
}

/* A class that is made ready: NaN counts against the attack. */
typedef struct side {
    const double *given;
    double *score;
    size_t count;
    double worst;
    size_t nan, infinite, again; /* NaN count as infinite; scores that repeat another */
    dpa_status status;
    dpa_error error;
} side;

/* Whole numbers are answers, which may well be all the same. */
static int is_constant(const side *s) {
    return s->count >= TINY && s->again == s->count - 1 && floor(s->score[0]) != s->score[0];
}

static dpa_status lint_values(const side sides[2], dpa_lints *lints, dpa_error *err) {
    const size_t nan = sides[0].nan + sides[1].nan, count = sides[0].count + sides[1].count;
    const size_t infinite = sides[0].infinite + sides[1].infinite;
    const size_t again = sides[0].again + sides[1].again;
    if (nan > 0)
        DPA_TRY(dpa__lints_add(lints, err, "nan",
                               "%zu scores are NaN; they count against the attack", nan));
    if (infinite > nan)
        DPA_TRY(dpa__lints_add(lints, err, "infinite",
                               "%zu scores are infinite; they are taken as extreme scores",
                               infinite - nan));
    if (is_constant(&sides[0]) && is_constant(&sides[1]))
        return dpa__lints_add(
            lints, err, "constant-scores",
            "every trial of a class has the same score: the noise is missing, or all "
            "of them had one seed and are one observation");
    if (100 * again > count)
        DPA_TRY(dpa__lints_add(lints, err, "duplicates",
                               "%zu of %zu scores repeat an earlier one of their class: rounded "
                               "scores, or rows that were counted twice?",
                               again, count));
    return DPA_OK;
}

static dpa_status lint_sign(const dpa_scores *s, const comparison *c, dpa_lints *lints,
                            dpa_error *err) {
    const double pairs = (double)s->members * (double)s->nonmembers;
    /* standard deviation of won − lost if there is no leak */
    const double spread = sqrt(pairs * (double)(s->members + s->nonmembers + 1) / 3);
    if (c->lost - c->won <= 3 * spread) return DPA_OK;
    return dpa__lints_add(lints, err, "sign",
                          "members score lower than non-members (AUC %.3f): higher must mean "
                          "\"in\", so the sign is probably wrong",
                          (c->won + 0.5 * (pairs - c->won - c->lost)) / pairs);
}

dpa_status dpa__scores_lint_sign(const dpa_scores *s, dpa_lints *lints, dpa_error *err) {
    const comparison c = compare_classes(s, 1);
    return lint_sign(s, &c, lints, err);
}

/* ── rows that are there more than once ──────────────────────────────────────────────────── */

enum { ENOUGH = 20 }; /* fewer different scores than these say nothing about copies */

size_t dpa__common_divisor(size_t a, size_t b) {
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* How often each finite score is there: 2 if they come in twos, fours, …; 1 if one comes alone, or
 * if there are few. */
static size_t copies(const double *sorted, size_t count) {
    size_t common = 0, different = 0;
    for (size_t i = 0, run; i < count && common != 1; i += run) {
        for (run = 1; i + run < count && sorted[i + run] == sorted[i];) ++run;
        if (isinf(sorted[i])) continue; /* trials that failed */
        common = dpa__common_divisor(common, run);
        ++different;
    }
    return different < ENOUGH ? 1 : common;
}

static int is_one_list(const dpa_scores *s) {
    return s->members == s->nonmembers &&
           memcmp(s->member, s->nonmember, s->members * sizeof *s->member) == 0 &&
           s->members - repeats(s->member, s->members) >= ENOUGH;
}

/* `shared`: members with the score of a non-member; `again`: scores that repeat one of their class.
 * Independent draws of any two laws p and q share no more than they repeat, since pq is at most the
 * mean of p² and q². */
static dpa_status lint_copies(const dpa_scores *s, const char *const names[2], size_t shared,
                              size_t again, dpa_lints *lints, dpa_error *err) {
    const size_t in = copies(s->member, s->members), out = copies(s->nonmember, s->nonmembers);
    if (in > 1 || out > 1)
        return dpa__lints_add(lints, err, "copied-scores",
                              "every score of the %s is there %zu times, as if rows had been "
                              "counted more than once",
                              names[in > 1 ? 0 : 1], in > 1 ? in : out);
    if (is_one_list(s))
        return dpa__lints_add(lints, err, "shared-scores",
                              "%s and %s have the same scores, as if one list had been given twice",
                              names[0], names[1]);
    if (shared < ENOUGH + 4 * again) return DPA_OK;
    return dpa__lints_add(lints, err, "shared-scores",
                          "%zu scores are in both classes and hardly any is twice in one, as if "
                          "the same observations were in both",
                          shared);
}

dpa_status dpa__scores_lint_copies(const dpa_scores *s, const char *const names[2],
                                   dpa_lints *lints, dpa_error *err) {
    const size_t again = repeats(s->member, s->members) + repeats(s->nonmember, s->nonmembers);
    return lint_copies(s, names, compare_classes(s, 1).tied, again, lints, err);
}

/* ── both classes ────────────────────────────────────────────────────────────────────────── */

static dpa_status lint_classes(const dpa_scores *s, size_t again, unsigned threads,
                               dpa_lints *lints, dpa_error *err) {
    static const char *const names[] = {"members", "non-members"};
    const comparison c = compare_classes(s, threads);
    if (c.tied > 0)
        DPA_TRY(
            dpa__lints_add(lints, err, "ties",
                           "%zu members share their score with a non-member; ties count against "
                           "the attack",
                           c.tied));
    DPA_TRY(lint_sign(s, &c, lints, err));
    DPA_TRY(lint_copies(s, names, c.tied, again, lints, err));
    if (s->members < TINY || s->nonmembers < TINY)
        DPA_TRY(dpa__lints_add(lints, err, "tiny",
                               "only %zu members and %zu non-members: nothing but a very strong "
                               "attack can show a leak",
                               s->members, s->nonmembers));
    return DPA_OK;
}

static int prepare_side(void *user, size_t task) {
    side *s = (side *)user + task;
    if (s->given != s->score) memcpy(s->score, s->given, s->count * sizeof *s->score);
    s->nan = replace_nan(s->score, s->count, s->worst);
    s->status = dpa__sort_numbers(s->score, s->count, &s->error);
    s->infinite = infinities(s->score, s->count);
    s->again = repeats(s->score, s->count);
    return 0;
}

static dpa_status prepare(const dpa_scores *given, dpa_scores *s, unsigned threads,
                          dpa_lints *lints, dpa_error *err) {
    if (s->members == 0 || s->nonmembers == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "no %s: a bound needs scores of both classes",
                         s->members == 0 ? "members" : "non-members");
    side sides[2] = {{given->member, s->member, s->members, -HUGE_VAL},
                     {given->nonmember, s->nonmember, s->nonmembers, HUGE_VAL}};
    DPA_TRY(dpa__parallel(threads, 2, prepare_side, sides, err));
    for (size_t i = 0; i < 2; ++i) {
        if (sides[i].nan == sides[i].count)
            return dpa__fail(err, DPA_BAD_INPUT, "every score of the %s is NaN",
                             i == 0 ? "members" : "non-members");
        if (sides[i].status != DPA_OK && err != NULL) *err = sides[i].error;
        DPA_TRY(sides[i].status);
    }
    s->is_sorted = 1;
    DPA_TRY(lint_values(sides, lints, err));
    return lint_classes(s, sides[0].again + sides[1].again, threads, lints, err);
}

dpa_status dpa__scores_prepare_here(dpa_scores *s, dpa_lints *lints, dpa_error *err) {
    return prepare(s, s, 1, lints, err);
}

dpa_status dpa__scores_prepare(const dpa_scores *given, unsigned threads, dpa_scores *out,
                               dpa_lints *lints, dpa_error *err) {
    DPA_TRY(dpa__scores_room(given->members, given->nonmembers, out, err));
    return prepare(given, out, threads, lints, err);
}

size_t dpa__count_at_least(const double *sorted, size_t count, double x) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return count - low;
}

dpa_counts dpa__scores_counts(const dpa_scores *s, double threshold) {
    const size_t tp = dpa__count_at_least(s->member, s->members, threshold);
    const size_t fp = dpa__count_at_least(s->nonmember, s->nonmembers, threshold);
    return (dpa_counts){.fn = s->members - tp, .tp = tp, .fp = fp, .tn = s->nonmembers - fp};
}

/* ── sorting ─────────────────────────────────────────────────────────────────────────────
 *
 * Radix sort of doubles: six passes of eleven bits over the bit pattern, with the sign folded so
 * that patterns order like numbers (−0 before 0). Linear in the count; 10⁷ numbers in about 0.5 s.
 * Few numbers are merged instead: the tables of counts cost more than they save. */

enum { BITS = 11, BUCKETS = 1 << BITS, PASSES = 6, FEW = 1024, RUN = 4 };

static uint64_t key_of(double x) {
    const uint64_t bits = dpa__bits_of(x);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double of_key(uint64_t key) {
    return dpa__of_bits(key >> 63 ? key & ~((uint64_t)1 << 63) : ~key);
}

/* Nothing below branches on a comparison, whose outcome could not be foreseen. */
static inline void order(uint64_t *low, uint64_t *high) {
    const uint64_t x = *low, y = *high;
    *low = x < y ? x : y;
    *high = x < y ? y : x;
}

static void merge(const uint64_t *a, const uint64_t *end_a, const uint64_t *end_b, uint64_t *out) {
    const uint64_t *b = end_a;
    while (a < end_a && b < end_b) {
        const uint64_t x = *a, y = *b;
        *out++ = y < x ? y : x;
        b += y < x;
        a += y >= x;
    }
    memcpy(out, a, (size_t)(end_a - a) * sizeof *out);
    memcpy(out + (end_a - a), b, (size_t)(end_b - b) * sizeof *out);
}

/* Runs of four by a sorting network, then merges. */
static void sort_few(double *values, size_t count) {
    uint64_t key[2][FEW], *from = key[0], *to = key[1];
    for (size_t i = 0; i < count; ++i) from[i] = key_of(values[i]);
    for (size_t i = count; i < (count + RUN - 1) / RUN * RUN; ++i) from[i] = UINT64_MAX;
    for (size_t i = 0; i < count; i += RUN) {
        uint64_t *x = from + i;
        order(x, x + 1), order(x + 2, x + 3);
        order(x, x + 2), order(x + 1, x + 3);
        order(x + 1, x + 2);
    }
    for (size_t run = RUN; run < count; run *= 2) {
        for (size_t i = 0; i < count; i += 2 * run) {
            const size_t middle = i + run < count ? i + run : count;
            const size_t end = middle + run < count ? middle + run : count;
            merge(from + i, from + middle, from + end, to + i);
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; ++i) values[i] = of_key(from[i]);
}

static size_t digit(uint64_t key, int pass) {
    return (size_t)(key >> (pass * BITS) & (BUCKETS - 1));
}

/* One pass; 0 when all numbers share the digit and nothing had to move. */
static int scatter(const double *from, double *to, size_t count, size_t *place, int pass) {
    size_t sum = 0;
    for (size_t b = 0; b < BUCKETS; ++b) {
        const size_t here = place[b];
        if (here == count) return 0;
        place[b] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; ++i) to[place[digit(key_of(from[i]), pass)]++] = from[i];
    return 1;
}

dpa_status dpa__sort_numbers(double *values, size_t count, dpa_error *err) {
    if (count <= FEW) {
        sort_few(values, count);
        return DPA_OK;
    }
    size_t *places = dpa__calloc((size_t)PASSES * BUCKETS, sizeof *places, err);
    double *other = DPA_NEW_ARRAY(double, count, err);
    if (places == NULL || other == NULL) {
        free(places);
        free(other);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < count; ++i) {
        const uint64_t key = key_of(values[i]);
        for (int pass = 0; pass < PASSES; ++pass)
            ++places[(size_t)pass * BUCKETS + digit(key, pass)];
    }
    double *from = values, *to = other;
    for (int pass = 0; pass < PASSES; ++pass) {
        if (!scatter(from, to, count, places + (size_t)pass * BUCKETS, pass)) continue;
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
    free(places);
    free(other);
    return DPA_OK;
}
