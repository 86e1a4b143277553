/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stored result of any bytes becomes a page or an error, and no string of it becomes markup: the
 * page has our two script elements and none of the elements that we never write. Text that looks
 * like a tag must be escaped, so every '<' of the page is one of ours. */
#include "fuzz.h"

#include <string.h>

#include "base/json.h"
#include "report/render/html.h"

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) ++count;
    return count;
}

/* Is what follows '<' the start of an element that the page is made of? */
static int is_ours(const char *after) {
    static const char *const names[] = {
        "!doctype", "a ",      "article",  "body",  "br",     "button",     "caption", "code",
        "dd",       "details", "div",      "dl",    "dt",     "figcaption", "figure",  "h1",
        "h2",       "h3",      "h4",       "head",  "header", "html",       "li",      "main",
        "meta",     "nav",     "noscript", "ol",    "p",      "section",    "script",  "span",
        "strong",   "style",   "summary",  "tbody", "td",     "th",         "thead",   "table",
        "title",    "tr",      "ul",
    };
    if (*after == '/') ++after;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const size_t length = strlen(names[i]);
        if (strncmp(after, names[i], length) == 0 &&
            (after[length] == '>' || after[length] == ' ' || after[length - 1] == ' ' ||
             after[length] == '\n'))
            return 1;
    }
    return after[0] == 'a' && after[1] == '>'; /* </a> */
}

/* The page up to its style sheet is fixed, and from the script on it is the bundle: in between is
 * all that the result had a say in. */
static void check_page(const char *page) {
    size_t length = 0;
    (void)dpa__report_script(&length);
    const char *end = strstr(page, "<script>");
    const char *start = strstr(page, "</style>");
    if (start == NULL || end == NULL || end < start) abort();
    if (strlen(end) < length) abort();
    for (const char *at = start; (at = strchr(at, '<')) != NULL && at < end; ++at)
        if (!is_ours(at + 1)) abort();
    if (count_of(start, "<script type=\"application/json\" id=\"charts\">") != 1) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    dpa__stream *stream = fuzz_stream(data, size);
    json_t *root;
    dpa_error err = {0};
    if (stream == NULL) return 0;
    const dpa_status status = dpa__json_from_stream(stream, &root, NULL, &err);
    fuzz_check(status, &err);
    dpa__stream_close(stream);
    if (status != DPA_OK) return 0;
    dpa__text page = {0};
    dpa__html_page(&page, &root, NULL, 1);
    if (page.failed) abort(); /* nothing here is large enough to run out of memory */
    check_page(page.data);
    dpa__text_free(&page);
    json_decref(root);
    return 0;
}
