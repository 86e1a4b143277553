/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Piecewise linear curves from what is known of a mechanism: either achieved (fpr, fnr) points,
 * whose lower convex hull is the largest trade-off curve below them (Andrew's monotone chain), or
 * the masses of two discrete distributions, which the Neyman–Pearson lemma orders by their ratio.
 * Masses keep full relative accuracy at both ends; differences of rates near one would not. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"
#include "tradeoff/points.h"

typedef struct pair {
    double x, y;
} pair;

static int by_x_then_y(const void *a, const void *b) {
    const pair *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* Is b on or above the line from a to c? Products of small rates stay in the range of long double.
 */
static int is_above(pair a, pair b, pair c) {
    return (long double)(b.x - a.x) * (c.y - a.y) <= (long double)(b.y - a.y) * (c.x - a.x);
}

/* Keeps the lower hull of the sorted points in place. Returns the number of vertices up to the
 * first with y = 0. */
static size_t lower_hull(pair *p, size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count; ++i) {
        if (used > 0 && p[i].y >= p[used - 1].y) continue; /* not lower than the last vertex */
        while (used > 1 && is_above(p[used - 2], p[used - 1], p[i])) --used;
        p[used++] = p[i];
    }
    return used;
}

static dpa_status curve_of(const pair *p, size_t count, dpa_curve **out, dpa_error *err) {
    dpa__points *curve = dpa__points_new(count, err);
    if (curve == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        curve->fpr[i] = p[i].x;
        curve->tnr[i] = 1.0 - p[i].x;
        curve->fnr[i] = p[i].y;
        curve->tpr[i] = 1.0 - p[i].y;
        if (i == 0) continue;
        curve->dx[i - 1] = p[i].x - p[i - 1].x;
        curve->dy[i - 1] = p[i - 1].y - p[i].y;
    }
    dpa__points_seal(curve);
    *out = &curve->base;
    return DPA_OK;
}

dpa_status dpa_curve_points(const double *fpr, const double *fnr, size_t count, dpa_curve **out,
                            dpa_error *err) {
    for (size_t i = 0; i < count; ++i)
        if (!(fpr[i] >= 0.0 && fpr[i] <= 1.0 && fnr[i] >= 0.0 && fnr[i] <= 1.0))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "point %zu is (%g, %g); both rates must be from 0 to 1", i + 1, fpr[i],
                             fnr[i]);
    pair *p = DPA_NEW_ARRAY(pair, count + 2, err);
    if (p == NULL) return DPA_NO_MEMORY;
    /* 0.0 turns −0 into 0 */
    for (size_t i = 0; i < count; ++i) p[i] = (pair){fpr[i] + 0.0, fnr[i] + 0.0}; /* no −0 */
    p[count] = (pair){0.0, 1.0};
    p[count + 1] = (pair){1.0, 0.0};
    qsort(p, count + 2, sizeof *p, by_x_then_y);
    const dpa_status status = curve_of(p, lower_hull(p, count + 2), out, err);
    free(p);
    return status;
}

/* Larger ratio in/out first. */
static int by_ratio(const void *a, const void *b) {
    const pair *p = a, *q = b;
    const long double left = (long double)p->y * q->x, right = (long double)q->y * p->x;
    return (left < right) - (left > right);
}

static dpa_status check_masses(const double *member, const double *nonmember, size_t count,
                               dpa_error *err) {
    dpa__sum total[2] = {{0.0, 0.0}, {0.0, 0.0}};
    for (size_t i = 0; i < count; ++i) {
        if (!(member[i] >= 0.0 && member[i] <= 1.0 && nonmember[i] >= 0.0 && nonmember[i] <= 1.0))
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "cell %zu has masses %g and %g; both must be from 0 to 1", i + 1,
                             member[i], nonmember[i]);
        dpa__sum_add(&total[0], member[i]);
        dpa__sum_add(&total[1], nonmember[i]);
    }
    for (int k = 0; k < 2; ++k)
        if (!(fabs(dpa__sum_get(&total[k]) - 1.0) <= 1e-9))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "the %s masses sum to %.12g; it must be 1",
                             k == 0 ? "member" : "non-member", dpa__sum_get(&total[k]));
    return DPA_OK;
}

/* Rates at the vertices, each summed from the end at which it is small. */
static void accumulate(dpa__points *c, double only_in, double only_out) {
    const size_t last = c->count - 1;
    dpa__sum tpr = {only_in, 0.0}, fpr = {0.0, 0.0}, tnr = {only_out, 0.0}, fnr = {0.0, 0.0};
    c->tpr[0] = only_in;
    c->tnr[last] = only_out;
    for (size_t i = 0; i < last; ++i) {
        dpa__sum_add(&tpr, c->dy[i]);
        dpa__sum_add(&fpr, c->dx[i]);
        c->tpr[i + 1] = fmin(1.0, dpa__sum_get(&tpr));
        c->fpr[i + 1] = fmin(1.0, dpa__sum_get(&fpr));
    }
    for (size_t i = last; i-- > 0;) {
        dpa__sum_add(&tnr, c->dx[i]);
        dpa__sum_add(&fnr, c->dy[i]);
        c->tnr[i] = fmin(1.0, dpa__sum_get(&tnr));
        c->fnr[i] = fmin(1.0, dpa__sum_get(&fnr));
    }
}

dpa_status dpa__curve_masses(const double *member, const double *nonmember, size_t count,
                             dpa_curve **out, dpa_error *err) {
    DPA_TRY(check_masses(member, nonmember, count, err));
    pair *p = DPA_NEW_ARRAY(pair, count, err);
    if (p == NULL) return DPA_NO_MEMORY;
    double only_in = 0.0, only_out = 0.0;
    size_t both = 0;
    for (size_t i = 0; i < count; ++i) {
        if (member[i] > 0.0 && nonmember[i] > 0.0)
            p[both++] = (pair){nonmember[i], member[i]};
        else if (member[i] > 0.0)
            only_in += member[i];
        else
            only_out += nonmember[i];
    }
    qsort(p, both, sizeof *p, by_ratio);
    dpa__points *curve = dpa__points_new(both + 1, err);
    if (curve != NULL) {
        for (size_t i = 0; i < both; ++i) {
            curve->dx[i] = p[i].x;
            curve->dy[i] = p[i].y;
        }
        accumulate(curve, only_in, only_out);
        dpa__points_seal(curve);
        *out = &curve->base;
    }
    free(p);
    return curve != NULL ? DPA_OK : DPA_NO_MEMORY;
}
