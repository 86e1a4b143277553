/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Included by every test: cmocka with the headers it needs in the right order, and comparisons that
 * print both numbers. */
#ifndef DPA_TESTS_CHECK_H
#define DPA_TESTS_CHECK_H

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* |got − want| ≤ tolerance·max(1e-300, |want|); infinities must be equal. */
#define assert_relative(got, want, tolerance)                                                      \
    check_close((got), (want), (tolerance), 0.0, __FILE__, __LINE__)
#define assert_absolute(got, want, tolerance)                                                      \
    check_close((got), (want), 0.0, (tolerance), __FILE__, __LINE__)
#define assert_between(got, low, high) check_between((got), (low), (high), __FILE__, __LINE__)
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        const dpa_status check_status = (call);                                                    \
        if (check_status != DPA_OK) fail_msg("status %d (%s)", (int)check_status, #call);          \
    } while (0)

static inline void check_close(double got, double want, double relative, double absolute,
                               const char *file, int line) {
    const double allowed = absolute + relative * fmax(fabs(want), 1e-300);
    if (got == want || fabs(got - want) <= allowed) return;
    print_error("%s:%d: got %.17g, want %.17g, off by %.3g, allowed %.3g\n", file, line, got, want,
                fabs(got - want), allowed);
    fail();
}

static inline void check_between(double got, double low, double high, const char *file, int line) {
    if (got >= low && got <= high) return;
    print_error("%s:%d: got %.17g, want it in [%.17g, %.17g]\n", file, line, got, low, high);
    fail();
}

/* DPA_TEST_LOCALE=NAME runs any test in a locale with a decimal comma, as a host program may. Only
 * LC_NUMERIC is set, because translated system errors are another matter. */
__attribute__((constructor)) static void check_take_locale(void) {
    const char *name = getenv("DPA_TEST_LOCALE");
    if (name == NULL) return;
    if (setlocale(LC_NUMERIC, name) != NULL && localeconv()->decimal_point[0] == ',') return;
    (void)fprintf(stderr, "there is no locale %s with a comma\n", name);
    exit(1);
}

/* strtod in the C locale. */
static inline double check_number(const char *text) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double number = strtod_l(text, NULL, c);
    freelocale(c);
    return number;
}

/* A file under the shared folder. Without that folder the test is skipped with a reason (exit 77
 * from main through check_need_shared). */
static inline const char *check_shared(const char *name) {
    static char path[4][1024];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "%s/%s", DPA_SHARED, name);
    return out;
}

static inline void check_need_shared(const char *name) {
    if (access(check_shared(name), R_OK) == 0) return;
    (void)printf("SKIPPED: %s is not here (shared data; see docs)\n", check_shared(name));
    exit(77);
}

#endif
