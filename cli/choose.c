/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The decision tree of `dpaudit help choose`: which method for which situation. docs/compare.md
 * says more. */
#include "help.h"

typedef struct choice {
    const char *have, *assume, *use, *gives;
} choice;

static const choice choices[] = {
    {"scores of independent runs or steps, with and without the target",
     "the mechanism is Gaussian-like", "dpaudit scores --family gaussian --method rank",
     "a bound; nothing is chosen, the whole sample is used"},
    {"the same scores", "nothing beyond (epsilon, delta)",
     "dpaudit scores --family dp --method scan", "a bound, smaller for the same runs"},
    {"only the four counts, the threshold fixed before", "Gaussian-like, or nothing",
     "dpaudit counts --method exact", "a bound"},
    {"the same counts", "Jeffreys priors on both rates", "dpaudit counts --method bayes",
     "a credible bound and a density; never 0, even without a leak"},
    {"one run, canaries put in by coins, and guesses", "the mechanism is Gaussian-like",
     "dpaudit one-run --family gaussian", "a bound"},
    {"the same run", "nothing beyond (epsilon, delta)", "dpaudit one-run --family dp", "a bound"},
    {"one run, scores of canaries in directions of their own",
     "the noise is independent from one direction to the next", "dpaudit one-run --method channels",
     "a bound near what as many separate runs would show"},
    {"one federated run, random canary directions", "the cosines are normal", "dpaudit cosines",
     "an estimate with its interval, for one attacker"},
    {"one released model, no canaries", "the losses are independent draws", "dpaudit losses",
     "a number about this model, not about the mechanism"},
    {"a mechanism and no evidence", "the implementation is right", "dpaudit account",
     "the claim itself, as an interval"},
    {"nothing yet", "a suspected leak", "dpaudit plan",
     "the size an audit needs, the leak it detects, the most it can show"},
};

void help_choose(FILE *out) {
    (void)fputs("Which method? The first that fits what you have and may assume.\n", out);
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; ++i)
        (void)fprintf(out,
                      "\n%zu. You have  %s\n   and assume %s\n   use        %s\n   gives      %s\n",
                      i + 1, choices[i].have, choices[i].assume, choices[i].use, choices[i].gives);
}
