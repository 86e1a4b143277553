/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How narrow the accountant's intervals are, and at what cost: both ends, cell widths and lengths
 * of transforms at the default tolerance, and the budgets for rounding, as they were when the
 * intervals were compared with tests/known. A budget that shrinks unseen makes an interval that may
 * miss the truth; one that grows makes it wider. */
#include "check.h"

#include "account/family.h"
#include "account/handle.h"

typedef struct row {
    dpa_phase phase;
    int replaced;
    double delta;
    double lower, upper, cell, length;
} row;

static dpa_account *made(const dpa_phase *phase, int replaced, double delta, dpa__keep keep) {
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_error err;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    opts.adjacency = replaced ? DPA_REPLACE_ONE : DPA_ADD_REMOVE;
    if (dpa__account_new(phase, 1, &opts, keep, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    return account;
}

static const row rows[] = {
    {{DPA_GAUSSIAN, 1, 0.01, 1000, NULL},
     0,
     1e-05,
     1.82721707192088,
     1.82874684654456,
     0.000855499396748976,
     33981},
    {{DPA_GAUSSIAN, 0.8, 0.004, 10000, NULL},
     0,
     1e-05,
     3.5327923310246,
     3.53579652815964,
     0.000466023366010576,
     61773},
    {{DPA_GAUSSIAN, 20, 0.01, 100, NULL},
     0,
     1e-05,
     0.012609900299407,
     0.0126102208024726,
     4.78738351727339e-06,
     15739},
    {{DPA_GAUSSIAN, 1, 0.01, 1000, NULL},
     0,
     1e-300,
     85.4982830673115,
     85.5726449744583,
     0.00585681168792789,
     21556},
    {{DPA_GAUSSIAN, 2, 0.5, 50, NULL},
     0,
     1e-12,
     15.620044420711,
     15.6203393485936,
     0.00240255844287174,
     15546},
    {{DPA_GAUSSIAN, 1, 0.02, 500, NULL},
     0,
     0.05,
     0.67855056933747,
     0.67913005840512,
     0.00121263276307019,
     11624},
    {{DPA_GAUSSIAN, 0.3, 0.01, 1000, NULL},
     0,
     1e-05,
     69.81017136698,
     69.8238582866582,
     0.015502336441255,
     18777},
    {{DPA_GAUSSIAN, 0.15, 0.5, 30, NULL},
     0,
     1e-09,
     709.841460790701,
     709.854271125901,
     0.0413031627457188,
     18498},
    {{DPA_GAUSSIAN, 0.05, 0.01, 1, NULL},
     0,
     1e-05,
     256.265074264851,
     256.274649916526,
     0.179923262236237,
     1491},
    {{DPA_GAUSSIAN, 3, 1, 9, NULL},
     0,
     1e-05,
     4.37710746067367,
     4.37721436426678,
     0.00305612665754822,
     4707},
    {{DPA_GAUSSIAN, 1.5, 0.1, 40, NULL},
     1,
     1e-06,
     4.16166924713025,
     4.16259684536446,
     0.00398512073517774,
     4424},
    {{DPA_GAUSSIAN, 0.6, 0.01, 300, NULL},
     1,
     1e-05,
     5.41647727700531,
     5.42171707542212,
     0.00480123889360639,
     13413},
    {{DPA_GAUSSIAN, 4, 1, 5, NULL},
     1,
     1e-20,
     10.7114239867053,
     10.7117810476892,
     0.00562293916576912,
     2834},
    {{DPA_LAPLACE, 2, 1, 30, NULL},
     0,
     1e-06,
     13.0656586047136,
     13.0656642115847,
     0.00121359223300971,
     10614},
    {{DPA_LAPLACE, 1, 0.1, 30, NULL},
     0,
     1e-06,
     2.43183918560873,
     2.4340190670593,
     0.000247188370678608,
     23536},
    {{DPA_RANDOMIZED_RESPONSE, 0.2, 1, 50, NULL},
     0,
     1e-05,
     6.30777827953722,
     6.30777828077297,
     0.00769230769230769,
     1489},
    {{DPA_RANDOMIZED_RESPONSE, 1, 0.2, 20, NULL},
     0,
     1e-05,
     4.09566431007692,
     4.09730995534094,
     0.000451661298782874,
     17953},
    {{DPA_SHUFFLED, 1, 0.02, 3, NULL},
     0,
     1e-05,
     6.64146299639383,
     8.38541921084353,
     0.000538341252861717,
     48236},
};

/* The ends are those of fixed cells, so other processors differ by rounding only; a window may get
 * one bin more at each end. */
static void intervals(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        const row *r = &rows[k];
        dpa_account *account = made(&r->phase, r->replaced, r->delta, DPA_KEEP);
        dpa_interval e;
        dpa_error err;
        assert_ok(dpa_account_epsilon(account, r->delta, &e, &err));
        const double cell = dpa__account_answers(account)->h, length = (double)account->transform;
        assert_relative(e.lower, r->lower, 1e-10);
        assert_relative(e.upper, r->upper, 1e-10);
        assert_relative(cell, r->cell, 1e-10);
        assert_absolute(length, r->length, 2);
        dpa_account_free(account);
    }
}

/* What one composition knows of its own errors. */
static void check_budget(const dpa_phase *phase, double delta, dpa__rounding side,
                         const double want[7]) {
    dpa_account *account = made(phase, 0, delta, DPA_KEEP);
    const dpa__pld *guide = dpa__account_guide(account, 0);
    dpa__composed c;
    dpa_error err;
    double bound = 0;
    const double theta =
        dpa__tilt_for_delta(guide->side[DPA_PESSIMISTIC], guide->count, delta, &bound);
    assert_ok(dpa__account_compose(account, 0, side, theta, log(1e-8), &c, &err));
    const double got[7] = {theta,
                           bound,
                           c.log_scale,
                           c.extra,
                           c.shift,
                           c.factor,
                           dpa__tilt_for_epsilon(guide->side[side], guide->count, bound)};
    for (size_t k = 0; k < 7; ++k) assert_relative(got[k], want[k], 1e-6);
    dpa__composed_free(&c);
    dpa_account_free(account);
}

static void budgets(void **state) {
    (void)state;
    static const dpa_phase plain = {DPA_GAUSSIAN, 1, 0.01, 1000, NULL};
    static const dpa_phase large = {DPA_GAUSSIAN, 0.3, 0.2, 50, NULL};
    static const dpa_phase atoms = {DPA_LAPLACE, 2, 1, 30, NULL};
    check_budget(&plain, 1e-5, DPA_OPTIMISTIC,
                 (const double[7]){6.72717132203, 2.10546312118, 5.59514644396, -0,
                                   1.529151186093e-11, 5.887687650007e-11, 6.72717132203});
    check_budget(&plain, 1e-5, DPA_PESSIMISTIC,
                 (const double[7]){6.72717132203, 2.10546312118, 5.604642455293, 4e-18,
                                   1.529151186093e-11, 5.957014716631e-11, 6.72717132203});
    check_budget(&plain, 1e-60, DPA_PESSIMISTIC,
                 (const double[7]){8, 18.69345236178, 14.29231451462, 4e-67, 3.154279120938e-11,
                                   1.575823408015e-10, 8});
    check_budget(&large, 1e-5, DPA_OPTIMISTIC,
                 (const double[7]){0.2102241038134, 126.8280523968, 15.70751141969, -0,
                                   3.655030944084e-12, 1.182718252557e-11, 0.2102241038134});
    check_budget(&large, 1e-5, DPA_PESSIMISTIC,
                 (const double[7]){0.2102241038134, 126.8280523968, 15.70816721789, 4e-18,
                                   3.655030944084e-12, 1.184013456819e-11, 0.2102241038134});
    check_budget(&atoms, 1e-5, DPA_PESSIMISTIC,
                 (const double[7]){2.828427124746, 12.70284006938, 26.61484500333,
                                   2.924662055533e-19, 8.64e-14, 7.027233807605e-12,
                                   2.828427124746});
}

/* The window of a tilted sum: Chernoff's bound for a Gaussian of that mean and variance is
 * √(2·log(1/tail)) deviations; wherever the sum cannot go, the window ends. */
static void windows(void **state) {
    (void)state;
    dpa__loss_cells cells;
    dpa__pmf pmf;
    dpa__tilted tilted;
    dpa_error err;
    /* N(1/2σ², 1/σ²) of one step, tilted by θ: the mean moves by θ/σ², the variance stays */
    assert_ok(
        dpa__loss_cells_gaussian(2, 1, DPA_ADD_REMOVE, 0.01, log(1e-60), 1 << 20, &cells, &err));
    assert_ok(dpa__pmf_pessimistic(&cells, 40, &pmf, &err));
    for (double theta = 0; theta < 4; theta += 1.5) {
        assert_ok(dpa__tilt(&pmf, theta, &tilted, &err));
        assert_relative(tilted.mean, 0.125 + theta * 0.25, 1e-4);
        assert_relative(tilted.variance, 0.25, 1e-3);
        assert_absolute(tilted.log_scale, theta * (theta + 1) / 8, 1e-3);
        double total = 0;
        for (size_t i = 0; i < tilted.count; ++i) total += tilted.mass[i];
        assert_relative(total, 1, 1e-12);
        const dpa__range w = dpa__window(&tilted, 1, log(1e-15));
        const double middle = 40 * tilted.mean, side = sqrt(2 * log(1e15) * 40 * tilted.variance);
        assert_relative(w.upper - middle, side, 0.01);
        assert_relative(middle - w.lower, side, 0.01);
        assert_true(w.log_below == log(1e-15) && w.log_above == log(1e-15));
        /* a bound beyond all losses is cut there, and nothing is outside */
        const dpa__range all = dpa__window(&tilted, 1, -1e6);
        assert_relative(
            all.upper,
            40 * dpa__loss_at(tilted.origin, tilted.h, tilted.first + (ptrdiff_t)tilted.count - 1),
            1e-12);
        assert_relative(all.lower, 40 * dpa__loss_at(tilted.origin, tilted.h, tilted.first), 1e-12);
        assert_true(isinf(all.log_below) && isinf(all.log_above));
        dpa__tilted_free(&tilted);
    }
    dpa__pmf_free(&pmf);
    dpa__loss_cells_free(&cells);
}

/* Both curves at some rates, and δ at some ε, of a sampled and of a pure mechanism. */
static void check_answers(const dpa_phase *phase, const double want[18]) {
    dpa_account *account = made(phase, 0, 1e-6, DPA_KEEP);
    double got[18];
    size_t n = 0;
    dpa_interval at;
    dpa_error err;
    dpa_curve *directed = NULL;
    for (double fpr = 1e-12; fpr < 0.5; fpr *= 1e4) {
        assert_ok(dpa_account_fnr(account, fpr, &at, &err));
        got[n++] = 1 - at.lower;
        got[n++] = 1 - at.upper;
    }
    for (double epsilon = 0; epsilon < 2.5; epsilon += 1) {
        assert_ok(dpa_account_delta(account, epsilon, &at, &err));
        got[n++] = at.lower;
        got[n++] = at.upper;
    }
    for (int side = -1; side <= 1; side += 2) {
        assert_ok(dpa__account_directed(account, side, &directed, &err));
        got[n++] = dpa_curve_fnr(directed, 0.01);
        got[n++] = dpa_curve_fnr(directed, 0.4);
        dpa_curve_free(directed);
    }
    assert_ok(dpa__account_mu(account, 1e-4, &at, &err));
    got[n++] = at.lower;
    got[n++] = at.upper;
    assert_int_equal(n, 18);
    for (size_t k = 0; k < n; ++k) /* one ulp of 1 − fnr is 1e-16 */
        assert_absolute(got[k], want[k], 1e-9 * want[k] + 4e-15);
    dpa_account_free(account);
}

static void answers(void **state) {
    (void)state;
    static const dpa_phase sampled = {DPA_GAUSSIAN, 0.8, 0.02, 300, NULL};
    static const dpa_phase pure = {DPA_LAPLACE, 4, 1, 30, NULL};
    static const dpa_phase plain = {DPA_GAUSSIAN, 5, 1, 16, NULL};
    check_answers(&sampled,
                  (const double[18]){1.252177139754e-09, 1.246799996579e-09, 1.571101196252e-06,
                                     1.566239476225e-06, 0.001770422435867, 0.001765482956547,
                                     0.2416735824779, 0.2422397501351, 0.03495713817211,
                                     0.03518740560385, 0.0024874023456, 0.002512038949994,
                                     0.9465753049911, 0.3595132985614, 0.9466967391431,
                                     0.3600700605462, 0.8323063085959, 0.8331715955967});
    check_answers(&pure, (const double[18]){
                             1.784508874003e-09, 1.784435266217e-09, 5.659750267228e-06,
                             5.659607006825e-06, 0.007451279168008, 0.007451183604891,
                             0.4904897510765, 0.4904906537664, 0.2475502177785, 0.2475507759858,
                             0.08429568421156, 0.08429591963558, 0.8452969302025, 0.1433364444053,
                             0.8452972152141, 0.1433376744282, 1.259462463615, 1.259462802141});
    check_answers(&plain,
                  (const double[18]){2.266671295104e-10, 2.265829746051e-10, 7.47165227577e-07,
                                     7.47078152008e-07, 0.00175573103122, 0.001755625137956,
                                     0.3108392249649, 0.3108454216742, 0.06318208206684,
                                     0.06318675339863, 0.004077325106353, 0.004078064031735,
                                     0.9365367673273, 0.2923027368201, 0.9365400027818,
                                     0.292313651997, 0.7999889506089, 0.8000057284138});
}

/* Where searches end: the value passes, and which one it is of those that do has not changed. */
static void calibrations(void **state) {
    (void)state;
    static const struct {
        dpa_phase phase;
        dpa_calibrate_what what;
        double epsilon, value, upper;
    } cases[] = {
        {{DPA_GAUSSIAN, 1, 0.01, 1000, NULL}, DPA_CALIBRATE_SIGMA, 2, 1.0293395786, 1.999280800505},
        {{DPA_GAUSSIAN, 1, 0.01, 1000, NULL},
         DPA_CALIBRATE_Q,
         0.7,
         0.003464751898567,
         0.6998231154576},
        {{DPA_GAUSSIAN, 1, 0.01, 1000, NULL}, DPA_CALIBRATE_STEPS, 3, 2060, 2.999697940773},
        {{DPA_GAUSSIAN, 1, 1, 5, NULL}, DPA_CALIBRATE_SIGMA, 0.05, 154.9670060203, 0.0499750739181},
        {{DPA_LAPLACE, 1, 1, 12, NULL}, DPA_CALIBRATE_SIGMA, 4, 2.997710787328, 3.999000001404},
        {{DPA_RANDOMIZED_RESPONSE, 1, 1, 30, NULL},
         DPA_CALIBRATE_SIGMA,
         1.5,
         0.06661791447912,
         1.499626396497},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        double value;
        dpa_interval e;
        dpa_error err;
        assert_ok(dpa_calibrate(&cases[k].phase, 1, cases[k].what, cases[k].epsilon, 1e-6, NULL,
                                &value, &e, &err));
        assert_relative(value, cases[k].value, 1e-7);
        assert_relative(e.upper, cases[k].upper, 1e-7);
        assert_between(e.upper, cases[k].epsilon * 0.99, cases[k].epsilon);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals), cmocka_unit_test(budgets),
                                       cmocka_unit_test(windows), cmocka_unit_test(answers),
                                       cmocka_unit_test(calibrations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
