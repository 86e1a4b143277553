/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claim in normal form, and its discretisation at one cell width. */
#ifndef DPA_ACCOUNT_MODEL_H
#define DPA_ACCOUNT_MODEL_H

#include "account/pair.h"

/* Equal phases are one; Gaussian phases without sampling are one Gaussian step of μ = √Σ steps/σ²
 * (unless `keep` says that the grid shall do it, for tests). Replace-one doubles the sensitivity of
 * Gaussian and Laplace noise; Gaussian units keep that in `adjacency`, Laplace in `sigma`. A group
 * of k records moves noise k times as far; of a sampled Gaussian a binomial number of them is in
 * the batch, a mixture of Gaussians that the model owns (Ganesh 2024). */
typedef struct dpa__model {
    dpa_adjacency adjacency;
    dpa_phase *unit;
    size_t count;
    int symmetric; /* one direction is enough */
    double steps;  /* all of them */
    double mu;     /* when everything is one Gaussian without sampling, else 0 */
    double pure;   /* Σ ε₀ when every unit is pure, else INFINITY */
    int has_gap;   /* some unit's two sides stay apart however narrow the cells */
    size_t owned;
    dpa_pair **own;
} dpa__model;

typedef enum dpa__keep { DPA_COMBINE, DPA_KEEP } dpa__keep;

dpa_status dpa__model_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                          dpa__keep keep, dpa__model *out, dpa_error *err);
void dpa__model_free(dpa__model *model);

/* One direction: pmfs of every unit, optimistic and pessimistic. */
typedef struct dpa__pld {
    size_t count;
    dpa__pmf *side[2]; /* indexed by dpa__side */
} dpa__pld;

typedef struct dpa__grid {
    double h;
    size_t directions;
    dpa__pld direction[2];
} dpa__grid;

/* The width that puts about `cells` cells on the widest unit. */
double dpa__model_width(const dpa__model *model, double log_tail, double cells);
/* h may be narrowed a little so that atoms lie on grid points. */
dpa_status dpa__grid_new(const dpa__model *model, double h, double log_tail, size_t max,
                         dpa__grid *out, dpa_error *err);
void dpa__grid_free(dpa__grid *grid);

#endif
