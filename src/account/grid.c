/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A claim discretised at one cell width: for every unit the two pmfs, in one or both directions. */
#include <math.h>
#include <stdlib.h>

#include "account/model.h"
#include "base/error.h"
#include "base/memory.h"

/* e^h must stay far from overflow. */
static const double WIDEST = 100;

static double atom_of(const dpa_phase *unit) {
    if (unit->mechanism == DPA_LAPLACE) return 1 / unit->sigma;
    return unit->mechanism == DPA_RANDOMIZED_RESPONSE ? unit->sigma : 0;
}

/* The first unit with atoms decides: they lie on grid points when h divides their loss. */
static double snap(const dpa__model *model, double h) {
    for (size_t k = 0; k < model->count; ++k) {
        const double atom = atom_of(&model->unit[k]);
        if (atom >= h) return atom / ceil(atom / h);
    }
    return h;
}

double dpa__model_width(const dpa__model *model, double log_tail, double cells) {
    double span = 0;
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *unit = &model->unit[k];
        const double n = (double)unit->steps, atom = atom_of(unit);
        double here;
        if (unit->mechanism == DPA_GAUSSIAN)
            here = dpa__gaussian_span(unit->sigma, unit->q, model->adjacency, log_tail);
        else if (unit->mechanism == DPA_LAPLACE)
            here = 2 * atom;
        else
            here = 2 * atom * fmin(n, sqrt(-n * log_tail / 2) + n * tanh(atom / 2));
        span = fmax(span, here);
    }
    return span / cells;
}

static dpa_status unit_cells(const dpa__model *model, const dpa_phase *unit, double h,
                             double log_tail, size_t max, dpa__loss_cells *out, dpa_error *err) {
    switch (unit->mechanism) {
    case DPA_GAUSSIAN:
        return dpa__loss_cells_gaussian(unit->sigma, unit->q, model->adjacency, h, log_tail, max,
                                        out, err);
    case DPA_LAPLACE:
        return dpa__loss_cells_laplace(atom_of(unit), h, max, out, err);
    default:
        return dpa__loss_cells_response(atom_of(unit), unit->steps, h, log_tail, max, out, err);
    }
}

static dpa_status add_pmfs(dpa__pld *pld, const dpa__loss_cells *cells, double steps,
                           dpa_error *err) {
    const size_t k = pld->count;
    DPA_TRY(dpa__pmf_pessimistic(cells, steps, &pld->side[DPA_PESSIMISTIC][k], err));
    const dpa_status status = dpa__pmf_optimistic(cells, steps, &pld->side[DPA_OPTIMISTIC][k], err);
    if (status != DPA_OK) {
        dpa__pmf_free(&pld->side[DPA_PESSIMISTIC][k]);
        return status;
    }
    ++pld->count;
    return DPA_OK;
}

static dpa_status add_unit(dpa__grid *grid, const dpa__loss_cells *cells, double steps,
                           dpa_error *err) {
    DPA_TRY(add_pmfs(&grid->direction[0], cells, steps, err));
    if (grid->directions == 1) return DPA_OK;
    dpa__loss_cells mirrored;
    DPA_TRY(dpa__loss_cells_mirror(cells, &mirrored, err));
    const dpa_status status = add_pmfs(&grid->direction[1], &mirrored, steps, err);
    dpa__loss_cells_free(&mirrored);
    return status;
}

static dpa_status grid_fill(const dpa__model *model, double log_tail, size_t max, dpa__grid *grid,
                            dpa_error *err) {
    for (size_t d = 0; d < grid->directions; ++d)
        for (size_t side = 0; side < 2; ++side) {
            grid->direction[d].side[side] = dpa__calloc(model->count, sizeof(dpa__pmf), err);
            if (grid->direction[d].side[side] == NULL) return DPA_NO_MEMORY;
        }
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *unit = &model->unit[k];
        dpa__loss_cells cells;
        DPA_TRY(unit_cells(model, unit, grid->h, log_tail, max, &cells, err));
        /* The cells of a randomized response hold all its steps. */
        const double steps = unit->mechanism == DPA_RANDOMIZED_RESPONSE ? 1 : (double)unit->steps;
        const dpa_status status = add_unit(grid, &cells, steps, err);
        dpa__loss_cells_free(&cells);
        DPA_TRY(status);
    }
    return DPA_OK;
}

dpa_status dpa__grid_new(const dpa__model *model, double h, double log_tail, size_t max,
                         dpa__grid *out, dpa_error *err) {
    *out = (dpa__grid){.h = snap(model, fmin(h, WIDEST)), .directions = model->symmetric ? 1 : 2};
    const dpa_status status = grid_fill(model, log_tail, max, out, err);
    if (status != DPA_OK) dpa__grid_free(out);
    return status;
}

void dpa__grid_free(dpa__grid *grid) {
    for (size_t d = 0; d < grid->directions; ++d)
        for (size_t side = 0; side < 2; ++side) {
            dpa__pmf *pmf = grid->direction[d].side[side];
            for (size_t k = 0; pmf != NULL && k < grid->direction[d].count; ++k)
                dpa__pmf_free(&pmf[k]);
            free(pmf);
        }
    *grid = (dpa__grid){0};
}
