/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands about experiments share. */
#include "trials.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- the evidence of a game as files that the other commands read ---- */

dpa_status folder_make(const char *folder, dpa_error *err) {
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, folder, "cannot make this folder: %s", strerror(errno));
}

/* The file's name says which command reads it. */
static const char *file_name(const dpa_evidence *e) {
    switch (e->kind) {
    case DPA_EVIDENCE_COUNTS:
        return "counts.npz";
    case DPA_EVIDENCE_SCORES:
        return e->design == DPA_ONE_RUN ? "guesses.npz" : "scores.npz";
    case DPA_EVIDENCE_GUESSES:
        return "guesses.npz";
    case DPA_EVIDENCE_COSINES:
        return "cosines.npz";
    case DPA_EVIDENCE_SIGNALS:
        return "signals.npz";
    }
    return "evidence.npz";
}

/* Whether an array holds flags (membership), which are written as one byte each, as dpaudit attack
 * and other tools expect. */
static int is_flags(const dpa_evidence *evidence, const dpa_named_array *a) {
    return evidence->kind == DPA_EVIDENCE_SIGNALS && strcmp(a->name, "members") == 0;
}

static dpa_status write_flags(const char *path, const dpa_named_array *a, dpa_error *err) {
    unsigned char *flags = malloc(a->count > 0 ? a->count : 1);
    if (flags == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", a->name);
    for (size_t i = 0; i < a->count; ++i) flags[i] = a->items[i] > 0.0;
    dpa_array array = dpa__named_array_view(a);
    array.dtype = DPA_U8;
    array.data = flags;
    const dpa_status status = dpa__array_write(path, &array, err);
    free(flags);
    return status;
}

dpa_status evidence_write(const dpa_evidence *evidence, const char *folder, dpa_error *err) {
    char path[4096];
    DPA_TRY(folder_make(folder, err));
    (void)snprintf(path, sizeof path, "%s/%s", folder, file_name(evidence));
    return dpa_evidence_write(evidence, path, err);
}

/* One row per line, with enough digits to read back the same doubles. */
static dpa_status write_csv(const char *path, const dpa_named_array *a, dpa_error *err) {
    const size_t columns = a->rows > 0 ? a->count / a->rows : 1;
    size_t used = 0;
    char *text = malloc(26 * a->count + 1);
    if (text == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", a->name);
    for (size_t i = 0; i < a->count; ++i)
        used += (size_t)snprintf(text + used, 26, "%.17g%c", a->items[i],
                                 (i + 1) % columns == 0 ? '\n' : ',');
    const dpa_status status = dpa__file_write(path, text, used, err);
    free(text);
    return status;
}

dpa_status evidence_export(const dpa_evidence *evidence, const char *folder, int csv,
                           dpa_error *err) {
    DPA_TRY(folder_make(folder, err));
    for (size_t i = 0; i < evidence->array_count; ++i) {
        const dpa_named_array *a = &evidence->arrays[i];
        const dpa_array array = dpa__named_array_view(a);
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s.%s", folder, a->name, csv ? "csv" : "npy");
        DPA_TRY(csv                     ? write_csv(path, a, err)
                : is_flags(evidence, a) ? write_flags(path, a, err)
                                        : dpa__array_write(path, &array, err));
    }
    return DPA_OK;
}

/* ---- dpaudit worker ---- */

/* Started by dpaudit run to play trials. It is not for people, so it has no help, man page or
 * completion (main.c handles it). */
typedef struct worker_options {
    game_options game;
} worker_options;

static const option table[] = {GAME_OPTIONS(worker_options), END_OPTIONS};

static int run(void *options, const word_list *words) {
    const worker_options *o = options;
    dpa_experiment *experiment = NULL;
    dpa_error err = {0};
    const int code = experiment_open(words->items[0], &o->game, &experiment);
    if (code != 0) return code;
    const dpa_status status = dpa_worker_serve(experiment, &err);
    dpa_experiment_free(experiment);
    return status == DPA_OK ? 0 : library_error(&err);
}

const command command_worker = {.name = "worker",
                                .options = table,
                                .size = sizeof(worker_options),
                                .words = {1, 1},
                                .run = run};
