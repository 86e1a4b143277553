/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claim in normal form, and its discretisation at one cell width. */
#ifndef DPA_ACCOUNT_COMPOSITION_H
#define DPA_ACCOUNT_COMPOSITION_H

#include "account/pair.h"

/* Equal phases are merged; all unsampled Gaussian phases become one Gaussian step with μ = √Σ
 * steps/σ² (unless `keep` asks for the grid, for tests). Replace-one doubles the sensitivity of
 * Gaussian and Laplace noise; Gaussian units record that in `adjacency`, Laplace units in `sigma`.
 * A group of k records moves the mean k times as far. For a sampled Gaussian a binomial number of
 * them is in the batch, which is a mixture of Gaussians that the composition owns (Ganesh 2024). */
typedef struct dpa__composition {
    dpa_adjacency adjacency;
    dpa_phase *unit;
    size_t count;
    int symmetric; /* one direction is enough */
    double steps;  /* sum over all units */
    double mu;     /* if all is one unsampled Gaussian, else 0 */
    double pure;   /* Σ ε₀ when every unit is pure, else INFINITY */
    int has_gap;   /* the two sides of some unit differ even with the narrowest cells */
    size_t owned;
    dpa_pair **own;
} dpa__composition;

typedef enum dpa__keep { DPA_COMBINE, DPA_KEEP } dpa__keep;

dpa_status dpa__composition_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                                dpa__keep keep, dpa__composition *out, dpa_error *err);
void dpa__composition_free(dpa__composition *model);

/* One direction: pmfs of every unit, optimistic and pessimistic. */
typedef struct dpa__pld {
    size_t count;
    dpa__pmf *side[2]; /* indexed by dpa__rounding */
} dpa__pld;

typedef struct dpa__loss_grid {
    double h;
    size_t directions;
    dpa__pld direction[2];
} dpa__loss_grid;

/* The cell width that gives the widest unit about `cells` cells. */
double dpa__composition_width(const dpa__composition *model, double log_tail, double cells);
/* h may be reduced a little so that atoms lie on grid points. */
dpa_status dpa__loss_grid_new(const dpa__composition *model, double h, double log_tail, size_t max,
                              dpa__loss_grid *out, dpa_error *err);
void dpa__loss_grid_free(dpa__loss_grid *grid);

#endif
