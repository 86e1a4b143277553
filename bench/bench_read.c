/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading numbers relative to moving the same bytes: text, CSV and NPY in memory against memcpy,
 * and NPY from a file against fread. Times are for one call; MB/s are of stored bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/text.h"
#include "bench.h"

enum { COUNT = 1000000, ROUNDS = 5 };

static void check(dpa_status status, const dpa_error *err) {
    if (status == DPA_OK) return;
    (void)fprintf(stderr, "%s: %s\n", err->place, err->text);
    exit(1);
}

static void read_array(const dpa__text *bytes) {
    dpa__stream *stream;
    dpa_array array;
    dpa_error err;
    check(dpa__stream_open_memory("bench", bytes->data, bytes->length, &stream, &err), &err);
    check(dpa__array_from_stream(stream, NULL, &array, &err), &err);
    dpa__stream_close(stream);
    dpa__array_free(&array);
}

static void read_table(const dpa__text *bytes) {
    dpa__stream *stream;
    dpa_table *table;
    dpa_error err;
    check(dpa__stream_open_memory("bench", bytes->data, bytes->length, &stream, &err), &err);
    check(dpa__table_from_stream(stream, NULL, &table, &err), &err);
    dpa__stream_close(stream);
    dpa__table_free(table);
}

/* Allocates every time, as the readers must. */
static void copy(const dpa__text *bytes) {
    char *block = malloc(bytes->length);
    if (block == NULL) exit(1);
    memcpy(block, bytes->data, bytes->length);
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
}

static void row(const char *what, const dpa__text *bytes, void (*read)(const dpa__text *)) {
    double time, base;
    char label[80];
    BENCH_BEST(ROUNDS, time, read(bytes));
    BENCH_BEST(ROUNDS, base, copy(bytes));
    (void)snprintf(label, sizeof label, "%s, %.0f MB/s", what, 1e-6 * (double)bytes->length / time);
    bench_row(label, time, "memcpy", time / base);
}

static void file_row(const dpa_array *array) {
    const char *path = "/tmp/dpaudit_bench_read.npy";
    const size_t size = array->count * sizeof(double);
    dpa_array again;
    dpa_error err;
    double time, base;
    check(dpa__array_write(path, array, &err), &err);
    BENCH_BEST(ROUNDS, time, {
        check(dpa__array_read(path, NULL, &again, &err), &err);
        dpa__array_free(&again);
    });
    BENCH_BEST(ROUNDS, base, {
        FILE *file = fopen(path, "rb");
        void *block = malloc(size);
        if (file == NULL || block == NULL || fread(block, 1, size, file) != size) exit(1);
        (void)fclose(file);
        free(block);
    });
    (void)unlink(path);
    char label[80];
    (void)snprintf(label, sizeof label, "NPY file, 1e6 doubles, hashed, %.0f MB/s",
                   1e-6 * (double)size / time);
    bench_row(label, time, "fread", time / base);
}

int main(void) {
    dpa__text shortest = {0}, savetxt = {0}, csv = {0}, names = {0};
    dpa_rng rng;
    double *values = malloc(COUNT * sizeof *values);
    if (values == NULL) return 1;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    dpa__text_add(&csv, "score,member\n");
    dpa__text_add(&names, "score,group\n");
    for (size_t i = 0; i < COUNT; ++i) {
        const double x = values[i] = dpa__rng_normal(&rng);
        dpa__text_printf(&shortest, "%.17g\n", x);
        dpa__text_printf(&savetxt, "%.18e\n", x);
        dpa__text_printf(&csv, "%.6f,%d\n", x, x > 0);
        dpa__text_printf(&names, "%.6f,%s\n", x, x > 0 ? "member" : "nonmember");
    }
    row("text, 1e6 numbers, %.17g", &shortest, read_array);
    row("text, 1e6 numbers, %.18e (numpy.savetxt)", &savetxt, read_array);
    row("CSV, 1e6 rows of score,member", &csv, read_table);
    row("CSV, 1e6 rows of score,group (text)", &names, read_table);
    const dpa_array array = {
        .dtype = DPA_F64, .ndim = 1, .shape = {COUNT}, .count = COUNT, .data = values};
    file_row(&array);
    dpa__text_free(&shortest);
    dpa__text_free(&savetxt);
    dpa__text_free(&csv);
    dpa__text_free(&names);
    free(values);
    return 0;
}
