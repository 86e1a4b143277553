/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The optimistic discretisation: neighbouring outcomes merged onto grid points. */
#ifndef DPA_ACCOUNT_MERGE_H
#define DPA_ACCOUNT_MERGE_H

#include "account/pld.h"

/* log_mass: the count+1 P-masses of a pair that the cells' pair dominates. */
dpa_status dpa__merge(const dpa__loss_cells *cells, double *log_mass, dpa_error *err);

#endif
