/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The idealised one-run game as a report: a plan, not an audit. Its rows are what an audit of a
 * mechanism with exactly this noise would show when the attack gets its expected number right,
 * rounded down. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "judge/one_run.h"
#include "report/value.h"

static dpa_status games_of(const dpa_ideal *ideal, uint64_t guesses, dpa__onerun_games *out,
                           dpa_error *err) {
    double expected;
    out->choice = DPA_GUESSES_MAX;
    if (guesses == 0) return dpa__ideal_games(ideal, &out->items, &out->count, err);
    DPA_TRY(dpa__ideal_expected(ideal, guesses, &expected, err));
    out->choice = DPA_GUESSES_FIXED;
    out->items = DPA_NEW(dpa_onerun, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = 1;
    out->items[0] =
        (dpa_onerun){ideal->canaries, ideal->options, guesses, (uint64_t)floor(expected)};
    return DPA_OK;
}

static dpa_status put_played(dpa_report *report, const dpa_ideal *ideal, uint64_t guesses,
                             uint64_t repeats, json_t *row, dpa_error *err) {
    double mean, deviation;
    DPA_TRY(
        dpa__ideal_simulate(ideal, guesses, repeats, report->request.seed, &mean, &deviation, err));
    DPA_TRY(
        DPA__JSON_FILL(row, err, {"simulated_correct", mean}, {"simulated_deviation", deviation}));
    return dpa__report_say(report, err, "  %-21s %.3f right on average, deviation %.3f", "  played",
                           mean, deviation);
}

/* One bound, its number of guesses, and how many of them are right: expected exactly, and
 * simulated. */
static dpa_status put_row(dpa_report *report, const dpa_ideal *ideal, const dpa_result *result,
                          uint64_t repeats, json_t *rows, dpa_error *err) {
    const double guesses = dpa__result_extra(result, "guesses"),
                 correct = dpa__result_extra(result, "correct");
    double expected, by_rank;
    char label[DPA_NAME_SIZE + DPA_FAMILY_SIZE + 2];
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"family", .text = result->family},
                           {"method", .text = result->method}, {"guesses", guesses},
                           {"correct", correct}));
    DPA_TRY(dpa__ideal_expected(ideal, (uint64_t)guesses, &expected, err));
    DPA_TRY(dpa__json_put(row, "expected_correct", expected, err));
    if (ideal->options == 2) {
        DPA_TRY(dpa__ideal_ranked(ideal, (uint64_t)guesses, &by_rank, err));
        DPA_TRY(dpa__json_put(row, "expected_correct_by_rank", by_rank, err));
    }
    DPA_TRY(dpa__json_put(row, "epsilon_lower", result->epsilon_lower, err));
    (void)snprintf(label, sizeof label, "%s, %s", result->family, result->method);
    DPA_TRY(dpa__report_say(report, err, "  %-22s ε ≥ %.6f with %.0f of %.0f right (expected %.2f)",
                            label, result->epsilon_lower, correct, guesses, expected));
    return repeats == 0 ? DPA_OK : put_played(report, ideal, (uint64_t)guesses, repeats, row, err);
}

/* One family and method, or the usual ones. */
static dpa_status add_bounds(dpa_report *bounds, const dpa__onerun_games *games,
                             const dpa_request *request, int pointwise, dpa_error *err) {
    static const char *const usual[][2] = {{"dp", "either"},          {"dp", "steinke"},
                                           {"dp", "recursion"},       {"gaussian", "recursion"},
                                           {"gaussian", "pointwise"}, {"laplace", "recursion"}};
    const int two = games->items[0].options == 2;
    const int wanted[] = {two, two, !two, 1, two && pointwise, 1};
    dpa_result result;
    if (request->family[0] != '\0' || request->method[0] != '\0') {
        DPA_TRY(dpa__onerun_row(games, request, request->family, request->method, &result, err));
        return dpa__report_add(bounds, &result, err);
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; ++i) {
        if (!wanted[i]) continue;
        DPA_TRY(dpa__onerun_row(games, request, usual[i][0], usual[i][1], &result, err));
        DPA_TRY(dpa__report_add(bounds, &result, err));
    }
    return DPA_OK;
}

/* The bounds are computed in a separate report, because they belong to a run that never happened
 * and must not appear among results. */
static dpa_status put_rows(dpa_report *report, const dpa_report *bounds, const dpa_ideal *ideal,
                           uint64_t repeats, json_t *section, dpa_error *err) {
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "rows", rows, err));
    for (size_t i = 0; i < dpa_report_count(bounds); ++i)
        DPA_TRY(put_row(report, ideal, dpa_report_result(bounds, i), repeats, rows, err));
    return DPA_OK;
}

static dpa_status fill(dpa_report *report, const dpa_ideal *ideal, const dpa__onerun_games *games,
                       uint64_t repeats, int pointwise, dpa_error *err) {
    const dpa_request *request = &report->request;
    const double theory = dpa_gaussian_epsilon(1.0 / ideal->sigma, request->delta);
    json_t *section = json_object();
    DPA_TRY(dpa__json_set(report->sections, "ideal", section, err));
    DPA_TRY(DPA__JSON_FILL(section, err, {"sigma", ideal->sigma},
                           {"canaries", (double)ideal->canaries},
                           {"options", (double)ideal->options}, {"confidence", request->confidence},
                           {"true_epsilon", theory}));
    DPA_TRY(dpa__report_say(report, err,
                            "Idealised game: %.0f canaries, %.0f options each, σ = %g, δ = %g, "
                            "confidence %s",
                            (double)ideal->canaries, (double)ideal->options, ideal->sigma,
                            request->delta, dpa__percent_of(request->confidence).text));
    DPA_TRY(dpa__report_say(report, err, "Expected, not observed: nothing was audited."));
    DPA_TRY(dpa__report_say(report, err, "  %-22s ε = %.6f", "the mechanism itself", theory));
    dpa_report *bounds = NULL;
    DPA_TRY(dpa__report_new("one-run", request, &bounds, err));
    dpa_status status = add_bounds(bounds, games, request, pointwise, err);
    if (status == DPA_OK) status = put_rows(report, bounds, ideal, repeats, section, err);
    dpa_report_free(bounds);
    return status;
}

dpa_status dpa__audit_ideal(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                            const dpa_request *request, int pointwise, dpa_report **out,
                            dpa_error *err) {
    dpa__onerun_games games = {0};
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(dpa__request_check(request, err));
    if (ideal->canaries < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canaries: an idealised game needs at least 2");
    DPA_TRY(games_of(ideal, guesses, &games, err));
    dpa_status status = dpa__report_new("one-run", request, &report, err);
    if (status == DPA_OK) status = fill(report, ideal, &games, repeats, pointwise, err);
    free(games.items);
    if (status == DPA_OK)
        *out = report;
    else
        dpa_report_free(report);
    return status;
}
