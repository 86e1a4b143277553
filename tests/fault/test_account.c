/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accountant with each of its allocations failing in turn. */
#include "check.h"

#include "account/account.h"
#include "base/data.h"
#include "fault/alloc.h"

/* FFTW caches tables for lengths that it has seen, so a successful call comes first. */
#define FAULT(call, clean_up)                                                                      \
    do {                                                                                           \
        dpa_status status;                                                                         \
        assert_ok(call);                                                                           \
        clean_up;                                                                                  \
        FAULT_EVERY(status, (call), clean_up);                                                     \
    } while (0)

static const dpa_phase phases[] = {
    {DPA_GAUSSIAN, 2, 0.1, 3}, {DPA_LAPLACE, 2, 1, 1}, {DPA_RANDOMIZED_RESPONSE, 0.5, 1, 2}};

static dpa_account_opts loose(void) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.tolerance = 0.5;
    opts.absolute = 0.5;
    return opts;
}

static void making(void **state) {
    (void)state;
    const dpa_account_opts opts = loose();
    dpa_account *account = NULL;
    dpa_error err;
    FAULT(dpa_account_new(phases, 3, &opts, &account, &err), dpa_account_free(account));
}

static void asking(void **state) {
    (void)state;
    const dpa_account_opts opts = loose();
    dpa_account *account = NULL;
    dpa_error err;
    assert_ok(dpa_account_new(phases, 3, &opts, &account, &err));
    dpa_interval out;
    FAULT(dpa_account_epsilon(account, 1e-3, &out, &err), (void)0);
    FAULT(dpa_account_delta(account, 1, &out, &err), (void)0);
    FAULT(dpa__account_mu(account, 1e-3, &out, &err), (void)0);
    dpa_curve *curve = NULL;
    FAULT(dpa_account_curve(account, -1, &curve, &err), dpa_curve_free(curve));
    FAULT(dpa_account_curve(account, 1, &curve, &err), dpa_curve_free(curve));
    dpa_account_free(account);
}

static void calibrating(void **state) {
    (void)state;
    const dpa_account_opts opts = loose();
    double value;
    dpa_interval achieved;
    dpa_error err;
    FAULT(
        dpa_calibrate(phases + 2, 1, DPA_CALIBRATE_SIGMA, 1, 1e-5, &opts, &value, &achieved, &err),
        (void)0);
}

static void families(void **state) {
    (void)state;
    dpa_family *family = NULL;
    dpa_curve *curve = NULL;
    dpa_interval out;
    dpa_error err;
    FAULT(dpa__family_parse("subsampled-gaussian:q=0.1,steps=3", 1e-5, &family, &err),
          dpa__family_free(family));
    assert_ok(dpa__family_parse("subsampled-gaussian:q=0.1,steps=3", 1e-5, &family, &err));
    FAULT(dpa__family_curve(family, 1, &curve, &err), dpa_curve_free(curve));
    FAULT(dpa__family_epsilon(family, 1, 1e-5, &out, &err), (void)0);
    dpa__family_free(family);
}

/* A ledger with every kind of node. */
static void ledgers(void **state) {
    (void)state;
    static const char text[] =
        "[{\"type\":\"SampledWithReplacement\",\"source_dataset_size\":10,\"sample_size\":3,"
        "\"event\":{\"type\":\"Gaussian\",\"noise_multiplier\":2}},"
        "{\"type\":\"TruncatedSubsampledGaussian\",\"dataset_size\":4,\"sampling_probability\":0.5,"
        "\"truncated_batch_size\":2,\"noise_multiplier\":2},"
        "{\"type\":\"DiscreteLaplace\",\"noise_parameter\":0.5},"
        "{\"type\":\"MixtureOfGaussians\",\"standard_deviation\":2,\"sensitivities\":[0,1],"
        "\"sampling_probs\":[0.5,0.5]},"
        "{\"type\":\"SampledWithoutReplacement\",\"source_dataset_size\":10,\"sample_size\":3,"
        "\"event\":{\"type\":\"DominatingPair\",\"p\":[0.75,0.25],\"q\":[0.25,0.75]}}]";
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/dpa_fault_%d.json", (int)getpid());
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    dpa_ledger *ledger = NULL;
    dpa_error err;
    FAULT(dpa_ledger_read(path, DPA_REPLACE_ONE, &ledger, &err), dpa_ledger_free(ledger));
    assert_ok(dpa_ledger_read(path, DPA_REPLACE_ONE, &ledger, &err));
    size_t count;
    const dpa_phase *list = dpa_ledger_phases(ledger, &count);
    dpa_account_opts opts = loose();
    opts.adjacency = DPA_REPLACE_ONE;
    opts.tolerance = 0.9;
    opts.absolute = 5;
    dpa_account *account = NULL;
    FAULT(dpa_account_new(list, count, &opts, &account, &err), dpa_account_free(account));
    dpa_ledger_free(ledger);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(making), cmocka_unit_test(ledgers),
                                       cmocka_unit_test(asking), cmocka_unit_test(calibrating),
                                       cmocka_unit_test(families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
