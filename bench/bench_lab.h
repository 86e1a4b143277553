/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For benchmarks of runs: a temporary folder, an experiment with an external trainer in it, and the
 * dpaudit program beside this one. */
#ifndef DPA_BENCH_LAB_H
#define DPA_BENCH_LAB_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/sha256.h"
#include "base/write.h"
#include "bench.h"
#include "dpaudit/lab/run.h"

static char folder[] = "/tmp/dpa_bench_XXXXXX", program[4096];
static dpa_error err;

static inline void must(dpa_status status) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "bench: %s %s\n", err.place, err.text);
    dpa__folder_remove(folder);
    exit(1);
}

static inline int begin(void) {
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 16);
    char *slash = n > 0 ? strrchr(program, '/') : NULL;
    if (slash == NULL || mkdtemp(folder) == NULL) return 0;
    (void)strcpy(slash + 1, "dpaudit");
    return 1;
}

static inline const char *in_folder(const char *name) {
    static char path[4][256];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static inline void open_experiment(const char *command, unsigned models, dpa_experiment **e,
                                   dpa_game **game) {
    char text[512];
    const int n = snprintf(text, sizeof text,
                           "game: {kind: command, command: \"%s\", points: 4, models: %u, "
                           "design: leave-one-out, signal: logit}\n",
                           command, models);
    must(dpa__file_write(in_folder("bench.yaml"), text, (size_t)n, &err));
    must(dpa_experiment_read(in_folder("bench.yaml"), e, &err));
    must(dpa_game_open(*e, game, &err));
}

/* The key under which its trials are stored. */
static inline void key_of(const dpa_game *game, char key[DPA_SHA256_SIZE]) {
    char own[DPA_SHA256_SIZE];
    must(dpa_game_key(game, 0, own, &err));
    dpa__sha256_of(own, strlen(own), key);
}

#endif
