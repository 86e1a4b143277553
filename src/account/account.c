/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The account and the questions it answers. Each answer is an interval between a pessimistic and an
 * optimistic composition, both tilted to the place the question is about. */
#include <math.h>
#include <stdlib.h>

#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"

/* Cell widths: a coarse pass, then narrower ones until the interval for ε is as narrow as
 * promised.
 *
 * The width of the interval falls like h² (both pmfs are of second order), at first perhaps more
 * slowly if cells are wide against the loss of one step. The exponent observed in the last two
 * passes predicts the next h. */

enum { PASSES = 16, COARSE_CELLS = 2000, LONG_COARSE = 1 << 15 };
/* After this many passes in a row in which narrower cells did not narrow the interval, none will. A
 * δ of 1e-100 or less can lie where no tilt puts the bulk of the sum, between no rare large loss
 * and one of them; only rounding error is left there. */
enum { MOST_IDLE = 2 };
static const double GAIN = 0.9;

static dpa_status read_direction(const dpa_account *account, size_t direction, double delta,
                                 dpa_interval *out, size_t *longest, dpa_error *err) {
    const dpa__pld *guide = dpa__account_guide(account, direction);
    double bound;
    const double theta =
        dpa__tilt_for_delta(guide->side[DPA_PESSIMISTIC], guide->count, delta, &bound);
    /* The effect of truncating the window, relative to a bulk that looks Gaussian. If it does not,
     * δ is a smaller part of the bulk, hence this small factor. */
    const double accuracy = log(fmax(account->opts.tolerance, 1e-9) * 1e-5);
    for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC; ++side) {
        dpa__composed composed;
        DPA_TRY(dpa__account_compose(account, direction, (dpa__rounding)side, theta, accuracy,
                                     &composed, err));
        const double epsilon = dpa__composed_epsilon(&composed, delta);
        if (side == DPA_OPTIMISTIC)
            out->lower = epsilon;
        else
            out->upper = epsilon;
        if (longest != NULL && composed.count > *longest) *longest = composed.count;
        dpa__composed_free(&composed);
    }
    return DPA_OK;
}

static dpa_status read_epsilon(const dpa_account *account, double delta, dpa_interval *out,
                               size_t *longest, dpa_error *err) {
    *out = (dpa_interval){0, 0};
    for (size_t d = 0; d < dpa__account_answers(account)->directions; ++d) {
        dpa_interval here;
        DPA_TRY(read_direction(account, d, delta, &here, longest, err));
        out->lower = fmax(out->lower, here.lower);
        out->upper = fmax(out->upper, here.upper);
    }
    return DPA_OK;
}

/* The width of the composed loss, 16 deviations, in cells of this grid. */
static double spread_in_cells(const dpa__loss_grid *grid) {
    double variance = 0;
    for (size_t k = 0; k < grid->direction[0].count; ++k) {
        const dpa__pmf *pmf = &grid->direction[0].side[DPA_PESSIMISTIC][k];
        double mean = 0, square = 0;
        for (size_t i = 0; i < pmf->count; ++i) {
            const double mass = exp(pmf->log_mass[i]);
            const double position = (double)(pmf->first + (ptrdiff_t)i);
            mean += mass * position;
            square += mass * position * position;
        }
        variance += pmf->steps * fmax(square - mean * mean, 0);
    }
    return 16 * sqrt(variance);
}

/* The first grid: about COARSE_CELLS for one step, unless the composed loss would then need a long
 * transform; never fewer than 64 cells for one step. */
static dpa_status coarse_grid(dpa_account *account, dpa_error *err) {
    double h = dpa__composition_width(&account->model, account->log_tail, COARSE_CELLS);
    const size_t max = account->opts.max_grid;
    DPA_TRY(dpa__loss_grid_new(&account->model, h, account->log_tail, max, &account->coarse, err));
    const double excess = spread_in_cells(&account->coarse) / LONG_COARSE;
    if (excess <= 1) return DPA_OK;
    dpa__loss_grid_free(&account->coarse);
    h *= fmin(excess, COARSE_CELLS / 64.0);
    return dpa__loss_grid_new(&account->model, h, account->log_tail, max, &account->coarse, err);
}

typedef struct pass {
    double h, width;
} pass;

/* The next cell width from the last two passes. */
static double next_width(pass before, pass last, double allowed) {
    if (!isfinite(last.width)) return last.h / 6;
    double order = 2;
    if (isfinite(before.width) && before.width > last.width)
        order = fmin(fmax(log(before.width / last.width) / log(before.h / last.h), 1), 2);
    const double factor = 0.93 * pow(allowed / last.width, 1 / order);
    return last.h * fmin(fmax(factor, 1.0 / 32), 0.9);
}

static dpa_status give_up(const dpa_account *account, dpa_status status, double allowed,
                          dpa_error *err) {
    if (status != DPA_NUMERIC || !isfinite(account->epsilon.upper)) return status;
    const dpa_interval e = account->epsilon;
    return dpa__fail(
        err, DPA_NUMERIC,
        "epsilon is in [%.6g, %.6g], width %.3g; %.3g was asked for and needs more than "
        "the grid limit %zu or more than double precision: raise the "
        "tolerance, or max_grid of the library",
        e.lower, e.upper, e.upper - e.lower, allowed, account->opts.max_grid);
}

/* One pass: makes the grid for h (the coarse one's or narrower) and reads ε. If the answer is empty
 * because of the coarse grid's tilt, the fine grid finds its own. */
static dpa_status run_pass(dpa_account *account, double h, dpa_interval *out, dpa_error *err) {
    const dpa_account_opts *opts = &account->opts;
    if (h < account->coarse.h) {
        dpa__loss_grid_free(&account->fine);
        DPA_TRY(dpa__loss_grid_new(&account->model, h, account->log_tail, opts->max_grid,
                                   &account->fine, err));
    }
    DPA_TRY(read_epsilon(account, opts->delta, out, &account->transform, err));
    if (account->self_guided || (isfinite(out->upper) && out->lower > 0)) return DPA_OK;
    account->self_guided = h < account->coarse.h;
    return account->self_guided ? read_epsilon(account, opts->delta, out, &account->transform, err)
                                : DPA_OK;
}

/* A calibration's question can be answered before the interval is narrow. */
static int is_answered(const dpa_account *account) {
    return account->epsilon.upper < account->question.lower ||
           account->epsilon.lower > account->question.upper;
}

static dpa_status refine(dpa_account *account, dpa_error *err) {
    const dpa_account_opts *opts = &account->opts;
    DPA_TRY(coarse_grid(account, err));
    pass before = {0, HUGE_VAL}, last = {0, HUGE_VAL};
    double h = account->coarse.h, allowed = opts->absolute;
    int idle = 0;
    for (int number = 0; number < PASSES && idle < MOST_IDLE; ++number) {
        dpa_interval now;
        const dpa_status status = run_pass(account, h, &now, err);
        if (status != DPA_OK) return give_up(account, status, allowed, err);
        before = last;
        if (isinf(now.lower)) { /* infinite losses alone exceed δ */
            account->epsilon = now;
            return DPA_OK;
        }
        last = (pass){dpa__account_answers(account)->h, now.upper - now.lower};
        /* A trivial lower end says nothing about how the width will shrink. */
        if (now.lower == 0 && now.upper > opts->absolute) last.width = HUGE_VAL;
        account->epsilon.lower = fmax(account->epsilon.lower, now.lower);
        account->epsilon.upper = fmin(account->epsilon.upper, now.upper);
        allowed = fmax(opts->absolute, opts->tolerance * account->epsilon.lower);
        if (last.width <= allowed || is_answered(account)) return DPA_OK;
        /* If a mechanism is known only between two others, its two sides never meet. */
        if (account->model.has_gap && number > 0) return DPA_OK;
        idle = number > 0 && !(last.width < GAIN * before.width) ? idle + 1 : 0;
        h = next_width(before, last, allowed);
    }
    (void)dpa__fail(
        err, DPA_NUMERIC,
        "epsilon at delta %g could not be found in double precision: ask for a larger delta",
        opts->delta);
    return give_up(account, DPA_NUMERIC, allowed, err);
}

void dpa_account_opts_init(dpa_account_opts *opts) {
    *opts = (dpa_account_opts){.adjacency = DPA_ADD_REMOVE,
                               .delta = 1e-5,
                               .tolerance = 1e-3,
                               .absolute = 1e-4,
                               .max_grid = (size_t)1 << 24,
                               .group = 1};
}

dpa_status dpa__account_check(const dpa_account_opts *opts, dpa_error *err) {
    if (opts->adjacency != DPA_ADD_REMOVE && opts->adjacency != DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "adjacency is %d; it must be add-remove or replace-one",
                         (int)opts->adjacency);
    if (!(opts->delta > 0 && opts->delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be above 0 and below 1",
                         opts->delta);
    if (!(opts->tolerance >= 0 && opts->tolerance < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "tolerance is %g; it must be in [0, 1)",
                         opts->tolerance);
    if (!(opts->absolute >= 0) || !isfinite(opts->absolute))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "absolute tolerance is %g; it must be at least 0",
                         opts->absolute);
    if (!(opts->tolerance > 0 || opts->absolute > 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "tolerance and absolute are both 0; one of them must be above 0");
    if (opts->group < 1 || opts->group > 1000000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group is %u; it must be 1 to 1000000 records",
                         opts->group);
    if (opts->max_grid < 4096 || opts->max_grid > (size_t)1 << 28)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "max_grid is %zu; it must be in [4096, 2^28]",
                         opts->max_grid);
    return DPA_OK;
}

dpa_interval dpa__account_around(double value) {
    if (!isfinite(value) || value == 0) return (dpa_interval){value, value};
    const double room = 1e-12 * fabs(value);
    return (dpa_interval){value - room, value + room};
}

static dpa_status fill(dpa_account *account, const dpa_phase *phases, size_t count, dpa__keep keep,
                       dpa_error *err) {
    const dpa_account_opts *opts = &account->opts;
    DPA_TRY(dpa__composition_new(phases, count, opts, keep, &account->model, err));
    if (account->model.mu > 0) {
        account->epsilon =
            dpa__account_around(dpa_gaussian_epsilon(account->model.mu, opts->delta));
        return DPA_OK;
    }
    /* The tails may take a millionth of δ, and little in absolute terms, which curves need. */
    account->log_tail = fmin(log(opts->delta) + log(1e-7), log(1e-18)) - log(account->model.steps);
    const dpa_status status = refine(account, err);
    account->epsilon.upper = fmin(account->epsilon.upper, account->model.pure * (1 + 1e-14));
    return status;
}

static dpa_status alloc(const dpa_account_opts *opts, dpa_account **out, dpa_error *err) {
    dpa_account_opts given;
    dpa_account_opts_init(&given);
    if (opts != NULL) given = *opts;
    *out = NULL;
    DPA_TRY(dpa__account_check(&given, err));
    dpa_account *account = DPA_NEW(dpa_account, err);
    if (account == NULL) return DPA_NO_MEMORY;
    if (pthread_mutex_init(&account->lock, NULL) != 0) {
        free(account);
        return dpa__fail(err, DPA_INTERNAL, "a lock could not be made");
    }
    account->opts = given;
    account->question = (dpa_interval){NAN, NAN};
    account->epsilon = (dpa_interval){0, HUGE_VAL};
    *out = account;
    return DPA_OK;
}

dpa_status dpa__account_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                            dpa__keep keep, dpa_account **out, dpa_error *err) {
    dpa_account *account;
    *out = NULL;
    DPA_TRY(alloc(opts, &account, err));
    const dpa_status status = fill(account, phases, count, keep, err);
    if (status != DPA_OK) {
        dpa_account_free(account);
        return status;
    }
    *out = account;
    return DPA_OK;
}

dpa_status dpa__account_judge(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                              dpa_interval question, dpa_interval *out, int *is_clear,
                              dpa_error *err) {
    dpa_account *account;
    DPA_TRY(alloc(opts, &account, err));
    account->question = question;
    const dpa_status status = fill(account, phases, count, DPA_COMBINE, err);
    *out = account->epsilon;
    *is_clear = status == DPA_OK;
    dpa_account_free(account);
    return status == DPA_NUMERIC ? DPA_OK : status;
}

dpa_status dpa_account_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                           dpa_account **out, dpa_error *err) {
    return dpa__account_new(phases, count, opts, DPA_COMBINE, out, err);
}

void dpa_account_free(dpa_account *account) {
    if (account == NULL) return;
    dpa__composition_free(&account->model);
    dpa__loss_grid_free(&account->coarse);
    dpa__loss_grid_free(&account->fine);
    dpa_curve_free(account->curve[0]);
    dpa_curve_free(account->curve[1]);
    (void)pthread_mutex_destroy(&account->lock);
    free(account);
}

const dpa__pld *dpa__account_guide(const dpa_account *account, size_t direction) {
    const dpa__loss_grid *grid = account->self_guided ? &account->fine : &account->coarse;
    return &grid->direction[direction];
}

dpa_status dpa__account_compose(const dpa_account *account, size_t direction, dpa__rounding side,
                                double theta, double log_accuracy, dpa__composed *out,
                                dpa_error *err) {
    const dpa__pld *pld = &dpa__account_answers(account)->direction[direction];
    const dpa__compose_opts opts = {theta, log_accuracy, account->opts.max_grid};
    return dpa__compose(pld->side[side], pld->count, side, &opts, out, err);
}

dpa_status dpa_account_epsilon(const dpa_account *account, double delta, dpa_interval *out,
                               dpa_error *err) {
    if (!(delta >= 0 && delta <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be in [0, 1]", delta);
    if (delta == account->opts.delta) {
        *out = account->epsilon;
    } else if (delta == 0 || delta == 1) { /* the largest loss there is, or none */
        const double all = delta == 0 ? account->model.pure : 0;
        *out = (dpa_interval){all, all};
    } else if (account->model.mu > 0) {
        *out = dpa__account_around(dpa_gaussian_epsilon(account->model.mu, delta));
    } else {
        DPA_TRY(read_epsilon(account, delta, out, NULL, err));
        out->upper = fmin(out->upper, account->model.pure);
    }
    return DPA_OK;
}

/* δ of one direction. */
static dpa_status direction_delta(const dpa_account *account, size_t direction, double epsilon,
                                  dpa_interval *out, dpa_error *err) {
    const dpa__pld *guide = dpa__account_guide(account, direction);
    const double theta = dpa__tilt_for_epsilon(guide->side[DPA_PESSIMISTIC], guide->count, epsilon);
    for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC; ++side) {
        dpa__composed composed;
        DPA_TRY(dpa__account_compose(account, direction, (dpa__rounding)side, theta, log(1e-8),
                                     &composed, err));
        const double delta = exp(dpa__composed_log_delta(&composed, epsilon));
        if (side == DPA_OPTIMISTIC)
            out->lower = delta;
        else
            out->upper = delta;
        dpa__composed_free(&composed);
    }
    return DPA_OK;
}

dpa_status dpa_account_delta(const dpa_account *account, double epsilon, dpa_interval *out,
                             dpa_error *err) {
    if (!(epsilon >= 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "epsilon is %g; it must be at least 0", epsilon);
    *out = (dpa_interval){0, 0};
    if (isinf(epsilon) || epsilon >= account->model.pure) return DPA_OK;
    if (account->model.mu > 0) {
        const double delta = exp(dpa__gaussian_log_delta(account->model.mu, epsilon));
        *out = (dpa_interval){delta * (1 - 1e-11), fmin(delta * (1 + 1e-11), 1)};
        return DPA_OK;
    }
    for (size_t d = 0; d < dpa__account_answers(account)->directions; ++d) {
        dpa_interval here;
        DPA_TRY(direction_delta(account, d, epsilon, &here, err));
        out->lower = fmax(out->lower, here.lower);
        out->upper = fmax(out->upper, here.upper);
    }
    return DPA_OK;
}

dpa_status dpa__account_mu(const dpa_account *account, double delta, dpa_interval *out,
                           dpa_error *err) {
    if (!(delta > 0 && delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be above 0 and below 1",
                         delta);
    dpa_interval epsilon;
    DPA_TRY(dpa_account_epsilon(account, delta, &epsilon, err));
    const double lower = dpa_gaussian_mu(epsilon.lower, delta);
    const double upper = dpa_gaussian_mu(epsilon.upper, delta);
    *out = (dpa_interval){lower * (1 - 1e-12), upper * (1 + 1e-12)};
    return DPA_OK;
}

double dpa__account_cell(const dpa_account *account) {
    return dpa__account_answers(account)->h;
}

size_t dpa__account_grid(const dpa_account *account) {
    return account->transform;
}
