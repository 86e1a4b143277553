/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LiRA (Carlini et al. 2022; bayesian-estimation, section 4). Online: log N(t; in) − log N(t; out)
 * with mean and standard deviation (divided by n) of the shadow models with and without the point.
 * Offline: how far t stands above the models without it, in standard deviations; a monotone
 * function of the one-sided likelihood. A deviation of zero (all models agree to the last bit) is
 * replaced by a tiny one, so that scores stay finite and keep their order. */
#include <math.h>

#include "attack/attack.h"
#include "base/error.h"

enum { MODELS_FOR_OWN_VARIANCE = 64 };

static double log_density(double x, double mean, double variance) {
    const double z2 = (x - mean) * (x - mean) / variance;
    return -0.5 * (z2 + log(variance));
}

static double floored(double variance, double mean) {
    const double tiny = 1e-12 * (1.0 + fabs(mean));
    return fmax(variance, tiny * tiny);
}

static double pooled(const dpa__side *side, size_t points) {
    double sum = 0;
    for (size_t p = 0; p < points; ++p) sum += side->variance[p];
    return sum / (double)points;
}

static int use_own(const dpa__side *side, size_t points, dpa_variance choice) {
    if (choice != DPA_VARIANCE_AUTO) return choice == DPA_VARIANCE_POINT;
    for (size_t p = 0; p < points; ++p)
        if (side->count[p] < MODELS_FOR_OWN_VARIANCE) return 0;
    return 1;
}

/* Writes the variance to use over the one measured. */
static void settle(dpa__side *side, size_t points, dpa_variance choice) {
    const int own = use_own(side, points, choice);
    const double common = own ? 0.0 : pooled(side, points);
    for (size_t p = 0; p < points; ++p)
        side->variance[p] = floored(own ? side->variance[p] : common, side->mean[p]);
}

static dpa_status score(const dpa_signals *signals, const dpa_attack_opts *opts,
                        dpa__shadow *shadow, double *scores, dpa_error *err) {
    const size_t n = signals->points;
    const double *target = signals->signal + opts->target * n;
    const double sign = dpa__signal_sign(signals);
    DPA_TRY(dpa__need_side(&shadow->out, n, 2, "were trained without", err));
    settle(&shadow->out, n, opts->variance);
    if (!opts->offline) {
        DPA_TRY(dpa__need_side(&shadow->in, n, 2, "were trained on", err));
        settle(&shadow->in, n, opts->variance);
    }
    for (size_t p = 0; p < n; ++p) {
        const double t = sign * target[p];
        if (opts->offline)
            scores[p] = (t - shadow->out.mean[p]) / sqrt(shadow->out.variance[p]);
        else
            scores[p] = log_density(t, shadow->in.mean[p], shadow->in.variance[p]) -
                        log_density(t, shadow->out.mean[p], shadow->out.variance[p]);
    }
    return DPA_OK;
}

dpa_status dpa__lira(const dpa_signals *signals, const dpa_attack_opts *opts, double *scores,
                     dpa_error *err) {
    dpa__shadow shadow;
    DPA_TRY(dpa__shadow_new(signals, opts, NULL, &shadow, err));
    const dpa_status status = score(signals, opts, &shadow, scores, err);
    dpa__shadow_free(&shadow);
    return status;
}
