/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every maker of curves, with each of its allocations failing in turn. */
#include "check.h"

#include "base/array.h"
#include "base/stream.h"
#include "fault/alloc.h"
#include "tradeoff/curve.h"
#include "tradeoff/tradeoff.h"

/* Blocks that glibc caches for the thread count as in use, so its cache is filled for every size
 * that the call needs before bytes are counted. */
#define EVERY_FAULT(call)                                                                          \
    do {                                                                                           \
        dpa_status status;                                                                         \
        for (int warm = 0; warm < 32; ++warm) {                                                    \
            assert_ok(call);                                                                       \
            dpa_curve_free(c);                                                                     \
        }                                                                                          \
        FAULT_EVERY(status, (call), dpa_curve_free(c));                                            \
    } while (0)

static const double fpr[] = {0.1, 0.5}, fnr[] = {0.5, 0.1};

static void makers(void **state) {
    (void)state;
    dpa_curve *c = NULL;
    dpa_error err;
    EVERY_FAULT(dpa_curve_dp(1.0, 1e-5, &c, &err));
    EVERY_FAULT(dpa_curve_dp(INFINITY, 0.0, &c, &err));
    EVERY_FAULT(dpa_curve_gaussian(1.0, &c, &err));
    EVERY_FAULT(dpa_curve_laplace(1.0, &c, &err));
    EVERY_FAULT(dpa_curve_points(fpr, fnr, 2, &c, &err));
}

static void dilution(void **state) {
    (void)state;
    dpa_curve *smooth = NULL, *linear = NULL, *c = NULL;
    dpa_error err;
    assert_ok(dpa_curve_gaussian(1.0, &smooth, &err));
    assert_ok(dpa_curve_points(fpr, fnr, 2, &linear, &err));
    EVERY_FAULT(dpa__curve_diluted(smooth, 0.5, &c, &err));
    EVERY_FAULT(dpa__curve_diluted(linear, 0.5, &c, &err));
    EVERY_FAULT(dpa__curve_diluted(linear, 0.0, &c, &err));
    dpa_curve_free(smooth);
    dpa_curve_free(linear);
}

/* test_readers.c covers the readers' own allocations. */
static void table(void **state) {
    (void)state;
    static const char text[] = "fpr,fnr\n0.1,0.5\n0.5,0.1\n";
    dpa__stream *stream = NULL;
    dpa_table *read = NULL;
    dpa_table_opts opts;
    dpa__table_opts_init(&opts);
    assert_ok(dpa__stream_open_memory("text", text, sizeof text - 1, &stream, NULL));
    assert_ok(dpa__table_from_stream(stream, &opts, &read, NULL));
    dpa__stream_close(stream);
    dpa_curve *c = NULL;
    dpa_error err;
    EVERY_FAULT(dpa__curve_from_table(read, "text", &c, &err));
    dpa__table_free(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers),
        cmocka_unit_test(dilution),
        cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
