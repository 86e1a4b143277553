/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a fitted law describe the losses it was fitted to? One-sample Anderson–Darling on all of
 * them, n·∫(F̂−F)²/(F(1−F)) dF as a sum over the edges of groups, with its law under the fit by
 * parametric bootstrap: as many points drawn from the fit, fitted again, compared again. No losses
 * are set aside and the streams do not depend on the request's seed, so a file has one verdict. The
 * number of components is that of the fit, not chosen again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/losses/epsilon_star.h"
#include "evidence/evidence.h"
#include "math/logspace.h"

enum { DRAWS = 199, ENOUGH = 20, REFIT_STEPS = 30 };

/* Groups of φ by rising value; edge i is between groups i and i+1. */
typedef struct gauge {
    dpa__point_groups groups;
    double *edge, *law, *probability, *drawn; /* law: F at the edges */
    uint32_t *weight;
    double n;
} gauge;

static void gauge_free(gauge *g) {
    dpa__point_groups_free(&g->groups);
    free(g->edge);
    free(g->weight);
}

static dpa_status gauge_new(const double *phi, size_t count, gauge *g, dpa_error *err) {
    *g = (gauge){.n = (double)count};
    DPA_TRY(dpa__point_groups_new(phi, count, dpa__grain(phi, count), &g->groups, err));
    const size_t size = g->groups.count;
    g->edge = DPA_NEW_ARRAY(double, 4 * size, err);
    g->weight = DPA_NEW_ARRAY(uint32_t, size, err);
    if (g->edge == NULL || g->weight == NULL) {
        gauge_free(g);
        return DPA_NO_MEMORY;
    }
    g->law = g->edge + size;
    g->probability = g->law + size;
    g->drawn = g->probability + size;
    for (size_t i = 0; i + 1 < size; ++i)
        g->edge[i] = 0.5 * g->groups.value[i] + 0.5 * g->groups.value[i + 1];
    return DPA_OK;
}

/* φ falls as losses rise, so the groups before an edge are above it. */
static void set_law(gauge *g, const dpa_mixture *fit) {
    for (size_t i = 0; i + 1 < g->groups.count; ++i)
        g->law[i] = dpa__mixture_upper(fit, g->edge[i]);
}

static double statistic(const gauge *g, const uint32_t *weight) {
    const size_t edges = g->groups.count - 1;
    double sum = 0.0, seen = 0.0;
    for (size_t i = 0; i < edges; ++i) {
        const double before = i > 0 ? g->law[i - 1] : 0.0;
        const double after = i + 1 < edges ? g->law[i + 1] : 1.0, f = g->law[i];
        seen += (double)weight[i];
        if (!(f > 0.0 && f < 1.0)) continue;
        const double off = seen / g->n - f;
        sum += off * off / (f * (1.0 - f)) * 0.5 * (after - before);
    }
    return g->n * sum;
}

static dpa_status refit(const gauge *g, const dpa_mixture *start, dpa_mixture *out) {
    const dpa__weighted sample = {g->groups.value, g->weight, g->groups.count, g->n};
    if (start->count == 1) return dpa__normal_fit(&sample, "drawn", out, NULL);
    *out = *start;
    return dpa__mixture_em(&sample, out, REFIT_STEPS, NULL, NULL, NULL);
}

/* Stops once ENOUGH draws were as far off: then the p-value is above 0.1. */
static dpa_status bootstrap(gauge *g, const dpa_mixture *fit, uint64_t stream, double *p_value) {
    const size_t size = g->groups.count;
    const double observed = statistic(g, g->groups.weight);
    size_t draws = 0, above = 0;
    for (size_t i = 0; i < size; ++i)
        g->probability[i] = (i + 1 < size ? g->law[i] : 1.0) - (i > 0 ? g->law[i - 1] : 0.0);
    for (; draws < DRAWS && above < ENOUGH; ++draws) {
        dpa_mixture again;
        dpa_rng rng;
        dpa__rng_init(&rng, 1, DPA_PURPOSE_SIMULATE, stream + draws);
        dpa__cells_draw(g->probability, size, g->n, &rng, g->drawn);
        for (size_t i = 0; i < size; ++i) g->weight[i] = (uint32_t)g->drawn[i];
        const dpa_status status = refit(g, fit, &again);
        if (status == DPA_BAD_INPUT) continue; /* no spread: as good as the fit itself */
        if (status != DPA_OK) return status;
        set_law(g, &again);
        above += statistic(g, g->weight) >= observed;
    }
    *p_value = (1.0 + (double)above) / (1.0 + (double)draws);
    return DPA_OK;
}

dpa_status dpa__fit_goodness(const dpa_losses *l, const dpa_loss_fit *fit, int heldout,
                             double *p_value, dpa_error *err) {
    const dpa_mixture *law = heldout ? &fit->heldout : &fit->train;
    dpa__phi phi;
    gauge g;
    *p_value = NAN;
    DPA_TRY(dpa__phi_between(l, fit->low, fit->high, &phi, err));
    dpa_status status = gauge_new(heldout ? phi.heldout : phi.train,
                                  heldout ? l->heldout_count : l->train_count, &g, err);
    dpa__phi_free(&phi);
    if (status != DPA_OK) return status;
    if (g.groups.count > 2) {
        set_law(&g, law);
        status = bootstrap(&g, law, heldout ? UINT64_C(1) << 33 : UINT64_C(1) << 32, p_value);
    }
    gauge_free(&g);
    return status == DPA_OK ? DPA_OK : dpa__fail(err, status, "goodness of fit: no memory");
}

/* Kolmogorov–Smirnov goodness of fit as in Appendix B, section 8.2: losses set aside against draws
 * from what was fitted to the others. */

/* Pr[largest distance of two samples of n ≥ h/n], by reflection of lattice paths (Gnedenko and
 * Korolyuk): 2 Σ_j (−1)^(j−1) C(2n, n−jh)/C(2n, n). */
static double equal_sizes_p(size_t n, size_t h) {
    if (h == 0) return 1.0;
    const double size = (double)n, whole = dpa__log_choose(2.0 * size, size);
    double sum = 0.0, sign = 1.0;
    for (size_t j = 1; j * h <= n; ++j, sign = -sign)
        sum += sign * exp(dpa__log_choose(2.0 * size, size - (double)(j * h)) - whole);
    return fmin(1.0, fmax(0.0, 2.0 * sum));
}

dpa_status dpa__ks_two_sample(double *x, double *y, size_t count, double *statistic,
                              double *p_value, dpa_error *err) {
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "two samples of no number");
    DPA_TRY(dpa__sort_numbers(x, count, err));
    DPA_TRY(dpa__sort_numbers(y, count, err));
    size_t i = 0, j = 0, most = 0;
    while (i < count && j < count) {
        const double at = fmin(x[i], y[j]);
        while (i < count && x[i] <= at) ++i;
        while (j < count && y[j] <= at) ++j;
        const size_t apart = i > j ? i - j : j - i;
        if (apart > most) most = apart;
    }
    *statistic = (double)most / (double)count;
    *p_value = equal_sizes_p(count, most);
    return DPA_OK;
}

typedef struct parts {
    double *fitting, *aside, *drawn, *left, *right; /* the last two are sorted, size by size */
    size_t *order;
} parts;

static void parts_free(parts *p) {
    free(p->fitting);
    free(p->aside);
    free(p->drawn);
    free(p->left);
    free(p->right);
    free(p->order);
}

static dpa_status parts_new(parts *p, size_t count, size_t most, dpa_error *err) {
    *p = (parts){0};
    p->fitting = DPA_NEW_ARRAY(double, count - most, err);
    p->aside = DPA_NEW_ARRAY(double, most, err);
    p->drawn = DPA_NEW_ARRAY(double, most, err);
    p->left = DPA_NEW_ARRAY(double, most, err);
    p->right = DPA_NEW_ARRAY(double, most, err);
    p->order = DPA_NEW_ARRAY(size_t, count, err);
    if (p->fitting != NULL && p->aside != NULL && p->drawn != NULL && p->left != NULL &&
        p->right != NULL && p->order != NULL)
        return DPA_OK;
    parts_free(p);
    return DPA_NO_MEMORY;
}

static void split(const double *phi, size_t count, size_t most, uint64_t seed, int heldout,
                  parts *p) {
    dpa_rng rng;
    for (size_t i = 0; i < count; ++i) p->order[i] = i;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SPLIT, (uint64_t)heldout);
    dpa__rng_shuffle(&rng, p->order, count);
    for (size_t i = 0; i < most; ++i) p->aside[i] = phi[p->order[i]];
    for (size_t i = most; i < count; ++i) p->fitting[i - most] = phi[p->order[i]];
}

static dpa_status compare(const double *phi, size_t count, int heldout, size_t components,
                          uint64_t seed, const size_t *sizes, size_t size_count, parts *p,
                          dpa_goodness *rows, dpa_error *err) {
    const size_t most = sizes[size_count - 1];
    const dpa_mixture_opts opts = {.components = components, .most = DPA_MIXTURE_MAX, .seed = seed};
    dpa_mixture fit;
    dpa_rng rng;
    split(phi, count, most, seed, heldout, p);
    DPA_TRY(dpa__mixture_fit(p->fitting, count - most, &opts, &fit, err));
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, 2 * components + (unsigned)heldout);
    for (size_t i = 0; i < most; ++i) p->drawn[i] = dpa__mixture_draw(&fit, &rng);
    for (size_t i = 0; i < size_count; ++i) {
        memcpy(p->left, p->aside, sizes[i] * sizeof *p->left);
        memcpy(p->right, p->drawn, sizes[i] * sizeof *p->right);
        rows[i] = (dpa_goodness){.heldout = heldout, .components = components, .samples = sizes[i]};
        DPA_TRY(dpa__ks_two_sample(p->left, p->right, sizes[i], &rows[i].statistic,
                                   &rows[i].p_value, err));
    }
    return DPA_OK;
}

dpa_status dpa__losses_goodness(const dpa_losses *l, int heldout, size_t components, uint64_t seed,
                                const size_t *sizes, size_t count, dpa_goodness *rows,
                                dpa_error *err) {
    const size_t n = heldout ? l->heldout_count : l->train_count;
    dpa__phi phi;
    parts p;
    for (size_t i = 0; i < count; ++i)
        if (sizes[i] == 0 || sizes[i] > n / 2 || (i > 0 && sizes[i] < sizes[i - 1]))
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "goodness of fit: %zu of %zu losses; sizes from 1 to a half, "
                             "ascending, are right",
                             sizes[i], n);
    if (count == 0) return DPA_OK;
    DPA_TRY(dpa__phi_new(l, DPA_TRANSFORM_PAPER, &phi, err));
    dpa_status status = parts_new(&p, n, sizes[count - 1], err);
    if (status == DPA_OK) {
        status = compare(heldout ? phi.heldout : phi.train, n, heldout != 0, components, seed,
                         sizes, count, &p, rows, err);
        parts_free(&p);
    }
    dpa__phi_free(&phi);
    return status;
}
