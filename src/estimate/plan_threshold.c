/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best threshold: golden section around the best point of a grid. Power as a function of the
 * threshold has one maximum and small irregularities; the answer is the best value that was
 * computed. */
#include "estimate/plan.h"

enum { GRID = 12, GOLDEN = 10 };

typedef struct contest {
    dpa__power_at power;
    void *user;
    dpa_plan_answer *best;
} contest;

static double consider(const contest *c, double threshold) {
    const double power = c->power(threshold, c->user);
    if (power > c->best->power) {
        c->best->power = power;
        c->best->threshold = threshold;
    }
    return power;
}

void dpa__best_threshold(dpa__power_at power, void *user, double low, double high,
                         dpa_plan_answer *out) {
    const contest c = {power, user, out};
    const double step = (high - low) / GRID, ratio = 0.6180339887498949;
    out->power = -1;
    for (int i = 0; i <= GRID; ++i) (void)consider(&c, low + step * i);
    low = out->threshold - step;
    high = out->threshold + step;
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = consider(&c, a), at_b = consider(&c, b);
    for (int i = 0; i < GOLDEN; ++i) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = consider(&c, a);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = consider(&c, b);
        }
    }
}
