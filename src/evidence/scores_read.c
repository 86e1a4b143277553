/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading scores: two arrays, an NPZ of two, or a table with a column that tells the classes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "evidence/columns.h"
#include "evidence/evidence.h"

static const double BYTES_A_THREAD = 1 << 20;

/* Reads one class from a file (or from a member of an NPZ); the caller owns the array. */
static dpa_status read_class(const char *path, const char *name, double **values, size_t *count,
                             char *sha256, dpa_error *err) {
    dpa_array array;
    DPA_TRY(dpa__doubles_read(path, name, &array, err));
    *values = array.data;
    *count = array.count;
    memcpy(sha256, array.sha256, DPA_SHA256_SIZE);
    if (array.ndim <= 1 || array.count == array.shape[0] ||
        array.count == array.shape[array.ndim - 1])
        return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, path,
                          "an array of %u dimensions; scores are one list of numbers", array.ndim);
}

/* A class that is read by a thread of its own. */
typedef struct reading {
    const char *path, *name;
    double **values;
    size_t *count;
    char *sha256;
    dpa_status status;
    dpa_error error;
} reading;

static int read_side(void *user, size_t task) {
    reading *r = (reading *)user + task;
    r->status = read_class(r->path, r->name, r->values, r->count, r->sha256, &r->error);
    return 0;
}

/* 0 of what is not a file: standard input, a pipe, nothing. */
static double bytes_of(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) ? (double)about.st_size : 0;
}

/* One after the other, unless both files are large enough to be worth a thread. The error is that
 * of the members if both have one. */
static dpa_status read_sides(reading sides[2], unsigned threads, dpa_error *err) {
    const double bytes = fmin(bytes_of(sides[0].path), bytes_of(sides[1].path));
    if (dpa__threads_worth(threads, bytes, BYTES_A_THREAD) > 1) {
        DPA_TRY(dpa__parallel(2, 2, read_side, sides, err));
    } else {
        (void)read_side(sides, 0);
        if (sides[0].status == DPA_OK) (void)read_side(sides, 1);
    }
    for (int i = 0; i < 2; ++i) {
        if (sides[i].status != DPA_OK && err != NULL) *err = sides[i].error;
        DPA_TRY(sides[i].status);
    }
    return DPA_OK;
}

static dpa_status read_two(const char *in_path, const char *in_name, const char *out_path,
                           const char *out_name, unsigned threads, dpa_scores *out,
                           dpa_error *err) {
    if (strcmp(in_path, "-") == 0 && strcmp(out_path, "-") == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "standard input holds one array: members and non-members cannot both be "
                         "'-'; give one of them a file, or pipe a table score,member as one '-'");
    reading sides[2] = {
        {in_path, in_name, &out->member, &out->members, out->sha256[0], DPA_OK, {0}},
        {out_path, out_name, &out->nonmember, &out->nonmembers, out->sha256[1], DPA_OK, {0}}};
    const dpa_status status = read_sides(sides, threads, err);
    if (status != DPA_OK) dpa__scores_free(out);
    return status;
}

/* `text`: names of columns that are not numeric, ended by NULL. */
static dpa_status open_table(const char *path, const char *const *text, dpa__columns *out,
                             dpa_error *err) {
    *out = (dpa__columns){.path = path,
                          .header = "score,member",
                          .missing = "nan stands for a score that is missing"};
    return dpa__columns_open(out, "score", "member", NULL, text, err);
}

/* The rows whose code is `group` (all rows if codes is NULL), split by class. */
static dpa_status cut(const dpa__columns *c, const uint32_t *codes, size_t group, dpa_scores *out,
                      dpa_error *err) {
    size_t count[2] = {0, 0};
    for (size_t i = 0; i < c->table->rows; ++i)
        if (codes == NULL || codes[i] == group) ++count[c->answer[i]];
    DPA_TRY(dpa__scores_room(count[1], count[0], out, err));
    double *next[2] = {out->nonmember, out->member};
    for (size_t i = 0; i < c->table->rows; ++i)
        if (codes == NULL || codes[i] == group) *next[c->answer[i]]++ = c->value[i];
    return DPA_OK;
}

static dpa_status read_table(const char *path, dpa_scores *out, dpa_error *err) {
    dpa__columns c;
    DPA_TRY(open_table(path, NULL, &c, err));
    const dpa_status status = cut(&c, NULL, 0, out, err);
    if (status == DPA_OK)
        (void)snprintf(out->sha256[0], sizeof out->sha256[0], "%s", c.table->sha256);
    dpa__columns_close(&c);
    return status;
}

dpa_status dpa__scores_read(const char *path, const char *nonmembers_path, unsigned threads,
                            dpa_scores *out, dpa_error *err) {
    *out = (dpa_scores){0};
    if (nonmembers_path != NULL)
        return read_two(path, NULL, nonmembers_path, NULL, threads, out, err);
    if (dpa__npz_has(path, "members") || dpa__npz_has(path, "nonmembers"))
        return read_two(path, "members", path, "nonmembers", threads, out, err);
    return read_table(path, out, err);
}

static dpa_status cut_groups(const dpa__columns *c, const char *column, dpa_score_groups *out,
                             dpa_error *err) {
    const dpa_column *by = NULL;
    DPA_TRY(dpa__columns_groups(c, column, &by, &out->names, err));
    out->items = dpa__calloc(by->levels.count, sizeof *out->items, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    for (; out->count < by->levels.count; ++out->count)
        DPA_TRY(cut(c, by->codes, out->count, &out->items[out->count], err));
    return DPA_OK;
}

dpa_status dpa__score_groups_read(const char *path, const char *column, dpa_score_groups *out,
                                  dpa_error *err) {
    const char *const text[] = {column, NULL};
    dpa__columns c;
    *out = (dpa_score_groups){0};
    DPA_TRY(open_table(path, text, &c, err));
    const dpa_status status = cut_groups(&c, column, out, err);
    dpa__columns_close(&c);
    if (status != DPA_OK) dpa__score_groups_free(out);
    return status;
}

void dpa__score_groups_free(dpa_score_groups *groups) {
    if (groups == NULL) return;
    for (size_t i = 0; i < groups->count; ++i) dpa__scores_free(&groups->items[i]);
    free(groups->items);
    free(groups->names);
    *groups = (dpa_score_groups){0};
}
