/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the two tests of (ε,δ)-DP from one run is used. */
#ifndef DPA_ESTIMATE_ONERUN_RULE_H
#define DPA_ESTIMATE_ONERUN_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "estimate/onerun.h"

/* DPA__RECURSION on the curve of (ε,δ)-DP, or DPA__STEINKE. Looks at nothing that the data say, so
 * the choice costs no error. With J guess counts that share the error, ask once for all of them:
 * confidence is 1 − p/J then, guesses the largest of them. */
dpa__onerun_method dpa__onerun_rule(uint64_t canaries, uint64_t guesses, double delta,
                                    double confidence);
/* The rule with its numbers, for `plan` and reports: "recursion, since m·δ = 1 > (1−confidence)/5 =
 * 0.01". */
void dpa__onerun_rule_say(uint64_t canaries, uint64_t guesses, double delta, double confidence,
                          char *text, size_t size);

#endif
