/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantile regression (Bertran et al. 2023). The population shows which signals the target gives
 * non-members, depending on their features. A point's score is how far its signal is above that of
 * a non-member with the same features. Normal form: (signal − mean)/scale, which gives the same
 * order for all quantiles. Pinball form: signal − quantile. Signals are standardised before the
 * fit, so that a ridge means the same for all of them. With augmentations, a point's signal is the
 * mean over its views. A scale outside the range of the population's is moved to the nearest one in
 * it. */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"

/* The fit for one target. */
typedef struct forecast {
    double mean, unit;  /* of the population's signals */
    double *b, *g;      /* [columns]; g NULL: pinball */
    double least, most; /* log-scales of the population */
    double *block;
} forecast;

static dpa_status check_features(const dpa_features *features, const dpa_signals *signals,
                                 const char *of, dpa_error *err) {
    if (features == NULL || features->count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quantile needs features of the %s", of);
    if (features->points == signals->points) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "features of %zu %s, but signals of %zu", features->points,
                     of, signals->points);
}

static dpa_status check(const dpa_signals *signals, const dpa_attack_opts *opts, dpa_error *err) {
    const dpa_quantile_opts *q = &opts->quantile;
    const dpa_signals *population = opts->population;
    if (population == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quantile needs signals of population points");
    if (population->models != signals->models)
        return dpa__fail(err, DPA_BAD_INPUT, "the population has %zu models, the signals %zu",
                         population->models, signals->models);
    DPA_TRY(check_features(q->features, signals, "points", err));
    DPA_TRY(check_features(q->population_features, population, "population points", err));
    if (q->features->count != q->population_features->count)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "the points have %zu features, the population %zu: the same are needed",
                         q->features->count, q->population_features->count);
    if (!(q->level > 0.0 && q->level < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quantile: level must be between 0 and 1, not %g",
                         q->level);
    if (q->ridge < 0.0 || isinf(q->ridge))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "quantile: ridge must be 0 or above, not %g",
                         q->ridge);
    return DPA_OK;
}

dpa_status dpa__quantile_fit(dpa__fit *fit, dpa_error *err) {
    const dpa_quantile_opts *q = &fit->opts->quantile;
    DPA_TRY(check(fit->signals, fit->opts, err));
    fit->designs = DPA_NEW(dpa__designs, err);
    if (fit->designs == NULL) return DPA_NO_MEMORY;
    return dpa__designs_new(q->population_features, q->features, q->squares,
                            &fit->designs->population, &fit->designs->points, err);
}

void dpa__quantile_free(dpa__fit *fit) {
    if (fit->designs == NULL) return;
    dpa__design_free(&fit->designs->population);
    dpa__design_free(&fit->designs->points);
    free(fit->designs);
    fit->designs = NULL;
}

/* The mean over a point's views; higher fits better. */
static double signal_of(const dpa_signals *signals, size_t model, size_t point) {
    const size_t repeat = dpa__augmentations(signals);
    const double *x = signals->signal + model * dpa__columns(signals) + point * repeat;
    double sum = 0.0;
    for (size_t v = 0; v < repeat; ++v) sum += x[v] / (double)repeat;
    return dpa__signal_sign(signals) * sum;
}

/* Standardises y and keeps its mean and deviation; if all values are equal, they become 0. */
static void standardise(double *y, size_t count, forecast *f) {
    double most = 0.0, square = 0.0;
    f->mean = 0.0;
    for (size_t i = 0; i < count; ++i) f->mean += y[i] / (double)count;
    for (size_t i = 0; i < count; ++i) most = fmax(most, fabs(y[i] - f->mean));
    for (size_t i = 0; i < count && most > 0.0; ++i)
        square += (y[i] - f->mean) / most * ((y[i] - f->mean) / most) / (double)count;
    f->unit = most > 0.0 ? most * sqrt(square) : 1.0;
    for (size_t i = 0; i < count; ++i) y[i] = (y[i] - f->mean) / f->unit;
}

/* A ridge large enough to keep weights from following noise. The factor 8 worked best on
 * Location-30, with 476 features and 3,810 population points; pinball's 1 was not tuned. */
static double usual_ridge(const dpa_quantile_opts *q, const dpa__design *d) {
    const double share = (double)(d->columns - 1) / (double)d->rows;
    return q->form == DPA_QUANTILE_NORMAL ? 8.0 * share : share;
}

static dpa_status regress(const dpa__fit *fit, double *y, forecast *f, dpa_error *err) {
    const dpa_quantile_opts *q = &fit->opts->quantile;
    const dpa__design *d = &fit->designs->population;
    const double ridge = isnan(q->ridge) ? usual_ridge(q, d) : q->ridge;
    dpa__fit_quality quality;
    standardise(y, d->rows, f);
    if (q->form == DPA_QUANTILE_PINBALL)
        return dpa__pinball_fit(d, y, q->level, ridge, fit->opts->threads, f->b, &quality, err);
    f->g = f->b + d->columns;
    DPA_TRY(dpa__scaled_normal_fit(d, y, ridge, fit->opts->threads, f->b, f->g, &quality, err));
    f->least = INFINITY;
    f->most = -INFINITY;
    for (size_t i = 0; i < d->rows; ++i) {
        const double scale = dpa__row_times(d, i, f->g);
        f->least = fmin(f->least, scale);
        f->most = fmax(f->most, scale);
    }
    return DPA_OK;
}

static dpa_status forecast_new(const dpa__fit *fit, size_t target, forecast *out, dpa_error *err) {
    const dpa_signals *population = fit->opts->population;
    const size_t columns = fit->designs->population.columns;
    *out = (forecast){0};
    DPA_TRY(dpa__need_finite(population, target, err));
    double *y = DPA_NEW_ARRAY(double, population->points, err);
    out->b = out->block = dpa__malloc(2 * columns, sizeof(double), err);
    dpa_status status = y != NULL && out->block != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < population->points && status == DPA_OK; ++i)
        y[i] = signal_of(population, target, i);
    if (status == DPA_OK) status = regress(fit, y, out, err);
    free(y);
    if (status != DPA_OK) free(out->block);
    return status;
}

static double score(const dpa__fit *fit, const forecast *f, size_t point, double signal) {
    const dpa__design *d = &fit->designs->points;
    const double above = (signal - f->mean) / f->unit - dpa__row_times(d, point, f->b);
    if (f->g == NULL) return above * f->unit;
    return above / exp(fmin(fmax(dpa__row_times(d, point, f->g), f->least), f->most));
}

dpa_status dpa__quantile_score(const dpa__fit *fit, size_t target, double *scores, dpa_error *err) {
    forecast f;
    DPA_TRY(forecast_new(fit, target, &f, err));
    dpa_status status = DPA_OK;
    for (size_t p = 0; p < fit->signals->points && status == DPA_OK; ++p) {
        scores[p] = score(fit, &f, p, signal_of(fit->signals, target, p));
        if (!isfinite(scores[p]))
            status = dpa__fail(err, DPA_NUMERIC, "point %zu: its score is not finite", p);
    }
    free(f.block);
    return status;
}

dpa_status dpa__quantile_score_one(const dpa__fit *fit, size_t target, size_t point, double signal,
                                   double *out, dpa_error *err) {
    forecast f;
    DPA_TRY(forecast_new(fit, target, &f, err));
    *out = score(fit, &f, point, dpa__signal_sign(fit->signals) * signal);
    free(f.block);
    return DPA_OK;
}
