/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Renders a table of keys as help text, and values as the text that keys of trials are made of. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "settings/settings.h"

enum { WIDTH = 79 };

/* Writes the words of `text` in lines of at most WIDTH; every line after the first is indented by
 * `indent` blanks. */
static void wrap(dpa__text *out, size_t column, size_t indent, const char *text) {
    for (int is_first = 1; *text != '\0'; is_first = 0) {
        const size_t length = strcspn(text, " ");
        if (!is_first && column + 1 + length > WIDTH) {
            dpa__text_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            dpa__text_add(out, " ");
            ++column;
        }
        dpa__text_add_bytes(out, text, length);
        column += length;
        text += length + (text[length] == ' ');
    }
    dpa__text_add(out, "\n");
}

static void add_range(const dpa__range *r, dpa__text *out) {
    if (r == NULL) return;
    dpa__text_printf(out, ", %s %g", r->least_is_out ? "more than" : "at least", r->least);
    if (isfinite(r->most))
        dpa__text_printf(out, ", %s %g", r->most_is_out ? "less than" : "at most", r->most);
}

static void add_type(const dpa__field *f, dpa__text *out) {
    static const char *const names[] = {
        [DPA__COUNT] = "whole number",
        [DPA__SIZE] = "whole number",
        [DPA__NUMBER] = "number",
        [DPA__FLAG] = "true or false",
        [DPA__WORD] = "",
        [DPA__TEXT] = "text",
        [DPA__ANY] = "text",
        [DPA__PATH] = "path, from this file's folder",
        [DPA__TEXTS] = "list of texts",
    };
    dpa__text_add(out, names[f->type]);
    if (f->type <= DPA__NUMBER) add_range(f->detail, out);
    if (f->type != DPA__WORD) return;
    for (const dpa__word *w = f->detail; w->text != NULL; ++w)
        dpa__text_printf(out, "%s%s", w != f->detail ? ", " : "", w->text);
}

static void add_number(double value, dpa__text *out) {
    if (isnan(value))
        dpa__text_add(out, "none");
    else if (isinf(value))
        dpa__text_add(out, "no limit");
    else
        dpa__text_printf(out, "%g", value);
}

static void add_value(const dpa__field *f, const char *at, dpa__text *out) {
    switch (f->type) {
    case DPA__COUNT:
        dpa__text_printf(out, "%" PRIu64, *(const uint64_t *)at);
        return;
    case DPA__SIZE:
        dpa__text_printf(out, "%zu", *(const size_t *)at);
        return;
    case DPA__NUMBER:
        add_number(*(const double *)at, out);
        return;
    case DPA__FLAG:
        dpa__text_add(out, *(const int *)at ? "true" : "false");
        return;
    case DPA__WORD:
        dpa__text_add(out, dpa__word_text(f->detail, *(const int *)at));
        return;
    default:
        dpa__text_add(out, *(const char *const *)at != NULL ? *(const char *const *)at : "none");
    }
}

static void add_default(const dpa__field *f, const void *defaults, dpa__text *out) {
    if (f->is_needed || f->usual != NULL)
        dpa__text_add(out, f->is_needed ? "needed" : f->usual);
    else
        add_value(f, (const char *)defaults + f->at, out);
}

void dpa__settings_describe(const dpa__section *section, const void *defaults, dpa__text *out) {
    const char *indent = section->name[0] != '\0' ? "  " : "";
    if (section->name[0] != '\0') dpa__text_printf(out, "%s:\n", section->name);
    for (const dpa__field *f = section->fields; f->key != NULL; ++f) {
        dpa__text line = {0};
        dpa__text_printf(&line, "%s: ", f->key);
        add_type(f, &line);
        dpa__text_add(&line, " (");
        add_default(f, defaults, &line);
        dpa__text_add(&line, ")");
        out->failed |= line.failed;
        dpa__text_add(out, indent);
        if (!line.failed) wrap(out, strlen(indent), strlen(indent) + 8, line.data);
        dpa__text_printf(out, "%s    ", indent);
        wrap(out, strlen(indent) + 4, strlen(indent) + 4, f->help);
        dpa__text_free(&line);
    }
    dpa__text_add(out, "\n");
}

static void add_escaped(const char *text, dpa__text *out) {
    for (; text != NULL && *text != '\0'; ++text)
        if (*text == '\n')
            dpa__text_add(out, "\\n");
        else
            dpa__text_printf(out, "%s%c", *text == '\\' ? "\\" : "", *text);
}

void dpa__settings_put(const dpa__section *sections, const char *names, const void *values,
                       dpa__text *out) {
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        const dpa__field *f = dpa__settings_field(sections, names);
        if (f == NULL) {
            out->failed = 1; /* a mistake in the program, which every test of the game notices */
            return;
        }
        const char *at = (const char *)values + f->at;
        dpa__text_printf(out, "%.*s: ", (int)length, names);
        if (f->type == DPA__NUMBER) {
            char number[32];
            dpa__number_text(*(const double *)(const void *)at, number, sizeof number);
            dpa__text_add(out, number);
        } else if (f->type >= DPA__TEXT) {
            add_escaped(*(const char *const *)(const void *)at, out);
        } else {
            add_value(f, at, out);
        }
        dpa__text_add(out, "\n");
        names += length + (names[length] == ' ');
    }
}
