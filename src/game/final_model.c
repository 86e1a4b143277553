/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a final model rates an example. */
#include "game/final_model.h"

#include <math.h>

/* For one output the logit itself; else the label's logit minus the log of the sum over the other
 * labels. */
double dpa__confidence(const float *logits, size_t outputs, int32_t label) {
    if (outputs == 1) return label == 1 ? (double)logits[0] : -(double)logits[0];
    double most = -INFINITY, sum = 0.0;
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) most = fmax(most, (double)logits[k]);
    for (size_t k = 0; k < outputs; ++k)
        if (k != (size_t)label) sum += exp((double)logits[k] - most);
    return (double)logits[label] - most - log(sum);
}
