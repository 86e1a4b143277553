/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removing folders, and the folder of a path. */
#ifndef DPA_BASE_FOLDER_H
#define DPA_BASE_FOLDER_H

#include <stddef.h>

#include "dpaudit/export.h"

/* The folder part of a path, "." for a bare name; 0 if it does not fit. */
DPA_API int dpa__folder_of(const char *path, char *out, size_t size);

/* Removes a folder with its contents, as far as possible. Links are removed, not followed; mounted
 * file systems are left alone. */
DPA_API void dpa__folder_remove(const char *folder);

#endif
