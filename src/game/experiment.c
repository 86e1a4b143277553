/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experiments from YAML, by a libcyaml schema. The trainer has its own file: the experiment names
 * it, so that what is audited can also be trained by itself. Unknown keys are errors with their
 * line. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/lab/game.h"
#include "game/federated.h"
#include "game/rules.h"
#include "game/shadow.h"
#include "game/trainer_keys.h"
#include "settings/yaml.h"

typedef struct game_keys {
    dpa_game_kind kind;
    dpa_game_canary *canary;
    dpa_game_filter *filter;
    dpa_sabotage sabotage;
    dpa_game_access access;
    dpa_game_score score;
    bool moving;
    double *canary_rate, *noise_scale, *radius;
    uint64_t *observations, *seed, *seeds, *workers, *crafting_steps, *crafting_examples,
        *filter_examples, *canaries, *options;
    /* of an external trainer */
    char *command, *cancel;
    dpa_failed_as failed;
    uint64_t *points, *queries, *models, *challenge;
    dpa_design design;
    dpa_signal_kind *signal;
    dpa_attack *attack;
    double *timeout;
} game_keys;

typedef struct claim_keys {
    double *epsilon, *delta, *confidence;
} claim_keys;

typedef struct estimator_keys {
    char *family, *method, *select, *guesses;
} estimator_keys;

typedef struct budget_keys {
    uint64_t *trials;
    double *seconds;
    int stop;
} budget_keys;

typedef struct audit_keys {
    char *training, *output, *store;
    uint64_t *seed;
    game_keys game;
    claim_keys claim;
    estimator_keys estimators;
    budget_keys budget;
    dpa__federate_keys *federate;
    dpa__trainer_keys *trainer;
    dpa__shadow_keys shadow;
} audit_keys;

static const cyaml_strval_t kinds[] = {
    {"white-box", DPA_GAME_WHITE_BOX},           {"input-canary", DPA_GAME_INPUT_CANARY},
    {"black-box", DPA_GAME_BLACK_BOX},           {"membership", DPA_GAME_MEMBERSHIP},
    {"reconstruction", DPA_GAME_RECONSTRUCTION}, {"command", DPA_GAME_COMMAND},
    {"federated", DPA_GAME_FEDERATED},           {"shadow", DPA_GAME_SHADOW},
    {"whole-training", DPA_GAME_WHOLE_TRAINING}};
_Static_assert(CYAML_ARRAY_LEN(kinds) == DPA_GAME_KINDS, "every kind of game has a name");

static const cyaml_strval_t canaries[] = {
    {"dirac", DPA_GAME_DIRAC},     {"constant", DPA_GAME_CONSTANT},
    {"random", DPA_GAME_RANDOM},   {"mislabelled", DPA_GAME_MISLABELLED},
    {"blank", DPA_GAME_BLANK},     {"adversarial", DPA_GAME_ADVERSARIAL},
    {"crafted", DPA_GAME_CRAFTED}, {"matched", DPA_GAME_MATCHED}};
static const cyaml_strval_t filters[] = {{"dot", DPA_FILTER_DOT}, {"matched", DPA_FILTER_MATCHED}};
static const cyaml_strval_t sabotages[] = {{"none", DPA_SABOTAGE_NONE},
                                           {"noise-scale", DPA_SABOTAGE_SCALE},
                                           {"clip-after-mean", DPA_SABOTAGE_CLIP},
                                           {"few-seeds", DPA_SABOTAGE_SEEDS},
                                           {"noise-per-worker", DPA_SABOTAGE_WORKERS},
                                           {"shuffled-batches", DPA_SABOTAGE_SHUFFLE},
                                           {"partial-batch", DPA_SABOTAGE_PARTIAL}};
static const cyaml_strval_t accesses[] = {{"white-box", DPA_ACCESS_STEPS},
                                          {"black-box", DPA_ACCESS_FINAL}};
static const cyaml_strval_t scores[] = {{"sum", DPA_SCORE_SUM},
                                        {"likelihood", DPA_SCORE_LIKELIHOOD}};

static const cyaml_strval_t designs[] = {{"coins", DPA_DESIGN_COINS},
                                         {"leave-one-out", DPA_DESIGN_LEAVE_ONE_OUT}};
static const cyaml_strval_t signals[] = {{"loss", DPA_SIGNAL_LOSS}, {"logit", DPA_SIGNAL_LOGIT}};
static const cyaml_strval_t attacks[] = {
    {"loss", DPA_ATTACK_LOSS}, {"calibrated", DPA_ATTACK_CALIBRATED}, {"lira", DPA_ATTACK_LIRA}};

static const cyaml_strval_t failed_scores[] = {
    {"low", DPA_FAILED_LOW}, {"high", DPA_FAILED_HIGH}, {"against", DPA_FAILED_AGAINST}};

enum {
    MAYBE = CYAML_FLAG_OPTIONAL,
    MAYBE_PTR = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
    STRICT = CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, /* a word of the list, never its number */
    STRICT_PTR = STRICT | CYAML_FLAG_POINTER
};

#define TEXT_FIELD(name, type, member)                                                             \
    CYAML_FIELD_STRING_PTR(name, MAYBE_PTR, type, member, 1, CYAML_UNLIMITED)

static const cyaml_schema_field_t game_fields[] = {
    CYAML_FIELD_ENUM("kind", STRICT, game_keys, kind, kinds, CYAML_ARRAY_LEN(kinds)),
    CYAML_FIELD_ENUM_PTR("canary", STRICT_PTR, game_keys, canary, canaries,
                         CYAML_ARRAY_LEN(canaries)),
    CYAML_FIELD_BOOL("moving", MAYBE, game_keys, moving),
    CYAML_FIELD_FLOAT_PTR("canary-rate", MAYBE_PTR, game_keys, canary_rate),
    CYAML_FIELD_UINT_PTR("crafting-steps", MAYBE_PTR, game_keys, crafting_steps),
    CYAML_FIELD_UINT_PTR("crafting-examples", MAYBE_PTR, game_keys, crafting_examples),
    CYAML_FIELD_ENUM_PTR("filter", STRICT_PTR, game_keys, filter, filters,
                         CYAML_ARRAY_LEN(filters)),
    CYAML_FIELD_UINT_PTR("filter-examples", MAYBE_PTR, game_keys, filter_examples),
    CYAML_FIELD_FLOAT_PTR("radius", MAYBE_PTR, game_keys, radius),
    CYAML_FIELD_UINT_PTR("observations", MAYBE_PTR, game_keys, observations),
    CYAML_FIELD_UINT_PTR("seed", MAYBE_PTR, game_keys, seed),
    CYAML_FIELD_ENUM("sabotage", STRICT, game_keys, sabotage, sabotages,
                     CYAML_ARRAY_LEN(sabotages)),
    CYAML_FIELD_FLOAT_PTR("noise-scale", MAYBE_PTR, game_keys, noise_scale),
    CYAML_FIELD_UINT_PTR("seeds", MAYBE_PTR, game_keys, seeds),
    CYAML_FIELD_UINT_PTR("workers", MAYBE_PTR, game_keys, workers),
    CYAML_FIELD_UINT_PTR("canaries", MAYBE_PTR, game_keys, canaries),
    CYAML_FIELD_UINT_PTR("options", MAYBE_PTR, game_keys, options),
    CYAML_FIELD_ENUM("access", STRICT, game_keys, access, accesses, CYAML_ARRAY_LEN(accesses)),
    CYAML_FIELD_ENUM("score", STRICT, game_keys, score, scores, CYAML_ARRAY_LEN(scores)),
    TEXT_FIELD("command", game_keys, command),
    TEXT_FIELD("cancel", game_keys, cancel),
    CYAML_FIELD_ENUM("failed", STRICT, game_keys, failed, failed_scores,
                     CYAML_ARRAY_LEN(failed_scores)),
    CYAML_FIELD_UINT_PTR("points", MAYBE_PTR, game_keys, points),
    CYAML_FIELD_UINT_PTR("queries", MAYBE_PTR, game_keys, queries),
    CYAML_FIELD_UINT_PTR("models", MAYBE_PTR, game_keys, models),
    CYAML_FIELD_UINT_PTR("challenge", MAYBE_PTR, game_keys, challenge),
    CYAML_FIELD_ENUM("design", STRICT, game_keys, design, designs, CYAML_ARRAY_LEN(designs)),
    CYAML_FIELD_ENUM_PTR("signal", STRICT_PTR, game_keys, signal, signals,
                         CYAML_ARRAY_LEN(signals)),
    CYAML_FIELD_ENUM_PTR("attack", STRICT_PTR, game_keys, attack, attacks,
                         CYAML_ARRAY_LEN(attacks)),
    CYAML_FIELD_FLOAT_PTR("timeout", MAYBE_PTR, game_keys, timeout),
    CYAML_FIELD_END};

static const cyaml_schema_field_t claim_fields[] = {
    CYAML_FIELD_FLOAT_PTR("epsilon", MAYBE_PTR, claim_keys, epsilon),
    CYAML_FIELD_FLOAT_PTR("delta", MAYBE_PTR, claim_keys, delta),
    CYAML_FIELD_FLOAT_PTR("confidence", MAYBE_PTR, claim_keys, confidence), CYAML_FIELD_END};

static const cyaml_schema_field_t estimator_fields[] = {
    TEXT_FIELD("family", estimator_keys, family), TEXT_FIELD("method", estimator_keys, method),
    TEXT_FIELD("select", estimator_keys, select), TEXT_FIELD("guesses", estimator_keys, guesses),
    CYAML_FIELD_END};

static const cyaml_strval_t stops[] = {{"never", 0}, {"refuted", 1}};

static const cyaml_schema_field_t budget_fields[] = {
    CYAML_FIELD_ENUM("stop", STRICT, budget_keys, stop, stops, CYAML_ARRAY_LEN(stops)),
    CYAML_FIELD_UINT_PTR("trials", MAYBE_PTR, budget_keys, trials),
    CYAML_FIELD_FLOAT_PTR("seconds", MAYBE_PTR, budget_keys, seconds), CYAML_FIELD_END};

static const cyaml_schema_field_t audit_fields[] = {
    TEXT_FIELD("training", audit_keys, training),
    CYAML_FIELD_UINT_PTR("seed", MAYBE_PTR, audit_keys, seed),
    CYAML_FIELD_MAPPING("game", CYAML_FLAG_DEFAULT, audit_keys, game, game_fields),
    CYAML_FIELD_MAPPING("claim", MAYBE, audit_keys, claim, claim_fields),
    CYAML_FIELD_MAPPING("estimators", MAYBE, audit_keys, estimators, estimator_fields),
    CYAML_FIELD_MAPPING("budget", MAYBE, audit_keys, budget, budget_fields),
    CYAML_FIELD_MAPPING("shadow", MAYBE, audit_keys, shadow, dpa__shadow_fields),
    CYAML_FIELD_MAPPING_PTR("trainer", MAYBE_PTR, audit_keys, trainer, dpa__trainer_fields),
    CYAML_FIELD_MAPPING_PTR("federate", MAYBE_PTR, audit_keys, federate, dpa__federate_fields),
    TEXT_FIELD("output", audit_keys, output),
    TEXT_FIELD("store", audit_keys, store),
    CYAML_FIELD_END};

static const cyaml_schema_value_t audit_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, audit_keys, audit_fields)};

static void take_game(const audit_keys *keys, dpa_game_opts *g) {
    const game_keys *k = &keys->game;
    dpa_game_opts_init(g);
    g->canary = dpa__rules_of(k->kind)->usual;
    DPA_TAKE(g->canary, k->canary);
    g->sabotage = k->sabotage;
    g->moving = k->moving;
    g->access = k->access;
    g->score = k->score;
    DPA_TAKE(g->canary_rate, k->canary_rate);
    DPA_TAKE(g->noise_scale, k->noise_scale);
    DPA_TAKE(g->crafting_steps, k->crafting_steps);
    DPA_TAKE(g->crafting_examples, k->crafting_examples);
    DPA_TAKE(g->radius, k->radius);
    if (g->canary == DPA_GAME_MATCHED) g->filter = DPA_FILTER_MATCHED;
    DPA_TAKE(g->filter, k->filter);
    DPA_TAKE(g->filter_examples, k->filter_examples);
    DPA_TAKE(g->observations, k->observations);
    DPA_TAKE(g->seed, keys->seed);
    DPA_TAKE(g->seed, k->seed);
    DPA_TAKE(g->seeds, k->seeds);
    DPA_TAKE(g->workers, k->workers);
    DPA_TAKE(g->canaries, k->canaries);
    DPA_TAKE(g->options, k->options);
    dpa__shadow_take(&keys->shadow, &g->shadow);
}

/* Which canaries a kind of game knows, for the error. */
static dpa_status check_canary(const dpa_experiment *e, dpa_error *err) {
    const dpa__rules *rules = dpa__rules_of(e->kind);
    if (rules->canaries == 0 || (rules->canaries >> e->game.canary & 1U) != 0) return DPA_OK;
    char known[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < CYAML_ARRAY_LEN(canaries) && used < sizeof known; ++i)
        if ((rules->canaries >> canaries[i].val & 1U) != 0)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", canaries[i].str);
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "game: canary %s: a game of kind %s knows %s",
                          canaries[e->game.canary].str, rules->name, known);
}

static dpa_status take_claim(const claim_keys *keys, dpa_experiment *e, dpa_error *err) {
    e->claim_epsilon = e->claim_delta = (double)NAN;
    e->confidence = 0.95;
    DPA_TAKE(e->claim_epsilon, keys->epsilon);
    DPA_TAKE(e->claim_delta, keys->delta);
    DPA_TAKE(e->confidence, keys->confidence);
    if (keys->epsilon != NULL && !(e->claim_epsilon > 0.0 && e->claim_epsilon < 1e3))
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "claim: epsilon %g: expected 0 to 1000",
                              e->claim_epsilon);
    if (keys->delta != NULL && !(e->claim_delta > 0.0 && e->claim_delta < 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "claim: delta %g: expected 0 to 1",
                              e->claim_delta);
    if (!(e->confidence > 0.0 && e->confidence < 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "claim: confidence %g: expected 0 to 1",
                              e->confidence);
    return DPA_OK;
}

static dpa_status take_budget(const budget_keys *keys, dpa_experiment *e, dpa_error *err) {
    e->seconds = (double)INFINITY;
    DPA_TAKE(e->trials, keys->trials);
    DPA_TAKE(e->seconds, keys->seconds);
    e->stop_refuted = keys->stop;
    if (!(e->seconds > 0.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "budget: seconds %g: expected above 0",
                              e->seconds);
    return DPA_OK;
}

/* Copies an optional YAML string; absent stays NULL. */
static dpa_status take_text(const char *from, char **to, dpa_error *err) {
    if (from == NULL) return DPA_OK;
    *to = dpa__strdup(from, err);
    return *to != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status take_command(const game_keys *k, dpa_experiment *e, dpa_error *err) {
    dpa_command_opts *c = &e->command;
    c->design = k->design;
    c->failed = k->failed;
    c->signal = DPA_SIGNAL_LOSS;
    c->has_attack = k->attack != NULL;
    DPA_TAKE(c->points, k->points);
    DPA_TAKE(c->queries, k->queries);
    DPA_TAKE(c->models, k->models);
    DPA_TAKE(c->challenge, k->challenge);
    DPA_TAKE(c->signal, k->signal);
    DPA_TAKE(c->attack, k->attack);
    e->timeout = (double)INFINITY;
    DPA_TAKE(e->timeout, k->timeout);
    if (!(e->timeout > 0.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "game: timeout %g: expected above 0",
                              e->timeout);
    DPA_TRY(take_text(k->cancel, &c->cancel, err));
    return take_text(k->command, &c->line, err);
}

static dpa_status take(const audit_keys *keys, const char *path, dpa_experiment *e,
                       dpa_error *err) {
    DPA_TRY(take_text(path, &e->path, err));
    e->kind = keys->game.kind;
    take_game(keys, &e->game);
    DPA_TRY(check_canary(e, err));
    DPA_TRY(take_command(&keys->game, e, err));
    DPA_TRY(take_claim(&keys->claim, e, err));
    DPA_TRY(take_budget(&keys->budget, e, err));
    if (keys->training != NULL) {
        e->training = dpa__path_beside(path, keys->training, err);
        if (e->training == NULL) return DPA_NO_MEMORY;
    }
    DPA_TRY(take_text(keys->estimators.family, &e->family, err));
    DPA_TRY(take_text(keys->estimators.method, &e->method, err));
    DPA_TRY(take_text(keys->estimators.select, &e->select, err));
    DPA_TRY(take_text(keys->estimators.guesses, &e->guesses, err));
    DPA_TRY(take_text(keys->store, &e->store, err));
    dpa__trainer_opts_init(&e->trainer);
    if (keys->trainer != NULL) DPA_TRY(dpa__trainer_take(keys->trainer, path, &e->trainer, err));
    if (keys->federate != NULL)
        DPA_TRY(dpa__federate_plan_take(keys->federate, path, &e->federate, err));
    return take_text(keys->output, &e->output, err);
}

void dpa_experiment_free(dpa_experiment *e) {
    if (e == NULL) return;
    char *const texts[] = {e->path,    e->training, e->family, e->method,       e->select,
                           e->guesses, e->output,   e->store,  e->command.line, e->command.cancel};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) free(texts[i]);
    free(e->trainer.command);
    dpa_federate_plan_free(e->federate);
    free(e);
}

dpa_status dpa_experiment_blame(const dpa_experiment *experiment, const char *section,
                                dpa_error *err) {
    if (err == NULL) return DPA_BAD_INPUT;
    char text[DPA_TEXT_SIZE];
    memcpy(text, err->text, sizeof text);
    return dpa__yaml_locate(
        dpa__fail_file(err, DPA_BAD_INPUT, experiment->path, "%s: %s", section, text), err);
}

dpa_status dpa_experiment_read(const char *path, dpa_experiment **out, dpa_error *err) {
    audit_keys *keys = NULL;
    DPA_TRY(dpa__yaml_read(path, &audit_schema, (void **)&keys, err));
    dpa_experiment *e = DPA_NEW(dpa_experiment, err);
    const dpa_status status =
        e != NULL ? dpa__yaml_locate(take(keys, path, e, err), err) : DPA_NO_MEMORY;
    dpa__yaml_free(&audit_schema, keys);
    if (status == DPA_OK)
        *out = e;
    else
        dpa_experiment_free(e);
    return status;
}
