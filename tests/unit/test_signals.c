/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals, membership and features from files; tables of scores, their answers and their groups. */
#include "check.h"

#include "base/array.h"
#include "base/write.h"
#include "evidence/evidence.h"
#include "evidence/signals.h"

static dpa_error err;
static char folder[] = "/tmp/dpaudit_signals_XXXXXX";

static const char *in_folder(const char *name) {
    static char path[32][128];
    static int next;
    char *out = path[next++ % 32];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"s.npy", "m.npy", "all.npz", "t.csv", "f.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(in_folder(names[i]));
    return rmdir(folder);
}

static dpa_array array_of(double *data, unsigned ndim, size_t a, size_t b, size_t c) {
    const size_t size[3] = {a, b, c};
    dpa_array array = {.dtype = DPA_F64, .ndim = ndim, .count = 1, .data = data};
    for (unsigned i = 0; i < ndim; ++i) array.count *= array.shape[i] = size[i];
    return array;
}

static const char *write_array(const char *name, dpa_array array) {
    const char *path = in_folder(name);
    assert_ok(dpa__array_write(path, &array, &err));
    return path;
}

static void assert_refused(dpa_status status, const char *path, const char *text) {
    assert_int_equal(status, DPA_BAD_INPUT);
    assert_string_equal(err.place, path);
    if (strstr(err.text, text) == NULL) fail_msg("'%s' has no '%s'", err.text, text);
}

static void signals(void **state) {
    (void)state;
    double x[12], bits[6] = {0, 1, 1, 0, 0, 1};
    dpa_signals s;
    for (int i = 0; i < 12; ++i) x[i] = i + 0.5;
    const char *path = write_array("s.npy", array_of(x, 2, 2, 3, 0));
    const char *members = write_array("m.npy", array_of(bits, 2, 2, 3, 0));
    assert_ok(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err));
    assert_int_equal(s.kind, DPA_SIGNAL_LOGIT);
    assert_int_equal(s.models, 2);
    assert_int_equal(s.points, 3);
    assert_int_equal(s.augmentations, 1);
    for (int i = 0; i < 6; ++i) assert_true(s.signal[i] == x[i] && s.member[i] == bits[i]);
    dpa__signals_free(&s);
    assert_null(s.signal);
    assert_ok(dpa__signals_read(path, NULL, DPA_SIGNAL_LOGIT, &s, &err)); /* a population */
    assert_null(s.member);
    dpa__signals_free(&s);
    /* several views of each point; one model alone */
    assert_ok(dpa__array_write(path, (dpa_array[]){array_of(x, 3, 2, 3, 2)}, &err));
    assert_ok(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err));
    assert_int_equal(s.models * 100 + s.points * 10 + s.augmentations, 232);
    dpa__signals_free(&s);
    assert_ok(dpa__array_write(path, (dpa_array[]){array_of(x, 1, 6, 0, 0)}, &err));
    assert_ok(dpa__array_write(members, (dpa_array[]){array_of(bits, 1, 6, 0, 0)}, &err));
    assert_ok(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err));
    assert_int_equal(s.models * 100 + s.points * 10 + s.augmentations, 161);
    assert_int_equal(s.member[5], 1);
    dpa__signals_free(&s);
    dpa__signals_free(NULL);
}

static void refused_signals(void **state) {
    (void)state;
    double x[12] = {0}, bits[6] = {0, 1, 1, 0, 0.5, 1};
    dpa_signals s;
    const char *path = write_array("s.npy", array_of(x, 2, 2, 3, 0));
    const char *members = write_array("m.npy", array_of(bits, 2, 2, 3, 0));
    assert_refused(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err), members,
                   "model 1, point 1: 0.5; membership is 0 or 1");
    assert_null(s.signal);
    (void)write_array("m.npy", array_of(bits, 2, 3, 2, 0));
    assert_refused(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err), members,
                   "a matrix like the signals, 2 models × 3 points");
    (void)write_array("m.npy", array_of(bits, 2, 2, 2, 0));
    assert_refused(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err), members,
                   "2 models × 3 points");
    (void)write_array("m.npy", array_of(bits, 3, 2, 3, 1));
    assert_refused(dpa__signals_read(path, members, DPA_SIGNAL_LOGIT, &s, &err), members,
                   "2 models × 3 points");
    x[9] = NAN; /* model 1, its second view of point 1 */
    (void)write_array("s.npy", array_of(x, 3, 2, 3, 2));
    assert_refused(dpa__signals_read(path, NULL, DPA_SIGNAL_LOGIT, &s, &err), path,
                   "model 1, point 1: nan; a signal must be a finite number");
    x[9] = 0;
    (void)write_array("s.npy", array_of(x, 2, 0, 3, 0));
    assert_refused(dpa__signals_read(path, NULL, DPA_SIGNAL_LOGIT, &s, &err), path,
                   "signals must be models × points, or models × points × augmentations");
    (void)write_array("s.npy", array_of(x, 0, 0, 0, 0));
    assert_refused(dpa__signals_read(path, NULL, DPA_SIGNAL_LOGIT, &s, &err), path, "models");
}

/* A game's own file: the names that it writes come before the short ones. */
static void signals_of_games(void **state) {
    (void)state;
    double x[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, bits[2][2] = {{0, 1}, {1, 0}};
    const char *const names[] = {"signals", "shadow_signals", "population_signals", "members",
                                 "shadow_members"};
    const dpa_array arrays[] = {array_of(x[0], 2, 1, 2, 0), array_of(x[1], 2, 1, 2, 0),
                                array_of(x[2], 2, 1, 2, 0), array_of(bits[0], 2, 1, 2, 0),
                                array_of(bits[1], 2, 1, 2, 0)};
    const char *path = in_folder("all.npz");
    dpa_signals s;
    assert_ok(dpa__npz_write(path, names, arrays, 5, &err));
    assert_ok(dpa__signals_read(path, path, DPA_SIGNAL_LOGIT, &s, &err));
    assert_true(s.signal[0] == 3 && s.member[0] == 1);
    dpa__signals_free(&s);
    assert_ok(dpa__signals_read(path, NULL, DPA_SIGNAL_LOGIT, &s, &err));
    assert_true(s.signal[0] == 5);
    dpa__signals_free(&s);
    const char *const fewer[] = {"signals", "members"};
    const dpa_array two[] = {arrays[0], arrays[3]};
    assert_ok(dpa__npz_write(path, fewer, two, 2, &err));
    assert_ok(dpa__signals_read(path, path, DPA_SIGNAL_LOGIT, &s, &err));
    assert_true(s.signal[1] == 2 && s.member[1] == 1);
    dpa__signals_free(&s);
}

static void features(void **state) {
    (void)state;
    double x[6] = {1, 2, 3, 4, 5, 6};
    dpa_features f;
    const char *path = write_array("f.npy", array_of(x, 2, 3, 2, 0));
    assert_ok(dpa__features_read(path, NULL, &f, &err));
    assert_int_equal(f.points * 10 + f.count, 32);
    for (int i = 0; i < 6; ++i) assert_true(f.value[i] == i + 1);
    dpa__features_free(&f);
    (void)write_array("f.npy", array_of(x, 1, 6, 0, 0));
    assert_ok(dpa__features_read(path, NULL, &f, &err));
    assert_int_equal(f.points * 10 + f.count, 61);
    dpa__features_free(&f);
    x[3] = INFINITY;
    (void)write_array("f.npy", array_of(x, 2, 3, 2, 0));
    assert_int_equal(dpa__features_read(path, NULL, &f, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "inf"));
    const char *table = in_folder("t.csv"), *text = "a,b\n1,2\n3,4\n5,6\n";
    assert_ok(dpa__file_write(table, text, strlen(text), &err));
    assert_ok(dpa__features_read(table, NULL, &f, &err));
    assert_int_equal(f.points * 10 + f.count, 32);
    for (int i = 0; i < 6; ++i) assert_true(f.value[i] == i + 1);
    dpa__features_free(&f);
}

static const char *table_of(const char *text) {
    const char *path = in_folder("t.csv");
    assert_ok(dpa__file_write(path, text, strlen(text), &err));
    return path;
}

/* Members are told by 0 and 1 or by words, in any case. */
static void answers(void **state) {
    (void)state;
    static const char *const same[] = {
        "score,member\n1,1\n2,0\n3,1\n", "score,member\n1,yes\n2,No\n3,YES\n",
        "member,score\nTrue,1\nfalse,2\nTRUE,3\n", "score,member\n1,t\n2,f\n3,T\n",
        "score,member\n1,1.0\n2,no\n3,true\n"};
    for (size_t k = 0; k < sizeof same / sizeof same[0]; ++k) {
        dpa_scores s;
        if (dpa__scores_read(table_of(same[k]), NULL, 1, &s, &err) != DPA_OK)
            fail_msg("%s", err.text);
        assert_int_equal(s.members, 2);
        assert_int_equal(s.nonmembers, 1);
        assert_true(s.member[0] == 1 && s.member[1] == 3 && s.nonmember[0] == 2);
        assert_int_equal(strlen(s.sha256[0]), 64);
        dpa__scores_free(&s);
    }
    static const char *const bad[][2] = {
        {"score,member\n1,1\n2,2\n", "must be 0 or 1"},
        {"score,member\n1,yes\n2,maybe\n", "member is 'maybe'; it must be 0 or 1 (or false"},
        {"score,member\n1,yes\n2,\"\"\n", "member is empty"},
        {"score,member\nx,1\n", "column 'score': found 'x'; a number is right; nan stands for"},
        {"score\n1\n", "member"}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        dpa_scores s;
        assert_int_equal(dpa__scores_read(table_of(bad[k][0]), NULL, 1, &s, &err), DPA_BAD_INPUT);
        if (strstr(err.text, bad[k][1]) == NULL) fail_msg("'%s' has no '%s'", err.text, bad[k][1]);
    }
    dpa_scores s;
    assert_int_equal(dpa__scores_read("-", "-", 1, &s, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "members and non-members cannot both be '-'"));
}

/* Groups by the text of a column, numbers too, in the order of their texts. */
static void groups(void **state) {
    (void)state;
    dpa_score_groups g;
    const char *path = table_of("score,member,site\n1,1,7\n2,0,7\n3,1,07\n4,1,7\n5,0,07\n6,0,b\n");
    assert_ok(dpa__score_groups_read(path, "site", &g, &err));
    assert_int_equal(g.count, 3);
    assert_string_equal(g.names[0], "07");
    assert_string_equal(g.names[1], "7");
    assert_string_equal(g.names[2], "b");
    assert_true(g.items[0].member[0] == 3 && g.items[0].nonmember[0] == 5);
    assert_int_equal(g.items[1].members, 2);
    assert_true(g.items[1].member[0] == 1 && g.items[1].member[1] == 4);
    assert_true(g.items[1].nonmember[0] == 2);
    assert_int_equal(g.items[2].members * 10 + g.items[2].nonmembers, 1);
    dpa__score_groups_free(&g);
    assert_int_equal(g.count, 0);
    assert_int_equal(dpa__score_groups_read(path, "place", &g, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "no column 'place' to group by");
    assert_memory_equal(err.place + strlen(path), ":1", 3);
    dpa__score_groups_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals),          cmocka_unit_test(refused_signals),
        cmocka_unit_test(signals_of_games), cmocka_unit_test(features),
        cmocka_unit_test(answers),          cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
