/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of counts would have detected. */
#ifndef DPA_JUDGE_POWER_H
#define DPA_JUDGE_POWER_H

#include "judge/case.h"

/* For a method of counts in the family of all mechanisms, with these sizes. */
dpa_status dpa__power_counts(dpa__case *c, double n1, double n0, dpa_error *err);

#endif
