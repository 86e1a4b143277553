/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts with an axis of ε: what was shown, at which δ, by how many guesses, what a plan expects,
 * what it costs in utility. The comments name the part of the result that each chart draws. */
#include <math.h>

#include "account/family.h"
#include "estimate/registry.h"
#include "report/charts/charts.h"
#include "report/model/value.h"
#include "tradeoff/tradeoff.h"

enum { LINE_NAME = 120, BAR_NAME = 160, LOWEST = -10, STEPS_PER_DECADE = 4 };

/* ── trend: what each of several audits showed, in their order ───────────────────────── */

/* A tick marks what the audit would have detected, so that a weak audit does not look like a
 * private model. */
static void add_audit(dpa__chart_data *data, const char *set, const json_t *row) {
    dpa__chart_row(data, set, "$audit $verdict epsilon claim detects $time",
                   dpa__word_of(row, "audit"), dpa__word_of(row, "verdict"),
                   dpa__number_of(row, "epsilon"), dpa__number_of(row, "claim"),
                   dpa__number_of(row, "detects"), dpa__word_of(row, "time"));
}

static void fill_trend(const json_t *result, dpa__chart_data *data) {
    const json_t *rows = json_object_get(result, "trend"), *last = NULL;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row) {
        add_audit(data, "main", row);
        if (!isnan(dpa__number_of(row, "detects"))) add_audit(data, "detects", row);
        if (isnan(dpa__number_of(row, "claim"))) continue;
        add_audit(data, "claims", row);
        last = row;
    }
    if (last != NULL) add_audit(data, "last", last);
}

static void describe_trend(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_printf(out,
                     "%zu audits in their order: a mark for what each showed ε to be at least, "
                     "a cross where its claim is refuted.",
                     dpa__chart_rows(data, "main"));
}

/* ── results: all bounds, with the claim as a line ───────────────────────────────────── */

/* Valid bounds, optimistic ones and estimates differ in shape, not only in colour; a bar from 0
 * means "at least". */
static void add_result(dpa__chart_data *data, const json_t *item) {
    char name[BAR_NAME];
    const double lower = dpa__number_of(item, "epsilon_lower");
    const double upper = dpa__number_of(item, "epsilon_upper");
    const double point = dpa__number_of(item, "epsilon");
    const double shown = isnan(point) ? lower : point;
    const char *standing = dpa__standing_of(item);
    if (isnan(shown)) return;
    dpa__result_name(item, name, sizeof name);
    dpa__chart_row(data, "main", "$name $standing epsilon lower upper", name, standing, shown,
                   lower, upper);
    if (!isnan(lower) && !isnan(upper))
        dpa__chart_row(data, "interval", "$name $standing lower upper", name, standing, lower,
                       upper);
}

static void fill_bounds(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(result, "results"), index, item) add_result(data, item);
    dpa__chart_claim(result, data);
}

static void describe_bounds(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    const size_t count = dpa__chart_rows(data, "main");
    dpa__text_printf(out,
                     "%zu result%s on one axis of ε: circles are bounds at a confidence, squares "
                     "posterior ones, triangles optimistic ones, diamonds estimates.",
                     count, count == 1 ? "" : "s");
    if (!isnan(claim)) dpa__text_printf(out, " The dashed line is the claim, ε = %.6g.", claim);
}

/* ── posterior {family, atom, mean, points [{epsilon, density, cumulative}]} ─────────── */

static const json_t *posterior_of(const json_t *result) {
    const json_t *section = json_object_get(result, "posterior");
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(result, "results"), index, item) {
        if (dpa__is_word(item, "method", dpa__registry_posterior()) &&
            dpa__is_word(item, "family", dpa__word_of(section, "family")))
            return item;
    }
    return NULL;
}

static void fill_posterior(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "posterior");
    const json_t *bound = posterior_of(result);
    const double lower = dpa__number_of(bound, "epsilon_lower");
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(section, "points"), index, point)
        dpa__chart_row(data, "main", "epsilon density cumulative", dpa__number_of(point, "epsilon"),
                       dpa__number_of(point, "density"), dpa__number_of(point, "cumulative"));
    if (!isnan(lower))
        dpa__chart_row(data, "quantile", "lower confidence", lower,
                       dpa__number_of(bound, "confidence"));
    dpa__chart_claim(result, data);
}

static void describe_posterior(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const json_t *section = json_object_get(result, "posterior");
    const double mean = dpa__number_of(section, "mean"), atom = dpa__number_of(section, "atom");
    dpa__text_add(out, "Where ε lies, given the error counts and Jeffreys priors");
    if (dpa__word_of(section, "family")[0] != '\0')
        dpa__text_printf(out, " (family %s)", dpa__word_of(section, "family"));
    if (!isnan(mean)) dpa__text_printf(out, "; mean %.4g", mean);
    dpa__text_add(out, ".");
    if (dpa__chart_rows(data, "quantile") > 0)
        dpa__text_add(out, " The solid line is the lower bound: its right side holds the stated "
                           "probability.");
    if (atom > 1e-6)
        dpa__text_printf(out, " Probability %.3g sits at ε = 0 exactly and is not drawn.", atom);
}

/* ── epsilon_delta [{family, method, delta, epsilon_lower}] ──────────────────────────── */

/* For a result with a Gaussian parameter μ the curve is computed from μ if there is no section. The
 * claim is one point. */

/* One line per family: 1 if this method has the family's strongest valid bound. If none is valid,
 * all lines are drawn. */
static int is_strongest(const json_t *results, const json_t *point) {
    const char *family = dpa__word_of(point, "family"), *method = "";
    double largest = -1.0;
    size_t index;
    json_t *item;
    int best_counts = 0;
    json_array_foreach(results, index, item) {
        const double lower = dpa__number_of(item, "epsilon_lower");
        const int counts = dpa__is_word(item, "guarantee", "confidence");
        if (isnan(lower) || !dpa__is_word(item, "family", family) ||
            dpa__is_word(item, "guarantee", "optimistic"))
            continue;
        if (counts > best_counts || (counts == best_counts && lower > largest)) {
            best_counts = counts;
            largest = lower;
            method = dpa__word_of(item, "method");
        }
    }
    return largest < 0.0 || dpa__is_word(point, "method", method);
}

static void add_section(const json_t *section, const json_t *results, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(section, index, point) {
        char name[LINE_NAME];
        if (!is_strongest(results, point)) continue;
        dpa__result_name(point, name, sizeof name);
        if (dpa__number_of(point, "delta") > 0)
            dpa__chart_row(data, "main", "$name delta epsilon", name,
                           dpa__number_of(point, "delta"), dpa__number_of(point, "epsilon_lower"));
    }
}

static void add_gaussian(const json_t *item, dpa__chart_data *data) {
    const json_t *parameter = json_object_get(item, "parameter");
    const double mu = dpa__number_of(parameter, "lower");
    char name[LINE_NAME];
    if (!dpa__family_is_gaussian(dpa__word_of(item, "family")) ||
        !dpa__is_word(parameter, "name", "mu") || !(mu > 0) ||
        !dpa__is_word(item, "guarantee", "confidence"))
        return;
    dpa__result_name(item, name, sizeof name);
    for (int i = LOWEST * STEPS_PER_DECADE; i <= -STEPS_PER_DECADE / 2; ++i) {
        const double delta = pow(10.0, (double)i / STEPS_PER_DECADE);
        dpa__chart_row(data, "main", "$name delta epsilon", name, delta,
                       dpa_gaussian_epsilon(mu, delta));
    }
}

static void fill_epsilon_delta(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "epsilon_delta");
    const json_t *results = json_object_get(result, "results");
    const json_t *claim = dpa__claim_of(result);
    const double delta = dpa__number_of(claim, "delta");
    size_t index;
    json_t *item;
    add_section(section, results, data);
    json_array_foreach(results, index, item) {
        if (json_array_size(section) == 0 && is_strongest(results, item)) add_gaussian(item, data);
    }
    if (delta > 0 && !isnan(dpa__number_of(claim, "epsilon")))
        dpa__chart_row(data, "claim", "delta epsilon", delta, dpa__number_of(claim, "epsilon"));
}

/* ── guesses_curve [{family, method, guesses, correct, epsilon_lower}] ───────────────── */

static void fill_guesses(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "guesses_curve"), index, point) {
        char name[LINE_NAME];
        const double guesses = dpa__number_of(point, "guesses");
        dpa__result_name(point, name, sizeof name);
        if (guesses > 0)
            dpa__chart_row(data, "main", "$name guesses correct epsilon", name, guesses,
                           dpa__number_of(point, "correct"),
                           dpa__number_of(point, "epsilon_lower"));
    }
    if (dpa__chart_rows(data, "main") > 0) dpa__chart_claim(result, data);
}

/* ── power_curve and precision_curve of a plan ───────────────────────────────────────── */

static void fill_power(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "power_curve"), index, point) {
        const char *series = dpa__word_of(point, "series");
        const double size = dpa__number_of(point, "size"), power = dpa__number_of(point, "power");
        const double error = dpa__number_of(point, "error");
        if (!(size > 0)) continue;
        dpa__chart_row(data, "main", "$series size power error", series, size, power, error);
        if (error > 0)
            dpa__chart_row(data, "simulated", "$series size low high", series, size,
                           fmax(0, power - 2 * error), fmin(1, power + 2 * error));
    }
    const double wanted = dpa__number_of(json_object_get(result, "plan"), "power");
    if (dpa__chart_rows(data, "main") > 0 && !isnan(wanted))
        dpa__chart_row(data, "wanted", "power", wanted);
}

static void fill_precision(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "precision_curve"), index, point) {
        const char *series = dpa__word_of(point, "series");
        const double samples = dpa__number_of(point, "samples");
        if (!(samples > 0)) continue;
        dpa__chart_row(data, "main", "$series $end samples epsilon", series, "lower", samples,
                       dpa__number_of(point, "epsilon_lower"));
        dpa__chart_row(data, "main", "$series $end samples epsilon", series, "upper", samples,
                       dpa__number_of(point, "epsilon_upper"));
    }
}

/* ── landscape {points, frontier, densities} (epsilon-star, figures 1 and 2) ─────────── */

static void add_strategy(dpa__chart_data *data, const json_t *point) {
    const json_t *epsilon = json_object_get(point, "epsilon");
    const json_t *utility = json_object_get(point, "utility");
    const int on = json_is_true(json_object_get(point, "on_frontier"));
    dpa__chart_row(data, "main",
                   "$strategy $group epsilon epsilon_lowest epsilon_highest utility "
                   "utility_lowest utility_highest runs $frontier share",
                   dpa__word_of(point, "strategy"), dpa__word_of(point, "group"),
                   dpa__number_of(epsilon, "mean"), dpa__number_of(epsilon, "lowest"),
                   dpa__number_of(epsilon, "highest"), dpa__number_of(utility, "mean"),
                   dpa__number_of(utility, "lowest"), dpa__number_of(utility, "highest"),
                   dpa__number_of(point, "runs"), on ? "yes" : "no",
                   dpa__number_of(point, "frontier_share"));
}

static void fill_landscape(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "landscape");
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(section, "points"), index, point) add_strategy(data, point);
    json_array_foreach(json_object_get(section, "frontier"), index, point) dpa__chart_row(
        data, "frontier", "$strategy epsilon utility", dpa__word_of(point, "strategy"),
        dpa__number_of(json_object_get(point, "epsilon"), "mean"),
        dpa__number_of(json_object_get(point, "utility"), "mean"));
}

static void describe_landscape(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_printf(out,
                     "%zu strategies, each at the mean of its runs with their range; the dashed "
                     "line joins the %zu on the frontier. Left and up is better.",
                     dpa__chart_rows(data, "main"), dpa__chart_rows(data, "frontier"));
}

static void fill_density(const json_t *result, const char *axis, dpa__chart_data *data) {
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(json_object_get(result, "landscape"), "densities"), index,
                       row) {
        if (dpa__is_word(row, "axis", axis))
            dpa__chart_row(data, "main", "$group at density", dpa__word_of(row, "group"),
                           dpa__number_of(row, "at"), dpa__number_of(row, "density"));
    }
}

static void fill_epsilon(const json_t *result, dpa__chart_data *data) {
    fill_density(result, "epsilon", data);
}

static void fill_utility(const json_t *result, dpa__chart_data *data) {
    fill_density(result, "utility", data);
}

const dpa__chart dpa__charts_of_epsilon[] = {
    {"trend", fill_trend, describe_trend},
    {"bounds", fill_bounds, describe_bounds},
    {"posterior", fill_posterior, describe_posterior},
    {"epsilon-delta", fill_epsilon_delta, NULL},
    {"guesses", fill_guesses, NULL},
    {"power", fill_power, NULL},
    {"precision", fill_precision, NULL},
    {"landscape", fill_landscape, describe_landscape},
    {"landscape-epsilon", fill_epsilon, NULL},
    {"landscape-utility", fill_utility, NULL},
    {0},
};
