/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration: the parameter value at which the interval for ε ends just below the target.
 *
 * The search keeps a bracket of a value that passes (upper end ≤ target) and one that fails. The
 * next guess is the secant in log–log scale, kept inside the bracket. To judge a value, cells
 * are narrowed only until ε is clearly above or below the target, or, near it, until the
 * interval is as narrow as the caller's tolerance. The answer is a value that passed and is
 * within half of the tolerance of the target (whole steps: whose successor fails), or is within
 * 1e-6 of a value that fails.
 *
 * A value whose interval contains the target and cannot be made narrower neither passes nor
 * fails. The search stops within 1e-3 of it. Unless a value 1% further on certainly fails, the
 * answer reports it, because a better value may be hidden there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"

enum { MOST_TRIES = 80 };
/* FINE: values this near are the same to any user. It ends the search only where ε jumps: near ε =
 * 0 no value comes close to the target, and each costs a composition. */
static const double FINE = 1e-6, COARSE = 1e-3, THIN = 0.01;
/* How often the full grid may fail to judge a value, and the grid size used after that. */
enum { MOST_HOPELESS = 2, SMALL_GRID = 1 << 18 };

typedef struct search {
    dpa_phase *phases;
    size_t count;
    dpa_calibrate_what what;
    dpa_account_opts opts;
    double target, allowed;
    int rising;   /* ε grows with the value */
    int hopeless; /* values that no allowed grid could judge */
} search;

typedef struct trial {
    double value;
    dpa_interval epsilon;
    int passed;
    int is_unjudged; /* the narrowest interval of any grid still contains the target */
} trial;

static void set_value(search *s, double value) {
    if (s->what == DPA_CALIBRATE_SIGMA)
        s->phases[0].sigma = value;
    else if (s->what == DPA_CALIBRATE_Q)
        s->phases[0].q = value;
    else
        s->phases[0].steps = (uint64_t)value;
}

static dpa_status try_value(search *s, double value, trial *out, dpa_error *err) {
    set_value(s, value);
    out->value = value;
    dpa_account_opts opts = s->opts;
    if (s->hopeless >= MOST_HOPELESS && opts.max_grid > SMALL_GRID) opts.max_grid = SMALL_GRID;
    const dpa_interval question = {s->target - s->allowed / 2, s->target};
    int is_clear;
    DPA_TRY(
        dpa__account_judge(s->phases, s->count, &opts, question, &out->epsilon, &is_clear, err));
    out->passed = out->epsilon.upper <= s->target;
    out->is_unjudged = !is_clear && !out->passed && out->epsilon.lower <= s->target;
    s->hopeless += !is_clear;
    return DPA_OK;
}

/* The ends of the allowed range; `private_end` is the most private one. */
static void limits(const search *s, double *private_end, double *leaky_end) {
    double low = 1e-3, high = 1e9;
    if (s->what == DPA_CALIBRATE_Q) {
        low = 1e-12;
        high = 1;
    } else if (s->what == DPA_CALIBRATE_STEPS) {
        low = 1;
        high = 1e12;
    } else if (s->phases[0].mechanism == DPA_LAPLACE) {
        low = 1e-5;
    } else if (s->phases[0].mechanism == DPA_RANDOMIZED_RESPONSE) {
        low = 1e-9;
        high = 1e5;
    }
    *private_end = s->rising ? low : high;
    *leaky_end = s->rising ? high : low;
}

static double whole(const search *s, double value) {
    return s->what == DPA_CALIBRATE_STEPS ? floor(value) : value;
}

/* Walks from `start` by growing factors until one value that passes and one that fails are known.
 * fail->value is NaN if even the leaky end passes. */
static dpa_status find_bracket(search *s, double start, trial *pass, trial *fail, dpa_error *err) {
    double private_end, leaky_end;
    limits(s, &private_end, &leaky_end);
    trial now;
    DPA_TRY(try_value(s, start, &now, err));
    const int first = now.passed;
    *(first ? pass : fail) = now;
    for (double factor = 2;; factor *= factor) {
        const double end = first ? leaky_end : private_end;
        if (now.value == end) break;
        const int upwards = end > now.value;
        const double next = upwards ? fmin(now.value * factor, end) : fmax(now.value / factor, end);
        DPA_TRY(try_value(s, whole(s, next), &now, err));
        *(now.passed ? pass : fail) = now;
        if (now.passed != first) return DPA_OK;
    }
    if (first) {
        fail->value = NAN;
        return DPA_OK;
    }
    static const char *const names[] = {"sigma", "q", "steps"};
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "epsilon %g at delta %g cannot be reached: even with %s %g it is in [%.6g, "
                     "%.6g]; raise epsilon or make the other parameters more private",
                     s->target, s->opts.delta, names[s->what], now.value, now.epsilon.lower,
                     now.epsilon.upper);
}

/* The place where the secant of log ε against log value meets the target, moved a little to the
 * private side; the middle of the bracket if the secant is useless, and every third time. */
static double next_guess(const search *s, const trial *pass, const trial *fail, int number) {
    const double x0 = log(pass->value), x1 = log(fail->value);
    const double y0 = log(pass->epsilon.upper), y1 = log(fail->epsilon.upper);
    const double goal = log(s->target - s->allowed / 4);
    double part = (goal - y0) / (y1 - y0);
    if (number % 3 == 2 || !isfinite(part)) part = 0.5;
    part = fmin(fmax(part, 0.02), 0.98);
    const double guess = exp(x0 + part * (x1 - x0));
    if (s->what != DPA_CALIBRATE_STEPS) return guess;
    return fmin(fmax(floor(guess), pass->value + 1), fail->value - 1);
}

static int good_enough_epsilon(const search *s, const trial *pass) {
    return s->what != DPA_CALIBRATE_STEPS && pass->epsilon.upper >= s->target - s->allowed / 2;
}

static int good_enough(const search *s, const trial *pass, const trial *fail) {
    if (isnan(fail->value)) return 1;
    if (s->what == DPA_CALIBRATE_STEPS) return fail->value - pass->value <= 1;
    return good_enough_epsilon(s, pass) ||
           fabs(pass->value - fail->value) <=
               (fail->is_unjudged ? COARSE : FINE) * fabs(pass->value);
}

static dpa_status narrow(search *s, trial *pass, trial *fail, dpa_error *err) {
    for (int number = 0; !good_enough(s, pass, fail) && number < MOST_TRIES; ++number) {
        trial now;
        DPA_TRY(try_value(s, next_guess(s, pass, fail, number), &now, err));
        *(now.passed ? pass : fail) = now;
    }
    /* A pass that was clear early has no narrow interval, so it is computed now. */
    const dpa_interval none = {NAN, NAN};
    dpa_interval full;
    int is_clear;
    set_value(s, pass->value);
    DPA_TRY(dpa__account_judge(s->phases, s->count, &s->opts, none, &full, &is_clear, err));
    pass->epsilon.lower = fmax(pass->epsilon.lower, full.lower);
    pass->epsilon.upper = fmin(pass->epsilon.upper, full.upper);
    return DPA_OK;
}

/* Checks whether the values that could not be judged are only a thin seam between passing and
 * failing ones. */
static dpa_status look_beyond(search *s, const trial *pass, const trial *fail, dpa_calibration *out,
                              dpa_error *err) {
    out->unjudged = NAN;
    if (isnan(fail->value) || !fail->is_unjudged || good_enough_epsilon(s, pass)) return DPA_OK;
    double private_end, leaky_end;
    limits(s, &private_end, &leaky_end);
    const int upwards = leaky_end > fail->value;
    double beyond = fail->value * (upwards ? 1 + THIN : 1 - THIN);
    if (s->what == DPA_CALIBRATE_STEPS) beyond = ceil(beyond);
    beyond = upwards ? fmin(beyond, leaky_end) : fmax(beyond, leaky_end);
    trial now;
    DPA_TRY(try_value(s, beyond, &now, err));
    if (now.epsilon.lower > s->target) return DPA_OK;
    out->unjudged = fail->value;
    out->unjudged_epsilon = fail->epsilon;
    return DPA_OK;
}

static dpa_status check(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                        double epsilon, const dpa_account_opts *opts, dpa_error *err) {
    if (phases == NULL || count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no phase was given; at least one is needed");
    if (!(epsilon > 0) || !isfinite(epsilon))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "the target epsilon is %g; it must be above 0 and finite", epsilon);
    if (what != DPA_CALIBRATE_SIGMA && what != DPA_CALIBRATE_Q && what != DPA_CALIBRATE_STEPS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%d is no parameter to calibrate: sigma, q, steps",
                         (int)what);
    if (what == DPA_CALIBRATE_Q && phases[0].mechanism == DPA_SHUFFLED)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "q cannot be calibrated: batches are shuffled");
    if (what == DPA_CALIBRATE_SIGMA && phases[0].mechanism == DPA_PAIR)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "sigma cannot be calibrated: a dominating pair has none");
    return dpa__account_check(opts, err);
}

dpa_status dpa__calibrate_whole(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                                double epsilon, double delta, const dpa_account_opts *opts,
                                dpa_calibration *out, dpa_error *err) {
    search s = {.count = count, .what = what, .target = epsilon};
    dpa_account_opts_init(&s.opts);
    if (opts != NULL) s.opts = *opts;
    s.opts.delta = delta;
    DPA_TRY(check(phases, count, what, epsilon, &s.opts, err));
    s.allowed = fmin(fmax(s.opts.absolute, s.opts.tolerance * epsilon), epsilon / 2);
    s.rising = what != DPA_CALIBRATE_SIGMA || phases[0].mechanism == DPA_RANDOMIZED_RESPONSE;
    s.phases = DPA_NEW_ARRAY(dpa_phase, count, err);
    if (s.phases == NULL) return DPA_NO_MEMORY;
    memcpy(s.phases, phases, count * sizeof *phases);
    trial pass = {0}, fail = {0};
    dpa_status status = find_bracket(&s, what == DPA_CALIBRATE_Q ? 0.01 : 1, &pass, &fail, err);
    if (status == DPA_OK) status = narrow(&s, &pass, &fail, err);
    if (status == DPA_OK) status = look_beyond(&s, &pass, &fail, out, err);
    free(s.phases);
    out->value = pass.value;
    out->epsilon = pass.epsilon;
    return status;
}

dpa_status dpa_calibrate(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                         double epsilon, double delta, const dpa_account_opts *opts, double *value,
                         dpa_interval *achieved, dpa_error *err) {
    dpa_calibration found;
    DPA_TRY(dpa__calibrate_whole(phases, count, what, epsilon, delta, opts, &found, err));
    *value = found.value;
    if (achieved != NULL) *achieved = found.epsilon;
    return DPA_OK;
}
