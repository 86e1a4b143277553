/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All functions that write a value into a page; each escapes it. */
#include <stdio.h>
#include <string.h>

#include "report/render/html.h"

static const char *entity(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return "&#39;";
    }
}

void dpa__html_escape(dpa__text *out, const char *text) {
    for (;;) {
        const size_t plain = strcspn(text, "&<>\"'");
        dpa__text_add_bytes(out, text, plain);
        text += plain;
        if (*text == '\0') return;
        dpa__text_add(out, entity(*text++));
    }
}

void dpa__html_value(dpa__text *out, const json_t *value) {
    if (json_is_string(value))
        dpa__html_escape(out, json_string_value(value));
    else if (json_is_integer(value))
        dpa__text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        dpa__text_printf(out, "%.7g", json_real_value(value));
    else if (json_is_boolean(value))
        dpa__text_add(out, json_is_true(value) ? "yes" : "no");
}

void dpa__html_label(dpa__text *out, const char *key) {
    while (*key != '\0') {
        char word[128];
        const size_t length = strcspn(key, "_");
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), key);
        dpa__html_escape(out, word);
        key += length;
        if (*key == '_') {
            dpa__text_add(out, " ");
            ++key;
        }
    }
}

void dpa__html_between(dpa__text *out, const char *before, const char *text, const char *after) {
    dpa__text_add(out, before);
    dpa__html_escape(out, text);
    dpa__text_add(out, after);
}
