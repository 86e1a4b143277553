/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over floats other than matrix products. */
#ifndef DPA_TRAIN_KERNELS_H
#define DPA_TRAIN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

void dpa__relu(float *y, size_t count);                       /* y = max(y, 0) */
void dpa__relu_back(const float *y, float *dy, size_t count); /* dy = y > 0 ? dy : 0 */
void dpa__tanh(float *y, size_t count);                       /* error below 3e-7 */
void dpa__tanh_back(const float *y, float *dy, size_t count); /* dy = dy·(1 − y²) */
void dpa__fill_rows(float *y, size_t rows, size_t width, const float *row);
void dpa__add_rows(const float *x, size_t rows, size_t width, float *sum); /* sum += Σ rows */
void dpa__max(const float *x, float *best, size_t count);                  /* best = max(best, x) */
/* Where x is larger than best: best = x, where = cell. */
void dpa__max_in(const float *x, int32_t cell, float *best, int32_t *where, size_t count);
/* Where `where` is the cell: sum += x. */
void dpa__add_where(const float *x, const int32_t *where, int32_t cell, float *sum, size_t count);
void dpa__scale(float *x, size_t count, float by);
/* Σ x², summed in DPA_LANES single-precision lanes that are added in double precision. */
double dpa__sum_squares(const float *x, size_t count);
double dpa__dot(const float *x, const float *y, size_t count);
/* Σ a·b and Σ |a·b|. The second bounds the rounding error of the first. */
void dpa__dot_bounded(const float *a, const float *b, size_t count, double *sum, double *absolute);

/* Windows of an image: `height` × `width` of them, each of `lines` runs of `run` floats. The steps
 * between windows and from line to line are in floats. */
typedef struct dpa__windows {
    size_t height, width, down, right;
    size_t lines, line, run;
} dpa__windows;
/* Copies the windows one after the other. Copies DPA__SLACK floats at once: the excess is
 * overwritten by the next run, so that both arrays need as many floats more. */
enum { DPA__SLACK = 8 };
void dpa__copy_windows(const float *image, const dpa__windows *w, float *out);
/* The transpose: adds each window to where it came from. */
void dpa__add_windows(const float *from, const dpa__windows *w, float *image);

/* Per column of [rows × width]: sum = Σ a, product = Σ a·b, in double precision. */
void dpa__column_sums(const float *a, const float *b, size_t rows, size_t width, double *sum,
                      double *product);
/* Per column: y = (x − mean)·scale + shift. */
void dpa__normalise(const float *x, size_t rows, size_t width, const float *mean,
                    const float *scale, const float *shift, float *y);
/* Per column: dx = dy·scale − (x − mean)·slope − shift. */
void dpa__normalise_back(const float *x, const float *dy, size_t rows, size_t width,
                         const float *mean, const float *scale, const float *slope,
                         const float *shift, float *dx);

/* One update of the weights: g = sum·scale + decay·θ; v = momentum·v + g; θ −= rate·v. */
typedef struct dpa__update {
    float scale, decay, momentum, rate;
} dpa__update;
void dpa__sgd(const dpa__update *u, const float *sum, float *velocity, float *theta, size_t count);
/* mean += weight·(x − mean) */
void dpa__average(float *mean, const float *x, float weight, size_t count);

#endif
