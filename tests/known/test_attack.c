/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LiRA and RMIA against the scores of another program (../shared/reference/attacks): 5000 points,
 * 256 models, target 0, models 0 and 1 neither shadow nor reference. */
#include "check.h"

#include "attack/attack.h"
#include "base/data.h"

enum { POINTS = 5000, MODELS = 256 };

/* The file has points in rows. */
static dpa_signals transposed(const char *member_name) {
    dpa_array array;
    dpa_signals out = {DPA_SIGNAL_LOGIT, MODELS, POINTS, NULL, NULL, 1};
    assert_ok(
        dpa__array_read(check_shared("reference/attacks/inputs.npz"), member_name, &array, NULL));
    assert_int_equal(array.shape[0], POINTS);
    assert_int_equal(array.shape[1], MODELS);
    assert_ok(dpa__array_to_double(&array, NULL));
    const double *in = array.data;
    out.signal = malloc(sizeof(double) * POINTS * MODELS);
    assert_non_null(out.signal);
    for (size_t p = 0; p < POINTS; ++p)
        for (size_t m = 0; m < MODELS; ++m) out.signal[m * POINTS + p] = in[p * MODELS + m];
    dpa__array_free(&array);
    return out;
}

/* Bits packed along the models, most significant first. */
static void unpack_membership(dpa_signals *signals) {
    dpa_array array;
    assert_ok(
        dpa__array_read(check_shared("reference/attacks/inputs.npz"), "membership", &array, NULL));
    assert_int_equal(array.count, POINTS * MODELS / 8);
    const uint8_t *bits = array.data;
    signals->member = malloc(POINTS * MODELS);
    assert_non_null(signals->member);
    for (size_t p = 0; p < POINTS; ++p)
        for (size_t m = 0; m < MODELS; ++m)
            signals->member[m * POINTS + p] = bits[p * (MODELS / 8) + m / 8] >> (7 - m % 8) & 1;
    dpa__array_free(&array);
}

static void compare(dpa_attack attack, const dpa_attack_opts *opts, const dpa_signals *signals,
                    const char *file) {
    static double scores[POINTS];
    dpa_array want;
    assert_ok(dpa__array_read(check_shared(file), NULL, &want, NULL));
    assert_int_equal(want.count, POINTS);
    assert_int_equal(want.dtype, DPA_F64);
    assert_ok(dpa__attack_run(attack, signals, opts, scores, NULL));
    const double *w = want.data;
    for (size_t p = 0; p < POINTS; ++p) assert_relative(scores[p], w[p], 1e-6);
    dpa__array_free(&want);
}

static void reference(void **state) {
    (void)state;
    dpa_signals signals = transposed("logit"), population = transposed("plogit");
    static const size_t twin[] = {1};
    dpa_attack_opts opts;
    unpack_membership(&signals);
    dpa__attack_opts_init(&opts);
    opts.exclude = twin;
    opts.exclude_count = 1;
    opts.variance = DPA_VARIANCE_POINT;
    compare(DPA_ATTACK_LIRA, &opts, &signals, "reference/attacks/lira.npy");
    opts.offline = 1;
    opts.population = &population;
    compare(DPA_ATTACK_RMIA, &opts, &signals, "reference/attacks/rmia.npy");
    dpa__signals_free(&signals);
    dpa__signals_free(&population);
}

int main(void) {
    check_need_shared("reference/attacks/inputs.npz");
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
