/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit landscape: utility against epsilon of many strategies, and the frontier. */
#include "output.h"

typedef struct landscape_options {
    common_options common;
} landscape_options;

static const option table[] = {
    OUTPUT_OPTIONS(landscape_options),
    END_OPTIONS,
};

static int run(void *options, const word_list *words) {
    const landscape_options *o = options;
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa__audit_landscape(words->items[0], &report, &err) != DPA_OK) return library_error(&err);
    return show_report(report, &o->common);
}

const command command_landscape = {
    .name = "landscape",
    .summary = "utility against epsilon of many strategies, and their frontier",
    .operands = "FILE.csv",
    .about =
        "The file has the columns strategy, utility, epsilon and, if there are kinds of strategies "
        "to compare, group. Rows of one strategy and group are averaged; their range is kept. A "
        "strategy is on the frontier when no mixture of two others is as useful and as private, "
        "and better in one of them. The JSON has the points, the frontier and kernel densities per "
        "group for plots.",
    .examples = "dpaudit landscape landscape.csv\n"
                "dpaudit landscape landscape.csv --json",
    .options = table,
    .size = sizeof(landscape_options),
    .words = {1, 1},
    .init = common_init,
    .run = run,
    .has_clock = 1,
};
