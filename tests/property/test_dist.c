/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Identities between tails, between a distribution and its quantile, and between distributions, for
 * random arguments over the whole range that audits use. */
#include "check.h"

#include "base/rng.h"
#include "math/dist.h"
#include "math/logspace.h"

enum { ROUNDS = 5000 };

typedef struct draw {
    double a, b; /* shapes, 1/2 to 1e9 */
    double x;    /* in the bulk or a tail of Beta(a,b) */
    double p;    /* 1e-300 to 1 */
} draw;

static draw draw_next(dpa_rng *rng) {
    draw d;
    d.a = dpa__rng_uniform(rng) < 0.2 ? 0.5 : 0.5 * pow(2e9, dpa__rng_uniform(rng));
    d.b = dpa__rng_uniform(rng) < 0.2 ? 0.5 : 0.5 * pow(2e9, dpa__rng_uniform(rng));
    const double u = dpa__rng_uniform(rng), spread = 1 / sqrt(fmin(d.a, d.b) + 1);
    d.p = pow(10, -300 * u * u * u);
    d.x = fmin(d.a / (d.a + d.b) * exp(4 * spread * dpa__rng_normal(rng)), 1 - 1e-9);
    return d;
}

static void run(void (*check)(const draw *d)) {
    dpa_rng rng;
    dpa__rng_init(&rng, 77, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < ROUNDS; ++i) {
        const draw d = draw_next(&rng);
        check(&d);
    }
}

static void check_tails(const draw *d) {
    const double lower = dpa__beta_cdf(d->x, d->a, d->b, DPA_LOWER);
    const double upper = dpa__beta_cdf(d->x, d->a, d->b, DPA_UPPER);
    assert_absolute(lower + upper, 1, 4e-16);
    assert_relative(exp(dpa__beta_cdf(d->x, d->a, d->b, DPA_LOG_LOWER)), lower, 3e-13);
    assert_relative(exp(dpa__beta_cdf(d->x, d->a, d->b, DPA_LOG_UPPER)), upper, 3e-13);
    const double z = dpa__norm_quantile(d->p, DPA_UPPER);
    assert_relative(dpa__norm_cdf(z, DPA_UPPER), dpa__norm_cdf(-z, DPA_LOWER), 0);
    assert_relative(dpa__t_cdf(z, d->a, DPA_UPPER), dpa__t_cdf(-z, d->a, DPA_LOWER), 0);
}
static void tails(void **state) {
    (void)state;
    run(check_tails);
}

/* A quantile may be off by two doubles, which the density turns into a change of the level. */
static void check_level(double got, double p, double x, double log_pdf) {
    const double condition = x * exp(log_pdf) / p;
    assert_relative(got, p, 2e-13 + 1e-15 * condition);
}
static void check_inverse(const draw *d) {
    const dpa__tail sides[] = {DPA_LOWER, DPA_UPPER};
    for (int i = 0; i < 2; ++i) {
        const dpa__tail side = sides[i];
        const double x = dpa__beta_quantile(d->p, d->a, d->b, side);
        if (x > 1e-290 && x < 1) {
            check_level(dpa__beta_cdf(x, d->a, d->b, side), d->p, x,
                        dpa__beta_log_pdf(x, d->a, d->b));
        }
        const double z = dpa__norm_quantile(d->p, side);
        assert_relative(dpa__norm_cdf(z, side), d->p, 1e-15 * (1 + z * z));
        const double g = dpa__gamma_quantile(d->p, d->a, 3, side);
        if (g > 1e-290) {
            assert_relative(dpa__gamma_cdf(g, d->a, 3, side), d->p,
                            1e-12 + 1e-14 * (sqrt(d->a) + 40) * fabs(log(d->p) - 1));
        }
    }
}
static void inverse_of_inverse(void **state) {
    (void)state;
    run(check_inverse);
}

/* A higher level gives a higher limit, and the two ends of an interval are in order. */
static void check_order(const draw *d) {
    const double n = floor(d->a + d->b) + 1, k = floor(n * d->a / (d->a + d->b));
    const double p = fmin(d->p, 0.5);
    const double low = dpa__cp_lower(k, n, p), high = dpa__cp_upper(k, n, p);
    assert_true(low <= k / n && k / n <= high);
    assert_true(low <= dpa__cp_lower(k, n, 0.5) && high >= dpa__cp_upper(k, n, 0.5));
    assert_true(low <= dpa__jeffreys_lower(k, n, p) && dpa__jeffreys_upper(k, n, p) <= high);
    /* swapping success and failure mirrors the interval */
    assert_absolute(1 - dpa__cp_upper(n - k, n, p), low, 3e-16);
}
static void limits(void **state) {
    (void)state;
    run(check_order);
}

/* Sums the probabilities for Pr[B ≤ k]; Clopper–Pearson's limit is where that sum equals the
 * level. */
static void binomial(void **state) {
    (void)state;
    for (double n = 1; n <= 60; ++n) {
        for (double q = 0.03; q < 1; q += 0.13) {
            double sum = 0;
            for (double k = 0; k < n; ++k) {
                sum += exp(dpa__binom_log_pmf(k, n, q));
                assert_relative(dpa__binom_cdf(k, n, q, DPA_LOWER), sum, 1e-13);
                assert_absolute(dpa__binom_cdf(k, n, q, DPA_UPPER), 1 - sum, 1e-13);
                if (sum > 1e-3 && sum < 0.999) assert_relative(dpa__cp_upper(k, n, sum), q, 1e-11);
            }
        }
    }
}

/* Splitting an interval: Φ(c) − Φ(a) = (Φ(b) − Φ(a)) + (Φ(c) − Φ(b)). */
static void intervals(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 78, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < ROUNDS; ++i) {
        const double a = 30 * dpa__rng_normal(&rng);
        const double b = a + pow(10, 3 - 8 * dpa__rng_uniform(&rng));
        const double c = b + pow(10, 3 - 8 * dpa__rng_uniform(&rng));
        const double whole = dpa__norm_log_interval(a, c);
        const double parts =
            dpa__log_add(dpa__norm_log_interval(a, b), dpa__norm_log_interval(b, c));
        /* b and c are rounded: 1e-16·30 of intervals of 1e-5 */
        assert_absolute(parts, whole, 2e-13 + 1e-15 * fabs(whole));
        assert_absolute(dpa__norm_log_interval(-c, -a), whole, 1e-15 * fabs(whole));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),    cmocka_unit_test(inverse_of_inverse), cmocka_unit_test(limits),
        cmocka_unit_test(binomial), cmocka_unit_test(intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
