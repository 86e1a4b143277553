/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a canary handle. */
#ifndef DPA_EVIDENCE_CANARY_H
#define DPA_EVIDENCE_CANARY_H

#include "dpaudit/canary.h"
#include "evidence/canary_kernel.h"

struct dpa_canaries {
    dpa_canaries_opts opts; /* threads ≥ 1 */
    const dpa__canary_kernel *kernel;
    size_t count;
    double *norm;    /* [count] of the raw normals; NaN until it is needed */
    double *largest; /* [count] cosine over the rounds */
    uint64_t rounds;
};

/* Adds the sums of z·model and z² over positions first … first+size−1 of a canary to dot and
 * square: one chunk (first a multiple of DPA__CHUNK, size ≤ DPA__CHUNK). */
void dpa__canary_chunk(const dpa_canaries *canaries, const dpa__canary_stream *stream, size_t first,
                       size_t size, const double *model, double *dot, double *square);

/* The same dot products for `models` vectors at once (a multiple of DPA__DOTS), whose chunks lie
 * DPA__CHUNK apart, with zeros behind `size`: dot[0..models) of one canary. */
void dpa__canary_chunk_many(const dpa_canaries *canaries, const dpa__canary_stream *stream,
                            size_t first, size_t size, const double *model, size_t models,
                            double *dot);

/* The norm of a canary's normals, remembered after the first time. */
double dpa__canary_norm(dpa_canaries *canaries, size_t index);

/* The state as bytes in a new block, and back; `name` is for errors. */
dpa_status dpa__canaries_encode(const dpa_canaries *canaries, unsigned char **out, size_t *size,
                                dpa_error *err);
dpa_status dpa__canaries_decode(const char *name, const unsigned char *bytes, size_t size,
                                const dpa_canaries_opts *opts, dpa_canaries **out, dpa_error *err);

#endif
