/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a report on rates: first the deciding tests, then what is shown beside them: the same
 * method under other families, and the posterior. With `all`, everything that applies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/registry.h"
#include "judge/rates.h"

int dpa__has_row(const dpa_report *report, const char *family, const char *method,
                 const char *select) {
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        if (strcmp(r->family, family) == 0 && strcmp(r->method, method) == 0 &&
            (select == NULL || strcmp(r->select, select) == 0))
            return 1;
    }
    return 0;
}

/* A bound on a step is about the step, so it decides only a claim about a step. */
static dpa_status take(dpa__case *c, dpa_results *results, dpa_role role, dpa_error *err) {
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < results->count && status == DPA_OK; ++i) {
        dpa_result *r = &results->items[i];
        r->scope = c->evidence->scope;
        if (role == DPA_PRIMARY) r->confidence = c->protocol.request.confidence;
        if (role == DPA_SHOWN && dpa__has_row(c->report, r->family, r->method, r->select)) continue;
        const int is_step = role == DPA_PRIMARY && r->scope == DPA_SCOPE_STEP &&
                            c->claim.scope == DPA_SCOPE_TRAINING;
        if (is_step) status = dpa__whole_training(c, r, err);
        if (status == DPA_OK) status = dpa__case_add(c, r, is_step ? DPA_SHOWN : role, err);
    }
    dpa_results_free(results);
    return status;
}

dpa_status dpa__rates_row(const dpa__rows *rows, const char *family, const char *method,
                          const char *select, double confidence, dpa_role role, dpa_error *err) {
    dpa_request request = dpa__case_request(rows->c);
    dpa_results results = {0};
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    request.confidence = confidence;
    const dpa_status status = rows->run(rows->user, &request, &results, err);
    if (status != DPA_OK) {
        dpa_results_free(&results);
        return status;
    }
    return take(rows->c, &results, role, err);
}

/* A row shown beside the test; if it fails, it is left out silently. */
static dpa_status show(const dpa__rows *rows, const char *family, const char *method,
                       dpa_error *err) {
    const dpa_request *r = &rows->c->protocol.request;
    dpa_error unused;
    const dpa_status status =
        dpa__rates_row(rows, family, method, r->select, r->confidence, DPA_SHOWN, &unused);
    if (status == DPA_OK || status == DPA_BAD_ARGUMENT) return DPA_OK;
    *err = unused;
    return status;
}

static dpa_status decide(const dpa__rows *rows, dpa_error *err) {
    const dpa__case *c = rows->c;
    const dpa__test *t = &c->test;
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const double confidence = dpa__shared_confidence(c->protocol.request.confidence, t->count);
    for (size_t f = 0; dpa__list_item(t->family, f, family, sizeof family); ++f)
        for (size_t m = 0; dpa__list_item(t->method, m, method, sizeof method); ++m)
            DPA_TRY(dpa__rates_row(rows, family, method, t->select, confidence, DPA_PRIMARY, err));
    return DPA_OK;
}

/* Methods that were named but cannot decide: a posterior, an estimate, a maximum. */
static dpa_status show_named(const dpa__rows *rows, dpa_error *err) {
    const dpa_request *r = &rows->c->protocol.request;
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const char *families = r->family[0] != '\0' ? r->family : rows->c->test.family;
    for (size_t m = 0; dpa__list_item(r->method, m, method, sizeof method); ++m)
        for (size_t f = 0; dpa__list_item(families, f, family, sizeof family); ++f)
            DPA_TRY(dpa__rates_row(rows, family, method, r->select, r->confidence, DPA_SHOWN, err));
    return DPA_OK;
}

/* 1 if the training that was claimed or observed has a family of its own; copies of a record have
 * none. */
static int is_training_known(const dpa__case *c) {
    const dpa_training_facts *t = &c->evidence->training;
    return t->records <= 1 && (!isnan(c->claim.sigma) || (!isnan(t->q) && t->steps > 0));
}

/* The same question to other families, whichever of them decides: any mechanism, the training
 * itself, one release of Gaussian and of Laplace noise. */
static dpa_status show_families(const dpa__rows *rows, dpa_error *err) {
    const dpa__case *c = rows->c;
    const char *named = c->protocol.request.method;
    const unsigned source =
        c->evidence->kind == DPA_EVIDENCE_COUNTS ? DPA_FROM_COUNTS : DPA_FROM_SCORES;
    char training[DPA_FAMILY_SIZE] = "gaussian";
    if (is_training_known(c)) dpa__claimed_family(c, training, sizeof training);
    const char *const families[] = {"dp", training, "gaussian", "laplace"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) {
        const char *usual = dpa__registry_default(source, dpa_family_is_universal(families[i]), 0,
                                                  dpa__is_large(c->evidence), 2);
        DPA_TRY(show(rows, families[i], named[0] != '\0' ? named : usual, err));
    }
    return DPA_OK;
}

dpa_status dpa__rates_rows(const dpa__rows *rows, dpa_error *err) {
    const dpa__case *c = rows->c;
    const dpa_request *r = &c->protocol.request;
    DPA_TRY(decide(rows, err));
    if (c->protocol.bare) return DPA_OK;
    const int is_named = !dpa__list_asks(r->method, c->test.method);
    const int is_max = strcmp(r->select, c->test.select) != 0;
    if (is_named || (is_max && r->method[0] != '\0')) DPA_TRY(show_named(rows, err));
    const int is_free = r->family[0] == '\0' && c->evidence->scope == DPA_SCOPE_TRAINING;
    if (is_free) DPA_TRY(show_families(rows, err));
    if (is_free && r->method[0] == '\0') DPA_TRY(show(rows, "dp", dpa__registry_posterior(), err));
    if (is_max && r->method[0] == '\0') DPA_TRY(show(rows, r->family, "", err));
    return c->protocol.all ? show(rows, r->family, r->method, err) : DPA_OK;
}
