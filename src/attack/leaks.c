/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Per point, how well the attack does on models that it was not fitted to: the weights of
 * SelectWorst (bayesian-estimation, Algorithm 3 and section 4.1). */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

void dpa__leak_opts_init(dpa_leak_opts *opts) {
    *opts = (dpa_leak_opts){.attack = DPA_ATTACK_LIRA, .test_share = 0.2, .seed = 1, .delta = 1e-5};
    dpa__attack_opts_init(&opts->how);
}

/* ── one point ── */

typedef struct seen {
    double score;
    uint8_t member;
} seen;

static int by_score(const void *a, const void *b) {
    const seen *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

/* Equation (1) at posterior means under Jeffreys' prior, which are finite for any counts. */
static double epsilon_of(size_t fn, size_t in, size_t fp, size_t out, double delta) {
    const double fnr = ((double)fn + 0.5) / ((double)in + 1.0);
    const double fpr = ((double)fp + 0.5) / ((double)out + 1.0);
    const double best = fmax((1.0 - delta - fpr) / fnr, (1.0 - delta - fnr) / fpr);
    return best > 1.0 ? log(best) : 0.0;
}

/* Tries the thresholds between distinct scores; if all models have the same score, nothing leaks.
 * Sorts `models`. */
static void judge(seen *models, size_t count, double delta, dpa_leak *leak) {
    double sum[2] = {0.0, 0.0};
    size_t total[2] = {0, 0};
    for (size_t i = 0; i < count; ++i) {
        sum[models[i].member] += models[i].score;
        total[models[i].member]++;
    }
    leak->out = total[0];
    leak->in = total[1];
    leak->accuracy = leak->epsilon = leak->gap = (double)NAN;
    if (total[0] == 0 || total[1] == 0) return;
    const double in = (double)total[1], out = (double)total[0];
    qsort(models, count, sizeof *models, by_score);
    leak->gap = sum[1] / in - sum[0] / out;
    leak->accuracy = 0.5;
    leak->epsilon = 0.0;
    size_t below[2] = {0, 0}; /* below the threshold members are wrong and non-members right */
    for (size_t i = 0; i + 1 < count; ++i) {
        below[models[i].member]++;
        if (models[i + 1].score == models[i].score) continue;
        const double right = (in - (double)below[1]) / in + (double)below[0] / out;
        const double epsilon = epsilon_of(below[1], total[1], total[0] - below[0], total[0], delta);
        leak->accuracy = fmax(leak->accuracy, 0.5 * right);
        leak->epsilon = fmax(leak->epsilon, epsilon);
    }
}

/* ── splits ── */

typedef struct survey {
    const dpa_signals *signals;
    const dpa_leak_opts *opts;
    dpa__rows models; /* in the order of the split */
    size_t tests;     /* test models of a split; the last split may have fewer */
    size_t splits;    /* number of splits */
    size_t tested;    /* number of models tested in any split */
    double *score;    /* [tested × points] */
} survey;

static int ascending(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* One split: tests models [first, last) of the order; the attack is fitted to all others. */
static dpa_status do_split(const survey *s, size_t first, size_t last, size_t *room,
                           dpa_error *err) {
    dpa__rows fitted = {room, 0};
    dpa__fit fit;
    for (size_t i = 0; i < s->models.count; ++i)
        if (i < first || i >= last) fitted.row[fitted.count++] = s->models.row[i];
    qsort(fitted.row, fitted.count, sizeof *fitted.row, ascending);
    DPA_TRY(dpa__fit_new(s->opts->attack, s->signals, &s->opts->how, &fitted, &fit, err));
    dpa_status status = DPA_OK;
    for (size_t i = first; i < last && status == DPA_OK; ++i)
        status = dpa__fit_score(&fit, s->models.row[i], s->score + i * s->signals->points, err);
    dpa__fit_free(&fit);
    return status;
}

static dpa_status do_splits(const survey *s, dpa_error *err) {
    size_t *room = DPA_NEW_ARRAY(size_t, s->models.count, err);
    if (room == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    for (size_t k = 0; k < s->splits && status == DPA_OK; ++k) {
        const size_t first = k * s->tests, end = first + s->tests;
        status = do_split(s, first, end < s->tested ? end : s->tested, room, err);
    }
    free(room);
    return status;
}

static dpa_status judge_points(const survey *s, dpa_leak *leaks, dpa_error *err) {
    const size_t points = s->signals->points;
    seen *models = DPA_NEW_ARRAY(seen, s->tested, err);
    if (models == NULL) return DPA_NO_MEMORY;
    for (size_t p = 0; p < points; ++p) {
        for (size_t i = 0; i < s->tested; ++i)
            models[i] =
                (seen){s->score[i * points + p], s->signals->member[s->models.row[i] * points + p]};
        leaks[p].point = p;
        judge(models, s->tested, s->opts->delta, &leaks[p]);
    }
    free(models);
    return DPA_OK;
}

/* ── the way in ── */

static dpa_status check(const dpa_signals *signals, const dpa_leak_opts *opts, dpa_error *err) {
    if (signals->models == 0 || signals->points == 0 || signals->member == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "leaks: signals with membership are needed");
    if (!(opts->test_share > 0.0 && opts->test_share < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "test share: expected 0 to 1, found %g",
                         opts->test_share);
    if (!(opts->delta >= 0.0 && opts->delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: expected 0 to 1, found %g", opts->delta);
    return DPA_OK;
}

/* Makes sure that at least one model is tested and at least one is fitted to. */
static dpa_status plan(survey *s, dpa_error *err) {
    dpa_rng rng;
    const size_t count = s->models.count;
    if (count < 2)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%zu models are left, at least 2 are needed: one to fit the attack to and "
                         "one to test it on",
                         count);
    const double tests = round(s->opts->test_share * (double)count);
    s->tests = tests < 1.0 ? 1 : tests > (double)(count - 1) ? count - 1 : (size_t)tests;
    s->splits = s->opts->every_model ? (count + s->tests - 1) / s->tests : 1;
    s->tested = s->opts->every_model ? count : s->tests;
    dpa__rng_init(&rng, s->opts->seed, DPA_PURPOSE_SPLIT, 0);
    dpa__rng_shuffle(&rng, s->models.row, count);
    s->score = dpa__malloc(s->tested, s->signals->points * sizeof(double), err);
    return s->score != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static void tell_roles(const survey *s, dpa_model_role *roles) {
    for (size_t m = 0; m < s->signals->models; ++m) roles[m] = DPA_ROLE_KEPT;
    for (size_t i = 0; i < s->models.count; ++i)
        roles[s->models.row[i]] = i < s->tested ? DPA_ROLE_TEST : DPA_ROLE_FIT;
}

dpa_status dpa__leaks_measure(const dpa_signals *signals, const dpa_leak_opts *opts,
                              dpa_leak *leaks, dpa_model_role *roles, dpa_error *err) {
    survey s = {.signals = signals, .opts = opts};
    dpa_attack_opts everyone = opts->how;
    everyone.target = signals->models;
    DPA_TRY(check(signals, opts, err));
    DPA_TRY(dpa__rows_used(signals, &everyone, &s.models, err));
    dpa_status status = plan(&s, err);
    if (status == DPA_OK) status = do_splits(&s, err);
    if (status == DPA_OK) status = judge_points(&s, leaks, err);
    if (status == DPA_OK && roles != NULL) tell_roles(&s, roles);
    free(s.score);
    free(s.models.row);
    return status;
}
