/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real transforms on FFTW's complex ones.
 *
 * FFTW plans a complex transform in 0.1 ms and a real one in 1 to 4 ms, far longer than most of
 * ours take. So an even number n of reals is taken as n/2 complex numbers z_k = x_2k + i·x_2k+1,
 * whose transform Z holds that of the even and of the odd places, (Z_k ± conj Z_{n/2−k})/2; joined
 * by one more level of accurate twiddles they are the transform of x. The way back is the same in
 * reverse. An odd n is transformed as complex numbers.
 *
 * FFTW picks its kernels by the alignment of the memory, and kernels differ in the last bit: all
 * work is done in aligned memory of our own, so that the same numbers give the same bytes. */
#include "math/fft.h"

#include <fftw3.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* CMPLX, which clang 14 with glibc does not have. */
static double complex complex_of(double real, double imaginary) {
    const double parts[2] = {real, imaginary};
    double complex out;
    memcpy(&out, parts, sizeof out);
    return out;
}

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

/* FFTW exits the program if one of its allocations fails. So the memory that a plan and its run
 * need (factors and a buffer, less than two transforms) is allocated and freed here first. */
static dpa_status find_room(size_t n, dpa_error *err) {
    void *volatile block = dpa__malloc(4 * n + (1 << 17), sizeof(double), err);
    if (block == NULL) return DPA_NO_MEMORY;
    free(block);
    return DPA_OK;
}

/* In place, not scaled. */
static dpa_status transform(size_t n, double complex *z, int direction, dpa_error *err) {
    DPA_TRY(find_room(n, err));
    (void)pthread_mutex_lock(&planner);
    const fftw_plan plan = fftw_plan_dft_1d((int)n, z, z, direction, FFTW_ESTIMATE);
    (void)pthread_mutex_unlock(&planner);
    if (plan == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no plan for a transform of %zu", n);
    fftw_execute(plan);
    (void)pthread_mutex_lock(&planner);
    fftw_destroy_plan(plan);
    (void)pthread_mutex_unlock(&planner);
    return DPA_OK;
}

/* e^(−2πi·k/n). */
static double complex twiddle(size_t k, size_t n) {
    const double angle = -2 * M_PI * (double)k / (double)n;
    return complex_of(cos(angle), sin(angle));
}

/* The spectrum at k and n/2−k from Z, for k ≤ n/4. */
static void untangle(size_t n, const double complex *z, double complex *out) {
    const size_t m = n / 2;
    for (size_t k = 0; k <= m / 2; ++k) {
        const double complex here = z[k], there = conj(z[k == 0 ? 0 : m - k]);
        const double complex even = 0.5 * (here + there), odd = 0.5 * (here - there);
        const double complex turned =
            complex_of(cimag(odd), -creal(odd)) * twiddle(k, n); /* odd/i */
        out[k] = even + turned;
        out[m - k] = conj(even - turned);
    }
}

/* Z from the spectrum: the inverse of untangle. */
static void tangle(size_t n, const double complex *in, double complex *z) {
    const size_t m = n / 2;
    for (size_t k = 0; k <= m / 2; ++k) {
        const double complex here = in[k], there = conj(in[m - k]);
        const double complex even = 0.5 * (here + there);
        const double complex odd = 0.5 * (here - there) * conj(twiddle(k, n));
        const double complex turned = complex_of(-cimag(odd), creal(odd)); /* odd·i */
        z[k] = even + turned;
        if (k > 0) z[m - k] = conj(even - turned);
    }
}

static dpa_status forward(size_t n, const double *in, double complex *z, double complex *out,
                          dpa_error *err) {
    if (n % 2 == 0) {
        memcpy(z, in, n * sizeof *in);
        DPA_TRY(transform(n / 2, z, FFTW_FORWARD, err));
        untangle(n, z, out);
        return DPA_OK;
    }
    for (size_t i = 0; i < n; ++i) z[i] = in[i];
    DPA_TRY(transform(n, z, FFTW_FORWARD, err));
    memcpy(out, z, (n / 2 + 1) * sizeof *z);
    return DPA_OK;
}

static dpa_status inverse(size_t n, const double complex *in, double complex *z, double *out,
                          dpa_error *err) {
    if (n % 2 == 0) {
        tangle(n, in, z);
        DPA_TRY(transform(n / 2, z, FFTW_BACKWARD, err));
        const double scale = 2 / (double)n;
        for (size_t i = 0; i < n / 2; ++i) {
            out[2 * i] = creal(z[i]) * scale;
            out[2 * i + 1] = cimag(z[i]) * scale;
        }
        return DPA_OK;
    }
    z[0] = creal(in[0]);
    for (size_t k = 1; k <= n / 2; ++k) {
        z[k] = in[k];
        z[n - k] = conj(in[k]);
    }
    DPA_TRY(transform(n, z, FFTW_BACKWARD, err));
    for (size_t i = 0; i < n; ++i) out[i] = creal(z[i]) / (double)n;
    return DPA_OK;
}

static double complex *scratch(size_t n, dpa_error *err) {
    return (double complex *)(void *)dpa__fft_alloc(n % 2 == 0 ? n : 2 * n, err);
}

dpa_status dpa__fft_forward(size_t n, const double *in, double complex *out, dpa_error *err) {
    DPA_TRY(check_length(n, err));
    double complex *z = scratch(n, err);
    if (z == NULL) return DPA_NO_MEMORY;
    const dpa_status status = forward(n, in, z, out, err);
    dpa__fft_free(z);
    return status;
}

dpa_status dpa__fft_inverse(size_t n, const double complex *in, double *out, dpa_error *err) {
    DPA_TRY(check_length(n, err));
    double complex *z = scratch(n, err);
    if (z == NULL) return DPA_NO_MEMORY;
    const dpa_status status = inverse(n, in, z, out, err);
    dpa__fft_free(z);
    return status;
}

size_t dpa__fft_good_length(size_t n) {
    static const size_t factors[] = {2, 3, 5, 7};
    if (n <= 1) return 1;
    for (n += n % 2;; n += 2) {
        size_t rest = n;
        for (int i = 0; i < 4; ++i) {
            while (rest % factors[i] == 0) rest /= factors[i];
        }
        if (rest == 1) return n;
    }
}
