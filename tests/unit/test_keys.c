/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structs that are filled by the names of their fields. */
#include "check.h"

#include "base/keys.h"

typedef enum colour { RED, GREEN, GREENISH } colour;

typedef struct thing {
    double number;
    uint32_t narrow;
    uint64_t wide;
    uint32_t few;
    int flag;
    colour paint;
    char text[4];
    const char *name;
} thing;

static const dpa__key keys[] = {DPA__KEY(NUMBER, "number", thing, number),
                                DPA__KEY(COUNT, "narrow", thing, narrow),
                                DPA__KEY(COUNT, "wide", thing, wide),
                                DPA__KEY_OF(COUNT, "few", thing, few, .most = 7),
                                DPA__KEY(FLAG, "flag", thing, flag),
                                DPA__KEY_OF(WORD, "paint", thing, paint, "red|green|greenish"),
                                DPA__KEY(TEXT, "text", thing, text),
                                DPA__KEY(NAME, "name", thing, name),
                                {0}};

static void good(void **state) {
    (void)state;
    static const char *const given[][2] = {{"number", "-2.5e-3"},
                                           {"narrow", "4294967295"},
                                           {"wide", "18446744073709551615"},
                                           {"few", "7"},
                                           {"flag", "1"},
                                           {"paint", "greenish"},
                                           {"text", "abc"},
                                           {"name", "anything at all"}};
    thing t = {0};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i)
        assert_ok(dpa__keys_set(keys, &t, given[i][0], given[i][1], NULL));
    assert_true(t.number == -2.5e-3);
    assert_true(t.narrow == UINT32_MAX && t.wide == UINT64_MAX && t.few == 7);
    assert_int_equal(t.flag, 1);
    assert_int_equal(t.paint, GREENISH);
    assert_string_equal(t.text, "abc");
    assert_ptr_equal(t.name, given[7][1]);
    static const char *const words[] = {"red", "green"};
    for (int i = 0; i < 2; ++i) {
        assert_ok(dpa__keys_set(keys, &t, "paint", words[i], NULL));
        assert_int_equal(t.paint, i);
    }
    assert_ok(dpa__keys_set(keys, &t, "flag", "0", NULL));
    assert_int_equal(t.flag, 0);
    assert_ok(dpa__keys_set(keys, &t, "narrow", "0", NULL));
    assert_int_equal(t.narrow, 0);
    assert_true(t.wide == UINT64_MAX && t.few == 7); /* the neighbours */
    assert_ok(dpa__keys_set(keys, &t, "text", "", NULL));
    assert_string_equal(t.text, "");
}

static void bad(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *text;
    } rows[] = {{"number", "x", "number: 'x' is not a number"},
                {"number", "nan", "number: 'nan' is not a number"},
                {"number", "1 ", "number: '1 ' is not a number"},
                {"narrow", "4294967296", "narrow: at most 4294967295, not 4294967296"},
                {"wide", "18446744073709551616",
                 "wide: '18446744073709551616' is not a whole number from 0 to 2^64-1"},
                {"wide", "-1", "wide: '-1' is not a whole number from 0 to 2^64-1"},
                {"wide", "", "wide: '' is not a whole number from 0 to 2^64-1"},
                {"wide", "1x", "wide: '1x' is not a whole number from 0 to 2^64-1"},
                {"few", "8", "few: at most 7, not 8"},
                {"flag", "2", "flag: '2' is none of 0|1"},
                {"paint", "gree", "paint: 'gree' is none of red|green|greenish"},
                {"paint", "blues", "paint: 'blues' is none of red|green|greenish"},
                {"paint", "", "paint: '' is none of red|green|greenish"},
                {"text", "abcd", "text: longer than 3 characters"},
                {"name", NULL, "name: needs a value"},
                {"colour", "red", "no option is called 'colour'"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        thing t = {0};
        const thing untouched = {0};
        dpa_error err = {0};
        assert_int_equal(dpa__keys_set(keys, &t, rows[i].key, rows[i].value, &err),
                         DPA_BAD_ARGUMENT);
        assert_string_equal(err.text, rows[i].text);
        assert_memory_equal(&t, &untouched, sizeof t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
