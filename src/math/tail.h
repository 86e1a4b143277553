/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A probability, stored as its smaller tail, which keeps all its digits. */
#ifndef DPA_MATH_TAIL_H
#define DPA_MATH_TAIL_H

#include "math/dist.h"

typedef struct dpa__level {
    int is_lower; /* the smaller tail is the lower one */
    double p;     /* the smaller tail, ≤ 1/2; 0 where it underflows */
    double log_p;
} dpa__level;

static inline int dpa__tail_is_lower(dpa__tail tail) {
    return tail == DPA_LOWER || tail == DPA_LOG_LOWER;
}

static inline int dpa__tail_is_log(dpa__tail tail) {
    return tail == DPA_LOG_LOWER || tail == DPA_LOG_UPPER;
}

/* The complementary tail on the same scale. */
static inline dpa__tail dpa__tail_other(dpa__tail tail) {
    static const dpa__tail other[] = {DPA_UPPER, DPA_LOWER, DPA_LOG_UPPER, DPA_LOG_LOWER};
    return other[tail];
}

/* 0 if p is not a probability (or not the logarithm of one). */
int dpa__level_of(double p, dpa__tail tail, dpa__level *out);

#endif
