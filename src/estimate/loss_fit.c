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
#include "estimate/epsilon_star.h"
#include "math/logspace.h"

double dpa_loss_transform(double loss, double low, double high) {
    if (isnan(loss)) return NAN;
    const double kept = fmin(fmax(loss, low), high);
    /* halves, so that high − low cannot overflow */
    return -log(expm1(1.0 + (0.5 * kept - 0.5 * low) / (0.5 * high - 0.5 * low)));
}

double dpa_loss_untransform(double phi, double low, double high) {
    const double share = dpa__log1p_exp(-phi) - 1.0;
    return (1.0 - share) * low + share * high;
}

/* The extreme finite losses of a sorted sample widen [low, high]. */
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
    for (size_t i = 0; i < count; ++i) phi[i] = dpa_loss_transform(loss[i], low, high);
    return phi;
}

dpa_status dpa__phi_new(const dpa_losses *l, dpa__phi *out, dpa_error *err) {
    *out = (dpa__phi){INFINITY, -INFINITY, NULL, NULL};
    widen(l->train, l->train_count, &out->low, &out->high);
    widen(l->heldout, l->heldout_count, &out->low, &out->high);
    if (!(out->low < out->high))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "all finite losses are equal: there is no distribution to fit");
    out->train = transformed(l->train, l->train_count, out->low, out->high, err);
    if (out->train != NULL)
        out->heldout = transformed(l->heldout, l->heldout_count, out->low, out->high, err);
    if (out->heldout != NULL) return DPA_OK;
    dpa__phi_free(out);
    return DPA_NO_MEMORY;
}

void dpa__phi_free(dpa__phi *phi) {
    free(phi->train);
    free(phi->heldout);
    *phi = (dpa__phi){0};
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

dpa_status dpa_fit_normal(const dpa_losses *l, dpa_loss_fit *out, dpa_error *err) {
    dpa__phi phi;
    DPA_TRY(dpa__phi_new(l, &phi, err));
    const dpa__weighted train = {phi.train, NULL, l->train_count, (double)l->train_count};
    const dpa__weighted heldout = {phi.heldout, NULL, l->heldout_count, (double)l->heldout_count};
    *out = (dpa_loss_fit){.low = phi.low, .high = phi.high};
    dpa_status status = dpa__normal_fit(&train, "training", &out->train, err);
    if (status == DPA_OK) status = dpa__normal_fit(&heldout, "held-out", &out->heldout, err);
    dpa__phi_free(&phi);
    return status;
}
