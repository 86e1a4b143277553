/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an audit adds to a round of DP-FedAvg, on one thread, for 10^5 and 10^7 parameters and 1000
 * + 1000 canaries.
 *
 * A round without audit: 34 clients with 116 rows of 784 features (the median writer of MNIST), one
 * epoch in batches of 16; for the large model two clients are timed and scaled up. Audit: the
 * canaries of the round (13: 1000 in 80 rounds) are added, and the cosines of all 2000 are
 * computed. The work is linear in the canaries: for the large model 64 (with signs 512) are timed
 * and scaled up.
 *
 * Lower bounds: (m) memory: reading the released mean once for 8 canaries at the speed of a plain
 * sum over float32; (g) generating the normals of every canary once, whatever the memory does.
 * Canaries of signs need no normals, so they are compared with (m). */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench.h"
#include "dpaudit/lab/federate.h"
#include "evidence/canary.h"
#include "evidence/canary_kernel.h"

enum { FEATURES = 784, OWNED = 116, COHORT = 34, CANARIES = 2000, PRESENT = 13 };

static double keep; /* keeps the compiler from removing loops */

static void stop(const char *what) {
    (void)fprintf(stderr, "bench_federate: %s failed\n", what);
    exit(1);
}

static double round_time(const char *layers, size_t clients, size_t *size) {
    const size_t rows = clients * OWNED;
    float *x = malloc(rows * FEATURES * sizeof *x);
    int32_t *label = malloc(rows * sizeof *label);
    double *owner = malloc(rows * sizeof *owner), time = 0.0;
    if (x == NULL || label == NULL || owner == NULL) stop("memory");
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < FEATURES; ++j)
            x[i * FEATURES + j] = (float)((i * 31 + j * 7) % 17) / 17.0F;
        label[i] = (int32_t)(i % 10);
        owner[i] = (double)(i / OWNED);
    }
    dpa_dataset *data = NULL;
    dpa_clients *who = NULL;
    dpa_model *model = NULL;
    dpa_federation *f = NULL;
    dpa_federate_opts o;
    dpa_federate_opts_init(&o);
    o.cohort = clients;
    o.sigma = 0.2;
    o.momentum = 0.9;
    o.client_rate = 0.01;
    o.threads = 1;
    const dpa_shape shape = {28, 28, 1};
    if (dpa_dataset_new(x, label, rows, shape, 10, &data, NULL) != DPA_OK ||
        dpa_clients_new(owner, rows, &who, NULL) != DPA_OK ||
        dpa_model_new(layers, shape, 10, DPA_LOSS_SOFTMAX, &model, NULL) != DPA_OK)
        stop("setting up");
    dpa_model_init(model, 1);
    *size = dpa_model_size(model);
    if (dpa_federation_new(model, data, who, &o, &f, NULL) != DPA_OK) stop("federation");
    dpa_status status = DPA_OK;
    BENCH_BEST(3, time, status = dpa_federation_round(f, NULL, NULL));
    if (status != DPA_OK) stop("a round");
    dpa_federation_free(f);
    dpa_model_free(model);
    dpa_clients_free(who);
    dpa_dataset_free(data);
    free(x);
    free(label);
    free(owner);
    return time * COHORT / (double)clients;
}

/* Seconds to read `count` floats from memory. */
static double read_time(const float *x, size_t count) {
    enum { LANES = 32 };
    double time;
    float lane[LANES] = {0};
    BENCH_BEST(5, time, {
        for (size_t i = 0; i + LANES <= count; i += LANES)
            for (size_t j = 0; j < LANES; ++j) lane[j] += x[i + j];
    });
    for (size_t j = 0; j < LANES; ++j) keep += (double)lane[j];
    return time;
}

static double normals_time(const char *kernel, size_t dim) {
    static float z[DPA__CHUNK];
    const dpa__canary_kernel *k = dpa__canary_kernel_find(kernel);
    dpa__canary_stream stream;
    double time;
    dpa__canary_stream_init(&stream, 1, 2);
    BENCH_BEST(3, time, {
        for (size_t i = 0; i < dim; i += DPA__CHUNK)
            k->normals(&stream, i / DPA__GROUP, DPA__CHUNK / DPA__GROUP, z);
    });
    keep += (double)z[5];
    return time;
}

typedef struct audit {
    dpa_canaries *canaries;
    float *released; /* [rounds × dim] */
    size_t dim, count;
} audit;

static audit audit_new(dpa_direction direction, size_t dim, size_t count, size_t rounds) {
    audit a = {NULL, malloc(rounds * dim * sizeof(float)), dim, count};
    dpa_canaries_opts opts;
    dpa__canaries_opts_init(&opts);
    opts.dim = dim;
    opts.observed = count;
    opts.threads = 1;
    opts.direction = direction;
    if (a.released == NULL || dpa__canaries_new(&opts, &a.canaries, NULL) != DPA_OK) stop("memory");
    for (size_t i = 0; i < rounds * dim; ++i)
        a.released[i] = (float)((i * 2654435761U) % 1000) - 500.0F;
    return a;
}

static void audit_free(audit *a) {
    dpa__canaries_free(a->canaries);
    free(a->released);
}

/* One round's share of the cosines of all canaries, if `rounds` are processed at a time. */
static double cosine_time(dpa_direction direction, size_t dim, size_t count, size_t rounds) {
    audit a = audit_new(direction, dim, count, rounds);
    dpa_vector v[DPA_CANARIES_ROUNDS];
    double time;
    dpa_status status = DPA_OK;
    for (size_t r = 0; r < rounds; ++r)
        v[r] = (dpa_vector){.f32 = a.released + r * dim, .dim = dim};
    status = dpa__canaries_round_many(a.canaries, v, NULL, rounds, NULL,
                                      NULL); /* the norms are known by then */
    BENCH_BEST(2, time, status = dpa__canaries_round_many(a.canaries, v, NULL, rounds, NULL, NULL));
    if (status != DPA_OK) stop("cosines");
    audit_free(&a);
    return time * CANARIES / (double)(count * rounds);
}

static double sum_time(dpa_direction direction, size_t dim) {
    audit a = audit_new(direction, dim, PRESENT, 1);
    double norm[PRESENT], time;
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < PRESENT; ++i) norm[i] = 1.0;
    status = dpa__canaries_sum_f32(a.canaries, norm, a.released, NULL, NULL);
    BENCH_BEST(3, time, status = dpa__canaries_sum_f32(a.canaries, norm, a.released, NULL, NULL));
    if (status != DPA_OK) stop("sum");
    audit_free(&a);
    return time;
}

typedef struct bounds {
    double round, memory, generate;
} bounds;

static void report_canaries(dpa_direction direction, size_t dim, size_t count, size_t together,
                            const bounds *b) {
    const double single = cosine_time(direction, dim, count, 1);
    const double many = cosine_time(direction, dim, count, together);
    const double sum = sum_time(direction, dim), numbers = (double)dim * CANARIES;
    (void)printf("  %s\n", direction == DPA_DIRECTION_SIGNS ? "signs" : "sphere");
    bench_row("    adding the canaries of the round", sum, "the round", sum / b->round);
    bench_row("    cosines, one round at a time", single, "the round", single / b->round);
    bench_row("    cosines, a share of several rounds at once", many, "the round", many / b->round);
    (void)printf("      one at a time: %.3f ns a number; %.2f x (m); %.2f x (g)\n",
                 1e9 * single / numbers, single / b->memory, single / b->generate);
    (void)printf("      %zu rounds at once: %.3f ns a number and round; %.2f x (m); %.2f x (g)\n",
                 together, 1e9 * many / numbers, many / b->memory, many / b->generate);
}

static void report(const char *layers, size_t clients, size_t count, size_t together) {
    size_t dim = 0;
    bounds b = {.round = round_time(layers, clients, &dim)};
    audit a = audit_new(DPA_DIRECTION_SPHERE, dim, 1, 1);
    b.memory = read_time(a.released, dim) * CANARIES / 8;
    b.generate = normals_time(a.canaries->kernel->name, dim) * CANARIES;
    audit_free(&a);
    (void)printf("%s: %zu parameters, %d clients, %d canaries, %d in the round\n", layers, dim,
                 COHORT, CANARIES, PRESENT);
    bench_row("  round without audit", b.round, "itself", 1.0);
    (void)printf("  (m) %.3f s, (g) %.3f s\n", b.memory, b.generate);
    report_canaries(DPA_DIRECTION_SPHERE, dim, count, together, &b);
    /* they are quick, so time enough of them to make preparing the mean negligible */
    const size_t more = 8 * count < CANARIES ? 8 * count : CANARIES;
    report_canaries(DPA_DIRECTION_SIGNS, dim, more, together, &b);
}

int main(void) {
    report("mlp:128", COHORT, CANARIES, 32);
    report("mlp:9980,200", 2, 64, 4);
    return keep == 0.5;
}
