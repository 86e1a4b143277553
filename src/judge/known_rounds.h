/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds before the judge. */
#ifndef DPA_JUDGE_KNOWN_ROUNDS_H
#define DPA_JUDGE_KNOWN_ROUNDS_H

#include "judge/case.h"

/* Adds the bound from members and nonmembers of cosine evidence, scores of canaries over their own
 * rounds. `decides`: it is there and decides. Without such arrays nothing happens. */
dpa_status dpa__judge_known_rounds(dpa__case *c, dpa_lints *lints, int *decides, dpa_error *err);

#endif
