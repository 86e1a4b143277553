/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit trainer: training programs that stay running for a game. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "trials.h"

typedef struct trainer_options {
    game_options game;
    uint64_t points, canaries;
    double timeout;
} trainer_options;

static const option table[] = {
    {"points", OPTION_COUNT, "N", "check: examples to train on (default: what the trainer says)",
     offsetof(trainer_options, points)},
    {"canaries", OPTION_COUNT, "N", "check: examples after the points (default 0)",
     offsetof(trainer_options, canaries)},
    {"timeout", OPTION_NUMBER, "S", "check: seconds that an answer may take (default 60)",
     offsetof(trainer_options, timeout)},
    GAME_OPTIONS(trainer_options),
    END_OPTIONS};

static void init(void *options) {
    ((trainer_options *)options)->timeout = 60.0;
}

static void say(void *user, int ok, const char *what, const char *detail) {
    (void)user;
    (void)printf("%-5s %s: %s\n", ok ? "ok" : "FAULT", what, detail);
    (void)fflush(stdout);
}

static int check(const trainer_options *o, const char *line) {
    char *own = strdup(line);
    if (own == NULL) return EXIT_FAILURE_RUNNING;
    const dpa_trainer_opts opts = {.command = own,
                                   .points = o->points,
                                   .canaries = o->canaries,
                                   .clip = 1.0,
                                   .q = (double)NAN,
                                   .timeout = o->timeout};
    uint64_t faults = 0;
    dpa_error err = {0};
    const dpa_status status = dpa_trainer_check(&opts, say, NULL, &faults, &err);
    free(own);
    if (status != DPA_OK) return library_error(&err);
    if (faults > 0)
        (void)printf("The trainer breaks the protocol in %llu place%s (docs/trainer.md).\n",
                     (unsigned long long)faults, faults == 1 ? "" : "s");
    else
        (void)puts("The trainer keeps to the protocol.");
    return faults > 0 ? dpa_status_exit_code(DPA_BAD_INPUT) : 0;
}

/* Keeps standard output for answers; everything else printed goes to standard error. */
static int serve(const trainer_options *o, const char *path) {
    dpa_experiment *experiment = NULL;
    dpa_error err = {0};
    const int code = experiment_open(path, &o->game, &experiment);
    if (code != 0) return code;
    (void)signal(SIGPIPE, SIG_IGN);
    const int out = dup(STDOUT_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    const dpa_status status = dpa_trainer_serve(experiment, STDIN_FILENO, out, &err);
    dpa_experiment_free(experiment);
    return status == DPA_OK ? 0 : library_error(&err);
}

static int run(void *options, const word_list *words) {
    const trainer_options *o = options;
    const char *what = words->items[0];
    if (!(o->timeout > 0.0)) {
        (void)fprintf(stderr, "dpaudit trainer: --timeout %g: expected above 0\n", o->timeout);
        return dpa_status_exit_code(DPA_BAD_ARGUMENT);
    }
    if (strcmp(what, "check") == 0) return check(o, words->items[1]);
    if (strcmp(what, "serve") == 0) return serve(o, words->items[1]);
    (void)fprintf(stderr, "dpaudit trainer: '%.60s': expected check or serve\n", what);
    return dpa_status_exit_code(DPA_BAD_ARGUMENT);
}

const command command_trainer = {
    .name = "trainer",
    .summary = "check a trainer of your own, or serve dpaudit's to others",
    .operands = "check COMMAND | serve AUDIT.yaml",
    .about = "An audit file may name a program that trains (trainer: command), in any language, in "
             "place of a training file. It is started once and asked many times, in lines of JSON "
             "(docs/trainer.md).\n"
             "`check` starts such a program, asks what a game would ask, and says for each thing "
             "whether it is right, and if not what is wrong and where. Exit code 3: there is a "
             "fault.\n"
             "`serve` is such a program itself: it answers on standard output what comes on "
             "standard input, by dpaudit's own trainer as the audit file has it.",
    .examples = "dpaudit trainer check \"dpaudit trainer serve run-white-box.yaml\"",
    .options = table,
    .size = sizeof(trainer_options),
    .words = {2, 2},
    .init = init,
    .run = run};
