/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Membership inference with shadow models (bayesian-estimation, Experiment 2 and section 4), in two
 * stages. Stage 0: shadow models, each trained on half of the points; their signals of all points
 * fit the attack and select the challenge points. Stage 1: targets, each trained on half of the
 * other points and, by the toss of a coin, a challenge point. No target is used for fit or
 * selection.
 *
 * Given the half S, a target is trained on S or on S and the challenge: neighbours by add/remove.
 * With design `leave-one-out` S is the same for all targets, as in the paper; with `half` each has
 * its own, and the rates are means over S. Privacy regions are convex, so both bound the same ε. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "evidence/evidence.h"
#include "game/rules.h"

/* A trial's numbers are the signals of the points (stage 0: all, stage 1: the challenges), the
 * signals of the population, and the accuracy on held-out rows. */
typedef struct shadow_game {
    size_t points;      /* members of the training file: the data set D of the paper */
    size_t population;  /* held-out rows for RMIA and quantile regression; 0 for other attacks */
    int has_accuracy;   /* the trainer tells it (dpa__tells_accuracy) */
    dpa__trainer *own;  /* NULL: an external program trains */
    size_t *trained_on; /* [points] */
    size_t *asked;      /* [points + population] points the model is asked about */
    uint8_t *member;    /* [points] */
} shadow_game;

enum { MOST_POPULATION = 4000 };

/* First streams of the targets' membership and training (shadow models start at 0), and the stream
 * of the half that all targets share. */
static const uint64_t targets_from = UINT64_C(1) << 40, common_half = UINT64_C(1) << 41;

/* Draws the members of the target of trial `index` with this challenge; returns the coin. */
static int draw_target(const dpa_game *game, uint64_t index, size_t challenge, uint8_t *member) {
    const dpa_game_opts *o = &game->experiment->game;
    const uint64_t half = o->shadow.design == DPA_SHADOW_HALF ? targets_from + index : common_half;
    dpa__membership_half(o->seed, half, game->data.member_count, member);
    const int coin = dpa__membership_leave_one_out(o->seed, targets_from + index, 0, 0, member);
    member[challenge] = (uint8_t)coin;
    return coin;
}

/* ── opening ── */

static int has_population(const dpa_shadow_opts *opts) {
    return opts->attack == DPA_ATTACK_RMIA || opts->attack == DPA_ATTACK_QUANTILE;
}

static dpa_status check(const dpa_game *game, dpa_error *err) {
    const dpa_game_opts *o = &game->experiment->game;
    const dpa_shadow_opts *s = &o->shadow;
    const char *path = game->experiment->path;
    const char *source = game->remote != NULL ? path : game->experiment->training;
    const size_t points = game->data.member_count;
    if (points < 4)
        return dpa__fail_file(err, DPA_BAD_INPUT, source,
                              "members: %zu: a shadow game needs at least 4 to halve", points);
    if (s->models < 4 || s->models > 1U << 20)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "shadow: models %llu: expected 4 to 2^20",
                              (unsigned long long)s->models);
    if (s->targets < 2 || s->targets > 1U << 30)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "shadow: targets %llu: expected 2 to 2^30",
                              (unsigned long long)s->targets);
    if (s->challenges < 1 || s->challenges > points)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: challenges %llu: expected 1 to %zu",
                              (unsigned long long)s->challenges, points);
    if (s->attack == DPA_ATTACK_RMIA && s->signal == DPA_SHADOW_GRADIENT)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: attack rmia needs probabilities: signal confidence");
    if (has_population(s) && game->data.heldout_count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, source,
                              "heldout: attack %s compares with points that nobody was trained on",
                              s->attack == DPA_ATTACK_RMIA ? "rmia" : "quantile");
    if (s->attack == DPA_ATTACK_QUANTILE && game->remote != NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "shadow: attack quantile needs the inputs of the points, which a "
                              "trainer keeps to itself");
    return dpa__sabotage_check(o, &game->plan->train, points / 2 + 1, err);
}

/* The audited training has half of the file's members. Its rate, length and noise are set once, so
 * that they depend neither on coins nor on who asks. */
static dpa_status settle_plan(dpa_game *game, dpa_error *err) {
    dpa_train_plan *plan = game->plan;
    const size_t half = game->data.member_count / 2;
    plan->train.steps = dpa_train_plan_steps(plan, half);
    if (plan->train.sampling == DPA_SAMPLE_POISSON) plan->train.q = dpa_train_plan_q(plan, half);
    plan->epochs = 0.0;
    if (plan->train.sampling == DPA_SAMPLE_POISSON && !(plan->train.q <= 1.0))
        return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->training,
                              "batch %zu: more than half of the members, %zu", plan->train.batch,
                              half);
    return dpa__training_noise(game, err);
}

static dpa_status make_rooms(shadow_game *s, dpa_error *err) {
    s->trained_on = DPA_NEW_ARRAY(size_t, s->points, err);
    s->asked = DPA_NEW_ARRAY(size_t, s->points + s->population, err);
    s->member = DPA_NEW_ARRAY(uint8_t, s->points, err);
    return s->trained_on != NULL && s->asked != NULL && s->member != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status open_own(dpa_game *game, shadow_game *s, dpa_error *err) {
    const dpa__local_opts opts = {.opts = &game->experiment->game,
                                  .plan = game->plan,
                                  .data = game->data.data,
                                  .rows = game->data.members,
                                  .points = s->points,
                                  .held = &game->data,
                                  .evaluated = DPA__MOST_EVALUATED};
    DPA_TRY(dpa__local_new(&opts, &s->own, err));
    game->trainer = s->own;
    return DPA_OK;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_train_data *d = &game->data;
    DPA_TRY(check(game, err));
    DPA_TRY(settle_plan(game, err));
    shadow_game *s = DPA_NEW(shadow_game, err);
    if (s == NULL) return DPA_NO_MEMORY;
    game->state = s; /* close_game frees it also when this fails */
    s->points = d->member_count;
    s->has_accuracy = dpa__tells_accuracy(game);
    if (has_population(&game->experiment->game.shadow))
        s->population = d->heldout_count < MOST_POPULATION ? d->heldout_count : MOST_POPULATION;
    if (game->remote == NULL) DPA_TRY(open_own(game, s, err));
    return make_rooms(s, err);
}

static void close_game(dpa_game *game) {
    shadow_game *s = game->state;
    if (s == NULL) return;
    dpa__trainer_close(s->own);
    free(s->trained_on);
    free(s->asked);
    free(s->member);
    free(s);
}

static uint64_t trials(const dpa_game *game, int stage) {
    const dpa_shadow_opts *s = &game->experiment->game.shadow;
    return stage == 0 ? s->models : s->targets;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    const shadow_game *s = game->state;
    if (stage == 1) dpa__game_put(game, "shadow.design", text);
    dpa__text_printf(text, "population: %zu\n", s->population);
}

/* ── a trial ── */

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)index;
    const shadow_game *s = game->state;
    return (stage == 0 ? s->points : 1) + s->population + (size_t)s->has_accuracy;
}

/* Black box: log(p/(1 − p)) of the label. White box: −log of the norm of the loss's gradient with
 * respect to the weights, which is small where the model was fitted. Both are larger for members,
 * and so is the signal made from losses. */
static dpa_trainer_signal signal_of(const dpa_game *game) {
    if (game->experiment->game.shadow.signal == DPA_SHADOW_GRADIENT) return DPA_TRAINER_GRADIENT;
    return game->experiment->trainer.signal;
}

/* log(p/(1 − p)) where the loss is −log p. */
static void confide(double *signals, size_t count) {
    for (size_t i = 0; i < count; ++i)
        signals[i] = -signals[i] - log(fmax(-expm1(-fmax(signals[i], 0.0)), 1e-300));
}

/* Trains on the members; asks about the first `count` of `asked`. */
static dpa_status play(dpa_game *game, uint64_t model, size_t count, dpa_values *out,
                       dpa_error *err) {
    const shadow_game *s = game->state;
    dpa_rng seeds;
    dpa__order order = {.members = s->trained_on};
    for (size_t p = 0; p < s->points; ++p)
        if (s->member[p]) s->trained_on[order.count++] = p;
    for (size_t i = 0; i < s->population; ++i)
        s->asked[count + i] = game->trainer->points + game->trainer->canaries + i;
    dpa__rng_init(&seeds, game->experiment->game.seed, DPA_PURPOSE_ATTACK, model);
    order.init = dpa__rng_u64(&seeds);
    order.seed = dpa__rng_u64(&seeds);
    const size_t all = count + s->population;
    const dpa__question ask = {.ids = s->asked,
                               .count = all,
                               .signal = signal_of(game),
                               .signals = out->items,
                               .accuracy = s->has_accuracy ? &out->items[all] : NULL};
    DPA_TRY(game->trainer->calls->train(game->trainer, &order, &ask, err));
    if (ask.signal == DPA_TRAINER_LOSS) confide(out->items, all);
    return DPA_OK;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    const shadow_game *s = game->state;
    const uint64_t seed = game->experiment->game.seed;
    if (stage == 0) {
        dpa__membership_half(seed, index, s->points, s->member);
        for (size_t p = 0; p < s->points; ++p) s->asked[p] = p;
        return play(game, index, s->points, out, err);
    }
    const size_t challenge = (size_t)brief->items[index % brief->count];
    (void)draw_target(game, index, challenge, s->member);
    s->asked[0] = challenge;
    return play(game, targets_from + index, 1, out, err);
}

/* ── evaluating ──
 *
 * First the challenge points, then the scores of the targets. The matrix of signals has the shadow
 * models on top and the targets below; the attack is fitted to the shadow models alone. */

/* Signals of the shadow models [models × points] and, for RMIA and quantile, of the population
 * [models + targets × population]; for each target its challenge and its one signal. */
typedef struct table {
    dpa_signals shadow, population;
    dpa_features features, population_features; /* for the quantile attack; else without points */
    size_t targets;
    double *signal;    /* [targets] */
    size_t *challenge; /* [targets] the point's number */
} table;

static void table_free(table *t) {
    dpa__signals_free(&t->shadow);
    dpa__signals_free(&t->population);
    dpa__features_free(&t->features);
    dpa__features_free(&t->population_features);
    free(t->signal);
    free(t->challenge);
}

static size_t played(const dpa_trials *trials) {
    size_t count = 0;
    for (uint64_t i = 0; i < trials->count; ++i) count += trials->items[i].items != NULL;
    return count;
}

/* The features that the quantile attack sees of a point: its inputs, and its label as one column of
 * 0 and 1 for each class (binary labels: one column). */
static size_t columns_of(const dpa_dataset *data) {
    const size_t classes = dpa_dataset_classes(data);
    return dpa_dataset_features(data) + (classes > 2 ? classes : 1);
}

static void fill_features(const dpa_dataset *data, size_t row, double *out) {
    const size_t inputs = dpa_dataset_features(data), count = columns_of(data);
    const size_t label = (size_t)dpa_dataset_label(data, row);
    const float *x = dpa_dataset_row(data, row);
    for (size_t f = 0; f < inputs; ++f) out[f] = (double)x[f];
    for (size_t c = inputs; c < count; ++c) out[c] = 0.0;
    if (count == inputs + 1)
        out[inputs] = (double)label;
    else
        out[inputs + label] = 1.0;
}

static dpa_status make_features(const dpa_dataset *data, const size_t *rows, size_t count,
                                dpa_features *out, dpa_error *err) {
    const size_t columns = columns_of(data);
    *out = (dpa_features){count, columns, dpa__malloc(count, columns * sizeof(double), err)};
    if (out->value == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) fill_features(data, rows[i], out->value + i * columns);
    return DPA_OK;
}

static dpa_status make_table(const dpa_game *game, size_t models, size_t targets, table *t,
                             dpa_error *err) {
    const shadow_game *s = game->state;
    *t = (table){.targets = targets};
    t->shadow = (dpa_signals){.models = models, .points = s->points};
    t->population = (dpa_signals){.models = models + targets, .points = s->population};
    t->shadow.signal = dpa__malloc(models, s->points * sizeof(double), err);
    t->shadow.member = dpa__malloc(models, s->points, err);
    t->population.signal = dpa__malloc(models + targets, s->population * sizeof(double), err);
    t->signal = DPA_NEW_ARRAY(double, targets, err);
    t->challenge = DPA_NEW_ARRAY(size_t, targets, err);
    const int complete = t->shadow.signal != NULL && t->shadow.member != NULL &&
                         t->population.signal != NULL && t->signal != NULL && t->challenge != NULL;
    if (!complete) return DPA_NO_MEMORY;
    if (game->experiment->game.shadow.attack != DPA_ATTACK_QUANTILE) return DPA_OK;
    const dpa_train_data *d = &game->data;
    DPA_TRY(make_features(d->data, d->members, s->points, &t->features, err));
    return make_features(d->test != NULL ? d->test : d->data, d->heldout, s->population,
                         &t->population_features, err);
}

static void fill_shadows(const dpa_game *game, const dpa_trials *trials, table *t) {
    const shadow_game *s = game->state;
    size_t row = 0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const double *v = trials->items[i].items;
        if (v == NULL) continue;
        memcpy(t->shadow.signal + row * s->points, v, s->points * sizeof *v);
        memcpy(t->population.signal + row * s->population, v + s->points,
               s->population * sizeof *v);
        dpa__membership_half(game->experiment->game.seed, i, s->points,
                             t->shadow.member + row * s->points);
        ++row;
    }
}

static void fill_targets(const dpa_game *game, const dpa_trials *trials, const dpa_values *brief,
                         table *t) {
    const shadow_game *s = game->state;
    size_t row = 0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const double *v = trials->items[i].items;
        if (v == NULL) continue;
        t->signal[row] = v[0];
        t->challenge[row] = (size_t)brief->items[i % brief->count];
        memcpy(t->population.signal + (t->shadow.models + row) * s->population, v + 1,
               s->population * sizeof *v);
        ++row;
    }
}

static dpa_status need_models(const dpa_trials *shadows, dpa_error *err) {
    const size_t count = played(shadows);
    if (count >= 4) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "%zu shadow models: at least 4 are needed", count);
}

/* The options of the attack. The population must have a row for each model of the table. */
static dpa_attack_opts attack_opts(const dpa_game *game, const table *t,
                                   const dpa_signals *population) {
    const dpa_shadow_opts *s = &game->experiment->game.shadow;
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    opts.offline = s->offline;
    opts.variance = s->variance;
    if (population->points > 0) opts.population = population;
    opts.quantile.features = &t->features;
    opts.quantile.population_features = &t->population_features;
    return opts;
}

static dpa_status measure(const dpa_game *game, const table *t, int every_model, dpa_leak *leaks,
                          dpa_error *err) {
    dpa_leak_opts opts;
    dpa_signals population = t->population;
    population.models = t->shadow.models; /* the targets' rows are not filled yet, or not needed */
    dpa__leak_opts_init(&opts);
    opts.attack = game->experiment->game.shadow.attack;
    opts.how = attack_opts(game, t, &population);
    opts.every_model = every_model;
    opts.seed = game->experiment->game.seed;
    return dpa__leaks_measure(&t->shadow, &opts, leaks, NULL, err);
}

static dpa_status select_points(const dpa_game *game, const table *t, dpa_values *brief,
                                dpa_error *err) {
    const dpa_shadow_opts *o = &game->experiment->game.shadow;
    const size_t count = (size_t)o->challenges;
    dpa_leak *leaks = DPA_NEW_ARRAY(dpa_leak, t->shadow.points, err);
    size_t *chosen = DPA_NEW_ARRAY(size_t, count, err);
    dpa_status status = leaks != NULL && chosen != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) status = measure(game, t, 0, leaks, err);
    if (status == DPA_OK)
        status = dpa__challenges_select(leaks, t->shadow.points, o->challenge, o->weight,
                                        game->experiment->game.seed, chosen, count, err);
    if (status == DPA_OK) status = dpa__values_new(count, brief, err);
    for (size_t i = 0; i < count && status == DPA_OK; ++i) brief->items[i] = (double)chosen[i];
    free(leaks);
    free(chosen);
    return status;
}

static dpa_status find_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                             dpa_values *brief, dpa_error *err) {
    (void)stage;
    table t;
    DPA_TRY(need_models(&earlier[0], err));
    dpa_status status = make_table(game, played(&earlier[0]), 0, &t, err);
    if (status == DPA_OK) {
        fill_shadows(game, &earlier[0], &t);
        status = select_points(game, &t, brief, err);
    }
    table_free(&t);
    return status;
}

/* ── scores of the targets ── */

static dpa_status score_targets(const dpa_game *game, table *t, double *scores, dpa_error *err) {
    const size_t models = t->shadow.models;
    const dpa_attack_opts opts = attack_opts(game, t, &t->population);
    dpa__rows rows = {DPA_NEW_ARRAY(size_t, models, err), models};
    dpa__fit fit;
    if (rows.row == NULL) return DPA_NO_MEMORY;
    for (size_t m = 0; m < models; ++m) rows.row[m] = m;
    dpa_signals signals = t->shadow;
    signals.models = t->population.models; /* rows of targets are scored one by one below */
    dpa_status status =
        dpa__fit_new(game->experiment->game.shadow.attack, &signals, &opts, &rows, &fit, err);
    free(rows.row);
    for (size_t i = 0; i < t->targets && status == DPA_OK; ++i)
        status =
            dpa__fit_score_one(&fit, models + i, t->challenge[i], t->signal[i], &scores[i], err);
    dpa__fit_free(&fit);
    return status;
}

static int arm(const dpa_game *game, uint64_t index) {
    const shadow_game *s = game->state;
    return draw_target(game, index, 0, s->member);
}

/* Adds where each point leaks how much. */
static dpa_status add_leaks(const dpa_game *game, const table *t, dpa_evidence *out,
                            dpa_error *err) {
    const size_t points = t->shadow.points;
    dpa_named_array *row = dpa__gather_array(out, "point_row", points, err);
    dpa_named_array *accuracy = dpa__gather_array(out, "point_accuracy", points, err);
    dpa_named_array *epsilon = dpa__gather_array(out, "point_epsilon", points, err);
    dpa_leak *leaks = DPA_NEW_ARRAY(dpa_leak, points, err);
    const int complete = leaks != NULL && row != NULL && accuracy != NULL && epsilon != NULL;
    const dpa_status status = complete ? measure(game, t, 1, leaks, err) : DPA_NO_MEMORY;
    for (size_t p = 0; p < points && status == DPA_OK; ++p) {
        row->items[p] = (double)game->data.members[p];
        accuracy->items[p] = leaks[p].accuracy;
        epsilon->items[p] = leaks[p].epsilon;
        row->count = accuracy->count = epsilon->count = p + 1;
    }
    free(leaks);
    return status;
}

static dpa_status add_matrix(dpa_evidence *out, const char *name, const double *items, size_t rows,
                             size_t columns, dpa_error *err) {
    if (rows * columns == 0) return DPA_OK;
    DPA_TRY(dpa_evidence_copy(out, name, items, rows * columns, err));
    out->arrays[out->array_count - 1].rows = rows;
    return DPA_OK;
}

/* Adds everything that `dpaudit attack` needs, so that other attacks can be tried on the same
 * models. */
static dpa_status add_matrices(const table *t, dpa_evidence *out, dpa_error *err) {
    const size_t models = t->shadow.models, count = models * t->shadow.points;
    const dpa_features *f = &t->features, *g = &t->population_features;
    DPA_TRY(add_matrix(out, "shadow_signals", t->shadow.signal, models, t->shadow.points, err));
    dpa_named_array *members = dpa__gather_array(out, "shadow_members", count, err);
    if (members == NULL) return DPA_NO_MEMORY;
    members->rows = models;
    while (members->count < count) {
        members->items[members->count] = t->shadow.member[members->count];
        ++members->count;
    }
    DPA_TRY(add_matrix(out, "population_signals", t->population.signal, models,
                       t->population.points, err));
    DPA_TRY(add_matrix(out, "features", f->value, f->points, f->count, err));
    return add_matrix(out, "population_features", g->value, g->points, g->count, err);
}

static dpa_status add_facts(const dpa_game *game, const dpa_trials *targets, const table *t,
                            const dpa_values *brief, dpa_evidence *out, dpa_error *err) {
    const shadow_game *s = game->state;
    char name[48];
    dpa_named_array *rows = dpa__gather_array(out, "challenge_row", brief->count, err);
    if (rows == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < brief->count; ++i)
        rows->items[rows->count++] = (double)game->data.members[(size_t)brief->items[i]];
    (void)snprintf(name, sizeof name, "%s_challenge_points",
                   dpa__challenge_name(game->experiment->game.shadow.challenge));
    DPA_TRY(dpa_evidence_fact(out, name, (double)brief->count, err));
    DPA_TRY(dpa_evidence_fact(out, "shadow_models", (double)t->shadow.models, err));
    DPA_TRY(dpa_evidence_fact(out, "targets", (double)t->targets, err));
    if (!s->has_accuracy) return DPA_OK;
    return dpa__gather_mean(targets, 1 + s->population, "heldout_accuracy", out, err);
}

static dpa_status add_scores(const dpa_game *game, const dpa_trials *targets, table *t,
                             dpa_evidence *out, dpa_error *err) {
    double *scores = DPA_NEW_ARRAY(double, t->targets, err);
    dpa_status status = scores != NULL ? score_targets(game, t, scores, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) status = dpa__gather_arms(game, targets, scores, out, err);
    free(scores);
    for (size_t i = 0; status == DPA_OK && i < 2; ++i)
        if (out->arrays[i].count == 0)
            status = dpa__fail(err, DPA_BAD_INPUT,
                               "no target fell on the side of the %s: more targets are needed",
                               out->arrays[i].name);
    return status;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    dpa_values brief = {0};
    table t;
    DPA_TRY(find_brief(game, 1, stages, &brief, err));
    dpa_status status = make_table(game, played(&stages[0]), played(&stages[1]), &t, err);
    if (status == DPA_OK) {
        fill_shadows(game, &stages[0], &t);
        fill_targets(game, &stages[1], &brief, &t);
        status = add_scores(game, &stages[1], &t, out, err);
    }
    if (status == DPA_OK) status = add_facts(game, &stages[1], &t, &brief, out, err);
    if (status == DPA_OK) status = add_leaks(game, &t, out, err);
    if (status == DPA_OK) status = add_matrices(&t, out, err);
    table_free(&t);
    dpa_values_free(&brief);
    return status;
}

const dpa__rules dpa__shadow_rules = {
    .finds_noise = 1,
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed shadow.signal " DPA__SABOTAGE,
    .describe = describe,
    .brief = find_brief,
    .trial = trial,
    .gather = gather,
    .arm = arm,
};
