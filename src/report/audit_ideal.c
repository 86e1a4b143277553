/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The idealised one-run game as a report: a plan, not an audit. Its rows are what an audit of a
 * mechanism with exactly this noise would show when the attack gets its expected number right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/onerun.h"

static dpa_status games_of(const dpa_ideal *ideal, uint64_t guesses, dpa__onerun_games *out,
                           dpa_error *err) {
    double expected;
    out->choice = DPA_GUESSES_MAX;
    if (guesses == 0) return dpa_ideal_games(ideal, &out->items, &out->count, err);
    DPA_TRY(dpa_ideal_expected(ideal, guesses, &expected, err));
    out->choice = DPA_GUESSES_FIXED;
    out->items = DPA_NEW(dpa_onerun, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = 1;
    out->items[0] =
        (dpa_onerun){ideal->canaries, ideal->options, guesses, (uint64_t)floor(expected)};
    return DPA_OK;
}

static double extra_of(const dpa_result *result, const char *name) {
    for (size_t i = 0; i < result->extra_count; ++i)
        if (strcmp(result->extra[i].name, name) == 0) return result->extra[i].value;
    return NAN;
}

/* How many right guesses the row's number of guesses brings, exactly and played. */
static dpa_status put_counts(dpa_report *report, const dpa_ideal *ideal, dpa_result *result,
                             uint64_t repeats, dpa_error *err) {
    const uint64_t guesses = (uint64_t)extra_of(result, "guesses");
    double value, deviation;
    DPA_TRY(dpa_ideal_expected(ideal, guesses, &value, err));
    dpa_result_extra(result, "expected_correct", value);
    DPA_TRY(dpa_report_say(report, err, "  %s, %s: %.0f guesses, %.0f right (expected %.4f)",
                           result->family, result->method, (double)guesses,
                           extra_of(result, "correct"), value));
    if (ideal->options == 2) {
        DPA_TRY(dpa_ideal_ranked(ideal, guesses, &value, err));
        dpa_result_extra(result, "expected_correct_by_rank", value);
    }
    if (repeats == 0) return DPA_OK;
    DPA_TRY(
        dpa_ideal_simulate(ideal, guesses, repeats, report->request.seed, &value, &deviation, err));
    dpa_result_extra(result, "simulated_correct", value);
    dpa_result_extra(result, "simulated_deviation", deviation);
    return dpa_report_say(report, err, "    played %llu times: %.3f right, deviation %.3f",
                          (unsigned long long)repeats, value, deviation);
}

static dpa_status fill(dpa_report *report, const dpa_ideal *ideal, const dpa__onerun_games *games,
                       uint64_t repeats, int pointwise, dpa_error *err) {
    const double theory = dpa_gaussian_epsilon(1.0 / ideal->sigma, report->request.delta);
    DPA_TRY(dpa_report_evidence(report, "idealised-game", err));
    DPA_TRY(dpa_report_fact(report, "canaries", (double)ideal->canaries, err));
    DPA_TRY(dpa_report_fact(report, "options", (double)ideal->options, err));
    DPA_TRY(dpa_report_fact(report, "sigma", ideal->sigma, err));
    DPA_TRY(dpa_report_fact(report, "true_epsilon", theory, err));
    DPA_TRY(dpa__onerun_add_bounds(report, games, &report->request, pointwise, err));
    DPA_TRY(dpa_report_say(report, err, "Expected, not observed: nothing was audited."));
    for (size_t i = 0; i < report->results.count; ++i) {
        dpa_result *result = &report->results.items[i];
        result->valid = 0; /* of a run that nobody made */
        DPA_TRY(put_counts(report, ideal, result, repeats, err));
    }
    return DPA_OK;
}

dpa_status dpa_audit_ideal(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                           const dpa_request *request, int pointwise, dpa_report **out,
                           dpa_error *err) {
    dpa__onerun_games games = {0};
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(dpa_request_check(request, err));
    DPA_TRY(games_of(ideal, guesses, &games, err));
    dpa_status status = dpa_report_new("one-run", request, &report, err);
    if (status == DPA_OK) status = fill(report, ideal, &games, repeats, pointwise, err);
    free(games.items);
    if (status == DPA_OK)
        *out = report;
    else
        dpa_report_free(report);
    return status;
}
