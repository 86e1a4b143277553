/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of rows: a range, or numbers read from a file. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/lab/train.h"

/* Parses "a..b"; returns 1 if the text is such a range. */
static int parse_range(const char *spec, size_t *first, size_t *last) {
    char *end;
    if (!isdigit((unsigned char)spec[0])) return 0;
    *first = strtoul(spec, &end, 10);
    if (strncmp(end, "..", 2) != 0 || !isdigit((unsigned char)end[2])) return 0;
    *last = strtoul(end + 2, &end, 10);
    return *end == '\0';
}

static dpa_status ids_from_array(dpa_array *array, const char *path, size_t rows, size_t *out,
                                 dpa_error *err) {
    for (size_t i = 0; i < array->count; ++i) {
        const double id = ((const double *)array->data)[i];
        if (!(id >= 0.0 && id < (double)rows && id == floor(id)))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "id %zu is %g: expected a whole number from 0 to %zu", i, id,
                                  rows - 1);
        out[i] = (size_t)id;
    }
    return DPA_OK;
}

dpa_status dpa_ids_read(const char *spec, size_t rows, size_t **out, size_t *count,
                        dpa_error *err) {
    size_t first, last;
    if (parse_range(spec, &first, &last)) {
        if (first >= last || last > rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "rows %s of a data set with %zu", spec, rows);
        size_t *ids = DPA_NEW_ARRAY(size_t, last - first, err);
        if (ids == NULL) return DPA_NO_MEMORY;
        for (size_t i = first; i < last; ++i) ids[i - first] = i;
        *out = ids;
        *count = last - first;
        return DPA_OK;
    }
    dpa_array array = {0};
    DPA_TRY(dpa__array_read(spec, NULL, &array, err));
    size_t *ids = DPA_NEW_ARRAY(size_t, array.count, err);
    dpa_status status = ids != NULL ? dpa__array_to_double(&array, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) status = ids_from_array(&array, spec, rows, ids, err);
    if (status == DPA_OK) {
        *out = ids;
        *count = array.count;
    } else {
        free(ids);
    }
    dpa__array_free(&array);
    return status;
}
