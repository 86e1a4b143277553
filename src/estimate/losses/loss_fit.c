/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transform of Appendix B and the Gaussian fit on its scale.
 *
 * Steps 1–4 there (min–max to [0,1], +1, exp of the negative, logit) are one strictly falling map:
 * with x = 1 + (loss − low)/(high − low), logit(e^−x) = −log(e^x − 1). As x stays in [1,2], e^−x
 * never meets 0 or 1 and neither end needs care. The inverse is x = log(1 + e^−φ). */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/losses/epsilon_star.h"
#include "math/logspace.h"

/* The share of the pooled losses that the robust transform moves to each end. */
static const double OUTSIDE = 0.001;

double dpa__loss_transform(double loss, double low, double high) {
    if (isnan(loss)) return NAN;
    const double kept = fmin(fmax(loss, low), high);
    /* halves, so that high − low cannot overflow */
    return -log(expm1(1.0 + (0.5 * kept - 0.5 * low) / (0.5 * high - 0.5 * low)));
}

double dpa__loss_untransform(double phi, double low, double high) {
    const double share = dpa__log1p_exp(-phi) - 1.0;
    return (1.0 - share) * low + share * high;
}

/* Widens [low, high] to the extreme finite losses of a sorted sample. */
static void widen(const double *sorted, size_t count, double *low, double *high) {
    for (size_t i = 0; i < count; ++i)
        if (isfinite(sorted[i])) {
            *low = fmin(*low, sorted[i]);
            break;
        }
    for (size_t i = count; i-- > 0;)
        if (isfinite(sorted[i])) {
            *high = fmax(*high, sorted[i]);
            break;
        }
}

static double *transformed(const double *loss, size_t count, double low, double high,
                           dpa_error *err) {
    double *phi = DPA_NEW_ARRAY(double, count, err);
    if (phi == NULL) return NULL;
    for (size_t i = 0; i < count; ++i) phi[i] = dpa__loss_transform(loss[i], low, high);
    return phi;
}

dpa_status dpa__phi_between(const dpa_losses *l, double low, double high, dpa__phi *out,
                            dpa_error *err) {
    *out = (dpa__phi){low, high, NULL, NULL};
    out->train = transformed(l->train, l->train_count, low, high, err);
    if (out->train != NULL)
        out->heldout = transformed(l->heldout, l->heldout_count, low, high, err);
    if (out->heldout != NULL) return DPA_OK;
    dpa__phi_free(out);
    return DPA_NO_MEMORY;
}

/* The loss with `share` of the pooled losses below it, by bisection over both sorted samples. */
static double pooled_quantile(const dpa_losses *l, double share) {
    const double wanted = share * ((double)l->train_count + (double)l->heldout_count);
    const double a = l->train[(size_t)(share * ((double)l->train_count - 1.0))];
    const double b = l->heldout[(size_t)(share * ((double)l->heldout_count - 1.0))];
    double low = fmin(a, b), high = fmax(a, b); /* the pooled quantile lies between them */
    for (int i = 0; i < 200 && low < high; ++i) {
        const double middle = 0.5 * low + 0.5 * high;
        if (!(middle > low && middle < high)) break;
        if ((double)(dpa__count_upto(l->train, l->train_count, middle) +
                     dpa__count_upto(l->heldout, l->heldout_count, middle)) < wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

dpa_status dpa__phi_new(const dpa_losses *l, dpa_transform transform, dpa__phi *out,
                        dpa_error *err) {
    double low = INFINITY, high = -INFINITY;
    widen(l->train, l->train_count, &low, &high);
    widen(l->heldout, l->heldout_count, &low, &high);
    if (transform == DPA_TRANSFORM_QUANTILE) {
        low = fmax(low, pooled_quantile(l, OUTSIDE));
        high = fmin(high, pooled_quantile(l, 1.0 - OUTSIDE));
    }
    if (!(low < high))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "all finite losses are equal: there is no distribution to fit");
    return dpa__phi_between(l, low, high, out, err);
}

size_t dpa__count_upto(const double *sorted, size_t count, double threshold) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= threshold)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void dpa__phi_free(dpa__phi *phi) {
    free(phi->train);
    free(phi->heldout);
    *phi = (dpa__phi){0};
}

dpa_status dpa__point_groups_new(const double *sorted, size_t count, double grain,
                                 dpa__point_groups *out, dpa_error *err) {
    *out = (dpa__point_groups){.total = (double)count};
    out->value = DPA_NEW_ARRAY(double, count, err);
    out->weight = DPA_NEW_ARRAY(uint32_t, count, err);
    if (out->value == NULL || out->weight == NULL) {
        dpa__point_groups_free(out);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0, next; i < count; i = next) {
        double sum = 0.0;
        for (next = i; next < count && fabs(sorted[next] - sorted[i]) <= grain; ++next)
            sum += sorted[next] - sorted[i];
        out->value[out->count] = sorted[i] + sum / (double)(next - i);
        out->weight[out->count++] = (uint32_t)(next - i);
    }
    return DPA_OK;
}

void dpa__point_groups_free(dpa__point_groups *groups) {
    free(groups->value);
    free(groups->weight);
    *groups = (dpa__point_groups){0};
}

dpa__weighted dpa__point_groups_sample(const dpa__point_groups *groups) {
    return (dpa__weighted){groups->value, groups->weight, groups->count, groups->total};
}

double dpa__grain(const double *sorted, size_t count) {
    const dpa__weighted sample = {sorted, NULL, count, (double)count};
    dpa_mixture fit;
    if (count <= DPA__EXACT || dpa__normal_fit(&sample, "given", &fit, NULL) != DPA_OK) return 0.0;
    return 0.005 * fit.deviation[0];
}

dpa_status dpa__normal_fit(const dpa__weighted *s, const char *what, dpa_mixture *out,
                           dpa_error *err) {
    dpa__sum sum = {0, 0}, square = {0, 0};
    for (size_t i = 0; i < s->count; ++i)
        dpa__sum_add(&sum, (s->weight != NULL ? (double)s->weight[i] : 1.0) * s->value[i]);
    const double mean = dpa__sum_get(&sum) / s->total;
    for (size_t i = 0; i < s->count; ++i) {
        const double d = s->value[i] - mean;
        dpa__sum_add(&square, (s->weight != NULL ? (double)s->weight[i] : 1.0) * d * d);
    }
    const double deviation = sqrt(dpa__sum_get(&square) / s->total);
    if (!(deviation > DPA__NO_SPREAD))
        return dpa__fail(err, DPA_BAD_INPUT, "the %s losses do not vary: no distribution to fit",
                         what);
    *out = (dpa_mixture){
        .count = 1, .weight = {1.0}, .mean = {mean}, .deviation = {deviation}, .converged = 1};
    out->log_likelihood = -s->total * (log(deviation) + 0.5 * log(2.0 * M_PI) + 0.5);
    out->bic = -2.0 * out->log_likelihood + 2.0 * log(s->total);
    return DPA_OK;
}

dpa_status dpa__fit_normal(const dpa_losses *l, dpa_transform transform, dpa_loss_fit *out,
                           dpa_error *err) {
    dpa__phi phi;
    DPA_TRY(dpa__phi_new(l, transform, &phi, err));
    const dpa__weighted train = {phi.train, NULL, l->train_count, (double)l->train_count};
    const dpa__weighted heldout = {phi.heldout, NULL, l->heldout_count, (double)l->heldout_count};
    *out = (dpa_loss_fit){.low = phi.low, .high = phi.high};
    dpa_status status = dpa__normal_fit(&train, "training", &out->train, err);
    if (status == DPA_OK) status = dpa__normal_fit(&heldout, "held-out", &out->heldout, err);
    dpa__phi_free(&phi);
    return status;
}
