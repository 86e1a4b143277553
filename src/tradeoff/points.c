/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Piecewise linear convex curves: every answer is exact up to rounding. A rate is found by a binary
 * search over the vertices, without branches that depend on data (about 4 ns a halving); δ(ε) is
 * attained at the vertex where the slope passes −e^ε, and ε(δ) solves the linear piece
 * δ = tpr_i − e^ε fpr_i that is active there: a binary search as well. */
#include "tradeoff/curve.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static const dpa__points *points(const dpa_curve *curve) {
    return (const dpa__points *)curve;
}

/* The last i in [0, count) with ascending[i] < x; 0 when there is none. */
static size_t last_below(const double *ascending, size_t count, double x) {
    const double *base = ascending;
    while (count > 1) {
        const size_t half = count / 2;
        base += base[half] < x ? half : 0;
        count -= half;
    }
    return (size_t)(base - ascending);
}

/* The same in a descending array: the last i with descending[i] > x. */
static size_t last_above(const double *descending, size_t count, double x) {
    const double *base = descending;
    while (count > 1) {
        const size_t half = count / 2;
        base += base[half] > x ? half : 0;
        count -= half;
    }
    return (size_t)(base - descending);
}

static double points_fnr(const dpa_curve *curve, double fpr) {
    const dpa__points *p = points(curve);
    const size_t last = p->count - 1;
    if (fpr >= p->fpr[last]) return 0.0;
    const size_t i = last_below(p->fpr, last, fpr);
    return p->fnr[i + 1] + p->dy[i] * fmin(1.0, (p->fpr[i + 1] - fpr) / p->dx[i]);
}

static double points_tpr(const dpa_curve *curve, double fpr) {
    const dpa__points *p = points(curve);
    const size_t last = p->count - 1;
    if (fpr >= p->fpr[last]) return 1.0;
    const size_t i = last_below(p->fpr, last, fpr);
    return p->tpr[i] + p->dy[i] * fmin(1.0, (fpr - p->fpr[i]) / p->dx[i]);
}

static double points_fpr(const dpa_curve *curve, double fnr) {
    const dpa__points *p = points(curve);
    if (fnr >= p->fnr[0]) return 0.0;
    const size_t i = last_above(p->fnr, p->count - 1, fnr);
    return p->fpr[i] + p->dx[i] * fmin(1.0, (p->fnr[i] - fnr) / p->dy[i]);
}

static double points_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    const dpa__points *p = points(curve);
    if (tpr <= p->tpr[0]) return 0.0;
    const size_t i = last_below(p->tpr, p->count - 1, tpr);
    return p->fpr[i] + p->dx[i] * fmin(1.0, (tpr - p->tpr[i]) / p->dy[i]);
}

static double points_log_fnr(const dpa_curve *curve, double log_fpr) {
    const dpa__points *p = points(curve);
    const size_t last = p->count - 1;
    if (log_fpr < -0.5) {
        const double fpr = exp(log_fpr), tpr = points_tpr(curve, fpr);
        return tpr < 0.5 ? log1p(-tpr) : log(points_fnr(curve, fpr));
    }
    const double tnr = -expm1(log_fpr); /* near fpr = 1 this is the accurate one */
    if (tnr <= p->tnr[last]) return -INFINITY;
    const size_t i = last_above(p->tnr, last, tnr);
    return log(p->fnr[i + 1] + p->dy[i] * fmin(1.0, (tnr - p->tnr[i + 1]) / p->dx[i]));
}

/* A curve read forward, with (mass, cost) of vertex i = (tpr, fpr) and segments by falling dy/dx,
 * or backward, which is the same picture from the other end. */
typedef struct view {
    const double *mass, *cost, *gain, *loss; /* gain, loss: lengths of the segments */
    size_t last;
    int reversed;
} view;

static view view_of(const dpa__points *p, dpa__way side) {
    if (side == DPA__FORWARD) return (view){p->tpr, p->fpr, p->dy, p->dx, p->count - 1, 0};
    return (view){p->tnr, p->fnr, p->dx, p->dy, p->count - 1, 1};
}

static size_t vertex(const view *v, size_t k) {
    return v->reversed ? v->last - k : k;
}

static size_t segment(const view *v, size_t k) {
    return v->reversed ? v->last - 1 - k : k;
}

/* The vertex that the line of slope −e^ε touches: the end of the last segment with log slope above
 * ε. */
static size_t touched(const view *v, double epsilon) {
    size_t low = 0, high = v->last;
    while (low < high) {
        const size_t middle = low + (high - low) / 2, s = segment(v, middle);
        if (log(v->gain[s]) - log(v->loss[s]) > epsilon)
            low = middle + 1;
        else
            high = middle;
    }
    return vertex(v, low);
}

/* mass − e^ε cost as a number (also exact if cost is 0), and as a logarithm. */
static double points_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    const view v = view_of(points(curve), side);
    const size_t i = touched(&v, epsilon);
    const double mass = v.mass[i], cost = v.cost[i];
    if (cost == 0.0) return mass;
    if (epsilon < 1.0) return fmax(0.0, (mass - cost) - expm1(epsilon) * cost);
    return fmax(0.0, mass - (epsilon < 700.0 ? cost * exp(epsilon) : exp(epsilon + log(cost))));
}

static double points_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    return log(points_delta(curve, epsilon, side));
}

static double points_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    const view v = view_of(points(curve), side);
    if (delta < v.mass[vertex(&v, 0)]) return INFINITY;
    /* ε(δ) is the largest log((mass − δ)/cost) over the vertices; it rises as long as the next
     * segment's slope is above it. */
    size_t low = 0, high = v.last;
    while (low < high) {
        const size_t middle = low + (high - low) / 2, i = vertex(&v, middle);
        const size_t s = segment(&v, middle);
        if (v.mass[i] - delta <= v.gain[s] / v.loss[s] * v.cost[i])
            low = middle + 1;
        else
            high = middle;
    }
    const size_t i = vertex(&v, low);
    const double over = v.mass[i] - delta;
    if (over <= v.cost[i]) return 0.0;
    if (over < 2.0 * v.cost[i]) return log1p((over - v.cost[i]) / v.cost[i]);
    return log(over) - log(v.cost[i]);
}

static void points_release(dpa_curve *curve) {
    free(((dpa__points *)curve)->fpr); /* the start of the block that holds all arrays */
}

static const dpa__curve_kind points_kind = {
    .fnr = points_fnr,
    .tpr = points_tpr,
    .fpr = points_fpr,
    .fpr_at_tpr = points_fpr_at_tpr,
    .log_fnr = points_log_fnr,
    .delta = points_delta,
    .log_delta = points_log_delta,
    .epsilon = points_epsilon,
    .release = points_release,
};

dpa__points *dpa__points_new(size_t count, dpa_error *err) {
    dpa__points *p = dpa__curve_new(sizeof *p, &points_kind, 0, err);
    if (p == NULL) return NULL;
    double *block = dpa__calloc(count, 6 * sizeof *block, err);
    if (block == NULL) {
        free(p);
        return NULL;
    }
    double **const parts[6] = {&p->fpr, &p->tnr, &p->tpr, &p->fnr, &p->dx, &p->dy};
    for (size_t k = 0; k < 6; ++k) *parts[k] = block + k * count;
    p->count = count;
    return p;
}

void dpa__points_seal(dpa__points *p) {
    p->base.symmetric = 1;
    for (size_t i = 0; i < p->count; ++i) {
        const double x = p->fpr[i], y = p->fnr[p->count - 1 - i];
        if (fabs(x - y) > 1e-14 * fmax(x, y)) p->base.symmetric = 0;
    }
}

const dpa__points *dpa__points_of(const dpa_curve *curve) {
    return curve->kind == &points_kind ? points(curve) : NULL;
}

dpa_status dpa__curve_none(dpa_curve **out, dpa_error *err) {
    dpa__points *p = dpa__points_new(1, err);
    if (p == NULL) return DPA_NO_MEMORY;
    p->tnr[0] = p->tpr[0] = 1.0;
    dpa__points_seal(p);
    *out = &p->base;
    return DPA_OK;
}

/* ── from achieved points: their lower convex hull, by Andrew's monotone chain ─────────────── */

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
    for (size_t i = 0; i < count; ++i) p[i] = (pair){fpr[i] + 0.0, fnr[i] + 0.0}; /* no −0 */
    p[count] = (pair){0.0, 1.0};
    p[count + 1] = (pair){1.0, 0.0};
    qsort(p, count + 2, sizeof *p, by_x_then_y);
    const dpa_status status = curve_of(p, lower_hull(p, count + 2), out, err);
    free(p);
    return status;
}

/* ── from a CSV with columns fpr and fnr, for claims made by other accountants ─────────────── */

static dpa_status find_rates(const dpa_table *table, const char *path, const char *name,
                             const double **out, dpa_error *err) {
    const ptrdiff_t at = dpa__table_find(table, name);
    if (at < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "no column '%s'; a trade-off curve has columns fpr and fnr", name);
    const size_t column = (size_t)at;
    if (table->column[column].kind != DPA_COLUMN_NUMBER)
        return dpa__fail_line(err, DPA_BAD_INPUT, path, table->column[column].text_line, 0,
                              "column '%s' holds text; every cell must be a number from 0 to 1",
                              name);
    *out = table->column[column].numbers;
    for (size_t i = 0; i < table->rows; ++i)
        if (!((*out)[i] >= 0.0 && (*out)[i] <= 1.0))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "row %zu: %s is %g; it must be from 0 to 1", i + 1, name,
                                  (*out)[i]);
    return DPA_OK;
}

dpa_status dpa__curve_from_table(const dpa_table *table, const char *path, dpa_curve **out,
                                 dpa_error *err) {
    const double *fpr = NULL, *fnr = NULL;
    DPA_TRY(find_rates(table, path, "fpr", &fpr, err));
    DPA_TRY(find_rates(table, path, "fnr", &fnr, err));
    if (table->rows == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "no points; at least one row is needed");
    return dpa_curve_points(fpr, fnr, table->rows, out, err);
}

dpa_status dpa__curve_read(const char *path, dpa_curve **out, dpa_error *err) {
    dpa_table_opts opts;
    dpa__table_opts_init(&opts);
    dpa_table *table;
    DPA_TRY(dpa__table_read(path, &opts, &table, err));
    const dpa_status status = dpa__curve_from_table(table, path, out, err);
    dpa__table_free(table);
    return status;
}
