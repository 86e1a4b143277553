/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stable headers of libdpaudit, in reading order. A first audit takes five calls: read, claim,
 * judge, headline, free (whole program: examples/c/first.c):
 *
 *     dpa_evidence_scores("members.npy", "nonmembers.npy", &evidence, &err);
 *     dpa_claim_set(&claim, "claim-epsilon", "1.5", &err);
 *     dpa_judge(evidence, &claim, NULL, &report, &err);
 *     dpa_report_headline(report, &headline, &err);
 *     dpa_report_free(report);
 *
 * For every call: what comes back through an `out` parameter belongs to the caller, who frees it
 * with the function named at the declaration (NULL is allowed there); what goes in stays the
 * caller's and need not outlive the call unless the declaration says so. A call only reads what it
 * gets by a pointer to const. Calls may run in several threads at once as long as none of them
 * changes an object that another one uses; no call depends on the locale.
 *
 * These functions have the symbol version DPAUDIT_1 and keep their meaning. The library also
 * exports functions of the version DPAUDIT_PRIVATE, whose names start with dpa__: they are for the
 * command, the laboratory and the Python package of the same version and may change in any. */
#ifndef DPAUDIT_DPAUDIT_H
#define DPAUDIT_DPAUDIT_H

/* clang-format off */
/* how calls end; what was promised; what was observed; the verdict; what was found */
#include "dpaudit/status.h"
#include "dpaudit/claim.h"
#include "dpaudit/evidence.h"
#include "dpaudit/judge.h"
#include "dpaudit/report.h"
/* what a mechanism promises */
#include "dpaudit/tradeoff.h"
#include "dpaudit/account.h"
/* clang-format on */

#endif
