/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games from files that a test writes into its own folder. */
#ifndef DPA_TESTS_GAME_FILE_H
#define DPA_TESTS_GAME_FILE_H

#include "check.h"

#include <sys/stat.h>

#include "base/data.h"
#include "dpaudit/lab/game.h"

/* FOLDER/name in this process's folder under /tmp, which is made if needed. */
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
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    return path;
}

/* Removes what the tests left. */
static inline int game_clean(void **state) {
    (void)state;
    const char *const names[] = {"data.csv", "train.yaml", "audit.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(game_file(names[i]));
    (void)rmdir(game_file("."));
    return 0;
}

static inline dpa_experiment *black_box_experiment(const char *game) {
    char text[512];
    (void)snprintf(text, sizeof text, "{training: train.yaml, game: {kind: black-box, %s}}\n",
                   game);
    dpa_experiment *e = NULL;
    dpa_error err = {0};
    if (dpa_experiment_read(game_write("audit.yaml", text), &e, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return e;
}

static inline dpa_game *game_open(const dpa_experiment *e) {
    dpa_game *game = NULL;
    dpa_error err = {0};
    if (dpa_game_open(e, &game, &err) != DPA_OK) fail_msg("%s", err.text);
    return game;
}

/* Plays all trials of a game of one stage and gathers their evidence. */
static inline void game_gather(dpa_game *game, dpa_evidence *evidence) {
    const uint64_t count = dpa_game_trials(game, 0);
    dpa_values *values = calloc(count, sizeof *values);
    const dpa_values brief = {0};
    dpa_error err = {0};
    assert_non_null(values);
    for (uint64_t i = 0; i < count; ++i)
        if (dpa_game_trial(game, 0, i, &brief, &values[i], &err) != DPA_OK)
            fail_msg("%s", err.text);
    const dpa_trials trials = {values, count, NULL};
    assert_ok(dpa_game_gather(game, &trials, evidence, NULL));
    for (uint64_t i = 0; i < count; ++i) dpa_values_free(&values[i]);
    free(values);
}

#endif
