/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A leaf page of a table has kind 13 and a list of offsets, each of a cell: size of the row, row
 * number, and the row itself. The part that does not fit goes to a chain of overflow pages. A row
 * is a list of types, then the values. */
#include "run/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { LEAF = 13, LEAF_HEADER = 8, FILE_HEADER = 100, USUAL_PAGE = 4096, NUMBER_MOST = 9 };

typedef struct file {
    const unsigned char *bytes;
    size_t size, page;   /* bytes of the file and of a page */
    size_t usable;       /* bytes of a page that hold data */
    unsigned char *room; /* buffer for a row with overflow pages */
    size_t room_size;
} file;

static size_t big_endian(const unsigned char *at, size_t count) {
    size_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | at[i];
    return value;
}

/* Reads a number of 1 to 9 bytes. Returns the bytes taken; 0 if it does not end before `end`. */
static size_t take_number(const unsigned char *at, const unsigned char *end, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < NUMBER_MOST && at + i < end; ++i) {
        if (i == NUMBER_MOST - 1) {
            *out = value << 8 | at[i];
            return NUMBER_MOST;
        }
        value = value << 7 | (at[i] & 0x7fU);
        if (at[i] < 0x80) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

static int64_t signed_number(const unsigned char *at, size_t count) {
    uint64_t value = count > 0 && at[0] >= 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | at[i];
    return (int64_t)value;
}

/* Reads one value of the given type at `at`; 0 if it does not fit before `end`. */
static int take_value(uint64_t type, const unsigned char **at, const unsigned char *end,
                      dpa__column *out) {
    static const unsigned char sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    *out = (dpa__column){.kind = DPA__COLUMN_NULL};
    if (type == 10 || type == 11) return 0;
    const uint64_t size = type < 10 ? sizes[type] : (type - 12) / 2;
    if (size > (uint64_t)(end - *at)) return 0;
    if (type >= 12) {
        out->kind = type % 2 == 0 ? DPA__COLUMN_BLOB : DPA__COLUMN_TEXT;
        out->bytes = *at;
        out->size = (size_t)size;
    } else if (type == 7) {
        const uint64_t bits = (uint64_t)signed_number(*at, 8);
        out->kind = DPA__COLUMN_REAL;
        memcpy(&out->real, &bits, sizeof bits);
    } else if (type > 0) {
        out->kind = DPA__COLUMN_INTEGER;
        out->integer = type >= 8 ? (int64_t)type - 8 : signed_number(*at, (size_t)size);
        out->real = (double)out->integer;
    }
    *at += size;
    return 1;
}

static int parse_row(const unsigned char *row, size_t size, dpa__cell *out) {
    uint64_t header = 0, type;
    const unsigned char *types = row + take_number(row, row + size, &header);
    if (types == row || header > size) return 0;
    const unsigned char *body = row + header, *end = row + size;
    out->count = 0;
    while (types < row + header) {
        const size_t used = take_number(types, row + header, &type);
        if (used == 0 || out->count == DPA__CELL_COLUMNS) return 0;
        types += used;
        if (!take_value(type, &body, end, &out->columns[out->count++])) return 0;
    }
    return 1;
}

/* How many bytes of a row are on its leaf page. */
static size_t local_size(const file *f, size_t size) {
    const size_t most = f->usable - 35;
    if (size <= most) return size;
    const size_t least = (f->usable - 12) * 32 / 255 - 23;
    const size_t some = least + (size - least) % (f->usable - 4);
    return some <= most ? some : least;
}

/* The whole row in one piece; NULL if a page of its chain is missing. */
static const unsigned char *join(file *f, const unsigned char *local, size_t here, size_t size) {
    if (size > f->size) return NULL; /* larger than the file, so garbage */
    if (size > f->room_size) {
        unsigned char *more = dpa__realloc(f->room, size, 1, NULL);
        if (more == NULL) return NULL;
        f->room = more;
        f->room_size = size;
    }
    memcpy(f->room, local, here);
    size_t next = big_endian(local + here, 4);
    for (size_t filled = here; filled < size;) {
        if (next == 0 || next > f->size / f->page) return NULL;
        const unsigned char *page = f->bytes + (next - 1) * f->page;
        const size_t count = size - filled < f->usable - 4 ? size - filled : f->usable - 4;
        memcpy(f->room + filled, page + 4, count);
        filled += count;
        next = big_endian(page, 4);
    }
    return f->room;
}

static dpa_status visit_cell(file *f, const unsigned char *page, size_t offset,
                             dpa__cell_visit *visit, void *user, dpa_error *err) {
    const unsigned char *at = page + offset, *end = page + f->usable;
    uint64_t size = 0, row = 0;
    dpa__cell cell = {0};
    size_t used = take_number(at, end, &size);
    if (used == 0) return DPA_OK;
    at += used;
    used = take_number(at, end, &row);
    if (used == 0) return DPA_OK;
    at += used;
    if (size == 0 || size > f->size) return DPA_OK;
    const size_t here = local_size(f, (size_t)size);
    const size_t wanted = here + (here < size ? 4 : 0);
    if (wanted > (size_t)(end - at)) return DPA_OK;
    const unsigned char *whole = here < size ? join(f, at, here, (size_t)size) : at;
    cell.row = (int64_t)row;
    if (whole == NULL || !parse_row(whole, (size_t)size, &cell)) return DPA_OK;
    return visit(user, &cell, err);
}

static dpa_status visit_page(file *f, size_t number, dpa__cell_visit *visit, void *user,
                             dpa_error *err) {
    const unsigned char *page = f->bytes + number * f->page;
    const size_t start = number == 0 ? FILE_HEADER : 0;
    if (page[start] != LEAF) return DPA_OK;
    const size_t cells = big_endian(page + start + 3, 2), list = start + LEAF_HEADER;
    for (size_t i = 0; i < cells && list + 2 * i + 2 <= f->usable; ++i) {
        const size_t offset = big_endian(page + list + 2 * i, 2);
        if (offset < list || offset >= f->usable) continue;
        DPA_TRY(visit_cell(f, page, offset, visit, user, err));
    }
    return DPA_OK;
}

dpa_status dpa__pages_visit(const unsigned char *bytes, size_t size, dpa__cell_visit *visit,
                            void *user, dpa_error *err) {
    file f = {.bytes = bytes, .size = size, .page = USUAL_PAGE};
    if (size >= FILE_HEADER && memcmp(bytes, "SQLite format 3", 16) == 0) {
        const size_t page = big_endian(bytes + 16, 2);
        const size_t told = page == 1 ? 65536 : page;
        if (told >= 512 && (told & (told - 1)) == 0) f.page = told;
    }
    f.usable = f.page;
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < size / f.page && status == DPA_OK; ++i)
        status = visit_page(&f, i, visit, user, err);
    free(f.room);
    return status;
}
