/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of `shadow`. What they may be is checked when the game is opened. */
#include "game/shadow.h"

static const cyaml_strval_t attacks[] = {{"loss", DPA_ATTACK_LOSS},
                                         {"calibrated", DPA_ATTACK_CALIBRATED},
                                         {"lira", DPA_ATTACK_LIRA},
                                         {"rmia", DPA_ATTACK_RMIA},
                                         {"quantile", DPA_ATTACK_QUANTILE}};
static const cyaml_strval_t variances[] = {
    {"auto", DPA_VARIANCE_AUTO}, {"point", DPA_VARIANCE_POINT}, {"pooled", DPA_VARIANCE_POOLED}};
static const cyaml_strval_t challenges[] = {{"worst", DPA_CHALLENGE_WORST},
                                            {"random", DPA_CHALLENGE_RANDOM},
                                            {"average", DPA_CHALLENGE_AVERAGE}};
static const cyaml_strval_t weights[] = {{"accuracy", DPA_WEIGHT_ACCURACY},
                                         {"epsilon", DPA_WEIGHT_EPSILON}};
static const cyaml_strval_t designs[] = {{"leave-one-out", DPA_SHADOW_LEAVE_ONE_OUT},
                                         {"half", DPA_SHADOW_HALF}};
static const cyaml_strval_t signals[] = {{"confidence", DPA_SHADOW_CONFIDENCE},
                                         {"gradient", DPA_SHADOW_GRADIENT}};

enum {
    MAYBE = CYAML_FLAG_OPTIONAL,
    MAYBE_PTR = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
    STRICT = CYAML_FLAG_STRICT /* a word of the list, never its number */
};

#define COUNT(name, member) CYAML_FIELD_UINT_PTR(name, MAYBE_PTR, dpa__shadow_keys, member)
#define CHOICE(name, member, words)                                                                \
    CYAML_FIELD_ENUM(name, MAYBE | STRICT, dpa__shadow_keys, member, words, CYAML_ARRAY_LEN(words))

const cyaml_schema_field_t dpa__shadow_fields[] = {
    COUNT("models", models),
    COUNT("targets", targets),
    CYAML_FIELD_ENUM_PTR("attack", MAYBE_PTR | STRICT, dpa__shadow_keys, attack, attacks,
                         CYAML_ARRAY_LEN(attacks)),
    CYAML_FIELD_BOOL("offline", MAYBE, dpa__shadow_keys, offline),
    CHOICE("variance", variance, variances),
    CHOICE("challenge", challenge, challenges),
    COUNT("challenges", challenges),
    CHOICE("weight", weight, weights),
    CHOICE("design", design, designs),
    CHOICE("signal", signal, signals),
    CYAML_FIELD_END};

void dpa__shadow_take(const dpa__shadow_keys *keys, dpa_shadow_opts *out) {
    if (keys->models != NULL) out->models = *keys->models;
    if (keys->targets != NULL) out->targets = *keys->targets;
    if (keys->challenges != NULL) out->challenges = *keys->challenges;
    if (keys->attack != NULL) out->attack = *keys->attack;
    out->offline = keys->offline;
    out->variance = keys->variance;
    out->challenge = keys->challenge;
    out->weight = keys->weight;
    out->design = keys->design;
    out->signal = keys->signal;
}
