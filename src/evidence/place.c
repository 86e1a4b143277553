/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence/place.h"

#include <string.h>

#include "base/error.h"

dpa_status dpa__name_place(dpa_status status, const char *path, dpa_error *err) {
    if (status != DPA_BAD_INPUT || err == NULL || err->place[0] != '\0') return status;
    char text[DPA_TEXT_SIZE];
    memcpy(text, err->text, sizeof text);
    return dpa__fail_file(err, status, path, "%s", text);
}
