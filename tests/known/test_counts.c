/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known answers for bounds from counts: the reference matrices, the papers' numbers, the examples
 * of methods.md, and extremes. */
#include "check.h"

#include <jansson.h>

#include "estimate/scores.h"
#include "tradeoff/tradeoff.h"

static dpa_request request_of(const char *family, const char *method, double delta,
                              double confidence, int sides) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = delta;
    request.confidence = confidence;
    request.sides = sides;
    return request;
}

static dpa_result one(const char *family, const char *method, dpa_counts counts, double delta,
                      double confidence, int sides) {
    const dpa_request request = request_of(family, method, delta, confidence, sides);
    dpa_results results = {0};
    dpa_error err = {0};
    const dpa_status status = dpa__estimate_counts(&counts, &request, &results, &err);
    if (status != DPA_OK) fail_msg("%s %s: %s", family, method, err.text);
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

static double number(const json_t *object, const char *a, const char *b) {
    const json_t *value = json_object_get(object, a);
    return json_number_value(b != NULL ? json_object_get(value, b) : value);
}

static void reference_matrices(void **state) {
    (void)state;
    json_error_t problem;
    json_t *file = json_load_file(check_shared("reference/confusion.json"), 0, &problem);
    assert_non_null(file);
    size_t index;
    const json_t *c;
    static const char *const method[] = {"cp", "jeffreys", "bayes"};
    static const char *const key[] = {"clopper_pearson", "jeffreys", "joint"};
    json_array_foreach(json_object_get(file, "cases"), index, c) {
        const dpa_counts counts = {(uint64_t)number(c, "FN", NULL), (uint64_t)number(c, "TP", NULL),
                                   (uint64_t)number(c, "FP", NULL),
                                   (uint64_t)number(c, "TN", NULL)};
        for (int m = 0; m < 3; ++m) {
            const dpa_result r = one("dp", method[m], counts, number(c, "delta", NULL),
                                     1 - number(c, "alpha", NULL), 2);
            assert_relative(r.epsilon_lower, number(c, key[m], "eps_lo"), 1e-9);
            assert_relative(r.epsilon_upper, number(c, key[m], "eps_hi"), 1e-9);
            assert_between(r.numerical_error, 0, 1e-9);
            assert_int_equal(r.valid, 1);
        }
    }
    assert_int_equal(index, 12);
    json_decref(file);
}

/* methods.md, section 3, to the digits printed there. */
static void printed_answers(void **state) {
    (void)state;
    const dpa_counts perfect = {0, 1000, 0, 1000}, zero_fp = {10, 90, 0, 100};
    assert_absolute(one("dp", "cp", perfect, 1e-5, 0.9, 2).epsilon_lower, 5.600577, 6e-7);
    assert_absolute(one("dp", "cp", perfect, 1e-5, 0.9, 1).epsilon_lower, 5.809058, 6e-7);
    assert_absolute(one("dp", "jeffreys", perfect, 1e-5, 0.9, 1).epsilon_lower, 6.254330, 6e-7);
    assert_absolute(one("dp", "bayes", perfect, 1e-5, 0.95, 1).epsilon_lower, 7.207211, 6e-7);
    const dpa_result posterior = one("gaussian", "bayes", perfect, 1e-5, 0.95, 1);
    assert_absolute(posterior.parameter_lower, 6.11903, 1.1e-5);
    assert_absolute(posterior.epsilon_lower, 44.0615, 1.1e-4);
    const dpa_result cp = one("gaussian", "cp", perfect, 1e-5, 0.95, 1);
    assert_absolute(cp.parameter_lower, 5.359823, 6e-7);
    assert_absolute(cp.epsilon_lower, 36.489488, 6e-7);
    /* the corner, from both sides and from one (the paper's footnote says 1.735997 for the first)
     */
    assert_absolute(one("dp", "cp", zero_fp, 1e-5, 0.9, 2).epsilon_lower, 3.124368, 6e-7);
    assert_absolute(one("dp", "cp", zero_fp, 1e-5, 0.95, 1).epsilon_lower, 3.124368, 6e-7);
}

/* A better attack never gives a smaller bound: fewer errors of either kind, down to none. */
static void fewer_errors_show_more(void **state) {
    (void)state;
    static const char *const families[] = {"dp", "gaussian"}, *const methods[] = {"cp", "jeffreys"};
    for (size_t k = 0; k < 8; ++k) {
        const char *family = families[k % 2], *method = methods[k / 2 % 2];
        const int sides = k < 4 ? 2 : 1;
        double fp_before = 0, fn_before = 0;
        for (uint64_t errors = 21; errors-- > 0;) {
            const dpa_counts fp = {500, 500, errors, 1000 - errors};
            const dpa_counts fn = {errors, 1000 - errors, 500, 500};
            const double by_fp = one(family, method, fp, 1e-5, 0.95, sides).epsilon_lower;
            const double by_fn = one(family, method, fn, 1e-5, 0.95, sides).epsilon_lower;
            assert_true(by_fp > fp_before && by_fn > fn_before);
            fp_before = by_fp;
            fn_before = by_fn;
        }
    }
    const dpa_counts none = {500, 500, 0, 1000};
    assert_absolute(one("dp", "cp", none, 1e-5, 0.95, 2).epsilon_lower, 4.664791, 6e-7);
}

int main(void) {
    check_need_shared("reference/confusion.json");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_matrices),
        cmocka_unit_test(printed_answers),
        cmocka_unit_test(fewer_errors_show_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
