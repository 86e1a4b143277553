/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kind of game must say of itself. To add one: a file with its rules, a line in game.c's
 * table, its keys in experiment.c, its page in docs/games.md. */
#ifndef DPA_GAME_RULES_H
#define DPA_GAME_RULES_H

#include "base/text.h"
#include "dpaudit/lab/game.h"
#include "game/trainer.h"

typedef struct dpa__rules {
    const char *name; /* `kind` in the experiment file */
    int stages;
    unsigned canaries;     /* those it knows, as bits 1U << kind; 0: it has no such choice */
    dpa_game_canary usual; /* the one that is taken where the file is silent */
    int needs_training;    /* game->plan and game->data are there when `open` is called */
    int takes_trainer;     /* `trainer` in the file may stand in place of `training` */
    int finds_noise; /* `open` finds σ where the file says ε, for members of its own number */
    /* Checks the settings and makes game->state, what all trials share; NULL: nothing to do. */
    dpa_status (*open)(dpa_game *game, dpa_error *err);
    void (*close)(dpa_game *game); /* frees game->state; NULL-safe */
    uint64_t (*trials)(const dpa_game *game, int stage);
    /* How many numbers a trial gives. Trials come from a store too, which anyone may have written:
     * `brief` and `gather` see none of another size. */
    size_t (*numbers)(const dpa_game *game, int stage, uint64_t index);
    /* Appends the settings of the game that decide what a trial of the stage gives ("seed 1\n…").
     * Training file and data are in the key already. */
    void (*describe)(const dpa_game *game, int stage, dpa__text *text);
    /* NULL for games of one stage. */
    dpa_status (*brief)(dpa_game *game, int stage, const dpa_trials *earlier, dpa_values *brief,
                        dpa_error *err);
    dpa_status (*trial)(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err);
    /* What kind of evidence it will be; NULL: scores of independent trainings. `gather` gets it so
     * and adds the arrays. */
    void (*expect)(const dpa_game *game, dpa_evidence *out);
    dpa_status (*gather)(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err);
    /* Is the trial of the last stage one with the challenge (1) or without (0)? −1, or NULL: it
     * has scores of both kinds. */
    int (*arm)(const dpa_game *game, uint64_t index);
} dpa__rules;

struct dpa_game {
    const dpa_experiment *experiment;
    const dpa__rules *rules;
    dpa_train_plan *plan; /* σ found where the file says ε; NULL without training */
    dpa_train_data data;
    char digest[DPA_SHA256_SIZE]; /* of training file and data files */
    dpa__trainer *remote;         /* the program that trains, owned; NULL: our own trainer */
    dpa__trainer *trainer;        /* whom the game plays against, once it is open; borrowed */
    void *state;
};

dpa_status dpa__values_new(size_t count, dpa_values *out, dpa_error *err);

const dpa__rules *dpa__rules_of(dpa_game_kind kind);

/* Is there a program that trains and stays, with what it started, after a trial that ended so?
 * After a machine's failure there is none. */
int dpa__game_stays(const dpa_game *game, dpa_status status);

/* The score of a trial that has none: fixed for one whose trainer failed, NaN (against the attack,
 * whichever the arm) for one that was lost. */
double dpa__score_of_end(dpa_trial_end end);
/* failures.c: how many trials of the last stage failed or were lost, by arm, as facts. */
dpa_status dpa__gather_failures(const dpa_game *game, const dpa_trials *trials, dpa_evidence *out,
                                dpa_error *err);

/* Members and non-members from trials that begin with `each` scores of the one and `each` of the
 * other: the first `want` of each kind. */
dpa_status dpa__gather_halves(const dpa_trials *trials, size_t each, size_t want, dpa_evidence *out,
                              dpa_error *err);

/* The mean of number `place` over the trials that were played, as a fact; none when there are none.
 */
dpa_status dpa__gather_mean(const dpa_trials *trials, size_t place, const char *name,
                            dpa_evidence *out, dpa_error *err);

/* What every game's evidence says besides its arrays: the training, its claim, the estimators that
 * the experiment names, and where it comes from. */
dpa_status dpa__game_describe(const dpa_game *game, dpa_evidence *out, dpa_error *err);

extern const dpa__rules dpa__white_box_rules, dpa__input_canary_rules, dpa__black_box_rules;
extern const dpa__rules dpa__shadow_rules;
extern const dpa__rules dpa__membership_rules, dpa__reconstruction_rules, dpa__command_rules;
extern const dpa__rules dpa__federated_rules, dpa__whole_training_rules;

#endif
