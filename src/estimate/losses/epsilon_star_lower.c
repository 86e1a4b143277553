/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds: on the instance's ε (Definition 1), without a fit or a choice of threshold; on the
 * mechanism's, from several models.
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
#include <string.h>

#include "base/error.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/rates/berkjones.h"
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

/* ── several retrained models: a bound on the mechanism ────────────────────────────────────── */

/* Epsilon-star, Eq. 19 and Theorem 4.
 *
 * The rule: "in" when the loss is below H_(k), the k-th smallest of m held-out losses of the same
 * model. For a point x outside of the training set, drawn like the held-out ones, "below the k-th
 * smallest of the others" is "among the k smallest of m", so its probability is at most k/m,
 * whatever the losses, with ties too. A training point and a held-out point may be exchanged, which
 * is what neighbours that replace a record differ in; so with S the share of training losses below
 * H_(k), averaged over training sets and runs,
 *     E S ≤ e^ε·k/m + δ   and   1 − k/m ≤ e^ε·(1 − E S) + δ
 * for every (ε,δ)-DP mechanism. (Leaving the held-out point that is exchanged out of the quantile
 * can only raise the threshold, so S is on the safe side.) One model gives one S; models are
 * independent, so Pr[S ≥ least of J] ≥ p^(1/J) with confidence 1−p, and E S ≥ s·Pr[S ≥ s].
 * The same with the sides exchanged: "out" when the loss is above the k-th largest of n training
 * losses, S the share of held-out losses above it. A model that has learned its training points by
 * heart shows there: no training loss is large. A held-out point y is above the k-th largest of the
 * training losses without x whenever it is above that of all; where y was trained on in x's place,
 * that is "among the k largest of n".
 * Neighbours that add or remove a record are two steps from those that replace one: (ε,δ) there is
 * (2ε, (1+e^ε)δ) here. */

static const double RATES[] = {0.001, 0.01, 0.1};
enum { RATE_COUNT = sizeof RATES / sizeof RATES[0] };

/* The smallest ε with a ≤ e^ε·b + δ. */
static double replace_one(double a, double b, double delta) {
    return a - delta > b ? log((a - delta) / b) : 0.0;
}

/* The smallest ε with a ≤ e^2ε·b + (1+e^ε)·δ: a quadratic in e^ε. */
static double add_remove(double a, double b, double delta) {
    const double root = sqrt(delta * delta + 4.0 * b * fmax(a - delta, 0.0));
    const double y = (root - delta) / (2.0 * b);
    return y > 1.0 ? log(y) : 0.0;
}

/* Which rule: small losses mean "in", or large ones "out". */
typedef enum rule { SMALL_IN, LARGE_OUT } rule;

typedef struct shares {
    double mean, least, limit; /* of S; `limit` is the largest k/m */
} shares;

static size_t own_count(const dpa_losses *l, rule which) {
    return which == SMALL_IN ? l->heldout_count : l->train_count;
}

static double share_of(const dpa_losses *l, rule which, size_t k) {
    if (which == LARGE_OUT) {
        const double limit = l->train[l->train_count - k];
        return 1.0 - (double)dpa__count_upto(l->heldout, l->heldout_count, limit) /
                         (double)l->heldout_count;
    }
    const double limit = nextafter(l->heldout[k - 1], -HUGE_VAL); /* strictly below */
    return (double)dpa__count_upto(l->train, l->train_count, limit) / (double)l->train_count;
}

static shares at_rate(const dpa_losses *models, size_t count, rule which, double t) {
    shares out = {0.0, 1.0, 0.0};
    for (size_t i = 0; i < count; ++i) {
        const double own = (double)own_count(&models[i], which);
        const size_t k = (size_t)(t * own * (1.0 + 1e-12));
        const double share = share_of(&models[i], which, k);
        out.mean += share / (double)count;
        out.least = fmin(out.least, share);
        out.limit = fmax(out.limit, (double)k / own);
    }
    return out;
}

static void use_rate(const shares *s, rule which, double kept, double delta, dpa_averaged *out) {
    const double low = kept * s->least;
    const double pair[2][2] = {{low, s->limit}, {1.0 - s->limit, 1.0 - low}};
    const double mean[2][2] = {{s->mean, s->limit}, {1.0 - s->limit, 1.0 - s->mean}};
    for (int i = 0; i < 2; ++i) {
        out->epsilon = fmax(out->epsilon, replace_one(mean[i][0], mean[i][1], delta));
        out->epsilon_add_remove =
            fmax(out->epsilon_add_remove, add_remove(pair[i][0], pair[i][1], delta));
        const double bound = replace_one(pair[i][0], pair[i][1], delta);
        if (!(bound > out->epsilon_replace_one)) continue;
        out->epsilon_replace_one = bound;
        out->fpr = which == SMALL_IN ? s->limit : 1.0 - s->mean;
        out->tpr = which == SMALL_IN ? s->mean : 1.0 - s->limit;
        out->tpr_lower = which == SMALL_IN ? low : out->tpr;
        out->ratio = (i == 0) == (which == SMALL_IN) ? DPA_STAR_TPR_FPR : DPA_STAR_TNR_FNR;
    }
}

/* Goes over the rates t for which every model has a loss: counts them or, with `out`, evaluates
 * them. */
static size_t all_rates(const dpa_losses *models, size_t count, double kept, double delta,
                        dpa_averaged *out) {
    size_t rates = 0;
    for (int i = 0; i < 2 * RATE_COUNT; ++i) {
        const rule which = i < RATE_COUNT ? SMALL_IN : LARGE_OUT;
        const double t = RATES[i % RATE_COUNT];
        double fewest = INFINITY;
        for (size_t m = 0; m < count; ++m)
            fewest = fmin(fewest, (double)own_count(&models[m], which));
        if (t * fewest < 1.0) continue;
        ++rates;
        if (out == NULL) continue;
        const shares s = at_rate(models, count, which, t);
        use_rate(&s, which, kept, delta, out);
    }
    return rates;
}

static int same(const double *a, size_t n, const double *b, size_t m) {
    return n == m && memcmp(a, b, n * sizeof *a) == 0;
}

/* Fails if a file was given twice: copies of one model would count as independent ones. */
static dpa_status check_copies(const dpa_losses *models, size_t count, dpa_error *err) {
    for (size_t i = 1; i < count; ++i)
        for (size_t j = 0; j < i; ++j) {
            const dpa_losses *a = &models[j], *b = &models[i];
            if (same(a->train, a->train_count, b->train, b->train_count) &&
                same(a->heldout, a->heldout_count, b->heldout, b->heldout_count))
                return dpa__fail(err, DPA_BAD_INPUT,
                                 "models %zu and %zu have the same losses: a bound on the "
                                 "mechanism needs models that were each trained on their own "
                                 "random draw of the data",
                                 j + 1, i + 1);
        }
    return DPA_OK;
}

dpa_status dpa__star_mechanism(const dpa_losses *models, size_t count, double delta,
                               double confidence, dpa_averaged *out, dpa_error *err) {
    *out = (dpa_averaged){.fpr = NAN, .tpr = NAN, .tpr_lower = NAN};
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", delta);
    if (!(confidence > 0.0 && confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: %g is not in (0, 1)", confidence);
    if (count < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "a bound on the mechanism needs at least two models, each trained on its "
                         "own random draw of the data");
    DPA_TRY(check_copies(models, count, err));
    const size_t rates = all_rates(models, count, 0.0, delta, NULL);
    if (rates == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "a bound on the mechanism needs at least 10 losses of a side a model");
    const double kept = pow((1.0 - confidence) / (double)rates, 1.0 / (double)count);
    (void)all_rates(models, count, kept, delta, out);
    return DPA_OK;
}
