/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ledgers from text: what the accountant says of one. */
#ifndef DPA_TESTS_KNOWN_LEDGER_H
#define DPA_TESTS_KNOWN_LEDGER_H

#include "check.h"

#include "account/account.h"
#include "base/data.h"

typedef struct answer {
    dpa_interval epsilon, delta;
} answer;

static inline const char *file_of(const char *text) {
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/dpa_ledger_%d.json", (int)getpid());
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    return path;
}

/* ε at δ and δ at an ε of a ledger. */
static inline answer of_ledger(const char *text, dpa_adjacency adjacency, double delta,
                               double epsilon, double tolerance) {
    dpa_ledger *ledger = NULL;
    dpa_error err;
    if (dpa_ledger_read(file_of(text), adjacency, &ledger, &err) != DPA_OK)
        fail_msg("%s", err.text);
    size_t count;
    const dpa_phase *phases = dpa_ledger_phases(ledger, &count);
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = adjacency;
    opts.delta = delta;
    opts.tolerance = tolerance;
    opts.absolute = tolerance / 10;
    dpa_account *account = NULL;
    answer a;
    if (dpa_account_new(phases, count, &opts, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_ok(dpa_account_epsilon(account, delta, &a.epsilon, &err));
    assert_ok(dpa_account_delta(account, epsilon, &a.delta, &err));
    dpa_account_free(account);
    dpa_ledger_free(ledger);
    (void)unlink(file_of("{}"));
    return a;
}

static inline dpa_interval epsilon_of(dpa_phase phase, unsigned group, double delta) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    opts.group = group;
    dpa_account *account = NULL;
    dpa_interval e;
    dpa_error err;
    if (dpa_account_new(&phase, 1, &opts, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_ok(dpa_account_epsilon(account, delta, &e, &err));
    dpa_account_free(account);
    return e;
}

#endif
