/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds, for the judge. */
#ifndef DPA_JUDGE_KNOWN_ROUNDS_H
#define DPA_JUDGE_KNOWN_ROUNDS_H

#include "judge/case.h"

/* Adds the bound from the arrays members and nonmembers of cosine evidence, which are scores of
 * canaries over their own rounds. *decides is set if there is a bound, which then decides. Without
 * these arrays nothing happens. */
dpa_status dpa__judge_known_rounds(dpa__case *c, dpa_lints *lints, int *decides, dpa_error *err);

#endif
