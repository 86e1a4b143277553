/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accountant compared with numbers from elsewhere: contour integrals and exact sums
 * (scripts/make-known-account), and the output of public accountants (../shared/reference). */
#include <jansson.h>

#include "known/table.h"

#include "account/account.h"

static dpa_interval epsilon_of(dpa_phase phase, const dpa_account_opts *opts) {
    dpa_account *account = NULL;
    dpa_interval out = {0, 0};
    dpa_error err;
    if (dpa_account_new(&phase, 1, opts, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_ok(dpa_account_epsilon(account, opts->delta, &out, &err));
    dpa_account_free(account);
    return out;
}

/* Every row lies inside our interval (its own error is 1e-9), at the default width and at a tenth
 * of it. */
static void table_at(double tolerance, double absolute, double most_steps) {
    FILE *file = known_open("account.txt");
    double row[7];
    while (known_row(file, row, 7)) {
        if (row[4] > most_steps) continue;
        dpa_account_opts opts;
        dpa_account_opts_init(&opts);
        opts.adjacency = (dpa_adjacency)(int)row[1];
        opts.delta = row[5];
        opts.tolerance = tolerance;
        opts.absolute = absolute;
        const dpa_phase phase = {(dpa_mechanism)(int)row[0], row[2], row[3], (uint64_t)row[4]};
        const dpa_interval e = epsilon_of(phase, &opts);
        const double truth = row[6], room = 2e-9 * truth;
        if (!(e.lower <= truth + room && e.upper >= truth - room))
            fail_msg("sigma %g q %g steps %g delta %g: [%.12g, %.12g], known %.12g", row[2], row[3],
                     row[4], row[5], e.lower, e.upper, truth);
        assert_true(e.upper - e.lower <= fmax(absolute, tolerance * truth) * (1 + 1e-9));
    }
    (void)fclose(file);
}

static void table_default(void **state) {
    (void)state;
    table_at(1e-3, 1e-4, HUGE_VAL);
}

static void table_narrow(void **state) {
    (void)state;
    table_at(1e-4, 1e-5, 1e4); /* public_accountants() covers more steps */
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number %s", key);
    return json_number_value(value);
}

static void inside(dpa_interval ours, double low, double high) {
    assert_between(ours.lower, low, high);
    assert_between(ours.upper, low, high);
}

/* Each public accountant states an interval; ours must lie inside all of them. The pessimistic
 * grids are so close to the truth (7e-8 in the first setting) that ours must be far narrower than
 * 0.1% to fit. In the last setting that takes 8 s at the grid of 1e-5 (tolerance 5e-7), so there
 * only overlap is checked. */
static void one_setting(const json_t *setting, double tolerance, int fits_finest) {
    const dpa_phase phase = {DPA_GAUSSIAN, number(setting, "sigma"), number(setting, "q"),
                             (uint64_t)number(setting, "T")};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = number(setting, "delta");
    const dpa_interval wide = epsilon_of(phase, &opts);
    opts.tolerance = tolerance;
    opts.absolute = tolerance;
    const dpa_interval ours = epsilon_of(phase, &opts);
    assert_true(ours.lower <= wide.upper && ours.upper >= wide.lower);
    assert_true(wide.upper - wide.lower <= 1e-3 * wide.upper);
    inside(ours, number(setting, "pld_1e-4_optimistic_eps"),
           number(setting, "pld_1e-4_pessimistic_eps"));
    const double finest = number(setting, "pld_1e-5_pessimistic_eps");
    assert_true(ours.lower <= finest);
    if (fits_finest) inside(ours, number(setting, "pld_1e-5_optimistic_eps"), finest);
    const char *const names[] = {"prv_accountant_eps_error_0.1", "prv_accountant_eps_error_0.01"};
    for (size_t k = 0; k < 2; ++k) {
        const json_t *prv = json_object_get(setting, names[k]);
        inside(wide, json_number_value(json_array_get(prv, 0)),
               json_number_value(json_array_get(prv, 2)));
    }
    /* their estimate */
    const json_t *prv = json_object_get(setting, names[1]);
    assert_absolute(ours.lower, json_number_value(json_array_get(prv, 1)), 2e-4);
    assert_relative(dpa__account_rdp_epsilon(&phase, 1, opts.delta),
                    number(setting, "dp_accounting_RDP"), 3e-3);
    assert_relative(dpa__account_gdp_epsilon(&phase, 1, opts.delta),
                    number(setting, "opacus_GDP_poisson"), 1e-6);
}

static void public_accountants(void **state) {
    (void)state;
    json_error_t error;
    json_t *root = json_load_file(check_shared("reference/accountants.json"), 0, &error);
    assert_non_null(root);
    const json_t *settings = json_object_get(root, "settings");
    assert_int_equal(json_array_size(settings), 4);
    const double tolerance[] = {1.2e-7, 4e-7, 1.2e-6, 4e-5};
    for (size_t k = 0; k < 4; ++k) one_setting(json_array_get(settings, k), tolerance[k], k < 3);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest own[] = {cmocka_unit_test(table_default),
                                     cmocka_unit_test(table_narrow)};
    const struct CMUnitTest shared[] = {cmocka_unit_test(public_accountants)};
    const int failed = cmocka_run_group_tests(own, NULL, NULL);
    if (failed != 0) return failed;
    check_need_shared("reference/accountants.json");
    return cmocka_run_group_tests(shared, NULL, NULL);
}
