/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a model file (safetensors, or whatever its first bytes say): a model or a clean
 * error. */
#include "evidence/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa__stream *stream = NULL;
    dpa_weights weights = {0};
    dpa_error err;
    char hash[DPA_SHA256_SIZE];
    if (dpa__stream_open_memory("input", data, size, &stream, &err) != DPA_OK) return 0;
    (void)dpa__weights_from_stream(stream, &weights, hash, &err);
    dpa__stream_close(stream);
    dpa__weights_free(&weights);
    return 0;
}
