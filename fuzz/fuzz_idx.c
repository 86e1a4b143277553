/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IDX. */
#include "fuzz.h"

#include "base/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_array(data, size, dpa__idx_read);
    return 0;
}
