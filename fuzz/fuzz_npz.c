/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NPZ: the only array, and one by name. */
#include "fuzz.h"

#include "base/array.h"

static dpa_status read_only(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    return dpa__npz_read(stream, NULL, out, err);
}

static dpa_status read_members(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    return dpa__npz_read(stream, "members", out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_array(data, size, read_only);
    fuzz_array(data, size, read_members);
    return 0;
}
