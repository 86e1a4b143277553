/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IDX: every type, truncations, bad headers. */
#include "readers.h"

static void every_type(void **state) {
    (void)state;
    static const struct {
        unsigned char file[20];
        size_t size;
        dpa_dtype dtype;
        double first, second;
    } rows[] = {
        {{0, 0, 0x08, 1, 0, 0, 0, 2, 1, 0xff}, 10, DPA_U8, 1, 255},
        {{0, 0, 0x09, 1, 0, 0, 0, 2, 1, 0xff}, 10, DPA_I8, 1, -1},
        {{0, 0, 0x0b, 1, 0, 0, 0, 2, 1, 2, 0xff, 0xfe}, 12, DPA_I16, 258, -2},
        {{0, 0, 0x0c, 1, 0, 0, 0, 2, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe}, 16, DPA_I32, 258, -2},
        {{0, 0, 0x0d, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0}, 16, DPA_F32, 1.5, -2},
        {{0, 0, 0x0e, 1, 0, 0, 0, 1, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}, 16, DPA_F64, 1.5, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_array a;
        dpa_error err;
        assert_ok(read_bytes(rows[i].file, rows[i].size, NULL, &a, &err));
        assert_int_equal(a.dtype, rows[i].dtype);
        assert_int_equal(a.ndim, 1);
        assert_ok(dpa__array_to_double(&a, &err));
        assert_true(((double *)a.data)[0] == rows[i].first);
        if (a.count > 1) assert_true(((double *)a.data)[1] == rows[i].second);
        dpa__array_free(&a);
        for (size_t n = 2; n < rows[i].size; ++n)
            assert_int_equal(read_bytes(rows[i].file, n, NULL, &a, &err), DPA_BAD_INPUT);
    }
}

static void shapes(void **state) {
    (void)state;
    const unsigned char file[] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4};
    dpa_array a;
    dpa_error err;
    assert_ok(read_bytes(file, sizeof file, NULL, &a, &err));
    assert_int_equal(a.ndim, 3);
    assert_int_equal(a.shape[0] * 100 + a.shape[1] * 10 + a.shape[2], 122);
    assert_memory_equal(a.data, "\1\2\3\4", 4);
    dpa__array_free(&a);
}

static void malformed(void **state) {
    (void)state;
    assert_bad("\0\0\x0a\1\0\0\0\1x", 9, "mem: offset 2", "0x0a");
    assert_bad("\0\0\x08\0x", 5, "mem: offset 3", "0 IDX dimensions");
    assert_bad("\0\0\x08\x09", 4, "mem: offset 3", "9 IDX dimensions");
    assert_bad("\0\0", 2, "mem: offset 2", "ends");
    assert_bad("\0\0\x08\2\0\0\0\1\0\0", 10, "mem: offset 10", "ends");
    assert_bad("\0\0\x08\1\xff\xff\xff\xff"
               "ab",
               10, "mem: offset 8", "4294967295");
    assert_bad("\0\0\x0e\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 20,
               "mem: offset 0", "more elements");
    assert_bad("\0\0\x08\1\0\0\0\1xy", 10, "mem: offset 9", "bytes follow");
    assert_bad("\0", 1, "mem:1:1", "not a number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(shapes),
        cmocka_unit_test(malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
