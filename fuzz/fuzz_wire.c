/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as messages of a worker: they are understood, or an error; what was understood is
 * written back the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "run/wire.h"

static void use(const dpa__message *m, const uint8_t *bytes, size_t used) {
    dpa_values values = {0};
    dpa_error err = {0}, failure = {0};
    dpa_status status = dpa__wire_values(m, &values, &err);
    fuzz_check(status, &err);
    dpa_values_free(&values);
    status = dpa__wire_failure(m, &failure, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK && failure.status == DPA_OK) abort();
    dpa__text again = {0};
    dpa__wire_put(&again, m);
    if (!again.failed && (again.length != used || memcmp(again.data, bytes, used) != 0)) abort();
    dpa__text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    while (size > 0) {
        dpa__message m;
        dpa_error err = {0};
        size_t used = 0;
        const dpa_status status = dpa__wire_take(data, size, &m, &used, &err);
        fuzz_check(status, &err);
        if (status != DPA_OK || used == 0) break;
        if (used > size) abort();
        use(&m, data, used);
        data += used;
        size -= used;
    }
    return 0;
}
