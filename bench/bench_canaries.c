/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries: nanoseconds per normal on one core to generate and use it (dot product with a model,
 * own norm), compared with
 * (a) a plain scalar loop: Philox4x32-10, Box–Muller with libm's float functions, the same sums;
 * (b) canaries stored in memory as float32 (256 MB, far larger than the caches), the same sums. */
#include <Random123/philox.h>
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "evidence/canary.h"
#include "evidence/canary_kernel.h"
#include "math/fft.h"

enum { STORED = 1 << 26, NORMALS = 1 << 24 };

typedef struct sums {
    double dot, square;
} sums;

static void plain_pair(uint32_t u, uint32_t v, const double *model, sums *s) {
    const float r = sqrtf(-2.0F * logf(((float)u + 0.5F) * 0x1p-32F));
    float sine, cosine;
    sincosf(6.2831853F * ((float)v * 0x1p-32F), &sine, &cosine);
    const double x = (double)(r * cosine), y = (double)(r * sine);
    s->dot += x * model[0] + y * model[1];
    s->square += x * x + y * y;
}

static sums plain(const double *model, size_t count) {
    const philox4x32_key_t key = {{1, 2}};
    sums s = {0, 0};
    for (size_t i = 0; i < count; i += 4) {
        const philox4x32_ctr_t counter = {{(uint32_t)(i / 4), 0, 3, 4}};
        const philox4x32_ctr_t word = philox4x32(counter, key);
        plain_pair(word.v[0], word.v[1], model + i % DPA__CHUNK, &s);
        plain_pair(word.v[2], word.v[3], model + i % DPA__CHUNK + 2, &s);
    }
    return s;
}

/* Eight independent sums each, so that the compiler can vectorise and memory is the limit. */
static sums stream(const float *z, const double *model, size_t count) {
    dpa__lanes lanes = {{0}, {0}};
    for (size_t i = 0; i < count; i += DPA__CHUNK)
        for (size_t at = 0; at < DPA__CHUNK; at += DPA__LANES)
            for (size_t j = 0; j < DPA__LANES; ++j) {
                const double x = (double)z[i + at + j];
                lanes.dot[j] += x * model[at + j];
                lanes.square[j] += x * x;
            }
    return (sums){dpa__lanes_fold(lanes.dot), dpa__lanes_fold(lanes.square)};
}

static sums generated(const dpa__canary_kernel *kernel, const double *model, size_t count) {
    dpa__canary_stream canary;
    dpa__lanes lanes = {{0}, {0}};
    dpa__canary_stream_init(&canary, 1, 2);
    for (size_t i = 0; i < count; i += DPA__CHUNK)
        kernel->sums(&canary, i / DPA__GROUP, DPA__CHUNK / DPA__GROUP, model, &lanes);
    return (sums){dpa__lanes_fold(lanes.dot), dpa__lanes_fold(lanes.square)};
}

static double keep; /* keeps the compiler from removing loops */

static void use(sums s) {
    keep += s.dot + s.square;
}

static void whole_call(dpa_direction direction, double plain_time) {
    enum { DIM = 1 << 18, COUNT = 64 };
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa__canaries_opts_init(&opts);
    opts.dim = DIM;
    opts.observed = COUNT;
    opts.threads = 1;
    opts.direction = direction;
    float *model = malloc(DIM * sizeof *model);
    double cosine[COUNT], time;
    if (model == NULL || dpa__canaries_new(&opts, &canaries, NULL) != DPA_OK) {
        free(model);
        return;
    }
    for (size_t i = 0; i < DIM; ++i) model[i] = (float)sin((double)i);
    const dpa_vector v = {.f32 = model, .dim = DIM};
    dpa_status status = DPA_OK;
    BENCH_BEST(7, time, status = dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
    time /= (double)DIM * COUNT;
    if (status == DPA_OK)
        (void)printf("%-28s %7.3f ns a number  %6.2f x (a)   (64 canaries, d = 2^18, one thread)\n",
                     direction == DPA_DIRECTION_SIGNS ? "cosines, signs" : "cosines, sphere",
                     1e9 * time, plain_time / time);
    dpa__canaries_free(canaries);
    free(model);
}

/* Times a round's cosines of 2000 canaries in a model of 4·10⁶, for each direction, and adding its
 * canaries. (c) is FFTW's real transform (double) of the length that the Hadamard canaries need,
 * 2²¹. */
enum { LARGE = 4000000, MANY = 2000, LENGTH_BITS = 21 };

static double fft_time(void) {
    const size_t n = (size_t)1 << LENGTH_BITS;
    double *in = dpa__fft_alloc(n, NULL), *out = dpa__fft_alloc(n + 2, NULL), time;
    if (in == NULL || out == NULL) return (double)NAN;
    for (size_t i = 0; i < n; ++i) in[i] = sin((double)i);
    dpa_status status = DPA_OK;
    BENCH_BEST(5, time, status = dpa__fft_forward(n, in, (double complex *)out, NULL));
    keep += out[2] + (double)status;
    dpa__fft_free(in);
    dpa__fft_free(out);
    return time;
}

/* Seconds for a round's cosines; -1 on failure. */
static double round_time(dpa_direction direction, int rounds, double *adding) {
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa__canaries_opts_init(&opts);
    opts.dim = LARGE;
    opts.observed = MANY;
    opts.threads = 1;
    opts.direction = direction;
    float *model = malloc(LARGE * sizeof *model);
    double time = -1.0;
    static double norm[MANY];
    if (model == NULL || dpa__canaries_new(&opts, &canaries, NULL) != DPA_OK) {
        free(model);
        return time;
    }
    for (size_t i = 0; i < LARGE; ++i) model[i] = (float)sin((double)i);
    for (size_t i = 0; i < 13; ++i) norm[i * 150] = 1.0;
    const dpa_vector v = {.f32 = model, .dim = LARGE};
    dpa_status status = DPA_OK;
    BENCH_BEST(rounds, time, status = dpa__canaries_round(canaries, &v, NULL, NULL));
    if (status == DPA_OK)
        BENCH_BEST(rounds, *adding,
                   status = dpa__canaries_sum_f32(canaries, norm, model, NULL, NULL));
    dpa__canaries_free(canaries);
    free(model);
    return status == DPA_OK ? time : -1.0;
}

static void large_model(void) {
    static const char *const names[] = {"sphere", "signs", "hadamard"};
    const double fft = fft_time();
    double sphere = 0.0, adding = 0.0;
    (void)printf("%d canaries, d = %d, one thread; (c) real FFT of 2^%d: %.1f ms\n", MANY, LARGE,
                 LENGTH_BITS, 1e3 * fft);
    for (int d = 0; d < 3; ++d) {
        const double time = round_time((dpa_direction)d, d == 2 ? 9 : 1, &adding);
        if (d == 0) sphere = time;
        (void)printf("a round's cosines, %-10s %9.1f ms  %7.1f times faster than the sphere  %6.2f "
                     "x (c);  adding 13: %.1f ms\n",
                     names[d], 1e3 * time, sphere / time, time / fft, 1e3 * adding);
    }
}

int main(void) {
    static double model[DPA__CHUNK];
    double plain_time, stream_time;
    for (size_t i = 0; i < DPA__CHUNK; ++i) model[i] = (double)(float)sin((double)i);
    float *stored = malloc(sizeof *stored * STORED);
    if (stored == NULL) return 1;
    for (size_t i = 0; i < STORED; ++i) stored[i] = (float)(i % 7);
    BENCH_BEST(5, plain_time, use(plain(model, NORMALS / 8)));
    BENCH_BEST(9, stream_time, use(stream(stored, model, STORED)));
    plain_time /= (double)NORMALS / 8;
    stream_time /= (double)STORED;
    (void)printf("%-28s %7.3f ns a normal\n", "(a) plain scalar loop", 1e9 * plain_time);
    (void)printf("%-28s %7.3f ns a float\n", "(b) streamed from memory", 1e9 * stream_time);
    for (size_t k = 0; dpa__canary_kernel_at(k) != NULL; ++k) {
        const dpa__canary_kernel *kernel = dpa__canary_kernel_at(k);
        double time;
        if (!kernel->supported()) continue;
        BENCH_BEST(15, time, use(generated(kernel, model, NORMALS / 4)));
        time /= (double)NORMALS / 4;
        (void)printf("%-28s %7.3f ns a normal  %6.2f x (a)  takes %5.2f times (b)\n", kernel->name,
                     1e9 * time, plain_time / time, time / stream_time);
    }
    whole_call(DPA_DIRECTION_SPHERE, plain_time);
    whole_call(DPA_DIRECTION_SIGNS, plain_time);
    large_model();
    free(stored);
    return keep == 0.0; /* never true: sums of squares are positive */
}
