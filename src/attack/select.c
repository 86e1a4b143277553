/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Challenge points: the worst, random ones, or average ones. Ties are always broken by the number
 * of the point, so that the choice is reproducible. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

const char *dpa__challenge_name(dpa_challenge challenge) {
    static const char *const names[] = {"worst", "random", "average"};
    return (unsigned)challenge < 3 ? names[challenge] : "unknown";
}

static double weight_of(const dpa_leak *leak, dpa_weight weight) {
    return weight == DPA_WEIGHT_EPSILON ? leak->epsilon : leak->accuracy;
}

/* The larger first; NaN last. */
static int descending(double x, double y) {
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static int worse(const dpa_leak *x, const dpa_leak *y, dpa_weight weight) {
    int order = descending(weight_of(x, weight), weight_of(y, weight));
    if (order == 0) order = descending(x->gap, y->gap);
    if (order == 0) order = (x->point > y->point) - (x->point < y->point);
    return order;
}

static int by_accuracy(const void *a, const void *b) {
    return worse(a, b, DPA_WEIGHT_ACCURACY);
}

static int by_epsilon(const void *a, const void *b) {
    return worse(a, b, DPA_WEIGHT_EPSILON);
}

void dpa__leaks_sort(dpa_leak *leaks, size_t count, dpa_weight weight) {
    qsort(leaks, count, sizeof *leaks, weight == DPA_WEIGHT_EPSILON ? by_epsilon : by_accuracy);
}

typedef struct distance {
    double from_mean;
    size_t point;
} distance;

static int by_distance(const void *a, const void *b) {
    const distance *x = a, *y = b;
    const int order = (x->from_mean > y->from_mean) - (x->from_mean < y->from_mean);
    return order != 0 ? order : (x->point > y->point) - (x->point < y->point);
}

/* `known` leaks, none of them NaN. */
static dpa_status choose_average(const dpa_leak *leaks, size_t known, dpa_weight weight,
                                 size_t *chosen, size_t count, dpa_error *err) {
    distance *all = DPA_NEW_ARRAY(distance, known, err);
    if (all == NULL) return DPA_NO_MEMORY;
    double mean = 0.0;
    for (size_t i = 0; i < known; ++i) mean += weight_of(&leaks[i], weight) / (double)known;
    for (size_t i = 0; i < known; ++i)
        all[i] = (distance){fabs(weight_of(&leaks[i], weight) - mean), leaks[i].point};
    qsort(all, known, sizeof *all, by_distance);
    for (size_t i = 0; i < count; ++i) chosen[i] = all[i].point;
    free(all);
    return DPA_OK;
}

/* Worst and average first sort the leaks. */
static dpa_status choose_by_weight(const dpa_leak *leaks, size_t points, dpa_challenge challenge,
                                   dpa_weight weight, size_t *chosen, size_t count,
                                   dpa_error *err) {
    dpa_leak *sorted = DPA_NEW_ARRAY(dpa_leak, points, err);
    size_t known = 0;
    dpa_status status = DPA_OK;
    if (sorted == NULL) return DPA_NO_MEMORY;
    memcpy(sorted, leaks, points * sizeof *sorted);
    dpa__leaks_sort(sorted, points, weight);
    while (known < points && !isnan(weight_of(&sorted[known], weight))) ++known;
    if (known < count)
        status = dpa__fail(err, DPA_BAD_INPUT,
                           "%zu points are wanted, but only %zu have test models on both sides",
                           count, known);
    else if (challenge == DPA_CHALLENGE_AVERAGE)
        status = choose_average(sorted, known, weight, chosen, count, err);
    else
        for (size_t i = 0; i < count; ++i) chosen[i] = sorted[i].point;
    free(sorted);
    return status;
}

static dpa_status choose_randomly(const dpa_leak *leaks, size_t points, uint64_t seed,
                                  size_t *chosen, size_t count, dpa_error *err) {
    dpa_rng rng;
    size_t *order = DPA_NEW_ARRAY(size_t, points, err);
    if (order == NULL) return DPA_NO_MEMORY;
    for (size_t p = 0; p < points; ++p) order[p] = p;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_ATTACK, 0);
    dpa__rng_shuffle(&rng, order, points);
    for (size_t i = 0; i < count; ++i) chosen[i] = leaks[order[i]].point;
    free(order);
    return DPA_OK;
}

dpa_status dpa__challenges_select(const dpa_leak *leaks, size_t points, dpa_challenge challenge,
                                  dpa_weight weight, uint64_t seed, size_t *chosen, size_t count,
                                  dpa_error *err) {
    if (count == 0 || count > points)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "challenges: expected 1 to %zu, found %zu", points,
                         count);
    switch (challenge) {
    case DPA_CHALLENGE_RANDOM:
        return choose_randomly(leaks, points, seed, chosen, count, err);
    case DPA_CHALLENGE_WORST:
    case DPA_CHALLENGE_AVERAGE:
        return choose_by_weight(leaks, points, challenge, weight, chosen, count, err);
    }
    return dpa__fail(err, DPA_BAD_ARGUMENT, "there is no challenge %d", (int)challenge);
}
