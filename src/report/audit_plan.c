/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan as a report: a table for people, the same rows as a section, and the power curves as
 * another. Nothing was audited, so there are no results and no verdict. */
#include <math.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "base/text.h"
#include "estimate/plan/plan.h"
#include "estimate/registry.h"
#include "report/model/model.h"
#include "report/model/value.h"

void dpa__plan_query_init(dpa_plan_query *query) {
    *query = (dpa_plan_query){.game = "",
                              .claim_sigma = NAN,
                              .truth_epsilon = NAN,
                              .truth_sigma = NAN,
                              .truth = "",
                              .q = 1,
                              .steps = 1,
                              .power = 0.8,
                              .most = 20000,
                              .audits = 200,
                              .half_width = NAN,
                              .fnr = NAN,
                              .fpr = NAN};
}

/* A cell of a printed table; empty if there is no number. */
typedef struct cell {
    char text[32];
} cell;

static cell cell_of(const char *format, double value) {
    cell out = {""};
    if (isinf(value))
        (void)snprintf(out.text, sizeof out.text, "none");
    else if (!isnan(value))
        (void)dpa__print(out.text, sizeof out.text, format[0] == 'n' ? "%.0f" : "%.3f", value);
    return out;
}

/* The families to plan for: the request's, else dp and, at δ > 0, gaussian. NULL past the last. */
static const char *family_at(const dpa_request *request, size_t index) {
    static const char *const usual[] = {"dp", "gaussian"};
    if (request->family[0] != '\0') return index == 0 ? request->family : NULL;
    /* no Gaussian mechanism has a finite ε at δ = 0 */
    return index < (request->delta > 0 ? 2 : 1) ? usual[index] : NULL;
}

static int has_claim(const dpa_plan_query *query, const dpa_request *request) {
    return !isnan(query->claim_sigma) || !isnan(request->claim_epsilon);
}

/* ── one row: what a game, a family and a method need and achieve ────────────────────── */

typedef struct plan_row {
    dpa_plan_answer needed, budget;
    dpa_plan_leak detectable;
    double most;
    dpa_plan_stops stops; /* for sequential audits; otherwise its `audits` is 0 */
} plan_row;

static int has_truth(const dpa_plan_query *query) {
    return !isnan(query->truth_epsilon) || !isnan(query->truth_sigma);
}

static dpa_status compute_sizes(dpa__plan *plan, const dpa_plan_query *query, plan_row *row,
                                dpa_error *err) {
    const dpa_plan_answer nothing = {.power = NAN, .error = NAN, .threshold = NAN};
    const uint64_t limit = plan->entry->power->limit,
                   most = query->most < limit ? query->most : limit;
    *row = (plan_row){nothing, nothing, {NAN, NAN}, NAN, {0}};
    if (has_truth(query)) {
        DPA_TRY(dpa__plan_size(plan, query->power, most, &row->needed, err));
        if (dpa__plan_is_sequential(plan)) DPA_TRY(dpa__plan_stop(plan, most, &row->stops, err));
    }
    if (query->size == 0) return DPA_OK;
    if (has_truth(query))
        DPA_TRY(dpa__plan_power(plan, query->size, DPA__CAREFULLY, &row->budget, err));
    return dpa__plan_most(plan, query->size, &row->most, err);
}

static dpa_status put_sizes(json_t *row, const plan_row *r, int with_truth, dpa_error *err) {
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
static cell simulated_cell(double value, double error) {
    cell out = cell_of("", value);
    if (error > 0 && isfinite(value))
        (void)dpa__print(out.text, sizeof out.text, "%.3f±%.3f", value, error);
    return out;
}

/* The field width in bytes: ± is two bytes but one column. */
static int column(int width, const cell *of) {
    return strstr(of->text, "±") != NULL ? width + 1 : width;
}

enum { PART = 128 };
#define NAME_FORMAT "%-7s %-8.8s %-18s" /* the full family name is above and in the JSON */

/* A row in at most 80 columns: sizes if there is a truth, the budget's results if there is a
 * budget. If there are both, guesses and threshold appear only in the JSON. */
static dpa_status say_columns(dpa_report *report, const dpa_plan_query *query, const char *name,
                              const char *const sizes[3], const char *budget, dpa_error *err) {
    char text[PART] = "";
    if (has_truth(query) && query->size > 0)
        (void)snprintf(text, sizeof text, " %7s", sizes[0]);
    else if (has_truth(query))
        (void)snprintf(text, sizeof text, " %7s %8s %9s", sizes[0], sizes[1], sizes[2]);
    return dpa__report_say(report, err, "  %s%s%s", name, text, query->size > 0 ? budget : "");
}

static dpa_status say_titles(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    static const char *const sizes[3] = {"needed", "guesses", "threshold"};
    char name[PART], budget[PART];
    (void)snprintf(name, sizeof name, NAME_FORMAT, "game", "family", "method");
    (void)snprintf(budget, sizeof budget, " %11s %12s %8s", "power", "detectable", "largest");
    return say_columns(report, query, name, sizes, budget, err);
}

static dpa_status say_row(dpa_report *report, const dpa_plan *plan, const dpa_plan_query *query,
                          const plan_row *r, dpa_error *err) {
    const double needed = r->needed.size > 0 ? (double)r->needed.size : (double)INFINITY;
    const double guesses = r->needed.guesses > 0 ? (double)r->needed.guesses : (double)NAN;
    const cell power = simulated_cell(r->budget.power, r->budget.error);
    const cell leak = simulated_cell(r->detectable.epsilon, r->detectable.error);
    const cell cells[3] = {cell_of("n", needed), cell_of("n", guesses),
                           cell_of("", r->needed.threshold)};
    const char *const sizes[3] = {cells[0].text, cells[1].text, cells[2].text};
    char name[PART], budget[PART];
    (void)dpa__print(name, sizeof name, NAME_FORMAT, dpa__plan_game_name(plan->game), plan->family,
                     plan->method);
    (void)snprintf(budget, sizeof budget, " %*s %*s %8s", column(11, &power), power.text,
                   column(12, &leak), leak.text, cell_of("", r->most).text);
    return say_columns(report, query, name, sizes, budget, err);
}

/* ── when sequential audits stop ───────────────────────────────────────────────────────────── */

/* Empty if too many audits gave up. */
static cell pairs_cell(const json_t *row, const char *key, const char *error_key) {
    const double pairs = dpa__number_of(row, key), error = dpa__number_of(row, error_key);
    cell out = cell_of("n", isfinite(pairs) ? pairs : (double)INFINITY);
    if (error > 0 && isfinite(pairs))
        (void)dpa__print(out.text, sizeof out.text, error < 10 ? "%.0f±%.1f" : "%.0f±%.0f", pairs,
                         error);
    return out;
}

static dpa_status put_stops(json_t *stops, const dpa_plan *plan, const dpa_plan_stops *s,
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
    const cell mean = pairs_cell(row, "mean_pairs", "mean_error");
    const cell median = pairs_cell(row, "median_pairs", "median_error");
    const cell late = pairs_cell(row, "pairs_of_nine_in_ten", "error_of_nine_in_ten");
    return dpa__report_say(report, err,
                           "%s, %s, sequential: pairs until the claim falls: mean %s, median %s, "
                           "nine in ten by %s (%.0f of %.0f simulated audits refute it by pair "
                           "%.0f)",
                           game, family, mean.text, median.text, late.text, refuted, audits,
                           dpa__number_of(row, "most_pairs"));
}

static dpa_status say_stops(dpa_report *report, const json_t *stops, dpa_error *err) {
    size_t index;
    json_t *row;
    json_array_foreach(stops, index, row) DPA_TRY(say_stop(report, row, err));
    return DPA_OK;
}

/* ── power curves ──────────────────────────────────────────────────────────────────────────── */

/* Sizes on a logarithmic grid from 4 to twice the size needed or affordable. */
static dpa_status add_curve(dpa_report *report, dpa__plan *plan, const dpa_plan_query *query,
                            const plan_row *r, dpa_error *err) {
    json_t *rows = json_object_get(report->sections, "power_curve");
    const double wanted = fmax((double)query->size,
                               r->needed.size > 0 ? (double)r->needed.size : (double)query->most);
    const double end = fmax(8, fmin(2 * wanted, (double)query->most)), ratio = end / 4;
    char series[DPA_FAMILY_SIZE + 80];
    uint64_t before = 0;
    if (query->points == 0 || !has_truth(query)) return DPA_OK;
    if (query->points > 1000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "points: at most 1000, not %zu", query->points);
    (void)snprintf(series, sizeof series, "%s, %s, %s", dpa__plan_game_name(plan->asked->game),
                   plan->asked->family, plan->asked->method);
    for (size_t i = 0; i < query->points; ++i) {
        const double part = query->points > 1 ? (double)i / (double)(query->points - 1) : 1;
        const uint64_t size = (uint64_t)llround(4 * pow(ratio, part));
        dpa_plan_answer answer;
        if (size <= before) continue;
        before = size;
        DPA_TRY(dpa__plan_power(plan, size, DPA__CAREFULLY, &answer, err));
        DPA_TRY(DPA__JSON_ADD(rows, err, {"series", .text = series}, {"size", (double)size},
                              {"power", answer.power}, {"error", answer.error}));
    }
    return DPA_OK;
}

/* ── all rows ──────────────────────────────────────────────────────────────────────────────── */

typedef struct context {
    dpa_report *report;
    const dpa_plan_query *query;
    double claim_epsilon, truth_epsilon; /* of the training, if noise was given */
    json_t *rows, *ceilings, *stops;
    size_t count, beyond; /* rows; rows whose method cannot be planned for such a large budget */
    int has_row[DPA_PLAN_GAMES];
    dpa__known *known;
} context;

/* If the budget is too large for one of many methods, its columns stay empty; a method asked for by
 * name gives an error instead. The detectable leak comes last, because the search changes the
 * truth. */
static dpa_status compute_row(context *c, dpa__plan *plan, plan_row *r, dpa_error *err) {
    dpa_plan_query query = *c->query;
    if (query.size > plan->entry->power->limit && c->report->request.method[0] == '\0') {
        query.size = 0;
        ++c->beyond;
    }
    DPA_TRY(compute_sizes(plan, &query, r, err));
    DPA_TRY(add_curve(c->report, plan, &query, r, err));
    if (query.size == 0) return DPA_OK;
    return dpa__plan_detectable(plan, query.size, query.power, &r->detectable, err);
}

static dpa_status put_row(context *c, const dpa_plan *asked, dpa_error *err) {
    plan_row r;
    dpa__plan plan;
    const int with_truth = has_truth(c->query);
    DPA_TRY(dpa__plan_open(asked, with_truth, &plan, err));
    const dpa_status status = compute_row(c, &plan, &r, err);
    dpa__plan_close(&plan);
    DPA_TRY(status);
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(c->rows, row, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"game", .text = dpa__plan_game_name(asked->game)},
                           {"family", .text = asked->family}, {"method", .text = asked->method}));
    DPA_TRY(put_sizes(row, &r, with_truth, err));
    ++c->count;
    c->has_row[asked->game] = 1;
    if (r.stops.audits > 0) DPA_TRY(put_stops(c->stops, asked, &r.stops, err));
    return say_row(c->report, asked, c->query, &r, err);
}

static dpa_plan plan_of(const context *c, dpa_plan_game game, const char *family) {
    const dpa_request *request = &c->report->request;
    const dpa_plan_query *query = c->query;
    dpa_plan plan;
    dpa__plan_init(&plan);
    plan.game = game;
    plan.family = family;
    plan.claim_epsilon = c->claim_epsilon;
    if (game == DPA_PLAN_STEPS && !isnan(query->claim_sigma)) {
        plan.claim_sigma = query->claim_sigma;
        plan.claim_epsilon = NAN;
    }
    plan.truth_epsilon = query->truth_epsilon;
    plan.truth_sigma = query->truth_sigma;
    plan.truth = game == DPA_PLAN_STEPS ? "" : query->truth;
    plan.q = query->q;
    plan.steps = query->steps;
    plan.delta = request->delta;
    plan.confidence = request->confidence;
    plan.seed = request->seed;
    plan.audits = query->audits;
    plan.threads = request->threads;
    plan.progress = request->progress;
    plan.known = c->known;
    return plan;
}

/* The ceiling for N right answers; for steps, as the whole run's ε. */
static dpa_status ceiling_of(const context *c, dpa_plan_game game, const char *family,
                             uint64_t answers, double *out, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    dpa__plan plan;
    DPA_TRY(dpa__plan_ceiling(family, answers, request->delta, request->confidence, out, err));
    if (game != DPA_PLAN_STEPS) return DPA_OK;
    const dpa_plan asked = plan_of(c, game, family);
    const double mu = dpa_gaussian_mu(*out, request->delta);
    DPA_TRY(dpa__plan_open(&asked, 0, &plan, err));
    const dpa_status status = dpa__plan_truth_epsilon(&plan, mu, out, err);
    dpa__plan_close(&plan);
    return status;
}

static dpa_status put_ceiling(context *c, dpa_plan_game game, const char *family, dpa_error *err) {
    const uint64_t answers = game == DPA_PLAN_ONE_RUN ? c->query->size : 2 * c->query->size;
    double epsilon;
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(c->ceilings, row, err));
    DPA_TRY(ceiling_of(c, game, family, answers, &epsilon, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"game", .text = dpa__plan_game_name(game)},
                           {"family", .text = family}, {"answers", (double)answers},
                           {"epsilon", epsilon}));
    if (isinf(epsilon))
        return dpa__report_say(c->report, err, "  ceiling of %s, %s: none that is finite",
                               dpa__plan_game_name(game), family);
    return dpa__report_say(
        c->report, err,
        "ceiling of %s, %s: ε ≤ %.4f by any method without a prior, from %.0f right "
        "answers",
        dpa__plan_game_name(game), family, epsilon, (double)answers);
}

/* Cosines carry more than right and wrong answers, and a step is always Gaussian. */
static int has_ceiling(dpa_plan_game game, const char *family) {
    return game != DPA_PLAN_COSINES && (game != DPA_PLAN_STEPS || dpa__family_is_gaussian(family));
}

/* A game that was not asked for by name is left out if it does not apply: steps without a training,
 * canaries at δ = 0, a family that steps or cosines cannot have. */
static int applies(const context *c, dpa_plan_game game) {
    const dpa_plan_query *query = c->query;
    if (query->game[0] != '\0') return strcmp(query->game, dpa__plan_game_name(game)) == 0;
    if (game == DPA_PLAN_STEPS)
        return (query->q < 1 || query->steps > 1) && query->truth[0] == '\0';
    return game == DPA_PLAN_RUNS || c->report->request.delta > 0;
}

static dpa_status put_game(context *c, dpa_plan_game game, const char *family, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    const dpa__test_name asked = {.method = request->method[0] != '\0' ? request->method : NULL};
    dpa_plan plan = plan_of(c, game, family);
    for (size_t i = 0; (plan.method = dpa__plan_method(game, family, request->delta, i)) != NULL;
         ++i)
        if (dpa__is_same_test(asked, (dpa__test_name){.method = plan.method}))
            DPA_TRY(put_row(c, &plan, err));
    return DPA_OK;
}

/* Methods that are not listed can be named together with their game; then rows for all families
 * that support them. */
static dpa_status put_named(context *c, dpa_plan_game game, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    const char *family;
    dpa_status status = DPA_OK;
    if (!applies(c, game) || c->query->game[0] == '\0' || request->method[0] == '\0') return DPA_OK;
    for (size_t f = 0; (family = family_at(request, f)) != NULL; ++f) {
        dpa_plan plan = plan_of(c, game, family);
        plan.method = request->method;
        status = put_row(c, &plan, err);
    }
    return c->count > 0 ? DPA_OK : status;
}

static dpa_status put_table(context *c, dpa_error *err) {
    const char *family;
    DPA_TRY(say_titles(c->report, c->query, err));
    for (int game = 0; game < DPA_PLAN_GAMES; ++game)
        for (size_t f = 0; (family = family_at(&c->report->request, f)) != NULL; ++f)
            if (applies(c, (dpa_plan_game)game))
                DPA_TRY(put_game(c, (dpa_plan_game)game, family, err));
    for (int game = 0; game < DPA_PLAN_GAMES && c->count == 0; ++game)
        DPA_TRY(put_named(c, (dpa_plan_game)game, err));
    if (c->count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "no game has method '%s' for this family; with --game it is said why",
                         c->report->request.method);
    if (c->beyond > 0)
        DPA_TRY(dpa__report_say(c->report, err,
                                "where the budget has no numbers, it is more than can be planned "
                                "with that method; name the method to be told how much can be"));
    DPA_TRY(say_stops(c->report, c->stops, err));
    for (int game = 0; game < DPA_PLAN_GAMES && c->query->size > 0; ++game)
        for (size_t f = 0; (family = family_at(&c->report->request, f)) != NULL; ++f)
            if (has_ceiling((dpa_plan_game)game, family) && c->has_row[game])
                DPA_TRY(put_ceiling(c, (dpa_plan_game)game, family, err));
    return dpa__report_say(c->report, err,
                           "needed: members and as many non-members (runs, steps), or canaries. "
                           "With a budget: its power, the smallest ε it detects, the largest bound "
                           "when every answer is right.");
}

static void say_side(char *out, size_t size, double epsilon, double sigma,
                     const dpa_plan_query *query) {
    if (isnan(sigma))
        (void)dpa__print(out, size, "ε = %g", epsilon);
    else
        (void)dpa__print(out, size, "σ = %g (q = %g, %.0f steps: ε = %.4g)", sigma, query->q,
                         (double)query->steps, epsilon);
}

static dpa_status say_head(const context *c, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    const dpa_plan_query *query = c->query;
    char claim[128], truth[128] = "";
    say_side(claim, sizeof claim, c->claim_epsilon, query->claim_sigma, query);
    if (has_truth(query))
        say_side(truth, sizeof truth, c->truth_epsilon, query->truth_sigma, query);
    return dpa__report_say(c->report, err,
                           "Plan, nothing was audited: refute the claim %s%s%s at δ = %g, "
                           "confidence %s, power %s",
                           claim, truth[0] != '\0' ? " when the truth is " : "", truth,
                           request->delta, dpa__percent_of(request->confidence).text,
                           dpa__percent_of(query->power).text);
}

/* Converts noise to ε once for all rows: the claim rounded up, the truth down. */
static dpa_status resolve(context *c, dpa_error *err) {
    const dpa_plan_query *query = c->query;
    c->claim_epsilon = c->report->request.claim_epsilon;
    c->truth_epsilon = query->truth_epsilon;
    const dpa_plan plan = plan_of(c, DPA_PLAN_RUNS, "dp");
    if (!isnan(query->claim_sigma))
        DPA_TRY(dpa__plan_training_epsilon(&plan, query->claim_sigma, 1, &c->claim_epsilon, err));
    if (!isnan(query->truth_sigma))
        DPA_TRY(dpa__plan_training_epsilon(&plan, query->truth_sigma, -1, &c->truth_epsilon, err));
    return DPA_OK;
}

static dpa_status put_head(const context *c, json_t *section, dpa_error *err) {
    const dpa_plan_query *query = c->query;
    return DPA__JSON_FILL(section, err, {"claim_epsilon", c->claim_epsilon},
                          {"claim_sigma", query->claim_sigma}, {"truth_epsilon", c->truth_epsilon},
                          {"truth_sigma", query->truth_sigma}, {"q", query->q},
                          {"steps", (double)query->steps}, {"power", query->power},
                          {"budget", query->size > 0 ? (double)query->size : (double)NAN});
}

static dpa_status fill(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    json_t *section = json_object();
    context c = {.report = report, .query = query};
    DPA_TRY(dpa__json_set(report->sections, "plan", section, err));
    DPA_TRY(dpa__json_set(section, "rows", c.rows = json_array(), err));
    DPA_TRY(dpa__json_set(section, "ceilings", c.ceilings = json_array(), err));
    DPA_TRY(dpa__json_set(section, "stops", c.stops = json_array(), err));
    if (query->points > 0)
        DPA_TRY(dpa__json_set(report->sections, "power_curve", json_array(), err));
    DPA_TRY(resolve(&c, err));
    DPA_TRY(put_head(&c, section, err));
    DPA_TRY(say_head(&c, err));
    c.known = dpa__known_new(err);
    const dpa_status status = c.known != NULL ? put_table(&c, err) : DPA_NO_MEMORY;
    dpa__known_free(c.known);
    return status;
}

/* ── precision instead ───────────────────────────────────────────────────────────────── */

/* How many samples an estimate of ε needs for a given half width (bayesian-estimation, figure 4): a
 * table, and the ends of the intervals against the number of samples. */
static const char *const precise[] = {"cp", "jeffreys", "bayes"};
enum { PRECISE = sizeof precise / sizeof precise[0] };

static dpa_status put_interval(json_t *rows, const dpa_precision *plan, uint64_t n,
                               dpa_error *err) {
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
static dpa_status put_intervals(json_t *rows, const dpa_precision *plan, double needed,
                                size_t points, dpa_error *err) {
    uint64_t before = 0;
    for (size_t i = 0; i < points; ++i) {
        const double part = points > 1 ? (double)i / (double)(points - 1) : 1;
        const uint64_t n = (uint64_t)llround(fmax(1, needed / 8 * pow(16, part)));
        if (n > before) DPA_TRY(put_interval(rows, plan, n, err));
        before = n;
    }
    return DPA_OK;
}

typedef struct precision {
    dpa_report *report;
    const dpa_plan_query *query;
    json_t *rows, *curve;
} precision;

static dpa_status put_needed(precision *c, const dpa_precision *plan, dpa_error *err) {
    dpa_precision_answer a;
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(c->rows, row, err));
    DPA_TRY(dpa__plan_half_width(plan, c->query->half_width, c->query->most, &a, err));
    const double samples = a.size > 0 ? 2 * (double)a.size : (double)INFINITY;
    DPA_TRY(DPA__JSON_FILL(row, err, {"family", .text = plan->family},
                           {"method", .text = plan->method}, {"samples_needed", samples},
                           {"epsilon_lower", a.lower}, {"epsilon_upper", a.upper}));
    DPA_TRY(dpa__report_say(c->report, err, "  %-10s %-10s %9s   [%.4f, %.4f]", plan->family,
                            plan->method, cell_of("n", samples).text, a.lower, a.upper));
    return put_intervals(c->curve, plan, a.size > 0 ? (double)a.size : (double)c->query->most,
                         c->query->points, err);
}

/* For the methods that are listed or, if another one is asked for, for that. */
static dpa_status put_all_needed(precision *c, dpa_error *err) {
    const dpa_request *request = &c->report->request;
    const char *family;
    int is_listed = 0;
    for (size_t m = 0; m < PRECISE; ++m) is_listed |= dpa__list_asks(request->method, precise[m]);
    for (size_t f = 0; (family = family_at(request, f)) != NULL; ++f)
        for (size_t m = 0; m < (is_listed ? PRECISE : 1); ++m) {
            const char *method = is_listed ? precise[m] : request->method;
            const dpa_precision plan = {family,           method,         c->query->fnr,
                                        c->query->fpr,    request->delta, request->confidence,
                                        request->progress};
            if (dpa__list_asks(request->method, method)) DPA_TRY(put_needed(c, &plan, err));
        }
    return DPA_OK;
}

static dpa_status plan_precision(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    precision c = {.report = report, .query = query};
    json_t *section = json_object();
    DPA_TRY(dpa__json_set(report->sections, "precision", section, err));
    DPA_TRY(dpa__json_set(section, "rows", c.rows = json_array(), err));
    DPA_TRY(dpa__json_set(report->sections, "precision_curve", c.curve = json_array(), err));
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
    DPA_TRY(put_all_needed(&c, err));
    return dpa__report_say(report, err, "samples: members and non-members together, half of each");
}

/* ── a plan ──────────────────────────────────────────────────────────────────────────── */

static dpa_status check(const dpa_plan_query *query, const dpa_request *request, dpa_error *err) {
    int known = query->game[0] == '\0';
    for (int g = 0; g < DPA_PLAN_GAMES; ++g)
        known |= strcmp(query->game, dpa__plan_game_name((dpa_plan_game)g)) == 0;
    if (!known)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "game: '%s' is none of runs, steps, one-run, cosines", query->game);
    if (!has_claim(query, request) && isnan(query->half_width))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "a plan needs the claimed epsilon or sigma, or a half width");
    if (has_claim(query, request) && !has_truth(query) && query->size == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a plan needs a suspected leak or a budget");
    if (query->most < 1) return dpa__fail(err, DPA_BAD_ARGUMENT, "most: at least 1");
    if (query->size > DPA__MOST_SIZE)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "size: at most %d can be planned, not %.0f",
                         (int)DPA__MOST_SIZE, (double)query->size);
    return DPA_OK;
}

dpa_status dpa__audit_plan(const dpa_plan_query *query, const dpa_request *request,
                           dpa_report **out, dpa_error *err) {
    dpa_report *report = NULL;
    dpa_status status = DPA_OK;
    *out = NULL;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check(query, request, err));
    DPA_TRY(dpa__report_new("plan", request, &report, err));
    report->request.progress = request->progress; /* during this call */
    if (has_claim(query, request)) status = fill(report, query, err);
    if (status == DPA_OK && !isnan(query->half_width)) status = plan_precision(report, query, err);
    report->request.progress = (dpa_progress){0};
    return dpa__report_end(report, status, out);
}
