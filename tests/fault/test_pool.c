/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool in which the first, second, … allocation of the process that leads fails while a trial is
 * played: the trial is played or lost, or the pool says that it cannot go on; nobody waits forever,
 * and no worker is left. */
#include "scripted_pool.h"

#include "fault/alloc.h"

typedef struct ends {
    int played, lost, fatal;
} ends;

static void play_without(long n, ends *e) {
    dpa__transport t;
    dpa__outcome out = {0};
    open_pool("cat ready && echo words >&2 && head -c 64 >/dev/null && cat result0", &t);
    fault_hits = 0;
    fault_left = n;
    assert_ok(t.submit(t.self, 0, 0, 0, &err));
    const dpa_status status = await_outcome(&t, &out);
    fault_left = -1;
    if (status != DPA_OK) {
        ++e->fatal;
        assert_int_equal(status, DPA_NO_MEMORY);
        assert_true(err.text[0] != '\0');
    } else if (out.status != DPA_OK) {
        ++e->lost;
        assert_true(out.status == DPA_NO_MEMORY || out.status == DPA_IO);
        assert_true(out.error.text[0] != '\0');
    } else {
        ++e->played;
    }
    dpa__outcome_free(&out);
    t.close(t.self);
}

static void out_of_memory(void **state) {
    (void)state;
    ends e = {0};
    fault_hits = 1;
    for (long n = 0; fault_hits > 0; ++n) {
        assert_true(n < 1000);
        play_without(n, &e);
    }
    print_message("%d trials played, %d lost, %d times no pool\n", e.played, e.lost, e.fatal);
    assert_true(e.played > 0 && e.lost > 0 && e.fatal > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(out_of_memory, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
