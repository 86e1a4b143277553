/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of sequential audits (docs/methods/sequential.md), by simulation.
 *
 * An audit is summarised by one number, the pair at which the claim is refuted. The same
 * simulated audits give the power at every n, the size for a power (an order statistic of those
 * numbers), and their mean and quantiles. The largest bound needs no simulation: an audit of n
 * perfect pairs is run.
 *
 * The leak that n pairs detect: with a fixed stream an audit refutes from some leak on, so the
 * leak for power π is the π-quantile of those leaks. Each audit keeps its own bracket, and
 * bisection runs only the audits whose brackets contain the leak that is tried. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/sequential/sequential_simulate.h"

/* The first audits, which decide whether it is worth running all of them for long. */
enum { PILOT = 25, FIRST_SIZE = 64 };

typedef struct dpa__arrivals {
    size_t count;
    dpa__arrival *items;
} arrivals;

double dpa__share_error(double count, double total) {
    /* with the share that one more of each would give */
    const double share = (count + 1) / (total + 2);
    return sqrt(share * (1 - share) / total);
}

void dpa__arrivals_free(arrivals *all) {
    if (all == NULL) return;
    for (size_t i = 0; i < all->count; ++i) dpa__arrival_close(&all->items[i]);
    free(all->items);
    free(all);
}

static dpa_status new_items(size_t count, dpa__arrival **out, dpa_error *err) {
    *out = dpa__calloc(count, sizeof **out, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) (*out)[i].index = i;
    return DPA_OK;
}

/* The plan's own audits, simulated under the current truth. */
static dpa_status own_arrivals(dpa__plan *plan, arrivals **out, dpa_error *err) {
    *out = plan->arrivals;
    if (*out != NULL) return DPA_OK;
    arrivals *all = DPA_NEW(arrivals, err);
    if (all == NULL) return DPA_NO_MEMORY;
    const dpa_status status = new_items((size_t)plan->asked->audits, &all->items, err);
    if (status != DPA_OK) {
        free(all);
        return status;
    }
    all->count = (size_t)plan->asked->audits;
    *out = plan->arrivals = all;
    return DPA_OK;
}

static size_t stopped_by(const dpa__arrival *items, size_t count, uint64_t n) {
    size_t stopped = 0;
    for (size_t i = 0; i < count; ++i)
        stopped += items[i].stopped_at > 0 && items[i].stopped_at <= n;
    return stopped;
}

static void answer(const arrivals *all, size_t count, uint64_t n, dpa_plan_answer *out) {
    const size_t refuted = stopped_by(all->items, count, n);
    out->size = n;
    out->power = (double)refuted / (double)count;
    out->error = dpa__share_error((double)refuted, (double)count);
}

static dpa_status power_of_pairs(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                                 dpa_error *err) {
    (void)care;
    arrivals *all;
    DPA_TRY(own_arrivals(plan, &all, err));
    DPA_TRY(dpa__arrivals_reach(plan, all->items, all->count, n, err));
    answer(all, all->count, n, out);
    return DPA_OK;
}

/* ── when they stop ────────────────────────────────────────────────────────────────────────── */

/* Runs the first few to the end; if they leave no hope of reaching the share, no others are run. */
static dpa_status try_pilot(const dpa__plan *plan, const arrivals *all, double share, uint64_t most,
                            size_t *count, dpa_error *err) {
    const size_t few = all->count < PILOT ? all->count : PILOT;
    DPA_TRY(dpa__arrivals_reach(plan, all->items, few, most, err));
    const double seen = (double)stopped_by(all->items, few, most) / (double)few;
    *count = seen + 4 * sqrt(0.25 / (double)few) < share ? few : all->count;
    return DPA_OK;
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ascending; INFINITY for those that gave up. */
static dpa_status sorted_stops(const arrivals *all, size_t count, uint64_t most, double **out,
                               dpa_error *err) {
    *out = DPA_NEW_ARRAY(double, count, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t at = all->items[i].stopped_at;
        (*out)[i] = at > 0 && at <= most ? (double)at : (double)INFINITY;
    }
    qsort(*out, count, sizeof **out, rising);
    return DPA_OK;
}

static size_t rank_of(double share, size_t count) {
    const double rank = ceil(share * (double)count - 1e-9);
    return rank < 1 ? 1 : rank > (double)count ? count : (size_t)rank;
}

/* A quantile, and its error from the order statistics one deviation of the rank away. */
static void quantile(const double *sorted, size_t count, double share, double *out, double *error) {
    const double apart = sqrt((double)count * share * (1 - share));
    const size_t k = rank_of(share, count), step = (size_t)ceil(apart);
    const double low = sorted[k > step ? k - 1 - step : 0];
    const double high = sorted[k + step <= count ? k - 1 + step : count - 1];
    *out = sorted[k - 1];
    *error = isinf(*out) ? (double)NAN : isinf(high) ? *out - low : 0.5 * (high - low);
}

static void summarise(const double *sorted, size_t count, dpa_plan_stops *out) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) sum += sorted[i];
    out->mean = sum / (double)count;
    for (size_t i = 0; i < count; ++i) squares += pow(sorted[i] - out->mean, 2);
    out->mean_error = isinf(out->mean) || count < 2
                          ? (double)NAN
                          : sqrt(squares / (double)(count - 1) / (double)count);
    quantile(sorted, count, 0.5, &out->median, &out->median_error);
    quantile(sorted, count, 0.9, &out->late, &out->late_error);
}

dpa_status dpa__plan_stop(dpa__plan *plan, uint64_t most, dpa_plan_stops *out, dpa_error *err) {
    arrivals *all;
    double *sorted;
    size_t count;
    *out = (dpa_plan_stops){.most = most};
    DPA_TRY(dpa__plan_check_size(plan, most, err));
    DPA_TRY(own_arrivals(plan, &all, err));
    DPA_TRY(try_pilot(plan, all, 0.5, most, &count, err));
    DPA_TRY(dpa__arrivals_reach(plan, all->items, count, most, err));
    DPA_TRY(sorted_stops(all, count, most, &sorted, err));
    out->audits = count;
    out->refuted = stopped_by(all->items, count, most);
    summarise(sorted, count, out);
    free(sorted);
    return DPA_OK;
}

static dpa_status size_of_pairs(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                                dpa_error *err) {
    arrivals *all;
    double *sorted;
    size_t count;
    uint64_t n = most < FIRST_SIZE ? most : FIRST_SIZE;
    DPA_TRY(own_arrivals(plan, &all, err));
    *out = (dpa_plan_answer){.power = NAN, .threshold = NAN};
    DPA_TRY(try_pilot(plan, all, power, most, &count, err));
    if (count < all->count) n = most;
    for (;; n = n > most / 2 ? most : 2 * n) {
        DPA_TRY(dpa__arrivals_reach(plan, all->items, count, n, err));
        answer(all, count, n, out);
        if (out->power >= power || n == most) break;
    }
    if (out->power < power) return DPA_OK;
    DPA_TRY(sorted_stops(all, count, n, &sorted, err));
    answer(all, count, (uint64_t)sorted[rank_of(power, count) - 1], out);
    free(sorted);
    return DPA_OK;
}

/* ── the leak that is detected ─────────────────────────────────────────────────────────────── */

typedef struct leaks {
    dpa__plan *plan;
    uint64_t n;
    size_t count, rank; /* audits; how many of them must refute */
    double *low, *high; /* per audit: a t that does not refute, and one that does */
    dpa__arrival *asked;
} leaks;

/* Tests whether enough audits refute if the truth is t. */
static dpa_status enough_refute(void *user, double t, int *enough, dpa_error *err) {
    leaks *l = user;
    size_t count = 0, refuted = 0;
    DPA_TRY(dpa__plan_suspect(l->plan, t, err));
    for (size_t i = 0; i < l->count; ++i)
        if (l->low[i] < t && l->high[i] > t) l->asked[count++] = (dpa__arrival){.index = i};
    const dpa_status status = dpa__arrivals_reach(l->plan, l->asked, count, l->n, err);
    for (size_t i = 0; i < count; ++i) {
        const dpa__arrival *a = &l->asked[i];
        *(a->stopped_at > 0 ? &l->high[a->index] : &l->low[a->index]) = t;
        dpa__arrival_close(&l->asked[i]);
    }
    for (size_t i = 0; i < l->count; ++i) refuted += l->high[i] <= t;
    *enough = refuted >= l->rank;
    return status;
}

static dpa_status epsilon_of_rank(leaks *l, double rank, double *out, dpa_error *err) {
    double t = INFINITY;
    *out = INFINITY;
    if (rank > (double)l->count) return DPA_OK;
    l->rank = rank < 1 ? 1 : (size_t)rank;
    DPA_TRY(dpa__plan_search_leak(l->plan, 0.005, enough_refute, l, &t, err));
    if (isinf(t)) return DPA_OK;
    DPA_TRY(dpa__plan_truth_epsilon(l->plan, t, out, err));
    if (*out > 100) *out = INFINITY;
    return DPA_OK;
}

static dpa_status find_leak(leaks *l, double power, dpa_plan_leak *out, dpa_error *err) {
    const double rank = (double)rank_of(power, l->count);
    const double step = ceil(sqrt((double)l->count * power * (1 - power)));
    double less, more;
    for (size_t i = 0; i < l->count; ++i) {
        l->low[i] = -HUGE_VAL;
        l->high[i] = HUGE_VAL;
    }
    DPA_TRY(epsilon_of_rank(l, rank, &out->epsilon, err));
    out->error = NAN;
    if (isinf(out->epsilon)) return DPA_OK;
    DPA_TRY(epsilon_of_rank(l, rank - step, &less, err));
    DPA_TRY(epsilon_of_rank(l, rank + step, &more, err));
    out->error = isinf(more) ? out->epsilon - less : 0.5 * (more - less);
    return DPA_OK;
}

static dpa_status leak_of_pairs(dpa__plan *plan, uint64_t n, double power, dpa_plan_leak *out,
                                dpa_error *err) {
    leaks l = {.plan = plan, .n = n, .count = (size_t)(plan->asked->audits + 1) / 2};
    double *block = DPA_NEW_ARRAY(double, 2 * l.count, err);
    if (block == NULL) return DPA_NO_MEMORY;
    l.low = block;
    l.high = block + l.count;
    dpa_status status = new_items(l.count, &l.asked, err);
    if (status == DPA_OK) status = find_leak(&l, power, out, err);
    free(l.asked);
    free(block);
    return status;
}

const dpa__power dpa__planned_pairs = {power_of_pairs, DPA__IN_RUNS, .limit = 100000,
                                       .size = size_of_pairs, .leak = leak_of_pairs};

/* ── the most that can come out ────────────────────────────────────────────────────────────── */

dpa_status dpa__plan_perfect_pairs(const dpa__plan *plan, uint64_t n, double *t, dpa_error *err) {
    dpa_sequential *audit;
    dpa_sequential_now now = {0};
    DPA_TRY(dpa__pairs_open(plan, &audit, err));
    dpa_status status = DPA_OK;
    for (uint64_t i = 0; i < n && status == DPA_OK; ++i) {
        status = dpa__sequential_push(audit, 1, 1, err);
        if (status == DPA_OK) status = dpa__sequential_push(audit, 0, 0, err);
    }
    if (status == DPA_OK) status = dpa__sequential_look(audit, &now, err);
    dpa__sequential_free(audit);
    *t = now.parameter_lower;
    return status;
}
