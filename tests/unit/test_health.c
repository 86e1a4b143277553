/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a row of failures is the fault of a place, and when a slot waits. */
#include "check.h"

#include "base/error.h"
#include "run/health.h"

static dpa_error err;

static dpa__health *new_health(size_t slots) {
    dpa__health *h = NULL;
    assert_ok(dpa__health_new(slots, &h, &err));
    return h;
}

/* The probability that the k failures of a row are among the k + f of k + n trials, factor by
 * factor. */
static double chance(int k, int f, int n) {
    double p = 1.0;
    for (int i = 1; i <= k; ++i) p *= (double)(f + i) / (double)(n + i);
    return p;
}

/* A row is too long once it has a chance below 1e-9, with what the other slots saw. */
static void rows(void **state) {
    (void)state;
    static const struct {
        int n, f;
    } others[] = {{0, 0}, {3, 0}, {30, 0}, {1000, 0}, {1000, 1}, {1000, 300}, {40, 39}, {50, 50}};
    for (size_t c = 0; c < sizeof others / sizeof others[0]; ++c) {
        const int n = others[c].n, f = others[c].f;
        dpa__health *h = new_health(2);
        for (int i = 0; i < n; ++i) /* failures far apart, as far as there is room */
            (void)dpa__health_note(h, 0, 1000, i < f ? DPA__END_TRAINER : DPA__END_PLAYED, 0.0);
        int k = 0;
        while (k < 256) {
            ++k;
            const int is_too_long = dpa__health_note(h, 1, (uint64_t)k, DPA__END_TRAINER, 0.0);
            assert_int_equal(is_too_long, chance(k, f, n) < 1e-9);
            if (is_too_long) break;
        }
        const uint64_t *trials = NULL;
        assert_int_equal(dpa__health_row(h, 1, &trials), k);
        for (int i = 0; i < k; ++i) assert_int_equal(trials[i], i + 1);
        free(h);
    }
}

/* A success ends the row; what a quarantined slot failed is not compared with. */
static void rows_end(void **state) {
    (void)state;
    const uint64_t *trials = NULL;
    dpa__health *h = new_health(3);
    for (int i = 0; i < 100; ++i) assert_false(dpa__health_note(h, 0, 0, DPA__END_PLAYED, 0.0));
    for (int i = 0; i < 7; ++i) (void)dpa__health_note(h, 1, 0, DPA__END_TRAINER, 0.0);
    assert_int_equal(dpa__health_row(h, 1, &trials), 7);
    (void)dpa__health_note(h, 1, 0, DPA__END_PLAYED, 0.0);
    assert_int_equal(dpa__health_row(h, 1, &trials), 0);
    int k = 0, is_too_long = 0;
    while (!is_too_long) is_too_long = (++k, dpa__health_note(h, 1, 0, DPA__END_TRAINER, 0.0));
    assert_true(chance(k, 7, 108) < 1e-9 && chance(k - 1, 7, 108) >= 1e-9);
    dpa__health_quarantine(h, 1);
    assert_int_equal(dpa__health_row(h, 1, &trials), 0);
    for (k = 0, is_too_long = 0; !is_too_long;)
        is_too_long = (++k, dpa__health_note(h, 2, 0, DPA__END_TRAINER, 0.0));
    assert_true(chance(k, 7, 108) < 1e-9 && chance(k - 1, 7, 108) >= 1e-9);
    free(h);
}

/* More failures than are remembered: nearly all trainers fail. */
static void full(void **state) {
    (void)state;
    const uint64_t *trials = NULL;
    dpa__health *h = new_health(1);
    for (uint64_t i = 0; i < 300; ++i)
        assert_false(dpa__health_note(h, 0, i, DPA__END_TRAINER, 0.0));
    assert_int_equal(dpa__health_row(h, 0, &trials), 256);
    assert_int_equal(trials[255], 255);
    free(h);
}

/* With three failures in a row a slot waits until another has ended a trial, unless all wait. */
static void waits_for_others(void **state) {
    (void)state;
    dpa__health *h = new_health(2);
    for (int i = 0; i < 3; ++i) {
        assert_true(dpa__health_may_start(h, 0, 1, 1.0));
        (void)dpa__health_note(h, 0, 0, DPA__END_TRAINER, 1.0);
    }
    assert_false(dpa__health_may_start(h, 0, 1, 1.0));
    assert_true(dpa__health_may_start(h, 0, 0, 1.0));
    assert_true(dpa__health_may_start(h, 1, 1, 1.0));
    (void)dpa__health_note(h, 1, 0, DPA__END_PLAYED, 1.0);
    assert_true(dpa__health_may_start(h, 0, 1, 1.0));
    (void)dpa__health_note(h, 0, 0, DPA__END_TRAINER, 1.0);
    assert_false(dpa__health_may_start(h, 0, 1, 1.0));
    free(h);
}

/* Failures of the machine: a pause that doubles, the fourth in a row is too many. */
static void pauses(void **state) {
    (void)state;
    for (int worked = 0; worked < 2; ++worked) {
        dpa__health *h = new_health(2);
        const double longest = worked ? 30.0 : 0.5;
        if (worked) (void)dpa__health_note(h, 1, 0, DPA__END_PLAYED, 0.0);
        for (int row = 1; row <= 10; ++row) {
            const double now = 100.0 * row;
            const double pause = row == 1 ? 0.0 : fmin(0.1 * exp2(row), longest);
            assert_int_equal(dpa__health_note(h, 0, 5, DPA__END_MACHINE, now), row >= 4);
            assert_true(dpa__health_may_start(h, 0, 1, now + pause + 1e-6));
            if (pause > 0) assert_false(dpa__health_may_start(h, 0, 0, now + pause - 1e-6));
        }
        const uint64_t *trials = NULL;
        assert_int_equal(dpa__health_row(h, 0, &trials), 0); /* no outcome of a trainer */
        (void)dpa__health_note(h, 0, 5, DPA__END_PLAYED, 2000.0);
        assert_true(dpa__health_may_start(h, 0, 1, 2000.0));
        assert_false(dpa__health_note(h, 0, 5, DPA__END_MACHINE, 2000.0)); /* the first again */
        free(h);
    }
}

/* ---- Broken machines of a job array ---- */

static dpa__record record_of(const char *place, double started, dpa_trial_end end) {
    return (dpa__record){
        .end = end, .started = started, .place = place, .place_size = strlen(place)};
}

/* Two processes on each of three machines; from time 50 on everything fails on the second process
 * of b and on both of c. What was lost says nothing. */
static void suspects(void **state) {
    (void)state;
    static const char *const places[] = {"a p1", "a p2", "b p1", "b p2", "c p1", "c p2"};
    dpa__suspects s = {0};
    for (int pass = 0; pass < 2; ++pass)
        for (int time = 0; time < 100; ++time)
            for (int i = 0; i < 6; ++i) {
                const int fails = time >= 50 && i >= 3;
                const dpa__record r = record_of(places[i], time,
                                                time == 99 ? DPA_TRIAL_LOST
                                                : fails    ? DPA_TRIAL_FAILED
                                                           : DPA_TRIAL_PLAYED);
                assert_ok(pass == 0 ? dpa__suspects_add(&s, &r, &err)
                                    : dpa__suspects_count(&s, &r, &err));
            }
    assert_int_equal(s.ended, 6 * 99);
    assert_int_equal(s.failed, 3 * 49);
    char names[64], few[8];
    assert_int_equal(dpa__suspects_decide(&s, names, sizeof names), 4); /* three processes, and c */
    assert_true(strstr(names, "b p2") != NULL && strstr(names, "c p1") == NULL);
    assert_int_equal(strlen(names), strlen("b p2, c"));
    assert_int_equal(dpa__suspects_decide(&s, few, 3), 4); /* no room for all */
    for (int time = 0; time < 99; ++time)
        for (int i = 0; i < 6; ++i) {
            int is_blamed = -1;
            const int fails = time >= 50 && i >= 3;
            const dpa__record r =
                record_of(places[i], time, fails ? DPA_TRIAL_FAILED : DPA_TRIAL_PLAYED);
            assert_ok(dpa__suspects_blame(&s, &r, &is_blamed, &err));
            assert_int_equal(is_blamed, fails);
        }
    /* a failure from before the last success is an outcome */
    int is_blamed = -1;
    const dpa__record early = record_of("c p1", 48, DPA_TRIAL_FAILED);
    assert_ok(dpa__suspects_blame(&s, &early, &is_blamed, &err));
    assert_int_equal(is_blamed, 0);
    const dpa__record lost = record_of("c p1", 99, DPA_TRIAL_LOST); /* that is blamed already */
    assert_ok(dpa__suspects_blame(&s, &lost, &is_blamed, &err));
    assert_int_equal(is_blamed, 0);
    dpa__suspects_free(&s);
    assert_null(s.places);
}

/* A row begins after the last success, not with it. */
static void at_once(void **state) {
    (void)state;
    dpa__suspects s = {0};
    const dpa__record played = record_of("a p1", 5, DPA_TRIAL_PLAYED);
    const dpa__record failed = record_of("a p1", 5, DPA_TRIAL_FAILED);
    const dpa__record later = record_of("a p1", 6, DPA_TRIAL_FAILED);
    assert_ok(dpa__suspects_add(&s, &played, &err));
    assert_ok(dpa__suspects_count(&s, &failed, &err));
    assert_true(s.places[0].played == 5 && s.places[0].row == 0 && s.places[1].row == 0);
    assert_ok(dpa__suspects_count(&s, &later, &err));
    assert_true(s.places[0].row == 1 && s.places[1].row == 1);
    dpa__suspects_free(&s);
}

/* A few failures everywhere are the mechanism's. */
static void no_suspects(void **state) {
    (void)state;
    dpa__suspects s = {0};
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < 40; ++i) {
            const dpa__record r = record_of(i % 2 == 0 ? "a" : "b", i,
                                            i % 5 == 4 ? DPA_TRIAL_FAILED : DPA_TRIAL_PLAYED);
            assert_ok(pass == 0 ? dpa__suspects_add(&s, &r, &err)
                                : dpa__suspects_count(&s, &r, &err));
        }
    char names[16] = "";
    assert_int_equal(dpa__suspects_decide(&s, names, sizeof names), 0);
    assert_string_equal(names, "");
    dpa__suspects_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),    cmocka_unit_test(rows_end),
        cmocka_unit_test(full),    cmocka_unit_test(waits_for_others),
        cmocka_unit_test(pauses),  cmocka_unit_test(suspects),
        cmocka_unit_test(at_once), cmocka_unit_test(no_suspects)};
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
