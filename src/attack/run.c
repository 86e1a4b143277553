/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry to all attacks, and the two simplest ones. */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "base/error.h"

void dpa__attack_opts_init(dpa_attack_opts *opts) {
    *opts =
        (dpa_attack_opts){.a = 0.3, .gamma = 1.0, .quantile = {.level = 0.9, .ridge = (double)NAN}};
}

/* Loss threshold: the signal. Calibrated: the signal minus its mean over models without the point.
 * Both averaged over augmentations. */
static void score_plainly(const dpa__fit *fit, size_t target, double *scores) {
    const dpa_signals *s = fit->signals;
    const size_t repeat = dpa__augmentations(s);
    const double *x = s->signal + target * dpa__columns(s);
    const double *usual = fit->shadow.out.mean, sign = dpa__signal_sign(s);
    for (size_t p = 0; p < s->points; ++p) {
        double sum = 0.0;
        for (size_t c = p * repeat; c < (p + 1) * repeat; ++c)
            sum += sign * x[c] - (usual != NULL ? usual[c] : 0.0);
        scores[p] = sum / (double)repeat;
    }
}

static dpa_status fit_calibrated(dpa__fit *fit, const dpa__rows *rows, dpa_error *err) {
    DPA_TRY(dpa__shadow_new(fit->signals, rows, DPA__VALUE_SIGNAL, fit->opts->threads, &fit->shadow,
                            err));
    return dpa__need_side(fit->signals, &fit->shadow.out, 1, "were trained without", err);
}

static dpa_status fit_to(dpa__fit *fit, const dpa__rows *rows, dpa_error *err) {
    switch (fit->attack) {
    case DPA_ATTACK_LOSS:
        return DPA_OK;
    case DPA_ATTACK_CALIBRATED:
        return fit_calibrated(fit, rows, err);
    case DPA_ATTACK_LIRA:
        return dpa__lira_fit(fit, rows, err);
    case DPA_ATTACK_RMIA:
        return dpa__rmia_fit(fit, rows, err);
    case DPA_ATTACK_QUANTILE:
        return dpa__quantile_fit(fit, err);
    }
    return dpa__fail(err, DPA_BAD_ARGUMENT, "there is no attack %d", (int)fit->attack);
}

dpa_status dpa__fit_new(dpa_attack attack, const dpa_signals *signals, const dpa_attack_opts *opts,
                        const dpa__rows *rows, dpa__fit *out, dpa_error *err) {
    *out = (dpa__fit){.attack = attack, .signals = signals, .opts = opts};
    const dpa_status status = fit_to(out, rows, err);
    if (status != DPA_OK) dpa__fit_free(out);
    return status;
}

dpa_status dpa__fit_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err) {
    DPA_TRY(dpa__need_finite(fit->signals, target, err));
    if (fit->attack == DPA_ATTACK_RMIA) return dpa__rmia_score(fit, target, scores, err);
    if (fit->attack == DPA_ATTACK_QUANTILE) return dpa__quantile_score(fit, target, scores, err);
    if (fit->attack == DPA_ATTACK_LIRA)
        dpa__lira_score(fit, target, scores);
    else
        score_plainly(fit, target, scores);
    return DPA_OK;
}

dpa_status dpa__fit_score_one(const dpa__fit *fit, size_t target, size_t point, double signal,
                              double *score, dpa_error *err) {
    const double *usual = fit->shadow.out.mean;
    if (fit->attack == DPA_ATTACK_RMIA)
        return dpa__rmia_score_one(fit, target, point, signal, score, err);
    if (fit->attack == DPA_ATTACK_QUANTILE)
        return dpa__quantile_score_one(fit, target, point, signal, score, err);
    if (fit->attack == DPA_ATTACK_LIRA)
        *score = dpa__lira_score_one(fit, point, signal);
    else
        *score = dpa__signal_sign(fit->signals) * signal - (usual != NULL ? usual[point] : 0.0);
    return DPA_OK;
}

void dpa__fit_free(dpa__fit *fit) {
    dpa__shadow_free(&fit->shadow);
    free(fit->usual);
    free(fit->usual_population);
    fit->usual = fit->usual_population = NULL;
    dpa__quantile_free(fit);
}

static dpa_status check(const dpa_signals *signals, const dpa_attack_opts *opts, dpa_error *err) {
    if (signals->models == 0 || signals->points == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "signals: there are none");
    if (opts->target >= signals->models)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "target: there is no model %zu, the last is %zu",
                         opts->target, signals->models - 1);
    return dpa__need_finite(signals, opts->target, err);
}

dpa_status dpa__attack_run(dpa_attack attack, const dpa_signals *signals,
                           const dpa_attack_opts *opts, double *scores, dpa_error *err) {
    dpa__rows rows;
    dpa__fit fit;
    DPA_TRY(check(signals, opts, err));
    DPA_TRY(dpa__rows_used(signals, opts, &rows, err));
    dpa_status status = dpa__fit_new(attack, signals, opts, &rows, &fit, err);
    if (status == DPA_OK) {
        status = dpa__fit_score(&fit, opts->target, scores, err);
        dpa__fit_free(&fit);
    }
    free(rows.row);
    return status;
}
