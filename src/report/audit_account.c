/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim means, as a report: ε, δ, power and the trade-off curve of a composed mechanism,
 * each as an interval, with looser or approximate accountants as cross-checks; tables, a comparison
 * with another accountant's number, and what Rényi divergences alone imply. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/model/model.h"

void dpa__account_query_init(dpa_account_query *query) {
    *query = (dpa_account_query){.epsilon = NAN, .fpr = NAN, .check = NAN};
    dpa_account_opts_init(&query->opts);
}

void dpa__account_query_free(dpa_account_query *query) {
    free(query->phases);
    query->phases = NULL;
    query->count = 0;
}

dpa_status dpa__account_query_add(dpa_account_query *query, const dpa_phase *phases, size_t count,
                                  dpa_error *err) {
    dpa_phase *list = dpa__realloc(query->phases, query->count + count, sizeof *query->phases, err);
    if (list == NULL) return DPA_NO_MEMORY;
    memcpy(list + query->count, phases, count * sizeof *phases);
    query->phases = list;
    query->count += count;
    return DPA_OK;
}

dpa_status dpa__account_query_ledger(dpa_account_query *query, const dpa_ledger *ledger,
                                     dpa_error *err) {
    size_t count;
    const dpa_phase *phases = dpa_ledger_phases(ledger, &count);
    query->is_limit |= dpa__ledger_is_limit(ledger);
    return dpa__account_query_add(query, phases, count, err);
}

void dpa__account_query_tolerance(dpa_account_query *query, double tolerance) {
    query->opts.tolerance = tolerance;
    query->opts.absolute = fmin(query->opts.absolute, 0.1 * tolerance);
}

static dpa_status new_report(const char *command, double delta, dpa_report **out, dpa_error *err) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = delta;
    return dpa__report_new(command, &request, out, err);
}

/* {"lower": …, "upper": …} under `key`. */
static dpa_status put_interval(dpa_report *report, const char *key, const dpa_interval *interval,
                               dpa_error *err) {
    json_t *value = json_object();
    DPA_TRY(dpa__json_set(report->sections, key, value, err));
    DPA_TRY(DPA__JSON_FILL(value, err, {"lower", interval->lower}, {"upper", interval->upper}));
    if (isinf(interval->upper)) DPA_TRY(dpa__json_set(value, "upper_infinite", json_true(), err));
    return DPA_OK;
}

enum { LABEL_WIDTH = 24, MAX_CURVE_POINTS = 100000 };

/* "  label      value  remark", with values aligned. */
static dpa_status say_number(dpa_report *report, const char *label, double value,
                             const char *remark, dpa_error *err) {
    return dpa__report_say(report, err, "  %s%*s %.12g%s%s", label,
                           LABEL_WIDTH - dpa__shown_width(label), "", value,
                           remark[0] != '\0' ? "  " : "", remark);
}

static dpa_status say_interval(dpa_report *report, const char *label, const dpa_interval *interval,
                               const char *remark, dpa_error *err) {
    return dpa__report_say(report, err, "  %s%*s %.8g … %.8g%s%s", label,
                           LABEL_WIDTH - dpa__shown_width(label), "", interval->lower,
                           interval->upper, remark[0] != '\0' ? "  " : "", remark);
}

static dpa_status say_phase(dpa_report *report, const dpa_phase *phase, dpa_error *err) {
    const int is_gaussian = phase->mechanism == DPA_GAUSSIAN;
    const int is_pair = phase->mechanism == DPA_PAIR;
    char what[64] = "A dominating pair", rate[64] = "";
    if (phase->mechanism == DPA_SHUFFLED)
        return dpa__report_say(report, err,
                               "Gaussian, σ = %g, %.0f shuffled batches, %" PRIu64
                               " epochs: ε is between that of an attack and that of batches known "
                               "to the attacker",
                               phase->sigma, 1 / phase->q, phase->steps);
    if (!is_pair)
        (void)dpa__print(what, sizeof what, "%s%g",
                         is_gaussian                       ? "Gaussian, σ = "
                         : phase->mechanism == DPA_LAPLACE ? "Laplace, scale "
                                                           : "Randomized response, ε₀ = ",
                         phase->sigma);
    if (is_gaussian || (phase->q < 1 && phase->mechanism != DPA_RANDOMIZED_RESPONSE))
        (void)dpa__print(rate, sizeof rate, ", sampling rate q = %g", phase->q);
    return dpa__report_say(report, err, "%s%s, %" PRIu64 " steps", what, rate, phase->steps);
}

static dpa_status say_claim(dpa_report *report, const dpa_account_query *query, dpa_error *err) {
    for (size_t i = 0; i < query->count; ++i) DPA_TRY(say_phase(report, &query->phases[i], err));
    return dpa__report_say(report, err, "Neighbours: %s",
                           query->opts.adjacency == DPA_ADD_REMOVE
                               ? "one record added or removed"
                               : "one record replaced by another");
}

/* ── tables, and another accountant ──────────────────────────────────────────────────── */

enum { MOST_ROWS = 100000, SHOWN_ROWS = 40 };

typedef dpa_status (*read_fn)(const dpa_account *account, const double *at, size_t count,
                              dpa_interval *out, dpa_error *err);

static dpa_status put_table_row(json_t *table, const char *at_name, double at, const char *prefix,
                                dpa_interval value, dpa_error *err) {
    char key[32];
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(table, row, err));
    DPA_TRY(dpa__json_put(row, at_name, at, err));
    (void)snprintf(key, sizeof key, "%s_lower", prefix);
    DPA_TRY(dpa__json_put(row, key, value.lower, err));
    (void)snprintf(key, sizeof key, "%s_upper", prefix);
    return dpa__json_put(row, key, value.upper, err);
}

static dpa_status put_table_rows(dpa_report *report, const char *section,
                                 const char *const names[2], const double *at,
                                 const dpa_interval *value, size_t count, dpa_error *err) {
    json_t *table = json_array();
    DPA_TRY(dpa__json_set(report->sections, section, table, err));
    DPA_TRY(dpa__report_say(report, err, "  %-12s %s", names[0], names[1]));
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(put_table_row(table, names[0], at[i], names[1], value[i], err));
        if (i < SHOWN_ROWS)
            DPA_TRY(dpa__report_say(report, err, "  %-12.6g %.8g … %.8g", at[i], value[i].lower,
                                    value[i].upper));
    }
    if (count <= SHOWN_ROWS) return DPA_OK;
    return dpa__report_say(report, err, "  (%zu more with --json)", count - SHOWN_ROWS);
}

static dpa_status put_table(dpa_report *report, const dpa_account *account, read_fn read,
                            const char *section, const char *const names[2], const double *at,
                            size_t count, dpa_error *err) {
    if (count == 0) return DPA_OK;
    if (count > MOST_ROWS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: at most %d rows, not %zu", section, MOST_ROWS,
                         count);
    dpa_interval *value = DPA_NEW_ARRAY(dpa_interval, count, err);
    if (value == NULL) return DPA_NO_MEMORY;
    dpa_status status = read(account, at, count, value, err);
    if (status == DPA_OK) status = put_table_rows(report, section, names, at, value, count, err);
    free(value);
    return status;
}

/* zCDP is the largest RDP(a)/a over all orders. Only for plain noise is it known to be at order 1+
 * or ∞, so the report gives the least ρ that the requested orders need. */
static dpa_status put_orders(dpa_report *report, const dpa_account_query *query, dpa_error *err) {
    if (query->order_count == 0) return DPA_OK;
    json_t *table = json_array();
    DPA_TRY(dpa__json_set(report->sections, "rdp_table", table, err));
    DPA_TRY(dpa__report_say(report, err, "  %-12s %s", "order", "rdp"));
    double rho = 0;
    for (size_t i = 0; i < query->order_count; ++i) {
        const double order = query->orders[i];
        const double rdp = dpa__account_rdp(query->phases, query->count, order);
        if (isnan(rdp))
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "orders: the Rényi divergence of order %g is not known: orders are "
                             "above 1, phases Gaussian, Laplace or randomized response",
                             order);
        DPA_TRY(DPA__JSON_ADD(table, err, {"order", order}, {"rdp", rdp}));
        DPA_TRY(dpa__report_say(report, err, "  %-12.6g %.10g", order, rdp));
        rho = fmax(rho, rdp / order);
    }
    DPA_TRY(dpa__json_put(report->sections, "zcdp_rho", rho, err));
    return dpa__report_say(report, err, "  zCDP at these orders: ρ = %.10g", rho);
}

/* ε at many δ, δ at many ε, Rényi divergences. */
static dpa_status put_tables(dpa_report *report, const dpa_account *account,
                             const dpa_account_query *query, dpa_error *err) {
    static const char *const by_delta[2] = {"delta", "epsilon"};
    static const char *const by_epsilon[2] = {"epsilon", "delta"};
    DPA_TRY(put_table(report, account, dpa__account_epsilons, "epsilon_table", by_delta,
                      query->deltas, query->delta_count, err));
    DPA_TRY(put_table(report, account, dpa__account_deltas, "delta_table", by_epsilon,
                      query->epsilons, query->epsilon_count, err));
    return put_orders(report, query, err);
}

/* Says whether another accountant's ε lies below, inside or above our interval. */
static dpa_status check_other(dpa_report *report, double other, dpa_interval ours, int is_limit,
                              dpa_error *err) {
    const char *side = other < ours.lower ? "below" : other > ours.upper ? "above" : "inside";
    json_t *check = json_object();
    DPA_TRY(dpa__json_set(report->sections, "check", check, err));
    DPA_TRY(DPA__JSON_FILL(check, err, {"other", other}, {"side", .text = side}));
    if (other < ours.lower && is_limit)
        return dpa__report_say(report, err,
                               "  The other accountant's %.8g is below that of the theorem, by "
                               "%.3g at least: right only if a tighter proof stands behind it.",
                               other, ours.lower - other);
    if (other < ours.lower)
        return dpa__report_say(report, err,
                               "  The other accountant's %.8g is too small, by %.3g at least: it "
                               "promises more privacy than there is.",
                               other, ours.lower - other);
    if (other > ours.upper)
        return dpa__report_say(report, err,
                               "  The other accountant's %.8g is safe, and too large by %.3g at "
                               "least.",
                               other, other - ours.upper);
    return dpa__report_say(report, err, "  The other accountant's %.8g agrees: it is inside.",
                           other);
}

/* ── a composed mechanism ────────────────────────────────────────────────────────────── */

/* FPRs that suit both a log axis and a linear one: half of them log-spaced down to 1e-8, half
 * evenly spaced. */
static double curve_fpr(size_t i, size_t count) {
    const size_t half = count / 2;
    if (i < half) return pow(10.0, -8.0 + 7.0 * (double)i / (double)half);
    return fmin(0.1 + 0.9 * (double)(i - half + 1) / (double)(count - half), 1.0);
}

static dpa_status put_curve(dpa_report *report, const dpa_account *account, size_t count,
                            dpa_error *err) {
    json_t *curve = json_array();
    DPA_TRY(dpa__json_set(report->sections, "curve", curve, err));
    for (size_t i = 0; i < count; ++i) {
        dpa_interval fnr;
        const double fpr = curve_fpr(i, count);
        DPA_TRY(dpa_account_fnr(account, fpr, &fnr, err));
        DPA_TRY(DPA__JSON_ADD(curve, err, {"fpr", fpr}, {"fnr", 0.5 * (fnr.lower + fnr.upper)},
                              {"fnr_lower", fnr.lower}, {"fnr_upper", fnr.upper}));
    }
    return DPA_OK;
}

static dpa_status put_cross_checks(dpa_report *report, const dpa_account_query *query,
                                   dpa_error *err) {
    const double delta = query->opts.delta;
    /* both methods exist only for one record and add/remove */
    if (query->opts.adjacency != DPA_ADD_REMOVE || query->opts.group > 1) return DPA_OK;
    const double rdp = dpa__account_rdp_epsilon(query->phases, query->count, delta);
    const double gdp = dpa__account_gdp_epsilon(query->phases, query->count, delta);
    json_t *checks = json_object();
    DPA_TRY(dpa__json_set(report->sections, "cross_checks", checks, err));
    if (!isnan(rdp)) {
        DPA_TRY(dpa__json_put(checks, "rdp", rdp, err));
        DPA_TRY(say_number(report, "Rényi (RDP)", rdp, "upper bound, looser", err));
    }
    if (!isnan(gdp)) {
        DPA_TRY(dpa__json_put(checks, "gdp_clt", gdp, err));
        DPA_TRY(
            say_number(report, "central limit (GDP)", gdp, "approximation, can be too small", err));
    }
    return DPA_OK;
}

/* What an interval of ε is worth: events may stand for upper bounds of theorems. */
static const char *worth(const dpa_account_query *query) {
    return query->is_limit ? "an upper bound: the truth may be smaller" : "contains the truth";
}

static dpa_status put_epsilon(dpa_report *report, const dpa_account *account,
                              const dpa_account_query *query, dpa_error *err) {
    dpa_interval epsilon, mu;
    char label[64];
    DPA_TRY(dpa_account_epsilon(account, query->opts.delta, &epsilon, err));
    DPA_TRY(put_interval(report, "epsilon", &epsilon, err));
    (void)dpa__print(label, sizeof label, "ε at δ = %g", query->opts.delta);
    DPA_TRY(say_interval(report, label, &epsilon, worth(query), err));
    if (query->is_limit)
        DPA_TRY(dpa__json_set(report->sections, "is_upper_limit", json_true(), err));
    if (!isnan(query->check))
        DPA_TRY(check_other(report, query->check, epsilon, query->is_limit, err));
    if (isinf(epsilon.lower)) return DPA_OK;
    DPA_TRY(dpa__account_mu(account, query->opts.delta, &mu, err));
    DPA_TRY(put_interval(report, "mu", &mu, err));
    return say_interval(report, "μ", &mu, "Gaussian with the same ε", err);
}

static dpa_status put_wanted(dpa_report *report, const dpa_account *account,
                             const dpa_account_query *query, dpa_error *err) {
    dpa_interval interval;
    char label[64];
    if (!isnan(query->epsilon)) {
        DPA_TRY(dpa_account_delta(account, query->epsilon, &interval, err));
        DPA_TRY(put_interval(report, "delta_at_epsilon", &interval, err));
        (void)dpa__print(label, sizeof label, "δ at ε = %g", query->epsilon);
        DPA_TRY(say_interval(report, label, &interval, "", err));
    }
    if (!isnan(query->fpr)) {
        DPA_TRY(dpa_account_fnr(account, query->fpr, &interval, err));
        interval = (dpa_interval){1.0 - interval.upper, 1.0 - interval.lower};
        DPA_TRY(put_interval(report, "tpr_at_fpr", &interval, err));
        (void)dpa__print(label, sizeof label, "best TPR at FPR = %g", query->fpr);
        DPA_TRY(say_interval(report, label, &interval, "", err));
    }
    if (query->curve_points > 0) DPA_TRY(put_curve(report, account, query->curve_points, err));
    return put_tables(report, account, query, err);
}

static dpa_status fill_account(dpa_report *report, const dpa_account *account,
                               const dpa_account_query *query, dpa_error *err) {
    DPA_TRY(say_claim(report, query, err));
    DPA_TRY(put_epsilon(report, account, query, err));
    DPA_TRY(put_cross_checks(report, query, err));
    return put_wanted(report, account, query, err);
}

dpa_status dpa__audit_account(const dpa_account_query *query, dpa_report **out, dpa_error *err) {
    dpa_account *account = NULL;
    dpa_report *report = NULL;
    *out = NULL;
    if (query->curve_points > MAX_CURVE_POINTS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "points: at most %d, not %zu", MAX_CURVE_POINTS,
                         query->curve_points);
    DPA_TRY(dpa_account_new(query->phases, query->count, &query->opts, &account, err));
    dpa_status status = new_report("account", query->opts.delta, &report, err);
    if (status == DPA_OK) status = fill_account(report, account, query, err);
    dpa_account_free(account);
    return dpa__report_end(report, status, out);
}

/* The end of the range that dpa_calibrate searches (dpa_mechanism in account.h). */
static double leakiest(dpa_mechanism mechanism, dpa_calibrate_what what) {
    if (what == DPA_CALIBRATE_Q) return 1;
    if (what == DPA_CALIBRATE_STEPS) return 1e12;
    return mechanism == DPA_GAUSSIAN ? 1e-3 : mechanism == DPA_LAPLACE ? 1e-5 : 1e5;
}

static dpa_status fill_calibrate(dpa_report *report, const dpa_account_query *query,
                                 dpa_calibrate_what what, dpa_error *err) {
    static const char *const names[] = {"sigma", "q", "steps"};
    static const char *const labels[] = {"noise multiplier σ", "sampling rate q", "steps"};
    dpa_calibration found;
    DPA_TRY(dpa__calibrate_whole(query->phases, query->count, what, query->epsilon,
                                 query->opts.delta, &query->opts, &found, err));
    const double value = found.value;
    DPA_TRY(DPA__JSON_FILL(report->sections, err, {"target_epsilon", query->epsilon},
                           {names[what], value}));
    DPA_TRY(put_interval(report, "epsilon", &found.epsilon, err));
    DPA_TRY(
        dpa__report_say(report, err, "For ε ≤ %g at δ = %g:", query->epsilon, query->opts.delta));
    DPA_TRY(say_number(report, labels[what], value, "", err));
    DPA_TRY(say_interval(report, "ε reached", &found.epsilon, worth(query), err));
    if (!isnan(found.unjudged)) {
        DPA_TRY(dpa__json_put(report->sections, "unjudged", found.unjudged, err));
        DPA_TRY(dpa__report_say(
            report, err,
            "  Not the best value for certain: from %s = %.*g on ε could not be "
            "told from the target (%.6g … %.6g there); raise --tolerance.",
            names[what], found.unjudged == floor(found.unjudged) ? 15 : 6, found.unjudged,
            found.unjudged_epsilon.lower, found.unjudged_epsilon.upper));
    }
    const int is_end = value == leakiest(query->phases[0].mechanism, what);
    DPA_TRY(dpa__json_set(report->sections, "is_end_of_range", json_boolean(is_end), err));
    if (!is_end) return DPA_OK;
    return dpa__report_say(report, err,
                           "  That is the end of the range of %s: the target would allow more.",
                           names[what]);
}

dpa_status dpa__audit_calibrate(const dpa_account_query *query, dpa_calibrate_what what,
                                dpa_report **out, dpa_error *err) {
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(new_report("calibrate", query->opts.delta, &report, err));
    const dpa_status status = fill_calibrate(report, query, what, err);
    return dpa__report_end(report, status, out);
}

static dpa_status fill_two_gaussians(dpa_report *report, double mu1, double s1, double mu2,
                                     double s2, double delta, dpa_error *err) {
    const double forward = dpa__two_gaussians_directed(mu1, s1, mu2, s2, delta);
    const double backward = dpa__two_gaussians_directed(mu2, s2, mu1, s1, delta);
    const double epsilon = fmax(forward, backward);
    DPA_TRY(put_interval(report, "epsilon", &(dpa_interval){epsilon, epsilon}, err));
    DPA_TRY(DPA__JSON_FILL(report->sections, err, {"first_to_second", forward},
                           {"second_to_first", backward}));
    DPA_TRY(
        dpa__report_say(report, err, "N(%g, %g²) and N(%g, %g²), δ = %g", mu1, s1, mu2, s2, delta));
    DPA_TRY(say_number(report, "ε, the larger of both", epsilon, "", err));
    DPA_TRY(say_number(report, "first against second", forward, "", err));
    return say_number(report, "second against first", backward, "", err);
}

dpa_status dpa__audit_two_gaussians(double mu1, double s1, double mu2, double s2, double delta,
                                    dpa_report **out, dpa_error *err) {
    dpa_report *report = NULL;
    *out = NULL;
    if (!(isfinite(mu1) && isfinite(mu2) && s1 > 0 && s2 > 0 && isfinite(s1) && isfinite(s2)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "two Gaussians: means must be finite and deviations above 0");
    DPA_TRY(new_report("account", delta, &report, err));
    const dpa_status status = fill_two_gaussians(report, mu1, s1, mu2, s2, delta, err);
    return dpa__report_end(report, status, out);
}

/* ── a mechanism that is known by its Rényi divergences ──────────────────────────────── */

static dpa_status columns_of(const dpa_table *table, const char *path, const double *out[2],
                             dpa_error *err) {
    static const char *const names[2] = {"order", "rdp"};
    for (int k = 0; k < 2; ++k) {
        const ptrdiff_t at = dpa__table_find(table, names[k]);
        out[k] = at < 0 ? NULL : table->column[at].numbers;
        if (out[k] == NULL)
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "no column '%s' of numbers; Rényi divergences have columns order "
                                  "and rdp",
                                  names[k]);
    }
    return DPA_OK;
}

static dpa_status epsilon_of_file(const char *path, double delta, double *out, dpa_error *err) {
    dpa_table_opts opts;
    dpa_table *table;
    const double *column[2];
    dpa__table_opts_init(&opts);
    DPA_TRY(dpa__table_read(path, &opts, &table, err));
    dpa_status status = columns_of(table, path, column, err);
    if (status == DPA_OK) *out = dpa__rdp_epsilon(column[0], column[1], table->rows, delta);
    if (status == DPA_OK && !isfinite(*out))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "no order above 1 with a divergence");
    dpa__table_free(table);
    return status;
}

static dpa_status fill_renyi(dpa_report *report, double rho, double delta, double epsilon,
                             double check, dpa_error *err) {
    json_t *value = json_object();
    DPA_TRY(dpa__json_set(report->sections, "epsilon", value, err));
    DPA_TRY(dpa__json_put(value, "upper", epsilon, err));
    if (isnan(rho))
        DPA_TRY(dpa__report_say(report, err, "A mechanism known by its Rényi divergences"));
    else
        DPA_TRY(dpa__report_say(report, err, "A mechanism known to be %g-zCDP", rho));
    DPA_TRY(dpa__report_say(report, err, "  ε at δ = %g is at most %.10g: an upper bound", delta,
                            epsilon));
    if (isnan(check)) return DPA_OK;
    return check_other(report, check, (dpa_interval){0, epsilon}, 1, err);
}

dpa_status dpa__audit_renyi(double rho, const char *path, double delta, double check,
                            dpa_report **out, dpa_error *err) {
    dpa_request request;
    dpa_report *report = NULL;
    double epsilon = 0;
    *out = NULL;
    if (!(delta > 0 && delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be above 0 and below 1",
                         delta);
    if (isnan(rho))
        DPA_TRY(epsilon_of_file(path, delta, &epsilon, err));
    else if (!(rho >= 0) || isinf(rho))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "zcdp: rho is %g; it must be at least 0", rho);
    else
        epsilon = dpa__zcdp_epsilon(rho, delta);
    dpa__request_init(&request);
    request.delta = delta;
    DPA_TRY(dpa__report_new("account", &request, &report, err));
    const dpa_status status = fill_renyi(report, rho, delta, epsilon, check, err);
    return dpa__report_end(report, status, out);
}
