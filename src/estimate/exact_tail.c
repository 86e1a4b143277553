/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probabilities of {ratio ≥ value} and their supremum along an edge, certified.
 *
 * The ratio falls with both counts, so the set is under a staircase b ≤ most(a), and its
 * probability falls when either rate rises. So over a stretch of the edge from (x₁,y₁) to (x₂,y₂),
 * y₁ < y₂, x₂ < x₁, it is at most its value at (x₂,y₁): branch and bound. Of the rates only those
 * in a Clopper–Pearson box of the observed counts are looked at, whose error is added (Berger and
 * Boos 1994). Binomial probabilities run within 9 deviations; what is cut counts as inside. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/exact.h"
#include "math/dist.h"

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
    const double y0 = fmax(b->y0, dpa__edge_fpr(t->null, b->x1));
    const double y1 = fmin(b->y1, dpa__edge_fpr(t->null, b->x0));
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
