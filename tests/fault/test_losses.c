/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses, fits and estimates with each of their allocations failing in turn. */
#include "check.h"

#include "estimate/losses/epsilon_star.h"
#include "fault/alloc.h"

enum { N = 400 };
static double a[N], b[N];

static void fill(void) {
    for (int i = 0; i < N; ++i) {
        a[i] = fmod(i * 0.618, 1.0);
        b[i] = 0.2 + fmod(i * 0.414, 1.3);
    }
}

static void everything(void **state) {
    (void)state;
    dpa_status status;
    dpa_error err;
    dpa_losses l;
    fill();
    FAULT_EVERY(status, dpa__losses_new(a, N, b, N, &l, &err), dpa__losses_free(&l));
    assert_ok(dpa__losses_new(a, N, b, N, &l, &err));
    dpa_loss_fit fit;
    dpa_mixture_opts opts;
    dpa_star star;
    dpa__mixture_opts_init(&opts);
    opts.components = 3;
    FAULT_EVERY(status, dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, &err), (void)0);
    FAULT_EVERY(status, dpa__fit_mixture(&l, &opts, NULL, &fit, &err), (void)0);
    FAULT_EVERY(status, dpa__star_fitted(&fit, 1e-5, &star, &err), (void)0);
    double epsilon, error;
    FAULT_EVERY(status, dpa__fit_epsilon(&fit, 1e-5, &epsilon, &error, &err), (void)0);
    const size_t size = 100;
    dpa_goodness row;
    FAULT_EVERY(status, dpa__losses_goodness(&l, 0, 2, 1, &size, 1, &row, &err), (void)0);
    dpa_request request;
    dpa__request_init(&request);
    request.threads = 1;
    FAULT_EVERY(status,
                dpa__star_bootstrap(&l, "normal", &fit, 5, &request, &epsilon, &error, &err),
                (void)0);
    dpa__losses_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
