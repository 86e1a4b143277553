/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Google's published test values of discrete noise (dp_accounting, privacy_loss_mechanism_test.py):
 * δ(ε) of discrete Laplace noise and of discrete Gaussian noise cut off at a bound, all of it and
 * Poisson-sampled, to the digits that are printed there, and the σ that it needs for an (ε,δ). */
#include "ledger.h"

/* Printed to eight or nine digits, and inside our interval. Its upper end is near, its lower end as
 * near as the grid that the tolerance of ε asks for. */
static void prints(dpa_interval delta, double printed, double unit, double width) {
    assert_true(delta.lower <= printed + unit && printed - unit <= delta.upper);
    assert_absolute(delta.upper, printed, 1e-7);
    assert_true(delta.upper - delta.lower <= width);
}

static void discrete_laplace(void **state) {
    (void)state;
    static const struct {
        double parameter, epsilon, delta;
        int sensitivity;
    } rows[] = {{0.5, 0.5, 0.54202002, 4}, {0.5, 1, 0.39346934, 4}, {0.5, 2, 0, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "{\"class_name\":\"DiscreteLaplaceDpEvent\",\"noise_parameter\":%g,"
                       "\"sensitivity\":%d}",
                       rows[i].parameter, rows[i].sensitivity);
        prints(of_ledger(text, DPA_ADD_REMOVE, 1e-5, rows[i].epsilon, 1e-6).delta, rows[i].delta,
               1e-8, 1e-8);
    }
}

/* The two distributions of noise on −bound … bound, moved by the sensitivity. */
static void write_cut_off(double sigma, int sensitivity, int bound, double q, char *text,
                          size_t size) {
    double total = 0;
    size_t used = (size_t)snprintf(
        text, size,
        "{\"type\":\"PoissonSampled\",\"sampling_probability\":%g,\"event\":{\"type\":"
        "\"DominatingPair\"",
        q);
    for (int x = -bound; x <= bound; ++x) total += exp(-0.5 * x * x / (sigma * sigma));
    for (int side = 0; side < 2; ++side) {
        used += (size_t)snprintf(text + used, size - used, ",\"%s\":[", side == 0 ? "p" : "q");
        for (int x = -bound; x <= bound + sensitivity; ++x) {
            const int at = side == 0 ? x : x - sensitivity;
            const double mass =
                at < -bound || at > bound ? 0 : exp(-0.5 * at * at / (sigma * sigma)) / total;
            used +=
                (size_t)snprintf(text + used, size - used, "%s%.17g", x > -bound ? "," : "", mass);
        }
        used += (size_t)snprintf(text + used, size - used, "]");
    }
    used += (size_t)snprintf(text + used, size - used, "}}");
    assert_true(used < size);
}

/* Sampled, the larger of the values for adding and removing. */
static void cut_off_gaussian(void **state) {
    (void)state;
    static const struct {
        double sigma, q, epsilon, delta;
        int sensitivity, bound;
    } rows[] = {
        {1, 1, 0, 0.402619947, 1, 2},   {1, 1, 1, 0.150574425, 1, 2},
        {1, 1, 2, 0.054488685, 1, 2},   {10, 1, 0, 0.285480872, 3, 5},
        {10, 1, 1, 0.263672394, 3, 5},  {10, 1, 2, 0.263672394, 3, 5},
        {1, 0.8, 1, 0.101734157, 1, 2}, {5, 0.4, 0.1, 0.104486937, 3, 5},
        {1, 0.8, 0, 0.322095958, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[2048];
        write_cut_off(rows[i].sigma, rows[i].sensitivity, rows[i].bound, rows[i].q, text,
                      sizeof text);
        prints(of_ledger(text, DPA_ADD_REMOVE, 0.3, rows[i].epsilon, 1e-5).delta, rows[i].delta,
               1e-9, 3e-5);
    }
}

/* σ to three places: with 0.0006 more it is enough, with 0.0006 less it is not. */
static void sigma_needed(void **state) {
    (void)state;
    static const struct {
        double sigma, epsilon, delta;
        int sensitivity;
    } rows[] = {{1.041, 1, 0.12693674, 1}, {1.972, 1, 0.12693674, 2}, {0.993, 1, 0.78760074, 3},
                {2.014, 1, 0.78760074, 6}, {1.038, 2, 0.02092364, 1}, {5.008, 2, 0.02092364, 5},
                {0.306, 16, 1e-5, 1},      {0.703, 16, 1e-5, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        for (int side = -1; side <= 1; side += 2) {
            char text[160];
            (void)snprintf(text, sizeof text,
                           "{\"type\":\"DiscreteGaussian\",\"sigma\":%.17g,\"sensitivity\":%d,"
                           "\"dimension\":1}",
                           rows[i].sigma + 6e-4 * side, rows[i].sensitivity);
            const dpa_interval d =
                of_ledger(text, DPA_ADD_REMOVE, rows[i].delta, rows[i].epsilon, 1e-6).delta;
            assert_true(side > 0 ? d.upper <= rows[i].delta : d.lower > rows[i].delta);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(discrete_laplace),
                                       cmocka_unit_test(cut_off_gaussian),
                                       cmocka_unit_test(sigma_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
