/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times the accountant relative to the transforms that it needs, its growth with steps and
 * tolerance, a curve, a calibration and a family member. */
#include <math.h>
#include <stdlib.h>

#include "account/handle.h"
#include "bench.h"
#include "math/fft.h"

static dpa_account *made(dpa_phase phase, double tolerance) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.tolerance = tolerance;
    opts.absolute = tolerance / 10;
    dpa_account *account = NULL;
    dpa_error err;
    if (dpa_account_new(&phase, 1, &opts, &account, &err) != DPA_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return account;
}

static double account_time(dpa_phase phase, double tolerance) {
    double time;
    BENCH_BEST(5, time, dpa_account_free(made(phase, tolerance)));
    return time;
}

/* One forward and one backward transform of the length that the accountant used. */
static double transform_time(size_t wanted) {
    const size_t n = dpa__fft_good_length(wanted);
    double *in = dpa__fft_alloc(n, NULL), *out = dpa__fft_alloc(2 * (n / 2 + 1), NULL);
    if (in == NULL || out == NULL) exit(1);
    for (size_t i = 0; i < n; ++i) in[i] = exp(-1e-3 * (double)i);
    double time;
    BENCH_BEST(9, time, {
        if (dpa__fft_forward(n, in, (double complex *)(void *)out, NULL) != DPA_OK) exit(1);
        if (dpa__fft_inverse(n, (double complex *)(void *)out, in, NULL) != DPA_OK) exit(1);
    });
    dpa__fft_free(in);
    dpa__fft_free(out);
    return time;
}

static void curve_of_thousand(const dpa_account *account, double *sum) {
    dpa_curve *low = NULL, *high = NULL;
    dpa_error err;
    if (dpa_account_curve(account, -1, &low, &err) != DPA_OK) exit(1);
    if (dpa_account_curve(account, 1, &high, &err) != DPA_OK) exit(1);
    for (int i = 1; i <= 1000; ++i)
        *sum += dpa_curve_fnr(low, i / 1001.0) + dpa_curve_fnr(high, i / 1001.0);
    dpa_curve_free(low);
    dpa_curve_free(high);
}

int main(void) {
    const dpa_phase first = {DPA_GAUSSIAN, 1, 0.01, 1000};
    dpa_account *account = made(first, 1e-3);
    const double base = account_time(first, 1e-3);
    /* Two directions, two sides: four pairs of transforms. */
    const double transforms = 4 * transform_time(account->transform);
    bench_row("transforms: 4 pairs of the length used", transforms, "itself", 1);
    bench_row("epsilon: sigma 1, q 0.01, 1000 steps, 0.1%", base, "the transforms",
              base / transforms);
    const dpa_phase others[] = {{DPA_GAUSSIAN, 0.8, 0.004, 10000},
                                {DPA_GAUSSIAN, 4, 0.08192, 2500},
                                {DPA_GAUSSIAN, 0.6, 0.001, 100000}};
    for (size_t k = 0; k < 3; ++k) {
        const double time = account_time(others[k], 1e-3);
        bench_row("epsilon: the other reference settings", time, "the first", time / base);
    }
    const double quiet = account_time((dpa_phase){DPA_GAUSSIAN, 0.1, 0.01, 1000}, 1e-3);
    bench_row("little noise: sigma 0.1", quiet, "the first", quiet / base);
    const double few = account_time((dpa_phase){DPA_GAUSSIAN, 2, 1e-3, 1000}, 1e-3);
    const double many = account_time((dpa_phase){DPA_GAUSSIAN, 2, 1e-3, 1000000}, 1e-3);
    bench_row("steps 1e3 to 1e6 (sigma 2, q 1e-3)", many, "1e3 steps", many / few);
    const double loose = account_time(first, 1e-2), tight = account_time(first, 1e-4);
    bench_row("tolerance 1e-2 to 1e-4", tight, "1e-2", tight / loose);
    double time, sum = 0;
    BENCH_BEST(5, time, curve_of_thousand(account, &sum));
    bench_row("both curves, 1000 points each", time, "one epsilon", time / base);
    double value;
    dpa_interval achieved;
    BENCH_BEST(3, time, {
        if (dpa_calibrate(&first, 1, DPA_CALIBRATE_SIGMA, 1, 1e-5, NULL, &value, &achieved, NULL) !=
            DPA_OK)
            exit(1);
    });
    bench_row("sigma for epsilon 1", time, "one epsilon", time / base);
    dpa_family *family = NULL;
    if (dpa__family_parse("subsampled-gaussian:q=0.01,steps=1000", 1e-5, &family, NULL) != DPA_OK)
        return 1;
    dpa_curve *curve = NULL;
    BENCH_BEST(5, time, {
        if (dpa__family_curve(family, 1, &curve, NULL) != DPA_OK) exit(1);
        dpa_curve_free(curve);
    });
    bench_row("a family's member", time, "one epsilon", time / base);
    dpa__family_free(family);
    dpa_account_free(account);
    return sum > 0 ? 0 : 1;
}
