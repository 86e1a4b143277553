/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands about experiments share: opening an experiment, the options for playing it, the
 * command of a worker for it, and writing its evidence as files. */
#ifndef DPA_CLI_TRIALS_H
#define DPA_CLI_TRIALS_H

#include "options.h"

/* Options of every such command; the member `game` of their struct. */
typedef struct game_options {
    const char *seed_text, *store;
    uint64_t observations;
} game_options;

#define GAME_OPTIONS(type)                                                                         \
    {"seed", OPTION_TEXT, "N", "seed of the game, instead of the file's",                          \
     offsetof(type, game.seed_text)},                                                              \
    {                                                                                              \
        "observations", OPTION_COUNT, "N", "scores of each kind, instead of the file's",           \
            offsetof(type, game.observations)                                                      \
    }
#define STORE_OPTION(type)                                                                         \
    {                                                                                              \
        "store", OPTION_OUTPUT, "FILE", "file of finished trials (default: AUDIT.trials.db)",      \
            offsetof(type, game.store)                                                             \
    }

/* Reads the experiment and applies the options. */
dpa_status experiment_read(const char *path, const game_options *options, dpa_experiment **out,
                           dpa_error *err);
/* The same; returns 0, or an exit code after printing the error. */
int experiment_open(const char *path, const game_options *options, dpa_experiment **out);
/* Finds the store of an operand, which is an experiment file (*.yaml, *.yml; the experiment must
 * then be freed) or a store. The caller frees `path`. */
int store_of(const char *operand, const game_options *options, dpa_experiment **experiment,
             char **path);
/* The command that starts a worker for the same experiment, as words for dpa_run_opts. The texts
 * live in `memory`. */
enum { WORKER_WORDS = 12 };
typedef struct worker_command {
    const char *words[WORKER_WORDS];
    char program[4096], observations[32];
} worker_command;
/* The path of the running program. If the file was replaced or removed meanwhile, the kernel's link
 * still leads to it. */
void own_program(char *out, size_t size);
void worker_command_make(const char *path, const game_options *options, worker_command *out);
/* Sets budget and store from the experiment and the options. */
void run_opts_make(const dpa_experiment *experiment, const game_options *options,
                   dpa_run_opts *out);

/* Writes the evidence into a folder, which is made if needed: NAME.npz and, for `export`, each
 * array as NPY or CSV. */
dpa_status evidence_write(const dpa_evidence *evidence, const char *folder, dpa_error *err);
dpa_status evidence_export(const dpa_evidence *evidence, const char *folder, int csv,
                           dpa_error *err);

#endif
