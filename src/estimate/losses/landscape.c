/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The landscape: runs of a table averaged into points, which of them are on the frontier, how
 * certain that is, and the densities beside it.
 *
 * A point is on the frontier when no mixture of two others is at least as good in both coordinates
 * and better in one: these are the points on the upper hull of utility over ε, from the point of
 * least ε to the point of highest utility (epsilon-star, section 4.2). Points in line with two
 * vertices, and copies of a vertex, are on it too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/losses/landscape.h"
#include "math/dist.h"
#include "math/logspace.h"

typedef struct place {
    double epsilon, utility;
    size_t index;
} place;

/* Rising ε; the best utility first where ε ties. */
static int by_place(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->epsilon != b->epsilon) return a->epsilon < b->epsilon ? -1 : 1;
    if (a->utility != b->utility) return a->utility > b->utility ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Is b strictly below the line from a to c? */
static int is_below(const place *a, const place *b, const place *c) {
    return (b->utility - a->utility) * (c->epsilon - a->epsilon) <
           (c->utility - a->utility) * (b->epsilon - a->epsilon);
}

/* Leaves the vertices (and points in line with them) at the front of `p`; returns their number.
 * Points that gain nothing over a cheaper one are never added. */
static size_t hull(place *p, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (kept > 0 && p[i].utility <= p[kept - 1].utility) continue;
        while (kept >= 2 && is_below(&p[kept - 2], &p[kept - 1], &p[i])) --kept;
        p[kept++] = p[i];
    }
    return kept;
}

dpa_status dpa__pareto_frontier(const double *utility, const double *epsilon, size_t count, int *on,
                                dpa_error *err) {
    place *p = DPA_NEW_ARRAY(place, count, err);
    if (p == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(utility[i]) || !isfinite(epsilon[i])) {
            free(p);
            return dpa__fail(err, DPA_BAD_INPUT,
                             "point %zu: utility %g, epsilon %g; finite numbers are right", i + 1,
                             utility[i], epsilon[i]);
        }
        p[i] = (place){epsilon[i], utility[i], i};
    }
    qsort(p, count, sizeof *p, by_place);
    const size_t kept = hull(p, count);
    for (size_t i = 0; i < count; ++i) {
        on[i] = 0;
        for (size_t j = 0; j < kept; ++j)
            on[i] |= p[j].epsilon == epsilon[i] && p[j].utility == utility[i];
    }
    free(p);
    return DPA_OK;
}

dpa_status dpa__kernel_density(const double *x, size_t count, const double *at, size_t points,
                               double *density, dpa_error *err) {
    dpa__sum sum = {0, 0}, square = {0, 0};
    const double n = (double)count;
    for (size_t i = 0; i < count; ++i) dpa__sum_add(&sum, x[i]);
    for (size_t i = 0; i < count; ++i) {
        const double d = x[i] - dpa__sum_get(&sum) / n;
        dpa__sum_add(&square, d * d);
    }
    const double deviation = count > 1 ? sqrt(dpa__sum_get(&square) / (n - 1.0)) : 0.0;
    if (!(deviation > 0.0) || !isfinite(deviation))
        return dpa__fail(err, DPA_BAD_INPUT, "a density needs two different finite values");
    const double width = deviation * pow(n, -0.2);
    for (size_t j = 0; j < points; ++j) {
        double total = 0.0;
        for (size_t i = 0; i < count; ++i) total += exp(dpa__norm_log_pdf((at[j] - x[i]) / width));
        density[j] = total / (n * width);
    }
    return DPA_OK;
}

/* ── from a table of runs ──────────────────────────────────────────────────────────────────── */

enum { DRAWS = 1000 };
static const double PRIOR = 2.0;

typedef struct source {
    const char *path;
    const dpa_table *table;
    size_t strategy, group; /* columns; group == (size_t)-1: none */
    const double *utility, *epsilon;
} source;

typedef struct keyed {
    uint64_t key;
    size_t row;
} keyed;

static int by_key(const void *left, const void *right) {
    const keyed *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int has_group(const source *s) {
    return s->group != (size_t)-1;
}

static uint64_t key_of(const source *s, size_t row) {
    const uint64_t group = has_group(s) ? s->table->column[s->group].codes[row] : 0;
    return (uint64_t)s->table->column[s->strategy].codes[row] << 32 | group;
}

static dpa_status find_numbers(const source *s, const char *name, const double **out,
                               dpa_error *err) {
    const ptrdiff_t at = dpa__table_find(s->table, name);
    if (at < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                              "no column '%s'; strategy,utility,epsilon and maybe group are right",
                              name);
    *out = s->table->column[at].numbers;
    if (*out == NULL)
        return dpa__fail_line(err, DPA_BAD_INPUT, s->path, s->table->column[at].text_line, 0,
                              "%s is not a number in this line", name);
    for (size_t i = 0; i < s->table->rows; ++i)
        if (!isfinite((*out)[i]))
            return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                                  "%s in row %zu is %g; a finite number is right", name, i + 1,
                                  (*out)[i]);
    return DPA_OK;
}

static dpa_status find_columns(source *s, dpa_error *err) {
    const ptrdiff_t strategy = dpa__table_find(s->table, "strategy");
    const ptrdiff_t group = dpa__table_find(s->table, "group");
    if (strategy < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                              "no column 'strategy'; strategy,utility,epsilon and maybe group are "
                              "right");
    s->strategy = (size_t)strategy;
    s->group = group < 0 ? (size_t)-1 : (size_t)group;
    DPA_TRY(find_numbers(s, "utility", &s->utility, err));
    DPA_TRY(find_numbers(s, "epsilon", &s->epsilon, err));
    for (size_t i = 0; i < s->table->rows; ++i)
        if (s->epsilon[i] < 0)
            return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                                  "epsilon in row %zu is %g; 0 or more is right", i + 1,
                                  s->epsilon[i]);
    if (s->table->rows == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, s->path, "no row below the header");
    return DPA_OK;
}

/* Running mean, range and sum of squared deviations (kept in `error`) after `runs` earlier values.
 */
static void spread_add(dpa_spread *s, double value, size_t runs) {
    if (runs == 0) *s = (dpa_spread){value, value, value, 0.0};
    const double off = value - s->mean;
    s->mean += off / ((double)runs + 1.0);
    s->error += off * (value - s->mean);
    s->lowest = fmin(s->lowest, value);
    s->highest = fmax(s->highest, value);
}

static void average(const source *s, const keyed *order, dpa_landscape *out) {
    out->count = 0;
    for (size_t i = 0; i < out->rows; ++i) {
        const size_t row = order[i].row;
        if (i == 0 || order[i].key != order[i - 1].key) {
            const dpa_column *column = s->table->column;
            out->points[out->count++] = (dpa_landscape_point){
                .strategy = dpa__column_text(&column[s->strategy], row),
                .group = has_group(s) ? dpa__column_text(&column[s->group], row) : ""};
        }
        dpa_landscape_point *p = &out->points[out->count - 1];
        spread_add(&p->utility, s->utility[row], p->runs);
        spread_add(&p->epsilon, s->epsilon[row], p->runs);
        ++p->runs;
    }
}

static dpa_spread *axis_of(dpa_landscape_point *p, int is_epsilon) {
    return is_epsilon ? &p->epsilon : &p->utility;
}

/* Turns sums of squares into standard errors. The variance of a strategy's runs is combined with
 * PRIOR degrees of freedom of the pooled one, because two or three runs alone say too little. The
 * scatter of ε grows with ε, so relative variances are pooled for it. */
static void set_errors(dpa_landscape *l, int is_epsilon) {
    double squares = 0.0, freedom = 0.0;
    for (size_t i = 0; i < l->count; ++i) {
        const dpa_spread *s = axis_of(&l->points[i], is_epsilon);
        const double unit = is_epsilon && s->mean != 0.0 ? s->mean * s->mean : 1.0;
        squares += s->error / unit;
        freedom += (double)l->points[i].runs - 1.0;
    }
    const double pooled = freedom > 0.0 ? squares / freedom : (double)NAN;
    for (size_t i = 0; i < l->count; ++i) {
        dpa_spread *s = axis_of(&l->points[i], is_epsilon);
        const double runs = (double)l->points[i].runs;
        const double unit = is_epsilon && s->mean != 0.0 ? s->mean * s->mean : 1.0;
        s->error = sqrt((s->error + PRIOR * pooled * unit) / (runs - 1.0 + PRIOR) / runs);
    }
}

/* Draws every mean again with its error and counts how often each point is on the frontier. */
static dpa_status set_shares(dpa_landscape *l, dpa_error *err) {
    double *at = DPA_NEW_ARRAY(double, 2 * l->count, err);
    int *on = DPA_NEW_ARRAY(int, l->count, err);
    dpa_status status = at != NULL && on != NULL ? DPA_OK : DPA_NO_MEMORY;
    const int known = l->count > 0 && !isnan(l->points[0].epsilon.error);
    for (size_t i = 0; i < l->count; ++i) l->points[i].frontier_share = known ? 0.0 : (double)NAN;
    for (uint64_t d = 0; d < DRAWS && known && status == DPA_OK; ++d) {
        dpa_rng rng;
        dpa__rng_init(&rng, 1, DPA_PURPOSE_BOOTSTRAP, d);
        for (size_t i = 0; i < l->count; ++i) {
            const dpa_landscape_point *p = &l->points[i];
            at[i] = p->utility.mean + p->utility.error * dpa__rng_normal(&rng);
            at[l->count + i] = p->epsilon.mean + p->epsilon.error * dpa__rng_normal(&rng);
        }
        status = dpa__pareto_frontier(at, at + l->count, l->count, on, err);
        for (size_t i = 0; i < l->count && status == DPA_OK; ++i)
            l->points[i].frontier_share += on[i] / (double)DRAWS;
    }
    free(at);
    free(on);
    return status;
}

static const dpa_landscape_point *point_of(const void *index, void *points) {
    return (const dpa_landscape_point *)points + *(const size_t *)index;
}

static int by_epsilon(const void *left, const void *right, void *points) {
    const dpa_landscape_point *a = point_of(left, points), *b = point_of(right, points);
    if (a->epsilon.mean != b->epsilon.mean) return a->epsilon.mean < b->epsilon.mean ? -1 : 1;
    return (a > b) - (a < b);
}

static dpa_status mark_frontier(dpa_landscape *out, dpa_error *err) {
    double *mean = DPA_NEW_ARRAY(double, 2 * out->count, err);
    int *on = DPA_NEW_ARRAY(int, out->count, err);
    dpa_status status = mean != NULL && on != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < out->count && status == DPA_OK; ++i) {
        mean[i] = out->points[i].utility.mean;
        mean[out->count + i] = out->points[i].epsilon.mean;
    }
    if (status == DPA_OK)
        status = dpa__pareto_frontier(mean, mean + out->count, out->count, on, err);
    for (size_t i = 0; i < out->count && status == DPA_OK; ++i)
        if ((out->points[i].on_frontier = on[i]) != 0) out->frontier[out->frontier_count++] = i;
    if (status == DPA_OK)
        qsort_r(out->frontier, out->frontier_count, sizeof *out->frontier, by_epsilon, out->points);
    free(mean);
    free(on);
    return status;
}

static dpa_status fill(source *s, dpa_landscape *out, dpa_error *err) {
    DPA_TRY(find_columns(s, err));
    out->rows = s->table->rows;
    out->points = DPA_NEW_ARRAY(dpa_landscape_point, out->rows, err);
    out->frontier = DPA_NEW_ARRAY(size_t, out->rows, err);
    keyed *order = DPA_NEW_ARRAY(keyed, out->rows, err);
    if (out->points == NULL || out->frontier == NULL || order == NULL) {
        free(order);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < out->rows; ++i) order[i] = (keyed){key_of(s, i), i};
    qsort(order, out->rows, sizeof *order, by_key);
    average(s, order, out);
    free(order);
    set_errors(out, 0);
    set_errors(out, 1);
    DPA_TRY(set_shares(out, err));
    memcpy(out->sha256, s->table->sha256, sizeof out->sha256);
    return mark_frontier(out, err);
}

dpa_status dpa__landscape_read(const char *path, dpa_landscape *out, dpa_error *err) {
    static const char *const text[] = {"strategy", "group", NULL};
    dpa_table_opts opts;
    *out = (dpa_landscape){0};
    dpa__table_opts_init(&opts);
    opts.text = text;
    DPA_TRY(dpa__table_read(path, &opts, &out->table, err));
    source s = {.path = path, .table = out->table};
    const dpa_status status = fill(&s, out, err);
    if (status != DPA_OK) dpa__landscape_free(out);
    return status;
}

void dpa__landscape_free(dpa_landscape *landscape) {
    if (landscape == NULL) return;
    dpa__table_free(landscape->table);
    free(landscape->points);
    free(landscape->frontier);
    *landscape = (dpa_landscape){0};
}
