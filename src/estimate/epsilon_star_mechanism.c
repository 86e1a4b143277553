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
 * The same with the sides exchanged: "out" when the loss is above the k-th largest of n training
 * losses, S the share of held-out losses above it. A model that has learned its training points by
 * heart shows there: no training loss is large. A held-out point y is above the k-th largest of the
 * training losses without x whenever it is above that of all; where y was trained on in x's place,
 * that is "among the k largest of n".
 * Neighbours that add or remove a record are two steps from those that replace one: (ε,δ) there is
 * (2ε, (1+e^ε)δ) here. */
#include <math.h>
#include <string.h>

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

static void consider(const shares *s, rule which, double kept, double delta, dpa_averaged *out) {
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
        consider(&s, which, kept, delta, out);
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
