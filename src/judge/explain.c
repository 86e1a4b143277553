/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --explain: why the deciding bound is what it is, and what would raise it. Every statement was
 * computed: "four times the runs" is the same audit with the evidence counted four times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/select.h"
#include "judge/rates.h"

enum { TIMES = 4 };
static const size_t MOST_REPEATED = 2000000;

static double *repeated(const double *sorted, size_t count, dpa_error *err) {
    double *out = DPA_NEW_ARRAY(double, TIMES *count, err);
    for (size_t i = 0; out != NULL && i < TIMES * count; ++i) out[i] = sorted[i / TIMES];
    return out;
}

static dpa_status more_scores(const dpa_scores *s, const dpa_request *request, dpa_results *results,
                              dpa_error *err) {
    dpa_scores more = {
        .members = TIMES * s->members, .nonmembers = TIMES * s->nonmembers, .is_sorted = 1};
    more.member = repeated(s->member, s->members, err);
    more.nonmember = repeated(s->nonmember, s->nonmembers, err);
    const dpa_status status = more.member != NULL && more.nonmember != NULL
                                  ? dpa__estimate_scores(&more, request, results, err)
                                  : DPA_NO_MEMORY;
    dpa__scores_free(&more);
    return status;
}

static dpa_status more_runs(const dpa_report *report, const dpa_scores *scores,
                            const dpa_result *best, double *epsilon, dpa_error *err) {
    dpa_request request = report->request;
    dpa_results results = {0};
    (void)snprintf(request.family, sizeof request.family, "%s", best->family);
    (void)snprintf(request.method, sizeof request.method, "%s", best->method);
    dpa_status status;
    if (scores != NULL) {
        status = more_scores(scores, &request, &results, err);
    } else {
        const dpa_counts *c = &best->counts;
        const dpa_counts more = {TIMES * c->fn, TIMES * c->tp, TIMES * c->fp, TIMES * c->tn};
        status = dpa__estimate_counts(&more, &request, &results, err);
    }
    if (status == DPA_OK) *epsilon = results.items[0].epsilon_lower;
    dpa__results_free(&results);
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

dpa_status dpa__explain(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
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
