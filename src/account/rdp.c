/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cross-checks: Rényi accounting, an upper bound, looser than the accountant's own; at the end the
 * central limit.
 *
 * Poisson-subsampled Gaussian: Mironov, Talwar, Zhang 2019, section 3.3: the Rényi divergence of
 * order a is log A_a/(a−1) with A_a = E_{z∼N(0,σ²)}[((1−q) + q·e^((2z−1)/2σ²))^a], a binomial sum
 * for whole a and two alternating series for others. Laplace: Mironov 2017, Table II. Randomized
 * response: from its two outcomes. Conversion: Canonne, Kamath, Steinke 2020, Proposition 12: ε =
 * RDP(a) + log((a−1)/a) − (log δ + log a)/(a−1). */
#include <math.h>

#include "account/account.h"
#include "math/dist.h"
#include "math/logspace.h"

static double log_a_whole(double q, double sigma, double order) {
    double total = -HUGE_VAL;
    for (double k = 0; k <= order; ++k) {
        const double term = dpa__log_choose(order, k) + k * log(q) + (order - k) * log1p(-q) +
                            (k * k - k) / (2 * sigma * sigma);
        total = dpa__log_add(total, term);
    }
    return total;
}

/* Fractional order: split where both mixture terms are equal, z₀ = σ²·log(1/q−1) + ½, and expand
 * around the larger one. The binomial coefficients alternate after k > order; the series is cut
 * when a term no longer counts. */
static double log_a_fraction(double q, double sigma, double order) {
    const double z0 = sigma * sigma * log(1 / q - 1) + 0.5;
    double plus = -HUGE_VAL, minus = -HUGE_VAL, sign = 1, log_coefficient = 0;
    for (double k = 0; k < 2000; ++k) {
        const double rest = order - k, square = 2 * sigma * sigma;
        const double left = log_coefficient + k * log(q) + rest * log1p(-q) + (k * k - k) / square +
                            dpa__norm_cdf((z0 - k) / sigma, DPA_LOG_LOWER);
        const double right = log_coefficient + rest * log(q) + k * log1p(-q) +
                             (rest * rest - rest) / square +
                             dpa__norm_cdf((z0 - rest) / sigma, DPA_LOG_UPPER);
        const double term = dpa__log_add(left, right);
        if (sign > 0)
            plus = dpa__log_add(plus, term);
        else
            minus = dpa__log_add(minus, term);
        if (k > order && term < plus - 35) break;
        if (rest < 0) sign = -sign;
        log_coefficient += log(fabs(rest)) - log(k + 1);
    }
    return dpa__log_sub(plus, minus); /* NaN if nothing is left */
}

static double gaussian_rdp(const dpa_phase *p, double order) {
    if (p->q == 1) return order / (2 * p->sigma * p->sigma);
    const double log_a = order == floor(order) ? log_a_whole(p->q, p->sigma, order)
                                               : log_a_fraction(p->q, p->sigma, order);
    return log_a / (order - 1);
}

static double laplace_rdp(const dpa_phase *p, double order) {
    const double b = p->sigma;
    const double grown = log(order / (2 * order - 1)) + (order - 1) / b;
    const double shrunk = log((order - 1) / (2 * order - 1)) - order / b;
    return dpa__log_add(grown, shrunk) / (order - 1);
}

static double response_rdp(const dpa_phase *p, double order) {
    const double log_yes = -dpa__log1p_exp(-p->sigma), log_no = -dpa__log1p_exp(p->sigma);
    return dpa__log_add(order * log_yes + (1 - order) * log_no,
                        order * log_no + (1 - order) * log_yes) /
           (order - 1);
}

static double phase_rdp(const dpa_phase *p, double order) {
    switch (p->mechanism) {
    case DPA_GAUSSIAN:
        return gaussian_rdp(p, order);
    case DPA_LAPLACE:
        return laplace_rdp(p, order);
    case DPA_RANDOMIZED_RESPONSE:
        return response_rdp(p, order);
    default:
        return NAN;
    }
}

static double converted(double rdp, double order, double delta) {
    if (isnan(rdp)) return HUGE_VAL; /* the series gave nothing */
    return fmax(rdp + log((order - 1) / order) - (log(delta) + log(order)) / (order - 1), 0);
}

static double epsilon_at(const dpa_phase *phases, size_t count, double delta, double order) {
    double rdp = 0;
    for (size_t k = 0; k < count; ++k)
        rdp += (double)phases[k].steps * phase_rdp(&phases[k], order);
    return converted(rdp, order, delta);
}

static int is_known(const dpa_phase *p) {
    return (p->mechanism == DPA_GAUSSIAN || p->mechanism == DPA_LAPLACE ||
            p->mechanism == DPA_RANDOMIZED_RESPONSE) &&
           p->sigma > 0 && p->q > 0 && p->q <= 1;
}

double dpa__account_rdp_epsilon(const dpa_phase *phases, size_t count, double delta) {
    if (!(delta > 0 && delta < 1) || count == 0) return NAN;
    for (size_t k = 0; k < count; ++k)
        if (!is_known(&phases[k])) return NAN;
    double best = HUGE_VAL;
    for (double order = 1.1; order < 10.95; order += 0.1)
        best = fmin(best, epsilon_at(phases, count, delta, round(order * 10) / 10));
    for (double order = 11; order < 64; ++order)
        best = fmin(best, epsilon_at(phases, count, delta, order));
    for (double order = 64; order < 1e5; order = ceil(order * 1.15)) {
        const double here = epsilon_at(phases, count, delta, order);
        if (here > 2 * best && order > 256) break;
        best = fmin(best, here);
    }
    return best;
}

double dpa__account_rdp(const dpa_phase *phases, size_t count, double order) {
    if (!(order > 1) || count == 0) return NAN;
    double rdp = 0;
    for (size_t k = 0; k < count; ++k) {
        if (!is_known(&phases[k])) return NAN;
        rdp += (double)phases[k].steps * phase_rdp(&phases[k], order);
    }
    return rdp;
}

double dpa__rdp_epsilon(const double *orders, const double *rdp, size_t count, double delta) {
    if (!(delta > 0 && delta < 1)) return NAN;
    double best = HUGE_VAL;
    for (size_t k = 0; k < count; ++k)
        if (orders[k] > 1 && rdp[k] >= 0) best = fmin(best, converted(rdp[k], orders[k], delta));
    return best;
}

/* ρ-zCDP is RDP(a) = ρa at every order; the best one is near 1 + √(log(1/δ)/ρ). */
double dpa__zcdp_epsilon(double rho, double delta) {
    if (!(rho >= 0) || !(delta > 0 && delta < 1)) return NAN;
    if (rho == 0) return 0;
    const double start = sqrt(-log(delta) / rho);
    double best = HUGE_VAL;
    for (double part = -4; part <= 4; part += 1.0 / 64) {
        const double order = 1 + start * exp(part);
        best = fmin(best, converted(rho * order, order, delta));
    }
    return best;
}

/* The central limit: subsampled Gaussian steps composed are close to one Gaussian mechanism of
 * μ² = Σ steps·q²(e^(1/σ²) − 1) (Bu, Dong, Long, Su 2020, Poisson sampling). An approximation that
 * can be too small; shown as a cross-check only. Phases without sampling enter exactly. */

double dpa__account_gdp_epsilon(const dpa_phase *phases, size_t count, double delta) {
    if (!(delta > 0 && delta < 1) || count == 0) return NAN;
    double square = 0;
    for (size_t k = 0; k < count; ++k) {
        const dpa_phase *p = &phases[k];
        if (p->mechanism != DPA_GAUSSIAN || !(p->sigma > 0) || !(p->q > 0 && p->q <= 1)) return NAN;
        const double precision = 1 / (p->sigma * p->sigma);
        square += (double)p->steps * (p->q == 1 ? precision : p->q * p->q * expm1(precision));
    }
    return isfinite(square) ? dpa_gaussian_epsilon(sqrt(square), delta) : HUGE_VAL;
}
