/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recovers from a damaged store every trial whose checksum fits a known key. Keys come from the
 * store's own list of stages or from the experiment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/pages.h"
#include "run/schedule.h"

enum { KEYS_MOST = 4096, KEY_LENGTH = DPA_SHA256_SIZE - 1 };

typedef struct known_stage {
    int64_t id, row; /* in the damaged store (0: unknown); in the new one */
    char key[DPA_SHA256_SIZE], experiment[512];
    int number;
    uint64_t planned;
} known_stage;

typedef struct rescue {
    known_stage *stages;
    size_t count;
    dpa_store *to;
    dpa_rescued *found;
    char *text; /* the texts of a row, each ended by NUL */
    double *numbers;
    size_t room;
} rescue;

static void add_stage(rescue *r, const known_stage *stage) {
    for (size_t i = 0; i < r->count; ++i)
        if (strcmp(r->stages[i].key, stage->key) == 0) return;
    if (r->count < KEYS_MOST) r->stages[r->count++] = *stage;
}

/* (id, key, experiment, number, planned[, settings]); the next run writes the settings again. */
static dpa_status visit_stage(void *user, const dpa__cell *cell, dpa_error *err) {
    const dpa__column *c = cell->columns;
    (void)err;
    if ((cell->count != 5 && cell->count != 6) || c[0].kind != DPA__COLUMN_NULL ||
        c[1].kind != DPA__COLUMN_TEXT || c[1].size != KEY_LENGTH || c[2].kind != DPA__COLUMN_TEXT ||
        c[3].kind != DPA__COLUMN_INTEGER)
        return DPA_OK;
    known_stage stage = {
        .id = cell->row, .number = (int)c[3].integer, .planned = (uint64_t)c[4].integer};
    memcpy(stage.key, c[1].bytes, KEY_LENGTH);
    (void)snprintf(
        stage.experiment, sizeof stage.experiment, "%.*s",
        (int)(c[2].size < sizeof stage.experiment ? c[2].size : sizeof stage.experiment - 1),
        (const char *)c[2].bytes);
    add_stage(user, &stage);
    return DPA_OK;
}

/* The stage whose key makes the checksum of the row fit. */
static const known_stage *stage_of(const rescue *r, const dpa__column *c, dpa_trial_end end) {
    const char *word = dpa__store_word(end);
    for (size_t i = 0; i < r->count; ++i) {
        const known_stage *s = &r->stages[i];
        if (s->id != 0 && s->id != c[0].integer) continue;
        const uint64_t index = (uint64_t)c[1].integer;
        const int64_t sum = end == DPA_TRIAL_PLAYED
                                ? dpa__store_sum(s->key, index, c[4].bytes, c[4].size)
                                : dpa__store_sum(s->key, index, word, strlen(word));
        if (sum == c[3].integer) return s;
    }
    return NULL;
}

static dpa_status need_room(rescue *r, size_t size, dpa_error *err) {
    if (size < r->room) return DPA_OK;
    char *text = dpa__realloc(r->text, 2 * size + 64, 1, err);
    if (text == NULL) return DPA_NO_MEMORY;
    r->text = text;
    double *numbers = dpa__realloc(r->numbers, 2 * size + 64, 1, err);
    if (numbers == NULL) return DPA_NO_MEMORY;
    r->numbers = numbers;
    r->room = 2 * size + 64;
    return DPA_OK;
}

/* Copies a text of the cell and ends it with NUL; NULL if it is none. At most three texts of one
 * cell at a time. */
static const char *text_of(rescue *r, const dpa__column *c, size_t *used) {
    if (c->kind != DPA__COLUMN_TEXT) return NULL;
    char *text = r->text + *used;
    memcpy(text, c->bytes, c->size);
    text[c->size] = '\0';
    *used += c->size + 1;
    return text;
}

/* (stage, number, seconds, sum, numbers, said[, ended, place]) */
static dpa_status visit_trial(void *user, const dpa__cell *cell, dpa_error *err) {
    rescue *r = user;
    const dpa__column *c = cell->columns;
    if ((cell->count != 6 && cell->count != 8) || c[0].kind != DPA__COLUMN_INTEGER ||
        c[1].kind != DPA__COLUMN_INTEGER || c[3].kind != DPA__COLUMN_INTEGER ||
        c[4].kind != DPA__COLUMN_BLOB || c[4].size % sizeof(double) != 0)
        return DPA_OK;
    const int64_t ended = cell->count == 8 ? c[6].integer : DPA_TRIAL_PLAYED;
    if (ended != DPA_TRIAL_PLAYED && ended != DPA_TRIAL_FAILED) return DPA_OK;
    const known_stage *stage = stage_of(r, c, (dpa_trial_end)ended);
    if (stage == NULL) {
        ++r->found->damaged;
        return DPA_OK;
    }
    DPA_TRY(need_room(r, c[4].size > c[5].size ? c[4].size : c[5].size, err));
    if (c[4].size > 0) memcpy(r->numbers, c[4].bytes, c[4].size);
    size_t used = 0;
    const dpa__ended end = {.index = (uint64_t)c[1].integer,
                            .end = (dpa_trial_end)ended,
                            .seconds = c[2].real,
                            .values = {r->numbers, c[4].size / sizeof(double)},
                            .said = text_of(r, &c[5], &used)};
    ++r->found->trials;
    return dpa__store_put(r->to, stage->row, stage->key, &end, err);
}

/* (id, stage, number, time, reason, said[, place, machine]). There is no checksum: the notes on a
 * failed attempt are for reading only and decide nothing. */
static dpa_status visit_failure(void *user, const dpa__cell *cell, dpa_error *err) {
    rescue *r = user;
    const dpa__column *c = cell->columns;
    if ((cell->count != 6 && cell->count != 8) || c[0].kind != DPA__COLUMN_NULL ||
        c[1].kind != DPA__COLUMN_INTEGER || c[2].kind != DPA__COLUMN_INTEGER ||
        c[4].kind != DPA__COLUMN_TEXT)
        return DPA_OK;
    const dpa__column none = {.kind = DPA__COLUMN_NULL};
    const dpa__column *place = cell->count == 8 ? &c[6] : &none;
    size_t used = 0;
    DPA_TRY(need_room(r, c[4].size + c[5].size + place->size + 3, err));
    const dpa__failure failure = {.index = (uint64_t)c[2].integer,
                                  .reason = text_of(r, &c[4], &used),
                                  .said = text_of(r, &c[5], &used),
                                  .place = text_of(r, place, &used),
                                  .machine = cell->count == 6 || c[7].integer != 0};
    for (size_t i = 0; i < r->count; ++i)
        if (r->stages[i].id == c[1].integer || (i == 0 && r->stages[0].id == 0)) {
            ++r->found->failures;
            return dpa__store_put_failure(r->to, r->stages[i].row, &failure, err);
        }
    return DPA_OK;
}

static dpa_status add_own_keys(rescue *r, const dpa_game *game, dpa_error *err) {
    const dpa_values brief = {0};
    dpa__stage stage = {0};
    known_stage known = {.planned = dpa_game_trials(game, 0)};
    DPA_TRY(dpa__stage_find(game, &stage, &brief, NULL, err));
    memcpy(known.key, stage.key, sizeof known.key);
    add_stage(r, &known);
    memcpy(known.key, stage.before, sizeof known.key);
    add_stage(r, &known);
    return DPA_OK;
}

static dpa_status save(rescue *r, const unsigned char *bytes, size_t size, const dpa_game *game,
                       dpa_error *err) {
    DPA_TRY(dpa__pages_visit(bytes, size, visit_stage, r, err));
    if (game != NULL) DPA_TRY(add_own_keys(r, game, err));
    DPA_TRY(dpa__store_begin(r->to, err));
    for (size_t i = 0; i < r->count; ++i) {
        known_stage *s = &r->stages[i];
        const dpa__stage_row row = {s->key, NULL, s->experiment, s->number, s->planned};
        DPA_TRY(dpa__store_stage(r->to, &row, &s->row, err));
    }
    DPA_TRY(dpa__pages_visit(bytes, size, visit_trial, r, err));
    DPA_TRY(dpa__pages_visit(bytes, size, visit_failure, r, err));
    return dpa__store_commit(r->to, err);
}

/* The write-ahead log has newer pages; lets SQLite itself copy them into the file if it can. */
static void flush_log(const char *path) {
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
        (void)sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    (void)sqlite3_close(db);
}

static dpa_status map(const char *path, unsigned char **bytes, size_t *size, dpa_error *err) {
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *all = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0)
        all = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int number = errno;
    if (fd >= 0) (void)close(fd);
    if (all == MAP_FAILED)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "cannot read the store of trials: %s",
                              fd >= 0 && number == 0 ? "it is empty" : strerror(number));
    *bytes = all;
    *size = (size_t)info.st_size;
    return DPA_OK;
}

dpa_status dpa_store_rescue(const char *from, const char *to, const dpa_game *game,
                            dpa_rescued *out, dpa_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    *out = (dpa_rescued){0};
    if (access(to, F_OK) == 0)
        return dpa__fail_file(err, DPA_BAD_ARGUMENT, to, "is there already: name a new file");
    int lock = -1;
    DPA_TRY(dpa__store_lock(from, &lock, err));
    flush_log(from);
    errno = 0;
    dpa_status status = map(from, &bytes, &size, err);
    rescue r = {.found = out};
    if (status == DPA_OK) {
        r.stages = dpa__calloc(KEYS_MOST, sizeof *r.stages, err);
        status = r.stages != NULL ? dpa_store_open(to, DPA_STORE_WRITE, &r.to, err) : DPA_NO_MEMORY;
        if (status == DPA_OK) status = save(&r, bytes, size, game, err);
        out->stages = r.count;
        dpa_store_close(r.to);
        (void)munmap(bytes, size);
    }
    dpa__store_unlock(from, lock);
    free(r.stages);
    free(r.text);
    free(r.numbers);
    return status;
}
