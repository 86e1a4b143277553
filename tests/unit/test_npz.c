/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NPZ: numpy's files, our own, names, truncations and flipped bytes. */
#include "readers.h"

#include <zlib.h>

static char *slurp(const char *path, size_t *size) {
    dpa__stream *stream;
    char *bytes;
    dpa_error err;
    assert_ok(dpa__stream_open(path, &stream, &err));
    assert_ok(dpa__stream_read_all(stream, &bytes, size, &err));
    dpa__stream_close(stream);
    return bytes;
}

static void numpy_files(void **state) {
    (void)state;
    dpa_array a;
    dpa_error err;
    assert_ok(dpa__array_read(data_file("stored.npz"), "members", &a, &err));
    assert_int_equal(a.count, 3);
    assert_true(((double *)a.data)[2] == -3);
    char sha[DPA_SHA256_SIZE];
    memcpy(sha, a.sha256, sizeof sha);
    dpa__array_free(&a);
    assert_ok(dpa__array_read(data_file("stored.npz"), "nonmembers", &a, &err));
    assert_int_equal(a.dtype, DPA_I16);
    assert_int_equal(a.ndim, 2);
    assert_int_equal(((int16_t *)a.data)[3], 4);
    assert_string_equal(a.sha256, sha); /* the hash of the file, whichever array was read */
    dpa__array_free(&a);
    assert_ok(dpa__array_read(data_file("deflated.npz"), "members", &a, &err));
    assert_int_equal(a.count, 100);
    assert_true(((double *)a.data)[99] == 99);
    dpa__array_free(&a);
    assert_ok(dpa__array_read(data_file("single.npz"), NULL, &a, &err));
    assert_int_equal(a.count, 3);
    dpa__array_free(&a);
    assert_ok(dpa__array_read(data_file("fortran.npy"), NULL, &a, &err));
    assert_ok(dpa__array_to_double(&a, &err));
    for (int i = 0; i < 6; ++i) assert_true(((double *)a.data)[i] == i);
    dpa__array_free(&a);
}

static void names(void **state) {
    (void)state;
    dpa_array a;
    dpa_error err;
    assert_int_equal(dpa__array_read(data_file("stored.npz"), "x", &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "no array 'x'; it has members, nonmembers"));
    assert_int_equal(dpa__array_read(data_file("stored.npz"), NULL, &a, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "holds 2 arrays (members, nonmembers)"));
    assert_int_equal(dpa__npz_has(data_file("stored.npz"), "members"), 1);
    assert_int_equal(dpa__npz_has(data_file("stored.npz"), "member"), 0);
    assert_int_equal(dpa__npz_has(data_file("README"), "members"), 0);
    assert_int_equal(dpa__npz_has("/nonexistent", "members"), 0);
    assert_int_equal(dpa__npz_has("-", "members"), 0);
    /* an archive with no entries */
    assert_bad("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, "mem", "holds no array");
}

/* No truncated file is accepted; a flipped bit is an error or changes nothing that was read. */
static void damage(void **state) {
    (void)state;
    static const char *const files[] = {"stored.npz", "deflated.npz"};
    for (size_t f = 0; f < 2; ++f) {
        size_t size;
        char *bytes = slurp(data_file(files[f]), &size);
        dpa_array a, good;
        dpa_error err;
        assert_ok(read_bytes(bytes, size, "members", &good, &err));
        for (size_t n = 0; n < size; ++n)
            assert_int_equal(read_bytes(bytes, n, "members", &a, &err), DPA_BAD_INPUT);
        for (size_t n = 0; n < size; ++n) {
            bytes[n] ^= 4;
            if (read_bytes(bytes, size, "members", &a, &err) == DPA_OK) {
                assert_int_equal(a.count, good.count);
                assert_memory_equal(a.data, good.data, good.count * sizeof(double));
                dpa__array_free(&a);
            }
            bytes[n] ^= 4;
        }
        dpa__array_free(&good);
        free(bytes);
    }
}

static void round_trip(void **state) {
    (void)state;
    double x[3] = {1, 2, 3};
    uint8_t y[2] = {0, 1};
    const dpa_array arrays[2] = {
        {.dtype = DPA_F64, .ndim = 1, .shape = {3}, .count = 3, .data = x},
        {.dtype = DPA_BOOL, .ndim = 2, .shape = {2, 1}, .count = 2, .data = y}};
    const char *const both[2] = {"members", "nonmembers"}, *const twice[2] = {"a", "a"};
    const char *path = make_file("", 0);
    dpa_array a;
    dpa_error err;
    assert_ok(dpa__npz_write(path, both, arrays, 2, &err));
    assert_ok(dpa__array_read(path, "members", &a, &err));
    assert_memory_equal(a.data, x, sizeof x);
    dpa__array_free(&a);
    assert_ok(dpa__array_read(path, "nonmembers", &a, &err));
    assert_int_equal(a.shape[0] * 10 + a.shape[1], 21);
    assert_memory_equal(a.data, y, sizeof y);
    dpa__array_free(&a);
    assert_int_equal(dpa__npz_write(path, twice, arrays, 2, &err), DPA_IO);
    assert_int_equal(dpa__npz_has(path, "members"), 1); /* the old file is unchanged */
    assert_int_equal(dpa__npz_write("/nonexistent/x", both, arrays, 2, &err), DPA_IO);
    assert_int_equal(dpa__npz_write("/dev/full", both, arrays, 2, &err), DPA_IO);
    dpa_array wrong = arrays[0];
    wrong.count = 4;
    assert_int_equal(dpa__npz_write(path, both, &wrong, 1, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__array_write(path, &wrong, &err), DPA_BAD_ARGUMENT);
    wrong = arrays[0];
    wrong.dtype = (dpa_dtype)77;
    assert_int_equal(dpa__array_write(path, &wrong, &err), DPA_BAD_ARGUMENT);
    (void)unlink(path);
}

/* A text beside the arrays, which is no array; names in their order and up to 31 bytes. */
static void text_and_names(void **state) {
    (void)state;
    static const char longest[] = "n123456789012345678901234567890",
                      too_long[] = "n1234567890123456789012345678901";
    double x[3] = {1, 2, 3};
    const dpa_array arrays[2] = {
        {.dtype = DPA_F64, .ndim = 1, .shape = {3}, .count = 3, .data = x},
        {.dtype = DPA_F64, .ndim = 1, .shape = {1}, .count = 1, .data = x + 2}};
    const char *const both[2] = {"b", longest}, *const wrong[2] = {"b", too_long};
    char path[64];
    (void)snprintf(path, sizeof path, "%s", make_file("", 0));
    char *text = NULL, found[3][32];
    size_t count = 7;
    dpa_error err;
    assert_ok(dpa__npz_write_with(path, both, arrays, 2, "about.json", "{\"a\": 1}", &err));
    assert_ok(dpa__npz_text(path, "about.json", &text, &count, &err));
    assert_string_equal(text, "{\"a\": 1}");
    assert_int_equal(count, 8);
    free(text);
    char *much = malloc((1 << 24) + 2); /* 16 MiB are the limit */
    assert_non_null(much);
    memset(much, 'x', (1 << 24) + 1);
    for (size_t more = 0; more < 2; ++more) {
        const char *large = make_file("", 0);
        much[(1 << 24) + more] = '\0';
        assert_ok(dpa__npz_write_with(large, both, arrays, 2, "about.json", much, &err));
        assert_int_equal(dpa__npz_text(large, "about.json", &text, &count, &err),
                         more ? DPA_BAD_INPUT : DPA_OK);
        if (more) assert_string_equal(err.text, "its description is not sound");
        if (!more) assert_int_equal(count, 1 << 24);
        free(text);
        text = NULL;
        (void)unlink(large);
        much[(1 << 24) + more] = 'x';
    }
    free(much);
    assert_ok(dpa__npz_text(path, "other.json", &text, &count, &err));
    assert_null(text);
    assert_int_equal(count, 0);
    assert_ok(dpa__npz_text(data_file("README"), "about.json", &text, &count, &err));
    assert_null(text);
    assert_ok(dpa__npz_names(path, found, 3, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(found[0], "b");
    assert_string_equal(found[1], longest);
    assert_ok(dpa__npz_names(path, found, 2, &count, &err));
    assert_true(dpa__npz_has(path, "b") && !dpa__npz_has(path, "c")); /* as long, and another */
    dpa_array one;
    assert_ok(dpa__array_read(path, "b", &one, &err));
    assert_int_equal(one.count, 3);
    dpa__array_free(&one);
    assert_int_equal(dpa__npz_names(path, found, 1, &count, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "more than 1 arrays, or a name longer than 31 bytes");
    assert_string_equal(err.place, path);
    assert_ok(dpa__npz_write(path, wrong, arrays, 2, &err));
    assert_int_equal(dpa__npz_names(path, found, 3, &count, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__npz_names(data_file("README"), found, 3, &count, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "not a sound NPZ (zip) file");
    (void)unlink(path);
}

/* The bytes do not depend on the day, and the elements are stored as they are. */
static void stored(void **state) {
    (void)state;
    double x[3] = {1, 2, 3};
    const dpa_array array = {.dtype = DPA_F64, .ndim = 1, .shape = {3}, .count = 3, .data = x};
    const char *const name = "x", *path = make_file("", 0);
    size_t size;
    assert_ok(dpa__npz_write(path, &name, &array, 1, NULL));
    char *bytes = slurp(path, &size);
    /* the local header: method 0 (stored), time 0, 1 January 1980 */
    assert_memory_equal(bytes, "PK\3\4", 4);
    assert_memory_equal(bytes + 8, "\0\0\0\0\x21\0", 6);
    assert_non_null(memmem(bytes, size, x, sizeof x));
    free(bytes);
    (void)unlink(path);
}

/* An NPZ inside gzip is recognised and read as an NPZ. */
static void inside_gzip(void **state) {
    (void)state;
    size_t size;
    char *bytes = slurp(data_file("stored.npz"), &size);
    const char *path = make_file("", 0);
    gzFile file = gzopen(path, "wb");
    dpa_array a;
    dpa_error err;
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    free(bytes);
    assert_int_equal(dpa__npz_has(path, "members"), 1);
    assert_int_equal(dpa__npz_has(path, "x"), 0);
    assert_int_equal(dpa__npz_has(data_file("scores.csv.gz"), "members"), 0);
    assert_ok(dpa__array_read(path, "members", &a, &err));
    assert_int_equal(a.count, 3);
    dpa__array_free(&a);
    (void)unlink(path);
}

/* Looking at a pipe must not consume it. */
static void pipes(void **state) {
    (void)state;
    int ends[2];
    char path[32], byte = '\0';
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "score", 5), 5);
    (void)close(ends[1]);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(dpa__npz_has(path, "members"), 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 's');
    (void)close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_files), cmocka_unit_test(names),          cmocka_unit_test(damage),
        cmocka_unit_test(round_trip),  cmocka_unit_test(text_and_names), cmocka_unit_test(stored),
        cmocka_unit_test(inside_gzip), cmocka_unit_test(pipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
