/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steinke's test or the recursion on the curve f_{ε,δ}, by a rule that is fixed before the data.
 *
 * Without δ, Steinke's test is the exact binomial tail and the recursion is weaker by up to 0.03 in
 * ε. With δ, Steinke adds 2mδ times a mean of the binomial, which matters as soon as mδ is a part
 * of p = 1 − confidence and leaves nothing where mδ is large (m = 10⁵, δ = 1e-5: half of ε is
 * lost); the recursion hardly changes. Measured over 16 to 10⁵ guesses of 50 to 10⁶ canaries,
 * p from 0.1 to 1e-6 and every share of right guesses (tests/unit/test_onerun_rule.c has a part of
 * it), the worst that each loses against the other, relative or absolute in ε, whichever is
 * smaller:
 *
 *   mδ/p         0.06    0.1     0.2     0.3     1
 *   Steinke      0.7%    1.2%    2.4%    3.6%    12%     (16 guesses, all right)
 *   recursion    2.9%    2.8%    2.5%    2.1%    1.2%    (30 guesses)
 *
 * and from 1000 guesses on both are below 1% at 0.2. The change is made there. Neither is below
 * 1% for few guesses, whatever the rule: which one is stronger then depends on the number of right
 * ones. */
#include "estimate/onerun_rule.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

static const double SHARE = 0.2;

dpa__onerun_method dpa__onerun_rule(uint64_t canaries, uint64_t guesses, double delta,
                                    double confidence) {
    (void)guesses; /* one change for all of them loses no more than one for each */
    const double p = 1 - confidence;
    return (double)canaries * delta > SHARE * p ? DPA__RECURSION : DPA__STEINKE;
}

void dpa__onerun_rule_say(uint64_t canaries, uint64_t guesses, double delta, double confidence,
                          char *text, size_t size) {
    const int recursion = dpa__onerun_rule(canaries, guesses, delta, confidence) == DPA__RECURSION;
    (void)dpa__print(text, size, "%s, since m·δ = %.3g %s (1 − confidence)/5 = %.3g",
                     recursion ? "recursion" : "Steinke", (double)canaries * delta,
                     recursion ? ">" : "≤", SHARE * (1 - confidence));
}
