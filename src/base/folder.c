/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>

int dpa__folder_of(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length >= size) return 0;
    (void)snprintf(out, size, "%.*s", length > 0 ? (int)length : 1, length > 0 ? path : ".");
    return 1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

void dpa__folder_remove(const char *folder) {
    enum { DESCRIPTORS = 8 };
    (void)nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
