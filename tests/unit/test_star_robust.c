/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* in cases that used to break it: one loss that sets the scale, infinite losses, a verdict
 * about the fit that changed with the seed, infinity certified for identical laws; and the
 * mechanism's bound. */
#include "check.h"

#include "base/rng.h"
#include "estimate/losses/epsilon_star.h"

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

/* One loss of −200 among 5000: `normal` moves by more than 3 and says so; ranks do not move. */
static void one_loss_does_not_set_the_result(void **state) {
    (void)state;
    dpa_losses l = normals(5000, 5000, 0.6, 1.0, 21);
    dpa_request request;
    dpa_star_opts opts;
    dpa_binormal before, after;
    dpa_loss_fit fit;
    dpa_star star, moved, robust[2];
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa__request_init(&request);
    dpa__star_opts_init(&opts);
    assert_ok(dpa__star_binormal(&l, &request, &before, NULL));
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_ok(dpa__star_fitted(&fit, 1e-5, &star, NULL));
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_QUANTILE, &fit, NULL));
    assert_ok(dpa__star_fitted(&fit, 1e-5, &robust[0], NULL));
    l.train[0] = -200.0;
    assert_ok(dpa__star_binormal(&l, &request, &after, NULL));
    assert_true(before.star.epsilon == after.star.epsilon);
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_ok(dpa__star_fitted(&fit, 1e-5, &moved, NULL));
    assert_true(moved.epsilon > star.epsilon + 3.0);
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_QUANTILE, &fit, NULL));
    assert_ok(dpa__star_fitted(&fit, 1e-5, &robust[1], NULL));
    assert_absolute(robust[1].epsilon, robust[0].epsilon, 1e-9);
    (void)snprintf(request.method, sizeof request.method, "normal");
    assert_ok(dpa__star_results(&l, &opts, &request, &results, &lints, NULL));
    int scale = 0, decides = 0, bad = 0;
    for (size_t i = 0; i < lints.count; ++i) {
        scale |= strcmp(lints.items[i].code, "one-loss-scale") == 0;
        decides |= strcmp(lints.items[i].code, "one-loss-decides") == 0;
        bad |= strcmp(lints.items[i].code, "bad-fit") == 0;
    }
    assert_true(scale && decides && bad);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__losses_free(&l);
}

/* An increasing transform of the losses, infinities included, changes only the threshold. */
static void ranks_alone_decide(void **state) {
    (void)state;
    dpa_losses l = normals(3000, 2000, 0.8, 1.2, 22);
    dpa_request request;
    dpa_binormal plain, bent;
    dpa__request_init(&request);
    assert_ok(dpa__star_binormal(&l, &request, &plain, NULL));
    for (size_t i = 0; i < l.train_count; ++i) l.train[i] = exp(3.0 * l.train[i]);
    for (size_t i = 0; i < l.heldout_count; ++i) l.heldout[i] = exp(3.0 * l.heldout[i]);
    l.train[0] = -INFINITY;
    l.heldout[l.heldout_count - 1] = INFINITY;
    assert_ok(dpa__star_binormal(&l, &request, &bent, NULL));
    assert_true(plain.star.epsilon == bent.star.epsilon);
    assert_true(plain.epsilon_lower == bent.epsilon_lower);
    assert_true(plain.epsilon_upper == bent.epsilon_upper);
    assert_true(isfinite(bent.epsilon_upper));
    dpa__losses_free(&l);
}

/* Losses that leave no curve: separated sides are a perfect attack, not ε = 0, and no interval ends
 * where nothing was seen. By hand: 0 of 400 losses mean a rate of at most 1 − 0.0125^(1/400) each,
 * and half a loss of 401 is the estimate's denominator. */
static void without_a_curve(void **state) {
    (void)state;
    enum { N = 400 };
    double a[N], b[N];
    dpa_request request;
    dpa_binormal out;
    dpa__request_init(&request);
    for (int i = 0; i < N; ++i) {
        a[i] = -100.0 - i;
        b[i] = 100.0 + i;
    }
    dpa_losses l = make(a, N, b, N);
    assert_ok(dpa__star_binormal(&l, &request, &out, NULL));
    assert_true(out.lower.share == 0.0 && out.upper.share == 0.0);
    /* a cell of thresholds holds a hundredth of the losses */
    assert_absolute(out.star.epsilon, log((1.0 - 1e-5) / (0.5 / 401.0)), 0.02);
    assert_true(out.epsilon_lower > 3.0);
    assert_absolute(out.epsilon_upper, log((1.0 - 2e-5) / 1e-5), 0.02);
    dpa__losses_free(&l);
    for (int i = 0; i < N; ++i) a[i] = b[i] = 0.5;
    l = make(a, N, b, N);
    assert_ok(dpa__star_binormal(&l, &request, &out, NULL));
    assert_true(out.star.epsilon == 0.0 && out.epsilon_lower == 0.0);
    const double most = 1.0 - pow(0.0125, 1.0 / N);
    assert_absolute(out.epsilon_upper, log((most - 1e-5) / 1e-5), 1e-9);
    dpa__losses_free(&l);
    for (int i = 0; i < N; ++i) b[i] = i < 40 ? 0.0 : 0.5; /* 40 held-out losses by themselves */
    l = make(a, N, b, N);
    assert_ok(dpa__star_binormal(&l, &request, &out, NULL));
    assert_true(out.star.ratio == DPA_STAR_FPR_TPR);
    assert_absolute(out.star.epsilon, log((0.1 - 1e-5) / (0.5 / 401.0)), 1e-9);
    assert_true(out.epsilon_lower > 0.5 && out.epsilon_upper > log(0.1 / 1e-5));
    dpa__losses_free(&l);
    l = make((const double[]){1.0, 2.0}, 2, (const double[]){3.0, 4.0}, 2);
    assert_ok(dpa__star_binormal(&l, &request, &out, NULL));
    assert_true(out.star.epsilon == 0.0 && out.epsilon_lower == 0.0 && out.epsilon_upper > 11.0);
    dpa__losses_free(&l);
}

/* 48,842 losses with seven values took 27 s (EM on every loss, up to 20 components); now they are
 * seven points with weights. */
static void ties_are_weights(void **state) {
    (void)state;
    enum { N = 24421 };
    static double a[N], b[N];
    dpa_rng rng;
    dpa__rng_init(&rng, 31, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) {
        a[i] = floor(7.0 * pow(dpa__rng_uniform(&rng), 2.0));
        b[i] = floor(7.0 * pow(dpa__rng_uniform(&rng), 1.5));
    }
    dpa_losses l = make(a, N, b, N);
    dpa__point_groups groups;
    dpa_loss_fit fit;
    dpa_mixture_opts opts;
    dpa__mixture_opts_init(&opts);
    assert_ok(dpa__point_groups_new(l.train, N, dpa__grain(l.train, N), &groups, NULL));
    assert_int_equal(groups.count, 7);
    assert_true(groups.total == N && groups.value[0] == 0.0 && groups.value[6] == 6.0);
    dpa__point_groups_free(&groups);
    assert_ok(dpa__fit_mixture(&l, &opts, NULL, &fit, NULL));
    assert_true(fit.train.count <= 7 && fit.heldout.count <= 7);
    dpa__losses_free(&l);
}

/* The curve of two shifted normal laws is straight, however far apart they are, and is called
 * otherwise no more often than the level. (Variances of observed rates rejected 46 of 100 here.) */
static void straight_curves_are_not_rejected(void **state) {
    (void)state;
    int low = 0;
    dpa_request request;
    dpa_binormal b;
    dpa__request_init(&request);
    for (uint64_t seed = 0; seed < 100; ++seed) {
        dpa_losses l = normals(2000, 2000, 2.25, 1.0, 700 + seed);
        assert_ok(dpa__star_binormal(&l, &request, &b, NULL));
        low += b.lower.p_value < 0.05;
        dpa__losses_free(&l);
    }
    (void)printf("p-value below 0.05 in %d of 100 straight curves\n", low);
    assert_true(low >= 1 && low <= 14); /* four deviations */
}

/* The verdict about the fit depends on the file only: the same for every seed, low p-values as rare
 * as promised under the fitted law, and it detects what is not normal. */
static void fit_verdict_is_deterministic(void **state) {
    (void)state;
    int low = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        dpa_losses l = normals(400, 50, 0.0, 1.0, 300 + seed);
        dpa_loss_fit fit;
        double p;
        assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
        /* exactly normal on the transformed scale: the losses of normal φ */
        const double m = fit.train.mean[0], s = 0.1 * fit.train.deviation[0];
        for (size_t i = 0; i < l.train_count; ++i)
            l.train[i] = dpa__loss_untransform(m + s * l.train[i], 0.0, 1.0);
        for (size_t i = 0; i < l.train_count / 2; ++i) { /* φ is decreasing: keeps them sorted */
            const double held = l.train[i];
            l.train[i] = l.train[l.train_count - 1 - i];
            l.train[l.train_count - 1 - i] = held;
        }
        l.heldout[0] = 0.0;
        l.heldout[l.heldout_count - 1] = 1.0;
        for (size_t i = 1; i + 1 < l.heldout_count; ++i) l.heldout[i] = 0.5;
        assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
        assert_ok(dpa__fit_goodness(&l, &fit, 0, &p, NULL));
        low += p <= 0.1;
        dpa__losses_free(&l);
    }
    (void)printf("p-value at most 0.1 in %d of 100 fits of the right law\n", low);
    assert_true(low <= 22); /* four deviations */
    dpa_losses l = normals(2000, 2000, 0.5, 1.0, 9);
    dpa_loss_fit fit;
    double p;
    for (size_t i = 0; i < l.train_count; ++i) l.train[i] = exp(l.train[i]);
    assert_ok(dpa__fit_normal(&l, DPA_TRANSFORM_PAPER, &fit, NULL));
    assert_ok(dpa__fit_goodness(&l, &fit, 0, &p, NULL));
    assert_true(p == 1.0 / 200.0);
    dpa__losses_free(&l);
}

/* Identical laws, the whole training set: never infinite (12 of 60 used to be). */
static void whole_training_set_is_finite(void **state) {
    (void)state;
    double most = 0.0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        dpa_losses l = normals(1000, 1000, 0.0, 1.0, 500 + seed);
        dpa_star star;
        assert_ok(dpa__star_lower(&l, 1e-5, 0.95, 1, &star, NULL));
        assert_true(isfinite(star.epsilon));
        most = fmax(most, star.epsilon);
        dpa__losses_free(&l);
    }
    (void)printf("whole training set, identical laws: at most %.3f in 60\n", most);
    assert_true(most < 1.0); /* chance among ten training losses, as Definition 1 allows */
    const double few[] = {1, 2, 3, 4};
    dpa_losses l = make(few, 4, few, 4);
    dpa_star star;
    assert_ok(dpa__star_lower(&l, 1e-5, 0.95, 1, &star, NULL));
    assert_true(star.epsilon == 0.0);
    dpa__losses_free(&l);
}

/* Compared with counting by hand, and with the limit of an (ε,δ)-DP mechanism. */
static void mechanism_level(void **state) {
    (void)state;
    dpa_losses models[3], mirrored[3];
    double train[100], heldout[1000];
    dpa_averaged a, b;
    dpa_error err;
    for (int m = 0; m < 3; ++m) {
        for (int i = 0; i < 1000; ++i) heldout[i] = i;
        for (int i = 0; i < 100; ++i) train[i] = i < 40 + 10 * m ? 5.0 : 2000.0;
        models[m] = make(train, 100, heldout, 1000);
        for (int i = 0; i < 1000; ++i) heldout[i] = -heldout[i];
        for (int i = 0; i < 100; ++i) train[i] = -train[i];
        mirrored[m] = make(heldout, 1000, train, 100);
    }
    assert_ok(dpa__star_mechanism(models, 3, 1e-5, 0.95, &a, NULL));
    /* rate 0.01: k = 10, H_(10) = 9; 40, 50 and 60% of the training losses are below */
    const double kept = cbrt(0.05 / 5.0); /* three rates, and two of 100 training losses */
    assert_relative(a.epsilon, log((0.5 - 1e-5) / 0.01), 1e-12);
    assert_relative(a.epsilon_replace_one, log((0.4 * kept - 1e-5) / 0.01), 1e-12);
    assert_relative(a.tpr_lower, 0.4 * kept, 1e-12);
    const double y = exp(a.epsilon_add_remove);
    assert_relative(y * y * 0.01 + (1.0 + y) * 1e-5, 0.4 * kept, 1e-9);
    /* sides exchanged and losses negated: the rule for large losses sees what the other one saw */
    assert_ok(dpa__star_mechanism(mirrored, 3, 1e-5, 0.95, &b, NULL));
    assert_true(a.epsilon_replace_one == b.epsilon_replace_one && a.epsilon == b.epsilon);
    assert_true(a.epsilon_add_remove == b.epsilon_add_remove);
    assert_true(a.ratio == DPA_STAR_TPR_FPR && b.ratio == DPA_STAR_TNR_FNR);
    assert_relative(b.fpr, 1.0 - a.tpr, 1e-12);
    assert_int_equal(dpa__star_mechanism(models, 1, 1e-5, 0.95, &a, &err), DPA_BAD_ARGUMENT);
    for (int m = 0; m < 3; ++m) {
        dpa__losses_free(&models[m]);
        dpa__losses_free(&mirrored[m]);
    }
}

/* Eight models with the same law on both sides: a bound above 0 no more often than 1 −
 * confidence. */
static void mechanism_without_a_leak(void **state) {
    (void)state;
    int wrong = 0;
    for (uint64_t r = 0; r < 200; ++r) {
        dpa_losses models[8];
        dpa_averaged a;
        for (uint64_t m = 0; m < 8; ++m) models[m] = normals(200, 200, 0.0, 1.0, 5000 + 8 * r + m);
        assert_ok(dpa__star_mechanism(models, 8, 1e-5, 0.5, &a, NULL));
        wrong += a.epsilon_replace_one > 0.0;
        for (int m = 0; m < 8; ++m) dpa__losses_free(&models[m]);
    }
    (void)printf("above 0 in %d of 200\n", wrong);
    assert_true(wrong <= 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_loss_does_not_set_the_result),
        cmocka_unit_test(ranks_alone_decide),
        cmocka_unit_test(without_a_curve),
        cmocka_unit_test(ties_are_weights),
        cmocka_unit_test(straight_curves_are_not_rejected),
        cmocka_unit_test(fit_verdict_is_deterministic),
        cmocka_unit_test(whole_training_set_is_finite),
        cmocka_unit_test(mechanism_level),
        cmocka_unit_test(mechanism_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
