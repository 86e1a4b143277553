/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every layer compared with the slow network of tests/train/oracle.h: outputs, gradients with
 * respect to weights and input, norms of groups of rows. */
#include "check.h"

#include "train/kernels.h"
#include "train/oracle.h"

enum { ROWS = 6 };

typedef struct sample_case {
    const char *layers;
    dpa_shape input;
    dpa_loss loss;
} sample_case;

static const sample_case cases[] = {
    {"", {1, 1, 7}, DPA_LOSS_SOFTMAX},
    {"", {1, 1, 7}, DPA_LOSS_BINARY},
    {"dense:5 tanh", {1, 1, 7}, DPA_LOSS_SOFTMAX},
    {"mlp:40,9", {1, 1, 33}, DPA_LOSS_SOFTMAX},
    {"relu dense:6 tanh", {1, 1, 9}, DPA_LOSS_BINARY},
    {"conv:3,3", {6, 5, 2}, DPA_LOSS_SOFTMAX},
    {"conv:4,3,2,1 tanh", {7, 6, 3}, DPA_LOSS_SOFTMAX},
    {"conv:4,4,2,3 relu conv:5,2 tanh", {5, 8, 1}, DPA_LOSS_SOFTMAX},
    {"conv:4,3,1,1 tanh max:2", {6, 6, 2}, DPA_LOSS_SOFTMAX},
    {"conv:4,3,1,1 max:2,1 tanh", {5, 5, 2}, DPA_LOSS_SOFTMAX},
    {"conv:4,3 tanh avg:2,1 dense:6 tanh", {6, 6, 1}, DPA_LOSS_BINARY},
    {"conv:6,3,1,1 norm:3 tanh conv:4,3 norm:1 relu", {6, 6, 2}, DPA_LOSS_SOFTMAX},
    {"dense:7 dense:7 tanh dense:7 add:3", {1, 1, 7}, DPA_LOSS_SOFTMAX},
    {"dense:6 tanh dense:6 tanh add:2 relu", {1, 1, 6}, DPA_LOSS_BINARY}, /* above a tanh */
    {"conv:4,3,1,1 norm:2 tanh conv:4,3,1,1 add:3 dense:5 dense:5 add:1",
     {4, 4, 2},
     DPA_LOSS_SOFTMAX},
    {"conv:3,3,1,1 norm:1 tanh conv:6,3,2,1 add:3 norm:2 tanh conv:6,3,1,1 add:7",
     {6, 4, 3},
     DPA_LOSS_SOFTMAX},
    {"conv:32,3,2,1 tanh conv:32,3,2,1 tanh", {8, 8, 3}, DPA_LOSS_SOFTMAX}, /* Gram on top */
};

/* A model with all weights random, biases included, and its copy in double precision. */
typedef struct fixture {
    dpa_model *model;
    size_t features;
    double *weight, *x; /* x [ROWS × features] */
    int32_t label[ROWS];
    dpa__net *net;
} fixture;

static void set_up(fixture *f, const sample_case *c, size_t group) {
    assert_ok(dpa_model_new(c->layers, c->input, c->loss == DPA_LOSS_BINARY ? 2 : 4, c->loss,
                            &f->model, NULL));
    assert_ok(dpa__net_new(f->model, ROWS, group, DPA_NET_INPUT, &f->net, NULL));
    f->features = f->model->layer[0].in_size;
    f->weight = malloc(f->model->size * sizeof(double));
    f->x = malloc(ROWS * f->features * sizeof(double));
    dpa_rng rng;
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, f->model->size);
    dpa_model_init(f->model, 3);
    for (size_t i = 0; i < f->model->size; ++i) {
        f->model->weight[i] += (float)(0.2 * dpa__rng_normal(&rng));
        f->weight[i] = (double)f->model->weight[i];
    }
    for (size_t i = 0; i < ROWS * f->features; ++i) {
        f->net->value[0][i] = (float)dpa__rng_normal(&rng);
        f->x[i] = (double)f->net->value[0][i];
    }
    for (size_t r = 0; r < ROWS; ++r)
        f->label[r] = (int32_t)dpa__rng_below(&rng, f->model->classes);
    double loss[ROWS];
    const size_t top = f->model->layer_count;
    dpa__net_forward(f->net, ROWS);
    (void)dpa__loss(f->model, f->net->value[top], f->label, ROWS, loss, f->net->delta[top]);
    for (size_t r = 0; r < ROWS; ++r)
        assert_absolute(loss[r],
                        oracle_loss(f->model, f->weight, f->x + r * f->features, f->label[r], NULL),
                        2e-5);
    dpa__net_backward(f->net, ROWS);
}

static void tear_down(fixture *f) {
    dpa__net_free(f->net);
    dpa_model_free(f->model);
    free(f->weight);
    free(f->x);
}

static void test_outputs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture f;
        set_up(&f, &cases[i], 1);
        /* Values below an in-place layer are overwritten, so only the outputs are compared. */
        const float *y = f.net->value[f.model->layer_count];
        for (size_t r = 0; r < ROWS; ++r) {
            double want[8];
            (void)oracle_loss(f.model, f.weight, f.x + r * f.features, f.label[r], want);
            for (size_t k = 0; k < f.model->outputs; ++k)
                assert_absolute((double)y[r * f.model->outputs + k], want[k], 3e-5);
        }
        tear_down(&f);
    }
}

static void test_gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture f;
        set_up(&f, &cases[i], 1);
        float *sum = calloc(f.model->size, sizeof *sum);
        dpa__net_gradient(f.net, ROWS, sum);
        const size_t stride = 1 + f.model->size / 150;
        for (size_t w = 0; w < f.model->size; w += stride) {
            double want = 0.0;
            for (size_t r = 0; r < ROWS; ++r)
                want +=
                    oracle_slope(f.model, f.weight, f.x + r * f.features, f.label[r], f.weight, w);
            assert_absolute((double)sum[w], want, 5e-5 * (1.0 + fabs(want)));
        }
        for (size_t e = 0; e < ROWS * f.features; e += 5) {
            const size_t r = e / f.features;
            double *x = f.x + r * f.features;
            if (f.model->layer[0].type->in_place) break; /* its input was overwritten by design */
            const double want = oracle_slope(f.model, f.weight, x, f.label[r], x, e % f.features);
            assert_absolute((double)f.net->delta[0][e], want, 5e-5 * (1.0 + fabs(want)));
        }
        free(sum);
        tear_down(&f);
    }
}

/* Groups of one, two and three rows: the norm of the summed gradient, from gradients computed one
 * row at a time. */
static void check_norms(const sample_case *c, size_t group, int keeps) {
    fixture f;
    set_up(&f, c, group);
    for (size_t l = 0; !keeps && l < f.model->layer_count; ++l) f.net->kept[l] = NULL;
    size_t start[ROWS + 1];
    const size_t count = ROWS / group;
    for (size_t g = 0; g <= count; ++g) start[g] = g * group;
    double norm2[ROWS];
    dpa__net_norms(f.net, &(dpa__groups){count, start}, norm2);
    float *one = malloc(f.model->size * sizeof *one);
    double *sum = malloc(f.model->size * sizeof *sum);
    for (size_t g = 0; g < count; ++g) {
        memset(sum, 0, f.model->size * sizeof *sum);
        for (size_t r = start[g]; r < start[g + 1]; ++r) {
            float x[256];
            for (size_t e = 0; e < f.features; ++e) x[e] = (float)f.x[r * f.features + e];
            assert_ok(dpa_model_gradient(f.model, x, f.label[r], one, NULL, NULL));
            for (size_t w = 0; w < f.model->size; ++w) sum[w] += (double)one[w];
        }
        double want = 0.0;
        for (size_t w = 0; w < f.model->size; ++w) want += sum[w] * sum[w];
        assert_relative(norm2[g], want, 2e-5);
        assert_true(norm2[g] >= want * (1.0 - 3e-6));
    }
    free(one);
    free(sum);
    tear_down(&f);
}

static void test_norms(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        for (size_t group = 1; group <= 3; ++group) {
            check_norms(&cases[i], group, 0);
            check_norms(&cases[i], group, 1);
        }
}

static void test_kernels(void **state) {
    (void)state;
    for (double x = -12.0; x < 12.0; x += 0.0137) {
        float y = (float)x;
        const double want = tanh((double)y);
        dpa__tanh(&y, 1);
        assert_absolute((double)y, want, 3e-7);
    }
    float a[100], b[100];
    for (int i = 0; i < 100; ++i) {
        a[i] = (float)(i % 7) - 3.0F;
        b[i] = (float)(i % 5);
    }
    for (size_t n = 0; n < 100; ++n) {
        double want = 0.0, sum, absolute, want_absolute = 0.0;
        for (size_t i = 0; i < n; ++i) {
            want += (double)a[i] * (double)b[i];
            want_absolute += fabs((double)a[i] * (double)b[i]);
        }
        assert_absolute(dpa__dot(a, b, n), want, 0.0);
        dpa__dot_bounded(a, b, n, &sum, &absolute);
        assert_absolute(sum, want, 0.0);
        assert_absolute(absolute, want_absolute, 0.0);
    }
}

/* Sums of columns and of products, for widths around the lanes. */
static void test_column_sums(void **state) {
    (void)state;
    enum { MOST = 70 };
    static float a[ROWS * MOST], b[ROWS * MOST];
    for (size_t i = 0; i < sizeof a / sizeof a[0]; ++i) {
        a[i] = (float)(i % 13) - 6.0F;
        b[i] = (float)(i % 7) - 2.0F;
    }
    for (size_t width = 1; width <= MOST; ++width) {
        double sum[MOST], product[MOST];
        dpa__column_sums(a, b, ROWS, width, sum, product);
        for (size_t c = 0; c < width; ++c) {
            double want[2] = {0, 0};
            for (size_t r = 0; r < ROWS; ++r) {
                const double x = (double)a[r * width + c];
                want[0] += x;
                want[1] += x * (double)b[r * width + c];
            }
            assert_true(sum[c] == want[0] && product[c] == want[1]); /* whole numbers */
        }
    }
}

/* Before a relu, which halves the variance, a layer starts with twice of it. */
static void test_start_before_relu(void **state) {
    (void)state;
    static const char *const words[] = {"dense:30 tanh", "dense:30 relu"};
    double square[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        dpa_model *model = NULL;
        assert_ok(
            dpa_model_new(words[i], (dpa_shape){1, 1, 50}, 4, DPA_LOSS_SOFTMAX, &model, NULL));
        dpa_model_init(model, 3);
        for (size_t k = 0; k < 30 * 51; ++k)
            square[i] += pow((double)dpa_model_weights(model)[k], 2);
        dpa_model_free(model);
    }
    assert_relative(square[1], 2 * square[0], 1e-5);
}

static void test_words(void **state) {
    (void)state;
    static const char *const bad[] = {
        "dens:3", "dense", "dense:0", "dense:3,4", "conv:4", "conv:4,9", "conv:4,3,0",
        "conv:4,3,1,3", "max:0", "max:7", "norm:2", "relu:1", "mlp", "dense:x", "dense:3,", "add:1",
        "dense:3 add:0", "dense:3 add:2", "dense:3 tanh add:1", "dense:2 add:1",
        "conv:2,3,1,1 add:1", "wrn:16", "wrn:15,4", "wrn:16,0", "dense:-3", "conv:0,3", "mlp:5,0",
        "dense:99999999999",
        /* 2^29 · 2^29 · 64 overflows to 0 in 64 bits */
        "conv:64,1 conv:1,536870912,1,268435456", "conv:999999999,32768,1,32767"};
    const dpa_shape shape = {6, 6, 3};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_model *model = NULL;
        dpa_error err;
        assert_int_equal(dpa_model_new(bad[i], shape, 4, DPA_LOSS_SOFTMAX, &model, &err),
                         DPA_BAD_ARGUMENT);
        assert_null(model);
        assert_true(err.text[0] != '\0');
    }
    dpa_model *model = NULL;
    assert_int_equal(dpa_model_new("", shape, 3, DPA_LOSS_BINARY, &model, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_model_new("", shape, 1, DPA_LOSS_SOFTMAX, &model, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_model_new("", (dpa_shape){0, 6, 3}, 4, DPA_LOSS_SOFTMAX, &model, NULL),
                     DPA_BAD_ARGUMENT);
    /* a depth that is no wrn's, on images that are */
    static const char *const depths[] = {"wrn:15,1", "wrn:4,1", "wrn:106,1", "wrn:107,1",
                                         "wrn:16,101"};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; ++i) {
        dpa_error err;
        assert_int_equal(
            dpa_model_new(depths[i], (dpa_shape){32, 32, 3}, 10, DPA_LOSS_SOFTMAX, &model, &err),
            DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, "expected wrn:depth,width"));
    }
    assert_ok(dpa_model_new("  mlp:512,256 ", (dpa_shape){1, 1, 784}, 10, DPA_LOSS_SOFTMAX, &model,
                            NULL));
    assert_int_equal(dpa_model_size(model), 785 * 512 + 513 * 256 + 257 * 10);
    dpa_model_free(model);
    /* WRN-16-4 on CIFAR-10: 2.75 million weights without the shortcuts' 1 × 1 convolutions. */
    assert_ok(
        dpa_model_new("wrn:16,4", (dpa_shape){32, 32, 3}, 10, DPA_LOSS_SOFTMAX, &model, NULL));
    const dpa__layer *top = &model->layer[model->layer_count - 1];
    assert_int_equal(top->in_size, 256);
    assert_int_equal(model->layer_count, 1 + 3 * 2 * 7 + 3 + 1);
    assert_true(dpa_model_size(model) > 2600000 && dpa_model_size(model) < 2800000);
    dpa_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_column_sums),
        cmocka_unit_test(test_start_before_relu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
