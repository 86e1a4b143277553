/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds and p-values from a confusion matrix by the exact unconditional test (methods.md, section
 * 14): outcomes are ordered by their likelihood ratio against the hypothesis, and the p-value is
 * the largest probability, over the hypothesis, of an outcome at least as extreme. As in scan.c the
 * bound is the last rejected point of a fixed grid. A run of grid points is rejected at once if
 * this test rejects: the order of its first point, the hypothesis of its last, and the observed
 * ratio against its last. */
#include "estimate/rates/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/walk.h"
#include "math/dist.h"

/* The log likelihood ratio of an outcome against {FNR ≥ edge(FPR)}.
 *
 * It is the least of n₀·KL(b/n₀ ‖ y) + n₁·KL(a/n₁ ‖ edge(y)) over y. Along a straight piece that is
 * convex: Newton's method, kept in a bracket. The region above a convex edge is convex and the
 * likelihood log-concave, so along such an edge every stationary point is the minimum: golden
 * section. Above a turned edge (concave) nothing is known: the least over a fixed grid of the edge,
 * which is an order like any other, as every term falls with a and with b. */

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

/* The smallest FPR whose edge is at most `fnr`. */
static double edge_fpr(const dpa__edge *e, double fnr) {
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
    double low = o->b / o->n0, high = fmin(1, edge_fpr(e, o->a / o->n1));
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

/* Probabilities of {ratio ≥ value} and their supremum along an edge, certified.
 *
 * The ratio falls with both counts, so the set is under a staircase b ≤ most(a), and its
 * probability falls when either rate rises. So over a stretch of the edge from (x₁,y₁) to (x₂,y₂),
 * y₁ < y₂, x₂ < x₁, it is at most its value at (x₂,y₁): branch and bound. Of the rates only those
 * in a Clopper–Pearson box of the observed counts are looked at, whose error is added (Berger and
 * Boos 1994). Binomial probabilities run within 9 deviations; what is cut counts as inside. */

static const double DEVIATIONS = 9, CUT = 1e-15, PRECISION = 1e-3, LEAST = 1e-13;
enum { DEEPEST = 60 };

/* The counts of Bin(n, rate) that matter, and their probabilities. */
typedef struct window {
    size_t first, count;
    double *mass;
} window;

typedef struct tail {
    const dpa__edge *order, *null;
    dpa__outcome size; /* only n1 and n0 */
    double value;
    size_t a0, a1; /* range of a for which the stairs are known */
    double *most;  /* by a − a0: the largest b of the set, −1 for none */
    window in, out;
    double best;   /* the largest probability seen */
    double enough; /* only decide whether the supremum exceeds this; 0: compute it */
} tail;

static void limits(double n, double rate, double *low, double *high) {
    const double wide = DEVIATIONS * (sqrt(n * rate * (1 - rate)) + 4);
    *low = fmax(0, floor(n * rate - wide));
    *high = fmin(n, ceil(n * rate + wide));
}

/* Fills the window outwards from the mode, by the ratio of neighbours. */
static void fill(window *w, double n, double rate) {
    double low, high;
    limits(n, rate, &low, &high);
    w->first = (size_t)low;
    w->count = (size_t)(high - low) + 1;
    const double mode = fmin(fmax(floor((n + 1) * rate), low), high);
    const size_t top = (size_t)(mode - low);
    w->mass[top] = exp(dpa__binom_log_pmf(mode, n, rate));
    const double odds = rate / (1 - rate);
    for (size_t i = top; i + 1 < w->count; ++i) {
        const double k = low + (double)i;
        w->mass[i + 1] = w->mass[i] * odds * (n - k) / (k + 1);
    }
    for (size_t i = top; i > 0; --i) {
        const double k = low + (double)i;
        w->mass[i - 1] = w->mass[i] * k / (odds * (n - k + 1));
    }
}

/* An upper bound on Pr[(A,B) in the set] at rates (x,y). */
static double probability(tail *t, double x, double y) {
    if (x <= 0 && y <= 0) return 1;
    x = fmin(fmax(x, 0), 1);
    y = fmin(fmax(y, 0), 1);
    fill(&t->in, t->size.n1, x);
    fill(&t->out, t->size.n0, y);
    /* from the largest a down, most(a) grows: one pass over b */
    double sum = 0, under = 0;
    size_t passed = 0;
    for (size_t i = t->in.count; i > 0; --i) {
        const size_t a = t->in.first + i - 1;
        const double most = a > t->a1 ? -1 : t->most[a < t->a0 ? 0 : a - t->a0];
        while (passed < t->out.count && (double)(t->out.first + passed) <= most)
            under += t->out.mass[passed++];
        sum += t->in.mass[i - 1] * under;
    }
    return fmin(1, sum + CUT);
}

/* ── the staircase ─────────────────────────────────────────────────────────────────────────── */

static int is_in(const tail *t, double a, double b) {
    const dpa__outcome o = {t->size.n1, t->size.n0, a, b};
    return dpa__edge_ratio(t->order, &o) >= t->value;
}

/* Builds the stairs for every a that rates between x0 and x1 can produce. */
static dpa_status build_stairs(tail *t, double x0, double x1, dpa_error *err) {
    double low, high, ignored;
    limits(t->size.n1, x0, &low, &ignored);
    limits(t->size.n1, x1, &ignored, &high);
    t->a0 = (size_t)low;
    t->a1 = (size_t)high;
    t->most = DPA_NEW_ARRAY(double, t->a1 - t->a0 + 1, err);
    if (t->most == NULL) return DPA_NO_MEMORY;
    double from = -1, to = t->size.n0; /* at the smallest a: in the set, or none; perhaps not */
    while (to - from > 0) {
        const double middle = ceil(0.5 * (from + to));
        if (is_in(t, low, middle))
            from = middle;
        else
            to = middle - 1;
    }
    for (size_t a = t->a0; a <= t->a1; ++a) {
        while (from >= 0 && !is_in(t, (double)a, from)) --from;
        t->most[a - t->a0] = from;
    }
    return DPA_OK;
}

/* ── the supremum ──────────────────────────────────────────────────────────────────────────── */

/* Raises `best` until it is within PRECISION of the supremum over y0 … y1, or until that is known
 * to be at most `enough`. Returns 0 if it is known to be above, or if the stretch cannot be divided
 * further. */
static int search(tail *t, double y0, double y1, int depth) {
    const double above = probability(t, dpa__edge_fnr(t->null, y1), y0);
    if (above <= fmax(t->best * (1 + PRECISION), fmax(LEAST, t->enough))) return 1;
    const double middle = 0.5 * (y0 + y1);
    if (depth == DEEPEST || middle <= y0 || middle >= y1) return 0;
    t->best = fmax(t->best, probability(t, dpa__edge_fnr(t->null, middle), middle));
    if (t->enough > 0 && t->best > t->enough) return 0;
    return search(t, y0, middle, depth + 1) && search(t, middle, y1, depth + 1);
}

/* The rates that the observed counts allow. */
typedef struct box {
    double x0, x1, y0, y1;
} box;

static box box_of(const dpa__outcome *o, double share) {
    const double each = share / 4;
    return (box){dpa__cp_lower(o->a, o->n1, each), dpa__cp_upper(o->a, o->n1, each),
                 dpa__cp_lower(o->b, o->n0, each), dpa__cp_upper(o->b, o->n0, each)};
}

static double over_box(tail *t, const box *b) {
    if (dpa__edge_fnr(t->null, b->y0) <= b->x0) return probability(t, b->x0, b->y0);
    const double y0 = fmax(b->y0, edge_fpr(t->null, b->x1));
    const double y1 = fmin(b->y1, edge_fpr(t->null, b->x0));
    if (!(y0 <= y1)) return 0; /* the box does not meet the hypothesis */
    t->best = fmax(probability(t, dpa__edge_fnr(t->null, y0), y0),
                   probability(t, dpa__edge_fnr(t->null, y1), y1));
    if (y1 > y0 && !search(t, y0, y1, 0)) return 1;
    return fmin(1, fmax(t->best * (1 + PRECISION), fmax(LEAST, t->enough)));
}

dpa_status dpa__exact_supremum(const dpa__edge *order, const dpa__edge *null, const dpa__outcome *o,
                               double value, double share, double enough, double *p,
                               dpa_error *err) {
    tail t = {.order = order,
              .null = null,
              .size = *o,
              .value = fmin(value, 1e300) * (1 - 1e-10) - 1e-10,
              .enough = fmax(0, enough - share)};
    const box b = box_of(o, share);
    double low, high;
    *p = 1;
    if (!(t.value > 0)) return DPA_OK;
    limits(o->n1, 0.5, &low, &high);
    t.in.mass = DPA_NEW_ARRAY(double, (size_t)(high - low) + 3, err);
    limits(o->n0, 0.5, &low, &high);
    t.out.mass = DPA_NEW_ARRAY(double, (size_t)(high - low) + 3, err);
    dpa_status status = t.in.mass != NULL && t.out.mass != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) status = build_stairs(&t, b.x0, b.x1, err);
    if (status == DPA_OK) *p = fmin(1, over_box(&t, &b) + share);
    free(t.in.mass);
    free(t.out.mass);
    free(t.most);
    return status;
}

/* The share of the error that goes to the box of rates. */
static const double BOX = 0.02;

typedef struct audit {
    const dpa__model *model;
    dpa__grid grid;
    dpa__outcome observed;
    double p;
    int is_turned; /* 1: upper limits (how private can it be?) */
} audit;

static dpa__edge edge_of(const audit *a, const dpa_curve *curve, double t) {
    return a->model->kind == DPA__MODEL_DP ? dpa__edge_dp(curve, t, a->model->delta, a->is_turned)
                                           : dpa__edge_of(curve, a->is_turned);
}

static dpa_status test_run(void *user, size_t first, size_t last, int *is_rejected,
                           dpa_error *err) {
    const audit *a = user;
    /* order: the end with the larger ratios; null: the end with the nearer edge */
    const size_t at[2] = {a->is_turned ? last : first, a->is_turned ? first : last};
    dpa_curve *curves[2] = {NULL, NULL};
    dpa__edge edges[2];
    dpa_status status = DPA_OK;
    double p = 1;
    for (int i = 0; i < 2 && status == DPA_OK; ++i) {
        const double t = dpa__walk_at(&a->grid, at[i]);
        status = dpa__model_curve(a->model, t, &curves[i], err);
        edges[i] = edge_of(a, curves[i], t);
    }
    if (status == DPA_OK)
        status = dpa__exact_supremum(&edges[0], &edges[1], &a->observed,
                                     dpa__edge_ratio(&edges[1], &a->observed), BOX * a->p, a->p, &p,
                                     err);
    *is_rejected = p <= a->p * (1 + 1e-12);
    dpa_curve_free(curves[0]);
    dpa_curve_free(curves[1]);
    return status;
}

static dpa__outcome outcome_of(const dpa_counts *c, int is_turned) {
    return (dpa__outcome){(double)(c->fn + c->tp), (double)(c->fp + c->tn),
                          (double)(is_turned ? c->tp : c->fn), (double)(is_turned ? c->tn : c->fp)};
}

/* ── p-values ──────────────────────────────────────────────────────────────────────────────── */

static dpa_status p_value(const dpa_counts *counts, const dpa__edge *edge,
                          const dpa_request *request, double *p, dpa_error *err) {
    const dpa__outcome o = outcome_of(counts, 0);
    const double share = BOX * (1 - request->confidence) / request->sides;
    return dpa__exact_supremum(edge, edge, &o, dpa__edge_ratio(edge, &o), share, 0, p, err);
}

dpa_status dpa__exact_p_value(const dpa_counts *counts, const dpa_curve *curve,
                              const dpa_request *request, double *p, dpa_error *err) {
    const dpa__edge edge = dpa__edge_of(curve, 0);
    return p_value(counts, &edge, request, p, err);
}

dpa_status dpa__exact_p_value_dp(const dpa_counts *counts, double epsilon, double delta,
                                 const dpa_request *request, double *p, dpa_error *err) {
    dpa_curve *curve = NULL;
    *p = 1;
    if (isinf(epsilon) || delta >= 1) return DPA_OK; /* nothing can be refuted */
    DPA_TRY(dpa_curve_dp(epsilon, delta, &curve, err));
    const dpa__edge edge = dpa__edge_dp(curve, epsilon, delta, 0);
    const dpa_status status = p_value(counts, &edge, request, p, err);
    dpa_curve_free(curve);
    return status;
}

/* The p-value of the claim beside the bound t. */
static dpa_status claim_p(const audit *a, const dpa_counts *counts, const dpa_request *r, double t,
                          double *p, dpa_error *err) {
    const double delta = dpa__claim_delta(r);
    dpa_curve *curve = NULL;
    double claim;
    if (isnan(r->claim_epsilon)) return DPA_OK;
    DPA_TRY(dpa__model_claim(a->model, r->claim_epsilon, delta, &claim, err));
    if (a->model->kind == DPA__MODEL_DP) {
        DPA_TRY(dpa__exact_p_value_dp(counts, r->claim_epsilon, delta, r, p, err));
    } else {
        DPA_TRY(dpa__model_curve(a->model, claim, &curve, err));
        const dpa_status status = dpa__exact_p_value(counts, curve, r, p, err);
        dpa_curve_free(curve);
        DPA_TRY(status);
    }
    *p = dpa__walk_agreed(&a->grid, t, claim, *p, a->p);
    return DPA_OK;
}

/* ── the estimator ─────────────────────────────────────────────────────────────────────────── */

/* The largest parameter that the counts allow: neither this attack nor the opposite one may be that
 * good. */
static dpa_status upper_limit(audit *a, const dpa_counts *c, double *t, dpa_error *err) {
    const dpa_counts opposite = {c->tp, c->fn, c->tn, c->fp};
    double here, there;
    a->is_turned = 1;
    a->observed = outcome_of(c, 1);
    DPA_TRY(dpa__walk_down(test_run, a, &a->grid, &here, err));
    a->observed = outcome_of(&opposite, 1);
    DPA_TRY(dpa__walk_down(test_run, a, &a->grid, &there, err));
    *t = fmax(here, there);
    return DPA_OK;
}

int dpa__exact_applies(const dpa_counts *c) {
    return c->fn + c->tp <= DPA__EXACT_MOST && c->fp + c->tn <= DPA__EXACT_MOST;
}

dpa_status dpa__from_exact(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err) {
    audit a = {.model = model,
               .grid = {1, model->max},
               .observed = outcome_of(counts, 0),
               .p = (1 - request->confidence) / request->sides};
    double lower, upper = NAN;
    (void)entry;
    if (!dpa__exact_applies(counts))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "method exact: at most 10^6 of each class; use cp");
    DPA_TRY(dpa__walk_up(test_run, &a, &a.grid, &lower, err));
    if (request->sides == 2) DPA_TRY(upper_limit(&a, counts, &upper, err));
    DPA_TRY(claim_p(&a, counts, request, lower, &result->p_value, err));
    (void)snprintf(result->note, sizeof result->note,
                   "Exact unconditional test, the worst case over the other rate certified.");
    return dpa__result_limits(result, model, request->delta, lower, upper, 0, err);
}
