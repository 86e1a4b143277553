/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fisher's exact test of a 2x2 table (Fisher 1934), two-sided by the order of probabilities.
 *
 * Given that k of n trainings failed, the number x of them among m members is hypergeometric if
 * failing does not depend on membership. Its probabilities follow from each other,
 *     P(x + 1)/P(x) = (m - x)(k - x) / ((x + 1)(n - m - k + x + 1)),
 * so they are summed from the mode outwards, relative to it, without any factorial; the relative
 * error is some 1e-16 per term. Splits count as equally likely when they agree to 1e-9. */
#include "estimate/failures.h"

#include <math.h>

typedef struct table {
    double m, k, rest; /* members; failed; n - m - k */
} table;

static double step_up(const table *t, double x) {
    return (t->m - x) * (t->k - x) / ((x + 1.0) * (t->rest + x + 1.0));
}

/* The probability of x, relative to that of `from`. */
static double relative(const table *t, double from, double x) {
    double p = 1.0;
    for (double i = from; i < x && p > 0.0; ++i) p *= step_up(t, i);
    for (double i = from; i > x && p > 0.0; --i) p /= step_up(t, i - 1.0);
    return p;
}

double dpa__failures_test(const dpa__failure_counts *c) {
    if (c->failed_members > c->members || c->failed_nonmembers > c->nonmembers) return (double)NAN;
    const double x = (double)c->failed_members, m = (double)c->members;
    const double k = x + (double)c->failed_nonmembers, n = m + (double)c->nonmembers;
    const table t = {m, k, n - m - k};
    const double least = fmax(0.0, -t.rest), most = fmin(m, k);
    if (least == most) return 1.0;
    const double mode = fmin(fmax(floor((m + 1.0) * (k + 1.0) / (n + 2.0)), least), most);
    const double seen = relative(&t, mode, x) * (1.0 + 1e-9);
    double all = 0.0, unlikely = 0.0;
    double p = 1.0;
    for (double i = mode; i <= most && p > 0.0; ++i) {
        all += p;
        if (p <= seen) unlikely += p;
        p *= step_up(&t, i);
    }
    p = 1.0;
    for (double i = mode; i > least && p > 0.0;) {
        p /= step_up(&t, --i);
        all += p;
        if (p <= seen) unlikely += p;
    }
    return fmin(1.0, unlikely / all);
}
