/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions with every tail and its logarithm, on libRmath (R's nmath) where that is accurate,
 * on our own code elsewhere. Outside the domain: NaN. Nothing is ever printed.
 *
 * Relative accuracy, as checked against 25 digits by tests/known/test_dist.c:
 * - normal quantile, log interval: 1e-15 (logarithms of levels to −1e10)
 * - normal, beta, binomial, gamma, t cdf: 1e-13 plus 4 units in the last place of the argument
 * times the condition x·F'(x)/F(x), because x itself carries no more digits
 * - quantiles, cp and jeffreys limits: 1e-13
 *
 * Range of these checks: beta and binomial shapes and counts to 1e9, gamma shapes to 1e4, t to 1e6
 * degrees; levels to 1e-300 (t quantile 1e-100). Beyond it (shapes from 1e-3, gamma and t to 1e9)
 * tests check only that results are numbers and agree with their inverses. The error of a tail's
 * logarithm is relative to the logarithm. A quantile below 2e-308 is as accurate as a denormal (or
 * 0) can be. */
#ifndef DPA_MATH_DIST_H
#define DPA_MATH_DIST_H

/* Which tail is meant, and whether as a logarithm: one argument instead of two int flags that could
 * be swapped. */
typedef enum dpa__tail { DPA_LOWER, DPA_UPPER, DPA_LOG_LOWER, DPA_LOG_UPPER } dpa__tail;

double dpa__norm_log_pdf(double x);
double dpa__norm_cdf(double x, dpa__tail tail);
double dpa__norm_quantile(double p,
                          dpa__tail tail); /* p as the tail says: DPA_LOG_UPPER takes log(1−F) */
/* log(Φ(b) − Φ(a)), a ≤ b, computed in the tail where it does not cancel. */
double dpa__norm_log_interval(double a, double b);
/* The Mills ratio R(t) = (1 − Φ(t)) / φ(t): a normal tail without its exponential factor. */
double dpa__mills(double t);      /* overflows below t = −38 */
double dpa__log_mills(double t);  /* any t */
double dpa__mills_drop(double t); /* −R'(t) = 1 − t R(t), without cancellation */

double dpa__beta_log_pdf(double x, double a, double b);
double dpa__beta_cdf(double x, double a, double b, dpa__tail tail);
double dpa__beta_quantile(double p, double a, double b, dpa__tail tail);

double dpa__binom_log_pmf(double k, double n, double q);
double dpa__binom_cdf(double k, double n, double q, dpa__tail tail); /* DPA_UPPER: Pr[B > k] */

double dpa__gamma_cdf(double x, double shape, double scale, dpa__tail tail);
double dpa__gamma_quantile(double p, double shape, double scale, dpa__tail tail);

double dpa__t_cdf(double x, double freedom, dpa__tail tail);
double dpa__t_quantile(double p, double freedom, dpa__tail tail);
double dpa__chisq_quantile(double p, double freedom, dpa__tail tail);

/* Clopper–Pearson and Jeffreys limits of a binomial rate after k of n, each one-sided at error p.
 * Clopper–Pearson: 0 at k=0 (lower), 1 at k=n (upper). Jeffreys likewise (methods.md, section 3).
 */
double dpa__cp_lower(double k, double n, double p);
double dpa__cp_upper(double k, double n, double p);
double dpa__jeffreys_lower(double k, double n, double p);
double dpa__jeffreys_upper(double k, double n, double p);

#endif
