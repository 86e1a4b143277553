/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise, clipping and sampling do what they promise. */
#include "check.h"

#include <malloc.h>
#include <pthread.h>

#include "base/rng.h"
#include "train/noise.h"
#include "train/trainer.h"

enum { FEATURES = 12, ROWS = 400, CLASSES = 3 };

/* Rows around the centre of their class, some far out so that they are clipped. */
static dpa_dataset *toy(dpa_shape shape) {
    const size_t features = shape.height * shape.width * shape.channels;
    float *x = malloc(ROWS * features * sizeof *x);
    int32_t label[ROWS];
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, 0);
    for (size_t r = 0; r < ROWS; ++r) {
        label[r] = (int32_t)(r % CLASSES);
        const double far = r % 10 == 0 ? 20.0 : 1.0;
        for (size_t i = 0; i < features; ++i)
            x[r * features + i] =
                (float)(far * dpa__rng_normal(&rng) + (i % CLASSES == r % CLASSES ? 1.5 : 0.0));
    }
    dpa_dataset *data;
    assert_ok(dpa_dataset_new(x, label, ROWS, shape, CLASSES, &data, NULL));
    free(x);
    return data;
}

static const dpa_shape flat = {1, 1, FEATURES};

static dpa_model *toy_model(const char *layers, dpa_shape shape) {
    dpa_model *model;
    assert_ok(dpa_model_new(layers, shape, CLASSES, DPA_LOSS_SOFTMAX, &model, NULL));
    dpa_model_init(model, 1);
    return model;
}

/* Each element equals the Box–Muller value of the named stream; moments of a million. */
static void test_noise(void **state) {
    (void)state;
    enum { COUNT = 1 << 20 };
    float *z = calloc(COUNT, sizeof *z);
    dpa__noise_add(77, DPA_PURPOSE_NOISE, 5, 0, 1.0F, z, COUNT);
    double worst = 0.0, sum = 0.0, squares = 0.0, fourth = 0.0;
    for (size_t block = 0; block < COUNT / 4; ++block) {
        dpa_rng rng;
        dpa__rng_init(&rng, 77, DPA_PURPOSE_NOISE, 5);
        rng.counter[0] = (uint32_t)block;
        for (size_t pair = 0; pair < 2; ++pair) {
            const double u = ((double)dpa__rng_u32(&rng) + 0.5) * 0x1p-32;
            const double radius = sqrt(-2.0 * log(u));
            const double angle = 6.283185307179586 * (double)dpa__rng_u32(&rng) * 0x1p-32;
            const size_t at = block / 32 * 128 + 64 * pair + block % 32;
            worst = fmax(worst, fabs((double)z[at] - radius * cos(angle)));
            worst = fmax(worst, fabs((double)z[at + 32] - radius * sin(angle)));
        }
    }
    assert_true(worst < 1e-6);
    for (size_t i = 0; i < COUNT; ++i) {
        const double v = (double)z[i];
        sum += v;
        squares += v * v;
        fourth += v * v * v * v;
    }
    /* Four standard errors: 1, √2, √96 over √n. */
    assert_absolute(sum / COUNT, 0.0, 4.0 / 1024.0);
    assert_absolute(squares / COUNT, 1.0, 4.0 * 1.4143 / 1024.0);
    assert_absolute(fourth / COUNT, 3.0, 4.0 * 9.798 / 1024.0);
    /* A part of the stream equals that part of the whole, and lengths that are not a multiple of a
     * group work. */
    float part[300] = {0};
    dpa__noise_add(77, DPA_PURPOSE_NOISE, 5, 2 * DPA_NOISE_GROUP, 2.0F, part, 299);
    for (size_t i = 0; i < 299; ++i) assert_true(part[i] == 2.0F * z[2 * DPA_NOISE_GROUP + i]);
    assert_true(part[299] == 0.0F);
    free(z);
}

/* What the hooks saw in the last step. */
typedef struct watch {
    float sum[8192], release[8192];
    size_t rows[ROWS + 8], count;
    size_t drop, add; /* rows to take out and to put in; SIZE_MAX: none */
} watch;

static dpa_status watch_sample(void *user, uint64_t step, size_t *rows, size_t *count,
                               size_t capacity, dpa_error *err) {
    (void)step, (void)err;
    watch *w = user;
    size_t kept = 0;
    for (size_t i = 0; i < *count; ++i)
        if (rows[i] != w->drop) rows[kept++] = rows[i];
    if (w->add != SIZE_MAX && kept < capacity) rows[kept++] = w->add;
    *count = kept;
    w->count = kept;
    memcpy(w->rows, rows, kept * sizeof *rows);
    return DPA_OK;
}

static dpa_status watch_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)step, (void)err;
    memcpy(((watch *)user)->sum, sum, size * sizeof *sum);
    return DPA_OK;
}

static dpa_status watch_release(void *user, uint64_t step, float *sum, size_t size,
                                dpa_error *err) {
    (void)step, (void)err;
    memcpy(((watch *)user)->release, sum, size * sizeof *sum);
    return DPA_OK;
}

static dpa_train_opts dp_opts(watch *w) {
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.sampling = DPA_SAMPLE_POISSON;
    opts.batch = 40;
    opts.clip = 0.5;
    opts.sigma = 1.0;
    opts.seed = 9;
    opts.chunk = 16;
    if (w != NULL) {
        w->drop = w->add = SIZE_MAX;
        opts.hooks = (dpa_train_hooks){w, watch_sample, watch_sum, watch_release};
    }
    return opts;
}

static double norm_of_difference(const float *a, const float *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; ++i) {
        const double d = (double)a[i] - (double)b[i];
        sum += d * d;
    }
    return sqrt(sum);
}

/* The sum of a step equals the sum of gradients clipped one example at a time. */
static void check_sum(const char *layers, dpa_shape shape, double bound) {
    watch *w = calloc(1, sizeof *w);
    dpa_train_opts opts = dp_opts(w);
    opts.clip = bound;
    dpa_dataset *data = toy(shape);
    dpa_model *model = toy_model(layers, shape);
    const size_t size = dpa_model_size(model);
    float *one = malloc(size * sizeof *one);
    double *want = calloc(size, sizeof *want);
    float *start = malloc(size * sizeof *start);
    memcpy(start, dpa_model_weights(model), size * sizeof *start);
    dpa_trainer *trainer;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    dpa_step_info info;
    assert_ok(dpa_trainer_step(trainer, &info, NULL));
    assert_int_equal(info.batch, w->count);
    assert_between(info.norm_share, 0.05, 0.95); /* some are clipped, some are not */
    float *after = malloc(size * sizeof *after);
    memcpy(after, dpa_model_weights(model), size * sizeof *after);
    memcpy(dpa_model_weights(model), start, size * sizeof *start);
    for (size_t i = 0; i < w->count; ++i) {
        assert_ok(dpa_model_gradient(model, dpa_dataset_row(data, w->rows[i]),
                                     dpa_dataset_label(data, w->rows[i]), one, NULL, NULL));
        double norm = 0.0;
        for (size_t k = 0; k < size; ++k) norm += (double)one[k] * (double)one[k];
        const double clip = opts.clip * (1.0 - 0x1p-18); /* the margin for rounding, train/clip.c */
        const double factor = fmin(1.0, clip / sqrt(norm));
        for (size_t k = 0; k < size; ++k) want[k] += factor * (double)one[k];
    }
    for (size_t k = 0; k < size; ++k) {
        assert_absolute((double)w->sum[k], want[k], 2e-5);
        assert_absolute((double)after[k], (double)start[k] - 0.1 * (double)w->release[k] / 40.0,
                        1e-6);
    }
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
    free(one), free(want), free(start), free(after), free(w);
}

static void test_clipped_sum(void **state) {
    (void)state;
    check_sum("mlp:20", flat, 5.0);
    check_sum("conv:4,3,1,1 norm:2 tanh max:2", (dpa_shape){6, 6, 1}, 4.0);
}

/* Adding one example changes the sum by at most C, and by C if it is clipped, up to the rounding of
 * single precision. Microbatches: at most 2C. */
static void check_sensitivity(const char *layers, dpa_shape shape, size_t microbatch,
                              size_t augment) {
    watch *w = calloc(1, sizeof *w);
    dpa_train_opts opts = dp_opts(w);
    opts.microbatch = microbatch;
    opts.augment = augment;
    opts.shift = augment > 1 ? 1 : 0;
    opts.q = 0.1;
    dpa_dataset *data = toy(shape);
    double largest = 0.0;
    for (size_t victim = 0; victim < 60; ++victim) {
        float without[8192];
        for (int in = 0; in < 2; ++in) {
            dpa_model *model = toy_model(layers, shape);
            dpa_trainer *trainer;
            assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
            w->drop = victim;
            w->add = in ? victim : SIZE_MAX;
            assert_ok(dpa_trainer_step(trainer, NULL, NULL));
            if (!in) memcpy(without, w->sum, dpa_model_size(model) * sizeof(float));
            if (in)
                largest = fmax(largest, norm_of_difference(w->sum, without, dpa_model_size(model)));
            dpa_trainer_free(trainer);
            dpa_model_free(model);
        }
    }
    const double most = microbatch > 1 ? 2.0 * opts.clip : opts.clip;
    assert_true(largest <= most);
    assert_true(largest > opts.clip * 0.999);
    dpa_dataset_free(data);
    free(w);
}

static void test_sensitivity(void **state) {
    (void)state;
    check_sensitivity("mlp:20", flat, 1, 1);
    check_sensitivity("conv:4,3,1,1 tanh", (dpa_shape){6, 6, 1}, 1, 1);
    check_sensitivity("conv:4,3,1,1 norm:2 tanh", (dpa_shape){6, 6, 1}, 1, 3);
    check_sensitivity("mlp:20", flat, 4, 1);
}

/* release − sum is N(0, σ²C²): mean and variance over 200 steps of a small model, and no
 * correlation from step to step. */
static void test_noise_of_steps(void **state) {
    (void)state;
    watch *w = calloc(1, sizeof *w);
    dpa_train_opts opts = dp_opts(w);
    opts.sigma = 1.7;
    dpa_dataset *data = toy(flat);
    dpa_model *model = toy_model("", flat);
    dpa_trainer *trainer;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    const size_t size = dpa_model_size(model);
    double mean = 0.0, squares = 0.0, lagged = 0.0, last[64] = {0};
    for (int step = 0; step < 200; ++step) {
        assert_ok(dpa_trainer_step(trainer, NULL, NULL));
        for (size_t k = 0; k < size; ++k) {
            const double z = ((double)w->release[k] - (double)w->sum[k]) / (1.7 * 0.5);
            mean += z;
            squares += z * z;
            lagged += z * last[k];
            last[k] = z;
        }
    }
    const double n = 200.0 * (double)size;
    assert_absolute(mean / n, 0.0, 4.0 / sqrt(n));
    assert_absolute(squares / n, 1.0, 4.0 * sqrt(2.0 / n));
    assert_absolute(lagged / n, 0.0, 4.0 / sqrt(n));
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
    free(w);
}

/* Poisson: each row as often as q says, binomial batch sizes, independent neighbours. */
static void test_poisson(void **state) {
    (void)state;
    enum { STEPS = 20000 };
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.sampling = DPA_SAMPLE_POISSON;
    opts.q = 0.05;
    dpa__sampler sampler;
    assert_ok(dpa__sampler_init(&sampler, &opts, NULL, 0, 100, NULL));
    double in[100] = {0}, both[100] = {0}, total = 0.0, squares = 0.0;
    for (uint64_t step = 0; step < STEPS; ++step) {
        size_t rows[100];
        const size_t count = dpa__sampler_draw(&sampler, step, rows);
        total += (double)count;
        squares += (double)(count * count);
        for (size_t i = 0; i < count; ++i) {
            in[rows[i]] += 1.0;
            if (i > 0) assert_true(rows[i] > rows[i - 1]);
            if (i > 0 && rows[i] == rows[i - 1] + 1) both[rows[i]] += 1.0;
        }
    }
    double pairs = 0.0;
    for (size_t r = 0; r < 100; ++r) {
        assert_absolute(in[r] / STEPS, 0.05, 4.5 * sqrt(0.05 * 0.95 / STEPS));
        pairs += both[r];
    }
    assert_absolute(pairs / (99.0 * STEPS), 0.0025, 5.0 * sqrt(0.0025 / (99.0 * STEPS)));
    const double mean = total / STEPS, variance = squares / STEPS - mean * mean;
    assert_absolute(mean, 5.0, 4.0 * sqrt(4.75 / STEPS));
    assert_absolute(variance, 4.75, 4.0 * 4.75 * sqrt(2.0 / STEPS) * 1.05);
    dpa__sampler_free(&sampler);
}

/* q = 1 takes everybody; shuffle takes everybody once per epoch, in a different order. */
static void test_everybody(void **state) {
    (void)state;
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.sampling = DPA_SAMPLE_POISSON;
    opts.q = 1.0;
    dpa__sampler sampler;
    size_t rows[100];
    assert_ok(dpa__sampler_init(&sampler, &opts, NULL, 0, 100, NULL));
    assert_int_equal(dpa__sampler_draw(&sampler, 3, rows), 100);
    assert_int_equal(dpa__sampler_epoch_steps(&sampler), 1);
    dpa__sampler_free(&sampler);
    opts.sampling = DPA_SAMPLE_SHUFFLE;
    opts.batch = 25;
    const size_t members[] = {99, 3, 7};
    assert_int_equal(dpa__sampler_init(&sampler, &opts, members, 3, 100, NULL), DPA_BAD_ARGUMENT);
    dpa__sampler_free(&sampler);
    assert_ok(dpa__sampler_init(&sampler, &opts, NULL, 0, 100, NULL));
    assert_int_equal(dpa__sampler_epoch_steps(&sampler), 4);
    int moved = 0;
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        int seen[100] = {0};
        for (uint64_t b = 0; b < 4; ++b) {
            assert_int_equal(dpa__sampler_draw(&sampler, 4 * epoch + b, rows), 25);
            for (size_t i = 0; i < 25; ++i) ++seen[rows[i]];
            moved += rows[0] != 0;
        }
        for (size_t r = 0; r < 100; ++r) assert_int_equal(seen[r], 1);
    }
    assert_true(moved > 0);
    dpa__sampler_free(&sampler);
}

/* Poisson microbatches: blocks are in or out as a whole and form the groups. */
static void test_microbatches(void **state) {
    (void)state;
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.sampling = DPA_SAMPLE_POISSON;
    opts.q = 0.3;
    opts.microbatch = 4;
    const size_t members[] = {0, 1, 2, 3, 5, 6, 11, 13, 14, 15};
    dpa__sampler sampler;
    assert_ok(dpa__sampler_init(&sampler, &opts, members, 10, 16, NULL));
    assert_int_equal(sampler.units, 4); /* {0..3} {5,6} {11} {13,14,15} */
    for (uint64_t step = 0; step < 200; ++step) {
        size_t rows[10], start[11];
        const size_t count = dpa__sampler_draw(&sampler, step, rows);
        const size_t groups = dpa__sampler_groups(&sampler, rows, count, start);
        for (size_t g = 0; g < groups; ++g) {
            const size_t sizes[] = {4, 2, 1, 3};
            assert_int_equal(start[g + 1] - start[g], sizes[rows[start[g]] / 4]);
        }
    }
    dpa__sampler_free(&sampler);
}

typedef struct job {
    const dpa_dataset *data;
    uint64_t seed;
    float weight[8192];
} job;

static void *train_job(void *user) {
    job *j = user;
    dpa_train_opts opts = dp_opts(NULL);
    opts.seed = j->seed;
    opts.steps = 60;
    opts.momentum = 0.9;
    dpa_model *model = toy_model("mlp:30", flat);
    dpa_trainer *trainer;
    if (dpa_trainer_new(model, j->data, NULL, 0, &opts, &trainer, NULL) == DPA_OK) {
        if (dpa_trainer_run(trainer, NULL, NULL) == DPA_OK)
            memcpy(j->weight, dpa_model_weights(model), dpa_model_size(model) * sizeof(float));
        dpa_trainer_free(trainer);
    }
    dpa_model_free(model);
    return NULL;
}

/* The same seed gives the same bytes, alone and beside another model on a second thread. */
static void test_threads(void **state) {
    (void)state;
    dpa_dataset *data = toy(flat);
    job *jobs = calloc(4, sizeof *jobs);
    for (size_t i = 0; i < 4; ++i) jobs[i] = (job){.data = data, .seed = 1 + i % 2};
    (void)train_job(&jobs[0]);
    (void)train_job(&jobs[1]);
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&thread[i], NULL, train_job, &jobs[2 + i]), 0);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_true(jobs[0].weight[0] != 0.0F);
    assert_memory_equal(jobs[0].weight, jobs[2].weight, sizeof jobs[0].weight);
    assert_memory_equal(jobs[1].weight, jobs[3].weight, sizeof jobs[1].weight);
    assert_memory_not_equal(jobs[0].weight, jobs[1].weight, sizeof jobs[0].weight);
    free(jobs);
    dpa_dataset_free(data);
}

static size_t bytes_in_use(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Memory of a trainer: batch × weights would be 400 × 535,818 floats, 857 MB. */
static void test_memory(void **state) {
    (void)state;
    dpa_dataset *data = toy((dpa_shape){1, 1, 784});
    dpa_model *model = toy_model("mlp:512,256", (dpa_shape){1, 1, 784});
    size_t bytes[2];
    for (int i = 0; i < 2; ++i) {
        dpa_train_opts opts = dp_opts(NULL);
        opts.chunk = 0;
        opts.batch = i == 0 ? 4 : ROWS;
        dpa_trainer *trainer;
        const size_t before = bytes_in_use();
        assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
        assert_ok(dpa_trainer_step(trainer, NULL, NULL));
        bytes[i] = bytes_in_use() - before;
        dpa_trainer_free(trainer);
    }
    assert_true(bytes[1] <= bytes[0] + 100000);
    assert_true(bytes[1] < 10000000);
    dpa_model_free(model);
    dpa_dataset_free(data);
}

/* Plain SGD learns with the options that change the path; averages stay near the weights. */
static void test_learns(void **state) {
    (void)state;
    dpa_dataset *data = toy(flat);
    for (int variant = 0; variant < 4; ++variant) {
        dpa_train_opts opts;
        dpa_train_opts_init(&opts);
        opts.batch = 50;
        opts.steps = 400;
        opts.rate = 0.02;
        opts.momentum = variant > 0 ? 0.5 : 0.0;
        opts.schedule = (dpa_schedule)variant;
        opts.rate_every = 100;
        opts.warmup = variant == 2 ? 20 : 0;
        opts.averaging = (dpa_averaging)(variant % 3);
        opts.average_decay = 0.95;
        opts.average_from = 300;
        dpa_model *model = toy_model("mlp:30", flat);
        dpa_trainer *trainer;
        assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
        assert_ok(dpa_trainer_run(trainer, NULL, NULL));
        dpa_utility utility;
        assert_ok(dpa_model_evaluate(model, data, NULL, ROWS, NULL, NULL, &utility, NULL));
        assert_true(utility.accuracy > 0.9);
        assert_true(isnan(utility.auroc));
        if (opts.averaging == DPA_AVERAGE_NONE)
            assert_int_equal(dpa_trainer_average(trainer, model, NULL), DPA_BAD_ARGUMENT);
        else
            assert_ok(dpa_trainer_average(trainer, model, NULL));
        assert_ok(dpa_model_evaluate(model, data, NULL, ROWS, NULL, NULL, &utility, NULL));
        assert_true(utility.accuracy > 0.9);
        dpa_trainer_free(trainer);
        dpa_model_free(model);
    }
    dpa_dataset_free(data);
}

static void refuse(dpa_train_opts opts, dpa_status want) {
    dpa_dataset *data = toy(flat);
    dpa_model *model = toy_model("", flat);
    dpa_trainer *trainer = NULL;
    dpa_error err;
    assert_int_equal(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, &err), want);
    assert_null(trainer);
    assert_true(err.text[0] != '\0');
    dpa_model_free(model);
    dpa_dataset_free(data);
}

#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        dpa_train_opts refused = dp_opts(NULL);                                                    \
        refused.field = (value);                                                                   \
        refuse(refused, DPA_BAD_ARGUMENT);                                                         \
    } while (0)

static void test_refused(void **state) {
    (void)state;
    REFUSE(q, 1.5);
    REFUSE(q, -0.1);
    REFUSE(q, (double)NAN);
    REFUSE(batch, 0);
    REFUSE(batch, ROWS + 1);
    REFUSE(clip, 0.0);
    REFUSE(clip, -1.0);
    REFUSE(clip, (double)NAN);
    REFUSE(clip, (double)INFINITY); /* with noise */
    REFUSE(sigma, -1.0);
    REFUSE(sigma, (double)INFINITY);
    REFUSE(microbatch, 0);
    REFUSE(microbatch, 7); /* does not divide the batch */
    REFUSE(augment, 0);
    REFUSE(augment, (1U << 20) + 1);
    REFUSE(rate, (double)NAN);
    REFUSE(momentum, 1.0);
    REFUSE(decay, -1.0);
    REFUSE(chunk, 1U << 21);
    REFUSE(shift, 1001);
    REFUSE(average_decay, 1.0);
    REFUSE(schedule, DPA_RATE_STEPS);
}

static void test_bad_data(void **state) {
    (void)state;
    float x[4] = {1.0F, 2.0F, (float)NAN, 4.0F};
    const int32_t label[2] = {0, 1}, wrong[2] = {0, 2};
    dpa_dataset *data = NULL;
    dpa_error err;
    const dpa_shape shape = {1, 1, 2};
    assert_int_equal(dpa_dataset_new(x, label, 2, shape, 2, &data, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "row 1, feature 0"));
    x[2] = 3.0F;
    assert_int_equal(dpa_dataset_new(x, wrong, 2, shape, 2, &data, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "label 2"));
    assert_null(data);
    assert_ok(dpa_dataset_new(x, label, 2, shape, 2, &data, NULL));
    dpa_model *model = toy_model("", flat);
    dpa_train_opts opts = dp_opts(NULL);
    dpa_trainer *trainer = NULL;
    assert_int_equal(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "1 × 1 × 12"));
    dpa_model_free(model);
    dpa_dataset_free(data);
    data = toy(flat);
    model = toy_model("", flat);
    const size_t twice[] = {3, 3}, far[] = {ROWS};
    assert_int_equal(dpa_trainer_new(model, data, twice, 2, &opts, &trainer, &err),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_trainer_new(model, data, far, 1, &opts, &trainer, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_trainer_new(model, data, far, 0, &opts, &trainer, &err), DPA_BAD_ARGUMENT);
    /* Divergence is an error, and the weights stay as they were before it. */
    dpa_model_weights(model)[0] = 3e38F;
    dpa_model_weights(model)[1] = 3e38F;
    opts.batch = ROWS;
    assert_ok(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL));
    assert_int_equal(dpa_trainer_step(trainer, NULL, &err), DPA_NUMERIC);
    assert_true(dpa_model_weights(model)[0] == 3e38F);
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    dpa_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise),        cmocka_unit_test(test_clipped_sum),
        cmocka_unit_test(test_sensitivity),  cmocka_unit_test(test_noise_of_steps),
        cmocka_unit_test(test_poisson),      cmocka_unit_test(test_everybody),
        cmocka_unit_test(test_microbatches), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_learns),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_bad_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
