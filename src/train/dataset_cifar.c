/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CIFAR-10's binary files: each record is one byte of label and the bytes of an image. */
#include <stdlib.h>

#include "base/error.h"
#include "base/stream.h"
#include "train/dataset.h"

enum { SIDE = 32, COLOURS = 3, PLANE = SIDE * SIDE, RECORD = 1 + COLOURS * PLANE };

/* The file stores one plane per colour; we store the colours of a pixel together. */
static dpa_status from_records(const char *path, const unsigned char *bytes, size_t rows,
                               dpa_dataset **out, dpa_error *err) {
    DPA_TRY(dpa__dataset_alloc(rows, (dpa_shape){SIDE, SIDE, COLOURS}, 10, out, err));
    for (size_t r = 0; r < rows; ++r) {
        const unsigned char *record = bytes + r * RECORD;
        if (record[0] > 9) {
            dpa_dataset_free(*out);
            *out = NULL;
            return dpa__fail_offset(err, DPA_BAD_INPUT, path, r * RECORD,
                                    "label %d, expected 0 to 9", record[0]);
        }
        (*out)->label[r] = record[0];
        float *x = (*out)->x + r * COLOURS * PLANE;
        for (size_t p = 0; p < PLANE; ++p)
            for (size_t c = 0; c < COLOURS; ++c)
                x[p * COLOURS + c] = (float)record[1 + c * PLANE + p] / 255.0F;
    }
    return DPA_OK;
}

dpa_status dpa__dataset_cifar(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err) {
    (void)like;
    char *bytes = NULL;
    size_t size;
    DPA_TRY(dpa__file_read_all(opts->path, &bytes, &size, err));
    dpa_status status = DPA_OK;
    if (size == 0 || size % RECORD != 0)
        status = dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                "%zu bytes: expected records of %d (label, then 32 × 32 pixels in "
                                "three colours)",
                                size, RECORD);
    if (status == DPA_OK)
        status = from_records(opts->path, (const unsigned char *)bytes, size / RECORD, out, err);
    free(bytes);
    return status;
}
