/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every reader and writer with its first, second, … allocation failing. */
#include "readers.h"

#include "fault/alloc.h"

#include "base/array.h"
#include "base/json.h"
#include "base/write.h"

/* Bytes for the readers, in a static buffer so that the test itself allocates nothing meanwhile. */
static char block[1 << 16];
static size_t block_size;

static void load(const char *name) {
    FILE *file = fopen(data_file(name), "rb");
    assert_non_null(file);
    block_size = fread(block, 1, sizeof block, file);
    (void)fclose(file);
}

static dpa_array array;
static dpa_error err;

static dpa_status read_block(const char *member) {
    return read_bytes(block, block_size, member, &array, &err);
}

static void arrays(void **state) {
    (void)state;
    dpa_status status;
    load("fortran.npy");
    FAULT_EVERY(status, read_block(NULL), dpa__array_free(&array));
    load("numbers.txt.xz");
    FAULT_EVERY(status, read_block(NULL), dpa__array_free(&array));
    load("deflated.npz");
    FAULT_EVERY(status, read_block("members"), dpa__array_free(&array));
    FAULT_EVERY(status, dpa__array_read(data_file("stored.npz"), "members", &array, &err),
                dpa__array_free(&array));
    FAULT_EVERY(status, dpa__array_read(data_file("fortran.npy"), NULL, &array, &err),
                dpa__array_free(&array));
    memcpy(block, "\0\0\x0b\1\0\0\0\2abcd", block_size = 12);
    FAULT_EVERY(status, read_block(NULL), dpa__array_free(&array));
    block_size = 0;
    for (int i = 0; i < 2000; ++i)
        block_size += (size_t)snprintf(block + block_size, sizeof block - block_size, "%d\n", i);
    FAULT_EVERY(status, read_block(NULL), dpa__array_free(&array));
}

static void widened(void **state) {
    (void)state;
    dpa_status status;
    dpa_array small;
    load("fortran.npy");
    assert_ok(read_bytes(block, block_size, NULL, &small, &err));
    FAULT_EVERY(status, dpa__array_to_double(&small, &err), dpa__array_free(&small));
}

static dpa_table *table;

static dpa_status read_table(void) {
    dpa__stream *stream;
    const dpa_status opened = dpa__stream_open_memory("mem", block, block_size, &stream, &err);
    if (opened != DPA_OK) return opened;
    const dpa_status status = dpa__table_from_stream(stream, NULL, &table, &err);
    dpa__stream_close(stream);
    return status;
}

static void tables(void **state) {
    (void)state;
    dpa_status status;
    load("scores.csv.gz");
    FAULT_EVERY(status, read_table(), dpa__table_free(table));
    /* more columns, rows, levels and text than the first block of each holds; quoted cells */
    block_size = (size_t)snprintf(block, sizeof block, "a,b,c,d,e,f,g,h,i,j\n");
    for (int i = 0; i < 600; ++i)
        block_size += (size_t)snprintf(block + block_size, sizeof block - block_size,
                                       "%d,\"x\"\"%d\",3,4,5,6,7,8,9,0\n", i, i);
    FAULT_EVERY(status, read_table(), dpa__table_free(table));
    FAULT_EVERY(status, dpa__table_read(data_file("scores.csv.gz"), NULL, &table, &err),
                dpa__table_free(table));
}

static json_t *root;

static dpa_status read_json(void) {
    dpa__stream *stream;
    const dpa_status opened = dpa__stream_open_memory("mem", block, block_size, &stream, &err);
    if (opened != DPA_OK) return opened;
    const dpa_status status = dpa__json_from_stream(stream, &root, NULL, &err);
    dpa__stream_close(stream);
    return status;
}

/* Strings and numbers of every length at which jansson's buffer of a token grows: to 64 bytes. */
static size_t write_tokens(char *to, size_t size) {
    size_t count = (size_t)snprintf(to, size, "{\"a\":[1,2.5,true],\"b\":{\"c\":\"text\"}");
    for (int n = 12; n < 36; ++n)
        count +=
            (size_t)snprintf(to + count, size - count, ",\"%d\":[\"%0*d\",0.%0*d5]", n, n, n, n, n);
    return count + (size_t)snprintf(to + count, size - count, "}");
}

static long blocks_left;

/* From one allocation on there is no memory. */
static void *get_while_left(size_t size) {
    return blocks_left-- > 0 ? malloc(size) : NULL;
}

static void json(void **state) {
    (void)state;
    dpa_status status;
    json_t *whole;
    block_size = write_tokens(block, sizeof block);
    assert_ok(read_json());
    whole = root;
    json_set_alloc_funcs(malloc, free); /* the wrapped functions of this program */
    FAULT_EVERY(status, read_json(), assert_true(json_equal(whole, root)));
    json_decref(root);
    long most = 0;
    json_set_alloc_funcs(get_while_left, free);
    do {
        blocks_left = ++most;
        status = read_json();
    } while (status == DPA_NO_MEMORY);
    assert_ok(status);
    assert_true(most > 100 && json_equal(whole, root));
    json_decref(root);
    json_set_alloc_funcs(malloc, free);
    json_decref(whole);
}

static void writers(void **state) {
    (void)state;
    double x[2] = {1, 2};
    const dpa_array a = {.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = x};
    const char *path = make_file("", 0), *const name[1] = {"x"};
    dpa_status status;
    FAULT_EVERY(status, dpa__array_write(path, &a, &err), (void)0);
    FAULT_EVERY(status, dpa__npz_write(path, name, &a, 1, &err), (void)0);
    FAULT_EVERY(status, dpa__file_write(path, "x", 1, &err), (void)0);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays), cmocka_unit_test(widened), cmocka_unit_test(tables),
        cmocka_unit_test(json),   cmocka_unit_test(writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
