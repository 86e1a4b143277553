/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scan: exact tests of "the trade-off is at least f" from two lists of scores, without a
 * threshold and without a family (methods.md, section 13; proof in docs/methods/scan.md). */
#ifndef DPA_ESTIMATE_SCAN_H
#define DPA_ESTIMATE_SCAN_H

#include "base/rng.h"
#include "estimate/estimate.h"
#include "estimate/model.h"
#include "estimate/registry.h"
#include "evidence/evidence.h"

/* The bound from prepared scores, and the p-value of the request's claim. */
dpa_status dpa__scan_run(const char *method, const dpa__model *model, const dpa_scores *scores,
                         const dpa_request *request, dpa_result *out, dpa_error *err);

/* The p-value of "the trade-off of (without, with) is at least `curve`", from prepared scores. The
 * curve's argument is the rate of the runs without the record: T(without → with). Of the request it
 * uses seed, threads and confidence (how small a p-value must be to matter). It is simulated, and
 * the upper 99.9% limit of the exact value is returned, so that no test at a level above it errs
 * more often than that level, given the seed. */
dpa_status dpa__scan_p_value(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, double *p, dpa_error *err);
/* Only decides whether it is at most the error that the request allows. Draws end as soon as that
 * is known, after a hundredth of them if there is nothing to see. */
dpa_status dpa__scan_rejects(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, int *is_rejected, dpa_error *err);
/* The p-value of "(ε,δ)-DP": computed to 1e-11 if the samples are small enough, else simulated. */
dpa_status dpa__scan_p_value_dp(const dpa_scores *scores, double epsilon, double delta,
                                const dpa_request *request, double *p, dpa_error *err);

/* ── looks and statistic ───────────────────────────────────────────────────────────────────── */

/* The order of all scores is examined from both ends. From the top: how many members are above the
 * (k+1)-th highest non-member. From the bottom: how many non-members are below the (k+1)-th lowest
 * member. The class that k counts is called the base of that end. */
typedef enum dpa__scan_end { DPA__SCAN_TOP, DPA__SCAN_BOTTOM, DPA__SCAN_ENDS } dpa__scan_end;

typedef struct dpa__scan_looks {
    size_t base[DPA__SCAN_ENDS], other[DPA__SCAN_ENDS]; /* sizes of the classes */
    size_t count[DPA__SCAN_ENDS];
    size_t *k[DPA__SCAN_ENDS];
    double *penalty[DPA__SCAN_ENDS]; /* per look: the penalty subtracted there */
    double *rates[DPA__SCAN_ENDS]; /* per look DPA__SCAN_RATES base rates y, then what each costs */
} dpa__scan_looks;
enum { DPA__SCAN_RATES = 37 };

dpa_status dpa__scan_looks_open(size_t members, size_t nonmembers, dpa__scan_looks *out,
                                dpa_error *err);
void dpa__scan_looks_close(dpa__scan_looks *looks);

/* The counts at each look; ties between the classes are broken at random. */
typedef struct dpa__scan_counts {
    size_t *seen[DPA__SCAN_ENDS];
} dpa__scan_counts;
dpa_status dpa__scan_counts_new(const dpa__scan_looks *looks, dpa__scan_counts *out,
                                dpa_error *err);
void dpa__scan_counts_free(dpa__scan_counts *counts);
void dpa__scan_observe(const dpa__scan_looks *looks, const dpa_scores *scores, uint64_t seed,
                       dpa__scan_counts *out);

/* The statistic against one curve. Looks beyond the curve's fixed point are left to the other end.
 */
typedef struct dpa__scan_null {
    const dpa__scan_looks *looks;
    size_t count[DPA__SCAN_ENDS]; /* looks in use */
    double *cells[DPA__SCAN_ENDS];
} dpa__scan_null;

dpa_status dpa__scan_null_open(const dpa__scan_looks *looks, const dpa_curve *curve,
                               dpa__scan_null *out, dpa_error *err);
void dpa__scan_null_close(dpa__scan_null *null);
double dpa__scan_statistic(const dpa__scan_null *null, const dpa__scan_counts *counts);
/* Per look the smallest count with which the statistic reaches `value`; one more than possible if
 * none does, or if the look is not in use. */
void dpa__scan_reach(const dpa__scan_null *null, double value, dpa__scan_counts *out);

/* An upper bound on Pr[the statistic is at least `value`] for every curve; enough for far values.
 */
double dpa__scan_tail(const dpa__scan_looks *looks, double value);

/* ── the law of the statistic ──────────────────────────────────────────────────────────────── */

/* Pr[some look has at least its `reach`] under f_{ε,δ}, from above: by counting paths where they
 * are few, to 1e-11, 1e-7 or 1e-4; else by a chain over the looks, at most 4% of it (9% at δ =
 * 0.05) and 1e-5 too much. *out is NAN where neither works: with classes of very unequal sizes. */
typedef enum dpa__fineness { DPA__FINE, DPA__COARSE, DPA__ROUGH } dpa__fineness;
dpa_status dpa__scan_computed(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                              double epsilon, double delta, dpa__fineness fineness, double *out,
                              dpa_error *err);
/* 1 if that may work, for any ε. */
int dpa__scan_is_computed(const dpa__scan_looks *looks, double delta);
/* 1 if one class is so much smaller than the other that the chain is not accurate. */
int dpa__scan_is_unequal(const dpa__scan_looks *looks);
/* The same by the chain, and by paths. Every reach must be at least 1. */
dpa_status dpa__scan_chain(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                           double epsilon, double delta, double *out, dpa_error *err);
int dpa__scan_has_few_paths(const dpa__scan_looks *looks, double epsilon, double delta);
dpa_status dpa__scan_lattice(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                             double epsilon, double delta, dpa__fineness fineness, double *out,
                             dpa_error *err);

/* How many of the simulated pairs of samples `from` … `to`−1 under a curve reach. Stops early if
 * more than `most` do. `stream` names the draws. */
typedef struct dpa__scan_law {
    const dpa__scan_looks *looks;
    const dpa_curve *curve;
    uint64_t seed, stream;
    unsigned threads;
} dpa__scan_law;
dpa_status dpa__scan_simulate(const dpa__scan_law *law, const size_t used[DPA__SCAN_ENDS],
                              const dpa__scan_counts *reach, size_t from, size_t to, size_t most,
                              size_t *reached, dpa_error *err);
/* One replicate: the counts at the first used[] looks of both ends. `room` has 4 doubles per look
 * of the top plus 4. Given `reach`, it ends with 1 at the first look that reaches; else it is 0. */
int dpa__scan_draw(const dpa__scan_law *law, const size_t used[DPA__SCAN_ENDS], uint64_t index,
                   const dpa__scan_counts *reach, double *room, dpa__scan_counts *out);

/* The share of seeds for which the level may exceed the nominal one. */
#define DPA__SCAN_DOUBT 0.001
/* Draws for a test at error p; and the limit that the number of draws which reach must stay below
 * to reject. With it the level exceeds p only for a share `doubt` of all seeds. */
size_t dpa__scan_replicates(double p);
size_t dpa__scan_may_reach(double p, size_t replicates, double doubt);

/* ── power ─────────────────────────────────────────────────────────────────────────────────── */

/* What is tested: f_{ε,δ} or, if given, a curve (T(without → with), borrowed). */
typedef struct dpa__scan_claim {
    double epsilon, delta;
    const dpa_curve *curve;
} dpa__scan_claim;

/* The scan as a test of one claim for these class sizes: the counts that refute. Only `used` looks
 * of each end matter. */
typedef struct dpa__scan_test {
    dpa__scan_looks looks;
    dpa__scan_counts reach;
    size_t used[DPA__SCAN_ENDS];
    uint64_t seed;
    unsigned threads;
} dpa__scan_test;
/* Simulated audits, and how many of them refute. */
typedef struct dpa__scan_draws {
    size_t count, refuted;
} dpa__scan_draws;
/* Of the request it uses confidence, sides, seed and threads. */
dpa_status dpa__scan_test_open(size_t members, size_t nonmembers, const dpa__scan_claim *claim,
                               const dpa_request *request, dpa__scan_test *out, dpa_error *err);
void dpa__scan_test_close(dpa__scan_test *test);
/* The smallest ε at δ of an alternative that is refuted with probability ≥ `power`; INFINITY if
 * that takes more than ε = 100. Accurate to about 2%. */
typedef enum dpa__scan_suspect {
    DPA__SUSPECT_EXTREME, /* f_{ε,δ} itself: the easiest mechanism to convict */
    DPA__SUSPECT_GAUSSIAN /* Gaussian noise that is too small */
} dpa__scan_suspect;
dpa_status dpa__scan_detects(const dpa__scan_test *test, const dpa__scan_claim *claim,
                             dpa__scan_suspect suspect, double power, double *epsilon,
                             dpa_error *err);

/* Exact random numbers of the draws. */
double dpa__random_gamma(dpa_rng *rng, double shape); /* shape ≥ 1 */
double dpa__random_binomial(dpa_rng *rng, double n, double p);

#endif
