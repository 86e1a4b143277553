/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gzip and xz around any array: the bytes choose the format as a file's do. */
#include "fuzz.h"

#include "base/array.h"

static dpa_status read_any(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    return dpa__array_from_stream(stream, NULL, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_array(data, size, read_any);
    return 0;
}
