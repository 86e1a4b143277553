/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a final model rates an example. */
#ifndef DPA_GAME_FINAL_MODEL_H
#define DPA_GAME_FINAL_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { DPA__MOST_EVALUATED = 1000 }; /* most held-out rows on which utility is measured */

/* log(p/(1 − p)), where p is the probability that the outputs [outputs] give to the label. */
double dpa__confidence(const float *logits, size_t outputs, int32_t label);

#endif
