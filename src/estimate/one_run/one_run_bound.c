/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one-run bound: the leakiest member of the family that is still refuted, found by bisection.
 *
 * With several guess counts the question at each parameter is whether any of them refutes the
 * member. Refutation is monotone in the parameter, so a guess count that fails at a refuted member
 * can never win: the list shrinks while the bracket does, and a family whose members are costly is
 * asked for each of them once, not once per guess count.
 *
 * Choosing among J guess counts after looking is a choice among tests. `auto` gives each of them
 * p/J (union bound): some true hypothesis is refuted with probability at most p. `max` gives each
 * of them p, as the figures of the papers do, and is marked as not valid. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/model.h"
#include "estimate/one_run/one_run.h"
#include "estimate/registry.h"
#include "math/root.h"

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

const char *dpa__one_run_method_name(dpa__one_run_method method) {
    return dpa__registry_name(DPA_FROM_GUESSES, (int)method);
}

dpa__one_run_method dpa__one_run_default(int is_dp, uint64_t options) {
    return is_dp && options == 2 ? DPA__EITHER : DPA__RECURSION;
}

static dpa_status choose_method(const char *name, int is_dp, uint64_t options,
                                dpa__one_run_method *out, dpa_error *err) {
    *out = dpa__one_run_default(is_dp, options);
    if (name[0] == '\0') return DPA_OK;
    const dpa__entry *entry = dpa__registry_for(DPA_FROM_GUESSES, name, err);
    if (entry == NULL) return DPA_BAD_ARGUMENT;
    *out = (dpa__one_run_method)entry->variant;
    if (*out == DPA__ONE_RUN_METHODS)
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

dpa_status dpa__one_run_test_init(dpa__one_run_test *test, const dpa_request *request, double delta,
                                  uint64_t options, dpa_error *err) {
    *test = (dpa__one_run_test){.delta = delta, .t = NAN, .err = err};
    const char *spec = request->family[0] ? request->family : "gaussian";
    DPA_TRY(choose_method(request->method, dpa__family_is_universal(spec), options, &test->method,
                          err));
    return dpa__family_parse(spec, delta, &test->family, err);
}

void dpa__one_run_test_free(dpa__one_run_test *test) {
    dpa_curve_free(test->curve);
    dpa__family_free(test->family);
    *test = (dpa__one_run_test){0};
}

/* δ = 10^−3 … 10^−9, evenly in the exponent. */
static double pointwise_delta(size_t i) {
    return pow(10.0, -3.0 - 6.0 * (double)i / (DPA__POINTWISE_COUNT - 1));
}

static dpa_status make_member(dpa__one_run_test *test, double t) {
    dpa_curve *curve = NULL;
    dpa_curve_free(test->curve);
    test->curve = NULL;
    test->t = NAN;
    DPA_TRY(dpa__family_curve(test->family, t, &curve, test->err));
    const dpa_status status = dpa__one_run_symmetric(curve, &test->curve, test->err);
    dpa_curve_free(curve);
    DPA_TRY(status);
    if (test->method == DPA__POINTWISE)
        for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
            test->epsilon[i] = dpa_curve_epsilon(test->curve, pointwise_delta(i));
    test->t = t;
    return DPA_OK;
}

/* Makes the member at t the current one; 1 on success. */
static int have_member(dpa__one_run_test *test, double t) {
    if (test->status != DPA_OK) return 0;
    if (test->t != t) test->status = make_member(test, t);
    return test->status == DPA_OK;
}

static double pointwise_p_value(const dpa__one_run_test *test, const dpa_one_run *game) {
    double least = 1.0;
    for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
        least = fmin(least, dpa__one_run_dp_p_value(game, test->epsilon[i], pointwise_delta(i)));
    return least;
}

int dpa__one_run_test_refutes(dpa__one_run_test *test, double t, const dpa_one_run *game,
                              double p) {
    const int by_tail = test->method == DPA__STEINKE || test->method == DPA__EITHER;
    const int is_refuted = by_tail && dpa__one_run_dp_refutes(game, t, test->delta, p);
    if (test->method == DPA__STEINKE || is_refuted) return is_refuted;
    if (!have_member(test, t)) return 0;
    if (test->method != DPA__POINTWISE) return dpa__one_run_refutes(game, test->curve, p);
    for (size_t i = 0; i < DPA__POINTWISE_COUNT; ++i)
        if (dpa__one_run_dp_refutes(game, test->epsilon[i], pointwise_delta(i), p)) return 1;
    return 0;
}

double dpa__one_run_test_p_value(dpa__one_run_test *test, double t, const dpa_one_run *game) {
    if (test->method == DPA__STEINKE) return dpa__one_run_dp_p_value(game, t, test->delta);
    if (!have_member(test, t)) return 1.0;
    if (test->method == DPA__POINTWISE) return pointwise_p_value(test, game);
    const double recursion = dpa__one_run_p_value(game, test->curve);
    if (test->method == DPA__RECURSION) return recursion;
    return fmin(recursion, dpa__one_run_dp_p_value(game, t, test->delta));
}

/* The first is narrower than any family with closed-form members needs; the interval of a composed
 * family is far wider than the second. */
static const double exact_tolerance = 1e-13, interval_tolerance = 1e-7;
static const double least_parameter = 1e-12;

size_t dpa__one_run_grid(uint64_t canaries, uint64_t *counts, size_t capacity) {
    size_t used = 0;
    for (uint64_t g = 16; g < canaries && g < (uint64_t)1 << 60; g *= 4) {
        if (used < capacity) counts[used] = g;
        ++used;
    }
    if (used < capacity) counts[used] = canaries;
    return used + 1;
}

typedef struct search {
    dpa__one_run_test test;
    const dpa_one_run *games;
    size_t *alive; /* indices of the games that refute the member at the lower end */
    size_t count;
    double p;
} search;

/* True above the bound: no game refutes the member at t. */
static int stands_at(double t, void *user) {
    search *s = user;
    size_t kept = 0;
    for (size_t i = 0; i < s->count; ++i)
        if (dpa__one_run_test_refutes(&s->test, t, &s->games[s->alive[i]], s->p)) {
            const size_t winner = s->alive[i];
            s->alive[i] = s->alive[kept]; /* swap, so that the list stays complete */
            s->alive[kept++] = winner;
        }
    if (kept == 0) return 1;
    s->count = kept;
    return 0;
}

/* The first doubling at which the member is not refuted; the family's end if all are. */
static double first_standing(search *s, double *refuted) {
    const double end = dpa__family_max(s->test.family);
    double t = fmin(1.0, end);
    while (!stands_at(t, s)) {
        *refuted = t;
        if (t >= end || t > 1e300) return t;
        t = fmin(2.0 * t, end);
    }
    return t;
}

/* If the predicate failed, its status in *failure and its text in *err are the result. */
static dpa_status bisect(dpa__predicate is_above, void *user, double lower, double upper,
                         double relative, const dpa_status *failure, dpa__bracket *found,
                         dpa_error *err) {
    const dpa_status status =
        dpa__bisect(is_above, user, lower, upper, least_parameter, relative, found, NULL);
    if (*failure != DPA_OK) return *failure;
    if (status != DPA_OK)
        return dpa__fail(err, status, "no member between %g and %g is the last refuted one", lower,
                         upper);
    return DPA_OK;
}

static dpa_status find_parameter(search *s, double *lower, double *upper, dpa_error *err) {
    *lower = *upper = 0.0;
    const int stands = stands_at(0.0, s);
    if (s->test.status != DPA_OK || stands) return s->test.status;
    *upper = first_standing(s, lower);
    DPA_TRY(s->test.status);
    if (*upper <= *lower) return DPA_OK;
    dpa_interval epsilon;
    DPA_TRY(dpa__family_epsilon(s->test.family, *upper, s->test.delta, &epsilon, err));
    const int is_wide = epsilon.upper - epsilon.lower > 1e-9 * epsilon.upper;
    const double relative = is_wide ? interval_tolerance : exact_tolerance;
    dpa__bracket found;
    DPA_TRY(bisect(stands_at, s, *lower, *upper, relative, &s->test.status, &found, err));
    *lower = found.lower;
    *upper = found.upper;
    return DPA_OK;
}

static dpa_status check_games(const dpa_one_run *games, size_t count, dpa_guess_choice choice,
                              dpa_error *err) {
    if (count < 1 || (choice == DPA_GUESSES_FIXED && count != 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu guess counts where one is wanted", count);
    for (size_t i = 0; i < count; ++i) {
        DPA_TRY(dpa__one_run_check(&games[i], err));
        if (games[i].canaries != games[0].canaries || games[i].options != games[0].options)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "guess counts of different runs");
    }
    return DPA_OK;
}

static unsigned assumptions_of(const dpa_family *family, dpa_guess_choice choice) {
    unsigned bits = DPA_ASSUME_ONE_RUN_CANARIES | dpa__model_assumption(dpa__family_name(family));
    if (choice == DPA_GUESSES_FIXED) bits |= DPA_ASSUME_GUESSES_FIXED;
    if (choice == DPA_GUESSES_MAX) bits |= DPA_ASSUME_NO_SELECTION;
    return bits;
}

static void describe(const search *s, dpa_guess_choice choice, size_t count, dpa_result *result) {
    static const char *const names[] = {"fixed", "auto", "max"};
    const dpa_family *family = s->test.family;
    const dpa_one_run *winner = &s->games[s->alive[0]];
    (void)snprintf(result->family, sizeof result->family, "%s", dpa__family_spec(family));
    (void)snprintf(result->method, sizeof result->method, "%s",
                   dpa__one_run_method_name(s->test.method));
    (void)snprintf(result->select, sizeof result->select, "%s", names[choice]);
    (void)snprintf(result->parameter, sizeof result->parameter, "%s",
                   dpa__family_parameter(family));
    result->valid = choice != DPA_GUESSES_MAX;
    result->assumptions = assumptions_of(family, choice);
    dpa__result_add_extra(result, "canaries", (double)winner->canaries);
    dpa__result_add_extra(result, "options", (double)winner->options);
    dpa__result_add_extra(result, "guesses", (double)winner->guesses);
    dpa__result_add_extra(result, "correct", (double)winner->correct);
    if (choice != DPA_GUESSES_FIXED)
        dpa__result_add_extra(result, "guess_counts_tried", (double)count);
    if (winner->options > 2)
        (void)snprintf(result->note, sizeof result->note,
                       "With %llu options each, epsilon is about replacing one canary by another, "
                       "not about adding or removing it.",
                       (unsigned long long)winner->options);
}

/* ε of the refuted end, rounded down. The width of the bracket and of a composed family's interval
 * is the numerical error. */
static dpa_status set_bound(const search *s, double lower, double upper, double delta,
                            dpa_result *result, dpa_error *err) {
    dpa_interval low, high;
    DPA_TRY(dpa__family_epsilon(s->test.family, lower, delta, &low, err));
    DPA_TRY(dpa__family_epsilon(s->test.family, upper, delta, &high, err));
    result->epsilon_lower = low.lower;
    result->parameter_lower = dpa__family_value(s->test.family, lower);
    result->numerical_error = high.upper - low.lower + 1e-11 * fmax(1.0, low.lower);
    return DPA_OK;
}

static dpa_status set_claim(const dpa_request *request, const dpa_one_run *games, size_t count,
                            dpa_guess_choice choice, dpa_result *result, dpa_error *err) {
    const double delta = dpa__claim_delta(request);
    dpa__one_run_test test;
    DPA_TRY(dpa__one_run_test_init(&test, request, delta, games[0].options, err));
    double t = 0.0, least = 1.0;
    dpa_status status = dpa__family_claim(test.family, request->claim_epsilon, delta, &t, err);
    for (size_t i = 0; status == DPA_OK && i < count; ++i) {
        if (dpa__one_run_test_refutes(&test, t, &games[i], least)) /* one look rejects most */
            least = fmin(least, dpa__one_run_test_p_value(&test, t, &games[i]));
        status = test.status;
    }
    dpa__one_run_test_free(&test);
    result->p_value = choice == DPA_GUESSES_AUTO ? fmin(1.0, (double)count * least) : least;
    return status;
}

static dpa_status run_search(search *s, size_t count, dpa_guess_choice choice,
                             const dpa_request *request, dpa_result *result, dpa_error *err) {
    double lower, upper;
    DPA_TRY(find_parameter(s, &lower, &upper, err));
    DPA_TRY(set_bound(s, lower, upper, request->delta, result, err));
    describe(s, choice, count, result);
    if (upper <= lower && lower > 0.0)
        (void)snprintf(result->note, sizeof result->note,
                       "Every member of the family is refuted: the bound is that of its last.");
    return DPA_OK;
}

dpa_status dpa__one_run_bound(const dpa_one_run *games, size_t count, dpa_guess_choice choice,
                              const dpa_request *request, dpa_result *result, dpa_error *err) {
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check_games(games, count, choice, err));
    dpa__result_init(result, request);
    search s = {.games = games, .count = count, .p = (1.0 - request->confidence) / request->sides};
    if (choice == DPA_GUESSES_AUTO) s.p /= (double)count;
    if (request->sides == 2) result->epsilon_upper = INFINITY; /* one run shows no upper bound */
    s.alive = DPA_NEW_ARRAY(size_t, count, err);
    if (s.alive == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) s.alive[i] = i;
    dpa_status status =
        dpa__one_run_test_init(&s.test, request, request->delta, games[0].options, err);
    if (status == DPA_OK) status = run_search(&s, count, choice, request, result, err);
    if (status == DPA_OK && !isnan(request->claim_epsilon))
        status = set_claim(request, games, count, choice, result, err);
    dpa__one_run_test_free(&s.test);
    free(s.alive);
    return status;
}
