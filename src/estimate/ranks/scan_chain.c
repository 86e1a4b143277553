/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law of the scan under f_{ε,δ} at any size, by a Markov chain over the looks: no simulation.
 *
 * One end at a time. Scores are independent, and raising a member or lowering another makes every
 * look see more, so by Harris' inequality Pr[no look reaches] is at least the product over the ends
 * (and over any looks that are taken on their own).
 *
 * "At look k at least r of the other class are seen" says that the r-th of the other class has at
 * most k of the base above it. Up to the fixed point TPR = δ + e^ε·FPR; taking that line beyond it
 * too can only make more be seen, and looks that come near it are taken on their own. So x ~
 * Pois(n·δ) of the other class come first, then both classes in random order by coin, and the
 * number B of the base above the r-th of the other class is a sum of geometric variables: from one
 * look to the next a negative binomial variable is added, and what is at most k then is taken away.
 *
 * Fixed sizes: given B at the last look (and how many came first) the order before it is random
 * whatever the sizes are, so what is left of the chain there is weighed by the law of B with fixed
 * sizes over that of the chain.
 *
 * For δ > 0 binomially many of the other class come first. Given that x do, the others are a sample
 * of n − x without such a share, so the law is the mean of chains with δ = 0 over x. Where nδ is
 * large that would be too many chains: x is then mixed at the start, as a Poisson number. Given
 * where the last look is, x has the same law either way; but that place, given B, is less certain
 * in the chain, so x scatters more, and more is reached (measured: up to 6% of p too much; see
 * docs/methods/scan.md).
 *
 * While B is small the chain is summed over all of its values; later over every second, fourth, …,
 * the points being the middles of cells that end where the look cuts, with the end correction of
 * fourth order. What is left out of far tails counts as reached. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"
#include "base/simd.h"
#include "estimate/ranks/scan.h"
#include "math/dist.h"

/* Points of a lattice and values of a kernel, at most; nodes of an integral. */
enum { POINTS = 4096, KERNEL = 2 * POINTS, NODES = 1024 };
/* How far laws are followed, how fine they are cut (in deviations), and what the sums may be off by
 * (measured: 2e-6). */
static const double FAR = 8, FINE = 12, SMOOTH = 2.5, CORNER = 3.5, ERROR = 1e-5;
/* More unequal classes are left to simulation, because the smaller one moves in steps that are too
 * large. */
static const double UNEQUAL = 16;
/* Up to how many of a class come first, on average, if every number of them has a chain of its own;
 * and the probability of a number that is left out (it counts as reached). */
static const double FEW_FIRST = 0.5, RARE = 1e-8;

/* The r-th of the other class must have more than k of the base above it. */
typedef struct event {
    double r, k;
} event;

/* B at an event: mass at start, start + h, … */
typedef struct lattice {
    double start, h;
    size_t count;
    double mass[POINTS];
} lattice;

typedef struct chain {
    double base, other;    /* sizes */
    double epsilon, delta; /* of the law */
    double offset, rate;   /* the base's share is (share of the other class − offset)·rate */
    double step;           /* of the base per one of the other class, on average */
    double first;          /* of the other class come before everything, on average */
    event *events;
    size_t count;
    lattice *now, *next, lattices[2];
    double kernel[KERNEL];
} chain;

/* Mean and deviation of B at r of the other class. */
static void spread(const chain *c, double r, double *mean, double *deviation) {
    *mean = (r - c->first) * c->step;
    *deviation = sqrt(r * c->step * (1 + c->step) + c->first * c->step * c->step);
}

/* ── negative binomial laws ────────────────────────────────────────────────────────────────── */

/* Pr[b of the base come before the t-th of the other class], b not necessarily whole. */
static double pmf(const chain *c, double t, double b) {
    const double share = c->step / (1 + c->step);
    return exp(dpa__log_gamma(t + b) - dpa__log_gamma(b + 1) - dpa__log_gamma(t) + b * log(share) +
               t * log1p(-share));
}

/* The same times `weight`, added at from, from + 1, …, outwards from where it is large. */
static void add_pmf(const chain *c, double t, double weight, double from, size_t count,
                    double *out) {
    const double share = c->step / (1 + c->step), last = (double)(count - 1);
    const double middle = fmin(fmax(floor(t * c->step) - from, 0), last);
    const double value = weight * pmf(c, t, from + middle);
    double here = value;
    out[(size_t)middle] += value;
    for (double i = middle; i < last; ++i) {
        here *= (t + from + i) * share / (from + i + 1);
        out[(size_t)i + 1] += here;
    }
    here = value;
    for (double i = middle; i > 0; --i) {
        here *= (from + i) / ((t + from + i - 1) * share);
        out[(size_t)i - 1] += here;
    }
}

/* Cells start where the look cuts. Returns 0 if there are too many. */
static int open_lattice(const chain *c, const event *e, double h, lattice *out) {
    double mean, deviation;
    spread(c, e->r, &mean, &deviation);
    const double wide = mean + FAR * deviation + 12 - (e->k + 0.5);
    out->h = h;
    out->start = e->k + 0.5 + 0.5 * h;
    if (wide > h * POINTS) return 0;
    out->count = wide > h ? (size_t)(wide / h) : 0;
    memset(out->mass, 0, out->count * sizeof *out->mass);
    return 1;
}

static int start(chain *c) {
    const event *e = c->events;
    if (!open_lattice(c, e, 1, c->now)) return 0;
    if (c->now->count == 0) return 1;
    const double wide = FAR * (sqrt(c->first) + 3);
    const double from = c->first > 0 ? fmax(0, floor(c->first - wide)) : 0;
    const double to = c->first > 0 ? fmin(e->r - 1, ceil(c->first + wide)) : 0;
    double weight =
        c->first > 0 ? exp(from * log(c->first) - c->first - dpa__log_gamma(from + 1)) : 1;
    for (double x = from; x <= to; ++x) {
        add_pmf(c, e->r - x, weight, c->now->start, c->now->count, c->now->mass);
        weight *= c->first / (x + 1);
    }
    return 1;
}

/* ── from look to look ─────────────────────────────────────────────────────────────────────── */

/* ∫ over cells from an edge on, of fourth order: the midpoint rule is h²/24·f′(edge) too much. */
static void weigh_edge(lattice *l) {
    static const double weights[] = {13.0 / 12, 7.0 / 8, 25.0 / 24};
    for (size_t i = 0; i < 3 && i < l->count && l->h > 1; ++i) l->mass[i] *= weights[i];
}

DPA_CLONES static void add_scaled(double *restrict sum, const double *restrict x, size_t count,
                                  double by) {
    for (size_t k = 0; k < count; ++k) sum[k] += by * x[k];
}

/* kernel[i] = h·Pr[the increment is from + i·h]. */
static void fill_kernel(chain *c, double t, double from, double h, size_t count) {
    memset(c->kernel, 0, count * sizeof *c->kernel);
    if (h == 1 && from == floor(from)) {
        add_pmf(c, t, 1, from, count, c->kernel);
        return;
    }
    for (size_t i = 0; i < count; ++i) c->kernel[i] = h * pmf(c, t, from + h * (double)i);
}

/* Adds the increment between two events. Returns 0 if that cannot be done accurately. */
static int advance(chain *c, const event *before, const event *e) {
    const double t = e->r - before->r, mean = t * c->step, old = c->now->h;
    const double deviation = sqrt(mean * (1 + c->step));
    double all, wide;
    spread(c, e->r, &all, &wide);
    if (old > 1 && (deviation < (SMOOTH - 0.5) * old || mean < 5 * deviation)) return 0;
    const int is_coarser = 2 * old * FINE <= wide && 2 * old * SMOOTH <= deviation &&
                           mean >= 6 * deviation; /* smooth, far from 0 */
    const size_t stride = is_coarser ? 2 : 1;
    if (!open_lattice(c, e, (double)stride * old, c->next)) return 0;
    /* increments are offset + n·old, of which low … high matter */
    const double offset = c->next->start - c->now->start;
    const double low = ceil((fmax(0, mean - FAR * deviation - 4) - offset) / old);
    const double high = floor((mean + FAR * deviation + 12 - offset) / old);
    if (high - low + 1 > KERNEL) return 0;
    if (high < low) return 1; /* no path gets this far: everything is reached */
    const long first = (long)low, count = (long)(high - low) + 1;
    fill_kernel(c, t, offset + low * old, old, (size_t)count);
    weigh_edge(c->now);
    for (long j = 0; j < (long)c->now->count; ++j) {
        /* point i of the next lattice is reached by increment number stride·i − j */
        const long s = (long)stride, least = first + j;
        long i = least > 0 ? (least + s - 1) / s : 0;
        long end = (first + count - 1 + j) / s + 1;
        if (first + count - 1 + j < 0) continue;
        if (end > (long)c->next->count) end = (long)c->next->count;
        if (i >= end) continue;
        const double by = c->now->mass[j];
        if (s == 1)
            add_scaled(c->next->mass + i, c->kernel + (i - least), (size_t)(end - i), by);
        else
            for (; i < end; ++i) c->next->mass[i] += by * c->kernel[s * i - least];
    }
    lattice *const done = c->now;
    c->now = c->next;
    c->next = done;
    return 1;
}

/* ── fixed sizes at the last look ──────────────────────────────────────────────────────────── */

/* A law of B as a mixture over rates: weights exp(constant + B·slope), times a factor of B. */
typedef struct mixture {
    size_t count;
    double constant[NODES], slope[NODES];
} mixture;

/* Log of (share of the other class up to a place), by log odds or by logs: its density on that
 * scale but for a constant, and the share itself. */
typedef struct place {
    double shape, rest; /* Beta(shape, rest), or Gamma(shape)/rest where it is_gamma */
    int is_gamma;
} place;

static double share_at(const place *p, double y) {
    return p->is_gamma ? exp(y) : 1 / (1 + exp(-y));
}

static double density_at(const place *p, double y) {
    if (p->is_gamma) return p->shape * (y + log(p->rest)) - p->rest * exp(y);
    const double soft = y > 0 ? y + log1p(exp(-y)) : log1p(exp(y));
    return p->shape * y - (p->shape + p->rest) * soft;
}

/* Nodes y0, y0 ± gap, … as far as the density is above e⁻³² of its peak. Gives the log of Σ
 * exp(density)·gap, which is all that the density lacks. */
static size_t nodes_of(const place *p, double gap, double *y, double *log_sum) {
    const double peak = log(p->shape / p->rest); /* either way */
    const double top = density_at(p, peak);
    size_t count = 0;
    double sum = 0;
    for (int side = -1; side <= 1; side += 2)
        for (int i = side > 0 ? 0 : 1; count < NODES; ++i) {
            const double at = peak + side * gap * i, down = density_at(p, at) - top;
            if (down < -32) break;
            y[count++] = at;
            sum += exp(down);
        }
    *log_sum = top + log(sum);
    return count;
}

static double gap_of(const chain *c, const place *p, double most) {
    const double share = p->is_gamma ? p->shape / p->rest : p->shape / (p->shape + p->rest);
    const double scale = p->is_gamma ? 1 : 1 - share; /* of log share per y */
    const double bend = p->is_gamma ? p->shape : p->shape * p->rest / (p->shape + p->rest);
    const double lever = scale * share / fmax(share - c->offset, 1e-3 * share);
    return 0.8 / sqrt(bend + most * lever * lever);
}

static void mix(const chain *c, const place *p, double most, mixture *out) {
    double y[NODES], log_sum;
    const size_t count = nodes_of(p, gap_of(c, p, most), y, &log_sum);
    out->count = 0;
    for (size_t i = 0; i < count; ++i) {
        const double v = (share_at(p, y[i]) - c->offset) * c->rate;
        if (!(v > 0)) continue;
        const double weight = density_at(p, y[i]) - log_sum;
        const double miss = p->is_gamma ? 0 : log1p(-v);
        out->slope[out->count] = log(v) - miss;
        out->constant[out->count++] = weight + (p->is_gamma ? -c->base * v : c->base * miss);
    }
}

static double mixed(const mixture *m, double b, double factor) {
    double sum = 0;
    for (size_t i = 0; i < m->count; ++i) sum += exp(factor + m->constant[i] + b * m->slope[i]);
    return sum;
}

/* Pr[no look reaches], from what is left in the chain. */
static double finish(chain *c) {
    const double r = c->events[c->count - 1].r, n = c->base;
    const place fixed = {r, c->other - r + 1, 0}, chained = {r, c->other, 1};
    const double most = c->now->start + c->now->h * (double)c->now->count;
    mixture with, without;
    double sum = 0;
    mix(c, &fixed, most, &with);
    mix(c, &chained, most, &without);
    weigh_edge(c->now);
    for (size_t i = 0; i < c->now->count; ++i) {
        const double b = c->now->start + c->now->h * (double)i;
        if (c->now->mass[i] == 0 || b > n) continue;
        const double one = dpa__log_gamma(b + 1);
        const double binomial = dpa__log_gamma(n + 1) - one - dpa__log_gamma(n - b + 1);
        const double weight = mixed(&without, b, b * log(n) - one);
        if (weight > 0) sum += c->now->h * c->now->mass[i] * mixed(&with, b, binomial) / weight;
    }
    return sum;
}

/* ── both ends ─────────────────────────────────────────────────────────────────────────────── */

/* Pr[at least r of the other class are seen at look k], beyond the fixed point. */
static double single(const chain *c, double r, double k) {
    const place p = {r, c->other - r + 1, 0};
    double y[NODES], log_sum, sum = 0;
    const size_t count = nodes_of(&p, gap_of(c, &p, k), y, &log_sum);
    for (size_t i = 0; i < count; ++i) {
        const double u = share_at(&p, y[i]);
        const double near = (u - c->delta) * exp(-c->epsilon);
        const double v = fmax(near, 1 - c->delta - (1 - u) * exp(c->epsilon));
        const double below = v > 0 ? dpa__binom_cdf(k, c->base, fmin(v, 1), DPA_LOWER) : 1;
        sum += exp(density_at(&p, y[i]) - log_sum) * below;
    }
    return sum;
}

/* The events of an end, with rising r and k; looks that a later one implies are left out. Returns a
 * lower bound on the probability that none of those near or beyond the fixed point reaches. */
static double collect(const dpa__scan_looks *looks, const dpa__scan_counts *reach, int end,
                      chain *c) {
    const double share = (1 - c->delta) / (1 + exp(c->epsilon)), fixed = c->base * share;
    const double corner = fixed - CORNER * sqrt(fixed * (1 - share));
    double least = c->other + 1, quiet = 1;
    c->count = 0;
    for (size_t l = looks->count[end]; l > 0; --l) {
        const event e = {(double)reach->seen[end][l - 1], (double)looks->k[end][l - 1]};
        if (e.r >= least) continue;
        least = e.r;
        if (e.k > corner)
            quiet *= 1 - single(c, e.r, e.k);
        else
            c->events[c->count++] = e;
    }
    for (size_t i = 0; 2 * i + 1 < c->count; ++i) {
        const event e = c->events[i];
        c->events[i] = c->events[c->count - 1 - i];
        c->events[c->count - 1 - i] = e;
    }
    return quiet;
}

/* Pr[none of the events happens]. */
static double survival(chain *c) {
    if (!start(c)) return NAN;
    for (size_t i = 1; i < c->count; ++i)
        if (!advance(c, &c->events[i - 1], &c->events[i])) return NAN;
    return fmin(1, finish(c));
}

/* `others` of the other class have the base's share (share − offset)·rate; `first` more come before
 * them on average. */
static void set_sizes(chain *c, double others, double first, double offset, double rate) {
    c->other = others;
    c->first = first;
    c->offset = offset;
    c->rate = rate;
    c->step = c->base * rate / others;
}

/* The same as the mean over how many of the other class come first. */
static double survival_by_first(chain *c) {
    const double n = c->other, mean = n * c->delta, rate = exp(-c->epsilon) * (1 - c->delta);
    double sum = 0, taken = 0;
    for (double x = 0; x < n; ++x) {
        const double chance = exp(dpa__binom_log_pmf(x, n, c->delta));
        if (chance < RARE && x > mean) break;
        if (chance < RARE) continue;
        for (size_t i = 0; i < c->count; ++i) c->events[i].r -= x - taken;
        taken = x;
        if (c->events[0].r < 1) break; /* reached at once */
        set_sizes(c, n - x, 0, 0, rate);
        sum += chance * survival(c);
    }
    return sum;
}

/* A lower bound on Pr[no look of this end reaches]. */
static double one_end(const dpa__scan_looks *looks, const dpa__scan_counts *reach, int end,
                      chain *c) {
    const double n = (double)looks->other[end];
    c->base = (double)looks->base[end];
    set_sizes(c, n, n * c->delta, c->delta, exp(-c->epsilon));
    const double quiet = collect(looks, reach, end, c);
    if (c->count == 0) return quiet;
    const int is_few = c->first > 0 && c->first <= FEW_FIRST;
    return quiet * (is_few ? survival_by_first(c) : survival(c));
}

dpa_status dpa__scan_chain(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                           double epsilon, double delta, double *out, dpa_error *err) {
    const size_t most = looks->count[DPA__SCAN_TOP] + looks->count[DPA__SCAN_BOTTOM];
    chain *c = dpa__malloc(1, sizeof *c, err);
    event *events = DPA_NEW_ARRAY(event, most, err);
    const int is_ready = c != NULL && events != NULL;
    if (is_ready) {
        c->epsilon = epsilon;
        c->delta = delta;
        c->events = events;
        c->now = &c->lattices[0];
        c->next = &c->lattices[1];
        const double top = one_end(looks, reach, DPA__SCAN_TOP, c);
        const double bottom = one_end(looks, reach, DPA__SCAN_BOTTOM, c);
        *out = isnan(top * bottom) ? (double)NAN : fmin(1 - top * bottom + ERROR, 1);
    }
    free(events);
    free(c);
    return is_ready ? DPA_OK : DPA_NO_MEMORY;
}

static int is_hopeless(const dpa__scan_looks *looks, const dpa__scan_counts *reach) {
    for (int e = 0; e < DPA__SCAN_ENDS; ++e)
        for (size_t l = 0; l < looks->count[e]; ++l)
            if (reach->seen[e][l] == 0) return 1;
    return 0;
}

int dpa__scan_is_unequal(const dpa__scan_looks *looks) {
    const double base = (double)looks->base[0], other = (double)looks->other[0];
    return fmax(base, other) > UNEQUAL * fmin(base, other);
}

int dpa__scan_is_computed(const dpa__scan_looks *looks, double delta) {
    return dpa__scan_has_few_paths(looks, 0, delta) || !dpa__scan_is_unequal(looks);
}

dpa_status dpa__scan_computed(const dpa__scan_looks *looks, const dpa__scan_counts *reach,
                              double epsilon, double delta, dpa__fineness fineness, double *out,
                              dpa_error *err) {
    *out = 1;
    if (delta >= 1 || is_hopeless(looks, reach)) return DPA_OK;
    if (dpa__scan_has_few_paths(looks, epsilon, delta))
        return dpa__scan_lattice(looks, reach, epsilon, delta, fineness, out, err);
    *out = NAN;
    if (dpa__scan_is_unequal(looks)) return DPA_OK;
    return dpa__scan_chain(looks, reach, epsilon, delta, out, err);
}
