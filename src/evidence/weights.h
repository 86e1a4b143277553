/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a model, from files and streams. */
#ifndef DPA_EVIDENCE_WEIGHTS_H
#define DPA_EVIDENCE_WEIGHTS_H

#include "base/stream.h"
#include "dpaudit/status.h"

/* A borrowed view of a model, or of a change of one; exactly one of the two pointers is not NULL.
 */
typedef struct dpa_vector {
    const float *f32;
    const double *f64;
    size_t dim;
} dpa_vector;

/* A model that owns its memory: float32, or float64 if a file has more precision. All zeros is an
 * empty one; free with dpa__weights_free. */
typedef struct dpa_weights {
    float *f32;
    double *f64;
    size_t dim;
} dpa_weights;

/* Appends the numbers of a file. Its first bytes tell the format: safetensors (tensors of F64, F32,
 * F16 or BF16 in the order of the file), NPY, an NPZ with one array, or text with one number per
 * line; a name that ends in .f32 or .f64 means raw little-endian numbers. `sha256` (may be NULL)
 * gets the hash of the stored bytes in hex. On failure the model is unchanged. */
DPA_API dpa_status dpa__weights_append(dpa_weights *model, const char *path,
                                       char sha256[DPA_SHA256_SIZE], dpa_error *err) DPA_MUST_USE;
/* A view of the model; valid until the model changes or is freed. */
DPA_API dpa_vector dpa__weights_vector(const dpa_weights *model);
DPA_API void dpa__weights_free(dpa_weights *model);

/* Appends a model; dpa__weights_append calls it once the file is open. */
dpa_status dpa__weights_from_stream(dpa__stream *stream, dpa_weights *model,
                                    char sha256[DPA_SHA256_SIZE], dpa_error *err);

#endif
