/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run, any trade-off curve: Mahloujifar, Melis, Chaudhuri, "Auditing f-differential privacy in
 * one run", Algorithm 3.
 *
 * Let p_i be the probability of exactly i right guesses, α_i = Σ_{j≥i} j p_j/m and
 * β_i = Σ_{j≥i} (c′−j) p_j/m. Their Theorem 3.1 gives β_i ≥ (k−1) f̄⁻¹(α_{i+1}); by definition
 * α_i − α_{i+1} = i/(c′−i) (β_i − β_{i+1}). Suppose c or more right guesses have probability p:
 * then from i = c down, r ≤ α_i and h ≤ β_i are built up, and r + h > c′/m ≥ α_i + β_i is a
 * contradiction.
 *
 * Two exits. r + h > c′/m refutes at any i. And f̄⁻¹ is increasing: when h does not grow, r does
 * not, so nothing will change again and the hypothesis stands. Near the answer either happens after
 * some hundred steps, whatever c is, unless c′ is close to m and c close to chance.
 *
 * Which curve: Lemma A.1 averages f̄ over all ordered pairs of options and uses Jensen's inequality,
 * so f must be convex and must hold in both directions. A curve that describes one direction (in
 * against out) enters as the convex hull of itself and its inverse (dpa__one_run_symmetric). f
 * itself would be too optimistic, and the minimum of the two without its hull is not convex.
 *
 * Rounding: f̄⁻¹ is taken 1e-12 smaller and the limit 1e-12 larger than computed; nmath's and the
 * curves' own errors are below 1e-13 and those of r and h grow like 1e-16 times the steps taken
 * (tests/known/test_one_run.c compares with 50 digits). So a refutation is one in exact arithmetic,
 * and the price is about 1e-12 in the parameter. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/one_run/one_run.h"
#include "math/root.h"
#include "tradeoff/curve.h"

static const double slack = 1e-12;
static const double smallest_p = 1e-300;

dpa_status dpa__one_run_check(const dpa_one_run *game, dpa_error *err) {
    const uint64_t most = (uint64_t)1 << 53;
    if (game->canaries < 1 || game->canaries > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canaries: 1 to 2^53, not %llu",
                         (unsigned long long)game->canaries);
    if (game->options < 2 || game->options > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "options: at least 2 (in or out), at most 2^53, not %llu",
                         (unsigned long long)game->options);
    if (game->guesses > game->canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "guesses: %llu guesses about %llu canaries",
                         (unsigned long long)game->guesses, (unsigned long long)game->canaries);
    if (game->correct > game->guesses)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "correct: %llu right out of %llu guesses",
                         (unsigned long long)game->correct, (unsigned long long)game->guesses);
    return DPA_OK;
}

int dpa__one_run_refutes(const dpa_one_run *game, const dpa_curve *curve, double p) {
    if (!(p > 0.0)) return 0;
    const double m = (double)game->canaries, guesses = (double)game->guesses;
    const double others = ((double)game->options - 1.0) * (1.0 - slack);
    const double limit = guesses / m * (1.0 + slack);
    double r = p * ((double)game->correct / m);
    double h = p * ((double)(game->guesses - game->correct) / m);
    for (double i = (double)game->correct - 1.0; i >= 0.0; i -= 1.0) {
        const double next = others * dpa__curve_fpr_at_tpr(curve, fmin(r, 1.0));
        if (!(next > h)) return 0;
        r += i / (guesses - i) * (next - h);
        h = next;
        if (r + h > limit) return 1;
    }
    return 0;
}

typedef struct p_search {
    const dpa_one_run *game;
    const dpa_curve *curve;
} p_search;

static int is_refuted_at(double p, void *user) {
    const p_search *s = user;
    return dpa__one_run_refutes(s->game, s->curve, p);
}

double dpa__one_run_p_value(const dpa_one_run *game, const dpa_curve *curve) {
    p_search search = {game, curve};
    dpa__bracket found;
    if (!is_refuted_at(1.0, &search)) return 1.0;
    if (is_refuted_at(smallest_p, &search)) return smallest_p;
    if (dpa__bisect(is_refuted_at, &search, smallest_p, 1.0, 0.0, 1e-12, &found, NULL) != DPA_OK)
        return 1.0;
    return found.upper;
}

dpa_status dpa__one_run_symmetric(const dpa_curve *curve, dpa_curve **out, dpa_error *err) {
    *out = NULL;
    if (dpa__curve_is_symmetric(curve)) {
        *out = dpa__curve_share(curve);
        return DPA_OK;
    }
    const dpa__points *p = dpa__points_of(curve);
    if (p == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "this trade-off curve is not symmetric and not piecewise linear: its hull "
                         "with its inverse is not known");
    double *both = DPA_NEW_ARRAY(double, 4 * p->count, err);
    if (both == NULL) return DPA_NO_MEMORY;
    double *fpr = both, *fnr = both + 2 * p->count;
    for (size_t i = 0; i < p->count; ++i) {
        fpr[i] = fnr[p->count + i] = p->fpr[i];
        fnr[i] = fpr[p->count + i] = p->fnr[i];
    }
    const dpa_status status = dpa_curve_points(fpr, fnr, 2 * p->count, out, err);
    free(both);
    return status;
}
