/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON files: places of errors, duplicate keys, depth, locale; and JSON that is written. */
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

static void check_text(const json_t *value, int indent, const char *want) {
    dpa__text text = {0};
    dpa__json_write(&text, value, indent);
    assert_string_equal(text.data, want);
    dpa__text_free(&text);
}

/* On one line, and indented: an array without objects or arrays in it stays on its line. */
static void written(void **state) {
    (void)state;
    static const char text[] = "{\"a\": [1, -2, 0.5, true, false, null], \"b\\\"\\\\\\u001f\": "
                               "[[], {}, [\"x\\ty\u00e4\"]], \"c\": {\"d\": {\"e\": \"\"}}}";
    json_t *root = NULL;
    assert_ok(dpa__json_parse("mem", text, strlen(text), &root, NULL));
    check_text(root, -1,
               "{\"a\": [1, -2, 0.5, true, false, null], \"b\\\"\\\\\\u001f\": "
               "[[], {}, [\"x\\u0009y\u00e4\"]], \"c\": {\"d\": {\"e\": \"\"}}}");
    check_text(root, 0,
               "{\n \"a\": [1, -2, 0.5, true, false, null],\n \"b\\\"\\\\\\u001f\": "
               "[\n  [],\n  {},\n  [\"x\\u0009y\u00e4\"]],\n \"c\": {\n  \"d\": {\n   "
               "\"e\": \"\"}}}");
    json_decref(root);
}

/* The shortest digits that give the same double back. */
static void shortest(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.0, "0"},
                {-0.0, "0"},
                {50.0, "50"},
                {-3.0, "-3"},
                {0.1, "0.1"},
                {-2.5, "-2.5"},
                {1e-5, "1e-05"},
                {1.0 / 3.0, "0.3333333333333333"},
                {0.1 + 0.2, "0.30000000000000004"},
                {999999999999999.0, "999999999999999"},
                {1e15, "1e+15"},
                {-1e15, "-1e+15"},
                {123456789012345.6, "123456789012345.6"},
                {1.7976931348623157e308, "1.7976931348623157e+308"},
                {2.2250738585072014e-308, "2.2250738585072014e-308"},
                {5e-324, "5e-324"},
                {1.5e-323, "1.5e-323"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[40];
        dpa__number_text(rows[i].value, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
}

/* What JSON cannot say is null, bytes that are not UTF-8 are question marks. */
static void made(void **state) {
    (void)state;
    json_t *root = json_object(), *rows = json_array(), *copy;
    assert_ok(dpa__json_put(root, "a", 1.5, NULL));
    assert_ok(dpa__json_put(root, "b", (double)NAN, NULL));
    assert_ok(dpa__json_put(root, "c", -HUGE_VAL, NULL));
    assert_ok(DPA__JSON_FILL(root, NULL, {"d", 2.0, NULL}, {"e", 3.0, "x"}));
    assert_ok(DPA__JSON_ADD(rows, NULL, {"f", 4.0, NULL}));
    assert_ok(DPA__JSON_ADD(rows, NULL, {"g", 0.0, "\xff\x80~\x7f\xc3\xa4"}));
    assert_ok(dpa__json_append(rows, dpa__json_text("\xc3\xa4"), NULL));
    assert_ok(dpa__json_set(root, "h", rows, NULL));
    copy = dpa__json_copy(root);
    check_text(copy, -1,
               "{\"a\": 1.5, \"b\": null, \"c\": null, \"d\": 2, \"e\": \"x\", "
               "\"h\": [{\"f\": 4}, {\"g\": \"?\?~\x7f?\?\"}, \"\xc3\xa4\"]}");
    assert_ptr_equal(json_object_get(copy, "h"), rows);
    json_decref(copy);
    json_decref(root);
    dpa_error err;
    json_t *list = json_array();
    assert_int_equal(dpa__json_append(list, NULL, &err), DPA_NO_MEMORY);
    assert_string_equal(err.text, "no memory for a part of the report");
    assert_int_equal(dpa__json_set(list, "k", NULL, &err), DPA_NO_MEMORY);
    assert_string_equal(err.text, "no memory for 'k' in the report");
    json_decref(list);
}

/* Brackets in strings do not count, closed ones are closed, and a line's column starts again. */
static void depth_counts_outside_strings(void **state) {
    (void)state;
    dpa_error err = {0};
    json_t *root = NULL;
    dpa__text text = {0};
    dpa__text_add(&text, "[\"\\\"");
    for (int i = 0; i < 2 * DPA__JSON_DEPTH; ++i) dpa__text_add(&text, "[{");
    dpa__text_add(&text, "\"");
    for (int i = 0; i < 2 * DPA__JSON_DEPTH; ++i) dpa__text_add(&text, ",[],{}");
    dpa__text_add(&text, "]");
    assert_ok(dpa__json_parse("mem", text.data, text.length, &root, &err));
    json_decref(root);
    text.length = 0;
    dpa__text_add(&text, "[\n\n ");
    for (int i = 0; i < DPA__JSON_DEPTH; ++i) dpa__text_add(&text, "[");
    assert_int_equal(dpa__json_parse("mem", text.data, text.length, &root, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "mem:3:65");
    dpa__text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
        cmocka_unit_test(depth),
        cmocka_unit_test(written),
        cmocka_unit_test(shortest),
        cmocka_unit_test(made),
        cmocka_unit_test(depth_counts_outside_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
