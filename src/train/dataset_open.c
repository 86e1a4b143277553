/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens a file as a table. A tar archive is opened too, because data sets are often published as
 * one; its first file is read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stream.h"
#include "base/table.h"
#include "train/dataset.h"

enum { TAR_BLOCK = 512 };

/* Finds the first regular file in a tar archive. A POSIX header has the size in octal at byte
 * 124. */
static dpa_status tar_member(const char *path, const char *bytes, size_t size, const char **start,
                             size_t *length, dpa_error *err) {
    for (size_t at = 0; at + TAR_BLOCK <= size && bytes[at] != '\0';) {
        char octal[13] = {0};
        memcpy(octal, bytes + at + 124, 12);
        const size_t member = strtoul(octal, NULL, 8);
        const char type = bytes[at + 156];
        if (member > size - at - TAR_BLOCK)
            return dpa__fail_offset(err, DPA_BAD_INPUT, path, at,
                                    "the archive ends before its file");
        if (type == '0' || type == '\0') {
            *start = bytes + at + TAR_BLOCK;
            *length = member;
            return DPA_OK;
        }
        at += TAR_BLOCK + (member + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "no file in this archive");
}

static int is_tar(dpa__stream *stream) {
    size_t count;
    const unsigned char *window = dpa__stream_window(stream, &count);
    return count >= TAR_BLOCK && memcmp(window + 257, "ustar", 5) == 0;
}

static dpa_status table_from_tar(dpa__stream *stream, const dpa_table_opts *opts, dpa_table **out,
                                 dpa_error *err) {
    char *bytes = NULL;
    const char *member = NULL;
    size_t size = 0, length = 0;
    DPA_TRY(dpa__stream_read_all(stream, &bytes, &size, err));
    const char *name = dpa__stream_name(stream);
    dpa__stream *inner = NULL;
    dpa_status status = tar_member(name, bytes, size, &member, &length, err);
    if (status == DPA_OK) status = dpa__stream_open_memory(name, member, length, &inner, err);
    if (status == DPA_OK) status = dpa__table_from_stream(inner, opts, out, err);
    dpa__stream_close(inner);
    free(bytes);
    return status;
}

dpa_status dpa__open_table(const dpa_dataset_opts *opts, const char *const *text, dpa_table **out,
                           dpa_error *err) {
    dpa_table_opts table;
    dpa__table_opts_init(&table);
    table.separator = opts->separator;
    table.has_header = opts->has_header;
    table.comment = opts->comment;
    table.text = text;
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(opts->path, &stream, err));
    dpa_status status = dpa__stream_need(stream, TAR_BLOCK, err);
    if (status == DPA_OK)
        status = is_tar(stream) ? table_from_tar(stream, &table, out, err)
                                : dpa__table_from_stream(stream, &table, out, err);
    dpa__stream_close(stream);
    return status;
}
