/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bracketed roots. Inverse quadratic interpolation where it is safe (Chandrupatla, "A new hybrid
 * quadratic/bisection algorithm", 1997), bisection elsewhere. Bisection halves the number of
 * doubles in the bracket, not its width: from 1e-300 to 1e300 it takes 64 steps, not 2000. If three
 * steps did not halve the number of doubles left, a bisection follows. So no function takes more
 * than about 260 evaluations; smooth ones take 10 to 20. */
#include "math/root.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* Rank of a double among all doubles: neighbours differ by 1, −0 and 0 are the same. */
static int64_t rank_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >= 0 ? bits : INT64_MIN - bits;
}

static double of_rank(int64_t rank) {
    const int64_t bits = rank >= 0 ? rank : INT64_MIN - rank;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The number of doubles between, as a double; only used in ratios. */
static double gap(double lower, double upper) {
    return (double)rank_of(upper) - (double)rank_of(lower);
}

/* A point strictly between lower and upper (which are not neighbours) that halves the doubles
 * between them. All doubles nearer to zero than `floor` count as one. */
static double middle(double lower, double upper, double floor) {
    if (lower < 0 && upper > 0) return 0;
    double from = lower, to = upper;
    if (lower >= 0 && from < floor) from = floor;
    if (upper <= 0 && to > -floor) to = -floor;
    if (from >= to) from = lower, to = upper;
    const int64_t low = rank_of(from), high = rank_of(to);
    const double x = of_rank(low + (high - low) / 2);
    return x > lower && x < upper ? x : nextafter(lower, upper);
}

static int is_narrow(double lower, double upper, double absolute, double relative) {
    if (nextafter(lower, upper) >= upper) return 1;
    /* the smaller end is at most |root|; if the bracket contains zero, the root may be arbitrarily
     * small */
    const double least = lower < 0 && upper > 0 ? 0 : fmin(fabs(lower), fabs(upper));
    return upper - lower <= fmax(absolute, relative * least);
}

static int differ(double a, double b) {
    return (a < 0 && b > 0) || (a > 0 && b < 0);
}

/* Inverse quadratic interpolation through both ends and the point that was dropped last; NaN if it
 * is not monotone between the ends (Chandrupatla's test, which an infinite or repeated value of the
 * old point fails) or a number is infinite. */
static double interpolate(const dpa__bracket *b, double old, double fn_old) {
    const double f1 = b->fn_lower, f2 = b->fn_upper, x1 = b->lower, x2 = b->upper;
    if (!(isfinite(f1) && isfinite(f2) && isfinite(x2 - x1))) return NAN;
    if (isnan(old)) return x1 - f1 * ((x2 - x1) / (f2 - f1));
    /* x1 is the end that is next to the old point */
    const int beyond_upper = old > x2;
    const double xa = beyond_upper ? x2 : x1, fa = beyond_upper ? f2 : f1;
    const double xb = beyond_upper ? x1 : x2, fb = beyond_upper ? f1 : f2;
    const double xi = (xa - xb) / (old - xb), phi = (fa - fb) / (fn_old - fb);
    if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)) return NAN;
    const double alpha = (old - xa) / (xb - xa);
    const double t =
        fa / (fb - fa) * fn_old / (fb - fn_old) + alpha * fa / (fn_old - fa) * fb / (fn_old - fb);
    return xa + t * (xb - xa);
}

/* Interpolation; else the midpoint; else, if the ends are too far apart for either, `otherwise`. */
static double guess(const dpa__bracket *b, double old, double fn_old, double otherwise) {
    const double x = interpolate(b, old, fn_old);
    if (x >= b->lower && x <= b->upper) return x; /* on an end: to be nudged across the root */
    const double half = 0.5 * b->lower + 0.5 * b->upper;
    return half > b->lower && half < b->upper ? half : otherwise;
}

/* Moves a guess away from the ends, so that the far end moves too once the near one is accurate. */
static double nudge(const dpa__bracket *b, double x, double absolute, double relative) {
    const double step = 0.5 * fmax(absolute, relative * fabs(x));
    const double low = fmax(b->lower + step, nextafter(b->lower, b->upper));
    const double high = fmin(b->upper - step, nextafter(b->upper, b->lower));
    return low <= high ? fmin(fmax(x, low), high) : middle(b->lower, b->upper, absolute);
}

static dpa_status start(double lower, double upper, double absolute, double relative,
                        dpa__bracket *out, dpa_error *err) {
    *out = (dpa__bracket){.lower = lower, .upper = upper, .fn_lower = NAN, .fn_upper = NAN};
    if (!(lower <= upper)) {
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no interval to search: [%g, %g]", lower, upper);
    }
    if (!(absolute >= 0 && relative >= 0)) {
        return dpa__fail(err, DPA_BAD_ARGUMENT, "tolerances must not be negative");
    }
    return DPA_OK;
}

static void close_at(dpa__bracket *out, double x) {
    out->lower = out->upper = x;
    out->fn_lower = out->fn_upper = 0;
}

/* Evaluates fn at x and shrinks the bracket; remembers the end that was replaced. */
static dpa_status shrink(dpa__fn fn, void *user, double x, dpa__bracket *out, double old[2],
                         dpa_error *err) {
    const double value = fn(x, user);
    ++out->evaluations;
    if (isnan(value)) return dpa__fail(err, DPA_NUMERIC, "function is not a number at %.17g", x);
    if (value == 0) {
        close_at(out, x);
    } else if (differ(value, out->fn_upper)) {
        old[0] = out->lower, old[1] = out->fn_lower;
        out->lower = x, out->fn_lower = value;
    } else {
        old[0] = out->upper, old[1] = out->fn_upper;
        out->upper = x, out->fn_upper = value;
    }
    return DPA_OK;
}

static dpa_status evaluate_ends(dpa__fn fn, void *user, dpa__bracket *out, dpa_error *err) {
    out->fn_lower = fn(out->lower, user);
    out->fn_upper = fn(out->upper, user);
    out->evaluations = 2;
    if (isnan(out->fn_lower) || isnan(out->fn_upper)) {
        return dpa__fail(err, DPA_NUMERIC, "function is not a number at an end of [%.17g, %.17g]",
                         out->lower, out->upper);
    }
    if (out->fn_lower == 0) {
        close_at(out, out->lower);
    } else if (out->fn_upper == 0) {
        close_at(out, out->upper);
    } else if (!differ(out->fn_lower, out->fn_upper)) {
        return dpa__fail(err, DPA_NUMERIC, "no root in [%g, %g]: the function is %g and %g there",
                         out->lower, out->upper, out->fn_lower, out->fn_upper);
    }
    return DPA_OK;
}

dpa_status dpa__root(dpa__fn fn, void *user, double lower, double upper, double absolute,
                     double relative, dpa__bracket *out, dpa_error *err) {
    DPA_TRY(start(lower, upper, absolute, relative, out, err));
    DPA_TRY(evaluate_ends(fn, user, out, err));
    double old[2] = {NAN, NAN}, goal = 0;
    int turns = 0;
    while (!is_narrow(out->lower, out->upper, absolute, relative)) {
        const double left = gap(out->lower, out->upper);
        if (turns == 0 || left <= goal) goal = 0.5 * left, turns = 4;
        double x = middle(out->lower, out->upper, absolute);
        if (--turns > 0) x = guess(out, old[0], old[1], x);
        x = nudge(out, x, absolute, relative);
        DPA_TRY(shrink(fn, user, x, out, old, err));
    }
    return DPA_OK;
}

typedef struct attempt {
    dpa__try_fn *fn;
    void *user;
    dpa_status status; /* the first failure */
    dpa_error *err;
} attempt;

static double value_or_nan(double x, void *user) {
    attempt *a = user;
    double value;
    if (a->status == DPA_OK) a->status = a->fn(x, a->user, &value, a->err);
    return a->status == DPA_OK ? value : (double)NAN;
}

dpa_status dpa__root_try(dpa__try_fn *fn, void *user, double lower, double upper, double absolute,
                         double relative, dpa__bracket *out, dpa_error *err) {
    attempt a = {fn, user, DPA_OK, err};
    dpa_error own;
    const dpa_status status =
        dpa__root(value_or_nan, &a, lower, upper, absolute, relative, out, &own);
    if (a.status == DPA_OK && status != DPA_OK && err != NULL) *err = own;
    return a.status != DPA_OK ? a.status : status;
}

dpa_status dpa__root_above(dpa__try_fn *fn, void *user, double start, double most, double tolerance,
                           dpa__bracket *out, dpa_error *err) {
    double low = 0, high = fmin(start, most), value;
    for (;;) {
        DPA_TRY(fn(high, user, &value, err));
        if (!(value > 0)) break;
        low = high;
        *out = (dpa__bracket){.lower = most, .upper = most, .fn_lower = value, .fn_upper = value};
        if (high >= most) return DPA_OK;
        high = fmin(2 * high, most);
    }
    return dpa__root_try(fn, user, low, high, tolerance, tolerance, out, err);
}

dpa_status dpa__bisect(dpa__predicate is_above, void *user, double lower, double upper,
                       double absolute, double relative, dpa__bracket *out, dpa_error *err) {
    DPA_TRY(start(lower, upper, absolute, relative, out, err));
    out->evaluations = 2;
    out->fn_lower = is_above(lower, user) ? 1 : -1;
    out->fn_upper = is_above(upper, user) ? 1 : -1;
    if (out->fn_lower > 0 || out->fn_upper < 0) {
        return dpa__fail(err, DPA_NUMERIC, "no change from below to above in [%g, %g]", lower,
                         upper);
    }
    while (!is_narrow(out->lower, out->upper, absolute, relative)) {
        const double x = middle(out->lower, out->upper, absolute);
        ++out->evaluations;
        if (is_above(x, user)) {
            out->upper = x;
        } else {
            out->lower = x;
        }
    }
    return DPA_OK;
}

dpa__peak dpa__golden(dpa__fn fn, void *user, double low, double high, int steps) {
    const double ratio = 0.6180339887498949;
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = fn(a, user), at_b = fn(b, user);
    for (int i = 0; i < steps; ++i) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = fn(a, user);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = fn(b, user);
        }
    }
    return (dpa__peak){{a, b}, {at_a, at_b}};
}

/* Every θ of a Chernoff bound gives a valid bound, so a search for the best one need not be exact:
 * steps by a factor of 4, then 2, then 1.4, then 1.2, for as long as they gain. */
double dpa__descend(dpa__fn fn, void *user, double start, double *value) {
    static const double LEAST_GAIN = 1e-4; /* less does not justify a more extreme place */
    static const double factors[] = {4, 2, 1.4142135623730951, 1.189207115002721};
    double place = start, best = fn(start, user);
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; ++f) {
        for (int side = 0; side < 2; ++side) {
            const double step = side == 0 ? factors[f] : 1 / factors[f];
            int moved = 0;
            for (int tries = 0; tries < 40; ++tries) {
                const double here = fn(place * step, user);
                if (!(here < best - LEAST_GAIN * fabs(best)) && !isnan(best)) break;
                best = here;
                place *= step;
                moved = 1;
            }
            if (moved) break; /* we just came from the other direction */
        }
    }
    *value = best;
    return place;
}
