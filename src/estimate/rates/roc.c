/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sweep from the highest score down. A corner is where, after members, the next step down adds
 * a non-member. */
#include "estimate/rates/roc.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/rates.h"
#include "estimate/rates/ratio.h"
#include "estimate/registry.h"
#include "evidence/evidence.h"
#include "math/dist.h"

static dpa_status push(dpa__roc *roc, const dpa__corner *corner, dpa_error *err) {
    dpa__corner *items = dpa__grown(roc->items, roc->count, &roc->capacity, sizeof *items, err);
    if (items == NULL) return DPA_NO_MEMORY;
    roc->items = items;
    roc->items[roc->count++] = *corner;
    return DPA_OK;
}

/* Every distinct score as a threshold, or only the corners. */
static dpa_status sweep_down(const dpa_scores *s, int is_all, dpa__roc *out, dpa_error *err) {
    size_t i = s->members, j = s->nonmembers; /* how many are still below */
    dpa__corner last = {0};
    int is_waiting = 0;
    *out = (dpa__roc){.members = s->members, .nonmembers = s->nonmembers};
    while (i > 0 || (is_all && j > 0)) {
        const double in = i > 0 ? s->member[i - 1] : -HUGE_VAL;
        const double value = j > 0 && s->nonmember[j - 1] > in ? s->nonmember[j - 1] : in;
        const size_t i_before = i, j_before = j;
        while (j > 0 && s->nonmember[j - 1] == value) --j;
        while (i > 0 && s->member[i - 1] == value) --i;
        if (is_waiting && (is_all || j < j_before)) {
            DPA_TRY(push(out, &last, err));
            is_waiting = 0;
        }
        if (!is_all && i == i_before) continue;
        last = (dpa__corner){i, s->nonmembers - j, value};
        is_waiting = 1;
    }
    return is_waiting ? push(out, &last, err) : DPA_OK;
}

dpa_status dpa__roc_of(const dpa_scores *s, dpa__roc *out, dpa_error *err) {
    const dpa_status status = sweep_down(s, 0, out, err);
    if (status != DPA_OK) dpa__roc_free(out);
    return status;
}

dpa_status dpa__roc_all(const dpa_scores *s, dpa__roc *out, dpa_error *err) {
    const dpa_status status = sweep_down(s, 1, out, err);
    if (status != DPA_OK) dpa__roc_free(out);
    return status;
}

void dpa__roc_free(dpa__roc *roc) {
    if (roc == NULL) return;
    free(roc->items);
    *roc = (dpa__roc){0};
}

dpa_counts dpa__roc_counts(const dpa__roc *roc, size_t index) {
    const dpa__corner *c = &roc->items[index];
    return (dpa_counts){
        .fn = c->fn, .tp = roc->members - c->fn, .fp = c->fp, .tn = roc->nonmembers - c->fp};
}

/* ── the corner with the largest lower bound ───────────────────────────────────────────────── */

/* Corners are ranked by a cheap large-sample value of the bound (arcsine limits of both rates).
 * If there are at most KEEP corners, all are examined; otherwise the KEEP best by that rank. In
 * this order most are dismissed by one test at the best t so far: is the corner's rectangle (or
 * enough of its posterior) still inside the region of the member at t? Only those that pass cost
 * a root search. A bound that holds for all corners holds for whichever is found, so the ranking
 * affects how tight the bound is, never whether it is valid. */

enum { KEEP = 512 };

dpa__objective dpa__objective_of(const dpa__entry *entry, const dpa__model *model,
                                 const dpa_request *request) {
    const double p = 1 - request->confidence, each = p / (request->sides == 1 ? 2 : 4);
    return (dpa__objective){entry, model, p / request->sides, each, each, request->sides, p};
}

/* Normal quantiles of the two limits; a joint posterior splits its level between the rates. */
typedef struct levels {
    double fnr, fpr;
} levels;

static levels levels_of(const dpa__objective *o) {
    if (o->entry->from_counts == dpa__from_posterior) {
        const double z = M_SQRT1_2 * dpa__norm_quantile(o->p, DPA_UPPER);
        return (levels){z, z};
    }
    return (levels){dpa__norm_quantile(o->level_fnr, DPA_UPPER),
                    dpa__norm_quantile(o->level_fpr, DPA_UPPER)};
}

/* sin² of the arcsine limit; accurate to a few percent of its distance, for ranking only. */
static double rough_upper(double k, double n, double z) {
    const double angle = asin(sqrt((k + 0.375) / (n + 0.75))) + 0.5 * z / sqrt(n + 0.5);
    const double s = sin(angle < M_PI_2 ? angle : M_PI_2);
    return s * s;
}

/* Two-sided: swap answers when FNR+FPR > 1, so that the counts describe an attack no worse than
 * guessing. */
static dpa_counts oriented(const dpa__objective *o, dpa_counts c) {
    const double fnr = (double)c.fn / (double)(c.fn + c.tp);
    const double fpr = (double)c.fp / (double)(c.fp + c.tn);
    if (o->sides != 2 || fnr + fpr <= 1) return c;
    return (dpa_counts){.fn = c.tp, .tp = c.fn, .fp = c.tn, .tn = c.fp};
}

static double rough_value(const dpa__objective *o, const dpa_counts *c, const levels *z) {
    const double x = rough_upper((double)c->fn, (double)(c->fn + c->tp), z->fnr);
    const double y = rough_upper((double)c->fp, (double)(c->fp + c->tn), z->fpr);
    const double most = 1 - o->model->delta;
    if (x + y >= 1) return 1 - x - y; /* negative, and still in the right order */
    if (o->model->kind != DPA__MODEL_DP)
        return -dpa__norm_quantile(y, DPA_LOWER) - dpa__norm_quantile(x, DPA_LOWER);
    double ratio = fmax((most - y) / x, (most - x) / y);
    if (o->sides == 2 && o->entry->from_counts == dpa__from_rectangle) {
        if (c->fp == 0) ratio = fmin(ratio, most / x);
        if (c->fn == 0) ratio = fmin(ratio, most / y);
    }
    return log(ratio);
}

typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int by_value(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The corners with the best rough values, best first. */
static dpa_status rank_corners(const dpa__objective *o, const dpa__roc *roc, ranked *out,
                               size_t *count, dpa_error *err) {
    const levels z = levels_of(o);
    double *value = DPA_NEW_ARRAY(double, 2 * roc->count, err);
    if (value == NULL) return DPA_NO_MEMORY;
    double *sorted = value + roc->count;
    for (size_t i = 0; i < roc->count; ++i) {
        const dpa_counts c = oriented(o, dpa__roc_counts(roc, i));
        sorted[i] = value[i] = rough_value(o, &c, &z);
    }
    dpa_status status = dpa__sort_numbers(sorted, roc->count, err);
    const double least = sorted[roc->count > KEEP ? roc->count - KEEP : 0];
    *count = 0;
    for (size_t i = 0; i < roc->count && *count < KEEP; ++i)
        if (value[i] >= least) out[(*count)++] = (ranked){value[i], i};
    qsort(out, *count, sizeof *out, by_value);
    free(value);
    return status;
}

/* A cheap sufficient test that the member allows the rectangle: a point (u, f(u)) between the curve
 * and the rough corner that two distribution functions show to be below the corner itself. */
static int is_surely_allowed(const dpa__objective *o, const dpa_counts *c, const dpa__member *at) {
    const dpa__limit limit = (dpa__limit)o->entry->variant;
    const uint64_t members = c->fn + c->tp, nonmembers = c->fp + c->tn;
    const levels z = levels_of(o);
    const double x = rough_upper((double)c->fn, (double)members, z.fnr);
    const double y = rough_upper((double)c->fp, (double)nonmembers, z.fpr);
    const double gap = x - dpa__member_fnr(at, y, at->end - y);
    const double u = y - 0.5 * gap;
    if (!(gap > 0 && u > 0)) return 0;
    const double v = dpa__member_fnr(at, u, at->end - u);
    return dpa__rate_upper_reaches(limit, c->fp, nonmembers, o->level_fpr, u) &&
           dpa__rate_upper_reaches(limit, c->fn, members, o->level_fnr, v);
}

/* True if this corner's bound exceeds t; `at` is the family member at t, already open. */
static dpa_status is_better_rectangle(const dpa__objective *o, const dpa_counts *c,
                                      const dpa__member *at, int *answer, double *t,
                                      dpa_error *err) {
    const dpa__limit limit = (dpa__limit)o->entry->variant;
    *answer = 0;
    if (is_surely_allowed(o, c, at)) return DPA_OK;
    const double x = dpa__rate_upper(limit, c->fn, c->fn + c->tp, o->level_fnr);
    const double y = dpa__rate_upper(limit, c->fp, c->fp + c->tn, o->level_fpr);
    *answer = x + y < 1 && dpa__member_fnr(at, y, at->end - y) > x;
    if (!*answer) return DPA_OK;
    double found;
    if (o->sides == 2) {
        const dpa__rectangle r = dpa__rectangle_of(c, limit, o->error, o->sides);
        DPA_TRY(dpa__rectangle_lower(o->model, &r, &found, err));
    } else {
        DPA_TRY(dpa__model_locate(o->model, x, y, -1, &found, err));
    }
    *answer = found > *t;
    if (*answer) *t = found;
    return DPA_OK;
}

static dpa_status is_better_posterior(const dpa__objective *o, const dpa_counts *c,
                                      const dpa__member *at, int *answer, double *t,
                                      dpa_error *err) {
    const dpa__posterior posterior = dpa__posterior_of(c);
    dpa__mass mass;
    double found, error;
    *answer = 0;
    if (dpa__posterior_surely_holds(&posterior, at, o->p)) return DPA_OK;
    dpa_status status = dpa__posterior_mass(&posterior, o->model, *t, &mass, err);
    if (status != DPA_OK || mass.value >= o->p) return status;
    status = dpa__posterior_quantile(&posterior, o->model, o->p, &found, &error, err);
    *answer = status == DPA_OK && found > *t;
    if (*answer) *t = found;
    return status;
}

static dpa_status is_better(const dpa__objective *o, const dpa_counts *c, const dpa__member *at,
                            int *answer, double *t, dpa_error *err) {
    double lower, upper;
    if (o->entry->from_counts == dpa__from_rectangle)
        return is_better_rectangle(o, c, at, answer, t, err);
    if (o->entry->from_counts == dpa__from_posterior)
        return is_better_posterior(o, c, at, answer, t, err);
    *answer =
        dpa__ratio_epsilon((dpa__ratio)o->entry->variant, c, o->error, o->sides, &lower, &upper) &&
        lower > *t;
    if (*answer) *t = lower;
    return DPA_OK;
}

/* The best so far. */
typedef struct best {
    size_t index;
    double t;
    dpa__member at; /* the member at t */
} best;

static dpa_status consider(const dpa__objective *o, const dpa__roc *roc, size_t index, best *b,
                           dpa_error *err) {
    const dpa_counts counts = oriented(o, dpa__roc_counts(roc, index));
    int answer;
    const dpa_status status = is_better(o, &counts, &b->at, &answer, &b->t, err);
    if (status != DPA_OK || !answer) return status;
    b->index = index;
    dpa__member_close(&b->at);
    return dpa__member_open(o->model, fmin(b->t, 1e300), &b->at, err);
}

/* Families without a closed form have no cheap value to rank by, so every other corner is compared
 * with the best member, by rough limits first. The order jumps about, so that the best is replaced
 * only a few times. */
static dpa_status sweep(const dpa__objective *o, const dpa__roc *roc, best *b, dpa_error *err) {
    const levels z = levels_of(o);
    size_t stride = (size_t)(0.6180339887 * (double)roc->count);
    while (dpa__common_divisor(roc->count, stride) != 1) ++stride;
    dpa_status status = DPA_OK;
    for (size_t i = 0, k = 0; i < roc->count && status == DPA_OK;
         ++i, k = (k + stride) % roc->count) {
        const dpa_counts c = oriented(o, dpa__roc_counts(roc, k));
        const double x = rough_upper((double)c.fn, (double)roc->members, z.fnr);
        const double y = rough_upper((double)c.fp, (double)roc->nonmembers, z.fpr);
        if (x + y < 1 && dpa__member_fnr(&b->at, y, b->at.end - y) > x)
            status = consider(o, roc, k, b, err);
    }
    return status;
}

dpa_status dpa__best_corner(const dpa__objective *o, const dpa__roc *roc, size_t *index, double *t,
                            dpa_error *err) {
    const size_t room = roc->count < KEEP ? roc->count : KEEP;
    size_t count = 0;
    *index = 0;
    *t = 0;
    ranked *candidates = DPA_NEW_ARRAY(ranked, room, err);
    if (candidates == NULL) return DPA_NO_MEMORY;
    dpa_status status = rank_corners(o, roc, candidates, &count, err);
    best b = {.index = count > 0 ? candidates[0].index : 0};
    if (status == DPA_OK) status = dpa__member_open(o->model, 0, &b.at, err);
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        status = consider(o, roc, candidates[i].index, &b, err);
    if (status == DPA_OK && roc->count > KEEP && o->model->kind == DPA__MODEL_CURVES)
        status = sweep(o, roc, &b, err);
    dpa__member_close(&b.at);
    free(candidates);
    *index = b.index;
    *t = b.t;
    return status;
}
