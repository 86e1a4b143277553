/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games from files that a test writes into a folder of its own. */
#ifndef DPA_TESTS_GAME_FILE_H
#define DPA_TESTS_GAME_FILE_H

#include "check.h"

#include <sys/stat.h>

#include "dpaudit/data.h"
#include "dpaudit/game.h"

/* FOLDER/name of this process's folder under /tmp, which is made when it is not there. */
static inline const char *game_file(const char *name) {
    static char path[4][256];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "/tmp/dpa_game_%d", (int)getpid());
    (void)mkdir(out, 0777);
    (void)snprintf(out, sizeof path[0], "/tmp/dpa_game_%d/%s", (int)getpid(), name);
    return out;
}

static inline const char *game_write(const char *name, const char *text) {
    const char *path = game_file(name);
    assert_ok(dpa_file_write(path, text, strlen(text), NULL));
    return path;
}

/* Takes away what the tests left. */
static inline int game_clean(void **state) {
    (void)state;
    const char *const names[] = {"data.csv", "train.yaml", "audit.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(game_file(names[i]));
    (void)rmdir(game_file("."));
    return 0;
}

#endif
