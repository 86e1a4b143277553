/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RMIA (Zarifzadeh et al. 2024). The ratio of a point is p_target(x) / p(x), p the true label's
 * probability and p(x) its mean over reference models: offline (1+a)/2 · mean over models without x
 * + (1−a)/2, online the mean of both sides' means. The score of a point is the share of population
 * points whose ratio is smaller than its own by more than the factor γ. With augmentations, a
 * point's ratio is the mean of theirs. */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "attack/moments.h"
#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"

static double *usual_new(const dpa_signals *signals, const dpa_attack_opts *opts,
                         const dpa__shadow *shadow, dpa_error *err) {
    const size_t columns = dpa__columns(signals);
    const int is_population = signals->member == NULL;
    double *usual = DPA_NEW_ARRAY(double, columns, err);
    for (size_t c = 0; c < columns && usual != NULL; ++c) {
        const double out = shadow->out.mean[c];
        double mean = 0.5 * (1.0 + opts->a) * out + 0.5 * (1.0 - opts->a);
        /* nobody is a member of the population, so its online p(x) is the mean over all models */
        if (!opts->offline) mean = is_population ? out : 0.5 * (shadow->in.mean[c] + out);
        usual[c] = mean; /* above 0: a probability is at least e^−690 */
    }
    return usual;
}

/* p(x) of each column. */
static dpa_status find_usual(const dpa_signals *signals, const dpa_attack_opts *opts,
                             const dpa__rows *rows, double **out, dpa_error *err) {
    dpa__shadow shadow;
    DPA_TRY(dpa__shadow_new(signals, rows,
                            opts->offline ? DPA__VALUE_PROBABILITY_OUT : DPA__VALUE_PROBABILITY,
                            opts->threads, &shadow, err));
    dpa_status status = dpa__need_side(signals, &shadow.out, 1, "were trained without", err);
    if (status == DPA_OK && !opts->offline && signals->member != NULL)
        status = dpa__need_side(signals, &shadow.in, 1, "were trained on", err);
    if (status == DPA_OK) {
        *out = usual_new(signals, opts, &shadow, err);
        status = *out != NULL ? DPA_OK : DPA_NO_MEMORY;
    }
    dpa__shadow_free(&shadow);
    return status;
}

static dpa_status check(const dpa_signals *signals, const dpa_attack_opts *opts, dpa_error *err) {
    const dpa_signals *population = opts->population;
    if (population == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rmia needs signals of population points");
    if (population->models != signals->models)
        return dpa__fail(err, DPA_BAD_INPUT, "the population has %zu models, the signals %zu",
                         population->models, signals->models);
    if (!(opts->a >= 0 && opts->a <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rmia: a must be 0 to 1, not %g", opts->a);
    if (!(opts->gamma > 0 && isfinite(opts->gamma)))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rmia: gamma must be above 0, not %g", opts->gamma);
    return DPA_OK;
}

dpa_status dpa__rmia_fit(dpa__fit *fit, const dpa__rows *rows, dpa_error *err) {
    DPA_TRY(check(fit->signals, fit->opts, err));
    DPA_TRY(find_usual(fit->opts->population, fit->opts, rows, &fit->usual_population, err));
    return find_usual(fit->signals, fit->opts, rows, &fit->usual, err);
}

/* The ratio of each point; `p` is scratch space for one row. */
static void ratios(const dpa_signals *signals, size_t target, const double *usual, double *p,
                   double *ratio) {
    const size_t columns = dpa__columns(signals), repeat = dpa__augmentations(signals);
    dpa__probabilities(signals->signal + target * columns, columns,
                       signals->kind == DPA_SIGNAL_LOSS, p);
    if (repeat == 1) {
        for (size_t i = 0; i < signals->points; ++i) ratio[i] = p[i] / usual[i];
        return;
    }
    for (size_t i = 0; i < signals->points; ++i) {
        double sum = 0.0;
        for (size_t c = i * repeat; c < (i + 1) * repeat; ++c) sum += p[c] / usual[c];
        ratio[i] = sum / (double)repeat;
    }
}

/* The ratios of the population in the target model, sorted. */
static dpa_status population_new(const dpa__fit *fit, size_t target, double **out, dpa_error *err) {
    const dpa_signals *population = fit->opts->population;
    const size_t columns = dpa__columns(population);
    DPA_TRY(dpa__need_finite(population, target, err));
    double *p = DPA_NEW_ARRAY(double, columns, err);
    double *ratio = DPA_NEW_ARRAY(double, population->points, err);
    dpa_status status = p != NULL && ratio != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        ratios(population, target, fit->usual_population, p, ratio);
        status = dpa__sort_numbers(ratio, population->points, err);
    }
    free(p);
    if (status == DPA_OK)
        *out = ratio;
    else
        free(ratio);
    return status;
}

/* Ratios are exact to about 1e-14: what is nearer than this is a tie, as of points whose
 * probability is 1 in every model, and a tie is not below. */
static const double TIE = 1e-12;

static double limit_of(const dpa__fit *fit, double ratio) {
    return ratio / fit->opts->gamma * (1 - TIE);
}

enum { SEARCHES = 16 };

/* Replaces ratios by the share of the population strictly below their limits. Branch-free, and in
 * step: a search does not wait for the memory of another. */
static void shares_below(const dpa__fit *fit, const double *population, double *ratio,
                         size_t count) {
    const size_t points = fit->opts->population->points;
    double limit[SEARCHES] = {0};
    size_t below[SEARCHES] = {0};
    for (size_t i = 0; i < count; ++i) limit[i] = limit_of(fit, ratio[i]);
    for (size_t left = points; left > 0; left /= 2) {
        const size_t half = left - left / 2;
        for (size_t i = 0; i < SEARCHES; ++i)
            below[i] += half & (0 - (size_t)(population[below[i] + half - 1] < limit[i]));
    }
    for (size_t i = 0; i < count; ++i) ratio[i] = (double)below[i] / (double)points;
}

dpa_status dpa__rmia_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err) {
    const size_t points = fit->signals->points;
    double *population = NULL;
    double *p = DPA_NEW_ARRAY(double, dpa__columns(fit->signals), err);
    if (p == NULL) return DPA_NO_MEMORY;
    const dpa_status status = population_new(fit, target, &population, err);
    if (status == DPA_OK) {
        ratios(fit->signals, target, fit->usual, p, scores);
        for (size_t i = 0; i < points; i += SEARCHES)
            shares_below(fit, population, scores + i,
                         points - i < SEARCHES ? points - i : SEARCHES);
    }
    free(population);
    free(p);
    return status;
}

dpa_status dpa__rmia_score_one(const dpa__fit *fit, size_t target, size_t column, double signal,
                               double *score, dpa_error *err) {
    double *population = NULL, p = 0.0;
    DPA_TRY(population_new(fit, target, &population, err));
    dpa__probabilities(&signal, 1, fit->signals->kind == DPA_SIGNAL_LOSS, &p);
    *score = p / fit->usual[column];
    shares_below(fit, population, score, 1);
    free(population);
    return DPA_OK;
}
