/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores that tests make. */
#ifndef DPA_TESTS_STORES_H
#define DPA_TESTS_STORES_H

#include <stdio.h>
#include <unistd.h>

/* Removes a store with all that may lie beside it: SQLite's log, its memory and its journal, the
 * lock, the status of its run. */
static inline void remove_store(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".lock", ".status.json"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
        char file[128];
        (void)snprintf(file, sizeof file, "%s%s", path, ends[i]);
        (void)unlink(file);
    }
}

#endif
