/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduler of a stage with slots that this test plays: what it hands out, when it waits, what
 * it stores and when it gives up. */
#include "check.h"
#include "stores.h"

#include "base/error.h"
#include "game/rules.h"
#include "run/schedule.h"

enum { SLOTS = 24, TRIALS = 400, CALLS = 4096 };

typedef enum answer { PLAYED, TRAINER, MACHINE, RETIRED } answer;

static dpa_error err;
static char path[64];
static dpa_values items[TRIALS];
static uint8_t ends[TRIALS];
static dpa_run_opts opts;
static dpa_run_summary summary;
static dpa__run job;
static dpa__stage stage;

/* What the slots do, and what they were asked to do. */
static struct {
    answer (*answer)(size_t slot, uint64_t index);
    size_t at_once; /* outcomes that are ready at one look */
    double done[SLOTS][2];
    int crashes;
    int busy[SLOTS];
    uint64_t index[SLOTS];
    size_t since[SLOTS]; /* the look after which it was submitted */
    size_t looks, ready;
    double waits[CALLS];
    int some[CALLS];
    size_t wait_count;
    size_t slot_of[CALLS]; /* of every submit */
    uint64_t trial_of[CALLS];
    size_t submits;
    size_t next; /* the slot that ends next */
    void (*watch)(void);
} play;

/* What the progress function heard. */
static struct {
    char what[96];
    double done, total;
    size_t calls, stop_at, idle; /* idle: calls since something was played */
} heard;

static void place(void *self, size_t slot, char out[DPA__PLACE_SIZE]) {
    (void)self;
    (void)snprintf(out, DPA__PLACE_SIZE, "box slot %zu", slot);
}

static void progress(void *self, size_t slot, double out[2]) {
    (void)self;
    memcpy(out, play.done[slot], sizeof play.done[slot]);
}

static dpa_status submit(void *self, size_t slot, int number, uint64_t index, dpa_error *error) {
    (void)self, (void)error;
    assert_int_equal(number, stage.number);
    assert_false(play.busy[slot]);
    heard.idle = 0;
    play.busy[slot] = 1;
    play.index[slot] = index;
    play.since[slot] = play.looks;
    play.slot_of[play.submits] = slot;
    play.trial_of[play.submits++] = index;
    return DPA_OK;
}

static void answer_of(size_t slot, dpa__outcome *out) {
    const answer a = play.answer != NULL ? play.answer(slot, play.index[slot]) : PLAYED;
    *out = (dpa__outcome){.slot = slot,
                          .index = play.index[slot],
                          .seconds = 0.25 + 0.5 * (double)(play.index[slot] % 2),
                          .crashed = play.crashes,
                          .retired = a == RETIRED};
    if (a == PLAYED) {
        assert_ok(dpa__values_new(1, &out->values, &err));
        out->values.items[0] = (double)out->index;
        return;
    }
    out->said = strdup("first line\n  the last words\r\n");
    out->status = a == TRAINER ? DPA_NUMERIC : DPA_IO;
    (void)snprintf(out->error.text, sizeof out->error.text, "%s",
                   a == TRAINER ? "diverged" : "no power");
}

/* A look ends `at_once` trials, those of the next slots in turn. */
static dpa_status wait(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *error) {
    (void)self, (void)error;
    if (seconds > 0.0) {
        ++play.looks;
        play.ready = play.at_once;
        job.told = 0.0; /* a note after every look */
    }
    *some = play.ready > 0;
    if (*some) {
        --play.ready;
        for (size_t i = 0; i < job.transport.slots && !play.busy[play.next]; ++i)
            play.next = (play.next + 1) % job.transport.slots;
        assert_true(play.busy[play.next]);
        play.busy[play.next] = 0;
        answer_of(play.next, out);
        play.next = (play.next + 1) % job.transport.slots;
    }
    play.waits[play.wait_count] = seconds;
    play.some[play.wait_count++] = *some;
    assert_true(play.wait_count < CALLS);
    heard.idle = 0;
    if (play.watch != NULL) play.watch();
    return DPA_OK;
}

static int hear(void *user, const char *what, double done, double total) {
    (void)user;
    (void)snprintf(heard.what, sizeof heard.what, "%s", what);
    heard.done = done;
    heard.total = total;
    if (++heard.idle == 300) fail_msg("nothing happens any more");
    return ++heard.calls == heard.stop_at;
}

static int set_up(void **state) {
    (void)state;
    static char key[DPA_SHA256_SIZE];
    (void)snprintf(path, sizeof path, "/tmp/dpa_schedule_%d.db", (int)getpid());
    remove_store(path);
    memset(&play, 0, sizeof play);
    memset(&heard, 0, sizeof heard);
    memset(ends, 0, sizeof ends);
    dpa_run_opts_init(&opts);
    opts.progress.call = hear;
    summary = (dpa_run_summary){0};
    play.at_once = 1;
    memset(key, 'a', sizeof key - 1);
    job = (dpa__run){.opts = &opts, .summary = &summary, .path = path, .start = dpa__clock()};
    job.events.fd = -1;
    job.now = (dpa_run_status){.state = DPA_RUN_RUNNING, .stages = 1, .trial_seconds = (double)NAN};
    job.transport =
        (dpa__transport){.place = place, .progress = progress, .submit = submit, .wait = wait};
    stage = (dpa__stage){.items = items, .ends = ends};
    memcpy(stage.key, key, sizeof key);
    assert_ok(dpa_store_open(path, DPA_STORE_WRITE, &job.store, &err));
    assert_ok(dpa__store_run_begin(job.store, &err));
    const dpa__stage_row row = {key, "settings", "test.yaml", 0, TRIALS};
    assert_ok(dpa__store_begin(job.store, &err));
    assert_ok(dpa__store_stage(job.store, &row, &stage.row, &err));
    assert_ok(dpa__store_commit(job.store, &err));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    dpa_store_close(job.store);
    for (size_t i = 0; i < TRIALS; ++i) dpa_values_free(&items[i]);
    remove_store(path);
    return 0;
}

static dpa_status play_stage(size_t slots, uint64_t trials) {
    job.transport.slots = slots;
    stage.planned = trials;
    return dpa__stage_play(&job, &stage, &err);
}

/* The store has the trials that are said to have ended so, with their numbers. */
static void assert_stored(void) {
    static dpa_values stored[TRIALS];
    static uint8_t how[TRIALS];
    uint64_t loaded = 0, damaged = 0, decided = 0;
    memset(how, 0, sizeof how);
    assert_ok(dpa__store_load(job.store, stage.key, stored, how, TRIALS, &loaded, &damaged, &err));
    for (size_t i = 0; i < TRIALS; ++i) {
        assert_int_equal(how[i], ends[i]);
        decided += ends[i] == DPA_TRIAL_PLAYED || ends[i] == DPA_TRIAL_FAILED;
        if (ends[i] == DPA_TRIAL_PLAYED) {
            assert_true(stored[i].items[0] == (double)i);
            assert_true(items[i].items[0] == (double)i);
        }
        dpa_values_free(&stored[i]);
    }
    assert_int_equal(loaded, decided);
    assert_int_equal(damaged, 0);
}

static size_t count_ends(dpa_trial_end end) {
    size_t count = 0;
    for (size_t i = 0; i < stage.planned; ++i) count += ends[i] == end;
    return count;
}

static void plays_all(void **state) {
    (void)state;
    play.crashes = 1;
    ends[3] = DPA_TRIAL_PLAYED; /* not asked for again */
    ends[5] = DPA_TRIAL_FAILED;
    ends[7] = DPA_TRIAL_LOST; /* once more */
    assert_ok(play_stage(3, 20));
    assert_int_equal(play.submits, 18);
    const uint64_t first[] = {0, 1, 2, 4, 6, 7, 8};
    for (size_t i = 0; i < 7; ++i) assert_int_equal(play.trial_of[i], first[i]);
    assert_int_equal(summary.played, 18);
    assert_int_equal(summary.crashes, 18);
    assert_int_equal(summary.failed + summary.failed_trials + summary.lost, 0);
    assert_int_equal(job.now.stored, 20);
    assert_int_equal(job.now.planned, 20);
    assert_int_equal(job.now.running, 0);
    assert_string_equal(heard.what, "trials");
    assert_true(heard.done == 18.0 && heard.total == 18.0);
    ends[3] = ends[5] = DPA_TRIAL_NONE;
    assert_stored();
}

/* It waits for the first outcome and then takes what else is there without waiting. */
static void waits_once(void **state) {
    (void)state;
    play.at_once = 2;
    assert_ok(play_stage(4, 9));
    for (size_t i = 0; i < play.wait_count; ++i) {
        const int is_first = i == 0 || !play.some[i - 1];
        if (is_first)
            assert_true(play.waits[i] > 0.0);
        else
            assert_true(play.waits[i] == 0.0);
    }
    /* nine trials, two at a look, and one more question after each pair: the last is alone */
    assert_int_equal(play.looks, 5);
    assert_int_equal(play.wait_count, 13);
    assert_true(play.some[12]);
}

/* What the listing says after a look: those that were submitted first come first. */
static void check_listing(void) {
    size_t order[SLOTS], count = 0;
    if (play.looks < 2 || play.waits[play.wait_count - 1] == 0.0) return;
    const size_t slots = job.transport.slots;
    for (size_t look = 0; look < play.looks; ++look)
        for (size_t i = 0; i < slots; ++i) {
            const int ended_now =
                play.some[play.wait_count - 1] && i == (play.next + slots - 1) % slots;
            if ((play.busy[i] || ended_now) && play.since[i] == look) order[count++] = i;
        }
    const size_t listed = count < DPA_RUN_LISTED ? count : (size_t)DPA_RUN_LISTED;
    assert_int_equal(job.now.trial_count, listed);
    for (size_t i = 0; i < listed; ++i) {
        const dpa_run_trial *t = &job.now.trials[i];
        char name[DPA__PLACE_SIZE];
        place(NULL, order[i], name);
        assert_string_equal(t->place, name);
        assert_int_equal(t->index, play.index[order[i]]);
        assert_true(t->done == play.done[order[i]][0] && t->total == play.done[order[i]][1]);
        assert_true(t->seconds >= 0.0 && (i == 0 || t->seconds <= t[-1].seconds));
    }
    assert_int_equal(job.now.running, count);
}

static void lists_running(void **state) {
    (void)state;
    for (size_t i = 0; i < SLOTS; ++i) {
        play.done[i][0] = (double)i;
        play.done[i][1] = 50.0;
    }
    play.watch = check_listing;
    assert_ok(play_stage(5, 40));
    stage.row = 0;
    (void)tear_down(NULL);
    (void)set_up(NULL);
    play.watch = check_listing;
    assert_ok(play_stage(SLOTS, 100));
}

static void tells_parts(void **state) {
    (void)state;
    play.done[0][0] = 3, play.done[0][1] = 10;
    play.done[1][0] = 1, play.done[1][1] = 2;
    play.done[2][0] = 9, play.done[2][1] = 4; /* more than all: not believed */
    play.done[3][0] = 9;                      /* does not say of how many */
    job.now.stages = 2;
    heard.stop_at = 2;
    assert_int_equal(play_stage(4, 6), DPA_CANCELLED);
    assert_string_equal(heard.what, "stage 1 of 2, trials");
    assert_relative(heard.done, 1 + 0.5, 1e-15); /* of slot 0 the trial has ended */
    assert_true(heard.total == 6.0);
    assert_non_null(strstr(err.text, "stopped: 1 of 6 trials are stored"));
    assert_stored();
    assert_int_equal(count_ends(DPA_TRIAL_PLAYED), 1);
    assert_int_equal(job.now.stored, 1);
    assert_int_equal(job.now.running, 0);
}

static uint64_t fails_once_at;

static answer machine_fails_once(size_t slot, uint64_t index) {
    if (index != 2 || fails_once_at != UINT64_MAX) return PLAYED;
    fails_once_at = slot;
    return MACHINE;
}

/* A trial that a machine lost goes to another slot. */
static void plays_again_elsewhere(void **state) {
    (void)state;
    fails_once_at = UINT64_MAX;
    play.answer = machine_fails_once;
    assert_ok(play_stage(3, 12));
    assert_int_equal(play.submits, 13);
    size_t where[2], found = 0;
    for (size_t i = 0; i < play.submits; ++i)
        if (play.trial_of[i] == 2) where[found++] = play.slot_of[i];
    assert_int_equal(found, 2);
    assert_true(where[0] != where[1]);
    assert_int_equal(summary.failed, 1);
    assert_int_equal(summary.failed_trials + summary.lost + summary.quarantined, 0);
    assert_string_equal(heard.what, "trials (1 failed attempts)");
    assert_int_equal(count_ends(DPA_TRIAL_PLAYED), 12);
    assert_stored();
}

static answer trial_four_loses(size_t slot, uint64_t index) {
    (void)slot;
    return index == 4 ? MACHINE : PLAYED;
}

/* retries + 1 attempts, then it is lost; on the only slot too. */
static void gives_up(void **state) {
    (void)state;
    for (size_t slots = 1; slots <= 2; ++slots) {
        play.answer = trial_four_loses;
        opts.retries = 2;
        assert_ok(play_stage(slots, 8));
        assert_int_equal(play.submits, 7 + 3);
        assert_int_equal(summary.lost, 1);
        assert_int_equal(summary.failed, 3);
        assert_int_equal(ends[4], DPA_TRIAL_LOST);
        assert_int_equal(job.now.stored, 7);
        assert_stored();
        (void)tear_down(NULL);
        (void)set_up(NULL);
    }
}

static answer one_retires(size_t slot, uint64_t index) {
    (void)index;
    return slot == 1 ? RETIRED : PLAYED;
}

/* A slot that is gone gets nothing more, and what it had does not count as an attempt. */
static void does_without(void **state) {
    (void)state;
    play.answer = one_retires;
    opts.retries = 0;
    assert_ok(play_stage(3, 12));
    size_t asked = 0;
    for (size_t i = 0; i < play.submits; ++i) asked += play.slot_of[i] == 1;
    assert_int_equal(asked, 1);
    assert_int_equal(summary.played, 12);
    assert_int_equal(summary.lost, 0);
    assert_stored();
}

static answer one_is_left(size_t slot, uint64_t index) {
    if (slot == 1) return RETIRED;
    return index == 5 && play.submits < 12 ? MACHINE : PLAYED;
}

/* The only slot that is left plays again what failed there. */
static void again_here(void **state) {
    (void)state;
    play.answer = one_is_left;
    opts.retries = 20;
    assert_ok(play_stage(2, 10));
    assert_int_equal(summary.played, 10);
    assert_true(summary.failed >= 2);
    assert_stored();
}

static answer all_retire(size_t slot, uint64_t index) {
    (void)slot;
    return index < 3 ? PLAYED : RETIRED;
}

static void nobody_left(void **state) {
    (void)state;
    play.answer = all_retire;
    assert_int_equal(play_stage(3, 12), DPA_IO);
    assert_string_equal(err.text, "nobody is left to play the trials");
    assert_int_equal(count_ends(DPA_TRIAL_PLAYED), 3);
    assert_stored();
}

static answer trainer_fails(size_t slot, uint64_t index) {
    (void)slot, (void)index;
    return TRAINER;
}

static answer machine_fails(size_t slot, uint64_t index) {
    (void)slot, (void)index;
    return MACHINE;
}

/* Ten failures and nothing else: something is wrong with all of them, and none is kept. */
static void stops_at_first(void **state) {
    (void)state;
    play.answer = trainer_fails;
    assert_int_equal(play_stage(2, 40), DPA_IO);
    assert_string_equal(err.text,
                        "the first 10 trials failed; the last: diverged:   the last words "
                        "(dpaudit show --failures has all)");
    memset(ends, 0, sizeof ends);
    assert_stored();
    (void)tear_down(NULL);
    (void)set_up(NULL);
    play.answer = trainer_fails; /* as many as there are slots, if these are more */
    assert_int_equal(play_stage(14, 40), DPA_IO);
    assert_non_null(strstr(err.text, "the first 14 trials failed;"));
    (void)tear_down(NULL);
    (void)set_up(NULL);
    play.answer = trainer_fails; /* all that there are */
    assert_int_equal(play_stage(1, 1), DPA_IO);
    assert_non_null(strstr(err.text, "the first 1 trial failed;"));
    (void)tear_down(NULL);
    (void)set_up(NULL);
    play.answer = machine_fails;
    opts.retries = 0;
    assert_int_equal(play_stage(2, 40), DPA_IO);
    assert_non_null(
        strstr(err.text, "the first 3 trials failed, each 1 times; the last: no power"));
}

static answer all_but_the_first(size_t slot, uint64_t index) {
    (void)slot;
    return index == 0 ? PLAYED : TRAINER;
}

/* One success, whenever it was, and failures are outcomes: there is no set-up to blame. */
static void one_success(void **state) {
    (void)state;
    play.answer = all_but_the_first;
    assert_ok(play_stage(2, 40));
    assert_int_equal(summary.failed_trials, 39);
    assert_int_equal(summary.played, 1);
    assert_stored();
}

/* Where others have worked before, too. */
static void failures_are_outcomes(void **state) {
    (void)state;
    play.answer = trainer_fails;
    ends[39] = DPA_TRIAL_PLAYED;
    assert_ok(play_stage(2, 40));
    assert_int_equal(summary.failed_trials, 39);
    assert_int_equal(summary.failed, 39);
    assert_int_equal(job.now.stored, 40);
}

static answer slot_zero_breaks(size_t slot, uint64_t index) {
    return slot == 0 && index >= 60 ? TRAINER : PLAYED;
}

/* A slot where everything begins to fail loses its slot, and its failures are played elsewhere. */
static void quarantines(void **state) {
    (void)state;
    play.answer = slot_zero_breaks;
    play.at_once = 1;
    assert_ok(play_stage(3, 200));
    assert_int_equal(summary.quarantined, 1);
    assert_string_equal(summary.quarantine, "box slot 0");
    assert_string_equal(job.now.quarantine, "box slot 0");
    assert_int_equal(summary.failed_trials, 0);
    assert_int_equal(count_ends(DPA_TRIAL_PLAYED), 200);
    assert_int_equal(play.submits, 200 + summary.failed);
    assert_stored();
}

static answer last_breaks(size_t slot, uint64_t index) {
    (void)slot;
    return index >= 150 ? TRAINER : PLAYED;
}

static void quarantines_the_last(void **state) {
    (void)state;
    play.answer = last_breaks;
    assert_int_equal(play_stage(1, 200), DPA_IO);
    assert_non_null(strstr(err.text, "every trial fails on box slot 0 since trial 150, as none"));
    assert_int_equal(count_ends(DPA_TRIAL_PLAYED), 150);
    assert_int_equal(count_ends(DPA_TRIAL_FAILED), 0);
    assert_int_equal(summary.failed_trials, 0);
    assert_stored();
}

static void out_of_time(void **state) {
    (void)state;
    opts.seconds = 1e6;
    job.start = dpa__clock() - 2e6;
    assert_ok(play_stage(2, 10));
    assert_int_equal(play.submits, 0);
    assert_true(summary.out_of_time);
    summary.out_of_time = 0;
    job.start = dpa__clock();
    assert_ok(play_stage(2, 10));
    assert_int_equal(play.submits, 10);
    assert_false(summary.out_of_time);
}

static answer odd_fail(size_t slot, uint64_t index) {
    (void)slot;
    return index % 2 == 1 ? TRAINER : PLAYED;
}

/* The rate is that of the last 64 to 127 ends; the mean time is that of the trials with numbers. */
static void measures_rate(void **state) {
    (void)state;
    play.answer = odd_fail;
    for (uint64_t trials = 1; trials <= 300; trials += trials < 10 ? 1 : 29) {
        assert_ok(play_stage(1, trials));
        const uint64_t want = trials < 128 ? trials : 64 + trials % 64;
        assert_int_equal(job.now.recent, want);
        assert_true(job.now.recent_since < job.now.ended);
        assert_relative(job.now.trial_seconds, 0.25, 1e-12);
        (void)tear_down(NULL);
        (void)set_up(NULL);
        play.answer = odd_fail;
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    (void)alarm(120); /* a stage that never ends has failed */
    const struct CMUnitTest tests[] = {TEST(plays_all),
                                       TEST(waits_once),
                                       TEST(lists_running),
                                       TEST(tells_parts),
                                       TEST(plays_again_elsewhere),
                                       TEST(gives_up),
                                       TEST(does_without),
                                       TEST(again_here),
                                       TEST(nobody_left),
                                       TEST(stops_at_first),
                                       TEST(one_success),
                                       TEST(failures_are_outcomes),
                                       TEST(quarantines),
                                       TEST(quarantines_the_last),
                                       TEST(out_of_time),
                                       TEST(measures_rate)};
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
