/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* of the empirical distribution functions (epsilon-star, Eq. 7 and Appendix B).
 *
 * Nothing changes between two neighbouring losses, so the distinct losses of both sides are all
 * the thresholds needed, and one sweep over the two sorted samples gives the exact maximum. The
 * paper leaves out thresholds with a rate outside (0.001, 0.999). If the samples hardly overlap,
 * that leaves no threshold, and a perfect attack would get 0. Only in that case rates are moved
 * to the nearer end instead, which can only lower a ratio above 1. The result says so. */
#include "estimate/epsilon_star.h"

#include <math.h>

#include "base/error.h"
#include "math/logspace.h"

static const double RATE_LOW = 0.001, RATE_HIGH = 0.999;

const char *dpa__star_ratio_name(dpa_star_ratio ratio) {
    static const char *const names[] = {"none", "(TPR-delta)/FPR", "(TNR-delta)/FNR",
                                        "(FNR-delta)/TNR", "(FPR-delta)/TPR"};
    return (unsigned)ratio < sizeof names / sizeof names[0] ? names[ratio] : "none";
}

static double quotient(double above, double below) {
    if (!(above > 0.0)) return 0.0;
    return below > 0.0 ? above / below : HUGE_VAL;
}

double dpa__star_ratio_of(const dpa__rates4 *r, double delta, dpa_star_ratio which) {
    switch (which) {
    case DPA_STAR_TPR_FPR:
        return quotient(r->tpr - delta, r->fpr);
    case DPA_STAR_TNR_FNR:
        return quotient(r->tnr - delta, r->fnr);
    case DPA_STAR_FNR_TNR:
        return quotient(r->fnr - delta, r->tnr);
    case DPA_STAR_FPR_TPR:
        return quotient(r->fpr - delta, r->tpr);
    case DPA_STAR_NONE:
        break;
    }
    return 1.0;
}

double dpa__star_ratio(const dpa__rates4 *rates, double delta, dpa_star_ratio *which) {
    double best = 1.0;
    *which = DPA_STAR_NONE;
    for (int i = DPA_STAR_TPR_FPR; i <= DPA_STAR_FPR_TPR; ++i) {
        const double ratio = dpa__star_ratio_of(rates, delta, (dpa_star_ratio)i);
        if (!(ratio > best)) continue;
        best = ratio;
        *which = (dpa_star_ratio)i;
    }
    return best;
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

void dpa__star_clamp(dpa__rates4 *rates, double low, double high) {
    rates->tpr = clamp(rates->tpr, low, high);
    rates->fnr = clamp(rates->fnr, low, high);
    rates->fpr = clamp(rates->fpr, low, high);
    rates->tnr = clamp(rates->tnr, low, high);
}

/* A walk over the distinct losses: the points of a side at or below the current one. */
typedef struct walk {
    const dpa__weighted *side;
    size_t next;
    double below;
} walk;

static double walk_peek(const walk *w) {
    return w->next < w->side->count ? w->side->value[w->next] : HUGE_VAL;
}

static void walk_to(walk *w, double threshold) {
    for (; w->next < w->side->count && w->side->value[w->next] <= threshold; ++w->next)
        w->below += w->side->weight != NULL ? (double)w->side->weight[w->next] : 1.0;
}

static int inside(double rate) {
    return rate > RATE_LOW && rate < RATE_HIGH;
}

/* Returns how many thresholds had both rates inside the interval. */
static size_t sweep(const dpa__weighted *train, const dpa__weighted *heldout, double delta,
                    int clamped, dpa_star *out) {
    walk in = {train, 0, 0.0}, not_in = {heldout, 0, 0.0};
    double best = 1.0;
    size_t used = 0;
    *out = (dpa_star){.threshold = NAN, .fpr = NAN, .fnr = NAN, .clamped = clamped};
    while (in.next < train->count || not_in.next < heldout->count) {
        const double threshold = fmin(walk_peek(&in), walk_peek(&not_in));
        walk_to(&in, threshold);
        walk_to(&not_in, threshold);
        const dpa__rates4 seen = {in.below / train->total, (train->total - in.below) / train->total,
                                  not_in.below / heldout->total,
                                  (heldout->total - not_in.below) / heldout->total};
        dpa__rates4 rates = seen;
        dpa_star_ratio which;
        if (clamped)
            dpa__star_clamp(&rates, RATE_LOW, RATE_HIGH);
        else if (!inside(seen.fnr) || !inside(seen.fpr))
            continue;
        ++used;
        const double ratio = dpa__star_ratio(&rates, delta, &which);
        /* moved rates are often tied; then report the threshold with the fewest errors */
        const int fewer = ratio == best && clamped && seen.fpr + seen.fnr < out->fpr + out->fnr;
        if (ratio > best || fewer) {
            best = ratio;
            *out = (dpa_star){0, which, threshold, seen.fpr, seen.fnr, clamped};
        }
    }
    out->epsilon = log(best);
    return used;
}

void dpa__star_sweep(const dpa__weighted *train, const dpa__weighted *heldout, double delta,
                     dpa_star *out) {
    if (sweep(train, heldout, delta, 0, out) == 0) (void)sweep(train, heldout, delta, 1, out);
}

dpa_status dpa__star_empirical(const dpa_losses *losses, double delta, dpa_star *out,
                               dpa_error *err) {
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", delta);
    const dpa__weighted train = {losses->train, NULL, losses->train_count,
                                 (double)losses->train_count};
    const dpa__weighted heldout = {losses->heldout, NULL, losses->heldout_count,
                                   (double)losses->heldout_count};
    dpa__star_sweep(&train, &heldout, delta, out);
    return DPA_OK;
}

dpa_status dpa__star_summarise(const double *epsilon, size_t count, dpa_star_summary *out,
                               dpa_error *err) {
    dpa__sum sum = {0, 0};
    *out = (dpa_star_summary){0.0, INFINITY, -INFINITY, 0.0};
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "summary of no model");
    for (size_t i = 0; i < count; ++i) {
        if (isnan(epsilon[i]))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "summary: the value of model %zu is NaN",
                             i + 1);
        dpa__sum_add(&sum, epsilon[i] / (double)count);
        out->lowest = fmin(out->lowest, epsilon[i]);
        out->highest = fmax(out->highest, epsilon[i]);
    }
    out->mean = isinf(out->highest) ? out->highest : dpa__sum_get(&sum);
    out->log_mean_exp =
        isinf(out->highest) ? out->highest : dpa__log_sum(epsilon, count) - log((double)count);
    return DPA_OK;
}
