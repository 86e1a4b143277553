/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of dpaudit attack: scores of one target (cmd_attack.c), and which points leak most
 * (attack_points.c). */
#ifndef DPA_CLI_ATTACK_H
#define DPA_CLI_ATTACK_H

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
    /* points and select */
    const char *by, *weight, *challenge, *split, *ids, *json;
    uint64_t count, seed, threads;
    double test_share, delta;
} attack_options;

/* What was read for an attack. */
typedef struct attack_input {
    dpa_signals signals, population;            /* population: models 0 when there is none */
    dpa_features features, population_features; /* likewise, points 0 */
    size_t *exclude;
} attack_input;

/* 1 when there is an attack of that name. */
int attack_named(const char *word, dpa_attack *out);
/* The options of the library for these. */
void attack_opts_from(const attack_options *o, const attack_input *in, dpa_attack_opts *out);
/* Writes what `write` prints into the file, whole or not at all, or to standard output when `path`
 * is NULL. Gives an exit code. */
typedef void attack_writer(FILE *out, const void *what);
int attack_write(const char *path, attack_writer *write, const void *what);

/* dpaudit attack points | select. */
int attack_points(const attack_options *o, int is_selection, const attack_input *in);

#endif
