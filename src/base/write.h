/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that appear whole or not at all: written without a name (or under a temporary one) in the
 * same folder, synced to disk, then renamed. Anything but a plain file (/dev/null, a pipe) is
 * written directly. dpa__file_write (data.h) does all of it in one call. */
#ifndef DPA_BASE_WRITE_H
#define DPA_BASE_WRITE_H

#include <stddef.h>

#include "base/data.h"
#include "dpaudit/status.h"

typedef struct dpa__writer dpa__writer;

DPA_API dpa_status dpa__writer_open(const char *path, dpa__writer **out, dpa_error *err);
DPA_API dpa_status dpa__writer_add(dpa__writer *writer, const void *bytes, size_t count,
                                   dpa_error *err);
/* Gives the file its name, or fails and leaves no trace. Frees the writer either way. */
DPA_API dpa_status dpa__writer_commit(dpa__writer *writer, dpa_error *err);
/* Removes what was written; NULL-safe. */
DPA_API void dpa__writer_abandon(dpa__writer *writer);

/* The folder part of a path, "." for a bare name; 0 if it does not fit. */
DPA_API int dpa__folder_of(const char *path, char *out, size_t size);

/* Removes a folder with its contents, as far as possible. Links are removed, not followed; mounted
 * file systems are left alone. */
DPA_API void dpa__folder_remove(const char *folder);

#endif
