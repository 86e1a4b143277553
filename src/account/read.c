/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading δ(ε) and ε(δ) from a composed pmf, and finding the best tilt.
 *
 * For ℓ_j ≤ ε < ℓ_{j+1}: δ(ε) = e^(log_scale−θℓ_j)·(c_j − (e^(ε−ℓ_j) − 1)·b_j). */
#include <math.h>

#include "account/pld.h"
#include "math/logspace.h"
#include "math/root.h"

static const double ROUNDING = 1.2e-16;

/* log of sup over t of e^(−θt)(1−e^−t). */
static double log_peak(double theta) {
    return theta * log(theta) - (theta + 1) * log1p(theta);
}

static double loss_of(const dpa__composed *composed, size_t j) {
    return dpa__loss_at(composed->origin, composed->h, composed->first + (ptrdiff_t)j);
}

/* Chernoff: the sum of (1 − e^(ε−ℓ))⁺ over any pmf is at most its tilted mass times the peak. Used
 * where ε lies below the window. */
static double chernoff_log_delta(const dpa__composed *composed, double at) {
    const double exponent = composed->log_scale - composed->theta * at;
    const double peak = composed->theta > 0 ? log_peak(composed->theta) : 0;
    return exponent + peak + log1p(composed->factor) + 1e-6;
}

double dpa__composed_log_delta(const dpa__composed *composed, double epsilon) {
    const int safe = composed->side == DPA_PESSIMISTIC;
    const double at = safe ? epsilon - composed->shift : epsilon + composed->shift;
    const double position = floor((at - composed->origin) / composed->h) - (double)composed->first;
    if (isinf(composed->factor)) return safe ? 0 : log(composed->extra);
    if (position < 0 && safe)
        return fmin(dpa__log_add(chernoff_log_delta(composed, at), log(composed->extra)), 0);
    if (position >= (double)composed->count) return log(composed->extra);
    size_t j = position > 0 ? (size_t)position : 0;
    double above = at - loss_of(composed, j);
    if (!safe && j < composed->from) { /* δ falls with ε */
        if (composed->from == composed->count) return log(composed->extra);
        j = composed->from;
        above = 0;
    }
    const double loss = loss_of(composed, j);
    const double slack = 8 * ROUNDING * (composed->c[j] + composed->b[j]);
    const double sum = composed->c[j] - expm1(above) * composed->b[j] + (safe ? slack : -slack);
    const double exponent = composed->log_scale - composed->theta * loss;
    const double doubt = log1p(composed->factor) +
                         8 * ROUNDING * (fabs(composed->log_scale) + fabs(composed->theta * loss));
    const double log_delta = exponent + log(fmax(sum, 0));
    return fmin(dpa__log_add(log_delta + (safe ? doubt : -doubt), log(composed->extra)), 0);
}

typedef struct target {
    const dpa__composed *composed;
    double log_delta;
} target;

static int is_private_enough(double epsilon, void *user) {
    const target *t = user;
    return dpa__composed_log_delta(t->composed, epsilon) <= t->log_delta;
}

double dpa__composed_epsilon(const dpa__composed *composed, double delta) {
    target t = {composed, log(delta)};
    const int safe = composed->side == DPA_PESSIMISTIC;
    const double end = loss_of(composed, composed->count + 1);
    const double top = fmax(end, 0) + composed->shift;
    if (is_private_enough(0, &t)) return 0;
    if (!is_private_enough(top, &t)) return safe || composed->extra > delta ? HUGE_VAL : 0;
    dpa__bracket bracket;
    if (dpa__bisect(is_private_enough, &t, 0, top, 0, 1e-15, &bracket, NULL) != DPA_OK)
        return safe ? HUGE_VAL : 0;
    return safe ? bracket.upper : bracket.lower;
}

typedef struct chernoff {
    const dpa__pmf *pmf;
    size_t count;
    double log_delta, epsilon;
} chernoff;

static double cumulant(const chernoff *c, double theta) {
    double total = 0;
    for (size_t k = 0; k < c->count; ++k)
        total += c->pmf[k].steps * dpa__pmf_log_mgf(&c->pmf[k], theta);
    return total;
}

static double epsilon_bound(double theta, void *user) {
    const chernoff *c = user;
    return (cumulant(c, theta) + log_peak(theta) - c->log_delta) / theta;
}

static double log_delta_bound(double theta, void *user) {
    const chernoff *c = user;
    /* Beyond the largest loss it falls without limit; far below the range of double is low enough.
     */
    return fmax(cumulant(c, theta) + log_peak(theta) - theta * c->epsilon, -1500);
}

/* A tilt to start from. Above the best tilt the bound is nearly the largest loss of a step, which
 * is flat if losses are large; below, it is steep. So large losses should give a small start. */
static double first_tilt(const dpa__pmf *pmf, size_t count) {
    double widest = 0;
    for (size_t k = 0; k < count; ++k) widest = fmax(widest, pmf[k].h * (double)pmf[k].count);
    return fmin(4, 400 / widest);
}

double dpa__tilt_for_delta(const dpa__pmf *pmf, size_t count, double delta, double *epsilon) {
    chernoff c = {pmf, count, log(delta), 0};
    const double theta = dpa__descend(epsilon_bound, &c, first_tilt(pmf, count), epsilon);
    return *epsilon > 0 ? theta : 0;
}

double dpa__tilt_for_epsilon(const dpa__pmf *pmf, size_t count, double epsilon) {
    chernoff c = {pmf, count, 0, epsilon};
    double bound;
    const double theta = dpa__descend(log_delta_bound, &c, first_tilt(pmf, count), &bound);
    return theta < 1e-3 ? 0 : theta;
}
