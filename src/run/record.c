/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "game/rules.h"

enum { HEAD_MOST = 512, KEY_LENGTH = DPA_SHA256_SIZE - 1, SUM_LENGTH = 16, MAPPED_FROM = 1 << 17 };

static const char magic[] = "dpaudit-trial 1 ";

void dpa__record_put(dpa__text *to, const dpa__record *r) {
    const size_t begin = to->length;
    dpa__text_printf(
        to,
        "%skey=%s stage=%d index=%" PRIu64
        " end=%d started=%.17g seconds=%.17g numbers=%zu place=%zu reason=%zu said=%zu",
        magic, r->key, r->stage, r->index, (int)r->end, r->started, r->seconds, r->count,
        r->place_size, r->reason_size, r->said_size);
    if (to->failed) return;
    uint64_t sum = lzma_crc64((const uint8_t *)to->data + begin, to->length - begin, 0);
    const struct {
        const void *bytes;
        size_t size;
    } parts[] = {{r->numbers, r->count * sizeof(double)},
                 {r->place, r->place_size},
                 {r->reason, r->reason_size},
                 {r->said, r->said_size}};
    for (size_t i = 0; i < 4; ++i)
        if (parts[i].size > 0) sum = lzma_crc64(parts[i].bytes, parts[i].size, sum);
    dpa__text_printf(to, " sum=%016" PRIx64 "\n", sum);
    for (size_t i = 0; i < 4; ++i)
        if (parts[i].size > 0) dpa__text_add_bytes(to, parts[i].bytes, parts[i].size);
    dpa__text_add(to, "\n");
}

/* Parses " name=" at *at and a whole number after it. */
static int take_count(const char **at, const char *name, uint64_t *out) {
    const size_t length = strlen(name);
    if (strncmp(*at, name, length) != 0) return 0;
    const char *from = *at + length;
    uint64_t value = 0;
    if (*from < '0' || *from > '9') return 0;
    for (; *from >= '0' && *from <= '9'; ++from) {
        if (value > (UINT64_MAX - 9) / 10) return 0;
        value = 10 * value + (uint64_t)(*from - '0');
    }
    *out = value;
    *at = from;
    return 1;
}

static int take_real(const char **at, const char *name, double *out) {
    const size_t length = strlen(name);
    if (strncmp(*at, name, length) != 0) return 0;
    const char *from = *at + length;
    if (dpa__number_parse(&from, from + strlen(from), out) != DPA__NUMBER_OK) return 0;
    *at = from;
    return 1;
}

static int parse_head(const char *line, dpa__record *r, size_t *summed, uint64_t *sum) {
    uint64_t stage, end, sizes[4];
    const char *at = line + strlen(magic);
    if (strncmp(at, "key=", 4) != 0) return 0;
    at += 4;
    if (strspn(at, "0123456789abcdef") != KEY_LENGTH) return 0;
    memcpy(r->key, at, KEY_LENGTH);
    r->key[KEY_LENGTH] = '\0';
    at += KEY_LENGTH;
    if (!take_count(&at, " stage=", &stage) || !take_count(&at, " index=", &r->index) ||
        !take_count(&at, " end=", &end) || !take_real(&at, " started=", &r->started) ||
        !take_real(&at, " seconds=", &r->seconds) || !take_count(&at, " numbers=", &sizes[0]) ||
        !take_count(&at, " place=", &sizes[1]) || !take_count(&at, " reason=", &sizes[2]) ||
        !take_count(&at, " said=", &sizes[3]))
        return 0;
    if (stage >= DPA_GAME_STAGES || end > DPA_TRIAL_LOST) return 0;
    for (int i = 0; i < 4; ++i)
        if (sizes[i] > (uint64_t)1 << 40) return 0;
    *summed = (size_t)(at - line);
    if (strncmp(at, " sum=", 5) != 0 || strlen(at) != 5 + SUM_LENGTH) return 0;
    *sum = strtoull(at + 5, NULL, 16);
    r->stage = (int)stage;
    r->end = (dpa_trial_end)end;
    r->count = (size_t)sizes[0];
    r->place_size = (size_t)sizes[1];
    r->reason_size = (size_t)sizes[2];
    r->said_size = (size_t)sizes[3];
    return 1;
}

void dpa__record_take(const unsigned char *bytes, size_t size, dpa__record *out, size_t *used) {
    char line[HEAD_MOST];
    const size_t window = size < HEAD_MOST ? size : HEAD_MOST;
    *used = 0;
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic - 1) != 0) return;
    const unsigned char *newline = memchr(bytes, '\n', window);
    if (newline == NULL) return;
    const size_t head = (size_t)(newline - bytes);
    if (head >= sizeof line) return;
    memcpy(line, bytes, head);
    line[head] = '\0';
    size_t summed = 0;
    uint64_t sum = 0;
    if (!parse_head(line, out, &summed, &sum)) return;
    const size_t body =
        out->count * sizeof(double) + out->place_size + out->reason_size + out->said_size;
    if (size - head - 1 <= body || bytes[head + 1 + body] != '\n') return;
    const unsigned char *at = bytes + head + 1;
    uint64_t found = lzma_crc64(bytes, summed, 0);
    if (body > 0) found = lzma_crc64(at, body, found);
    if (found != sum) return;
    out->numbers = at;
    out->place = (const char *)at + out->count * sizeof(double);
    out->reason = out->place + out->place_size;
    out->said = out->reason + out->reason_size;
    *used = head + 1 + body + 1;
}

size_t dpa__record_find(const unsigned char *bytes, size_t size) {
    if (size < 2) return size;
    const unsigned char *at = memmem(bytes + 1, size - 1, magic, sizeof magic - 1);
    return at != NULL ? (size_t)(at - bytes) : size;
}

/* ---- Briefs ---- */

static void brief_path(const char *folder, int stage, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s/stage-%d.brief", folder, stage + 1) >= PATH_MAX)
        path[0] = '\0';
}

dpa_status dpa__brief_write(const char *folder, int stage, const char *key, const dpa_values *brief,
                            dpa_error *err) {
    char path[PATH_MAX];
    dpa__text text = {0};
    dpa__record r = {
        .stage = stage, .numbers = (const unsigned char *)brief->items, .count = brief->count};
    memcpy(r.key, key, sizeof r.key);
    brief_path(folder, stage, path);
    dpa__record_put(&text, &r);
    const dpa_status status = text.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a brief")
                                          : dpa__file_write(path, text.data, text.length, err);
    dpa__text_free(&text);
    return status;
}

/* Maps large files but reads small ones, because there may be more files than can be mapped. */
static dpa_status take_bytes(int fd, size_t size, const char *path, dpa__record_file *out,
                             dpa_error *err) {
    out->size = size;
    if (size >= MAPPED_FROM) {
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            out->bytes = bytes;
            return DPA_OK;
        }
        return dpa__fail_file(err, DPA_IO, path, "cannot read: %s", strerror(errno));
    }
    out->bytes = DPA_NEW_ARRAY(unsigned char, size, err);
    if (out->bytes == NULL) return DPA_NO_MEMORY;
    size_t filled = 0;
    for (ssize_t n; filled < size && (n = read(fd, out->bytes + filled, size - filled)) > 0;)
        filled += (size_t)n;
    out->size = filled;
    return DPA_OK;
}

static void unmap_file(dpa__record_file *file) {
    if (file->size >= MAPPED_FROM)
        (void)munmap(file->bytes, file->size);
    else
        free(file->bytes);
    *file = (dpa__record_file){0};
}

static dpa_status map_file(const char *path, dpa__record_file *out, int *found, dpa_error *err) {
    struct stat info;
    *out = (dpa__record_file){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *found = fd >= 0;
    if (fd < 0 && errno == ENOENT) return DPA_OK; /* somebody has removed it meanwhile */
    if (fd < 0 || fstat(fd, &info) != 0) {
        const dpa_status status =
            dpa__fail_file(err, DPA_IO, path, "cannot read: %s", strerror(errno));
        if (fd >= 0) (void)close(fd);
        return status;
    }
    const dpa_status status =
        info.st_size > 0 ? take_bytes(fd, (size_t)info.st_size, path, out, err) : DPA_OK;
    (void)close(fd);
    if (status != DPA_OK) *out = (dpa__record_file){0};
    return status;
}

dpa_status dpa__brief_read(const char *folder, int stage, char key[DPA_SHA256_SIZE],
                           dpa_values *brief, int *found, dpa_error *err) {
    char path[PATH_MAX];
    dpa__record_file file;
    dpa__record r = {0};
    size_t used = 0;
    *brief = (dpa_values){0};
    brief_path(folder, stage, path);
    DPA_TRY(map_file(path, &file, found, err));
    if (!*found) return DPA_OK;
    if (file.bytes != NULL) dpa__record_take(file.bytes, file.size, &r, &used);
    dpa_status status = DPA_OK;
    if (used == 0 || r.end != DPA_TRIAL_NONE || r.stage != stage)
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "not a brief of stage %d, or damaged: dpaudit import writes it",
                                stage + 1);
    if (status == DPA_OK) status = dpa__values_copy(r.numbers, r.count, brief, err);
    if (status == DPA_OK) memcpy(key, r.key, DPA_SHA256_SIZE);
    unmap_file(&file);
    return status;
}

/* ---- Folders ---- */

void dpa__record_files_close(dpa__record_files *files) {
    for (size_t i = 0; i < files->count; ++i) {
        unmap_file(&files->items[i]);
        free(files->names[i]);
    }
    free(files->items);
    free(files->names);
    *files = (dpa__record_files){0};
}

static int is_wanted(const char *name, const char *prefix) {
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".dpt") == 0 &&
           strncmp(name, prefix, strlen(prefix)) == 0;
}

static dpa_status add_name(dpa__record_files *files, size_t *room, const char *name,
                           dpa_error *err) {
    if (files->count == *room) {
        const size_t more = 2 * *room + 64;
        char **names = dpa__realloc(files->names, more, sizeof *names, err);
        if (names == NULL) return DPA_NO_MEMORY;
        files->names = names;
        dpa__record_file *items = dpa__realloc(files->items, more, sizeof *items, err);
        if (items == NULL) return DPA_NO_MEMORY;
        files->items = items;
        *room = more;
    }
    files->items[files->count] = (dpa__record_file){0};
    files->names[files->count] = dpa__strdup(name, err);
    if (files->names[files->count] == NULL) return DPA_NO_MEMORY;
    ++files->count;
    return DPA_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static dpa_status list_names(const char *folder, const char *prefix, dpa__record_files *out,
                             dpa_error *err) {
    DIR *all = opendir(folder);
    dpa_status status = DPA_OK;
    size_t room = 0;
    if (all == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, folder, "cannot read this folder: %s",
                              strerror(errno));
    for (const struct dirent *e; status == DPA_OK && (e = readdir(all)) != NULL;)
        if (is_wanted(e->d_name, prefix)) status = add_name(out, &room, e->d_name, err);
    (void)closedir(all);
    if (out->count > 1) qsort(out->names, out->count, sizeof *out->names, by_name);
    return status;
}

dpa_status dpa__record_files_open(const char *folder, const char *prefix, dpa__record_files *out,
                                  dpa_error *err) {
    *out = (dpa__record_files){0};
    dpa_status status = list_names(folder, prefix, out, err);
    for (size_t i = 0; i < out->count && status == DPA_OK; ++i) {
        char path[PATH_MAX];
        int found;
        if (snprintf(path, sizeof path, "%s/%s", folder, out->names[i]) >= (int)sizeof path)
            continue;
        status = map_file(path, &out->items[i], &found, err);
    }
    if (status != DPA_OK) dpa__record_files_close(out);
    return status;
}

static dpa_status visit_file(const dpa__record_files *files, size_t i, dpa__record_visit *visit,
                             void *user, uint64_t *damaged, dpa_error *err) {
    const dpa__record_file *f = &files->items[i];
    for (size_t at = 0; at < f->size;) {
        dpa__record record = {0};
        size_t used;
        dpa__record_take(f->bytes + at, f->size - at, &record, &used);
        if (used > 0) {
            DPA_TRY(visit(user, i, &record, err));
            at += used;
        } else {
            ++*damaged;
            at += dpa__record_find(f->bytes + at, f->size - at);
        }
    }
    return DPA_OK;
}

dpa_status dpa__record_files_visit(const dpa__record_files *files, dpa__record_visit *visit,
                                   void *user, uint64_t *damaged, dpa_error *err) {
    *damaged = 0;
    for (size_t i = 0; i < files->count; ++i)
        DPA_TRY(visit_file(files, i, visit, user, damaged, err));
    return DPA_OK;
}
