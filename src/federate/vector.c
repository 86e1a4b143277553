/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over the weights of a model. Every instruction set gives the same bytes. */
#include "federate/vector.h"

#include "base/simd.h"

DPA_CLONES void dpa__add_scaled(float *y, float by, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] += by * x[i];
}

DPA_CLONES void dpa__subtract(float *y, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] -= x[i];
}
