/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decimal text to double against strtod, bit for bit; half precision against arithmetic. */
#include "check.h"

#include <float.h>

#include "base/data.h"
#include "base/number.h"
#include "base/rng.h"
#include "base/text.h"

static void check_same(const char *text) {
    const char *at = text;
    double got = -1;
    assert_int_equal(dpa__number_parse(&at, text + strlen(text), &got), DPA__NUMBER_OK);
    assert_true(*at == '\0');
    const double want = check_number(text);
    if (memcmp(&got, &want, sizeof got) != 0) fail_msg("%s: %.17g, want %.17g", text, got, want);
}

static void fixed(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0", "-0", "+0", "0.0", "00012", "1", "-1", "+1.5", ".5", "5.", "1e5", "1E+5", "1e-5",
        "9007199254740993", "9007199254740993.0000000000000001", "0.1", "0.30000000000000004",
        "1.7976931348623157e308", "2.2250738585072014e-308", "4.9e-324", "2e-324", "1e-400",
        "9223372036854775808", "18446744073709551615", "18446744073709551616",
        "9999999999999999999", "99999999999999999999", "0.00000000000000000001",
        "1234567890123456789e19", "1234567890123456789e-19", "1234567890123456789e20",
        "9007199254740992e22", "9007199254740993e-22", "1e22", "1e23", "0e999", "0e-999",
        "0.000000000000000000000000000001234567890123456789",
        /* halfway between two doubles, and just beside */
        "1.00000000000000011102230246251565404", "1.00000000000000011102230246251565403",
        "1.00000000000000011102230246251565405", "4503599627370496.5", "4503599627370497.5",
        "9007199254740991.5", "1e00000000000000000000005"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) check_same(texts[i]);
}

static void random_doubles(void **state) {
    (void)state;
    static const int digits[] = {17, 19, 15, 6, 3, 18};
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < 300000; ++i) {
        double x;
        char text[64];
        const uint64_t bits = dpa__rng_u64(&rng);
        memcpy(&x, &bits, sizeof x);
        if (i % 2) x = dpa__rng_normal(&rng) * pow(10, (double)(i % 31) - 15);
        if (!isfinite(x)) continue;
        (void)dpa__print(text, sizeof text, i % 3 ? "%.*g" : "%.*e", digits[i % 6], x);
        check_same(text);
    }
}

/* Integers of every length times powers of ten that the integer path handles: checks its
 * rounding. */
static void random_integers(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 12, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < 300000; ++i) {
        char text[64];
        const uint64_t w = dpa__rng_u64(&rng) >> dpa__rng_below(&rng, 64);
        (void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)w,
                       (int)dpa__rng_below(&rng, 47) - 23);
        check_same(text);
    }
}

static void words(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t length; /* how much of it is the number */
    } rows[] = {{"inf", 3},     {"Infinity", 8}, {"-INF", 4}, {"nan", 3},   {"NaN", 3},
                {"infinit", 3}, {"1e", 1},       {"1e+", 1},  {"0x1p3", 1}, {"1.5.2", 3},
                {"1_000", 1},   {"12abc", 2},    {"nanny", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const char *at = rows[i].text;
        double x = 0;
        assert_int_equal(dpa__number_parse(&at, at + strlen(at), &x), DPA__NUMBER_OK);
        assert_int_equal(at - rows[i].text, rows[i].length);
        if ((rows[i].text[0] | 32) == 'i') assert_true(isinf(x) && x > 0);
        if (rows[i].text[0] == '-') assert_true(isinf(x) && x < 0);
        if ((rows[i].text[0] | 32) == 'n') assert_true(isnan(x));
    }
}

static void refused(void **state) {
    (void)state;
    static const char *const none[] = {"",    "-",  "+",   ".",  "e5", "-.", "+.e1",
                                       "abc", " 1", "--1", "in", "na", "_1"};
    static const char *const large[] = {"1e309", "1.8e308", "-1e400", "1e999999999999999999999"};
    double x;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i) {
        const char *at = none[i];
        assert_int_equal(dpa__number_parse(&at, at + strlen(at), &x), DPA__NUMBER_NONE);
        assert_ptr_equal(at, none[i]);
    }
    for (size_t i = 0; i < sizeof large / sizeof large[0]; ++i) {
        const char *at = large[i];
        assert_int_equal(dpa__number_parse(&at, at + strlen(at), &x), DPA__NUMBER_LARGE);
    }
    char many[1200];
    memset(many, '1', sizeof many);
    const char *at = many;
    assert_int_equal(dpa__number_parse(&at, many + sizeof many, &x), DPA__NUMBER_LONG);
    at = many;
    assert_int_equal(dpa__number_parse(&at, many + 1000, &x), DPA__NUMBER_LARGE);
    at = many;
    assert_int_equal(dpa__number_parse(&at, many + 300, &x), DPA__NUMBER_OK);
    memset(many, '0', sizeof many); /* 0.00…01 is not 1 */
    many[1] = '.';
    many[sizeof many - 1] = '1';
    at = many;
    assert_int_equal(dpa__number_parse(&at, many + sizeof many, &x), DPA__NUMBER_LONG);
}

/* The parser never looks beyond the given end. */
static void bounds(void **state) {
    (void)state;
    const char text[] = "-12.5e-3inf";
    for (size_t n = 0; n <= 8; ++n) {
        char *copy = malloc(n > 0 ? n : 1);
        assert_non_null(copy);
        memcpy(copy, text, n);
        const char *at = copy;
        double x;
        const dpa__number result = dpa__number_parse(&at, copy + n, &x);
        assert_int_equal(result, n < 2 ? DPA__NUMBER_NONE : DPA__NUMBER_OK);
        assert_true(at <= copy + n);
        free(copy);
    }
}

static void whole_words(void **state) {
    (void)state;
    const char *const refused_words[] = {"", "nan", "0x10", "1 ", "1,5", "1e400", "one", "1e5x"};
    double x = 0;
    assert_true(dpa__number_whole("-2.5e3", &x) && x == -2500);
    assert_true(dpa__number_whole("inf", &x) && isinf(x));
    for (size_t i = 0; i < sizeof refused_words / sizeof refused_words[0]; ++i)
        assert_false(dpa__number_whole(refused_words[i], &x));
}

static void halves(void **state) {
    (void)state;
    assert_true(dpa__half_to_double(0x3c00) == 1.0);
    assert_true(dpa__half_to_double(0xc000) == -2.0);
    assert_true(dpa__half_to_double(0x7bff) == 65504.0);
    assert_true(dpa__half_to_double(0x0001) == 0x1p-24);
    assert_true(dpa__half_to_double(0x03ff) == 1023 * 0x1p-24);
    assert_true(dpa__half_to_double(0x0400) == 0x1p-14);
    assert_true(dpa__half_to_double(0x3555) == 0x1.554p-2);
    assert_true(dpa__half_to_double(0x7c00) == HUGE_VAL);
    assert_true(dpa__half_to_double(0xfc00) == -HUGE_VAL);
    assert_true(isnan(dpa__half_to_double(0x7e00)));
    assert_true(dpa__half_to_double(0x8000) == 0 && signbit(dpa__half_to_double(0x8000)));
    /* finite half-precision numbers grow with their bits */
    for (uint16_t h = 0; h < 0x7bff; ++h)
        assert_true(dpa__half_to_double(h) < dpa__half_to_double((uint16_t)(h + 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed),   cmocka_unit_test(random_doubles),
        cmocka_unit_test(words),   cmocka_unit_test(random_integers),
        cmocka_unit_test(refused), cmocka_unit_test(bounds),
        cmocka_unit_test(halves),  cmocka_unit_test(whole_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
