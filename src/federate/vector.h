/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over the weights of a model. */
#ifndef DPA_FEDERATE_VECTOR_H
#define DPA_FEDERATE_VECTOR_H

#include <stddef.h>

void dpa__add_scaled(float *y, float by, const float *x, size_t count); /* y += by·x */
void dpa__subtract(float *y, const float *x, size_t count);             /* y −= x */

#endif
