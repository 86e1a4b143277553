/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joint posterior (bayesian-estimation, section 3.2; for curves tight-auditing, Eq. 13).
 *
 * x = FNR ~ Beta(½+FN,½+TP), y = FPR ~ Beta(½+FP,½+TN), independent. Outside the region of a member
 * f are the pairs below the curve, x < f(y), and their mirror images, 1−x < f(1−y). With c = f(c),
 *   Pr[x < f(y)] = Fx(c)·Fy(c) + ∫_c px(s)·Fy(f⁻¹(s)) ds + ∫_c py(s)·Fx(f(s)) ds:
 * each integral runs along the flat side of the curve, so both factors are smooth. In s = end·sin²θ
 * a Jeffreys posterior has no singular end and a width of about 1/(2√N) wherever it sits, and
 * `dp`'s f(s) = e^−ε·end·cos²θ has none at s = 1−δ either. Where the inner factor is 1 the outer
 * mass is known, where either factor is below 1e-18 nothing is left: only what lies between is
 * integrated, with breakpoints around the centres of both laws. Absolute error of F: below 1e-12
 * (checked by tests/property/test_posterior.c against another parametrisation). The search for a
 * quantile starts with fixed Gauss–Legendre panels that give F and its density together, good to
 * about 1e-7. */
#include "estimate/rates/posterior.h"

#include <math.h>
#include <stddef.h>

#include "base/error.h"
#include "math/dist.h"
#include "math/quad.h"
#include "math/root.h"

/* How many half-widths 1/(2√N) in θ leave less than 1e-18: the tail is at worst exp(−N·Δθ²). */
static const double REACH = 13.0;
static const double CORE = 5.0;
static const double TOLERANCE = 2e-12;
enum { MAX_BREAKS = 10, MAX_EVALUATIONS = 20000 };

dpa__posterior dpa__posterior_of(const dpa_counts *c) {
    return (dpa__posterior){
        .fnr = {0.5 + (double)c->fn, 0.5 + (double)c->tp},
        .fpr = {0.5 + (double)c->fp, 0.5 + (double)c->tn},
    };
}

static dpa__rate_law mirrored(dpa__rate_law law) {
    return (dpa__rate_law){law.b, law.a};
}

/* The rate that lies `widths` half-widths from the centre of the law. */
static double rate_at(const dpa__rate_law *law, double widths) {
    const double n = law->a + law->b;
    const double angle = asin(sqrt(law->a / n)) + widths * 0.5 / sqrt(n);
    if (angle <= 0) return 0;
    if (angle >= M_PI_2) return 1;
    const double s = sin(angle);
    return s * s;
}

/* One of the two integrals: the outer law runs over s, the inner one sees f(s). */
typedef struct piece {
    const dpa__member *member;
    const dpa__rate_law *outer, *inner;
    int outer_is_fpr; /* f maps FPR to FNR; the other piece needs f⁻¹ */
} piece;

static double bound_at(const piece *p, double s, double rest) {
    return p->outer_is_fpr ? dpa__member_fnr(p->member, s, rest)
                           : dpa__member_fpr(p->member, s, rest);
}

/* s with bound_at(s) = v, for v ≤ fixed. */
static double bound_inverse(const piece *p, double v) {
    const double end = p->member->end;
    if (v <= 0) return end;
    if (v >= p->member->fixed) return p->member->fixed;
    return p->outer_is_fpr ? dpa__member_fpr(p->member, v, end - v)
                           : dpa__member_fnr(p->member, v, end - v);
}

static double angle_of(const piece *p, double s) {
    const double share = s / p->member->end;
    return share >= 1 ? M_PI_2 : asin(sqrt(fmax(share, 0)));
}

static double log_density(const dpa__rate_law *law, double s, double complement) {
    return s < 0.5 ? dpa__beta_log_pdf(s, law->a, law->b)
                   : dpa__beta_log_pdf(complement, law->b, law->a);
}

/* A place on the outer axis: its rates, the outer density in θ, the inner limit. */
typedef struct node {
    double s, rest, log_outer, limit;
} node;

static int node_at(const piece *p, double angle, node *out) {
    const double end = p->member->end, sine = sin(angle), cosine = cos(angle);
    out->s = end * sine * sine;
    out->rest = end * cosine * cosine;
    if (!(out->s > 0 && out->rest > 0)) return 0;
    out->limit = fmin(bound_at(p, out->s, out->rest), 1);
    out->log_outer =
        log_density(p->outer, out->s, out->rest + (1 - end)) + log(2 * end * sine * cosine);
    return out->limit > 0;
}

static double mass_at(double angle, void *user) {
    const piece *p = user;
    node n;
    if (!node_at(p, angle, &n)) return 0;
    return exp(n.log_outer) * dpa__beta_cdf(n.limit, p->inner->a, p->inner->b, DPA_LOWER);
}

static double density_at(double angle, void *user) {
    const piece *p = user;
    node n;
    if (!node_at(p, angle, &n)) return 0;
    return -dpa__member_slope(p->member, n.s, n.rest) *
           exp(n.log_outer + dpa__beta_log_pdf(n.limit, p->inner->a, p->inner->b));
}

/* Inserts x into an ascending list; drops it unless it is inside (first, last). */
static void add_break(double *breaks, size_t *count, double x) {
    if (!(x > breaks[0] && x < breaks[*count - 1]) || *count == MAX_BREAKS) return;
    size_t i = (*count)++;
    for (; breaks[i - 1] > x; --i) breaks[i] = breaks[i - 1];
    breaks[i] = x;
}

/* The panels of a piece in θ; returns 0 if nothing needs to be integrated. *whole is the mass where
 * the inner factor is 1. */
static size_t plan(const piece *p, double *breaks, double *whole) {
    const double fixed = p->member->fixed;
    const double full = bound_inverse(p, rate_at(p->inner, REACH));
    const double none = bound_inverse(p, rate_at(p->inner, -REACH));
    *whole = full > fixed ? dpa__beta_cdf(full, p->outer->a, p->outer->b, DPA_LOWER) -
                                dpa__beta_cdf(fixed, p->outer->a, p->outer->b, DPA_LOWER)
                          : 0;
    const double from = fmax(fmax(full, fixed), rate_at(p->outer, -REACH));
    breaks[0] = angle_of(p, from);
    breaks[1] = angle_of(p, fmin(none, rate_at(p->outer, REACH)));
    if (!(breaks[0] < breaks[1])) return 0;
    size_t count = 2;
    const double outer_width =
        angle_of(p, rate_at(p->outer, 1)) - angle_of(p, rate_at(p->outer, -1));
    const double inner_width = angle_of(p, bound_inverse(p, rate_at(p->inner, -1))) -
                               angle_of(p, bound_inverse(p, rate_at(p->inner, 1)));
    const int is_curve = p->member->kind == DPA__MODEL_CURVES;
    for (int side = -1; side <= 1; ++side) {
        add_break(breaks, &count, angle_of(p, rate_at(p->outer, side * CORE)));
        if (inner_width < outer_width || is_curve)
            add_break(breaks, &count,
                      angle_of(p, bound_inverse(p, rate_at(p->inner, side * CORE))));
    }
    if (is_curve) add_break(breaks, &count, angle_of(p, 0.5)); /* where Laplace's curve bends */
    return count;
}

/* The four pieces outside the region: two below the curve, two in its mirror image. Returns the
 * mass near the fixed points, which needs no integral. */
static double cut(const dpa__member *member, const dpa__posterior *below,
                  const dpa__posterior *above, piece *pieces) {
    const double c = member->fixed;
    double corners = 0;
    const dpa__posterior *half[2] = {below, above};
    for (int i = 0; i < 2; ++i) {
        const dpa__rate_law *x = &half[i]->fnr, *y = &half[i]->fpr;
        pieces[2 * i] = (piece){member, y, x, 1};
        pieces[2 * i + 1] = (piece){member, x, y, 0};
        corners +=
            dpa__beta_cdf(c, x->a, x->b, DPA_LOWER) * dpa__beta_cdf(c, y->a, y->b, DPA_LOWER);
    }
    return corners;
}

/* Mass (or density) outside the region of a member by adaptive quadrature. */
static dpa_status outside_member(const dpa__posterior *posterior, const dpa__member *member,
                                 int is_density, dpa__mass *sum, dpa_error *err) {
    piece pieces[4];
    dpa_status status = DPA_OK;
    const dpa__posterior mirror = {mirrored(posterior->fnr), mirrored(posterior->fpr)};
    const double corners = cut(member, posterior, &mirror, pieces);
    *sum = (dpa__mass){is_density ? 0 : corners, 0};
    for (int i = 0; i < 4 && status == DPA_OK; ++i) {
        double breaks[MAX_BREAKS], whole;
        dpa__quad quad = {0, 0, 0};
        const size_t count = plan(&pieces[i], breaks, &whole);
        if (count > 0)
            status = dpa__integrate(is_density ? density_at : mass_at, &pieces[i], breaks, count,
                                    TOLERANCE, TOLERANCE, MAX_EVALUATIONS, &quad, err);
        if (status == DPA_NUMERIC) status = DPA_OK; /* a curve of many corners: the error says so */
        sum->value += quad.value + (is_density ? 0 : whole);
        sum->error += quad.error;
    }
    return status;
}

static dpa_status outside(const dpa__posterior *posterior, const dpa__model *model, double t,
                          int is_density, dpa__mass *sum, dpa_error *err) {
    dpa__member member;
    DPA_TRY(dpa__member_open(model, t, &member, err));
    const dpa_status status = outside_member(posterior, &member, is_density, sum, err);
    dpa__member_close(&member);
    return status;
}

void dpa__posterior_quick(const dpa__posterior *posterior, const dpa__model *model, double t,
                          const dpa__gauss *gauss, double *mass, double *density) {
    dpa__member member;
    piece pieces[4];
    *mass = NAN;
    if (dpa__member_open(model, t, &member, NULL) != DPA_OK) return;
    const dpa__posterior mirror = {mirrored(posterior->fnr), mirrored(posterior->fpr)};
    double sum = cut(&member, posterior, &mirror, pieces), slope = 0;
    for (int i = 0; i < 4; ++i) {
        const piece *p = &pieces[i];
        double breaks[MAX_BREAKS], whole;
        const size_t count = plan(p, breaks, &whole);
        sum += whole;
        for (size_t k = 1; k < count; ++k) {
            const double middle = 0.5 * (breaks[k] + breaks[k - 1]);
            const double half = 0.5 * (breaks[k] - breaks[k - 1]);
            for (int j = 0; j < DPA__GAUSS; ++j) {
                node n;
                if (!node_at(p, middle + half * gauss->node[j], &n)) continue;
                const double w = half * gauss->weight[j] * exp(n.log_outer);
                if (w < 1e-11) continue;
                sum += w * dpa__beta_cdf(n.limit, p->inner->a, p->inner->b, DPA_LOWER);
                if (density == NULL) continue;
                slope -= w * dpa__member_slope(p->member, n.s, n.rest) *
                         exp(dpa__beta_log_pdf(n.limit, p->inner->a, p->inner->b));
            }
        }
    }
    *mass = fmin(fmax(1 - sum, 0), 1);
    if (density != NULL) *density = slope;
    dpa__member_close(&member);
}

dpa_status dpa__posterior_mass_in(const dpa__posterior *posterior, const dpa__member *member,
                                  dpa__mass *out, dpa_error *err) {
    DPA_TRY(outside_member(posterior, member, 0, out, err));
    out->value = fmin(fmax(1 - out->value, 0), 1);
    return DPA_OK;
}

/* A lower bound on Pr[x ≥ f(y)]: f falls, so y ≥ v and x ≥ f(v) together suffice, for any v. */
static double least_above(const dpa__rate_law *x, const dpa__rate_law *y,
                          const dpa__member *member) {
    double most = 0;
    for (int i = -2; i <= 2; ++i) {
        const double v = rate_at(y, i);
        const double f = dpa__member_fnr(member, v, member->end - v);
        most = fmax(most, dpa__beta_cdf(v, y->a, y->b, DPA_UPPER) *
                              dpa__beta_cdf(fmin(fmax(f, 0), 1), x->a, x->b, DPA_UPPER));
    }
    return most;
}

int dpa__posterior_surely_holds(const dpa__posterior *posterior, const dpa__member *member,
                                double p) {
    const dpa__rate_law x = mirrored(posterior->fnr), y = mirrored(posterior->fpr);
    const double below = 1 - least_above(&posterior->fnr, &posterior->fpr, member);
    /* beyond the rounding of the distributions */
    if (!(1 - below > p + 1e-9)) return 0;
    return 1 - below - (1 - least_above(&x, &y, member)) > p + 1e-9;
}

dpa_status dpa__posterior_mass(const dpa__posterior *posterior, const dpa__model *model, double t,
                               dpa__mass *out, dpa_error *err) {
    DPA_TRY(outside(posterior, model, t, 0, out, err));
    out->value = fmin(fmax(1 - out->value, 0), 1);
    return DPA_OK;
}

dpa_status dpa__posterior_density(const dpa__posterior *posterior, const dpa__model *model,
                                  double t, double *out, dpa_error *err) {
    dpa__mass sum;
    if (model->kind != DPA__MODEL_CURVES) {
        DPA_TRY(outside(posterior, model, t, 1, &sum, err));
        *out = sum.value;
        return DPA_OK;
    }
    const double step = fmin(1e-3 * fmax(t, 1e-3), 0.5 * t);
    const double high = fmin(t + step, model->max), low = t - step;
    dpa__mass above, below;
    DPA_TRY(dpa__posterior_mass(posterior, model, high, &above, err));
    DPA_TRY(dpa__posterior_mass(posterior, model, low, &below, err));
    *out = (above.value - below.value) / (high - low);
    return DPA_OK;
}

/* Quantiles of the posterior of a family's parameter. Φ⁻¹(F(t)) is close to a straight line, so
 * solving Φ⁻¹(F(t)) = Φ⁻¹(p) takes about six evaluations of F. The bracket comes from single rates:
 * the member for both rates' quantiles at p/2 lies below the root, the one for quantiles at √p
 * above it (unless the mirror image of the region matters: then the bracket is widened). For the
 * closed families Newton's method on quick panels comes first, and one exact evaluation ends it. */

typedef struct search {
    const dpa__posterior *posterior;
    const dpa__model *model;
    double level;      /* Φ⁻¹(p) */
    double quadrature; /* largest error of F seen */
    dpa_status status;
    dpa_error *err;
} search;

static double excess(double t, void *user) {
    search *s = user;
    dpa__mass mass;
    if (s->status == DPA_OK)
        s->status = dpa__posterior_mass(s->posterior, s->model, t, &mass, s->err);
    if (s->status != DPA_OK) return NAN;
    s->quadrature = fmax(s->quadrature, mass.error);
    return dpa__norm_quantile(mass.value, DPA_LOWER) - s->level;
}

/* The member for both rates' upper quantiles at `tail`; 0 above the diagonal. */
static dpa_status corner(const search *s, double tail, double *out, dpa_error *err) {
    const dpa__posterior *p = s->posterior;
    const double x = dpa__beta_quantile(tail, p->fnr.a, p->fnr.b, DPA_UPPER);
    const double y = dpa__beta_quantile(tail, p->fpr.a, p->fpr.b, DPA_UPPER);
    *out = 0;
    return x + y < 1 ? dpa__model_locate(s->model, x, y, 0, out, err) : DPA_OK;
}

/* [low, high] with F(low) < p ≤ F(high); low = high = 0 if the atom at 0 has enough mass. */
static dpa_status bracket(search *s, double p, double *low, double *high, dpa_error *err) {
    DPA_TRY(corner(s, 0.5 * p, low, err));
    DPA_TRY(corner(s, sqrt(p), high, err));
    *low = fmin(*low * (1 - 1e-9), s->model->max);
    *high = fmin(fmax(*high * (1 + 1e-9), 1e-3), s->model->max);
    if (*low > 0 && excess(*low, s) >= 0) *low = 0;
    if (*low == 0 && excess(0, s) >= 0) *high = 0;
    while (*high > 0 && *high < s->model->max && excess(*high, s) < 0) {
        *low = *high;
        *high = fmin(2 * *high, s->model->max);
        if (*high > 1e6)
            return dpa__fail(err, DPA_NUMERIC, "no member of the family is leaky enough");
    }
    return s->status;
}

/* Newton's method on z(t) = Φ⁻¹(F(t)) with the quick panels; NaN if it does not converge. */
static double newton(const search *s, double *slope) {
    dpa__gauss gauss;
    double t = NAN;
    dpa__gauss_legendre(DPA__GAUSS, gauss.node, gauss.weight);
    /* start where both rates contribute equally to the level */
    if (corner(s, dpa__norm_cdf(s->level * M_SQRT1_2, DPA_LOWER), &t, NULL) != DPA_OK) return NAN;
    for (int i = 0; i < 8 && t > 0 && isfinite(t); ++i) {
        double mass, density;
        dpa__posterior_quick(s->posterior, s->model, t, &gauss, &mass, &density);
        const double z = dpa__norm_quantile(mass, DPA_LOWER);
        *slope = density / exp(dpa__norm_log_pdf(z));
        const double step = (z - s->level) / *slope;
        if (!isfinite(step)) return NAN;
        t -= fmax(fmin(step, 0.5 * t), -0.5 * t);
        if (fabs(z - s->level) < 1e-3) return t; /* the next residual is about its square */
    }
    return NAN;
}

/* Exact evaluations and final Newton steps from `t`, usually one. *is_done stays 0 if `t` was too
 * far away. */
static dpa_status polish(const search *s, double slope, double *t, double *error, int *is_done,
                         dpa_error *err) {
    for (int i = 0; i < 4; ++i) {
        dpa__mass mass;
        DPA_TRY(dpa__posterior_mass(s->posterior, s->model, *t, &mass, err));
        const double z = dpa__norm_quantile(mass.value, DPA_LOWER);
        const double step = (z - s->level) / slope;
        if (!(fabs(z - s->level) < 1e-4 && fabs(step) < 1e-2 * *t)) return DPA_OK;
        *t -= step;
        /* the slope is that of the last quick step, less than 0.001 deviations away */
        const double left = 1e-3 * fabs(step);
        *error = (mass.error + 1e-15) / (slope * exp(dpa__norm_log_pdf(z))) + 1e-15 * *t + left;
        *is_done = left < 1e-10;
        if (*is_done) return DPA_OK;
    }
    return DPA_OK;
}

static dpa_status by_bracket(search *s, double p, double *t, double *error, dpa_error *err) {
    double low, high, density;
    DPA_TRY(bracket(s, p, &low, &high, err));
    *t = high;
    *error = 0;
    if (high == 0) return DPA_OK;
    if (high >= s->model->max && excess(high, s) < 0) return s->status;
    dpa__bracket root;
    const dpa_status status = dpa__root(excess, s, low, high, 1e-12, 1e-12, &root, err);
    if (s->status != DPA_OK) return s->status;
    DPA_TRY(status);
    *t = 0.5 * (root.lower + root.upper);
    DPA_TRY(dpa__posterior_density(s->posterior, s->model, *t, &density, err));
    *error = root.upper - root.lower + (s->quadrature + 1e-15) / density;
    return DPA_OK;
}

dpa_status dpa__posterior_quantile(const dpa__posterior *posterior, const dpa__model *model,
                                   double p, double *t, double *error, dpa_error *err) {
    search s = {posterior, model, dpa__norm_quantile(p, DPA_LOWER), 0, DPA_OK, err};
    if (model->kind != DPA__MODEL_CURVES) {
        double slope;
        int is_done = 0;
        *t = newton(&s, &slope);
        if (isfinite(*t)) DPA_TRY(polish(&s, slope, t, error, &is_done, err));
        if (is_done) return DPA_OK;
    }
    return by_bracket(&s, p, t, error, err);
}
