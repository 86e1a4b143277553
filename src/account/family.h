/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the text of a family tells before it is parsed. Only this file knows the names. */
#ifndef DPA_ACCOUNT_FAMILY_H
#define DPA_ACCOUNT_FAMILY_H

#include "account/account.h"

int dpa__family_is_gaussian(const char *spec);
/* 1 if the accountant composes the members step by step, which takes milliseconds to seconds each.
 */
int dpa__family_is_composed(const char *spec);

/* As dpa_account_curve and dpa__family_curve, where false positives are known to be those of runs
 * without the record. Only sampled steps with records added or removed know a difference; a `pair`
 * and a `ledger` do not say which of their laws is which. */
dpa_status dpa__account_directed(const dpa_account *account, int side, dpa_curve **out,
                                 dpa_error *err);
dpa_status dpa__family_directed(const dpa_family *family, double t, dpa_curve **out,
                                dpa_error *err);

#endif
