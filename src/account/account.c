/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The account and the questions it answers. Each answer is an interval between a pessimistic and an
 * optimistic composition, both tilted to the place the question is about. */
#include <math.h>
#include <stdlib.h>

#include "account/handle.h"
#include "account/refine.h"
#include "base/error.h"
#include "base/memory.h"

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
    const dpa_status status = dpa__account_refine(account, err);
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
        DPA_TRY(dpa__account_read(account, delta, out, NULL, err));
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
