/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The landscape as a report: a table of strategies with the frontier marked, and the data of the
 * paper's Figures 1 and 2: points with ranges, frontier, a density per group on either axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "estimate/losses/landscape.h"
#include "report/model/model.h"

enum { DENSITY_POINTS = 101, MOST_NAME = 23 }; /* MOST_NAME: columns for both names together */

static dpa_status put_spread(json_t *row, const char *key, const dpa_spread *s, dpa_error *err) {
    json_t *value = json_object();
    DPA_TRY(dpa__json_set(row, key, value, err));
    return DPA__JSON_FILL(value, err, {"mean", s->mean}, {"lowest", s->lowest},
                          {"highest", s->highest}, {"error", s->error});
}

static dpa_status put_point(json_t *array, const dpa_landscape_point *p, dpa_error *err) {
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(array, row, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"strategy", .text = p->strategy}, {"group", .text = p->group},
                           {"runs", (double)p->runs}));
    DPA_TRY(put_spread(row, "utility", &p->utility, err));
    DPA_TRY(put_spread(row, "epsilon", &p->epsilon, err));
    DPA_TRY(dpa__json_put(row, "frontier_share", p->frontier_share, err));
    return dpa__json_set(row, "on_frontier", json_boolean(p->on_frontier), err);
}

/* Columns as wide as the longest name (at least as the title), if there is room. */
typedef struct widths {
    int strategy, group;
} widths;

static widths measure(const dpa_landscape *l) {
    widths w = {(int)strlen("strategy"), 0};
    for (size_t i = 0; i < l->count; ++i) {
        const int strategy = dpa__shown_width(l->points[i].strategy);
        const int group = dpa__shown_width(l->points[i].group);
        if (strategy > w.strategy) w.strategy = strategy;
        if (group > w.group) w.group = group;
    }
    if (w.group > 0 && w.group < (int)strlen("group")) w.group = (int)strlen("group");
    if (w.group > MOST_NAME / 2) w.group = MOST_NAME / 2;
    if (w.strategy > MOST_NAME - w.group) w.strategy = MOST_NAME - w.group;
    return w;
}

static dpa_status say_point(dpa_report *report, const dpa_landscape_point *p, widths w,
                            dpa_error *err) {
    char share[16] = "", strategy[4 * MOST_NAME], group[4 * MOST_NAME];
    if (!isnan(p->frontier_share))
        (void)dpa__print(share, sizeof share, "%5.0f%%", 100.0 * p->frontier_share);
    dpa__shorten(strategy, sizeof strategy, p->strategy, w.strategy);
    dpa__shorten(group, sizeof group, p->group, w.group);
    return dpa__report_say(
        report, err, "%s %s%*s %s%*s %4zu %7.3f [%.3f,%.3f] %6.3f [%.3f,%.3f]%s",
        p->on_frontier ? "*" : " ", strategy, w.strategy - dpa__shown_width(strategy), "", group,
        w.group - dpa__shown_width(group), "", p->runs, p->utility.mean, p->utility.lowest,
        p->utility.highest, p->epsilon.mean, p->epsilon.lowest, p->epsilon.highest, share);
}

/* ── densities ─────────────────────────────────────────────────────────────────────────────── */

typedef struct axis {
    const char *key;
    double low, high;
    double *value; /* of every point */
} axis;

static dpa_status put_density(json_t *array, const axis *a, const char *group, const double *x,
                              size_t count, dpa_error *err) {
    double at[DENSITY_POINTS], density[DENSITY_POINTS];
    const double margin = 0.1 * (a->high - a->low);
    for (int i = 0; i < DENSITY_POINTS; ++i)
        at[i] = a->low - margin + (a->high - a->low + 2.0 * margin) * i / (DENSITY_POINTS - 1);
    const dpa_status status = dpa__kernel_density(x, count, at, DENSITY_POINTS, density, err);
    if (status == DPA_BAD_INPUT) return DPA_OK; /* one strategy, or all equal: no density */
    DPA_TRY(status);
    for (int i = 0; i < DENSITY_POINTS; ++i) {
        DPA_TRY(DPA__JSON_ADD(array, err, {"axis", .text = a->key}, {"group", .text = group},
                              {"at", at[i]}, {"density", density[i]}));
    }
    return DPA_OK;
}

/* 1 if it is the first point of its group. */
static int is_first(const dpa_landscape *l, size_t index) {
    for (size_t i = 0; i < index; ++i)
        if (strcmp(l->points[i].group, l->points[index].group) == 0) return 0;
    return 1;
}

static dpa_status put_groups(json_t *array, const dpa_landscape *l, const axis *a, double *x,
                             dpa_error *err) {
    for (size_t i = 0; i < l->count; ++i) {
        size_t n = 0;
        if (!is_first(l, i)) continue;
        for (size_t j = i; j < l->count; ++j)
            if (strcmp(l->points[j].group, l->points[i].group) == 0) x[n++] = a->value[j];
        DPA_TRY(put_density(array, a, l->points[i].group, x, n, err));
    }
    return DPA_OK;
}

static dpa_status put_axis(json_t *array, const dpa_landscape *l, int is_epsilon, double *block,
                           dpa_error *err) {
    axis a = {is_epsilon ? "epsilon" : "utility", HUGE_VAL, -HUGE_VAL, block};
    for (size_t i = 0; i < l->count; ++i) {
        a.value[i] = is_epsilon ? l->points[i].epsilon.mean : l->points[i].utility.mean;
        a.low = fmin(a.low, a.value[i]);
        a.high = fmax(a.high, a.value[i]);
    }
    return put_groups(array, l, &a, block + l->count, err);
}

static dpa_status put_densities(json_t *section, const dpa_landscape *l, dpa_error *err) {
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(section, "densities", array, err));
    double *block = DPA_NEW_ARRAY(double, 2 * l->count, err);
    if (block == NULL) return DPA_NO_MEMORY;
    dpa_status status = put_axis(array, l, 0, block, err);
    if (status == DPA_OK) status = put_axis(array, l, 1, block, err);
    free(block);
    return status;
}

/* ── all of it ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status fill(dpa_report *report, const char *path, const dpa_landscape *l,
                       dpa_error *err) {
    json_t *section = json_object(), *points = json_array(), *frontier = json_array();
    const widths w = measure(l);
    DPA_TRY(dpa__json_set(report->sections, "landscape", section, err));
    DPA_TRY(dpa__json_set(section, "points", points, err));
    DPA_TRY(dpa__json_set(section, "frontier", frontier, err));
    DPA_TRY(dpa__report_input(report, path, l->sha256, err));
    DPA_TRY(dpa__report_say(report, err, "%zu strategies from %zu runs; * on the Pareto frontier",
                            l->count, l->rows));
    DPA_TRY(dpa__report_say(report, err, "  %-*s %-*s %4s %7s %-13s %6s %-13s %s", w.strategy,
                            "strategy", w.group, w.group > 0 ? "group" : "", "runs", "utility",
                            "[least,most]", "eps", "[least,most]", "front"));
    for (size_t i = 0; i < l->count; ++i) {
        DPA_TRY(put_point(points, &l->points[i], err));
        DPA_TRY(say_point(report, &l->points[i], w, err));
    }
    for (size_t i = 0; i < l->frontier_count; ++i) {
        const dpa_landscape_point *p = &l->points[l->frontier[i]];
        DPA_TRY(put_point(frontier, p, err));
        DPA_TRY(dpa__report_say(report, err, "frontier %zu: %s%s%s, utility %.4f at epsilon %.4f",
                                i + 1, p->strategy, p->group[0] ? ", " : "", p->group,
                                p->utility.mean, p->epsilon.mean));
    }
    DPA_TRY(put_densities(section, l, err));
    if (l->count > 0 && isnan(l->points[0].frontier_share))
        DPA_TRY(dpa__report_say(report, err,
                                "One run each: the frontier follows the luckiest. Several seeds a "
                                "strategy say how sure it is."));
    else
        DPA_TRY(dpa__report_say(
            report, err,
            "front: how often a strategy is on the frontier when every mean moves within "
            "its standard error."));
    return dpa__report_say(report, err,
                           "Off the frontier, a mixture of two other strategies is at least as "
                           "useful and as private. Epsilon is a measurement here, not a bound.");
}

dpa_status dpa__audit_landscape(const char *path, dpa_report **out, dpa_error *err) {
    dpa_landscape landscape;
    dpa_report *report = NULL;
    dpa_request request;
    *out = NULL;
    dpa__request_init(&request);
    DPA_TRY(dpa__landscape_read(path, &landscape, err));
    dpa_status status = dpa__report_new("landscape", &request, &report, err);
    if (status == DPA_OK) status = fill(report, path, &landscape, err);
    dpa__landscape_free(&landscape);
    return dpa__report_end(report, status, out);
}
