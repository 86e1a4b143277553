/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs that are exact lists of atoms: (ε,δ), randomized response, discrete noise, and what the
 * largest coordinate of a shuffled epoch shows. */
#include <math.h>
#include <stdlib.h>

#include "account/pair.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"
#include "math/logspace.h"

enum { MOST_ATOMS = 1000000 };

static dpa_status new_pair(double lattice, dpa_pair **out, dpa_error *err) {
    *out = DPA_NEW(dpa_pair, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    (*out)->lattice = lattice;
    (*out)->atoms.error = 4e-15;
    return DPA_OK;
}

/* Adds an atom, or frees the pair. */
static dpa_status add(dpa_pair **pair, double loss, double log_mass, dpa_error *err) {
    const double rounding = 4e-16 * (1 + fabs(loss));
    const dpa_status status = dpa__atoms_add(&(*pair)->atoms, loss, log_mass, err);
    (*pair)->atoms.shift = fmax((*pair)->atoms.shift, rounding);
    if (status != DPA_OK) {
        dpa_pair_free(*pair);
        *pair = NULL;
    }
    return status;
}

/* Kairouz, Oh, Viswanath 2015: every (ε,δ)-DP mechanism is a post-processing of this one. */
dpa_status dpa__pair_epsilon_delta(double epsilon, double delta, dpa_pair **out, dpa_error *err) {
    if (!(epsilon >= 0 && epsilon <= 1e5 && delta >= 0 && delta < 1))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "epsilon %g, delta %g: epsilon must be in [0, 1e5], delta in [0, 1)",
                         epsilon, delta);
    DPA_TRY(new_pair(epsilon, out, err));
    const double rest = log1p(-delta);
    DPA_TRY(add(out, epsilon, rest - dpa__log1p_exp(-epsilon), err));
    DPA_TRY(add(out, -epsilon, rest - dpa__log1p_exp(epsilon), err));
    (*out)->atoms.p_out = (*out)->atoms.p_sure = delta;
    (*out)->atoms.q_out = (*out)->atoms.q_sure = delta;
    return DPA_OK;
}

/* With probability `noise` a random one of k buckets, otherwise the true one. */
dpa_status dpa__pair_response(double noise, double buckets, dpa_pair **out, dpa_error *err) {
    if (!(noise > 0 && noise <= 1 && buckets >= 2 && buckets <= 1e15 && floor(buckets) == buckets))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "noise %g over %g buckets: the noise must be in (0, 1], the buckets a "
                         "whole number from 2",
                         noise, buckets);
    const double other = noise / buckets, own = 1 - noise + other;
    DPA_TRY(new_pair(log(own / other), out, err));
    DPA_TRY(add(out, log(own / other), log(own), err));
    DPA_TRY(add(out, -log(own / other), log(other), err));
    return buckets > 2 ? add(out, 0, log(other) + log(buckets - 2), err) : DPA_OK;
}

/* Mass tanh(a/2)·e^(−a|x|) at whole x, against the same moved by s: the loss is as for x ≤ 0, −as
 * for x ≥ s, a(s−2x) between. */
dpa_status dpa__pair_discrete_laplace(double a, double s, dpa_pair **out, dpa_error *err) {
    if (!(a >= 1e-9 && a <= 1e5 && s >= 1 && s <= MOST_ATOMS && floor(s) == s))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "noise parameter %g, sensitivity %g: they must be in [1e-9, 1e5] and a "
                         "whole number from 1 to %d",
                         a, s, MOST_ATOMS);
    DPA_TRY(new_pair(a, out, err));
    const double centre = log(tanh(a / 2)), half = -dpa__log1p_exp(-a); /* log Pr[x ≤ 0] */
    DPA_TRY(add(out, a * s, half, err));
    for (double x = 1; x < s; ++x) DPA_TRY(add(out, a * (s - 2 * x), centre - a * x, err));
    return add(out, -a * s, half - a * s, err);
}

/* Mass ∝ e^(−x²/2σ²) at whole x, against the same moved by s: the loss is s(s−2x)/2σ². Tails below
 * 1e-330 in total are counted as infinite losses. */
dpa_status dpa__pair_discrete_gaussian(double sigma, double s, dpa_pair **out, dpa_error *err) {
    const double far = ceil(40 * sigma + s);
    if (!(sigma >= 1e-3 && s >= 1 && floor(s) == s && 2 * far <= MOST_ATOMS))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "sigma %g, sensitivity %g: sigma must be at least 0.001, the sensitivity a "
            "whole number from 1, and 80·sigma + 2·sensitivity at most %d",
            sigma, s, MOST_ATOMS);
    const double square = 2 * sigma * sigma;
    DPA_TRY(new_pair(s / square, out, err));
    double total = 1;
    for (double x = 1; x <= far; ++x) total += 2 * exp(-x * x / square);
    for (double x = -far; x <= far; ++x)
        DPA_TRY(add(out, s * (s - 2 * x) / square, -x * x / square - log(total), err));
    (*out)->atoms.error = 1e-13;
    (*out)->atoms.p_out = (*out)->atoms.q_out = 1e-320;
    return DPA_OK;
}

/* Pr[from < X ≤ to] from the logarithm of a distribution function, computed from the smaller tail.
 */
static double log_between(double log_from, double log_to) {
    if (log_from > -0.7) return log(expm1(log_to) - expm1(log_from));
    return dpa__log_sub(log_to, log_from);
}

/* One epoch of shuffled batches. All other records have gradient −1; the one record has +1 and is
 * present, or zeroed (replaced: −1 too). So the sum of its batch lies 2 above those of the others,
 * or `less` (1; replaced: 0), in a batch that nobody knows (Chua et al. 2024). An attacker who
 * looks only at the largest of the n sums sees a number with distribution function
 * Φ((x−c)/σ)·Φ(x/σ)^(n−1), c = 2 or `less`. Rounding it to a grid is a post-processing, so the pair
 * of these pmfs is dominated by the epoch's. */
dpa_status dpa__pair_shuffled_maximum(double sigma, double batches, double less, dpa_pair **out,
                                      dpa_error *err) {
    enum { POINTS = 1500 };
    const double top = dpa__norm_quantile(-60, DPA_LOG_UPPER);
    const double from = -top, to = top + 2 / sigma;
    DPA_TRY(new_pair(0, out, err));
    double before[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int k = 1; k <= POINTS; ++k) {
        const double z = from + (to - from) * k / POINTS, others = batches - 1;
        double mass[2];
        for (int which = 0; which < 2; ++which) {
            const double own = z - (which == 0 ? 2 : less) / sigma;
            const double here = dpa__norm_cdf(own, DPA_LOG_LOWER) +
                                (others > 0 ? others * dpa__norm_cdf(z, DPA_LOG_LOWER) : 0);
            mass[which] = log_between(before[which], fmax(here, before[which]));
            before[which] = here;
        }
        /* Masses too rare to be known accurately are left out, which a dominated pair may do with
         * P-mass. */
        if (mass[0] > -80 && mass[1] > -80) DPA_TRY(add(out, mass[0] - mass[1], mass[0], err));
    }
    (*out)->atoms.error = (*out)->atoms.shift = 1e-11;
    return DPA_OK;
}
