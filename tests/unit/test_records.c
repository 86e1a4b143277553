/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trials as records in files, what is found in damaged ones, the machines that are blamed for
 * failures, events, and the logs of running trials. */
#include "check.h"

#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/write.h"
#include "run/health.h"
#include "run/record.h"
#include "run/schedule.h"
#include "run/scratch.h"

static dpa_error err;
static char folder[] = "/tmp/dpaudit_records_XXXXXX";
static const char some_key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* A disk that takes one byte at a time, and is interrupted first. */
static size_t taken_at_once = SIZE_MAX;
static int interruptions;

ssize_t write(int fd, const void *from, size_t size) {
    if (interruptions > 0) {
        --interruptions;
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_write, fd, from, size < taken_at_once ? size : taken_at_once);
}

static const char *in_folder(const char *name) {
    static char path[16][160];
    static int next;
    char *out = path[next++ % 16];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static dpa__record record_of(uint64_t index, dpa_trial_end end, double started, const double *x,
                             size_t count, const char *place, const char *reason,
                             const char *said) {
    dpa__record r = {.stage = 1,
                     .index = index,
                     .end = end,
                     .started = started,
                     .seconds = 0.125,
                     .numbers = (const unsigned char *)x,
                     .count = count,
                     .place = place,
                     .reason = reason,
                     .said = said,
                     .place_size = strlen(place),
                     .reason_size = strlen(reason),
                     .said_size = strlen(said)};
    memcpy(r.key, some_key, sizeof r.key);
    return r;
}

static void assert_same(const dpa__record *a, const dpa__record *b) {
    assert_string_equal(a->key, b->key);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->end, b->end);
    assert_true(a->started == b->started && a->seconds == b->seconds);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->numbers, b->numbers, a->count * sizeof(double));
    assert_int_equal(a->place_size, b->place_size);
    assert_int_equal(a->reason_size, b->reason_size);
    assert_int_equal(a->said_size, b->said_size);
    assert_memory_equal(a->place, b->place, a->place_size);
    assert_memory_equal(a->reason, b->reason, a->reason_size);
    assert_memory_equal(a->said, b->said, a->said_size);
}

static void same_bytes(void **state) {
    (void)state;
    const double x[3] = {0.1, -1e300, 5e-324};
    const dpa__record full =
        record_of(12, DPA_TRIAL_PLAYED, 1.7e9 + 0.1, x, 3, "hydra slot 3", "why\nso", "said\n");
    const dpa__record empty = record_of(UINT64_MAX / 20, DPA_TRIAL_LOST, 0, NULL, 0, "", "", "");
    const dpa__record *const all[] = {&full, &empty};
    for (int k = 0; k < 2; ++k) {
        dpa__text text = {0};
        dpa__record got = {0};
        size_t used;
        dpa__record_put(&text, all[k]);
        const unsigned char *bytes = (const unsigned char *)text.data;
        const size_t size = text.length;
        dpa__record_take(bytes, size, &got, &used);
        assert_int_equal(used, size);
        assert_same(&got, all[k]);
        /* complete or nothing; whatever is changed is noticed */
        for (size_t n = 0; n < size; ++n) {
            dpa__record_take(bytes, n, &got, &used);
            assert_int_equal(used, 0);
        }
        for (size_t n = 0; n < size; ++n) {
            text.data[n] ^= 1;
            dpa__record_take(bytes, size, &got, &used);
            assert_int_equal(used, 0);
            text.data[n] ^= 1;
        }
        /* what follows does not matter */
        dpa__text_add(&text, "dpaudit-trial 1 and more");
        dpa__record_take((unsigned char *)text.data, text.length, &got, &used);
        assert_int_equal(used, size);
        assert_int_equal(dpa__record_find((unsigned char *)text.data, text.length), size);
        assert_int_equal(dpa__record_find((unsigned char *)text.data, size), size);
        dpa__text_free(&text);
    }
    assert_int_equal(dpa__record_find((const unsigned char *)"d", 1), 1);
    assert_int_equal(dpa__record_find((const unsigned char *)"", 0), 0);
    /* one that has only begun is found, and no byte beyond the last is looked at */
    assert_int_equal(dpa__record_find((const unsigned char *)"xdpaudit-trial 1 ", 17), 1);
    assert_int_equal(dpa__record_find((const unsigned char *)"xdpaudit-trial 1 ", 16), 16);
}

/* The head as the format's description has it. */
static void written_head(void **state) {
    (void)state;
    const double x[1] = {1};
    const dpa__record r = record_of(7, DPA_TRIAL_PLAYED, 1.5, x, 1, "here", "", "ok");
    dpa__text text = {0};
    char want[256];
    dpa__record_put(&text, &r);
    (void)snprintf(want, sizeof want,
                   "dpaudit-trial 1 key=%s stage=1 index=7 end=%d started=1.5 seconds=0.125 "
                   "numbers=1 place=4 reason=0 said=2 sum=",
                   some_key, (int)DPA_TRIAL_PLAYED);
    assert_memory_equal(text.data, want, strlen(want));
    assert_memory_equal(text.data + text.length - 7, "hereok\n", 7);
    /* a head that says more than it may is no head: stage, end, key, number */
    static const char *const wrong[][2] = {{"stage=1", "stage=9"},
                                           {"end=1", "end=9"},
                                           {"key=0", "key=x"},
                                           {"index=7", "index=-"},
                                           {"numbers=1", "numbers=x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        char *at = strstr(text.data, wrong[i][0]);
        dpa__record got;
        size_t used;
        assert_non_null(at);
        memcpy(at, wrong[i][1], strlen(wrong[i][1]));
        dpa__record_take((unsigned char *)text.data, text.length, &got, &used);
        assert_int_equal(used, 0);
        memcpy(at, wrong[i][0], strlen(wrong[i][0]));
    }
    dpa__text_free(&text);
}

static dpa_status gather(void *user, size_t file, const dpa__record *r, dpa_error *e) {
    dpa__text *seen = user;
    (void)e;
    dpa__text_printf(seen, "%zu:%d ", file, (int)r->index);
    return r->index == 99 ? DPA_CANCELLED : DPA_OK;
}

/* Files in the order of their names; damaged places are counted and skipped. */
static void folders(void **state) {
    (void)state;
    dpa__text one = {0}, two = {0}, seen = {0};
    double many[20000] = {0};
    for (int i = 0; i < 3; ++i) {
        const dpa__record r =
            record_of((uint64_t)i, DPA_TRIAL_PLAYED, i, many, i == 1 ? 20000 : 1, "p", "", "");
        dpa__record_put(&one, &r);
        if (i == 0) dpa__text_add(&one, "rubbish");
    }
    const dpa__record last = record_of(5, DPA_TRIAL_FAILED, 9, NULL, 0, "p", "r", "");
    dpa__record_put(&two, &last);
    two.length -= 3; /* cut */
    assert_ok(dpa__file_write(in_folder("b.dpt"), one.data, one.length, &err));
    assert_ok(dpa__file_write(in_folder("a.dpt"), two.data, two.length, &err));
    assert_ok(dpa__file_write(in_folder("c.dpt"), "", 0, &err));
    assert_ok(dpa__file_write(in_folder("b.txt"), one.data, one.length, &err));
    assert_ok(dpa__file_write(in_folder(".dpt"), one.data, one.length, &err));
    dpa__record_files files;
    uint64_t damaged = 7;
    assert_ok(dpa__record_files_open(folder, "", &files, &err));
    assert_int_equal(files.count, 3);
    assert_string_equal(files.names[0], "a.dpt");
    assert_string_equal(files.names[2], "c.dpt");
    assert_ok(dpa__record_files_visit(&files, gather, &seen, &damaged, &err));
    assert_string_equal(seen.data, "1:0 1:1 1:2 ");
    assert_int_equal(damaged, 2); /* the rubbish, and the file that was cut */
    dpa__record_files_close(&files);
    assert_int_equal(files.count, 0);
    assert_ok(dpa__record_files_open(folder, "b", &files, &err));
    assert_int_equal(files.count, 1);
    dpa__record_files_close(&files);
    /* whoever visits may stop it */
    one.length = 0;
    const dpa__record stop = record_of(99, DPA_TRIAL_PLAYED, 0, NULL, 0, "", "", "");
    dpa__record_put(&one, &stop);
    dpa__record_put(&one, &stop);
    assert_ok(dpa__file_write(in_folder("b.dpt"), one.data, one.length, &err));
    assert_ok(dpa__record_files_open(folder, "b", &files, &err));
    seen.length = 0;
    assert_int_equal(dpa__record_files_visit(&files, gather, &seen, &damaged, &err), DPA_CANCELLED);
    assert_string_equal(seen.data, "0:99 ");
    dpa__record_files_close(&files);
    static const char *const names[] = {"a.dpt", "b.dpt", "c.dpt", "b.txt", ".dpt"};
    for (size_t i = 0; i < 5; ++i) (void)unlink(in_folder(names[i]));
    assert_int_equal(dpa__record_files_open(in_folder("none"), "", &files, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "cannot read this folder: No such file or directory");
    dpa__text_free(&one);
    dpa__text_free(&two);
    dpa__text_free(&seen);
}

static void briefs(void **state) {
    (void)state;
    double x[2] = {0.25, -3};
    const dpa_values brief = {.items = x, .count = 2};
    dpa_values got;
    char key[DPA_SHA256_SIZE] = "";
    int found = 7;
    assert_ok(dpa__brief_read(folder, 1, key, &got, &found, &err));
    assert_int_equal(found, 0);
    assert_ok(dpa__brief_write(folder, 1, some_key, &brief, &err));
    assert_int_equal(access(in_folder("stage-2.brief"), R_OK), 0);
    assert_ok(dpa__brief_read(folder, 1, key, &got, &found, &err));
    assert_int_equal(found, 1);
    assert_string_equal(key, some_key);
    assert_int_equal(got.count, 2);
    assert_true(got.items[0] == 0.25 && got.items[1] == -3);
    dpa_values_free(&got);
    /* of another stage, of a trial, damaged, empty: not a brief */
    assert_int_equal(rename(in_folder("stage-2.brief"), in_folder("stage-3.brief")), 0);
    assert_int_equal(dpa__brief_read(folder, 2, key, &got, &found, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "not a brief of stage 3, or damaged: dpaudit import writes it");
    const dpa__record trial = record_of(0, DPA_TRIAL_PLAYED, 0, x, 2, "", "", "");
    dpa__text text = {0};
    dpa__record_put(&text, &trial);
    assert_ok(dpa__file_write(in_folder("stage-2.brief"), text.data, text.length, &err));
    assert_int_equal(dpa__brief_read(folder, 1, key, &got, &found, &err), DPA_BAD_INPUT);
    assert_ok(dpa__file_write(in_folder("stage-2.brief"), "", 0, &err));
    assert_int_equal(dpa__brief_read(folder, 1, key, &got, &found, &err), DPA_BAD_INPUT);
    dpa__text_free(&text);
    (void)unlink(in_folder("stage-2.brief"));
    (void)unlink(in_folder("stage-3.brief"));
}

typedef struct end {
    const char *place;
    double started;
    dpa_trial_end end;
} end;

/* Adds all, counts all, decides, and says for each whether it is blamed on its place. */
static size_t judged(const end *ends, size_t count, char *names, size_t size, int *blamed) {
    dpa__suspects s = {0};
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < count; ++i) {
            const dpa__record r =
                record_of(i, ends[i].end, ends[i].started, NULL, 0, ends[i].place, "", "");
            assert_ok(pass == 0 ? dpa__suspects_add(&s, &r, &err)
                                : dpa__suspects_count(&s, &r, &err));
        }
    names[0] = '\0';
    const size_t broken = dpa__suspects_decide(&s, names, size);
    for (size_t i = 0; i < count; ++i) {
        const dpa__record r =
            record_of(i, ends[i].end, ends[i].started, NULL, 0, ends[i].place, "", "");
        assert_ok(dpa__suspects_blame(&s, &r, &blamed[i], &err));
    }
    dpa__suspects_free(&s);
    return broken;
}

/* 400 trials on two machines of two slots: b's second slot fails all of its last 50, while nearly
 * everything else is played. Only that row is blamed, not the failures before its last success. */
static void broken_places(void **state) {
    (void)state;
    enum { COUNT = 400 };
    static const char *const places[4] = {"a slot 0", "a slot 1", "b slot 0", "b slot 1"};
    end ends[COUNT];
    int blamed[COUNT];
    char names[64];
    for (int i = 0; i < COUNT; ++i) {
        ends[i] = (end){places[i % 4], i, DPA_TRIAL_PLAYED};
        if (i % 4 == 3 && i >= 200) ends[i].end = DPA_TRIAL_FAILED;
    }
    ends[3].end = DPA_TRIAL_FAILED; /* before a success */
    ends[0].end = DPA_TRIAL_FAILED;
    ends[1].end = DPA_TRIAL_LOST;
    assert_int_equal(judged(ends, COUNT, names, sizeof names, blamed), 1);
    assert_string_equal(names, "b slot 1");
    for (int i = 0; i < COUNT; ++i) assert_int_equal(blamed[i], i % 4 == 3 && i >= 200);
    /* now all of b: the machine is named, not its slots as well */
    for (int i = 0; i < COUNT; ++i)
        if (i % 4 >= 2 && i >= 200) ends[i].end = DPA_TRIAL_FAILED;
    assert_int_equal(judged(ends, COUNT, names, sizeof names, blamed), 3);
    assert_string_equal(names, "b");
    for (int i = 0; i < COUNT; ++i) assert_int_equal(blamed[i], i % 4 >= 2 && i >= 200);
    /* failures everywhere are nobody's fault */
    for (int i = 0; i < COUNT; ++i) ends[i].end = i % 3 == 0 ? DPA_TRIAL_PLAYED : DPA_TRIAL_FAILED;
    assert_int_equal(judged(ends, COUNT, names, sizeof names, blamed), 0);
    assert_string_equal(names, "");
    for (int i = 0; i < COUNT; ++i) assert_int_equal(blamed[i], 0);
    /* names as far as there is room for whole ones */
    static const char *const four[4] = {"alpha", "beta", "gamma", "delta"};
    for (int i = 0; i < COUNT; ++i) {
        ends[i] = (end){four[i % 4], i, DPA_TRIAL_PLAYED};
        if (i % 4 < 2 && i >= 100) ends[i].end = DPA_TRIAL_FAILED;
    }
    assert_int_equal(judged(ends, COUNT, names, sizeof names, blamed), 2);
    assert_string_equal(names, "alpha, beta");
    assert_int_equal(judged(ends, COUNT, names, 9, blamed), 2);
    assert_memory_equal(names, "alpha", 5);
}

static json_t *last_line(const char *path, size_t number) {
    char line[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t i = 0; i <= number; ++i) assert_non_null(fgets(line, sizeof line, file));
    assert_null(fgets(line + 2000, 1000, file));
    (void)fclose(file);
    json_t *object = json_loads(line, 0, NULL);
    assert_non_null(object);
    return object;
}

static void assert_count(const json_t *line, const char *key, json_int_t want) {
    assert_int_equal(json_integer_value(json_object_get(line, key)), want);
}
static void assert_text(const json_t *line, const char *key, const char *want) {
    assert_string_equal(json_string_value(json_object_get(line, key)), want);
}

/* Lines of a transaction wait for it; each is what docs/runner.md says. */
static void events(void **state) {
    (void)state;
    const char *path = in_folder("events");
    dpa__events e;
    double x[20];
    for (int i = 0; i < 20; ++i) x[i] = i;
    const dpa__events_place place = {1, 2, 30, 40};
    dpa__outcome o = {.index = 5, .values = {.items = x, .count = 20}, .seconds = 2.5};
    assert_ok(dpa__events_open(&e, NULL, &err)); /* nobody listens */
    dpa__events_stage(&e, &place);
    assert_int_equal(e.waiting.length, 0);
    dpa__events_close(&e);
    assert_ok(dpa__events_open(&e, "/dev/full", &err)); /* lost, and nobody waits for it */
    dpa__events_stage(&e, &place);
    dpa__events_flush(&e);
    assert_int_equal(e.waiting.length, 0);
    dpa__events_close(&e);
    assert_ok(dpa__events_open(&e, path, &err));
    dpa__events_stage(&e, &place);
    json_t *line = last_line(path, 0);
    assert_text(line, "event", "stage");
    assert_count(line, "stage", 1);
    assert_count(line, "stages", 2);
    assert_count(line, "done", 30);
    assert_count(line, "planned", 40);
    assert_true(json_real_value(json_object_get(line, "time")) > 1.6e9);
    json_decref(line);
    dpa__events_trial(&e, &place, &o, "played", "here slot 1");
    line = last_line(path, 0); /* not committed yet */
    json_decref(line);
    dpa__events_drop(&e);
    dpa__events_trial(&e, &place, &o, "played", "here slot 1");
    dpa__events_flush(&e);
    line = last_line(path, 1);
    assert_text(line, "event", "trial");
    assert_text(line, "ended", "played");
    assert_text(line, "place", "here slot 1");
    assert_count(line, "trial", 5);
    assert_count(line, "done", 30);
    assert_int_equal(json_array_size(json_object_get(line, "values")), 16);
    assert_true(json_number_value(json_array_get(json_object_get(line, "values"), 15)) == 15);
    assert_true(json_number_value(json_object_get(line, "seconds")) == 2.5);
    assert_null(json_object_get(line, "reason"));
    json_decref(line);
    o.status = DPA_TRAINER;
    (void)snprintf(o.error.text, sizeof o.error.text, "because");
    dpa__events_trial(&e, &place, &o, "failed", "there");
    dpa__events_flush(&e);
    line = last_line(path, 2);
    assert_text(line, "reason", "because");
    assert_null(json_object_get(line, "values"));
    json_decref(line);
    const dpa_run_summary all = {.played = 3, .failed_trials = 4, .lost = 5, .seconds = 1.5};
    dpa_run_summary some = all;
    some.missing = 1;
    dpa__events_end(&e, &all, DPA_OK);
    dpa__events_close(&e); /* writes what waits */
    line = last_line(path, 3);
    assert_text(line, "event", "end");
    assert_text(line, "state", "done");
    assert_count(line, "played", 3);
    assert_count(line, "failed_trials", 4);
    assert_count(line, "lost_trials", 5);
    assert_true(json_number_value(json_object_get(line, "seconds")) == 1.5);
    json_decref(line);
    assert_ok(dpa__events_open(&e, path, &err)); /* goes on behind what is there */
    dpa__events_end(&e, &some, DPA_OK);
    dpa__events_flush(&e);
    line = last_line(path, 4);
    assert_text(line, "state", "stopped");
    json_decref(line);
    dpa__events_end(&e, &all, DPA_IO);
    taken_at_once = 1;
    interruptions = 2;
    dpa__events_close(&e);
    taken_at_once = SIZE_MAX;
    assert_int_equal(interruptions, 0);
    line = last_line(path, 5);
    assert_text(line, "state", "stopped");
    json_decref(line);
    (void)unlink(path);
    assert_int_equal(dpa__events_open(&e, in_folder("no/events"), &err), DPA_IO);
    assert_string_equal(err.text, "cannot write events: No such file or directory");
}

static void list(void *user, const char *path, long rank) {
    dpa__text *text = user;
    dpa__text_printf(text, "%s=%ld ", strrchr(path, '/') + 1, rank);
}

/* A log appears with its first bytes where others find it by the trial's number, starts over when
 * it is too long, and is gone with its trial. */
static void logs(void **state) {
    (void)state;
    const char *store = in_folder("x.trials");
    char *scratch = NULL, *rank = NULL, *found = NULL;
    struct stat info;
    assert_ok(dpa__scratch_name(store, 0, &scratch, &err));
    assert_ok(dpa__scratch_name(store, 3, &rank, &err));
    assert_string_equal(scratch, in_folder("x.trials.scratch"));
    assert_string_equal(rank, in_folder("x.trials.scratch.rank3"));
    dpa__live_log log = {.scratch = rank, .slot = 2, .index = 17};
    assert_ok(dpa_run_log_find(store, 17, &found, &err));
    assert_null(found);
    dpa__live_log_end(&log); /* nothing was said */
    dpa__live_log_add(&log, "one", 3);
    dpa__live_log_add(&log, "two", 3);
    assert_ok(dpa_run_log_find(store, 17, &found, &err));
    assert_non_null(found);
    assert_string_equal(found, in_folder("x.trials.scratch.rank3/2/trial-17.log"));
    assert_int_equal(stat(found, &info), 0);
    assert_int_equal(info.st_size, 6);
    char *other = NULL;
    assert_ok(dpa_run_log_find(store, 7, &other, &err));
    assert_null(other);
    char *much = calloc(1, 1 << 20);
    assert_non_null(much);
    dpa__live_log_add(&log, much, 1 << 20); /* longer than a log may be */
    assert_int_equal(stat(found, &info), 0);
    assert_int_equal(info.st_size, (1 << 20) + 6);
    dpa__live_log_add(&log, "again", 5);
    assert_int_equal(stat(found, &info), 0);
    assert_int_equal(info.st_size, 5);
    free(much);
    dpa__text seen = {0};
    assert_int_equal(mkdir(scratch, 0777), 0);
    assert_int_equal(mkdir(in_folder("xx.trials.scratch"), 0777), 0);
    assert_int_equal(mkdir(in_folder("x.trials.scratchy"), 0777), 0);
    dpa__scratch_list(store, list, &seen);
    assert_non_null(strstr(seen.data, "x.trials.scratch=0 "));
    assert_non_null(strstr(seen.data, "x.trials.scratch.rank3=3 "));
    assert_int_equal(seen.length, strlen("x.trials.scratch=0 x.trials.scratch.rank3=3 "));
    dpa__text_free(&seen);
    dpa__live_log_end(&log);
    assert_int_equal(access(found, F_OK), -1);
    log.index = 18; /* the next trial of the slot has a log of its own */
    dpa__live_log_add(&log, "next", 4);
    assert_int_equal(stat(in_folder("x.trials.scratch.rank3/2/trial-18.log"), &info), 0);
    assert_int_equal(info.st_size, 4);
    dpa__live_log_end(&log);
    assert_int_equal(access(in_folder("x.trials.scratch.rank3/2/trial-18.log"), F_OK), -1);
    (void)rmdir(in_folder("x.trials.scratch.rank3/2"));
    (void)rmdir(rank);
    (void)rmdir(scratch);
    (void)rmdir(in_folder("xx.trials.scratch"));
    (void)rmdir(in_folder("x.trials.scratchy"));
    free(found);
    free(scratch);
    free(rank);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes), cmocka_unit_test(written_head),  cmocka_unit_test(folders),
        cmocka_unit_test(briefs),     cmocka_unit_test(broken_places), cmocka_unit_test(events),
        cmocka_unit_test(logs)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
