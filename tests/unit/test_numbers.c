/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with one number per line. */
#include "readers.h"

#include "base/rng.h"

static void good(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        double last;
    } rows[] = {{"1", 1, 1},
                {"1\n", 1, 1},
                {"1\n2\n", 2, 2},
                {"1\r\n2\r\n", 2, 2},
                {"\xef\xbb\xbf"
                 "1\n-2.5e3",
                 2, -2500},
                {" 1 \n\t2\t\n", 2, 2},
                {"1\n2\n\n\n \n\r\n", 2, 2},
                {"1\n2\r", 2, 2},
                {"inf\n-inf\n", 2, -HUGE_VAL},
                {"7\n1e-400\n", 2, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_array a;
        dpa_error err;
        assert_ok(read_bytes(rows[i].text, strlen(rows[i].text), NULL, &a, &err));
        assert_int_equal(a.count, rows[i].count);
        assert_int_equal(a.ndim, 1);
        assert_int_equal(a.shape[0], a.count);
        assert_int_equal(a.dtype, DPA_F64);
        assert_true(((double *)a.data)[a.count - 1] == rows[i].last);
        dpa__array_free(&a);
    }
}

static void bad(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } rows[] = {{"", "mem", "empty"},
                {"\n\n", "mem", "empty"},
                {"\xef\xbb\xbf", "mem", "empty"},
                {"score\n1\n", "mem:1:1", "'score' is not a number"},
                {"1\n\n2\n", "mem:2", "empty"},
                {"1\n\n \n2\n", "mem:2", "empty"},
                {"\n1\n", "mem:1", "empty"},
                {"1,2\n", "mem:1:2", "one number a line"},
                {"1\n 2 3\n", "mem:2:4", "found '3' after"},
                {"0x10\n", "mem:1:2", "found 'x10' after"},
                {"1\n1e999\n", "mem:2:1", "too large"},
                {"1\r2\n", "mem:1:2", "after"},
                {"1\n\xff\n", "mem:2:1", "'?' is not a number"},
                {"abcdefghijabcdefghijabcdefghijabcdefghij", "mem:1:1", "...' is not"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        assert_bad(rows[i].text, strlen(rows[i].text), rows[i].place, rows[i].reason);
    char *wide = malloc(5000);
    assert_non_null(wide);
    memset(wide, '1', 5000);
    memcpy(wide, "1\n", 2);
    assert_bad(wide, 5000, "mem:2:1", "more than 1000");
    free(wide);
    enum { HUGE = 600000 };
    wide = malloc(HUGE);
    assert_non_null(wide);
    memset(wide, ' ', HUGE);
    assert_bad(wide, HUGE, "mem:1", "more than 4096 characters");
    free(wide);
}

/* More than one window, so that lines cross its ends; every value bit for bit. */
static void many(void **state) {
    (void)state;
    enum { N = 60000 };
    dpa__text text = {0};
    dpa_rng rng;
    dpa_array a;
    dpa_error err;
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) dpa__text_printf(&text, "%.17g\n", dpa__rng_normal(&rng));
    assert_ok(read_bytes(text.data, text.length, NULL, &a, &err));
    assert_int_equal(a.count, N);
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) assert_true(((double *)a.data)[i] == dpa__rng_normal(&rng));
    dpa__array_free(&a);
    dpa__text_add(&text, "x\n");
    char place[40];
    (void)snprintf(place, sizeof place, "mem:%d:1", N + 1);
    assert_bad(text.data, text.length, place, "not a number");
    dpa__text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
        cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
