/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An external trainer in C: logistic regression by plain gradient descent, no privacy at all, on
 * points that follow from their ids. Prints a loss per query.
 *
 *     cc -O2 -o logistic logistic.c -lm
 *     ./logistic SEED MEMBERS QUERIES OUT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 40, MOST = 4096, STEPS = 300 };

static double data[MOST][DIM], weights[DIM];
static int label[MOST];

/* SplitMix64: the same point for the same id, in every trial. */
static double uniform(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void make_point(long id) {
    uint64_t state = (uint64_t)id * 7919 + 1;
    double sum = 0;
    for (int k = 0; k < DIM; k++) sum += data[id][k] = 2 * uniform(&state) - 1;
    label[id] = sum + 4 * (uniform(&state) - 0.5) > 0 ? 1 : -1;
}

static size_t read_ids(const char *path, long *ids) {
    size_t count = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (count < MOST && fscanf(file, "%ld", &ids[count]) == 1)
        if (ids[count] >= 0 && ids[count] < MOST) make_point(ids[count++]);
    fclose(file);
    return count;
}

static double margin(long id) {
    double sum = 0;
    for (int k = 0; k < DIM; k++) sum += weights[k] * data[id][k];
    return label[id] * sum;
}

static void train(const long *ids, size_t count) {
    for (int step = 0; step < STEPS; step++) {
        double gradient[DIM] = {0};
        for (size_t i = 0; i < count; i++) {
            const double pull = label[ids[i]] / (1 + exp(margin(ids[i])));
            for (int k = 0; k < DIM; k++) gradient[k] += pull * data[ids[i]][k];
        }
        for (int k = 0; k < DIM; k++) weights[k] += 2 * gradient[k] / (double)(count + 1);
    }
}

int main(int argc, char **argv) {
    static long members[MOST], queries[MOST];
    if (argc != 5) {
        fprintf(stderr, "usage: logistic SEED MEMBERS QUERIES OUT\n");
        return 2;
    }
    uint64_t state = strtoull(argv[1], NULL, 10);
    for (int k = 0; k < DIM; k++) weights[k] = 0.01 * (uniform(&state) - 0.5);
    train(members, read_ids(argv[2], members));
    const size_t count = read_ids(argv[3], queries);
    FILE *out = fopen(argv[4], "w");
    if (out == NULL) {
        perror(argv[4]);
        return 1;
    }
    for (size_t i = 0; i < count; i++) fprintf(out, "%.17g\n", log1p(exp(-margin(queries[i]))));
    return fclose(out) == 0 ? 0 : 1;
}
