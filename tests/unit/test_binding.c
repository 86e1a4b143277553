/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bindings rely on: layouts by name, and the progress function that is a flag. */
#include "check.h"

#include "report/binding.h"
#include "report/report.h"

static void layouts(void **state) {
    (void)state;
    size_t offset = 99, size = 99;
    assert_int_equal(dpa__struct_layout("dpa_request", &offset, &size), 1);
    assert_int_equal(offset, 0);
    assert_int_equal(size, sizeof(dpa_request));
    assert_int_equal(dpa__struct_layout("dpa_request.progress", &offset, &size), 1);
    assert_int_equal(offset, offsetof(dpa_request, progress));
    assert_int_equal(size, sizeof(dpa_progress));
}

static void unknown_names(void **state) {
    (void)state;
    static const char *const names[] = {"", "dpa_nothing", "dpa_request.", "dpa_request.Delta"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        size_t offset = 7, size = 8;
        assert_int_equal(dpa__struct_layout(names[i], &offset, &size), 0);
        assert_true(offset == 7 && size == 8);
    }
}

static void flag_stops(void **state) {
    (void)state;
    int flag = 0;
    const dpa_progress progress = {dpa__progress_flag, &flag};
    assert_int_equal(progress.call(progress.user, "x", 1, 2), 0);
    flag = 1;
    assert_int_equal(progress.call(progress.user, "x", 1, 2), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(flag_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
