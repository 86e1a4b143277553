/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the attacks share. */
#ifndef DPA_ATTACK_ATTACK_H
#define DPA_ATTACK_ATTACK_H

#include "dpaudit/attack.h"

/* Per point: how many of the used models have it, and mean and variance (divided by n) of their
 * signals, each [points]. */
typedef struct dpa__side {
    double *count, *mean, *variance;
} dpa__side;

typedef struct dpa__shadow {
    dpa__side in, out;
    double *block; /* all of them */
} dpa__shadow;

/* What a signal is turned into before the mean is taken. */
typedef double (*dpa__transform)(double signal);

/* One pass over the matrix, leaving out the target and the excluded models. `transform` NULL: the
 * signal itself, turned so that higher fits better. */
dpa_status dpa__shadow_new(const dpa_signals *signals, const dpa_attack_opts *opts,
                           dpa__transform transform, dpa__shadow *out, dpa_error *err);
void dpa__shadow_free(dpa__shadow *shadow);
int dpa__is_used(const dpa_attack_opts *opts, size_t model);
/* −1 for losses: higher fits better afterwards. */
double dpa__signal_sign(const dpa_signals *signals);
/* A point that no model of the wanted side covers: DPA_BAD_INPUT with its number. */
dpa_status dpa__need_side(const dpa__side *side, size_t points, double least, const char *which,
                          dpa_error *err);

dpa_status dpa__lira(const dpa_signals *signals, const dpa_attack_opts *opts, double *scores,
                     dpa_error *err);
dpa_status dpa__rmia(const dpa_signals *signals, const dpa_attack_opts *opts, double *scores,
                     dpa_error *err);

#endif
