/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominating pairs of any mechanism, and how they become atoms of the privacy loss.
 *
 * A pair is a small tree: pmfs and mixtures of Gaussians are its leaves; sampling, a choice that
 * the output reveals, and the symmetric pair of a sample of fixed size are its nodes. Each gives
 * two lists of atoms at a wanted resolution, one that dominates it and one that it dominates. */
#ifndef DPA_ACCOUNT_PAIR_H
#define DPA_ACCOUNT_PAIR_H

#include "account/pld.h"

/* P-masses at losses log(p/q), so that the Q-mass of an atom is its P-mass times e^−loss. Masses
 * without a finite loss are kept apart: P-mass where Q has none, and the reverse. `sure` is
 * certainly there; `out` is an upper bound that includes the truncated tails. */
typedef struct dpa__atoms {
    size_t count, room;
    double *loss, *log_mass;
    double p_out, p_sure, q_out, q_sure;
    double error; /* relative error of a mass */
    double shift; /* absolute error of a loss */
} dpa__atoms;

dpa_status dpa__atoms_add(dpa__atoms *atoms, double loss, double log_mass, dpa_error *err);
void dpa__atoms_free(dpa__atoms *atoms);

/* Poisson sampling at rate q: P becomes (1−q)Q + qP. */
dpa_status dpa__atoms_sample(dpa__atoms *atoms, double q, dpa_error *err);
/* The pair that equals its own reverse and has the same δ(ε) for every ε ≥ 0. */
dpa_status dpa__atoms_symmetric(dpa__atoms *atoms, dpa__rounding side, dpa_error *err);
/* Adds `more`, each mass times `weight`. */
dpa_status dpa__atoms_join(dpa__atoms *atoms, const dpa__atoms *more, double weight,
                           dpa_error *err);
/* Splits every atom between the two grid points around it. */
dpa_status dpa__loss_cells_atoms(const dpa__atoms *atoms, double h, size_t max,
                                 dpa__loss_cells *out, dpa_error *err);

typedef enum dpa__pair_kind {
    DPA__PAIR_ATOMS,     /* exact */
    DPA__PAIR_GAUSSIANS, /* Σ weight·N(mean, σ²) each, P's means ≥ 0 ≥ Q's */
    DPA__PAIR_LAPLACE,   /* Laplace noise of scale σ, sensitivity 1 */
    DPA__PAIR_SAMPLED,   /* part[0], Poisson-sampled at rate q */
    DPA__PAIR_CHOICE,    /* part[k] with probability weight[k]; the output reveals k */
    DPA__PAIR_SYMMETRIC  /* of part[0] */
} dpa__pair_kind;

struct dpa_pair {
    dpa__pair_kind kind;
    dpa__atoms atoms;
    double lattice; /* all losses are multiples of this; 0: they are not */
    double sigma, q;
    size_t means[2];
    double *mean[2], *weight[2]; /* for P and for Q */
    size_t parts;
    dpa_pair **part;
    double *chance; /* of the parts; what is missing to 1 has an infinite loss */
};

/* A node owns its parts, which are freed if the call fails. */
dpa_status dpa__pair_gaussians(double sigma, const double *mean_p, const double *weight_p,
                               size_t count_p, const double *mean_q, const double *weight_q,
                               size_t count_q, dpa_pair **out, dpa_error *err);
dpa_status dpa__pair_laplace(double scale, dpa_pair **out, dpa_error *err);
dpa_status dpa__pair_node(dpa__pair_kind kind, dpa_pair *part, double q, dpa_pair **out,
                          dpa_error *err);
dpa_status dpa__pair_choice(dpa_pair **part, const double *chance, size_t count, dpa_pair **out,
                            dpa_error *err);
/* Exact pairs, named after their mechanism. */
dpa_status dpa__pair_epsilon_delta(double epsilon, double delta, dpa_pair **out, dpa_error *err);
dpa_status dpa__pair_response(double noise, double buckets, dpa_pair **out, dpa_error *err);
dpa_status dpa__pair_discrete_laplace(double a, double sensitivity, dpa_pair **out, dpa_error *err);
dpa_status dpa__pair_discrete_gaussian(double sigma, double sensitivity, dpa_pair **out,
                                       dpa_error *err);
/* The largest coordinate of a shuffled epoch; a pair that the epoch dominates. */
dpa_status dpa__pair_shuffled_maximum(double sigma, double batches, double less, dpa_pair **out,
                                      dpa_error *err);

/* The atoms at about this resolution of the loss; out is indexed by dpa__rounding. */
dpa_status dpa__pair_atoms(const dpa_pair *pair, double resolution, double log_tail, size_t max,
                           dpa__atoms out[2], dpa_error *err);
/* The smallest and the largest finite loss, without the tails. */
void dpa__pair_range(const dpa_pair *pair, double log_tail, double range[2]);
int dpa__pair_is_symmetric(const dpa_pair *pair);
/* The largest loss in either direction; INFINITY unless the pair is exact and all losses are
 * finite. */
double dpa__pair_pure(const dpa_pair *pair);

#endif
