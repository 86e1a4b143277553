/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing text; and UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

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

/* ---- UTF-8 ---- */

/* ASCII goes eight bytes at a time. Eight bytes, all in 1 … 127: the usual trick for zero bytes,
 * combined with the top bits. */
static int plain_eight(const char *text) {
    uint64_t x;
    memcpy(&x, text, sizeof x);
    const uint64_t zeros = (x - UINT64_C(0x0101010101010101)) & ~x;
    return ((zeros | x) & UINT64_C(0x8080808080808080)) == 0;
}

/* The length of the UTF-8 character at p; 0 if there is none. */
static size_t character(const unsigned char *p, size_t left) {
    if (p[0] < 0x80) return p[0] != 0;
    const size_t length = p[0] >= 0xc2 && p[0] <= 0xdf   ? 2
                          : p[0] >= 0xe0 && p[0] <= 0xef ? 3
                          : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
                                                         : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; ++i)
        if (p[i] >> 6 != 2) return 0;
    const int overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const int forbidden = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || forbidden ? 0 : length;
}

size_t dpa__utf8_span(const char *text, size_t count) {
    size_t i = 0;
    while (i < count) {
        if (count - i >= 8 && plain_eight(text + i)) {
            i += 8;
            continue;
        }
        const size_t length = character((const unsigned char *)text + i, count - i);
        if (length == 0) break;
        i += length;
    }
    return i;
}

dpa_status dpa__utf8_check(const char *name, const char *text, size_t count, dpa_error *err) {
    const size_t good = dpa__utf8_span(text, count);
    if (good == count) return DPA_OK;
    uint64_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < good; ++i)
        if (text[i] == '\n') {
            ++line;
            start = i + 1;
        }
    return dpa__fail_line(err, DPA_BAD_INPUT, name, line, good - start + 1,
                          "found byte 0x%02x, which is not text; UTF-8 is right",
                          (unsigned)(unsigned char)text[good]);
}

/* U+0000 … U+001F, U+007F, and U+0080 … U+009F in two bytes. */
void dpa__utf8_tame(char *text, const char *kept) {
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; ++c) {
        const int is_wide = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
        if (is_wide) c[1] = '?';
        if (is_wide || ((*c < 0x20 || *c == 0x7f) && strchr(kept, *c) == NULL))
            *c = strchr("\n\r\t", *c) != NULL ? ' ' : '?';
    }
}

size_t dpa__utf8_mark(const char *text, size_t count) {
    return count >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}
