/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models from streams. */
#ifndef DPA_EVIDENCE_WEIGHTS_H
#define DPA_EVIDENCE_WEIGHTS_H

#include "base/stream.h"
#include "dpaudit/canary.h"

typedef enum dpa__element {
    DPA__ELEMENT_F64,
    DPA__ELEMENT_F32,
    DPA__ELEMENT_F16,
    DPA__ELEMENT_BF16
} dpa__element;

size_t dpa__element_size(dpa__element element);
/* Appends little-endian elements. The first F64 converts the model to float64. */
dpa_status dpa__weights_add(dpa_weights *model, dpa__element element, const unsigned char *bytes,
                            size_t count, dpa_error *err);

int dpa__safetensors_matches(const unsigned char *bytes, size_t count);
dpa_status dpa__safetensors_read(dpa__stream *stream, dpa_weights *model,
                                 char sha256[DPA_SHA256_SIZE], dpa_error *err);

/* Appends a model; dpa_weights_append calls it once the file is open. */
dpa_status dpa__weights_from_stream(dpa__stream *stream, dpa_weights *model,
                                    char sha256[DPA_SHA256_SIZE], dpa_error *err);

#endif
