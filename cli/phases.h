/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that describe a claimed mechanism, shared by `account`, `calibrate` and others. */
#ifndef DPA_CLI_PHASES_H
#define DPA_CLI_PHASES_H

#include "options.h"

typedef struct phase_options {
    double sigma, q;
    uint64_t steps;
    const char *mechanism, *adjacency;
    word_list phases;
    double tolerance;
} phase_options;

#define PHASE_OPTIONS(type)                                                                        \
    {"sigma", OPTION_NUMBER, "S",                                                                  \
     "noise multiplier; scale for laplace, epsilon for randomized-response",                       \
     offsetof(type, phase.sigma)},                                                                 \
        {"q", OPTION_NUMBER, "Q", "Poisson sampling rate, 0 to 1 (default 1)",                     \
         offsetof(type, phase.q)},                                                                 \
        {"steps", OPTION_COUNT, "T", "number of steps (default 1)", offsetof(type, phase.steps)},  \
        {"mechanism", OPTION_CHOICE, "gaussian|laplace|randomized-response",                       \
         "what one step does (default gaussian)", offsetof(type, phase.mechanism)},                \
        {"adjacency", OPTION_CHOICE, "add-remove|replace-one",                                     \
         "which data sets are neighbours (default add-remove)", offsetof(type, phase.adjacency)},  \
        {"phase", OPTION_LIST, "sigma=S,q=Q,steps=T",                                              \
         "one part of a run with changing parameters; may be repeated",                            \
         offsetof(type, phase.phases)},                                                            \
    {                                                                                              \
        "tolerance", OPTION_NUMBER, "R",                                                           \
            "largest width of the interval for epsilon, relative (default 1e-3)",                  \
            offsetof(type, phase.tolerance)                                                        \
    }

void phase_init(phase_options *phase);
/* The phases asked for, in memory to be freed by the caller, and the account's options. 0, or an
 * exit code after the error was printed. With `sigma_is_sought` --sigma need not be given. */
int phase_list(const command *cmd, const phase_options *phase, int sigma_is_sought, dpa_phase **out,
               size_t *count, dpa_account_opts *opts);

#endif
