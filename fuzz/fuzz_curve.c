/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a CSV of points: refused, or a curve that keeps what a trade-off curve promises. */
#include "fuzz.h"

#include <math.h>

#include "base/array.h"
#include "tradeoff/curve.h"

static void must(int condition) {
    if (!condition) abort();
}

static void check(const dpa_curve *curve) {
    double before = 1.0;
    for (int i = 0; i <= 32; ++i) {
        const double x = i / 32.0, y = dpa_curve_fnr(curve, x);
        must(y >= 0.0 && y <= 1.0 - x + 1e-15 && y <= before * (1.0 + 1e-14));
        must(fabs(dpa__curve_tpr(curve, x) + y - 1.0) < 1e-14);
        const double a = dpa_curve_fpr(curve, x), b = dpa__curve_fpr_at_tpr(curve, x);
        must(a >= 0.0 && a <= 1.0 && b >= 0.0 && b <= 1.0);
        must(dpa__curve_log_fnr(curve, -x) <= 0.0);
        const double epsilon = 50.0 * x, delta = dpa_curve_delta(curve, epsilon);
        must(delta >= 0.0 && delta <= 1.0);
        must(dpa_curve_epsilon(curve, x) >= 0.0);
        before = y;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa__stream *stream = fuzz_stream(data, size);
    dpa_table *table = NULL;
    dpa_curve *curve = NULL, *diluted = NULL;
    dpa_table_opts opts;
    dpa_error err = {0};
    if (stream == NULL) return 0;
    dpa__table_opts_init(&opts);
    dpa_status status = dpa__table_from_stream(stream, &opts, &table, &err);
    if (status == DPA_OK) status = dpa__curve_from_table(table, "fuzz", &curve, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK) {
        check(curve);
        must(dpa__curve_diluted(curve, 0.5, &diluted, NULL) == DPA_OK);
        check(diluted);
    }
    dpa_curve_free(diluted);
    dpa_curve_free(curve);
    dpa__table_free(table);
    dpa__stream_close(stream);
    return 0;
}
