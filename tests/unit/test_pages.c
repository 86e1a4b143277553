/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of an SQLite file, read without SQLite: those that SQLite itself wrote, for every size
 * of page and kind of value, and none that a damaged byte makes up. */
#include "check.h"

#include <sqlite3.h>

#include "base/error.h"
#include "run/pages.h"

enum { ROWS = 300, LONGEST = 3000 };

static dpa_error err;
static char path[64];

static void execute(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static const int64_t integers[] = {0,         1,         -1,         2,
                                   127,       -128,      128,        -129,
                                   32767,     -32768,    32768,      8388607,
                                   -8388608,  8388608,   2147483647, -2147483648LL,
                                   1LL << 31, 1LL << 40, 1LL << 46,  -(1LL << 47),
                                   1LL << 47, INT64_MAX, INT64_MIN,  -300};

static int64_t integer_of(int row) {
    return integers[(size_t)row % (sizeof integers / sizeof integers[0])];
}

static int length_of(int row) {
    return row * 37 % LONGEST;
}

static int64_t number_of(int row) { /* of one to nine bytes */
    return row < 250 ? row + 1 : (int64_t)row << (row - 245);
}

/* Rows of a NULL, an integer, a real, a text, a blob. */
static unsigned char *make_file(int page, size_t *size) {
    sqlite3 *db;
    sqlite3_stmt *put;
    char pragma[64], text[LONGEST];
    (void)unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA page_size=%d", page);
    execute(db, pragma);
    execute(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, b BLOB); BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?,?,?,?,?)", -1, &put, NULL),
                     SQLITE_OK);
    for (int i = 0; i < ROWS; ++i) {
        memset(text, 'a' + i % 26, sizeof text);
        (void)sqlite3_bind_int64(put, 1, number_of(i));
        (void)sqlite3_bind_int64(put, 2, integer_of(i));
        (void)sqlite3_bind_double(put, 3, i + 0.25);
        (void)sqlite3_bind_text(put, 4, text, length_of(i), SQLITE_STATIC);
        (void)sqlite3_bind_blob(put, 5, text, i % 7, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(put), SQLITE_DONE);
        (void)sqlite3_reset(put);
    }
    (void)sqlite3_finalize(put);
    execute(db, "COMMIT");
    (void)sqlite3_close(db);
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    (void)fseek(from, 0, SEEK_END);
    *size = (size_t)ftell(from);
    rewind(from);
    unsigned char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, from), *size);
    (void)fclose(from);
    (void)unlink(path);
    return bytes;
}

static struct {
    int seen[ROWS], rows, others;
    int64_t last;
    dpa__cell cell;
} found;

static int row_of(int64_t number) {
    for (int i = 0; i < ROWS; ++i)
        if (number_of(i) == number) return i;
    return -1;
}

static int is_right(const dpa__cell *cell, int i) {
    const dpa__column *c = cell->columns;
    if (cell->count != 5 || c[0].kind != DPA__COLUMN_NULL) return 0;
    if (c[1].kind != DPA__COLUMN_INTEGER || c[1].integer != integer_of(i)) return 0;
    if (c[1].real != (double)integer_of(i)) return 0;
    if (c[2].kind != DPA__COLUMN_REAL || c[2].real != i + 0.25) return 0;
    if (c[3].kind != DPA__COLUMN_TEXT || c[3].size != (size_t)length_of(i)) return 0;
    for (size_t k = 0; k < c[3].size; ++k)
        if (c[3].bytes[k] != 'a' + i % 26) return 0;
    return c[4].kind == DPA__COLUMN_BLOB && c[4].size == (size_t)(i % 7);
}

static dpa_status see(void *user, const dpa__cell *cell, dpa_error *error) {
    (void)user, (void)error;
    const int i = row_of(cell->row);
    if (i < 0 || !is_right(cell, i)) {
        ++found.others; /* of SQLite's own table, or damaged */
        return DPA_OK;
    }
    ++found.seen[i];
    ++found.rows;
    return DPA_OK;
}

static void visit(const unsigned char *bytes, size_t size) {
    memset(&found, 0, sizeof found);
    assert_ok(dpa__pages_visit(bytes, size, see, NULL, &err));
}

static void all_rows(void **state) {
    (void)state;
    for (int page = 512; page <= 65536; page *= 2) {
        size_t size;
        unsigned char *bytes = make_file(page, &size);
        visit(bytes, size);
        assert_int_equal(found.rows, ROWS);
        assert_int_equal(found.others, 1); /* the name of the table */
        for (int i = 0; i < ROWS; ++i) assert_int_equal(found.seen[i], 1);
        /* without its head: pages of the usual size are found, others not */
        memset(bytes, 0, 16);
        visit(bytes, size);
        if (page == 4096) assert_int_equal(found.rows, ROWS);
        if (page < 4096) assert_true(found.rows < ROWS);
        free(bytes);
    }
}

/* Half a file has half the rows; what follows the last whole page is not looked at. */
static void cut_off(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = make_file(4096, &size);
    visit(bytes, size / 2 + 1);
    assert_between(found.rows, 0.3 * ROWS, 0.7 * ROWS);
    visit(bytes, 4095);
    assert_int_equal(found.rows + found.others, 0);
    visit(bytes, 0);
    assert_int_equal(found.rows + found.others, 0);
    free(bytes);
}

/* ---- One page, made by hand ---- */

enum { PAGE = 4096 };

static unsigned char sheets[3 * PAGE], *const sheet = sheets + PAGE; /* the first has a head */

static dpa_status keep(void *user, const dpa__cell *cell, dpa_error *error) {
    (void)error;
    ++*(int *)user;
    found.cell = *cell;
    return DPA_OK;
}

/* The rows of a page with one cell, which lies at its end. */
static int rows_of(const unsigned char *cell, size_t size) {
    int rows = 0;
    const size_t at = PAGE - size;
    memset(sheets, 0, sizeof sheets);
    sheet[0] = 13;
    sheet[4] = 1;
    sheet[8] = (unsigned char)(at >> 8);
    sheet[9] = (unsigned char)at;
    memcpy(sheet + at, cell, size);
    assert_ok(dpa__pages_visit(sheets, 2 * PAGE, keep, &rows, &err));
    return rows;
}
#define ROWS_OF(...)                                                                               \
    rows_of((const unsigned char[]){__VA_ARGS__}, sizeof(unsigned char[]){__VA_ARGS__})

static void one_cell(void **state) {
    (void)state;
    /* size 4, row 9; a header of 3 bytes: an integer of one byte, the number 1; then the value */
    assert_int_equal(ROWS_OF(4, 9, 3, 1, 9, 200), 1);
    assert_int_equal(found.cell.row, 9);
    assert_int_equal(found.cell.count, 2);
    assert_true(found.cell.columns[0].integer == -56 && found.cell.columns[1].integer == 1);
    assert_int_equal(ROWS_OF(2, 9, 2, 8), 1); /* the number 0 takes no byte */
    assert_int_equal(found.cell.columns[0].integer, 0);
    assert_int_equal(ROWS_OF(2, 9, 2, 12), 1); /* an empty blob, an empty text */
    assert_true(found.cell.columns[0].kind == DPA__COLUMN_BLOB && found.cell.columns[0].size == 0);
    assert_int_equal(ROWS_OF(2, 9, 2, 13), 1);
    assert_int_equal(found.cell.columns[0].kind, DPA__COLUMN_TEXT);
    assert_int_equal(ROWS_OF(1, 9, 1), 1); /* no column */
    assert_int_equal(found.cell.count, 0);
    assert_int_equal(ROWS_OF(10, 9, 9, 8, 8, 8, 8, 8, 8, 8, 9, 0), 1); /* as many as there may be */
    assert_true(found.cell.count == 8 && found.cell.columns[7].integer == 1);
    /* a number of nine bytes: the last has all its bits */
    assert_int_equal(ROWS_OF(2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0xff, 2, 8), 1);
    assert_int_equal(found.cell.row, 0x1ff);
}

static void no_cell(void **state) {
    (void)state;
    assert_int_equal(ROWS_OF(3, 9, 2, 10, 0), 0); /* types that are never written */
    assert_int_equal(ROWS_OF(3, 9, 2, 11, 0), 0);
    assert_int_equal(ROWS_OF(3, 9, 2, 2, 1), 0);  /* a value that is longer than the row */
    assert_int_equal(ROWS_OF(3, 9, 2, 17, 1), 0); /* a text of two bytes */
    assert_int_equal(ROWS_OF(3, 9, 4, 1, 1), 0);  /* a header that is longer than the row */
    assert_int_equal(ROWS_OF(11, 9, 10, 8, 8, 8, 8, 8, 8, 8, 8, 8, 0), 0); /* nine columns */
    assert_int_equal(ROWS_OF(2, 9, 2, 0x81), 0);                           /* a type that goes on */
    assert_int_equal(ROWS_OF(0, 9, 0), 0);                                 /* an empty row */
    assert_int_equal(ROWS_OF(5, 9, 2, 1), 0); /* a row beyond its page */
    assert_int_equal(ROWS_OF(0x81), 0);       /* a size that goes on */
    assert_int_equal(ROWS_OF(2, 0x81), 0);
    assert_int_equal(ROWS_OF(0xff, 0xff, 0x7f, 9, 2, 8), 0); /* larger than the file */
    int rows = 0;
    (void)ROWS_OF(2, 9, 2, 8);
    sheet[0] = 5; /* no leaf of a table */
    assert_ok(dpa__pages_visit(sheets, 2 * PAGE, keep, &rows, &err));
    sheet[0] = 13;
    sheet[4] = 0; /* no cells */
    assert_ok(dpa__pages_visit(sheets, 2 * PAGE, keep, &rows, &err));
    sheet[4] = 1;
    sheet[8] = 0, sheet[9] = 7; /* in the page's own head */
    assert_ok(dpa__pages_visit(sheets, 2 * PAGE, keep, &rows, &err));
    sheet[8] = 0x10, sheet[9] = 0; /* behind the page */
    sheet[PAGE] = 2, sheet[PAGE + 1] = 9, sheet[PAGE + 2] = 2, sheet[PAGE + 3] = 8;
    assert_ok(dpa__pages_visit(sheets, sizeof sheets, keep, &rows, &err));
    assert_int_equal(rows, 0);
}

/* More cells than a page can list: those that are there. */
static void long_list(void **state) {
    (void)state;
    int rows = 0;
    (void)ROWS_OF(2, 9, 2, 8);
    sheet[3] = sheet[4] = 0xff;
    assert_ok(dpa__pages_visit(sheets, 2 * PAGE, keep, &rows, &err));
    assert_int_equal(rows, 1);
}

static dpa_status stop_it(void *user, const dpa__cell *cell, dpa_error *error) {
    (void)cell;
    ++*(int *)user;
    return dpa__fail(error, DPA_CANCELLED, "enough");
}

static void stops(void **state) {
    (void)state;
    size_t size;
    int calls = 0;
    unsigned char *bytes = make_file(1024, &size);
    assert_int_equal(dpa__pages_visit(bytes, size, stop_it, &calls, &err), DPA_CANCELLED);
    assert_int_equal(calls, 1);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_rows),  cmocka_unit_test(cut_off),
                                       cmocka_unit_test(one_cell),  cmocka_unit_test(no_cell),
                                       cmocka_unit_test(long_list), cmocka_unit_test(stops)};
    (void)snprintf(path, sizeof path, "/tmp/dpa_pages_%d.db", (int)getpid());
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
