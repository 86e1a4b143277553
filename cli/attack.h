/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of dpaudit attack: scores of one target (cmd_attack.c), and the points that leak
 * most (attack_points.c). */
#ifndef DPA_CLI_ATTACK_H
#define DPA_CLI_ATTACK_H

#include "attack/attack.h"
#include "output.h"

typedef struct attack_options {
    const char *signals, *members, *population, *kind, *variance, *out;
    uint64_t target;
    word_list exclude;
    int offline;
    double a, gamma;
    const char *features, *population_features, *form;
    double level, ridge;
    int squares;
    /* for `points` and `select` */
    const char *by, *weight, *challenge, *split, *ids, *json;
    uint64_t count, seed, threads;
    double test_share, delta;
} attack_options;

/* What was read for an attack. */
typedef struct attack_input {
    dpa_signals signals, population;            /* population: models is 0 if there is none */
    dpa_features features, population_features; /* likewise: points is 0 */
    size_t *exclude;
} attack_input;

/* Returns 1 if there is an attack of that name. */
int attack_named(const char *word, dpa_attack *out);
/* Translates the command line's options into the library's. */
void attack_opts_from(const attack_options *o, const attack_input *in, dpa_attack_opts *out);
/* Writes what `write` prints to the file, completely or not at all, or to standard output if `path`
 * is NULL. Returns an exit code. */
typedef void attack_writer(FILE *out, const void *what);
int attack_write(const char *path, attack_writer *write, const void *what);

/* dpaudit attack points | select. */
int attack_points(const attack_options *o, int is_selection, const attack_input *in);

#endif
