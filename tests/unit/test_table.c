/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables: kinds of columns, quoting, options, and every way in which a CSV can be wrong. */
#include "readers.h"

#include "base/array.h"

static dpa_status read_csv(const char *text, const dpa_table_opts *opts, dpa_table **out,
                           dpa_error *err) {
    dpa__stream *stream;
    assert_ok(dpa__stream_open_memory("mem", text, strlen(text), &stream, err));
    const dpa_status status = dpa__table_from_stream(stream, opts, out, err);
    dpa__stream_close(stream);
    return status;
}

static const char *text_at(const dpa_table *t, size_t column, size_t row) {
    return dpa__column_text(&t->column[column], row);
}

static void scores(void **state) {
    (void)state;
    static const char *const same[] = {"score,member\n0.5,1\n-2e3,0\n",
                                       "score,member\r\n0.5,1\r\n-2e3,0\r\n",
                                       "\xef\xbb\xbf"
                                       "score,member\n0.5,1\n-2e3,0",
                                       " score , member \n 0.5,1\t\n-2e3, 0\n\n \r\n",
                                       "\"score\",\"member\"\n\"0.5\",\"1\"\n-2e3,0\n"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; ++i) {
        dpa_table *t;
        dpa_error err;
        assert_ok(read_csv(same[i], NULL, &t, &err));
        assert_int_equal(t->rows, 2);
        assert_int_equal(t->columns, 2);
        assert_string_equal(t->column[0].name, "score");
        assert_int_equal(dpa__table_find(t, "member"), 1);
        assert_int_equal(dpa__table_find(t, "Member"), -1);
        assert_int_equal(t->column[0].kind, DPA_COLUMN_NUMBER);
        assert_true(t->column[0].numbers[1] == -2000 && t->column[1].numbers[0] == 1);
        assert_null(t->column[0].codes);
        assert_int_equal(t->column[0].levels.count, 0);
        assert_int_equal(t->column[0].text_line, 0);
        assert_int_equal(strlen(t->sha256), 64);
        dpa__table_free(t);
    }
    dpa__table_free(NULL);
}

/* A column that becomes text only in its last row keeps the spelling of the earlier rows. */
static void texts(void **state) {
    (void)state;
    dpa_table *t;
    dpa_error err;
    assert_ok(read_csv("id,group,x\n1.0,b,1\n01,a,2\n1.0,\"\",3\nNA,b,4\n", NULL, &t, &err));
    assert_int_equal(t->column[0].kind, DPA_COLUMN_TEXT);
    assert_int_equal(t->column[0].text_line, 5);
    assert_int_equal(t->column[1].text_line, 2);
    assert_null(t->column[0].numbers);
    assert_int_equal(t->column[0].levels.count, 3);
    assert_string_equal(dpa__levels_text(&t->column[0].levels, 0), "01");
    assert_string_equal(dpa__levels_text(&t->column[0].levels, 1), "1.0");
    assert_string_equal(dpa__levels_text(&t->column[0].levels, 2), "NA");
    assert_string_equal(text_at(t, 0, 2), "1.0");
    assert_string_equal(text_at(t, 1, 0), "b");
    assert_string_equal(text_at(t, 1, 1), "a");
    assert_string_equal(text_at(t, 1, 2), "");
    assert_string_equal(text_at(t, 1, 3), "b");
    assert_true(t->column[2].numbers[3] == 4);
    dpa__table_free(t);
}

static void quotes(void **state) {
    (void)state;
    dpa_table *t;
    dpa_error err;
    assert_ok(read_csv("a,b\n\"x,\"\"y\"\"\" , \"line\nbreak\"\n\"\"\"\",z\n", NULL, &t, &err));
    assert_int_equal(t->rows, 2);
    assert_string_equal(text_at(t, 0, 0), "x,\"y\"");
    assert_string_equal(text_at(t, 1, 0), "line\nbreak");
    assert_string_equal(text_at(t, 0, 1), "\"");
    dpa__table_free(t);
    /* lines inside quotes count for later places */
    assert_int_equal(read_csv("a\n\"x\n\ny\"\nz\"\n", NULL, &t, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "mem:5:2");
}

static void options(void **state) {
    (void)state;
    static const char *const as_text[] = {"absent", "id", NULL};
    dpa_table_opts opts;
    dpa_table *t;
    dpa_error err;
    dpa__table_opts_init(&opts);
    opts.separator = ';';
    opts.comment = "#";
    opts.text = as_text;
    assert_ok(read_csv("# made by hand\nid;x\n# more\n07; y\n7;z", &opts, &t, &err));
    assert_int_equal(t->column[0].levels.count, 2);
    assert_int_equal(t->column[0].text_line, 0); /* its cells are numbers all the same */
    assert_string_equal(text_at(t, 0, 0), "07");
    assert_string_equal(text_at(t, 1, 0), "y");
    dpa__table_free(t);
    dpa__table_opts_init(&opts);
    opts.separator = '\t';
    opts.has_header = 0;
    assert_ok(read_csv("1\t\"q\"\n 2 \tw\n", &opts, &t, &err));
    assert_int_equal(t->rows, 2);
    assert_string_equal(t->column[1].name, "c2");
    assert_true(t->column[0].numbers[1] == 2);
    assert_string_equal(text_at(t, 1, 0), "q");
    dpa__table_free(t);
    static const char wrong[] = {'\0', '"', '\n', '\r', 'e', '1', '.', '-', '+'};
    for (size_t i = 0; i < sizeof wrong; ++i) {
        opts.separator = wrong[i];
        assert_int_equal(read_csv("a\n1\n", &opts, &t, &err), DPA_BAD_ARGUMENT);
    }
}

/* Which of , ; and tab is most often in the first line; the comma where it is a tie. */
static void any_separator(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t columns;
        const char *last;
    } rows[] = {{"a,b;x,c\n1,2,3\n", 3, "c"},
                {"a;b;c,x\n1;2;3\n", 3, "c,x"},
                {"a\tb\tc;x\n1\t2\t3\n", 3, "c;x"},
                {"a;b\n1;2\n,,,,,,,,\n", 2, "b"},
                {"a\tb\n1\t2\n", 2, "b"},
                {"a,b;c\n1,2\n", 2, "b;c"},
                {"a;b\tc\n1;2\n", 2, "b\tc"},
                {"\xef\xbb\xbf"
                 "a;b\n1;2\n",
                 2, "b"},
                {"a\n1\n", 1, "a"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_table_opts opts;
        dpa_table *t;
        dpa_error err = {0};
        dpa__table_opts_init(&opts);
        opts.separator = DPA_ANY_SEPARATOR;
        if (i == 3) {
            assert_int_equal(read_csv(rows[i].text, &opts, &t, &err), DPA_BAD_INPUT);
            assert_string_equal(err.place, "mem:3");
            continue;
        }
        assert_ok(read_csv(rows[i].text, &opts, &t, &err));
        assert_int_equal(t->columns, rows[i].columns);
        assert_string_equal(t->column[rows[i].columns - 1].name, rows[i].last);
        dpa__table_free(t);
    }
}

static void bad(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *reason;
    } rows[] = {{"", "mem", "empty"},
                {"\n \n", "mem", "empty"},
                {"\xef\xbb\xbf", "mem", "empty"},
                {"a,b\n", "mem", "no rows"},
                {"a,b\n1\n", "mem:2", "found 1 cell; 2"},
                {"a,b\n1,2\n1,2,3\n", "mem:3", "more than 2 cells"},
                {"a,b\n1,2\n3,4,\n", "mem:3", "more than 2 cells"},
                {"a,b\n1,2\n\n3,4\n", "mem:3", "empty"},
                {"\na\n1\n", "mem:1", "empty"},
                {"a,a\n1,2\n", "mem:1", "'a'"},
                {"\033[2J,\033[2J\n1,2\n", "mem:1", "'?[2J'"}, /* a terminal would execute it */
                {"\xc2\x9b,\xc2\x9b\n1,2\n", "mem:1", "'\?\?'"},
                {"a,\n1,2\n", "mem:1:3", "column 2 is empty"},
                {"1,2\n3,4\n", "mem:1", "only numbers"},
                {"a\n\"x\n", "mem:2:1", "never closed"},
                {"a\n\"x\"y\n", "mem:2:4", "after a closing quote"},
                {"a\nx\"y\"\n", "mem:2:2", "quote inside"},
                {"a\n1\r2\n", "mem:2:2", "carriage return"},
                {"a\n\x80\n", "mem:2:1", "0x80"},
                {"a\nx\xc3", "mem:2:2", "0xc3"},
                {"a\n12345678\xed\xa0\x80", "mem:2:9", "0xed"},
                {"a\n\xe0\x80\x80", "mem:2:1", "0xe0"},
                {"a\n\xf4\x90\x80\x80", "mem:2:1", "0xf4"},
                {"a\n\xf0\x80\x80\x80", "mem:2:1", "0xf0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_table *t;
        dpa_error err = {0};
        check_bad(read_csv(rows[i].text, NULL, &t, &err), &err, rows[i].place, rows[i].reason,
                  __FILE__, __LINE__);
        assert_null(t);
    }
    dpa_table *t;
    dpa_error err;
    dpa__stream *stream;
    assert_ok(dpa__stream_open_memory("mem", "a\n\0\n", 4, &stream, &err));
    assert_int_equal(dpa__table_from_stream(stream, NULL, &t, &err), DPA_BAD_INPUT);
    assert_string_equal(err.place, "mem:2:1");
    dpa__stream_close(stream);
    assert_int_equal(dpa__table_read(data_file("stored.npz"), NULL, &t, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "found an NPZ"));
    assert_int_equal(dpa__table_read(data_file("fortran.npy"), NULL, &t, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "found an NPY"));
    assert_int_equal(dpa__table_read("/nonexistent", NULL, &t, &err), DPA_BAD_INPUT);
}

/* Many rows and many distinct texts: growth, sorting, and agreement with what was put in. */
static void many(void **state) {
    (void)state;
    enum { N = 50000, DISTINCT = 7919 };
    dpa__text text = {0};
    dpa_table *t;
    dpa_error err;
    dpa__text_add(&text, "x,\xc3\xa9t\xc3\xa9\n");
    for (int i = 0; i < N; ++i) dpa__text_printf(&text, "%d.5,k%d\n", i, i * 31 % DISTINCT);
    assert_ok(read_csv(text.data, NULL, &t, &err));
    assert_int_equal(t->rows, N);
    assert_int_equal(t->column[1].levels.count, DISTINCT);
    for (size_t i = 1; i < DISTINCT; ++i)
        assert_true(strcmp(dpa__levels_text(&t->column[1].levels, i - 1),
                           dpa__levels_text(&t->column[1].levels, i)) < 0);
    for (int i = 0; i < N; ++i) {
        char want[16];
        (void)snprintf(want, sizeof want, "k%d", i * 31 % DISTINCT);
        assert_true(t->column[0].numbers[i] == i + 0.5);
        assert_string_equal(text_at(t, 1, (size_t)i), want);
    }
    dpa__table_free(t);
    dpa__text_free(&text);
}

static void compressed(void **state) {
    (void)state;
    dpa_table *t;
    dpa_error err;
    assert_ok(dpa__table_read(data_file("scores.csv.gz"), NULL, &t, &err));
    assert_true(t->column[0].numbers[1] == 0.25);
    dpa__table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),  cmocka_unit_test(texts),         cmocka_unit_test(quotes),
        cmocka_unit_test(options), cmocka_unit_test(any_separator), cmocka_unit_test(bad),
        cmocka_unit_test(many),    cmocka_unit_test(compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
