/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attacks by hand on a tiny matrix: direction, closed forms, missing sides, bad words. */
#include "check.h"

#include "dpaudit/attack.h"
#include "dpaudit/data.h"

/* Five models, three points; model 0 is the target. */
static double signal[] = {3.0,      0.0, 1.0, /**/ 4.0, 0.5, 1.0, /**/ 2.0, -0.5, 0.0,
                          /**/ 0.0, 1.0, 2.0, /**/ 1.0, 0.0, 1.0};
static uint8_t member[] = {1, 0, 1, /**/ 1, 0, 0, /**/ 1, 1, 0, /**/ 0, 1, 1, /**/ 0, 0, 1};
static const dpa_signals signals = {DPA_SIGNAL_LOGIT, 5, 3, signal, member};

static double log_normal(double x, double mean, double sd) {
    return -0.5 * (x - mean) * (x - mean) / (sd * sd) - log(sd);
}

static void lira_is_the_likelihood_ratio(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa_attack_opts_init(&opts);
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa_attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    /* point 0: in {4, 2}, out {0, 1}, target 3 */
    assert_relative(scores[0], log_normal(3, 3, 1) - log_normal(3, 0.5, 0.5), 1e-12);
    /* point 1: in {-0.5, 1}, out {0.5, 0}, target 0 */
    assert_relative(scores[1], log_normal(0, 0.25, 0.75) - log_normal(0, 0.25, 0.25), 1e-12);
    opts.variance = DPA_VARIANCE_POOLED;
    assert_ok(dpa_attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    /* variances in: 1, 0.5625, 0.25; out: 0.25, 0.0625, 0.25 */
    const double in = sqrt(1.8125 / 3), out = sqrt(0.5625 / 3);
    assert_relative(scores[0], log_normal(3, 3, in) - log_normal(3, 0.5, out), 1e-12);
    opts.offline = 1;
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa_attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, NULL));
    assert_relative(scores[0], (3 - 0.5) / 0.5, 1e-12);
}

static void simple_attacks(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa_attack_opts_init(&opts);
    assert_ok(dpa_attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, NULL));
    assert_true(scores[0] == 3.0 && scores[1] == 0.0);
    assert_ok(dpa_attack_run(DPA_ATTACK_CALIBRATED, &signals, &opts, scores, NULL));
    assert_relative(scores[0], 3 - 0.5, 1e-12);
}

/* As losses the same numbers mean the opposite: whoever scored high scores low. */
static void losses_point_the_other_way(void **state) {
    (void)state;
    double scores[3];
    dpa_attack_opts opts;
    dpa_signals losses = signals;
    losses.kind = DPA_SIGNAL_LOSS;
    dpa_attack_opts_init(&opts);
    assert_ok(dpa_attack_run(DPA_ATTACK_LOSS, &losses, &opts, scores, NULL));
    assert_true(scores[0] == -3.0);
    opts.offline = 1;
    assert_ok(dpa_attack_run(DPA_ATTACK_LIRA, &losses, &opts, scores, NULL));
    assert_true(scores[0] < 0);
}

static void rmia_counts_smaller_ratios(void **state) {
    (void)state;
    /* one population point per column; all models alike, so the ratio is p/((1+a)/2·p + (1−a)/2) */
    static double other[] = {-2.0,      0.0, 2.0, /**/ -2.0, 0.0, 2.0, /**/ -2.0, 0.0, 2.0,
                             /**/ -2.0, 0.0, 2.0, /**/ -2.0, 0.0, 2.0};
    const dpa_signals population = {DPA_SIGNAL_LOGIT, 5, 3, other, NULL};
    double scores[3];
    dpa_attack_opts opts;
    dpa_attack_opts_init(&opts);
    opts.offline = 1;
    opts.population = &population;
    assert_ok(dpa_attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL));
    for (int i = 0; i < 3; ++i) {
        const double p = 1 / (1 + exp(-signal[i]));
        const double out[3][2] = {{0, 1}, {0.5, 0}, {1, 0}};
        const double mean = 0.5 * (1 / (1 + exp(-out[i][0])) + 1 / (1 + exp(-out[i][1])));
        const double ratio = p / (0.65 * mean + 0.35);
        int smaller = 0;
        for (int z = 0; z < 3; ++z) {
            const double q = 1 / (1 + exp(-other[z]));
            smaller += q / (0.65 * q + 0.35) < ratio;
        }
        assert_relative(scores[i], smaller / 3.0, 1e-12);
    }
    opts.population = NULL;
    assert_int_equal(dpa_attack_run(DPA_ATTACK_RMIA, &signals, &opts, scores, NULL),
                     DPA_BAD_ARGUMENT);
}

static void models_that_agree_give_finite_scores(void **state) {
    (void)state;
    static double same[] = {1, 1, /**/ 1, 0, /**/ 1, 0, /**/ 1, 0, /**/ 1, 0};
    static uint8_t who[] = {1, 0, /**/ 1, 1, /**/ 1, 1, /**/ 0, 0, /**/ 0, 0};
    const dpa_signals flat = {DPA_SIGNAL_LOGIT, 5, 2, same, who};
    double scores[2];
    dpa_attack_opts opts;
    dpa_attack_opts_init(&opts);
    opts.variance = DPA_VARIANCE_POINT;
    assert_ok(dpa_attack_run(DPA_ATTACK_LIRA, &flat, &opts, scores, NULL));
    assert_true(isfinite(scores[0]) && isfinite(scores[1]));
    assert_true(scores[0] == 0.0);
}

static void refusals(void **state) {
    (void)state;
    double scores[3];
    dpa_error err = {0};
    dpa_attack_opts opts;
    static const size_t most[] = {1, 2};
    static const size_t none[] = {9};
    dpa_attack_opts_init(&opts);
    opts.target = 5;
    assert_int_equal(dpa_attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "no model 5"));
    opts.target = 0;
    opts.exclude = none;
    opts.exclude_count = 1;
    assert_int_equal(dpa_attack_run(DPA_ATTACK_LOSS, &signals, &opts, scores, &err),
                     DPA_BAD_ARGUMENT);
    opts.exclude = most;
    opts.exclude_count = 2;
    assert_int_equal(dpa_attack_run(DPA_ATTACK_LIRA, &signals, &opts, scores, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "point "));
}

static void write_matrix(const char *path, dpa_dtype dtype, const void *data, size_t rows,
                         size_t columns) {
    dpa_array array = {
        .dtype = dtype, .ndim = 2, .shape = {rows, columns}, .count = rows * columns};
    array.data = (void *)(uintptr_t)data;
    assert_ok(dpa_array_write(path, &array, NULL));
}

static void files(void **state) {
    (void)state;
    char folder[] = "/tmp/dpaudit-attack-XXXXXX";
    char values[64], bits[64];
    dpa_signals read;
    dpa_error err = {0};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(values, sizeof values, "%s/s.npy", folder);
    (void)snprintf(bits, sizeof bits, "%s/m.npy", folder);
    write_matrix(values, DPA_F64, signal, 5, 3);
    write_matrix(bits, DPA_U8, member, 5, 3);
    assert_ok(dpa_signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, NULL));
    assert_true(read.models == 5 && read.points == 3 && read.signal[3] == 4.0 &&
                read.member[4] == 0);
    dpa_signals_free(&read);
    write_matrix(bits, DPA_U8, member, 3, 5);
    assert_int_equal(dpa_signals_read(values, bits, DPA_SIGNAL_LOGIT, &read, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "5 models × 3 points"));
    double broken[15];
    memcpy(broken, signal, sizeof broken);
    broken[7] = (double)NAN;
    write_matrix(values, DPA_F64, broken, 5, 3);
    assert_int_equal(dpa_signals_read(values, NULL, DPA_SIGNAL_LOGIT, &read, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "model 2, point 1"));
    (void)unlink(values);
    (void)unlink(bits);
    (void)rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lira_is_the_likelihood_ratio),
        cmocka_unit_test(simple_attacks),
        cmocka_unit_test(losses_point_the_other_way),
        cmocka_unit_test(rmia_counts_smaller_ratios),
        cmocka_unit_test(models_that_agree_give_finite_scores),
        cmocka_unit_test(refusals),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
