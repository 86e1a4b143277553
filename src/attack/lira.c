/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LiRA (Carlini et al. 2022; bayesian-estimation, section 4). Online: log N(t; in) − log N(t; out)
 * with mean and standard deviation (divided by n) of the shadow models with and without the point.
 * Offline: how far t stands above the models without it, in standard deviations; a monotone
 * function of the one-sided likelihood. With augmentations, each has its own normals and the score
 * is the mean over them. A deviation of zero (all models agree to the last bit) is replaced by a
 * tiny one, so that scores stay finite and keep their order. */
#include <math.h>

#include "attack/attack.h"
#include "base/error.h"

enum { MODELS_FOR_OWN_VARIANCE = 64 };

static double floored(double variance, double mean) {
    const double tiny = 1e-12 * (1.0 + fabs(mean));
    return variance > tiny * tiny ? variance : tiny * tiny;
}

static double pooled(const dpa__side *side, size_t columns) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += side->variance[c] > 0.0 ? side->variance[c] : 0.0;
    return sum / (double)columns;
}

static int use_own(const dpa__side *side, size_t columns, dpa_variance choice) {
    if (choice != DPA_VARIANCE_AUTO) return choice == DPA_VARIANCE_POINT;
    for (size_t c = 0; c < columns; ++c)
        if (side->count[c] < MODELS_FOR_OWN_VARIANCE) return 0;
    return 1;
}

/* Replaces the measured variances by those to be used. */
static void settle(dpa__side *side, size_t columns, dpa_variance choice) {
    const int own = use_own(side, columns, choice);
    const double common = own ? 0.0 : pooled(side, columns);
    for (size_t c = 0; c < columns; ++c)
        side->variance[c] = floored(own ? side->variance[c] : common, side->mean[c]);
}

dpa_status dpa__lira_fit(dpa__fit *fit, const dpa__rows *rows, dpa_error *err) {
    const dpa_signals *signals = fit->signals;
    const dpa_attack_opts *opts = fit->opts;
    const size_t columns = dpa__columns(signals);
    dpa__shadow *shadow = &fit->shadow;
    DPA_TRY(dpa__shadow_new(signals, rows, DPA__VALUE_SIGNAL, opts->threads, shadow, err));
    DPA_TRY(dpa__need_side(signals, &shadow->out, 2, "were trained without", err));
    settle(&shadow->out, columns, opts->variance);
    if (opts->offline) return DPA_OK;
    DPA_TRY(dpa__need_side(signals, &shadow->in, 2, "were trained on", err));
    settle(&shadow->in, columns, opts->variance);
    return DPA_OK;
}

static double squared_distance(const dpa__side *side, size_t c, double t) {
    return (t - side->mean[c]) * (t - side->mean[c]) / side->variance[c];
}

double dpa__lira_score_one(const dpa__fit *fit, size_t c, double signal) {
    const dpa__side *in = &fit->shadow.in, *out = &fit->shadow.out;
    const double t = dpa__signal_sign(fit->signals) * signal;
    if (fit->opts->offline) return (t - out->mean[c]) / sqrt(out->variance[c]);
    const double distances = squared_distance(out, c, t) - squared_distance(in, c, t);
    return 0.5 * (distances + log(out->variance[c] / in->variance[c]));
}

void dpa__lira_score(const dpa__fit *fit, size_t target, double *scores) {
    const dpa_signals *signals = fit->signals;
    const size_t repeat = dpa__augmentations(signals);
    const double *x = signals->signal + target * dpa__columns(signals);
    for (size_t p = 0; p < signals->points; ++p) {
        double sum = 0.0;
        for (size_t c = p * repeat; c < (p + 1) * repeat; ++c)
            sum += dpa__lira_score_one(fit, c, x[c]);
        scores[p] = sum / (double)repeat;
    }
}
