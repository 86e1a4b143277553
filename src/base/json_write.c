/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON values that report failure as a status, and their text. Doubles are written with the fewest
 * digits that read back as the same bits; what JSON cannot say (NaN, infinities) is null. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

dpa_status dpa__json_set(json_t *object, const char *key, json_t *value, dpa_error *err) {
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for '%s' in the report", key);
    return DPA_OK;
}

dpa_status dpa__json_append(json_t *array, json_t *value, dpa_error *err) {
    if (value == NULL || json_array_append_new(array, value) != 0)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for a part of the report");
    return DPA_OK;
}

dpa_status dpa__json_put(json_t *object, const char *key, double value, dpa_error *err) {
    return dpa__json_set(object, key, dpa__json_number(value), err);
}

json_t *dpa__json_text(const char *text) {
    json_t *value = json_string(text);
    const size_t length = strlen(text);
    /* Out of memory must not look like text that is not UTF-8. */
    if (value != NULL || dpa__utf8_span(text, length) == length) return value;
    char *ascii = dpa__strdup(text, NULL);
    if (ascii == NULL) return NULL;
    for (char *c = ascii; *c != '\0'; ++c)
        if ((unsigned char)*c >= 0x80) *c = '?';
    value = json_string(ascii);
    free(ascii);
    return value;
}

dpa_status dpa__json_fill(json_t *object, dpa_error *err, const dpa__json_field *fields) {
    for (const dpa__json_field *f = fields; f->key != NULL; ++f)
        DPA_TRY(dpa__json_set(
            object, f->key, f->text != NULL ? dpa__json_text(f->text) : dpa__json_number(f->number),
            err));
    return DPA_OK;
}

dpa_status dpa__json_add(json_t *array, dpa_error *err, const dpa__json_field *fields) {
    json_t *object = json_object();
    DPA_TRY(dpa__json_append(array, object, err));
    return dpa__json_fill(object, err, fields);
}

json_t *dpa__json_copy(const json_t *object) {
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    if (json_object_size(copy) == json_object_size(object)) return copy;
    json_decref(copy);
    return NULL;
}

/* Every text of 15 digits survives the way to double and back, and %g drops trailing zeros. So if
 * 15 digits read back as the same double, they are the shortest text. Fewer can do only below the
 * normal range. */
void dpa__number_text(double value, char *out, size_t size) {
    if (value == floor(value) && fabs(value) < 1e15) { /* 50, not 5e+01 */
        (void)dpa__print(out, size, "%.0f", value + 0.0);
        return;
    }
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; ++digits) {
        double again;
        const char *at = out;
        (void)dpa__print(out, size, "%.*g", digits, value);
        if (dpa__number_parse(&at, out + strlen(out), &again) == DPA__NUMBER_OK && again == value)
            return;
    }
}

json_t *dpa__json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* ── writing ─────────────────────────────────────────────────────────────────────────────────── */

static void write_string(dpa__text *out, const char *text) {
    dpa__text_add(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\')
            dpa__text_printf(out, "\\%c", *c);
        else if (*c < 0x20)
            dpa__text_printf(out, "\\u%04x", *c);
        else
            dpa__text_add_bytes(out, (const char *)c, 1);
    }
    dpa__text_add(out, "\"");
}

static void new_line(dpa__text *out, int indent) {
    if (indent >= 0) dpa__text_printf(out, "\n%*s", indent, "");
}

static int is_flat(const json_t *value) {
    for (size_t i = 0; i < json_array_size(value); ++i) {
        const json_t *item = json_array_get(value, i);
        if (json_is_object(item) || json_is_array(item)) return 0;
    }
    return 1;
}

static void write_array(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 && !is_flat(value) ? indent + 1 : -1;
    size_t index;
    json_t *item;
    dpa__text_add(out, "[");
    json_array_foreach(value, index, item) {
        if (index > 0) dpa__text_add(out, inner >= 0 ? "," : ", ");
        new_line(out, inner);
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "]");
}

static void write_object(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 ? indent + 1 : -1;
    const char *separator = "";
    const char *key;
    json_t *item;
    dpa__text_add(out, "{");
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        dpa__text_add(out, separator);
        separator = inner >= 0 ? "," : ", ";
        new_line(out, inner);
        write_string(out, key);
        dpa__text_add(out, ": ");
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "}");
}

void dpa__json_write(dpa__text *out, const json_t *value, int indent) {
    char number[40];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value, indent);
        break;
    case JSON_ARRAY:
        write_array(out, value, indent);
        break;
    case JSON_STRING:
        write_string(out, json_string_value(value));
        break;
    case JSON_INTEGER:
        dpa__text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        dpa__number_text(json_real_value(value), number, sizeof number);
        dpa__text_add(out, number);
        break;
    case JSON_TRUE:
        dpa__text_add(out, "true");
        break;
    case JSON_FALSE:
        dpa__text_add(out, "false");
        break;
    case JSON_NULL:
        dpa__text_add(out, "null");
        break;
    }
}
