/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one-run tests over a family: Steinke's at the family's own (ε,δ), the recursion on the
 * member's curve, the smaller of these two, and the pointwise baseline ("Auditing f-differential
 * privacy in one run", section 4.2): a mechanism of the family is (ε_δ, δ)-DP for every δ, each of
 * which bounds the probability of the same event, so the smallest of the 60 p-values needs no
 * correction.
 *
 * The same argument joins the first two. Under the hypothesis both bound one number from above: the
 * probability T(c) that c or more of the c′ guesses are right. So does the smaller of them, and a
 * test that refutes from some c* on where it is at most p errs with T(c*) ≤ p. Nothing is chosen
 * and nothing is paid: Steinke's bound is the exact tail at δ = 0, the recursion hardly feels δ,
 * and `either` is never behind the better of the two. */
#include <math.h>

#include "base/error.h"
#include "estimate/onerun.h"
#include "estimate/registry.h"

const char *dpa__onerun_method_name(dpa__onerun_method method) {
    return dpa__registry_name(DPA_FROM_GUESSES, (int)method);
}

dpa__onerun_method dpa__onerun_default(int is_dp, uint64_t options) {
    return is_dp && options == 2 ? DPA__EITHER : DPA__RECURSION;
}

static dpa_status choose_method(const char *name, int is_dp, uint64_t options,
                                dpa__onerun_method *out, dpa_error *err) {
    *out = dpa__onerun_default(is_dp, options);
    if (name[0] == '\0') return DPA_OK;
    const dpa__entry *entry = dpa__registry_for(DPA_FROM_GUESSES, name, err);
    if (entry == NULL) return DPA_BAD_ARGUMENT;
    *out = (dpa__onerun_method)entry->variant;
    if (*out == DPA__ONERUN_METHODS)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method %s: needs the scores of the canaries, not guesses", name);
    if (*out != DPA__RECURSION && options != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method %s is proved for two options (in or out) only; use recursion",
                         name);
    if ((*out == DPA__STEINKE || *out == DPA__EITHER) && !is_dp)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method %s is for the family dp; use recursion or pointwise", name);
    if (*out == DPA__POINTWISE && is_dp)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method pointwise needs a family other than dp, which has one point");
    return DPA_OK;
}

dpa_status dpa__onerun_test_init(dpa__onerun_test *test, const dpa_request *request, double delta,
                                 uint64_t options, dpa_error *err) {
    *test = (dpa__onerun_test){.delta = delta, .t = NAN, .err = err};
    const char *spec = request->family[0] ? request->family : "gaussian";
    DPA_TRY(choose_method(request->method, dpa__family_is_universal(spec), options, &test->method,
                          err));
    return dpa__family_parse(spec, delta, &test->family, err);
}

void dpa__onerun_test_free(dpa__onerun_test *test) {
    dpa_curve_free(test->curve);
    dpa__family_free(test->family);
    *test = (dpa__onerun_test){0};
}

/* δ = 10^−3 … 10^−9, evenly in the exponent. */
static double pointwise_delta(size_t i) {
    return pow(10.0, -3.0 - 6.0 * (double)i / (DPA__POINTWISE_COUNT - 1));
}

static dpa_status make_member(dpa__onerun_test *test, double t) {
    dpa_curve *curve = NULL;
    dpa_curve_free(test->curve);
    test->curve = NULL;
    test->t = NAN;
    DPA_TRY(dpa__family_curve(test->family, t, &curve, test->err));
    const dpa_status status = dpa__onerun_symmetric(curve, &test->curve, test->err);
    dpa_curve_free(curve);
    DPA_TRY(status);
    if (test->method == DPA__POINTWISE)
        for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
            test->epsilon[i] = dpa_curve_epsilon(test->curve, pointwise_delta(i));
    test->t = t;
    return DPA_OK;
}

/* Makes the member at t the current one; 1 on success. */
static int have_member(dpa__onerun_test *test, double t) {
    if (test->status != DPA_OK) return 0;
    if (test->t != t) test->status = make_member(test, t);
    return test->status == DPA_OK;
}

static double pointwise_p_value(const dpa__onerun_test *test, const dpa_onerun *game) {
    double least = 1.0;
    for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
        least = fmin(least, dpa__onerun_dp_p_value(game, test->epsilon[i], pointwise_delta(i)));
    return least;
}

int dpa__onerun_test_refutes(dpa__onerun_test *test, double t, const dpa_onerun *game, double p) {
    const int by_tail = test->method == DPA__STEINKE || test->method == DPA__EITHER;
    const int is_refuted = by_tail && dpa__onerun_dp_refutes(game, t, test->delta, p);
    if (test->method == DPA__STEINKE || is_refuted) return is_refuted;
    if (!have_member(test, t)) return 0;
    if (test->method != DPA__POINTWISE) return dpa__onerun_refutes(game, test->curve, p);
    for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
        if (dpa__onerun_dp_refutes(game, test->epsilon[i], pointwise_delta(i), p)) return 1;
    return 0;
}

double dpa__onerun_test_p_value(dpa__onerun_test *test, double t, const dpa_onerun *game) {
    if (test->method == DPA__STEINKE) return dpa__onerun_dp_p_value(game, t, test->delta);
    if (!have_member(test, t)) return 1.0;
    if (test->method == DPA__POINTWISE) return pointwise_p_value(test, game);
    const double recursion = dpa__onerun_p_value(game, test->curve);
    if (test->method == DPA__RECURSION) return recursion;
    return fmin(recursion, dpa__onerun_dp_p_value(game, t, test->delta));
}
