/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of the distribution functions in units of log(), for arguments as in audits of a
 * thousand to a million runs. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#include "math/dist.h"

enum { CALLS = 2000, ROUNDS = 9 };

static double level(int i) {
    return pow(10, -1 - 11.0 * i / CALLS);
}
static double nothing(int i) {
    return log(1 + i);
}
static double norm_cdf(int i) {
    return dpa__norm_cdf(-8.0 * i / CALLS, DPA_LOWER);
}
static double norm_log_cdf(int i) {
    return dpa__norm_cdf(-8.0 * i, DPA_LOG_LOWER);
}
static double norm_quantile(int i) {
    return dpa__norm_quantile(level(i), DPA_LOWER);
}
static double norm_interval(int i) {
    return dpa__norm_log_interval(0.01 * i, 0.01 * i + 1e-3);
}
static double beta_cdf(int i) {
    return dpa__beta_cdf(0.5 * (i + 1) / CALLS, 100.5, 900.5, DPA_LOWER);
}
static double beta_log_cdf(int i) {
    return dpa__beta_cdf(1e-4 * (i + 1), 1e6, 1e6, DPA_LOG_LOWER);
}
static double beta_quantile(int i) {
    return dpa__beta_quantile(level(i), 100.5, 900.5, DPA_LOWER);
}
static double cp_upper_large(int i) {
    return dpa__cp_upper(i, 1e6, level(i));
}
static double binom_cdf(int i) {
    return dpa__binom_cdf(i, 2 * CALLS, 0.5, DPA_LOWER);
}
static double t_quantile(int i) {
    return dpa__t_quantile(level(i), 30, DPA_LOWER);
}

static double per_call(double (*call)(int)) {
    volatile double sink = 0;
    double seconds;
    BENCH_BEST(ROUNDS, seconds, {
        double sum = 0;
        for (int i = 0; i < CALLS; ++i) sum += call(i);
        sink = sum;
    });
    (void)sink;
    return seconds / CALLS;
}

int main(void) {
    static const struct {
        const char *name;
        double (*call)(int);
    } rows[] = {
        {"norm_cdf", norm_cdf},
        {"norm_cdf, log, to -16000", norm_log_cdf},
        {"norm_quantile", norm_quantile},
        {"norm_log_interval, 1e-3 wide", norm_interval},
        {"beta_cdf, shapes 100.5 900.5", beta_cdf},
        {"beta_cdf, log, shapes 1e6 1e6", beta_log_cdf},
        {"beta_quantile, shapes 100.5 900.5", beta_quantile},
        {"cp_upper, n = 1e6", cp_upper_large},
        {"binom_cdf, n = 4000", binom_cdf},
        {"t_quantile, 30 degrees", t_quantile},
    };
    const double base = per_call(nothing);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const double seconds = per_call(rows[i].call);
        bench_row(rows[i].name, seconds, "log()", seconds / base);
    }
    return EXIT_SUCCESS;
}
