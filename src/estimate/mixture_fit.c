/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting EM and choosing how many components: k-means++ from a named random stream, and the Bayes
 * information criterion over 1, 2, … components, ended by PATIENCE counts in a row that do not
 * improve it. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "estimate/epsilon_star.h"

enum { LLOYD_ROUNDS = 4, MOST_STEPS = 500, PATIENCE = 3 };

void dpa__mixture_opts_init(dpa_mixture_opts *opts) {
    *opts = (dpa_mixture_opts){.components = 0, .most = DPA_MIXTURE_MAX, .seed = 1};
}

static double weight_of(const dpa__weighted *s, size_t i) {
    return s->weight != NULL ? (double)s->weight[i] : 1.0;
}

/* The next centre: a point drawn with probability proportional to its squared distance to the
 * nearest centre so far. 0 if every point is a centre already. */
static int draw_centre(dpa_rng *rng, const dpa__weighted *s, const double *distance,
                       double *centre) {
    double total = 0.0;
    for (size_t i = 0; i < s->count; ++i) total += weight_of(s, i) * distance[i];
    if (!(total > 0.0)) return 0;
    double left = total * dpa__rng_uniform(rng);
    size_t i = 0;
    for (; i + 1 < s->count && left > weight_of(s, i) * distance[i]; ++i)
        left -= weight_of(s, i) * distance[i];
    *centre = s->value[i];
    return 1;
}

static void shorten(const dpa__weighted *s, double centre, double *distance) {
    for (size_t i = 0; i < s->count; ++i) {
        const double d = s->value[i] - centre;
        if (d * d < distance[i]) distance[i] = d * d;
    }
}

static size_t nearest(const dpa_mixture *m, double x) {
    size_t best = 0;
    for (size_t j = 1; j < m->count; ++j)
        if (fabs(x - m->mean[j]) < fabs(x - m->mean[best])) best = j;
    return best;
}

/* Assigns points to their nearest mean; recomputes weights, means and deviations. */
static void regroup(const dpa__weighted *s, double spread, dpa_mixture *m) {
    double n[DPA_MIXTURE_MAX] = {0}, first[DPA_MIXTURE_MAX] = {0}, second[DPA_MIXTURE_MAX] = {0};
    for (size_t i = 0; i < s->count; ++i) {
        const size_t j = nearest(m, s->value[i]);
        const double d = s->value[i] - m->mean[j], weight = weight_of(s, i);
        n[j] += weight;
        first[j] += weight * d;
        second[j] += weight * d * d;
    }
    for (size_t j = 0; j < m->count; ++j) {
        const double shift = n[j] > 0.0 ? first[j] / n[j] : 0.0;
        const double variance = n[j] > 0.0 ? second[j] / n[j] - shift * shift : 0.0;
        m->mean[j] += shift;
        m->weight[j] = (n[j] + 1.0) / (s->total + (double)m->count);
        m->deviation[j] = fmax(sqrt(fmax(variance, 0.0)), 0.01 * spread);
    }
}

/* The value of the point of this number, groups counted by their weights. */
static double point_at(const dpa__weighted *s, uint64_t number) {
    size_t i = 0;
    double left = (double)number;
    for (; i + 1 < s->count && left >= weight_of(s, i); ++i) left -= weight_of(s, i);
    return s->value[i];
}

dpa_status dpa__mixture_start(const dpa__weighted *s, size_t components, uint64_t seed,
                              dpa_mixture *out, dpa_error *err) {
    DPA_TRY(dpa__normal_fit(s, "given", out, err));
    if (components == 1) return DPA_OK;
    const double spread = out->deviation[0];
    double *distance = DPA_NEW_ARRAY(double, s->count, err);
    if (distance == NULL) return DPA_NO_MEMORY;
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_MIXTURE, components);
    out->mean[0] = point_at(s, dpa__rng_below(&rng, (uint64_t)s->total));
    for (size_t i = 0; i < s->count; ++i) distance[i] = HUGE_VAL;
    shorten(s, out->mean[0], distance);
    while (out->count < components && draw_centre(&rng, s, distance, &out->mean[out->count]))
        shorten(s, out->mean[out->count++], distance);
    free(distance);
    for (int round = 0; round < LLOYD_ROUNDS; ++round) regroup(s, spread, out);
    return DPA_OK;
}

static dpa_status fit_count(const dpa__weighted *s, size_t components, uint64_t seed,
                            dpa__watch *watch, dpa_mixture *out, dpa_error *err) {
    DPA_TRY(dpa__mixture_start(s, components, seed, out, err));
    return out->count == 1 ? dpa__normal_fit(s, "given", out, err)
                           : dpa__mixture_em(s, out, MOST_STEPS, NULL, watch, err);
}

static dpa_status fit(const dpa__weighted *s, const dpa_mixture_opts *opts, dpa__watch *watch,
                      dpa_mixture *out, dpa_error *err) {
    const size_t most = opts->components > 0 ? opts->components : opts->most;
    if (most < 1 || most > DPA_MIXTURE_MAX)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "components: 1 to %d, not %zu", DPA_MIXTURE_MAX,
                         most);
    if (s->count == 0) return dpa__fail(err, DPA_BAD_INPUT, "no number to fit a mixture to");
    if (opts->components > 0) return fit_count(s, most, opts->seed, watch, out, err);
    DPA_TRY(fit_count(s, 1, opts->seed, watch, out, err));
    for (size_t k = 2, worse = 0; k <= most && worse < PATIENCE; ++k) {
        dpa_mixture next;
        DPA_TRY(fit_count(s, k, opts->seed, watch, &next, err));
        worse = next.bic < out->bic ? 0 : worse + 1;
        if (worse == 0) *out = next;
    }
    return DPA_OK;
}

dpa_status dpa__mixture_fit(const double *x, size_t count, const dpa_mixture_opts *opts,
                            dpa_mixture *out, dpa_error *err) {
    const dpa__weighted sample = {x, NULL, count, (double)count};
    return fit(&sample, opts, NULL, out, err);
}

/* The two sides are two tasks. */
typedef struct sides {
    const double *x[2];
    size_t count[2];
    dpa_mixture *out[2];
    const dpa_mixture_opts *opts;
    dpa__watch *watch;
    dpa_status status[2];
    dpa_error err[2];
} sides;

static int fit_side(void *user, size_t i) {
    sides *s = user;
    dpa__point_groups groups;
    s->status[i] = dpa__point_groups_new(s->x[i], s->count[i], dpa__grain(s->x[i], s->count[i]),
                                         &groups, &s->err[i]);
    if (s->status[i] != DPA_OK) return 1;
    const dpa__weighted sample = dpa__point_groups_sample(&groups);
    s->status[i] = fit(&sample, s->opts, s->watch, s->out[i], &s->err[i]);
    dpa__point_groups_free(&groups);
    return s->status[i] != DPA_OK && s->status[i] != DPA_BAD_INPUT;
}

static dpa_status fit_sides(sides *s, unsigned threads, dpa_error *err) {
    const dpa_status status = dpa__parallel(threads, 2, fit_side, s, err);
    for (size_t i = 0; i < 2; ++i)
        if (s->status[i] != DPA_OK) return dpa__fail(err, s->status[i], "%s", s->err[i].text);
    return status;
}

dpa_status dpa__fit_mixture(const dpa_losses *l, const dpa_mixture_opts *opts,
                            const dpa_request *request, dpa_loss_fit *out, dpa_error *err) {
    static const dpa_progress silent = {NULL, NULL};
    dpa__watch watch;
    dpa__phi phi;
    DPA_TRY(dpa__phi_new(l, opts->transform, &phi, err));
    *out = (dpa_loss_fit){.low = phi.low, .high = phi.high};
    sides s = {.x = {phi.train, phi.heldout},
               .count = {l->train_count, l->heldout_count},
               .out = {&out->train, &out->heldout},
               .opts = opts,
               .watch = &watch};
    dpa_status status = dpa__watch_init(&watch, request != NULL ? &request->progress : &silent,
                                        "mixtures, steps", 0.0, err);
    if (status == DPA_OK) {
        status = fit_sides(&s, request != NULL ? dpa__threads(request->threads) : 1, err);
        dpa__watch_free(&watch);
    }
    dpa__phi_free(&phi);
    return status;
}
