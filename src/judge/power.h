/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of single tests. */
#ifndef DPA_JUDGE_POWER_H
#define DPA_JUDGE_POWER_H

#include "judge/case.h"

/* For the scan in the family dp, with these class sizes. */
dpa_status dpa__power_scan(dpa__case *c, double n1, double n0, dpa_error *err);
/* For a method of counts in the family dp, with these class sizes. */
dpa_status dpa__power_counts(dpa__case *c, double n1, double n0, dpa_error *err);

#endif
