/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No output may overwrite an input or another output. Existing files are compared by device and
 * inode, so that links and different spellings of a name are recognised; a file that does not exist
 * yet by its folder and its name. Anything but a regular file (/dev/null, a pipe) may be given
 * twice. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

enum { MOST = 64, LONGEST = 4096 };

typedef struct place {
    const char *path, *option; /* option is "" for an operand */
    dev_t device;
    ino_t number;
    const char *name; /* NULL: the file exists, and device and inode are its own */
    int is_output;
} place;

typedef struct places {
    place items[MOST];
    size_t count;
} places;

/* Returns 0 if nothing can be overwritten there. */
static int find_place(const char *path, place *out) {
    char folder[LONGEST] = ".";
    struct stat what;
    if (path == NULL || path[0] == '\0' || strcmp(path, "-") == 0) return 0;
    if (stat(path, &what) == 0) {
        if (!S_ISREG(what.st_mode)) return 0;
    } else {
        const char *slash = strrchr(path, '/');
        const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
        if (length >= sizeof folder) return 0;
        if (length > 0) (void)snprintf(folder, sizeof folder, "%.*s", (int)length, path);
        if (stat(folder, &what) != 0) return 0;
        out->name = slash != NULL ? slash + 1 : path;
    }
    out->path = path;
    out->device = what.st_dev;
    out->number = what.st_ino;
    return 1;
}

static void add(places *all, const char *path, const char *option_name, int is_output) {
    place p = {.option = option_name, .is_output = is_output};
    if (all->count < MOST && find_place(path, &p)) all->items[all->count++] = p;
}

static int is_same(const place *a, const place *b) {
    if (a->device != b->device || a->number != b->number) return 0;
    if (a->name == NULL || b->name == NULL) return a->name == b->name;
    return strcmp(a->name, b->name) == 0;
}

static void collect(const command *cmd, const void *options, const word_list *words, places *all) {
    for (size_t i = 0; i < words->count; ++i) add(all, words->items[i], "", 0);
    for (const option *o = cmd->options; o->name != NULL; ++o) {
        const void *field = (const char *)options + o->offset;
        const word_list *list = field;
        if (o->type == OPTION_LIST)
            for (size_t i = 0; i < list->count; ++i) add(all, list->items[i], o->name, 0);
        else if (o->type == OPTION_FILE || o->type == OPTION_OUTPUT || o->type == OPTION_OPTIONAL)
            add(all, *(const char *const *)field, o->name, o->type != OPTION_FILE);
    }
}

int check_files(const command *cmd, const void *options, const word_list *words) {
    places all = {0};
    collect(cmd, options, words, &all);
    for (size_t i = 0; i < all.count; ++i)
        for (size_t j = 0; j < all.count; ++j) {
            const place *out = &all.items[i], *other = &all.items[j];
            if (i == j || !out->is_output || !is_same(out, other)) continue;
            return usage_error("--%s %s would replace the file of %s%s%s; give it another name",
                               out->option, out->path, other->option[0] != '\0' ? "--" : "",
                               other->option, other->option[0] != '\0' ? "" : other->path);
        }
    return 0;
}
