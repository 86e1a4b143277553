/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many samples an estimate of ε needs for a given half width (bayesian-estimation, figure 4): a
 * table, and the ends of the intervals against the number of samples. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/registry.h"
#include "report/plan.h"
#include "report/value.h"

static const char *const methods[] = {"cp", "jeffreys", "bayes"};

static dpa_status put_point(json_t *rows, const dpa_precision *plan, uint64_t n, dpa_error *err) {
    dpa_precision_answer a;
    char series[DPA_FAMILY_SIZE + DPA_NAME_SIZE];
    json_t *row = json_object();
    (void)snprintf(series, sizeof series, "%s, %s", plan->family, plan->method);
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(dpa__plan_interval(plan, n, &a, err));
    return DPA__JSON_FILL(row, err, {"series", .text = series}, {"samples", 2 * (double)n},
                          {"epsilon_lower", a.lower}, {"epsilon_upper", a.upper});
}

/* From an eighth of the number needed to twice as many. */
static dpa_status put_curve(json_t *rows, const dpa_precision *plan, double needed, size_t points,
                            dpa_error *err) {
    uint64_t before = 0;
    for (size_t i = 0; i < points; ++i) {
        const double part = points > 1 ? (double)i / (double)(points - 1) : 1;
        const uint64_t n = (uint64_t)llround(fmax(1, needed / 8 * pow(16, part)));
        if (n > before) DPA_TRY(put_point(rows, plan, n, err));
        before = n;
    }
    return DPA_OK;
}

typedef struct context {
    dpa_report *report;
    const dpa_plan_query *query;
    json_t *rows, *curve;
} context;

static dpa_status put_row(context *c, const dpa_precision *plan, dpa_error *err) {
    dpa_precision_answer a;
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(c->rows, row, err));
    DPA_TRY(dpa__plan_half_width(plan, c->query->half_width, c->query->most, &a, err));
    const double samples = a.size > 0 ? 2 * (double)a.size : (double)INFINITY;
    DPA_TRY(DPA__JSON_FILL(row, err, {"family", .text = plan->family},
                           {"method", .text = plan->method}, {"samples_needed", samples},
                           {"epsilon_lower", a.lower}, {"epsilon_upper", a.upper}));
    DPA_TRY(dpa__report_say(c->report, err, "  %-10s %-10s %9s   [%.4f, %.4f]", plan->family,
                            plan->method, dpa__cell_of("n", samples).text, a.lower, a.upper));
    return put_curve(c->curve, plan, a.size > 0 ? (double)a.size : (double)c->query->most,
                     c->query->points, err);
}

static dpa_status put_rows(context *c, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    const char *family;
    int has_method = 0;
    for (size_t f = 0; (family = dpa__plan_family(request, f)) != NULL; ++f)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
            const dpa_precision plan = {family,        methods[m],     c->query->fnr,
                                        c->query->fpr, request->delta, request->confidence};
            if (!dpa__list_asks(request->method, methods[m])) continue;
            DPA_TRY(put_row(c, &plan, err));
            has_method = 1;
        }
    for (size_t f = 0; !has_method && (family = dpa__plan_family(request, f)) != NULL; ++f) {
        const dpa_precision plan = {family,        request->method, c->query->fnr,
                                    c->query->fpr, request->delta,  request->confidence};
        DPA_TRY(put_row(c, &plan, err));
    }
    return DPA_OK;
}

dpa_status dpa__plan_precision(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    context c = {.report = report, .query = query};
    json_t *section = json_object();
    DPA_TRY(dpa__json_set(report->sections, "precision", section, err));
    DPA_TRY(dpa__json_set(section, "rows", json_array(), err));
    DPA_TRY(dpa__json_set(report->sections, "precision_curve", json_array(), err));
    c.rows = json_object_get(section, "rows");
    c.curve = json_object_get(report->sections, "precision_curve");
    if (isnan(query->fnr) || isnan(query->fpr))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "a half width needs the error rates of the attack: fnr and fpr");
    DPA_TRY(DPA__JSON_FILL(section, err, {"half_width", query->half_width}, {"fnr", query->fnr},
                           {"fpr", query->fpr}));
    DPA_TRY(dpa__report_say(report, err,
                            "Precision, nothing was audited: ε within ±%g, two-sided at %s, from "
                            "an attack with FNR %g and FPR %g, δ = %g",
                            query->half_width, dpa__percent_of(report->request.confidence).text,
                            query->fnr, query->fpr, report->request.delta));
    DPA_TRY(dpa__report_say(report, err, "  %-10s %-10s %9s   %s", "family", "method", "samples",
                            "interval there"));
    DPA_TRY(put_rows(&c, err));
    return dpa__report_say(report, err, "samples: members and non-members together, half of each");
}
