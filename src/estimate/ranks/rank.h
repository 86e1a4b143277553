/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank statistics: a bound without a threshold. */
#ifndef DPA_ESTIMATE_RANK_H
#define DPA_ESTIMATE_RANK_H

#include "estimate/estimate.h"
#include "estimate/model.h"
#include "estimate/registry.h"
#include "evidence/evidence.h"

typedef enum dpa__rank_score { DPA__RANK_AUC, DPA__RANK_SLOPE } dpa__rank_score;

/* The bound from prepared scores. */
dpa_status dpa__rank_run(const char *method, const dpa__model *model, const dpa_scores *scores,
                         const dpa_request *request, dpa_result *out, dpa_error *err);

/* The p-value of "the trade-off of (without, with) is at least `curve`", from prepared scores. The
 * curve's argument is the rate of the runs without the record: T(without → with). Of the request
 * only the seed is used. */
dpa_status dpa__rank_p_value(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, double *p, dpa_error *err);

/* The largest error of the normal law at the sizes where it is used, and the level that remains. */
#define DPA__RANK_NORMAL_ERROR 5e-4
double dpa__rank_normal_level(double p);

/* How many simulated audits give the p-value for these class sizes at error p; 0: the normal law is
 * used. */
size_t dpa__rank_replicates(dpa__rank_score score, double p, double members, double nonmembers);

/* The weight of a member if `above` non-members score at least as high; falls with `above`. */
dpa_status dpa__rank_weights(dpa__rank_score score, const dpa__model *model, double t,
                             size_t nonmembers, double **out, dpa_error *err);
/* The observed statistic; ties count against the attack. */
double dpa__rank_statistic(const dpa_scores *scores, const double *weights);

/* Simulated pairs of samples under any member: one set of draws is used for every t, and the
 * statistic of each grows with t. */
typedef struct dpa__rank_draws {
    size_t replicates, members, nonmembers;
    int is_normal;           /* scores are on the normal scale; else uniform rates */
    size_t stride;           /* every stride-th draw is converted from the start */
    double *values;          /* per replicate: members, then non-members, by falling score */
    unsigned char *is_whole; /* per replicate: all draws are on the normal scale */
} dpa__rank_draws;
dpa_status dpa__rank_draw(const dpa__model *model, size_t members, size_t nonmembers,
                          size_t replicates, uint64_t seed, dpa__rank_draws *out, dpa_error *err);
void dpa__rank_draws_free(dpa__rank_draws *draws);
/* The statistic of one replicate under a member; `scratch` has room for nonmembers doubles. */
double dpa__rank_simulated(const dpa__rank_draws *draws, size_t replicate,
                           const dpa__member *member, const double *weights, double *scratch);

/* 1 if the statistic is at least `observed`; usually decided from a few of the draws. */
int dpa__rank_reaches(const dpa__rank_draws *draws, size_t replicate, const dpa__member *member,
                      const double *weights, double observed, double *scratch);

/* Mean and deviation of Mann–Whitney's U under a member. */
dpa_status dpa__rank_moments(const dpa__member *member, double members, double nonmembers,
                             double *mean, double *deviation, dpa_error *err);

#endif
