/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses as evidence: the paper's loss of a prediction, sorting, every form of file, every
 * refusal. */
#include "check.h"

#include "evidence/losses.h"

static void loss_of_a_prediction(void **state) {
    (void)state;
    /* footnote 1 by hand: y=1 and p=0.9: −(log 0.9 − log 0.1) = −log 9 */
    assert_relative(dpa__loss_binary(0.9, 1), -log(9.0), 1e-15);
    assert_relative(dpa__loss_binary(0.9, 0), log(9.0), 1e-15);
    assert_relative(dpa__loss_class(0.25), log(3.0), 1e-15);
    assert_relative(dpa__loss_class(1e-300), 300.0 * M_LN10, 1e-15);
    assert_true(dpa__loss_binary(0.0, 1) == HUGE_VAL && dpa__loss_binary(0.0, 0) == -HUGE_VAL);
    assert_true(dpa__loss_class(1.0) == -HUGE_VAL && dpa__loss_class(0.0) == HUGE_VAL);
    assert_true(isnan(dpa__loss_class(1.5)) && isnan(dpa__loss_binary(-0.1, 0)));
    assert_true(isnan(dpa__loss_class(NAN)));
}

static void many_predictions(void **state) {
    (void)state;
    const double one[] = {0.9, 0.2}, label[] = {1, 0};
    const double three[] = {0.5, 0.3, 0.2, 0.1, 0.1, 0.8}, classes[] = {1, 2};
    double out[2];
    assert_ok(dpa__losses_from_predictions(one, 2, 1, label, out, NULL));
    assert_relative(out[0], -log(9.0), 1e-15);
    assert_relative(out[1], -log(4.0), 1e-15);
    assert_ok(dpa__losses_from_predictions(three, 2, 3, classes, out, NULL));
    assert_relative(out[0], log(0.7 / 0.3), 1e-15);
    assert_relative(out[1], -log(4.0), 1e-15);
}

static void bad_predictions(void **state) {
    (void)state;
    dpa_error err;
    double out[1];
    const double good = 0.5, high = 1.5, nan = NAN, label = 1, half = 0.5, two = 2, minus = -1;
    const double logits[] = {3.0, -1.0}, far[] = {0.4, 0.4}, zero = 0;
    assert_int_equal(dpa__losses_from_predictions(&high, 1, 1, &label, out, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "prediction 1"));
    assert_int_equal(dpa__losses_from_predictions(&nan, 1, 1, &label, out, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_from_predictions(&good, 1, 1, &half, out, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_from_predictions(&good, 1, 1, &two, out, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "0 to 1"));
    assert_int_equal(dpa__losses_from_predictions(&good, 1, 1, &minus, out, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_from_predictions(&good, 1, 1, &nan, out, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_from_predictions(logits, 1, 2, &zero, out, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_from_predictions(far, 1, 2, &zero, out, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "sum to 0.8"));
    assert_int_equal(dpa__losses_from_predictions(&good, 1, 0, &zero, out, &err), DPA_BAD_INPUT);
}

static void sorting(void **state) {
    (void)state;
    const double train[] = {3, -HUGE_VAL, 1, HUGE_VAL}, heldout[] = {2};
    dpa_losses l;
    dpa_error err;
    assert_ok(dpa__losses_new(train, 4, heldout, 1, &l, &err));
    assert_true(l.train[0] == -HUGE_VAL && l.train[1] == 1 && l.train[3] == HUGE_VAL);
    dpa__losses_free(&l);
    const double bad[] = {1, NAN};
    assert_int_equal(dpa__losses_new(bad, 2, heldout, 1, &l, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "training losses: loss 2 is NaN"));
    assert_null(l.train);
    assert_int_equal(dpa__losses_new(train, 4, bad, 2, &l, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_new(train, 0, heldout, 1, &l, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__losses_new(train, 4, heldout, 0, &l, &err), DPA_BAD_INPUT);
    dpa__losses_free(NULL);
}

static char place[3][64];

static void write_text(const char *path, const char *text) {
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
}

static const char *temporary(int which, const char *ending) {
    (void)snprintf(place[which], sizeof place[which], "losses-%d-%d.%s", (int)getpid(), which,
                   ending);
    return place[which];
}

static void tables(void **state) {
    (void)state;
    const char *path = temporary(0, "csv");
    const dpa_losses_files files = {.train = path};
    dpa_losses l;
    dpa_error err;
    write_text(path, "loss,member\n2,1\n5,0\n1,1\n");
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_int_equal(l.train_count, 2);
    assert_int_equal(l.heldout_count, 1);
    assert_true(l.train[0] == 1 && l.train[1] == 2 && l.heldout[0] == 5);
    assert_int_equal(strlen(l.train_sha256), 64);
    dpa__losses_free(&l);
    static const char *const bad[] = {"loss,member\n2,2\n", "loss,in\n2,1\n", "loss,member\nx,1\n",
                                      "loss,member\nnan,1\n1,0\n", "loss,member\n1,1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        write_text(path, bad[i]);
        assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_INPUT);
        assert_non_null(strstr(err.place, path));
    }
    (void)remove(path);
}

static void two_arrays(void **state) {
    (void)state;
    const char *a = temporary(0, "txt"), *b = temporary(1, "txt");
    dpa_losses_files files = {.train = a, .heldout = b};
    dpa_losses l;
    dpa_error err;
    write_text(a, "0.9\n0.5\n");
    write_text(b, "0.75\n");
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_true(l.train[0] == 0.5 && l.heldout[0] == 0.75);
    dpa__losses_free(&l);
    files.train_labels = b;
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_ARGUMENT); /* one of two */
    files.heldout_labels = b;
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_INPUT); /* 2 rows, 1 label */
    assert_non_null(strstr(err.text, "2 rows"));
    files.train = b;
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_INPUT); /* the label 0.75 */
    files = (dpa_losses_files){0};
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_ARGUMENT);
    (void)remove(a);
    (void)remove(b);
}

static void npz(void **state) {
    (void)state;
    const char *path = temporary(0, "npz");
    double p[] = {0.9, 0.1, 0.2, 0.8}, y[] = {0, 0}, q[] = {0.5, 0.5};
    double z[] = {1};
    const char *const names[] = {"train", "heldout", "train_labels", "heldout_labels"};
    const dpa_array arrays[] = {
        {.dtype = DPA_F64, .ndim = 2, .shape = {2, 2}, .count = 4, .data = p},
        {.dtype = DPA_F64, .ndim = 2, .shape = {1, 2}, .count = 2, .data = q},
        {.dtype = DPA_F64, .ndim = 1, .shape = {2}, .count = 2, .data = y},
        {.dtype = DPA_F64, .ndim = 1, .shape = {1}, .count = 1, .data = z}};
    const dpa_losses_files files = {.train = path};
    dpa_losses l;
    dpa_error err;
    assert_ok(dpa__npz_write(path, names, arrays, 4, NULL));
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_int_equal(l.train_count, 2);
    assert_relative(l.train[0], -log(9.0), 1e-15);
    assert_relative(l.train[1], log(4.0), 1e-15);
    assert_absolute(l.heldout[0], 0.0, 1e-15);
    dpa__losses_free(&l);
    /* without labels a matrix is not a list of losses */
    assert_ok(dpa__npz_write(path, names, arrays, 2, NULL));
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "2 dimensions"));
    (void)remove(path);
}

/* Predictions of numbers with their labels; each kind of loss by its name. */
static void losses_of_regressions(void **state) {
    (void)state;
    const char *a = temporary(0, "txt"), *b = temporary(1, "txt"), *wide = temporary(2, "npy");
    dpa_losses_files files = {
        .train = a, .heldout = a, .train_labels = b, .heldout_labels = b, .loss = "squared"};
    double four[] = {0.1, 0.2, 0.3, 0.4};
    const dpa_array matrix = {
        .dtype = DPA_F64, .ndim = 2, .shape = {2, 2}, .count = 4, .data = four};
    dpa_losses l;
    dpa_error err;
    write_text(a, "1\n5\n");
    write_text(b, "0\n8\n");
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_true(l.train_count == 2 && l.train[0] == 1 && l.train[1] == 9 && l.heldout[1] == 9);
    dpa__losses_free(&l);
    files.loss = "absolute";
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_true(l.train[0] == 1 && l.train[1] == 3 && l.heldout[1] == 3);
    dpa__losses_free(&l);
    files.loss = "cubic";
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "log-odds, squared or absolute is right, not 'cubic'"));
    assert_ok(dpa__array_write(wide, &matrix, NULL));
    files.train = wide;
    files.loss = "absolute";
    assert_int_equal(dpa__losses_read(&files, &l, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "2 columns of predictions"));
    write_text(a, "0.5\n0.9\n");
    write_text(b, "1\n0\n");
    files.train = a;
    files.loss = "log-odds";
    assert_ok(dpa__losses_read(&files, &l, &err));
    assert_absolute(l.train[0], 0, 1e-15);
    assert_relative(l.train[1], log(9), 1e-14);
    dpa__losses_free(&l);
    for (int i = 0; i < 3; ++i) (void)remove(place[i]);
}

/* Losses of each group apart; a group with one side only has nothing to compare. */
static void groups(void **state) {
    (void)state;
    const char *path = temporary(0, "csv");
    dpa_loss_groups g;
    dpa_error err = {0};
    write_text(path, "loss,member,who\n2,1,a\n5,0,a\n1,1,a\n7,1,b\n8,0,c\n9,1,c\n");
    assert_ok(dpa__loss_groups_read(path, "who", &g, &err));
    assert_int_equal(g.count, 3);
    for (size_t i = 0; i < 3; ++i) {
        const dpa_losses *l = &g.items[i];
        const int which = g.names[i][0];
        assert_int_equal(l->train_count, which == 'a' ? 2 : which == 'b' ? 0 : 1);
        assert_int_equal(l->heldout_count, which == 'b' ? 0 : 1);
        if (which == 'a') assert_true(l->train[0] == 1 && l->train[1] == 2 && l->heldout[0] == 5);
        if (which == 'c') assert_true(l->train[0] == 9 && l->heldout[0] == 8);
    }
    dpa__loss_groups_free(&g);
    assert_int_equal(dpa__loss_groups_read(path, "colour", &g, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "no column 'colour'"));
    write_text(path, "loss,member,who\n2,1,a\nnan,0,a\n");
    assert_int_equal(dpa__loss_groups_read(path, "who", &g, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "loss is NaN"));
    assert_non_null(strstr(err.place, ".csv:3"));
    (void)remove(path);
}

static int has_lint(const dpa_losses *l, const char *code) {
    dpa_lints lints = {0};
    int found = 0;
    assert_ok(dpa__losses_lint(l, &lints, NULL));
    for (size_t i = 0; i < lints.count; ++i) found |= strcmp(lints.items[i].code, code) == 0;
    dpa__lints_free(&lints);
    return found;
}

static void lints(void **state) {
    (void)state;
    enum { N = 2000 };
    static double low[N], high[N], tied[N];
    dpa_losses l;
    for (int i = 0; i < N; ++i) {
        low[i] = i;
        high[i] = i + 500.5;
        tied[i] = i % 10;
    }
    assert_ok(dpa__losses_new(low, N, high, N, &l, NULL));
    assert_false(has_lint(&l, "few-points") || has_lint(&l, "ties") ||
                 has_lint(&l, "wrong-direction") || has_lint(&l, "infinite-losses"));
    dpa__losses_free(&l);
    high[0] = HUGE_VAL;
    assert_ok(dpa__losses_new(high, N, low, 100, &l, NULL));
    assert_true(has_lint(&l, "few-points") && has_lint(&l, "wrong-direction") &&
                has_lint(&l, "infinite-losses"));
    dpa__losses_free(&l);
    assert_ok(dpa__losses_new(tied, N, tied, N, &l, NULL));
    assert_true(has_lint(&l, "ties") && !has_lint(&l, "wrong-direction"));
    assert_true(has_lint(&l, "same-losses") && !has_lint(&l, "shared-losses"));
    dpa__losses_free(&l);
    assert_ok(dpa__losses_new(tied, N, tied, N - 1, &l, NULL)); /* a grid is shared by all */
    assert_false(has_lint(&l, "same-losses") || has_lint(&l, "shared-losses"));
    dpa__losses_free(&l);
    high[0] = 500.5;
    for (int points = 0; points < 40; points += 10) { /* of 2000: 1% is 20 */
        for (int i = 0; i < points; ++i) high[i] = 700 + i;
        assert_ok(dpa__losses_new(low, N, high, N, &l, NULL));
        assert_int_equal(has_lint(&l, "shared-losses"), points >= 20);
        dpa__losses_free(&l);
    }
}

/* Whether a lint of this code is there and says these words. */
static int says(const double *train, size_t n, const double *heldout, size_t m, const char *code,
                const char *words) {
    dpa_losses l;
    dpa_lints lints = {0};
    int found = 0;
    assert_ok(dpa__losses_new(train, n, heldout, m, &l, NULL));
    assert_ok(dpa__losses_lint(&l, &lints, NULL));
    for (size_t i = 0; i < lints.count; ++i)
        found |= strcmp(lints.items[i].code, code) == 0 && strstr(lints.items[i].text, words);
    dpa__lints_free(&lints);
    dpa__losses_free(&l);
    return found;
}

/* The numbers that lints name, and the places from which on they speak. */
static void lints_count(void **state) {
    (void)state;
    enum { N = 1000 };
    static double a[N], b[N];
    for (int i = 0; i < N; ++i) {
        a[i] = i;
        b[i] = i + 0.5;
    }
    assert_false(says(a, N, b, N, "few-points", ""));
    assert_true(says(a, N - 1, b, N, "few-points", "999 training and 1000 held-out"));
    assert_true(says(a, N, b, N - 1, "few-points", "1000 training and 999 held-out"));
    a[1] = b[1] = b[2] = HUGE_VAL;
    assert_true(says(a, N, b, N, "infinite-losses", "3 losses are infinite"));
    a[1] = 1, b[1] = 1.5, b[2] = 2.5;
    /* one value for 1 of 10 losses, of 20 at least */
    for (int i = 0; i < 9; ++i) b[i] = 3.25;
    assert_false(says(a, N, b, 91, "saturated", ""));
    assert_true(says(a, N, b, 90, "saturated", "9 of 90 held-out losses are 3.25"));
    assert_true(says(b, 90, a, N, "saturated", "9 of 90 training losses are 3.25"));
    assert_true(says(a, N, b, 20, "saturated", "9 of 20"));
    assert_false(says(a, N, b, 19, "saturated", ""));
    /* half of the losses are distinct, or fewer */
    for (int i = 0; i < N; ++i) b[i] = i / 4 + 0.5;
    assert_false(says(b, 400, a, 200, "ties", ""));
    assert_false(says(b, 400, b, 400, "ties", "one"));
    assert_true(says(b, 400, b, 396, "ties", "only 100 + 99 distinct losses among 796"));
    assert_false(says(a, 100, b, 200, "ties", "")); /* 100 + 50 of 300 */
    assert_true(says(a, 100, b, 204, "ties", "only 100 + 51 distinct losses among 304"));
    /* shared by both sides: five at least, and 1% of the fewer */
    for (int i = 0; i < N; ++i) b[i] = i < 5 ? i : i + 0.5;
    assert_true(says(a, N, b, 500, "shared-losses", "5 losses are the same on both sides"));
    assert_false(says(a, N, b, 501, "shared-losses", ""));
    b[4] = 4.5;
    assert_false(says(a, N, b, 300, "shared-losses", ""));
}

/* A direction is wrong beyond four deviations of the rank sum. Ties count as half. */
static void wrong_directions(void **state) {
    (void)state;
    enum { N = 100, M = 80 };
    const double spread = sqrt((N + M + 1) / (12.0 * N * M));
    double a[N], b[M];
    int said = 0;
    for (int shift = 0; shift < N; ++shift) {
        double share = 0;
        char words[64];
        for (int i = 0; i < N; ++i) a[i] = (i + shift - 60) / 2; /* whole numbers: ties */
        for (int i = 0; i < M; ++i) b[i] = i / 2;
        for (int i = 0; i < N; ++i)
            for (int k = 0; k < M; ++k)
                share += (a[i] < b[k] ? 1.0 : a[i] == b[k] ? 0.5 : 0.0) / (N * M);
        (void)snprintf(words, sizeof words, "with probability %.3f", share);
        char *comma = strchr(words, ','); /* of this test's locale */
        if (comma != NULL) *comma = '.';
        const int wrong = says(a, N, b, M, "wrong-direction", words);
        assert_int_equal(wrong, share < 0.5 - 4 * spread);
        assert_int_equal(wrong, says(a, N, b, M, "wrong-direction", ""));
        said += wrong;
    }
    assert_true(said > 10 && said < 90);
}

/* A single loss sets the scale only if the next one of either side is far from it; two far losses
 * of one side do not, at either end. */
static void one_loss_scale(void **state) {
    (void)state;
    static const double middle[] = {0, 0.5, 1};
    static const struct {
        double train[5];
        int alone;
    } cases[] = {{{0, 0.2, 0.4, 0.6, 100}, 1},   {{0, 0.2, 0.4, 99, 100}, 0},
                 {{-100, 0.2, 0.4, 0.6, 1}, 1},  {{-100, -99, 0.4, 0.6, 1}, 0},
                 {{-100, 0.2, 0.4, 0.6, 90}, 1}, {{-100, -99, 0.4, 99, 100}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa_losses l;
        assert_ok(dpa__losses_new(cases[i].train, 5, middle, 3, &l, NULL));
        assert_int_equal(has_lint(&l, "one-loss-scale"), cases[i].alone);
        dpa__losses_free(&l);
        assert_ok(dpa__losses_new(middle, 3, cases[i].train, 5, &l, NULL));
        assert_int_equal(has_lint(&l, "one-loss-scale"), cases[i].alone);
        dpa__losses_free(&l);
    }
}

static void regression(void **state) {
    (void)state;
    const double prediction[] = {1, 2, -3}, label[] = {1, 4, -2.5}, bad[] = {1, INFINITY, 0};
    double out[3];
    assert_ok(dpa__losses_from_regression(prediction, label, 3, 1, out, NULL));
    assert_true(out[0] == 0 && out[1] == 4 && out[2] == 0.25);
    assert_ok(dpa__losses_from_regression(prediction, label, 3, 0, out, NULL));
    assert_true(out[0] == 0 && out[1] == 2 && out[2] == 0.5);
    assert_int_equal(dpa__losses_from_regression(bad, label, 3, 0, out, NULL), DPA_BAD_INPUT);
}

/* By hand: held-out 1…9; training losses 0, 0.5, 1.5, 20. */
static void records(void **state) {
    (void)state;
    const double train[] = {20, 0.5, 1.5, 0}, heldout[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    dpa_loss_record r[3];
    size_t count, found;
    assert_ok(dpa__loss_records(train, 4, heldout, 9, 0.2, r, 3, &count, &found, NULL));
    assert_int_equal(count, 3);
    assert_int_equal(r[0].number, 4);
    assert_int_equal(r[1].number, 2);
    assert_int_equal(r[2].number, 3);
    assert_relative(r[0].p_value, 0.1, 1e-15);
    assert_relative(r[0].q_value, 0.1 * 4 / 2, 1e-15); /* two have p = 0.1 */
    assert_relative(r[2].p_value, 0.2, 1e-15);
    assert_relative(r[2].q_value, 0.2 * 4 / 3, 1e-15);
    assert_int_equal(found, 2);
    /* equal losses in the order of their rows; no list is longer than the losses */
    const double ties[] = {3, 1, 3, 1}, bad[] = {1, NAN};
    dpa_loss_record all[9];
    dpa_error err = {0};
    assert_ok(dpa__loss_records(ties, 4, heldout, 9, 0.2, all, 9, &count, &found, NULL));
    assert_int_equal(count, 4);
    assert_int_equal(found, 0);
    static const size_t order[] = {2, 4, 1, 3};
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(all[i].number, order[i]);
        assert_relative(all[i].p_value, i < 2 ? 0.2 : 0.4, 1e-15);
        assert_relative(all[i].q_value, 0.4, 1e-15);
    }
    assert_int_equal(dpa__loss_records(bad, 2, heldout, 9, 0.2, all, 9, &count, &found, &err),
                     DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "training loss 2 is NaN"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_of_a_prediction),
        cmocka_unit_test(many_predictions),
        cmocka_unit_test(bad_predictions),
        cmocka_unit_test(sorting),
        cmocka_unit_test(tables),
        cmocka_unit_test(two_arrays),
        cmocka_unit_test(npz),
        cmocka_unit_test(losses_of_regressions),
        cmocka_unit_test(groups),
        cmocka_unit_test(lints),
        cmocka_unit_test(lints_count),
        cmocka_unit_test(wrong_directions),
        cmocka_unit_test(one_loss_scale),
        cmocka_unit_test(regression),
        cmocka_unit_test(records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
