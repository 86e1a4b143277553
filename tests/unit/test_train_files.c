/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models, checkpoints and plans as files; evaluation; hooks of games that change a step. */
#include "check.h"

#include "base/data.h"
#include "base/rng.h"
#include "dpaudit/lab/train.h"

enum { ROWS = 200, FEATURES = 8 };

static const char *temp(const char *name) {
    static char path[32][256];
    static int next;
    char *out = path[next++ % 32];
    (void)snprintf(out, sizeof path[0], "/tmp/dpa_train_files_%d_%s", (int)getpid(), name);
    return out;
}

static dpa_dataset *toy(void) {
    float x[ROWS * FEATURES];
    int32_t label[ROWS];
    dpa_rng rng;
    dpa__rng_init(&rng, 4, DPA_PURPOSE_TEST, 1);
    for (size_t r = 0; r < ROWS; ++r) {
        label[r] = (int32_t)(r % 2);
        for (size_t i = 0; i < FEATURES; ++i)
            x[r * FEATURES + i] = (float)(dpa__rng_normal(&rng) + (i == 0 ? 2.0 * label[r] : 0.0));
    }
    dpa_dataset *data;
    assert_ok(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, FEATURES}, 2, &data, NULL));
    return data;
}

static dpa_model *toy_model(void) {
    dpa_model *model;
    assert_ok(
        dpa_model_new("mlp:10", (dpa_shape){1, 1, FEATURES}, 2, DPA_LOSS_BINARY, &model, NULL));
    dpa_model_init(model, 2);
    return model;
}

static dpa_train_opts toy_opts(void) {
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.sampling = DPA_SAMPLE_POISSON;
    opts.batch = 20;
    opts.clip = 1.0;
    opts.sigma = 0.8;
    opts.momentum = 0.5;
    opts.steps = 30;
    opts.averaging = DPA_AVERAGE_EMA;
    opts.average_decay = 0.9;
    return opts;
}

static void steps(dpa_trainer *trainer, int count) {
    for (int i = 0; i < count; ++i) assert_ok(dpa_trainer_step(trainer, NULL, NULL));
}

static void test_model_file(void **state) {
    (void)state;
    dpa_model *model = toy_model();
    const char *path = temp("model.npz");
    dpa_array weights = {0}, header = {0};
    assert_ok(dpa_model_save(model, path, NULL));
    assert_ok(dpa__array_read(path, "weights", &weights, NULL));
    assert_int_equal(weights.count, dpa_model_size(model));
    assert_memory_equal(weights.data, dpa_model_weights(model), weights.count * sizeof(float));
    assert_ok(dpa__array_read(path, "header", &header, NULL));
    assert_non_null(memmem(header.data, header.count, "mlp:10", 6));
    dpa__array_free(&weights);
    dpa__array_free(&header);
    dpa_model_free(model);
}

/* Stops after 11 steps and goes on as another process would: the same bytes as without a stop. */
static void test_resume(void **state) {
    (void)state;
    dpa_dataset *data = toy();
    dpa_model *straight = toy_model(), *broken = toy_model(), *average = toy_model();
    dpa_model *average_twin = toy_model();
    dpa_train_opts opts = toy_opts();
    dpa_trainer *a, *b, *c;
    assert_ok(dpa_trainer_new(straight, data, NULL, 0, &opts, &a, NULL));
    assert_ok(dpa_trainer_run(a, NULL, NULL));
    assert_ok(dpa_trainer_new(broken, data, NULL, 0, &opts, &b, NULL));
    steps(b, 11);
    const char *path = temp("checkpoint.npz");
    assert_ok(dpa_trainer_save(b, path, NULL));
    dpa_trainer_free(b);
    dpa_model_init(broken, 99);
    assert_ok(dpa_trainer_new(broken, data, NULL, 0, &opts, &c, NULL));
    assert_ok(dpa_trainer_resume(c, path, NULL));
    assert_int_equal(dpa_trainer_steps_done(c), 11);
    assert_ok(dpa_trainer_run(c, NULL, NULL));
    const size_t bytes = dpa_model_size(straight) * sizeof(float);
    assert_memory_equal(dpa_model_weights(straight), dpa_model_weights(broken), bytes);
    assert_ok(dpa_trainer_average(a, average, NULL));
    assert_ok(dpa_trainer_average(c, average_twin, NULL));
    assert_memory_equal(dpa_model_weights(average), dpa_model_weights(average_twin), bytes);
    dpa_trainer_free(c);
    /* Other options are refused; the error names the first that differs. */
    opts.sigma = 0.9;
    dpa_error err;
    assert_ok(dpa_trainer_new(broken, data, NULL, 0, &opts, &c, NULL));
    assert_int_equal(dpa_trainer_resume(c, path, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "sigma"));
    assert_int_equal(dpa_trainer_steps_done(c), 0);
    dpa_trainer_free(c);
    dpa_trainer_free(a);
    dpa_model_free(straight), dpa_model_free(broken), dpa_model_free(average);
    dpa_model_free(average_twin);
    dpa_dataset_free(data);
}

/* Without an average the velocity is resumed all the same. */
static void test_resume_without_average(void **state) {
    (void)state;
    dpa_dataset *data = toy();
    dpa_model *straight = toy_model(), *broken = toy_model();
    dpa_train_opts opts = toy_opts();
    dpa_trainer *a, *b;
    opts.averaging = DPA_AVERAGE_NONE;
    opts.momentum = 0.9;
    const char *path = temp("checkpoint.npz");
    assert_ok(dpa_trainer_new(straight, data, NULL, 0, &opts, &a, NULL));
    steps(a, 4);
    assert_ok(dpa_trainer_save(a, path, NULL));
    assert_ok(dpa_trainer_new(broken, data, NULL, 0, &opts, &b, NULL));
    assert_ok(dpa_trainer_resume(b, path, NULL));
    steps(a, 3);
    steps(b, 3);
    assert_memory_equal(dpa_model_weights(straight), dpa_model_weights(broken),
                        dpa_model_size(straight) * sizeof(float));
    dpa_trainer_free(a), dpa_trainer_free(b);
    dpa_model_free(straight), dpa_model_free(broken);
    dpa_dataset_free(data);
}

/* A checkpoint whose header does not give the step. */
static void test_no_step(void **state) {
    (void)state;
    static const char *const names[] = {"header", "weights", "velocity", "mean"};
    dpa_dataset *data = toy();
    dpa_model *model = toy_model();
    const dpa_train_opts opts = toy_opts();
    const char *path = temp("checkpoint.npz");
    dpa_array arrays[4] = {0};
    dpa_trainer *trainer;
    dpa_error err;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    steps(trainer, 3);
    assert_ok(dpa_trainer_save(trainer, path, NULL));
    for (size_t i = 0; i < 4; ++i) assert_ok(dpa__array_read(path, names[i], &arrays[i], NULL));
    char *step = memmem(arrays[0].data, arrays[0].count, "step", 4);
    assert_non_null(step);
    step[2] = 'o';
    assert_ok(dpa__npz_write(path, names, arrays, 4, NULL));
    assert_int_equal(dpa_trainer_resume(trainer, path, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "how many steps"));
    assert_int_equal(dpa_trainer_steps_done(trainer), 3);
    for (size_t i = 0; i < 4; ++i) dpa__array_free(&arrays[i]);
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
}

/* A game that puts an extra example into every step and adds a gradient of its own to the sum. */
typedef struct game {
    size_t calls, batch;
    float added, seen;
} game;

static dpa_status put_in(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                         dpa_error *err) {
    (void)step, (void)err;
    assert_int_equal(capacity, ROWS + 1);
    rows[0] = ROWS; /* the extra row, and nobody else */
    *count = 1;
    ++((game *)user)->calls;
    return DPA_OK;
}

static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)step, (void)err;
    memset(sum, 0, size * sizeof *sum);
    sum[0] = ((game *)user)->added;
    return DPA_OK;
}

static dpa_status on_release(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)step, (void)size, (void)err;
    ((game *)user)->seen = sum[0];
    return DPA_OK;
}

static dpa_status wrong_row(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                            dpa_error *err) {
    (void)user, (void)step, (void)capacity, (void)err;
    rows[0] = ROWS + 5;
    *count = 1;
    return DPA_OK;
}

static void test_hooks(void **state) {
    (void)state;
    dpa_dataset *data = toy(), *extra;
    const float x[FEATURES] = {0};
    const int32_t label = 0;
    assert_ok(dpa_dataset_new(x, &label, 1, (dpa_shape){1, 1, FEATURES}, 2, &extra, NULL));
    float canary[FEATURES] = {100};
    assert_ok(dpa_dataset_set_row(extra, 0, canary, 1, NULL));
    canary[0] = (float)NAN;
    assert_int_equal(dpa_dataset_set_row(extra, 0, canary, 1, NULL), DPA_BAD_ARGUMENT);
    dpa_model *model = toy_model();
    dpa_train_opts opts = toy_opts();
    game g = {.added = 7.0F};
    opts.sigma = 0.0;
    opts.momentum = 0.0;
    opts.extra = extra;
    opts.hooks = (dpa_train_hooks){&g, put_in, on_sum, on_release};
    dpa_trainer *trainer;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    const float before = dpa_model_weights(model)[0], other = dpa_model_weights(model)[1];
    dpa_step_info info;
    assert_ok(dpa_trainer_step(trainer, &info, NULL));
    assert_int_equal(info.batch, 1);
    assert_int_equal(g.calls, 1);
    assert_true(g.seen == 7.0F);
    assert_absolute((double)dpa_model_weights(model)[0], (double)before - 0.1 * 7.0 / 20.0, 1e-6);
    assert_true(dpa_model_weights(model)[1] == other);
    dpa_trainer_free(trainer);
    opts.hooks.sample = wrong_row;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    assert_int_equal(dpa_trainer_step(trainer, NULL, NULL), DPA_BAD_ARGUMENT);
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
    dpa_dataset_free(extra);
}

static dpa_status unit_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)user, (void)step, (void)err;
    memset(sum, 0, size * sizeof *sum);
    sum[0] = 20.0F; /* the batch: a gradient of 1 */
    return DPA_OK;
}

static double rate_want(dpa_schedule schedule, int step) {
    double rate = 0.5;
    if (schedule == DPA_RATE_LINEAR) rate *= 1.0 - step / 12.0;
    if (schedule == DPA_RATE_COSINE) rate *= 0.5 * (1.0 + cos(3.14159265358979 * step / 12.0));
    if (schedule == DPA_RATE_STEPS) rate *= pow(0.25, step / 5);
    return step < 3 ? rate * (step + 1) / 3.0 : rate;
}

/* With a gradient that is always 1, rate, momentum, decay and averages can be seen directly. */
static void test_updates(void **state) {
    (void)state;
    dpa_dataset *data = toy();
    for (int schedule = 0; schedule < 4; ++schedule)
        for (int averaging = 1; averaging < 3; ++averaging) {
            dpa_model *model = toy_model(), *mean_model = toy_model();
            dpa_train_opts opts = toy_opts();
            opts.sigma = 0.0;
            opts.steps = 12;
            opts.rate = 0.5;
            opts.decay = 0.01;
            opts.schedule = (dpa_schedule)schedule;
            opts.rate_every = 5;
            opts.rate_factor = 0.25;
            opts.warmup = 3;
            opts.averaging = (dpa_averaging)averaging;
            opts.average_from = 4;
            opts.hooks.sum = unit_sum;
            dpa_trainer *trainer;
            assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
            double theta = (double)dpa_model_weights(model)[0], velocity = 0.0, mean = theta;
            for (int step = 0; step < 12; ++step) {
                velocity = 0.5 * velocity + 1.0 + 0.01 * theta;
                theta -= rate_want(opts.schedule, step) * velocity;
                const double weight = averaging == 1 ? 0.1 : step < 4 ? 1.0 : 1.0 / (step - 3);
                mean += weight * (theta - mean);
                steps(trainer, 1);
                assert_absolute((double)dpa_model_weights(model)[0], theta, 1e-5);
                assert_ok(dpa_trainer_average(trainer, mean_model, NULL));
                assert_absolute((double)dpa_model_weights(mean_model)[0], mean, 1e-5);
            }
            dpa_trainer_free(trainer);
            dpa_model_free(model);
            dpa_model_free(mean_model);
        }
    dpa_dataset_free(data);
}

/* Accuracy, losses and AUROC against counting all pairs. */
static void test_evaluate(void **state) {
    (void)state;
    dpa_dataset *data = toy();
    dpa_model *model = toy_model();
    float logit[ROWS];
    double loss[ROWS], pairs = 0.0, wins = 0.0, right = 0.0, sum = 0.0;
    dpa_utility utility;
    assert_ok(dpa_model_evaluate(model, data, NULL, ROWS, logit, loss, &utility, NULL));
    for (size_t i = 0; i < ROWS; ++i) {
        const int one = dpa_dataset_label(data, i) == 1;
        right += (logit[i] > 0.0F) == one;
        sum += loss[i];
        assert_relative(loss[i], log1p(exp(one ? -(double)logit[i] : (double)logit[i])), 1e-6);
        for (size_t j = 0; one && j < ROWS; ++j) {
            if (dpa_dataset_label(data, j) == 1) continue;
            pairs += 1.0;
            wins += logit[i] > logit[j] ? 1.0 : logit[i] == logit[j] ? 0.5 : 0.0;
        }
    }
    assert_relative(utility.auroc, wins / pairs, 1e-12);
    assert_relative(utility.accuracy, right / ROWS, 1e-12);
    assert_relative(utility.loss, sum / ROWS, 1e-12);
    const size_t some[] = {5, 3};
    double two[2];
    assert_ok(dpa_model_evaluate(model, data, some, 2, NULL, two, NULL, NULL));
    assert_true(two[0] == loss[5] && two[1] == loss[3]);
    const size_t far[] = {ROWS};
    assert_int_equal(dpa_model_evaluate(model, data, far, 1, NULL, two, NULL, NULL),
                     DPA_BAD_ARGUMENT);
    dpa_model_free(model);
    dpa_dataset_free(data);
}

static const char *put_text(const char *name, const char *text) {
    const char *path = temp(name);
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    return path;
}

static void test_plan(void **state) {
    (void)state;
    (void)put_text("plan.csv", "a,b,c\n1,u,0\n2,v,1\n3,u,1\n4,v,0\n");
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "data:\n  format: table\n  path: %s\n  members: 0..3\n  heldout: 3..4\n"
                   "  ignore: [b]\n  standardise: true\n"
                   "model: mlp:4\nloss: binary\nseed: 5\n"
                   "train: {sampling: poisson, epochs: 4, batch: 2, rate: 0.5, schedule: cosine}\n"
                   "privacy: {clip: 2, epsilon: 1.5, microbatch: 1}\n",
                   strrchr(temp("plan.csv"), '/') + 1);
    dpa_train_plan *plan = NULL;
    assert_ok(dpa_train_plan_read(put_text("plan.yaml", text), &plan, NULL));
    assert_true(plan->data.path[0] == '/'); /* beside the plan */
    assert_string_equal(plan->layers, "mlp:4");
    assert_int_equal(plan->train.seed, 5);
    assert_int_equal(plan->init_seed, 5);
    assert_int_equal(plan->train.schedule, DPA_RATE_COSINE);
    assert_true(plan->train.clip == 2.0 && plan->epsilon == 1.5 && plan->delta == 1e-5);
    assert_int_equal(dpa_train_plan_steps(plan, 3), 6);
    assert_relative(dpa_train_plan_q(plan, 3), 2.0 / 3.0, 1e-15);
    dpa_train_data data;
    assert_ok(dpa_train_plan_load(plan, &data, NULL));
    assert_int_equal(data.member_count, 3);
    assert_int_equal(data.heldout_count, 1);
    assert_int_equal(dpa_dataset_features(data.data), 1);
    /* Standardised by the members 1, 2, 3: the held-out 4 becomes 2/√(2/3). */
    assert_relative((double)dpa_dataset_row(data.data, 3)[0], 2.0 / sqrt(2.0 / 3.0), 1e-6);
    dpa_train_data_free(&data);
    plan->train.q = 1e-300; /* 4e300 steps are more than a uint64_t holds */
    assert_true(dpa_train_plan_steps(plan, 3) == UINT64_C(1000000000000000000));
    size_t nothing = 0;
    const dpa_array nobody = {.dtype = DPA_I64, .ndim = 1, .data = &nothing};
    plan->members = temp("members.npy");
    assert_ok(dpa__array_write(plan->members, &nobody, NULL));
    dpa_error err;
    assert_int_equal(dpa_train_plan_load(plan, &data, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "no members"));
    dpa_train_plan_free(plan);
}

static void test_bad_plans(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", ""},
        {"model: mlp:4\ntrain: {steps: 1}\n", "data"},
        {"data: {path: x}\nmodel: m\ntrain: {stepz: 1}\n", "stepz"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: many}\n", "many"},
        {"data: {path: x, format: parquet}\nmodel: m\n", "parquet"},
        {"data: {path: x}\nmodel: m\n", "epochs or steps"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1, epochs: 1}\n", "epochs or steps"},
        {"data: {path: x}\nmodel: m\ntrain: {epochs: -1}\n", "epochs"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1, batch: 0}\n", "batch"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1, q: 0.1}\n", "batch"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1}\nprivacy: {epsilon: 1}\n", "clip"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1}\nprivacy: {epsilon: 1, sigma: 1, clip: 1}\n",
         "epsilon or sigma"},
        {"data: {path: x}\nmodel: m\ntrain: {steps: 1}\nprivacy: {delta: 0}\n", "delta"},
        {"data: {path: x, separator: ', '}\nmodel: m\ntrain: {steps: 1}\n", "separator"},
        {"data: [\n", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_train_plan *plan = NULL;
        dpa_error err = {0};
        assert_int_equal(dpa_train_plan_read(put_text("bad.yaml", bad[i].text), &plan, &err),
                         DPA_BAD_INPUT);
        assert_null(plan);
        if (err.text[0] == '\0' || strstr(err.text, bad[i].says) == NULL)
            fail_msg("plan %zu: \"%s\" is not in \"%s: %s\"", i, bad[i].says, err.place, err.text);
    }
}

static int clean(void **state) {
    (void)state;
    static const char *const names[] = {"model.npz", "checkpoint.npz", "plan.csv",
                                        "plan.yaml", "bad.yaml",       "members.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(temp(names[i]));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_file),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_without_average),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_evaluate),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_bad_plans),
        cmocka_unit_test(test_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
