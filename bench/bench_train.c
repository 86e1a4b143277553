/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DP-SGD step relative to the same step without privacy, to the bare matrix products of that step
 * (same shapes), and to a loop that writes out every example's gradient; and two models on two
 * threads relative to one. */
#include "base/clock.h"
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/kernels.h"
#include "train/model.h"
#include "train/noise.h"
#include "train/product.h"

enum { BATCH = 256, ROWS = 1024, ROUNDS = 15, STEPS = 4 };

typedef struct setting {
    const char *name, *layers;
    dpa_shape shape;
    size_t classes;
} setting;

static const setting settings[] = {
    {"MLP 784-512-256-10", "mlp:512,256", {1, 1, 784}, 10},
    {"MLP 600-128-100", "mlp:128", {1, 1, 600}, 100},
    {"CNN 28x28 conv16/8 conv32/4 dense32",
     "conv:16,8,2,3 tanh max:2,1 conv:32,4,2 tanh max:2,1 dense:32 tanh",
     {28, 28, 1},
     10},
    {"CNN 32x32x3 conv32/3 conv64/3, norm",
     "conv:32,3,2,1 norm:8 relu conv:64,3,2,1 norm:8 relu avg:2 dense:64 relu",
     {32, 32, 3},
     10},
};

/* A failed call leaves the benchmark without a number: say so and stop. */
static void must(dpa_status status, const char *what) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "bench_train: %s: %s\n", what, dpa_status_text(status));
    exit(4);
}

static dpa_dataset *make_data(const setting *s) {
    const size_t features = s->shape.height * s->shape.width * s->shape.channels;
    float *x = calloc(ROWS * features, sizeof *x);
    int32_t *label = malloc(ROWS * sizeof *label);
    if (x == NULL || label == NULL) must(DPA_NO_MEMORY, "data");
    dpa__noise_add(1, DPA_PURPOSE_TEST, 0, 0, 1.0F, x, ROWS * features);
    for (size_t r = 0; r < ROWS; ++r) label[r] = (int32_t)(r % s->classes);
    dpa_dataset *data;
    must(dpa_dataset_new(x, label, ROWS, s->shape, s->classes, &data, NULL), "data");
    free(x);
    free(label);
    return data;
}

static dpa_model *make_model(const setting *s) {
    dpa_model *model;
    must(dpa_model_new(s->layers, s->shape, s->classes, DPA_LOSS_SOFTMAX, &model, NULL), s->layers);
    dpa_model_init(model, 1);
    return model;
}

static dpa_trainer *make_trainer(dpa_model *model, const dpa_dataset *data, int private) {
    dpa_train_opts opts;
    dpa_train_opts_init(&opts);
    opts.batch = BATCH;
    opts.rate = 1e-3;
    opts.momentum = 0.9;
    opts.clip = private ? 1.0 : (double)INFINITY;
    opts.sigma = private ? 1.0 : 0.0;
    dpa_trainer *trainer;
    must(dpa_trainer_new(model, data, NULL, 0, &opts, &trainer, NULL), "trainer");
    return trainer;
}

static void steps(dpa_trainer *trainer, int count) {
    for (int i = 0; i < count; ++i) must(dpa_trainer_step(trainer, NULL, NULL), "step");
}

static double time_steps(const setting *s, const dpa_dataset *data, int private) {
    dpa_model *model = make_model(s);
    dpa_trainer *trainer = make_trainer(model, data, private);
    steps(trainer, 2);
    double best;
    BENCH_BEST(ROUNDS, best, steps(trainer, STEPS));
    dpa_trainer_free(trainer);
    dpa_model_free(model);
    return best / STEPS;
}

/* The products of one layer: forward, weights, and, above the first layer, deltas. */
static void products(const dpa__layer *l, int lowest, const float *a, const float *g, float *w,
                     float *out) {
    const int is_conv = l->type == &dpa__layer_conv;
    const size_t width = l->out.channels, depth = l->weights / l->out.channels - 1;
    const size_t rows = BATCH * (is_conv ? l->out.height * l->out.width : 1);
    dpa__product(rows, width, depth, dpa__rows_of(a, depth), dpa__columns_of(w, depth), 0, out);
    dpa__product(width, depth, rows, dpa__columns_of(g, width), dpa__rows_of(a, depth), 0, w);
    if (!lowest)
        dpa__product(rows, depth, width, dpa__rows_of(g, width), dpa__rows_of(w, depth), 0, out);
}

static double time_products(const setting *s) {
    dpa_model *model = make_model(s);
    size_t largest = 0;
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        const size_t depth = layer->weights > 0 ? layer->weights / layer->out.channels : 0;
        const size_t rows = BATCH * layer->out.height * layer->out.width;
        const size_t wide = depth > layer->out.channels ? depth : layer->out.channels;
        if (rows * wide > largest) largest = rows * wide;
        if (layer->weights > largest) largest = layer->weights;
    }
    float *a = calloc(largest, sizeof *a), *g = calloc(largest, sizeof *g);
    float *w = calloc(largest, sizeof *w), *out = calloc(largest, sizeof *out);
    if (a == NULL || g == NULL || w == NULL || out == NULL) must(DPA_NO_MEMORY, "products");
    double best;
    BENCH_BEST(ROUNDS, best, {
        for (size_t l = 0; l < model->layer_count; ++l) {
            const dpa__layer *layer = &model->layer[l];
            if (layer->type == &dpa__layer_dense || layer->type == &dpa__layer_conv)
                products(layer, l == 0, a, g, w, out);
        }
    });
    free(a);
    free(g);
    free(w);
    free(out);
    dpa_model_free(model);
    return best;
}

/* Computes the gradient of every example by itself, its norm, its clipped share of the sum, and
 * noise. */
static double time_naive(const setting *s, const dpa_dataset *data) {
    dpa_model *model = make_model(s);
    float *one = malloc(model->size * sizeof *one), *sum = calloc(model->size, sizeof *sum);
    if (one == NULL || sum == NULL) must(DPA_NO_MEMORY, "naive loop");
    double best;
    BENCH_BEST(1, best, {
        for (size_t r = 0; r < BATCH; ++r) {
            must(dpa_model_gradient(model, dpa_dataset_row(data, r), dpa_dataset_label(data, r),
                                    one, NULL, NULL),
                 "gradient");
            const float norm = sqrtf((float)dpa__sum_squares(one, model->size));
            const float factor = norm > 1.0F ? 1.0F / norm : 1.0F;
            dpa__add_weighted(one, 1, model->size, &factor, sum);
        }
        dpa_rng rng;
        dpa__rng_init(&rng, 1, DPA_PURPOSE_NOISE, 0);
        for (size_t i = 0; i < model->size; ++i) sum[i] += (float)dpa__rng_normal(&rng);
        const float rate = -1e-3F / BATCH;
        dpa__add_weighted(sum, 1, model->size, &rate, model->weight);
    });
    free(one);
    free(sum);
    dpa_model_free(model);
    return best;
}

typedef struct pair {
    dpa_trainer *trainer;
    double cpu; /* of this thread, while it takes its steps */
} pair;

static void *run_steps(void *user) {
    pair *p = user;
    const double start = bench_cpu();
    steps(p->trainer, 40);
    p->cpu = bench_cpu() - start;
    return NULL;
}

/* How much more work two models on two threads do than one on one thread: by wall time, which needs
 * two idle cores, and by the CPU time of the threads, which does not. Best of three. */
static void two_models(const setting *s, const dpa_dataset *data) {
    dpa_model *model[2];
    pair p[2];
    for (int i = 0; i < 2; ++i) {
        model[i] = make_model(s);
        p[i].trainer = make_trainer(model[i], data, 1);
    }
    double one = 1e300, two = 1e300, cpu_one = 1e300, cpu_two = 1e300;
    for (int round = 0; round < 3; ++round) {
        double start = dpa__clock();
        (void)run_steps(&p[0]);
        one = fmin(one, dpa__clock() - start);
        cpu_one = fmin(cpu_one, p[0].cpu);
        start = dpa__clock();
        pthread_t thread[2];
        for (int i = 0; i < 2; ++i)
            if (pthread_create(&thread[i], NULL, run_steps, &p[i]) != 0)
                must(DPA_INTERNAL, "thread");
        for (int i = 0; i < 2; ++i) (void)pthread_join(thread[i], NULL);
        two = fmin(two, dpa__clock() - start);
        cpu_two = fmin(cpu_two, fmax(p[0].cpu, p[1].cpu));
    }
    (void)printf("%-52s %16s %10.2f x one model (%.2f x by the clock)\n",
                 "  two models on two threads", "", 2.0 * cpu_one / cpu_two, 2.0 * one / two);
    for (int i = 0; i < 2; ++i) {
        dpa_trainer_free(p[i].trainer);
        dpa_model_free(model[i]);
    }
}

int main(void) {
    enum { NORMALS = 1 << 20 };
    float *z = calloc(NORMALS, sizeof *z);
    if (z == NULL) must(DPA_NO_MEMORY, "noise");
    double noise;
    BENCH_BEST(5, noise, dpa__noise_add(1, DPA_PURPOSE_NOISE, 0, 0, 1.0F, z, NORMALS));
    free(z);
    (void)printf("noise: %.2f ns a normal; batch %d; %s\n", 1e9 * noise / NORMALS, BATCH,
                 dpa_train_kernel());
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i) {
        const setting *s = &settings[i];
        dpa_dataset *data = make_data(s);
        const double bare = time_products(s), plain = time_steps(s, data, 0);
        const double private = time_steps(s, data, 1), naive = time_naive(s, data);
        (void)printf("%s\n", s->name);
        bench_row("  matrix products alone", bare, "products", 1.0);
        bench_row("  plain step", plain, "products", plain / bare);
        bench_row("  DP step", private, "products", private / bare);
        bench_row("  DP step", private, "plain step", private / plain);
        bench_row("  one example at a time", naive, "DP step", naive / private);
        two_models(s, data);
        dpa_dataset_free(data);
    }
    return 0;
}
