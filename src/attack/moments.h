/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over models for a strip of neighbouring columns of the signal matrix: all that an attack
 * needs from its shadow models, computed at memory speed. */
#ifndef DPA_ATTACK_MOMENTS_H
#define DPA_ATTACK_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Columns of a strip, at most: rows are long enough for hardware prefetching, and the sums fit the
 * caches. Kernels take columns in multiples of DPA__COLUMNS, the lanes of the widest vector. */
enum { DPA__STRIP = 1024, DPA__COLUMNS = 8 };

/* A strip of the matrix. `member` NULL: nobody is a member. */
typedef struct dpa__strip {
    const double *signal;  /* first column of row 0 */
    const uint8_t *member; /* likewise */
    size_t stride;         /* columns of the signal matrix */
    size_t repeat;         /* neighbouring columns that share one membership: augmentations */
    size_t phase;          /* columns of the first membership that lie before the strip */
    const size_t *row;     /* the models to use */
    size_t rows, width;    /* how many, and columns of this strip */
} dpa__strip;

/* Whose probabilities are summed. */
typedef enum dpa__sides {
    DPA__SIDES_NONE, /* all models: nobody is a member */
    DPA__SIDES_OUT,  /* those without the point; sum_in is worth nothing */
    DPA__SIDES_BOTH
} dpa__sides;

/* Each [width]. Values are taken relative to `origin`, one of the side's own values if there is one
 * early in the list, so that a small variance beside a large mean loses no digits. */
typedef struct dpa__moments {
    uint64_t count_in[DPA__STRIP];
    double origin_in[DPA__STRIP], sum_in[DPA__STRIP], square_in[DPA__STRIP];
    double origin_out[DPA__STRIP], sum_out[DPA__STRIP], square_out[DPA__STRIP];
} dpa__moments;

/* Sums and sums of squares of the signals. */
void dpa__strip_signals(const dpa__strip *strip, dpa__moments *out);
/* Sums of the probabilities that the signals mean; origins and squares are left alone. A signal
 * that is not finite makes the sum NaN. `member` NULL is DPA__SIDES_NONE. Within 4 ulp per signal,
 * of a signal that differs from the given one by at most an eighth of an ulp. */
void dpa__strip_probabilities(const dpa__strip *strip, int is_loss, dpa__sides sides,
                              dpa__moments *out);

/* The probability of the true label: 1/(1+e^−x) for a logit, e^−x for a loss. Within 4 ulp of the
 * exact value for |x| ≤ 690 (1e-299.7); beyond, ±690 is used. */
void dpa__probabilities(const double *signal, size_t count, int is_loss, double *out);

#endif
