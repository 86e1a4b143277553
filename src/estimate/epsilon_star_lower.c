/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lower bound on the instance's ε (Definition 1) that needs no fit and no choice of threshold.
 *
 * With k of n losses at or below τ, F(τ) ≤ U_(k+1) and F(τ) ≥ U_(k) for the order statistics of n
 * uniform numbers, whatever F is and with ties. Berk–Jones bands bound all of them at once:
 * U_(k) ≥ Beta(k, n−k+1) quantile at γ, and mirrored. So at every threshold together FPR is at
 * most, and TPR at least, its limit, and the largest of (TPR−δ)/FPR and (TNR−δ)/FNR over the limits
 * is a bound, however it was chosen. Any set of thresholds will do: where neighbours differ by less
 * than a thousandth of their rates, some are passed over, so that 10⁷ losses take no longer than
 * 10⁵.
 *
 * When the training losses are those of the whole training set, Definition 1 takes their rates as
 * exact. Beyond the largest of them the rate is then 0 and the ratio infinite as soon as a share
 * above δ of the population lies there, which is so for every finite training set, leak or not. So
 * only thresholds with FEWEST training losses on either side count: a bound on the same ε over
 * fewer thresholds, and finite. */
#include <math.h>

#include "base/error.h"
#include "estimate/berkjones.h"
#include "estimate/epsilon_star.h"
#include "math/dist.h"

static const double FEWEST = 10.0;

typedef struct band {
    double n, gamma;
    int exact; /* the sample is the population */
} band;

/* Limits of a rate after k of n: the mass at or below is at least, or at most, this. */
static double at_least(const band *b, double k) {
    if (b->exact) return k / b->n;
    return k > 0.0 ? dpa__beta_quantile(b->gamma, k, b->n - k + 1.0, DPA_LOWER) : 0.0;
}

static double at_most(const band *b, double k) {
    return k < b->n ? dpa__beta_quantile(b->gamma, k + 1.0, b->n - k, DPA_UPPER) : 1.0;
}

static dpa_status band_init(band *b, size_t n, double p, dpa_error *err) {
    dpa__berkjones_how how;
    *b = (band){(double)n, 0.0, 0};
    return dpa__berkjones_level(n, p, &b->gamma, &how, err);
}

/* 1 if k is far enough from the last threshold examined: a thousandth of the smaller share. */
static int moved(double k, double last, double n) {
    return fabs(k - last) >= fmax(1.0, 1e-3 * fmin(fmin(k, n - k), fmin(last, n - last)));
}

static void consider(const band *train, const band *heldout, double in, double out_in, double delta,
                     double threshold, double *best, dpa_star *out) {
    if (train->exact && (in < FEWEST || train->n - in < FEWEST)) return;
    /* the limits are weaker than the observed rates, so a threshold that cannot win with these
     * cannot win */
    const dpa__rates4 seen = {in / train->n, 1.0 - in / train->n, out_in / heldout->n,
                              1.0 - out_in / heldout->n};
    if (!(dpa__star_ratio_of(&seen, delta, DPA_STAR_TPR_FPR) > *best ||
          dpa__star_ratio_of(&seen, delta, DPA_STAR_TNR_FNR) > *best))
        return;
    const double tpr = at_least(train, in), fpr = at_most(heldout, out_in);
    const dpa__rates4 limits = {tpr, 1.0 - tpr, fpr, 1.0 - fpr};
    for (int i = DPA_STAR_TPR_FPR; i <= DPA_STAR_TNR_FNR; ++i) {
        const double ratio = dpa__star_ratio_of(&limits, delta, (dpa_star_ratio)i);
        if (!(ratio > *best)) continue;
        *best = ratio;
        *out = (dpa_star){log(ratio), (dpa_star_ratio)i, threshold, fpr, 1.0 - tpr, 0};
    }
}

/* For each number of held-out losses the best threshold is just below the next one. */
static void sweep(const dpa_losses *l, const band *train, const band *heldout, double delta,
                  dpa_star *out) {
    size_t in = 0, out_in = 0;
    double best = 1.0, last_in = 0.0, last_out = -1.0;
    while (in < l->train_count) {
        const size_t from = in;
        while (out_in < l->heldout_count && l->heldout[out_in] <= l->train[in]) ++out_in;
        const double stop = out_in < l->heldout_count ? l->heldout[out_in] : HUGE_VAL;
        if (out_in < l->heldout_count)
            while (in < l->train_count && l->train[in] < stop) ++in;
        else
            in = l->train_count;
        /* the last threshold that leaves FEWEST, if this step would pass it */
        const size_t last = l->train_count - (size_t)fmin(FEWEST, train->n);
        if (train->exact && from < last && in > last) {
            const size_t held = dpa__count_upto(l->heldout, l->heldout_count, l->train[last - 1]);
            const size_t upto = dpa__count_upto(l->train, l->train_count, l->train[last - 1]);
            consider(train, heldout, (double)upto, (double)held, delta, l->train[last - 1], &best,
                     out);
        }
        if (!moved((double)in, last_in, train->n) && !moved((double)out_in, last_out, heldout->n))
            continue;
        last_in = (double)in;
        last_out = (double)out_in;
        consider(train, heldout, last_in, last_out, delta, l->train[in - 1], &best, out);
    }
}

dpa_status dpa__star_lower(const dpa_losses *l, double delta, double confidence,
                           int whole_training_set, dpa_star *out, dpa_error *err) {
    band train = {(double)l->train_count, 0.0, 1}, heldout;
    *out = (dpa_star){.threshold = NAN, .fpr = NAN, .fnr = NAN};
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", delta);
    if (!(confidence > 0.0 && confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: %g is not in (0, 1)", confidence);
    const double p = whole_training_set ? 1.0 - confidence : 0.5 * (1.0 - confidence);
    if (!whole_training_set) DPA_TRY(band_init(&train, l->train_count, p, err));
    DPA_TRY(band_init(&heldout, l->heldout_count, p, err));
    sweep(l, &train, &heldout, delta, out);
    return DPA_OK;
}
