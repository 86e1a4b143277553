/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libzip, loaded when the first archive is read or written. It brings libcrypto, and the two take
 * as long to load as everything else that a command needs. */
#ifndef DPA_BASE_ZIP_H
#define DPA_BASE_ZIP_H

#include <zip.h>

#include "dpaudit/status.h"

#define DPA__ZIP_CALLS(X)                                                                          \
    X(close)                                                                                       \
    X(discard)                                                                                     \
    X(error_code_zip)                                                                              \
    X(error_fini)                                                                                  \
    X(error_init)                                                                                  \
    X(error_strerror)                                                                              \
    X(fclose)                                                                                      \
    X(file_add)                                                                                    \
    X(file_get_error)                                                                              \
    X(file_set_dostime)                                                                            \
    X(fopen_index)                                                                                 \
    X(fread)                                                                                       \
    X(get_error)                                                                                   \
    X(get_name)                                                                                    \
    X(get_num_entries)                                                                             \
    X(name_locate)                                                                                 \
    X(open)                                                                                        \
    X(open_from_source)                                                                            \
    X(set_file_compression)                                                                        \
    X(source_buffer)                                                                               \
    X(source_buffer_create)                                                                        \
    X(source_buffer_fragment)                                                                      \
    X(source_close)                                                                                \
    X(source_error)                                                                                \
    X(source_filep_create)                                                                         \
    X(source_free)                                                                                 \
    X(source_keep)                                                                                 \
    X(source_open)                                                                                 \
    X(source_read)                                                                                 \
    X(stat_index)                                                                                  \
    X(stat_init)

/* zip_close is dpa__zip->close, and so on. */
typedef struct dpa__zip_library {
#define DPA__ZIP_MEMBER(name) __typeof__(&zip_##name) name;
    DPA__ZIP_CALLS(DPA__ZIP_MEMBER)
#undef DPA__ZIP_MEMBER
} dpa__zip_library;

/* What libdpaudit-zip exports (src/zip/module.c). */
#define DPA__ZIP_SYMBOL "dpa__zip_library_1"

extern const dpa__zip_library *dpa__zip; /* once dpa__zip_load has succeeded */
dpa_status dpa__zip_load(dpa_error *err);

#endif
