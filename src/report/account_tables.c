/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of an account, a comparison with another accountant's number, and what Rényi divergences
 * alone imply. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/account.h"

enum { MOST_ROWS = 100000, SHOWN_ROWS = 40 };

typedef dpa_status (*read_fn)(const dpa_account *account, const double *at, size_t count,
                              dpa_interval *out, dpa_error *err);

static dpa_status put_row(json_t *table, const char *at_name, double at, const char *prefix,
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

static dpa_status put_rows(dpa_report *report, const char *section, const char *const names[2],
                           const double *at, const dpa_interval *value, size_t count,
                           dpa_error *err) {
    json_t *table = json_array();
    DPA_TRY(dpa__json_set(report->sections, section, table, err));
    DPA_TRY(dpa__report_say(report, err, "  %-12s %s", names[0], names[1]));
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(put_row(table, names[0], at[i], names[1], value[i], err));
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
    if (status == DPA_OK) status = put_rows(report, section, names, at, value, count, err);
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

dpa_status dpa__account_tables(dpa_report *report, const dpa_account *account,
                               const dpa_account_query *query, dpa_error *err) {
    static const char *const by_delta[2] = {"delta", "epsilon"};
    static const char *const by_epsilon[2] = {"epsilon", "delta"};
    DPA_TRY(put_table(report, account, dpa__account_epsilons, "epsilon_table", by_delta,
                      query->deltas, query->delta_count, err));
    DPA_TRY(put_table(report, account, dpa__account_deltas, "delta_table", by_epsilon,
                      query->epsilons, query->epsilon_count, err));
    return put_orders(report, query, err);
}

dpa_status dpa__account_check_other(dpa_report *report, double other, dpa_interval ours,
                                    int is_limit, dpa_error *err) {
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

static dpa_status columns_of(const dpa_table *table, const char *path, const double *out[2],
                             dpa_error *err) {
    static const char *const names[2] = {"order", "rdp"};
    for (int k = 0; k < 2; ++k) {
        const ptrdiff_t at = dpa__table_find(table, names[k]);
        out[k] = at < 0 ? NULL : dpa__table_numbers(table, (size_t)at);
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
    if (status == DPA_OK)
        *out = dpa__rdp_epsilon(column[0], column[1], dpa__table_rows(table), delta);
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
    return dpa__account_check_other(report, check, (dpa_interval){0, epsilon}, 1, err);
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
    if (status != DPA_OK) {
        dpa_report_free(report);
        return status;
    }
    *out = report;
    return DPA_OK;
}
