/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A curve from a table that has been read already; `path` is for errors. */
#ifndef DPA_TRADEOFF_READ_H
#define DPA_TRADEOFF_READ_H

#include "base/data.h"
#include "tradeoff/tradeoff.h"

dpa_status dpa__curve_from_table(const dpa_table *table, const char *path, dpa_curve **out,
                                 dpa_error *err);

#endif
