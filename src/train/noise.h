/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian noise for training steps. Element i of a stream is a function of (seed, purpose, index,
 * i) and has the same bytes on every machine with IEEE floats. */
#ifndef DPA_TRAIN_NOISE_H
#define DPA_TRAIN_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

enum { DPA_NOISE_GROUP = 128 };

/* out[i] += scale · z[first + i]; `first` must be a multiple of DPA_NOISE_GROUP. */
void dpa__noise_add(uint64_t seed, dpa_purpose purpose, uint64_t index, uint64_t first, float scale,
                    float *out, size_t count);

#endif
