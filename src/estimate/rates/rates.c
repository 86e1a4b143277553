/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clopper–Pearson and Jeffreys limits of FNR and FPR, and the extreme members over their rectangle
 * (bayesian-estimation, sections 2.5 and 3.1; tight-auditing, Eq. 12).
 *
 * The error p is shared by the two rates (union bound). One-sided: each upper limit at p/2;
 * two-sided: each rate two-sided at p/2, so every limit at p/4. For every family the member that a
 * pair points at falls in both rates below the diagonal, so over a rectangle the least leaky one is
 * at the upper corner (x₊,y₊), or at (x₋,y₋) of a rectangle wholly above the diagonal, or there is
 * none: 0. (The paper's footnote 1 leaves out the term that divides by a rate of 0 and so shows
 * less for 0 false positives than for 1; no ε allows a rate of 0, so the corner stands there too.)
 */
#include "estimate/rates/rates.h"

#include <math.h>

#include "estimate/rates/ratio.h"
#include "math/dist.h"

double dpa__rate_upper(dpa__limit limit, uint64_t k, uint64_t n, double p) {
    return limit == DPA__CLOPPER_PEARSON ? dpa__cp_upper((double)k, (double)n, p)
                                         : dpa__jeffreys_upper((double)k, (double)n, p);
}

double dpa__rate_lower(dpa__limit limit, uint64_t k, uint64_t n, double p) {
    return limit == DPA__CLOPPER_PEARSON ? dpa__cp_lower((double)k, (double)n, p)
                                         : dpa__jeffreys_lower((double)k, (double)n, p);
}

int dpa__rate_upper_reaches(dpa__limit limit, uint64_t k, uint64_t n, double p, double rate) {
    if (k == n || rate <= 0) return 1;
    const double more = limit == DPA__CLOPPER_PEARSON ? 1 : 0.5;
    return dpa__beta_cdf(rate, (double)k + more, (double)(n - k) + 1 - more, DPA_UPPER) >= p;
}

dpa__rectangle dpa__rectangle_of(const dpa_counts *c, dpa__limit limit, double p, int sides) {
    const double each = p / (sides == 1 ? 2 : 4);
    const uint64_t members = c->fn + c->tp, nonmembers = c->fp + c->tn;
    dpa__rectangle r = {{0, dpa__rate_upper(limit, c->fn, members, each)},
                        {0, dpa__rate_upper(limit, c->fp, nonmembers, each)}};
    if (sides == 2) {
        r.fnr[0] = dpa__rate_lower(limit, c->fn, members, each);
        r.fpr[0] = dpa__rate_lower(limit, c->fp, nonmembers, each);
    }
    return r;
}

dpa_status dpa__rectangle_lower(const dpa__model *model, const dpa__rectangle *r, double *t,
                                dpa_error *err) {
    dpa__rectangle used = *r;
    if (r->fnr[0] + r->fpr[0] > 1) /* the opposite attack */
        used = (dpa__rectangle){{1 - r->fnr[1], 1 - r->fnr[0]}, {1 - r->fpr[1], 1 - r->fpr[0]}};
    *t = 0;
    if (used.fnr[1] + used.fpr[1] >= 1) return DPA_OK;
    return dpa__model_locate(model, used.fnr[1], used.fpr[1], -1, t, err);
}

dpa_status dpa__rectangle_upper(const dpa__model *model, const dpa__rectangle *r, double *t,
                                dpa_error *err) {
    double below = 0, above = 0;
    dpa_status status = DPA_OK;
    if (r->fnr[0] + r->fpr[0] < 1)
        status = dpa__model_locate(model, r->fnr[0], r->fpr[0], 1, &below, err);
    if (status == DPA_OK && r->fnr[1] + r->fpr[1] > 1)
        status = dpa__model_locate(model, r->fnr[1], r->fpr[1], 1, &above, err);
    *t = fmax(below, above);
    return status;
}

/* At δ = 0, ε is the larger of log(TPR/FPR) and log(TNR/FNR) in absolute value: ratios of two
 * independent rates, for which biostatistics has closed intervals.
 *   Katz-log (Katz et al. 1978), adjusted-log with ½ added (Walter 1975), Bailey's cube root
 *   (Bailey 1987), inverse sinh (Newcombe 2001).
 * All four rest on a normal law for a transformed ratio: large samples, no guarantee for small
 * ones. The two ratios share the error (union bound). */

static dpa__log_ratio katz(double a, double m, double b, double n, double z) {
    const double centre = log(a / m) - log(b / n), width = z * sqrt(1 / a - 1 / m + 1 / b - 1 / n);
    return (dpa__log_ratio){centre - width, centre + width};
}

static dpa__log_ratio inverse_sinh(double a, double m, double b, double n, double z) {
    const double centre = log(a / m) - log(b / n);
    const double width = 2 * asinh(0.5 * z * sqrt(1 / a - 1 / m + 1 / b - 1 / n));
    return (dpa__log_ratio){centre - width, centre + width};
}

/* The roots r of (1−r)² = (z²/9)(q₁/a + r²·q₂/b) are the limits of (ratio/estimate)^⅓: Fieller's
 * argument for cube roots of rates. */
static dpa__log_ratio bailey(double a, double m, double b, double n, double z) {
    const double u = z * z * (1 - a / m) / (9 * a), v = z * z * (1 - b / n) / (9 * b);
    const double root = sqrt(fmax(u + v - u * v, 0)), centre = log(a / m) - log(b / n);
    const double low = (1 - u) / (1 + root); /* the smaller root, without cancellation */
    return (dpa__log_ratio){low > 0 ? centre + 3 * log(low) : -HUGE_VAL,
                            v < 1 ? centre + 3 * log((1 + root) / (1 - v)) : HUGE_VAL};
}

dpa__log_ratio dpa__ratio_limits(dpa__ratio method, double a, double m, double b, double n,
                                 double p) {
    const double z = dpa__norm_quantile(p, DPA_UPPER);
    if (method != DPA__ADJUSTED_LOG && (a == 0 || b == 0)) return (dpa__log_ratio){NAN, NAN};
    switch (method) {
    case DPA__KATZ_LOG:
        return katz(a, m, b, n, z);
    case DPA__ADJUSTED_LOG:
        return katz(a + 0.5, m + 0.5, b + 0.5, n + 0.5, z);
    case DPA__BAILEY:
        return bailey(a, m, b, n, z);
    case DPA__INVERSE_SINH:
        return inverse_sinh(a, m, b, n, z);
    }
    return (dpa__log_ratio){NAN, NAN};
}

int dpa__ratio_epsilon(dpa__ratio method, const dpa_counts *c, double p, int sides, double *lower,
                       double *upper) {
    const double fn = (double)c->fn, tp = (double)c->tp, fp = (double)c->fp, tn = (double)c->tn;
    const double each = p / (sides == 1 ? 2 : 4);
    const dpa__log_ratio in = dpa__ratio_limits(method, tp, tp + fn, fp, fp + tn, each);
    const dpa__log_ratio out = dpa__ratio_limits(method, tn, fp + tn, fn, tp + fn, each);
    if (isnan(in.lower) && isnan(out.lower)) return 0;
    /* fmax ignores a missing ratio, which is NaN */
    *lower = fmax(0, fmax(in.lower, out.lower));
    *upper = HUGE_VAL;
    if (sides == 2) *lower = fmax(*lower, fmax(-in.upper, -out.upper));
    if (!isnan(in.lower) && !isnan(out.lower))
        *upper = fmax(fmax(in.upper, -in.lower), fmax(out.upper, -out.lower));
    return 1;
}
