/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#include <math.h>

#include "base/error.h"
#include "estimate/berkjones.h"

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
