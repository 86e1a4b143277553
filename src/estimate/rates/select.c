/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thresholds: given before, chosen on another half, valid for all at once, or the best one on the
 * same data, flagged (methods.md, section 4).
 *
 * fixed-fpr:X takes the score of the (k+1)-th highest non-member, k = ⌊X·n⌋, and says "in" above
 * it. Its FPR is the (k+1)-th of n uniform order statistics, Beta(k+1, n−k): the law behind the
 * Clopper–Pearson limit of k in n. Members are independent of it. With ties fewer than k are above;
 * k is counted all the same, against the attack.
 *
 * simultaneous: an upper limit for the FPR at all k at once (Berk–Jones, berkjones.c), one for the
 * FNR. The two classes are independent, so both hold with (1−p₁)² = 1−p: p₁ is a little more than
 * p/2. The best threshold may then be taken freely.
 *
 * multi-split: K = 11 splits, each with its bound at error p·6/11; the sixth largest is reported.
 * If it is too large, six of eleven bounds are, which has probability at most (11/6)·(p·6/11) = p
 * whatever their dependence (Rüger's inequality, Markov for the number of wrong bounds). */
#include "estimate/rates/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/rates/berkjones.h"
#include "estimate/rates/exact.h"
#include "estimate/registry.h"

static const struct {
    const char *name;
    int has_value;
} kinds[] = {
    [DPA__FIXED] = {"fixed", 1},
    [DPA__FIXED_FPR] = {"fixed-fpr", 1},
    [DPA__SPLIT] = {"split", 0},
    [DPA__MULTI_SPLIT] = {"multi-split", 0},
    [DPA__SIMULTANEOUS] = {"simultaneous", 0},
    [DPA__MAX] = {"max", 0},
};

static dpa_status parse_value(const char *text, const char *number, dpa__select *out,
                              dpa_error *err) {
    if (!dpa__number_whole(number, &out->value))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "select: '%s' has no number after the colon", text);
    if (out->kind == DPA__FIXED_FPR && !(out->value >= 0 && out->value <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "select: a false positive rate is 0 to 1, not %g",
                         out->value);
    return DPA_OK;
}

dpa_status dpa__select_parse(const char *text, dpa__select *out, dpa_error *err) {
    const size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length) != 0) continue;
        *out = (dpa__select){(dpa__select_kind)i, NAN};
        if (kinds[i].has_value != (text[length] == ':')) break;
        return kinds[i].has_value ? parse_value(text, text + length + 1, out, err) : DPA_OK;
    }
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "select: '%s' is none of fixed:T, fixed-fpr:X, split, multi-split, "
                     "simultaneous, max",
                     text);
}

int dpa__select_is(const char *text, dpa__select_kind kind) {
    const size_t length = strlen(kinds[kind].name);
    return strncmp(text, kinds[kind].name, length) == 0 &&
           text[length] == (kinds[kind].has_value ? ':' : '\0');
}

const char *dpa__select_name(dpa__select_kind kind) {
    return kinds[kind].name;
}

const char *dpa__select_refusal(const dpa__select *select, const dpa__entry *entry) {
    if (entry->from_counts == NULL) return "it needs no threshold: leave --select out";
    const int is_given = select->kind == DPA__FIXED || select->kind == DPA__FIXED_FPR;
    if (entry->from_counts == dpa__from_point && !is_given)
        return "a point estimate needs a threshold: --select fixed:T";
    if (entry->from_counts == dpa__from_exact && !is_given)
        return "it is a test of one threshold: --select fixed:T; scan needs none";
    if (select->kind == DPA__SIMULTANEOUS && !dpa__entry_has_band(entry))
        return "only Clopper-Pearson limits are known for all thresholds at once: use split";
    return NULL;
}

/* ── a threshold given before ──────────────────────────────────────────────────────────────── */

static dpa_counts counts_at_fpr(const dpa_scores *s, double fpr, double *threshold) {
    const double k = floor(fpr * (double)s->nonmembers * (1 + 1e-12));
    const size_t above = k < (double)s->nonmembers ? (size_t)k : s->nonmembers;
    *threshold = above < s->nonmembers
                     ? nextafter(s->nonmember[s->nonmembers - 1 - above], HUGE_VAL)
                     : -HUGE_VAL;
    dpa_counts counts = dpa__scores_counts(s, *threshold);
    counts.fp = above;
    counts.tn = s->nonmembers - above;
    return counts;
}

static dpa_status run_fixed(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    double threshold = s->select.value;
    const dpa_counts counts = s->select.kind == DPA__FIXED
                                  ? dpa__scores_counts(s->scores, threshold)
                                  : counts_at_fpr(s->scores, threshold, &threshold);
    const dpa_status status = dpa__estimate_one(s->entry, &counts, s->model, s->request, out, err);
    out->threshold = threshold;
    if (out->kind == DPA_BOUND) out->assumptions |= DPA_ASSUME_THRESHOLD_FIXED;
    return status;
}

/* ── the best threshold on the same data ───────────────────────────────────────────────────── */

static dpa_status max_over(const dpa__selection *s, const dpa__roc *roc, dpa_result *out,
                           dpa_error *err) {
    const dpa__objective objective = dpa__objective_of(s->entry, s->model, s->request);
    size_t index;
    double t;
    DPA_TRY(dpa__best_corner(&objective, roc, &index, &t, err));
    const dpa_counts counts = dpa__roc_counts(roc, index);
    const dpa_status status = dpa__estimate_one(s->entry, &counts, s->model, s->request, out, err);
    out->threshold = roc->items[index].threshold;
    out->valid = 0;
    out->assumptions |= DPA_ASSUME_NO_SELECTION;
    (void)snprintf(out->note, sizeof out->note,
                   "The largest bound over %zu thresholds on the same data: optimistic, what the "
                   "papers report, not a confidence statement.",
                   roc->count);
    return status;
}

static dpa_status run_max(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    if (s->request->sides != 2) return max_over(s, s->roc, out, err);
    dpa__roc all;
    DPA_TRY(dpa__roc_all(s->scores, &all, err));
    const dpa_status status = max_over(s, &all, out, err);
    dpa__roc_free(&all);
    return status;
}

/* ── every threshold at once ───────────────────────────────────────────────────────────────── */

static dpa_status run_simultaneous(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    const dpa__roc *roc = s->roc;
    dpa__objective objective = dpa__objective_of(s->entry, s->model, s->request);
    dpa__berkjones_how how_fnr, how_fpr;
    objective.sides = 1; /* no lower limits: corners and their upper limits */
    objective.error = objective.p;
    const double p = -expm1(0.5 * log1p(-objective.p));
    size_t index;
    double t;
    DPA_TRY(dpa__berkjones_level((size_t)roc->members, p, &objective.level_fnr, &how_fnr, err));
    DPA_TRY(dpa__berkjones_level((size_t)roc->nonmembers, p, &objective.level_fpr, &how_fpr, err));
    DPA_TRY(dpa__best_corner(&objective, roc, &index, &t, err));
    dpa__result_begin(out, s->request, s->model, s->entry->about.name, s->entry->about.assumptions);
    out->has_counts = 1;
    out->counts = dpa__roc_counts(roc, index);
    out->threshold = roc->items[index].threshold;
    dpa__result_add_extra(out, "level_fnr", objective.level_fnr);
    dpa__result_add_extra(out, "level_fpr", objective.level_fpr);
    (void)snprintf(out->note, sizeof out->note,
                   "Holds for all %zu thresholds at once; Berk-Jones level: %s (members), %s "
                   "(non-members).",
                   roc->count, dpa__berkjones_how_text(how_fnr), dpa__berkjones_how_text(how_fpr));
    return dpa__result_lower(out, s->model, s->request, t, 1e-12 * fmax(1, isfinite(t) ? t : 1),
                             err);
}

/* ── a threshold chosen on the other half ──────────────────────────────────────────────────── */

/* Distributes the elements to two lists, `wanted` of them to the first, by selection sampling, so
 * that both stay sorted. */
static void deal(dpa_rng *rng, const double *from, size_t count, size_t wanted, double *first,
                 double *second) {
    for (size_t i = 0; i < count; ++i) {
        const int is_first = dpa__rng_below(rng, count - i) < wanted;
        if (is_first) --wanted;
        *(is_first ? first++ : second++) = from[i];
    }
}

static dpa_status split_scores(const dpa_scores *s, uint64_t seed, uint64_t number,
                               dpa_scores *choose, dpa_scores *judge, dpa_error *err) {
    const size_t in = s->members / 2, out = s->nonmembers / 2;
    DPA_TRY(dpa__scores_from(s->member, in, s->nonmember, out, choose, err));
    const dpa_status status =
        dpa__scores_from(s->member, s->members - in, s->nonmember, s->nonmembers - out, judge, err);
    if (status != DPA_OK) {
        dpa__scores_free(choose);
        return status;
    }
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SPLIT, number);
    deal(&rng, s->member, s->members, in, choose->member, judge->member);
    deal(&rng, s->nonmember, s->nonmembers, out, choose->nonmember, judge->nonmember);
    choose->is_sorted = judge->is_sorted = 1;
    return DPA_OK;
}

/* The best threshold of the first half, moved halfway down to the next score, so that scores of the
 * other half fall on either side without bias. */
static dpa_status choose_threshold(const dpa__objective *objective, const dpa_scores *choose,
                                   double *threshold, dpa_error *err) {
    dpa__roc roc;
    size_t index;
    double t;
    DPA_TRY(dpa__roc_of(choose, &roc, err));
    const dpa_status status = dpa__best_corner(objective, &roc, &index, &t, err);
    *threshold = roc.items[index].threshold;
    const size_t fp = roc.items[index].fp;
    if (fp < choose->nonmembers) {
        const double below = choose->nonmember[choose->nonmembers - 1 - fp];
        if (isfinite(below) && isfinite(*threshold))
            *threshold = below + 0.5 * (*threshold - below);
    }
    dpa__roc_free(&roc);
    return status;
}

static dpa_status run_one_split(const dpa__selection *s, uint64_t number, dpa_result *out,
                                dpa_error *err) {
    const dpa_scores *scores = s->scores;
    dpa_scores choose, judge;
    double threshold;
    if (scores->members < 2 || scores->nonmembers < 2)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "a split needs two members and two non-members, not %zu and %zu",
                         scores->members, scores->nonmembers);
    /* chosen with a stricter error than it is judged by, because the plain maximum prefers
     * thresholds where a class has almost no errors by luck */
    const double strict = (1 - s->request->confidence) / 40;
    const dpa__objective objective = {
        dpa__registry_find("cp", NULL), s->model, strict, strict, strict, 1, strict};
    DPA_TRY(split_scores(scores, s->request->seed, number, &choose, &judge, err));
    dpa_status status = choose_threshold(&objective, &choose, &threshold, err);
    if (status == DPA_OK) {
        const dpa_counts counts = dpa__scores_counts(&judge, threshold);
        status = dpa__estimate_one(s->entry, &counts, s->model, s->request, out, err);
        out->threshold = threshold;
    }
    dpa__scores_free(&choose);
    dpa__scores_free(&judge);
    return status;
}

static dpa_status run_split(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    return run_one_split(s, 0, out, err);
}

static int by_lower(const void *a, const void *b) {
    const dpa_result *x = a, *y = b;
    return (x->epsilon_lower < y->epsilon_lower) - (x->epsilon_lower > y->epsilon_lower);
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dpa_status run_multi_split(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    dpa__selection one = *s;
    dpa_request each = *s->request;
    each.confidence = 1 - (1 - each.confidence) * DPA__SPLITS_NEEDED / DPA__SPLITS;
    one.request = &each;
    dpa_result *results = DPA_NEW_ARRAY(dpa_result, DPA__SPLITS, err);
    if (results == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    double upper[DPA__SPLITS];
    for (uint64_t i = 0; i < DPA__SPLITS && status == DPA_OK; ++i)
        status = run_one_split(&one, i, &results[i], err);
    if (status == DPA_OK) {
        for (size_t i = 0; i < DPA__SPLITS; ++i) upper[i] = results[i].epsilon_upper;
        qsort(results, DPA__SPLITS, sizeof *results, by_lower);
        qsort(upper, DPA__SPLITS, sizeof *upper, by_number);
        *out = results[DPA__SPLITS_NEEDED - 1];
        out->confidence = s->request->confidence;
        if (s->request->sides == 2) out->epsilon_upper = upper[DPA__SPLITS_NEEDED - 1];
        out->parameter_upper = NAN;
        (void)snprintf(out->note, sizeof out->note,
                       "The %dth largest of %d bounds from as many splits, each at error p*%d/%d.",
                       DPA__SPLITS_NEEDED, DPA__SPLITS, DPA__SPLITS_NEEDED, DPA__SPLITS);
    }
    free(results);
    return status;
}

dpa_status dpa__select_run(const dpa__selection *s, dpa_result *out, dpa_error *err) {
    static dpa_status (*const run[])(const dpa__selection *, dpa_result *, dpa_error *) = {
        [DPA__FIXED] = run_fixed, [DPA__FIXED_FPR] = run_fixed,
        [DPA__SPLIT] = run_split, [DPA__MULTI_SPLIT] = run_multi_split,
        [DPA__MAX] = run_max,     [DPA__SIMULTANEOUS] = run_simultaneous};
    const dpa_status status = run[s->select.kind](s, out, err);
    (void)snprintf(out->select, sizeof out->select, "%s", kinds[s->select.kind].name);
    return status;
}
