/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings by a table of keys: what is accepted, what is refused and with which message. */
#include "check.h"

#include <math.h>

#include "base/data.h"
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

/* Every way to write a value. */
static void spelled(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } counts[] = {{"0", 0},      {"+12", 12},  {"0X1f", 31},
                  {"0xAb", 171}, {"007", 7},   {"18446744073709551615", UINT64_MAX},
                  {"0x10", 16},  {"+0x10", 16}};
    static const struct {
        const char *text;
        int flag;
    } flags[] = {{"true", 1}, {"True", 1}, {"yes", 1}, {"false", 0}, {"FALSE", 0}, {"no", 0}};
    static const char *const paths[][2] = {
        {"-", "-"}, {"/a/b", "/a/b"}, {"b", "./b"}, {"../b", "./../b"}};
    char text[200];
    dpa__settings *s = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        target t = {.count = 99};
        (void)snprintf(text, sizeof text, "count: %s\ninner: {must: x}", counts[i].text);
        assert_ok(open_text(text, strlen(text), &s, NULL));
        assert_ok(dpa__settings_take(s, "", &t, NULL));
        assert_true(t.count == counts[i].count);
        dpa__settings_close(s);
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i) {
        target t = {.flag = 9};
        (void)snprintf(text, sizeof text, "inner: {must: x, flag: %s, texts: []}", flags[i].text);
        assert_ok(open_text(text, strlen(text), &s, NULL));
        assert_ok(dpa__settings_take(s, "inner", &t, NULL));
        assert_int_equal(t.flag, flags[i].flag);
        assert_null(t.texts);
        dpa__settings_close(s);
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        target t = {0};
        (void)snprintf(text, sizeof text, "inner: {must: x, path: '%s'}", paths[i][0]);
        assert_ok(open_text(text, strlen(text), &s, NULL));
        assert_ok(dpa__settings_take(s, "inner", &t, NULL));
        assert_string_equal(t.path, paths[i][1]);
        dpa__settings_close(s);
    }
    char *alone = dpa__path_beside("settings.yaml", "x", NULL);
    assert_string_equal(alone, "x");
    free(alone);
}

/* Ends of ranges, each in or out. */
static void ranged(void **state) {
    (void)state;
    static const dpa__range *const ranges[] = {&dpa__positive, &dpa__finite, &dpa__rate,
                                               &dpa__probability, &dpa__some};
    static const struct {
        const char *value;
        int in[5];
    } cases[] = {{"0", {0, 0, 0, 0, 0}},     {"1e-9", {1, 1, 1, 1, 0}}, {"1", {1, 1, 1, 0, 1}},
                 {"0.999", {1, 1, 1, 1, 0}}, {"2", {1, 1, 0, 0, 1}},    {"inf", {1, 0, 0, 0, 1}}};
    for (size_t r = 0; r < 5; ++r)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
            double value = -1;
            const dpa__field fields[] = {{"x", DPA__NUMBER, 0, ranges[r], "x"}, {0}};
            const dpa__section own[] = {{"", fields, 0}, {0}};
            dpa__settings *s = NULL;
            dpa_error err = {0};
            FILE *file = fopen("settings.yaml", "wb");
            assert_true(fprintf(file, "x: %s\n", cases[i].value) > 0 && fclose(file) == 0);
            const dpa_status status = dpa__settings_open("settings.yaml", own, &s, &err);
            assert_int_equal(status, cases[i].in[r] ? DPA_OK : DPA_BAD_INPUT);
            if (status != DPA_OK) {
                const int ends = ranges[r]->most == 1;
                const char *most = ranges[r]->most_is_out ? ", less than 1" : ", at most 1";
                assert_int_equal(strstr(err.text, most) != NULL, ends);
                assert_non_null(
                    strstr(err.text, ranges[r]->least_is_out ? "more than 0" : "at least 1"));
                assert_string_equal(err.place, "settings.yaml:1");
                continue;
            }
            assert_ok(dpa__settings_take(s, "", &value, NULL));
            double expected = strcmp(cases[i].value, "inf") == 0 ? (double)INFINITY : -2;
            assert_true(isinf(expected) || dpa__number_whole(cases[i].value, &expected));
            assert_true(value == expected);
            dpa__settings_close(s);
        }
}

/* What stands for too much is refused before a tree is built: sections in each other, aliases,
 * bytes. */
static void bounded(void **state) {
    (void)state;
    static char text[(1 << 20) + 100];
    dpa__settings *s = NULL;
    dpa_error err = {0};
    for (int depth = 15; depth <= 17; ++depth) { /* counting the section around the list */
        size_t n = (size_t)snprintf(text, sizeof text, "any: ");
        for (int i = 1; i < depth; ++i) text[n++] = '[';
        for (int i = 1; i < depth; ++i) text[n++] = ']';
        assert_int_equal(open_text(text, n, &s, &err), DPA_BAD_INPUT);
        assert_int_equal(strstr(err.text, "more than 16 lists or sections in each other") != NULL,
                         depth == 17);
        if (depth == 17) assert_string_equal(err.place, "./settings.yaml:1:21");
    }
    for (int aliases = 99; aliases <= 101; ++aliases) {
        size_t n = (size_t)snprintf(text, sizeof text, "inner: {must: &x a, texts: [");
        for (int i = 0; i < aliases; ++i) n += (size_t)snprintf(text + n, sizeof text - n, "*x, ");
        n += (size_t)snprintf(text + n, sizeof text - n, "]}\n");
        const dpa_status status = open_text(text, n, &s, &err);
        assert_int_equal(status, aliases <= 100 ? DPA_OK : DPA_BAD_INPUT);
        if (status != DPA_OK) assert_non_null(strstr(err.text, "more than 100 aliases"));
        if (status == DPA_OK) dpa__settings_close(s);
    }
    const char *start = "inner: {must: x}\n#";
    memset(text, 'a', sizeof text);
    memcpy(text, start, strlen(start));
    assert_ok(open_text(text, 1 << 20, &s, &err));
    dpa__settings_close(s);
    assert_int_equal(open_text(text, (1 << 20) + 1, &s, &err), DPA_BAD_INPUT);
}

/* Values as the text that keys of trials are made of: exact numbers, texts in one line each. */
static void put(void **state) {
    (void)state;
    const target t = {.count = 7,
                      .size = 3,
                      .number = 0.1,
                      .rate = (double)INFINITY,
                      .flag = 1,
                      .word = 2,
                      .text = "a\\b\nc",
                      .path = NULL};
    dpa__text out = {0};
    dpa__settings_put(
        sections, "count text inner.size inner.number inner.flag inner.word inner.path", &t, &out);
    assert_false(out.failed);
    assert_string_equal(out.data, "count: 7\ntext: a\\\\b\\nc\ninner.size: 3\n"
                                  "inner.number: 0.1\ninner.flag: true\ninner.word: two\n"
                                  "inner.path: \n");
    dpa__text_free(&out);
    out = (dpa__text){0};
    dpa__settings_put(sections, "count other", &t, &out);
    assert_true(out.failed);
    dpa__text_free(&out);
    assert_ptr_equal(dpa__settings_field(sections, "count"), &top[0]);
    assert_ptr_equal(dpa__settings_field(sections, "inner.size"), &inner[0]);
    assert_ptr_equal(dpa__settings_field(sections, "inner.must rest"), &inner[7]);
    static const char *const none[] = {"inne.size", "innes.size", "inner.siz", "inner.sizes",
                                       "size",      "counts",     "coun",      "other.size"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i)
        assert_null(dpa__settings_field(sections, none[i]));
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
    static const char *const nowhere[] = {"other: no", "no section", ": rate", "rate: no"};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; ++i) {
        err = (dpa_error){.place = "settings.yaml"};
        (void)snprintf(err.text, sizeof err.text, "%s", nowhere[i]);
        assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, &err), DPA_BAD_INPUT);
        assert_string_equal(err.place, "settings.yaml");
    }
    err = (dpa_error){.place = "settings.yaml", .text = "count: no"};
    assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "settings.yaml:1");
    err = (dpa_error){.place = "absent.yaml", .text = "count: no"};
    assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "absent.yaml");
    assert_int_equal(dpa__settings_locate(DPA_BAD_INPUT, NULL), DPA_BAD_INPUT);
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
    out = (dpa__text){0};
    static const dpa__field fields[] = {
        {"often", DPA__NUMBER, AT(rate), &dpa__probability,
         "help of so many words that it does not fit into a line of seventy-nine letters, x",
         "what is usual is said here, and it is long enough for a second line"},
        {"free", DPA__NUMBER, AT(number), &dpa__finite, "y"},
        {"text", DPA__TEXT, AT(text), NULL, "z"},
        {0}};
    const dpa__section own = {"", fields, 0};
    const target more = {.number = (double)INFINITY};
    dpa__settings_describe(&own, &more, &out);
    assert_string_equal(
        out.data, "often: number, more than 0, less than 1 (what is usual is said here, and it is\n"
                  "        long enough for a second line)\n"
                  "    help of so many words that it does not fit into a line of seventy-nine\n"
                  "    letters, x\n"
                  "free: number, more than 0 (no limit)\n    y\n"
                  "text: text (none)\n    z\n\n");
    dpa__text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken),   cmocka_unit_test(silent),  cmocka_unit_test(refused),
        cmocka_unit_test(spelled), cmocka_unit_test(ranged),  cmocka_unit_test(bounded),
        cmocka_unit_test(put),     cmocka_unit_test(located), cmocka_unit_test(described)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
