/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kind of game must provide. To add one: a file with its rules, a line in game.c's table,
 * its keys in experiment.c, its page in docs/games.md. */
#ifndef DPA_GAME_RULES_H
#define DPA_GAME_RULES_H

#include "base/text.h"
#include "dpaudit/lab/game.h"
#include "game/trainer.h"
#include "settings/settings.h"

typedef struct dpa__rules {
    int trains_itself; /* else game->plan and game->data are filled before `open` is called, from
                          the `training` or the `trainer` of the file */
    int finds_noise;   /* `open` itself finds σ for an ε, because its number of members differs */
    /* Checks the settings and makes game->state, which all trials share; NULL: nothing to do. */
    dpa_status (*open)(dpa_game *game, dpa_error *err);
    void (*close)(dpa_game *game); /* frees game->state; NULL-safe */
    uint64_t (*trials)(const dpa_game *game, int stage);
    /* How many numbers a trial gives. Trials may come from a store that anyone may have written, so
     * trials of any other size are refused before `brief` and `gather` see them. */
    size_t (*numbers)(const dpa_game *game, int stage, uint64_t index);
    /* The keys that decide what a trial gives ("seed game.canary"), for dpa__game_put; key.c has
     * added training file and data already. */
    const char *settings;
    /* Appends what else decides it ("length: 10\n"); NULL: nothing. A setting that is added later
     * is put only where it is not what was done before, so that stored trials stay valid. */
    void (*describe)(const dpa_game *game, int stage, dpa__text *text);
    /* Games with it have two stages; NULL: one. */
    dpa_status (*brief)(dpa_game *game, int stage, const dpa_trials *earlier, dpa_values *brief,
                        dpa_error *err);
    /* Fills the `numbers` of `out`. */
    dpa_status (*trial)(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err);
    /* Describes the kind of evidence; NULL: scores of independent trainings. `gather` gets this
     * description and adds the arrays. */
    void (*expect)(const dpa_game *game, dpa_evidence *out);
    dpa_status (*gather)(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err);
    /* Whether a trial of the last stage is with the challenge (1) or without (0). −1, or NULL: it
     * has scores of both kinds. */
    int (*arm)(const dpa_game *game, uint64_t index);
} dpa__rules;

struct dpa_game {
    const dpa_experiment *experiment;
    const dpa__rules *rules;
    dpa_train_plan *plan; /* with σ found if the file says ε; NULL without training */
    dpa_train_data data;
    char digest[DPA_SHA256_SIZE]; /* of the training file and the data files; of the program that
                                     trains */
    dpa__trainer *remote;  /* the external program that trains, owned; NULL: our own trainer */
    dpa__trainer *trainer; /* the trainer the game plays against, set when it opens; borrowed */
    void *state;
    const char *keep; /* folder for the saved state of long trials, made when needed; borrowed;
                         NULL: none */
};

dpa_status dpa__values_new(size_t count, dpa_values *out, dpa_error *err);
/* The numbers need not be aligned. */
dpa_status dpa__values_copy(const void *numbers, size_t count, dpa_values *out, dpa_error *err);

/* The number of observations that the experiment asks for. */
uint64_t dpa__game_wanted(const dpa_game *game, uint64_t usual);
/* Fails if it asks for too many. */
dpa_status dpa__game_check_wanted(const dpa_game_opts *opts, dpa_error *err);

/* key.c: appends the named settings of the experiment ("seed game.canary"). */
void dpa__game_put(const dpa_game *game, const char *names, dpa__text *text);
/* The limits of an external trainer, if it has any: they decide which trainings fail. */
void dpa__game_put_confine(const dpa_game *game, dpa__text *text);
/* What the key of a stage is the digest of: a line for each setting, by its name. */
dpa_status dpa__game_settings(const dpa_game *game, int stage, char **out, dpa_error *err);
/* The key that dpaudit gave the same stage when keys were made of numbers of
 * enums. `settings` is what dpa__game_settings gives. */
dpa_status dpa__game_key_1(const dpa_game *game, int stage, const char *settings,
                           char key[DPA_SHA256_SIZE], dpa_error *err);

/* Whether a training program is still running after a trial that ended with `status`, and may keep
 * what it started. After a failure of the machine it is stopped. */
int dpa__game_stays(const dpa_game *game, dpa_status status);

/* Computes σ again if the training file says ε; for games that changed rate or length. */
dpa_status dpa__training_noise(dpa_game *game, dpa_error *err);
/* Whether the trainer also tells how good its models are. */
int dpa__tells_accuracy(const dpa_game *game);

/* evidence.c: adds an array with room for so many numbers, and none in it yet; NULL: no memory. */
struct dpa_named_array *dpa__gather_array(dpa_evidence *out, const char *name, size_t room,
                                          dpa_error *err);
/* The others add members and non-members. Here from trials that each begin with `each` scores of
 * members and `each` of non-members: the first `want` of each kind. */
dpa_status dpa__gather_halves(const dpa_game *game, const dpa_trials *trials, size_t each,
                              size_t want, dpa_evidence *out, dpa_error *err);
/* From trials that are in one arm each, by rules->arm. `scores` are those of the trials that were
 * played, in their order; NULL: their first numbers. */
dpa_status dpa__gather_arms(const dpa_game *game, const dpa_trials *trials, const double *scores,
                            dpa_evidence *out, dpa_error *err);
/* From scores of one trial, of which those with members[i] > 0 are members. */
dpa_status dpa__gather_split(const double *scores, const double *members, size_t count,
                             dpa_evidence *out, dpa_error *err);
/* Adds the mean of number `place` over the trials played as a fact; nothing if none was played, or
 * if it is NaN. */
dpa_status dpa__gather_mean(const dpa_trials *trials, size_t place, const char *name,
                            dpa_evidence *out, dpa_error *err);

/* experiment.c: the keys of an experiment file, and two of its lists of words. */
extern const dpa__section dpa__experiment_sections[];
extern const dpa__word dpa__game_canaries[], dpa__game_kinds[];

/* `federate: unobserved` at this value means as many as take part. `canaries` 0 means that
 * federated.c chooses. */
#define DPA__AS_MANY SIZE_MAX

extern const dpa__rules dpa__white_box_rules, dpa__black_box_rules, dpa__shadow_rules;
extern const dpa__rules dpa__one_run_rules, dpa__command_rules, dpa__federated_rules;
extern const dpa__rules dpa__whole_training_rules;

#endif
