/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the two classes at the same time. */
#include "check.h"

#include <unistd.h>

#include "evidence/evidence.h"

/* Two files large enough for a thread each: the same bytes, sums and errors as one after the other,
 * the members' error if both have one. */
static void write_numbers(const char *to, int hundredths, const char *last) {
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    for (int i = 0; i < 150000; ++i) (void)fprintf(file, "%d.%d\n", i, hundredths);
    (void)fputs(last, file);
    assert_int_equal(fclose(file), 0);
}

static void files_read_at_once(void **state) {
    (void)state;
    static const char *const lasts[][2] = {
        {"7\n", "8\n"}, {"odd\n", "8\n"}, {"7\n", "odd\n"}, {"odd\n", "even\n"}};
    char path[] = "/tmp/dpaudit-scores-XXXXXX", second[sizeof path + 4];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    (void)snprintf(second, sizeof second, "%s.out", path);
    for (int i = 0; i < 4; ++i) {
        dpa_evidence e[2];
        dpa_error err[2] = {{0}, {0}};
        dpa_status status[2];
        write_numbers(path, 50, lasts[i][0]);
        write_numbers(second, 25, lasts[i][1]);
        for (unsigned t = 0; t < 2; ++t)
            status[t] = dpa__evidence_scores(path, second, 1 + t, &e[t], &err[t]);
        assert_int_equal(status[0], i == 0 ? DPA_OK : DPA_BAD_INPUT);
        assert_int_equal(status[1], status[0]);
        assert_string_equal(err[1].text, err[0].text);
        assert_string_equal(err[1].place, err[0].place);
        if (i > 0) continue;
        for (size_t a = 0; a < 2; ++a) {
            assert_int_equal(e[0].arrays[a].count, 150001);
            assert_int_equal(e[1].arrays[a].count, 150001);
            assert_memory_equal(e[0].arrays[a].items, e[1].arrays[a].items,
                                150001 * sizeof(double));
            assert_string_equal(e[0].sha256[a], e[1].sha256[a]);
        }
        dpa__evidence_clear(&e[0]);
        dpa__evidence_clear(&e[1]);
    }
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(second), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_read_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
