/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns a table of runs into points: rows of one strategy and group are averaged, with their range
 * and standard error. Also estimates how certain the frontier is, by varying all means within their
 * errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/landscape.h"

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

static int compare(const void *left, const void *right) {
    const keyed *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int has_group(const source *s) {
    return s->group != (size_t)-1;
}

static uint64_t key_of(const source *s, size_t row) {
    const uint64_t group = has_group(s) ? dpa__table_codes(s->table, s->group)[row] : 0;
    return (uint64_t)dpa__table_codes(s->table, s->strategy)[row] << 32 | group;
}

static dpa_status find_numbers(const source *s, const char *name, const double **out,
                               dpa_error *err) {
    const ptrdiff_t at = dpa__table_find(s->table, name);
    if (at < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                              "no column '%s'; strategy,utility,epsilon and maybe group are right",
                              name);
    *out = dpa__table_numbers(s->table, (size_t)at);
    if (*out == NULL)
        return dpa__fail_line(err, DPA_BAD_INPUT, s->path,
                              dpa__table_text_line(s->table, (size_t)at), 0,
                              "%s is not a number in this line", name);
    for (size_t i = 0; i < dpa__table_rows(s->table); ++i)
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
    for (size_t i = 0; i < dpa__table_rows(s->table); ++i)
        if (s->epsilon[i] < 0)
            return dpa__fail_file(err, DPA_BAD_INPUT, s->path,
                                  "epsilon in row %zu is %g; 0 or more is right", i + 1,
                                  s->epsilon[i]);
    if (dpa__table_rows(s->table) == 0)
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
            const char *group = has_group(s)
                                    ? dpa__table_level(s->table, s->group,
                                                       dpa__table_codes(s->table, s->group)[row])
                                    : "";
            out->points[out->count++] = (dpa_landscape_point){
                .strategy = dpa__table_level(s->table, s->strategy,
                                             dpa__table_codes(s->table, s->strategy)[row]),
                .group = group};
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
    out->rows = dpa__table_rows(s->table);
    out->points = DPA_NEW_ARRAY(dpa_landscape_point, out->rows, err);
    out->frontier = DPA_NEW_ARRAY(size_t, out->rows, err);
    keyed *order = DPA_NEW_ARRAY(keyed, out->rows, err);
    if (out->points == NULL || out->frontier == NULL || order == NULL) {
        free(order);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < out->rows; ++i) order[i] = (keyed){key_of(s, i), i};
    qsort(order, out->rows, sizeof *order, compare);
    average(s, order, out);
    free(order);
    set_errors(out, 0);
    set_errors(out, 1);
    DPA_TRY(set_shares(out, err));
    memcpy(out->sha256, dpa__table_sha256(s->table), sizeof out->sha256);
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
