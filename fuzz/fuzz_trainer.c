/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a message between games and trainers: its arrays and seeds are read, or an error;
 * ids that were understood are written back as the same ids. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "game/trainer.h"

enum { EXAMPLES = 1000 };

static void write_again(const size_t *ids, size_t count) {
    dpa__text line = {0};
    dpa_error err = {0};
    json_t *message = NULL;
    size_t *again = NULL, found = 0;
    dpa__text_add(&line, "{\"id\":1");
    if (count <= DPA__INLINE_IDS &&
        dpa__put_ids(&line, "batch", ids, count, "/nowhere", "to", &err) == DPA_OK) {
        dpa__text_add(&line, "}");
        if (!line.failed &&
            dpa__json_parse("again", line.data, line.length, &message, &err) == DPA_OK) {
            if (dpa__take_ids(message, "batch", "/nowhere", EXAMPLES, &again, &found, &err) !=
                    DPA_OK ||
                found != count || (count > 0 && memcmp(again, ids, count * sizeof *ids) != 0))
                abort();
            free(again);
        }
        json_decref(message);
    }
    dpa__text_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *message = NULL;
    dpa_error err = {0};
    double *numbers = NULL;
    size_t *ids = NULL, count = 0;
    uint64_t seed = 0;
    if (dpa__json_parse("message", (const char *)data, size, &message, &err) != DPA_OK) return 0;
    if (json_is_object(message)) {
        dpa_status status =
            dpa__take_numbers(message, "signals", "/nowhere", &numbers, &count, &err);
        fuzz_check(status, &err);
        free(numbers);
        status = dpa__take_ids(message, "batch", "/nowhere", EXAMPLES, &ids, &count, &err);
        fuzz_check(status, &err);
        if (status == DPA_OK) write_again(ids, count);
        free(ids);
        status = dpa__take_seed(message, "seed", &seed, &err);
        fuzz_check(status, &err);
    }
    json_decref(message);
    return 0;
}
