/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound on the mechanism from several retrained models (epsilon-star, Eq. 19 and Theorem 4).
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
 * Neighbours that add or remove a record are two steps from those that replace one: (ε,δ) there is
 * (2ε, (1+e^ε)δ) here. */
#include <math.h>
#include <stdint.h>

#include "base/error.h"
#include "estimate/epsilon_star.h"

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

/* How many losses are below the limit. */
static size_t below(const double *sorted, size_t count, double limit) {
    return dpa__count_upto(sorted, count, nextafter(limit, -HUGE_VAL));
}

typedef struct shares {
    double mean, least, fpr; /* of training losses below; fpr: the largest k/m */
} shares;

static shares at_rate(const dpa_losses *models, size_t count, double t) {
    shares out = {0.0, 1.0, 0.0};
    for (size_t i = 0; i < count; ++i) {
        const dpa_losses *l = &models[i];
        const size_t k = (size_t)(t * (double)l->heldout_count * (1.0 + 1e-12));
        const double share =
            (double)below(l->train, l->train_count, l->heldout[k - 1]) / (double)l->train_count;
        out.mean += share / (double)count;
        out.least = fmin(out.least, share);
        out.fpr = fmax(out.fpr, (double)k / (double)l->heldout_count);
    }
    return out;
}

static void consider(const shares *s, double kept, double delta, dpa_averaged *out) {
    const double low = kept * s->least;
    const double pair[2][2] = {{low, s->fpr}, {1.0 - s->fpr, 1.0 - low}};
    const double mean[2][2] = {{s->mean, s->fpr}, {1.0 - s->fpr, 1.0 - s->mean}};
    for (int i = 0; i < 2; ++i) {
        out->epsilon = fmax(out->epsilon, replace_one(mean[i][0], mean[i][1], delta));
        out->epsilon_add_remove =
            fmax(out->epsilon_add_remove, add_remove(pair[i][0], pair[i][1], delta));
        const double bound = replace_one(pair[i][0], pair[i][1], delta);
        if (!(bound > out->epsilon_replace_one)) continue;
        out->epsilon_replace_one = bound;
        out->fpr = s->fpr;
        out->tpr = s->mean;
        out->tpr_lower = low;
        out->ratio = i ? DPA_STAR_TNR_FNR : DPA_STAR_TPR_FPR;
    }
}

dpa_status dpa_star_mechanism(const dpa_losses *models, size_t count, double delta,
                              double confidence, dpa_averaged *out, dpa_error *err) {
    size_t fewest = SIZE_MAX, rates = 0;
    *out = (dpa_averaged){.fpr = NAN, .tpr = NAN, .tpr_lower = NAN};
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", delta);
    if (!(confidence > 0.0 && confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: %g is not in (0, 1)", confidence);
    if (count < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "a bound on the mechanism needs at least two models, each trained on its "
                         "own random draw of the data");
    for (size_t i = 0; i < count; ++i)
        if (models[i].heldout_count < fewest) fewest = models[i].heldout_count;
    for (int i = 0; i < RATE_COUNT; ++i) rates += RATES[i] * (double)fewest >= 1.0;
    if (rates == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "a bound on the mechanism needs at least 10 held-out losses a model");
    const double kept = pow((1.0 - confidence) / (double)rates, 1.0 / (double)count);
    for (int i = 0; i < RATE_COUNT; ++i) {
        if (RATES[i] * (double)fewest < 1.0) continue;
        const shares s = at_rate(models, count, RATES[i]);
        consider(&s, kept, delta, out);
    }
    return DPA_OK;
}
