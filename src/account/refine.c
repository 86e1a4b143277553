/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cell widths: a coarse pass, then narrower ones until the interval for ε is as narrow as
 * promised.
 *
 * The width of the interval falls like h² (both pmfs are of second order), at first perhaps more
 * slowly if cells are wide against the loss of one step. The exponent observed in the last two
 * passes predicts the next h. */
#include "account/refine.h"

#include <math.h>

#include "base/error.h"

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

dpa_status dpa__account_read(const dpa_account *account, double delta, dpa_interval *out,
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
    DPA_TRY(dpa__account_read(account, opts->delta, out, &account->transform, err));
    if (account->self_guided || (isfinite(out->upper) && out->lower > 0)) return DPA_OK;
    account->self_guided = h < account->coarse.h;
    return account->self_guided
               ? dpa__account_read(account, opts->delta, out, &account->transform, err)
               : DPA_OK;
}

/* A calibration's question can be answered before the interval is narrow. */
static int is_answered(const dpa_account *account) {
    return account->epsilon.upper < account->question.lower ||
           account->epsilon.lower > account->question.upper;
}

dpa_status dpa__account_refine(dpa_account *account, dpa_error *err) {
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
