/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/folder.h"

#include <ftw.h>
#include <stdio.h>

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

void dpa__folder_remove(const char *folder) {
    enum { DESCRIPTORS = 8 };
    (void)nftw(folder, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
