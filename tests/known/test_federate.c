/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MNIST's writers as clients: compares with the counts in the data's own description. */
#include "check.h"

#include "dpaudit/lab/federate.h"

static int by_size(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void writers_of_mnist(void **state) {
    (void)state;
    enum { WRITERS = 539, ROWS = 60000 };
    dpa_clients *clients;
    dpa_error err = {0};
    const char *path = check_shared("data/mnist/qmnist-train-labels-idx2-int.gz");
    if (dpa_clients_read(path, "2", ROWS, &clients, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_int_equal(dpa_clients_count(clients), WRITERS);
    size_t digits[WRITERS], total = 0;
    for (size_t i = 0; i < WRITERS; ++i) {
        (void)dpa_clients_rows(clients, i, &digits[i]);
        total += digits[i];
    }
    qsort(digits, WRITERS, sizeof digits[0], by_size);
    assert_int_equal(total, ROWS);
    assert_int_equal(digits[0], 19);
    assert_int_equal(digits[WRITERS / 2], 116);
    assert_int_equal(digits[WRITERS - 1], 131);
    dpa_clients_free(clients);
}

int main(void) {
    check_need_shared("data/mnist/qmnist-train-labels-idx2-int.gz");
    const struct CMUnitTest tests[] = {cmocka_unit_test(writers_of_mnist)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
