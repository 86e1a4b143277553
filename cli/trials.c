/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands about experiments share. */
#include "trials.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "output.h"

dpa_status experiment_read(const char *path, const game_options *options, dpa_experiment **out,
                           dpa_error *err) {
    *out = NULL;
    DPA_TRY(dpa_experiment_read(path, out, err));
    if (options->observations > 0) (*out)->game.observations = options->observations;
    if (options->seed_text == NULL || parse_count(options->seed_text, &(*out)->game.seed))
        return DPA_OK;
    dpa_experiment_free(*out);
    *out = NULL;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "--seed: '%.100s' is not a whole number",
                     options->seed_text);
}

int experiment_open(const char *path, const game_options *options, dpa_experiment **out) {
    dpa_error err = {0};
    const dpa_status status = experiment_read(path, options, out, &err);
    return status == DPA_OK ? 0 : library_error(&err);
}

static int is_experiment(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

int store_of(const char *operand, const game_options *options, dpa_experiment **experiment,
             char **path) {
    dpa_error err = {0};
    *experiment = NULL;
    *path = NULL;
    if (is_experiment(operand)) {
        const int code = experiment_open(operand, options, experiment);
        if (code != 0) return code;
    }
    const char *named = options->store != NULL ? options->store : operand;
    if (options->store == NULL && *experiment != NULL)
        return dpa_run_store_path(*experiment, path, &err) == DPA_OK ? 0 : library_error(&err);
    *path = strdup(named);
    return *path != NULL ? 0 : out_of_memory();
}

void own_program(char *out, size_t size) {
    const ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n > 0) out[n] = '\0';
    if (n <= 0 || access(out, X_OK) != 0) (void)snprintf(out, size, "/proc/self/exe");
}

void worker_command_make(const char *path, const game_options *options, worker_command *out) {
    size_t n = 0;
    *out = (worker_command){0};
    own_program(out->program, sizeof out->program);
    out->words[n++] = out->program;
    out->words[n++] = "worker";
    if (options->seed_text != NULL) {
        out->words[n++] = "--seed";
        out->words[n++] = options->seed_text;
    }
    if (options->observations > 0) {
        (void)snprintf(out->observations, sizeof out->observations, "%llu",
                       (unsigned long long)options->observations);
        out->words[n++] = "--observations";
        out->words[n++] = out->observations;
    }
    out->words[n++] = "--";
    out->words[n++] = path;
}

void run_opts_make(const dpa_experiment *experiment, const game_options *options,
                   dpa_run_opts *out) {
    dpa_run_opts_init(out);
    out->store = options->store;
    out->trials = experiment->trials;
    out->seconds = experiment->seconds;
    out->timeout = experiment->timeout;
}

void evidence_count_trials(dpa_evidence *evidence, const dpa_run_summary *summary) {
    evidence->planned = summary->planned;
    evidence->missing = summary->missing;
}
