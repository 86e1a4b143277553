/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Optional parts of an account's report: tables, and a comparison with another accountant. */
#ifndef DPA_REPORT_ACCOUNT_H
#define DPA_REPORT_ACCOUNT_H

#include "report/model.h"

/* ε at many δ, δ at many ε, Rényi divergences. */
dpa_status dpa__account_tables(dpa_report *report, const dpa_account *account,
                               const dpa_account_query *query, dpa_error *err);
/* Says whether another accountant's ε lies below, inside or above our interval; is_limit: ours is
 * an upper bound, so a smaller one need not be wrong. */
dpa_status dpa__account_check_other(dpa_report *report, double other, dpa_interval ours,
                                    int is_limit, dpa_error *err);

#endif
