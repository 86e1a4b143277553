/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON. */
#include "fuzz.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa__stream *stream = fuzz_stream(data, size);
    json_t *root;
    dpa_error err = {0};
    if (stream == NULL) return 0;
    const dpa_status status = dpa__json_from_stream(stream, &root, NULL, &err);
    fuzz_check(status, &err);
    dpa__stream_close(stream);
    if (status == DPA_OK) json_decref(root);
    return 0;
}
