/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RMIA (Zarifzadeh et al. 2024). The ratio of a point is p_target(x) / p(x), p the true label's
 * probability and p(x) its mean over reference models: offline (1+a)/2 · mean over models without x
 * + (1−a)/2, online the mean of both sides' means. The score of a point is the share of population
 * points whose ratio is smaller than its own by more than the factor γ. */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"

static double p_of_logit(double logit) {
    return 1.0 / (1.0 + exp(-logit));
}

static double p_of_loss(double loss) {
    return exp(-loss);
}

static dpa__transform probability(const dpa_signals *signals) {
    return signals->kind == DPA_SIGNAL_LOSS ? p_of_loss : p_of_logit;
}

/* Nobody is a member of the population, so there both readings of p(x) are the mean over all
 * models. */
static dpa_status ratios(const dpa_signals *signals, const dpa_attack_opts *opts, double *ratio,
                         dpa_error *err) {
    const size_t n = signals->points;
    const dpa__transform p_of = probability(signals);
    const double *target = signals->signal + opts->target * n;
    const int online = !opts->offline && signals->member != NULL;
    const int is_population = signals->member == NULL;
    dpa__shadow shadow;
    DPA_TRY(dpa__shadow_new(signals, opts, p_of, &shadow, err));
    dpa_status status = dpa__need_side(&shadow.out, n, 1, "were trained without", err);
    if (status == DPA_OK && online)
        status = dpa__need_side(&shadow.in, n, 1, "were trained on", err);
    for (size_t p = 0; p < n && status == DPA_OK; ++p) {
        const double out = shadow.out.mean[p];
        double mean = 0.5 * (1.0 + opts->a) * out + 0.5 * (1.0 - opts->a);
        if (online) mean = 0.5 * (shadow.in.mean[p] + out);
        if (is_population && !opts->offline) mean = out;
        ratio[p] = p_of(target[p]) / fmax(mean, 1e-300);
    }
    dpa__shadow_free(&shadow);
    return status;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the sorted values are strictly below x. */
static size_t below(const double *sorted, size_t count, double x) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

dpa_status dpa__rmia(const dpa_signals *signals, const dpa_attack_opts *opts, double *scores,
                     dpa_error *err) {
    DPA_TRY(check(signals, opts, err));
    const size_t count = opts->population->points;
    double *other = DPA_NEW_ARRAY(double, count, err);
    if (other == NULL) return DPA_NO_MEMORY;
    dpa_status status = ratios(opts->population, opts, other, err);
    if (status == DPA_OK) status = ratios(signals, opts, scores, err);
    if (status == DPA_OK) {
        qsort(other, count, sizeof *other, by_value);
        for (size_t p = 0; p < signals->points; ++p)
            scores[p] = (double)below(other, count, scores[p] / opts->gamma) / (double)count;
    }
    free(other);
    return status;
}
