/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds and p-values by the scan (methods.md, section 13; docs/methods/scan.md).
 *
 * The coupling of rank.c holds for every statistic that only grows when in-scores rise, so the law
 * of the scan's statistic under f itself gives an exact p-value for "the trade-off is at least f".
 * For f_{ε,δ} that law is computed (scan_lattice.c, scan_chain.c); for other curves it is simulated
 * (scan_draw.c), and the p-value is the upper 99.9% limit of what was simulated: the
 * level holds for the one seed that everybody uses, not only on average over seeds.
 *
 * The statistic changes with the parameter, so the bound is the last rejected point of a fixed grid
 * that is walked upwards from 0. A run of grid points is rejected at once when the statistic of its
 * first point, under the law of its last, does not reach what was observed at its last: all three
 * only make the p-value larger. */
#include "estimate/ranks/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "estimate/rates/exact.h"
#include "estimate/walk.h"
#include "math/dist.h"

/* Numbers of simulated audits for a test and for a p-value, times p. */
static const double TEST = 100, VALUE = 1000, MOST = 2e5;
/* Runs of grid points longer than this many steps are tried with few draws only. */
enum { BRIEF = 4 };

/* A grid point's curve and the statistic against it. */
typedef struct side {
    size_t at;
    dpa_curve *curve;
    dpa__scan_null null;
} side;

typedef struct scan {
    dpa__scan_looks looks;
    dpa__scan_counts seen, reach;
    const dpa__model *model; /* for a bound */
    dpa__grid grid;
    const dpa_request *request;
    double p;
    double far; /* a statistic of this value or more rejects, whatever the curve */
    int is_simulated;
    side first; /* of the run tested last; the next one often starts there too */
} scan;

static void side_close(side *end) {
    dpa__scan_null_close(&end->null);
    dpa_curve_free(end->curve);
    *end = (side){0};
}

static void scan_close(scan *s) {
    side_close(&s->first);
    dpa__scan_counts_free(&s->seen);
    dpa__scan_counts_free(&s->reach);
    dpa__scan_looks_close(&s->looks);
}

static dpa_status scan_open(const dpa_scores *scores, const dpa_request *request, scan *out,
                            dpa_error *err) {
    *out = (scan){.request = request, .p = (1 - request->confidence) / request->sides};
    dpa_status status = dpa__scan_looks_open(scores->members, scores->nonmembers, &out->looks, err);
    if (status == DPA_OK) status = dpa__scan_counts_new(&out->looks, &out->seen, err);
    if (status == DPA_OK) status = dpa__scan_counts_new(&out->looks, &out->reach, err);
    if (status == DPA_OK)
        dpa__scan_observe(&out->looks, scores, request->seed, &out->seen);
    else
        scan_close(out);
    return status;
}

/* ── one null hypothesis ───────────────────────────────────────────────────────────────────── */

static size_t replicates_for(double wanted, double p) {
    return (size_t)(ceil(fmin(wanted / p, MOST) - 1e-9) - 1);
}

size_t dpa__scan_replicates(double p) {
    return replicates_for(TEST, p);
}

size_t dpa__scan_may_reach(double p, size_t replicates, double doubt) {
    size_t most = 0;
    while (dpa__cp_upper((double)most, (double)replicates, doubt) <= p) ++most;
    return most; /* fewer than this, strictly */
}

/* Tests whether the hypothesis is rejected at s->p, in stages: by a few draws, none of which may
 * reach; by more; by all. A case far from the limit needs only the first stage. The earlier stages
 * raise the level above p for one seed in ten thousand. `is_brief`: the first stage only. */
static dpa_status simulated_test(const scan *s, const dpa__scan_law *law, const size_t *used,
                                 int is_brief, int *is_rejected, dpa_error *err) {
    const size_t many = dpa__scan_replicates(s->p);
    const size_t draws[] = {(size_t)ceil(13 / s->p), (size_t)ceil(32 / s->p), many};
    const double doubt[] = {2e-6, 1e-4, DPA__SCAN_DOUBT};
    const size_t hopeless = dpa__scan_may_reach(s->p, many, DPA__SCAN_DOUBT);
    size_t done = 0, reached = 0;
    *is_rejected = 0;
    for (int i = 0; i < (is_brief ? 1 : 3) && !*is_rejected && draws[i] <= many; ++i) {
        const size_t most = dpa__scan_may_reach(s->p, draws[i], doubt[i]);
        const size_t enough = is_brief ? most : hopeless; /* to know that it is not rejected */
        size_t more;
        if (most == 0) continue;
        if (reached >= enough) break;
        DPA_TRY(dpa__scan_simulate(law, used, &s->reach, done, draws[i], enough - 1 - reached,
                                   &more, err));
        reached += more;
        done = draws[i];
        *is_rejected = reached < most;
    }
    return DPA_OK;
}

static dpa_status simulated_p(const scan *s, const dpa__scan_law *law, const size_t *used,
                              double *p, dpa_error *err) {
    const size_t many = replicates_for(VALUE, s->p);
    size_t reached;
    DPA_TRY(dpa__scan_simulate(law, used, &s->reach, 0, many, many, &reached, err));
    *p = dpa__cp_upper((double)reached, (double)many, DPA__SCAN_DOUBT);
    return DPA_OK;
}

static dpa__scan_law law_of(const scan *s, const dpa_curve *curve, uint64_t stream) {
    return (dpa__scan_law){.looks = &s->looks,
                           .curve = curve,
                           .seed = s->request->seed,
                           .stream = stream,
                           .threads = dpa__threads(s->request->threads)};
}

/* ε < 0: the law is simulated. */
static dpa_status p_value(scan *s, const dpa_curve *curve, double epsilon, double delta, double *p,
                          dpa_error *err) {
    dpa__scan_null null;
    DPA_TRY(dpa__scan_null_open(&s->looks, curve, &null, err));
    dpa__scan_reach(&null, dpa__scan_statistic(&null, &s->seen), &s->reach);
    dpa_status status = DPA_OK;
    *p = NAN;
    if (epsilon >= 0)
        status = dpa__scan_computed(&s->looks, &s->reach, epsilon, delta, DPA__FINE, p, err);
    if (status == DPA_OK && isnan(*p)) {
        const dpa__scan_law law = law_of(s, curve, 0);
        status = simulated_p(s, &law, null.count, p, err);
    }
    dpa__scan_null_close(&null);
    return status;
}

/* 1 if the scores have only two values, so that there is only one threshold; returns the upper
 * value. */
static int has_two_values(const dpa_scores *s, double *upper) {
    const double low = fmin(s->member[0], s->nonmember[0]);
    const double high = fmax(s->member[s->members - 1], s->nonmember[s->nonmembers - 1]);
    for (size_t i = 0; i < s->members; ++i)
        if (s->member[i] != low && s->member[i] != high) return 0;
    for (size_t j = 0; j < s->nonmembers; ++j)
        if (s->nonmember[j] != low && s->nonmember[j] != high) return 0;
    *upper = high;
    return low < high && s->members <= DPA__EXACT_MOST && s->nonmembers <= DPA__EXACT_MOST;
}

dpa_status dpa__scan_p_value(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, double *p, dpa_error *err) {
    scan s;
    double threshold;
    if (has_two_values(scores, &threshold)) {
        const dpa_counts counts = dpa__scores_counts(scores, threshold);
        return dpa__exact_p_value(&counts, curve, request, p, err);
    }
    DPA_TRY(scan_open(scores, request, &s, err));
    const dpa_status status = p_value(&s, curve, -1, 0, p, err);
    scan_close(&s);
    return status;
}

/* The statistic of a curve under its own law, as a test. */
static dpa_status rejects(scan *s, const dpa_curve *curve, int *is_rejected, dpa_error *err) {
    dpa__scan_null null;
    DPA_TRY(dpa__scan_null_open(&s->looks, curve, &null, err));
    dpa__scan_reach(&null, dpa__scan_statistic(&null, &s->seen), &s->reach);
    const dpa__scan_law law = law_of(s, curve, 0);
    const dpa_status status = simulated_test(s, &law, null.count, 0, is_rejected, err);
    dpa__scan_null_close(&null);
    return status;
}

dpa_status dpa__scan_rejects(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, int *is_rejected, dpa_error *err) {
    scan s;
    double threshold, p;
    *is_rejected = 0;
    if (has_two_values(scores, &threshold)) {
        const dpa_counts counts = dpa__scores_counts(scores, threshold);
        DPA_TRY(dpa__exact_p_value(&counts, curve, request, &p, err));
        *is_rejected = p <= (1 - request->confidence) / request->sides;
        return DPA_OK;
    }
    DPA_TRY(scan_open(scores, request, &s, err));
    const dpa_status status = rejects(&s, curve, is_rejected, err);
    scan_close(&s);
    return status;
}

static dpa_status p_value_dp(scan *s, double epsilon, double delta, double *p, dpa_error *err) {
    dpa_curve *curve = NULL;
    *p = 1;
    if (isinf(epsilon) || delta >= 1) return DPA_OK; /* nothing can be refuted */
    DPA_TRY(dpa_curve_dp(epsilon, delta, &curve, err));
    const dpa_status status = p_value(s, curve, epsilon, delta, p, err);
    dpa_curve_free(curve);
    return status;
}

dpa_status dpa__scan_p_value_dp(const dpa_scores *scores, double epsilon, double delta,
                                const dpa_request *request, double *p, dpa_error *err) {
    scan s;
    double threshold;
    if (has_two_values(scores, &threshold)) {
        const dpa_counts counts = dpa__scores_counts(scores, threshold);
        return dpa__exact_p_value_dp(&counts, epsilon, delta, request, p, err);
    }
    DPA_TRY(scan_open(scores, request, &s, err));
    const dpa_status status = p_value_dp(&s, epsilon, delta, p, err);
    scan_close(&s);
    return status;
}

/* ── the bound ─────────────────────────────────────────────────────────────────────────────── */

/* An upper bound on p under f_{ε,δ}; a rough one if that decides, since its error is below ROUGHLY;
 * NAN if it cannot be computed. */
static dpa_status computed_p(const scan *s, double epsilon, double *p, dpa_error *err) {
    static const double ROUGHLY = 1e-3;
    const double delta = s->model->delta;
    DPA_TRY(dpa__scan_computed(&s->looks, &s->reach, epsilon, delta, DPA__ROUGH, p, err));
    if (!(*p > s->p && *p <= s->p + ROUGHLY)) return DPA_OK;
    if (!dpa__scan_has_few_paths(&s->looks, epsilon, delta)) return DPA_OK;
    return dpa__scan_lattice(&s->looks, &s->reach, epsilon, delta, DPA__COARSE, p, err);
}

/* Given both curves and the statistic of the first. */
static dpa_status decide(scan *s, const dpa__scan_null *first, const dpa_curve *last_curve,
                         size_t last, int is_brief, int *is_rejected, dpa_error *err) {
    double p = NAN;
    if (s->model->kind == DPA__MODEL_DP)
        DPA_TRY(computed_p(s, dpa__walk_at(&s->grid, last), &p, err));
    if (!isnan(p)) {
        *is_rejected = p <= s->p;
        return DPA_OK;
    }
    s->is_simulated = 1;
    const dpa__scan_law law = law_of(s, last_curve, 1 + 2 * last + (is_brief != 0));
    return simulated_test(s, &law, first->count, is_brief, is_rejected, err);
}

static dpa_status side_open(const scan *s, size_t at, side *out, dpa_error *err) {
    *out = (side){.at = at};
    dpa_status status = dpa__model_curve(s->model, dpa__walk_at(&s->grid, at), &out->curve, err);
    if (status == DPA_OK) status = dpa__scan_null_open(&s->looks, out->curve, &out->null, err);
    if (status != DPA_OK) side_close(out);
    return status;
}

static double far_value(const scan *s) {
    double low = 0, high = 800;
    while (high - low > 0.05) {
        const double middle = 0.5 * (low + high);
        *(dpa__scan_tail(&s->looks, middle) <= s->p ? &high : &low) = middle;
    }
    return high;
}

/* 1 if there is a look at which the law of the last point alone reaches what the first requires, by
 * rough normal laws. Then testing the run of points is not worthwhile. */
static int is_hopeless(const scan *s, const dpa_curve *last) {
    static const double TWO = 2;
    for (int e = 0; e < DPA__SCAN_ENDS; ++e)
        for (size_t l = 0; l < s->looks.count[e]; ++l) {
            const double base = (double)s->looks.base[e], other = (double)s->looks.other[e];
            const double y = ((double)s->looks.k[e][l] + 1) / (base + 1);
            const double up = y + TWO * sqrt(y * (1 - y) / base);
            const double hit = 1 - (e == DPA__SCAN_TOP ? dpa_curve_fnr(last, fmin(up, 1))
                                                       : dpa_curve_fpr(last, fmin(up, 1)));
            if (hit * other >= (double)s->reach.seen[e][l]) return 1;
        }
    return 0;
}

/* Tests whether all grid points first … last are rejected, given the last one's side. */
static dpa_status test_with(scan *s, size_t first, const side *end, int *is_rejected,
                            dpa_error *err) {
    const dpa__scan_null *null = &end->null;
    const double observed = dpa__scan_statistic(null, &s->seen);
    *is_rejected = observed >= s->far;
    if (*is_rejected || observed <= 0) return DPA_OK;
    if (first != end->at) {
        if (s->first.curve == NULL || s->first.at != first) {
            side_close(&s->first);
            DPA_TRY(side_open(s, first, &s->first, err));
        }
        null = &s->first.null;
    }
    dpa__scan_reach(null, observed, &s->reach);
    if (first != end->at && is_hopeless(s, end->curve)) return DPA_OK;
    return decide(s, null, end->curve, end->at, end->at - first >= BRIEF, is_rejected, err);
}

static dpa_status test_run(void *user, size_t first, size_t last, int *is_rejected,
                           dpa_error *err) {
    scan *s = user;
    side end;
    *is_rejected = 0;
    DPA_TRY(side_open(s, last, &end, err));
    const dpa_status status = test_with(s, first, &end, is_rejected, err);
    side_close(&end);
    return status;
}

/* ── the estimator ─────────────────────────────────────────────────────────────────────────── */

/* The p-value of the claim: of (ε,δ)-DP, or of the family's member with that ε. `t` is the bound.
 */
static dpa_status claim_p(scan *s, double t, double *p, dpa_error *err) {
    const dpa_request *r = s->request;
    const double delta = dpa__claim_delta(r);
    dpa_curve *curve = NULL;
    double claim;
    if (isnan(r->claim_epsilon)) return DPA_OK;
    DPA_TRY(dpa__model_claim(s->model, r->claim_epsilon, delta, &claim, err));
    if (s->model->kind == DPA__MODEL_DP) {
        DPA_TRY(p_value_dp(s, r->claim_epsilon, delta, p, err));
    } else {
        DPA_TRY(dpa__model_curve(s->model, claim, &curve, err));
        const dpa_status status = p_value(s, curve, -1, 0, p, err);
        dpa_curve_free(curve);
        DPA_TRY(status);
    }
    *p = dpa__walk_agreed(&s->grid, t, claim, *p, s->p);
    return DPA_OK;
}

static void describe(const scan *s, dpa_result *out) {
    char how[80] = "exact p-value, computed";
    if (s->is_simulated)
        (void)snprintf(how, sizeof how, "p-value from simulated audits (seed %llu)",
                       (unsigned long long)s->request->seed);
    (void)snprintf(out->note, sizeof out->note,
                   "Both ends of the order of all scores, no threshold; %s; ties at random.", how);
}

static dpa_status run_on_counts(const dpa__model *model, const dpa_scores *scores, double threshold,
                                const dpa_request *request, dpa_result *out, dpa_error *err) {
    out->threshold = threshold;
    out->has_counts = 1;
    out->counts = dpa__scores_counts(scores, threshold);
    DPA_TRY(dpa__from_exact(NULL, &out->counts, model, request, out, err));
    (void)snprintf(out->note, sizeof out->note,
                   "The scores have two values: the exact test of their counts, as method exact.");
    return DPA_OK;
}

dpa_status dpa__scan_run(const char *method, const dpa__model *model, const dpa_scores *scores,
                         const dpa_request *request, dpa_result *out, dpa_error *err) {
    const dpa__model directed = dpa__model_directed(model);
    scan s;
    double t = 0, threshold;
    dpa__result_begin(out, request, model, method, DPA_ASSUME_INDEPENDENT_RUNS);
    if (has_two_values(scores, &threshold))
        return run_on_counts(model, scores, threshold, request, out, err);
    DPA_TRY(scan_open(scores, request, &s, err));
    s.model = &directed;
    const int is_quick =
        model->kind == DPA__MODEL_DP && dpa__scan_is_computed(&s.looks, model->delta);
    s.grid = (dpa__grid){is_quick ? 1 : 2, model->max}; /* simulated laws: half as many points */
    s.far = far_value(&s);
    dpa_status status = dpa__walk_up(test_run, &s, &s.grid, &t, err);
    describe(&s, out);
    if (status == DPA_OK) status = claim_p(&s, t, &out->p_value, err);
    scan_close(&s);
    if (status != DPA_OK) return status;
    return dpa__result_lower(out, model, request, t, 0, err);
}
