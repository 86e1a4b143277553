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
    /* points and select */
    const char *by, *weight, *challenge, *split, *ids, *json;
    uint64_t count, seed, threads;
    double test_share, delta;
} attack_options;

/* 1 when there is an attack of that name. */
int attack_named(const char *word, dpa_attack *out);
/* The options of the library for these; `exclude` as numbers. */
void attack_opts_from(const attack_options *o, const dpa_signals *population, const size_t *exclude,
                      dpa_attack_opts *out);
/* Writes what `write` prints into the file, whole or not at all, or to standard output when `path`
 * is NULL. Gives an exit code. */
typedef void attack_writer(FILE *out, const void *what);
int attack_write(const char *path, attack_writer *write, const void *what);

/* dpaudit attack points | select. */
int attack_points(const attack_options *o, int is_selection, const dpa_signals *signals,
                  const dpa_signals *population, const size_t *exclude);

#endif
