/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores, messages, command lines and whole runs with their first, second, … allocation failing.
 * SQLite's own allocations are not among them. */
#include "check.h"
#include "stores.h"

#include "fault/alloc.h"

#include "base/process.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "run/store.h"
#include "run/transport.h"
#include "run/wire.h"

static dpa_error err;
static char path[64];

static void words_and_messages(void **state) {
    (void)state;
    dpa_status status;
    dpa__words words;
    FAULT_EVERY(status, dpa__words_split("a 'b c' d", &words, &err), dpa__words_free(&words));
    const double number = 1.0;
    const dpa__message m = {
        .kind = DPA__WIRE_RESULT, .payload = (const unsigned char *)&number, .size = sizeof number};
    dpa_values values;
    FAULT_EVERY(status, dpa__wire_values(&m, &values, &err), dpa_values_free(&values));
    char *const program[] = {(char[]){"true"}, NULL};
    const dpa__command command = {.words = program};
    FAULT_EVERY(status, dpa__command_run(&command, &err), (void)0);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)game, (void)stage;
    return 3;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)game, (void)stage, (void)index;
    return 1;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)game, (void)stage;
    dpa__text_add(text, "fault\n");
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *error) {
    (void)game, (void)stage, (void)brief, (void)error;
    out->items[0] = (double)index;
    return DPA_OK;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *error) {
    (void)game, (void)stages;
    return dpa_evidence_fact(out, "trials", (double)stages->count, error);
}

static const dpa__rules rules = {
    .trials = trials, .numbers = numbers, .describe = describe, .trial = trial, .gather = gather};
static char name[] = "fault.yaml";
static const dpa_experiment experiment = {.path = name};
static dpa_game game = {.experiment = &experiment, .rules = &rules};

/* A trial without memory has failed and is tried again, so the run may succeed. What it has stored
 * by then must be right. */
static void runs(void **state) {
    (void)state;
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.store = path;
    for (long n = 0, hits = 1; hits > 0; ++n) {
        dpa_evidence evidence;
        dpa_run_summary summary;
        remove_store(path);
        fault_hits = 0;
        fault_left = n;
        const dpa_status status = dpa_run_play(&opts, &game, &evidence, &summary, &err);
        fault_left = -1;
        hits = fault_hits;
        if (status != DPA_NO_MEMORY) assert_int_equal(status, DPA_OK);
        dpa__evidence_clear(&evidence);
        assert_ok(dpa_run_play(&opts, &game, &evidence, &summary, &err));
        assert_true(summary.stored + summary.played == 3 && summary.damaged == 0);
        dpa__evidence_clear(&evidence);
        assert_in_range(n, 0, 1000);
    }
}

/* Any outcome of the trial is accepted, as long as there is one and nothing crashes or leaks. */
static dpa_status play_once(const dpa_run_opts *opts) {
    const dpa_values no_brief = {0};
    dpa__transport t = {0};
    dpa__outcome outcome = {0};
    const dpa_status opened = dpa__pool_open(opts, &game, NULL, &t, &err);
    if (opened != DPA_OK) return opened;
    dpa_status status = t.brief(t.self, 0, &no_brief, &err);
    if (status == DPA_OK) status = t.submit(t.self, 0, 0, 0, &err);
    for (int some = 0; status == DPA_OK && !some;)
        status = t.wait(t.self, 1.0, &outcome, &some, &err);
    dpa__outcome_free(&outcome);
    t.close(t.self);
    return status;
}

static void workers(void **state) {
    (void)state;
    static const char *const worker[] = {"/bin/false", NULL};
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.worker = worker;
    opts.workers = 1;
    dpa_status status;
    FAULT_EVERY_OR(DPA_OK, status, play_once(&opts), (void)0);
}

static void reading(void **state) {
    (void)state;
    dpa_status status;
    dpa_store *store = NULL;
    dpa_store_stages stages;
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.store = path;
    FAULT_EVERY(status, dpa_store_open(path, DPA_STORE_READ, &store, &err), (void)0);
    FAULT_EVERY(status, dpa_store_list(store, &stages, &err), dpa_store_stages_free(&stages));
    dpa_store_close(store);
    dpa_evidence evidence;
    dpa_run_summary summary;
    FAULT_EVERY(status, dpa_run_collect(&opts, &game, &evidence, &summary, &err),
                dpa__evidence_clear(&evidence));
    assert_int_equal(summary.stored, 3);
    remove_store(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_messages), cmocka_unit_test(runs),
                                       cmocka_unit_test(reading), cmocka_unit_test(workers)};
    (void)snprintf(path, sizeof path, "/tmp/dpa_fault_run_%d.db", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
