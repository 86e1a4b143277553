/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level for all order statistics at once: the one-sided Berk–Jones band. */
#ifndef DPA_ESTIMATE_BERKJONES_H
#define DPA_ESTIMATE_BERKJONES_H

#include <stddef.h>

#include "dpaudit/status.h"

/* Pr[U_(i) < a_i for some i] for n ≥ 1 uniform order statistics and a rising boundary a, which is
 * a[i − 1]. Exact recursion, absolute error below 1e-11; time n^1.5. */
dpa_status dpa__crossing(size_t n, const double *a, double *out, dpa_error *err);
/* The same with a_i the γ-quantile of Beta(i, n−i+1). */
dpa_status dpa__berkjones_crossing(size_t n, double gamma, double *out, dpa_error *err);
/* The γ whose crossing probability is p, by the exact recursion, to 1e-9 relative, rounded down. */
dpa_status dpa__berkjones_exact(size_t n, double p, double *gamma, dpa_error *err);

typedef enum dpa__berkjones_how {
    DPA__BERKJONES_EXACT,        /* the recursion */
    DPA__BERKJONES_TABLE,        /* between two rows of the committed table, minus a margin */
    DPA__BERKJONES_EXTRAPOLATED, /* past its last row, in log n, minus a larger margin */
    DPA__BERKJONES_UNION         /* p/n: for a p outside the table */
} dpa__berkjones_how;

const char *dpa__berkjones_how_text(dpa__berkjones_how how);
/* A γ that is never above the exact one: from the recursion for small n, else from the table. */
dpa_status dpa__berkjones_level(size_t n, double p, double *gamma, dpa__berkjones_how *how,
                                dpa_error *err);

/* The table: −log(1 − crossing probability) at n = first·2^(row/2) and γ = 10^(−column/3 − 1). */
enum { DPA__BERKJONES_ROWS = 21, DPA__BERKJONES_COLUMNS = 25, DPA__BERKJONES_FIRST = 100 };
extern const float dpa__berkjones_table[DPA__BERKJONES_ROWS][DPA__BERKJONES_COLUMNS];
size_t dpa__berkjones_row_n(size_t row);
double dpa__berkjones_column_log_gamma(size_t column);

#endif
