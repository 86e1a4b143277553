/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of matrices in single precision, with the same bits on every processor, instruction set
 * and number of threads: each element of the result is a sum of chains of fused multiply-adds, each
 * chain over 192 values of the inner index in ascending order. Short chains also keep the error
 * small: within (192 + k/192)·2^-24 of the sum of the absolute products. */
#ifndef DPA_TRAIN_PRODUCT_H
#define DPA_TRAIN_PRODUCT_H

#include <stddef.h>

/* A matrix in memory: element (i, j) is at[i·row + j·column]. */
typedef struct dpa__matrix {
    const float *at;
    size_t row, column;
} dpa__matrix;

/* A matrix stored row after row, and the same memory read as the transposed matrix. */
static inline dpa__matrix dpa__rows_of(const float *at, size_t width) {
    return (dpa__matrix){at, width, 1};
}
static inline dpa__matrix dpa__columns_of(const float *at, size_t width) {
    return (dpa__matrix){at, 1, width};
}

/* c = a·b, or c += a·b with `add`. c is [m × n] stored row after row, a is [m × k], b is [k ×
 * n]. */
void dpa__product(size_t m, size_t n, size_t k, dpa__matrix a, dpa__matrix b, int add, float *c);
/* sum [n] += Σ_i factor[i]·row i of x [rows × n]. */
void dpa__add_weighted(const float *x, size_t rows, size_t n, const float *factor, float *sum);

/* For tests: uses this kernel (dpa_train_kernel) from now on. Returns 0 if it cannot run on this
 * processor. */
int dpa__product_choose(const char *kernel);

#endif
