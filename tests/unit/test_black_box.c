/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The black-box game compared with a closed form. For logistic regression with full batches and one
 * step, the blank canary's score is ± the bias, which after one step is
 *     b = −(η/B)·(S + σC·z [+ g′]),
 * where S is the sum of the members' clipped gradients with respect to the bias and g′ = ±½ clipped
 * to C. With C < ½ the scores are those of a Gaussian mechanism with μ = 1/σ. */
#include "game/table.h"

#include "game/file.h"
#include "game/rules.h"

static const double RATE = 0.7, BATCH = 8.0, CLIP = 0.4, NOISE = 1.5;
enum { MEMBERS = 6, MODELS = 2000 };

static const char DATA[] = "a,b,kind\n1,0.5,x\n-1,2,y\n0.25,0,x\n2,1,y\n-0.5,1,y\n1,1,x\n0,3,x\n";
static const double X[MEMBERS][2] = {{1, 0.5}, {-1, 2}, {0.25, 0}, {2, 1}, {-0.5, 1}, {1, 1}};
static const int LABEL[MEMBERS] = {0, 1, 0, 1, 1, 0};

static const char *training(const char *more) {
    char text[1024];
    (void)game_write("data.csv", DATA);
    (void)snprintf(text, sizeof text,
                   "data: {format: table, path: data.csv, label: kind, members: 0..6}\n"
                   "model: \"\"\nloss: binary\nseed: 3\n%s\n",
                   more);
    return game_write("train.yaml", text);
}

static const char ONE_STEP[] = "train: {sampling: poisson, batch: 8, q: 1, steps: 1, rate: 0.7}\n"
                               "privacy: {clip: 0.4, sigma: 1.5}";

/* The mean of ±b without the canary, with the sign of its label. The initial weights are those of
 * the model that the plan describes. */
static double expected_mean(const dpa_game *game) {
    dpa_model *model = NULL;
    assert_ok(dpa_model_new("", (dpa_shape){1, 1, 2}, 2, DPA_LOSS_BINARY, &model, NULL));
    dpa_model_init(model, game->plan->init_seed);
    const float *w = dpa_model_weights(model);
    double sum = 0.0;
    for (size_t i = 0; i < MEMBERS; ++i) {
        const double z = (double)w[0] * X[i][0] + (double)w[1] * X[i][1];
        const double error = 1.0 / (1.0 + exp(-z)) - LABEL[i];
        const double norm = fabs(error) * sqrt(1.0 + X[i][0] * X[i][0] + X[i][1] * X[i][1]);
        sum += error * fmin(1.0, CLIP / norm);
    }
    dpa_model_free(model);
    return -RATE / BATCH * sum;
}

/* Plays and compares both laws; `scale` is the share of the noise that is left. */
static void plays_as(const char *keys, double scale, double canary) {
    (void)training(ONE_STEP);
    dpa_experiment *e = black_box_experiment(keys);
    dpa_game *game = game_open(e);
    dpa_evidence evidence;
    game_gather(game, &evidence);
    assert_int_equal(evidence.kind, DPA_EVIDENCE_SCORES);
    const dpa_named_array *in = dpa__evidence_find(&evidence, "members");
    const dpa_named_array *out = dpa__evidence_find(&evidence, "nonmembers");
    assert_int_equal(in->count, MODELS);
    assert_int_equal(out->count, MODELS);
    const double unit = RATE / BATCH * CLIP;
    double mean = expected_mean(game), got, deviation;
    moments(out->items, MODELS, &got, &deviation);
    if (got * mean < 0.0) mean = -mean; /* the canary has the label 0 */
    has_law(out->items, MODELS, mean, unit * NOISE * scale);
    has_law(in->items, MODELS, mean + unit * canary, unit * NOISE * scale);
    dpa__evidence_clear(&evidence);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

static void laws(void **state) {
    (void)state;
    plays_as("canary: blank, observations: 2000", 1.0, 1.0);
    plays_as("canary: blank, observations: 2000, seed: 2", 1.0, 1.0);
}

static void sabotages(void **state) {
    (void)state;
    plays_as("canary: blank, observations: 2000, sabotage: noise-scale, noise-scale: 0.5", 0.5,
             1.0);
    plays_as("canary: blank, observations: 2000, sabotage: noise-per-worker, workers: 9", 1.0 / 3.0,
             1.0);
}

/* The mean of the batch is clipped, not the canary, so ½ moves the score, not C. The members' sum
 * changes too, so only the difference is checked. */
static void clip_after_mean(void **state) {
    (void)state;
    (void)training(ONE_STEP);
    dpa_experiment *e =
        black_box_experiment("canary: blank, observations: 2000, sabotage: clip-after-mean");
    dpa_game *game = game_open(e);
    dpa_evidence evidence;
    game_gather(game, &evidence);
    double in, out, deviation;
    moments(dpa__evidence_find(&evidence, "members")->items, MODELS, &in, &deviation);
    moments(dpa__evidence_find(&evidence, "nonmembers")->items, MODELS, &out, &deviation);
    assert_absolute(in - out, RATE / BATCH * 0.5, 4.5 * deviation * sqrt(2.0 / MODELS));
    assert_relative(deviation, RATE / BATCH * CLIP * NOISE, 0.08);
    dpa__evidence_clear(&evidence);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

static double one_trial(dpa_game *game, uint64_t index) {
    const dpa_values brief = {0};
    dpa_values v = {0};
    assert_ok(dpa_game_trial(game, 0, index, &brief, &v, NULL));
    const double score = v.items[0];
    dpa_values_free(&v);
    return score;
}

/* A trial is a function of its number; every sampling, averaged weights and several classes work;
 * missing trials are left out. */
static void trials(void **state) {
    (void)state;
    const char *const ways[] = {
        "train: {batch: 2, steps: 9}",
        "train: {batch: 2, steps: 9, average: ema}\nprivacy: {clip: 1}",
        "train: {sampling: poisson, batch: 2, steps: 9}\nprivacy: {clip: 1, sigma: 1}",
        "train: {sampling: poisson, batch: 2, steps: 9}\nprivacy: {clip: 1, sigma: 1, microbatch: "
        "2}",
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
        (void)training(ways[i]);
        dpa_experiment *e = black_box_experiment("observations: 3");
        dpa_game *game = game_open(e), *again = game_open(e);
        assert_int_equal(dpa_game_trials(game, 0), 6);
        const double first = one_trial(game, 1), second = one_trial(game, 4);
        assert_true(one_trial(again, 4) == second && one_trial(again, 1) == first);
        assert_true(first != second);
        dpa_values some[6] = {{0}};
        double five = 5.0;
        some[5] = (dpa_values){&five, 1};
        const dpa_trials list = {some, 6, NULL};
        dpa_evidence evidence;
        assert_ok(dpa_game_gather(game, &list, &evidence, NULL));
        assert_int_equal(dpa__evidence_find(&evidence, "members")->count, 1);
        assert_int_equal(dpa__evidence_find(&evidence, "nonmembers")->count, 0);
        dpa__evidence_clear(&evidence);
        some[5].count = 0; /* only a manipulated store could have this */
        assert_int_equal(dpa_game_gather(game, &list, &evidence, NULL), DPA_BAD_INPUT);
        dpa_game_close(game);
        dpa_game_close(again);
        dpa_experiment_free(e);
    }
}

/* Softmax with three classes: the score is log(p/(1 − p)) of the loss that the model reports. */
static void several_classes(void **state) {
    (void)state;
    (void)game_write("data.csv", "a,kind\n1,x\n2,y\n3,z\n4,x\n5,y\n");
    (void)game_write("train.yaml",
                     "data: {format: table, path: data.csv, label: kind, members: 0..3, heldout: "
                     "3..5}\nmodel: mlp:4\ntrain: {batch: 3, steps: 3, rate: 0}\n");
    dpa_experiment *e = black_box_experiment("canary: blank");
    dpa_game *game = game_open(e);
    assert_int_equal(dpa_game_trials(game, 0), 200);
    /* Blank, before any step: all biases are 0, so p = 1/3. */
    assert_absolute(one_trial(game, 0), log(0.5), 1e-6);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

static void refused(const char *keys, const char *word) {
    char text[512];
    (void)snprintf(text, sizeof text, "{training: train.yaml, game: {%s}}\n", keys);
    dpa_experiment *e = NULL;
    dpa_game *game = NULL;
    dpa_error err = {0};
    dpa_status status = dpa_experiment_read(game_write("audit.yaml", text), &e, &err);
    if (status == DPA_OK) status = dpa_game_open(e, &game, &err);
    if (status == DPA_OK || strstr(err.text, word) == NULL)
        fail_msg("'%s': status %d, '%s'", keys, (int)status, err.text);
    dpa_experiment_free(e);
}

static void refusals(void **state) {
    (void)state;
    (void)training(ONE_STEP);
    refused("kind: black-box, canary: crafted", "knows mislabelled, blank");
    refused("kind: black-box, canary: dirac", "knows mislabelled, blank");
    refused("kind: input-canary, canary: random", "knows mislabelled, blank, adversarial, crafted");
    refused("kind: white-box, canary: blank", "knows dirac, constant, random");
    refused("kind: black-box, canary-rate: 0.5", "canary rate 0.5");
    refused("kind: black-box, moving: true", "moving");
    refused("kind: black-box, observations: 2000000000", "observations");
    refused("kind: black-box, sabotage: noise-scale, noise-scale: -1", "noise scale");
    refused("kind: black-box, sabotage: noise-per-worker, workers: 0", "workers");
    refused("kind: input-canary, crafting-steps: 0", "crafting steps");
    refused("kind: input-canary, radius: 0", "radius");
    /* Accepts only words of the list, no numbers. */
    refused("kind: grey-box", "grey-box");
    refused("kind: 77", "77");
    refused("canary: 3", "3");
    refused("sabotage: -1", "-1");
    refused("signal: 77", "77");
    refused("attack: 77", "77");
    (void)training("train: {batch: 2, steps: 9}");
    refused("kind: input-canary", "clip and sigma");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws),
        cmocka_unit_test(sabotages),
        cmocka_unit_test(clip_after_mean),
        cmocka_unit_test(trials),
        cmocka_unit_test(several_classes),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, game_clean);
}
