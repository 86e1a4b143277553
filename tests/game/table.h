/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by tests of games: a trainer on random data in memory, and the law of its observations. */
#ifndef DPA_TESTS_GAME_TABLE_H
#define DPA_TESTS_GAME_TABLE_H

#include "check.h"

#include "base/rng.h"
#include "dpaudit/lab/game.h"
#include "estimate/scores.h"
#include "game/white_box.h"

enum { ROWS = 200, FEATURES = 6, STEPS = 1000 };
static const double SIGMA = 2.0;

typedef struct table_game {
    dpa_train_plan plan;
    dpa_train_data data;
} table_game;

/* Random data. The last feature is always 0, so that its weights have no gradient and observations
 * there are exactly normal. */
static inline void set_up(table_game *t) {
    static float x[ROWS * FEATURES];
    static int32_t label[ROWS];
    static size_t members[ROWS];
    dpa_rng rng;
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = 0; j < FEATURES; ++j)
            x[i * FEATURES + j] = j + 1 < FEATURES ? (float)dpa__rng_normal(&rng) : 0.0F;
        label[i] = (int32_t)dpa__rng_below(&rng, 2);
        members[i] = i;
    }
    *t = (table_game){.data = {.members = members, .member_count = ROWS}};
    assert_ok(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, FEATURES}, 2, &t->data.data, NULL));
    t->plan.layers = "mlp:8";
    t->plan.init_seed = 3;
    dpa_train_opts *o = &t->plan.train;
    dpa_train_opts_init(o);
    o->sampling = DPA_SAMPLE_POISSON;
    o->batch = 10;
    o->steps = STEPS;
    o->clip = 0.5;
    o->sigma = SIGMA;
}

/* Trains by the plan, again and again, until there are as many observations as the options ask for
 * (0: the steps of one training). */
static inline dpa_status play_white_box(const table_game *t, const dpa_game_opts *o, dpa_scores *s,
                                        dpa_error *err) {
    const size_t steps = t->plan.train.steps, count = o->observations > 0 ? o->observations : steps;
    dpa__white_box *game = NULL;
    dpa_status status = dpa__white_box_new(o, &t->plan, &t->data, NULL, &game, err);
    if (status != DPA_OK) return status;
    *s = (dpa_scores){.members = count, .nonmembers = count};
    s->member = malloc(count * sizeof(double));
    s->nonmember = malloc(count * sizeof(double));
    for (size_t i = 0; i < count && status == DPA_OK; i += steps)
        status = dpa__white_box_play(game, i / steps, count - i < steps ? count - i : steps,
                                     s->member + i, s->nonmember + i, err);
    dpa__white_box_free(game);
    return status;
}

static inline void moments(const double *x, size_t n, double *mean, double *deviation) {
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < n; ++i) sum += x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; ++i) square += (x[i] - *mean) * (x[i] - *mean);
    *deviation = sqrt(square / (double)(n - 1));
}

/* Checks that mean and deviation are within 4.5 standard errors of N(mean, deviation²). */
static inline void has_law(const double *x, size_t n, double mean, double deviation) {
    double m, s;
    moments(x, n, &m, &s);
    const double root = sqrt((double)n);
    if (fabs(m - mean) > 4.5 * deviation / root ||
        fabs(s - deviation) > 4.5 * deviation / (root * sqrt(2.0)))
        fail_msg("mean %g, deviation %g: expected %g, %g", m, s, mean, deviation);
}

#endif
