/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phases in normal form: checked, merged, with closed forms where they exist; and discretised. */
#include "account/handle.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"

static dpa_status check_phase(const dpa_phase *p, size_t number, dpa_error *err) {
    static const char *const names[] = {"sigma", "scale", "epsilon", "sigma", "sigma"};
    if ((int)p->mechanism < DPA_GAUSSIAN || (int)p->mechanism > DPA_SHUFFLED)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: mechanism %d is none", number,
                         (int)p->mechanism);
    if (!(p->sigma > 0) || !isfinite(p->sigma))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: %s is %g; it must be above 0 and finite", number,
                         names[p->mechanism], p->sigma);
    if (p->mechanism == DPA_PAIR && p->pair == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: the pair is missing", number);
    if ((p->mechanism == DPA_GAUSSIAN || p->mechanism == DPA_SHUFFLED) &&
        (p->sigma < 1e-3 || p->sigma > 1e9))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: sigma is %g; it must be in [0.001, 1e9]", number, p->sigma);
    if (p->mechanism == DPA_LAPLACE && (p->sigma < 1e-5 || p->sigma > 1e9))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: scale is %g; it must be in [1e-5, 1e9]",
                         number, p->sigma);
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE && (p->sigma < 1e-9 || p->sigma > 1e5))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "phase %zu: epsilon is %g; it must be in [1e-9, 1e5]", number, p->sigma);
    if (!(p->q >= 1e-30 && p->q <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: q is %g; it must be in [1e-30, 1]",
                         number, p->q);
    if (p->steps == 0 || p->steps > UINT64_C(1000000000000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "phase %zu: steps is %llu; it must be in [1, 1e12]",
                         number, (unsigned long long)p->steps);
    return DPA_OK;
}

static int mergeable(const dpa_phase *a, const dpa_phase *b) {
    return a->mechanism == b->mechanism && a->sigma == b->sigma && a->q == b->q &&
           a->pair == b->pair;
}

static void add_unit(dpa__composition *model, dpa_phase p) {
    for (size_t k = 0; k < model->count; ++k)
        if (mergeable(&model->unit[k], &p)) {
            model->unit[k].steps += p.steps;
            return;
        }
    model->unit[model->count++] = p;
}

/* ε₀ of one step of a pure unit. */
static double unit_epsilon(const dpa_phase *p) {
    if (p->mechanism == DPA_LAPLACE) return 1 / p->sigma;
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE) return p->sigma;
    return p->mechanism == DPA_PAIR && p->q == 1 ? dpa__pair_pure(p->pair) : HUGE_VAL;
}

static int is_symmetric(const dpa__composition *model, const dpa_phase *p) {
    if (p->mechanism == DPA_PAIR) return p->q == 1 && dpa__pair_is_symmetric(p->pair);
    if (p->mechanism == DPA_SHUFFLED) return 0;
    return p->q == 1 || model->adjacency == DPA_REPLACE_ONE;
}

static void summarise(dpa__composition *model) {
    model->symmetric = 1;
    for (size_t k = 0; k < model->count; ++k) {
        const dpa_phase *p = &model->unit[k];
        model->steps += (double)p->steps;
        model->pure += unit_epsilon(p) * (double)p->steps;
        model->symmetric = model->symmetric && is_symmetric(model, p);
        model->has_gap = model->has_gap || p->mechanism == DPA_SHUFFLED;
    }
}

/* Uses a pair that the composition makes and owns: Poisson-sampled Laplace noise or response, or a
 * group. */
static dpa_status own_pair(dpa__composition *model, dpa_pair *pair, dpa_phase *p) {
    model->own[model->owned++] = pair;
    p->mechanism = DPA_PAIR;
    p->pair = pair;
    p->sigma = p->q = 1;
    return DPA_OK;
}

/* The number of the group's records in the batch is binomial. */
static dpa_status sampled_group(dpa__composition *model, double group, dpa_phase *p,
                                dpa_error *err) {
    const size_t count = (size_t)group + 1;
    const double zero = 0, one = 1;
    double *mean = DPA_NEW_ARRAY(double, 2 * count, err);
    if (mean == NULL) return DPA_NO_MEMORY;
    double *weight = mean + count;
    for (size_t k = 0; k < count; ++k) {
        mean[k] = (double)k;
        weight[k] = exp(dpa__binom_log_pmf((double)k, group, p->q));
    }
    dpa_pair *pair;
    const dpa_status status =
        dpa__pair_gaussians(p->sigma, mean, weight, count, &zero, &one, 1, &pair, err);
    free(mean);
    return status == DPA_OK ? own_pair(model, pair, p) : status;
}

static dpa_status apply_group(dpa__composition *model, double group, dpa_phase *p, dpa_error *err) {
    if (group == 1) return DPA_OK;
    if (p->mechanism == DPA_PAIR || (p->q < 1 && (model->adjacency == DPA_REPLACE_ONE ||
                                                  p->mechanism != DPA_GAUSSIAN || group > 1000)))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "group: known for noise without sampling, and for up to 1000 records and "
                         "Poisson-sampled Gaussian noise under add/remove; for a pair give that of "
                         "the whole group");
    if (p->mechanism == DPA_RANDOMIZED_RESPONSE) {
        p->steps *= (uint64_t)group; /* each record gives its own response */
        return DPA_OK;
    }
    if (p->q < 1) return sampled_group(model, group, p, err);
    p->sigma /= group;
    return DPA_OK;
}

/* Poisson sampling of mechanisms whose cells do not include it. */
static dpa_status apply_sampling(dpa__composition *model, dpa_phase *p, dpa_error *err) {
    if (p->q == 1 || p->mechanism == DPA_GAUSSIAN || p->mechanism == DPA_SHUFFLED) return DPA_OK;
    if (model->adjacency == DPA_REPLACE_ONE)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "q is %g: for replace-one only Gaussian noise can be sampled", p->q);
    if (p->mechanism == DPA_PAIR) return DPA_OK; /* the grid handles it */
    dpa_pair *pair;
    DPA_TRY(p->mechanism == DPA_LAPLACE ? dpa__pair_laplace(p->sigma, &pair, err)
                                        : dpa__pair_epsilon_delta(p->sigma, 0, &pair, err));
    DPA_TRY(dpa__pair_node(DPA__PAIR_SAMPLED, pair, p->q, &pair, err));
    return own_pair(model, pair, p);
}

static dpa_status add_phases(dpa__composition *model, const dpa_phase *phases, size_t count,
                             const dpa_account_opts *opts, dpa__keep keep, dpa_error *err) {
    double precision = 0; /* Σ steps/σ² of the Gaussian phases without sampling */
    for (size_t k = 0; k < count; ++k) {
        dpa_phase p = phases[k];
        DPA_TRY(apply_group(model, opts->group, &p, err));
        if (p.mechanism == DPA_GAUSSIAN && p.q == 1 && keep == DPA_COMBINE) {
            precision += (double)p.steps / (p.sigma * p.sigma);
            continue;
        }
        if (p.mechanism == DPA_LAPLACE && model->adjacency == DPA_REPLACE_ONE) p.sigma /= 2;
        DPA_TRY(apply_sampling(model, &p, err));
        add_unit(model, p);
    }
    if (precision > 0) {
        const dpa_phase whole = {DPA_GAUSSIAN, 1 / sqrt(precision), 1, 1, NULL};
        if (model->count == 0)
            model->mu = (model->adjacency == DPA_REPLACE_ONE ? 2 : 1) * sqrt(precision);
        add_unit(model, whole);
    }
    return DPA_OK;
}

dpa_status dpa__composition_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                                dpa__keep keep, dpa__composition *out, dpa_error *err) {
    *out = (dpa__composition){.adjacency = opts->adjacency};
    if (phases == NULL || count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no phase was given; at least one is needed");
    for (size_t k = 0; k < count; ++k) DPA_TRY(check_phase(&phases[k], k + 1, err));
    out->unit = DPA_NEW_ARRAY(dpa_phase, count + 1, err);
    if (out->unit != NULL) out->own = dpa__calloc(count, sizeof(dpa_pair *), err);
    if (out->own == NULL) return DPA_NO_MEMORY;
    DPA_TRY(add_phases(out, phases, count, opts, keep, err));
    summarise(out);
    return DPA_OK;
}

void dpa__composition_free(dpa__composition *model) {
    for (size_t k = 0; k < model->owned; ++k) dpa_pair_free(model->own[k]);
    free(model->own);
    free(model->unit);
    *model = (dpa__composition){0};
}

/* A claim discretised at one cell width: for every unit the two pmfs, in one or both directions. */

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

static dpa_status add_unit_cells(dpa__loss_grid *grid, const unit_cells *cells, double steps,
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
        if (status == DPA_OK) status = add_unit_cells(grid, &cells, steps, err);
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
