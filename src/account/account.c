/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The account and the questions it answers. Each answer is an interval between a pessimistic and an
 * optimistic composition, both tilted to the place the question is about. */
#include <math.h>
#include <stdlib.h>

#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"

/* ── reading ───────────────────────────────────────────────────────────────────────────────── */

/* What is asked: δ at an ε, or ε at a δ. */
typedef enum asked { AT_EPSILON, AT_DELTA } asked;

static double tilt_for(const dpa_account *account, size_t direction, asked what, double at) {
    const dpa__pld *guide = dpa__account_guide(account, direction);
    const dpa__pmf *pmf = guide->side[DPA_PESSIMISTIC];
    double bound;
    return what == AT_EPSILON ? dpa__tilt_for_epsilon(pmf, guide->count, at)
                              : dpa__tilt_for_delta(pmf, guide->count, at, &bound);
}

static double read_one(const dpa__composed *composed, asked what, double at) {
    return what == AT_EPSILON ? exp(dpa__composed_log_delta(composed, at))
                              : dpa__composed_epsilon(composed, at);
}

/* The larger of both directions, each between its two sides. `longest` (may be NULL) gets the
 * length of the longest transform. */
static dpa_status read_answer(const dpa_account *account, asked what, double at,
                              double log_accuracy, dpa_interval *out, size_t *longest,
                              dpa_error *err) {
    *out = (dpa_interval){0, 0};
    for (size_t d = 0; d < dpa__account_answers(account)->directions; ++d) {
        const double theta = tilt_for(account, d, what, at);
        for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC; ++side) {
            double *end = side == DPA_OPTIMISTIC ? &out->lower : &out->upper;
            dpa__composed composed;
            DPA_TRY(dpa__account_compose(account, d, (dpa__rounding)side, theta, log_accuracy,
                                         &composed, err));
            *end = fmax(*end, read_one(&composed, what, at));
            if (longest != NULL && composed.count > *longest) *longest = composed.count;
            dpa__composed_free(&composed);
        }
    }
    return DPA_OK;
}

static dpa_status read_epsilon(const dpa_account *account, double delta, dpa_interval *out,
                               size_t *longest, dpa_error *err) {
    /* The effect of truncating the window, relative to a bulk that looks Gaussian. If it does not,
     * δ is a smaller part of the bulk, hence this small factor. */
    const double log_accuracy = log(fmax(account->opts.tolerance, 1e-9) * 1e-5);
    return read_answer(account, AT_DELTA, delta, log_accuracy, out, longest, err);
}

/* ── cell widths ───────────────────────────────────────────────────────────────────────────── */

/* A coarse pass, then narrower ones until the interval for ε is as narrow as promised. Its width
 * falls like h² (both pmfs are of second order), at first perhaps more slowly if cells are wide
 * against the loss of one step. The exponent observed in the last two passes predicts the next h.
 */
enum { PASSES = 16, COARSE_CELLS = 2000, LONG_COARSE = 1 << 15 };
/* After this many passes in a row in which narrower cells did not narrow the interval, none will. A
 * δ of 1e-100 or less can lie where no tilt puts the bulk of the sum, between no rare large loss
 * and one of them; only rounding error is left there. */
enum { MOST_IDLE = 2 };
static const double GAIN = 0.9;

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
    return read_answer(account, AT_EPSILON, epsilon, log(1e-8), out, NULL, err);
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

/* ── many questions at once: ε at many δ, δ at many ε ──────────────────────────────────────── */

/* A composition tilted to one δ also answers its neighbours: within a factor of ten the bulk is
 * still where δ is read. So the questions are sorted, and one pair of compositions answers a
 * decade of δ (and all ε that fall into it). Each answer is certified by itself, whatever the
 * tilt. */

static const double DECADE = 2.302585092994046;
/* One question: its place in the caller's list and what it asks at (a δ by its logarithm). */
typedef struct question {
    size_t place;
    double at;
} question;

typedef struct table {
    const dpa_account *account;
    asked what;
    question *list;
    size_t count;
    dpa_interval *out;
} table;

static int by_value(const void *a, const void *b) {
    const double x = ((const question *)a)->at, y = ((const question *)b)->at;
    return (x > y) - (x < y);
}

/* δ are listed by their logarithm. */
static double value_of(const table *t, double at) {
    return t->what == AT_DELTA ? exp(at) : at;
}

/* The first question that a composition made for question `from` cannot answer. */
static size_t end_of_group(const table *t, size_t direction, size_t from) {
    double reach = DECADE;
    if (t->what == AT_EPSILON)
        reach /= fmax(tilt_for(t->account, direction, AT_EPSILON, t->list[from].at), 1e-3);
    size_t end = from + 1;
    while (end < t->count && t->list[end].at - t->list[from].at <= reach) ++end;
    return end;
}

static dpa_status read_group(const table *t, size_t direction, size_t from, size_t end,
                             dpa_error *err) {
    const double middle = 0.5 * (t->list[from].at + t->list[end - 1].at);
    const double theta = tilt_for(t->account, direction, t->what, value_of(t, middle));
    for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC; ++side) {
        dpa__composed composed;
        DPA_TRY(dpa__account_compose(t->account, direction, (dpa__rounding)side, theta, log(1e-9),
                                     &composed, err));
        for (size_t i = from; i < end; ++i) {
            dpa_interval *out = &t->out[t->list[i].place];
            double *slot = side == DPA_OPTIMISTIC ? &out->lower : &out->upper;
            *slot = fmax(*slot, read_one(&composed, t->what,
                                         value_of(t, t->list[i].at))); /* the worse direction */
        }
        dpa__composed_free(&composed);
    }
    return DPA_OK;
}

static dpa_status read_all(table *t, dpa_error *err) {
    qsort(t->list, t->count, sizeof *t->list, by_value);
    for (size_t i = 0; i < t->count; ++i) t->out[t->list[i].place] = (dpa_interval){0, 0};
    for (size_t d = 0; d < dpa__account_answers(t->account)->directions; ++d)
        for (size_t from = 0; from < t->count;) {
            const size_t end = end_of_group(t, d, from);
            DPA_TRY(read_group(t, d, from, end, err));
            from = end;
        }
    return DPA_OK;
}

/* 1 if no composition is needed: the ends of the range, closed forms, known answers. */
static int is_plain(const dpa_account *account, asked what, double at) {
    if (account->model.mu > 0 || at == 0) return what == AT_DELTA || account->model.mu > 0;
    if (what == AT_DELTA) return at == 1 || at == account->opts.delta;
    return at >= account->model.pure || isinf(at);
}

static dpa_status answer(const dpa_account *account, asked what, const double *at, size_t count,
                         dpa_interval *out, dpa_error *err) {
    table t = {account, what, DPA_NEW_ARRAY(question, count, err), 0, out};
    if (t.list == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < count && status == DPA_OK; ++i) {
        const int is_bad = !(at[i] >= 0) || (what == AT_DELTA && at[i] > 1);
        if (!is_bad && !is_plain(account, what, at[i]))
            t.list[t.count++] = (question){i, what == AT_DELTA ? log(at[i]) : at[i]};
        else /* errors included */
            status = what == AT_DELTA ? dpa_account_epsilon(account, at[i], &out[i], err)
                                      : dpa_account_delta(account, at[i], &out[i], err);
    }
    if (status == DPA_OK) status = read_all(&t, err);
    for (size_t i = 0; i < t.count && what == AT_DELTA && status == DPA_OK; ++i) {
        dpa_interval *e = &out[t.list[i].place];
        e->upper = fmin(e->upper, account->model.pure);
    }
    free(t.list);
    return status;
}

dpa_status dpa__account_epsilons(const dpa_account *account, const double *deltas, size_t count,
                                 dpa_interval *out, dpa_error *err) {
    return answer(account, AT_DELTA, deltas, count, out, err);
}

dpa_status dpa__account_deltas(const dpa_account *account, const double *epsilons, size_t count,
                               dpa_interval *out, dpa_error *err) {
    return answer(account, AT_EPSILON, epsilons, count, out, err);
}
