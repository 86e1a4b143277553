/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of dpaudit attack: scores of one target (cmd_attack.c), and the points that leak
 * most (attack_points.c). */
#ifndef DPA_CLI_ATTACK_H
#define DPA_CLI_ATTACK_H

#include "attack/attack.h"
#include "output.h"

typedef struct attack_options {
    const char *signals, *members, *population, *features, *population_features, *out;
    word_list exclude;
    dpa_signal_kind kind;
    uint64_t threads;
    dpa_leak_opts leaks; /* `how` is that of all attacks */
    /* for `points` and `select` */
    dpa_weight weight;
    dpa_challenge challenge;
    const char *split, *ids, *json;
    uint64_t count;
} attack_options;

const char *attack_name(dpa_attack attack);

/* dpaudit attack points | select. */
int attack_points(const attack_options *o, int is_selection, const dpa_signals *signals);

#endif
