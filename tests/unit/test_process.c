/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines and the programs that they start. */
#include "check.h"

#include "base/process.h"

static dpa_error err;

static void check_words(const char *line, size_t count, const char *const *want) {
    dpa__words words;
    assert_ok(dpa__words_split(line, &words, &err));
    assert_int_equal(words.count, count);
    for (size_t i = 0; i < count; ++i) assert_string_equal(words.items[i], want[i]);
    assert_null(words.items[count]);
    dpa__words_free(&words);
}

static void words(void **state) {
    (void)state;
    check_words("a", 1, (const char *const[]){"a"});
    check_words("  sh  -c 'echo \"$x\"'\t{out}\n", 4,
                (const char *const[]){"sh", "-c", "echo \"$x\"", "{out}"});
    check_words("a\\ b \"c \\\" d\" '' e'f'g 'h\\'", 5,
                (const char *const[]){"a b", "c \" d", "", "efg", "h\\"});
    check_words("a b c d e f g h", 8,
                (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h"});
    dpa__words none;
    assert_int_equal(dpa__words_split(" \n", &none, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__words_split("a 'b", &none, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__words_split("a \"b'", &none, &err), DPA_BAD_INPUT);
}

static dpa_status run(const char *line, const char *folder) {
    dpa__words split;
    static const char *const more[] = {"DPA_TEST_WORD=hello", "PATH=/bin:/usr/bin", NULL};
    assert_ok(dpa__words_split(line, &split, &err));
    const dpa__command command = {split.items, more, folder};
    const dpa_status status = dpa__command_run(&command, &err);
    dpa__words_free(&split);
    return status;
}

static void ends(void **state) {
    (void)state;
    assert_ok(run("true", NULL));
    assert_ok(run("sh -c 'test \"$DPA_TEST_WORD\" = hello && test \"$PWD\" = /usr'", "/usr"));
    assert_ok(run("sh -c 'cat | cmp - /dev/null'", NULL)); /* no input */
    assert_int_equal(run("sh -c 'exit 7'", NULL), DPA_IO);
    assert_non_null(strstr(err.text, "exit code 7"));
    assert_int_equal(run("sh -c 'kill -9 $$'", NULL), DPA_IO);
    assert_non_null(strstr(err.text, "signal 9"));
    assert_int_equal(run("no-such-program", NULL), DPA_IO);
    assert_non_null(strstr(err.text, "'no-such-program'"));
    assert_int_equal(run("true", "/no/such/folder"), DPA_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
