/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a damaged SQLite file: whatever row is found lies inside of what was given. */
#include <stdlib.h>

#include "fuzz.h"
#include "run/pages.h"

static dpa_status look(void *user, const dpa__cell *cell, dpa_error *err) {
    unsigned *sum = user;
    (void)err;
    if (cell->count > DPA__CELL_COLUMNS) abort();
    for (size_t i = 0; i < cell->count; ++i)
        for (size_t k = 0; k < cell->columns[i].size; ++k) *sum += cell->columns[i].bytes[k];
    return DPA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned sum = 0;
    dpa_error err = {0};
    const dpa_status status = dpa__pages_visit(data, size, look, &sum, &err);
    fuzz_check(status, &err);
    return 0;
}
