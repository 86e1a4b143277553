/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roots of monotone functions. The answer is a bracket, so that the caller can take the safe side.
 */
#ifndef DPA_MATH_ROOT_H
#define DPA_MATH_ROOT_H

#include <stddef.h>

#include "dpaudit/status.h"
#include "math/quad.h"

/* After a search fn(lower) and fn(upper) have different signs (or one is zero), and lower ≤ root ≤
 * upper. */
typedef struct dpa__bracket {
    double lower, upper;
    double fn_lower, fn_upper;
    size_t evaluations;
} dpa__bracket;

/* Narrows [lower, upper] to at most max(absolute, relative·|root|), or to two neighbouring doubles.
 * The function must be monotone; it may be flat, jump, or be infinite. Ends may be infinite if fn
 * accepts them. An exact zero closes the bracket on it. DPA_NUMERIC if both ends have the same sign
 * (the bracket is left as given) or if fn returns NaN. Smooth functions take 10 to 20 evaluations,
 * no function more than about 260. */
dpa_status dpa__root(dpa__fn fn, void *user, double lower, double upper, double absolute,
                     double relative, dpa__bracket *out, dpa_error *err);
/* The same for a function that can fail, whose error is then the answer. */
typedef dpa_status dpa__try_fn(double x, void *user, double *out, dpa_error *err);
dpa_status dpa__root_try(dpa__try_fn *fn, void *user, double lower, double upper, double absolute,
                         double relative, dpa__bracket *out, dpa_error *err);
/* Where a falling function of x ≥ 0 is no longer above 0, searched upwards from `start` by doubling
 * and narrowed to `tolerance`, absolute or relative. Both ends are `most` if it is above 0 there.
 */
dpa_status dpa__root_above(dpa__try_fn *fn, void *user, double start, double most, double tolerance,
                           dpa__bracket *out, dpa_error *err);
/* The same as dpa__root for a predicate that is false below and true above: the bracket ends at the
 * last false and the first true place (fn_lower = −1, fn_upper = 1). At most 68 calls from
 * −INFINITY to INFINITY. */
typedef int (*dpa__predicate)(double x, void *user);
dpa_status dpa__bisect(dpa__predicate is_above, void *user, double lower, double upper,
                       double absolute, double relative, dpa__bracket *out, dpa_error *err);

/* Golden sections of [low, high] around the maximum of a function that has one: its last two places
 * and their values. */
typedef struct dpa__peak {
    double place[2], value[2];
} dpa__peak;
dpa__peak dpa__golden(dpa__fn fn, void *user, double low, double high, int steps);

/* A rough minimum of a function of a positive scale, where any point near it is good enough: walks
 * from `start` by shrinking factors; returns the place and the value there. NaN and +INFINITY count
 * as too high. */
double dpa__descend(dpa__fn fn, void *user, double start, double *value);

#endif
