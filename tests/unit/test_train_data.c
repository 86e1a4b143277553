/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data sets from files: every format, its errors, standardising and lists of ids. */
#include <time.h>

#include "check.h"

#include "base/data.h"
#include "dpaudit/lab/train.h"

static const char *temp(const char *name) {
    static char path[64][256];
    static int next;
    char *out = path[next++ % 64];
    (void)snprintf(out, sizeof path[0], "/tmp/dpa_train_data_%d_%s", (int)getpid(), name);
    return out;
}

static const char *put(const char *name, const void *bytes, size_t size) {
    const char *path = temp(name);
    assert_ok(dpa__file_write(path, bytes, size, NULL));
    return path;
}

static const char *put_text(const char *name, const char *text) {
    return put(name, text, strlen(text));
}

static dpa_dataset *read_as(const dpa_dataset_opts *opts, const dpa_dataset *like) {
    dpa_dataset *data = NULL;
    dpa_error err = {0};
    if (dpa_dataset_read(opts, like, &data, &err) != DPA_OK)
        fail_msg("%s: %s: %s", opts->path, err.place, err.text);
    return data;
}

static void refuse(const dpa_dataset_opts *opts, const dpa_dataset *like, const char *text) {
    dpa_dataset *data = NULL;
    dpa_error err = {0};
    assert_int_equal(dpa_dataset_read(opts, like, &data, &err), DPA_BAD_INPUT);
    assert_null(data);
    if (strstr(err.text, text) == NULL && strstr(err.place, text) == NULL)
        fail_msg("\"%s\" is not in \"%s: %s\"", text, err.place, err.text);
}

static dpa_dataset_opts table_opts(const char *path) {
    dpa_dataset_opts opts;
    dpa_dataset_opts_init(&opts);
    opts.format = DPA_FORMAT_TABLE;
    opts.path = path;
    return opts;
}

static const char people[] = "age,city,code,rich\n"
                             "30,Rome,7,yes\n"
                             "40,Oslo,8,no\n"
                             "50,Rome,7,no\n";

static void test_table(void **state) {
    (void)state;
    const char *const categorical[] = {"code", NULL};
    dpa_dataset_opts opts = table_opts(put_text("people.csv", people));
    opts.categorical = categorical;
    dpa_dataset *data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_rows(data), 3);
    assert_int_equal(dpa_dataset_features(data), 5); /* age, Oslo, Rome, 7, 8 */
    const float want[3][5] = {{30, 0, 1, 1, 0}, {40, 1, 0, 0, 1}, {50, 0, 1, 1, 0}};
    for (size_t r = 0; r < 3; ++r)
        assert_memory_equal(dpa_dataset_row(data, r), want[r], sizeof want[r]);
    assert_int_equal(dpa_dataset_label(data, 0), 1); /* no, yes */
    assert_int_equal(dpa_dataset_label(data, 2), 0);
    assert_string_equal(dpa_dataset_schema(data),
                        "age number\ncity: Oslo, Rome\ncode: 7, 8\nrich is the label: no, yes\n");

    /* The held-out part: another order of columns, an unknown city, labels with a mark. */
    dpa_dataset_opts held = opts;
    held.path = put_text("held.csv", "code,age,rich,city\n8,20,yes.,Rome\n9,21,no.,Bonn\n");
    held.label = "rich";
    held.strip = ".";
    dpa_dataset *test = read_as(&held, data);
    const float held_want[2][5] = {{20, 0, 1, 0, 1}, {21, 0, 0, 0, 0}};
    for (size_t r = 0; r < 2; ++r)
        assert_memory_equal(dpa_dataset_row(test, r), held_want[r], sizeof held_want[r]);
    assert_int_equal(dpa_dataset_label(test, 0), 1);
    dpa_dataset_free(test);

    held.path = put_text("held.csv", "code,age,rich,city\n8,20,maybe,Rome\n");
    refuse(&held, data, "maybe");
    held.path = put_text("held.csv", "code,age,rich\n8,20,yes\n");
    refuse(&held, data, "city");
    held.path = put_text("held.csv", "code,age,rich,city\n8,old,yes,Rome\n");
    refuse(&held, data, "age");
    opts.label = "poor";
    refuse(&opts, NULL, "missing labels");
    const char *const nothing[] = {"size", NULL};
    opts.label = NULL;
    opts.ignore = nothing;
    refuse(&opts, NULL, "size");
    dpa_dataset_opts holes = table_opts(put_text("nan.csv", "a,b\n1,0\nnan,1\n"));
    refuse(&holes, NULL, "row 1, feature 0");
    dpa_dataset_opts one = table_opts(put_text("one.csv", "a,b\n1,0\n2,0\n"));
    refuse(&one, NULL, "1 classes");
    dpa_dataset_free(data);
}

/* Whole numbers as labels keep their order: 2 before 10. */
static void test_number_labels(void **state) {
    (void)state;
    dpa_dataset_opts opts = table_opts(put_text("n.csv", "\"10\",1\n\"2\",0\n\"1\",5\n"));
    opts.has_header = 0;
    opts.label = "c1";
    dpa_dataset *data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_label(data, 0), 2);
    assert_int_equal(dpa_dataset_label(data, 1), 1);
    assert_int_equal(dpa_dataset_label(data, 2), 0);
    dpa_dataset_free(data);
}

/* As many labels as rows, each with and without a mark, found in another order. A linear search
 * used to take minutes here. */
/* Reads a table of so many labels, each twice; the seconds of processor time. */
static double read_labels(int labels) {
    char *text = malloc(2 * (size_t)labels * 16 + 16), *at = text;
    assert_non_null(text);
    at += sprintf(at, "x,y\n");
    for (int i = 0; i < 2 * labels; ++i)
        at += sprintf(at, "1,k%06d%s\n", (int)((i * 7919LL) % labels), i < labels ? "" : ".");
    dpa_dataset_opts opts = table_opts(put_text("many.csv", text));
    opts.label = "y";
    opts.strip = ".";
    const clock_t began = clock();
    dpa_dataset *data = read_as(&opts, NULL);
    const double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_int_equal(dpa_dataset_classes(data), labels);
    for (int i = 0; i < 2 * labels; ++i)
        assert_int_equal(dpa_dataset_label(data, (size_t)i), (i * 7919LL) % labels);
    dpa_dataset_free(data);
    free(text);
    return seconds;
}

/* Ten times the labels take about ten times as long, not a hundred times. */
static void test_many_labels(void **state) {
    (void)state;
    const double few = read_labels(10000), many = read_labels(100000);
    print_message("10,000 labels: %.3f s, 100,000: %.3f s\n", few, many);
    assert_true(many < 40 * fmax(few, 0.005));
}

static void test_words(void **state) {
    (void)state;
    dpa_dataset_opts opts;
    dpa_dataset_opts_init(&opts);
    opts.format = DPA_FORMAT_WORDS;
    opts.separator = '\t';
    opts.vocabulary = 3;
    opts.path = put_text("w.tsv", "sentence\tlabel\nGood good film\t1\nbad film \t0\n"
                                  "a good one , a\t1\nbad bad bad\t0\n");
    dpa_dataset *data = read_as(&opts, NULL); /* two rows each: bad, film, good */
    assert_int_equal(dpa_dataset_features(data), 3);
    const float want[4][3] = {{0, 1, 2}, {1, 1, 0}, {0, 0, 1}, {3, 0, 0}};
    for (size_t r = 0; r < 4; ++r)
        assert_memory_equal(dpa_dataset_row(data, r), want[r], sizeof want[r]);
    opts.path = put_text("w2.tsv", "sentence\tlabel\nnew words\t0\nfilm\t1\n");
    dpa_dataset *test = read_as(&opts, data);
    assert_true(dpa_dataset_row(test, 1)[1] == 1.0F);
    dpa_dataset_free(test);
    opts.path = put_text("w2.tsv", "text\tlabel\nnew words\t0\n");
    refuse(&opts, data, "sentence");
    dpa_dataset_free(data);
}

static void test_arrays(void **state) {
    (void)state;
    unsigned char pixels[2 * 2 * 3];
    for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = (unsigned char)(i * 20);
    dpa_array x = {.dtype = DPA_U8, .ndim = 3, .shape = {2, 2, 3}, .count = 12, .data = pixels};
    int64_t labels[2] = {3, 0};
    dpa_array y = {.dtype = DPA_I64, .ndim = 1, .shape = {2}, .count = 2, .data = labels};
    dpa_dataset_opts opts;
    dpa_dataset_opts_init(&opts);
    opts.path = temp("x.npy");
    opts.labels = temp("y.npy");
    assert_ok(dpa__array_write(opts.path, &x, NULL));
    assert_ok(dpa__array_write(opts.labels, &y, NULL));
    dpa_dataset *data = read_as(&opts, NULL);
    const dpa_shape shape = dpa_dataset_shape(data);
    assert_int_equal(shape.height, 2);
    assert_int_equal(shape.width, 3);
    assert_int_equal(dpa_dataset_classes(data), 4);
    assert_true(dpa_dataset_row(data, 1)[0] == 120.0F / 255.0F);
    const char *names[] = {"x", "y"};
    const dpa_array both[] = {x, y};
    assert_ok(dpa__npz_write(temp("xy.npz"), names, both, 2, NULL));
    dpa_dataset_opts npz;
    dpa_dataset_opts_init(&npz);
    npz.path = temp("xy.npz");
    dpa_dataset *twin = read_as(&npz, NULL);
    assert_memory_equal(dpa_dataset_row(twin, 0), dpa_dataset_row(data, 0), 12 * sizeof(float));
    dpa_dataset_free(twin);
    opts.labels = NULL;
    refuse(&opts, NULL, "missing labels");
    opts.labels = temp("y.npy");
    labels[1] = -1;
    assert_ok(dpa__array_write(opts.labels, &y, NULL));
    refuse(&opts, NULL, "-1");
    y.shape[0] = y.count = 1;
    assert_ok(dpa__array_write(opts.labels, &y, NULL));
    refuse(&opts, NULL, "1 labels for 2 rows");
    labels[0] = 9; /* a class that the training part does not have */
    x.shape[0] = 1;
    x.count = 6;
    assert_ok(dpa__array_write(temp("x.npy"), &x, NULL));
    assert_ok(dpa__array_write(opts.labels, &y, NULL));
    opts.path = temp("x.npy");
    refuse(&opts, data, "label 9");
    dpa_dataset_free(data);
}

static void test_cifar_and_fann(void **state) {
    (void)state;
    enum { RECORD = 3073 };
    unsigned char *bytes = calloc(2, RECORD);
    bytes[RECORD] = 7;
    bytes[RECORD + 1 + 1024 + 33] = 255; /* green, row 1, column 1 */
    dpa_dataset_opts opts;
    dpa_dataset_opts_init(&opts);
    opts.format = DPA_FORMAT_CIFAR;
    opts.path = put("c.bin", bytes, 2 * RECORD);
    dpa_dataset *data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_label(data, 1), 7);
    for (size_t i = 0; i < 3072; ++i)
        assert_true(dpa_dataset_row(data, 1)[i] == (i == 33 * 3 + 1 ? 1.0F : 0.0F));
    dpa_dataset_free(data);
    opts.path = put("c.bin", bytes, 2 * RECORD - 1);
    refuse(&opts, NULL, "6145 bytes");
    bytes[0] = 10;
    opts.path = put("c.bin", bytes, RECORD);
    refuse(&opts, NULL, "label 10");
    free(bytes);

    opts.format = DPA_FORMAT_FANN;
    opts.path = put_text("f.data", "3 2 1\n0.5 -1\n1\n2 3\n0\n4 5\n1\n");
    data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_rows(data), 3);
    assert_true(dpa_dataset_row(data, 0)[1] == -1.0F);
    assert_int_equal(dpa_dataset_label(data, 1), 0);
    assert_int_equal(dpa_dataset_label(data, 2), 1);
    dpa_dataset_free(data);
    opts.path = put_text("f.data", "2 1 3\n9\n0 0 1\n8\n1 0 0\n");
    data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_classes(data), 3);
    assert_int_equal(dpa_dataset_label(data, 0), 2);
    dpa_dataset_free(data);
    static const char *const bad[] = {"",
                                      "3 2\n",
                                      "1 1 1\n5\n",
                                      "1 1 1\n5\nx\n",
                                      "1 1 1\n5\n1\n7\n",
                                      "99 99 99\n1 1\n",
                                      "1 1 1\nnan\n1\n",
                                      "-1 1 1\n1\n1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        opts.path = put_text("f.data", bad[i]);
        refuse(&opts, NULL, "");
    }
}

static void test_standardise(void **state) {
    (void)state;
    const float x[] = {1, 0, 5, 3, 1, 5, 100, 0, 5, 5, 9, 6};
    const int32_t label[] = {0, 1, 0, 1};
    dpa_dataset *fit, *also;
    assert_ok(dpa_dataset_new(x, label, 4, (dpa_shape){1, 1, 3}, 2, &fit, NULL));
    assert_ok(dpa_dataset_new(x, label, 4, (dpa_shape){1, 1, 3}, 2, &also, NULL));
    const size_t rows[] = {0, 1}; /* by these: mean 2, deviation 1; a binary one; a constant one */
    assert_ok(dpa_dataset_standardise(fit, rows, 2, also, NULL));
    const float want[] = {-1, 0, 5, 1, 1, 5, 98, 0, 5, 3, 9, 6};
    assert_memory_equal(dpa_dataset_row(fit, 0), want, sizeof want);
    assert_memory_equal(dpa_dataset_row(also, 0), want, sizeof want);
    const size_t far[] = {4};
    assert_int_equal(dpa_dataset_standardise(fit, far, 1, NULL, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_dataset_standardise(fit, far, 0, NULL, NULL), DPA_BAD_ARGUMENT);
    dpa_dataset_free(fit);
    dpa_dataset_free(also);
}

/* Rows that are set, and everything that is refused, by its place. */
static void test_rows(void **state) {
    (void)state;
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const int32_t label[2] = {0, 2};
    const dpa_shape shape = {1, 3, 1};
    dpa_dataset *data = NULL;
    dpa_error e = {0};
    assert_ok(dpa_dataset_new(x, label, 2, shape, 3, &data, &e));
    assert_int_equal(dpa_dataset_rows(data), 2);
    assert_int_equal(dpa_dataset_features(data), 3);
    assert_int_equal(dpa_dataset_classes(data), 3);
    assert_int_equal(dpa_dataset_label(data, 1), 2);
    assert_int_equal(dpa_dataset_label(data, 2), -1);
    float row[3] = {7, 8, 9};
    assert_ok(dpa_dataset_set_row(data, 1, row, 1, &e));
    assert_memory_equal(dpa_dataset_row(data, 1), row, sizeof row);
    assert_memory_equal(dpa_dataset_row(data, 0), x, sizeof row);
    assert_ok(dpa_dataset_set_row(data, 1, NULL, 0, &e)); /* the label alone */
    assert_memory_equal(dpa_dataset_row(data, 1), row, sizeof row);
    assert_int_equal(dpa_dataset_label(data, 1), 0);
    assert_int_equal(dpa_dataset_set_row(data, 2, row, 1, &e), DPA_BAD_ARGUMENT);
    assert_string_equal(e.text, "row 2 of a data set with 2");
    assert_int_equal(dpa_dataset_set_row(data, 0, row, 3, &e), DPA_BAD_ARGUMENT);
    assert_string_equal(e.text, "label 3, expected 0 to 2");
    assert_int_equal(dpa_dataset_set_row(data, 0, row, -1, &e), DPA_BAD_ARGUMENT);
    for (int i = 0; i < 3; ++i) {
        float bad[3] = {7, 8, 9};
        char text[64];
        bad[i] = INFINITY;
        (void)snprintf(text, sizeof text, "feature %d: inf is not a finite number", i);
        assert_int_equal(dpa_dataset_set_row(data, 0, bad, 1, &e), DPA_BAD_ARGUMENT);
        assert_string_equal(e.text, text);
        assert_memory_equal(dpa_dataset_row(data, 0), x, sizeof bad); /* nothing was changed */
        assert_int_equal(dpa_dataset_label(data, 0), 0);
    }
    dpa_dataset_free(data);
    const float odd[6] = {1, 2, 3, 4, NAN, 6};
    const int32_t wrong[2] = {0, 3};
    data = NULL;
    assert_int_equal(dpa_dataset_new(odd, label, 2, shape, 3, &data, &e), DPA_BAD_INPUT);
    assert_string_equal(e.text, "row 1, feature 1: nan is not a finite number");
    assert_int_equal(dpa_dataset_new(x, wrong, 2, shape, 3, &data, &e), DPA_BAD_INPUT);
    assert_string_equal(e.text, "row 1: label 3, expected 0 to 2");
    assert_int_equal(dpa_dataset_new(x, label, 2, shape, 1, &data, &e), DPA_BAD_INPUT);
    assert_string_equal(e.text, "1 classes: expected 2 to 1000000");
    assert_int_equal(dpa_dataset_new(x, label, 2, (dpa_shape){1, 0, 3}, 3, &data, &e),
                     DPA_BAD_ARGUMENT);
    assert_string_equal(e.text, "rows of 1 × 0 × 3 numbers");
    assert_int_equal(dpa_dataset_new(x, label, 2, (dpa_shape){1 << 20, 1 << 20, 1}, 3, &data, &e),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(
        dpa_dataset_new(x, label, 2, (dpa_shape){1 << 10, 1 << 10, 1 << 20}, 3, &data, &e),
        DPA_BAD_ARGUMENT);
    assert_null(data);
}

static void test_ids(void **state) {
    (void)state;
    size_t *ids, count;
    assert_ok(dpa_ids_read("2..5", 5, &ids, &count, NULL));
    assert_int_equal(count, 3);
    assert_int_equal(ids[2], 4);
    free(ids);
    assert_int_equal(dpa_ids_read("2..6", 5, &ids, &count, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_ids_read("3..3", 5, &ids, &count, NULL), DPA_BAD_ARGUMENT);
    assert_ok(dpa_ids_read(put_text("ids", "4\n0\n"), 5, &ids, &count, NULL));
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 4);
    free(ids);
    assert_int_equal(dpa_ids_read(put_text("ids", "5\n"), 5, &ids, &count, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa_ids_read(put_text("ids", "0.5\n"), 5, &ids, &count, NULL), DPA_BAD_INPUT);
}

/* The real files, if they are there. */
static void test_real(void **state) {
    (void)state;
    if (access(check_shared("data/adult/adult.data"), R_OK) != 0) skip();
    dpa_dataset_opts opts = table_opts(check_shared("data/adult/adult.data"));
    opts.has_header = 0;
    opts.comment = "|";
    opts.strip = ".";
    dpa_dataset *data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_rows(data), 32561);
    assert_int_equal(dpa_dataset_features(data), 108); /* 6 numbers, 102 values */
    opts.path = check_shared("data/adult/adult.test");
    dpa_dataset *test = read_as(&opts, data);
    assert_int_equal(dpa_dataset_rows(test), 16281);
    size_t rich = 0;
    for (size_t r = 0; r < 16281; ++r) rich += dpa_dataset_label(test, r) == 1;
    for (size_t r = 0; r < 32561; ++r) rich += dpa_dataset_label(data, r) == 1;
    assert_int_equal(rich, 11687);
    dpa_dataset_free(test);
    dpa_dataset_free(data);

    opts = table_opts(check_shared("data/location30/dataset_location.tgz"));
    opts.has_header = 0;
    opts.label = "c1";
    data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_rows(data), 5010);
    assert_int_equal(dpa_dataset_features(data), 446);
    assert_int_equal(dpa_dataset_classes(data), 30);
    assert_int_equal(dpa_dataset_label(data, 0), 12); /* "13" */
    dpa_dataset_free(data);

    opts.format = DPA_FORMAT_CIFAR;
    opts.path = check_shared("data/cifar10/test_batch_first2000.bin.xz");
    data = read_as(&opts, NULL);
    assert_int_equal(dpa_dataset_rows(data), 2000);
    dpa_dataset_free(data);
}

static int clean(void **state) {
    (void)state;
    static const char *const names[] = {"people.csv", "held.csv", "nan.csv", "one.csv", "n.csv",
                                        "w.tsv",      "w2.tsv",   "x.npy",   "y.npy",   "xy.npz",
                                        "c.bin",      "f.data",   "ids"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(temp(names[i]));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_number_labels),
        cmocka_unit_test(test_many_labels), cmocka_unit_test(test_words),
        cmocka_unit_test(test_arrays),      cmocka_unit_test(test_cifar_and_fann),
        cmocka_unit_test(test_standardise), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
