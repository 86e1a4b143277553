/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file of trials: what is understood is written back the same; the rest is stepped
 * over. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "run/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    while (size > 0) {
        dpa__record record = {0};
        size_t used = 0;
        dpa__record_take(data, size, &record, &used);
        if (used > size) abort();
        if (used > 0) {
            dpa__text again = {0};
            dpa__record second = {0};
            size_t length = 0;
            dpa__record_put(&again, &record);
            if (again.failed) abort();
            dpa__record_take((const unsigned char *)again.data, again.length, &second, &length);
            if (length != again.length || second.index != record.index ||
                second.count != record.count)
                abort();
            dpa__text_free(&again);
        } else {
            used = dpa__record_find(data, size);
            if (used == 0) abort();
        }
        data += used;
        size -= used;
    }
    return 0;
}
