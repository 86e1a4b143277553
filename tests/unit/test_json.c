/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON files: places of errors, duplicate keys, depth, locale. */
#include "readers.h"

#include "base/json.h"

static dpa_status read_json(const char *text, size_t size, json_t **out, dpa_error *err) {
    dpa__stream *stream;
    assert_ok(dpa__stream_open_memory("mem", text, size, &stream, err));
    const dpa_status status = dpa__json_from_stream(stream, out, NULL, err);
    dpa__stream_close(stream);
    return status;
}

static void good(void **state) {
    (void)state;
    static const char text[] = "\xef\xbb\xbf{\"a\": [1, 2.5, \"x\\\"[[\"], \"b\": null}\n";
    json_t *root;
    dpa_error err;
    assert_ok(read_json(text, strlen(text), &root, &err));
    assert_int_equal(json_array_size(json_object_get(root, "a")), 3);
    assert_true(json_real_value(json_array_get(json_object_get(root, "a"), 1)) == 2.5);
    json_decref(root);
    const char *path = make_file("[1]", 3);
    char sha[DPA_SHA256_SIZE] = "";
    assert_ok(dpa__json_read(path, &root, sha, &err));
    assert_int_equal(strlen(sha), 64);
    json_decref(root);
    (void)unlink(path);
}

static void bad(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } rows[] = {{"", "mem", "empty"},
                {"{", "mem:1:1", "not JSON"},
                {"{\"a\": 1,\n \"a\": 2}", "mem:2:4", "duplicate"},
                {"[1,\n2,\nx]", "mem:3:1", "not JSON"},
                {"[1] 2", "mem:1:5", "not JSON"},
                {"[1e999]", "mem:1:6", "overflow"},
                {"[NaN]", "mem:1:4", "not JSON"},
                {"[\"\xff\"]", "mem:1:2", "0xff"},
                {"[\"\\u0000\"]", "mem:1:9", "not JSON"},
                {"[\"a", "mem:1:3", "not JSON"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        json_t *root;
        dpa_error err = {0};
        check_bad(read_json(rows[i].text, strlen(rows[i].text), &root, &err), &err, rows[i].place,
                  rows[i].reason, __FILE__, __LINE__);
        assert_null(root);
    }
    json_t *root;
    dpa_error err;
    assert_int_equal(dpa__json_read("/nonexistent", &root, NULL, &err), DPA_BAD_INPUT);
}

static void depth(void **state) {
    (void)state;
    char text[2 * DPA__JSON_DEPTH + 16];
    for (int n = DPA__JSON_DEPTH; n <= DPA__JSON_DEPTH + 1; ++n) {
        json_t *root = NULL;
        dpa_error err = {0};
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        const dpa_status status = read_json(text, 2 * (size_t)n, &root, &err);
        assert_int_equal(status, n > DPA__JSON_DEPTH ? DPA_BAD_INPUT : DPA_OK);
        if (status != DPA_OK) assert_string_equal(err.place, "mem:1:65");
        json_decref(root);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
        cmocka_unit_test(depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
