/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the file of an experiment: it is read, with choices and numbers in their range, or
 * there is an error that says why. */
#include <string.h>

#include "dpaudit/lab/game.h"
#include "fuzz.h"

static void try_experiment(const char *path) {
    dpa_experiment *experiment = NULL;
    dpa_error err = {0};
    const dpa_status status = dpa_experiment_read(path, &experiment, &err);
    fuzz_check(status, &err);
    if (status != DPA_OK) return;
    if (experiment->kind < 0 || experiment->kind >= DPA_GAME_KINDS) abort();
    if (experiment->path == NULL || strcmp(experiment->path, path) != 0) abort();
    if (experiment->game.canary > DPA_GAME_CRAFTED || !(experiment->seconds > 0.0)) abort();
    if (!(experiment->confidence > 0.0 && experiment->confidence < 1.0)) abort();
    dpa_experiment_free(experiment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[FUZZ_PATH];
    const int file = fuzz_file(data, size, path);
    if (file < 0) return 0;
    try_experiment(path);
    (void)close(file);
    return 0;
}
