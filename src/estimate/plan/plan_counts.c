/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of an audit by counts: n members, n non-members, one threshold fixed before.
 *
 * fn ~ Bin(n, FNR) and fp ~ Bin(n, FPR) are independent, and a bound falls with both. So for
 * each fn the outcomes that refute have fp below some count, which falls with fn: the rows of a
 * staircase. Each row is found from its neighbour, and only if it has weight. Exact to rounding
 * for every method. Two methods need more than "below": the posterior also counts an attack that
 * is wrong too often as one that leaks, so the mirror image refutes as well; a ratio interval
 * may not exist if a count is 0, so that row and that column are computed separately. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/plan/plan.h"
#include "estimate/rates/posterior.h"
#include "estimate/rates/rates.h"
#include "estimate/rates/ratio.h"
#include "estimate/registry.h"
#include "math/dist.h"
#include "math/quad.h"
#include "math/root.h"

enum { GRID = 12, GOLDEN = 10 };
/* Rows with less probability are skipped: 1e5 of them add up to 1e-11. Where a power is only
 * compared, more are. */
static const double NEGLIGIBLE = 1e-16, NEGLIGIBLE_ROUGHLY = 1e-10;
static const uint64_t UNKNOWN = UINT64_MAX;

typedef struct dpa__staircase {
    const dpa__plan *plan;
    const dpa__entry *entry;
    dpa__gauss gauss;
    uint64_t n, *below;          /* by fn; UNKNOWN until asked for */
    unsigned char *zero;         /* by fn, for ratios: does (fn, 0) refute? */
    double *limit;               /* for limits of rates, by count; NAN until asked for */
    double *weight, *cumulative; /* at one threshold: Pr[fn], Pr[fp ≤ k] */
    double enough;               /* of a power that is only compared with it; NAN: exact ones */
    dpa_status status;
    dpa_error *err;
} staircase;

/* ── does an outcome refute? ───────────────────────────────────────────────────────────────── */

/* The upper limit of either rate after k errors; both classes have n. */
static double limit_of(staircase *s, uint64_t k) {
    if (isnan(s->limit[k]))
        s->limit[k] = dpa__rate_upper((dpa__limit)s->entry->variant, k, s->n, s->plan->p / 2);
    return s->limit[k];
}

static int corner_refutes(staircase *s, const dpa_counts *counts) {
    const dpa__member *claim = &s->plan->claim;
    const double x = limit_of(s, counts->fn), y = limit_of(s, counts->fp);
    const dpa__rectangle r = {{0, x}, {0, y}};
    if (x + y >= 1) return 0;
    if (claim->kind == DPA__MODEL_CURVES)
        return fmax(dpa_curve_fnr(claim->curve, y) - x, dpa_curve_fnr(claim->curve, x) - y) > 0;
    double t = 0;
    return dpa__rectangle_lower(&s->plan->model, &r, &t, NULL) == DPA_OK && t > claim->t;
}

/* The quantile at p is above the claim if the claim's region has less than p of the mass. */
static int posterior_refutes(staircase *s, const dpa_counts *counts) {
    const dpa__posterior posterior = dpa__posterior_of(counts);
    dpa__mass mass = {NAN, 0};
    if (s->plan->model.kind != DPA__MODEL_CURVES) {
        dpa__posterior_quick(&posterior, &s->plan->model, s->plan->claim.t, &s->gauss, &mass.value,
                             NULL);
        if (fabs(mass.value - s->plan->p) > 1e-5 * s->plan->p) return mass.value < s->plan->p;
    }
    s->status = dpa__posterior_mass_in(&posterior, &s->plan->claim, &mass, s->err);
    return mass.value < s->plan->p;
}

static int ratio_refutes(const staircase *s, const dpa_counts *counts) {
    double lower, upper;
    return dpa__ratio_epsilon((dpa__ratio)s->entry->variant, counts, s->plan->p, 1, &lower,
                              &upper) &&
           lower > s->plan->claim.t;
}

/* For any other estimator of the registry: computes its bound. */
static int bound_refutes(staircase *s, const dpa_counts *counts) {
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    request.delta = s->plan->asked->delta;
    request.confidence = s->plan->asked->confidence;
    s->status = dpa__estimate_one(s->entry, counts, &s->plan->model, &request, &result, s->err);
    return s->status == DPA_OK && result.epsilon_lower > s->plan->claim_epsilon;
}

static int refutes(staircase *s, uint64_t fn, uint64_t fp) {
    const dpa_counts counts = {fn, s->n - fn, fp, s->n - fp};
    if (s->status != DPA_OK) return 0;
    if (s->entry->from_counts == dpa__from_rectangle) return corner_refutes(s, &counts);
    if (s->entry->from_counts == dpa__from_posterior) return posterior_refutes(s, &counts);
    if (s->entry->from_counts == dpa__from_ratio) return ratio_refutes(s, &counts);
    return bound_refutes(s, &counts);
}

static int is_ratio(const staircase *s) {
    return s->entry->from_counts == dpa__from_ratio;
}

static int looks_both_ways(const staircase *s) {
    return s->entry->from_counts == dpa__from_posterior;
}

/* Methods of which each count alone is known to make the bound fall, zeros included. */
static int falls_evenly(const staircase *s) {
    return s->entry->from_counts == dpa__from_rectangle || looks_both_ways(s);
}

/* ── rows ──────────────────────────────────────────────────────────────────────────────────── */

/* The largest fp that is tried in a row; the posterior's other half is its mirror image. */
static uint64_t row_end(const staircase *s, uint64_t fn) {
    return looks_both_ways(s) ? s->n - fn + 1 : s->n + 1;
}

/* The last fp that refutes if the row lies on a line with two neighbours, as it nearly does. */
static uint64_t in_line(const staircase *s, uint64_t fn, uint64_t guess) {
    const uint64_t *below = s->below;
    if (fn > 1 && below[fn - 1] != UNKNOWN && below[fn - 2] != UNKNOWN) {
        const uint64_t drop = below[fn - 2] - below[fn - 1];
        guess = below[fn - 1] > drop ? below[fn - 1] - drop : 0;
    } else if (fn + 2 <= s->n && below[fn + 1] != UNKNOWN && below[fn + 2] != UNKNOWN) {
        guess = below[fn + 1] + (below[fn + 1] - below[fn + 2]);
    }
    return guess - (guess > 0);
}

/* The first fp that does not refute, from a guess: steps that double, then bisection. Rows do not
 * rise with fn, so a neighbour that is known is a limit: mostly one outcome is left to ask. */
static uint64_t find_row(staircase *s, uint64_t fn, uint64_t guess) {
    const uint64_t first = is_ratio(s) ? 1 : 0;
    uint64_t low = first, high = row_end(s, fn), step = 1; /* below low refutes, from high on not */
    if (falls_evenly(s) && fn > 0 && s->below[fn - 1] < high) high = s->below[fn - 1];
    if (falls_evenly(s) && fn < s->n && s->below[fn + 1] != UNKNOWN && s->below[fn + 1] > low)
        low = s->below[fn + 1] < high ? s->below[fn + 1] : high;
    if (falls_evenly(s)) guess = in_line(s, fn, guess);
    uint64_t at = guess >= high ? high - (high > 0) : guess < low ? low : guess;
    while (low < high) {
        if (refutes(s, fn, at)) {
            low = at + 1;
            at = high - low > step ? low - 1 + step : low + (high - low) / 2;
        } else {
            high = at;
            at = high - low > step ? high - step : low + (high - low) / 2;
        }
        step = 2 * step < (high - low) / 2 + 1 ? 2 * step : (high - low) / 2 + 1;
    }
    return low;
}

static uint64_t below_of(staircase *s, uint64_t fn, uint64_t guess) {
    if (s->below[fn] != UNKNOWN) return s->below[fn];
    s->below[fn] = find_row(s, fn, guess);
    if (is_ratio(s)) s->zero[fn] = (unsigned char)refutes(s, fn, 0);
    return s->below[fn];
}

/* Pr[k] of Bin(n, p) for every k from `from` to `to`, by the ratio of neighbours from the largest.
 */
static void fill_binomial(double *mass, double n, double p, double from, double to) {
    const double mode = fmin(fmax(floor((n + 1) * p), from), to), odds = p / (1 - p);
    mass[(size_t)mode] = exp(dpa__binom_log_pmf(mode, n, p));
    for (double k = mode; k < to; ++k)
        mass[(size_t)k + 1] = mass[(size_t)k] * odds * (n - k) / (k + 1);
    for (double k = mode; k > from; --k)
        mass[(size_t)k - 1] = mass[(size_t)k] * k / (odds * (n - k + 1));
}

static double row_power(staircase *s, uint64_t fn, double fpr, uint64_t *guess) {
    const double n = (double)s->n;
    const uint64_t below = below_of(s, fn, *guess);
    double sum = below > 0 ? s->cumulative[below - 1] : 0;
    *guess = below;
    if (is_ratio(s) && !s->zero[fn]) sum -= s->cumulative[0];
    /* what the mirror image adds is at most Pr[fp > n−fn], and its row costs as much as this one */
    if (looks_both_ways(s) && 1 - s->cumulative[s->n - fn] > 1e-13) {
        /* (n−fn, n−fp) refutes; what lies on the diagonal was counted above */
        const uint64_t mirror = below_of(s, s->n - fn, s->n - below > 0 ? s->n - below : 0);
        const double last = fmax(n - (double)mirror, n - (double)fn);
        sum += dpa__binom_cdf(last, n, fpr, DPA_UPPER);
    }
    return fmax(0, sum);
}

static double power_of(staircase *s, double fnr, double fpr) {
    const double n = (double)s->n, far = 9 * sqrt(n * fnr * (1 - fnr)) + 40;
    const double from = fmax(0, floor(n * fnr - far)), to = fmin(n, ceil(n * fnr + far));
    uint64_t guess = s->n / 4;
    const double least = isnan(s->enough) ? NEGLIGIBLE : NEGLIGIBLE_ROUGHLY;
    double power = 0;
    fill_binomial(s->weight, n, fnr, from, to);
    fill_binomial(s->cumulative, n, fpr, 0, n);
    for (uint64_t fp = 1; fp <= s->n; ++fp) s->cumulative[fp] += s->cumulative[fp - 1];
    for (uint64_t fn = (uint64_t)from; fn <= (uint64_t)to && s->status == DPA_OK; ++fn) {
        if (s->weight[fn] > least) power += s->weight[fn] * row_power(s, fn, fpr, &guess);
        if (power >= s->enough) break;
    }
    return fmin(1, power);
}

static double power_at(double threshold, void *user) {
    staircase *s = user;
    const dpa__member *truth = &s->plan->truth;
    const double fpr = dpa__norm_cdf(threshold, DPA_UPPER);
    if (fpr >= truth->end) return power_of(s, 0, fpr);
    return power_of(s, dpa__member_fnr(truth, fpr, truth->end - fpr), fpr);
}

/* ── the best threshold ────────────────────────────────────────────────────────────────────── */

/* Golden section around the best point of a grid. Power as a function of the threshold has one
 * maximum and small irregularities; the answer is the best value that was computed. */
typedef struct contest {
    dpa__fn power;
    void *user;
    double enough;
    dpa_plan_answer *best;
} contest;

static double consider(double threshold, void *user) {
    const contest *c = user;
    if (c->best->power >= c->enough) return c->best->power;
    const double power = c->power(threshold, c->user);
    /* by more than rounding: thresholds that mirror each other have the same power */
    if (power > c->best->power + 1e-12 * fabs(c->best->power)) {
        c->best->power = power;
        c->best->threshold = threshold;
    }
    return power;
}

void dpa__best_threshold(dpa__fn power, void *user, double low, double high, double enough,
                         dpa_plan_answer *out) {
    contest c = {power, user, enough, out};
    const double step = (high - low) / GRID;
    out->power = -1;
    for (int i = 0; i <= GRID; ++i) (void)consider(low + step * i, &c);
    (void)dpa__golden(consider, &c, out->threshold - step, out->threshold + step, GOLDEN);
}

/* ── the audit ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status new_staircase(const dpa__plan *plan, const dpa__entry *entry, uint64_t n,
                                staircase **out, dpa_error *err) {
    *out = NULL;
    staircase *s = DPA_NEW(staircase, err);
    if (s == NULL) return DPA_NO_MEMORY;
    *s = (staircase){.plan = plan, .entry = entry, .n = n, .enough = NAN};
    dpa__gauss_legendre(DPA__GAUSS, s->gauss.node, s->gauss.weight);
    s->below = DPA_NEW_ARRAY(uint64_t, n + 1, err);
    s->zero = dpa__calloc(n + 1, 1, err);
    s->limit = DPA_NEW_ARRAY(double, 3 * (n + 1), err);
    if (s->below == NULL || s->zero == NULL || s->limit == NULL) {
        dpa__staircase_free(s);
        return DPA_NO_MEMORY;
    }
    s->weight = s->limit + n + 1;
    s->cumulative = s->weight + n + 1;
    for (uint64_t i = 0; i <= n; ++i) {
        s->below[i] = UNKNOWN;
        s->limit[i] = NAN;
    }
    *out = s;
    return DPA_OK;
}

void dpa__staircase_free(staircase *s) {
    if (s == NULL) return;
    free(s->below);
    free(s->zero);
    free(s->limit);
    free(s);
}

/* The plan's own staircase for n; it does not depend on the truth. */
static dpa_status own_staircase(dpa__plan *plan, uint64_t n, staircase **out, dpa_error *err) {
    if (plan->stairs == NULL || plan->stairs->n != n) {
        dpa__staircase_free(plan->stairs);
        plan->stairs = NULL;
        DPA_TRY(new_staircase(plan, plan->entry, n, &plan->stairs, err));
    }
    *out = plan->stairs;
    (*out)->err = err;
    return DPA_OK;
}

/* The range of thresholds to try: upwards from where both errors are equal; thresholds below mirror
 * these unless the curve is asymmetric. */
static void range_of(const dpa__member *truth, double *low, double *high) {
    /* for an enormous leak both errors are negligible there; going further makes no sense */
    const double middle = fmin(dpa__norm_quantile(truth->fixed, DPA_UPPER), 30);
    *high = 2 * middle + 3;
    *low = truth->curve == NULL || dpa__curve_is_symmetric(truth->curve) ? middle : -3;
}

/* An outcome costs the posterior a quadrature, so Jeffreys limits narrow the range first. */
static dpa_status look_near(const dpa__plan *plan, uint64_t n, double *low, double *high,
                            dpa_error *err) {
    staircase *s;
    dpa_plan_answer rough;
    const dpa__entry *jeffreys = dpa__registry_find("jeffreys", err);
    if (jeffreys == NULL) return DPA_INTERNAL;
    DPA_TRY(new_staircase(plan, jeffreys, n, &s, err));
    s->err = err;
    dpa__best_threshold(power_at, s, *low, *high, NAN, &rough);
    const dpa_status status = s->status;
    dpa__staircase_free(s);
    const double near = (*high - *low) / GRID;
    *low = rough.threshold - near;
    *high = rough.threshold + near;
    return status;
}

static dpa_status power_of_counts(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                                  dpa_error *err) {
    double low, high;
    staircase *s;
    range_of(&plan->truth, &low, &high);
    if (plan->entry->from_counts == dpa__from_posterior)
        DPA_TRY(look_near(plan, n, &low, &high, err));
    DPA_TRY(own_staircase(plan, n, &s, err));
    s->enough = dpa__plan_enough(plan, care);
    dpa__best_threshold(power_at, s, low, high, s->enough, out);
    s->enough = NAN;
    return s->status;
}

enum { MOST = 100000 };
const dpa__power dpa__planned_counts = {power_of_counts, DPA__IN_RUNS, .limit = MOST, .fine = 1e-4};
const dpa__power dpa__planned_exact = {power_of_counts, DPA__IN_RUNS, .limit = MOST, .fine = 1e-4,
                                       .is_slow = 1};

dpa_status dpa__plan_counts_at(dpa__plan *plan, uint64_t n, double threshold, double *power,
                               dpa_error *err) {
    staircase *s;
    DPA_TRY(own_staircase(plan, n, &s, err));
    *power = power_at(threshold, s);
    return s->status;
}
