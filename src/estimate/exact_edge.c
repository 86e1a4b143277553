/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log likelihood ratio of an outcome against {FNR ≥ edge(FPR)}.
 *
 * It is the least of n₀·KL(b/n₀ ‖ y) + n₁·KL(a/n₁ ‖ edge(y)) over y. Along a straight piece that is
 * convex: Newton's method, kept in a bracket. The region above a convex edge is convex and the
 * likelihood log-concave, so along such an edge every stationary point is the minimum: golden
 * section. Above a turned edge (concave) nothing is known: the least over a fixed grid of the edge,
 * which is an order like any other, as every term falls with a and with b. */
#include <math.h>

#include "estimate/exact.h"

enum { GOLDEN_STEPS = 60, NEWTON_STEPS = 60, GRID = 400 };

dpa__edge dpa__edge_of(const dpa_curve *curve, int is_turned) {
    return (dpa__edge){.curve = curve, .is_turned = is_turned};
}

dpa__edge dpa__edge_dp(const dpa_curve *curve, double epsilon, double delta, int is_turned) {
    const double fixed = (1 - delta) / (1 + exp(epsilon));
    dpa__edge e = {.curve = curve, .is_turned = is_turned, .pieces = 3};
    const double x[] = {0, fixed, 1 - delta, 1}, y[] = {1 - delta, fixed, 0, 0};
    for (int i = 0; i < 4; ++i) {
        e.corner[i] = is_turned ? 1 - x[3 - i] : x[i];
        e.level[i] = is_turned ? 1 - y[3 - i] : y[i];
    }
    return e;
}

double dpa__edge_fnr(const dpa__edge *e, double fpr) {
    return e->is_turned ? dpa__curve_tpr(e->curve, 1 - fpr) : dpa_curve_fnr(e->curve, fpr);
}

double dpa__edge_fpr(const dpa__edge *e, double fnr) {
    return e->is_turned ? 1 - dpa__curve_fpr_at_tpr(e->curve, fnr) : dpa_curve_fpr(e->curve, fnr);
}

static double times_log(double k, double rate) {
    return k > 0 ? k * log(rate) : 0;
}

/* −log likelihood of the outcome at (x,y), without its constant. */
static double cost(const dpa__outcome *o, double x, double y) {
    return -times_log(o->a, x) - times_log(o->n1 - o->a, 1 - x) - times_log(o->b, y) -
           times_log(o->n0 - o->b, 1 - y);
}

static double over(double k, double rate) {
    return k > 0 ? k / rate : 0;
}

/* A straight piece of the edge: x = x0 + slope·(y − y0) for y in [y0, y1]. */
typedef struct line {
    double y0, x0, y1, slope;
} line;

/* The cost's derivative along it; *bend is the second one. */
static double rise_at(const dpa__outcome *o, const line *l, double y, double *bend) {
    const double x = l->x0 + l->slope * (y - l->y0), p = 1 - x, q = 1 - y;
    const double b = over(o->b, y), d = over(o->n0 - o->b, q);
    const double a = over(o->a, x), c = over(o->n1 - o->a, p);
    *bend = over(b, y) + over(d, q) + l->slope * l->slope * (over(a, x) + over(c, p));
    return d - b - l->slope * (a - c);
}

/* The least cost along the line. */
static double line_cost(const dpa__outcome *o, const line *l) {
    double low = l->y0, high = l->y1, y = fmin(fmax(o->b / o->n0, low), high), bend;
    if (y <= low || y >= high) y = 0.5 * (low + high);
    for (int i = 0; i < NEWTON_STEPS && high - low > 1e-15 * high; ++i) {
        const double rise = rise_at(o, l, y, &bend);
        *(rise > 0 ? &high : &low) = y;
        const double next = y - rise / bend;
        const int is_inside = next > low && next < high;
        if (is_inside && fabs(next - y) < 1e-8 * fmin(y, 1 - y)) break;
        y = is_inside ? next : 0.5 * (low + high);
    }
    return cost(o, l->x0 + l->slope * (y - l->y0), y);
}

/* The least cost over all pieces. Along a convex edge the first piece whose far end is beyond the
 * minimum contains it. */
static double pieces_cost(const dpa__edge *e, const dpa__outcome *o) {
    double least = HUGE_VAL, bend;
    for (size_t i = 0; i < e->pieces; ++i) {
        line l = {e->corner[i], e->level[i], e->corner[i + 1], 0};
        if (!(l.y1 > l.y0)) continue;
        l.slope = (e->level[i + 1] - l.x0) / (l.y1 - l.y0);
        const double end = l.y1 * (1 - 1e-14);
        if (!e->is_turned && i + 1 < e->pieces && end > l.y0 && rise_at(o, &l, end, &bend) < 0) {
            least = fmin(least, cost(o, e->level[i + 1], l.y1));
            continue;
        }
        least = fmin(least, line_cost(o, &l));
        if (!e->is_turned) break;
    }
    return least;
}

static double golden_cost(const dpa__edge *e, const dpa__outcome *o) {
    const double ratio = 0.5 * (sqrt(5) - 1);
    double low = o->b / o->n0, high = fmin(1, dpa__edge_fpr(e, o->a / o->n1));
    double y[2], f[2];
    for (int i = 0; i < 2; ++i) {
        y[i] = i == 0 ? high - ratio * (high - low) : low + ratio * (high - low);
        f[i] = cost(o, dpa__edge_fnr(e, y[i]), y[i]);
    }
    for (int i = 0; i < GOLDEN_STEPS && high - low > 1e-10 * high; ++i) {
        const int keep = f[0] < f[1] ? 0 : 1; /* this one stays */
        *(keep == 0 ? &high : &low) = y[1 - keep];
        y[1 - keep] = y[keep];
        f[1 - keep] = f[keep];
        y[keep] = keep == 0 ? high - ratio * (high - low) : low + ratio * (high - low);
        f[keep] = cost(o, dpa__edge_fnr(e, y[keep]), y[keep]);
    }
    return fmin(f[0], f[1]);
}

/* n·KL(k/n ‖ rate) if k/n is below the rate, else 0. */
static double shortfall(double k, double n, double rate) {
    if (k >= n * rate) return 0;
    return (k > 0 ? k * log(k / (n * rate)) : 0) + (n - k) * log((n - k) / (n * (1 - rate)));
}

static double grid_ratio(const dpa__edge *e, const dpa__outcome *o) {
    double least = HUGE_VAL;
    for (int i = 0; i <= GRID; ++i) {
        const double s = sin(0.5 * M_PI * i / GRID), y = s * s;
        least =
            fmin(least, shortfall(o->b, o->n0, y) + shortfall(o->a, o->n1, dpa__edge_fnr(e, y)));
    }
    return least;
}

double dpa__edge_ratio(const dpa__edge *e, const dpa__outcome *o) {
    const double x = o->a / o->n1, y = o->b / o->n0;
    if (x >= dpa__edge_fnr(e, y)) return 0;
    if (e->pieces == 0 && e->is_turned) return grid_ratio(e, o);
    const double least = e->pieces == 0 ? golden_cost(e, o) : pieces_cost(e, o);
    return fmax(0, least - cost(o, x, y));
}
