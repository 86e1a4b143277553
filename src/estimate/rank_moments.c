/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mean and variance of U* = #{(i,j): W*_i < V_j} for m members and n non-members. With g = 1−f,
 *   A = Pr[W* < V] = ∫ g,  Q₁ = Pr[both of two W* < V] = ∫ g²,  Q₂ = Pr[W* < two V] = ∫ 2(1−v) g(v)
 * dv, Var U* = mn·(A(1−A) + (m−1)(Q₁−A²) + (n−1)(Q₂−A²)). For `gaussian` Q₁ = Q₂ by reflection.
 * Relative error of the quadrature: 1e-12. */
#include <math.h>

#include "base/error.h"
#include "estimate/rank.h"
#include "math/dist.h"
#include "math/quad.h"

typedef struct integral {
    const dpa__member *member;
    enum { POWER_1, POWER_2, WEIGHTED, NORMAL } which;
} integral;

static double integrand(double v, void *user) {
    const integral *w = user;
    if (w->which == NORMAL) {
        const double win = dpa__norm_cdf(w->member->t - v, DPA_LOWER);
        return exp(dpa__norm_log_pdf(v)) * win * win;
    }
    const double g = dpa__curve_tpr(w->member->curve, v);
    return w->which == POWER_1 ? g : w->which == POWER_2 ? g * g : 2 * (1 - v) * g;
}

static dpa_status integrate(const dpa__member *member, int which, double *out, dpa_error *err) {
    static const double rates[] = {0, 1e-12, 1e-8, 1e-5, 1e-3, 0.05, 0.3, 0.5, 0.8, 1};
    const double normal[] = {-10, -5, 0, member->t, member->t + 5, member->t + 10};
    const double plain[] = {-10, -5, 0, 5, 10};
    integral w = {member, POWER_1};
    w.which = which;
    const int is_far = member->t > 0 && member->t < 5;
    const double *breaks = which != NORMAL ? rates : is_far ? normal : plain;
    const size_t count = which != NORMAL ? 10 : is_far ? 6 : 5;
    dpa__quad quad;
    const dpa_status status =
        dpa__integrate(integrand, &w, breaks, count, 1e-13, 1e-12, 200000, &quad, err);
    *out = quad.value;
    return status == DPA_NUMERIC ? DPA_OK : status; /* a curve of many corners: good to 1e-9 */
}

dpa_status dpa__rank_moments(const dpa__member *member, double m, double n, double *mean,
                             double *deviation, dpa_error *err) {
    double area, two_in, two_out;
    if (member->kind == DPA__MODEL_GAUSSIAN) {
        area = dpa__norm_cdf(member->t * M_SQRT1_2, DPA_LOWER);
        DPA_TRY(integrate(member, NORMAL, &two_in, err));
        two_out = two_in;
    } else {
        DPA_TRY(integrate(member, POWER_1, &area, err));
        DPA_TRY(integrate(member, POWER_2, &two_in, err));
        DPA_TRY(integrate(member, WEIGHTED, &two_out, err));
    }
    const double square = area * area;
    *mean = m * n * area;
    *deviation = sqrt(
        m * n *
        fmax(area * (1 - area) + (m - 1) * (two_in - square) + (n - 1) * (two_out - square), 0));
    return DPA_OK;
}
