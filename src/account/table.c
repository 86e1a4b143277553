/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many questions at once: ε at many δ, δ at many ε.
 *
 * A composition tilted to one δ also answers its neighbours: within a factor of ten the bulk is
 * still where δ is read. So the questions are sorted, and one pair of compositions answers a
 * decade of δ (and all ε that fall into it). Each answer is certified by itself, whatever the
 * tilt. */
#include <math.h>
#include <stdlib.h>

#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"

static const double DECADE = 2.302585092994046;
enum { AT_EPSILON, AT_DELTA };

/* One question: its place in the caller's list and what it asks at (a δ by its logarithm). */
typedef struct question {
    size_t place;
    double at;
} question;

typedef struct table {
    const dpa_account *account;
    int what;
    question *list;
    size_t count;
    dpa_interval *out;
} table;

static int by_value(const void *a, const void *b) {
    const double x = ((const question *)a)->at, y = ((const question *)b)->at;
    return (x > y) - (x < y);
}

static double tilt_for(const table *t, size_t direction, double at) {
    const dpa__pld *guide = dpa__account_guide(t->account, direction);
    const dpa__pmf *pmf = guide->side[DPA_PESSIMISTIC];
    double bound;
    if (t->what == AT_EPSILON) return dpa__tilt_for_epsilon(pmf, guide->count, at);
    return dpa__tilt_for_delta(pmf, guide->count, exp(at), &bound);
}

/* The first question that a composition made for question `from` cannot answer. */
static size_t end_of_group(const table *t, size_t direction, size_t from) {
    double reach = DECADE;
    if (t->what == AT_EPSILON) reach /= fmax(tilt_for(t, direction, t->list[from].at), 1e-3);
    size_t end = from + 1;
    while (end < t->count && t->list[end].at - t->list[from].at <= reach) ++end;
    return end;
}

static double read_one(const table *t, const dpa__composed *composed, double at) {
    return t->what == AT_EPSILON ? exp(dpa__composed_log_delta(composed, at))
                                 : dpa__composed_epsilon(composed, exp(at));
}

static dpa_status read_group(const table *t, size_t direction, size_t from, size_t end,
                             dpa_error *err) {
    const double middle = 0.5 * (t->list[from].at + t->list[end - 1].at);
    const double theta = tilt_for(t, direction, middle);
    for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC; ++side) {
        dpa__composed composed;
        DPA_TRY(dpa__account_compose(t->account, direction, (dpa__rounding)side, theta, log(1e-9),
                                     &composed, err));
        for (size_t i = from; i < end; ++i) {
            dpa_interval *out = &t->out[t->list[i].place];
            double *slot = side == DPA_OPTIMISTIC ? &out->lower : &out->upper;
            *slot = fmax(*slot, read_one(t, &composed, t->list[i].at)); /* the worse direction */
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
static int is_plain(const dpa_account *account, int what, double at) {
    if (account->model.mu > 0 || at == 0) return what == AT_DELTA || account->model.mu > 0;
    if (what == AT_DELTA) return at == 1 || at == account->opts.delta;
    return at >= account->model.pure || isinf(at);
}

static dpa_status answer(const dpa_account *account, int what, const double *at, size_t count,
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
