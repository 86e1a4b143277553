/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon*: the sweep against counting at every threshold, the supremum against a scan of 10⁷
 * thresholds, extremes, bootstrap on any number of threads, summaries. */
#include "check.h"

#include "base/rng.h"
#include "estimate/losses/epsilon_star.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

static dpa_losses make(const double *train, size_t n, const double *heldout, size_t m) {
    dpa_losses l;
    assert_ok(dpa__losses_new(train, n, heldout, m, &l, NULL));
    return l;
}

static dpa_losses normals(size_t n, size_t m, double shift, double scale, uint64_t seed) {
    double *a = malloc(n * sizeof *a), *b = malloc(m * sizeof *b);
    assert_true(a != NULL && b != NULL);
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < n; ++i) a[i] = dpa__rng_normal(&rng);
    for (size_t i = 0; i < m; ++i) b[i] = shift + scale * dpa__rng_normal(&rng);
    const dpa_losses l = make(a, n, b, m);
    free(a);
    free(b);
    return l;
}

static double count_upto(const double *x, size_t n, double threshold) {
    double k = 0;
    for (size_t i = 0; i < n; ++i) k += x[i] <= threshold;
    return k;
}

/* Eq. 7 taken literally, at every loss of either side. */
static double obvious(const dpa_losses *l, double delta) {
    double best = 1.0;
    for (int side = 0; side < 2; ++side)
        for (size_t i = 0; i < (side ? l->heldout_count : l->train_count); ++i) {
            const double tau = side ? l->heldout[i] : l->train[i];
            const double t =
                count_upto(l->heldout, l->heldout_count, tau) / (double)l->heldout_count;
            const double eta =
                ((double)l->train_count - count_upto(l->train, l->train_count, tau)) /
                (double)l->train_count; /* 1 − 0.999 is not 0.001 */
            if (!(t > 0.001 && t < 0.999 && eta > 0.001 && eta < 0.999)) continue;
            best = fmax(best, fmax(fmax((1 - delta - eta) / t, (1 - delta - t) / eta),
                                   fmax((eta - delta) / (1 - t), (t - delta) / (1 - eta))));
        }
    return log(best);
}

static void sweep_is_counting(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        dpa_losses l = normals(400 + 13 * seed, 311 + 7 * seed, 0.05 * (double)seed - 0.5,
                               1.0 + 0.05 * (double)(seed % 7), seed);
        if (seed % 3 == 0) /* ties within and between */
            for (size_t i = 0; i < l.train_count; ++i) l.train[i] = floor(4.0 * l.train[i]);
        if (seed % 3 == 0)
            for (size_t i = 0; i < l.heldout_count; ++i) l.heldout[i] = floor(4.0 * l.heldout[i]);
        dpa_star star;
        const double delta = seed % 2 ? 1e-5 : 0.02;
        assert_ok(dpa__star_empirical(&l, delta, &star, NULL));
        assert_absolute(star.epsilon, obvious(&l, delta), 1e-12);
        if (star.ratio != DPA_STAR_NONE) {
            const dpa__rates4 r = {1.0 - star.fnr, star.fnr, star.fpr, 1.0 - star.fpr};
            assert_absolute(log(dpa__star_ratio_of(&r, delta, star.ratio)), star.epsilon, 1e-12);
            assert_relative(star.fpr,
                            count_upto(l.heldout, l.heldout_count, star.threshold) /
                                (double)l.heldout_count,
                            1e-15);
        }
        dpa__losses_free(&l);
    }
}

/* The paper's interval is open: a rate of 1 in 1000 is not inside. By hand: train 0,…; held-out
 * shifted by two places, so t = (k−2)/1000 if TPR = k/1000, and the best one kept is k=4: 4/2. */
static void ends_of_the_interval(void **state) {
    (void)state;
    double a[1000], b[1000];
    for (int i = 0; i < 1000; ++i) {
        a[i] = i;
        b[i] = i + 1.5;
    }
    dpa_losses l = make(a, 1000, b, 1000);
    dpa_star star;
    assert_ok(dpa__star_empirical(&l, 0.0, &star, NULL));
    assert_relative(star.epsilon, log(4.0 / 2.0), 1e-14);
    assert_false(star.clamped);
    assert_int_equal(dpa__star_empirical(&l, 1.0, &star, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__star_empirical(&l, NAN, &star, NULL), DPA_BAD_ARGUMENT);
    dpa__losses_free(&l);
}

static void transform(void **state) {
    (void)state;
    /* the four steps, one after the other */
    for (double x = 0.0; x <= 1.0; x += 0.125) {
        const double p = exp(-(x + 1.0));
        assert_relative(dpa__loss_transform(3.0 + 5.0 * x, 3.0, 8.0), log(p) - log(1.0 - p), 1e-14);
        assert_absolute(
            dpa__loss_untransform(dpa__loss_transform(3.0 + 5.0 * x, 3.0, 8.0), 3.0, 8.0),
            3.0 + 5.0 * x, 1e-13);
    }
    assert_relative(dpa__loss_transform(3.0, 3.0, 8.0), -log(expm1(1.0)), 1e-15);
    assert_true(dpa__loss_transform(HUGE_VAL, 0, 1) == dpa__loss_transform(1, 0, 1));
    assert_true(dpa__loss_transform(-HUGE_VAL, 0, 1) == dpa__loss_transform(0, 0, 1));
    assert_true(isnan(dpa__loss_transform(NAN, 0, 1)));
    assert_relative(dpa__loss_transform(0.0, -1.7e308, 1.7e308), -log(expm1(1.5)), 1e-15);
}

static dpa_loss_fit pair(double mt, double st, double mh, double sh) {
    dpa_loss_fit fit = {.low = 0.0, .high = 1.0};
    fit.train = (dpa_mixture){.count = 1, .weight = {1}, .mean = {mt}, .deviation = {st}};
    fit.heldout = (dpa_mixture){.count = 1, .weight = {1}, .mean = {mh}, .deviation = {sh}};
    return fit;
}

/* Supremum for two normals with rates in (δ,1−δ), by mpmath with 30 digits (dense scan, then golden
 * section, ends of the interval from erfinv). */
static void known_suprema(void **state) {
    (void)state;
    static const struct {
        double mt, st, mh, sh, delta, epsilon;
        dpa_star_ratio ratio;
    } row[] = {
        {1.0, 1.0, 0.0, 1.0, 1e-5, 3.9844021542439183, DPA_STAR_TPR_FPR},
        {0.5, 1.0, 0.0, 1.0, 1e-5, 1.9930914044151196, DPA_STAR_TPR_FPR},
        {0.1, 1.0, 0.0, 1.0, 1e-3, 0.19753397323971044, DPA_STAR_TNR_FNR},
        {0.0, 1.0, 0.0, 1.3, 1e-5, 3.92745574673634, DPA_STAR_TNR_FNR},
        {0.0, 1.3, 0.0, 1.0, 1e-5, 3.92745574673634, DPA_STAR_TPR_FPR},
        {-0.7, 0.9, 0.0, 1.0, 1e-6, 5.1478578772635469, DPA_STAR_FPR_TPR},
        {3.0, 1.0, 0.0, 1.0, 1e-5, 9.2393673722940353, DPA_STAR_TPR_FPR},
        {0.2, 0.2, 0.0, 1.0, 0.01, 3.6516989994364301, DPA_STAR_TNR_FNR},
        {0.01, 1.0, 0.0, 1.0, 0.1, 0.0, DPA_STAR_NONE},
        {-1.0, 0.3, -1.1, 0.31, 1e-9, 2.9985834760490262, DPA_STAR_TNR_FNR},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
        const dpa_loss_fit fit = pair(row[i].mt, row[i].st, row[i].mh, row[i].sh);
        dpa_star star;
        double all, error;
        assert_ok(dpa__star_fitted(&fit, row[i].delta, &star, NULL));
        assert_absolute(star.epsilon, row[i].epsilon, 1e-11);
        /* pairs with a symmetry have two suprema of the same height */
        if (row[i].st != row[i].sh && row[i].mt != row[i].mh)
            assert_int_equal(star.ratio, row[i].ratio);
        assert_ok(dpa__fit_epsilon(&fit, row[i].delta, &all, &error, NULL));
        assert_true(all >= star.epsilon - 1e-9); /* thresholds are events too */
        assert_relative(
            all,
            dpa__two_gaussians_epsilon(row[i].mt, row[i].st, row[i].mh, row[i].sh, row[i].delta),
            1e-12);
    }
}

/* 10⁷ thresholds between the ends of the interval; the resolution of the scan is far below 1e-9,
 * except if the optimum is exactly at an end. */
static void scan_of_all_thresholds(void **state) {
    (void)state;
    enum { STEPS = 10000000 };
    const double delta = 1e-5, z = dpa__norm_quantile(delta, DPA_UPPER);
    const double m = -1.2, s = 0.21, w = -1.35, v = 0.24;
    const double low = fmax(m - z * s, w - z * v), high = fmin(m + z * s, w + z * v);
    double best = 1.0;
    for (int i = 0; i <= STEPS; ++i) {
        const double c = low + (high - low) * i / STEPS;
        const double x = (c - m) / s * M_SQRT1_2, y = (c - w) / v * M_SQRT1_2;
        const double tpr = 0.5 * erfc(x), fpr = 0.5 * erfc(y);
        const double fnr = 0.5 * erfc(-x), tnr = 0.5 * erfc(-y);
        best = fmax(best, fmax(fmax((tpr - delta) / fpr, (tnr - delta) / fnr),
                               fmax((fnr - delta) / tnr, (fpr - delta) / tpr)));
    }
    const dpa_loss_fit fit = pair(m, s, w, v);
    dpa_star star;
    assert_ok(dpa__star_fitted(&fit, delta, &star, NULL));
    assert_absolute(star.epsilon, log(best), 1e-9);
}

static void fit_is_mean_and_deviation(void **state) {
    (void)state;
    const double a[] = {0.0, 1.0, 2.0}, b[] = {1.0, 4.0};
    dpa_losses l = make(a, 3, b, 2);
    dpa_loss_fit fit;
    double phi[3], mean = 0.0, square = 0.0;
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_true(fit.low == 0.0 && fit.high == 4.0);
    for (int i = 0; i < 3; ++i) mean += (phi[i] = dpa__loss_transform(a[i], 0.0, 4.0)) / 3.0;
    for (int i = 0; i < 3; ++i) square += (phi[i] - mean) * (phi[i] - mean) / 3.0;
    assert_relative(fit.train.mean[0], mean, 1e-14);
    assert_relative(fit.train.deviation[0], sqrt(square), 1e-14);
    dpa__losses_free(&l);
}

static void identical(void **state) {
    (void)state;
    dpa_losses l = normals(1000, 1, 0.0, 1.0, 3);
    dpa_losses same = make(l.train, 1000, l.train, 1000);
    dpa_loss_fit fit;
    dpa_star star;
    double all, error;
    assert_ok(dpa__star_empirical(&same, 1e-5, &star, NULL));
    assert_true(star.epsilon == 0.0 && star.ratio == DPA_STAR_NONE && isnan(star.threshold));
    assert_ok(dpa__fit_normal(&same, DPA_TRANSFORM_PAPER, &fit, NULL));
    for (int i = 0; i < 2; ++i) {
        assert_ok(dpa__star_fitted(&fit, i ? 0.0 : 1e-5, &star, NULL));
        assert_true(star.epsilon == 0.0);
        assert_ok(dpa__fit_epsilon(&fit, i ? 0.0 : 1e-5, &all, &error, NULL));
        assert_true(all == 0.0);
    }
    assert_ok(dpa__star_lower(&same, 1e-5, 0.95, 0, &star, NULL));
    assert_true(star.epsilon == 0.0);
    dpa__losses_free(&same);
    dpa__losses_free(&l);
}

/* A perfect attack must not give 0 because every threshold was excluded. */
static void disjoint(void **state) {
    (void)state;
    dpa_losses l = normals(1000, 1000, 1000.0, 1.0, 4);
    dpa_loss_fit fit;
    dpa_star star;
    assert_ok(dpa__star_empirical(&l, 1e-5, &star, NULL));
    assert_true(star.clamped);
    assert_relative(star.epsilon, log((0.999 - 1e-5) / 0.001), 1e-12);
    assert_true(star.fpr == 0.0 && star.fnr == 0.0);
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_ok(dpa__star_fitted(&fit, 1e-5, &star, NULL));
    assert_true(star.clamped);
    assert_relative(star.epsilon, log((1.0 - 2e-5) / 1e-5), 1e-9);
    assert_ok(dpa__star_lower(&l, 1e-5, 0.95, 0, &star, NULL));
    assert_between(star.epsilon, 4.5, 6.9);
    assert_ok(dpa__star_lower(&l, 1e-5, 0.95, 1, &star, NULL));
    /* Definition 1 says infinite, as for every finite training set; ten training losses count */
    assert_relative(star.epsilon, log((0.99 - 1e-5) / (1.0 - pow(0.00121695, 1e-3))), 1e-3);
    dpa__losses_free(&l);
}

/* n losses on each side, fully separated: both limits follow from the level γ of the band at 5% for
 * each side (../shared/methods.md, section 4: n = 10, 100, 1000). If all n are at or below, the
 * rate is at least γ^(1/n). */
static void lower_bound_of_samples_apart(void **state) {
    (void)state;
    static const struct {
        int n;
        double gamma;
    } row[] = {{10, 0.00794338}, {100, 0.00246093}, {1000, 0.00121695}};
    static double a[1000], b[1000];
    for (int i = 0; i < 1000; ++i) {
        a[i] = i;
        b[i] = 5000 + i;
    }
    for (int i = 0; i < 3; ++i) {
        const double limit = pow(row[i].gamma, 1.0 / row[i].n), delta = 1e-5;
        dpa_losses l = make(a, (size_t)row[i].n, b, (size_t)row[i].n);
        dpa_star star;
        assert_ok(dpa__star_lower(&l, delta, 0.9, 0, &star, NULL));
        const double epsilon = log((limit - delta) / (1.0 - limit));
        /* levels of large samples come from a table that is rounded to the safe side */
        assert_between(star.epsilon, epsilon - (row[i].n < 1000 ? 1e-6 : 2e-3), epsilon + 1e-6);
        dpa__losses_free(&l);
    }
}

static void no_spread(void **state) {
    (void)state;
    const double one = 1.0, other = 2.0, flat[] = {1, 1, 1}, some[] = {1, 2, 3};
    const double far[] = {-HUGE_VAL, HUGE_VAL};
    dpa_losses l = make(&one, 1, &other, 1);
    dpa_loss_fit fit;
    dpa_star star;
    dpa_error err;
    assert_ok(dpa__star_empirical(&l, 1e-5, &star, NULL)); /* one point each */
    assert_true(star.clamped && star.epsilon > 6.9);
    assert_int_equal(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "training losses do not vary"));
    assert_ok(dpa__star_lower(&l, 1e-5, 0.95, 0, &star, NULL));
    assert_true(star.epsilon == 0.0);
    dpa__losses_free(&l);
    l = make(flat, 3, flat, 3);
    assert_ok(dpa__star_empirical(&l, 1e-5, &star, NULL));
    assert_true(star.epsilon == 0.0);
    assert_int_equal(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "all finite losses are equal"));
    dpa__losses_free(&l);
    l = make(some, 3, flat, 3);
    assert_int_equal(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "held-out"));
    dpa__losses_free(&l);
    l = make(far, 2, far, 2); /* nothing finite at all */
    assert_ok(dpa__star_empirical(&l, 1e-5, &star, NULL));
    assert_true(star.epsilon == 0.0);
    assert_int_equal(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, &err), DPA_BAD_INPUT);
    dpa__losses_free(&l);
}

static void infinite_losses(void **state) {
    (void)state;
    dpa_losses l = normals(2000, 2000, 0.5, 1.0, 5);
    l.train[0] = -HUGE_VAL;
    l.heldout[1999] = HUGE_VAL;
    dpa_loss_fit fit;
    dpa_star star;
    assert_ok(dpa__star_empirical(&l, 1e-5, &star, NULL));
    assert_absolute(star.epsilon, obvious(&l, 1e-5), 1e-12);
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_true(isfinite(fit.low) && isfinite(fit.high) && isfinite(fit.train.mean[0]));
    dpa__losses_free(&l);
}

static void delta_at_its_ends(void **state) {
    (void)state;
    const dpa_loss_fit fit = pair(0.5, 1.0, 0.0, 1.0);
    dpa_star star;
    double all, error;
    assert_ok(dpa__star_fitted(&fit, 0.0, &star, NULL));
    assert_true(star.epsilon == HUGE_VAL);
    assert_ok(dpa__fit_epsilon(&fit, 0.0, &all, &error, NULL));
    assert_true(all == HUGE_VAL);
    assert_ok(dpa__star_fitted(&fit, 0.6, &star, NULL));
    assert_true(star.epsilon == 0.0);
    assert_ok(dpa__star_fitted(&fit, 1e-300, &star, NULL));
    /* near t = δ: about the log ratio of the tails there */
    assert_between(star.epsilon, 17.0, 19.0);
    assert_int_equal(dpa__star_fitted(&fit, -1e-9, &star, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__fit_epsilon(&fit, 1.0, &all, &error, NULL), DPA_BAD_ARGUMENT);
}

static void bootstrap_is_the_same_on_any_threads(void **state) {
    (void)state;
    static const char *const method[] = {"empirical", "normal", "mixture"};
    dpa_losses l = normals(500, 400, 0.7, 1.1, 6);
    dpa_loss_fit fit;
    dpa_mixture_opts opts;
    dpa_request request;
    dpa__request_init(&request);
    dpa__mixture_opts_init(&opts);
    opts.components = 2;
    for (int i = 0; i < 3; ++i) {
        double lower[3], upper[3];
        dpa_star star;
        assert_ok(i == 2 ? dpa__fit_mixture(&l, &opts, NULL, &fit, NULL)
                         : dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
        assert_ok(i == 0 ? dpa__star_empirical(&l, 1e-5, &star, NULL)
                         : dpa__star_fitted(&fit, 1e-5, &star, NULL));
        for (unsigned t = 0; t < 3; ++t) {
            request.threads = 1 + 2 * t;
            assert_ok(
                dpa__star_bootstrap(&l, method[i], &fit, 60, &request, &lower[t], &upper[t], NULL));
            assert_true(lower[t] == lower[0] && upper[t] == upper[0]);
        }
        assert_true(lower[0] < star.epsilon && star.epsilon < upper[0]);
        request.seed += 1;
    }
    double a, b;
    assert_int_equal(dpa__star_bootstrap(&l, "jackknife", &fit, 9, &request, &a, &b, NULL),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__star_bootstrap(&l, "normal", NULL, 9, &request, &a, &b, NULL),
                     DPA_BAD_ARGUMENT);
    dpa__losses_free(&l);
}

static int stop(void *user, const char *what, double done, double total) {
    (void)user;
    (void)what;
    return done > 0.1 * total;
}

static void bootstrap_stops(void **state) {
    (void)state;
    dpa_losses l = normals(500, 400, 0.7, 1.1, 7);
    dpa_request request;
    double a, b;
    dpa__request_init(&request);
    request.progress.call = stop;
    assert_int_equal(dpa__star_bootstrap(&l, "empirical", NULL, 500, &request, &a, &b, NULL),
                     DPA_CANCELLED);
    dpa__losses_free(&l);
}

static void summary(void **state) {
    (void)state;
    const double e[] = {0.5, 1.0, 3.0}, far[] = {700.0, 800.0}, bad[] = {1.0, NAN};
    const double infinite[] = {1.0, HUGE_VAL};
    dpa_star_summary s;
    assert_ok(dpa__star_summarise(e, 3, &s, NULL));
    assert_relative(s.mean, 1.5, 1e-15);
    assert_true(s.lowest == 0.5 && s.highest == 3.0);
    assert_relative(s.log_mean_exp, log((exp(0.5) + exp(1.0) + exp(3.0)) / 3.0), 1e-15);
    assert_ok(dpa__star_summarise(far, 2, &s, NULL));
    assert_relative(s.log_mean_exp, 800.0 - M_LN2, 1e-15);
    assert_ok(dpa__star_summarise(infinite, 2, &s, NULL));
    assert_true(s.mean == HUGE_VAL && s.log_mean_exp == HUGE_VAL);
    assert_int_equal(dpa__star_summarise(bad, 2, &s, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__star_summarise(e, 0, &s, NULL), DPA_BAD_ARGUMENT);
}

static void results_and_refusals(void **state) {
    (void)state;
    dpa_losses l = normals(2000, 2000, 0.5, 1.0, 8);
    const double flat[] = {1, 1};
    dpa_losses constant = make(flat, 2, flat, 2);
    dpa_star_opts opts;
    dpa_request request;
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa_error err;
    dpa__star_opts_init(&opts);
    dpa__request_init(&request);
    opts.bootstrap = 20;
    assert_ok(dpa__star_results(&l, &opts, &request, &results, &lints, &err));
    assert_int_equal(results.count, 6);
    for (size_t i = 0; i < results.count; ++i) {
        const dpa_result *r = &results.items[i];
        assert_non_null(strstr(r->note, "does not bound"));
        assert_true(r->assumptions & DPA_ASSUME_ONE_INSTANCE);
        assert_true(r->extra_count <= DPA_EXTRA_COUNT);
        assert_int_equal(r->kind, strcmp(r->method, "simultaneous") ? DPA_ESTIMATE : DPA_BOUND);
    }
    const size_t before = lints.count;
    assert_ok(dpa__star_results(&constant, &opts, &request, &results, &lints, &err));
    assert_int_equal(results.count, 9); /* binormal, empirical, simultaneous; the fits are lints */
    assert_true(lints.count >= before + 4);
    (void)snprintf(request.method, sizeof request.method, "normal");
    assert_int_equal(dpa__star_results(&constant, &opts, &request, &results, &lints, &err),
                     DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "all finite losses are equal"));
    (void)snprintf(request.method, sizeof request.method, "kernel");
    assert_int_equal(dpa__star_results(&l, &opts, &request, &results, &lints, &err),
                     DPA_BAD_ARGUMENT);
    (void)snprintf(request.method, sizeof request.method, "mixture");
    opts.mixture.components = 21;
    assert_int_equal(dpa__star_results(&l, &opts, &request, &results, &lints, &err),
                     DPA_BAD_ARGUMENT);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__losses_free(&constant);
    dpa__losses_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_is_counting),
        cmocka_unit_test(ends_of_the_interval),
        cmocka_unit_test(transform),
        cmocka_unit_test(known_suprema),
        cmocka_unit_test(scan_of_all_thresholds),
        cmocka_unit_test(fit_is_mean_and_deviation),
        cmocka_unit_test(identical),
        cmocka_unit_test(disjoint),
        cmocka_unit_test(lower_bound_of_samples_apart),
        cmocka_unit_test(no_spread),
        cmocka_unit_test(infinite_losses),
        cmocka_unit_test(delta_at_its_ends),
        cmocka_unit_test(bootstrap_is_the_same_on_any_threads),
        cmocka_unit_test(bootstrap_stops),
        cmocka_unit_test(summary),
        cmocka_unit_test(results_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
