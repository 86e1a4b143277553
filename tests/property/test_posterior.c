/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joint posterior compared with slow, independent computations: quantiles by mpmath with 22
 * digits, F by a double integral in another parametrisation, the density by differences; up to 10⁹
 * runs per class, zero counts, δ from 0 to 0.5. */
#include "check.h"

#include "base/rng.h"
#include "estimate/rates/posterior.h"
#include "math/dist.h"
#include "math/quad.h"

/* Made by tests/property/posterior.py. */
static const struct {
    dpa_counts counts;
    double delta, p, epsilon;
} known[] = {
    {{0, 50, 0, 50}, 0, 0.05, 4.194052335809073},
    {{0, 1000, 0, 1000}, 1e-5, 0.05, 7.207210721302814},
    {{1, 0, 0, 1}, 0.1, 0.05, 0}, /* the atom at 0 holds more than 5% */
    {{3, 17, 0, 20}, 0.5, 0.05, 1.246650754244791},
    {{0, 30, 7, 23}, 1e-300, 0.01, 1.970464282209723},
    {{200, 300, 20, 480}, 1e-3, 0.001, 2.086287912006442},
    {{12, 8, 9, 11}, 0, 0.5, 0.2625967700432739},
    {{0, 20, 0, 20}, 1e-5, 0.95, 10.57670902528203},
};

static dpa__model model_of(const char *family, double delta) {
    dpa__model model;
    assert_ok(dpa__model_open(family, delta, &model, NULL));
    return model;
}

static void many_digits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const dpa__model model = model_of("dp", known[i].delta);
        const dpa__posterior posterior = dpa__posterior_of(&known[i].counts);
        double t, error;
        assert_ok(dpa__posterior_quantile(&posterior, &model, known[i].p, &t, &error, NULL));
        assert_absolute(t, known[i].epsilon, 1e-9);
        assert_between(error, 0, 1e-9);
        assert_true(fabs(t - known[i].epsilon) <= error + 1e-13);
    }
}

/* Computes F plainly, by one integral over logit(FPR); the inner limits are the two ends of the
 * region at that FPR. */
typedef struct slow {
    const dpa__posterior *posterior;
    double t, delta;
    int is_gaussian, is_laplace;
} slow;

static double lower_edge(const slow *s, double y, double rest) {
    if (s->is_gaussian) {
        const double z =
            y < 0.5 ? dpa__norm_quantile(y, DPA_UPPER) : dpa__norm_quantile(rest, DPA_LOWER);
        return dpa__norm_cdf(z - s->t, DPA_LOWER);
    }
    if (s->is_laplace) {
        const double e = exp(-s->t);
        return y < 0.5 * e ? 1 - y / e : y < 0.5 ? 0.25 * e / y : e * rest;
    }
    const double end = 1 - s->delta;
    return fmax(0, fmax(end - exp(s->t) * y, exp(-s->t) * (rest - s->delta)));
}

static double slow_integrand(double u, void *user) {
    const slow *s = user;
    const dpa__rate_law *x = &s->posterior->fnr, *law = &s->posterior->fpr;
    const double y = 1 / (1 + exp(-u)), rest = 1 / (1 + exp(u));
    const double log_pdf =
        y < 0.5 ? dpa__beta_log_pdf(y, law->a, law->b) : dpa__beta_log_pdf(rest, law->b, law->a);
    const double below = dpa__beta_cdf(lower_edge(s, y, rest), x->a, x->b, DPA_LOWER);
    const double above = dpa__beta_cdf(lower_edge(s, rest, y), x->b, x->a, DPA_LOWER);
    return exp(log_pdf + log(y) + log(rest)) * (1 - below - above);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double logit_of(double rate) {
    return log(rate) - log1p(-rate);
}

static double slow_mass(const dpa__posterior *posterior, double t, double delta, int family) {
    const int is_gaussian = family == 1;
    slow s = {posterior, t, delta, is_gaussian, family == 2};
    static const double level[] = {1e-17, 1e-9, 1e-4, 0.02, 0.2, 0.5, 0.8, 0.98};
    double breaks[128];
    size_t count = 0;
    for (size_t i = 0; i < 8; ++i) {
        const double low =
            dpa__beta_quantile(level[i], posterior->fpr.a, posterior->fpr.b, DPA_LOWER);
        const double high =
            dpa__beta_quantile(level[i], posterior->fpr.a, posterior->fpr.b, DPA_UPPER);
        breaks[count++] = logit_of(fmax(low, 1e-300));
        if (high < 1) breaks[count++] = logit_of(high);
    }
    const double first = breaks[0], last = breaks[1] > first ? breaks[1] : 40;
    /* kinks of dp, and where the edge crosses the bulk of the other law */
    const double end = 1 - delta, n = posterior->fnr.a + posterior->fnr.b;
    const double middle = posterior->fnr.a / n, deviation = sqrt(middle * (1 - middle) / n);
    double special[2 + 2 * 15 + 14] = {end / (1 + exp(t)), end};
    /* the region ends at `end` like a square root */
    for (int k = 1; k <= 14; ++k) special[31 + k] = end - pow(10, -k);
    static const double away[] = {-7, -5, -3, -2, -1, 0, 1, 2, 3, 5, 7, 12, 20, 35, 60};
    for (int j = -7; j <= 7; ++j) {
        const double x = middle + away[j + 7] * deviation;
        special[2 + 2 * (j + 7)] = exp(-t) * (end - x);
        special[3 + 2 * (j + 7)] = end - exp(t) * x;
        if (!is_gaussian || x <= 0 || x >= 1) continue;
        special[2 + 2 * (j + 7)] = dpa__norm_cdf(dpa__norm_quantile(x, DPA_UPPER) - t, DPA_LOWER);
        special[3 + 2 * (j + 7)] = 0;
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; ++i)
        for (int side = 0; side < 2; ++side) {
            const double rate = side ? 1 - special[i] : special[i];
            const double u = rate > 0 && rate < 1 ? logit_of(rate) : last;
            if (u > first && u < last) breaks[count++] = u;
        }
    qsort(breaks, count, sizeof *breaks, ascending);
    dpa__quad quad;
    (void)!dpa__integrate(slow_integrand, &s, breaks, count, 1e-12, 1e-12, 400000, &quad, NULL);
    return quad.value;
}

static void another_parametrisation(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 2);
    static const double deltas[] = {0, 1e-5, 0.01, 0.3, 0.5};
    for (int trial = 0; trial < 1500; ++trial) {
        uint64_t n[2], k[2];
        for (int c = 0; c < 2; ++c) {
            n[c] = 1 + (uint64_t)exp(20.7 * dpa__rng_uniform(&rng)); /* up to 10⁹ */
            const double share = dpa__rng_uniform(&rng);
            k[c] =
                dpa__rng_below(&rng, 4) == 0 ? 0 : (uint64_t)((double)n[c] * share * share * 0.6);
        }
        const dpa_counts counts = {k[0], n[0] - k[0], k[1], n[1] - k[1]};
        const dpa__posterior posterior = dpa__posterior_of(&counts);
        static const char *const families[] = {"dp", "gaussian", "laplace"};
        const int family = trial % 8 == 7 ? 2 : trial % 2;
        const double delta = family > 0 ? 0 : deltas[trial % 5];
        dpa__model model = model_of(families[family], delta);
        static const double levels[] = {0.025, 0.05, 0.975};
        for (int i = 0; i < 3; ++i) {
            double t, error;
            assert_ok(dpa__posterior_quantile(&posterior, &model, levels[i], &t, &error, NULL));
            if (!(error >= 0 && error <= 1e-9))
                fail_msg("error %g at fn %llu/%llu fp %llu/%llu delta %g", error,
                         (unsigned long long)k[0], (unsigned long long)n[0],
                         (unsigned long long)k[1], (unsigned long long)n[1], delta);
            if (t == 0) continue;
            double density;
            assert_ok(dpa__posterior_density(&posterior, &model, t, &density, NULL));
            const double off = (slow_mass(&posterior, t, delta, family) - levels[i]) / density;
            if (!(fabs(off) < 1e-9))
                fail_msg("t %.15g is off by %g: fn %llu/%llu fp %llu/%llu delta %g level %g", t,
                         off, (unsigned long long)k[0], (unsigned long long)n[0],
                         (unsigned long long)k[1], (unsigned long long)n[1], delta, levels[i]);
        }
        dpa__model_close(&model);
    }
}

static void density_is_the_derivative(void **state) {
    (void)state;
    const dpa_counts counts = {35, 65, 25, 75};
    const dpa__posterior posterior = dpa__posterior_of(&counts);
    static const char *const families[] = {"dp", "gaussian"};
    for (int f = 0; f < 2; ++f) {
        const dpa__model model = model_of(families[f], 0.05);
        for (double t = 0.2; t < 2; t += 0.3) {
            dpa__mass above, below;
            double density;
            assert_ok(dpa__posterior_mass(&posterior, &model, t + 1e-4, &above, NULL));
            assert_ok(dpa__posterior_mass(&posterior, &model, t - 1e-4, &below, NULL));
            assert_ok(dpa__posterior_density(&posterior, &model, t, &density, NULL));
            assert_absolute(density, (above.value - below.value) / 2e-4, 1e-6);
        }
    }
}

/* Exchanging the classes, or inverting the attack, changes nothing. */
static void symmetries(void **state) {
    (void)state;
    const dpa_counts counts[] = {{3, 40, 7, 90}, {7, 90, 3, 40}, {40, 3, 90, 7}};
    for (int f = 0; f < 2; ++f) {
        const dpa__model model = model_of(f ? "gaussian" : "dp", 0.001);
        double t[3], error;
        for (int i = 0; i < 3; ++i) {
            const dpa__posterior posterior = dpa__posterior_of(&counts[i]);
            assert_ok(dpa__posterior_quantile(&posterior, &model, 0.05, &t[i], &error, NULL));
        }
        assert_relative(t[1], t[0], 1e-9);
        assert_relative(t[2], t[0], 1e-9);
    }
}

/* The quick answer "F is above p" is never wrong, and is given often. */
static void surely_means_surely(void **state) {
    (void)state;
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    dpa_rng rng;
    size_t given = 0, due = 0;
    dpa__rng_init(&rng, 12, DPA_PURPOSE_TEST, 0);
    for (int turn = 0; turn < 600; ++turn) {
        dpa__model model = model_of(families[turn % 3], turn % 4 == 0 ? 0 : 1e-5);
        const uint64_t n = turn % 5 == 0 ? 3 : 10 + dpa__rng_below(&rng, 2000);
        const uint64_t fn = dpa__rng_below(&rng, n + 1), fp = dpa__rng_below(&rng, n + 1);
        const dpa_counts counts = {fn, n - fn, fp, n - fp};
        const dpa__posterior posterior = dpa__posterior_of(&counts);
        dpa__member member;
        dpa__mass mass;
        double near = 0; /* near the leak that the rates show */
        assert_ok(dpa__model_locate(&model, ((double)fn + 0.5) / ((double)n + 1),
                                    ((double)fp + 0.5) / ((double)n + 1), 0, &near, NULL));
        const double t = (near + 0.02) * (0.5 + dpa__rng_uniform(&rng));
        assert_ok(dpa__member_open(&model, t, &member, NULL));
        assert_ok(dpa__posterior_mass_in(&posterior, &member, &mass, NULL));
        for (double p = 0.01; p < 1; p *= 1.5) {
            const int sure = dpa__posterior_surely_holds(&posterior, &member, p);
            assert_true(!sure || mass.value > p);
            due += mass.value > p;
            given += (size_t)sure;
        }
        dpa__member_close(&member);
        dpa__model_close(&model);
    }
    print_message("of %zu masses above p, %zu are seen to be\n", due, given);
    assert_true(2 * given > due);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_digits),
        cmocka_unit_test(another_parametrisation),
        cmocka_unit_test(density_is_the_derivative),
        cmocka_unit_test(symmetries),
        cmocka_unit_test(surely_means_surely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
