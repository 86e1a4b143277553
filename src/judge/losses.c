/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* as a report: the results of each model, what they mean over several models (Theorem 2),
 * and the data of the paper's figures: rates against thresholds, and p-values of the fit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/losses/epsilon_star.h"
#include "judge/case.h"
#include "report/model/model.h"

enum { RATE_POINTS = 100, GOODNESS_SIZES = 10 };

enum {
    METHODS = DPA__STAR_SIMULTANEOUS,
    FIRST_LAW = DPA__STAR_NORMAL
}; /* estimates; fitted laws */

typedef struct context {
    const dpa_losses_query *query;
    const dpa_request *request;
    dpa_star_opts opts; /* the query's, with the error shared between the models */
    dpa_losses *kept;   /* losses of every model, if several are read from files */
    size_t whole;       /* number of results before those of slices */
    dpa_report *report;
    json_t *section, *models, *rates, *goodness; /* the section and its arrays, borrowed */
    double *epsilon[METHODS];                    /* per model */
    size_t have[METHODS];
} context;

void dpa__losses_query_init(dpa_losses_query *query) {
    *query = (dpa_losses_query){0};
    dpa__star_opts_init(&query->opts);
}

void dpa__losses_query_free(dpa_losses_query *query) {
    for (size_t i = 0; query->losses != NULL && i < query->count; ++i)
        dpa__losses_free(&query->losses[i]);
    free(query->losses);
    free(query->files);
    *query = (dpa_losses_query){0};
}

dpa_status dpa__losses_query_files(dpa_losses_query *query, const char *train, const char *heldout,
                                   const char *train_labels, const char *heldout_labels,
                                   const char *loss, dpa_error *err) {
    dpa_losses_files *files =
        dpa__realloc(query->files, query->count + 1, sizeof *query->files, err);
    if (files == NULL) return DPA_NO_MEMORY;
    query->files = files;
    files[query->count++] = (dpa_losses_files){train, heldout, train_labels, heldout_labels, loss};
    return DPA_OK;
}

dpa_status dpa__losses_query_add(dpa_losses_query *query, const double *train, size_t train_count,
                                 const double *heldout, size_t heldout_count, dpa_error *err) {
    dpa_losses *losses = dpa__realloc(query->losses, query->count + 1, sizeof *query->losses, err);
    if (losses == NULL) return DPA_NO_MEMORY;
    query->losses = losses;
    DPA_TRY(
        dpa__losses_new(train, train_count, heldout, heldout_count, &losses[query->count], err));
    ++query->count;
    return DPA_OK;
}

/* ── one model ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status say_result(dpa_report *report, const dpa_result *r, dpa_error *err) {
    const dpa_star_ratio ratio = (dpa_star_ratio)dpa__result_extra(r, "ratio");
    const double all = dpa__result_extra(r, "all_events_epsilon");
    if (ratio == DPA_STAR_NONE)
        DPA_TRY(dpa__report_say(report, err, "  %-12s no threshold decides", r->method));
    else
        DPA_TRY(dpa__report_say(report, err, "  %-12s loss ≤ %.6g: FPR %.4g, FNR %.4g, %s",
                                r->method, r->threshold, dpa__result_extra(r, "fpr"),
                                dpa__result_extra(r, "fnr"), dpa__star_ratio_name(ratio)));
    if (!isnan(all))
        DPA_TRY(
            dpa__report_say(report, err, "  %-12s over all events of the fit: ε = %.4f", "", all));
    const double without = dpa__result_extra(r, "epsilon_without_1");
    if (isnan(without)) return DPA_OK;
    return dpa__report_say(
        report, err, "  %-12s ε = %.4f without the most extreme loss of each end, %.4f without ten",
        "", without, dpa__result_extra(r, "epsilon_without_10"));
}

static dpa_status put_result(json_t *array, const dpa_result *r, dpa_error *err) {
    json_t *row = json_object();
    const dpa_star_ratio ratio = (dpa_star_ratio)dpa__result_extra(r, "ratio");
    DPA_TRY(dpa__json_append(array, row, err));
    DPA_TRY(dpa__json_set(row, "method", json_string(r->method), err));
    if (r->kind == DPA_ESTIMATE) DPA_TRY(dpa__json_put(row, "epsilon", r->epsilon, err));
    return DPA__JSON_FILL(row, err, {"epsilon_lower", r->epsilon_lower},
                          {"epsilon_upper", r->epsilon_upper}, {"threshold", r->threshold},
                          {"fpr", dpa__result_extra(r, "fpr")},
                          {"fnr", dpa__result_extra(r, "fnr")},
                          {"epsilon_without_1", dpa__result_extra(r, "epsilon_without_1")},
                          {"epsilon_without_10", dpa__result_extra(r, "epsilon_without_10")},
                          {"ratio", .text = dpa__star_ratio_name(ratio)});
}

static dpa_status keep_result(context *c, dpa_result *r, size_t model, json_t *array,
                              dpa_error *err) {
    DPA_TRY(say_result(c->report, r, err));
    DPA_TRY(put_result(array, r, err));
    dpa__star_method method;
    DPA_TRY(dpa__star_method_find(r->method, &method, err));
    if (method != DPA__STAR_SIMULTANEOUS) c->epsilon[method][c->have[method]++] = r->epsilon;
    if (c->query->count > 1) {
        char ratio[DPA_NAME_SIZE];
        memcpy(ratio, r->select, sizeof ratio);
        (void)snprintf(r->select, sizeof r->select, "model %zu, %.20s", model + 1, ratio);
    }
    return dpa__report_add(c->report, r, err);
}

static dpa_status keep_lints(context *c, dpa_lints *lints, size_t model, dpa_error *err) {
    for (size_t i = 0; i < lints->count && c->query->count > 1; ++i) {
        char text[sizeof lints->items[i].text];
        memcpy(text, lints->items[i].text, sizeof text);
        (void)snprintf(lints->items[i].text, sizeof lints->items[i].text, "model %zu: %.290s",
                       model + 1, text);
    }
    return dpa__report_lints(c->report, lints, err);
}

static dpa_status run_model(context *c, const dpa_losses *losses, size_t model, json_t *array,
                            dpa_error *err) {
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa_status status = dpa__star_results(losses, &c->opts, c->request, &results, &lints, err);
    for (size_t i = 0; i < results.count && status == DPA_OK; ++i)
        status = keep_result(c, &results.items[i], model, array, err);
    if (status == DPA_OK) status = keep_lints(c, &lints, model, err);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    return status;
}

/* ── data of charts ────────────────────────────────────────────────────────────────────────── */

static double share_upto(const double *sorted, size_t count, double threshold) {
    return (double)dpa__count_upto(sorted, count, threshold) / (double)count;
}

static double quantile(const double *sorted, size_t count, size_t i) {
    return sorted[(size_t)((double)(count - 1) * (double)i / RATE_POINTS)];
}

static dpa_status put_rate(context *c, const dpa_losses *l, const dpa_loss_fit *fit,
                           double threshold, dpa_error *err) {
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(c->rates, row, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"threshold", threshold},
                           {"fpr", share_upto(l->heldout, l->heldout_count, threshold)},
                           {"fnr", 1.0 - share_upto(l->train, l->train_count, threshold)}));
    if (fit == NULL) return DPA_OK;
    const double phi =
        dpa__loss_transform(threshold, fit->low, fit->high); /* falls with the loss */
    return DPA__JSON_FILL(row, err, {"fpr_fitted", dpa__mixture_upper(&fit->heldout, phi)},
                          {"fnr_fitted", dpa__mixture_lower(&fit->train, phi)});
}

/* FPR and FNR, observed and by the normal fit, at quantiles of both samples. */
static dpa_status put_rates(context *c, const dpa_losses *l, dpa_error *err) {
    dpa_loss_fit fit;
    dpa_error none;
    const int fitted = dpa__fit_normal(l, c->opts.mixture.transform, &fit, &none) == DPA_OK;
    size_t i = 0, j = 0;
    double last = NAN;
    while (i <= RATE_POINTS || j <= RATE_POINTS) {
        const double in =
            i <= RATE_POINTS ? quantile(l->train, l->train_count, i) : (double)INFINITY;
        const double out =
            j <= RATE_POINTS ? quantile(l->heldout, l->heldout_count, j) : (double)INFINITY;
        const double threshold = fmin(in, out);
        i += in <= out;
        j += out <= in;
        if (threshold == last || isinf(threshold)) continue;
        last = threshold;
        DPA_TRY(put_rate(c, l, fitted ? &fit : NULL, threshold, err));
    }
    return DPA_OK;
}

static dpa_status put_goodness(context *c, const dpa_goodness *g, dpa_error *err) {
    return DPA__JSON_ADD(c->goodness, err, {"losses", .text = g->heldout ? "held-out" : "training"},
                         {"components", (double)g->components}, {"samples", (double)g->samples},
                         {"statistic", g->statistic}, {"p_value", g->p_value});
}

/* The paper's Figure 6: 100, 200, … 1000 losses set aside, but at most half of the sample. */
static dpa_status goodness_side(context *c, const dpa_losses *l, int heldout, dpa_error *err) {
    const size_t n = heldout ? l->heldout_count : l->train_count;
    size_t sizes[GOODNESS_SIZES], count = 0;
    while (count < GOODNESS_SIZES && 100 * (count + 1) <= n / 2) {
        sizes[count] = 100 * (count + 1);
        ++count;
    }
    if (count == 0)
        return dpa__report_say(c->report, err, "  fit: %zu %s losses are too few to test it", n,
                               heldout ? "held-out" : "training");
    for (size_t k = 1; k <= c->query->goodness; ++k) {
        dpa_goodness rows[GOODNESS_SIZES];
        size_t passed = 0;
        DPA_TRY(dpa__losses_goodness(l, heldout, k, c->request->seed, sizes, count, rows, err));
        for (size_t i = 0; i < count; ++i) {
            passed += rows[i].p_value > 0.05;
            DPA_TRY(put_goodness(c, &rows[i], err));
        }
        DPA_TRY(dpa__report_say(
            c->report, err,
            "  fit, %s, %zu component%s: p %.3f at %zu samples; above 0.05 at %zu of %zu",
            heldout ? "held-out" : "training", k, k == 1 ? "" : "s", rows[count - 1].p_value,
            sizes[count - 1], passed, count));
    }
    return DPA_OK;
}

/* ── slices ────────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_slice(json_t *rows, const char *name, const dpa_losses *l, double epsilon,
                            double lower, dpa_error *err) {
    return DPA__JSON_ADD(rows, err, {"group", .text = name}, {"train", (double)l->train_count},
                         {"heldout", (double)l->heldout_count}, {"epsilon", epsilon},
                         {"epsilon_lower", lower});
}

/* The default method's estimate, and the bound without a fit at this slice's share of the error. */
static dpa_status slice(dpa_report *report, const char *name, const dpa_losses *l,
                        const dpa_request *request, size_t slices, json_t *rows, dpa_error *err) {
    dpa_binormal b;
    dpa_star bound;
    dpa_result r;
    if (l->train_count == 0 || l->heldout_count == 0)
        return dpa__report_say(report, err, "  group %s: left out: losses of one side only", name);
    DPA_TRY(dpa__star_binormal(l, request, &b, err));
    DPA_TRY(dpa__star_lower(l, request->delta, 1.0 - (1.0 - request->confidence) / (double)slices,
                            0, &bound, err));
    DPA_TRY(dpa__report_say(
        report, err, "  group %s: %zu training, %zu held-out losses: ε* = %.4f, at least %.4f",
        name, l->train_count, l->heldout_count, b.star.epsilon, bound.epsilon));
    DPA_TRY(put_slice(rows, name, l, b.star.epsilon, bound.epsilon, err));
    dpa__result_init(&r, request);
    (void)snprintf(r.method, sizeof r.method, "simultaneous");
    (void)snprintf(r.select, sizeof r.select, "group %.30s", name);
    r.epsilon_lower = bound.epsilon;
    r.sides = 1;
    r.valid = 1;
    r.threshold = bound.threshold;
    r.assumptions = DPA_ASSUME_ONE_INSTANCE | DPA_ASSUME_IID_LOSSES;
    r.numerical_error = 1e-9;
    (void)snprintf(r.note, sizeof r.note,
                   "about the records of this group, in this one model; the "
                   "bounds of all groups hold together");
    return dpa__report_add(report, &r, err);
}

/* Section "groups": Epsilon* for each value of a column of the table. The bounds share the error.
 */
static dpa_status put_slices(dpa_report *report, const char *path, const char *column,
                             const dpa_request *request, json_t *section, dpa_error *err) {
    dpa_loss_groups groups;
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "groups", rows, err));
    DPA_TRY(dpa__loss_groups_read(path, column, &groups, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < groups.count && status == DPA_OK; ++i)
        status = slice(report, groups.names[i], &groups.items[i], request, groups.count, rows, err);
    dpa__loss_groups_free(&groups);
    return status;
}

/* ── records ───────────────────────────────────────────────────────────────────────────────── */

static const double RATE = 0.1;

static dpa_status put_record(json_t *rows, const dpa_loss_record *r, dpa_error *err) {
    return DPA__JSON_ADD(rows, err, {"record", (double)r->number}, {"loss", r->loss},
                         {"p_value", r->p_value}, {"q_value", r->q_value});
}

static dpa_status say_records(dpa_report *report, const dpa_losses *l, const dpa_loss_record *r,
                              size_t count, size_t found, json_t *section, dpa_error *err) {
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "records", rows, err));
    DPA_TRY(dpa__json_put(section, "records_found", (double)found, err));
    DPA_TRY(
        dpa__report_say(report, err,
                        "  %zu of %zu training records stand out from held-out ones (at most 10%% "
                        "of them by chance)",
                        found, l->train_count));
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(put_record(rows, &r[i], err));
        DPA_TRY(dpa__report_say(report, err, "  record %zu: loss %.6g, p %.3g, q %.3g", r[i].number,
                                r[i].loss, r[i].p_value, r[i].q_value));
    }
    return DPA_OK;
}

/* Sections "records" and "records_found": up to `most` training records that stand out. */
static dpa_status put_records(dpa_report *report, const dpa_losses *l, size_t most, json_t *section,
                              dpa_error *err) {
    size_t count, found;
    dpa_loss_record *records = DPA_NEW_ARRAY(dpa_loss_record, most, err);
    if (records == NULL) return DPA_NO_MEMORY;
    dpa_status status =
        dpa__loss_records(l->train_rows, l->train_count, l->heldout, l->heldout_count, RATE,
                          records, most, &count, &found, err);
    if (status == DPA_OK) status = say_records(report, l, records, count, found, section, err);
    free(records);
    return status;
}

/* ── several models ────────────────────────────────────────────────────────────────────────── */

static dpa_status summarise(context *c, int method, json_t *array, dpa_error *err) {
    dpa_star_summary s;
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(array, row, err));
    DPA_TRY(dpa__star_summarise(c->epsilon[method], c->have[method], &s, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"method", .text = dpa__star_method_name(method)},
                           {"models", (double)c->have[method]}, {"mean", s.mean},
                           {"lowest", s.lowest}, {"highest", s.highest},
                           {"log_mean_exp", s.log_mean_exp}));
    return dpa__report_say(c->report, err,
                           "  %-12s %zu models: mean %.4f, %.4f to %.4f, log E e^ε* %.4f",
                           dpa__star_method_name(method), c->have[method], s.mean, s.lowest,
                           s.highest, s.log_mean_exp);
}

static const char theorem[] =
    "log E e^ε* is at least ε̄, the lower bound on the mechanism's ε from rates averaged over "
    "models (Theorem 2): it limits what such averaging could show and is not itself a bound on the "
    "mechanism's ε.";

/* ε̄ of Theorem 4 as a result: the only one here about the mechanism. */
static dpa_status mechanism(context *c, const dpa_losses *models, dpa_error *err) {
    const int replace_one = c->opts.replace_one;
    dpa_averaged a;
    dpa_result r;
    DPA_TRY(dpa__star_mechanism(models, c->query->count, c->request->delta, c->request->confidence,
                                &a, err));
    dpa__result_init(&r, c->request);
    (void)snprintf(r.method, sizeof r.method, "averaged");
    (void)snprintf(r.select, sizeof r.select, "%zu models", c->query->count);
    r.sides = 1;
    r.valid = 1;
    r.epsilon_lower = replace_one ? a.epsilon_replace_one : a.epsilon_add_remove;
    r.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_IID_LOSSES | DPA_ASSUME_FAMILY_DP;
    r.numerical_error = 1e-12 * fmax(1.0, r.epsilon_lower);
    (void)snprintf(
        r.note, sizeof r.note,
        "about the mechanism, for neighbours that %s one record: valid if every model was "
        "trained on its own random draw of the data, not if only seeds differ",
        replace_one ? "replace" : "add or remove");
    dpa__result_add_extra(&r, "epsilon_averaged", a.epsilon);
    dpa__result_add_extra(&r, "epsilon_replace_one", a.epsilon_replace_one);
    dpa__result_add_extra(&r, "epsilon_add_remove", a.epsilon_add_remove);
    dpa__result_add_extra(&r, "fpr", a.fpr);
    dpa__result_add_extra(&r, "tpr", a.tpr);
    dpa__result_add_extra(&r, "tpr_lower", a.tpr_lower);
    DPA_TRY(dpa__report_say(
        c->report, err,
        "  %-12s %zu models: ε̄ = %.4f from averaged rates; with confidence the "
        "mechanism's ε is at least\n  %-12s %.4f (neighbours replace a record), "
        "%.4f (add or remove one)",
        r.method, c->query->count, a.epsilon, "", a.epsilon_replace_one, a.epsilon_add_remove));
    return dpa__report_add(c->report, &r, err);
}

static dpa_status over_models(context *c, json_t *section, dpa_error *err) {
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(section, "summary", array, err));
    for (int i = 0; i < METHODS; ++i)
        if (c->have[i] > 0) DPA_TRY(summarise(c, i, array, err));
    DPA_TRY(dpa__json_set(section, "theorem_2", json_string(theorem), err));
    DPA_TRY(
        dpa__report_say(c->report, err,
                        "  log E e^ε* is at least ε̄, the bound from rates averaged over models\n"
                        "  (Theorem 2). It is not itself a bound on the mechanism's ε%s.",
                        c->opts.resampled ? ""
                                          : "; with --resampled ε̄\n  itself is bounded, if every "
                                            "model had its own random draw of the data"));
    if (!c->opts.resampled) return DPA_OK;
    return mechanism(c, c->query->losses != NULL ? c->query->losses : c->kept, err);
}

/* ── all of it ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_model(context *c, const dpa_losses *losses, size_t model, dpa_error *err) {
    json_t *row = json_object(), *array = json_array();
    const char *name = c->query->files != NULL ? c->query->files[model].train : NULL;
    DPA_TRY(dpa__json_append(c->models, row, err));
    DPA_TRY(dpa__json_set(row, "results", array, err));
    if (name != NULL) DPA_TRY(dpa__json_set(row, "name", json_string(name), err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"train", (double)losses->train_count},
                           {"heldout", (double)losses->heldout_count}));
    if (c->query->count > 1)
        DPA_TRY(dpa__report_say(c->report, err, "model %zu%s%s: %zu training, %zu held-out losses",
                                model + 1, name != NULL ? ", " : "", name != NULL ? name : "",
                                losses->train_count, losses->heldout_count));
    DPA_TRY(run_model(c, losses, model, array, err));
    if (model == 0) DPA_TRY(put_rates(c, losses, err));
    if (model == 0 && c->query->records > 0)
        DPA_TRY(put_records(c->report, losses, c->query->records, c->section, err));
    if (c->query->goodness == 0) return DPA_OK;
    DPA_TRY(goodness_side(c, losses, 0, err));
    return goodness_side(c, losses, 1, err);
}

static dpa_status read_model(context *c, size_t model, dpa_error *err) {
    const dpa_losses_files *files = &c->query->files[model];
    dpa_losses losses;
    DPA_TRY(dpa__losses_read(files, &losses, err));
    dpa_status status = dpa__report_input(c->report, files->train, losses.train_sha256, err);
    if (status == DPA_OK && files->heldout != NULL)
        status = dpa__report_input(c->report, files->heldout, losses.heldout_sha256, err);
    if (status == DPA_OK) status = put_model(c, &losses, model, err);
    if (c->kept != NULL)
        c->kept[model] = losses;
    else
        dpa__losses_free(&losses);
    return status;
}

/* What these losses can and cannot say about a claim. */
static dpa_status say_claim(context *c, json_t *section, dpa_error *err) {
    const int can = c->query->count > 1 && c->opts.resampled;
    const char *why =
        can ? "The claim is about the training mechanism. Only 'averaged' is too, and may refute "
              "it; "
              "ε* of a model cannot."
            : "The claim is about the training mechanism and ε* about one model, which may leak "
              "more "
              "or less than the mechanism's worst case: it cannot refute the claim. The losses of "
              "several models, each trained on its own random draw of the data, can (--resampled).";
    if (isnan(c->request->claim_epsilon)) return DPA_OK;
    DPA_TRY(dpa__json_set(section, "about_claim", json_string(why), err));
    return dpa__report_say(c->report, err, "%s", why);
}

/* Explains "ε ≤" of a fitted law, which readers of the table would overestimate. */
static dpa_status say_intervals(context *c, dpa_error *err) {
    size_t laws = 0;
    for (int i = FIRST_LAW; i < METHODS; ++i) laws += c->have[i];
    if (laws == 0 || c->opts.bootstrap == 0) return DPA_OK;
    return dpa__report_say(
        c->report, err,
        "  Intervals of normal, tail and mixture are the noise of the fit alone: "
        "they hold\n  ε* only where that law does.");
}

static dpa_status fill(context *c, dpa_error *err) {
    static const char instance[] =
        "ε* measures how well thresholds on the loss tell this model's training points from "
        "others. "
        "It is about this one model instance and does not bound the ε of the training mechanism.";
    json_t *section = c->section = json_object();
    DPA_TRY(dpa__json_set(c->report->sections, "epsilon_star", section, err));
    DPA_TRY(dpa__json_set(section, "about", json_string(instance), err));
    DPA_TRY(dpa__json_set(section, "models", c->models = json_array(), err));
    DPA_TRY(dpa__json_set(section, "rates", c->rates = json_array(), err));
    DPA_TRY(dpa__json_set(section, "goodness", c->goodness = json_array(), err));
    DPA_TRY(dpa__report_evidence(c->report, "losses", err));
    DPA_TRY(dpa__report_fact(c->report, "models", (double)c->query->count, err));
    for (size_t i = 0; i < c->query->count; ++i)
        DPA_TRY(c->query->losses != NULL ? put_model(c, &c->query->losses[i], i, err)
                                         : read_model(c, i, err));
    if (c->query->count > 1) DPA_TRY(over_models(c, section, err));
    c->whole = c->report->results.count;
    if (c->query->group != NULL)
        DPA_TRY(put_slices(c->report, c->query->files[0].train, c->query->group, c->request,
                           section, err));
    DPA_TRY(say_claim(c, section, err));
    DPA_TRY(say_intervals(c, err));
    return dpa__report_say(c->report, err,
                           "  ε* is about %s: how well thresholds on the loss "
                           "tell\n  training points from others. It does not bound the ε of the "
                           "mechanism.\n",
                           c->query->count > 1 ? "each model by itself"
                                               : "this one model instance");
}

/* If there is a bound on the mechanism, it decides. Otherwise the headline is about the bounds on
 * this one model, which never decide about the mechanism. Slices are only shown. */
static dpa_status conclude(const context *c, dpa_error *err) {
    dpa_report *report = c->report;
    dpa_claim claim;
    dpa_claim_init(&claim);
    claim.epsilon = c->request->claim_epsilon;
    claim.delta = c->request->claim_delta;
    dpa__verdict_begin(report, &claim, claim.epsilon);
    for (size_t i = 0; i < report->results.count; ++i) {
        dpa_result *r = &report->results.items[i];
        const int instance = (r->assumptions & DPA_ASSUME_ONE_INSTANCE) != 0;
        if (instance) r->scope = DPA_SCOPE_MODEL;
        if (i < c->whole && instance != c->opts.resampled &&
            dpa__result_guarantee(r) == DPA_CONFIDENCE)
            r->role = DPA_PRIMARY;
    }
    return dpa__verdict_conclude(report, err);
}

dpa_status dpa__audit_losses(const dpa_losses_query *query, const dpa_request *request,
                             dpa_report **out, dpa_error *err) {
    context c = {.query = query, .request = request, .opts = query->opts};
    *out = NULL;
    if (query->count == 0 || (query->losses == NULL && query->files == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "losses of at least one model are needed");
    if (query->goodness > DPA_MIXTURE_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "goodness: at most %d components", DPA_MIXTURE_MAX);
    if (query->group != NULL &&
        (query->count != 1 || query->files == NULL || query->files[0].heldout != NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "group: needs one table with the columns loss, member and %s",
                         query->group);
    if (query->opts.resampled && query->count < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "resampled: needs the losses of at least two models, each trained on its "
                         "own random draw of the data");
    double *block = DPA_NEW_ARRAY(double, METHODS * query->count, err);
    if (block == NULL) return DPA_NO_MEMORY;
    if (query->losses == NULL && query->opts.resampled) {
        c.kept = dpa__calloc(query->count, sizeof *c.kept, err);
        if (c.kept == NULL) {
            free(block);
            return DPA_NO_MEMORY;
        }
    }
    c.opts.share = query->count;
    for (int i = 0; i < METHODS; ++i) c.epsilon[i] = block + (size_t)i * query->count;
    dpa_status status = dpa__report_new("losses", request, &c.report, err);
    if (status == DPA_OK) status = fill(&c, err);
    if (status == DPA_OK) status = conclude(&c, err);
    free(block);
    for (size_t i = 0; c.kept != NULL && i < query->count; ++i) dpa__losses_free(&c.kept[i]);
    free(c.kept);
    return dpa__report_end(c.report, status, out);
}
