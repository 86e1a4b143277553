/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that describe a claimed mechanism, shared by `account`, `calibrate` and others. */
#ifndef DPA_CLI_PHASES_H
#define DPA_CLI_PHASES_H

#include "options.h"

typedef struct phase_options {
    double sigma, q;
    uint64_t steps, batches, group;
    dpa_adjacency adjacency;
    const char *mechanism, *pair, *ledger;
    word_list phases;
    double tolerance;
} phase_options;

#define PHASE_OPTIONS(type)                                                                        \
    {"sigma", OPTION_NUMBER, "S",                                                                  \
     "noise multiplier; scale for laplace, epsilon for randomized-response",                       \
     offsetof(type, phase.sigma)},                                                                 \
        {"q", OPTION_NUMBER, "Q", "Poisson sampling rate, 0 to 1 (default 1)",                     \
         offsetof(type, phase.q)},                                                                 \
        {"steps", OPTION_COUNT, "T", "number of steps, or epochs if shuffled (default 1)",         \
         offsetof(type, phase.steps)},                                                             \
        {"mechanism", OPTION_CHOICE, "gaussian|laplace|randomized-response|shuffled",              \
         "what one step does (default gaussian)", offsetof(type, phase.mechanism)},                \
        {"batches", OPTION_COUNT, "B", "with --mechanism shuffled: batches in an epoch",           \
         offsetof(type, phase.batches)},                                                           \
        {"adjacency", OPTION_WORD, "add-remove|replace-one",                                       \
         "which data sets are neighbours (default add-remove)", offsetof(type, phase.adjacency)},  \
        {"phase", OPTION_LIST, "sigma=S,q=Q,steps=T",                                              \
         "one part of a run with changing parameters; also mechanism=, batches=, pair=FILE; may "  \
         "be repeated",                                                                            \
         offsetof(type, phase.phases)},                                                            \
        {"pair", OPTION_FILE, "FILE",                                                              \
         "instead of --sigma: a dominating pair, NPZ or JSON with p and q",                        \
         offsetof(type, phase.pair)},                                                              \
        {"ledger", OPTION_FILE, "FILE", "instead: a ledger of events, JSON (DpEvent classes)",     \
         offsetof(type, phase.ledger)},                                                            \
        {"group", OPTION_COUNT, "K", "epsilon of K records together (default 1)",                  \
         offsetof(type, phase.group)},                                                             \
    {                                                                                              \
        "tolerance", OPTION_NUMBER, "R",                                                           \
            "largest width of the interval for epsilon, relative (default 1e-3)",                  \
            offsetof(type, phase.tolerance)                                                        \
    }

void phase_init(phase_options *phase);

/* What phases point to. */
typedef struct phase_set {
    dpa_pair **pair;
    size_t pairs;
    dpa_ledger *ledger;
} phase_set;

/* Puts the phases asked for into the query. Returns 0, or an exit code after printing the error;
 * query and set must be freed in either case, the query first. With `sigma_is_sought`, --sigma need
 * not be given. */
int phase_list(const phase_options *phase, int sigma_is_sought, phase_set *set,
               dpa_account_query *query);
void phase_set_free(phase_set *set);

#endif
