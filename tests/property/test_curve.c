/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of every trade-off curve, over all families and their extremes. */
#include "check.h"

#include "tradeoff/tradeoff.h"

enum { STEPS = 60, KINDS = 8, LEVELS = 6 };

/* Level k of a family is less private than level k−1. */
typedef struct family {
    const char *name;
    dpa_curve *(*make)(int level);
} family;

static const double sizes[LEVELS] = {1e-8, 0.1, 1.0, 5.0, 40.0, 800.0};

static dpa_curve *made(dpa_status status, dpa_curve *const *curve) {
    assert_int_equal(status, DPA_OK);
    return *curve;
}

static dpa_curve *make_dp(int level) {
    dpa_curve *c = NULL;
    return made(dpa_curve_dp(sizes[level], 0.0, &c, NULL), &c);
}

static dpa_curve *make_approximate_dp(int level) {
    static const double deltas[LEVELS] = {1e-300, 1e-300, 1e-5, 1e-5, 0.1, 0.9};
    dpa_curve *c = NULL;
    return made(dpa_curve_dp(sizes[level], deltas[level], &c, NULL), &c);
}

static dpa_curve *make_gaussian(int level) {
    dpa_curve *c = NULL;
    return made(dpa_curve_gaussian(sizes[level], &c, NULL), &c);
}

static dpa_curve *make_laplace(int level) {
    dpa_curve *c = NULL;
    return made(dpa_curve_laplace(sizes[level], &c, NULL), &c);
}

/* Points on a Gaussian curve. */
static dpa_curve *make_points(int level) {
    double fpr[200], fnr[200];
    dpa_curve *smooth = make_gaussian(level), *c = NULL;
    for (int i = 0; i < 200; ++i) {
        fpr[i] = pow(10.0, -0.1 * i);
        fnr[i] = dpa_curve_fnr(smooth, fpr[i]);
    }
    dpa_curve_free(smooth);
    return made(dpa_curve_points(fpr, fnr, 200, &c, NULL), &c);
}

static dpa_curve *diluted(dpa_curve *whole) {
    dpa_curve *c = NULL;
    const dpa_status status = dpa__curve_diluted(whole, 0.3, &c, NULL);
    dpa_curve_free(whole);
    return made(status, &c);
}

static dpa_curve *make_diluted_gaussian(int level) {
    return diluted(make_gaussian(level));
}

static dpa_curve *make_diluted_dp(int level) {
    return diluted(make_approximate_dp(level));
}

static dpa_curve *make_diluted_points(int level) {
    return diluted(make_points(level));
}

static const family families[KINDS] = {
    {"dp", make_dp},
    {"approximate dp", make_approximate_dp},
    {"gaussian", make_gaussian},
    {"laplace", make_laplace},
    {"points", make_points},
    {"diluted gaussian", make_diluted_gaussian},
    {"diluted dp", make_diluted_dp},
    {"diluted points", make_diluted_points},
};

/* A grid of rates that is fine at both ends. */
static double rate(int i) {
    if (i <= 0) return 0.0;
    if (i >= STEPS) return 1.0;
    const double x = 36.0 * (i - STEPS / 2) / STEPS; /* logit from −18 to 18 */
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static void each(void (*check)(const dpa_curve *curve, const char *name)) {
    for (int k = 0; k < KINDS; ++k)
        for (int level = 0; level < LEVELS; ++level) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s, level %d", families[k].name, level);
            dpa_curve *curve = families[k].make(level);
            check(curve, name);
            dpa_curve_free(curve);
        }
}

#define must(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s: ", name);                                                             \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

static void shape(const dpa_curve *curve, const char *name) {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    for (int i = 0; i <= STEPS; ++i) {
        const double x = rate(i), y = dpa_curve_fnr(curve, x), t = dpa__curve_tpr(curve, x);
        must(y >= 0.0 && y <= 1.0, "f(%.17g) = %.17g", x, y);
        must(y <= 1.0 - x + 2e-16, "f(%.17g) = %.17g is above 1 - fpr", x, y);
        must(fabs(y + t - 1.0) <= 1e-15, "fnr + tpr at %g is 1 + %g", x, y + t - 1.0);
        must(t >= x * (1.0 - 1e-14), "tpr(%.17g) = %.17g", x, t);
        must(i < 1 || y <= y1 * (1.0 + 1e-14), "rises at %g", x);
        if (i >= 2) {
            const double line = y0 + (y - y0) * ((x1 - x0) / (x - x0));
            must(y1 <= line + 1e-15, "not convex at %g: %.17g above %.17g", x1, y1, line);
        }
        x0 = x1, y0 = y1, x1 = x, y1 = y;
    }
    must(dpa_curve_fnr(curve, 1.0) == 0.0, "f(1) is not 0");
}

/* How much f changes if its argument changes by a part in 1e14; a rounded rate cannot do better. */
static double wobble(const dpa_curve *curve, double (*f)(const dpa_curve *, double), double x) {
    return fabs(f(curve, fmin(1.0, x * (1 + 1e-14))) - f(curve, x * (1 - 1e-14)));
}

static void inverses(const dpa_curve *curve, const char *name) {
    for (int i = 0; i <= STEPS; ++i) {
        const double x = rate(i);
        /* the smallest α with tpr(α) ≥ x: it reaches x there, and not a little before */
        const double a = dpa__curve_fpr_at_tpr(curve, x);
        must(a >= 0.0 && a <= x * (1 + 1e-14), "fpr_at_tpr(%g) = %g", x, a);
        const double reached = dpa__curve_tpr(curve, a);
        const double slack = wobble(curve, dpa__curve_tpr, a);
        must(a < 1e-300 || reached >= x * (1 - 1e-13) - slack, "tpr(fpr_at_tpr(%.17g)) = %.17g", x,
             reached);
        must(a == 0.0 || a < 1e-300 || dpa__curve_tpr(curve, a * (1 - 1e-9)) <= x * (1 + 1e-13),
             "fpr_at_tpr(%g) = %g is not the smallest", x, a);
        /* the same for f(α) ≤ x */
        const double b = dpa_curve_fpr(curve, x);
        must(b >= 0.0 && b <= 1.0 - x + 2e-16, "fpr(%g) = %g", x, b);
        must(b < 1e-300 || dpa_curve_fnr(curve, b) <=
                               x * (1 + 1e-13) + wobble(curve, dpa_curve_fnr, b) + 1e-15,
             "f(fpr(%.17g)) = %.17g", x, dpa_curve_fnr(curve, b));
        must(b == 0.0 || b < 1e-300 ||
                 dpa_curve_fnr(curve, b * (1 - 1e-9)) >= x * (1 - 1e-13) - 1e-15,
             "fpr(%g) = %g is not the smallest", x, b);
        if (dpa__curve_is_symmetric(curve))
            must(b == dpa_curve_fnr(curve, x), "asymmetric at %g", x);
    }
}

static void logarithms(const dpa_curve *curve, const char *name) {
    for (int i = 1; i < STEPS; ++i) {
        const double x = rate(i), y = dpa_curve_fnr(curve, x);
        const double got = dpa__curve_log_fnr(curve, log(x));
        const double slack = 1e-13 * (1 + fabs(log(x))) + wobble(curve, dpa_curve_fnr, x) / y;
        must(y < 1e-290 ? got <= log(1e-290) + 1 : fabs(got - log(y)) <= slack * (1 + fabs(got)),
             "log f(%g) = %.17g, f = %.17g", x, got, y);
    }
    must(dpa__curve_log_fnr(curve, 0.0) == -HUGE_VAL, "log f(1)");
    must(dpa__curve_log_fnr(curve, -1e5) <= 0.0, "log f of nearly nothing");
    must(!isnan(dpa__curve_log_fnr(curve, -HUGE_VAL)), "log f(0)");
}

static double epsilon_step(int i) {
    return i == 0 ? 0.0 : 1e-9 * pow(10.0, 0.25 * i); /* to 1e4 */
}

static void deltas(const dpa_curve *curve, const char *name) {
    double e0 = 0, d0 = 0, e1 = 0, d1 = 0;
    for (int i = 0; i <= 52; ++i) {
        const double epsilon = epsilon_step(i), log_delta = dpa__curve_log_delta(curve, epsilon);
        const double delta = dpa_curve_delta(curve, epsilon), e = expm1(epsilon);
        must(log_delta <= 0.0, "log delta(%g) = %g", epsilon, log_delta);
        must(i == 0 || delta <= d1 * (1 + 1e-12), "delta rises at %g", epsilon);
        if (i >= 2 && e < 1e100) {
            const double line = d0 + (delta - d0) * ((e1 - e0) / (e - e0));
            must(d1 <= line + 1e-11 * d0, "delta not convex in exp(epsilon) at %g: %.17g %.17g",
                 epsilon, d1, line);
        }
        e0 = e1, d0 = d1, e1 = e, d1 = delta;
    }
    must(dpa__curve_log_delta(curve, HUGE_VAL) <= 0.0, "delta(inf)");
}

/* ε(δ(ε)) = ε where δ falls, and never more than ε. */
static void epsilons(const dpa_curve *curve, const char *name) {
    for (int i = 0; i <= 52; ++i) {
        const double epsilon = epsilon_step(i), delta = dpa_curve_delta(curve, epsilon);
        const double back = dpa_curve_epsilon(curve, delta);
        if (delta == 0.0 || delta < 1e-290) continue;
        const double below = dpa_curve_delta(curve, epsilon * (1 - 1e-3));
        const double steep = (log(below) - log(delta)) / (1e-3 * epsilon); /* −d log δ/dε */
        const double slack =
            1e-16 + 1e-12 * epsilon + 4e-15 * (1 + fabs(log(delta))) / fmax(steep, 1e-300);
        must(back <= epsilon + slack, "epsilon(delta(%.17g)) = %.17g", epsilon, back);
        must(i == 0 || steep < 1e-9 || back >= epsilon - slack, "epsilon(delta(%.17g)) = %.17g",
             epsilon, back);
    }
    must(dpa_curve_epsilon(curve, 1.0) == 0.0, "epsilon(1)");
    must(dpa_curve_epsilon(curve, 0.0) >= 0.0, "epsilon(0)");
    double before = HUGE_VAL;
    for (double delta = 1e-300; delta < 1.0; delta *= 1e3) {
        const double epsilon = dpa_curve_epsilon(curve, delta);
        must(epsilon >= 0.0 && epsilon <= before * (1 + 1e-13), "epsilon(%g) = %g", delta, epsilon);
        before = epsilon;
    }
}

/* What a test with false positive rate 1/(1+e^−x) shows against (ε, ·), in both orientations. */
static double shown(const dpa_curve *curve, double e, double x, int backward) {
    const double a = 1 / (1 + exp(-x));
    if (backward) return 1 / (1 + exp(x)) - e * dpa_curve_fnr(curve, a);
    return dpa__curve_tpr(curve, a) - e * a;
}

static double most_shown(const dpa_curve *curve, double e, int backward) {
    enum { GRID = 1000 };
    const double width = 100.0 / GRID;
    double low = -50.0, best = -HUGE_VAL;
    for (int i = 0; i <= GRID; ++i) {
        const double x = -50.0 + width * i, value = shown(curve, e, x, backward);
        if (value > best) best = value, low = x - width;
    }
    double high = low + 2 * width;
    for (int i = 0; i < 80; ++i) { /* a concave function, so ternary search */
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        const double fa = shown(curve, e, a, backward), fb = shown(curve, e, b, backward);
        best = fmax(best, fmax(fa, fb));
        if (fa < fb)
            low = a;
        else
            high = b;
    }
    return best;
}

/* f and δ(ε) are Legendre transforms of each other: some α attains δ(ε), and none exceeds it. */
static void duality(const dpa_curve *curve, const char *name) {
    static const double points[] = {0.0, 1e-3, 0.1, 0.5, 1.0, 3.0, 8.0};
    for (size_t k = 0; k < sizeof points / sizeof *points; ++k) {
        const double e = exp(points[k]), delta = dpa_curve_delta(curve, points[k]);
        const double at_zero = dpa__curve_tpr(curve, 0.0);
        const double best = fmax(at_zero, fmax(most_shown(curve, e, 0), most_shown(curve, e, 1)));
        must(fabs(best - delta) <= 1e-9 * delta + 2e-16 * e, "delta(%g) = %.17g, attained %.17g",
             points[k], delta, best);
    }
}

static void every_shape(void **state) {
    (void)state;
    each(shape);
}
static void every_inverse(void **state) {
    (void)state;
    each(inverses);
}
static void every_logarithm(void **state) {
    (void)state;
    each(logarithms);
}
static void every_delta(void **state) {
    (void)state;
    each(deltas);
}
static void every_epsilon(void **state) {
    (void)state;
    each(epsilons);
}
static void every_duality(void **state) {
    (void)state;
    each(duality);
}

static void order(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; ++k)
        for (int level = 1; level < LEVELS; ++level) {
            const char *name = families[k].name;
            dpa_curve *more = families[k].make(level - 1), *less = families[k].make(level);
            for (int i = 0; i <= STEPS; ++i) {
                const double x = rate(i), a = dpa_curve_fnr(more, x), b = dpa_curve_fnr(less, x);
                must(b <= a * (1 + 1e-14), "level %d, f(%g): %.17g then %.17g", level, x, a, b);
            }
            dpa_curve_free(more);
            dpa_curve_free(less);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),     cmocka_unit_test(every_inverse),
        cmocka_unit_test(every_logarithm), cmocka_unit_test(every_delta),
        cmocka_unit_test(every_epsilon),   cmocka_unit_test(every_duality),
        cmocka_unit_test(order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
