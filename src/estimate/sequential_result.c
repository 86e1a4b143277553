/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two lists of scores in the order of arrival as sequential audits: `--method sequential`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/registry.h"
#include "estimate/sequential.h"

/* 1 if a list is sorted by score: it cannot be in order of arrival, and pairs would not be
 * independent draws. Only lists too long for that to be a coincidence count. */
static int looks_sorted(const double *values, size_t count) {
    size_t up = 0, down = 0;
    for (size_t i = 1; i < count; ++i) {
        up += values[i] >= values[i - 1];
        down += values[i] <= values[i - 1];
    }
    const int all_equal = up == count - 1 && down == count - 1;
    return count > 20 && !all_equal && (up == count - 1 || down == count - 1);
}

static dpa_status check_order(const dpa_scores *s, dpa_error *err) {
    if (s->members == 0 || s->nonmembers == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "no %s: a bound needs scores of both classes",
                         s->members == 0 ? "members" : "non-members");
    if (s->is_sorted || looks_sorted(s->member, s->members) ||
        looks_sorted(s->nonmember, s->nonmembers))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "method sequential: the scores are sorted; it needs them in the order in "
                         "which the trials came");
    return DPA_OK;
}

static dpa_status push_all(dpa_sequential *audit, const dpa_scores *s, dpa_error *err) {
    const size_t pairs = s->members < s->nonmembers ? s->members : s->nonmembers;
    for (size_t i = 0; i < pairs; ++i) {
        DPA_TRY(dpa__sequential_push(audit, 1, s->member[i], err));
        DPA_TRY(dpa__sequential_push(audit, 0, s->nonmember[i], err));
    }
    return DPA_OK;
}

static dpa_status fill(const dpa_sequential *audit, const dpa_scores *s, dpa_result *out,
                       dpa_error *err) {
    const dpa__model *model = &audit->model;
    dpa_sequential_now now;
    DPA_TRY(dpa__sequential_look(audit, &now, err));
    (void)snprintf(out->family, sizeof out->family, "%s", model->spec);
    (void)snprintf(out->method, sizeof out->method, "sequential");
    (void)snprintf(out->select, sizeof out->select, "%s",
                   isnan(audit->fixed) ? "running" : "fixed");
    (void)snprintf(out->parameter, sizeof out->parameter, "%s", model->parameter);
    out->epsilon_lower = now.epsilon_lower;
    out->parameter_lower = now.parameter_lower;
    out->threshold = audit->fixed;
    out->p_value = now.p_value;
    out->assumptions =
        DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_ORDER_OF_ARRIVAL | model->assumption;
    if (!isnan(audit->fixed)) out->assumptions |= DPA_ASSUME_THRESHOLD_FIXED;
    out->numerical_error = 1e-11 * (1 + now.epsilon_lower);
    dpa__result_add_extra(out, "pairs", (double)now.pairs);
    if (!isnan(now.log_e_value)) dpa__result_add_extra(out, "log_e_value", now.log_e_value);
    if (now.refuted_at > 0) dpa__result_add_extra(out, "refuted_at_pair", (double)now.refuted_at);
    const size_t unpaired =
        s->members > s->nonmembers ? s->members - s->nonmembers : s->nonmembers - s->members;
    if (unpaired > 0)
        (void)snprintf(out->note, sizeof out->note,
                       "%zu scores of the larger class have no partner and were not used.",
                       unpaired);
    return DPA_OK;
}

static dpa_status audit_family(const dpa_scores *s, const dpa_request *request,
                               dpa_results *results, dpa_error *err) {
    dpa_sequential *audit = NULL;
    dpa_result result;
    dpa__result_init(&result, request);
    DPA_TRY(dpa__sequential_new(request, &audit, err));
    dpa_status status = push_all(audit, s, err);
    if (status == DPA_OK) status = fill(audit, s, &result, err);
    dpa__sequential_free(audit);
    if (status != DPA_OK) return status;
    return dpa__results_add(results, &result, err);
}

dpa_status dpa__estimate_sequential(const dpa_scores *in_order, const dpa_request *request,
                                    dpa_results *results, dpa_error *err) {
    const char *family;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check_order(in_order, err));
    for (size_t i = 0; (family = dpa__request_family(request, i)) != NULL; ++i) {
        dpa_request each = *request;
        (void)snprintf(each.family, sizeof each.family, "%s", family);
        DPA_TRY(audit_family(in_order, &each, results, err));
    }
    return DPA_OK;
}
