/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models from files: every format gives the same vector, several files are concatenated, and bad
 * bytes are refused with the model unchanged. */
#include "check.h"

#include "base/data.h"
#include "evidence/canary.h"
#include "evidence/weights.h"

static char folder[] = "/tmp/dpa-weights-XXXXXX";

static const char *place(const char *name) {
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t size) {
    assert_ok(dpa__file_write(place(name), bytes, size, NULL));
}

/* A safetensors file from its header and data. */
static size_t safetensors(unsigned char *out, const char *header, const void *data, size_t size) {
    const uint64_t length = strlen(header);
    for (unsigned i = 0; i < 8; ++i) out[i] = (unsigned char)(length >> 8 * i);
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, size);
    return 8 + length + size;
}

static dpa_status read_bytes(const unsigned char *bytes, size_t size, dpa_weights *weights,
                             dpa_error *err) {
    dpa__stream *stream = NULL;
    char hash[DPA_SHA256_SIZE];
    assert_ok(dpa__stream_open_memory("m.safetensors", bytes, size, &stream, NULL));
    const dpa_status status = dpa__weights_from_stream(stream, weights, hash, err);
    dpa__stream_close(stream);
    return status;
}

static void formats_agree(void **state) {
    (void)state;
    float x[4] = {1.5F, -2.0F, 0.25F, 3e-5F};
    double y[2] = {0.1, -7.0};
    dpa_array array = {.dtype = DPA_F32, .ndim = 2, .shape = {2, 2}, .count = 4, .data = x};
    dpa_array wide = {.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = y};
    const char *const names[] = {"w"};
    assert_ok(dpa__array_write(place("a.npy"), &array, NULL));
    assert_ok(dpa__array_write(place("b.npy"), &wide, NULL));
    assert_ok(dpa__npz_write(place("a.npz"), names, &array, 1, NULL));
    put("a.f32", x, sizeof x);
    put("b.f64", y, sizeof y);
    static const char *const same[] = {"a.npy", "a.npz", "a.f32"};
    for (size_t i = 0; i < 3; ++i) {
        dpa_weights w = {0};
        char hash[DPA_SHA256_SIZE];
        assert_ok(dpa__weights_append(&w, place(same[i]), hash, NULL));
        assert_int_equal(w.dim, 4);
        assert_int_equal(strlen(hash), 64);
        assert_true(w.f64 == NULL);
        assert_memory_equal(w.f32, x, sizeof x);
        /* a float64 part makes the whole float64, before and after */
        assert_ok(dpa__weights_append(&w, place(i == 0 ? "b.npy" : "b.f64"), NULL, NULL));
        assert_ok(dpa__weights_append(&w, place("a.npy"), NULL, NULL));
        assert_int_equal(w.dim, 10);
        assert_true(w.f32 == NULL);
        for (size_t j = 0; j < 4; ++j) {
            assert_true(w.f64[j] == (double)x[j]);
            assert_true(w.f64[6 + j] == (double)x[j]);
        }
        assert_true(w.f64[4] == 0.1 && w.f64[5] == -7.0);
        assert_int_equal(dpa__weights_vector(&w).dim, 10);
        dpa__weights_free(&w);
    }
}

static void safetensors_by_hand(void **state) {
    (void)state;
    /* F32 1.5; BF16 1.0, -2.0; F16 0.5; the header names them out of order */
    static const unsigned char data[] = {0x00, 0x00, 0xc0, 0x3f, 0x80,
                                         0x3f, 0x00, 0xc0, 0x00, 0x38};
    static const char header[] =
        "{\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,8]},"
        "\"__metadata__\":{\"format\":\"pt\"},"
        "\"c\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}   ";
    unsigned char bytes[600];
    const size_t size = safetensors(bytes, header, data, sizeof data);
    dpa_weights w = {0};
    dpa_error err;
    assert_ok(read_bytes(bytes, size, &w, NULL));
    assert_int_equal(w.dim, 4);
    assert_true(w.f32[0] == 1.5F && w.f32[1] == 1.0F && w.f32[2] == -2.0F && w.f32[3] == 0.5F);
    for (size_t cut = 0; cut < size; ++cut) {
        assert_int_equal(read_bytes(bytes, cut, &w, &err), DPA_BAD_INPUT);
        assert_int_equal(w.dim, 4);
    }
    bytes[size] = 0;
    assert_int_equal(read_bytes(bytes, size + 1, &w, &err), DPA_BAD_INPUT);
    dpa__weights_free(&w);
}

static void bad_safetensors(void **state) {
    (void)state;
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":3}",
        "{\"a\":",
    };
    const unsigned char data[8] = {0};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; ++i) {
        unsigned char bytes[600];
        dpa_weights w = {0};
        dpa_error err;
        const size_t size = safetensors(bytes, headers[i], data, sizeof data);
        assert_int_equal(read_bytes(bytes, size, &w, &err), DPA_BAD_INPUT);
        assert_true(err.text[0] != '\0');
        assert_int_equal(w.dim, 0);
        dpa__weights_free(&w);
    }
}

static void bad_files(void **state) {
    (void)state;
    dpa_weights w = {0};
    dpa_error err;
    put("odd.f32", "abcde", 5);
    assert_int_equal(dpa__weights_append(&w, place("odd.f32"), NULL, &err), DPA_BAD_INPUT);
    assert_true(dpa__weights_append(&w, place("absent.npy"), NULL, &err) != DPA_OK);
    put("text.txt", "1\nx\n", 4);
    assert_int_equal(dpa__weights_append(&w, place("text.txt"), NULL, &err), DPA_BAD_INPUT);
    put("good.txt", "1\n2.5\n", 6);
    assert_ok(dpa__weights_append(&w, place("good.txt"), NULL, NULL));
    assert_int_equal(w.dim, 2);
    dpa__weights_free(&w);
    dpa__weights_free(NULL);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"a.npy", "b.npy",   "a.npz",    "a.f32",
                                        "b.f64", "odd.f32", "text.txt", "good.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(place(names[i]));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(safetensors_by_hand),
        cmocka_unit_test(bad_safetensors),
        cmocka_unit_test(bad_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
