/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coverage by exact enumeration: every outcome of small audits on mechanisms of known leak,
 * weighted by its probability. Clopper–Pearson limits (fixed threshold) and the simultaneous band
 * must not exceed the truth more often than promised; the coverage of Jeffreys limits, of the joint
 * posterior and of the maximum over thresholds is only printed. `test_coverage_counts table` prints
 * docs/coverage.md.
 *
 * The attack sees a score with LEVELS values (a mechanism's output, cut into intervals), so an
 * outcome is a pair of multinomial counts. The bound of an outcome depends on (fn, fp) alone: one
 * table per method serves all mechanisms. */
#include "check.h"

#include "estimate/model.h"
#include "estimate/rates/berkjones.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/rates.h"
#include "estimate/scores.h"
#include "math/dist.h"

enum { MOST = 30, LEVELS = 3, OUTCOMES = 600 };

typedef enum method { CP, JEFFREYS, BAYES, SIMULTANEOUS, METHODS } method;

/* Lower bounds t for every (fn, fp) of n + n runs, at 95%. */
static double bound[METHODS][MOST + 1][MOST + 1];

static double rectangle(const dpa__model *model, dpa__limit limit, unsigned fn, unsigned fp,
                        unsigned n, double level) {
    const double x = dpa__rate_upper(limit, fn, n, level);
    const double y = dpa__rate_upper(limit, fp, n, level);
    double t = 0;
    if (x + y < 1) assert_ok(dpa__model_locate(model, x, y, -1, &t, NULL));
    return t;
}

static void fill_bounds(const dpa__model *model, unsigned n) {
    double gamma;
    assert_ok(dpa__berkjones_exact(n, -expm1(0.5 * log1p(-0.05)), &gamma, NULL));
    for (unsigned fn = 0; fn <= n; ++fn)
        for (unsigned fp = 0; fp <= n; ++fp) {
            const dpa_counts counts = {fn, n - fn, fp, n - fp};
            const dpa__posterior posterior = dpa__posterior_of(&counts);
            double error;
            bound[CP][fn][fp] = rectangle(model, DPA__CLOPPER_PEARSON, fn, fp, n, 0.025);
            bound[JEFFREYS][fn][fp] = rectangle(model, DPA__JEFFREYS, fn, fp, n, 0.025);
            bound[SIMULTANEOUS][fn][fp] = rectangle(model, DPA__CLOPPER_PEARSON, fn, fp, n, gamma);
            assert_ok(dpa__posterior_quantile(&posterior, model, 0.05, &bound[BAYES][fn][fp],
                                              &error, NULL));
        }
}

/* A mechanism as the attack sees it: probabilities of the levels, highest first, and its true t. */
typedef struct mechanism {
    double in[LEVELS], out[LEVELS];
    double truth;
} mechanism;

/* All ways to distribute n runs over the levels: errors below each threshold, and probability. */
typedef struct outcomes {
    unsigned count;
    unsigned above[OUTCOMES][LEVELS - 1]; /* runs at or above threshold k */
    double probability[OUTCOMES];
} outcomes;

static void enumerate(const double *p, unsigned n, outcomes *out) {
    out->count = 0;
    for (unsigned a = 0; a <= n; ++a)
        for (unsigned b = 0; a + b <= n; ++b) {
            const double log_ways =
                lgamma(n + 1.0) - lgamma(a + 1.0) - lgamma(b + 1.0) - lgamma(n - a - b + 1.0);
            double weight = exp(log_ways);
            weight *= pow(p[0], a) * pow(p[1], b) * pow(p[2], n - a - b);
            if (weight == 0) continue;
            out->above[out->count][0] = a;
            out->above[out->count][1] = a + b;
            out->probability[out->count++] = weight;
        }
}

/* Pr[the bound is at most the truth]; if `only` < 0, for the largest bound over all thresholds. */
static double coverage(method m, const mechanism *mech, unsigned n, int only) {
    static outcomes in, out;
    double wrong = 0;
    enumerate(mech->in, n, &in);
    enumerate(mech->out, n, &out);
    for (unsigned i = 0; i < in.count; ++i)
        for (unsigned j = 0; j < out.count; ++j) {
            int claims = 0;
            for (int k = 0; k < LEVELS - 1; ++k)
                if (only < 0 || only == k)
                    claims |=
                        bound[m][n - in.above[i][k]][out.above[j][k]] > mech->truth * (1 + 1e-9);
            if (claims) wrong += in.probability[i] * out.probability[j];
        }
    return 1 - wrong;
}

/* ── mechanisms ────────────────────────────────────────────────────────────────────────────── */

static mechanism cut(double (*tail)(double x, double t), double t, double low, double high) {
    mechanism m = {.truth = t};
    const double in[] = {tail(high - 1, t), tail(low - 1, t)};
    const double out[] = {tail(high, t), tail(low, t)};
    for (int k = 0; k < LEVELS; ++k) {
        m.in[k] = (k < 2 ? in[k] : 1) - (k > 0 ? in[k - 1] : 0);
        m.out[k] = (k < 2 ? out[k] : 1) - (k > 0 ? out[k - 1] : 0);
    }
    return m;
}

/* Upper tails of the noise on a statistic that the record moves by 1. */
static double gaussian_tail(double x, double mu) {
    return dpa__norm_cdf(mu * x, DPA_UPPER);
}

static double laplace_tail(double x, double epsilon) {
    return x < 0 ? 1 - 0.5 * exp(epsilon * x) : 0.5 * exp(-epsilon * x);
}

/* Two levels only: the middle one is empty. */
static mechanism response(double epsilon) {
    const double p = 1 / (1 + exp(-epsilon));
    return (mechanism){{p, 0, 1 - p}, {1 - p, 0, p}, epsilon};
}

typedef struct scenario {
    const char *name, *family;
    double delta;
    size_t count;
    mechanism items[32];
} scenario;

static void build(scenario *s, size_t which) {
    static const double t[] = {0.1, 0.5, 1, 1.5, 2, 3, 4};
    static const double cuts[][2] = {{0.2, 0.8}, {-0.5, 1.5}, {0.5, 1.2}};
    *s = (scenario){.name = which == 0   ? "randomized response"
                            : which == 1 ? "Laplace noise"
                            : which == 2 ? "Laplace noise"
                                         : "Gaussian noise",
                    .family = which < 2    ? "dp"
                              : which == 2 ? "laplace"
                                           : "gaussian"};
    for (size_t i = 0; i < 7; ++i) {
        if (which == 0) s->items[s->count++] = response(t[i]);
        for (size_t c = 0; which > 0 && c < 3; ++c)
            s->items[s->count++] =
                cut(which == 3 ? gaussian_tail : laplace_tail, t[i], cuts[c][0], cuts[c][1]);
    }
}

/* The least coverage over the mechanisms of a scenario and, for a fixed threshold, over the
 * thresholds. */
static double least(const scenario *s, method m, unsigned n, int is_fixed) {
    double low = 1;
    for (size_t i = 0; i < s->count; ++i)
        for (int k = is_fixed ? 0 : -1; k < (is_fixed ? LEVELS - 1 : 0); ++k)
            low = fmin(low, coverage(m, &s->items[i], n, k));
    return low;
}

/* ── no leak at all, scores without ties: every order of the 2n runs is equally likely ──────────
 */

/* Share of orders for which no threshold claims t > 0: lattice paths that avoid all claims. */
static double null_coverage(method m, unsigned n) {
    static double paths[MOST + 1][MOST + 1];
    for (unsigned tp = 0; tp <= n; ++tp)
        for (unsigned fp = 0; fp <= n; ++fp) {
            double ways = tp + fp == 0;
            if (tp > 0) ways += paths[tp - 1][fp] * tp / (tp + fp);
            if (fp > 0) ways += paths[tp][fp - 1] * fp / (tp + fp);
            paths[tp][fp] = bound[m][n - tp][fp] > 0 ? 0 : ways;
        }
    return paths[n][n]; /* each step scaled so that all paths together weigh 1 */
}

static const unsigned sizes[] = {10, 20, 30};

typedef void (*visit)(const scenario *s, unsigned n, const double *fixed, const double *all,
                      const double *null);

static void for_all(visit call) {
    for (size_t which = 0; which < 4; ++which) {
        static scenario s;
        dpa__model model;
        build(&s, which);
        assert_ok(dpa__model_open(s.family, s.delta, &model, NULL));
        for (size_t i = 0; i < 3; ++i) {
            double fixed[METHODS], all[METHODS], null[METHODS];
            fill_bounds(&model, sizes[i]);
            for (int m = 0; m < METHODS; ++m) {
                fixed[m] = least(&s, (method)m, sizes[i], 1);
                all[m] = least(&s, (method)m, sizes[i], 0);
                null[m] = null_coverage((method)m, sizes[i]);
            }
            call(&s, sizes[i], fixed, all, null);
        }
        dpa__model_close(&model);
    }
}

static void check_row(const scenario *s, unsigned n, const double *fixed, const double *all,
                      const double *null) {
    print_message(
        "%-20s %-9s n=%u  fixed cp %.4f jeffreys %.4f bayes %.4f | all: simultaneous %.4f "
        "max cp %.4f jeffreys %.4f bayes %.4f | no leak: %.4f %.4f %.4f %.4f\n",
        s->name, s->family, n, fixed[CP], fixed[JEFFREYS], fixed[BAYES], all[SIMULTANEOUS], all[CP],
        all[JEFFREYS], all[BAYES], null[SIMULTANEOUS], null[CP], null[JEFFREYS], null[BAYES]);
    assert_true(fixed[CP] >= 0.95 - 1e-12);
    assert_true(all[SIMULTANEOUS] >= 0.95 - 1e-12);
    assert_true(null[SIMULTANEOUS] >= 0.95 - 1e-12);
    /* the enumeration can detect a failure: the posterior has one */
    assert_true(null[BAYES] < 0.95);
}

static void table_row(const scenario *s, unsigned n, const double *fixed, const double *all,
                      const double *null) {
    (void)printf("| %s | %s | %u |", s->name, s->family, n);
    for (int m = 0; m < SIMULTANEOUS; ++m) (void)printf(" %.2f |", 100 * fixed[m]);
    (void)printf(" %.2f |", 100 * all[SIMULTANEOUS]);
    for (int m = 0; m < SIMULTANEOUS; ++m) (void)printf(" %.2f |", 100 * all[m]);
    (void)printf(" %.2f |", 100 * null[SIMULTANEOUS]);
    for (int m = 0; m < SIMULTANEOUS; ++m) (void)printf(" %.2f |", 100 * null[m]);
    (void)printf("\n");
}

static void exact_coverage(void **state) {
    (void)state;
    for_all(check_row);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        for_all(table_row);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact_coverage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
