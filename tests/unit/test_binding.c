/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bindings rely on: queries by name, errors, and the progress that is a flag. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "report/binding.h"
#include "report/report.h"

static void queries(void **state) {
    (void)state;
    dpa_error err;
    dpa_plan_query *plan = NULL;
    assert_ok(dpa__query_new("plan", (void **)&plan, &err));
    assert_true(plan->most == 20000 && isnan(plan->truth_epsilon));
    assert_ok(dpa__query_set("plan", plan, "leak", "2.5", &err));
    assert_ok(dpa__query_set("plan", plan, "steps", "18446744073709551615", &err));
    assert_ok(dpa__query_set("plan", plan, "game", "one-run", &err));
    assert_true(plan->truth_epsilon == 2.5 && plan->steps == UINT64_MAX);
    assert_string_equal(plan->game, "one-run");
    dpa__query_free("plan", plan);

    dpa_leak_opts *attack = NULL;
    assert_ok(dpa__query_new("attack", (void **)&attack, &err));
    assert_int_equal(attack->attack, DPA_ATTACK_LIRA);
    assert_ok(dpa__query_set("attack", attack, "by", "quantile", &err));
    assert_ok(dpa__query_set("attack", attack, "variance", "pooled", &err));
    assert_ok(dpa__query_set("attack", attack, "offline", "1", &err));
    assert_true(attack->attack == DPA_ATTACK_QUANTILE && attack->how.offline == 1);
    assert_int_equal(attack->how.variance, DPA_VARIANCE_POOLED);
    dpa__query_free("attack", attack);
    dpa__query_free("losses", NULL);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } wrong[] = {
        {"nothing", "1", "no option is called 'nothing'"},
        {"", "1", "no option is called ''"},
        {"delta", "x", "delta: 'x' is not a number"},
        {"delta", "nan", "delta: 'nan' is not a number"},
        {"delta", NULL, "delta: needs a value"},
        {"group", "-1", "group: '-1' is not a whole number from 0 to 2^64-1"},
        {"group", "4294967296", "group: at most 4294967295, not 4294967296"},
        {"points", "18446744073709551616", "is not a whole number"},
        {"adjacency", "add", "adjacency: 'add' is none of add-remove|replace-one"},
        {"adjacency", "add-remove|replace-one", "is none of"},
        {"adjacency", "", "is none of"},
    };
    dpa_error err;
    void *query = NULL;
    assert_int_equal(dpa__query_new("nothing", &query, &err), DPA_BAD_ARGUMENT);
    assert_null(query);
    assert_ok(dpa__query_new("account", &query, &err));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        assert_int_equal(dpa__query_set("account", query, wrong[i].key, wrong[i].value, &err),
                         DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, wrong[i].says));
    }
    assert_int_equal(dpa__query_set("nothing", query, "delta", "0", &err), DPA_BAD_ARGUMENT);
    assert_true(((dpa_account_query *)query)->opts.delta == 1e-5);
    dpa__query_free("account", query);
}

static void phases(void **state) {
    (void)state;
    dpa_error err;
    dpa_account_query *query = NULL;
    dpa_account *account = NULL;
    const double delta[2] = {1e-5, 1e-6};
    double lower[2], upper[2];
    assert_ok(dpa__query_new("account", (void **)&query, &err));
    assert_ok(dpa__account_query_phase(query, DPA_GAUSSIAN, 2, 1, 3, NULL, &err));
    assert_ok(dpa__account_query_phase(query, DPA_GAUSSIAN, 2, 1, 1, NULL, &err));
    assert_int_equal(query->count, 2);
    assert_ok(dpa__account_open(query, &account, &err));
    dpa__query_free("account", query);
    assert_ok(dpa__account_ask(account, "epsilon", delta, 2, lower, upper, &err));
    /* four steps of σ = 2 are one of σ = 1 */
    assert_true(lower[0] <= 4.3771781 && upper[0] >= 4.3771780 && lower[1] > upper[0]);
    assert_ok(dpa__account_ask(account, "fnr", delta, 2, lower, upper, &err));
    assert_true(lower[0] <= upper[0] && upper[0] < lower[1]);
    dpa_account_free(account);
}

static void flag_stops(void **state) {
    (void)state;
    dpa_progress *stop = dpa__stop_new();
    assert_non_null(stop);
    assert_int_equal(stop->call(stop->user, "x", 1, 2), 0);
    dpa__stop_set(stop);
    assert_int_equal(stop->call(stop->user, "x", 1, 2), 1);
    dpa_free(stop);
}

static void errors(void **state) {
    (void)state;
    const dpa_error err = {.place = "a.csv:3", .text = "no number"};
    assert_int_equal(dpa__error_size(), sizeof err);
    assert_string_equal(dpa__error_place(&err), "a.csv:3");
    assert_string_equal(dpa__error_text(&err), "no number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries),    cmocka_unit_test(refused), cmocka_unit_test(phases),
        cmocka_unit_test(flag_stops), cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
