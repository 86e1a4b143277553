/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/scratch.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/text.h"

static const char ending[] = ".scratch", rank_ending[] = ".rank";

dpa_status dpa__scratch_name(const char *store, int rank, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_printf(&text, "%s%s", store, ending);
    if (rank > 0) dpa__text_printf(&text, "%s%d", rank_ending, rank);
    return dpa__text_take(&text, out, err);
}

/* The rank whose folder has this name; −1 if it does not belong to this store. */
static long rank_of(const char *name, const char *base) {
    const size_t length = strlen(base), end = sizeof ending - 1, more = sizeof rank_ending - 1;
    if (strncmp(name, base, length) != 0 || strncmp(name + length, ending, end) != 0) return -1;
    name += length + end;
    if (name[0] == '\0') return 0;
    if (strncmp(name, rank_ending, more) != 0) return -1;
    return strtol(name + more, NULL, 10);
}

void dpa__scratch_list(const char *store, dpa__scratch_visit *visit, void *user) {
    const char *slash = strrchr(store, '/');
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    DIR *all = dpa__folder_of(store, folder, sizeof folder) ? opendir(folder) : NULL;
    if (all == NULL) return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        const long rank = rank_of(e->d_name, slash != NULL ? slash + 1 : store);
        if (rank < 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        visit(user, path, rank);
    }
    (void)closedir(all);
}
