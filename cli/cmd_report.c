/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit report: stored results as one page. */
#include <string.h>

#include "output.h"

typedef struct report_options {
    const char *out;
} report_options;

static const option table[] = {
    {"out", OPTION_FILE, "FILE.html", "where to write the page (default report.html)",
     offsetof(report_options, out)},
    END_OPTIONS,
};

static void init(void *options) {
    report_options *o = options;
    o->out = "report.html";
}

static int run(void *options, const word_list *words) {
    const report_options *o = options;
    char *page = NULL;
    dpa_error err;
    if (dpa_report_combine(words->items, words->count, &page, &err) != DPA_OK)
        return library_error("report", &err);
    const int code = write_file("report", o->out, page);
    dpa_free(page);
    return code;
}

const command command_report = {
    .name = "report",
    .summary = "one page from stored results",
    .operands = "RESULT.json...",
    .about = "Reads results that other commands wrote with --json=FILE.json and writes them as one "
             "self-contained page: it opens from disk, offline, and prints.",
    .examples = "",
    .options = table,
    .size = sizeof(report_options),
    .min_words = 1,
    .max_words = (size_t)-1,
    .init = init,
    .run = run,
};
