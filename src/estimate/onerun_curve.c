/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-run p-values that need no family: of one curve by the recursion, and of (ε,0)-DP when the
 * coins are known to be unfair.
 *
 * Coins of rate r: given the output, the odds that a canary is in are at most e^ε times r/(1−r), so
 * a guess "in" is right with probability at most r·e^ε/(1−r+r·e^ε), a guess "out" with at most
 * (1−r)·e^ε/(r+(1−r)·e^ε), whatever is known of the other canaries. So the number of right guesses
 * is stochastically at most the sum of two binomials. (Fair coins: Steinke, Nasr and Jagielski at
 * δ = 0.) */
#include <math.h>

#include "base/error.h"
#include "estimate/onerun.h"
#include "math/dist.h"

dpa_status dpa__onerun_p_value_curve(const dpa_onerun *games, size_t count, dpa_guess_choice choice,
                                     const dpa_curve *curve, double *p, dpa_error *err) {
    dpa_curve *both = NULL;
    *p = 1;
    for (size_t i = 0; i < count; ++i) DPA_TRY(dpa__onerun_check(&games[i], err));
    DPA_TRY(dpa__onerun_symmetric(curve, &both, err));
    for (size_t i = 0; i < count; ++i) *p = fmin(*p, dpa__onerun_p_value(&games[i], both));
    if (choice == DPA_GUESSES_AUTO) *p = fmin(1, *p * (double)count);
    dpa_curve_free(both);
    return DPA_OK;
}

double dpa__onerun_coin_p_value(const dpa_onerun_coins *g, double epsilon) {
    const double r = g->rate, e = exp(-epsilon);
    const double in = (double)g->in_guesses, out = (double)g->out_guesses;
    const double right_in = r / (r + (1 - r) * e), right_out = (1 - r) / (1 - r + r * e);
    const double wanted = (double)g->correct;
    if (!(r > 0 && r < 1) || !(epsilon >= 0) || wanted > in + out) return NAN;
    double sum = 0;
    for (double k = 0; k <= in; ++k) {
        const double rest = wanted - k; /* this many of the others, or more */
        const double tail = rest <= 0    ? 1
                            : rest > out ? 0
                                         : dpa__binom_cdf(rest - 1, out, right_out, DPA_UPPER);
        sum += exp(dpa__binom_log_pmf(k, in, right_in)) * tail;
    }
    return fmin(1, sum);
}
