/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing texts, excerpts, UTF-8, checked allocation, and the making of errors. */
#include "check.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

static void grows(void **state) {
    (void)state;
    dpa__text t = {0};
    char *out = NULL;
    for (int i = 0; i < 2000; ++i) {
        dpa__text_add(&t, "ab");
        dpa__text_printf(&t, "%d", i % 10);
        assert_true(t.capacity > t.length);
        assert_int_equal(t.length, 3 * (size_t)(i + 1));
        assert_int_equal(strlen(t.data), t.length);
    }
    assert_ok(dpa__text_take(&t, &out, NULL));
    assert_null(t.data);
    assert_int_equal(t.length, 0);
    assert_int_equal(strlen(out), 6000);
    for (int i = 0; i < 2000; ++i) {
        assert_memory_equal(out + 3 * i, "ab", 2);
        assert_int_equal(out[3 * i + 2], '0' + i % 10);
    }
    free(out);
    assert_ok(dpa__text_take(&t, &out, NULL)); /* an empty text is still a string */
    assert_string_equal(out, "");
    free(out);
}

/* One piece of each length, so that some of them end exactly at the end of the block. */
static void fits(void **state) {
    (void)state;
    char bytes[600];
    memset(bytes, 'x', sizeof bytes);
    for (size_t n = 0; n < sizeof bytes; ++n) {
        dpa__text t = {0};
        dpa__text_add_bytes(&t, bytes, n);
        assert_int_equal(t.length, n);
        assert_int_equal(strlen(t.data), n);
        assert_true(t.capacity > n && t.capacity <= 2 * (n > 127 ? n + 1 : 128));
        dpa__text_free(&t);
    }
}

static void failed(void **state) {
    (void)state;
    dpa__text t = {.failed = 1};
    dpa_error err;
    char *out = NULL;
    dpa__text_add(&t, "x");
    dpa__text_printf(&t, "%d", 1);
    assert_null(t.data);
    assert_int_equal(dpa__text_take(&t, &out, &err), DPA_NO_MEMORY);
    assert_null(out);
    char small[4];
    assert_int_equal(dpa__print(small, sizeof small, "%.2f", 1.5), 4); /* as snprintf */
    assert_string_equal(small, "1.5");
}

/* Sizes that overflow are refused before anything is allocated. */
static void too_large(void **state) {
    (void)state;
    static const char want[] = "no memory for 4611686018427387905 elements of 4 bytes";
    const size_t count = ((size_t)1 << 62) + 1; /* times 4 is 4, modulo 2^64 */
    dpa_error err;
    assert_null(dpa__malloc(count, 4, &err));
    assert_string_equal(err.text, want);
    err.text[0] = '\0';
    assert_null(dpa__calloc(count, 4, &err));
    assert_string_equal(err.text, want);
    err.text[0] = '\0';
    assert_null(dpa__realloc(NULL, count, 4, &err));
    assert_string_equal(err.text, want);
    assert_null(dpa__malloc((size_t)PTRDIFF_MAX + 1, 1, NULL));
    /* none at all is a block too, which can be freed */
    void *blocks[3] = {dpa__malloc(0, 8, NULL), dpa__calloc(8, 0, NULL),
                       dpa__realloc(NULL, 0, 0, NULL)};
    for (int i = 0; i < 3; ++i) {
        assert_non_null(blocks[i]);
        free(blocks[i]);
    }
    char *copy = dpa__strdup("abc", NULL);
    assert_string_equal(copy, "abc");
    free(copy);
    unsigned char *zeros = dpa__calloc(10, 3, NULL);
    assert_non_null(zeros);
    for (int i = 0; i < 30; ++i) assert_int_equal(zeros[i], 0);
    free(zeros);
}

static void check_excerpt(const char *text, const char *want) {
    char out[DPA__EXCERPT_SIZE];
    assert_string_equal(dpa__excerpt(out, text, text + strlen(text)), want);
}

/* Printable ASCII up to the end of the line; too long a text is cut, and says so. */
static void excerpts(void **state) {
    (void)state;
    char text[DPA__EXCERPT_SIZE + 2], want[DPA__EXCERPT_SIZE];
    check_excerpt("", "");
    check_excerpt("a b~\n", "a b~");
    check_excerpt("a\r\nb", "a");
    check_excerpt("\x1f \x7f\t\xc3\xa4!", "? ???\?!");
    memset(text, 'x', sizeof text);
    text[DPA__EXCERPT_SIZE - 4] = '\0';
    check_excerpt(text, text); /* as long as it may be */
    text[DPA__EXCERPT_SIZE - 4] = '\n';
    text[DPA__EXCERPT_SIZE - 3] = '\0';
    memset(want, 'x', DPA__EXCERPT_SIZE - 4);
    want[DPA__EXCERPT_SIZE - 4] = '\0';
    check_excerpt(text, want);
    text[DPA__EXCERPT_SIZE - 4] = 'x';
    (void)snprintf(want + DPA__EXCERPT_SIZE - 4, 4, "...");
    check_excerpt(text, want);
}

/* The first and last character of every row of RFC 3629, section 4, and their neighbours. */
static void utf8(void **state) {
    (void)state;
    static const char *const good[] = {"\x01",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xe0\xbf\xbf",
                                       "\xe1\x80\x80",
                                       "\xec\xbf\xbf",
                                       "\xed\x80\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf0\xbf\xbf\xbf",
                                       "\xf1\x80\x80\x80",
                                       "\xf3\xbf\xbf\xbf",
                                       "\xf4\x80\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x7f",
                                      "\xc2\xc0",
                                      "\xdf\x7f",
                                      "\xe0\x9f\xbf",
                                      "\xe0\x80\x80",
                                      "\xe0\xa0",
                                      "\xe1\x80\x7f",
                                      "\xe1\x80\xc0",
                                      "\xe1\x7f\x80",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x90\x80",
                                      "\xf1\x80\x80\x7f",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};
    char text[32];
    for (size_t before = 0; before < 17; ++before) {
        memset(text, 'a', sizeof text);
        for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
            const size_t length = strlen(good[i]);
            memcpy(text + before, good[i], length);
            assert_int_equal(dpa__utf8_span(text, before + length), before + length);
        }
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
            const size_t length = strlen(bad[i]);
            memset(text, 'a', sizeof text);
            memcpy(text + before, bad[i], length);
            assert_int_equal(dpa__utf8_span(text, before + length), before);
        }
        memset(text, 'a', sizeof text);
        text[before] = '\0'; /* is not text either */
        assert_int_equal(dpa__utf8_span(text, sizeof text), before);
    }
    dpa_error err;
    assert_ok(dpa__utf8_check("f", "a\nb", 3, &err));
    assert_int_equal(dpa__utf8_check("f", "a\n\nbc\xff", 6, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "f:3:3");
    assert_string_equal(err.text, "found byte 0xff, which is not text; UTF-8 is right");
    assert_int_equal(dpa__utf8_mark("\xef\xbb\xbfx", 4), 3);
    assert_int_equal(dpa__utf8_mark("\xef\xbb\xbf", 3), 3);
    assert_int_equal(dpa__utf8_mark("\xef\xbb\xbf", 2), 0);
    assert_int_equal(dpa__utf8_mark("\xef\xbb\xbe", 3), 0);
}

static void check_tamed(const char *text, const char *kept, const char *want) {
    char copy[64];
    (void)snprintf(copy, sizeof copy, "%s", text);
    dpa__utf8_tame(copy, kept);
    assert_string_equal(copy, want);
}

static void tamed(void **state) {
    (void)state;
    check_tamed("a\nb\tc\rd", "", "a b c d");
    check_tamed("a\nb\tc", "\n", "a\nb c");
    check_tamed("\x01\x1b[31m\x1f \x7f~", "", "??[31m? ?~");
    check_tamed("\xc2\x80|\xc2\x9f|\xc2\xa0|\xc3\x80", "", "?\?|?\?|\xc2\xa0|\xc3\x80");
}

static void statuses(void **state) {
    (void)state;
    assert_string_equal(dpa_status_text((dpa_status)-1), "unknown status");
    assert_string_equal(dpa_status_text((dpa_status)1000), "unknown status");
    assert_int_equal(dpa_status_exit_code((dpa_status)-1), 4);
    assert_int_equal(dpa_status_exit_code((dpa_status)1000), 4);
    assert_int_equal(dpa_status_exit_code(DPA_OK), 0);
#define ROW(name, code, words)                                                                     \
    assert_string_equal(dpa_status_text(DPA_##name), words);                                       \
    assert_int_equal(dpa_status_exit_code(DPA_##name), code);
    DPA_STATUS_LIST(ROW)
#undef ROW
}

/* Each kind of place, and a name that is given afterwards to those that have none. */
static void places(void **state) {
    (void)state;
    dpa_error err = {0};
    assert_int_equal(dpa__fail_line(&err, DPA_BAD_INPUT, "f", 3, 4, "x%d", 1), DPA_BAD_INPUT);
    assert_string_equal(err.place, "f:3:4");
    assert_string_equal(err.text, "x1");
    assert_int_equal(err.status, DPA_BAD_INPUT);
    assert_int_equal(dpa__fail_line(&err, DPA_IO, "f", 3, 0, "x"), DPA_IO);
    assert_string_equal(err.place, "f:3");
    assert_int_equal(dpa__fail_offset(&err, DPA_BAD_INPUT, "f", 7, "x"), DPA_BAD_INPUT);
    assert_string_equal(err.place, "f: offset 7");
    assert_int_equal(dpa__name_place(DPA_BAD_INPUT, "g", &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "f: offset 7"); /* it has one */
    assert_int_equal(dpa__fail(&err, DPA_BAD_INPUT, "50%% \x1b"), DPA_BAD_INPUT);
    assert_string_equal(err.place, "");
    assert_int_equal(dpa__name_place(DPA_BAD_INPUT, "g\n", &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "g ");
    assert_string_equal(err.text, "50% ?");
    assert_int_equal(dpa__fail(&err, DPA_IO, "x"), DPA_IO);
    assert_int_equal(dpa__name_place(DPA_IO, "g", &err), DPA_IO);
    assert_string_equal(err.place, ""); /* not the file's fault */
    assert_int_equal(dpa__name_place(DPA_BAD_INPUT, "g", NULL), DPA_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),     cmocka_unit_test(fits),     cmocka_unit_test(failed),
        cmocka_unit_test(too_large), cmocka_unit_test(excerpts), cmocka_unit_test(utf8),
        cmocka_unit_test(tamed),     cmocka_unit_test(statuses), cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
