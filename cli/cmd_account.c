/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit account: what a privacy claim means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "phases.h"

typedef struct account_options {
    common_options common;
    phase_options phase;
    dpa_account_query query;
    const char *gaussians, *deltas, *epsilons, *orders, *rdp_file;
    double zcdp;
} account_options;

#define AT(field) offsetof(account_options, field)

static const option table[] = {
    HEADING("The mechanism"),
    PHASE_OPTIONS(account_options),
    {"two-gaussians", OPTION_TEXT, "M1,S1,M2,S2",
     "instead: the exact epsilon between N(M1,S1^2) and N(M2,S2^2)", AT(gaussians)},
    {"zcdp", OPTION_NUMBER, "RHO", "instead: a mechanism known to be RHO-zCDP (an upper bound)",
     AT(zcdp)},
    {"rdp", OPTION_FILE, "FILE",
     "instead: a mechanism known by its Rényi divergences, a CSV with columns order and rdp",
     AT(rdp_file)},
    HEADING("What is wanted"),
    DELTA_OPTIONS(account_options),
    {"epsilon", OPTION_NUMBER, "E", "also delta at this epsilon", AT(query.epsilon)},
    {"deltas", OPTION_TEXT, "D1,D2,…", "also a table of epsilon at these deltas", AT(deltas)},
    {"epsilons", OPTION_TEXT, "E1,E2,…", "also a table of delta at these epsilons", AT(epsilons)},
    {"orders", OPTION_TEXT, "A1,A2,…", "also the Rényi divergence at these orders, and zCDP",
     AT(orders)},
    {"check", OPTION_NUMBER, "E", "compare another accountant's epsilon with ours",
     AT(query.check)},
    {"fpr", OPTION_NUMBER, "A", "also the best attack's TPR at this FPR", AT(query.fpr)},
    {"points", OPTION_COUNT, "N",
     "also the trade-off curve at N false positive rates (in the JSON)", AT(query.curve_points)},
    OUTPUT_OPTIONS(account_options),
    END_OPTIONS,
};

static void init(void *options) {
    account_options *o = options;
    common_init(&o->common);
    phase_init(&o->phase);
    dpa__account_query_init(&o->query);
    o->zcdp = NAN;
}

static int run_two_gaussians(const account_options *o) {
    double value[4];
    char copy[256], *rest = copy;
    size_t n = 0;
    if (strlen(o->gaussians) < sizeof copy) {
        memcpy(copy, o->gaussians, strlen(o->gaussians) + 1);
        for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ","))
            if (n++ >= 4 || !dpa__number_whole(word, &value[n - 1])) break;
    }
    if (n != 4 || rest != NULL)
        return usage_error("--two-gaussians: '%s' is not four numbers M1,S1,M2,S2", o->gaussians);
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa__audit_two_gaussians(value[0], value[1], value[2], value[3],
                                 o->common.protocol.request.delta, &report, &err) != DPA_OK)
        return library_error(&err);
    return show_report(report, &o->common);
}

/* Parses "1e-5,1e-6" as numbers. Returns their count; 0 after an error message. */
static size_t number_list(const char *name, const char *text, double **out) {
    size_t count = 1, n = 0;
    for (const char *c = text; *c != '\0'; ++c) count += *c == ',';
    char *copy = strdup(text), *rest = copy;
    *out = malloc(count * sizeof **out);
    for (char *word = strsep(&rest, ","); *out != NULL && word != NULL; word = strsep(&rest, ","))
        if (!dpa__number_whole(word, &(*out)[n++])) {
            (void)usage_error("--%s: '%s' is not a number", name, word);
            n = 0;
            break;
        }
    free(copy);
    return n;
}

/* Parses the lists of the query; returns an exit code if one is not a list of numbers. */
static int take_lists(account_options *o, double *lists[3]) {
    dpa_account_query *query = &o->query;
    const struct {
        const char *name, *text;
        const double **values;
        size_t *count;
    } table_of[3] = {{"deltas", o->deltas, &query->deltas, &query->delta_count},
                     {"epsilons", o->epsilons, &query->epsilons, &query->epsilon_count},
                     {"orders", o->orders, &query->orders, &query->order_count}};
    for (size_t k = 0; k < 3; ++k) {
        if (table_of[k].text == NULL) continue;
        *table_of[k].count = number_list(table_of[k].name, table_of[k].text, &lists[k]);
        if (*table_of[k].count == 0) return 2;
        *table_of[k].values = lists[k];
    }
    return 0;
}

static int run(void *options, const word_list *words) {
    account_options *o = options;
    dpa_account_query *query = &o->query;
    (void)words;
    dpa_report *report = NULL;
    dpa_error err;
    query->opts.delta = o->common.protocol.request.delta;
    if (o->gaussians != NULL) return run_two_gaussians(o);
    if (!isnan(o->zcdp) || o->rdp_file != NULL) {
        const dpa_status status =
            dpa__audit_renyi(o->zcdp, o->rdp_file, query->opts.delta, query->check, &report, &err);
        return status == DPA_OK ? show_report(report, &o->common) : library_error(&err);
    }
    phase_set set;
    double *lists[3] = {NULL, NULL, NULL};
    int code = phase_list(&o->phase, 0, &set, query);
    if (code == 0) code = take_lists(o, lists);
    if (code == 0)
        code = dpa__audit_account(query, &report, &err) == DPA_OK ? show_report(report, &o->common)
                                                                  : library_error(&err);
    dpa__account_query_free(query);
    phase_set_free(&set);
    for (size_t k = 0; k < 3; ++k) free(lists[k]);
    return code;
}

const command command_account = {
    .name = "account",
    .summary = "what a claim means: epsilon, delta and trade-off curve",
    .operands = "",
    .about =
        "Composes the privacy loss of every step and prints epsilon as an interval that contains "
        "the truth. Rényi and central-limit accountants are shown beside it as cross-checks.",
    .examples =
        "dpaudit account --sigma 1.0 --q 0.01 --steps 1000 --delta 1e-5\n"
        "dpaudit account --phase sigma=1.2,q=0.01,steps=500 --phase sigma=0.9,q=0.02,steps=100\n"
        "dpaudit account --sigma 0.8 --q 0.004 --steps 10000 --fpr 0.001 --json\n"
        "dpaudit account --sigma 1.0 --q 0.01 --steps 1000 --check 1.7\n"
        "dpaudit account --mechanism shuffled --sigma 0.8 --batches 100 --steps 5\n"
        "dpaudit account --two-gaussians 0,1,1,1.1",
    .options = table,
    .size = sizeof(account_options),
    .init = init,
    .run = run,
    .has_clock = 1,
};
