/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections on rates: the posterior of ε, bounds at other δ, δ at a fixed ε, and --explain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "base/memory.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/select.h"
#include "estimate/registry.h"
#include "judge/rates.h"

enum { POSTERIOR_POINTS = 120 };

/* What the estimator of a result can do (DPA_GIVES_…); 0 if it is not in the registry. */
static unsigned traits_of(const dpa_result *r) {
    const dpa__entry *entry = dpa__registry_find(r->method, NULL);
    return entry != NULL ? entry->about.what : 0;
}

static const dpa_result *first_posterior(const dpa_report *report) {
    for (size_t i = 0; i < report->results.count; ++i)
        if (traits_of(&report->results.items[i]) & DPA_GIVES_DENSITY)
            return &report->results.items[i];
    return NULL;
}

static dpa_status put_points(json_t *section, const dpa__posterior_point *points, size_t count,
                             dpa_error *err) {
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(section, "points", array, err));
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(DPA__JSON_ADD(array, err, {"epsilon", points[i].epsilon},
                              {"density", points[i].density},
                              {"cumulative", points[i].cumulative}));
    }
    return DPA_OK;
}

/* Section "posterior": that of the first result by joint posterior, if there is one. */
static dpa_status section_posterior(dpa_report *report, dpa_error *err) {
    const dpa_result *r = first_posterior(report);
    /* composing a curve per point would take longer than the audit */
    if (r == NULL || dpa__family_is_composed(r->family)) return DPA_OK;
    dpa__posterior_point points[POSTERIOR_POINTS];
    double atom, mean, median;
    const dpa_request *request = &report->request;
    DPA_TRY(
        dpa__posterior_curve(&r->counts, request, r->family, points, POSTERIOR_POINTS, &atom, err));
    DPA_TRY(dpa__posterior_mean(&r->counts, request, r->family, &mean, err));
    DPA_TRY(dpa__posterior_epsilon(&r->counts, request, r->family, 0.5, &median, err));
    json_t *section = json_object();
    DPA_TRY(dpa__json_set(report->sections, "posterior", section, err));
    DPA_TRY(DPA__JSON_FILL(section, err, {"family", .text = r->family}, {"atom", atom},
                           {"mean", mean}, {"median", median}));
    return put_points(section, points, POSTERIOR_POINTS, err);
}

/* ── bounds at other δ ─────────────────────────────────────────────────────────────────────── */

static const double deltas[] = {1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4,
                                1e-3, 3e-3, 0.01, 0.03, 0.1,  0.3};

/* The bound of a row's estimator, from scores or (NULL) from counts. */
static dpa_status run_again(dpa_request request, const dpa_result *row, const dpa_scores *scores,
                            const dpa_counts *counts, double *epsilon, dpa_error *err) {
    dpa_results results = {0};
    (void)snprintf(request.family, sizeof request.family, "%s", row->family);
    (void)snprintf(request.method, sizeof request.method, "%s", row->method);
    const dpa_status status = scores == NULL
                                  ? dpa__estimate_counts(counts, &request, &results, err)
                                  : dpa__estimate_scores(scores, &request, &results, err);
    if (status == DPA_OK) *epsilon = results.items[0].epsilon_lower;
    dpa__results_free(&results);
    return status;
}

static dpa_status bound_at(const dpa_report *report, const dpa_scores *scores, const dpa_result *r,
                           double delta, double *epsilon, dpa_error *err) {
    dpa_request request = report->request;
    request.delta = delta;
    if (request.select[0] == '\0' && !dpa__registry_is_rank(r->method))
        (void)snprintf(request.select, sizeof request.select, "%s", r->select);
    return run_again(request, r, scores, &r->counts, epsilon, err);
}

/* The parameter of a curve family does not depend on δ, so ε at another δ is only a conversion. */
static dpa_status converted(const dpa_result *r, double delta, double *epsilon, dpa_error *err) {
    dpa_family *family = NULL;
    dpa_interval interval;
    if (dpa__family_is_gaussian(r->family)) {
        *epsilon = dpa_gaussian_epsilon(r->parameter_lower, delta);
        return DPA_OK;
    }
    DPA_TRY(dpa__family_parse(r->family, delta, &family, err));
    const double t = dpa__family_t(family, r->parameter_lower);
    *epsilon = 0;
    dpa_status status = DPA_OK;
    if (t > 0) {
        status = dpa__family_epsilon(family, t, delta, &interval, err);
        if (status == DPA_OK) *epsilon = interval.lower;
    }
    dpa__family_free(family);
    return status;
}

static dpa_status put_curve(const dpa_report *report, const dpa_scores *scores, const dpa_result *r,
                            json_t *rows, dpa_error *err) {
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; ++i) {
        double epsilon;
        if (dpa__family_is_universal(r->family))
            DPA_TRY(bound_at(report, scores, r, deltas[i], &epsilon, err));
        else
            DPA_TRY(converted(r, deltas[i], &epsilon, err));
        DPA_TRY(DPA__JSON_ADD(rows, err, {"family", .text = r->family},
                              {"method", .text = r->method}, {"delta", deltas[i]},
                              {"epsilon_lower", epsilon}));
    }
    return DPA_OK;
}

/* Section "epsilon_delta": every bound of the report from a threshold or ranks, at other δ. */
static dpa_status section_curve(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(report->sections, "epsilon_delta", rows, err));
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        const int has_curve =
            dpa__registry_has_limits(r->method) || dpa__registry_is_rank(r->method);
        if (r->kind == DPA_BOUND && has_curve) DPA_TRY(put_curve(report, scores, r, rows, err));
    }
    return DPA_OK;
}

/* ── δ at a fixed ε ────────────────────────────────────────────────────────────────────────── */

/* δ of a result. If its estimator works on counts, at a threshold that was not selected on them:
 * from the counts; else from the family's parameter; NaN if neither is known. */
static dpa_status delta_of(const dpa_report *report, const dpa_result *r, double epsilon,
                           double *delta, dpa_error *err) {
    dpa_family *family = NULL;
    dpa_curve *curve = NULL;
    *delta = NAN;
    if (dpa__family_is_universal(r->family)) {
        if (!dpa__registry_has_limits(r->method) || dpa__select_is(r->select, DPA__SIMULTANEOUS) ||
            dpa__select_is(r->select, DPA__MULTI_SPLIT))
            return DPA_OK;
        return dpa__delta_at_epsilon(&r->counts, &report->request, "dp", r->method, epsilon, delta,
                                     err);
    }
    DPA_TRY(dpa__family_parse(r->family, report->request.delta, &family, err));
    const double t = dpa__family_t(family, r->parameter_lower);
    dpa_status status = DPA_OK;
    *delta = 0;
    if (t > 0) {
        status = dpa__family_curve(family, t, &curve, err);
        if (status == DPA_OK) *delta = dpa_curve_delta(curve, epsilon);
        dpa_curve_free(curve);
    }
    dpa__family_free(family);
    return status;
}

/* Section "delta_at_epsilon" and its text, from the counts of the results or from their parameter.
 */
static dpa_status section_delta(dpa_report *report, double epsilon, dpa_error *err) {
    json_t *section = json_object(), *rows = json_array();
    DPA_TRY(dpa__json_set(report->sections, "delta_at_epsilon", section, err));
    DPA_TRY(dpa__json_put(section, "epsilon", epsilon, err));
    DPA_TRY(dpa__json_set(section, "results", rows, err));
    DPA_TRY(dpa__report_say(report, err, "δ that ε = %g needs, at least:", epsilon));
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        double delta;
        if (r->kind != DPA_BOUND) continue;
        DPA_TRY(delta_of(report, r, epsilon, &delta, err));
        if (isnan(delta)) continue;
        json_t *row = json_object();
        DPA_TRY(dpa__json_append(rows, row, err));
        DPA_TRY(DPA__JSON_FILL(row, err, {"family", .text = r->family},
                               {"method", .text = r->method}, {"select", .text = r->select},
                               {"delta_lower", delta}));
        DPA_TRY(dpa__json_set(row, "valid", json_boolean(r->valid), err));
        DPA_TRY(dpa__report_say(report, err, "  %-12s %-12s %.6g%s", r->family, r->method, delta,
                                r->valid ? "" : "  (optimistic)"));
    }
    return DPA_OK;
}

/* ── why the deciding bound is what it is ────────────────────────────────────────────── */

/* --explain: why the deciding bound is what it is, and what would raise it. Every statement was
 * computed: "four times the runs" is the same audit with the evidence counted four times. */
enum { TIMES = 4 };
static const size_t MOST_REPEATED = 2000000;

static double *repeated(const double *sorted, size_t count, dpa_error *err) {
    double *out = DPA_NEW_ARRAY(double, TIMES *count, err);
    for (size_t i = 0; out != NULL && i < TIMES * count; ++i) out[i] = sorted[i / TIMES];
    return out;
}

static dpa_status more_runs(const dpa_report *report, const dpa_scores *s, const dpa_result *best,
                            double *epsilon, dpa_error *err) {
    const dpa_counts *c = &best->counts;
    const dpa_counts counts = {TIMES * c->fn, TIMES * c->tp, TIMES * c->fp, TIMES * c->tn};
    if (s == NULL) return run_again(report->request, best, NULL, &counts, epsilon, err);
    dpa_scores more = {
        .members = TIMES * s->members, .nonmembers = TIMES * s->nonmembers, .is_sorted = 1};
    more.member = repeated(s->member, s->members, err);
    more.nonmember = repeated(s->nonmember, s->nonmembers, err);
    const dpa_status status = more.member != NULL && more.nonmember != NULL
                                  ? run_again(report->request, best, &more, NULL, epsilon, err)
                                  : DPA_NO_MEMORY;
    dpa__scores_free(&more);
    return status;
}

static dpa_status say_why(dpa_report *report, const dpa_result *best, dpa_error *err) {
    if (!best->has_counts)
        return dpa__report_say(
            report, err,
            "  It looks at the order of all scores at once: no threshold had to\n"
            "  be chosen or paid for.");
    const dpa_counts *c = &best->counts;
    DPA_TRY(dpa__report_say(report, err,
                            "  At its threshold the attack misses %llu of %llu members and\n"
                            "  accuses %llu of %llu non-members.",
                            (unsigned long long)c->fn, (unsigned long long)(c->fn + c->tp),
                            (unsigned long long)c->fp, (unsigned long long)(c->fp + c->tn)));
    if (dpa__select_is(best->select, DPA__SIMULTANEOUS))
        return dpa__report_say(
            report, err,
            "  Its limits hold for every threshold at once: the price of choosing\n"
            "  it afterwards; --select fixed:T on fresh runs saves it.");
    if (dpa__select_is(best->select, DPA__SPLIT))
        return dpa__report_say(
            report, err, "  Half of the runs chose the threshold, only the other half count.");
    return DPA_OK;
}

static dpa_status say_families(dpa_report *report, const dpa_result *best, dpa_error *err) {
    if (dpa__result_conditional(best) == NULL)
        return dpa__report_say(
            report, err,
            "  It assumes nothing about the mechanism. If its noise is known, a\n"
            "  --family that describes it may show more.");
    return dpa__report_say(report, err,
                           "  It stands on the family %.40s: with --family dp nothing is assumed.",
                           best->family);
}

static dpa_status explain(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
    const dpa_result *best = dpa_report_primary(report);
    if (best == NULL) return dpa__report_say(report, err, "explain: there is no valid bound.");
    DPA_TRY(dpa__report_say(report, err, "explain: the deciding bound is ε ≥ %.4f (%.40s, %s).",
                            best->epsilon_lower, best->family, best->method));
    DPA_TRY(say_why(report, best, err));
    const int is_group = strncmp(best->select, "group", 5) == 0;
    const int is_large = scores != NULL && scores->members + scores->nonmembers > MOST_REPEATED;
    if (!is_group && !is_large) {
        double more;
        DPA_TRY(more_runs(report, scores, best, &more, err));
        DPA_TRY(dpa__report_say(
            report, err, "  Four times as many runs with the same outcome would show %.4f.", more));
    }
    return say_families(report, best, err);
}

dpa_status dpa__rates_sections(dpa__case *c, const dpa_scores *scores, dpa_error *err) {
    const dpa_protocol *p = &c->protocol;
    if (!p->plain) DPA_TRY(section_posterior(c->report, err));
    if (p->curve) DPA_TRY(section_curve(c->report, scores, err));
    if (!isnan(p->at_epsilon)) DPA_TRY(section_delta(c->report, p->at_epsilon, err));
    return p->explain ? explain(c->report, scores, err) : DPA_OK;
}
