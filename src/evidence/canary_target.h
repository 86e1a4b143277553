/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector that canaries are compared with. */
#ifndef DPA_EVIDENCE_CANARY_TARGET_H
#define DPA_EVIDENCE_CANARY_TARGET_H

#include "evidence/weights.h"

/* model − initial, scaled by a power of two such that its largest element is near 1. Then no square
 * and no float32 overflows or underflows. */
typedef struct dpa__target {
    const dpa_vector *model, *initial; /* initial NULL: 0 */
    double scale;
    double norm; /* of the scaled vector; 0 for a vector of zeros */
} dpa__target;

/* Fails if an element is not finite, or if all are zero and that is not allowed. */
dpa_status dpa__target_init(dpa__target *d, const dpa_vector *model, const dpa_vector *initial,
                            size_t dim, int may_be_zero, dpa_error *err);
/* Elements first … first+size−1, at most DPA__CHUNK, scaled, to 29 significant bits. */
void dpa__target_load(const dpa__target *d, size_t first, size_t size, double *out);

#endif
