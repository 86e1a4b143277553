/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon*: how much one released model gives away (epsilon-star).
 *
 * The attack says "in" when the loss is at most a threshold; its rates (FPR t, FNR η) over all
 * thresholds give ε* = log max{(1−δ−η)/t, (1−δ−t)/η, (η−δ)/(1−t), (t−δ)/(1−η), 1} (Eq. 7).
 * ε* measures this one model instance. It does not bound the ε of the training mechanism. */
#ifndef DPAUDIT_EPSILON_STAR_H
#define DPAUDIT_EPSILON_STAR_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/losses.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* Which of the four ratios of Eq. 7 is the largest, in its order. */
typedef enum dpa_star_ratio {
    DPA_STAR_NONE,    /* none above 1 */
    DPA_STAR_TPR_FPR, /* (1−δ−η)/t */
    DPA_STAR_TNR_FNR, /* (1−δ−t)/η */
    DPA_STAR_FNR_TNR, /* (η−δ)/(1−t) */
    DPA_STAR_FPR_TPR  /* (t−δ)/(1−η) */
} dpa_star_ratio;

/* "(TPR-delta)/FPR"; "none". */
DPA_API const char *dpa_star_ratio_name(dpa_star_ratio ratio);

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
DPA_API dpa_status dpa_star_empirical(const dpa_losses *losses, double delta, dpa_star *out,
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
DPA_API dpa_status dpa_star_binormal(const dpa_losses *losses, const dpa_request *request,
                                     dpa_binormal *out, dpa_error *err) DPA_MUST_USE;

/* Epsilon* with a generalised Pareto tail fitted to each sample at each end (beyond the threshold
 * that leaves min(n/5, 3√n) losses), and observed rates between. The interval reflects the error of
 * the tails' parameters, from `draws` draws of them (0: NaN). DPA_BAD_INPUT if a tail has fewer
 * than 20 losses, or equal or infinite ones. */
DPA_API dpa_status dpa_star_tail(const dpa_losses *losses, size_t draws, const dpa_request *request,
                                 dpa_star *out, double *lower, double *upper,
                                 dpa_error *err) DPA_MUST_USE;

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
DPA_API double dpa_loss_transform(double loss, double low, double high);
DPA_API double dpa_loss_untransform(double phi, double low, double high);

/* Fits one normal to each side: mean and deviation (divided by the count) of the transformed
 * losses. DPA_BAD_INPUT if all losses of a side are equal. */
DPA_API dpa_status dpa_fit_normal(const dpa_losses *losses, dpa_transform transform,
                                  dpa_loss_fit *out, dpa_error *err) DPA_MUST_USE;

typedef struct dpa_mixture_opts {
    size_t components;       /* 0: chosen by BIC for each side */
    size_t most;             /* 20: the most components to try */
    uint64_t seed;           /* 1 */
    dpa_transform transform; /* the paper's */
} dpa_mixture_opts;

DPA_API void dpa_mixture_opts_init(dpa_mixture_opts *opts);
/* Fits a Gaussian mixture to each side by EM. The random starts depend on opts->seed alone. */
DPA_API dpa_status dpa_fit_mixture(const dpa_losses *losses, const dpa_mixture_opts *opts,
                                   dpa_loss_fit *out, dpa_error *err) DPA_MUST_USE;
/* Fits a mixture to x[count] by EM: finite numbers, not all equal. */
DPA_API dpa_status dpa_mixture_fit(const double *x, size_t count, const dpa_mixture_opts *opts,
                                   dpa_mixture *out, dpa_error *err) DPA_MUST_USE;

/* The supremum of Eq. 7 over all thresholds with both rates in (δ, 1−δ), to 1e-10. Infinite when
 * δ = 0 and the laws differ. */
DPA_API dpa_status dpa_star_fitted(const dpa_loss_fit *fit, double delta, dpa_star *out,
                                   dpa_error *err) DPA_MUST_USE;
/* The smallest ε at which the fitted pair is (ε,δ)-indistinguishable in both directions over all
 * events, not only thresholds. *error is the numerical error. At δ = 0 infinite, or NaN (not
 * computed) for mixtures that differ but share their widest component. */
DPA_API dpa_status dpa_fit_epsilon(const dpa_loss_fit *fit, double delta, double *epsilon,
                                   double *error, dpa_error *err) DPA_MUST_USE;

/* ── does the fit describe the losses? ───────────────────────────────────────────────── */

/* The p-value of one side's fit: Anderson–Darling on all of its losses with a parametric bootstrap
 * (199 draws; fewer once it is clear that p > 0.1). It does not depend on any seed. NaN with fewer
 * than three distinct losses. */
DPA_API dpa_status dpa_fit_goodness(const dpa_losses *losses, const dpa_loss_fit *fit, int heldout,
                                    double *p_value, dpa_error *err) DPA_MUST_USE;

/* The two-sample Kolmogorov–Smirnov statistic for equal sizes and its exact p-value (conservative
 * with ties). Sorts both arrays. */
DPA_API dpa_status dpa_ks_two_sample(double *x, double *y, size_t count, double *statistic,
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
DPA_API dpa_status dpa_losses_goodness(const dpa_losses *losses, int heldout, size_t components,
                                       uint64_t seed, const size_t *sizes, size_t count,
                                       dpa_goodness *rows, dpa_error *err) DPA_MUST_USE;

/* ── uncertainty ─────────────────────────────────────────────────────────────────────── */

/* A lower bound on the instance's ε without any fit: Berk–Jones bands hold for all thresholds at
 * once, with half of the error for each sample. If `whole_training_set`, the training losses are
 * those of every training point, so that their rates are exact (Definition 1) and the held-out
 * sample gets all of the error. Thresholds need ten training losses on either side, which keeps the
 * bound finite. Uses only the first two ratios, in which low losses mean "in". */
DPA_API dpa_status dpa_star_lower(const dpa_losses *losses, double delta, double confidence,
                                  int whole_training_set, dpa_star *out,
                                  dpa_error *err) DPA_MUST_USE;

typedef struct dpa_star_opts {
    size_t bootstrap; /* 200 replicates for the interval; 0: none */
    dpa_mixture_opts mixture;
    int whole_training_set; /* 0 */
    int resampled;      /* 0; 1: every model was trained on its own random draw of the data, so that
                           several models bound the mechanism (dpa_star_mechanism) */
    int replace_one;    /* neighbours of that bound; 0: add or remove a record */
    size_t share;       /* 1; the `simultaneous` bounds of this many models share the error and hold
                           together */
    int paper_goodness; /* 0: dpa_fit_goodness judges a fit; 1: the paper's procedure,
                           dpa_losses_goodness */
} dpa_star_opts;

DPA_API void dpa_star_opts_init(dpa_star_opts *opts);

/* An interval for ε*. Its lower end is 0 if exchanging the sides gives as large an ε* (an exact
 * test). `method` "empirical" (`fit` NULL) simulates from the binormal curve, where the truth is
 * known. "normal" and "mixture" (with the components of `fit`) resample both sides, keep the ends
 * of the transform, and take the outer ends of the percentile and the basic interval. The result
 * does not depend on the number of threads. */
DPA_API dpa_status dpa_star_bootstrap(const dpa_losses *losses, const char *method,
                                      const dpa_loss_fit *fit, size_t replicates,
                                      const dpa_request *request, double *lower, double *upper,
                                      dpa_error *err) DPA_MUST_USE;

/* Runs request->method ("binormal", "empirical", "normal", "tail", "mixture" or "simultaneous"; "":
 * all that apply) and appends to `results`. What cannot be fitted becomes a lint. */
DPA_API dpa_status dpa_star_results(const dpa_losses *losses, const dpa_star_opts *opts,
                                    const dpa_request *request, dpa_results *results,
                                    dpa_lints *lints, dpa_error *err) DPA_MUST_USE;

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
DPA_API dpa_status dpa_star_mechanism(const dpa_losses *models, size_t count, double delta,
                                      double confidence, dpa_averaged *out,
                                      dpa_error *err) DPA_MUST_USE;

/* count ≥ 1 values, none NaN. */
DPA_API dpa_status dpa_star_summarise(const double *epsilon, size_t count, dpa_star_summary *out,
                                      dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
