/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Atoms of the privacy loss: how sampling and symmetry change them, and their cells. */
#include <math.h>
#include <stdlib.h>

#include "account/pair.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"

static const double ROUNDING = 1.2e-16;

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

/* log(1−q+qe^z) without cancellation. */
static double log_mixture(double q, double z) {
    if (z > 30) return z + log(q) + log1p((1 - q) / q * exp(-z));
    if (z < -1) return log((1 - q) + q * exp(z));
    return log1p(q * expm1(z));
}

/* (P, Q) → ((1−q)Q + qP, Q): the ratio r becomes 1−q+qr, the Q-masses stay. Where only Q had mass
 * the loss becomes log(1−q). */
dpa_status dpa__atoms_sample(dpa__atoms *atoms, double q, dpa_error *err) {
    for (size_t i = 0; i < atoms->count; ++i) {
        const double loss = log_mixture(q, atoms->loss[i]);
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
