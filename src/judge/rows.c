/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a report on rates: first the deciding tests, then what is shown beside them: the same
 * method under other families, and the posterior. With `all`, everything that applies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "estimate/registry.h"
#include "judge/rates.h"

int dpa__has_row(const dpa_report *report, const char *family, const char *method,
                 const char *select) {
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        const dpa__test_name its = {r->family, r->method, r->select};
        if (dpa__is_same_test(its, (dpa__test_name){family, method, select})) return 1;
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
    dpa__results_free(results);
    return status;
}

/* A row that is asked for, and what came of it. */
typedef struct asked {
    dpa_request request;
    dpa_role role;
    int is_optional; /* left out silently if it cannot be had */
    dpa_results results;
    dpa_status status;
    dpa_error error;
} asked;

static asked ask(const dpa__rows *rows, const char *family, const char *method, const char *select,
                 double confidence, dpa_role role) {
    asked a = {.request = dpa__case_request(rows->c), .role = role};
    (void)snprintf(a.request.family, sizeof a.request.family, "%s", family);
    (void)snprintf(a.request.method, sizeof a.request.method, "%s", method);
    (void)snprintf(a.request.select, sizeof a.request.select, "%s", select);
    a.request.confidence = confidence;
    return a;
}

static void answer(const dpa__rows *rows, asked *a) {
    a->status = rows->run(rows->user, &a->request, &a->results, &a->error);
    if (a->status != DPA_OK) dpa__results_free(&a->results);
}

static dpa_status take_answer(const dpa__rows *rows, asked *a, dpa_error *err) {
    if (a->status == DPA_OK) return take(rows->c, &a->results, a->role, err);
    if (a->is_optional && a->status == DPA_BAD_ARGUMENT) return DPA_OK;
    if (err != NULL) *err = a->error;
    return a->status;
}

dpa_status dpa__rates_row(const dpa__rows *rows, const char *family, const char *method,
                          const char *select, double confidence, dpa_role role, dpa_error *err) {
    asked a = ask(rows, family, method, select, confidence, role);
    answer(rows, &a);
    return take_answer(rows, &a, err);
}

/* All rows of a report, in their order. They do not depend on one another, so each is a task for a
 * thread. */
typedef struct list {
    const dpa__rows *rows;
    asked *items;
    size_t count, room;
} list;

static int is_asked(const list *l, const dpa_request *r) {
    const dpa__test_name its = {r->family, r->method, r->select};
    for (size_t i = 0; i < l->count; ++i) {
        const dpa_request *other = &l->items[i].request;
        if (dpa__is_same_test((dpa__test_name){other->family, other->method, other->select}, its))
            return 1;
    }
    return 0;
}

/* A row that is asked for twice would be shown once. */
static dpa_status add(list *l, asked a, dpa_error *err) {
    if (a.role == DPA_SHOWN && is_asked(l, &a.request)) return DPA_OK;
    if (l->count == l->room) {
        const size_t room = 2 * l->room + 8;
        asked *items = dpa__realloc(l->items, room, sizeof *items, err);
        if (items == NULL) return DPA_NO_MEMORY;
        l->items = items;
        l->room = room;
    }
    l->items[l->count++] = a;
    return DPA_OK;
}

/* A row beside the test. */
static dpa_status show(list *l, const char *family, const char *method, dpa_error *err) {
    const dpa_request *r = &l->rows->c->protocol.request;
    asked a = ask(l->rows, family, method, r->select, r->confidence, DPA_SHOWN);
    a.is_optional = 1;
    return add(l, a, err);
}

static dpa_status decide(list *l, dpa_error *err) {
    const dpa__case *c = l->rows->c;
    const dpa__test *t = &c->test;
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const double confidence = dpa__shared_confidence(c->protocol.request.confidence, t->count);
    for (size_t f = 0; dpa__list_item(t->family, f, family, sizeof family); ++f)
        for (size_t m = 0; dpa__list_item(t->method, m, method, sizeof method); ++m)
            DPA_TRY(add(l, ask(l->rows, family, method, t->select, confidence, DPA_PRIMARY), err));
    return DPA_OK;
}

/* Methods that were named but cannot decide: a posterior, an estimate, a maximum. */
static dpa_status show_named(list *l, dpa_error *err) {
    const dpa_request *r = &l->rows->c->protocol.request;
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const char *families = r->family[0] != '\0' ? r->family : l->rows->c->test.family;
    for (size_t m = 0; dpa__list_item(r->method, m, method, sizeof method); ++m)
        for (size_t f = 0; dpa__list_item(families, f, family, sizeof family); ++f)
            DPA_TRY(add(l, ask(l->rows, family, method, r->select, r->confidence, DPA_SHOWN), err));
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
static dpa_status show_families(list *l, dpa_error *err) {
    const dpa__case *c = l->rows->c;
    const char *named = c->protocol.request.method;
    const unsigned source =
        c->evidence->kind == DPA_EVIDENCE_COUNTS ? DPA_FROM_COUNTS : DPA_FROM_SCORES;
    char training[DPA_FAMILY_SIZE] = "gaussian";
    if (is_training_known(c)) dpa__claimed_family(c, training, sizeof training);
    const char *const families[] = {"dp", training, "gaussian", "laplace"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) {
        const char *usual = dpa__registry_default(source, dpa__family_is_universal(families[i]), 0,
                                                  dpa__is_large(c->evidence), 2);
        DPA_TRY(show(l, families[i], named[0] != '\0' ? named : usual, err));
    }
    return DPA_OK;
}

static dpa_status ask_all(list *l, dpa_error *err) {
    const dpa__case *c = l->rows->c;
    const dpa_request *r = &c->protocol.request;
    DPA_TRY(decide(l, err));
    if (c->protocol.bare) return DPA_OK;
    const int is_named = !dpa__list_asks(r->method, c->test.method);
    const int is_max = strcmp(r->select, c->test.select) != 0;
    if (is_named || (is_max && r->method[0] != '\0')) DPA_TRY(show_named(l, err));
    const int is_free = r->family[0] == '\0' && c->evidence->scope == DPA_SCOPE_TRAINING;
    if (is_free) DPA_TRY(show_families(l, err));
    if (is_free && r->method[0] == '\0') DPA_TRY(show(l, "dp", dpa__registry_posterior(), err));
    if (is_max && r->method[0] == '\0') DPA_TRY(show(l, r->family, "", err));
    return c->protocol.all ? show(l, r->family, r->method, err) : DPA_OK;
}

static int answer_one(void *user, size_t task) {
    list *l = user;
    if (task >= l->count) return l->rows->beside(l->rows->beside_user, task - l->count);
    answer(l->rows, &l->items[task]);
    return 0;
}

dpa_status dpa__rates_rows(const dpa__rows *rows, dpa_error *err) {
    list l = {.rows = rows};
    dpa_status status = ask_all(&l, err);
    const size_t tasks = l.count + rows->beside_count;
    if (status == DPA_OK) status = dpa__parallel(rows->threads, tasks, answer_one, &l, err);
    for (size_t i = 0; i < l.count; ++i)
        if (status == DPA_OK)
            status = take_answer(rows, &l.items[i], err);
        else
            dpa__results_free(&l.items[i].results);
    free(l.items);
    return status;
}
