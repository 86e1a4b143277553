/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run, (ε,δ)-DP: Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", 2023.
 * With q = e^ε/(1+e^ε) and B ~ Bin(c′, q), an attack on m canaries gets c or more right with
 * probability at most
 *
 *   Pr[B ≥ c] + 2mδ · max over 1 ≤ i ≤ c of Pr[c−i ≤ B < c]/i.
 *
 * The quotient is the mean A_i of the i numbers b_j = Pr[B = c−j], j = 1…i. The b_j rise up to the
 * mode of B and fall after it. While they rise, b_{i+1} ≥ A_i and A grows. Once b_{i+1} ≤ A_i on
 * the falling side, A_{i+1} ≥ b_{i+1} ≥ b_{i+2}, so it stays that way: A has one peak, where
 * "b_{i+1} ≤ A_i" turns true, and a binary search over i finds it with about log₂ c calls of the
 * binomial distribution instead of c.
 *
 * Each such number bounds a tail probability, so for a mechanism that is (ε₀,δ)-DP the smallest
 * over all ε ≥ ε₀ bounds it too: any ε with a p-value ≤ p is a valid lower bound, whether or not
 * the p-value is monotone in ε. Accuracy: that of the incomplete beta function, about 1e-13. */
#include <math.h>

#include "estimate/one_run/one_run.h"
#include "math/dist.h"

typedef struct window {
    double trials, correct, q, one_minus_q;
} window;

/* Pr[B = k]. The complement of q is stored too, because q rounds to 1 from ε = 37 on. */
static double pmf(const window *w, double k) {
    if (w->one_minus_q < w->q)
        return exp(dpa__binom_log_pmf(w->trials - k, w->trials, w->one_minus_q));
    return exp(dpa__binom_log_pmf(k, w->trials, w->q));
}

/* Pr[B ≥ k]. */
static double at_least(const window *w, double k) {
    if (w->one_minus_q < w->q)
        return dpa__binom_cdf(w->trials - k, w->trials, w->one_minus_q, DPA_LOWER);
    return dpa__binom_cdf(k - 1.0, w->trials, w->q, DPA_UPPER);
}

/* A_i, computed from the smaller tails. */
static double mean_below(const window *w, double i) {
    const double c = w->correct;
    if (c > w->trials * w->q) return (at_least(w, c - i) - at_least(w, c)) / i;
    const double below = dpa__binom_cdf(w->trials - c, w->trials, w->one_minus_q, DPA_UPPER);
    const double beyond = dpa__binom_cdf(w->trials - c + i, w->trials, w->one_minus_q, DPA_UPPER);
    return (below - beyond) / i;
}

static double largest_mean(const window *w) {
    const double c = w->correct;
    const double mode = fmin(w->trials, floor((w->trials + 1.0) * w->q));
    /* i = rising: every b_j up to the mode is in; from there on they fall */
    const double rising = fmin(c, fmax(1.0, c - mode));
    double low = rising, high = c; /* the peak is in [low, high] */
    while (low < high) {
        const double i = floor(0.5 * (low + high));
        if (pmf(w, c - i - 1.0) <= mean_below(w, i))
            high = i;
        else
            low = i + 1.0;
    }
    return mean_below(w, low);
}

static window window_of(const dpa_one_run *game, double epsilon) {
    const double odds = exp(-epsilon);
    return (window){(double)game->guesses, (double)game->correct, 1.0 / (1.0 + odds),
                    odds / (1.0 + odds)};
}

static int is_asked_well(const dpa_one_run *game, double epsilon, double delta) {
    return game->options == 2 && epsilon >= 0.0 && delta >= 0.0 && delta <= 1.0;
}

double dpa__one_run_dp_p_value(const dpa_one_run *game, double epsilon, double delta) {
    if (!is_asked_well(game, epsilon, delta)) return NAN;
    if (game->correct == 0) return 1.0;
    const window w = window_of(game, epsilon);
    const double tail = at_least(&w, w.correct);
    if (delta == 0.0 || tail >= 1.0) return fmin(1.0, tail);
    return fmin(1.0, tail + 2.0 * (double)game->canaries * delta * largest_mean(&w));
}

int dpa__one_run_dp_refutes(const dpa_one_run *game, double epsilon, double delta, double p) {
    if (!is_asked_well(game, epsilon, delta) || game->correct == 0) return 0;
    const window w = window_of(game, epsilon);
    return at_least(&w, w.correct) <= p && dpa__one_run_dp_p_value(game, epsilon, delta) <= p;
}
