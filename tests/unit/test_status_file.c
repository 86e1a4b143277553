/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STORE.status.json, which says how far a run is. */
#include "check.h"

#include "base/text.h"
#include "base/write.h"
#include "run/schedule.h"

static dpa_error err;
static char store[64], file[96];

static void write_status(const char *host, double age, double ended_ago, double since_ago) {
    char text[1024];
    const double now = dpa__wall_clock();
    assert_true(
        dpa__print(
            text, sizeof text,
            "{\"state\": %d, \"process\": 77, \"host\": \"%s\", \"started\": %.3f, "
            "\"updated\": %.3f, \"stage\": 1, \"stages\": 2, \"planned\": 50, \"done\": 20, "
            "\"played\": 19, \"failed_attempts\": 3, \"running\": 2, \"workers\": 4, "
            "\"failed_trials\": 5, \"lost_trials\": 6, \"recent\": 10, \"recent_since\": "
            "%.3f, \"ended\": %.3f, \"trial_seconds\": 2.5, \"quarantine\": \"bad\", "
            "\"trials\": [{\"trial\": 9, \"seconds\": 1.5, \"place\": \"here\", \"done\": 3, "
            "\"total\": 4}]}",
            (int)DPA_RUN_RUNNING, host, now - 1000, now - age, now - since_ago,
            now - ended_ago) > 0);
    assert_ok(dpa__file_write(file, text, strlen(text), &err));
}

static void read_elsewhere(void **state) {
    (void)state;
    dpa_run_status s;
    (void)snprintf(store, sizeof store, "/tmp/dpa_status_%d.db", (int)getpid());
    (void)snprintf(file, sizeof file, "%s.status.json", store);
    write_status("another machine", 4, 10, 110);
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.state, DPA_RUN_RUNNING);
    assert_int_equal(s.process, 77);
    assert_string_equal(s.host, "another machine");
    assert_string_equal(s.quarantine, "bad");
    assert_int_equal(s.stage * 10 + s.stages, 12);
    assert_int_equal(s.planned, 50);
    assert_int_equal(s.stored, 20);
    assert_int_equal(s.played, 19);
    assert_int_equal(s.failed, 3);
    assert_int_equal(s.running, 2);
    assert_int_equal(s.workers, 4);
    assert_int_equal(s.failed_trials, 5);
    assert_int_equal(s.lost, 6);
    assert_true(s.trial_seconds == 2.5);
    assert_int_equal(s.trial_count, 1);
    assert_int_equal(s.trials[0].index, 9);
    assert_string_equal(s.trials[0].place, "here");
    assert_true(s.trials[0].done == 3 && s.trials[0].total == 4);
    assert_between(s.trials[0].seconds, 5.5, 40); /* 1.5 s then, 4 s ago */
    /* 10 trials in 110 s, 30 to go; a trial takes 10 s, so 10 s without one is nothing */
    assert_between(s.left, 330, 400);
    assert_int_equal(s.stalled, 0);
    write_status("another machine", 4, 100, 110); /* 10 trials in 10 s, then nothing for 100 s */
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.stalled, 1);
    assert_between(s.left, 330, 400);
    /* stalled: quiet for five trials of 2.5 s, which are slower than the last ten, and a second */
    write_status("another machine", 4, 12, 22);
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.stalled, 0);
    write_status("another machine", 4, 14, 24);
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.stalled, 1);
    write_status("another machine", 31, 40, 110); /* silent for longer than half a minute */
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.state, DPA_RUN_KILLED);
    assert_int_equal(s.running + s.trial_count, 0);
    assert_true(isnan(s.left));
    (void)unlink(file);
    assert_int_not_equal(dpa_run_status_read(store, &s, &err), DPA_OK); /* no store either */
    assert_int_equal(s.state, DPA_RUN_NONE);
}

/* What another program wrote: counts that are missing or no counts are 0, and every trial that is
 * listed has grown older, as far as there is room. */
static void read_strange(void **state) {
    (void)state;
    dpa_run_status s;
    dpa__text text = {0};
    const double now = dpa__wall_clock();
    dpa__text_printf(&text, "{\"state\": %d, \"host\": \"elsewhere\", \"updated\": %.3f,",
                     (int)DPA_RUN_RUNNING, now - 10);
    dpa__text_add(&text, "\"planned\": \"many\", \"done\": -3, \"played\": 1, \"trials\": [");
    for (int i = 0; i < DPA_RUN_LISTED + 4; ++i)
        dpa__text_printf(&text, "%s{\"trial\": %d, \"seconds\": %d}", i > 0 ? ", " : "", i, i);
    dpa__text_add(&text, "]}");
    assert_ok(dpa__file_write(file, text.data, text.length, &err));
    dpa__text_free(&text);
    assert_ok(dpa_run_status_read(store, &s, &err));
    assert_int_equal(s.planned + s.stored + s.failed + s.workers + s.recent, 0);
    assert_int_equal(s.played, 1);
    assert_int_equal(s.trial_count, DPA_RUN_LISTED);
    for (int i = 0; i < DPA_RUN_LISTED; ++i) {
        assert_int_equal(s.trials[i].index, i);
        assert_between(s.trials[i].seconds, i + 9.9, i + 60);
        assert_string_equal(s.trials[i].place, "");
    }
    assert_true(isnan(s.left));
    assert_int_equal(s.stalled, 0);
    (void)unlink(file);
}

/* What is written is read back, but for a run of this machine whose lock nobody holds. */
static void written(void **state) {
    (void)state;
    dpa_run_status s = {.state = DPA_RUN_RUNNING,
                        .started = 1000,
                        .stage = 1,
                        .stages = 3,
                        .planned = 9,
                        .stored = 8,
                        .played = 7,
                        .failed = 6,
                        .running = 5,
                        .workers = 4,
                        .failed_trials = 3,
                        .lost = 2,
                        .recent = 1,
                        .recent_since = 2000,
                        .ended = 3000,
                        .trial_seconds = (double)NAN,
                        .trial_count = 1};
    s.trials[0] = (dpa_run_trial){.index = 11, .seconds = 0.5, .done = 1, .total = 2};
    char text[1024] = "";
    dpa__status_write(store, &s);
    FILE *from = fopen(file, "r");
    assert_non_null(from);
    assert_true(fread(text, 1, sizeof text - 1, from) > 0);
    (void)fclose(from);
    static const char *const parts[] = {
        "\"stage\":1,\"stages\":3,\"planned\":9,\"done\":8,\"played\":7,\"failed_attempts\":6,"
        "\"running\":5,\"workers\":4,\"failed_trials\":3,\"lost_trials\":2,\"recent\":1,"
        "\"recent_since\":2000.0,\"ended\":3000.0,\"trial_seconds\":null,\"quarantine\":\"\"",
        "{\"trial\":11,\"seconds\":0.5,\"place\":\"\",\"done\":1.0,\"total\":2.0}",
        "\"started\":1000.0"};
    for (size_t i = 0; i < 3; ++i)
        if (strstr(text, parts[i]) == NULL) fail_msg("'%s' has no '%s'", text, parts[i]);
    char part[128];
    (void)snprintf(part, sizeof part, "%s.part", file);
    assert_int_equal(access(part, F_OK), -1);
    (void)unlink(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(read_elsewhere),
                                       cmocka_unit_test(read_strange), cmocka_unit_test(written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
