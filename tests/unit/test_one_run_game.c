/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Games with many canaries in one training, and whole trainings: the law of their scores against
 * closed forms, who is in, the same bytes from the same seed, impossible settings. */
#include "check.h"

#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "game/canary.h"
#include "game/one_run.h"

enum { ROWS = 120, FEATURES = 5, STEPS = 100, CANARIES = 600, CLASSES = 4 };
static const double SIGMA = 1.5, Q = 0.25;

typedef struct table_game {
    dpa_train_plan plan;
    dpa_train_data data;
    dpa_game_opts opts;
} table_game;

/* The last two features are 0 everywhere: 2·HIDDEN weights get no gradient from the data, so that
 * observations along them are exactly normal. */
static void set_up(table_game *t) {
    static float x[ROWS * FEATURES];
    static int32_t label[ROWS];
    static size_t members[ROWS / 2], heldout[ROWS / 2];
    dpa_rng rng;
    dpa__rng_init(&rng, 6, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = 0; j < FEATURES; ++j)
            x[i * FEATURES + j] = j + 2 < FEATURES ? (float)dpa__rng_normal(&rng) : 0.0F;
        label[i] = (int32_t)dpa__rng_below(&rng, CLASSES);
    }
    for (size_t i = 0; i < ROWS / 2; ++i) members[i] = 2 * i, heldout[i] = 2 * i + 1;
    *t = (table_game){.data = {.members = members,
                               .member_count = ROWS / 2,
                               .heldout = heldout,
                               .heldout_count = ROWS / 2}};
    assert_ok(
        dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, FEATURES}, CLASSES, &t->data.data, NULL));
    t->plan.layers = "mlp:400";
    t->plan.init_seed = 3;
    dpa_train_opts *o = &t->plan.train;
    dpa_train_opts_init(o);
    o->sampling = DPA_SAMPLE_POISSON;
    o->batch = ROWS / 8;
    o->steps = STEPS;
    o->clip = 0.5;
    o->sigma = SIGMA;
    dpa_game_opts_init(&t->opts);
    t->opts.canaries = CANARIES;
}

static void tear_down(table_game *t) {
    dpa_dataset_free(t->data.data);
}

typedef struct outcome {
    double score[CANARIES], answer[CANARIES], accuracy;
} outcome;

static void play(const table_game *t, uint64_t options, uint64_t run, outcome *out) {
    dpa__one_run *game = NULL;
    dpa_error err = {0};
    dpa__one_run_result result = {.score = out->score, .answer = out->answer};
    if (dpa__one_run_new(&t->opts, options, &t->plan, &t->data, NULL, DPA_TRAINER_LOSS, &game,
                         &err) != DPA_OK ||
        dpa__one_run_play(game, run, &result, &err) != DPA_OK)
        fail_msg("%s", err.text);
    out->accuracy = result.accuracy;
    dpa__one_run_free(game);
}

/* Mean and variance of the scores with this answer. */
static void moments(const outcome *o, double answer, size_t *count, double *mean,
                    double *variance) {
    double sum = 0.0, square = 0.0;
    *count = 0;
    for (size_t i = 0; i < CANARIES; ++i) {
        if (o->answer[i] != answer) continue;
        sum += o->score[i];
        square += o->score[i] * o->score[i];
        ++*count;
    }
    *mean = sum / (double)*count;
    *variance = square / (double)*count - *mean * *mean;
}

/* Checks that they are within 4.5 standard errors of N(mean, variance). */
static void has_law(const outcome *o, double answer, double mean, double variance) {
    size_t count;
    double m, v;
    moments(o, answer, &count, &m, &v);
    const double n = (double)count;
    assert_between((double)count / CANARIES, 0.4, 0.6);
    if (fabs(m - mean) > 4.5 * sqrt(variance / n) || fabs(v / variance - 1.0) > 4.5 * sqrt(2.0 / n))
        fail_msg("mean %g, variance %g of %zu: expected %g, %g", m, v, count, mean, variance);
}

/* Out: the sum of T noises. In: the same, plus a canary of size 1 in each step with probability
 * q. */
static void membership_law(void **state) {
    (void)state;
    table_game t;
    static outcome o;
    set_up(&t);
    play(&t, 0, 0, &o);
    has_law(&o, 0.0, 0.0, STEPS * SIGMA * SIGMA);
    has_law(&o, 1.0, STEPS * Q, STEPS * (SIGMA * SIGMA + Q * (1.0 - Q)));
    assert_between(o.accuracy, 0.0, 1.0);
    /* Shuffled: once in each of the T·q epochs (one batch more or less if they do not divide). */
    t.opts.sabotage = DPA_SABOTAGE_SHUFFLE;
    play(&t, 0, 0, &o);
    has_law(&o, 0.0, 0.0, STEPS * SIGMA * SIGMA);
    has_law(&o, 1.0, STEPS * Q, STEPS * SIGMA * SIGMA);
    t.opts.sabotage = DPA_SABOTAGE_WORKERS;
    play(&t, 0, 0, &o);
    has_law(&o, 0.0, 0.0, STEPS * SIGMA * SIGMA / 4.0);
    tear_down(&t);
}

/* Weights without a canary show the noise alone, and watching them changes no score. */
static void null_coordinates(void **state) {
    (void)state;
    enum { NULLS = 100 };
    static double noise[STEPS * NULLS];
    static outcome plain, watched;
    table_game t;
    dpa__one_run *game = NULL;
    dpa_channels_check check;
    set_up(&t);
    play(&t, 0, 0, &plain);
    t.opts.null_coordinates = NULLS;
    assert_ok(dpa__one_run_new(&t.opts, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    assert_int_equal(dpa__one_run_noise_rows(game), STEPS);
    dpa__one_run_result result = {.score = watched.score, .answer = watched.answer, .noise = noise};
    assert_ok(dpa__one_run_play(game, 0, &result, NULL));
    assert_memory_equal(plain.score, watched.score, sizeof plain.score);
    double square = 0.0;
    for (size_t i = 0; i < STEPS * NULLS; ++i) square += noise[i] * noise[i];
    const double n = STEPS * NULLS, variance = SIGMA * SIGMA;
    assert_absolute(square / n, variance, 4.5 * variance * sqrt(2.0 / n));
    assert_ok(dpa__one_run_channels_check(noise, STEPS, NULLS, &check, NULL));
    assert_false(check.is_refuted);
    dpa__one_run_free(game);
    /* the same few noises again and again */
    t.opts.sabotage = DPA_SABOTAGE_SEEDS;
    t.opts.seeds = 10;
    assert_ok(dpa__one_run_new(&t.opts, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    assert_ok(dpa__one_run_play(game, 0, &result, NULL));
    assert_ok(dpa__one_run_channels_check(noise, STEPS, NULLS, &check, NULL));
    assert_true(check.is_refuted);
    dpa__one_run_free(game);
    tear_down(&t);
}

/* Long trainings keep rows that are spread evenly, short ones none. Where there are fewer weights
 * than are to be watched the rest is NaN. */
static void few_null_coordinates(void **state) {
    (void)state;
    enum { NULLS = 5, ROWS_KEPT = 12, MOST = 1000 };
    static double noise[ROWS_KEPT * NULLS];
    static outcome o;
    table_game t;
    dpa__one_run *game = NULL;
    dpa__one_run_result result = {.score = o.score, .answer = o.answer, .noise = noise};
    set_up(&t);
    t.plan.layers = "mlp:1"; /* 5 + 1 weights, then 4 + 4 */
    t.plan.train.steps = ROWS_KEPT;
    t.opts.canaries = 11;
    t.opts.null_coordinates = NULLS;
    assert_ok(dpa__one_run_new(&t.opts, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    assert_ok(dpa__one_run_play(game, 0, &result, NULL));
    for (size_t i = 0; i < ROWS_KEPT * NULLS; ++i)
        assert_int_equal(isnan(noise[i]), i % NULLS >= 3);
    dpa__one_run_free(game);
    for (uint64_t steps = 9; steps < 10000; steps = steps * 10 + 9) {
        t.plan.train.steps = steps;
        assert_ok(
            dpa__one_run_new(&t.opts, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
        assert_int_equal(dpa__one_run_noise_rows(game), steps < 10     ? 0
                                                        : steps < MOST ? steps
                                                                       : MOST);
        dpa__one_run_free(game);
    }
    tear_down(&t);
}

/* Guessing the largest of K normals, one of them shifted, is right with probability ∫ φ(z − d)
 * Φ(z)^{K−1} dz, here by 20,000 steps of the midpoint rule. */
static double largest_is_right(double shift, unsigned options) {
    double sum = 0.0;
    for (int i = 0; i < 20000; ++i) {
        const double z = -10.0 + (i + 0.5) * 1e-3;
        const double density = exp(-0.5 * (z - shift) * (z - shift)) / sqrt(2.0 * M_PI);
        sum += density * pow(0.5 * erfc(-z / M_SQRT2), options - 1.0) * 1e-3;
    }
    return sum;
}

static void reconstruction_law(void **state) {
    (void)state;
    table_game t;
    static outcome o;
    set_up(&t);
    t.plan.train.q = 1.0; /* every member in every step: the score of an option is N(T·in, Tσ²) */
    t.plan.train.steps = 9;
    t.opts.canaries = 250;
    play(&t, 3, 0, &o);
    double right = 0.0;
    for (size_t i = 0; i < t.opts.canaries; ++i) right += o.answer[i] / (double)t.opts.canaries;
    const double expected = largest_is_right(3.0 / SIGMA, 3);
    assert_absolute(right, expected, 4.5 * sqrt(expected * (1.0 - expected) / 250.0));
    for (size_t i = 0; i < t.opts.canaries; ++i) assert_true(o.score[i] >= 0.0);
    tear_down(&t);
}

/* log(1 − q + q·e^a) compared with long double, also at both ends. */
static void likelihood(void **state) {
    (void)state;
    dpa__ledger l;
    assert_ok(dpa__ledger_init(&l, DPA_SCORE_LIKELIHOOD, 1, 0.01, 0.5, NULL));
    const double x[] = {-300.0, -1.0, 0.49, 0.5, 0.51, 1.0, 3.0, 1000.0};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; ++i) {
        dpa__ledger_start(&l);
        dpa__ledger_add(&l, 0, x[i]);
        const long double a = ((long double)x[i] - 0.5L) / 0.25L;
        assert_relative(l.score[0], (double)logl(0.99L + 0.01L * expl(a)), 1e-14);
    }
    dpa__ledger_free(&l);
}

/* sum ← direction i of the bank. */
static void lay_out(const dpa__bank *b, size_t i, float *sum) {
    if (b->place == NULL) {
        memcpy(sum, b->direction + i * b->size, b->size * sizeof *sum);
        return;
    }
    memset(sum, 0, b->size * sizeof *sum);
    sum[b->place[i]] = (float)b->clip;
}

static void bank_directions(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa__trainer *trainer = NULL;
    const dpa__local_opts opts = {.opts = &t.opts,
                                  .plan = &t.plan,
                                  .data = t.data.data,
                                  .rows = t.data.members,
                                  .points = t.data.member_count,
                                  .held = &t.data};
    assert_ok(dpa__local_new(&opts, &trainer, NULL));
    const size_t size = trainer->size;
    float *sum = calloc(size, sizeof *sum);
    dpa__bank b;
    for (int kind = 0; kind < 2; ++kind) {
        const dpa_game_canary canary = kind == 0 ? DPA_GAME_DIRAC : DPA_GAME_RANDOM;
        assert_ok(dpa__bank_init(&b, canary, 30, 0.5, 7, trainer, NULL));
        for (size_t i = 0; i < 30; ++i) {
            lay_out(&b, i, sum);
            double square = 0.0;
            for (size_t j = 0; j < size; ++j) square += (double)sum[j] * (double)sum[j];
            assert_relative(sqrt(square), 0.5, 1e-6); /* of norm C … */
            for (size_t j = 0; j < 30; ++j) {
                const double along = dpa__bank_along(&b, j, sum);
                if (i == j)
                    assert_relative(along, 1.0, 1e-6); /* … so that it sees itself as 1 */
                else
                    assert_true(fabs(along) < (kind == 0 ? 1e-12 : 0.5));
            }
        }
        dpa__bank_free(&b);
    }
    dpa_error err = {0};
    assert_int_equal(dpa__bank_init(&b, DPA_GAME_DIRAC, size + 1, 0.5, 7, trainer, &err),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__bank_init(&b, DPA_GAME_CONSTANT, 2, 0.5, 7, trainer, &err),
                     DPA_BAD_ARGUMENT);
    free(sum);
    dpa__trainer_close(trainer);
    tear_down(&t);
}

static void decoy_labels(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa__decoys d;
    assert_ok(dpa__decoys_init(&d, 40, CLASSES - 1, 5, &t.data, NULL));
    unsigned seen[ROWS] = {0};
    for (size_t i = 0; i < 40; ++i) {
        assert_int_equal(d.row[i] % 2, 1);     /* held out … */
        assert_int_equal(seen[d.row[i]]++, 0); /* … and each once */
        unsigned labels = 1U << dpa_dataset_label(t.data.data, d.row[i]);
        for (size_t k = 0; k < CLASSES - 1; ++k) labels |= 1U << dpa__decoys_label(&d, i, k);
        assert_int_equal(labels, (1U << CLASSES) - 1); /* all wrong labels, each once */
    }
    dpa__decoys_free(&d);
    assert_int_equal(dpa__decoys_init(&d, ROWS, 1, 5, &t.data, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__decoys_init(&d, 4, CLASSES, 5, &t.data, NULL), DPA_BAD_ARGUMENT);
    tear_down(&t);
}

/* How many of the black-box canaries are guessed right among CLASSES - 1 labels. */
static double guessed_right(const table_game *t) {
    static outcome o;
    play(t, CLASSES - 1, 0, &o);
    double right = 0.0;
    for (size_t i = 0; i < t->opts.canaries; ++i) right += o.answer[i];
    return right;
}

/* Without noise and after long training the model knows its canaries; with much noise it does not.
 * The result depends on the last bits of every sum, so the network is large enough to learn all 110
 * labels: 60 trainings on three kinds of processor knew 47 to 50 of 50 canaries, with gaps of 7 to
 * 15. */
static void black_box(void **state) {
    (void)state;
    table_game t;
    static outcome o;
    set_up(&t);
    t.opts.access = DPA_ACCESS_FINAL;
    t.opts.canaries = 50;
    t.plan.layers = "mlp:100,100";
    t.plan.train.steps = 2000;
    t.plan.train.sigma = 0.0;
    t.plan.train.clip = INFINITY;
    t.plan.train.rate = 0.2;
    play(&t, 0, 0, &o);
    double in = 0.0, out = 0.0, members = 0.0;
    for (size_t i = 0; i < 50; ++i) {
        members += o.answer[i];
        *(o.answer[i] == 1.0 ? &in : &out) += o.score[i];
    }
    assert_true(in / members > out / (50.0 - members) + 1.0);
    assert_true(guessed_right(&t) >= 40.0);
    /* With the noise of 40 gradients in each of 100 steps it guesses among 3 labels: 16.7 ± 4.5 ·
     * 3.3. */
    t.plan.train.steps = 100;
    t.plan.train.sigma = 40.0;
    t.plan.train.clip = 0.5;
    assert_between(guessed_right(&t), 1.0, 32.0);
    tear_down(&t);
}

static void same_bytes(void **state) {
    (void)state;
    table_game t;
    static outcome a, b, c;
    set_up(&t);
    t.plan.train.steps = 10;
    play(&t, 0, 3, &a);
    play(&t, 0, 3, &b);
    assert_memory_equal(&a, &b, sizeof a);
    play(&t, 0, 4, &c);
    assert_memory_not_equal(a.answer, c.answer, sizeof a.answer);
    t.opts.seed = 2;
    play(&t, 0, 3, &c);
    assert_memory_not_equal(a.score, c.score, sizeof a.score);
    /* A game that has played before gives the same as a new one. */
    dpa__one_run *game = NULL;
    t.opts.seed = 1;
    assert_ok(dpa__one_run_new(&t.opts, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    dpa__one_run_result result = {.score = c.score, .answer = c.answer};
    assert_ok(dpa__one_run_play(game, 9, &result, NULL));
    assert_ok(dpa__one_run_play(game, 3, &result, NULL));
    assert_memory_equal(a.score, c.score, sizeof a.score);
    dpa__one_run_free(game);
    tear_down(&t);
}

static dpa_status try_out(const table_game *t, uint64_t options, dpa_error *err) {
    dpa__one_run *game = NULL;
    const dpa_status status =
        dpa__one_run_new(&t->opts, options, &t->plan, &t->data, NULL, DPA_TRAINER_LOSS, &game, err);
    dpa__one_run_free(game);
    return status;
}

static void refusals(void **state) {
    (void)state;
    table_game t;
    dpa_error err = {0};
    set_up(&t);
    assert_ok(try_out(&t, 0, &err));
    t.opts.canaries = 0;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.opts.canaries = 100000; /* more than weights */
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "weights"));
    t.opts.canaries = 10;
    t.opts.null_coordinates = 2;
    assert_int_equal(try_out(&t, 3, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "null-coordinates"));
    t.opts.canary = DPA_GAME_RANDOM;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.opts.canary = DPA_GAME_DIRAC;
    t.opts.access = DPA_ACCESS_FINAL;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.opts.access = DPA_ACCESS_STEPS;
    t.opts.null_coordinates = 0;
    assert_int_equal(try_out(&t, 1, &err), DPA_BAD_ARGUMENT);
    t.plan.train.microbatch = 5;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.plan.train.microbatch = 1;
    t.plan.train.sigma = 0.0;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.opts.access = DPA_ACCESS_FINAL; /* needs no noise, but held-out rows */
    assert_ok(try_out(&t, 0, &err));
    t.opts.canaries = ROWS;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    t.opts.canaries = 10;
    t.plan.train.sampling = DPA_SAMPLE_SHUFFLE;
    t.opts.sabotage = DPA_SABOTAGE_SHUFFLE;
    assert_int_equal(try_out(&t, 0, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "poisson"));
    tear_down(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(membership_law),       cmocka_unit_test(null_coordinates),
        cmocka_unit_test(few_null_coordinates), cmocka_unit_test(reconstruction_law),
        cmocka_unit_test(likelihood),           cmocka_unit_test(bank_directions),
        cmocka_unit_test(decoy_labels),         cmocka_unit_test(black_box),
        cmocka_unit_test(same_bytes),           cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
