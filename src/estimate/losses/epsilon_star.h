/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon*: how much one released model gives away (epsilon-star).
 *
 * The attack says "in" when the loss is at most a threshold; its rates (FPR t, FNR η) over all
 * thresholds give ε* = log max{(1−δ−η)/t, (1−δ−t)/η, (η−δ)/(1−t), (t−δ)/(1−η), 1} (Eq. 7).
 * ε* measures this one model instance. It does not bound the ε of the training mechanism. */
#ifndef DPA_ESTIMATE_EPSILON_STAR_H
#define DPA_ESTIMATE_EPSILON_STAR_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "evidence/losses.h"

/* Which of the four ratios of Eq. 7 is the largest, in its order. */
typedef enum dpa_star_ratio {
    DPA_STAR_NONE,    /* none above 1 */
    DPA_STAR_TPR_FPR, /* (1−δ−η)/t */
    DPA_STAR_TNR_FNR, /* (1−δ−t)/η */
    DPA_STAR_FNR_TNR, /* (η−δ)/(1−t) */
    DPA_STAR_FPR_TPR  /* (t−δ)/(1−η) */
} dpa_star_ratio;

/* "(TPR-delta)/FPR"; "none". */
const char *dpa__star_ratio_name(dpa_star_ratio ratio);

typedef struct dpa_star {
    double epsilon;
    dpa_star_ratio ratio;
    double threshold; /* on the scale of the losses: "in" at or below; NaN if there is none */
    double fpr, fnr;  /* at the threshold */
    int clamped; /* 1: no threshold had both rates inside the interval; instead of leaving all out,
                    rates were moved to its ends */
} dpa_star;

/* Epsilon* from the empirical distribution functions, over every threshold with both rates in
 * (0.001, 0.999) (Appendix B). δ in [0,1). */
dpa_status dpa__star_empirical(const dpa_losses *losses, double delta, dpa_star *out,
                               dpa_error *err) DPA_MUST_USE;

/* ── the curve of the ranks: the default ─────────────────────────────────────────────── */

/* The line Φ⁻¹(TPR) = intercept + slope·Φ⁻¹(FPR), fitted at one end: to thresholds with at most
 * `share` of all losses beyond them. share 0: no line could be fitted. p_value tests whether the
 * residuals fit the line. */
typedef struct dpa_binormal_end {
    double share, intercept, slope, p_value;
} dpa_binormal_end;

typedef struct dpa_binormal {
    dpa_star star;
    double epsilon_lower, epsilon_upper; /* at the request's confidence, two-sided */
    dpa_binormal_end lower, upper;       /* at small and at large losses (rates 1−TPR, 1−FPR) */
} dpa_binormal;

/* Epsilon* from the ranks of the losses: a binormal curve at each end, observed rates between.
 * Rates are limited to (δ, 1−δ), at δ = 0 to at least one loss. Rising transforms of the losses,
 * outliers and infinite losses do not change it. */
dpa_status dpa__star_binormal(const dpa_losses *losses, const dpa_request *request,
                              dpa_binormal *out, dpa_error *err) DPA_MUST_USE;

/* Epsilon* with a generalised Pareto tail fitted to each sample at each end (beyond the threshold
 * that leaves min(n/5, 3√n) losses), and observed rates between. The interval reflects the error of
 * the tails' parameters, from `draws` draws of them (0: NaN). DPA_BAD_INPUT if a tail has fewer
 * than 20 losses, or equal or infinite ones. */
dpa_status dpa__star_tail(const dpa_losses *losses, size_t draws, const dpa_request *request,
                          dpa_star *out, double *lower, double *upper, dpa_error *err) DPA_MUST_USE;

/* ── fitted distributions ────────────────────────────────────────────────────────────── */

enum { DPA_MIXTURE_MAX = 20 };

/* Σ weight·N(mean, deviation²), components by rising mean. */
typedef struct dpa_mixture {
    size_t count;
    double weight[DPA_MIXTURE_MAX], mean[DPA_MIXTURE_MAX], deviation[DPA_MIXTURE_MAX];
    double log_likelihood; /* total, of the sample it was fitted to */
    double bic;            /* −2·log_likelihood + (3·count − 1)·log n */
    unsigned iterations;   /* of EM */
    int converged;
} dpa_mixture;

/* The ends of the transform's scale: the extreme finite losses (Appendix B), or the pooled
 * quantiles at 0.001 and 0.999, so that no single loss sets the scale. Losses outside are moved to
 * the nearer end. */
typedef enum dpa_transform { DPA_TRANSFORM_PAPER, DPA_TRANSFORM_QUANTILE } dpa_transform;

/* Distributions fitted on the scale φ = logit(exp(−(1 + (loss − low)/(high − low)))) of Appendix B;
 * dpa_transform says what low and high are. φ falls from −log(e−1) at low to −log(e²−1) at high.
 * Infinite losses are moved to the nearer end. */
typedef struct dpa_loss_fit {
    double low, high;
    dpa_mixture train, heldout;
} dpa_loss_fit;

/* The transform φ of a loss, and its inverse. */
double dpa__loss_transform(double loss, double low, double high);
double dpa__loss_untransform(double phi, double low, double high);

/* Fits one normal to each side: mean and deviation (divided by the count) of the transformed
 * losses. DPA_BAD_INPUT if all losses of a side are equal. */
dpa_status dpa__fit_normal(const dpa_losses *losses, dpa_transform transform, dpa_loss_fit *out,
                           dpa_error *err) DPA_MUST_USE;

typedef struct dpa_mixture_opts {
    size_t components;       /* 0: chosen by BIC for each side */
    size_t most;             /* 20: the most components to try */
    uint64_t seed;           /* 1 */
    dpa_transform transform; /* the paper's */
} dpa_mixture_opts;

void dpa__mixture_opts_init(dpa_mixture_opts *opts);
/* Fits a mixture to x[count] by EM: finite numbers, not all equal. */
dpa_status dpa__mixture_fit(const double *x, size_t count, const dpa_mixture_opts *opts,
                            dpa_mixture *out, dpa_error *err) DPA_MUST_USE;

/* The supremum of Eq. 7 over all thresholds with both rates in (δ, 1−δ), to 1e-10. Infinite when
 * δ = 0 and the laws differ. */
dpa_status dpa__star_fitted(const dpa_loss_fit *fit, double delta, dpa_star *out,
                            dpa_error *err) DPA_MUST_USE;
/* The smallest ε at which the fitted pair is (ε,δ)-indistinguishable in both directions over all
 * events, not only thresholds. *error is the numerical error. At δ = 0 infinite, or NaN (not
 * computed) for mixtures that differ but share their widest component. */
dpa_status dpa__fit_epsilon(const dpa_loss_fit *fit, double delta, double *epsilon, double *error,
                            dpa_error *err) DPA_MUST_USE;

/* ── does the fit describe the losses? ───────────────────────────────────────────────── */

/* The p-value of one side's fit: Anderson–Darling on all of its losses with a parametric bootstrap
 * (199 draws; fewer once it is clear that p > 0.1). It does not depend on any seed. NaN with fewer
 * than three distinct losses. */
dpa_status dpa__fit_goodness(const dpa_losses *losses, const dpa_loss_fit *fit, int heldout,
                             double *p_value, dpa_error *err) DPA_MUST_USE;

/* The two-sample Kolmogorov–Smirnov statistic for equal sizes and its exact p-value (conservative
 * with ties). Sorts both arrays. */
dpa_status dpa__ks_two_sample(double *x, double *y, size_t count, double *statistic,
                              double *p_value, dpa_error *err) DPA_MUST_USE;

typedef struct dpa_goodness {
    int heldout; /* 0: training losses; 1: held-out losses */
    size_t components, samples;
    double statistic, p_value;
} dpa_goodness;

/* The paper's test of a fit (Appendix B, section 8.2): `samples` losses (at most half) are set
 * aside by `seed`, the mixture is fitted to the others, and as many draws from it are compared with
 * those set aside. Fills rows[i] for sizes[i], which must ascend: all rows share one fit, and each
 * compares a prefix of the next one's losses. */
dpa_status dpa__losses_goodness(const dpa_losses *losses, int heldout, size_t components,
                                uint64_t seed, const size_t *sizes, size_t count,
                                dpa_goodness *rows, dpa_error *err) DPA_MUST_USE;

/* ── uncertainty ─────────────────────────────────────────────────────────────────────── */

/* A lower bound on the instance's ε without any fit: Berk–Jones bands hold for all thresholds at
 * once, with half of the error for each sample. If `whole_training_set`, the training losses are
 * those of every training point, so that their rates are exact (Definition 1) and the held-out
 * sample gets all of the error. Thresholds need ten training losses on either side, which keeps the
 * bound finite. Uses only the first two ratios, in which low losses mean "in". */
dpa_status dpa__star_lower(const dpa_losses *losses, double delta, double confidence,
                           int whole_training_set, dpa_star *out, dpa_error *err) DPA_MUST_USE;

typedef struct dpa_star_opts {
    size_t bootstrap; /* 200 replicates for the interval; 0: none */
    dpa_mixture_opts mixture;
    int whole_training_set; /* 0 */
    int resampled;      /* 0; 1: every model was trained on its own random draw of the data, so that
                           several models bound the mechanism (dpa__star_mechanism) */
    int replace_one;    /* neighbours of that bound; 0: add or remove a record */
    size_t share;       /* 1; the `simultaneous` bounds of this many models share the error and hold
                           together */
    int paper_goodness; /* 0: dpa__fit_goodness judges a fit; 1: the paper's procedure,
                           dpa__losses_goodness */
} dpa_star_opts;

void dpa__star_opts_init(dpa_star_opts *opts);

/* An interval for ε*. Its lower end is 0 if exchanging the sides gives as large an ε* (an exact
 * test). `method` "empirical" (`fit` NULL) simulates from the binormal curve, where the truth is
 * known. "normal" and "mixture" (with the components of `fit`) resample both sides, keep the ends
 * of the transform, and take the outer ends of the percentile and the basic interval. The result
 * does not depend on the number of threads. */
dpa_status dpa__star_bootstrap(const dpa_losses *losses, const char *method,
                               const dpa_loss_fit *fit, size_t replicates,
                               const dpa_request *request, double *lower, double *upper,
                               dpa_error *err) DPA_MUST_USE;

/* Runs request->method ("binormal", "empirical", "normal", "tail", "mixture" or "simultaneous"; "":
 * all that apply) and appends to `results`. What cannot be fitted becomes a lint. */
dpa_status dpa__star_results(const dpa_losses *losses, const dpa_star_opts *opts,
                             const dpa_request *request, dpa_results *results, dpa_lints *lints,
                             dpa_error *err) DPA_MUST_USE;

/* ── several models ──────────────────────────────────────────────────────────────────── */

typedef struct dpa_star_summary {
    double mean, lowest, highest;
    double log_mean_exp; /* log of the mean of e^ε*; in expectation over models at least the
                            mechanism's ε̄ of Theorem 2 */
} dpa_star_summary;

/* A lower bound on the mechanism's ε̄ (Eq. 19, Theorem 4). The models must be trained on their own
 * random draws of the data: independent training and held-out sets each time, or random splits of
 * one pool. The rule "in if the loss is below the held-out loss of rank ⌊t·m⌋" has FPR at most t
 * for any losses (docs/methods/epsilon-star.md), so only its TPR, averaged over models, must be
 * bounded: by the smallest TPR times p^(1/models). In the same way the rule "out if the loss is
 * above the training loss of rank ⌊t·n⌋ from above" has FNR at most t. Both rules at t = 0.001,
 * 0.01 and 0.1 share the error. */
typedef struct dpa_averaged {
    double epsilon; /* from the averaged rates, neighbours differing in one replaced record */
    double epsilon_replace_one; /* lower bound for those neighbours */
    double epsilon_add_remove;  /* and for neighbours that add or remove one */
    /* Rates where the bound is attained. First rule: fpr is the limit t, tpr the mean TPR,
     * tpr_lower its lower limit. Second rule: fpr is the mean FPR; tpr and tpr_lower are both the
     * limit of the TPR. */
    double fpr, tpr, tpr_lower;
    dpa_star_ratio ratio;
} dpa_averaged;

/* count ≥ 2 models. */
dpa_status dpa__star_mechanism(const dpa_losses *models, size_t count, double delta,
                               double confidence, dpa_averaged *out, dpa_error *err) DPA_MUST_USE;

/* count ≥ 1 values, none NaN. */
dpa_status dpa__star_summarise(const double *epsilon, size_t count, dpa_star_summary *out,
                               dpa_error *err) DPA_MUST_USE;

/* What the files of Epsilon* share. */

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

/* Both samples of losses as counts in a few hundred cells, cut at pooled ranks. That is all the
 * rates of thresholds need, and it is as small for 10⁷ losses as for 10³. */
enum { DPA__CELLS = 640 };

/* Cell i holds the losses in (upper[i−1], upper[i]]. */
typedef struct dpa__cells {
    size_t count;
    double train_total, heldout_total;
    double train[DPA__CELLS], heldout[DPA__CELLS], upper[DPA__CELLS];
} dpa__cells;

/* From either end a cell holds a fifth of the losses before it, at least one and at most a
 * hundredth of all; ties stay together. Fewer than DPA__CELLS for any number of losses below 2⁵³.
 */
void dpa__cells_new(const dpa_losses *losses, dpa__cells *out);
/* The same cells in reverse order, so that the upper end becomes the lower one; the sides stay. */
void dpa__cells_mirror(const dpa__cells *cells, dpa__cells *out);
/* Labels a random train_total of the pooled losses as training losses, all choices equally likely.
 */
void dpa__cells_exchange(const dpa__cells *cells, dpa_rng *rng, dpa__cells *out);
/* `total` points fall into cells with the given probabilities (of sum 1). */
void dpa__cells_draw(const double *probability, size_t count, double total, dpa_rng *rng,
                     double *out);

/* Exact draws by inversion from the mode outwards; the number of steps is about the deviation. */
double dpa__draw_binomial(dpa_rng *rng, double n, double p);
/* How many marked ones are among `drawn` of `all`, of which `marked` are marked. */
double dpa__draw_hypergeometric(dpa_rng *rng, double all, double marked, double drawn);

/* The rates of thresholds at one end of the losses as a straight line on normal axes:
 * Φ⁻¹(TPR) = intercept + slope·Φ⁻¹(FPR). */
typedef struct dpa__line {
    double share; /* the window: thresholds with at most this share of the pooled losses */
    double intercept, slope;
    double covariance[3]; /* of intercept; of both; of slope */
    double chi_square;    /* of the residuals */
    size_t points;        /* thresholds used; freedom is two less */
} dpa__line;

/* Fits the lower end of the cells in windows from half of the losses downwards. *line is that of
 * the widest window whose residuals are not rejected at 5% (if all are, the least rejected one).
 * DPA_BAD_INPUT if too few thresholds have losses of both sides. */
dpa_status dpa__line_fit(const dpa__cells *cells, dpa__line *line, dpa_error *err);
/* The p-value of the residuals in the line's window, with variances from the line's own rates.
 * Observed rates would treat a stretch without a loss of one side as exact, and reject straight
 * curves. */
double dpa__line_p_value(const dpa__cells *cells, const dpa__line *line);

enum { DPA__POINTS = 14 };

/* What is known of the curve if it need not be straight: a line plus a walk whose slope wanders,
 * given the observed rates (kriging with a linear drift). */
typedef struct dpa__band {
    size_t count;
    double origin, wander; /* the walk starts at z = origin; its slope's deviation per unit of z */
    double edge;           /* from here inwards both sides have at least ten losses beyond */
    double z[DPA__POINTS]; /* thresholds */
    double root[DPA__POINTS][DPA__POINTS]; /* L·Lᵀ = V */
    /* L⁻¹ times 1, times z, times the residuals */
    double of_one[DPA__POINTS], of_z[DPA__POINTS], of_rest[DPA__POINTS];
    double intercept, slope, covariance[3];
} dpa__band;

/* The rates whose variances define the weights. Observed rates that are too high by chance weigh
 * more than those that are too low, which makes ε a little too small: acceptable for a lower end
 * only. */
typedef enum dpa__weights { DPA__OBSERVED, DPA__EXPECTED } dpa__weights;

/* The band in the window of the line; 0 if there are too few thresholds or they are too close. */
int dpa__band_fit(const dpa__cells *cells, const dpa__line *line, dpa__weights weights,
                  dpa__band *out);
/* The curve's height at z ≤ origin, and its standard deviation. */
double dpa__band_at(const dpa__band *band, double z, double *deviation);

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
typedef struct dpa__point_groups {
    double *value;
    uint32_t *weight;
    size_t count;
    double total;
} dpa__point_groups;

dpa_status dpa__point_groups_new(const double *sorted, size_t count, double grain,
                                 dpa__point_groups *out, dpa_error *err);
void dpa__point_groups_free(dpa__point_groups *groups);
dpa__weighted dpa__point_groups_sample(const dpa__point_groups *groups);
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
/* dpa__fit_epsilon for any number of components, without the closed form. */
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
/* exp of every number of a block, in place: of numbers ≤ 0. For tests. */
void dpa__block_exp(double *x);

/* EM from the start given in *m on a weighted sample, `most` steps at most; log-likelihoods go to
 * `trace` when it is not NULL (room for `most` numbers). Each step goes to `watch` unless NULL. */
dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa__watch *watch, dpa_error *err);
/* The k-means++ start of EM; has fewer components than asked for if there are fewer distinct
 * points. */
dpa_status dpa__mixture_start(const dpa__weighted *sample, size_t components, uint64_t seed,
                              dpa_mixture *out, dpa_error *err);
/* Fits a Gaussian mixture to each side by EM, on the request's threads and with its progress (NULL:
 * one thread, none). The random starts depend on opts->seed alone. */
dpa_status dpa__fit_mixture(const dpa_losses *losses, const dpa_mixture_opts *opts,
                            const dpa_request *request, dpa_loss_fit *out, dpa_error *err);

#endif
