/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Audits from YAML, by a libcyaml schema. The trainer has its own file: the audit names it, so that
 * what is audited can also be trained by itself. Unknown keys are errors with their line. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "dpaudit/game.h"

typedef struct game_keys {
    dpa_game_canary canary;
    dpa_sabotage sabotage;
    bool moving;
    double *canary_rate, *noise_scale;
    uint64_t *observations, *seed, *seeds, *workers;
} game_keys;

typedef struct claim_keys {
    double *epsilon, *delta, *confidence;
} claim_keys;

typedef struct audit_keys {
    char *training, *output;
    game_keys game;
    claim_keys claim;
} audit_keys;

static const cyaml_strval_t canaries[] = {
    {"dirac", DPA_GAME_DIRAC}, {"constant", DPA_GAME_CONSTANT}, {"random", DPA_GAME_RANDOM}};
static const cyaml_strval_t sabotages[] = {{"none", DPA_SABOTAGE_NONE},
                                           {"noise-scale", DPA_SABOTAGE_SCALE},
                                           {"clip-after-mean", DPA_SABOTAGE_CLIP},
                                           {"few-seeds", DPA_SABOTAGE_SEEDS},
                                           {"noise-per-worker", DPA_SABOTAGE_WORKERS}};

enum { MAYBE = CYAML_FLAG_OPTIONAL, MAYBE_PTR = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL };

static const cyaml_schema_field_t game_fields[] = {
    CYAML_FIELD_ENUM("canary", MAYBE, game_keys, canary, canaries, CYAML_ARRAY_LEN(canaries)),
    CYAML_FIELD_BOOL("moving", MAYBE, game_keys, moving),
    CYAML_FIELD_FLOAT_PTR("canary-rate", MAYBE_PTR, game_keys, canary_rate),
    CYAML_FIELD_UINT_PTR("observations", MAYBE_PTR, game_keys, observations),
    CYAML_FIELD_UINT_PTR("seed", MAYBE_PTR, game_keys, seed),
    CYAML_FIELD_ENUM("sabotage", MAYBE, game_keys, sabotage, sabotages, CYAML_ARRAY_LEN(sabotages)),
    CYAML_FIELD_FLOAT_PTR("noise-scale", MAYBE_PTR, game_keys, noise_scale),
    CYAML_FIELD_UINT_PTR("seeds", MAYBE_PTR, game_keys, seeds),
    CYAML_FIELD_UINT_PTR("workers", MAYBE_PTR, game_keys, workers),
    CYAML_FIELD_END};

static const cyaml_schema_field_t claim_fields[] = {
    CYAML_FIELD_FLOAT_PTR("epsilon", MAYBE_PTR, claim_keys, epsilon),
    CYAML_FIELD_FLOAT_PTR("delta", MAYBE_PTR, claim_keys, delta),
    CYAML_FIELD_FLOAT_PTR("confidence", MAYBE_PTR, claim_keys, confidence), CYAML_FIELD_END};

static const cyaml_schema_field_t audit_fields[] = {
    CYAML_FIELD_STRING_PTR("training", CYAML_FLAG_POINTER, audit_keys, training, 1,
                           CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING("game", CYAML_FLAG_DEFAULT, audit_keys, game, game_fields),
    CYAML_FIELD_MAPPING("claim", MAYBE, audit_keys, claim, claim_fields),
    CYAML_FIELD_STRING_PTR("output", MAYBE_PTR, audit_keys, output, 1, CYAML_UNLIMITED),
    CYAML_FIELD_END};

static const cyaml_schema_value_t audit_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, audit_keys, audit_fields)};

#define TAKE(to, from)                                                                             \
    do {                                                                                           \
        if ((from) != NULL) (to) = *(from);                                                        \
    } while (0)

static dpa_status take(const char *path, const audit_keys *keys, dpa_game_plan *plan,
                       dpa_error *err) {
    const game_keys *k = &keys->game;
    dpa_game_opts *g = &plan->game;
    dpa_game_opts_init(g);
    g->canary = k->canary;
    g->sabotage = k->sabotage;
    g->moving = k->moving;
    TAKE(g->canary_rate, k->canary_rate);
    TAKE(g->noise_scale, k->noise_scale);
    TAKE(g->observations, k->observations);
    TAKE(g->seed, k->seed);
    TAKE(g->seeds, k->seeds);
    TAKE(g->workers, k->workers);
    plan->claim_epsilon = plan->claim_delta = (double)NAN;
    plan->confidence = 0.95;
    TAKE(plan->claim_epsilon, keys->claim.epsilon);
    TAKE(plan->claim_delta, keys->claim.delta);
    TAKE(plan->confidence, keys->claim.confidence);
    if (keys->claim.epsilon != NULL && !(plan->claim_epsilon > 0.0 && plan->claim_epsilon < 1e3))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "claim: epsilon %g: expected 0 to 1000",
                              plan->claim_epsilon);
    if (keys->claim.delta != NULL && !(plan->claim_delta > 0.0 && plan->claim_delta < 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "claim: delta %g: expected 0 to 1",
                              plan->claim_delta);
    plan->training = dpa__path_beside(path, keys->training, err);
    if (plan->training == NULL) return DPA_NO_MEMORY;
    if (keys->output == NULL) return DPA_OK;
    plan->output = dpa__strdup(keys->output, err);
    return plan->output != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa_game_plan_free(dpa_game_plan *plan) {
    if (plan == NULL) return;
    free(plan->training);
    free(plan->output);
    free(plan);
}

dpa_status dpa_game_plan_read(const char *path, dpa_game_plan **out, dpa_error *err) {
    audit_keys *keys = NULL;
    DPA_TRY(dpa__yaml_read(path, &audit_schema, (void **)&keys, err));
    dpa_game_plan *plan = DPA_NEW(dpa_game_plan, err);
    const dpa_status status = plan != NULL ? take(path, keys, plan, err) : DPA_NO_MEMORY;
    dpa__yaml_free(&audit_schema, keys);
    if (status == DPA_OK)
        *out = plan;
    else
        dpa_game_plan_free(plan);
    return status;
}
