/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real transforms on FFTW. Plans are made under one lock (FFTW's planner is not thread-safe) and
 * with FFTW_ESTIMATE: the same bytes on every run. */
#ifndef DPA_MATH_FFT_H
#define DPA_MATH_FFT_H

#include <complex.h>
#include <stddef.h>

#include "dpaudit/status.h"

/* Aligned memory for transforms; free with dpa__fft_free. */
double *dpa__fft_alloc(size_t doubles, dpa_error *err);
void dpa__fft_free(void *block);
/* in: n reals, unchanged; out: n/2+1 complex numbers, not scaled. */
dpa_status dpa__fft_forward(size_t n, const double *in, double complex *out, dpa_error *err);
/* The inverse, divided by n. */
dpa_status dpa__fft_inverse(size_t n, const double complex *in, double *out, dpa_error *err);
/* Next even length ≥ n (1 for 1) with factors 2, 3, 5, 7 only. */
size_t dpa__fft_good_length(size_t n);

#endif
