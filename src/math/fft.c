/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTW behind two calls. FFTW picks its kernels by the alignment of the memory, and kernels differ
 * in the last bit: whatever is not aligned is copied first, so that the same numbers give the same
 * bytes wherever they lie. */
#include "math/fft.h"

#include <fftw3.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

double *dpa__fft_alloc(size_t doubles, dpa_error *err) {
    double *block =
        doubles <= SIZE_MAX / sizeof *block ? fftw_alloc_real(doubles + !doubles) : NULL;
    if (block == NULL) (void)dpa__fail(err, DPA_NO_MEMORY, "no memory for %zu numbers", doubles);
    return block;
}

void dpa__fft_free(void *block) {
    fftw_free(block);
}

static dpa_status check_length(size_t n, dpa_error *err) {
    if (n >= 1 && n <= INT_MAX) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "a transform of %zu numbers: 1 to %d are possible", n,
                     INT_MAX);
}

static int is_aligned(const void *block) {
    /* only the address is looked at */
    return fftw_alignment_of((double *)(uintptr_t)block) == 0;
}

/* The block itself, or a copy of it that must be freed. */
static void *aligned(const void *block, size_t doubles, dpa_error *err) {
    if (is_aligned(block)) return (void *)(uintptr_t)block;
    double *copy = dpa__fft_alloc(doubles, err);
    if (copy != NULL) memcpy(copy, block, doubles * sizeof *copy);
    return copy;
}

static void release(void *block, const void *original) {
    if (block != original) dpa__fft_free(block);
}

/* Real → complex (or back) between aligned blocks. */
static dpa_status transform(size_t n, double *real, double complex *spectrum, int is_forward,
                            dpa_error *err) {
    (void)pthread_mutex_lock(&planner);
    const fftw_plan plan = is_forward ? fftw_plan_dft_r2c_1d((int)n, real, spectrum,
                                                             FFTW_ESTIMATE | FFTW_PRESERVE_INPUT)
                                      : fftw_plan_dft_c2r_1d((int)n, spectrum, real, FFTW_ESTIMATE);
    (void)pthread_mutex_unlock(&planner);
    if (plan == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no plan for a transform of %zu", n);
    fftw_execute(plan);
    (void)pthread_mutex_lock(&planner);
    fftw_destroy_plan(plan);
    (void)pthread_mutex_unlock(&planner);
    return DPA_OK;
}

dpa_status dpa__fft_forward(size_t n, const double *in, double complex *out, dpa_error *err) {
    DPA_TRY(check_length(n, err));
    const size_t bins = n / 2 + 1;
    double *from = aligned(in, n, err);
    double complex *to = aligned(out, 2 * bins, err);
    dpa_status status = DPA_NO_MEMORY;
    if (from != NULL && to != NULL) status = transform(n, from, to, 1, err);
    if (status == DPA_OK && to != out) memcpy(out, to, bins * sizeof *out);
    release(from, in);
    release(to, out);
    return status;
}

dpa_status dpa__fft_inverse(size_t n, double complex *in, double *out, dpa_error *err) {
    DPA_TRY(check_length(n, err));
    double complex *from = aligned(in, 2 * (n / 2 + 1), err);
    double *to = aligned(out, n, err);
    dpa_status status = DPA_NO_MEMORY;
    if (from != NULL && to != NULL) status = transform(n, to, from, 0, err);
    if (status == DPA_OK) {
        for (size_t i = 0; i < n; ++i) out[i] = to[i] / (double)n;
    }
    release(from, in);
    release(to, out);
    return status;
}

size_t dpa__fft_good_length(size_t n) {
    static const size_t factors[] = {2, 3, 5, 7};
    for (; n > 1; ++n) {
        size_t rest = n;
        for (int i = 0; i < 4; ++i) {
            while (rest % factors[i] == 0) rest /= factors[i];
        }
        if (rest == 1) return n;
    }
    return 1;
}
