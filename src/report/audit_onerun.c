/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run as a report: the guess counts that are looked at, every family and method that applies,
 * and the bound against the number of guesses for a chart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/model.h"
#include "report/onerun.h"

void dpa_onerun_query_init(dpa_onerun_query *query) {
    *query = (dpa_onerun_query){.game = {.options = 2}, .claim_sigma = NAN};
}

/* What is shown when nothing is named; `recursion` for dp is the only one known beyond two
 * options. */
static const struct {
    const char *family, *method;
} rows[] = {
    {"dp", "steinke"},         {"dp", "recursion"},      {"gaussian", "recursion"},
    {"gaussian", "pointwise"}, {"laplace", "recursion"},
};

static int is_wanted(size_t row, const dpa_request *request, uint64_t options, int pointwise) {
    const char *method = rows[row].method;
    if (options != 2 && strcmp(method, "recursion") != 0) return 0;
    if (request->method[0]) return strcmp(method, request->method) == 0;
    if (strcmp(method, "pointwise") == 0) return pointwise;
    return row != 1 || options != 2;
}

static dpa_status add_bound(dpa_report *report, const dpa__onerun_games *games,
                            const dpa_request *request, const char *family, const char *method,
                            dpa_error *err) {
    dpa_request one = *request;
    dpa_result result;
    (void)snprintf(one.family, sizeof one.family, "%s", family);
    (void)snprintf(one.method, sizeof one.method, "%s", method);
    DPA_TRY(dpa_onerun_bound(games->items, games->count, games->choice, &one, &result, err));
    return dpa_report_add(report, &result, err);
}

dpa_status dpa__onerun_add_bounds(dpa_report *report, const dpa__onerun_games *games,
                                  const dpa_request *request, int pointwise, dpa_error *err) {
    const uint64_t options = games->items[0].options;
    if (request->family[0]) {
        DPA_TRY(add_bound(report, games, request, request->family, request->method, err));
        if (!pointwise || request->method[0] || options != 2 || strcmp(request->family, "dp") == 0)
            return DPA_OK;
        return add_bound(report, games, request, request->family, "pointwise", err);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        if (is_wanted(i, request, options, pointwise))
            DPA_TRY(add_bound(report, games, request, rows[i].family, rows[i].method, err));
    if (dpa_report_count(report) == 0) /* the estimator knows why */
        return add_bound(report, games, request, "gaussian", request->method, err);
    return DPA_OK;
}

/* The games of a ranked run, for the way in which the number of guesses is chosen. */
static dpa_status choose_games(const dpa_onerun_query *query, dpa__onerun_games *out,
                               dpa_error *err) {
    const dpa_guesses *ranked = query->ranked;
    uint64_t grid[DPA__GRID_SIZE];
    size_t count = 1;
    out->choice = query->choice;
    if (query->choice == DPA_GUESSES_AUTO)
        count = dpa_onerun_grid(ranked->canaries, grid, DPA__GRID_SIZE);
    if (query->choice == DPA_GUESSES_MAX) count = (size_t)ranked->canaries;
    if (query->choice == DPA_GUESSES_FIXED && query->guesses > ranked->canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "guesses: %llu, but there are %llu canaries",
                         (unsigned long long)query->guesses, (unsigned long long)ranked->canaries);
    out->items = DPA_NEW_ARRAY(dpa_onerun, count, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = count;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t guesses = query->choice == DPA_GUESSES_FIXED  ? query->guesses
                                 : query->choice == DPA_GUESSES_AUTO ? grid[i]
                                                                     : (uint64_t)i + 1;
        out->items[i] =
            (dpa_onerun){ranked->canaries, query->game.options, guesses, ranked->correct[guesses]};
    }
    return DPA_OK;
}

static dpa_status single_game(const dpa_onerun_query *query, dpa__onerun_games *out,
                              dpa_error *err) {
    out->items = DPA_NEW(dpa_onerun, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->items[0] = query->game;
    out->count = 1;
    out->choice = DPA_GUESSES_FIXED;
    return DPA_OK;
}

static dpa_status say_grid(dpa_report *report, const dpa__onerun_games *games, dpa_error *err) {
    json_t *grid = json_array();
    char line[512];
    size_t length = 0;
    DPA_TRY(dpa__json_set(report->sections, "guess_grid", grid, err));
    line[0] = '\0';
    for (size_t i = 0; i < games->count; ++i) {
        const unsigned long long guesses = games->items[i].guesses;
        DPA_TRY(dpa__json_append(grid, json_integer((json_int_t)guesses), err));
        if (length < sizeof line)
            length += (size_t)snprintf(line + length, sizeof line - length, "%s%llu",
                                       i > 0 ? ", " : "", guesses);
    }
    return dpa_report_say(report, err, "The error is split evenly over %zu numbers of guesses: %s.",
                          games->count, line);
}

static dpa_status put_facts(dpa_report *report, const dpa_onerun_query *query,
                            const dpa__onerun_games *games, dpa_error *err) {
    const dpa_onerun *game = &games->items[0];
    DPA_TRY(dpa_report_evidence(report, query->ranked != NULL ? "guesses" : "guess-counts", err));
    DPA_TRY(dpa_report_fact(report, "canaries", (double)game->canaries, err));
    DPA_TRY(dpa_report_fact(report, "options", (double)game->options, err));
    if (games->count == 1) {
        DPA_TRY(dpa_report_fact(report, "guesses", (double)game->guesses, err));
        DPA_TRY(dpa_report_fact(report, "correct", (double)game->correct, err));
    }
    if (!isnan(query->claim_sigma))
        DPA_TRY(dpa_report_fact(report, "claim_sigma", query->claim_sigma, err));
    return games->choice == DPA_GUESSES_AUTO ? say_grid(report, games, err) : DPA_OK;
}

static dpa_status fill(dpa_report *report, const dpa_onerun_query *query,
                       const dpa_request *request, const dpa__onerun_games *games, dpa_error *err) {
    DPA_TRY(put_facts(report, query, games, err));
    DPA_TRY(dpa__onerun_add_bounds(report, games, request, query->pointwise, err));
    if (query->ranked == NULL) return DPA_OK;
    return dpa__onerun_put_curve(report, query->ranked, query->game.options, request, err);
}

/* The claim as ε, rounded up: what the noise promises within the family. */
static dpa_status claim_of_sigma(double sigma, dpa_request *request, dpa_error *err) {
    const char *spec = request->family[0] ? request->family : "gaussian";
    const double delta = isnan(request->claim_delta) ? request->delta : request->claim_delta;
    dpa_family *family = NULL;
    dpa_interval epsilon = {NAN, NAN};
    if (!(sigma > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-sigma: must be positive, not %g", sigma);
    if (!isnan(request->claim_epsilon))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claim-sigma and claim-epsilon: one claim only");
    DPA_TRY(dpa_family_parse(spec, delta, &family, err));
    const char *name = dpa_family_name(family);
    dpa_status status;
    if (strcmp(name, "dp") == 0 || strcmp(name, "points") == 0)
        status = dpa__fail(err, DPA_BAD_ARGUMENT, "claim-sigma: family %s has no noise", name);
    else
        status = dpa_family_epsilon(family, 1.0 / sigma, delta, &epsilon, err);
    dpa_family_free(family);
    request->claim_epsilon = epsilon.upper;
    return status;
}

dpa_status dpa_audit_onerun(const dpa_onerun_query *query, const dpa_request *request,
                            dpa_report **out, dpa_error *err) {
    dpa_request used = *request;
    dpa__onerun_games games = {0};
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(dpa_request_check(request, err));
    if (!isnan(query->claim_sigma)) DPA_TRY(claim_of_sigma(query->claim_sigma, &used, err));
    DPA_TRY(query->ranked != NULL ? choose_games(query, &games, err)
                                  : single_game(query, &games, err));
    dpa_status status = dpa_report_new("one-run", &used, &report, err);
    if (status == DPA_OK) status = fill(report, query, &used, &games, err);
    free(games.items);
    if (status == DPA_OK)
        *out = report;
    else
        dpa_report_free(report);
    return status;
}
