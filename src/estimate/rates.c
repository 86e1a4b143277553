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
#include "estimate/rates.h"

#include <math.h>

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
