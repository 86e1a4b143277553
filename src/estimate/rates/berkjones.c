/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The crossing probability of a one-sided boundary by order statistics.
 *
 * U_(i) ≥ a_i for all i says that fewer than i of n uniform points lie below a_i. Let the points
 * come from a Poisson process of rate n, condition on n of them at the end: then the number N of
 * points below a_i moves by independent Poisson steps, and
 *   q_i(j) = Pr[N(a_i) = j, never crossed] = Σ_k q_{i−1}(j−k)·Pois(k; n(a_i − a_{i−1})), j < i.
 * All terms are positive: nothing cancels. j is kept within ten deviations of its mean (1e-23);
 * near the diagonal a step has mean about 1, hence n^1.5 operations. */
#include "estimate/rates/berkjones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"
#include "math/dist.h"
#include "math/root.h"

enum { KERNEL = 512 };

static double log_poisson(double k, double mean) {
    return mean > 0 ? k * log(mean) - mean - dpa__log_gamma(k + 1) : (k > 0 ? -HUGE_VAL : 0);
}

/* Fills Poisson weights from 0 on until they are below 1e-22; returns how many. */
static size_t kernel_of(double mean, double *weight) {
    size_t k = 0;
    double w = exp(-mean);
    do {
        weight[k++] = w;
        w *= mean / (double)k;
    } while (k < KERNEL && (w > 1e-22 || (double)k < mean));
    return k;
}

/* states[j−low] for j in [low, high); `out` must differ from `states`. */
typedef struct window {
    double *states, *next;
    size_t low, high;
} window;

static void step(window *w, const double *kernel, size_t count, size_t low, size_t high) {
    memset(w->next, 0, (high - low) * sizeof *w->next);
    for (size_t k = 0; k < count; ++k) {
        const size_t from = w->low + k > low ? w->low : low - k;
        const size_t to = w->high + k < high ? w->high : high - k;
        if (from >= to || high < k) continue;
        const double *in = w->states + (from - w->low);
        double *restrict out = w->next + (from + k - low);
        const double weight = kernel[k];
        for (size_t j = 0; j < to - from; ++j) out[j] += weight * in[j];
    }
    double *swap = w->states;
    w->states = w->next;
    w->next = swap;
    w->low = low;
    w->high = high;
}

/* Counts worth keeping if `mean` are expected: from `low`, and below `high`. */
typedef struct range {
    size_t low, high;
} range;

static range likely(double mean) {
    const double far = 10 * sqrt(mean) + 30;
    return (range){mean > far ? (size_t)(mean - far) : 0, (size_t)(mean + far) + 1};
}

/* Goes on from boundary `before` to `here`, in parts that the kernel can hold; keeps counts below
 * `most`. Returns 0 if nothing is left. */
static int advance(window *w, double n, double before, double here, size_t most) {
    static const double LARGEST = 200;
    const double parts = fmax(1, ceil(n * (here - before) / LARGEST));
    double kernel[KERNEL];
    const size_t count = kernel_of(n * (here - before) / parts, kernel);
    for (double part = 1; part <= parts; ++part) {
        range keep = likely(n * (before + (here - before) * part / parts));
        if (keep.low < w->low) keep.low = w->low;
        if (keep.high > most) keep.high = most;
        if (keep.low >= keep.high) return 0;
        step(w, kernel, count, keep.low, keep.high);
    }
    return 1;
}

static double finish(const window *w, size_t n, double last) {
    const double size = (double)n, rest = size * (1 - last);
    const double whole = log_poisson(size, size);
    double stay = 0;
    for (size_t j = w->low; j < w->high; ++j) {
        const double mass = w->states[j - w->low];
        if (mass > 0) stay += exp(log(mass) + log_poisson(size - (double)j, rest) - whole);
    }
    return fmin(fmax(1 - stay, 0), 1);
}

dpa_status dpa__crossing(size_t n, const double *a, double *out, dpa_error *err) {
    const size_t width = (size_t)(24 * sqrt((double)n)) + 600;
    double *memory = DPA_NEW_ARRAY(double, 2 * width, err);
    if (memory == NULL) return DPA_NO_MEMORY;
    window w = {memory, memory + width, 0, 1};
    double before = 0;
    int is_open = 1; /* there are samples that have not crossed */
    w.states[0] = 1;
    for (size_t i = 1; i <= n && is_open; ++i) {
        is_open = advance(&w, (double)n, before, fmax(a[i - 1], before), i);
        before = fmax(a[i - 1], before);
    }
    *out = is_open ? finish(&w, n, before) : 1;
    free(memory);
    return DPA_OK;
}

dpa_status dpa__berkjones_crossing(size_t n, double gamma, double *out, dpa_error *err) {
    if (n == 0 || !(gamma > 0 && gamma < 1))
        return dpa__fail(err, DPA_INTERNAL, "Berk-Jones: n = %zu, gamma = %g", n, gamma);
    double *a = DPA_NEW_ARRAY(double, n, err);
    if (a == NULL) return DPA_NO_MEMORY;
    for (size_t i = 1; i <= n; ++i)
        a[i - 1] = dpa__beta_quantile(gamma, (double)i, (double)(n - i) + 1, DPA_LOWER);
    const dpa_status status = dpa__crossing(n, a, out, err);
    free(a);
    return status;
}

typedef struct search {
    size_t n;
    double p;
} search;

static dpa_status excess(double log_gamma, void *user, double *out, dpa_error *err) {
    const search *s = user;
    double crossing;
    DPA_TRY(dpa__berkjones_crossing(s->n, exp(log_gamma), &crossing, err));
    *out = log(crossing / s->p);
    return DPA_OK;
}

dpa_status dpa__berkjones_exact(size_t n, double p, double *gamma, dpa_error *err) {
    search s = {n, p};
    dpa__bracket root;
    *gamma = p;
    if (n == 1) return DPA_OK;
    /* the union bound is a lower end; a single order statistic gives an upper end */
    DPA_TRY(dpa__root_try(excess, &s, log(p / (double)n), log(p), 1e-10, 0, &root, err));
    *gamma = exp(root.lower);
    return DPA_OK;
}

/* The level of the band without the cost of the recursion.
 *
 * Up to EXACT_LIMIT points the recursion is run. Beyond, Λ(n,γ) = −log(1 − crossing) comes from
 * the committed table (made by bench/bench_berkjones table), linear in log n between rows, and
 * log Λ linear in log γ between columns. In the middle of the sample the scaled order statistics
 * are a stationary process in the time log(u/(1−u)), and n points cover a stretch of it that
 * grows like log n. So Λ is a constant from the two ends plus a multiple of log n, and past the
 * last row (n = 102400) it is extrapolated along its last two octaves. The answer is lowered by
 * MARGIN (or FAR_MARGIN), which exceeds the interpolation error wherever the recursion was run
 * (tests/unit/test_berkjones.c). */

enum { EXACT_LIMIT = 200 };
static const double MARGIN = 0.01, FAR_MARGIN = 0.03;

const char *dpa__berkjones_how_text(dpa__berkjones_how how) {
    static const char *const text[] = {"exact", "table", "extrapolated", "union-bound"};
    return text[how];
}

size_t dpa__berkjones_row_n(size_t row) {
    return (size_t)floor(DPA__BERKJONES_FIRST * exp2(0.5 * (double)row) + 0.5);
}

double dpa__berkjones_column_log_gamma(size_t column) {
    return -M_LN10 * ((double)column / 3 + 1);
}

/* Λ in a column: between the rows around n, or extrapolated past the last two octaves. */
static double at_column(size_t row, double share, size_t column) {
    const double low = (double)dpa__berkjones_table[row][column];
    const double high = (double)dpa__berkjones_table[row + 1][column];
    if (share <= 1) return low + share * (high - low);
    const double back = (double)dpa__berkjones_table[row - 3][column];
    return high + (share - 1) * (high - back) / 4;
}

dpa_status dpa__berkjones_level(size_t n, double p, double *gamma, dpa__berkjones_how *how,
                                dpa_error *err) {
    if (n == 0 || !(p > 0 && p < 1))
        return dpa__fail(err, DPA_INTERNAL, "Berk-Jones: n = %zu, p = %g", n, p);
    *how = DPA__BERKJONES_EXACT;
    if (n <= EXACT_LIMIT) return dpa__berkjones_exact(n, p, gamma, err);
    size_t row = DPA__BERKJONES_ROWS - 2;
    while (row > 0 && dpa__berkjones_row_n(row) > n) --row;
    const double from = log((double)dpa__berkjones_row_n(row));
    const double share =
        (log((double)n) - from) / (log((double)dpa__berkjones_row_n(row + 1)) - from);
    *how = share > 1 ? DPA__BERKJONES_EXTRAPOLATED : DPA__BERKJONES_TABLE;
    const double wanted = -log1p(-p);
    size_t column = 0; /* Λ falls with the column */
    while (column < DPA__BERKJONES_COLUMNS && at_column(row, share, column) > wanted) ++column;
    if (column == 0 || column == DPA__BERKJONES_COLUMNS) {
        *how = DPA__BERKJONES_UNION;
        *gamma = p / (double)n;
        return DPA_OK;
    }
    const double above = log(at_column(row, share, column - 1)),
                 below = log(at_column(row, share, column));
    const double where = (log(wanted) - below) / (above - below);
    const double log_gamma = dpa__berkjones_column_log_gamma(column) +
                             where * (dpa__berkjones_column_log_gamma(column - 1) -
                                      dpa__berkjones_column_log_gamma(column));
    *gamma = exp(log_gamma) * (1 - (share > 1 ? FAR_MARGIN : MARGIN));
    return DPA_OK;
}
