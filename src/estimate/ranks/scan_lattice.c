/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law of the scan under f_{ε,δ}, by counting paths: no simulation.
 *
 * Under f_{ε,δ} the order of all scores has two zones. On top: a share δ of the members, before
 * everything else, then the rest of the zone, in which members and non-members come in random
 * order. Below, the mirror image: non-members last. Seen from its own end each zone is the same
 * thing, with base and other class exchanged. An order is a path over the lattice (i of the base,
 * j of the other class passed); look k with reach a forbids i ≤ k together with j ≥ a, and so do
 * the looks of the other end in their coordinates: a path must stay under one staircase.
 *
 * With Poisson instead of fixed sizes everything is independent: x ~ Pois(n·δ) come first, then
 * m ~ Pois(S) steps with labels by coin q = n_other·p/S. R(i,j) = Pr[the walk visits (i,j) under
 * the staircase] has R(i,j) = q·R(i,j−1) + (1−q)·R(i−1,j), and the zone ends at (i,j) with weight
 * F(i,j) = Σ_x Pois(x)·Pois(i+j−x)·R_x(i,j). Conditioning on both sizes divides by
 * Pois(n₀;n₀)·Pois(n₁;n₁), so Pr[no look reaches] = Σ F_top·F_bottom / that.
 *
 * Both terms of the recursion lie on the diagonal i+j−1, so a diagonal follows from the one before
 * without any order within it, i of the base on it is binomial and needs a narrow band only, and
 * the Poisson weight is one number a diagonal. The top's ends are kept, the bottom's are multiplied
 * with them as they come.
 *
 * All terms are positive; far tails are left out, which errs on the safe side. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"
#include "base/simd.h"
#include "estimate/ranks/scan.h"
#include "math/dist.h"

/* By fineness: the windows, and the tails that are dropped. The sums themselves are accurate to
 * ERROR. */
static const struct {
    double deviations, tail;
} finenesses[] = {{8, 1e-13}, {6, 1e-9}, {4.5, 1e-5}};
static const double ERROR = 1e-11;
/* Rough number of cells to visit; beyond this a chain over the looks is quicker, or, where there is
 * none, simulation. */
static const double FEW = 1e6, FEW_UNEQUAL = 2e7;

/* One zone, from its own end. */
typedef struct zone {
    size_t base, other; /* sizes of the classes */
    double base_share;  /* of the base in this zone */
    double other_share; /* of the other class, those of `certain` not counted */
    double certain;     /* δ */
    double deviations, tail;
    size_t i0, i1, j0, j1; /* where the zone may end */
    size_t *stairs;        /* the largest j allowed at i, for i ≤ i1 */
} zone;

/* log x! − (x+½)·log x + x − ½·log 2π. */
static double stirling_rest(double x) {
    if (x < 16) return dpa__log_gamma(x + 1) - (x + 0.5) * log(x) + x - 0.5 * log(2 * M_PI);
    const double u = 1 / (x * x);
    return (1.0 / 12 - u * (1.0 / 360 - u * (1.0 / 1260 - u * (1.0 / 1680 - u / 1188)))) / x;
}

/* Loader's form: a plain sum of logarithms would lose 1e-11 at x = 10⁴. */
static double poisson(double x, double mean) {
    if (mean == 0) return x == 0;
    if (x == 0) return exp(-mean);
    const double off = (x - mean) / mean;
    return exp(-stirling_rest(x) - (x * log1p(off) - mean * off)) / sqrt(2 * M_PI * x);
}

/* The range of counts that a binomial takes. */
static void window(double n, double share, double deviations, size_t *low, size_t *high) {
    const double mean = n * share, wide = deviations * (sqrt(mean * (1 - share)) + 3);
    *low = (size_t)fmax(0, floor(mean - wide));
    *high = (size_t)fmin(n, ceil(mean + wide));
}

static void shares(const dpa__scan_looks *looks, int end, double epsilon, double delta,
                   dpa__fineness fineness, zone *z) {
    const double larger = 1 / (1 + exp(-epsilon)), smaller = exp(-epsilon) * larger;
    *z = (zone){.base = looks->base[end],
                .other = looks->other[end],
                .base_share = (1 - delta) * smaller,
                .other_share = (1 - delta) * larger,
                .certain = delta,
                .deviations = finenesses[fineness].deviations,
                .tail = finenesses[fineness].tail};
}

/* The bottom's window contains what the top's leaves. */
static void windows(zone *top, zone *bottom) {
    window((double)top->base, top->base_share, top->deviations, &top->i0, &top->i1);
    window((double)top->other, top->certain + top->other_share, top->deviations, &top->j0,
           &top->j1);
    bottom->i0 = bottom->base - top->j1;
    bottom->i1 = bottom->base - top->j0;
    bottom->j0 = bottom->other - top->i1;
    bottom->j1 = bottom->other - top->i0;
}

/* The largest number of the class that come first for certain; larger ones are rare and dropped. */
static size_t most_certain(const zone *z) {
    const double mean = (double)z->other * z->certain;
    if (mean == 0) return 0;
    double x = ceil(mean), rest = poisson(x, mean);
    while (rest > 0.1 * z->tail) rest *= mean / ++x;
    return (size_t)fmin(x - 1, (double)z->j1);
}

static double rate(const zone *z) {
    return (double)z->base * z->base_share + (double)z->other * z->other_share;
}

static double coin(const zone *z) {
    return (double)z->other * z->other_share / rate(z);
}

/* The range of the walk's i after this many steps. Both ends only grow. */
static void band(const zone *z, double steps, double q, size_t *low, size_t *high) {
    const double mean = steps * (1 - q);
    const double wide = z->deviations * (sqrt(steps * q * (1 - q)) + 3);
    *low = (size_t)fmax(0, floor(mean - wide));
    *high = (size_t)fmin((double)z->i1, ceil(mean + wide));
}

static double cells_of(const zone *z) {
    const double steps = (double)(z->i1 + z->j1 + 1);
    size_t low, high;
    band(z, steps, coin(z), &low, &high);
    const double wide = high > low ? (double)(high - low) : 0;
    const double area = (double)(z->i1 - z->i0 + 1) * (double)(z->j1 - z->j0 + 1);
    return steps * (wide + 1) * (double)(most_certain(z) + 1) + area;
}

static void forbid(zone *z, size_t upto, size_t j) {
    /* j is out of reach at every i ≤ upto; j = 0 cannot be: some path would not exist */
    const size_t last = upto < z->i1 ? upto : z->i1;
    if (z->stairs[last] >= j) z->stairs[last] = j > 0 ? j - 1 : 0;
}

static dpa_status make_stairs(const dpa__scan_looks *looks, const dpa__scan_counts *reach, int end,
                              zone *z, dpa_error *err) {
    z->stairs = DPA_NEW_ARRAY(size_t, z->i1 + 1, err);
    if (z->stairs == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i <= z->i1; ++i) z->stairs[i] = z->j1;
    for (size_t l = 0; l < looks->count[end]; ++l)
        if (reach->seen[end][l] <= z->other) forbid(z, looks->k[end][l], reach->seen[end][l]);
    for (size_t l = 0; l < looks->count[1 - end]; ++l) {
        const size_t b = reach->seen[1 - end][l];
        if (b <= z->base) forbid(z, z->base - b, z->other - looks->k[1 - end][l]);
    }
    for (size_t i = z->i1; i > 0; --i)
        if (z->stairs[i - 1] > z->stairs[i]) z->stairs[i - 1] = z->stairs[i];
    return DPA_OK;
}

/* ── the walk, diagonal by diagonal ────────────────────────────────────────────────────────── */

/* Where the zones meet: F of the top on diagonal d (from `first` on) at i (from i0 on), and the
 * sums of F_top·F_bottom by i of the bottom. */
typedef struct meeting {
    const zone *top;
    size_t first, height;
    double *ends, *sums;
} meeting;

DPA_CLONES static void advance(const double *restrict now, double *restrict next, size_t count,
                               double q) {
    const double p = 1 - q;
    for (size_t k = 0; k < count; ++k) next[k] = q * now[k] + p * now[(ptrdiff_t)k - 1];
}

DPA_CLONES static void add_scaled(double *restrict sum, const double *restrict x, size_t count,
                                  double by) {
    for (size_t k = 0; k < count; ++k) sum[k] += by * x[k];
}

DPA_CLONES static void add_product(double *restrict sum, const double *restrict x,
                                   const double *restrict y, size_t count, double by) {
    for (size_t k = 0; k < count; ++k) sum[k] += by * x[k] * y[k];
}

/* Records that the zone may end on diagonal d, with this weight; row[i] for low ≤ i ≤ high. */
static void meet(const meeting *m, const zone *z, size_t d, const double *row, size_t low,
                 size_t high, double weight) {
    if (d < z->i0 + z->j0) return;
    if (low < z->i0) low = z->i0;
    if (d > z->j1 && low < d - z->j1) low = d - z->j1;
    if (high > d - z->j0) high = d - z->j0;
    if (low > high) return;
    const size_t count = high - low + 1;
    if (z == m->top) {
        double *end = m->ends + (d - m->first) * m->height + (low - z->i0);
        add_scaled(end, row + low, count, weight);
    } else {
        const size_t there = z->base + z->other - d, i = low + there - z->base;
        const double *end = m->ends + (there - m->first) * m->height + (i - m->top->i0);
        add_product(m->sums + low, row + low, end, count, weight);
    }
}

/* What a zone's walks share, by the number of steps taken. */
typedef struct stage {
    double size;      /* Pr[the walk has so many steps] */
    size_t low, high; /* the band */
} stage;

/* Follows the paths that start at (0, first). Rows have a zero before i = 0 and start as zeros. */
static void walk(const meeting *m, const zone *z, size_t first, const stage *stages, double *now,
                 double *next) {
    const double q = coin(z);
    const double weight = poisson((double)first, (double)z->other * z->certain);
    size_t least = 0,
           reached = 0; /* the first i under the stairs; the last that has been visited */
    now[0] = 1;
    meet(m, z, first, now, 0, 0, weight * stages[0].size);
    for (size_t d = first + 1; d <= z->i1 + z->j1; ++d) {
        const stage *at = &stages[d - first];
        size_t low = at->low, high = at->high;
        while (least <= z->i1 && least + z->stairs[least] < d) ++least;
        if (low < least) low = least;
        if (high > reached + 1) high = reached + 1;
        if (low > high) return;
        reached = high;
        next[(ptrdiff_t)low - 1] = 0;
        advance(now + low, next + low, high - low + 1, q);
        meet(m, z, d, next, low, high, weight * at->size);
        double *other = now;
        now = next;
        next = other;
    }
}

/* Fills sizes outwards from the likeliest one, by the ratio of neighbours. */
static void fill_stages(const zone *z, stage *stages) {
    const size_t last = z->i1 + z->j1;
    const double mean = rate(z), q = coin(z);
    const size_t mode = (size_t)fmin(floor(mean), (double)last);
    stages[mode].size = poisson((double)mode, mean);
    for (size_t m = mode; m > 0; --m) stages[m - 1].size = stages[m].size * (double)m / mean;
    for (size_t m = mode; m < last; ++m)
        stages[m + 1].size = stages[m].size * mean / (double)(m + 1);
    for (size_t m = 0; m <= last; ++m) band(z, (double)m, q, &stages[m].low, &stages[m].high);
}

static dpa_status fill_zone(const dpa__scan_looks *looks, const dpa__scan_counts *reach, int end,
                            const meeting *m, zone *z, dpa_error *err) {
    const size_t length = z->i1 + 3;
    DPA_TRY(make_stairs(looks, reach, end, z, err));
    double *rows = DPA_NEW_ARRAY(double, 2 * length, err);
    stage *stages = DPA_NEW_ARRAY(stage, z->i1 + z->j1 + 1, err);
    const int is_ready = rows != NULL && stages != NULL;
    if (is_ready) {
        size_t most = most_certain(z);
        if (most > z->stairs[0]) most = z->stairs[0];
        fill_stages(z, stages);
        for (size_t x = 0; x <= most; ++x) {
            memset(rows, 0, 2 * length * sizeof(double));
            walk(m, z, x, stages, rows + 1, rows + length + 1);
        }
    }
    free(rows);
    free(stages);
    return is_ready ? DPA_OK : DPA_NO_MEMORY;
}

static double join(const meeting *m, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += m->sums[i];
    const double a = (double)m->top->base, b = (double)m->top->other;
    return sum / (poisson(a, a) * poisson(b, b));
}

/* Pr[no look reaches]. */
static dpa_status meet_all(const dpa__scan_looks *looks, const dpa__scan_counts *reach, zone *zones,
                           double *out, dpa_error *err) {
    const zone *top = &zones[DPA__SCAN_TOP];
    const size_t height = top->i1 - top->i0 + 1, width = top->j1 - top->j0 + 1;
    const size_t sums = zones[DPA__SCAN_BOTTOM].i1 + 1;
    meeting m = {.top = top, .first = top->i0 + top->j0, .height = height};
    m.ends = dpa__calloc((height + width - 1) * height, sizeof(double), err);
    m.sums = dpa__calloc(sums, sizeof(double), err);
    dpa_status status = m.ends != NULL && m.sums != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (int e = 0; e < DPA__SCAN_ENDS && status == DPA_OK; ++e)
        status = fill_zone(looks, reach, e, &m, &zones[e], err);
    if (status == DPA_OK) *out = join(&m, sums);
    free(m.ends);
    free(m.sums);
    return status;
}

static void open_zones(const dpa__scan_looks *looks, double epsilon, double delta,
                       dpa__fineness fineness, zone *zones) {
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) shares(looks, e, epsilon, delta, fineness, &zones[e]);
    windows(&zones[DPA__SCAN_TOP], &zones[DPA__SCAN_BOTTOM]);
}

int dpa__scan_has_few_paths(const dpa__scan_looks *looks, double epsilon, double delta) {
    zone zones[DPA__SCAN_ENDS];
    open_zones(looks, epsilon, delta, DPA__ROUGH, zones);
    return cells_of(&zones[DPA__SCAN_TOP]) + cells_of(&zones[DPA__SCAN_BOTTOM]) <=
           (dpa__scan_is_unequal(looks) ? FEW_UNEQUAL : FEW);
}

dpa_status dpa__scan_lattice(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                             double epsilon, double delta, dpa__fineness fineness, double *out,
                             dpa_error *err) {
    zone zones[DPA__SCAN_ENDS];
    double quiet = 0;
    open_zones(looks, epsilon, delta, fineness, zones);
    const dpa_status status = meet_all(looks, reach, zones, &quiet, err);
    if (status == DPA_OK) *out = fmin(1, fmax(0, 1 - quiet) + ERROR);
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) free(zones[e].stairs);
    return status;
}
