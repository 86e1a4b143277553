/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz targets of readers: the bytes go through a stream in memory; whatever they are, the reader
 * gives a result or an error with words in it, and frees all. */
#ifndef DPA_FUZZ_H
#define DPA_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/data.h"
#include "base/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An error must say why; success must leave none. */
static inline void fuzz_check(dpa_status status, const dpa_error *err) {
    if (status == DPA_OK) return;
    if (err->status != status || err->text[0] == '\0') abort();
    if (status != DPA_BAD_INPUT && status != DPA_NO_MEMORY) abort();
}

/* Every element is read, so that memory that was never written is seen. */
static inline void fuzz_use_array(dpa_array *array) {
    dpa_error err;
    volatile double sum = 0;
    if (dpa__array_to_double(array, &err) != DPA_OK) abort();
    for (size_t i = 0; i < array->count; ++i) sum = sum + ((const double *)array->data)[i];
    dpa__array_free(array);
}

/* One of `often` inputs, by a sum that every change moves: for what takes milliseconds, which a
 * byte that chooses it would make the fuzzer do again and again. */
static inline int fuzz_is_rare(const uint8_t *data, size_t size, unsigned often) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; ++i) sum = 31 * sum + data[i];
    return sum % often == 0;
}

enum { FUZZ_PATH = 64 };

/* The bytes as a file with a name, for readers that open files themselves; close it afterwards.
 * −1: it cannot be made. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[FUZZ_PATH]) {
    const int file = memfd_create("input", 0);
    if (file < 0) return -1;
    (void)snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", file);
    if (write(file, data, size) == (ssize_t)size) return file;
    (void)close(file);
    return -1;
}

static inline dpa__stream *fuzz_stream(const uint8_t *data, size_t size) {
    dpa__stream *stream;
    dpa_error err = {0};
    const dpa_status status = dpa__stream_open_memory("fuzz", data, size, &stream, &err);
    fuzz_check(status, &err);
    return status == DPA_OK ? stream : NULL;
}

typedef dpa_status fuzz_array_reader(dpa__stream *stream, dpa_array *out, dpa_error *err);

static inline void fuzz_array(const uint8_t *data, size_t size, fuzz_array_reader *read) {
    dpa__stream *stream = fuzz_stream(data, size);
    dpa_array array = {0};
    dpa_error err = {0};
    if (stream == NULL) return;
    const dpa_status status = read(stream, &array, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK)
        fuzz_use_array(&array);
    else
        dpa__array_free(&array);
    dpa__stream_close(stream);
}

#endif
