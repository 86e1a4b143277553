/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of Epsilon* share. */
#ifndef DPA_ESTIMATE_EPSILON_STAR_H
#define DPA_ESTIMATE_EPSILON_STAR_H

#include <pthread.h>

#include "dpaudit/epsilon_star.h"
#include "dpaudit/rng.h"
#include "estimate/loss_cells.h"

/* In the order of their rows. From DPA__STAR_NORMAL to DPA__STAR_MIXTURE a law is fitted. */
typedef enum dpa__star_method {
    DPA__STAR_BINORMAL,
    DPA__STAR_EMPIRICAL,
    DPA__STAR_NORMAL,
    DPA__STAR_TAIL,
    DPA__STAR_MIXTURE,
    DPA__STAR_SIMULTANEOUS, /* the bound */
    DPA__STAR_METHODS
} dpa__star_method;
const char *dpa__star_method_name(dpa__star_method method);
dpa_status dpa__star_method_find(const char *name, dpa__star_method *out, dpa_error *err);

/* The rates of one threshold, each computed from its own tail. */
typedef struct dpa__rates4 {
    double tpr, fnr, fpr, tnr;
} dpa__rates4;

/* The four ratios of Eq. 7 at the rates: the largest and which it is. Zero denominators give
 * INFINITY where the numerator is positive. */
double dpa__star_ratio(const dpa__rates4 *rates, double delta, dpa_star_ratio *which);
double dpa__star_ratio_of(const dpa__rates4 *rates, double delta, dpa_star_ratio which);
void dpa__star_clamp(dpa__rates4 *rates, double low, double high);

/* A sorted sample in which value i stands for weight[i] points (NULL: one each); total is their
 * number. */
typedef struct dpa__weighted {
    const double *value;
    const uint32_t *weight;
    size_t count;
    double total;
} dpa__weighted;

void dpa__star_sweep(const dpa__weighted *train, const dpa__weighted *heldout, double delta,
                     dpa_star *out);

/* The model's rates at the upper end of every cell (of the pooled law as it is): the lines in their
 * windows, observed rates between them. */
void dpa__binormal_rates(const dpa__cells *cells, double delta, double *train, double *heldout);
/* Upper end of ε* over thresholds whose rates are in (least, 1 − least), curves not straight. */
double dpa__binormal_upper(const dpa__cells *cells, double delta, double least, double confidence);
/* Tests whether any of 2/(1−confidence) − 1 random exchanges of the sides, in which nothing can
 * leak, gives `value` or more. An exact test at (1−confidence)/2: if none does, the value is real.
 */
typedef double dpa__statistic(const dpa__cells *cells, void *user);
int dpa__exchange_reaches(const dpa__cells *cells, const dpa_request *request,
                          dpa__statistic *statistic, void *user, double value);
/* The interval of `empirical` by simulation from those rates, for which the truth is known. */
dpa_status dpa__star_simulate(const dpa_losses *losses, size_t replicates,
                              const dpa_request *request, double *lower, double *upper,
                              dpa_error *err);

/* A part of the work whose threads report to one progress callback, which can stop them. */
typedef struct dpa__watch {
    const dpa_progress *progress;
    const char *what;
    pthread_mutex_t lock;
    double done, total; /* total 0: not known */
} dpa__watch;

dpa_status dpa__watch_init(dpa__watch *watch, const dpa_progress *progress, const char *what,
                           double total, dpa_error *err);
/* Counts one more as done. Non-zero: stop. */
int dpa__watch_count(dpa__watch *watch);
void dpa__watch_free(dpa__watch *watch);

/* Transformed losses of both sides, one block each; φ falls as losses rise, so the lowest is last.
 */
typedef struct dpa__phi {
    double low, high;
    double *train, *heldout;
} dpa__phi;

dpa_status dpa__phi_new(const dpa_losses *losses, dpa_transform transform, dpa__phi *out,
                        dpa_error *err);
/* The same with given ends of the transform. */
dpa_status dpa__phi_between(const dpa_losses *losses, double low, double high, dpa__phi *out,
                            dpa_error *err);
/* How many of a sorted sample are ≤ threshold. */
size_t dpa__count_upto(const double *sorted, size_t count, double threshold);
void dpa__phi_free(dpa__phi *phi);
/* One component from the weighted sample; DPA_BAD_INPUT without spread. */
dpa_status dpa__normal_fit(const dpa__weighted *sample, const char *what, dpa_mixture *out,
                           dpa_error *err);
/* A sorted sample as groups of points that are no further than `grain` apart (0: equal), each at
 * its mean. */
typedef struct dpa__groups {
    double *value;
    uint32_t *weight;
    size_t count;
    double total;
} dpa__groups;

dpa_status dpa__groups_new(const double *sorted, size_t count, double grain, dpa__groups *out,
                           dpa_error *err);
void dpa__groups_free(dpa__groups *groups);
dpa__weighted dpa__groups_sample(const dpa__groups *groups);
/* The grain: half a hundredth of the sample's deviation if there are more than DPA__EXACT points,
 * else 0. Grouping changes a fitted variance by 2e-6 of itself and makes the cost of EM independent
 * of n. */
double dpa__grain(const double *sorted, size_t count);
enum { DPA__EXACT = 1000 };
/* Smaller deviations are rounding errors of φ, which is of order 1. */
#define DPA__NO_SPREAD 1e-12

/* ── the law of a mixture ── */
double dpa__mixture_upper(const dpa_mixture *m, double x); /* Pr[X > x] */
double dpa__mixture_lower(const dpa_mixture *m, double x);
double dpa__mixture_log_pdf(const dpa_mixture *m, double x);
/* log Pr[a < X < b], without cancellation. */
double dpa__mixture_log_interval(const dpa_mixture *m, double a, double b);
/* x with Pr[X > x] = p, p in (0, 1). */
dpa_status dpa__mixture_upper_quantile(const dpa_mixture *m, double p, double *x, dpa_error *err);
double dpa__mixture_draw(const dpa_mixture *m, dpa_rng *rng);
int dpa__mixture_equal(const dpa_mixture *a, const dpa_mixture *b);
/* 1 if their widest components differ; then one tail outweighs the other without limit. */
int dpa__mixture_tails_differ(const dpa_mixture *a, const dpa_mixture *b);

/* Sorted points between and around the components of both laws: `fine` per deviation, out to where
 * every tail is below `tail`, and the points where either law's tail is `level` or 1−level (level
 * 0: none). For the caller to free. */
dpa_status dpa__fit_grid(const dpa_loss_fit *fit, int fine, double tail, double level,
                         double **grid, size_t *count, dpa_error *err);
/* dpa_fit_epsilon for any number of components, without the closed form. */
dpa_status dpa__mixture_epsilon(const dpa_loss_fit *fit, double delta, double *epsilon,
                                double *error, dpa_error *err);

/* ── EM ── */

/* Components as the expectation step uses them: log_factor − ½((x − mean)·scale)² is the log of
 * weight times density. A component of weight 0 has a log_factor far below the others', not
 * −INFINITY. */
typedef struct dpa__mixture_terms {
    size_t count;
    double centre; /* of the moments */
    double mean[DPA_MIXTURE_MAX], scale[DPA_MIXTURE_MAX], log_factor[DPA_MIXTURE_MAX];
} dpa__mixture_terms;

typedef struct dpa__moments {
    double weight, first, second; /* Σ r, Σ r(x−centre), Σ r(x−centre)² */
} dpa__moments;

enum { DPA__BLOCK = 128 };
/* One block of points: responsibilities times weights are added to sum[0 … count−1]; its
 * log-likelihood is returned. */
double dpa__mixture_block(const dpa__mixture_terms *terms, const double *x, const double *weight,
                          dpa__moments *sum);
/* exp or log of every number of a block, in place: of numbers ≤ 0, of numbers in [1, 2⁵²). For
 * tests. */
void dpa__block_exp(double *x);
void dpa__block_log(double *x);

/* EM from the start given in *m on a weighted sample, `most` steps at most; log-likelihoods go to
 * `trace` when it is not NULL (room for `most` numbers). Each step goes to `watch` unless NULL. */
dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa__watch *watch, dpa_error *err);
/* The k-means++ start of EM; has fewer components than asked for if there are fewer distinct
 * points. */
dpa_status dpa__mixture_start(const dpa__weighted *sample, size_t components, uint64_t seed,
                              dpa_mixture *out, dpa_error *err);
/* dpa_fit_mixture on the request's threads, with its progress. */
dpa_status dpa__fit_mixture(const dpa_losses *losses, const dpa_mixture_opts *opts,
                            const dpa_request *request, dpa_loss_fit *out, dpa_error *err);

#endif
