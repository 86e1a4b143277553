/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs in this process with a game made for these tests: two stages, trials that fail when told
 * to. */
#include "check.h"
#include "stores.h"

#include <sys/stat.h>

#include "base/error.h"
#include "dpaudit/lab/run.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "run/store.h"

enum { FIRST = 7, SECOND = 5 };

static dpa_error err;
static char path[64];

/* What the game does, and what it was asked to do. */
static struct {
    int failures[2][8]; /* how often the machine fails before the trial works; -1: always */
    int broken[2][8];   /* the trainer itself fails */
    int played[2][8];
    int ends[4]; /* of the second stage, as gather saw them */
    int slow;    /* the first trial takes 60 ms */
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
    if (play.slow && stage == 0 && index == 0) (void)usleep(60000);
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

static int fresh(void **state) {
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/dpa_run_%d.db", (int)getpid());
    remove_store(path);
    memset(&play, 0, sizeof play);
    return 0;
}

static dpa_run_opts options(void) {
    dpa_run_opts opts;
    dpa_run_opts_init(&opts);
    opts.store = path;
    return opts;
}

/* Plays, checks that there are `count` numbers and returns their sum. */
static double sum_of(const dpa_run_opts *opts, size_t count, dpa_run_summary *summary) {
    dpa_evidence evidence;
    double sum = 0.0;
    assert_ok(dpa_run_play(opts, &game, &evidence, summary, &err));
    assert_int_equal(evidence.arrays[0].count, count);
    for (size_t i = 0; i < count; ++i) sum += evidence.arrays[0].items[i];
    dpa__evidence_clear(&evidence);
    return sum;
}

static const double whole = 28.0 + 15.0 + 5 * 100.0 * 28.0;

static void plays_and_resumes(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_run_estimate estimate;
    assert_ok(dpa_run_estimate_make(&opts, &game, &estimate, &err));
    assert_true(estimate.planned == 12 && estimate.stored == 1 && estimate.timed);
    assert_true(estimate.bytes >= 11 * sizeof(double) && estimate.trial_seconds >= 0);
    assert_true(estimate.trial_seconds > 0);
    assert_true(estimate.seconds == ceil(11.0 / (double)estimate.workers) * estimate.trial_seconds);
    assert_int_equal(play.played[0][0], 1);
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_int_equal(play.played[0][0], 1); /* the trial that was timed is not played again */
    assert_true(s.planned == 12 && s.played == 11 && s.stored == 1 && s.failed == 0);
    memset(&play, 0, sizeof play);
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_true(s.stored == 12 && s.played == 0);
    assert_int_equal(play.played[0][0], 0);
    assert_ok(dpa_run_estimate_make(&opts, &game, &estimate, &err));
    assert_true(estimate.stored == 12 && !estimate.timed && estimate.seconds == 0.0);
    play.offset = 1; /* another game: nothing applies */
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_true(s.played == 12 && s.others == 7);
}

static void tries_again(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    play.failures[0][3] = 2;
    play.failures[1][1] = 1;
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_int_equal(s.failed, 3);
    assert_int_equal(s.missing, 0);
    assert_int_equal(play.played[0][3], 3);
}

/* A trial that never works is left out, and the second stage is told so. If it works later, the
 * second stage is played again, because its trials depend on it. */
static void gives_up(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    play.failures[0][6] = -1;
    assert_true(sum_of(&opts, 11, &s) == 21.0 + 15.0 + 5 * 100.0 * 21.0);
    assert_true(s.missing == 1 && s.failed == 3 && s.lost == 1 && s.failed_trials == 0);
    play.failures[0][6] = 0;
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_true(s.stored == 6 && s.played == 6);
    /* A game that needs all of them. */
    play.strict = 1;
    play.offset = 2;
    play.failures[0][6] = -1;
    dpa_evidence evidence;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_IO);
    assert_non_null(strstr(err.text, "1 of 12 trials failed"));
    assert_non_null(strstr(err.text, "every trial counts"));
}

static double fact(const dpa_evidence *e, const char *wanted) {
    for (size_t i = 0; i < e->fact_count; ++i)
        if (strcmp(e->facts[i].name, wanted) == 0) return e->facts[i].value;
    return -1.0;
}

/* A failing trainer is an outcome: not played again, now or later, and counted by arm. */
static void outcomes(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_evidence e;
    play.broken[1][2] = play.broken[1][4] = 1;
    play.failures[1][3] = -1;
    for (int i = 0; i < 2; ++i) {
        play.ends[DPA_TRIAL_FAILED] = play.ends[DPA_TRIAL_LOST] = 0;
        assert_ok(dpa_run_play(&opts, &game, &e, &s, &err));
        assert_true(s.failed_trials == 2 && s.lost == 1 && s.missing == 1);
        assert_int_equal(play.played[1][2], 1);
        assert_int_equal(play.ends[DPA_TRIAL_FAILED], 2);
        assert_int_equal(play.ends[DPA_TRIAL_LOST], 1);
        assert_true(fact(&e, "failed_members") == 2 && fact(&e, "failed_nonmembers") == 0);
        assert_true(fact(&e, "missing_members") == 0 && fact(&e, "missing_nonmembers") == 1);
        assert_true(fact(&e, "trials_members") == 3 && fact(&e, "trials_nonmembers") == 2);
        dpa__evidence_clear(&e);
    }
    assert_ok(dpa_run_collect(&opts, &game, &e, &s, &err)); /* the same without playing */
    assert_true(fact(&e, "missing_nonmembers") == 1 && fact(&e, "failed_members") == 2);
    dpa__evidence_clear(&e);
    dpa_store *store = NULL;
    dpa_run_status now;
    assert_ok(dpa_store_open(path, DPA_STORE_READ, &store, &err));
    assert_ok(dpa_store_status(store, &now, &err));
    assert_int_equal(now.state, DPA_RUN_STOPPED); /* one is missing: not done */
    dpa_store_close(store);
    play.failures[1][3] = 0;
    assert_ok(dpa_run_play(&opts, &game, &e, &s, &err));
    assert_true(s.missing == 0 && fact(&e, "missing_nonmembers") == 0 && s.played == 1);
    dpa__evidence_clear(&e);
}

/* If every trainer fails from the start, the failures are removed, so that the trials are played
 * after a repair. */
static void broken_set_up(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_evidence evidence;
    for (int i = 0; i < FIRST; ++i) play.broken[0][i] = 1;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_IO);
    assert_non_null(strstr(err.text, "the first 7 trials failed; the last: trial 6 diverged"));
    memset(&play, 0, sizeof play);
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_int_equal(s.played, 12);
}

static void nothing_works(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_evidence evidence;
    for (int i = 0; i < FIRST; ++i) play.failures[0][i] = -1;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_IO);
    assert_non_null(strstr(err.text, "the first 3 trials failed, each 3 times"));
    assert_int_equal(play.played[0][4], 0);
}

static int stop_after(void *user, const char *what, double done, double total) {
    (void)what, (void)total;
    return done >= *(double *)user;
}

static void stops(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_evidence evidence;
    double limit = 4.0;
    opts.progress = (dpa_progress){stop_after, &limit};
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_CANCELLED);
    assert_non_null(strstr(err.text, "4 of 7 trials are stored"));
    opts.progress.call = NULL;
    assert_ok(dpa_run_collect(&opts, &game, &evidence, &s, &err));
    assert_int_equal(evidence.arrays[0].count, 4);
    assert_true(s.stored == 4 && s.missing == 8);
    dpa__evidence_clear(&evidence);
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_int_equal(play.played[0][2], 1);
}

/* The first trial, which only says how long a run would take, can be stopped too. */
static void stops_first(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_estimate estimate;
    double limit = 0.0;
    opts.progress = (dpa_progress){stop_after, &limit};
    assert_int_equal(dpa_run_estimate_make(&opts, &game, &estimate, &err), DPA_CANCELLED);
    assert_string_equal(err.text, "stopped");
    limit = 1.0;
    assert_ok(dpa_run_estimate_make(&opts, &game, &estimate, &err));
    assert_int_equal(play.played[0][0], 2); /* nothing was kept of the first */
}

/* The duration of a trial is the mean of all that were played, whatever the last one took. */
static void mean_duration(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_run_status now;
    char file[96];
    play.slow = 1;
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_ok(dpa_run_status_read(path, &now, &err));
    assert_between(now.trial_seconds, 0.06 / 12, 1.0);
    (void)snprintf(file, sizeof file, "%s.status.json", path);
    assert_int_equal(unlink(file), 0);
}

static void assert_nothing(const dpa_evidence *e) {
    assert_true(e->kind == DPA_EVIDENCE_COUNTS && e->array_count + e->fact_count == 0);
    assert_null(e->protocol);
}

static void budgets(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    opts.trials = 9; /* the first stage and two of the second */
    assert_true(sum_of(&opts, 9, &s) == 28.0 + 3.0 + 2 * 2800.0);
    assert_int_equal(s.planned, 9);
    opts.trials = 0;
    assert_true(sum_of(&opts, 12, &s) == whole);
    assert_int_equal(s.played, 3);
    play.offset = 3;
    opts.seconds = 1e-9;
    assert_true(sum_of(&opts, 0, &s) == 0.0);
    assert_true(s.out_of_time && s.missing == 12);
    const dpa_run_opts good = opts;
    dpa_evidence evidence;
    opts.seconds = 0.0;
    memset(&evidence, 1, sizeof evidence);
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_BAD_ARGUMENT);
    assert_nothing(&evidence);
    memset(&evidence, 1, sizeof evidence);
    assert_int_equal(dpa_run_collect(&opts, &game, &evidence, &s, &err), DPA_BAD_ARGUMENT);
    assert_nothing(&evidence);
    opts = good;
    opts.timeout = -1.0;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_BAD_ARGUMENT);
    opts = good;
    opts.retries = 1000;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_BAD_ARGUMENT);
    opts = good;
    opts.workers = 100000;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_BAD_ARGUMENT);
}

/* Of two stored trials one is damaged: the other is found all the same, and not played again. */
static void half_damaged(void **state) {
    (void)state;
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_store *store = NULL;
    opts.trials = 2;
    assert_true(sum_of(&opts, 2, &s) == 3.0);
    assert_ok(dpa_store_open(path, DPA_STORE_WRITE, &store, &err));
    assert_ok(dpa__store_execute(store, "UPDATE trial SET numbers=zeroblob(8) WHERE number=1", "x",
                                 &err));
    dpa_store_close(store);
    assert_true(sum_of(&opts, 2, &s) == 3.0);
    assert_true(s.stored == 1 && s.damaged == 1 && s.played == 1);
    assert_true(play.played[0][0] == 1 && play.played[0][1] == 2);
}

/* What killed ranks of an earlier run have left beside the store is swept away by a run with
 * workers, though that comes to nothing here. */
static void leftovers(void **state) {
    (void)state;
    static const char *const tails[] = {".scratch", ".scratch.rank1", ".scratch.rank12"};
    static const char *const worker[] = {"/bin/sh", "-c", "echo no data >&2; exit 7", NULL};
    dpa_run_opts opts = options();
    dpa_run_summary s;
    dpa_evidence evidence;
    char folder[3][96], other[96];
    for (size_t i = 0; i < 3; ++i) {
        (void)snprintf(folder[i], sizeof folder[i], "%s%s", path, tails[i]);
        (void)rmdir(folder[i]); /* of another process of this number */
        assert_int_equal(mkdir(folder[i], 0777), 0);
    }
    (void)snprintf(other, sizeof other, "%s.scratch-of-others", path);
    (void)rmdir(other);
    assert_int_equal(mkdir(other, 0777), 0);
    opts.worker = worker;
    opts.workers = 1;
    assert_int_equal(dpa_run_play(&opts, &game, &evidence, &s, &err), DPA_IO);
    for (size_t i = 0; i < 3; ++i) assert_int_equal(access(folder[i], F_OK), -1);
    assert_int_equal(rmdir(other), 0);
}

static void names(void **state) {
    (void)state;
    static const struct {
        char path[32], store[32];
    } cases[] = {{"audit.yaml", "audit.trials.db"},
                 {"a.b/audit", "a.b/audit.trials.db"},
                 {"dir/x.y.yml", "dir/x.y.trials.db"},
                 {"dir/.yaml", "dir/.yaml.trials.db"},
                 {".hidden", ".hidden.trials.db"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char file[32], *out = NULL;
        memcpy(file, cases[i].path, sizeof file);
        const dpa_experiment e = {.path = file};
        assert_ok(dpa_run_store_path(&e, &out, &err));
        assert_string_equal(out, cases[i].store);
        free(out);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, fresh)

int main(void) {
    (void)alarm(120); /* a run that never ends has failed */
    const struct CMUnitTest tests[] = {TEST(plays_and_resumes),
                                       TEST(tries_again),
                                       TEST(gives_up),
                                       TEST(outcomes),
                                       TEST(broken_set_up),
                                       TEST(nothing_works),
                                       TEST(stops),
                                       TEST(stops_first),
                                       TEST(mean_duration),
                                       TEST(budgets),
                                       TEST(half_damaged),
                                       TEST(leftovers),
                                       TEST(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
