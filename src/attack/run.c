/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way into the attacks, and the two that fit on a line. */
#include "attack/attack.h"
#include "base/error.h"

void dpa_attack_opts_init(dpa_attack_opts *opts) {
    *opts = (dpa_attack_opts){.a = 0.3, .gamma = 1.0};
}

static void loss(const dpa_signals *signals, const dpa_attack_opts *opts, double *scores) {
    const double *target = signals->signal + opts->target * signals->points;
    const double sign = dpa__signal_sign(signals);
    for (size_t p = 0; p < signals->points; ++p) scores[p] = sign * target[p];
}

static dpa_status calibrated(const dpa_signals *signals, const dpa_attack_opts *opts,
                             double *scores, dpa_error *err) {
    dpa__shadow shadow;
    DPA_TRY(dpa__shadow_new(signals, opts, NULL, &shadow, err));
    const dpa_status status =
        dpa__need_side(&shadow.out, signals->points, 1, "were trained without", err);
    loss(signals, opts, scores);
    for (size_t p = 0; p < signals->points; ++p) scores[p] -= shadow.out.mean[p];
    dpa__shadow_free(&shadow);
    return status;
}

static dpa_status check(const dpa_signals *signals, const dpa_attack_opts *opts, dpa_error *err) {
    if (opts->target >= signals->models)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "target: there is no model %zu, the last is %zu",
                         opts->target, signals->models - 1);
    for (size_t i = 0; i < opts->exclude_count; ++i)
        if (opts->exclude[i] >= signals->models)
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "exclude: there is no model %zu, the last is %zu", opts->exclude[i],
                             signals->models - 1);
    return DPA_OK;
}

dpa_status dpa_attack_run(dpa_attack attack, const dpa_signals *signals,
                          const dpa_attack_opts *opts, double *scores, dpa_error *err) {
    DPA_TRY(check(signals, opts, err));
    switch (attack) {
    case DPA_ATTACK_LOSS:
        loss(signals, opts, scores);
        return DPA_OK;
    case DPA_ATTACK_CALIBRATED:
        return calibrated(signals, opts, scores, err);
    case DPA_ATTACK_LIRA:
        return dpa__lira(signals, opts, scores, err);
    case DPA_ATTACK_RMIA:
        return dpa__rmia(signals, opts, scores, err);
    }
    return dpa__fail(err, DPA_BAD_ARGUMENT, "there is no attack %d", (int)attack);
}
