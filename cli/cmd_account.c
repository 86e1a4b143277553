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
    const char *gaussians, *rdp_file;
    number_list deltas, epsilons, orders;
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
    {"deltas", OPTION_NUMBERS, "D1,D2,…", "also a table of epsilon at these deltas", AT(deltas)},
    {"epsilons", OPTION_NUMBERS, "E1,E2,…", "also a table of delta at these epsilons",
     AT(epsilons)},
    {"orders", OPTION_NUMBERS, "A1,A2,…", "also the Rényi divergence at these orders, and zCDP",
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
    number_list n = {0};
    dpa_report *report = NULL;
    dpa_error err;
    const int is_right = parse_numbers(o->gaussians, &n) == NULL && n.count == 4;
    const dpa_status status =
        is_right ? dpa__audit_two_gaussians(n.items[0], n.items[1], n.items[2], n.items[3],
                                            o->query.opts.delta, &report, &err)
                 : DPA_BAD_ARGUMENT;
    free(n.items);
    if (!is_right)
        return usage_error("--two-gaussians: '%s' is not four numbers M1,S1,M2,S2", o->gaussians);
    return status == DPA_OK ? show_report(report, &o->common) : library_error(&err);
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
    query->deltas = o->deltas.items;
    query->delta_count = o->deltas.count;
    query->epsilons = o->epsilons.items;
    query->epsilon_count = o->epsilons.count;
    query->orders = o->orders.items;
    query->order_count = o->orders.count;
    phase_set set;
    int code = phase_list(&o->phase, 0, &set, query);
    if (code == 0)
        code = dpa__audit_account(query, &report, &err) == DPA_OK ? show_report(report, &o->common)
                                                                  : library_error(&err);
    dpa__account_query_free(query);
    phase_set_free(&set);
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
