/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated pairs of samples under a curve f, only as far as the scan looks: O(log n) a replicate.
 *
 * Non-members have uniform rates V, members W = g⁻¹(U) with g = 1−f and U uniform. From the top the
 * order statistics of V at the looks are partial sums of gamma variables; the members between two
 * of them are binomial. That cuts both samples into cells in which V and U are uniform again, so
 * from the bottom the (k+1)-th lowest member is a beta order statistic of its cell, and the
 * non-members below it are binomial: both cells are then split there and go on. Exact for every n.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "estimate/ranks/scan.h"

/* Exact random numbers for draws of order statistics and counts.
 *
 * Gamma: Marsaglia and Tsang (2000). Binomial: counting geometric gaps where few are expected
 * (Devroye 1986, X.4.3), else Hörmann's transformed rejection (1993) with the exact ratio of
 * probabilities. All to double precision; nothing is approximated by a normal law. */

double dpa__random_gamma(dpa_rng *rng, double shape) {
    if (shape == 1) return -log(dpa__rng_uniform(rng));
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = dpa__rng_normal(rng), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = dpa__rng_uniform(rng);
        if (u < 1 - 0.0331 * x * x * x * x) return d * v;
        if (log(u) < 0.5 * x * x + d * (1 - v + log(v))) return d * v;
    }
}

static double random_beta(dpa_rng *rng, double a, double b) {
    const double x = dpa__random_gamma(rng, a);
    return x / (x + dpa__random_gamma(rng, b));
}

/* Gaps between successes are geometric. For p ≤ ½ and small np. */
static double by_gaps(dpa_rng *rng, double n, double p) {
    const double scale = 1 / log1p(-p);
    double passed = 0, count = 0;
    for (;;) {
        passed += floor(log(dpa__rng_uniform(rng)) * scale) + 1;
        if (passed > n) return count;
        ++count;
    }
}

/* log k! − (k+½)·log(k+1) + (k+1) − ½·log 2π. */
static double stirling_rest(double k) {
    static const double small[] = {0.08106146679532726, 0.04134069595540929, 0.02767792568499834,
                                   0.02079067210376509, 0.01664469118982119, 0.01387612882307075,
                                   0.01189670994589177, 0.01041126526197209, 0.009255462182712733,
                                   0.008330563433362871};
    if (k < 10) return small[(int)k];
    const double u = 1 / ((k + 1) * (k + 1));
    return (1.0 / 12 - u * (1.0 / 360 - u / 1260)) / (k + 1);
}

/* Hörmann's BTRS, for p ≤ ½ and np ≥ 10. */
static double by_rejection(dpa_rng *rng, double n, double p) {
    const double spread = sqrt(n * p * (1 - p));
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double c = n * p + 0.5, alpha = (2.83 + 5.1 / b) * spread, top = 0.92 - 4.2 / b;
    const double odds = p / (1 - p), mode = floor((n + 1) * p);
    for (;;) {
        const double u = dpa__rng_uniform(rng) - 0.5, v = dpa__rng_uniform(rng);
        const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= top) return k;
        const double height = log(v * alpha / (a / (us * us) + b));
        const double ratio = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) +
                             (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                             (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                             stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
        if (height <= ratio) return k;
    }
}

double dpa__random_binomial(dpa_rng *rng, double n, double p) {
    if (!(p > 0) || n == 0) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - dpa__random_binomial(rng, n, 1 - p);
    return n * p < 10 ? by_gaps(rng, n, p) : by_rejection(rng, n, p);
}

enum { CHUNK = 32 };

/* Part of the order: between two looks from the top. */
typedef struct cell {
    double members, others; /* inside */
    double u, v;            /* where it ends: U of members, V of the others */
} cell;

/* Cells from the top, one more than looks; the last contains all remaining scores. The look at the
 * end of a cell is a separate non-member. */
static int draw_top(const dpa__scan_law *law, size_t used, dpa_rng *rng, cell *cells,
                    const dpa__scan_counts *reach, dpa__scan_counts *out) {
    const double n0 = (double)law->looks->base[DPA__SCAN_TOP];
    const size_t *k = law->looks->k[DPA__SCAN_TOP];
    double sum = 0, members = (double)law->looks->other[DPA__SCAN_TOP], u = 0, miss = 1;
    for (size_t l = 0; l < used; ++l) {
        const size_t step = l == 0 ? k[0] + 1 : k[l] - k[l - 1];
        sum += dpa__random_gamma(rng, (double)step);
        cells[l].v = sum;
        cells[l].others = (double)step - 1;
    }
    const double rest = n0 - (double)(k[used - 1] + 1);
    sum += dpa__random_gamma(rng, rest + 1);
    for (size_t l = 0; l < used; ++l) {
        cells[l].v /= sum;
        cells[l].u = dpa__curve_tpr(law->curve, cells[l].v);
        const double share = miss > 0 ? (cells[l].u - u) / miss : 0;
        cells[l].members = dpa__random_binomial(rng, members, share);
        members -= cells[l].members;
        u = cells[l].u;
        /* 1 − u is as exact unless it is small */
        miss = u < 0.9 ? 1 - u : dpa_curve_fnr(law->curve, cells[l].v);
        out->seen[DPA__SCAN_TOP][l] =
            law->looks->other[DPA__SCAN_TOP] - (size_t)members; /* above this look */
        if (reach != NULL && out->seen[DPA__SCAN_TOP][l] >= reach->seen[DPA__SCAN_TOP][l]) return 1;
    }
    cells[used] = (cell){members, rest, 1, 1};
    return 0;
}

static int draw_bottom(const dpa__scan_law *law, size_t used, dpa_rng *rng, cell *cells,
                       size_t last, const dpa__scan_counts *reach, dpa__scan_counts *out) {
    const size_t *k = law->looks->k[DPA__SCAN_BOTTOM];
    cell *c = &cells[last];
    double below = 0;
    for (size_t l = 0; l < used; ++l) {
        double step = (double)(l == 0 ? k[0] + 1 : k[l] - k[l - 1]);
        for (; step > c->members; --c) { /* the look between two cells counts as one more */
            step -= c->members;
            below += c->others + 1;
        }
        const double u0 = c > cells ? c[-1].u : 0, v0 = c > cells ? c[-1].v : 0;
        const double u = c->u - (c->u - u0) * random_beta(rng, step, c->members - step + 1);
        const double v = fmin(fmax(dpa__curve_fpr_at_tpr(law->curve, u), v0), c->v);
        const double share = c->v > v0 ? (c->v - v) / (c->v - v0) : 0;
        const double more = dpa__random_binomial(rng, c->others, share);
        below += more;
        *c = (cell){c->members - step, c->others - more, u, v};
        out->seen[DPA__SCAN_BOTTOM][l] = (size_t)below;
        if (reach != NULL && out->seen[DPA__SCAN_BOTTOM][l] >= reach->seen[DPA__SCAN_BOTTOM][l])
            return 1;
    }
    return 0;
}

int dpa__scan_draw(const dpa__scan_law *law, const size_t used[DPA__SCAN_ENDS], uint64_t index,
                   const dpa__scan_counts *reach, double *room, dpa__scan_counts *out) {
    dpa_rng rng;
    cell *cells = (cell *)room;
    dpa__rng_init(&rng, law->seed, DPA_PURPOSE_RANK, ((law->stream + 1) << 32) + index);
    return draw_top(law, used[DPA__SCAN_TOP], &rng, cells, reach, out) ||
           draw_bottom(law, used[DPA__SCAN_BOTTOM], &rng, cells, used[DPA__SCAN_TOP], reach, out);
}

/* ── how many reach ────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const dpa__scan_law *law;
    const size_t *used;
    const dpa__scan_counts *reach;
    size_t from, to, most;
    atomic_size_t reached;
    atomic_int has_failed;
} job;

static int play(void *user, size_t task) {
    job *j = user;
    dpa_error ignored;
    dpa__scan_counts counts = {{NULL, NULL}};
    double *room = DPA_NEW_ARRAY(double, 4 * (j->used[DPA__SCAN_TOP] + 1), &ignored);
    const int is_ready =
        room != NULL && dpa__scan_counts_new(j->law->looks, &counts, &ignored) == DPA_OK;
    if (!is_ready) atomic_store(&j->has_failed, 1);
    const size_t from = j->from + task * CHUNK, end = from + CHUNK;
    for (size_t b = from; is_ready && b < end && b < j->to; ++b) {
        if (dpa__scan_draw(j->law, j->used, b, j->reach, room, &counts))
            atomic_fetch_add(&j->reached, 1);
    }
    free(room);
    dpa__scan_counts_free(&counts);
    return !is_ready || atomic_load(&j->reached) > j->most;
}

dpa_status dpa__scan_simulate(const dpa__scan_law *law, const size_t used[DPA__SCAN_ENDS],
                              const dpa__scan_counts *reach, size_t from, size_t to, size_t most,
                              size_t *reached, dpa_error *err) {
    job j = {.law = law, .used = used, .reach = reach, .from = from, .to = to, .most = most};
    const dpa_status status =
        dpa__parallel(law->threads, (to - from + CHUNK - 1) / CHUNK, play, &j, err);
    *reached = atomic_load(&j.reached);
    if (atomic_load(&j.has_failed)) return dpa__fail(err, DPA_NO_MEMORY, "out of memory");
    if (status == DPA_CANCELLED && *reached > most) return DPA_OK; /* enough is known */
    return status;
}
