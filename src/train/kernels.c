/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over floats, compiled for several instruction sets (base/simd.h). */
#include "train/kernels.h"

#include <math.h>
#include <string.h>

#include "base/simd.h"

DPA_CLONES void dpa__relu(float *y, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] = y[i] > 0.0F ? y[i] : 0.0F;
}

DPA_CLONES void dpa__relu_back(const float *y, float *dy, size_t count) {
    for (size_t i = 0; i < count; ++i) dy[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

/* Computes tanh(x/4) by Lambert's continued fraction, which is exact to single precision there, and
 * then applies tanh 2t = 2t/(1+t²) twice. Beyond 9.2 the result is 1 in single precision. */
DPA_CLONES void dpa__tanh(float *y, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        float x = y[i] > 9.2F ? 9.2F : y[i];
        x = 0.25F * (x < -9.2F ? -9.2F : x);
        const float s = x * x;
        float t = x * (135135.0F + s * (17325.0F + s * (378.0F + s))) /
                  (135135.0F + s * (62370.0F + s * (3150.0F + s * 28.0F)));
        t = 2.0F * t / (1.0F + t * t);
        y[i] = 2.0F * t / (1.0F + t * t);
    }
}

DPA_CLONES void dpa__tanh_back(const float *y, float *dy, size_t count) {
    for (size_t i = 0; i < count; ++i) dy[i] *= 1.0F - y[i] * y[i];
}

/* What is filled is doubled, which takes few calls. */
void dpa__fill_rows(float *y, size_t rows, size_t width, const float *row) {
    if (rows == 0) return;
    memcpy(y, row, width * sizeof *row);
    for (size_t done = 1, more; done < rows; done += more) {
        more = done < rows - done ? done : rows - done;
        memcpy(y + done * width, y, more * width * sizeof *row);
    }
}

DPA_CLONES void dpa__add_rows(const float *x, size_t rows, size_t width, float *sum) {
    for (size_t r = 0; r < rows; ++r)
        for (size_t i = 0; i < width; ++i) sum[i] += x[r * width + i];
}

DPA_CLONES void dpa__max(const float *x, float *best, size_t count) {
    for (size_t i = 0; i < count; ++i) best[i] = x[i] > best[i] ? x[i] : best[i];
}

DPA_CLONES
void dpa__max_in(const float *x, int32_t cell, float *best, int32_t *where, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const int larger = x[i] > best[i];
        best[i] = larger ? x[i] : best[i];
        where[i] = larger ? cell : where[i];
    }
}

DPA_CLONES
void dpa__add_where(const float *x, const int32_t *where, int32_t cell, float *sum, size_t count) {
    for (size_t i = 0; i < count; ++i) sum[i] += where[i] == cell ? x[i] : 0.0F;
}

static inline void copy_windows(const float *image, const dpa__windows *w, size_t run, float *out) {
    const size_t lines = w->lines, line = w->line;
    for (size_t i = 0; i < w->height; ++i)
        for (size_t j = 0; j < w->width; ++j) {
            const float *from = image + i * w->down + j * w->right;
            for (size_t l = 0; l < lines; ++l, from += line, out += run)
                for (size_t e = 0; e < run; e += DPA__SLACK)
                    memcpy(out + e, from + e, DPA__SLACK * sizeof *from);
        }
}

/* A run of one copy needs no loop. */
DPA_CLONES void dpa__copy_windows(const float *image, const dpa__windows *w, float *out) {
    if (w->run == DPA__SLACK)
        copy_windows(image, w, DPA__SLACK, out);
    else
        copy_windows(image, w, w->run, out);
}

DPA_CLONES void dpa__add_windows(const float *from, const dpa__windows *w, float *image) {
    for (size_t i = 0; i < w->height; ++i)
        for (size_t j = 0; j < w->width; ++j) {
            float *to = image + i * w->down + j * w->right;
            for (size_t l = 0; l < w->lines; ++l, to += w->line, from += w->run)
                for (size_t e = 0; e < w->run; ++e) to[e] += from[e];
        }
}

DPA_CLONES void dpa__scale(float *x, size_t count, float by) {
    for (size_t i = 0; i < count; ++i) x[i] *= by;
}

DPA_CLONES double dpa__dot(const float *x, const float *y, size_t count) {
    float lane[DPA_LANES] = {0};
    size_t i = 0;
    for (; i + DPA_LANES <= count; i += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l) lane[l] += x[i + l] * y[i + l];
    double sum = 0.0;
    for (; i < count; ++i) sum += (double)x[i] * (double)y[i];
    for (size_t l = 0; l < DPA_LANES; ++l) sum += (double)lane[l];
    return sum;
}

double dpa__sum_squares(const float *x, size_t count) {
    return dpa__dot(x, x, count);
}

DPA_CLONES
void dpa__dot_bounded(const float *a, const float *b, size_t count, double *sum, double *absolute) {
    double plain[DPA_LANES] = {0}, size[DPA_LANES] = {0};
    for (size_t i = 0; i < count; ++i) {
        const double term = (double)a[i] * (double)b[i];
        plain[i % DPA_LANES] += term;
        size[i % DPA_LANES] += fabs(term);
    }
    *sum = *absolute = 0.0;
    for (size_t l = 0; l < DPA_LANES; ++l) {
        *sum += plain[l];
        *absolute += size[l];
    }
}

/* DPA_LANES columns at a time, whose sums stay in registers; every column adds its rows in
 * order. */
DPA_CLONES
void dpa__column_sums(const float *a, const float *b, size_t rows, size_t width, double *sum,
                      double *product) {
    size_t first = 0;
    for (; first + DPA_LANES <= width; first += DPA_LANES) {
        double sums[DPA_LANES] = {0}, products[DPA_LANES] = {0};
        for (size_t at = first; at < rows * width; at += width)
            for (size_t l = 0; l < DPA_LANES; ++l) {
                sums[l] += (double)a[at + l];
                products[l] += (double)a[at + l] * (double)b[at + l];
            }
        memcpy(sum + first, sums, sizeof sums);
        memcpy(product + first, products, sizeof products);
    }
    for (size_t c = first; c < width; ++c) sum[c] = product[c] = 0.0;
    for (size_t r = 0; r < rows; ++r, a += width, b += width)
        for (size_t c = first; c < width; ++c) {
            sum[c] += (double)a[c];
            product[c] += (double)a[c] * (double)b[c];
        }
}

DPA_CLONES
void dpa__normalise(const float *x, size_t rows, size_t width, const float *mean,
                    const float *scale, const float *shift, float *y) {
    for (size_t r = 0; r < rows; ++r, x += width, y += width)
        for (size_t c = 0; c < width; ++c) y[c] = (x[c] - mean[c]) * scale[c] + shift[c];
}

DPA_CLONES
void dpa__normalise_back(const float *x, const float *dy, size_t rows, size_t width,
                         const float *mean, const float *scale, const float *slope,
                         const float *shift, float *dx) {
    for (size_t r = 0; r < rows; ++r, x += width, dy += width, dx += width)
        for (size_t c = 0; c < width; ++c)
            dx[c] = dy[c] * scale[c] - (x[c] - mean[c]) * slope[c] - shift[c];
}

DPA_CLONES
void dpa__sgd(const dpa__update *u, const float *sum, float *velocity, float *theta, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const float g = sum[i] * u->scale + u->decay * theta[i];
        velocity[i] = u->momentum * velocity[i] + g;
        theta[i] -= u->rate * velocity[i];
    }
}

DPA_CLONES void dpa__average(float *mean, const float *x, float weight, size_t count) {
    for (size_t i = 0; i < count; ++i) mean[i] += weight * (x[i] - mean[i]);
}
