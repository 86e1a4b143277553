/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit report: stored results as one page. */
#include <string.h>

#include "output.h"

typedef struct report_options {
    const char *out, *pdf;
} report_options;

static const option table[] = {
    {"out", OPTION_OUTPUT, "FILE.html", "where to write the page (default report.html)",
     offsetof(report_options, out)},
    {"pdf", OPTION_OUTPUT, "FILE.pdf",
     "print the page into FILE.pdf by Chromium, where it is installed; without --out no page is "
     "written",
     offsetof(report_options, pdf)},
    END_OPTIONS,
};

static int run(void *options, const word_list *words) {
    const report_options *o = options;
    char *page = NULL;
    dpa_error err;
    int code = 0;
    if (dpa__report_combine(words->items, words->count, &page, &err) != DPA_OK)
        return library_error(&err);
    if (o->out != NULL || o->pdf == NULL)
        code = write_file(o->out != NULL ? o->out : "report.html", page);
    if (code == 0 && o->pdf != NULL) code = pdf_print(page, o->pdf);
    dpa_free(page);
    return code;
}

const command command_report = {
    .name = "report",
    .summary = "one page from stored results",
    .operands = "RESULT.json...",
    .about = "Reads results that other commands wrote with --json=FILE.json and writes them as one "
             "self-contained page: it opens from disk, offline, and prints. Several audits, of "
             "checkpoints or releases, begin with their trend: what each showed, in the order "
             "given, with the claim as a line. What is not such a result is refused with exit "
             "code 3.",
    .examples =
        "dpaudit counts --fn 10 --tp 90 --fp 5 --tn 95 --json=counts.json && dpaudit one-run "
        "one-run.csv --json=run.json && dpaudit report counts.json run.json --out both.html\n"
        "dpaudit scores scores.csv --claim-epsilon 2 --json=release-1.json && dpaudit scores "
        "members.npy nonmembers.npy --claim-epsilon 2 --json=release-2.json && dpaudit report "
        "release-1.json release-2.json --out trend.html",
    .options = table,
    .size = sizeof(report_options),
    .words = {1, (size_t)-1},
    .run = run,
    .has_clock = 1,
};
