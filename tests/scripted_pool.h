/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool whose workers are shell scripts that answer like a worker and then do something else. A
 * file tells the script how often it has been started. */
#ifndef DPA_TESTS_SCRIPTED_POOL_H
#define DPA_TESTS_SCRIPTED_POOL_H

#include "check.h"

#include <sys/stat.h>

#include "base/data.h"
#include "base/error.h"
#include "game/rules.h"
#include "run/pool.h"

static dpa_error err;
static char folder[64];

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)game, (void)stage;
    dpa__text_add(text, "pool\n");
}

static const dpa__rules rules = {.describe = describe};
static const dpa_experiment experiment;
static dpa_game game = {.experiment = &experiment, .rules = &rules};

static const char *file(const char *name) {
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_message(const char *name, const dpa__message *m, const char *after) {
    dpa__text text = {0};
    dpa__wire_put(&text, m);
    dpa__text_add(&text, after);
    assert_ok(dpa__file_write(file(name), text.data, text.length, &err));
    dpa__text_free(&text);
}

/* Makes files with a worker's messages: ready, result0, result1, the first result followed by
 * garbage, a result of stage 1, and progress of trials 0 and 1. */
static int set_up(void **state) {
    (void)state;
    static const char garbage[] = "Segmentation fault (core dumped), or so it seems";
    dpa__text keys = {0};
    (void)snprintf(folder, sizeof folder, "/tmp/dpa_pool_%d", (int)getpid());
    (void)mkdir(folder, 0777);
    assert_ok(dpa__wire_keys(&game, &keys, &err));
    const dpa__message ready = {
        .kind = DPA__WIRE_READY, .payload = (const unsigned char *)keys.data, .size = keys.length};
    put_message("ready", &ready, "");
    dpa__text_free(&keys);
    const double value = 42.0;
    dpa__message result = {
        .kind = DPA__WIRE_RESULT, .payload = (const unsigned char *)&value, .size = sizeof value};
    put_message("result0", &result, "");
    put_message("garbled0", &result, garbage);
    result.index = 1;
    put_message("result1", &result, "");
    result.index = 0;
    result.stage = 1;
    put_message("result-of-1", &result, "");
    const double done[2] = {3, 10};
    dpa__message progress = {
        .kind = DPA__WIRE_PROGRESS, .payload = (const unsigned char *)done, .size = sizeof done};
    put_message("progress0", &progress, "");
    progress.index = 1;
    put_message("progress1", &progress, "");
    assert_ok(dpa__file_write(file("garbage"), garbage, strlen(garbage), &err));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {"ready",  "result0",   "result1",   "garbled0",   "garbage",
                                        "second", "progress0", "progress1", "result-of-1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(file(names[i]));
    return rmdir(folder);
}

/* A worker that runs `script` in the folder and lives until its input ends. With its first trial it
 * receives 64 bytes, if the brief is empty: a brief and what to play. */
static dpa_run_opts options_of(const char *script) {
    static char text[512];
    static const char *words[] = {"/bin/sh", "-c", text, NULL};
    dpa_run_opts opts;
    (void)snprintf(text, sizeof text, "cd %s && %s && cat >/dev/null", folder, script);
    dpa_run_opts_init(&opts);
    opts.worker = words;
    opts.workers = 1;
    opts.timeout = 1e6;
    return opts;
}

/* A pool of one such worker. */
static inline void open_pool(const char *script, dpa__transport *t) {
    static const dpa_values no_brief = {0};
    const dpa_run_opts opts = options_of(script);
    assert_ok(dpa__pool_open(&opts, &game, NULL, t, &err));
    assert_ok(t->brief(t->self, 0, &no_brief, &err));
}

/* Waits a minute at most for the outcome of the submitted trial; fails where the pool cannot go on.
 */
static dpa_status await_outcome(dpa__transport *t, dpa__outcome *out) {
    for (int some = 0, waits = 0; !some; ++waits) {
        if (waits == 60) fail_msg("the pool waits for ever");
        DPA_TRY(t->wait(t->self, 1.0, out, &some, &err));
    }
    return DPA_OK;
}

static inline dpa__outcome play(dpa__transport *t, uint64_t index) {
    dpa__outcome out = {0};
    assert_ok(t->submit(t->self, 0, 0, index, &err));
    assert_ok(await_outcome(t, &out));
    assert_int_equal(out.index, index);
    return out;
}

static inline void assert_played(dpa__transport *t, uint64_t index) {
    dpa__outcome out = play(t, index);
    if (out.status != DPA_OK) fail_msg("trial %d: %s", (int)index, out.error.text);
    assert_int_equal(out.values.count, 1);
    assert_true(out.values.items[0] == 42.0);
    dpa__outcome_free(&out);
}

#endif
