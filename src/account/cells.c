/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of the privacy loss: allocation, the reversed pair, and those of losses with atoms. */
#include <math.h>
#include <stdlib.h>

#include "account/pair.h"
#include "account/pld.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"
#include "math/logspace.h"

/* Cells for all losses in [first·h, last·h], empty. */
dpa_status dpa__loss_cells_alloc(double h, double first, double last, size_t max,
                                 dpa__loss_cells *out, dpa_error *err) {
    const double count = last - first;
    *out = (dpa__loss_cells){.h = h};
    if (!(count <= (double)max) || !(fabs(first) < 1e15) || !(fabs(last) < 1e15))
        return dpa__fail(
            err, DPA_NUMERIC,
            "one step's losses need %.3g cells of width %.3g, more than the grid limit "
            "%zu: raise the tolerance, or max_grid of the library",
            count, h, max);
    out->first = (ptrdiff_t)first;
    out->count = (size_t)count;
    out->log_low = DPA_NEW_ARRAY(double, out->count, err);
    out->log_high = DPA_NEW_ARRAY(double, out->count, err);
    out->error = DPA_NEW_ARRAY(float, out->count, err);
    if (out->log_low == NULL || out->log_high == NULL || out->error == NULL) {
        dpa__loss_cells_free(out);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < out->count; ++i) {
        out->log_low[i] = out->log_high[i] = -HUGE_VAL;
        out->error[i] = 0;
    }
    return DPA_OK;
}

void dpa__loss_cells_free(dpa__loss_cells *cells) {
    free(cells->log_low);
    free(cells->log_high);
    free(cells->error);
    *cells = (dpa__loss_cells){0};
}

dpa_status dpa__loss_cells_mirror(const dpa__loss_cells *cells, dpa__loss_cells *out,
                                  dpa_error *err) {
    const ptrdiff_t last = cells->first + (ptrdiff_t)cells->count;
    DPA_TRY(dpa__loss_cells_alloc(cells->h, -(double)last, -(double)cells->first, cells->count, out,
                                  err));
    for (size_t i = 0; i < cells->count; ++i) {
        const double lower = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)i);
        const size_t j = cells->count - 1 - i;
        out->log_high[j] = cells->log_low[i] - lower;
        out->log_low[j] = cells->log_high[i] - (lower + cells->h);
        /* rounding of the exponent */
        out->error[j] = cells->error[i] + 1e-15F * (1 + fabsf((float)lower));
    }
    out->origin = -cells->origin;
    out->p_out = cells->q_out;
    out->q_out = cells->p_out;
    out->p_sure = cells->q_sure;
    out->q_sure = cells->p_sure;
    out->shift = cells->shift;
    return DPA_OK;
}

/* ── Laplace noise and binary randomized response ──────────────────────────────────────────── */

/* An atom of P-mass p at loss ℓ in the cell [g, g+h] splits by connect-the-dots into
 * high = p(1−e^(g−ℓ))/(1−e^−h) and low = p(e^(g+h−ℓ)−1)/(e^h−1). An atom on a grid point (the
 * caller chooses h so where it can) stays whole. */

static const double ROUNDING = 1.2e-16;

void dpa__loss_cells_atom(dpa__loss_cells *cells, double loss, double log_mass) {
    const double position = loss / cells->h - (double)cells->first;
    const double nearest = round(position);
    /* On a grid point up to rounding; the cells' `shift` covers the difference. */
    if (fabs(position - nearest) * cells->h <= cells->shift) {
        const size_t i = (size_t)nearest;
        if (i < cells->count)
            cells->log_low[i] = dpa__log_add(cells->log_low[i], log_mass);
        else
            cells->log_high[i - 1] = dpa__log_add(cells->log_high[i - 1], log_mass);
        return;
    }
    const size_t i = (size_t)floor(position);
    const double above = (position - (double)i) * cells->h;
    const double high = -expm1(-above) / -expm1(-cells->h);
    const double low = expm1(cells->h - above) / expm1(cells->h);
    cells->log_high[i] = dpa__log_add(cells->log_high[i], log_mass + log(high));
    cells->log_low[i] = dpa__log_add(cells->log_low[i], log_mass + log(low));
}

/* The part of the density e^(ℓ/2)·e^(−ε₀/2)/4 in [from, to], within the cell at g: u = ∫
 * (1−e^(g−ℓ)), d = ∫ (e^(g+h−ℓ)−1) by Gauss–Legendre.
 *
 * g is rounded, so at ±ε₀ a cell can contain a sliver of a few ulp whose nodes lie just outside
 * [0, h], where u or d would be negative. Such nodes are moved to the end. A node at t adds
 * density·(1−e^−t)/(1−e^−h) + density·(e^(h−t)−1)/(e^h−1) = density for any t in [0, h], so no
 * P-mass is lost or made; only its loss moves, by the rounding of g, which `shift` covers. */
static void add_exponential(dpa__loss_cells *cells, size_t i, double epsilon0) {
    const double h = cells->h, g = h * (double)(cells->first + (ptrdiff_t)i);
    const double next = h * (double)(cells->first + (ptrdiff_t)i + 1);
    const double from = fmax(g, -epsilon0), to = fmin(next, epsilon0);
    if (!(from < to)) return;
    enum { NODES = 4 }; /* the integrand is e^(ℓ/2) times expm1; 4 nodes: below 1e-15 for h ≤ 0.1 */
    static const double node[NODES] = {-0.86113631159405257522, -0.33998104358485626480,
                                       0.33998104358485626480, 0.86113631159405257522};
    static const double weight[NODES] = {0.34785484513745385737, 0.65214515486254614263,
                                         0.65214515486254614263, 0.34785484513745385737};
    const double middle = 0.5 * (from + to) - g, half = 0.5 * (to - from);
    double u = 0, d = 0;
    for (size_t k = 0; k < NODES; ++k) {
        const double t = fmin(fmax(middle + half * node[k], 0), h);
        const double density = half * weight[k] * exp(t / 2);
        u += density * -expm1(-t);
        d += density * expm1(h - t);
    }
    const double scale = (g - epsilon0) / 2 - log(4);
    cells->log_high[i] = dpa__log_add(cells->log_high[i], scale + log(u) - log(-expm1(-h)));
    cells->log_low[i] = dpa__log_add(cells->log_low[i], scale + log(d) - log(expm1(h)));
}

dpa_status dpa__loss_cells_between(double lowest, double highest, double h, size_t max,
                                   dpa__loss_cells *out, dpa_error *err) {
    DPA_TRY(dpa__loss_cells_alloc(h, floor(lowest / h) - 1, ceil(highest / h) + 1, max, out, err));
    const double reach = fmax(fabs(lowest), fabs(highest));
    out->shift = 16 * ROUNDING * (1 + reach);
    const double error = 2e-13 + 2 * out->shift / h;
    for (size_t i = 0; i < out->count; ++i) out->error[i] = (float)error;
    return DPA_OK;
}

/* P = Laplace(0,b), Q = Laplace(1,b), ε₀ = 1/b: losses ±ε₀ with masses ½ and ½e^−ε₀, between them
 * the density ¼e^((ℓ−ε₀)/2). */
dpa_status dpa__loss_cells_laplace(double epsilon0, double h, size_t max, dpa__loss_cells *out,
                                   dpa_error *err) {
    DPA_TRY(dpa__loss_cells_between(-epsilon0, epsilon0, h, max, out, err));
    for (size_t i = 0; i < out->count; ++i) add_exponential(out, i, epsilon0);
    dpa__loss_cells_atom(out, epsilon0, log(0.5));
    dpa__loss_cells_atom(out, -epsilon0, log(0.5) - epsilon0);
    return DPA_OK;
}

/* The loss is (2B − steps)ε₀ with B binomial; the tails are left out. */
dpa_status dpa__loss_cells_response(double epsilon0, uint64_t steps, double h, double log_tail,
                                    size_t max, dpa__loss_cells *out, dpa_error *err) {
    const double n = (double)steps, yes = 1 / (1 + exp(-epsilon0));
    /* Hoeffding: |B − n·yes| above √(n·log(1/tail)/2) has less than the tail's mass under P, and
     * the same with 1−yes under Q. */
    const double spread = sqrt(-n * log_tail / 2) + 1;
    const double least = fmax(0, floor(n * (1 - yes) - spread));
    const double most = fmin(n, ceil(n * yes + spread));
    DPA_TRY(dpa__loss_cells_between((2 * least - n) * epsilon0, (2 * most - n) * epsilon0, h, max,
                                    out, err));
    for (double b = least; b <= most; ++b)
        dpa__loss_cells_atom(out, (2 * b - n) * epsilon0, dpa__binom_log_pmf(b, n, yes));
    /* R's binomial is accurate to 1e-14 of the log mass; `yes` is rounded, which counts n times. */
    const float more = (float)(4e-14 + 4 * ROUNDING * n);
    for (size_t i = 0; i < out->count; ++i) out->error[i] += more;
    out->p_out = least > 0 || most < n ? 2 * exp(log_tail) : 0;
    out->q_out = out->p_out;
    return DPA_OK;
}

/* ── lists of atoms: how sampling and symmetry change them, and their cells ────────────────── */

dpa_status dpa__atoms_add(dpa__atoms *atoms, double loss, double log_mass, dpa_error *err) {
    if (atoms->count == atoms->room) {
        const size_t room = atoms->room < 64 ? 64 : 2 * atoms->room;
        double *block = dpa__realloc(atoms->loss, room, sizeof *block, err);
        if (block == NULL) return DPA_NO_MEMORY;
        atoms->loss = block;
        block = dpa__realloc(atoms->log_mass, room, sizeof *block, err);
        if (block == NULL) return DPA_NO_MEMORY;
        atoms->log_mass = block;
        atoms->room = room;
    }
    atoms->loss[atoms->count] = loss;
    atoms->log_mass[atoms->count++] = log_mass;
    return DPA_OK;
}

void dpa__atoms_free(dpa__atoms *atoms) {
    free(atoms->loss);
    free(atoms->log_mass);
    *atoms = (dpa__atoms){0};
}

double dpa__log_mixture(double q, double z) {
    if (z > 30) return z + log(q) + log1p((1 - q) / q * exp(-z));
    if (z < -1) return log((1 - q) + q * exp(z));
    return log1p(q * expm1(z));
}

/* (P, Q) → ((1−q)Q + qP, Q): the ratio r becomes 1−q+qr, the Q-masses stay. Where only Q had mass
 * the loss becomes log(1−q). */
dpa_status dpa__atoms_sample(dpa__atoms *atoms, double q, dpa_error *err) {
    for (size_t i = 0; i < atoms->count; ++i) {
        const double loss = dpa__log_mixture(q, atoms->loss[i]);
        atoms->log_mass[i] += loss - atoms->loss[i];
        atoms->loss[i] = loss;
    }
    /* The ratio is computed from the loss, so its error enters the mass too. */
    atoms->error += atoms->shift + 8 * ROUNDING;
    atoms->shift += 4 * ROUNDING;
    const double cut = atoms->q_out - atoms->q_sure; /* of unknown, small loss: counted as leak */
    if (atoms->q_sure > 0)
        DPA_TRY(dpa__atoms_add(atoms, log1p(-q), log1p(-q) + log(atoms->q_sure), err));
    atoms->p_out = q * atoms->p_out + (1 - q) * cut;
    atoms->p_sure *= q;
    atoms->q_out = cut;
    atoms->q_sure = 0;
    return DPA_OK;
}

/* Losses above 0 stay, and each gets a mirror image at −loss with P-mass p·e^−loss; what is missing
 * to 1 gets loss 0. That is not negative for a pair that describes a mechanism without direction,
 * since then P(loss > 0) + Q(loss > 0) ≤ 1. After discretisation it can be slightly negative. On
 * the pessimistic side a total P-mass above 1 still dominates; on the optimistic side all masses
 * are scaled down. */
dpa_status dpa__atoms_symmetric(dpa__atoms *atoms, dpa__rounding side, dpa_error *err) {
    const size_t count = atoms->count;
    size_t kept = 0;
    dpa__sum total = {0};
    for (size_t i = 0; i < count; ++i) {
        if (!(atoms->loss[i] > 0)) continue;
        atoms->loss[kept] = atoms->loss[i];
        atoms->log_mass[kept] = atoms->log_mass[i];
        dpa__sum_add(&total, exp(atoms->log_mass[kept]) * (1 + exp(-atoms->loss[kept])));
        ++kept;
    }
    atoms->count = kept;
    const double infinite = side == DPA_PESSIMISTIC ? atoms->p_out : atoms->p_sure;
    const double all = dpa__sum_get(&total) + 2 * infinite;
    const double shrink = side == DPA_OPTIMISTIC && all > 1 ? -log(all) - 4 * ROUNDING : 0;
    for (size_t i = 0; i < kept; ++i) {
        atoms->log_mass[i] += shrink;
        DPA_TRY(dpa__atoms_add(atoms, -atoms->loss[i], atoms->log_mass[i] - atoms->loss[i], err));
    }
    if (all < 1) DPA_TRY(dpa__atoms_add(atoms, 0, log1p(-all), err));
    atoms->q_out = atoms->p_out;
    atoms->q_sure = atoms->p_sure;
    atoms->error += 8 * ROUNDING + atoms->shift;
    return DPA_OK;
}

dpa_status dpa__atoms_join(dpa__atoms *atoms, const dpa__atoms *more, double weight,
                           dpa_error *err) {
    for (size_t i = 0; i < more->count; ++i)
        DPA_TRY(dpa__atoms_add(atoms, more->loss[i], more->log_mass[i] + log(weight), err));
    atoms->p_out += weight * more->p_out;
    atoms->p_sure += weight * more->p_sure;
    atoms->q_out += weight * more->q_out;
    atoms->q_sure += weight * more->q_sure;
    atoms->error = fmax(atoms->error, more->error + 4 * ROUNDING);
    atoms->shift = fmax(atoms->shift, more->shift);
    return DPA_OK;
}

dpa_status dpa__loss_cells_atoms(const dpa__atoms *atoms, double h, size_t max,
                                 dpa__loss_cells *out, dpa_error *err) {
    double lowest = 0, highest = 0;
    for (size_t i = 0; i < atoms->count; ++i) {
        lowest = fmin(lowest, atoms->loss[i]);
        highest = fmax(highest, atoms->loss[i]);
    }
    DPA_TRY(dpa__loss_cells_between(lowest, highest, h, max, out, err));
    out->shift += atoms->shift;
    for (size_t i = 0; i < atoms->count; ++i)
        if (atoms->log_mass[i] > -HUGE_VAL)
            dpa__loss_cells_atom(out, atoms->loss[i], atoms->log_mass[i]);
    for (size_t i = 0; i < out->count; ++i) out->error[i] += (float)atoms->error;
    out->p_out = atoms->p_out;
    out->p_sure = atoms->p_sure;
    out->q_out = atoms->q_out;
    out->q_sure = atoms->q_sure;
    return DPA_OK;
}
