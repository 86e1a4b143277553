/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trials as files: what the processes of a job array write, and what is imported of it. The game is
 * that of test_run.c: two stages, trials that fail when told to. */
#include "check.h"
#include "stores.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/write.h"
#include "dpaudit/lab/run.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "run/record.h"
#include "run/schedule.h"

enum { FIRST = 7, SECOND = 5 };

static dpa_error err;
static char path[64];

/* What the game does, and what it was asked to do. */
static struct {
    int failures[2][8]; /* how often the machine fails before the trial works; -1: always */
    int broken[2][8];   /* the trainer itself fails */
    int played[2][8];
    int ends[4]; /* of the second stage, as gather saw them */
    int strict;  /* gather needs every trial */
    int offset;  /* part of the key, so another value is another game */
} play;

static uint64_t trials(const dpa_game *game, int stage) {
    (void)game;
    return stage == 0 ? FIRST : SECOND;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)game;
    dpa__text_printf(text, "offset %d stage %d\n", play.offset, stage);
}

/* The sum of the first stage, which missing trials change. */
static dpa_status brief(dpa_game *game, int stage, const dpa_trials *earlier, dpa_values *out,
                        dpa_error *error) {
    (void)game, (void)stage;
    DPA_TRY(dpa__values_new(1, out, error));
    out->items[0] = 0.0;
    for (uint64_t i = 0; i < earlier[0].count; ++i)
        if (earlier[0].items[i].items != NULL) out->items[0] += earlier[0].items[i].items[0];
    return DPA_OK;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *told,
                        dpa_values *out, dpa_error *error) {
    (void)game;
    ++play.played[stage][index];
    int *left = &play.failures[stage][index];
    if (*left != 0) {
        if (*left > 0) --*left;
        return dpa__fail(error, DPA_IO, "trial %d does not work", (int)index);
    }
    if (play.broken[stage][index])
        return dpa__fail(error, DPA_NUMERIC, "trial %d diverged", (int)index);
    assert_int_equal(told->count, stage);
    out->items[0] = (double)(index + 1) + (stage == 1 ? 100.0 * told->items[0] : 0.0);
    return DPA_OK;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)game, (void)stage, (void)index;
    return 1;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *error) {
    (void)game;
    double *items = malloc(16 * sizeof *items);
    size_t count = 0;
    for (int s = 0; s < 2; ++s)
        for (uint64_t i = 0; i < stages[s].count; ++i) {
            const dpa_trial_end end = dpa_trials_end(&stages[s], i);
            play.ends[end] += s == 1;
            if (end == DPA_TRIAL_PLAYED)
                items[count++] = stages[s].items[i].items[0];
            else if (play.strict) {
                free(items);
                return dpa__fail(error, DPA_BAD_INPUT, "every trial counts");
            }
        }
    return dpa__evidence_add(out, "all", items, count, 0, error);
}

static int arm(const dpa_game *game, uint64_t index) {
    (void)game;
    return index % 2 == 0;
}

static const dpa__rules rules = {.trials = trials,
                                 .numbers = numbers,
                                 .describe = describe,
                                 .brief = brief,
                                 .trial = trial,
                                 .gather = gather,
                                 .arm = arm};

static char name[] = "test.yaml";
static const dpa_experiment experiment = {.path = name};
static dpa_game game = {.experiment = &experiment, .rules = &rules};

static char files[64];

static void empty(const char *folder) {
    DIR *all = opendir(folder);
    if (all == NULL) return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        char file[400];
        (void)snprintf(file, sizeof file, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') (void)unlink(file);
    }
    (void)closedir(all);
}

static int fresh(void **state) {
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/dpa_shards_%d.db", (int)getpid());
    (void)snprintf(files, sizeof files, "/tmp/dpa_shards_%d", (int)getpid());
    remove_store(path);
    empty(files);
    (void)rmdir(files);
    memset(&play, 0, sizeof play);
    return 0;
}

static dpa_run_opts options(void) {
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.store = path;
    return opts;
}

static dpa_shard_summary shard(uint64_t number, uint64_t of, int stage) {
    const dpa_run_opts opts = options();
    const dpa_shard which = {files, stage, number, number, of};
    dpa_shard_summary out;
    if (dpa_shard_play(&opts, &which, &game, &out, &err) != DPA_OK) fail_msg("%s", err.text);
    return out;
}

static void refused(uint64_t number, uint64_t of, int stage, dpa_status want, const char *text) {
    const dpa_run_opts opts = options();
    const dpa_shard which = {files, stage, number, number, of};
    dpa_shard_summary out;
    assert_int_equal(dpa_shard_play(&opts, &which, &game, &out, &err), want);
    if (strstr(err.text, text) == NULL) fail_msg("'%s' has no '%s'", err.text, text);
}

static dpa_import_summary imported(void) {
    const dpa_run_opts opts = options();
    dpa_import_summary out;
    if (dpa_import(&opts, files, &game, &out, &err) != DPA_OK) fail_msg("%s", err.text);
    return out;
}

/* Asserts what an import says, and frees it. */
static void assert_import(int stage, uint64_t planned, uint64_t stored, uint64_t count,
                          const char *ranges) {
    dpa_import_summary s = imported();
    assert_int_equal(s.stages, 2);
    assert_int_equal(s.stage, stage);
    assert_int_equal(s.planned, planned);
    assert_int_equal(s.stored, stored);
    assert_int_equal(s.imported, count);
    assert_int_equal(s.missing, planned - stored);
    assert_string_equal(s.ranges, ranges);
    dpa_import_summary_free(&s);
    assert_null(s.ranges);
}

static double sum_of(uint64_t want_played) {
    const dpa_run_opts opts = options();
    dpa_evidence evidence;
    dpa_run_summary summary;
    double sum = 0.0;
    assert_ok(dpa_run_play(&opts, &game, &evidence, &summary, &err));
    assert_int_equal(summary.played, want_played);
    for (size_t i = 0; i < evidence.arrays[0].count; ++i) sum += evidence.arrays[0].items[i];
    dpa__evidence_clear(&evidence);
    return sum;
}

static const double whole = 28.0 + 15.0 + 5 * 100.0 * 28.0;

/* Three processes, two stages, every trial once; the run then finds all of it. */
static void array(void **state) {
    (void)state;
    static const uint64_t sizes[3] = {3, 2, 2};
    for (uint64_t k = 0; k < 2; ++k) {
        const dpa_shard_summary s = shard(k, 3, -1);
        assert_int_equal(s.stage, 0);
        assert_int_equal(s.planned, sizes[k]);
        assert_int_equal(s.played, sizes[k]);
        assert_int_equal(s.found + s.failed + s.lost, 0);
    }
    assert_import(0, 7, 5, 5, "2,5");
    refused(0, 3, 1, DPA_BAD_INPUT,
            "stage-2.brief is not there: dpaudit import writes it when stage 1");
    assert_int_equal(shard(2, 3, -1).played, 2);
    for (int i = 0; i < FIRST; ++i) assert_int_equal(play.played[0][i], 1);
    dpa_shard_summary s = shard(0, 3, -1); /* has written all of its trials */
    assert_int_equal(s.found, 3);
    assert_int_equal(s.played, 0);
    assert_import(1, 12, 7, 2, "0-4");
    assert_import(1, 12, 7, 0, "0-4"); /* nothing new */
    /* the next stage: its brief is in the folder */
    s = shard(1, 2, -1);
    assert_int_equal(s.stage, 1);
    assert_int_equal(s.planned, 2);
    assert_import(1, 12, 9, 2, "0,3-4");
    s = shard(0, 2, 1);
    assert_int_equal(s.planned, 3);
    assert_import(1, 12, 12, 3, "");
    for (int i = 0; i < SECOND; ++i) assert_int_equal(play.played[1][i], 1);
    assert_true(sum_of(0) == whole);
}

/* With an even number of shards each has trials of both arms: neighbours swap in every second
 * round. */
static void arms(void **state) {
    (void)state;
    assert_int_equal(shard(0, 2, 0).planned, 3);
    static const int want[FIRST] = {1, 0, 0, 1, 1, 0, 0};
    for (int i = 0; i < FIRST; ++i) assert_int_equal(play.played[0][i], want[i]);
    assert_int_equal(shard(1, 2, 0).planned, 4);
    for (int i = 0; i < FIRST; ++i) assert_int_equal(play.played[0][i], 1);
}

/* One trial by its number. */
static void single(void **state) {
    (void)state;
    dpa_shard_summary s = shard(4, 0, 0);
    assert_int_equal(s.planned, 1);
    assert_int_equal(s.played, 1);
    assert_int_equal(play.played[0][4], 1);
    s = shard(4, 0, 0);
    assert_int_equal(s.found, 1);
    assert_import(0, 7, 1, 1, "0-3,5-6");
    refused(7, 0, 0, DPA_BAD_ARGUMENT, "index 7: expected 0 to 6");
    refused(2, 2, 0, DPA_BAD_ARGUMENT, "shard 2/2: expected 0/2 to 1/2");
}

/* A machine that fails is tried again, then the trial is lost and stays missing; a trainer that
 * fails is an outcome. */
static void failures(void **state) {
    (void)state;
    play.failures[0][1] = 2;
    play.failures[0][2] = -1;
    play.broken[0][3] = 1;
    const dpa_shard_summary s = shard(0, 1, 0);
    assert_int_equal(s.planned, 7);
    assert_int_equal(s.played, 5);
    assert_int_equal(s.failed, 1);
    assert_int_equal(s.lost, 1);
    assert_int_equal(play.played[0][1], 3);
    assert_int_equal(play.played[0][2], 3);
    assert_int_equal(play.played[0][3], 1);
    assert_import(0, 7, 6, 6, "2");
    play.failures[0][2] = 0;
    const dpa_shard_summary again = shard(0, 1, 0); /* the lost one only */
    assert_int_equal(again.found, 6);
    assert_int_equal(again.played, 1);
    assert_import(1, 12, 7, 1, "0-4");
    assert_int_equal(play.played[0][3], 1);
}

/* Twice the same trial: the attempt that began first counts, and other numbers are told. Records
 * of other experiments and damaged ones are counted. */
static void doubles(void **state) {
    (void)state;
    dpa__record_files found;
    (void)shard(0, 1, 0);
    assert_ok(dpa__record_files_open(files, "", &found, &err));
    assert_int_equal(found.count, 1);
    dpa__record first;
    size_t used;
    dpa__record_take(found.items[0].bytes, found.items[0].size, &first, &used);
    assert_int_equal(first.index, 0);
    dpa__record r = first;
    dpa__text text = {0};
    const double other = 1000.0;
    dpa__record_put(&text, &r); /* the same again */
    r.numbers = (const unsigned char *)&other;
    r.started = first.started + 10;
    dpa__record_put(&text, &r); /* later, with another number */
    r.index = 50;
    dpa__record_put(&text, &r); /* beyond the experiment */
    r.index = 1;
    r.key[0] = r.key[0] == '0' ? '1' : '0';
    dpa__record_put(&text, &r); /* of another one */
    dpa__text_add(&text, "rubbish");
    char file[128];
    (void)snprintf(file, sizeof file, "%s/zz.dpt", files);
    assert_ok(dpa__file_write(file, text.data, text.length, &err));
    dpa__text_free(&text);
    dpa__record_files_close(&found);
    dpa_import_summary s = imported();
    assert_int_equal(s.imported, 7);
    assert_int_equal(s.duplicates, 2);
    assert_int_equal(s.differing, 1);
    assert_int_equal(s.foreign, 1);
    assert_int_equal(s.damaged, 1);
    assert_int_equal(s.broken + s.blamed, 0);
    dpa_import_summary_free(&s);
    assert_true(sum_of(5) == whole); /* the first attempt's number */
}

typedef struct texts {
    int count, machine;
    char place[64], reason[64], said[64];
    size_t lengths[3];
} texts;

static size_t length_of(const char *text) {
    return text != NULL ? strlen(text) : 0;
}

static int keep_texts(void *user, const dpa_store_entry *t) {
    texts *out = user;
    ++out->count;
    out->machine += t->machine;
    out->lengths[0] = length_of(t->place);
    out->lengths[1] = length_of(t->reason);
    out->lengths[2] = length_of(t->said);
    (void)snprintf(out->place, sizeof out->place, "%s", t->place != NULL ? t->place : "-");
    (void)snprintf(out->reason, sizeof out->reason, "%s", t->reason != NULL ? t->reason : "-");
    (void)snprintf(out->said, sizeof out->said, "%s", t->said != NULL ? t->said : "-");
    return 0;
}

/* What a failed trial said arrives whole, however long it is beside the rest. */
static void words_of_failures(void **state) {
    (void)state;
    static const char said[] = "it says much more than its place and its reason";
    play.broken[0][4] = 1;
    (void)shard(4, 0, 0);
    dpa__record_files found;
    dpa__record r;
    size_t used;
    assert_ok(dpa__record_files_open(files, "", &found, &err));
    dpa__record_take(found.items[0].bytes, found.items[0].size, &r, &used);
    assert_int_equal(r.end, DPA_TRIAL_FAILED);
    r.started -= 10; /* the first attempt counts */
    r.place = "here";
    r.reason = "why";
    r.said = said;
    r.place_size = 4, r.reason_size = 3, r.said_size = sizeof said - 1;
    dpa__text text = {0};
    dpa__record_put(&text, &r);
    char file[128];
    (void)snprintf(file, sizeof file, "%s/zz.dpt", files);
    assert_ok(dpa__file_write(file, text.data, text.length, &err));
    dpa__text_free(&text);
    dpa__record_files_close(&found);
    assert_import(0, 7, 1, 1, "0-3,5-6");
    dpa_store *store;
    texts read = {0};
    assert_ok(dpa_store_open(path, DPA_STORE_READ, &store, &err));
    assert_ok(dpa_store_failures(store, NULL, keep_texts, &read, &err));
    dpa_store_close(store);
    assert_int_equal(read.count, 1);
    assert_int_equal(read.machine, 0);
    assert_string_equal(read.place, "here");
    assert_string_equal(read.reason, "why");
    assert_string_equal(read.said, said);
}

/* However long any of its texts is, and beside which others; it says whether the machine failed. */
static void long_words(void **state) {
    enum { LONG = 100000 };
    static char text[LONG + 1];
    memset(text, 't', LONG);
    for (int k = 0; k < 6; ++k) {
        dpa__record r = {.stage = 0, .end = k < 3 ? DPA_TRIAL_FAILED : DPA_TRIAL_LOST};
        size_t *const sizes[] = {&r.place_size, &r.reason_size, &r.said_size};
        char file[128];
        dpa__text record = {0};
        dpa_store *store;
        texts read = {0};
        (void)fresh(state);
        assert_int_equal(mkdir(files, 0777), 0);
        dpa__stage stage = {.number = 0};
        const dpa_values brief = {0};
        assert_ok(dpa__stage_find(&game, &stage, &brief, NULL, &err));
        memcpy(r.key, stage.key, sizeof r.key);
        r.place = r.reason = r.said = text;
        for (int i = 0; i < 3; ++i) *sizes[i] = i == k % 3 ? LONG : 5;
        dpa__record_put(&record, &r);
        (void)snprintf(file, sizeof file, "%s/a.dpt", files);
        assert_ok(dpa__file_write(file, record.data, record.length, &err));
        dpa__text_free(&record);
        assert_import(0, 7, k < 3, k < 3, k < 3 ? "1-6" : "0-6");
        assert_ok(dpa_store_open(path, DPA_STORE_READ, &store, &err));
        assert_ok(dpa_store_failures(store, NULL, keep_texts, &read, &err));
        dpa_store_close(store);
        assert_true(read.count == 1 && read.machine == (k >= 3));
        for (int i = 0; i < 3; ++i) assert_int_equal(read.lengths[i], i == k % 3 ? LONG : 5);
    }
}

/* Another game's brief is refused, and so is a folder that cannot be. */
static void others(void **state) {
    (void)state;
    (void)shard(0, 1, 0);
    assert_import(1, 12, 7, 7, "0-4");
    play.offset = 1;
    refused(0, 1, -1, DPA_BAD_INPUT,
            "stage-2.brief is of another experiment, or of another version");
    play.offset = 0;
    (void)shard(0, 1, -1);
    const dpa_run_opts opts = options();
    const dpa_shard nowhere = {"/dev/null/x", 0, 0, 0, 1};
    dpa_shard_summary out;
    assert_int_equal(dpa_shard_play(&opts, &nowhere, &game, &out, &err), DPA_IO);
    assert_string_equal(err.text, "cannot make this folder: Not a directory");
    dpa_import_summary none;
    assert_int_equal(dpa_import(&opts, "/dev/null/x", &game, &none, &err), DPA_BAD_INPUT);
    assert_null(none.ranges);
    char brief[128]; /* a folder where the brief of the next stage should be */
    (void)snprintf(brief, sizeof brief, "%s/stage-2.brief", files);
    assert_int_equal(unlink(brief), 0);
    assert_int_equal(mkdir(brief, 0777), 0);
    assert_int_equal(dpa_import(&opts, files, &game, &none, &err), DPA_IO);
    assert_null(none.ranges);
    assert_int_equal(rmdir(brief), 0);
}

static int stop_after_two(void *user, const char *what, double done, double total) {
    double *seen = user;
    assert_string_equal(what, "trials");
    seen[0] = done;
    seen[1] = total;
    return done >= 2;
}

/* Stopped on request: what is finished is kept, and the same command goes on from there. */
static void stopped(void **state) {
    (void)state;
    double seen[2] = {-1, -1};
    dpa_run_opts opts = options();
    opts.progress = (dpa_progress){stop_after_two, seen};
    const dpa_shard which = {files, 0, 0, 0, 1};
    dpa_shard_summary out;
    const dpa_status status = dpa_shard_play(&opts, &which, &game, &out, &err);
    assert_true(seen[1] == 7);
    if (status != DPA_OK) {
        assert_int_equal(status, DPA_CANCELLED);
        assert_non_null(
            strstr(err.text, " of 7 trials are in the folder; the same command goes on"));
    }
    const dpa_shard_summary rest = shard(0, 1, 0);
    assert_int_equal(rest.found, out.played);
    assert_int_equal(rest.found + rest.played, 7);
    for (int i = 0; i < FIRST; ++i) assert_int_equal(play.played[0][i], 1);
}

static int tidy(void **state) {
    return fresh(state);
}

int main(void) {
    (void)alarm(120); /* a share that never ends has failed */
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(array, fresh),
                                       cmocka_unit_test_setup(arms, fresh),
                                       cmocka_unit_test_setup(single, fresh),
                                       cmocka_unit_test_setup(failures, fresh),
                                       cmocka_unit_test_setup(words_of_failures, fresh),
                                       cmocka_unit_test_setup(long_words, fresh),
                                       cmocka_unit_test_setup(doubles, fresh),
                                       cmocka_unit_test_setup(others, fresh),
                                       cmocka_unit_test_setup(stopped, fresh)};
    return cmocka_run_group_tests(tests, NULL, tidy);
}
