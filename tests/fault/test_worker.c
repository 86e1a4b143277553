/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker whose first, second, … allocation fails. Running out of memory within a trial is an
 * outcome of the trial, as for an external trainer, because the memory needed may depend on the
 * challenge. */
#include "check.h"

#include <sys/wait.h>

#include "base/data.h"
#include "base/text.h"
#include "dpaudit/lab/run.h"
#include "fault/alloc.h"
#include "run/wire.h"

static dpa_error err;
static char path[64];

/* Runs the worker on pipes with one trial to play and collects its answers until it ends. */
static void converse(const dpa_experiment *e, long n, dpa__text *answer) {
    int in[2], out[2], status = 0;
    char bytes[4096];
    dpa__text jobs = {0};
    const dpa__message brief = {.kind = DPA__WIRE_BRIEF}, play = {.kind = DPA__WIRE_PLAY};
    dpa__wire_put(&jobs, &brief);
    dpa__wire_put(&jobs, &play);
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    /* The jobs fit into the pipe and are there before the worker, which may end at once. */
    assert_true(write(in[1], jobs.data, jobs.length) == (ssize_t)jobs.length);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(in[1]);
        (void)close(out[0]);
        fault_left = n;
        _exit(dpa_worker_serve(e, &err) == DPA_OK ? 0 : 1);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(in[1]);
    for (ssize_t k; (k = read(out[0], bytes, sizeof bytes)) > 0;)
        dpa__text_add_bytes(answer, bytes, (size_t)k);
    (void)close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* no crash */
    dpa__text_free(&jobs);
}

typedef struct counts {
    int ready, played, outcomes, refused;
} counts;

static void understand(const dpa__text *answer, counts *c) {
    for (size_t at = 0, used = 1; used > 0 && at < answer->length; at += used) {
        dpa__message m;
        dpa_error failure = {0};
        assert_ok(dpa__wire_take((const unsigned char *)answer->data + at, answer->length - at, &m,
                                 &used, &err));
        if (used == 0) break;
        c->ready += m.kind == DPA__WIRE_READY;
        c->played += m.kind == DPA__WIRE_RESULT;
        if (m.kind != DPA__WIRE_FAILURE) continue;
        assert_ok(dpa__wire_failure(&m, &failure, &err));
        if (c->ready == 0) { /* it could not open the game */
            ++c->refused;
            assert_int_equal(failure.status, DPA_NO_MEMORY);
            continue;
        }
        ++c->outcomes;
        assert_int_equal(failure.status, DPA_TRAINER);
        assert_non_null(strstr(failure.text, "out of memory: no memory for "));
    }
}

static void out_of_memory(void **state) {
    (void)state;
    static const char text[] = "game: {kind: command, command: \"cp {queries} {out}\", points: 4, "
                               "models: 4, design: leave-one-out, signal: logit}\n";
    dpa_experiment *e = NULL;
    int refused = 0, outcomes = 0, played = 0;
    (void)snprintf(path, sizeof path, "/tmp/dpa_worker_%d.yaml", (int)getpid());
    assert_ok(dpa__file_write(path, text, strlen(text), &err));
    assert_ok(dpa_experiment_read(path, &e, &err));
    for (long n = 0; n < 1000 && played == 0; ++n) {
        dpa__text answer = {0};
        counts c = {0};
        converse(e, n, &answer);
        understand(&answer, &c);
        refused += c.refused;
        outcomes += c.outcomes;
        /* played despite earlier failures: the last failing allocation did not matter, or none
         * failed */
        played += c.played > 0 && outcomes > 0;
        dpa__text_free(&answer);
    }
    print_message("%d times no game, %d trials out of memory\n", refused, outcomes);
    assert_true(refused > 0 && outcomes > 0 && played > 0);
    dpa_experiment_free(e);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
