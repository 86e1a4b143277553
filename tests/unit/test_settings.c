/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings by a table of keys: what is accepted, what is refused and with which message. */
#include "check.h"

#include <math.h>

#include "settings/settings.h"

typedef struct target {
    uint64_t count;
    size_t size;
    double number, rate;
    int flag, word;
    const char *text, *any, *path;
    const char *const *texts;
} target;

static const dpa__word words[] = {{"one", 1}, {"two", 2}, {0}};
#define AT(member) offsetof(target, member)
static const dpa__field top[] = {{"count", DPA__COUNT, AT(count), NULL, "a count"},
                                 {"text", DPA__TEXT, AT(text), NULL, "a text"},
                                 {"any", DPA__ANY, AT(any), NULL, "a text or none"},
                                 {0}};
static const dpa__field inner[] = {{"size", DPA__SIZE, AT(size), &dpa__some, "a size"},
                                   {"number", DPA__NUMBER, AT(number), NULL, "any number"},
                                   {"rate", DPA__NUMBER, AT(rate), &dpa__rate, "a rate", "usual"},
                                   {"flag", DPA__FLAG, AT(flag), NULL, "a flag"},
                                   {"word", DPA__WORD, AT(word), words, "a word"},
                                   {"path", DPA__PATH, AT(path), NULL, "a path"},
                                   {"texts", DPA__TEXTS, AT(texts), NULL, "texts"},
                                   {"must", DPA__ANY, AT(any), NULL, "what must be", NULL, 1},
                                   {0}};
static const dpa__section sections[] = {{"", top, 0}, {"inner", inner, 1}, {0}};

static dpa_status open_text(const char *text, size_t size, dpa__settings **out, dpa_error *err) {
    FILE *file = fopen("settings.yaml", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return dpa__settings_open("./settings.yaml", sections, out, err);
}

static void taken(void **state) {
    (void)state;
    static const char text[] = "count: 0x10\ntext: a b\nany: \"\"\n"
                               "inner: {size: +7, number: -1.5e3, rate: 1, flag: YES, word: two, "
                               "path: x/y, texts: [a, ''], must: m}\n";
    dpa__settings *s = NULL;
    dpa_error err = {0};
    target t = {.count = 5};
    assert_int_equal(open_text(text, sizeof text - 1, &s, &err), DPA_OK);
    assert_int_equal(dpa__settings_take(s, "", &t, &err), DPA_OK);
    assert_int_equal(t.count, 16);
    assert_string_equal(t.text, "a b");
    assert_string_equal(t.any, "");
    assert_int_equal(t.size, 0); /* in a section that was not taken */
    assert_int_equal(dpa__settings_take(s, "inner", &t, &err), DPA_OK);
    assert_int_equal(t.size, 7);
    assert_true(t.number == -1500 && t.rate == 1 && t.flag == 1 && t.word == 2);
    assert_string_equal(t.path, "./x/y");
    assert_string_equal(t.texts[0], "a");
    assert_string_equal(t.texts[1], "");
    assert_null(t.texts[2]);
    assert_true(dpa__settings_has(s, "inner", NULL) && dpa__settings_has(s, "inner", "rate"));
    assert_false(dpa__settings_has(s, "inner", "count") || dpa__settings_has(s, "other", NULL));
    dpa__settings_close(s);
}

/* Absent keys leave the struct as it was. */
static void silent(void **state) {
    (void)state;
    static const char text[] = "inner: {must: x}";
    dpa__settings *s = NULL;
    dpa_error err = {0};
    target t = {.count = 5, .rate = 0.5, .text = "old"};
    assert_int_equal(open_text(text, sizeof text - 1, &s, &err), DPA_OK);
    assert_int_equal(dpa__settings_take(s, "", &t, &err), DPA_OK);
    assert_int_equal(dpa__settings_take(s, "inner", &t, &err), DPA_OK);
    assert_true(t.count == 5 && t.rate == 0.5);
    assert_string_equal(t.text, "old");
    assert_null(t.texts);
    dpa__settings_close(s);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        {"", "settings.yaml", "there are no settings in it"},
        {"[1]", ":1:1", "found a list; expected settings (key: value)"},
        {"count: 1", ":1", "inner is missing"},
        {"inner: {}", ":1", "inner: must is missing: what must be"},
        {"inner: 3", ":1:8", "found a single value; expected settings"},
        {"inner: {must: [1]}", ":1:15", "found a list; expected a single value"},
        {"inner: {must: x}\nsize: 1", ":2:1", "the key size; expected count, text, any, inner"},
        {"inner: {must: x, must: y}", ":1:18", "must is given twice"},
        {"inner: {must: x, inner: 1}", ":1:18", "the key inner; expected size, number"},
        {"count: 18446744073709551616\ninner: {must: x}", ":1:8", "expected a whole number"},
        {"count: -1\ninner: {must: x}", ":1:8", "found -1; expected a whole number"},
        {"count: 1e3\ninner: {must: x}", ":1:8", "found 1e3; expected a whole number"},
        {"count: 0x\ninner: {must: x}", ":1:8", "found 0x; expected a whole number"},
        {"count:\ninner: {must: x}", ":1", "found nothing; expected a whole number"},
        {"text: ''\ninner: {must: x}", ":1:7", "found nothing; expected a text (or leave"},
        {"text: \"a\\0b\"\ninner: {must: x}", ":1:7", "a text without zero bytes"},
        {"inner: {must: x, size: 0}", ":1", "inner: size 0: expected at least 1"},
        {"inner: {must: x, rate: 0}", ":1", "inner: rate 0: expected more than 0, at most 1"},
        {"inner: {must: x, rate: 1.01}", ":1", "inner: rate 1.01: expected more than 0, at most"},
        {"inner: {must: x, rate: nan}", ":1", "rate"},
        {"inner: {must: x, number: 1x}", ":1:26", "found 1x; expected a number"},
        {"inner: {must: x, flag: 1}", ":1:24", "found 1; expected true or false"},
        {"inner: {must: x, word: three}", ":1:24", "found three; expected one, two"},
        {"inner: {must: x, path: ''}", ":1:24", "found nothing; expected a text"},
        {"inner: {must: x, texts: a}", ":1:25", "found a single value; expected a list"},
        {"inner: {must: x, texts: [[a]]}", ":1:26", "found a list; expected a single value"},
        {"inner: {must: x", ":1", "not YAML"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa__settings *s = NULL;
        dpa_error err = {0};
        assert_int_equal(open_text(cases[i].text, strlen(cases[i].text), &s, &err), DPA_BAD_INPUT);
        assert_null(s);
        if (strstr(err.place, cases[i].place) == NULL || strstr(err.text, cases[i].what) == NULL)
            fail_msg("%s: %s: %s", cases[i].text, err.place, err.text);
    }
}

static void located(void **state) {
    (void)state;
    static const char text[] = "count: 1\ninner:\n  must: x\n  rate: 1\n";
    dpa__settings *s = NULL;
    dpa_error err = {0};
    assert_int_equal(open_text(text, sizeof text - 1, &s, &err), DPA_OK);
    dpa__settings_close(s);
    err = (dpa_error){.place = "settings.yaml", .text = "inner: rate 1: no"};
    assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "settings.yaml:4");
    err = (dpa_error){.place = "settings.yaml", .text = "inner: give either"};
    assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "settings.yaml:2");
    err = (dpa_error){.place = "settings.yaml", .text = "other: no"};
    assert_int_equal(dpa__settings_locate(DPA_IO, &err), DPA_IO);
    assert_string_equal(err.place, "settings.yaml");
}

static void described(void **state) {
    (void)state;
    dpa__text out = {0};
    const target defaults = {.size = 3, .number = (double)NAN, .word = 2, .path = "p"};
    dpa__settings_describe(&sections[1], &defaults, &out);
    assert_string_equal(out.data, "inner:\n"
                                  "  size: whole number, at least 1 (3)\n      a size\n"
                                  "  number: number (none)\n      any number\n"
                                  "  rate: number, more than 0, at most 1 (usual)\n      a rate\n"
                                  "  flag: true or false (false)\n      a flag\n"
                                  "  word: one, two (two)\n      a word\n"
                                  "  path: path, from this file's folder (p)\n      a path\n"
                                  "  texts: list of texts (none)\n      texts\n"
                                  "  must: text (needed)\n      what must be\n\n");
    dpa__text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(taken), cmocka_unit_test(silent),
                                       cmocka_unit_test(refused), cmocka_unit_test(located),
                                       cmocka_unit_test(described)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
