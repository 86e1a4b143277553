/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NPY: every type, byte order, memory order and version; every truncation; every malformed
 * header. */
#include "readers.h"

#include "base/write.h"

static const struct {
    const char *code;
    dpa_dtype dtype;
    size_t size;
} types[] = {{"b1", DPA_BOOL, 1}, {"i1", DPA_I8, 1},  {"u1", DPA_U8, 1},  {"i2", DPA_I16, 2},
             {"u2", DPA_U16, 2},  {"i4", DPA_I32, 4}, {"u4", DPA_U32, 4}, {"i8", DPA_I64, 8},
             {"u8", DPA_U64, 8},  {"f2", DPA_F16, 2}, {"f4", DPA_F32, 4}, {"f8", DPA_F64, 8}};

/* The little-endian bytes of a small number as this type. */
static uint64_t bits_of(dpa_dtype dtype, int value) {
    uint64_t bits = 0;
    const float f = (float)value;
    const double d = value;
    if (dtype == DPA_F32)
        memcpy(&bits, &f, sizeof f);
    else if (dtype == DPA_F64)
        memcpy(&bits, &d, sizeof d);
    else if (dtype == DPA_F16) /* 0 … 3 only */
        bits = value == 0 ? 0 : value == 1 ? 0x3c00 : value == 2 ? 0x4000 : 0x4200;
    else
        bits = (uint64_t)value;
    return bits;
}

static void put(dpa__text *out, uint64_t bits, size_t size, char order) {
    for (size_t i = 0; i < size; ++i) {
        const size_t byte = order == '>' ? size - 1 - i : i;
        const char c = (char)(bits >> (8 * byte) & 255);
        dpa__text_add_bytes(out, &c, 1);
    }
}

static void check_one(size_t type, char order, int fortran, int version) {
    /* shape (2, 3): element [i][j] is (i + j) mod 2 for bools, (i + j) mod 4 else */
    dpa__text payload = {0}, file = {0};
    const int wrap = types[type].dtype == DPA_BOOL ? 2 : 4;
    for (int n = 0; n < 6; ++n) {
        const int i = fortran ? n % 2 : n / 3, j = fortran ? n / 2 : n % 3;
        put(&payload, bits_of(types[type].dtype, (2 * i + j) % wrap), types[type].size, order);
    }
    char dict[128];
    (void)snprintf(dict, sizeof dict, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3), }\n",
                   types[type].size == 1 && order == '<' ? '|' : order, types[type].code,
                   fortran ? "True" : "False");
    make_npy(&file, version, dict, payload.data, payload.length);
    dpa_array a;
    dpa_error err;
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_int_equal(a.dtype, types[type].dtype);
    assert_int_equal(dpa__dtype_size(a.dtype), types[type].size);
    assert_int_equal(a.ndim, 2);
    assert_int_equal(a.shape[0] * 10 + a.shape[1], 23);
    assert_int_equal(a.count, 6);
    assert_int_equal(strlen(a.sha256), 64);
    assert_ok(dpa__array_to_double(&a, &err));
    assert_int_equal(a.dtype, DPA_F64);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            assert_true(((double *)a.data)[3 * i + j] == (2 * i + j) % wrap);
    dpa__array_free(&a);
    dpa__text_free(&payload);
    dpa__text_free(&file);
}

static void every_type(void **state) {
    (void)state;
    for (size_t type = 0; type < sizeof types / sizeof types[0]; ++type)
        for (int version = 1; version <= 3; ++version)
            for (int fortran = 0; fortran < 2; ++fortran) {
                check_one(type, '<', fortran, version);
                check_one(type, '>', fortran, version);
                check_one(type, '=', fortran, version);
            }
    assert_int_equal(dpa__dtype_size((dpa_dtype)99), 0);
    assert_string_equal(dpa__dtype_name((dpa_dtype)99), "unknown");
    assert_string_equal(dpa__dtype_name(DPA_F16), "float16");
}

static void negative_and_large(void **state) {
    (void)state;
    const int64_t values[2] = {-3, INT64_MIN};
    const uint64_t top[1] = {UINT64_MAX};
    const int8_t small[1] = {-128};
    dpa__text file = {0};
    dpa_array a;
    dpa_error err;
    make_npy(&file, 1, "{'descr':'<i8','fortran_order':False,'shape':(2,)}", values, sizeof values);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_ok(dpa__array_to_double(&a, &err));
    assert_true(((double *)a.data)[0] == -3 && ((double *)a.data)[1] == -0x1p63);
    dpa__array_free(&a);
    make_npy(&file, 1, "{'descr':'<u8','fortran_order':False,'shape':(1L,)}", top, sizeof top);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_ok(dpa__array_to_double(&a, &err));
    assert_true(((double *)a.data)[0] == 0x1p64);
    dpa__array_free(&a);
    make_npy(&file, 1, "{\"descr\":\"|i1\",\"fortran_order\":False,\"shape\":()}", small, 1);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_int_equal(a.ndim, 0);
    assert_int_equal(a.count, 1);
    assert_int_equal(*(int8_t *)a.data, -128);
    dpa__array_free(&a);
    make_npy(&file, 1, "{'descr':'<f8','fortran_order':True,'shape':(0,5)}", "", 0);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    assert_int_equal(a.count, 0);
    assert_ok(dpa__array_to_double(&a, &err));
    dpa__array_free(&a);
    dpa__text_free(&file);
}

/* Three real dimensions and one of size 1, in Fortran order. */
static void turned(void **state) {
    (void)state;
    uint8_t payload[24];
    dpa__text file = {0};
    dpa_array a;
    dpa_error err;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k)
                payload[i + 2 * j + 6 * k] = (uint8_t)(100 * i + 10 * j + k);
    make_npy(&file, 1, "{'descr':'|u1','fortran_order':True,'shape':(2,3,1,4)}", payload, 24);
    assert_ok(read_bytes(file.data, file.length, NULL, &a, &err));
    for (int n = 0; n < 24; ++n)
        assert_int_equal(((uint8_t *)a.data)[n], 100 * (n / 12) + 10 * (n / 4 % 3) + n % 4);
    dpa__array_free(&a);
    dpa__text_free(&file);
}

/* Truncated anywhere, the file is bad input; with one extra byte, too. */
static void every_cut(void **state) {
    (void)state;
    const double values[3] = {1, 2, 3};
    dpa__text file = {0};
    for (int version = 1; version <= 2; ++version) {
        make_npy(&file, version, "{'descr':'<f8','fortran_order':False,'shape':(3,)}", values,
                 sizeof values);
        for (size_t n = 0; n < file.length; ++n) {
            char *cut = malloc(n > 0 ? n : 1); /* its own block: reading beyond is seen */
            dpa_array a;
            dpa_error err;
            assert_non_null(cut);
            memcpy(cut, file.data, n);
            assert_int_equal(read_bytes(cut, n, NULL, &a, &err), DPA_BAD_INPUT);
            assert_true(err.text[0] != '\0' && err.place[0] != '\0');
            free(cut);
        }
        dpa__text_add(&file, "x");
        char place[40];
        (void)snprintf(place, sizeof place, "mem: offset %zu", file.length - 1);
        assert_bad(file.data, file.length, place, "bytes follow");
    }
    dpa__text_free(&file);
}

static void malformed(void **state) {
    (void)state;
    static const struct {
        const char *dict, *place, *text;
    } rows[] = {
        {"", "mem: offset 10", "'{' is right"},
        {"x", "mem: offset 10", "'{' is right"},
        {"{}", "mem: offset 10", "'descr', 'fortran_order', 'shape'"},
        {"{'descr':'<f8'}", "mem: offset 10", "each of"},
        {"{'descr':'<f8','descr':'<f8'}", "mem: offset 25", "once"},
        {"{'other':1}", "mem: offset 11", "each of"},
        {"{descr:'<f8'}", "mem: offset 11", "each of"},
        {"{'descr':'<f8' 'shape':(1,)}", "mem: offset 25", "',' or '}'"},
        {"{'descr' '<f8'}", "mem: offset 19", "':'"},
        {"{'descr':'<c8'}", "mem: offset 19", "f8"},
        {"{'descr':'<f16'}", "mem: offset 19", "one type"},
        {"{'descr':'<f8x'}", "mem: offset 19", "one type"},
        {"{'descr':'xf8'}", "mem: offset 19", "one type"},
        {"{'descr':''}", "mem: offset 19", "one type"},
        {"{'':1, ''}", "mem: offset 11", "found ''':1, ''}'"},
        {"{'descr':'|f8'}", "mem: offset 19", "byte order"},
        {"{'descr':'f8'}", "mem: offset 19", "byte order"},
        {"{'descr':'|O'}", "mem: offset 19", "one type"},
        {"{'descr':[('a','<f8')]}", "mem: offset 19", "one type"},
        {"{'descr':'<f8", "mem: offset 19", "one type"},
        {"{'fortran_order':0}", "mem: offset 27", "True or False"},
        {"{'shape':3}", "mem: offset 19", "tuple"},
        {"{'shape':(3)}", "mem: offset 22", "','"},
        {"{'shape':(,)}", "mem: offset 20", "a size"},
        {"{'shape':(-1,)}", "mem: offset 20", "a size"},
        {"{'shape':(1 2)}", "mem: offset 22", "',' or ')'"},
        {"{'shape':(1,,)}", "mem: offset 22", "a size"},
        {"{'shape':(1.5,)}", "mem: offset 21", "',' or ')'"},
        {"{'shape':(99999999999999999999999,)}", "mem: offset 39", "a size"},
        {"{'shape':(1,1,1,1,1,1,1,1,1)}", "mem: offset 36", "at most 8"},
        {"{'shape':(1,", "mem: offset 22", "a size"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1,)} x", "mem: offset 61", "nothing after"},
        {"{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}", "mem: offset 0",
         "more elements"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1000000000000,)}", "mem: offset 72",
         "promises 8000000000000 bytes"},
        {"{'descr':'|b1','fortran_order':False,'shape':(8,)}", "mem: offset 61", "0 or 1"},
    };
    dpa__text file = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        make_npy(&file, 1, rows[i].dict, "\0\2\0\0\0\0\0\0", 8);
        assert_bad(file.data, file.length, rows[i].place, rows[i].text);
    }
    make_npy(&file, 4, "{}", "", 0);
    assert_bad(file.data, file.length, "mem: offset 6", "version 4.0");
    make_npy(&file, 2, "{}", "", 0);
    file.data[10] = file.data[11] = (char)0xff;
    assert_bad(file.data, file.length, "mem: offset 8", "4294901762 bytes");
    dpa_array a;
    dpa_error err;
    make_npy(&file, 1, "{'descr':'|u1','fortran_order':False,'shape':(1,)}", "x", 1);
    check_bad(read_bytes(file.data, file.length, "members", &a, &err), &err, "mem", "not an NPZ",
              __FILE__, __LINE__);
    dpa__text_free(&file);
}

/* What is written is read back, for every type, and is byte for byte what numpy writes. */
static void round_trip(void **state) {
    (void)state;
    const char *path = make_file("", 0);
    dpa_error err;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        for (unsigned ndim = 0; ndim <= 3; ++ndim) {
            unsigned char bytes[6 * 8];
            for (size_t k = 0; k < sizeof bytes; ++k) bytes[k] = (unsigned char)(k & 1);
            dpa_array a = {.dtype = types[i].dtype,
                           .ndim = ndim,
                           .shape = {1, 1, 1},
                           .count = 1,
                           .data = bytes};
            if (ndim > 0) a.shape[0] = a.count = 2;
            if (ndim > 1) a.count *= a.shape[1] = 3;
            dpa_array b;
            assert_ok(dpa__array_write(path, &a, &err));
            assert_ok(dpa__array_read(path, NULL, &b, &err));
            assert_int_equal(b.dtype, a.dtype);
            assert_int_equal(b.ndim, a.ndim);
            assert_memory_equal(b.shape, a.shape, ndim * sizeof a.shape[0]);
            assert_memory_equal(b.data, bytes, a.count * types[i].size);
            dpa__array_free(&b);
        }
    (void)unlink(path);
    const dpa_array empty = {.dtype = DPA_F64, .ndim = 1, .data = NULL};
    assert_int_equal(dpa__array_write("/dev/full", &empty, &err), DPA_IO);
    assert_int_equal(dpa__array_write("/nonexistent/x.npy", &empty, &err), DPA_IO);
    assert_non_null(strstr(err.text, "No such file"));
}

/* What numpy writes for zeros((3,)), zeros((2, 1)) and zeros(()), byte for byte: the elements start
 * at a multiple of 64. */
static void header_of_numpy(void **state) {
    (void)state;
    static const struct {
        unsigned ndim;
        size_t shape[2];
        const char *dict;
    } rows[] = {{1, {3}, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"},
                {2, {2, 1}, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }"},
                {0, {0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"}};
    if (!DPA__IS_LITTLE_ENDIAN) return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        const dpa_array a = {
            .dtype = DPA_F64, .ndim = rows[k].ndim, .shape = {rows[k].shape[0], rows[k].shape[1]}};
        dpa__text got = {0}, want = {0};
        dpa__npy_header(&a, &got);
        dpa__text_add_bytes(&want, "\x93NUMPY\1\0v\0", 10); /* 'v' is 118 */
        dpa__text_printf(&want, "%-117s\n", rows[k].dict);
        assert_int_equal(got.length, 128);
        assert_memory_equal(got.data, want.data, 128);
        dpa__text_free(&got);
        dpa__text_free(&want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),      cmocka_unit_test(negative_and_large),
        cmocka_unit_test(turned),          cmocka_unit_test(every_cut),
        cmocka_unit_test(malformed),       cmocka_unit_test(round_trip),
        cmocka_unit_test(header_of_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
