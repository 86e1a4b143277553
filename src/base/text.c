/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing text. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"

/* Makes room for `extra` bytes and the final NUL. */
static int reserve(dpa__text *text, size_t extra) {
    if (text->failed) return 0;
    const size_t need = text->length + extra + 1;
    if (need <= text->capacity) return 1;
    size_t capacity = text->capacity > 0 ? text->capacity : 256;
    while (capacity < need) capacity *= 2;
    char *grown = dpa__realloc(text->data, capacity, 1, NULL);
    if (grown == NULL) {
        text->failed = 1;
        return 0;
    }
    text->data = grown;
    text->capacity = capacity;
    return 1;
}

void dpa__text_add_bytes(dpa__text *text, const char *bytes, size_t count) {
    if (!reserve(text, count)) return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void dpa__text_add(dpa__text *text, const char *string) {
    dpa__text_add_bytes(text, string, strlen(string));
}

int dpa__vprint(char *out, size_t size, const char *format, va_list args) {
    const dpa__plain plain = dpa__plain_begin();
    const int length = vsnprintf(out, size, format, args);
    dpa__plain_end(plain);
    return length;
}

int dpa__print(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = dpa__vprint(out, size, format, args);
    va_end(args);
    return length;
}

void dpa__text_printf(dpa__text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = dpa__vprint(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        text->failed = 1;
    } else if (reserve(text, (size_t)length)) {
        (void)dpa__vprint(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

dpa_status dpa__text_take(dpa__text *text, char **out, dpa_error *err) {
    dpa__text_add_bytes(text, "", 0); /* an empty text is still a string */
    if (text->failed) {
        dpa__text_free(text);
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for a text");
    }
    *out = text->data;
    *text = (dpa__text){0};
    return DPA_OK;
}

void dpa__text_free(dpa__text *text) {
    free(text->data);
    *text = (dpa__text){0};
}
