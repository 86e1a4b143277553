/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads experiment files (YAML). The training has its own file, which the experiment names, so that
 * what is audited can also be trained by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/experiment_keys.h"
#include "game/rules.h"
#include "train/plan.h"

static void init(dpa_experiment *e) {
    *e = (dpa_experiment){.claim_epsilon = (double)NAN,
                          .claim_delta = (double)NAN,
                          .confidence = 0.95,
                          .seconds = (double)INFINITY,
                          .timeout = (double)INFINITY};
    dpa_game_opts_init(&e->game);
    e->command.signal = DPA_SIGNAL_LOSS;
    e->trainer = (dpa_trainer_opts){
        .clip = 1.0, .q = (double)NAN, .delta = 1e-5, .timeout = (double)INFINITY};
    dpa_federate_opts_init(&e->federate.opts);
    e->federate.concentration = 1.0;
    e->federate.runs = 1;
}

/* ---- checks that involve several keys ---- */

/* Fails if the game does not know the canary; the error lists those it knows. */
static dpa_status check_canary(const dpa_experiment *e, dpa_error *err) {
    const dpa__rules *rules = dpa__rules_of(e->kind);
    if (rules->canaries == 0 || (rules->canaries >> e->game.canary & 1U) != 0) return DPA_OK;
    char known[160] = "";
    size_t used = 0;
    for (const dpa__word *w = dpa__game_canaries; w->text != NULL && used < sizeof known; ++w)
        if ((rules->canaries >> w->value & 1U) != 0)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", w->text);
    return dpa__fail_file(
        err, DPA_BAD_INPUT, e->path, "game: canary %s: a game of kind %s knows %s",
        dpa__word_text(dpa__game_canaries, (int)e->game.canary), rules->name, known);
}

static dpa_status check_copies(const dpa_experiment *e, dpa_error *err) {
    if (e->game.copies < 1 || e->game.copies > DPA_RECORDS_MOST)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "game: copies %llu: expected 1 to %d",
                              (unsigned long long)e->game.copies, DPA_RECORDS_MOST);
    if (e->game.copies == 1 || e->kind == DPA_GAME_BLACK_BOX) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "game: copies %llu: only in a black-box game; in the others every canary "
                          "is one record",
                          (unsigned long long)e->game.copies);
}

/* Weights without a canary that are watched where method channels decides. */
enum { WATCHED = 64 };

static void fill_game(const dpa__settings *settings, dpa_experiment *e) {
    dpa_game_opts *g = &e->game;
    if (!dpa__settings_has(settings, "game", "canary")) g->canary = dpa__rules_of(e->kind)->usual;
    if (!dpa__settings_has(settings, "game", "filter") && g->canary == DPA_GAME_MATCHED)
        g->filter = DPA_FILTER_MATCHED;
    const int watches = e->kind == DPA_GAME_MEMBERSHIP && g->access == DPA_ACCESS_STEPS &&
                        g->canary == DPA_GAME_DIRAC;
    if (watches && !dpa__settings_has(settings, "game", "null-coordinates") && e->method != NULL &&
        strstr(e->method, "channels") != NULL)
        g->null_coordinates = WATCHED;
    e->command.has_attack = dpa__settings_has(settings, "game", "attack");
}

static dpa_status check_trainer(const dpa_experiment *e, dpa_error *err) {
    if (!(e->trainer.sigma > 0.0) || e->trainer.steps > 0 || e->kind == DPA_GAME_FEDERATED)
        return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "trainer: steps is missing: how many steps with this sigma");
}

/* A trainer's clients and server are its own. */
static dpa_status check_far(const dpa__settings *settings, const dpa_experiment *e,
                            dpa_error *err) {
    static const char *const own[] = {
        "clients",     "column",     "each-row", "split",    "concentration", "server",
        "server-rate", "beta2",      "tau",      "momentum", "adaptive",      "quantile",
        "clip-rate",   "vote-noise", "fault",    "copies",   "share",         "keep-every"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; ++i)
        if (dpa__settings_has(settings, "federate", own[i]))
            return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                                  "federate: %s: the trainer has clients and a server of its own",
                                  own[i]);
    return DPA_OK;
}

static dpa_status check_confine(const dpa__settings *settings, const dpa_experiment *e,
                                dpa_error *err) {
    if (!dpa__settings_has(settings, "confine", NULL) || e->kind == DPA_GAME_COMMAND ||
        e->trainer.command != NULL)
        return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "confine: there is no program to confine: the trainer is dpaudit's own");
}

static dpa_status fill_federate(const dpa__settings *settings, dpa_experiment *e, dpa_error *err) {
    dpa_federate_plan *plan = &e->federate;
    e->has_federate = dpa__settings_has(settings, "federate", NULL);
    if (!e->has_federate) return DPA_OK;
    if (!dpa__settings_has(settings, "federate", "unobserved"))
        plan->opts.unobserved = DPA__AS_MANY;
    const int is_split = dpa__settings_has(settings, "federate", "split");
    if (e->trainer.command != NULL) DPA_TRY(check_far(settings, e, err));
    if (e->trainer.command == NULL && (plan->clients != NULL) + is_split + plan->each_row != 1)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, e->path,
            "federate: give either clients, a file, or split, a number, or each-row: true");
    if (plan->checkpoints > plan->opts.rounds)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, e->path, "federate: %llu checkpoints in %llu rounds",
            (unsigned long long)plan->checkpoints, (unsigned long long)plan->opts.rounds);
    if (plan->opts.all_iterates && plan->opts.unobserved < 2)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "federate: all-iterates needs 2 unobserved canaries or more");
    return DPA_OK;
}

static dpa_status take(const char *path, dpa__settings *settings, dpa_experiment *e,
                       dpa_error *err) {
    char *copy = dpa__strdup(path, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    e->path = copy;
    for (const dpa__section *s = dpa__experiment_sections; s->name != NULL; ++s)
        DPA_TRY(dpa__settings_take(settings, s->name, e, err));
    fill_game(settings, e);
    DPA_TRY(check_canary(e, err));
    DPA_TRY(check_copies(e, err));
    DPA_TRY(check_trainer(e, err));
    DPA_TRY(check_confine(settings, e, err));
    return fill_federate(settings, e, err);
}

/* ---- the file ---- */

void dpa_experiment_free(dpa_experiment *e) {
    if (e == NULL) return;
    dpa__settings_close(e->texts);
    free((char *)e->path);
    free(e);
}

dpa_status dpa_experiment_blame(const dpa_experiment *experiment, const char *section,
                                dpa_error *err) {
    if (err == NULL) return DPA_BAD_INPUT;
    char text[DPA_TEXT_SIZE];
    memcpy(text, err->text, sizeof text);
    return dpa__settings_locate(
        dpa__fail_file(err, DPA_BAD_INPUT, experiment->path, "%s: %s", section, text), err);
}

dpa_status dpa_experiment_read(const char *path, dpa_experiment **out, dpa_error *err) {
    dpa_experiment *e = DPA_NEW(dpa_experiment, err);
    dpa__settings *settings = NULL;
    if (e == NULL) return DPA_NO_MEMORY;
    init(e);
    dpa_status status = dpa__settings_open(path, dpa__experiment_sections, &settings, err);
    e->texts = settings;
    if (status == DPA_OK) status = dpa__settings_locate(take(path, settings, e, err), err);
    if (status == DPA_OK)
        *out = e;
    else
        dpa_experiment_free(e);
    return status;
}

dpa_status dpa_settings_list(char **out, dpa_error *err) {
    dpa_experiment e;
    dpa__text text = {0};
    init(&e);
    dpa__text_add(&text, "Experiment files, for `dpaudit run`\n\n");
    for (const dpa__section *s = dpa__experiment_sections; s->name != NULL; ++s)
        dpa__settings_describe(s, &e, &text);
    dpa__text_add(&text, "Training files, for `dpaudit train` and `training:` above\n\n");
    dpa__train_plan_describe(&text);
    return dpa__text_take(&text, out, err);
}
