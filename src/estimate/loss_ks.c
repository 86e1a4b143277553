/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kolmogorov–Smirnov goodness of fit as in Appendix B, section 8.2: losses set aside against draws
 * from what was fitted to the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "evidence/scores_sort.h"

static double log_choose(double n, double k) {
    return dpa__log_gamma(n + 1.0) - dpa__log_gamma(k + 1.0) - dpa__log_gamma(n - k + 1.0);
}

/* Pr[largest distance of two samples of n ≥ h/n], by reflection of lattice paths (Gnedenko and
 * Korolyuk): 2 Σ_j (−1)^(j−1) C(2n, n−jh)/C(2n, n). */
static double equal_sizes_p(size_t n, size_t h) {
    if (h == 0) return 1.0;
    const double size = (double)n, whole = log_choose(2.0 * size, size);
    double sum = 0.0, sign = 1.0;
    for (size_t j = 1; j * h <= n; ++j, sign = -sign)
        sum += sign * exp(log_choose(2.0 * size, size - (double)(j * h)) - whole);
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
