/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error of Epsilon* by each method on pairs of loss laws at four sizes, and how often the
 * default's interval contains the truth. The test checks the promises on a small part; with an
 * argument (see main) it prints the tables of docs/coverage.md. */
#include "check.h"

#include <string.h>

#include "base/rng.h"
#include "estimate/losses/epsilon_star.h"
#include "math/dist.h"
#include "math/root.h"

static const double DELTA = 1e-5;

typedef enum kind {
    NORMAL,
    GAMMA,
    LOGNORMAL,
    EXPONENTIAL,
    STUDENT,
    LOGISTIC,
    LAPLACE,
    WEIBULL,
    GUMBEL,
    LOMAX,
    POWER,
    POISSON,
    MIXTURE
} kind;

/* Location and scale, or shape and scale; for powers of a uniform number the exponent; for Poisson
 * counts the mean; for a mixture the weight of N(−6, 1.5²) beside N(0, 4). */
typedef struct law {
    kind kind;
    double a, b;
} law;

typedef struct pair {
    const char *name;
    law train, heldout;
} pair;

static const pair PAIRS[] = {
    {"the same N(0,1)", {NORMAL, 0, 1}, {NORMAL, 0, 1}},
    {"the same Gamma(2)", {GAMMA, 2, 5}, {GAMMA, 2, 5}},
    {"N(0,1), N(1,1)", {NORMAL, 0, 1}, {NORMAL, 1, 1}},
    {"N(0,1), N(1,2.25)", {NORMAL, 0, 1}, {NORMAL, 1, 1.5}},
    {"Gamma(2), Gamma(3)", {GAMMA, 2, 5}, {GAMMA, 3, 5}},
    {"Gamma(2), Gamma(5)", {GAMMA, 2, 5}, {GAMMA, 5, 5}},
    {"lognormal, 0.7 apart", {LOGNORMAL, 0, 1}, {LOGNORMAL, 0.7, 1}},
    {"exponential, twice", {EXPONENTIAL, 0, 1}, {EXPONENTIAL, 0, 2}},
    {"Student 5, 1 apart", {STUDENT, 0, 1}, {STUDENT, 1, 1}},
    {"logistic, 1 apart", {LOGISTIC, -2, 1}, {LOGISTIC, -1, 1}},
    {"60% memorised, 10%", {MIXTURE, 0.6, 0}, {MIXTURE, 0.1, 0}},
    {"Poisson(3), Poisson(5)", {POISSON, 3, 0}, {POISSON, 5, 0}},
    /* added after all choices were made */
    {"Laplace, 1 apart", {LAPLACE, 0, 1}, {LAPLACE, 1, 1}},
    {"Weibull(2), 1.6 times", {WEIBULL, 2, 1}, {WEIBULL, 2, 1.6}},
    /* nine more, written down before any of them was tried */
    {"N(0,1), N(1,0.49)", {NORMAL, 0, 1}, {NORMAL, 1, 0.7}},
    {"exponential, Gamma(2)", {GAMMA, 1, 1}, {GAMMA, 2, 1}},
    {"lognormal, wider", {LOGNORMAL, 0, 1}, {LOGNORMAL, 0.5, 1.3}},
    {"logistic, wider", {LOGISTIC, 0, 1}, {LOGISTIC, 1, 1.5}},
    {"30% memorised, 5%", {MIXTURE, 0.3, 0}, {MIXTURE, 0.05, 0}},
    {"Weibull(0.7), twice", {WEIBULL, 0.7, 1}, {WEIBULL, 0.7, 2}},
    {"Gumbel, 1 apart", {GUMBEL, 0, 1}, {GUMBEL, 1, 1}},
    {"Lomax(3), twice", {LOMAX, 3, 1}, {LOMAX, 3, 2}},
    {"uniform squared, not", {POWER, 2, 1}, {POWER, 1, 1}},
};
enum {
    PAIR_COUNT = sizeof PAIRS / sizeof PAIRS[0],
    FRESH = 11,
    GAMMA_2_5 = 5,
    MEMORISED = 10,
    POISSONS = 11
};

static double gamma_draw(dpa_rng *rng, double shape) {
    double sum = 0.0;
    for (int i = 0; i < (int)shape; ++i) sum -= log(dpa__rng_uniform(rng));
    return sum;
}

static double poisson_draw(dpa_rng *rng, double mean) {
    double product = dpa__rng_uniform(rng), count = 0.0;
    for (; product > exp(-mean); ++count) product *= dpa__rng_uniform(rng);
    return count;
}

static double draw(const law *l, dpa_rng *rng) {
    double u;
    switch (l->kind) {
    case NORMAL:
        return l->a + l->b * dpa__rng_normal(rng);
    case GAMMA:
        return l->b * gamma_draw(rng, l->a);
    case LOGNORMAL:
        return exp(l->a + l->b * dpa__rng_normal(rng));
    case EXPONENTIAL:
        return -l->b * log(dpa__rng_uniform(rng));
    case STUDENT:
        u = dpa__rng_normal(rng);
        return l->a +
               u / sqrt(2.0 * (gamma_draw(rng, 2) + 0.5 * pow(dpa__rng_normal(rng), 2)) / 5.0);
    case LOGISTIC:
        u = dpa__rng_uniform(rng);
        return l->a + l->b * log(u / (1.0 - u));
    case LAPLACE:
        u = dpa__rng_uniform(rng);
        return l->a + l->b * (u < 0.5 ? log(2.0 * u) : -log(2.0 - 2.0 * u));
    case WEIBULL:
        return l->b * pow(-log(dpa__rng_uniform(rng)), 1.0 / l->a);
    case GUMBEL:
        return l->a - l->b * log(-log(dpa__rng_uniform(rng)));
    case LOMAX:
        return l->b * (pow(dpa__rng_uniform(rng), -1.0 / l->a) - 1.0);
    case POWER:
        return pow(dpa__rng_uniform(rng), l->a);
    case POISSON:
        return poisson_draw(rng, l->a);
    case MIXTURE:
        break;
    }
    return dpa__rng_uniform(rng) < l->a ? -6.0 + 1.5 * dpa__rng_normal(rng)
                                        : 2.0 * dpa__rng_normal(rng);
}

static double tail(const law *l, double x, dpa__tail which) {
    switch (l->kind) {
    case NORMAL:
        return dpa__norm_cdf((x - l->a) / l->b, which);
    case GAMMA:
        return dpa__gamma_cdf(x, l->a, l->b, which);
    case LOGNORMAL:
        return dpa__norm_cdf((log(fmax(x, 1e-300)) - l->a) / l->b, which);
    case EXPONENTIAL:
        return dpa__gamma_cdf(x, 1.0, l->b, which);
    case STUDENT:
        return dpa__t_cdf(x - l->a, 5.0, which);
    case LOGISTIC:
        return 1.0 / (1.0 + exp((which == DPA_LOWER ? -1.0 : 1.0) * (x - l->a) / l->b));
    case LAPLACE:
        x = (which == DPA_LOWER ? 1.0 : -1.0) * (x - l->a) / l->b;
        return x < 0.0 ? 0.5 * exp(x) : 1.0 - 0.5 * exp(-x);
    case WEIBULL:
        x = pow(x / l->b, l->a);
        return which == DPA_LOWER ? -expm1(-x) : exp(-x);
    case GUMBEL:
        x = exp(-(x - l->a) / l->b);
        return which == DPA_LOWER ? exp(-x) : -expm1(-x);
    case LOMAX:
        x = -l->a * log1p(x / l->b);
        return which == DPA_LOWER ? -expm1(x) : exp(x);
    case POWER:
        x = fmin(log(x) / l->a, 0.0);
        return which == DPA_LOWER ? exp(x) : -expm1(x);
    case POISSON: /* Pr[N ≤ x] = Pr[Gamma(x+1) > mean] */
        return dpa__gamma_cdf(l->a, floor(x) + 1.0, 1.0,
                              which == DPA_LOWER ? DPA_UPPER : DPA_LOWER);
    case MIXTURE:
        break;
    }
    return l->a * dpa__norm_cdf((x + 6.0) / 1.5, which) +
           (1.0 - l->a) * dpa__norm_cdf(x / 2.0, which);
}

/* Maximum of Eq. 7 over thresholds with all rates in (low, 1 − low), on successively finer
 * grids. */
static double ratio(const pair *p, double x, double low) {
    const double tpr = tail(&p->train, x, DPA_LOWER), fnr = tail(&p->train, x, DPA_UPPER);
    const double fpr = tail(&p->heldout, x, DPA_LOWER), tnr = tail(&p->heldout, x, DPA_UPPER);
    if (!(fmin(fmin(tpr, fnr), fmin(fpr, tnr)) > low)) return 1.0;
    return fmax(fmax((tpr - DELTA) / fpr, (tnr - DELTA) / fnr),
                fmax((fnr - DELTA) / tnr, (fpr - DELTA) / tpr));
}

static double truth(const pair *p, double low) {
    double best = 1.0, at = 0.0;
    static const int positive_laws = 1 << GAMMA | 1 << LOGNORMAL | 1 << EXPONENTIAL | 1 << WEIBULL |
                                     1 << LOMAX | 1 << POWER | 1 << POISSON;
    const int positive = positive_laws >> p->train.kind & 1;
    for (double u = -14.0; u <= 200.0; u += 1e-3) {
        const double x = positive ? exp(u) : u < 100.0 ? u : 1e9;
        const double r = ratio(p, x, low);
        if (!(r > best)) continue;
        best = r;
        at = u;
    }
    for (double step = 1e-5; step > 1e-11; step *= 1e-2) {
        const double centre = at;
        for (int i = -200; i <= 200; ++i) {
            const double u = centre + step * i, r = ratio(p, positive ? exp(u) : u, low);
            if (!(r > best)) continue;
            best = r;
            at = u;
        }
    }
    return log(best);
}

static dpa_losses sample(const pair *p, size_t n, uint64_t trial) {
    double *train = malloc(n * sizeof *train), *heldout = malloc(n * sizeof *heldout);
    dpa_losses l;
    dpa_rng rng;
    assert_true(train != NULL && heldout != NULL);
    dpa__rng_init(&rng, 900, DPA_PURPOSE_SIMULATE, trial);
    for (size_t i = 0; i < n; ++i) train[i] = draw(&p->train, &rng);
    for (size_t i = 0; i < n; ++i) heldout[i] = draw(&p->heldout, &rng);
    assert_ok(dpa__losses_new(train, n, heldout, n, &l, NULL));
    free(train);
    free(heldout);
    return l;
}

/* Root mean squared errors over the trials. */
enum { METHODS = 5, TESTED = 4 }; /* mixtures are slow */
static const char *const NAMES[METHODS] = {"binormal", "normal", "tail", "empirical", "mixture"};

/* NaN if the method refuses such losses. */
static double estimate(int method, const dpa_losses *l, const dpa_request *request) {
    dpa_star star = {0};
    dpa_loss_fit fit;
    dpa_binormal binormal;
    if (method == 0) {
        assert_ok(dpa__star_binormal(l, request, &binormal, NULL));
        star = binormal.star;
    } else if (method == 1) {
        assert_ok(dpa__fit_normal(l, DPA_TRANSFORM_PAPER, &fit, NULL));
        assert_ok(dpa__star_fitted(&fit, DELTA, &star, NULL));
    } else if (method == 2) {
        double lower, upper;
        if (dpa__star_tail(l, 0, request, &star, &lower, &upper, NULL) != DPA_OK) return NAN;
    } else if (method == 4) {
        dpa_mixture_opts opts;
        dpa__mixture_opts_init(&opts);
        assert_ok(dpa__fit_mixture(l, &opts, NULL, &fit, NULL));
        assert_ok(dpa__star_fitted(&fit, DELTA, &star, NULL));
    } else {
        assert_ok(dpa__star_empirical(l, DELTA, &star, NULL));
    }
    return star.epsilon;
}

static void errors(const pair *p, size_t n, uint64_t trials, double limit, int methods,
                   double *out) {
    dpa_request request;
    dpa__request_init(&request);
    for (int m = 0; m < METHODS; ++m) out[m] = 0.0;
    for (uint64_t t = 0; t < trials; ++t) {
        dpa_losses l = sample(p, n, t);
        for (int m = 0; m < methods; ++m) {
            const double off = estimate(m, &l, &request) - limit;
            out[m] += off * off / (double)trials;
        }
        dpa__losses_free(&l);
    }
    for (int m = 0; m < METHODS; ++m) out[m] = sqrt(out[m]);
}

/* Totals over the rows that a method can do. */
typedef struct total {
    double sum[METHODS], rows[METHODS];
} total;

static void add(total *t, const double *error, int methods) {
    for (int m = 0; m < methods; ++m) {
        if (isnan(error[m])) continue;
        t->sum[m] += error[m];
        t->rows[m] += 1.0;
    }
}

static void print_means(const char *of, const total *t) {
    (void)printf("| mean of %.0f%s | | |", t->rows[0], of);
    for (int m = 0; m < TESTED; ++m) (void)printf(" %.3f |", t->sum[m] / t->rows[m]);
    (void)printf(" |\n");
}

static void print_row(const char *name, size_t n, double limit, const double *e, int methods) {
    (void)printf("| %s | %zu | %.3f |", name, n, limit);
    for (int m = 0; m < METHODS; ++m) {
        if (m >= methods || isnan(e[m]))
            (void)printf(" |");
        else
            (void)printf(" %.3f |", e[m]);
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static void print_errors(uint64_t trials) {
    enum { SIZES = 4 };
    static const size_t sizes[SIZES] = {300, 1000, 10000, 100000};
    total all = {{0}, {0}}, fresh = {{0}, {0}};
    for (size_t i = 0; i < PAIR_COUNT; ++i) {
        const double limit = truth(&PAIRS[i], DELTA);
        for (int s = 0; s < SIZES; ++s) {
            double e[METHODS];
            const int methods = sizes[s] <= 1000 ? METHODS : TESTED;
            errors(&PAIRS[i], sizes[s], trials, limit, methods, e);
            print_row(PAIRS[i].name, sizes[s], limit, e, methods);
            add(&all, e, methods);
            if (i >= PAIR_COUNT - FRESH) add(&fresh, e, methods);
        }
    }
    print_means("", &all);
    print_means(" fresh", &fresh);
}

/* How often each end of the interval is on the right side of the truth, and the mean ends. */
typedef struct ends {
    double below, above, low, high;
} ends;

static ends intervals(const pair *p, size_t n, double limit, uint64_t trials) {
    dpa_request request;
    dpa_binormal b;
    ends out = {0, 0, 0, 0};
    dpa__request_init(&request);
    for (uint64_t t = 0; t < trials; ++t) {
        dpa_losses l = sample(p, n, t);
        request.seed = t + 1;
        assert_ok(dpa__star_binormal(&l, &request, &b, NULL));
        out.low += b.epsilon_lower / (double)trials;
        out.high += b.epsilon_upper / (double)trials;
        out.below += b.epsilon_lower <= limit + 1e-12;
        out.above += b.epsilon_upper >= limit - 1e-12;
        dpa__losses_free(&l);
    }
    return out;
}

static void print_coverage(uint64_t trials) {
    static const size_t sizes[] = {300, 1000, 10000};
    for (size_t i = 0; i < PAIR_COUNT; ++i) {
        const double limit = truth(&PAIRS[i], DELTA);
        for (int s = 0; s < 3; ++s) {
            const ends e = intervals(&PAIRS[i], sizes[s], limit, trials);
            (void)printf("| %s | %zu | %.3f | %.2f | %.2f | %.3f | %.3f |\n", PAIRS[i].name,
                         sizes[s], limit, 100.0 * e.below / (double)trials,
                         100.0 * e.above / (double)trials, e.low, e.high);
            (void)fflush(stdout);
        }
    }
}

/* On a small part of the table; the whole is in docs/coverage.md. */
static void at_most_half_of_normal(void **state) {
    (void)state;
    total all = {{0}, {0}};
    for (size_t i = 0; i < PAIR_COUNT; ++i) {
        double e[METHODS];
        errors(&PAIRS[i], 2000, 6, truth(&PAIRS[i], DELTA), TESTED, e);
        add(&all, e, TESTED);
    }
    for (int m = 0; m < TESTED; ++m) (void)printf("%s %.3f\n", NAMES[m], all.sum[m] / all.rows[m]);
    assert_true(all.sum[0] < 0.5 * all.sum[1]);
}

/* With few distinct losses an end has no line to extrapolate; its interval used to end at the
 * observed rates (30 of 100 contained the truth). */
static void intervals_hold_few_values(void **state) {
    (void)state;
    enum { TRIALS = 100, AT_LEAST = 93 };
    const pair *counts = &PAIRS[POISSONS];
    const ends few = intervals(counts, 300, truth(counts, DELTA), TRIALS);
    (void)printf("lower ends %.0f, upper ends %.0f of %d\n", few.below, few.above, TRIALS);
    assert_true(few.below >= AT_LEAST && few.above >= AT_LEAST);
    assert_true(few.low > 0.5 && few.high < 10.0); /* and are not trivial */
}

/* Curves that are not straight: a plateau, which the lower end used to overlook (87 of 100), and
 * one that bends beyond the last losses, where the upper end was too low (79). The limit is 97.5
 * minus three deviations. */
static void intervals_hold_bent_curves(void **state) {
    (void)state;
    enum { TRIALS = 100, AT_LEAST = 93 };
    const pair *plateau = &PAIRS[MEMORISED], *bent = &PAIRS[GAMMA_2_5];
    const ends few = intervals(plateau, 300, truth(plateau, DELTA), TRIALS);
    const ends many = intervals(plateau, 10000, truth(plateau, DELTA), TRIALS);
    const ends far = intervals(bent, 10000, truth(bent, DELTA), TRIALS);
    (void)printf("lower ends %.0f, %.0f, upper ends %.0f of %d\n", few.below, many.below, far.above,
                 TRIALS);
    assert_true(few.below >= AT_LEAST && many.below >= AT_LEAST && far.above >= AT_LEAST);
    assert_true(few.low > 0.5 && many.low > 1.5 && far.high < 10.0); /* and are not trivial */
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "errors") == 0) {
        print_errors((uint64_t)atol(argv[2]));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "intervals") == 0) {
        print_coverage((uint64_t)atol(argv[2]));
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_most_half_of_normal),
                                       cmocka_unit_test(intervals_hold_bent_curves),
                                       cmocka_unit_test(intervals_hold_few_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
