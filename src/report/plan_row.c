/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row of a plan: what a game, a family and a method need and achieve; for sequential audits
 * also when they stop. As text and as JSON. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "report/plan.h"
#include "report/value.h"

int dpa__plan_has_truth(const dpa_plan_query *query) {
    return !isnan(query->truth_epsilon) || !isnan(query->truth_sigma);
}

dpa_status dpa__plan_row_compute(dpa__plan *plan, const dpa_plan_query *query, dpa__plan_row *row,
                                 dpa_error *err) {
    const dpa_plan_answer nothing = {.power = NAN, .error = NAN, .threshold = NAN};
    const uint64_t limit = plan->entry->power->limit,
                   most = query->most < limit ? query->most : limit;
    *row = (dpa__plan_row){nothing, nothing, {NAN, NAN}, NAN, {0}};
    if (dpa__plan_has_truth(query)) {
        DPA_TRY(dpa__plan_size(plan, query->power, most, &row->needed, err));
        if (dpa__plan_is_sequential(plan)) DPA_TRY(dpa__plan_stop(plan, most, &row->stops, err));
    }
    if (query->size == 0) return DPA_OK;
    if (dpa__plan_has_truth(query))
        DPA_TRY(dpa__plan_power(plan, query->size, DPA__CAREFULLY, &row->budget, err));
    return dpa__plan_most(plan, query->size, &row->most, err);
}

dpa_status dpa__plan_row_put(json_t *row, const dpa__plan_row *r, int with_truth, dpa_error *err) {
    const double needed = !with_truth          ? (double)NAN
                          : r->needed.size > 0 ? (double)r->needed.size
                                               : (double)INFINITY;
    return DPA__JSON_FILL(
        row, err, {"size_needed", needed}, {"power_at_size_needed", r->needed.power},
        {"power_error_at_size_needed", r->needed.error}, {"threshold", r->needed.threshold},
        {"guesses", r->needed.guesses > 0 ? (double)r->needed.guesses : (double)NAN},
        {"power_of_budget", r->budget.power}, {"power_error_of_budget", r->budget.error},
        {"threshold_of_budget", r->budget.threshold},
        {"guesses_of_budget", r->budget.guesses > 0 ? (double)r->budget.guesses : (double)NAN},
        {"detectable_epsilon", r->detectable.epsilon}, {"detectable_error", r->detectable.error},
        {"largest_epsilon", r->most});
}

/* 0.812, or 0.812±0.009 if it is simulated. */
static dpa__cell simulated_cell(double value, double error) {
    dpa__cell cell = dpa__cell_of("", value);
    if (error > 0 && isfinite(value))
        (void)dpa__print(cell.text, sizeof cell.text, "%.3f±%.3f", value, error);
    return cell;
}

/* The field width in bytes: ± is two bytes but one column. */
static int column(int width, const dpa__cell *cell) {
    return strstr(cell->text, "±") != NULL ? width + 1 : width;
}

enum { PART = 128 };
#define NAME_FORMAT "%-7s %-8.8s %-18s" /* the full family name is above and in the JSON */

/* A row in at most 80 columns: sizes if there is a truth, the budget's results if there is a
 * budget. If there are both, guesses and threshold appear only in the JSON. */
static dpa_status say_columns(dpa_report *report, const dpa_plan_query *query, const char *name,
                              const char *const sizes[3], const char *budget, dpa_error *err) {
    char text[PART] = "";
    if (dpa__plan_has_truth(query) && query->size > 0)
        (void)snprintf(text, sizeof text, " %7s", sizes[0]);
    else if (dpa__plan_has_truth(query))
        (void)snprintf(text, sizeof text, " %7s %8s %9s", sizes[0], sizes[1], sizes[2]);
    return dpa__report_say(report, err, "  %s%s%s", name, text, query->size > 0 ? budget : "");
}

dpa_status dpa__plan_head_say(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    static const char *const sizes[3] = {"needed", "guesses", "threshold"};
    char name[PART], budget[PART];
    (void)snprintf(name, sizeof name, NAME_FORMAT, "game", "family", "method");
    (void)snprintf(budget, sizeof budget, " %11s %12s %8s", "power", "detectable", "largest");
    return say_columns(report, query, name, sizes, budget, err);
}

dpa_status dpa__plan_row_say(dpa_report *report, const dpa_plan *plan, const dpa_plan_query *query,
                             const dpa__plan_row *r, dpa_error *err) {
    const double needed = r->needed.size > 0 ? (double)r->needed.size : (double)INFINITY;
    const double guesses = r->needed.guesses > 0 ? (double)r->needed.guesses : (double)NAN;
    const dpa__cell power = simulated_cell(r->budget.power, r->budget.error);
    const dpa__cell leak = simulated_cell(r->detectable.epsilon, r->detectable.error);
    const dpa__cell cells[3] = {dpa__cell_of("n", needed), dpa__cell_of("n", guesses),
                                dpa__cell_of("", r->needed.threshold)};
    const char *const sizes[3] = {cells[0].text, cells[1].text, cells[2].text};
    char name[PART], budget[PART];
    (void)dpa__print(name, sizeof name, NAME_FORMAT, dpa__plan_game_name(plan->game), plan->family,
                     plan->method);
    (void)snprintf(budget, sizeof budget, " %*s %*s %8s", column(11, &power), power.text,
                   column(12, &leak), leak.text, dpa__cell_of("", r->most).text);
    return say_columns(report, query, name, sizes, budget, err);
}

/* ── when sequential audits stop ───────────────────────────────────────────────────────────── */

/* Empty if too many audits gave up. */
static dpa__cell pairs_cell(double pairs, double error) {
    dpa__cell cell = dpa__cell_of("n", isfinite(pairs) ? pairs : (double)INFINITY);
    if (error > 0 && isfinite(pairs))
        (void)dpa__print(cell.text, sizeof cell.text, error < 10 ? "%.0f±%.1f" : "%.0f±%.0f", pairs,
                         error);
    return cell;
}

dpa_status dpa__plan_stops_put(json_t *stops, const dpa_plan *plan, const dpa_plan_stops *s,
                               dpa_error *err) {
    return DPA__JSON_ADD(stops, err, {"game", .text = dpa__plan_game_name(plan->game)},
                         {"family", .text = plan->family}, {"audits", (double)s->audits},
                         {"refuted", (double)s->refuted}, {"most_pairs", (double)s->most},
                         {"mean_pairs", s->mean}, {"mean_error", s->mean_error},
                         {"median_pairs", s->median}, {"median_error", s->median_error},
                         {"pairs_of_nine_in_ten", s->late},
                         {"error_of_nine_in_ten", s->late_error});
}

static dpa_status say_stop(dpa_report *report, const json_t *row, dpa_error *err) {
    const char *game = dpa__word_of(row, "game"), *family = dpa__word_of(row, "family");
    const double refuted = dpa__number_of(row, "refuted"), audits = dpa__number_of(row, "audits");
    if (refuted == 0)
        return dpa__report_say(
            report, err,
            "%s, %s, sequential: none of %.0f simulated audits refutes the claim "
            "by pair %.0f",
            game, family, audits, dpa__number_of(row, "most_pairs"));
    const dpa__cell mean =
        pairs_cell(dpa__number_of(row, "mean_pairs"), dpa__number_of(row, "mean_error"));
    const dpa__cell median =
        pairs_cell(dpa__number_of(row, "median_pairs"), dpa__number_of(row, "median_error"));
    const dpa__cell late = pairs_cell(dpa__number_of(row, "pairs_of_nine_in_ten"),
                                      dpa__number_of(row, "error_of_nine_in_ten"));
    return dpa__report_say(report, err,
                           "%s, %s, sequential: pairs until the claim falls: mean %s, median %s, "
                           "nine in ten by %s (%.0f of %.0f simulated audits refute it by pair "
                           "%.0f)",
                           game, family, mean.text, median.text, late.text, refuted, audits,
                           dpa__number_of(row, "most_pairs"));
}

dpa_status dpa__plan_stops_say(dpa_report *report, const json_t *stops, dpa_error *err) {
    size_t index;
    json_t *row;
    json_array_foreach(stops, index, row) DPA_TRY(say_stop(report, row, err));
    return DPA_OK;
}
