/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the scan looks, what it counts there, and how strongly that contradicts a curve.
 *
 * With k non-members and A of n₁ members above a threshold, the log likelihood ratio against TPR
 * ≤ g(FPR) is the least over y of n₀·KL(k/n₀ ‖ y) + n₁·KL⁺(A/n₁ ‖ g(y)), where KL⁺ is 0 if A/n₁
 * ≤ g(y). Here y runs over a fixed grid (Wilson limits of k at z = 0, ¼, … 9). Every term grows
 * with A, so their minimum does, which is all that validity needs; compared with all y it loses
 * less than 0.01. The statistic is the largest of these minus log(1+log(1+k)), at the bottom
 * minus one more, over k = 0, 1, 2, … in ratios of at most 1.25. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/ranks/scan.h"

enum { RATES = DPA__SCAN_RATES, CELL = 4 }; /* per rate: cost, g, log g, log(1−g) */

static double wilson(double k, double n, double z) {
    const double rate = k / n, square = z * z / n;
    return fmin((rate + 0.5 * square + sqrt(square * (rate * (1 - rate) + 0.25 * square))) /
                    (1 + square),
                1);
}

/* n·KL(k/n ‖ y). */
static double divergence(double k, double n, double y) {
    double sum = 0;
    if (k > 0) sum += k * log(k / (n * y));
    if (k < n) sum += (n - k) * (log((n - k) / n) - log1p(-y));
    return fmax(sum, 0);
}

/* The grid of y at one look, the same for every curve. */
static void fill_rates(double k, double n, double *rates) {
    for (int r = 0; r < RATES; ++r) {
        rates[r] = wilson(k, n, 0.25 * r);
        rates[RATES + r] = rates[r] < 1 ? divergence(k, n, rates[r]) : HUGE_VAL;
    }
}

static size_t next_look(size_t k) {
    const size_t next = k + k / 4;
    return next > k ? next : k + 1;
}

dpa_status dpa__scan_looks_open(size_t members, size_t nonmembers, dpa__scan_looks *out,
                                dpa_error *err) {
    *out = (dpa__scan_looks){.base = {nonmembers, members}, .other = {members, nonmembers}};
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) {
        size_t count = 0;
        for (size_t k = 0; k < out->base[e]; k = next_look(k)) ++count;
        out->k[e] = DPA_NEW_ARRAY(size_t, count, err);
        out->rates[e] = DPA_NEW_ARRAY(double, 2 * RATES * count, err);
        out->penalty[e] = DPA_NEW_ARRAY(double, count, err);
        if (out->k[e] == NULL || out->rates[e] == NULL || out->penalty[e] == NULL) {
            dpa__scan_looks_close(out);
            return DPA_NO_MEMORY;
        }
        for (size_t k = 0; k < out->base[e]; k = next_look(k)) {
            fill_rates((double)k, (double)out->base[e], out->rates[e] + 2 * RATES * out->count[e]);
            out->penalty[e][out->count[e]] = log1p(log1p((double)k)) + (e == DPA__SCAN_BOTTOM);
            out->k[e][out->count[e]++] = k;
        }
    }
    return DPA_OK;
}

void dpa__scan_looks_close(dpa__scan_looks *looks) {
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) {
        free(looks->k[e]);
        free(looks->rates[e]);
        free(looks->penalty[e]);
        looks->k[e] = NULL;
        looks->rates[e] = looks->penalty[e] = NULL;
    }
}

dpa_status dpa__scan_counts_new(const dpa__scan_looks *looks, dpa__scan_counts *out,
                                dpa_error *err) {
    const size_t total = looks->count[DPA__SCAN_TOP] + looks->count[DPA__SCAN_BOTTOM];
    out->seen[DPA__SCAN_TOP] = DPA_NEW_ARRAY(size_t, total, err);
    if (out->seen[DPA__SCAN_TOP] == NULL) return DPA_NO_MEMORY;
    out->seen[DPA__SCAN_BOTTOM] = out->seen[DPA__SCAN_TOP] + looks->count[DPA__SCAN_TOP];
    return DPA_OK;
}

void dpa__scan_counts_free(dpa__scan_counts *counts) {
    free(counts->seen[DPA__SCAN_TOP]); /* both ends are one block */
    *counts = (dpa__scan_counts){{NULL, NULL}};
}

/* The order of all scores, from the top. */
typedef struct order {
    const dpa_scores *scores;
    size_t in, out;           /* left of each class */
    size_t tied_in, tied_out; /* of these: left of the current tie */
    dpa_rng rng;
} order;

static size_t run_length(const double *sorted, size_t left) {
    size_t length = 1;
    while (length < left && sorted[left - 1 - length] == sorted[left - 1]) ++length;
    return length;
}

/* 1 if the next score is a member's. A tie of both classes is put into random order. */
static int next_is_member(order *o) {
    if (o->tied_in + o->tied_out == 0) {
        if (o->in == 0 || o->out == 0) return o->in > 0;
        const double in = o->scores->member[o->in - 1], out = o->scores->nonmember[o->out - 1];
        if (in != out) return in > out;
        o->tied_in = run_length(o->scores->member, o->in);
        o->tied_out = run_length(o->scores->nonmember, o->out);
    }
    const int is_member = dpa__rng_below(&o->rng, o->tied_in + o->tied_out) < o->tied_in;
    if (is_member)
        --o->tied_in;
    else
        --o->tied_out;
    return is_member;
}

/* A number that identifies which ranks are tied. */
static uint64_t pattern_of(const dpa_scores *s) {
    size_t in = s->members, out = s->nonmembers;
    uint64_t digest = 0;
    while (in > 0 && out > 0) {
        const double a = s->member[in - 1], b = s->nonmember[out - 1];
        const size_t ins = a >= b ? run_length(s->member, in) : 0;
        const size_t outs = b >= a ? run_length(s->nonmember, out) : 0;
        digest = (digest ^ ((uint64_t)ins << 32 ^ (uint64_t)outs)) * 0x9e3779b97f4a7c15U;
        digest ^= digest >> 29;
        in -= ins;
        out -= outs;
    }
    return digest;
}

/* Every pattern of ties has its own random stream. With one stream for all, a seed whose first
 * numbers are lucky would be lucky in every audit: a true claim about a mechanism with three
 * outputs was refuted in 7.4% of audits at 95%. */
static void seed_ties(dpa_rng *rng, const dpa_scores *scores, uint64_t seed) {
    const uint64_t own = (uint64_t)1 << 55; /* away from the simulated audits */
    dpa__rng_init(rng, seed, DPA_PURPOSE_RANK, own | (pattern_of(scores) & (own - 1)));
}

void dpa__scan_observe(const dpa__scan_looks *looks, const dpa_scores *scores, uint64_t seed,
                       dpa__scan_counts *out) {
    const size_t *top = looks->k[DPA__SCAN_TOP], *bottom = looks->k[DPA__SCAN_BOTTOM];
    size_t up = 0, down = looks->count[DPA__SCAN_BOTTOM];
    order o = {.scores = scores, .in = scores->members, .out = scores->nonmembers};
    seed_ties(&o.rng, scores, seed);
    while (o.in + o.out > 0) {
        if (next_is_member(&o)) {
            /* this one is the (in)-th lowest member */
            if (down > 0 && bottom[down - 1] + 1 == o.in)
                out->seen[DPA__SCAN_BOTTOM][--down] = o.out;
            --o.in;
        } else {
            if (up < looks->count[DPA__SCAN_TOP] && top[up] == scores->nonmembers - o.out)
                out->seen[DPA__SCAN_TOP][up++] = scores->members - o.in;
            --o.out;
        }
    }
}

/* ── against one curve ─────────────────────────────────────────────────────────────────────── */

/* Where the curve meets the diagonal: f(a) = a. */
static double fixed_point(const dpa_curve *curve) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + high);
        if (dpa_curve_fnr(curve, middle) > middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void fill_look(const dpa_curve *curve, int end, const double *rates, double *cell) {
    for (int r = 0; r < RATES; ++r, cell += CELL) {
        const double y = rates[r];
        const double miss =
            end == DPA__SCAN_TOP ? dpa_curve_fnr(curve, y) : dpa_curve_fpr(curve, y);
        const double hit = end == DPA__SCAN_TOP ? dpa__curve_tpr(curve, y) : 1 - miss;
        cell[0] = rates[RATES + r];
        cell[1] = miss > 0 ? hit : 1;
        cell[2] = log(cell[1]);
        cell[3] = miss > 0 ? log(miss) : 0;
    }
}

dpa_status dpa__scan_null_open(const dpa__scan_looks *looks, const dpa_curve *curve,
                               dpa__scan_null *out, dpa_error *err) {
    *out = (dpa__scan_null){.looks = looks};
    const double fixed = fixed_point(curve);
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) {
        const double n = (double)looks->base[e];
        while (out->count[e] < looks->count[e] && (double)looks->k[e][out->count[e]] <= fixed * n)
            ++out->count[e];
        out->cells[e] = DPA_NEW_ARRAY(double, out->count[e] * RATES * CELL, err);
        if (out->cells[e] == NULL) {
            dpa__scan_null_close(out);
            return DPA_NO_MEMORY;
        }
        for (size_t i = 0; i < out->count[e]; ++i)
            fill_look(curve, e, looks->rates[e] + 2 * RATES * i, out->cells[e] + i * RATES * CELL);
    }
    return DPA_OK;
}

void dpa__scan_null_close(dpa__scan_null *null) {
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) {
        free(null->cells[e]);
        null->cells[e] = NULL;
    }
}

/* The contribution of `seen` at one look. */
static double contribution(const dpa__scan_null *null, int end, size_t look, double seen) {
    const double n = (double)null->looks->other[end], rest = n - seen, rate = seen / n;
    const double entropy =
        (seen > 0 ? seen * log(rate) : 0) + (rest > 0 ? rest * log(rest / n) : 0);
    const double *cell = null->cells[end] + look * RATES * CELL;
    double least = HUGE_VAL;
    for (int r = 0; r < RATES; ++r, cell += CELL) {
        if (cell[0] >= least) break; /* costs grow along the grid */
        const double more = rate > cell[1] ? entropy - seen * cell[2] - rest * cell[3] : 0;
        least = fmin(least, cell[0] + fmax(more, 0));
    }
    return least - null->looks->penalty[end][look];
}

double dpa__scan_statistic(const dpa__scan_null *null, const dpa__scan_counts *counts) {
    double most = 0; /* the look at k = 0 is never below it */
    for (int e = 0; e < DPA__SCAN_ENDS; ++e)
        for (size_t i = 0; i < null->count[e]; ++i)
            most = fmax(most, contribution(null, e, i, (double)counts->seen[e][i]));
    return most;
}

void dpa__scan_reach(const dpa__scan_null *null, double value, dpa__scan_counts *out) {
    const double goal = value - 1e-12 * fabs(value); /* equal but for rounding: reached */
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) {
        const size_t n = null->looks->other[e];
        for (size_t i = 0; i < null->looks->count[e]; ++i) {
            size_t low = 0, high = n + 1;
            while (low < high && i < null->count[e]) {
                const size_t middle = low + (high - low) / 2;
                if (contribution(null, e, i, (double)middle) >= goal)
                    high = middle;
                else
                    low = middle + 1;
            }
            out->seen[e][i] = high;
        }
    }
}

/* ── far beyond every limit ────────────────────────────────────────────────────────────────── */

/* An upper bound on Pr[the likelihood ratio at a look is at least x] for any curve. Let V be the
 * rate at the look. If V is below y_j, the ratio is at most cost_j + n·KL⁺(seen/n ‖ g(V)); and Pr[V
 * ≥ y_j] ≤ exp(−cost_j), Pr[n·KL⁺ ≥ z] ≤ exp(−z) (Chernoff). */
static double ratio_tail(const double *costs, double x) {
    double here = exp(-x), sum = here;
    for (int r = 0; r + 1 < RATES; ++r) {
        const double next = exp(-fmax(x - costs[r + 1], 0));
        sum += exp(-costs[r]) * (next - here);
        here = next;
    }
    return sum + exp(-costs[RATES - 1]) * (1 - here);
}

double dpa__scan_tail(const dpa__scan_looks *looks, double value) {
    double sum = 0;
    for (int e = 0; e < DPA__SCAN_ENDS; ++e)
        for (size_t i = 0; i < looks->count[e] && sum < 1; ++i)
            sum += ratio_tail(looks->rates[e] + (2 * i + 1) * RATES, value + looks->penalty[e][i]);
    return fmin(sum, 1);
}
