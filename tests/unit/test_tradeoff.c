/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trade-off curves: values known by hand, closed forms against quadrature, bad arguments, files. */
#include "check.h"

#include "math/dist.h"
#include "math/quad.h"
#include "tradeoff/curve.h"
#include "tradeoff/tradeoff.h"

static void dp_by_hand(void **state) {
    (void)state;
    dpa_curve *c = NULL;
    assert_ok(dpa_curve_dp(log(3.0), 0.1, &c, NULL));
    assert_relative(dpa_curve_fnr(c, 0.0), 0.9, 1e-15);
    assert_relative(dpa_curve_fnr(c, 0.1), 0.6, 1e-15);
    assert_relative(dpa_curve_fnr(c, 0.225), 0.225, 1e-15); /* the corner */
    assert_relative(dpa_curve_fnr(c, 0.6), 0.1, 1e-15);
    assert_true(dpa_curve_fnr(c, 0.95) == 0.0);
    assert_true(dpa__curve_fpr_at_tpr(c, 0.1) == 0.0);
    assert_relative(dpa__curve_fpr_at_tpr(c, 0.4), 0.1, 1e-15);
    assert_relative(dpa__curve_fpr_at_tpr(c, 1.0), 0.9, 1e-15);
    assert_true(dpa_curve_epsilon(c, 0.1) == log(3.0));
    assert_true(dpa_curve_epsilon(c, 0.0999) == HUGE_VAL);
    assert_true(dpa_curve_delta(c, log(3.0)) == 0.1);
    assert_relative(dpa_curve_delta(c, 0.0), 1.0 - 2 * 0.225, 1e-15);
    dpa_curve_free(c);
    /* e^800 overflows a double, but the answers do not */
    assert_ok(dpa_curve_dp(800.0, 1e-300, &c, NULL));
    assert_relative(dpa__curve_log_fnr(c, -0.1), log(-expm1(-0.1)) - 800.0, 1e-15);
    assert_relative(dpa__curve_log_fnr(c, -801.0), log1p(-exp(-1.0)), 1e-12);
    assert_true(dpa_curve_epsilon(c, 1e-300) == 800.0);
    assert_relative(dpa_curve_epsilon(c, 0.5), 800.0 - log(2.0), 1e-15);
    assert_relative(dpa__curve_tpr(c, 1e-320), 1.0, 1e-15);
    dpa_curve_free(c);
}

static void gaussian_tails(void **state) {
    (void)state;
    dpa_curve *c = NULL;
    assert_ok(dpa_curve_gaussian(1.5, &c, NULL));
    for (double z = -30.0; z <= 30.0; z += 1.25) {
        const double fpr = dpa__norm_cdf(z, DPA_UPPER);
        assert_relative(dpa__curve_log_fnr(c, dpa__norm_cdf(z, DPA_LOG_UPPER)),
                        dpa__norm_cdf(z - 1.5, DPA_LOG_LOWER), 1e-12);
        if (z > 0.0) {
            assert_relative(dpa__curve_tpr(c, fpr), dpa__norm_cdf(z - 1.5, DPA_UPPER), 1e-12);
            assert_relative(dpa__curve_fpr_at_tpr(c, dpa__norm_cdf(z - 1.5, DPA_UPPER)), fpr,
                            1e-12);
        }
    }
    dpa_curve_free(c);
}

static double laplace_density(double x) {
    return 0.5 * exp(-fabs(x));
}

/* (p − e^ε q)₊ for two unit Laplace laws at distance d; then for the subsampled pair, both ways. */
typedef struct pair {
    double distance, factor, q;
    int reversed;
} pair;

static double laplace_excess(double x, void *user) {
    const pair *p = user;
    return fmax(0.0, laplace_density(x - p->distance) - p->factor * laplace_density(x));
}

static double normal_density(double x) {
    return exp(dpa__norm_log_pdf(x));
}

static double mixture_excess(double x, void *user) {
    const pair *p = user;
    const double null = normal_density(x);
    const double mixed = (1.0 - p->q) * null + p->q * normal_density(x - p->distance);
    return fmax(0.0, p->reversed ? null - p->factor * mixed : mixed - p->factor * null);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every kink is a breakpoint, because a rule may miss one between its nodes. */
static double integral(dpa__fn fn, pair *p, double crossing) {
    double breaks[] = {-45.0, -8.0, 0.0, crossing, p->distance, p->distance + 8.0, 60.0};
    qsort(breaks, 7, sizeof *breaks, ascending);
    dpa__quad out;
    assert_ok(dpa__integrate(fn, p, breaks, 7, 1e-14, 1e-13, 200000, &out, NULL));
    return out.value;
}

static void laplace_by_quadrature(void **state) {
    (void)state;
    static const double parameters[] = {0.1, 1.0, 4.0};
    for (size_t i = 0; i < 3; ++i) {
        dpa_curve *c = NULL;
        const double e0 = parameters[i];
        assert_ok(dpa_curve_laplace(e0, &c, NULL));
        for (double share = 0.0; share < 1.0; share += 0.125) {
            pair p = {.distance = e0, .factor = exp(share * e0)};
            const double want = integral(laplace_excess, &p, 0.5 * e0 * (1.0 + share));
            assert_absolute(dpa_curve_delta(c, share * e0), want, 1e-12);
            assert_absolute(dpa_curve_epsilon(c, dpa_curve_delta(c, share * e0)), share * e0,
                            1e-14);
        }
        assert_true(dpa_curve_delta(c, e0) == 0.0);
        assert_true(dpa_curve_epsilon(c, 0.0) == e0);
        dpa_curve_free(c);
    }
}

/* A Gaussian curve diluted by q, which is one subsampled step: its δ is the larger of both
 * directions, each by quadrature. */
static void subsampled_by_quadrature(void **state) {
    (void)state;
    static const double rates[] = {0.001, 0.1, 0.7}, sigmas[] = {0.5, 1.0, 3.0};
    for (size_t i = 0; i < 9; ++i) {
        const double q = rates[i % 3], mu = 1.0 / sigmas[i / 3];
        dpa_curve *whole = NULL, *c = NULL;
        assert_ok(dpa_curve_gaussian(mu, &whole, NULL));
        assert_ok(dpa__curve_diluted(whole, q, &c, NULL));
        dpa_curve_free(whole);
        for (double epsilon = 0.0; epsilon < 2.0; epsilon += 0.3) {
            pair p = {.distance = mu, .factor = exp(epsilon), .q = q};
            /* mixed = e^ε null at x = μ/2 + log(1 + (e^ε−1)/q)/μ */
            const double there =
                integral(mixture_excess, &p, 0.5 * mu + log1p(expm1(epsilon) / q) / mu);
            p.reversed = 1;
            const double inner = (exp(-epsilon) - (1.0 - q)) / q;
            const double kink = inner > 0.0 ? 0.5 * mu + log(inner) / mu : -45.0;
            const double back = integral(mixture_excess, &p, fmax(-45.0, kink));
            assert_absolute(dpa_curve_delta(c, epsilon), fmax(there, back), 1e-12);
        }
        dpa_curve_free(c);
    }
}

static void points_by_hand(void **state) {
    (void)state;
    /* (0.5, 0.4) lies above the hull; the curve starts at 0.9 and ends at 0.8 */
    const double fpr[] = {0.8, 0.5, 0.0, 0.3}, fnr[] = {0.0, 0.4, 0.9, 0.2};
    dpa_curve *c = NULL;
    assert_ok(dpa_curve_points(fpr, fnr, 4, &c, NULL));
    assert_int_equal(dpa__curve_is_symmetric(c), 0);
    assert_relative(dpa_curve_fnr(c, 0.0), 0.9, 1e-15);
    assert_relative(dpa_curve_fnr(c, 0.15), 0.55, 1e-15);
    assert_relative(dpa_curve_fnr(c, 0.5), 0.12, 1e-15);
    assert_true(dpa_curve_fnr(c, 0.9) == 0.0);
    assert_true(dpa_curve_fpr(c, 0.95) == 0.0);
    assert_relative(dpa_curve_fpr(c, 0.1), 0.55, 1e-15);
    assert_relative(dpa_curve_fpr(c, 0.0), 0.8, 1e-15);
    assert_relative(dpa__curve_fpr_at_tpr(c, 1.0), 0.8, 1e-15);
    assert_true(dpa__curve_fpr_at_tpr(c, 0.09) == 0.0);
    /* masses that one side alone has: 0.1 forward, 0.2 backward */
    assert_relative(dpa_curve_delta(c, 20.0), 0.2, 1e-15);
    assert_true(dpa_curve_epsilon(c, 0.15) == HUGE_VAL);
    /* at ε=1 backward (0.3, 0.2) shows 0.7 − 0.2e = 0.156 and (0.8, 0) shows 0.2; slopes 7/3, 0.4
     */
    assert_relative(dpa_curve_delta(c, 1.0), 0.2, 1e-15);
    assert_relative(dpa_curve_delta(c, 0.5), 0.7 - 0.2 * exp(0.5), 1e-15);
    assert_relative(dpa_curve_epsilon(c, 0.3), log(2.0), 1e-14);
    dpa_curve_free(c);
    /* no points at all give the diagonal */
    assert_ok(dpa_curve_points(NULL, NULL, 0, &c, NULL));
    assert_true(dpa_curve_fnr(c, 0.25) == 0.75);
    assert_true(dpa_curve_epsilon(c, 0.0) == 0.0);
    assert_int_equal(dpa__curve_is_symmetric(c), 1);
    dpa_curve_free(c);
    /* points above the diagonal say nothing; (0,0) reveals everything */
    const double high = 0.9, nil = 0.0;
    assert_ok(dpa_curve_points(&high, &high, 1, &c, NULL));
    assert_true(dpa_curve_fnr(c, 0.25) == 0.75);
    dpa_curve_free(c);
    assert_ok(dpa_curve_points(&nil, &nil, 1, &c, NULL));
    assert_true(dpa_curve_fnr(c, 0.0) == 0.0);
    assert_true(dpa_curve_delta(c, 800.0) == 1.0);
    dpa_curve_free(c);
}

/* Products of these rates underflow, but the hull needs them. */
static void points_far_out(void **state) {
    (void)state;
    const double fpr[] = {1e-300, 1e-200, 0.5}, fnr[] = {0.9, 1e-200, 1e-310};
    dpa_curve *c = NULL;
    assert_ok(dpa_curve_points(fpr, fnr, 3, &c, NULL));
    for (int i = 0; i < 3; ++i) assert_relative(dpa_curve_fnr(c, fpr[i]), fnr[i], 1e-12);
    assert_relative(dpa_curve_fnr(c, 0.5e-300), 0.95, 1e-15);
    assert_relative(dpa_curve_epsilon(c, 0.05), log(0.05) + 300.0 * log(10.0), 1e-14);
    dpa_curve_free(c);
}

/* Diluting twice is diluting by the product, in every family; diluted curves outlive the curves
 * they were made from. */
static void dilution(void **state) {
    (void)state;
    const double fpr[] = {0.1, 0.4}, fnr[] = {0.3, 0.0};
    dpa_curve *whole[3] = {NULL, NULL, NULL};
    assert_ok(dpa_curve_gaussian(2.0, &whole[0], NULL));
    assert_ok(dpa_curve_points(fpr, fnr, 2, &whole[1], NULL));
    assert_ok(dpa_curve_dp(3.0, 0.01, &whole[2], NULL));
    for (int k = 0; k < 3; ++k) {
        dpa_curve *once = NULL, *twice = NULL, *product = NULL, *none = NULL, *all = NULL;
        assert_ok(dpa__curve_diluted(whole[k], 0.6, &once, NULL));
        assert_ok(dpa__curve_diluted(once, 0.5, &twice, NULL));
        assert_ok(dpa__curve_diluted(whole[k], 0.3, &product, NULL));
        assert_ok(dpa__curve_diluted(whole[k], 0.0, &none, NULL));
        assert_ok(dpa__curve_diluted(whole[k], 1.0, &all, NULL));
        dpa_curve_free(whole[k]);
        dpa_curve_free(once);
        for (double x = 0.0; x <= 1.0; x += 1.0 / 32) {
            assert_absolute(dpa_curve_fnr(twice, x), dpa_curve_fnr(product, x), 1e-15);
            assert_absolute(dpa_curve_fnr(product, x), 0.3 * dpa_curve_fnr(all, x) + 0.7 * (1 - x),
                            1e-15);
            assert_absolute(dpa_curve_fpr(twice, x), dpa_curve_fpr(product, x), 1e-13);
            assert_true(dpa_curve_fnr(none, x) == 1.0 - x);
        }
        assert_relative(dpa_curve_epsilon(twice, 1e-3), dpa_curve_epsilon(product, 1e-3), 1e-12);
        dpa_curve_free(twice);
        dpa_curve_free(product);
        dpa_curve_free(none);
        dpa_curve_free(all);
    }
}

/* By hand: vertices move up to the diagonal, the flat end gets a vertex of its own, and a curve
 * that ends at (1, 0) gets none. */
static void diluted_vertices(void **state) {
    (void)state;
    const double fpr[] = {0.05, 0.5}, fnr[] = {0.9, 0.0};
    dpa_curve *of = NULL, *half = NULL, *again = NULL;
    assert_ok(dpa_curve_points(fpr, fnr, 2, &of, NULL));
    assert_ok(dpa__curve_diluted(of, 0.5, &half, NULL));
    const dpa__points *p = dpa__points_of(half);
    assert_non_null(p);
    /* the hull of (0, 1), (0.05, 0.9), (0.5, 0): one segment of slope −2 */
    assert_int_equal(p->count, 3);
    assert_absolute(dpa_curve_fnr(half, 0.5), 0.25, 1e-15);
    assert_absolute(dpa_curve_fnr(half, 0.6), 0.2, 1e-15);
    assert_absolute(dpa_curve_fnr(half, 0.9), 0.05, 1e-15);
    assert_absolute(dpa__curve_tpr(half, 0.6), 0.8, 1e-15);
    assert_absolute(dpa_curve_fpr(half, 0.2), 0.6, 1e-15);
    assert_absolute(dpa__curve_fpr_at_tpr(half, 0.8), 0.6, 1e-15);
    assert_absolute(dpa__curve_log_fnr(half, log(0.9)), log(0.05), 1e-13);
    /* δ(0) is the largest distance to the diagonal, at (0.5, 0.25) */
    assert_absolute(dpa_curve_delta(half, 0.0), 0.25, 1e-15);
    assert_ok(dpa__curve_diluted(half, 0.5, &again, NULL));
    assert_int_equal(dpa__points_of(again)->count, 3);
    assert_absolute(dpa_curve_fnr(again, 0.5), 0.375, 1e-15);
    dpa_curve_free(of);
    dpa_curve_free(half);
    dpa_curve_free(again);
}

/* δ that just covers the atom at α = 0 is covered after dilution too, however t rounds; every
 * curve is (0, 1)-private. */
static void at_the_ends(void **state) {
    (void)state;
    dpa_curve *of = NULL, *part = NULL;
    assert_ok(dpa_curve_dp(1.0, 0.1, &of, NULL));
    for (int k = 1; k < 40; ++k) {
        const double t = k / 41.0;
        assert_ok(dpa__curve_diluted(of, t, &part, NULL));
        assert_relative(dpa_curve_epsilon(part, t * 0.1), log1p(t * expm1(1.0)), 1e-12);
        assert_true(isinf(dpa_curve_epsilon(part, t * 0.0999)));
        assert_true(dpa_curve_epsilon(part, t) == 0.0);
        assert_true(dpa__curve_fpr_at_tpr(part, t * 0.1) == 0.0);
        dpa_curve_free(part);
    }
    dpa_curve_free(of);
    assert_true(dpa_gaussian_epsilon(INFINITY, 1.0) == 0.0);
    assert_true(dpa_gaussian_epsilon(0.0, 0.0) == 0.0);
    assert_true(isinf(dpa_gaussian_epsilon(1.0, 0.0)));
    assert_true(dpa__gaussian_log_delta(INFINITY, 3.0) == 0.0);
    assert_true(dpa__gaussian_log_delta(INFINITY, INFINITY) == 0.0);
    assert_true(dpa__gaussian_log_delta(0.0, 3.0) == -HUGE_VAL);
    assert_true(dpa_gaussian_mu(2.0, 0.0) == 0.0 && isinf(dpa_gaussian_mu(2.0, 1.0)));
    assert_true(isinf(dpa_gaussian_mu(INFINITY, 0.5)));
}

static void no_privacy(void **state) {
    (void)state;
    dpa_curve *c[4] = {NULL};
    assert_ok(dpa_curve_dp(INFINITY, 0.0, &c[0], NULL));
    assert_ok(dpa_curve_gaussian(INFINITY, &c[1], NULL));
    assert_ok(dpa_curve_laplace(INFINITY, &c[2], NULL));
    assert_ok(dpa_curve_dp(0.0, 1.0, &c[3], NULL));
    for (int i = 0; i < 4; ++i) {
        assert_true(dpa_curve_fnr(c[i], 0.0) == 0.0);
        assert_true(dpa__curve_tpr(c[i], 0.5) == 1.0);
        assert_true(dpa_curve_fpr(c[i], 0.0) == 0.0);
        assert_true(dpa__curve_fpr_at_tpr(c[i], 1.0) == 0.0);
        assert_true(dpa__curve_log_fnr(c[i], -3.0) == -HUGE_VAL);
        assert_true(dpa_curve_delta(c[i], 1e5) == 1.0);
        assert_true(dpa_curve_epsilon(c[i], 0.999) == HUGE_VAL);
        assert_true(dpa_curve_epsilon(c[i], 1.0) == 0.0);
        dpa_curve_free(c[i]);
    }
}

#define refused(call, want)                                                                        \
    do {                                                                                           \
        dpa_error e = {0};                                                                         \
        dpa_error *err = &e;                                                                       \
        dpa_curve *made = NULL, **out = &made;                                                     \
        assert_int_equal((call), (want));                                                          \
        assert_null(made);                                                                         \
        assert_true(strlen(e.text) > 10);                                                          \
    } while (0)

static void bad_arguments(void **state) {
    (void)state;
    dpa_curve *c = NULL;
    refused(dpa_curve_dp(-1, 0, out, err), DPA_BAD_ARGUMENT);
    refused(dpa_curve_dp(NAN, 0, out, err), DPA_BAD_ARGUMENT);
    refused(dpa_curve_dp(1, 1.5, out, err), DPA_BAD_ARGUMENT);
    refused(dpa_curve_dp(1, NAN, out, err), DPA_BAD_ARGUMENT);
    refused(dpa_curve_gaussian(-1, out, err), DPA_BAD_ARGUMENT);
    refused(dpa_curve_laplace(NAN, out, err), DPA_BAD_ARGUMENT);
    const double good = 0.5, bad = 1.5, nan = NAN;
    /* of a curve that would have an answer for any number */
    assert_ok(dpa_curve_points(&good, &good, 1, &c, NULL));
    assert_true(isnan(dpa__curve_tpr(c, 1.1)) && isnan(dpa__curve_tpr(c, -0.1)));
    assert_true(isnan(dpa_curve_fnr(c, 1.1)) && isnan(dpa_curve_fpr(c, -0.1)));
    assert_true(isnan(dpa__curve_fpr_at_tpr(c, 1.1)) && isnan(dpa__curve_log_fnr(c, 0.1)));
    assert_true(isnan(dpa_curve_epsilon(c, -0.1)) && isnan(dpa_curve_delta(c, -1)));
    dpa_curve_free(c);
    c = NULL;
    refused(dpa_curve_points(&good, &bad, 1, out, err), DPA_BAD_INPUT);
    refused(dpa_curve_points(&nan, &good, 1, out, err), DPA_BAD_INPUT);
    const double two[] = {0.5, 0.5}, wrong[] = {0.5, -0.1};
    dpa_error said = {0};
    assert_int_equal(dpa_curve_points(two, wrong, 2, &c, &said), DPA_BAD_INPUT);
    assert_non_null(strstr(said.text, "point 2 is (0.5, -0.1); both rates must be from 0 to 1"));
    assert_ok(dpa_curve_gaussian(1.0, &c, NULL));
    refused(dpa__curve_diluted(c, 1.5, out, err), DPA_BAD_ARGUMENT);
    refused(dpa__curve_diluted(c, NAN, out, err), DPA_BAD_ARGUMENT);
    assert_true(isnan(dpa_curve_fnr(c, -0.1)) && isnan(dpa_curve_fnr(c, NAN)));
    assert_true(isnan(dpa__curve_tpr(c, 1.1)) && isnan(dpa_curve_fpr(c, 1.1)));
    assert_true(isnan(dpa__curve_fpr_at_tpr(c, -1)) && isnan(dpa__curve_log_fnr(c, 0.1)));
    assert_true(isnan(dpa_curve_delta(c, -1)) && isnan(dpa__curve_log_delta(c, NAN)));
    assert_true(isnan(dpa_curve_epsilon(c, 2)) && isnan(dpa_curve_epsilon(c, NAN)));
    dpa_curve_free(c);
    dpa_curve_free(NULL);
}

static dpa_status read_text(const char *text, dpa_curve **out, dpa_error *err) {
    char path[] = "/tmp/dpaudit-curve-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(file);
    const dpa_status status = dpa__curve_read(path, out, err);
    (void)unlink(path);
    return status;
}

static void files(void **state) {
    (void)state;
    dpa_curve *c = NULL;
    assert_ok(read_text("fpr,fnr\n0.5,0.1\n0.1,0.5\n", &c, NULL));
    assert_relative(dpa_curve_fnr(c, 0.3), 0.3, 1e-15);
    assert_int_equal(dpa__curve_is_symmetric(c), 1);
    dpa_curve_free(c);
    assert_ok(read_text("name,fnr,fpr\nx,0.25,0\n", &c, NULL));
    assert_true(dpa_curve_fnr(c, 0.0) == 0.25);
    dpa_curve_free(c);
    refused(read_text("fpr,tpr\n0.5,0.1\n", out, err), DPA_BAD_INPUT);
    refused(read_text("fpr,fnr\n", out, err), DPA_BAD_INPUT);
    refused(read_text("fpr,fnr\n0.5,often\n", out, err), DPA_BAD_INPUT);
    refused(read_text("fpr,fnr\n0.5,1.25\n", out, err), DPA_BAD_INPUT);
    refused(read_text("fpr,fnr\n0.5\n", out, err), DPA_BAD_INPUT);
    refused(dpa__curve_read("/nonexistent/curve.csv", out, err), DPA_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dp_by_hand),
        cmocka_unit_test(gaussian_tails),
        cmocka_unit_test(laplace_by_quadrature),
        cmocka_unit_test(subsampled_by_quadrature),
        cmocka_unit_test(points_by_hand),
        cmocka_unit_test(points_far_out),
        cmocka_unit_test(dilution),
        cmocka_unit_test(no_privacy),
        cmocka_unit_test(diluted_vertices),
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
