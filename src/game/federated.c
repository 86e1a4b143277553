/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The federated game (one-shot-federated, Algorithms 2 and 3): a trial is one whole training by
 * DP-FedAvg with its own canaries. If a baseline is wanted, the last trials have none.
 *
 * A trial's numbers are HEAD facts; the final cosines of the observed canaries; the largest cosines
 * over the rounds of the observed and of the unobserved ones; for all canaries the scores over
 * their own rounds and the numbers of those rounds; then a row of POINT numbers per checkpoint. */
#include "game/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "evidence/evidence.h"
#include "game/federated_trainer.h"

enum { ACCURACY, LOSS, CLIP, SPREAD, CLIENTS_ENERGY, CANARIES_ENERGY, NOISE_ENERGY, HEAD };
/* round; mean and deviation of final, observed and unobserved cosines so far */
enum { POINT = 7 };
/* Time between two saved states if the file does not give a number of rounds. */
static const double KEEP_SECONDS = 30.0;

typedef struct state {
    dpa_clients *clients;
    dpa__trainer *served;   /* our own federation behind the interface of trainers */
    dpa_federate_opts opts; /* those of run 0; other runs differ in their seeds */
    size_t dim;
} state;

static const dpa_federate_plan *plan_of(const dpa_game *game) {
    return game->experiment->has_federate ? &game->experiment->federate : NULL;
}

/* The options as the game plays them: those of the plan, with defaults filled in. */
static const dpa_federate_opts *opts_of(const dpa_game *game) {
    return &((const state *)game->state)->opts;
}

static size_t null_count(const dpa_game *game) {
    const dpa_federate_opts *o = opts_of(game);
    return o->all_iterates ? o->unobserved : 0;
}

/* The number of canaries with rounds of their own, unobserved ones included. */
static size_t known_count(const dpa_game *game) {
    const dpa_federate_opts *o = opts_of(game);
    return o->canaries + o->unobserved;
}

static size_t value_count(const dpa_game *game, int with_canaries) {
    const dpa_federate_opts *o = opts_of(game);
    if (!with_canaries) return HEAD;
    return HEAD + o->canaries * (o->all_iterates ? 2 : 1) + null_count(game) +
           2 * known_count(game) + POINT * plan_of(game)->checkpoints;
}

/* Copies what the training file says about a client's work, and refuses what a client here cannot
 * do. */
static dpa_status take_training(const dpa_game *game, dpa_federate_opts *o, dpa_error *err) {
    const dpa_train_plan *plan = game->plan;
    const dpa_train_opts *t = &plan->train;
    const char *file = game->experiment->training;
    if (plan->epsilon > 0.0)
        return dpa__fail_file(err, DPA_BAD_INPUT, file,
                              "privacy: a federated training needs sigma, not epsilon");
    if (!isfinite(t->clip))
        return dpa__fail_file(err, DPA_BAD_INPUT, file, "privacy: a federated training needs clip");
    if (t->momentum != 0.0 || t->decay != 0.0 || t->schedule != DPA_RATE_CONSTANT ||
        t->warmup > 0 || t->averaging != DPA_AVERAGE_NONE || t->augment > 1 || t->shift > 0 ||
        t->flip || t->microbatch > 1)
        return dpa__fail_file(err, DPA_BAD_INPUT, file,
                              "train: a client knows batch, rate, epochs and steps only");
    o->batch = t->batch;
    o->client_rate = t->rate;
    o->client_steps = t->steps;
    o->epochs = plan->epochs >= 1.0 ? (size_t)plan->epochs : t->steps > 0 ? (size_t)t->steps : 1;
    o->clip = t->clip;
    o->sigma = t->sigma;
    return DPA_OK;
}

static void close_game(dpa_game *game) {
    state *s = game->state;
    if (s == NULL) return;
    dpa__trainer_close(s->served);
    dpa_clients_free(s->clients);
    free(s);
}

/* Chooses the number of canaries if the file does not say: 1000, but no more in a round than
 * clients, so that the clients still make the model, and in the final model at most a twentieth of
 * the noise's energy, so that no canary hides the others. */
static void choose_canaries(state *s) {
    dpa_federate_opts *o = &s->opts;
    if (o->canaries == 0) {
        const double rate = dpa__participation_canary(o, dpa_clients_count(s->clients));
        const double quiet = 0.05 * o->sigma * o->sigma * (double)s->dim;
        const double cohort = (double)o->cohort;
        const double in_round = o->sigma > 0.0 ? fmin(cohort, quiet) : cohort;
        o->canaries = (size_t)fmin(1000.0, fmax(20.0, floor(in_round / rate)));
    }
    if (o->unobserved == DPA__AS_MANY) o->unobserved = o->canaries;
}

/* Makes a federation and throws it away, so that impossible settings are an error now. */
static dpa_status try_settings(const dpa_game *game, state *s, dpa_error *err) {
    dpa_model *model = NULL;
    dpa_federation *f = NULL;
    DPA_TRY(dpa__federated_model(game, game->plan->init_seed, &model, err));
    s->dim = dpa_model_size(model);
    choose_canaries(s);
    const dpa_status status =
        dpa_federation_new(model, game->data.data, s->clients, &s->opts, &f, err);
    dpa_federation_free(f);
    dpa_model_free(model);
    if (status != DPA_OK) return status;
    return dpa__federated_serve_new(game, s->clients, &s->opts, s->dim, &s->served, err);
}

/* The same with a trainer's clients: only what concerns the auditor can be tried. */
static dpa_status try_far_settings(const dpa_game *game, state *s, dpa_error *err) {
    const dpa__elsewhere nobody = {0};
    dpa_model model = {.size = s->dim = (size_t)game->experiment->trainer.size};
    dpa_federation *f = NULL;
    if (s->dim < 2)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, game->experiment->path,
            "trainer: size is missing: the number of weights, 2 or more, which is "
            "the length of a canary client's change");
    choose_canaries(s);
    model.weight = dpa__calloc(s->dim, sizeof(float), err);
    if (model.weight == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        dpa__federation_elsewhere(&model, s->clients, &s->opts, &nobody, &f, err);
    dpa_federation_free(f);
    free(model.weight);
    return status;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_federate_plan *p = plan_of(game);
    if (p == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->path,
                              "a federated game needs the section federate");
    state *s = DPA_NEW(state, err);
    if (s == NULL) return DPA_NO_MEMORY;
    game->state = s;
    s->opts = p->opts;
    /* Several runs are played by several workers, which share the machine's cores. */
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t trainings = p->runs * (p->baseline ? 2 : 1);
    s->opts.threads =
        cores > 0 && trainings < (uint64_t)cores ? (unsigned)cores / (unsigned)trainings : 1;
    DPA_TRY(take_training(game, &s->opts, err));
    DPA_TRY(dpa__federated_clients(game, &s->clients, err));
    if (game->remote != NULL) return try_far_settings(game, s, err);
    DPA_TRY(try_settings(game, s, err));
    game->trainer = s->served;
    return DPA_OK;
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    return plan_of(game)->runs * (plan_of(game)->baseline ? 2 : 1);
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    const state *s = game->state;
    char owners[DPA_SHA256_SIZE];
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    for (size_t c = 0; c < dpa_clients_count(s->clients); ++c) {
        size_t count;
        const size_t *row = dpa_clients_rows(s->clients, c, &count);
        dpa__sha256_add(&sha, &count, sizeof count);
        dpa__sha256_add(&sha, row, count * sizeof *row);
    }
    dpa__sha256_hex(&sha, owners);
    dpa__text_printf(text, "owners: %s\n", owners);
    dpa_experiment told = *game->experiment;
    told.federate.opts = s->opts; /* with what the file left to us filled in */
    dpa__settings_put(
        dpa__experiment_sections,
        "seed federate.rounds federate.participation federate.cohort federate.period "
        "federate.drop federate.server federate.server-rate federate.beta2 federate.tau "
        "federate.momentum federate.adaptive federate.quantile federate.clip-rate "
        "federate.vote-noise federate.divide-actual federate.canaries federate.unobserved "
        "federate.repetitions federate.canary-scale federate.direction federate.all-iterates "
        "federate.fault federate.copies federate.share federate.runs federate.since-start "
        "federate.checkpoints",
        &told, text);
}

/* ---- one training ---- */

/* Numbers that grow with the rounds, kept in one array so that they can be saved: sums of the
 * energies of clients, canaries and noise, the number of checkpoints taken, and the checkpoints. */
enum { TAKEN = 3, POINTS };

typedef struct training {
    dpa_game *game;
    dpa_federation *federation;
    dpa_model *model;
    dpa__far far;            /* of a game against a trainer */
    double *final, *largest; /* [canaries + unobserved] scratch */
    double *grown;           /* [POINTS + POINT × checkpoints] */
    uint64_t points;         /* number of checkpoints wanted */
    char key[DPA_SHA256_SIZE];
    char *kept;       /* the file of its saved state; NULL: none */
    double kept_when; /* time of the last save */
} training;

static size_t grown_count(const training *t) {
    return POINTS + POINT * (size_t)t->points;
}

/* Mean and deviation (divided by the count, as the estimators do); NaN for an empty sample. */
static void put_fit(const double *sample, size_t count, double *out) {
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < count; ++i) sum += sample[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; ++i) square += (sample[i] - mean) * (sample[i] - mean);
    out[0] = mean;
    out[1] = sqrt(square / (double)count);
}

static dpa_status look(training *t, dpa_error *err) {
    if (t->far.trainer != NULL) DPA_TRY(dpa__far_look(&t->far, err));
    DPA_TRY(dpa_federation_cosines(t->federation, plan_of(t->game)->since_start, t->final, err));
    return dpa_federation_largest(t->federation, t->largest, err);
}

static dpa_status checkpoint(training *t, double *point, dpa_error *err) {
    const size_t observed = opts_of(t->game)->canaries, null = null_count(t->game);
    DPA_TRY(look(t, err));
    point[0] = (double)dpa_federation_rounds_done(t->federation);
    put_fit(t->final, observed, point + 1);
    put_fit(t->largest, null > 0 ? observed : 0, point + 3);
    put_fit(t->largest + observed, null, point + 5);
    return DPA_OK;
}

/* Each trial has one file; the folder is made with the first save. */
static dpa_status name_kept(training *t, uint64_t index, dpa_error *err) {
    dpa__text text = {0};
    if (t->game->keep == NULL || t->game->remote != NULL) return DPA_OK;
    DPA_TRY(dpa_game_key(t->game, 0, t->key, err));
    dpa__text_printf(&text, "%s/%.16s-%llu", t->game->keep, t->key, (unsigned long long)index);
    t->kept_when = dpa__clock();
    return dpa__text_take(&text, &t->kept, err);
}

/* A failed save does not stop the training. */
static void keep_state(training *t, uint64_t round) {
    const uint64_t every = plan_of(t->game)->keep_every;
    if (t->kept == NULL || round == opts_of(t->game)->rounds) return;
    if (every > 0 ? round % every != 0 : dpa__clock() - t->kept_when < KEEP_SECONDS) return;
    (void)mkdir(t->game->keep, 0777);
    const dpa_status kept =
        dpa__federation_save(t->federation, t->key, t->grown, grown_count(t), t->kept, NULL);
    (void)kept;
    t->kept_when = dpa__clock();
}

static void forget_state(const training *t) {
    if (t->kept == NULL) return;
    dpa__federation_forget(t->kept);
    (void)rmdir(t->game->keep); /* fails while other trials have files there */
}

static dpa_status one_round(training *t, dpa_round_info *info, dpa_error *err) {
    const uint64_t rounds = opts_of(t->game)->rounds;
    const dpa_progress *p = &t->game->experiment->game.progress;
    const double taken = t->grown[TAKEN];
    DPA_TRY(dpa_federation_round(t->federation, info, err));
    t->grown[0] += info->energy_clients;
    t->grown[1] += info->energy_canaries;
    t->grown[2] += info->energy_noise;
    const uint64_t round = dpa_federation_rounds_done(t->federation);
    if (p->call != NULL && p->call(p->user, "rounds", (double)round, (double)rounds) != 0)
        return dpa__fail(err, DPA_CANCELLED, "stopped after round %llu", (unsigned long long)round);
    if (taken < (double)t->points && (double)(round * t->points) >= (taken + 1) * (double)rounds) {
        DPA_TRY(checkpoint(t, t->grown + POINTS + POINT * (size_t)taken, err));
        t->grown[TAKEN] += 1.0;
    }
    keep_state(t, round);
    return DPA_OK;
}

/* Plays all remaining rounds, with checkpoints at equal distances and the last one at the end. */
static dpa_status train(training *t, double *head, dpa_error *err) {
    const uint64_t rounds = opts_of(t->game)->rounds;
    dpa_round_info info = {0};
    if (t->kept != NULL)
        DPA_TRY(
            dpa__federation_resume(t->federation, t->key, t->grown, grown_count(t), t->kept, err));
    while (dpa_federation_rounds_done(t->federation) < rounds) DPA_TRY(one_round(t, &info, err));
    const dpa_train_data *data = &t->game->data;
    dpa_utility utility = {(double)NAN, (double)NAN, (double)NAN};
    if (t->far.trainer != NULL)
        DPA_TRY(dpa__far_accuracy(&t->far, &utility.accuracy, err));
    else if (data->heldout_count > 0)
        DPA_TRY(dpa_model_evaluate(t->model, data->test != NULL ? data->test : data->data,
                                   data->heldout, data->heldout_count, NULL, NULL, &utility, err));
    head[ACCURACY] = utility.accuracy;
    head[LOSS] = utility.loss;
    head[CLIP] = info.clip;
    head[SPREAD] = 1.0; /* of no canaries; the others' follows */
    for (size_t i = 0; i < 3; ++i) head[CLIENTS_ENERGY + i] = t->grown[i] / (double)rounds;
    return DPA_OK;
}

static dpa_status play(training *t, int with_canaries, dpa_values *out, dpa_error *err) {
    const dpa_federate_plan *p = plan_of(t->game);
    const size_t observed = opts_of(t->game)->canaries, null = null_count(t->game);
    double *to = out->items + HEAD;
    DPA_TRY(train(t, out->items, err));
    if (!with_canaries) return DPA_OK;
    double *point = out->items + value_count(t->game, with_canaries) - POINT * p->checkpoints;
    memcpy(point, t->grown + POINTS, POINT * p->checkpoints * sizeof *point);
    DPA_TRY(look(t, err));
    memcpy(to, t->final, observed * sizeof *to);
    to += observed;
    if (opts_of(t->game)->all_iterates) {
        memcpy(to, t->largest, (observed + null) * sizeof *to);
        to += observed + null;
    }
    return dpa_federation_known(t->federation, to, to + known_count(t->game), &out->items[SPREAD],
                                err);
}

static dpa_status begin(training *t, const dpa_federate_opts *o, dpa_error *err) {
    const state *s = t->game->state;
    const uint64_t init = t->game->plan->init_seed;
    if (t->game->remote == NULL) {
        DPA_TRY(dpa__federated_model(t->game, init, &t->model, err));
        return dpa_federation_new(t->model, t->game->data.data, s->clients, o, &t->federation, err);
    }
    DPA_TRY(dpa__far_begin(&t->far, t->game->remote, s->dim, init, o->seed, err));
    return dpa__federation_elsewhere(t->far.model, s->clients, o, &t->far.clients, &t->federation,
                                     err);
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage;
    return value_count(game, index < plan_of(game)->runs);
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)stage, (void)brief;
    const state *s = game->state;
    const uint64_t runs = plan_of(game)->runs;
    const int with_canaries = index < runs;
    dpa_federate_opts o = s->opts;
    dpa_rng rng;
    dpa__rng_init(&rng, game->experiment->game.seed, DPA_PURPOSE_SIMULATE, index % runs);
    o.seed = dpa__rng_u64(&rng);
    o.canary_seed = dpa__rng_u64(&rng);
    if (!with_canaries) o.canaries = o.unobserved = 0;
    training t = {.game = game, .points = with_canaries ? plan_of(game)->checkpoints : 0};
    const size_t canaries = s->opts.canaries + s->opts.unobserved;
    t.final = DPA_NEW_ARRAY(double, canaries, err);
    t.largest = DPA_NEW_ARRAY(double, canaries, err);
    t.grown = dpa__calloc(grown_count(&t), sizeof *t.grown, err);
    dpa_status status = t.final != NULL && t.largest != NULL && t.grown != NULL
                            ? name_kept(&t, index, err)
                            : DPA_NO_MEMORY;
    if (status == DPA_OK) status = begin(&t, &o, err);
    if (status == DPA_OK) status = play(&t, with_canaries, out, err);
    if (status == DPA_OK) forget_state(&t);
    dpa_federation_free(t.federation);
    dpa_model_free(t.model);
    dpa__far_end(&t.far);
    free(t.final);
    free(t.largest);
    free(t.grown);
    free(t.kept);
    return status;
}

/* ---- evidence ---- */

/* Adds numbers first … first+each−1 of every run that was played, one run after the other. */
static dpa_status add_array(const dpa_trials *played, const char *name, size_t first, size_t each,
                            dpa_evidence *out, dpa_error *err) {
    if (each == 0) return DPA_OK;
    dpa_named_array *a = dpa__gather_array(out, name, (size_t)played->count * each, err);
    if (a == NULL) return DPA_NO_MEMORY;
    for (uint64_t i = 0; i < played->count; ++i) {
        if (played->items[i].items == NULL) continue;
        memcpy(a->items + a->count, played->items[i].items + first, each * sizeof *a->items);
        a->count += each;
    }
    return DPA_OK;
}

/* Adds the scores of one class as an array, without those left out (NaN). */
static dpa_status add_scores(const char *name, const double *score, size_t count, dpa_evidence *out,
                             dpa_error *err) {
    dpa_named_array *a = dpa__gather_array(out, name, count, err);
    if (a == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i)
        if (!isnan(score[i])) a->items[a->count++] = score[i];
    return DPA_OK;
}

static size_t count_played(const dpa_trials *trials) {
    size_t count = 0;
    for (uint64_t i = 0; i < trials->count; ++i) count += trials->items[i].items != NULL;
    return count;
}

/* Collects all runs one after the other into `score` and `times` [runs × known], with the observed
 * canaries of all runs first. `first` is the offset in a trial's numbers. Returns the spread. */
static double collect_known(const dpa_game *game, const dpa_trials *played, size_t first,
                            double *score, double *times) {
    const size_t observed = opts_of(game)->canaries, known = known_count(game);
    const size_t null = known - observed, runs = count_played(played);
    double spread = 1.0;
    size_t done = 0;
    for (uint64_t i = 0; i < played->count; ++i) {
        const double *x = played->items[i].items;
        if (x == NULL) continue;
        const size_t in = done * observed, absent = runs * observed + done * null;
        memcpy(score + in, x + first, observed * sizeof *score);
        memcpy(score + absent, x + first + observed, null * sizeof *score);
        memcpy(times + in, x + first + known, observed * sizeof *times);
        memcpy(times + absent, x + first + known + observed, null * sizeof *times);
        spread = fmax(spread, x[SPREAD]);
        ++done;
    }
    return spread;
}

/* Adds the scores for known rounds: members and nonmembers, of the canaries that the choice by
 * rounds keeps. */
static dpa_status add_known(const dpa_game *game, const dpa_trials *played, size_t first,
                            dpa_evidence *out, dpa_error *err) {
    const size_t runs = count_played(played), all = runs * known_count(game);
    const size_t in = runs * opts_of(game)->canaries;
    double *score = dpa__calloc(2 * all, sizeof *score, err), *times = score + all;
    if (score == NULL) return DPA_NO_MEMORY;
    const double spread = collect_known(game, played, first, score, times);
    const double most = dpa__canaries_choose(score, times, in, all, opts_of(game)->sigma);
    dpa_status status = add_scores("members", score, in, out, err);
    if (status == DPA_OK) status = add_scores("nonmembers", score + in, all - in, out, err);
    if (status == DPA_OK) status = dpa_evidence_fact(out, "canary_rounds", most, err);
    if (status == DPA_OK) status = dpa_evidence_fact(out, "spread", spread, err);
    free(score);
    return status;
}

static dpa_status add_facts(const dpa_game *game, const dpa_trials *all, const dpa_trials *played,
                            dpa_evidence *out, dpa_error *err) {
    const state *s = game->state;
    const dpa_federate_opts *o = &s->opts;
    const uint64_t runs = plan_of(game)->runs;
    const size_t clients = dpa_clients_count(s->clients);
    const double points = (double)plan_of(game)->checkpoints;
    const struct {
        const char *name;
        int is_said;
        double value;
    } facts[] = {
        {"runs", runs > 1, (double)count_played(played)},
        {"dim", 1, (double)s->dim},
        {"clients", 1, (double)clients},
        {"cohort", 1, (double)o->cohort},
        {"rounds", 1, (double)o->rounds},
        {"sigma", 1, o->sigma},
        {"participations", 1, (double)dpa_federate_participations(o, clients)},
        {"q", o->participation == DPA_PARTICIPATE_POISSON, (double)o->cohort / (double)clients},
        {"checkpoints", points > 0.0, points},
        {"fixed_divisor", 1, !o->divide_actual}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; ++i)
        if (facts[i].is_said) DPA_TRY(dpa_evidence_fact(out, facts[i].name, facts[i].value, err));
    DPA_TRY(dpa__gather_mean(played, CLIENTS_ENERGY, "energy_clients", out, err));
    DPA_TRY(dpa__gather_mean(played, CANARIES_ENERGY, "energy_canaries", out, err));
    DPA_TRY(dpa__gather_mean(played, NOISE_ENERGY, "energy_noise", out, err));
    DPA_TRY(dpa__gather_mean(played, ACCURACY, "accuracy", out, err));
    const dpa_trials baseline = {all->items + played->count, all->count - played->count, NULL};
    DPA_TRY(dpa__gather_mean(&baseline, ACCURACY, "accuracy_without_canaries", out, err));
    return o->adaptive ? dpa__gather_mean(played, CLIP, "last_clip", out, err) : DPA_OK;
}

/* Rounds take the place of steps, and clients that of records. If the experiment names no ε, the
 * claim is the training's noise. */
static void expect(const dpa_game *game, dpa_evidence *out) {
    const state *s = game->state;
    const dpa_federate_opts *o = &s->opts;
    const double clients = (double)dpa_clients_count(s->clients);
    dpa_training_facts *t = &out->training;
    out->kind = DPA_EVIDENCE_COSINES;
    out->design = DPA_ONE_RUN;
    if (o->unobserved > 0) out->scope = DPA_SCOPE_PARTICIPATION;
    out->dim = s->dim;
    (void)snprintf(out->direction, sizeof out->direction, "%s", dpa__direction_name(o->direction));
    t->steps = o->rounds;
    t->sigma = o->sigma > 0.0 ? o->sigma : (double)NAN;
    t->participations = (double)dpa_federate_participations(o, dpa_clients_count(s->clients));
    const int is_poisson = o->participation == DPA_PARTICIPATE_POISSON && o->repetitions == 0;
    t->q = is_poisson ? (double)o->cohort / clients : (double)NAN;
    if (!isnan(out->claim.epsilon)) return;
    out->claim.sigma = t->sigma;
    out->claim.q = is_poisson ? t->q : 1;
    out->claim.steps = is_poisson ? o->rounds : (uint64_t)t->participations;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const dpa_federate_plan *p = plan_of(game);
    const dpa_federate_opts *o = opts_of(game);
    const size_t observed = o->canaries, null = null_count(game);
    const size_t rounds = o->all_iterates ? observed : 0;
    const dpa_trials *all = &stages[0]; /* first those with canaries, then the baseline */
    const dpa_trials played = {all->items, all->count < p->runs ? all->count : p->runs, NULL};
    size_t at = HEAD;
    DPA_TRY(add_array(&played, "final", at, observed, out, err));
    DPA_TRY(add_array(&played, "observed", at += observed, rounds, out, err));
    DPA_TRY(add_array(&played, "unobserved", at += rounds, null, out, err));
    at += null;
    if (o->unobserved > 0) DPA_TRY(add_known(game, &played, at, out, err));
    at += 2 * known_count(game);
    DPA_TRY(add_array(&played, "trajectory", at, POINT * p->checkpoints, out, err));
    dpa_named_array *last = &out->arrays[out->array_count - 1];
    if (p->checkpoints > 0) last->rows = last->count / POINT;
    return add_facts(game, all, &played, out, err);
}

const dpa__rules dpa__federated_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .describe = describe,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
