/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is rescued from a store: its trials, with long texts and many numbers, and the notes on
 * failures; no row of another shape, though it lies between them. */
#include "check.h"
#include "stores.h"

#include "run/store.h"

static dpa_error err;
static char from[64], to[64];

static const char key[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static int clean(void **state) {
    (void)state;
    (void)snprintf(from, sizeof from, "/tmp/dpa_rescue_%d.db", (int)getpid());
    (void)snprintf(to, sizeof to, "/tmp/dpa_rescue_%d.new.db", (int)getpid());
    remove_store(from);
    remove_store(to);
    return 0;
}

enum { LENGTHS = 7 };
static const size_t lengths[LENGTHS] = {0, 1, 2, 500, 508, 600, 5000}; /* beyond a page, too */

static size_t numbers_of(uint64_t index) {
    return lengths[index];
}

static const char *words_of(uint64_t index) {
    static char text[5001];
    memset(text, 'a' + (int)index, lengths[index]);
    text[lengths[index]] = '\0';
    return text;
}

/* A trial and a failure of each length. */
static void fill(dpa_store *store) {
    static double numbers[5000];
    int64_t row = 0;
    const dpa__stage_row stage = {key, NULL, "audit.yaml", 0, LENGTHS};
    assert_ok(dpa__store_begin(store, &err));
    assert_ok(dpa__store_stage(store, &stage, &row, &err));
    for (uint64_t i = 0; i < LENGTHS; ++i) {
        for (size_t k = 0; k < 5000; ++k) numbers[k] = (double)(i + k) + 0.5;
        const dpa__ended end = {.index = i,
                                .end = DPA_TRIAL_PLAYED,
                                .seconds = 0.25,
                                .values = {numbers, numbers_of(i)},
                                .said = words_of(LENGTHS - 1 - i),
                                .place = "hydra"};
        assert_ok(dpa__store_put(store, row, key, &end, &err));
        char reason[5001]; /* long where the words are short */
        (void)snprintf(reason, sizeof reason, "%s", words_of(LENGTHS - 1 - i));
        const dpa__failure failure = {i, reason, words_of(i), "hydra", i % 2 == 0};
        assert_ok(dpa__store_put_failure(store, row, &failure, &err));
    }
    assert_ok(dpa__store_commit(store, &err));
}

static int see_trial(void *user, const dpa_store_entry *e) {
    assert_false(e->damaged);
    assert_true(e->end == DPA_TRIAL_PLAYED && e->seconds == 0.25);
    assert_int_equal(e->values.count, numbers_of(e->index));
    for (size_t k = 0; k < e->values.count; ++k)
        assert_true(e->values.items[k] == (double)(e->index + k) + 0.5);
    assert_string_equal(e->said, words_of(LENGTHS - 1 - e->index));
    ++*(int *)user;
    return 0;
}

static int see_failure(void *user, const dpa_store_entry *e) {
    assert_string_equal(e->reason, words_of(LENGTHS - 1 - e->index));
    assert_string_equal(e->said, words_of(e->index));
    assert_string_equal(e->place, "hydra");
    assert_int_equal(e->machine, e->index % 2 == 0);
    ++*(int *)user;
    return 0;
}

static void rescued(const dpa_rescued *found) {
    dpa_store *store = NULL;
    int trials = 0, failures = 0;
    assert_true(found->stages == 1 && found->trials == LENGTHS && found->damaged == 0);
    assert_int_equal(found->failures, LENGTHS);
    assert_ok(dpa_store_open(to, DPA_STORE_READ, &store, &err));
    assert_ok(dpa_store_trials(store, NULL, see_trial, &trials, &err));
    assert_ok(dpa_store_failures(store, NULL, see_failure, &failures, &err));
    dpa_store_close(store);
    assert_true(trials == LENGTHS && failures == LENGTHS);
}

static int is_mapped(const char *name) {
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 0;
    while (fgets(line, sizeof line, maps) != NULL) found |= strstr(line, name) != NULL;
    (void)fclose(maps);
    return found;
}

static void keeps_lengths(void **state) {
    (void)state;
    dpa_store *store = NULL;
    dpa_rescued found;
    assert_ok(dpa_store_open(from, DPA_STORE_WRITE, &store, &err));
    fill(store);
    dpa_store_close(store);
    assert_ok(dpa_store_rescue(from, to, NULL, &found, &err));
    rescued(&found);
    assert_false(is_mapped(from));
    assert_int_not_equal(access(from, F_OK), -1); /* and nothing is taken away */
}

static int see_length(void *user, const dpa_store_entry *e) {
    *(size_t *)user = strlen(e->reason);
    return 0;
}

/* A store without trials, where only the failure's own texts make room. */
static void long_reason(void **state) {
    (void)state;
    static char reason[200001];
    int64_t row = 0;
    size_t length = 0;
    dpa_store *store = NULL;
    dpa_rescued found;
    memset(reason, 'r', sizeof reason - 1);
    const dpa__stage_row stage = {key, NULL, "audit.yaml", 0, LENGTHS};
    const dpa__failure failure = {0, reason, NULL, NULL, 1};
    assert_ok(dpa_store_open(from, DPA_STORE_WRITE, &store, &err));
    assert_ok(dpa__store_stage(store, &stage, &row, &err));
    assert_ok(dpa__store_put_failure(store, row, &failure, &err));
    dpa_store_close(store);
    assert_ok(dpa_store_rescue(from, to, NULL, &found, &err));
    assert_int_equal(found.failures, 1);
    assert_ok(dpa_store_open(to, DPA_STORE_READ, &store, &err));
    assert_ok(dpa_store_failures(store, NULL, see_length, &length, &err));
    dpa_store_close(store);
    assert_int_equal(length, sizeof reason - 1);
}

/* Rows that differ from a stage, a trial or a failure in the kind of one column. */
static void other_rows(void **state) {
    (void)state;
    static const char *const rows[] = {
        "CREATE TABLE f(a INTEGER PRIMARY KEY, b, c, d, e, f, g, h);"
        "INSERT INTO f VALUES(1, 'x', 2, 0.5, 'r', 's', 'p', 1);"
        "INSERT INTO f VALUES(2, 1, 'x', 0.5, 'r', 's', 'p', 1);"
        "INSERT INTO f VALUES(3, 1, 2, 0.5, 7, 's', 'p', 1);"
        "INSERT INTO f VALUES(4, NULL, 2, 0.5, 'r', 's', 'p', 1);"
        "INSERT INTO f VALUES(5, 1, NULL, 0.5, 'r', 's', 'p', 1);"
        "INSERT INTO f VALUES(6, 99, 2, 0.5, 'r', 's', 'p', 1);", /* of no stage */
        "CREATE TABLE g(b, c, d, e, f, g, h, i);"
        "INSERT INTO g VALUES(5, 1, 2, 0.5, 'r', 's', 'p', 1);",
        "CREATE TABLE h(a INTEGER PRIMARY KEY, b, c, d, e, f, g);"
        "INSERT INTO h VALUES(1, 1, 2, 0.5, 'r', 's', 'p');",
        "CREATE TABLE t(a, b, c, d, e, f, g, h);"
        "INSERT INTO t VALUES('x', 1, 0.5, 2, x'0102030405060708', 's', 1, 'p');"
        "INSERT INTO t VALUES(1, 'x', 0.5, 2, x'0102030405060708', 's', 1, 'p');"
        "INSERT INTO t VALUES(1, 1, 0.5, 'x', x'0102030405060708', 's', 1, 'p');"
        "INSERT INTO t VALUES(1, 1, 0.5, 2, 'abcdefgh', 's', 1, 'p');"
        "INSERT INTO t VALUES(1, 1, 0.5, 2, x'01020304050607', 's', 1, 'p');"
        "INSERT INTO t VALUES(1, 1, 0.5, 2, x'0102030405060708', 's', 3, 'p');",
        "CREATE TABLE s(a INTEGER PRIMARY KEY, b, c, d, e, f);"
        "INSERT INTO s VALUES(1, 'short', 'e', 0, 9, NULL);"
        "INSERT INTO s VALUES(2, x'00', 'e', 0, 9, NULL);"};
    dpa_store *store = NULL;
    dpa_rescued found;
    assert_ok(dpa_store_open(from, DPA_STORE_WRITE, &store, &err));
    fill(store);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        assert_ok(dpa__store_execute(store, rows[i], "write", &err));
    dpa_store_close(store);
    assert_ok(dpa_store_rescue(from, to, NULL, &found, &err));
    rescued(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(keeps_lengths, clean, clean),
                                       cmocka_unit_test_setup_teardown(long_reason, clean, clean),
                                       cmocka_unit_test_setup_teardown(other_rows, clean, clean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
