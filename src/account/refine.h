/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for a cell width that meets the tolerance of the options. */
#ifndef DPA_ACCOUNT_REFINE_H
#define DPA_ACCOUNT_REFINE_H

#include "account/handle.h"

/* Fills coarse, fine, epsilon and transform of an account whose model is set. */
dpa_status dpa__account_refine(dpa_account *account, dpa_error *err);
/* ε at δ from the fine grid, the larger of both directions. `longest` (may be NULL) gets the
 * transform length. */
dpa_status dpa__account_read(const dpa_account *account, double delta, dpa_interval *out,
                             size_t *longest, dpa_error *err);

#endif
