/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families: which texts are accepted, which are refused and how, and that members are ordered. */
#include "check.h"

#include "account/account.h"
#include "account/family.h"
#include "base/data.h"

static dpa_family *parsed(const char *spec) {
    dpa_family *family = NULL;
    dpa_error err;
    if (dpa__family_parse(spec, 1e-5, &family, &err) != DPA_OK) fail_msg("%s: %s", spec, err.text);
    assert_string_equal(dpa__family_spec(family), spec);
    return family;
}

static void refused(const char *spec, double delta, const char *words) {
    dpa_family *family = (dpa_family *)1;
    dpa_error err = {0};
    assert_int_equal(dpa__family_parse(spec, delta, &family, &err), DPA_BAD_ARGUMENT);
    assert_null(family);
    if (strstr(err.text, words) == NULL) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void bad_specs(void **state) {
    (void)state;
    refused(NULL, 1e-5, "subsampled-gaussian:q=Q,steps=N");
    refused("", 1e-5, "points:FILE");
    refused("gauss", 1e-5, "gaussian");
    refused("dp:1", 1e-5, "nothing may follow");
    refused("subsampled-gaussian", 1e-5, "q must be given");
    refused("subsampled-gaussian:q=0.1", 1e-5, "steps must be given");
    refused("subsampled-gaussian:q=0,steps=1", 1e-5, "q must be given");
    refused("subsampled-gaussian:q=0.1,steps=1.5", 1e-5, "whole number");
    refused("subsampled-gaussian:q=0.1,steps=x", 1e-5, "not a number");
    refused("subsampled-gaussian:q=0.1x,steps=1", 1e-5, "not a number");
    refused("subsampled-gaussian:q=0.1,q=0.1", 1e-5, "not expected");
    refused("subsampled-gaussian:sigma=1", 1e-5, "not expected");
    refused("subsampled-gaussian:q=0.1,steps=1,adjacency=add", 1e-5, "not expected");
    refused("subsampled-gaussian:adjacency=replace-one,adjacency=replace-one", 1e-5,
            "not expected");
    refused("points:", 1e-5, "file is missing");
    refused("dp", -1, "delta");
    refused("dp", NAN, "delta");
    dpa_family *family;
    dpa_error err;
    assert_int_not_equal(dpa__family_parse("points:/no/such/file", 1e-5, &family, &err), DPA_OK);
}

static double fnr_at(const dpa_family *family, double t, double fpr) {
    dpa_curve *curve = NULL;
    dpa_error err;
    assert_ok(dpa__family_curve(family, t, &curve, &err));
    const double fnr = dpa_curve_fnr(curve, fpr);
    dpa_curve_free(curve);
    return fnr;
}

/* t = 0 is perfectly private; every curve falls as t grows. */
static void ordered(void **state) {
    (void)state;
    const char *const specs[] = {"dp", "gaussian", "laplace",
                                 "subsampled-gaussian:steps=100,q=0.05"};
    const char *const names[] = {"epsilon", "mu", "epsilon0", "sigma"};
    for (size_t k = 0; k < 4; ++k) {
        dpa_family *family = parsed(specs[k]);
        assert_string_equal(dpa__family_parameter(family), names[k]);
        assert_true(isinf(dpa__family_max(family)));
        double before = 0.9;
        assert_absolute(fnr_at(family, 0, 0.1), 0.9, 1e-4);
        for (double t = 0.25; t <= 4; t *= 2) {
            const double now = fnr_at(family, t, 0.1);
            assert_true(now < before);
            before = now;
            assert_relative(dpa__family_t(family, dpa__family_value(family, t)), t, 1e-15);
        }
        dpa_interval e;
        dpa_error err;
        assert_ok(dpa__family_epsilon(family, 1, 1e-5, &e, &err));
        assert_true(e.lower > 0 && e.lower <= e.upper && e.upper - e.lower < 1e-2);
        assert_ok(dpa__family_epsilon(family, 0, 1e-5, &e, &err));
        assert_true(e.upper == 0);
        dpa_curve *curve;
        assert_int_equal(dpa__family_curve(family, -1, &curve, &err), DPA_BAD_ARGUMENT);
        assert_int_equal(dpa__family_curve(family, NAN, &curve, &err), DPA_BAD_ARGUMENT);
        assert_int_equal(dpa__family_epsilon(family, 1, 2, &e, &err), DPA_BAD_ARGUMENT);
        dpa__family_free(family);
    }
    dpa__family_free(NULL);
}

static void known_members(void **state) {
    (void)state;
    dpa_interval e;
    dpa_error err;
    dpa_family *family = parsed("gaussian");
    assert_string_equal(dpa__family_name(family), "gaussian");
    assert_ok(dpa__family_epsilon(family, 1, 1e-5, &e, &err));
    assert_absolute(e.lower, 4.377178095681, 1e-10);
    dpa__family_free(family);
    family = parsed("dp");
    assert_ok(dpa__family_epsilon(family, 1.5, 1e-5, &e, &err));
    assert_true(e.lower == 1.5 && e.upper == 1.5);
    dpa__family_free(family);
    family = parsed("subsampled-gaussian:q=0.01,steps=1000");
    assert_ok(dpa__family_epsilon(family, 1, 1e-5, &e, &err));
    assert_between(1.8282366, e.lower, e.upper);
    /* very little noise, and almost only noise: still curves, still on the safe side */
    assert_true(fnr_at(family, 1e5, 0.1) == 0);
    assert_true(fnr_at(family, 101, 0.1) == 0); /* σ below 0.01: no member is computed */
    assert_between(fnr_at(family, 1e-12, 0.1), 0.8999, 0.9);
    assert_ok(dpa__family_epsilon(family, INFINITY, 1e-5, &e, &err));
    assert_true(isinf(e.lower));
    dpa__family_free(family);
    /* Replacing moves the sum twice as far as adding, so σ = 2 is the Gaussian mechanism with μ =
     * 1. */
    family = parsed("subsampled-gaussian:adjacency=replace-one,q=1,steps=1");
    assert_ok(dpa__family_epsilon(family, 0.5, 1e-5, &e, &err));
    assert_between(4.377178095681, e.lower, e.upper);
    dpa__family_free(family);
}

static void from_file(void **state) {
    (void)state;
    char path[] = "/tmp/dpa-family-XXXXXX", spec[64];
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    (void)fputs("fpr,fnr\n0.1,0.5\n0.5,0.1\n", file);
    (void)fclose(file);
    (void)snprintf(spec, sizeof spec, "points:%s", path);
    dpa_family *family = parsed(spec);
    assert_true(dpa__family_max(family) == 1);
    assert_absolute(fnr_at(family, 1, 0.1), 0.5, 1e-12);
    assert_absolute(fnr_at(family, 0.5, 0.1), 0.7, 1e-12);
    assert_absolute(fnr_at(family, 0, 0.1), 0.9, 1e-12);
    dpa_curve *curve;
    dpa_error err;
    assert_int_equal(dpa__family_curve(family, 1.5, &curve, &err), DPA_BAD_ARGUMENT);
    dpa__family_free(family);
    (void)remove(path);
}

/* A pair and a ledger: t = 1 is the file's own curve, smaller t dilute it, t = 0 is perfect
 * privacy. */
static void files(void **state) {
    (void)state;
    char path[64], spec[128];
    dpa_family *family = NULL;
    dpa_interval e;
    dpa_error err;
    (void)snprintf(path, sizeof path, "/tmp/dpa_family_%d.json", (int)getpid());
    const char *const texts[] = {
        "{\"p\":[0.75,0.25],\"q\":[0.25,0.75]}",
        "{\"type\":\"RandomizedResponse\",\"noise_parameter\":0.5,\"num_buckets\":2}"};
    for (size_t k = 0; k < 2; ++k) {
        assert_ok(dpa__file_write(path, texts[k], strlen(texts[k]), NULL));
        (void)snprintf(spec, sizeof spec, "%s:%s", k == 0 ? "pair" : "ledger", path);
        assert_ok(dpa__family_parse(spec, 1e-5, &family, &err));
        assert_true(dpa__family_max(family) == 1);
        assert_ok(dpa__family_epsilon(family, 1, 1e-5, &e, &err));
        /* δ = ¾ − ¼e^ε */
        assert_between(log((0.75 - 1e-5) / 0.25), e.lower, e.upper);
        assert_true(e.upper - e.lower < 5e-3);
        dpa_interval half;
        assert_ok(dpa__family_epsilon(family, 0.5, 1e-5, &half, &err));
        assert_true(half.upper < e.lower && half.lower > 0);
        dpa_curve *curve = NULL;
        assert_ok(dpa__family_curve(family, 1, &curve, &err));
        assert_absolute(dpa_curve_fnr(curve, 0.25), 0.25, 2e-3);
        assert_true(dpa_curve_fnr(curve, 0.25) <= 0.25 + 1e-12);
        dpa_curve_free(curve);
        dpa__family_free(family);
    }
    (void)snprintf(spec, sizeof spec, "ledger:%s,steps=3", path);
    assert_int_equal(dpa__family_parse(spec, 1e-5, &family, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__family_parse("pair:", 1e-5, &family, &err), DPA_BAD_ARGUMENT);
    (void)unlink(path);
}

/* The member of a claim is certainly no better than it, and hardly worse; a claim beyond the
 * family's end has its last member. */
static void claims(void **state) {
    static const char *const specs[] = {"dp", "gaussian", "laplace",
                                        "subsampled-gaussian:q=0.1,steps=20",
                                        "subsampled-gaussian:q=1,steps=1,adjacency=replace-one"};
    static const double epsilons[] = {1e-7, 0.3, 4, 60};
    (void)state;
    for (size_t f = 0; f < 5; ++f) {
        dpa_family *family = parsed(specs[f]);
        for (size_t e = 0; e < 4; ++e) {
            dpa_interval at, below = {0, 0};
            double t;
            assert_ok(dpa__family_claim(family, epsilons[e], 1e-5, &t, NULL));
            assert_ok(dpa__family_epsilon(family, t, 1e-5, &at, NULL));
            assert_true(at.lower >= epsilons[e]);
            const double less = t * (1 - 1e-8) - 2e-9;
            if (less > 0) assert_ok(dpa__family_epsilon(family, less, 1e-5, &below, NULL));
            assert_true(below.lower < epsilons[e]);
        }
        double t;
        assert_ok(dpa__family_claim(family, 0, 1e-5, &t, NULL));
        assert_absolute(t, 0, 0.2); /* a little leak costs no ε at δ > 0 */
        assert_ok(dpa__family_claim(family, 1e12, 1e-5, &t, NULL));
        assert_true(t >= 1000);
        dpa__family_free(family);
    }
}

/* What a family is, from its text and once it is parsed. */
static void kinds(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        int universal, gaussian, composed, noise, spent;
    } rows[] = {{"dp", 1, 0, 0, 0, 0},
                {"gaussian", 0, 1, 0, 1, 0},
                {"laplace", 0, 0, 0, 0, 0},
                {"subsampled-gaussian:q=0.1,steps=2", 0, 0, 1, 1, 1},
                {"subsampled-gaussian:q=1,steps=2", 0, 0, 1, 1, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa_family *family = parsed(rows[k].spec);
        assert_int_equal(dpa__family_is_universal(rows[k].spec), rows[k].universal);
        assert_int_equal(dpa__family_is_gaussian(rows[k].spec), rows[k].gaussian);
        assert_int_equal(dpa__family_is_composed(rows[k].spec), rows[k].composed);
        assert_int_equal(dpa__family_is_noise(family), rows[k].noise);
        /* less noise than σ = 0.1 changes nothing if a record may be in no batch */
        assert_int_equal(dpa__family_is_spent(family, 10), rows[k].spent);
        assert_int_equal(dpa__family_is_spent(family, 9.99), 0);
        assert_true(isinf(dpa__family_max(family)));
        dpa_interval e = {7, 7};
        dpa_error err;
        assert_int_equal(dpa__family_epsilon(family, -1, 1e-5, &e, &err), DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, "t is -1; it must be in [0, inf]"));
        assert_int_equal(dpa__family_epsilon(family, 1, 1.5, &e, &err), DPA_BAD_ARGUMENT);
        assert_string_equal(err.text, "delta is 1.5; it must be in [0, 1]");
        assert_ok(dpa__family_epsilon(family, 0, 1e-5, &e, &err));
        assert_true(e.lower == 0 && e.upper == 0);
        if (rows[k].composed) {
            assert_ok(dpa__family_epsilon(family, INFINITY, 1e-5, &e, &err));
            assert_true(isinf(e.lower));
            assert_ok(dpa__family_epsilon(family, 1, 0, &e, &err));
            assert_true(isinf(e.lower));
            assert_ok(dpa__family_epsilon(family, 1, 1, &e, &err));
            assert_true(e.upper == 0);
            assert_int_equal(dpa__family_epsilon(family, 1001, 1e-5, &e, &err), DPA_BAD_ARGUMENT);
            assert_non_null(strstr(err.text, "it must be in [0.001, 1e9]"));
        }
        dpa__family_free(family);
    }
}

/* Where it is known which run has no record, a curve has two sides: FNR and FPR do not change
 * places, and neither is below the one for either way. */
static void directed(void **state) {
    (void)state;
    dpa_family *family = parsed("subsampled-gaussian:q=0.2,steps=3");
    dpa_curve *one = NULL, *either = NULL;
    double apart = 0;
    dpa_error err;
    assert_ok(dpa__family_directed(family, 1, &one, &err));
    assert_ok(dpa__family_curve(family, 1, &either, &err));
    for (double x = 0.01; x < 1; x += 0.07) {
        assert_true(dpa_curve_fnr(one, x) >= dpa_curve_fnr(either, x) - 1e-12);
        apart = fmax(apart, fabs(dpa_curve_fnr(one, x) - dpa_curve_fpr(one, x)));
    }
    assert_between(apart, 1e-3, 0.2);
    dpa_curve_free(one);
    dpa_curve_free(either);
    assert_ok(dpa__family_directed(family, 0, &one, &err));
    assert_true(dpa_curve_fnr(one, 0.25) == 0.75);
    dpa_curve_free(one);
    dpa__family_free(family);
    family = parsed("gaussian");
    assert_ok(dpa__family_directed(family, 1, &one, &err));
    assert_absolute(dpa_curve_fnr(one, 0.5), 0.15865525393145705, 1e-14);
    dpa_curve_free(one);
    dpa__family_free(family);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files),     cmocka_unit_test(bad_specs),
                                       cmocka_unit_test(ordered),   cmocka_unit_test(known_members),
                                       cmocka_unit_test(from_file), cmocka_unit_test(claims),
                                       cmocka_unit_test(kinds),     cmocka_unit_test(directed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
