/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Privacy loss distributions on a grid: the stages between a mechanism and its composed bounds.
 *
 *   mechanism ─► cells ─► two pmfs ─► composed ─► δ(ε), ε(δ), curve
 *
 * cells: the loss axis cut every h; each cell keeps two numbers that fix its masses under P
 * and Q. pmf: P-masses at grid losses, either dominating the mechanism (pessimistic) or dominated
 * by it (optimistic). composed: the pmf of the sum of all steps' losses, exponentially tilted,
 * every bin within a known error. docs/methods/account.md has the statements and proofs. */
#ifndef DPA_ACCOUNT_PLD_H
#define DPA_ACCOUNT_PLD_H

#include <stddef.h>
#include <stdint.h>

#include "account/account.h"

/* The loss at a grid point. Every mechanism has its own origin, such that a grid point lies in a
 * cluster of losses far narrower than a cell. Origins add up in a composition. */
static inline double dpa__loss_at(double origin, double h, ptrdiff_t index) {
    return origin + h * (double)index;
}

/* log(1−q+qe^z) without cancellation, for q just below 1 too. */
double dpa__log_mixture(double q, double z);

/* The cell i covers losses [g_i, g_{i+1}], g_i = origin + (first+i)h. Its P-mass is low + high and
 * its Q-mass low·e^−lower + high·e^−upper: the split of connect-the-dots. Both are non-negative
 * integrals, so they are known to a relative error. */
typedef struct dpa__loss_cells {
    double h, origin;
    ptrdiff_t first;
    size_t count;
    double *log_low, *log_high;
    double p_out, q_out;   /* upper bounds of the masses outside all cells */
    double p_sure, q_sure; /* the part that certainly has an infinite loss (in its direction) */
    float *error;          /* relative error of a cell's low and high */
    double shift;          /* a grid point stands for losses this close to its own */
} dpa__loss_cells;

/* The cells of one step; e^log_tail is the mass that may be left out on each side. */
dpa_status dpa__loss_cells_gaussian(double sigma, double q, dpa_adjacency adjacency, double h,
                                    double log_tail, size_t max, dpa__loss_cells *out,
                                    dpa_error *err);
/* The width of the range of losses that these cells cover. */
double dpa__gaussian_span(double sigma, double q, dpa_adjacency adjacency, double log_tail);
dpa_status dpa__loss_cells_laplace(double epsilon0, double h, size_t max, dpa__loss_cells *out,
                                   dpa_error *err);
/* All steps of binary randomized response at once; the number of losses +ε₀ is binomial. */
dpa_status dpa__loss_cells_response(double epsilon0, uint64_t steps, double h, double log_tail,
                                    size_t max, dpa__loss_cells *out, dpa_error *err);
/* The reversed pair: losses change sign, P and Q change places. */
dpa_status dpa__loss_cells_mirror(const dpa__loss_cells *cells, dpa__loss_cells *out,
                                  dpa_error *err);
dpa_status dpa__loss_cells_alloc(double h, double first, double last, size_t max,
                                 dpa__loss_cells *out, dpa_error *err);
/* Empty cells for losses in this range, and adding an atom to cells. */
dpa_status dpa__loss_cells_between(double lowest, double highest, double h, size_t max,
                                   dpa__loss_cells *out, dpa_error *err);
void dpa__loss_cells_atom(dpa__loss_cells *cells, double loss, double log_mass);
void dpa__loss_cells_free(dpa__loss_cells *cells);

typedef struct dpa__pmf {
    double h, origin;
    ptrdiff_t first;
    size_t count;
    double *log_mass;
    double steps;
    double out; /* P-mass with infinite loss: an upper bound, or (optimistic) what is certain */
    double shift;
} dpa__pmf;

/* Masses are rounded to the safe side. */

dpa_status dpa__pmf_pessimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                                dpa_error *err);
dpa_status dpa__pmf_optimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                               dpa_error *err);
void dpa__pmf_free(dpa__pmf *pmf);
/* log Σ mass·e^(θ·loss). */
double dpa__pmf_log_mgf(const dpa__pmf *pmf, double theta);

/* A tilted step: mass[i] = e^(log_mass + θ·loss − log_scale); the masses sum to about 1. */
typedef struct dpa__tilted {
    double h, origin;
    ptrdiff_t first;
    size_t count;
    double *mass;
    double steps, log_scale;
    double mean, variance; /* of one step */
    double error;          /* relative error of a mass: that of the exponential */
} dpa__tilted;
dpa_status dpa__tilt(const dpa__pmf *pmf, double theta, dpa__tilted *out, dpa_error *err);
void dpa__tilted_free(dpa__tilted *tilted);

/* The tilted sum falls below `lower` with at most e^log_below of mass and above `upper` with at
 * most e^log_above (bounds of these very pmfs, so they are proven and not estimated): log_tail, or
 * −INFINITY where the window reaches as far as the sum can. */
typedef struct dpa__range {
    double lower, upper, log_below, log_above;
} dpa__range;
dpa__range dpa__window(const dpa__tilted *tilted, size_t count, double log_tail);

typedef enum dpa__rounding { DPA_OPTIMISTIC, DPA_PESSIMISTIC } dpa__rounding;

/* Suffix sums of the composed pmf, tilted: with S the sum of losses, bins ℓ_j = origin + (first+j)h
 * and p_k the bound of Pr[S = ℓ_k]·e^(θℓ_k − log_scale), b[j] = Σ_{k>j} p_k e^((θ+1)(ℓ_j−ℓ_k)),
 * c[j] = Σ_{k>j} p_k e^(θ(ℓ_j−ℓ_k)) − b[j], so that δ(ℓ_j) = e^(log_scale − θℓ_j)·c[j]. */
typedef struct dpa__composed {
    dpa__rounding side;
    double h, origin, theta, log_scale;
    ptrdiff_t first;
    size_t count;
    double *b, *c;
    size_t from;   /* below this bin sums underflow: an optimistic δ is read here instead */
    double extra;  /* P-mass of infinite losses, and (pessimistic) of losses above the window */
    double factor; /* relative error of everything multiplied, ≥ 0 */
    double shift;  /* error of the loss */
} dpa__composed;

typedef struct dpa__compose_opts {
    double theta;
    double log_accuracy; /* log of the relative effect on δ that truncating the window may have */
    size_t max_grid;
} dpa__compose_opts;

/* Composes pmfs of one side and one direction, all with the same h. DPA_NUMERIC if max_grid is too
 * small. */
dpa_status dpa__compose(const dpa__pmf *pmf, size_t count, dpa__rounding side,
                        const dpa__compose_opts *opts, dpa__composed *out, dpa_error *err);
void dpa__composed_free(dpa__composed *composed);

/* Values on the safe side: at least (pessimistic) or at most (optimistic) the true δ and ε. */
double dpa__composed_log_delta(const dpa__composed *composed, double epsilon);
double dpa__composed_epsilon(const dpa__composed *composed, double delta);

/* The best tilt for reading around δ, or around ε: the minimum of the Chernoff bound. */
double dpa__tilt_for_delta(const dpa__pmf *pmf, size_t count, double delta, double *epsilon);
double dpa__tilt_for_epsilon(const dpa__pmf *pmf, size_t count, double epsilon);

#endif
