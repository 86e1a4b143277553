/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scan of cosines whose null is known (docs/methods/one-shot-cosines.md). Let W_i be the rate
 * at which absent canaries reach the i-th highest of k cosines. If the trade-off is at least f,
 * 1−f(W_i) is no smaller than the i-th of k uniform order statistics U_(i), so
 *   T = max over i of k·KL⁺(i/k ‖ 1−f(W_i)) − log(1+log i)
 * is stochastically at most the same of U, whatever f is: one critical value serves every ε, and
 * its law is a boundary that order statistics cross, by the exact recursion of berkjones.c. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/berkjones.h"
#include "estimate/cosine.h"
#include "math/root.h"

/* The u < i/k with k·KL(i/k ‖ u) = value. In log u the divergence is convex, so Newton's steps from
 * a point where it is larger (KL ≥ a·log(a/u) − a + u) stay there and approach it. */
static double least_rate(double i, double k, double value) {
    const double a = i / k, wanted = value / k;
    double x = log(a) - wanted / a - 1;
    for (int step = 0; step < 60; ++step) {
        const double u = exp(x);
        const double rest = a < 1 ? (1 - a) * (log1p(-a) - log1p(-u)) : 0;
        const double excess = a * (log(a) - x) + rest - wanted;
        const double move = excess / (a - (1 - a) * u / (1 - u));
        if (!(move > 1e-14 * fabs(x))) break;
        x += move;
    }
    return exp(x);
}

/* Far down every 512th part of a place is looked at: between two looks the boundary is flat, and
 * the recursion has nothing to do. */
enum { PARTS = 512 };

static void fill(size_t count, double value, double *rate) {
    for (size_t i = 1; i <= count; ++i) {
        const int is_look = i < PARTS || i % (i / PARTS) == 0;
        const double here =
            is_look ? least_rate((double)i, (double)count, value + log1p(log((double)i))) : 0;
        /* U_(i) is never below U_(i−1) */
        rate[i - 1] = i > 1 ? fmax(here, rate[i - 2]) : here;
    }
}

typedef struct search {
    size_t count;
    double p, *rate;
    dpa_status status;
    dpa_error *err;
} search;

static double excess(double value, void *user) {
    search *s = user;
    double crossing = 0;
    fill(s->count, value, s->rate);
    if (s->status == DPA_OK) s->status = dpa__crossing(s->count, s->rate, &crossing, s->err);
    return s->status == DPA_OK ? log(fmax(crossing, 1e-300) / s->p) : (double)NAN;
}

dpa_status dpa__cosine_scan_limits(size_t count, double p, double *limit, dpa_error *err) {
    if (count > DPA__COSINE_SCAN_MOST)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method scan: %zu canaries; at most %d, or method jeffreys with select "
                         "simultaneous",
                         count, DPA__COSINE_SCAN_MOST);
    double *rate = DPA_NEW_ARRAY(double, count, err);
    search s = {count, p, rate, DPA_OK, err};
    dpa__bracket root = {0};
    if (rate == NULL) return DPA_NO_MEMORY;
    /* Pr[k·KL⁺ ≥ z] ≤ exp(−z) for each i, so the upper end is beyond */
    const double least = 1e-3, most = log((double)count / p) + 1;
    dpa_status status = DPA_OK;
    if (excess(least, &s) > 0)
        status = dpa__root(excess, &s, least, most, 1e-4, 0, &root, err);
    else
        root.upper = least;
    if (s.status != DPA_OK) status = s.status;
    if (status == DPA_OK) fill(count, root.upper, rate);
    limit[count] = 1; /* nothing was found */
    for (size_t missed = 0; missed < count; ++missed) limit[missed] = 1 - rate[count - missed - 1];
    free(rate);
    return status;
}
