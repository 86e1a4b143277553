/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frontier against its definition over all pairs, densities against scipy, the reader against
 * sums by hand. */
#include "check.h"

#include "base/rng.h"
#include "estimate/losses/landscape.h"

/* The shares t for which (1−t)·x + t·y is at least `most`: narrows [t0, t1]. */
static void cut(double x, double y, double most, double *t0, double *t1) {
    if (y == x) {
        if (x < most) *t1 = -1.0;
        return;
    }
    const double t = (most - x) / (y - x);
    if (y > x)
        *t0 = fmax(*t0, t);
    else
        *t1 = fmin(*t1, t);
}

/* Whether some mixture of a and b is as good as i in both respects and better by more than `by` in
 * sum. */
static int beaten_by(const double *u, const double *e, size_t i, size_t a, size_t b, double by) {
    double end[2] = {0.0, 1.0};
    cut(u[a], u[b], u[i], &end[0], &end[1]);
    cut(-e[a], -e[b], -e[i], &end[0], &end[1]);
    if (end[0] > end[1]) return 0;
    for (int k = 0; k < 2; ++k) { /* the gain is linear in the share, so the ends suffice */
        const double t = end[k];
        const double gain = (1 - t) * u[a] + t * u[b] - u[i] + e[i] - (1 - t) * e[a] - t * e[b];
        if (gain > by) return 1;
    }
    return 0;
}

static int beaten(const double *u, const double *e, size_t n, size_t i, double by) {
    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b)
            if (a != i && b != i && beaten_by(u, e, i, a, b, by)) return 1;
    return 0;
}

static void frontier_is_its_definition(void **state) {
    (void)state;
    enum { N = 12 };
    for (uint64_t seed = 0; seed < 60; ++seed) {
        double u[N], e[N];
        int on[N];
        dpa_rng rng;
        dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 2);
        for (int i = 0; i < N; ++i) { /* half of them on a coarse grid: ties and lines */
            u[i] = dpa__rng_uniform(&rng);
            e[i] = 3.0 * dpa__rng_uniform(&rng);
            if (seed % 2) {
                u[i] = floor(4 * u[i]);
                e[i] = floor(2 * e[i]);
            }
        }
        assert_ok(dpa__pareto_frontier(u, e, N, on, NULL));
        size_t count = 0;
        for (size_t i = 0; i < N; ++i) {
            count += (size_t)on[i];
            if (on[i]) assert_false(beaten(u, e, N, i, 1e-9));
            if (!on[i]) assert_true(beaten(u, e, N, i, 1e-12));
        }
        assert_true(count > 0);
    }
}

static void frontier_by_hand(void **state) {
    (void)state;
    const double u[] = {0, 1, 2, 2, 1.5, 1, 0}, e[] = {0, 1, 2, 3, 2, 1, 0};
    const int want[] = {1, 1, 1, 0, 0, 1, 1}; /* in line, and copies */
    int on[7];
    assert_ok(dpa__pareto_frontier(u, e, 7, on, NULL));
    for (int i = 0; i < 7; ++i) assert_int_equal(on[i], want[i]);
    assert_ok(dpa__pareto_frontier(u, e, 1, on, NULL));
    assert_int_equal(on[0], 1);
    assert_ok(dpa__pareto_frontier(u, e, 0, on, NULL));
    const double bad[] = {NAN, 1};
    assert_int_equal(dpa__pareto_frontier(bad, e, 2, on, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__pareto_frontier(u, bad, 2, on, NULL), DPA_BAD_INPUT);
}

/* scipy.stats.gaussian_kde with its default bandwidth. */
static void density(void **state) {
    (void)state;
    const double x[] = {0.1, 0.4, 0.35, 2.0, 1.1}, at[] = {0.0, 0.4, 1.5, 3.0};
    const double want[] = {0.38901180990796946, 0.47585788203649765, 0.2502022927126706,
                           0.029299074435902694};
    double got[4];
    assert_ok(dpa__kernel_density(x, 5, at, 4, got, NULL));
    for (int i = 0; i < 4; ++i) assert_relative(got[i], want[i], 1e-12);
    const double flat[] = {2, 2};
    assert_int_equal(dpa__kernel_density(flat, 2, at, 4, got, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__kernel_density(x, 1, at, 4, got, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__kernel_density(x, 0, at, 4, got, NULL), DPA_BAD_INPUT);
}

static dpa_status read_text(const char *text, dpa_landscape *l, dpa_error *err) {
    char path[64];
    (void)snprintf(path, sizeof path, "landscape-%d.csv", (int)getpid());
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    const dpa_status status = dpa__landscape_read(path, l, err);
    (void)remove(path);
    return status;
}

static void reading(void **state) {
    (void)state;
    dpa_landscape l;
    dpa_error err;
    assert_ok(read_text(
        "strategy,utility,epsilon,group\n7,0.8,1,a\n5,0.5,2,b\n7,0.6,3,a\n7,0.1,9,b\n", &l, &err));
    assert_int_equal(l.count, 3);
    assert_int_equal(l.rows, 4);
    assert_string_equal(l.points[0].strategy, "5"); /* a name, although it looks like a number */
    assert_string_equal(l.points[1].group, "a");
    assert_int_equal(l.points[1].runs, 2);
    assert_relative(l.points[1].utility.mean, 0.7, 1e-15);
    assert_true(l.points[1].utility.lowest == 0.6 && l.points[1].epsilon.highest == 3);
    assert_relative(l.points[1].epsilon.mean, 2.0, 1e-15);
    /* by hand: pooled variance 0.02 of the utility, half of the square of ε */
    assert_relative(l.points[1].utility.error, 0.1, 1e-12);
    assert_relative(l.points[1].epsilon.error, 1.0, 1e-12);
    assert_relative(l.points[0].epsilon.error, sqrt(2.0), 1e-12);
    assert_between(l.points[1].frontier_share, 0.5, 0.999);
    assert_true(l.points[0].frontier_share < l.points[1].frontier_share);
    assert_int_equal(l.frontier_count, 1); /* the same ε as "5", and more utility */
    assert_int_equal(l.frontier[0], 1);
    dpa__landscape_free(&l);
    assert_ok(read_text("strategy,utility,epsilon\nx,1,1\n", &l, &err));
    assert_true(isnan(l.points[0].frontier_share) && isnan(l.points[0].epsilon.error));
    assert_string_equal(l.points[0].group, "");
    dpa__landscape_free(&l);
    static const char *const bad[] = {"strategy,utility,epsilon\n",
                                      "name,utility,epsilon\nx,1,1\n",
                                      "strategy,epsilon\nx,1\n",
                                      "strategy,utility,epsilon\nx,high,1\n",
                                      "strategy,utility,epsilon\nx,1,inf\n",
                                      "strategy,utility,epsilon\nx,1,-0.1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        assert_int_equal(read_text(bad[i], &l, &err), DPA_BAD_INPUT);
    dpa__landscape_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontier_is_its_definition),
        cmocka_unit_test(frontier_by_hand),
        cmocka_unit_test(density),
        cmocka_unit_test(reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
