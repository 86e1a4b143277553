/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands about experiments share: opening one, its options for playing, the worker that
 * plays the same, and its evidence as files. */
#ifndef DPA_CLI_TRIALS_H
#define DPA_CLI_TRIALS_H

#include "options.h"

/* Part of the options of every such command; `game` in their struct. */
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

/* The experiment with the options put in. */
dpa_status experiment_read(const char *path, const game_options *options, dpa_experiment **out,
                           dpa_error *err);
/* The same: 0, or an exit code after the error was printed. */
int experiment_open(const command *cmd, const char *path, const game_options *options,
                    dpa_experiment **out);
/* The store that is meant by an operand: an experiment (which then must be freed) or a store file,
 * told apart by the name (*.yaml, *.yml). `path` is to be freed. */
int store_of(const command *cmd, const char *operand, const game_options *options,
             dpa_experiment **experiment, char **path);
/* A command that starts a worker for the same: words for dpa_run_opts. Texts live in `memory`. */
enum { WORKER_WORDS = 12 };
typedef struct worker_command {
    const char *words[WORKER_WORDS];
    char program[4096], observations[32];
} worker_command;
/* The program's own file. Where it was replaced or removed meanwhile, the kernel still has it. */
void own_program(char *out, size_t size);
void worker_command_make(const char *path, const game_options *options, worker_command *out);
/* Budget and store of the experiment and the options. */
void run_opts_make(const dpa_experiment *experiment, const game_options *options,
                   dpa_run_opts *out);

/* How many trials the evidence rests on, and how many are missing. */
void evidence_count_trials(dpa_evidence *evidence, const dpa_run_summary *summary);
/* Into a folder, made if needed: NAME.npz, and each array by itself as NPY or CSV for `export`. */
dpa_status evidence_write(const dpa_evidence *evidence, const char *folder, dpa_error *err);
dpa_status evidence_export(const dpa_evidence *evidence, const char *folder, int csv,
                           dpa_error *err);

#endif
