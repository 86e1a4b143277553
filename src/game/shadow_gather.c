/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates the shadow models: first the challenge points, then the scores of the targets. The
 * matrix of signals has the shadow models on top and the targets below; the attack is fitted to the
 * shadow models alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/shadow.h"

/* Signals of the shadow models [models × points] and, for RMIA and quantile, of the population
 * [models + targets × population]; for each target its challenge and its one signal. */
typedef struct table {
    dpa_signals shadow, population;
    dpa_features features, population_features; /* for the quantile attack; else without points */
    size_t targets;
    double *signal;    /* [targets] */
    size_t *challenge; /* [targets] the point's number */
    uint8_t *coin;     /* [targets] */
    double accuracy;   /* mean over targets; NaN: there are no held-out rows */
} table;

static void table_free(table *t) {
    dpa__signals_free(&t->shadow);
    dpa__signals_free(&t->population);
    dpa__features_free(&t->features);
    dpa__features_free(&t->population_features);
    free(t->signal);
    free(t->challenge);
    free(t->coin);
}

static size_t played(const dpa_trials *trials) {
    size_t count = 0;
    for (uint64_t i = 0; i < trials->count; ++i) count += trials->items[i].items != NULL;
    return count;
}

static dpa_status make_rooms(const dpa_game *game, size_t models, size_t targets, table *t,
                             dpa_error *err) {
    const dpa__shadow_game *s = game->state;
    *t = (table){.targets = targets, .accuracy = (double)NAN};
    t->shadow = (dpa_signals){.models = models, .points = s->points};
    t->population = (dpa_signals){.models = models + targets, .points = s->population};
    t->shadow.signal = dpa__malloc(models, s->points * sizeof(double), err);
    t->shadow.member = dpa__malloc(models, s->points, err);
    t->population.signal = dpa__malloc(models + targets, s->population * sizeof(double), err);
    t->signal = DPA_NEW_ARRAY(double, targets, err);
    t->challenge = DPA_NEW_ARRAY(size_t, targets, err);
    t->coin = DPA_NEW_ARRAY(uint8_t, targets, err);
    const int complete = t->shadow.signal != NULL && t->shadow.member != NULL &&
                         t->population.signal != NULL && t->signal != NULL &&
                         t->challenge != NULL && t->coin != NULL;
    if (!complete) return DPA_NO_MEMORY;
    if (game->experiment->game.shadow.attack != DPA_ATTACK_QUANTILE) return DPA_OK;
    const dpa_train_data *d = &game->data;
    DPA_TRY(dpa__shadow_features(d->data, d->members, s->points, &t->features, err));
    return dpa__shadow_features(d->test != NULL ? d->test : d->data, d->heldout, s->population,
                                &t->population_features, err);
}

static void fill_shadows(const dpa_game *game, const dpa_trials *trials, table *t) {
    const dpa__shadow_game *s = game->state;
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
    const dpa__shadow_game *s = game->state;
    size_t row = 0;
    double accuracy = 0.0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const double *v = trials->items[i].items;
        if (v == NULL) continue;
        t->signal[row] = v[0];
        t->challenge[row] = (size_t)brief->items[i % brief->count];
        t->coin[row] = (uint8_t)dpa__shadow_target(game, i, t->challenge[row], s->member);
        memcpy(t->population.signal + (t->shadow.models + row) * s->population, v + 1,
               s->population * sizeof *v);
        if (s->has_accuracy) accuracy += v[1 + s->population];
        ++row;
    }
    if (s->has_accuracy && row > 0) t->accuracy = accuracy / (double)row;
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

dpa_status dpa__shadow_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                             dpa_values *brief, dpa_error *err) {
    (void)stage;
    table t;
    DPA_TRY(need_models(&earlier[0], err));
    dpa_status status = make_rooms(game, played(&earlier[0]), 0, &t, err);
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

/* Takes ownership of `items` [count], also when it fails. */
static dpa_status add(dpa_evidence *out, const char *name, double *items, size_t count, size_t rows,
                      dpa_error *err) {
    if (items == NULL) return DPA_NO_MEMORY;
    return dpa__evidence_add(out, name, items, count, rows, err);
}

int dpa__shadow_arm(const dpa_game *game, uint64_t index) {
    const dpa__shadow_game *s = game->state;
    return dpa__shadow_target(game, index, 0, s->member);
}

static dpa_status add_side(const dpa_game *game, const dpa_trials *targets, const char *name,
                           const table *t, const double *scores, int coin, dpa_evidence *out,
                           dpa_error *err) {
    double *side = DPA_NEW_ARRAY(double, (size_t)targets->count, err);
    size_t count = 0, row = 0;
    for (uint64_t i = 0; i < targets->count && side != NULL; ++i) {
        const dpa_trial_end end = dpa_trials_end(targets, i);
        if (end == DPA_TRIAL_PLAYED) {
            if (t->coin[row] == coin) side[count++] = scores[row];
            ++row;
        } else if (end != DPA_TRIAL_NONE && dpa__shadow_arm(game, i) == coin) {
            side[count++] = dpa__score_of_end(end);
        }
    }
    if (side != NULL && count == 0) {
        free(side);
        return dpa__fail(err, DPA_BAD_INPUT,
                         "no target fell on the side of the %s: more targets "
                         "are needed",
                         name);
    }
    return add(out, name, side, count, 0, err);
}

/* Adds one field of every leak as an array. */
static dpa_status add_leaks(const dpa_game *game, const table *t, dpa_evidence *out,
                            dpa_error *err) {
    const size_t points = t->shadow.points;
    dpa_leak *leaks = DPA_NEW_ARRAY(dpa_leak, points, err);
    double *row = DPA_NEW_ARRAY(double, points, err),
           *accuracy = DPA_NEW_ARRAY(double, points, err);
    double *epsilon = DPA_NEW_ARRAY(double, points, err);
    const int complete = leaks != NULL && row != NULL && accuracy != NULL && epsilon != NULL;
    dpa_status status = complete ? measure(game, t, 1, leaks, err) : DPA_NO_MEMORY;
    for (size_t p = 0; p < points && status == DPA_OK; ++p) {
        row[p] = (double)game->data.members[p];
        accuracy[p] = leaks[p].accuracy;
        epsilon[p] = leaks[p].epsilon;
    }
    free(leaks);
    if (status != DPA_OK) {
        free(row);
        free(accuracy);
        free(epsilon);
        return status;
    }
    status = add(out, "point_row", row, points, 0, err);
    const dpa_status second = add(out, "point_accuracy", accuracy, points, 0, err);
    const dpa_status third = add(out, "point_epsilon", epsilon, points, 0, err);
    return status != DPA_OK ? status : second != DPA_OK ? second : third;
}

static dpa_status add_copy(dpa_evidence *out, const char *name, const double *items, size_t count,
                           size_t rows, dpa_error *err) {
    if (count == 0) return DPA_OK;
    double *copy = DPA_NEW_ARRAY(double, count, err);
    if (copy != NULL) memcpy(copy, items, count * sizeof *copy);
    return add(out, name, copy, count, rows, err);
}

static dpa_status add_features(dpa_evidence *out, const char *name, const dpa_features *f,
                               dpa_error *err) {
    return add_copy(out, name, f->value, f->points * f->count, f->points, err);
}

/* Adds everything that `dpaudit attack` needs, so that other attacks can be tried on the same
 * models. */
static dpa_status add_matrix(const table *t, dpa_evidence *out, dpa_error *err) {
    const size_t models = t->shadow.models, count = models * t->shadow.points;
    DPA_TRY(add_copy(out, "shadow_signals", t->shadow.signal, count, models, err));
    double *members = DPA_NEW_ARRAY(double, count, err);
    for (size_t i = 0; i < count && members != NULL; ++i) members[i] = t->shadow.member[i];
    DPA_TRY(add(out, "shadow_members", members, count, models, err));
    DPA_TRY(add_copy(out, "population_signals", t->population.signal, models * t->population.points,
                     models, err));
    DPA_TRY(add_features(out, "features", &t->features, err));
    return add_features(out, "population_features", &t->population_features, err);
}

static dpa_status add_facts(const dpa_game *game, const table *t, const dpa_values *brief,
                            dpa_evidence *out, dpa_error *err) {
    char name[48];
    double *rows = DPA_NEW_ARRAY(double, brief->count, err);
    for (size_t i = 0; i < brief->count && rows != NULL; ++i)
        rows[i] = (double)game->data.members[(size_t)brief->items[i]];
    DPA_TRY(add(out, "challenge_row", rows, brief->count, 0, err));
    (void)snprintf(name, sizeof name, "%s_challenge_points",
                   dpa__challenge_name(game->experiment->game.shadow.challenge));
    DPA_TRY(dpa_evidence_fact(out, name, (double)brief->count, err));
    DPA_TRY(dpa_evidence_fact(out, "shadow_models", (double)t->shadow.models, err));
    DPA_TRY(dpa_evidence_fact(out, "targets", (double)t->targets, err));
    if (isnan(t->accuracy)) return DPA_OK;
    return dpa_evidence_fact(out, "heldout_accuracy", t->accuracy, err);
}

static dpa_status conclude(const dpa_game *game, const dpa_trials *targets, table *t,
                           const dpa_values *brief, dpa_evidence *out, dpa_error *err) {
    double *scores = DPA_NEW_ARRAY(double, t->targets, err);
    dpa_status status = scores != NULL ? score_targets(game, t, scores, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) status = add_side(game, targets, "members", t, scores, 1, out, err);
    if (status == DPA_OK) status = add_side(game, targets, "nonmembers", t, scores, 0, out, err);
    free(scores);
    if (status == DPA_OK) status = add_facts(game, t, brief, out, err);
    if (status == DPA_OK) status = add_leaks(game, t, out, err);
    if (status == DPA_OK) status = add_matrix(t, out, err);
    return status;
}

dpa_status dpa__shadow_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                              dpa_error *err) {
    dpa_values brief = {0};
    table t;
    DPA_TRY(dpa__shadow_brief(game, 1, stages, &brief, err));
    dpa_status status = make_rooms(game, played(&stages[0]), played(&stages[1]), &t, err);
    if (status == DPA_OK) {
        fill_shadows(game, &stages[0], &t);
        fill_targets(game, &stages[1], &brief, &t);
        status = conclude(game, &stages[1], &t, &brief, out, err);
    }
    table_free(&t);
    dpa_values_free(&brief);
    return status;
}
