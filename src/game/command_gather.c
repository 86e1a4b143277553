/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns what external trainers wrote into evidence.
 *
 * Design coins: a matrix of signals for `dpaudit attack`. If an attack is named, also the scores of
 * the first model, whose points came in by independent coins, so they are canaries of one run. The
 * other models serve as its shadows: they know nothing of its coins.
 * Design leave-one-out: each training gives one score, the signal of the challenge, with or without
 * it. A training that failed gets the score fixed for that in advance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/command.h"

static dpa_status add_pair(dpa_evidence *out, const char *first, double *a, size_t a_count,
                           const char *second, double *b, size_t b_count, size_t rows,
                           dpa_error *err) {
    const dpa_status status = dpa__evidence_add(out, first, a, a_count, rows, err);
    if (status == DPA_OK) return dpa__evidence_add(out, second, b, b_count, rows, err);
    free(b);
    return status;
}

/* Splits scores into those with the point and those without it. */
static dpa_status add_scores(dpa_evidence *out, const double *scores, const double *members,
                             size_t count, dpa_error *err) {
    double *in = DPA_NEW_ARRAY(double, count, err), *none = DPA_NEW_ARRAY(double, count, err);
    size_t n = 0, m = 0;
    if (in == NULL || none == NULL) {
        free(in);
        free(none);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < count; ++i)
        if (members[i] > 0.0)
            in[n++] = scores[i];
        else
            none[m++] = scores[i];
    if (n == 0 || m == 0) {
        free(in);
        free(none);
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%zu scores with and %zu without the point: both are "
                         "needed",
                         n, m);
    }
    return add_pair(out, "members", in, n, "nonmembers", none, m, 0, err);
}

/* Models with an outcome: signals and membership [models × queries]. `ends` says how each ended;
 * one that failed or was lost has NaN signals. */
typedef struct matrix {
    size_t models, queries, played;
    double *signals, *members;
    uint8_t *ends;
} matrix;

static void matrix_free(matrix *m) {
    free(m->signals);
    free(m->members);
    free(m->ends);
    *m = (matrix){0};
}

static dpa_status matrix_make(const dpa_game *game, const dpa_trials *trials, matrix *out,
                              dpa_error *err) {
    *out = (matrix){.queries = (size_t)dpa__command_queries(game)};
    for (uint64_t i = 0; i < trials->count; ++i) {
        const dpa_trial_end end = dpa_trials_end(trials, i);
        out->models += end != DPA_TRIAL_NONE;
        out->played += end == DPA_TRIAL_PLAYED;
    }
    if (out->models < 2)
        return dpa__fail(err, DPA_BAD_INPUT, "%zu models: at least 2 are needed", out->models);
    if (out->queries > SIZE_MAX / sizeof(double) / out->models)
        return dpa__fail(err, DPA_NO_MEMORY, "%zu models of %zu values", out->models, out->queries);
    out->signals = DPA_NEW_ARRAY(double, out->models * out->queries, err);
    out->members = DPA_NEW_ARRAY(double, out->models * out->queries, err);
    out->ends = DPA_NEW_ARRAY(uint8_t, out->models, err);
    if (out->signals != NULL && out->members != NULL && out->ends != NULL) return DPA_OK;
    matrix_free(out);
    return DPA_NO_MEMORY;
}

static dpa_status matrix_fill(const dpa_game *game, const dpa_trials *trials, matrix *out,
                              dpa_error *err) {
    DPA_TRY(matrix_make(game, trials, out, err));
    size_t k = 0, row = 0;
    for (uint64_t i = 0; i < trials->count; ++i) {
        const dpa_trial_end end = dpa_trials_end(trials, i);
        if (end == DPA_TRIAL_NONE) continue;
        out->ends[row++] = (uint8_t)end;
        for (size_t q = 0; q < out->queries; ++q, ++k) {
            out->signals[k] = end == DPA_TRIAL_PLAYED ? trials->items[i].items[q] : (double)NAN;
            out->members[k] = dpa__command_member(game, i, dpa__command_query(game, q));
        }
    }
    return DPA_OK;
}

/* Drops the models without signals, from which an attack cannot learn. Row 0 may then be another
 * model, so the caller must check beforehand whether the first one has signals. */
static void matrix_drop(matrix *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->models; ++i) {
        if (m->ends[i] != DPA_TRIAL_PLAYED) continue;
        const size_t bytes = m->queries * sizeof *m->signals;
        memmove(m->signals + kept * m->queries, m->signals + i * m->queries, bytes);
        memmove(m->members + kept * m->queries, m->members + i * m->queries, bytes);
        m->ends[kept++] = DPA_TRIAL_PLAYED;
    }
    m->models = kept;
}

static dpa_status attack_first(const dpa_command_opts *o, const matrix *m, double *scores,
                               dpa_error *err) {
    const size_t count = m->models * m->queries;
    uint8_t *members = DPA_NEW_ARRAY(uint8_t, count, err);
    if (members == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) members[i] = m->members[i] > 0.0;
    const dpa_signals signals = {.kind = o->signal,
                                 .models = m->models,
                                 .points = m->queries,
                                 .signal = m->signals,
                                 .member = members};
    dpa_attack_opts opts;
    dpa__attack_opts_init(&opts);
    const dpa_status status = dpa__attack_run(o->attack, &signals, &opts, scores, err);
    free(members);
    return status;
}

/* Scores the points of the first model by the attack. The other models are its shadows and know
 * nothing of its coins, so failed ones may be left out. If the first model itself failed, every
 * point gets the same score, which favours no guess. */
static dpa_status gather_first(const dpa_command_opts *o, matrix *m, dpa_evidence *out,
                               dpa_error *err) {
    double *scores = dpa__calloc(m->queries, sizeof *scores, err);
    if (scores == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    if (m->ends[0] == DPA_TRIAL_PLAYED) {
        matrix_drop(m);
        status = attack_first(o, m, scores, err);
    }
    if (status == DPA_OK) status = add_scores(out, scores, m->members, m->queries, err);
    free(scores);
    return status;
}

static dpa_status gather_half(const dpa_command_opts *o, matrix *m, dpa_evidence *out,
                              dpa_error *err) {
    if (o->has_attack) return gather_first(o, m, out, err);
    matrix_drop(m);
    const size_t count = m->models * m->queries;
    double *signals = m->signals, *members = m->members;
    m->signals = m->members = NULL;
    return add_pair(out, "signals", signals, count, "members", members, count, m->models, err);
}

/* The score of a training without a signal. NaN counts as a wrong guess in either arm. */
static double score_of_end(const dpa_command_opts *o, dpa_trial_end end) {
    if (end != DPA_TRIAL_FAILED || o->failed == DPA_FAILED_AGAINST) return (double)NAN;
    return o->failed == DPA_FAILED_HIGH ? (double)INFINITY : -(double)INFINITY;
}

/* Members have lower losses but must have higher scores. */
static dpa_status gather_one(const dpa_command_opts *o, const matrix *m, dpa_evidence *out,
                             dpa_error *err) {
    double *scores = DPA_NEW_ARRAY(double, 2 * m->models, err);
    if (scores == NULL) return DPA_NO_MEMORY;
    double *members = scores + m->models;
    for (size_t i = 0; i < m->models; ++i) {
        const double signal = m->signals[i * m->queries];
        scores[i] = m->ends[i] != DPA_TRIAL_PLAYED ? score_of_end(o, (dpa_trial_end)m->ends[i])
                    : o->signal == DPA_SIGNAL_LOSS ? -signal
                                                   : signal;
        members[i] = m->members[i * m->queries];
    }
    const dpa_status status = add_scores(out, scores, members, m->models, err);
    free(scores);
    return status;
}

void dpa__command_expect(const dpa_game *game, dpa_evidence *out) {
    const dpa_command_opts *o = &game->experiment->command;
    if (o->design == DPA_DESIGN_LEAVE_ONE_OUT) return;
    out->design = DPA_ONE_RUN;
    if (!o->has_attack) out->kind = DPA_EVIDENCE_SIGNALS;
}

int dpa__command_arm(const dpa_game *game, uint64_t index) {
    const dpa_command_opts *o = &game->experiment->command;
    if (o->design != DPA_DESIGN_LEAVE_ONE_OUT) return -1; /* both kinds in each training */
    return dpa__command_member(game, index, o->challenge);
}

dpa_status dpa__command_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                               dpa_error *err) {
    const dpa_command_opts *o = &game->experiment->command;
    matrix m;
    DPA_TRY(matrix_fill(game, &stages[0], &m, err));
    const size_t models = m.models;
    dpa_status status = DPA_OK;
    if (m.played < 1)
        status = dpa__fail(err, DPA_BAD_INPUT, "none of %zu trainings gave a number", models);
    if (status == DPA_OK)
        status = o->design == DPA_DESIGN_LEAVE_ONE_OUT ? gather_one(o, &m, out, err)
                                                       : gather_half(o, &m, out, err);
    if (status == DPA_OK) status = dpa_evidence_fact(out, "models", (double)models, err);
    matrix_free(&m);
    return status;
}
