/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as features of points: refused in words, or a matrix of finite numbers. */
#include "fuzz.h"

#include <math.h>

#include "attack/attack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa_features features;
    dpa_error err = {0};
    char path[FUZZ_PATH];
    const int file = fuzz_file(data, size, path);
    if (file < 0) return 0;
    const dpa_status status = dpa__features_read(path, NULL, &features, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK) {
        if (features.points == 0 || features.count == 0) abort();
        for (size_t i = 0; i < features.points * features.count; ++i)
            if (!isfinite(features.value[i])) abort();
        dpa__features_free(&features);
    }
    (void)close(file);
    return 0;
}
