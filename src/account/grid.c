/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A claim discretised at one cell width: for every unit the two pmfs, in one or both directions. */
#include <math.h>
#include <stdlib.h>

#include "account/composition.h"
#include "base/error.h"
#include "base/memory.h"

/* Keeps e^h far from overflow. */
static const double WIDEST = 100;

/* If all atoms of the unit lie at multiples of a loss, that loss; else 0. */
static double atom_of(const dpa_phase *unit) {
    if (unit->mechanism == DPA_LAPLACE) return 1 / unit->sigma;
    if (unit->mechanism == DPA_PAIR) return unit->q == 1 ? unit->pair->lattice : 0;
    return unit->mechanism == DPA_RANDOMIZED_RESPONSE ? unit->sigma : 0;
}

/* Reduces h such that it divides the smallest atom spacing of all units: then these atoms lie on
 * grid points, and those of other units whose spacing is a multiple. */
static double snap(const dpa__composition *model, double h) {
    double least = INFINITY;
    for (size_t k = 0; k < model->count; ++k) {
        const double atom = atom_of(&model->unit[k]);
        if (atom >= h) least = fmin(least, atom);
    }
    return isinf(least) ? h : least / ceil(least / h);
}

/* The span of one unit's losses. */
static double span_of(const dpa__composition *model, const dpa_phase *unit, double log_tail) {
    const double n = (double)unit->steps, atom = atom_of(unit);
    double range[2];
    switch (unit->mechanism) {
    case DPA_LAPLACE:
        return 2 * atom;
    case DPA_RANDOMIZED_RESPONSE:
        return 2 * atom * fmin(n, sqrt(-n * log_tail / 2) + n * tanh(atom / 2));
    case DPA_PAIR:
        dpa__pair_range(unit->pair, log_tail, range);
        return fmax(range[1] - range[0], 1e-9);
    case DPA_SHUFFLED:
        return dpa__gaussian_span(unit->sigma, 1, model->adjacency, log_tail);
    case DPA_GAUSSIAN:
    default:
        return dpa__gaussian_span(unit->sigma, unit->q, model->adjacency, log_tail);
    }
}

double dpa__composition_width(const dpa__composition *model, double log_tail, double cells) {
    double span = 0;
    for (size_t k = 0; k < model->count; ++k)
        span = fmax(span, span_of(model, &model->unit[k], log_tail));
    return span / cells;
}

/* The cells of one unit: dominating ones, and dominated ones if they differ. */
typedef struct unit_cells {
    dpa__loss_cells side[2]; /* indexed by dpa__rounding */
    int is_one;              /* the dominating ones serve both sides */
} unit_cells;

static const dpa__loss_cells *cells_of(const unit_cells *cells, dpa__rounding side) {
    return &cells->side[cells->is_one ? DPA_PESSIMISTIC : side];
}

static void unit_cells_free(unit_cells *cells) {
    dpa__loss_cells_free(&cells->side[0]);
    dpa__loss_cells_free(&cells->side[1]);
}

/* The pair's atoms are closer together than cells, so that their own discretisation adds little. */
static dpa_status pair_cells(const dpa_phase *unit, double h, double log_tail, size_t max,
                             unit_cells *out, dpa_error *err) {
    dpa__atoms atoms[2];
    DPA_TRY(dpa__pair_atoms(unit->pair, h / 3, log_tail, max, atoms, err));
    dpa_status status = DPA_OK;
    for (int side = 0; side < 2 && status == DPA_OK; ++side) {
        if (unit->q < 1) status = dpa__atoms_sample(&atoms[side], unit->q, err);
        if (status == DPA_OK)
            status = dpa__loss_cells_atoms(&atoms[side], h, max, &out->side[side], err);
    }
    dpa__atoms_free(&atoms[0]);
    dpa__atoms_free(&atoms[1]);
    return status;
}

/* Lower side: an attack on the largest coordinate. Upper side: what an attacker who knows the
 * batches sees; then the record is in one unsampled batch per epoch, and a mixture over batches
 * leaks no more than the worst of them (joint convexity). */
static dpa_status shuffled_cells(const dpa__composition *model, const dpa_phase *unit, double h,
                                 double log_tail, size_t max, unit_cells *out, dpa_error *err) {
    dpa_pair *pair;
    const int replaced = model->adjacency == DPA_REPLACE_ONE;
    DPA_TRY(dpa__pair_shuffled_maximum(unit->sigma, 1 / unit->q, replaced ? 0 : 1, &pair, err));
    dpa_status status =
        dpa__loss_cells_atoms(&pair->atoms, h, max, &out->side[DPA_OPTIMISTIC], err);
    dpa_pair_free(pair);
    if (status == DPA_OK)
        status = dpa__loss_cells_gaussian(unit->sigma, 1, model->adjacency, h, log_tail, max,
                                          &out->side[DPA_PESSIMISTIC], err);
    return status;
}

static dpa_status make_cells(const dpa__composition *model, const dpa_phase *unit, double h,
                             double log_tail, size_t max, unit_cells *out, dpa_error *err) {
    dpa__loss_cells *one = &out->side[DPA_PESSIMISTIC];
    out->is_one = unit->mechanism != DPA_PAIR && unit->mechanism != DPA_SHUFFLED;
    switch (unit->mechanism) {
    case DPA_GAUSSIAN:
        return dpa__loss_cells_gaussian(unit->sigma, unit->q, model->adjacency, h, log_tail, max,
                                        one, err);
    case DPA_LAPLACE:
        return dpa__loss_cells_laplace(atom_of(unit), h, max, one, err);
    case DPA_PAIR:
        return pair_cells(unit, h, log_tail, max, out, err);
    case DPA_SHUFFLED:
        return shuffled_cells(model, unit, h, log_tail, max, out, err);
    case DPA_RANDOMIZED_RESPONSE:
    default:
        return dpa__loss_cells_response(atom_of(unit), unit->steps, h, log_tail, max, one, err);
    }
}

static dpa_status add_pmfs(dpa__pld *pld, const dpa__loss_cells *over, const dpa__loss_cells *under,
                           double steps, dpa_error *err) {
    const size_t k = pld->count;
    DPA_TRY(dpa__pmf_pessimistic(over, steps, &pld->side[DPA_PESSIMISTIC][k], err));
    const dpa_status status = dpa__pmf_optimistic(under, steps, &pld->side[DPA_OPTIMISTIC][k], err);
    if (status != DPA_OK) {
        dpa__pmf_free(&pld->side[DPA_PESSIMISTIC][k]);
        return status;
    }
    ++pld->count;
    return DPA_OK;
}

static dpa_status add_unit(dpa__loss_grid *grid, const unit_cells *cells, double steps,
                           dpa_error *err) {
    const dpa__loss_cells *over = cells_of(cells, DPA_PESSIMISTIC);
    const dpa__loss_cells *under = cells_of(cells, DPA_OPTIMISTIC);
    DPA_TRY(add_pmfs(&grid->direction[0], over, under, steps, err));
    if (grid->directions == 1) return DPA_OK;
    unit_cells mirrored = {.is_one = cells->is_one};
    dpa_status status = dpa__loss_cells_mirror(over, &mirrored.side[DPA_PESSIMISTIC], err);
    if (status == DPA_OK && !cells->is_one)
        status = dpa__loss_cells_mirror(under, &mirrored.side[DPA_OPTIMISTIC], err);
    if (status == DPA_OK)
        status = add_pmfs(&grid->direction[1], cells_of(&mirrored, DPA_PESSIMISTIC),
                          cells_of(&mirrored, DPA_OPTIMISTIC), steps, err);
    unit_cells_free(&mirrored);
    return status;
}

static dpa_status grid_fill(const dpa__composition *model, double log_tail, size_t max,
                            dpa__loss_grid *grid, dpa_error *err) {
    for (size_t d = 0; d < grid->directions; ++d)
        for (size_t side = 0; side < 2; ++side) {
            grid->direction[d].side[side] = dpa__calloc(model->count, sizeof(dpa__pmf), err);
            if (grid->direction[d].side[side] == NULL) return DPA_NO_MEMORY;
        }
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *unit = &model->unit[k];
        unit_cells cells = {0};
        dpa_status status = make_cells(model, unit, grid->h, log_tail, max, &cells, err);
        /* The cells of a randomized response already contain all its steps. */
        const double steps = unit->mechanism == DPA_RANDOMIZED_RESPONSE ? 1 : (double)unit->steps;
        if (status == DPA_OK) status = add_unit(grid, &cells, steps, err);
        unit_cells_free(&cells);
        DPA_TRY(status);
    }
    return DPA_OK;
}

dpa_status dpa__loss_grid_new(const dpa__composition *model, double h, double log_tail, size_t max,
                              dpa__loss_grid *out, dpa_error *err) {
    *out =
        (dpa__loss_grid){.h = snap(model, fmin(h, WIDEST)), .directions = model->symmetric ? 1 : 2};
    const dpa_status status = grid_fill(model, log_tail, max, out, err);
    if (status != DPA_OK) dpa__loss_grid_free(out);
    return status;
}

void dpa__loss_grid_free(dpa__loss_grid *grid) {
    for (size_t d = 0; d < grid->directions; ++d)
        for (size_t side = 0; side < 2; ++side) {
            dpa__pmf *pmf = grid->direction[d].side[side];
            for (size_t k = 0; pmf != NULL && k < grid->direction[d].count; ++k)
                dpa__pmf_free(&pmf[k]);
            free(pmf);
        }
    *grid = (dpa__loss_grid){0};
}
