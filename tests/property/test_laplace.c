/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laplace noise of any scale: its cells hold all of the mass wherever the atoms at ±ε₀ fall on the
 * grid, and every account of it succeeds. */
#include "check.h"

#include "account/pld.h"
#include "base/rng.h"

static double between(dpa_rng *rng, double from, double to) {
    return from * pow(to / from, dpa__rng_uniform(rng));
}

/* P and Q both sum to 1, and no cell is negative. Every second grid divides ε₀, as the accountant's
 * own does, where rounding leaves slivers. */
static void cells_keep_the_mass(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 29, DPA_PURPOSE_TEST, 1);
    for (int k = 0; k < 2000; ++k) {
        const double epsilon0 = between(&rng, 1e-3, 30);
        const double parts = between(&rng, 20, 600);
        const double h = fmin(epsilon0 / (k % 2 == 0 ? ceil(parts) : parts), 0.1);
        dpa__loss_cells cells;
        dpa_error err;
        assert_ok(dpa__loss_cells_laplace(epsilon0, h, 1 << 20, &cells, &err));
        double p = 0, q = 0;
        for (size_t i = 0; i < cells.count; ++i) {
            const double at = dpa__loss_at(cells.origin, h, cells.first + (ptrdiff_t)i);
            assert_false(isnan(cells.log_low[i]) || isnan(cells.log_high[i]));
            p += exp(cells.log_low[i]) + exp(cells.log_high[i]);
            q += exp(cells.log_low[i] - at) + exp(cells.log_high[i] - at - h);
        }
        assert_absolute(p, 1, 1e-12);
        assert_absolute(q, 1, 1e-12 + 4 * cells.shift);
        dpa__loss_cells_free(&cells);
    }
}

/* ε of one step in closed form: 1/b + 2·log(1−δ), at least 0. */
static void check_account(double scale, uint64_t steps, double delta) {
    const dpa_phase phase = {DPA_LAPLACE, scale, 1, steps};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    opts.tolerance = 0.01;
    dpa_account *account = NULL;
    dpa_interval e;
    dpa_error err;
    if (dpa_account_new(&phase, 1, &opts, &account, &err) != DPA_OK)
        fail_msg("scale %.17g, %d steps, delta %g: %s", scale, (int)steps, delta, err.text);
    assert_ok(dpa_account_epsilon(account, delta, &e, &err));
    assert_true(e.lower <= e.upper && e.upper <= (double)steps / scale * (1 + 1e-9));
    assert_true(e.upper - e.lower <= fmax(0.01 * e.upper, 1e-4));
    assert_true(e.lower <= dpa__account_rdp_epsilon(&phase, 1, delta) * (1 + 1e-9));
    if (steps == 1) {
        const double truth = fmax(1 / scale + 2 * log1p(-delta), 0);
        assert_between(truth, e.lower - 1e-12, e.upper + 1e-12);
    }
    dpa_account_free(account);
}

static void every_scale(void **state) {
    (void)state;
    check_account(25, 10, 1e-5); /* three that used to fail */
    check_account(3, 50, 1e-5);
    check_account(1.5, 200, 1e-5);
    dpa_rng rng;
    dpa__rng_init(&rng, 29, DPA_PURPOSE_TEST, 2);
    for (int k = 0; k < 2000; ++k) {
        const double scale = between(&rng, 0.3, 300);
        const uint64_t steps = k % 10 == 0 ? 1 : (uint64_t)between(&rng, 1, 300);
        check_account(scale, steps, between(&rng, 1e-12, 1e-2));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_keep_the_mass),
                                       cmocka_unit_test(every_scale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
