/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bets to place, learned from earlier pairs. Nothing here can make a bound invalid: whatever
 * is chosen from the past keeps the mean of a payment at most 1. It decides only how fast a wrong
 * claim falls.
 *
 * Against the null at t: slopes at which its δ_t(s) is a given share of δ_t(0); for each slope the
 * threshold on the hull of the past ROC that is best at it; the null point q that is nearest, in
 * Kullback–Leibler distance, to the observed rates on the line Pr[good] = k·Pr[bad] + δ_t; the
 * size λ up to twice the one of the likelihood ratio of the two. The shares of the bets rise
 * towards the largest expected log wealth under the observed rates, shrunk towards "no leak", by
 * Cover's multiplicative steps (Cover 1984, "An algorithm for maximizing expected log investment
 * return").
 *
 * The t to bet against is the largest that should fall by the end of the stage, or the claim. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "estimate/sequential/sequential.h"
#include "evidence/evidence.h"
#include "math/logspace.h"
#include "math/root.h"

/* What bets pay, cell by cell of the pairs of a stage. Every payment falls as t rises, because
 * δ_t(s) rises and nothing else depends on t: a bound is one bisection. */

double dpa__null_delta(const dpa__member *null, double slope) {
    const double s = fabs(slope);
    switch (null->kind) {
    case DPA__MODEL_DP: /* the line of slope −e^s that touches the corner of the curve */
        if (s >= null->t) return null->delta;
        return null->delta - (1 - null->delta) * expm1(s - null->t) / (1 + exp(-null->t));
    case DPA__MODEL_GAUSSIAN:
        return null->t > 0 ? exp(dpa__gaussian_log_delta(null->t, s)) : 0;
    case DPA__MODEL_CURVES:
        break;
    }
    return dpa_curve_delta(null->curve, s);
}

unsigned dpa__stage_bin(const dpa__stage *stage, double score) {
    unsigned bin = 0;
    while (bin < stage->count && score >= stage->bet[bin].threshold) ++bin;
    return bin;
}

double dpa__bet_pay(const dpa__bet *bet, double delta, int is_member_accused,
                    int is_nonmember_accused) {
    const double k = exp(fabs(bet->slope));
    const int good = bet->slope >= 0 ? is_member_accused : !is_nonmember_accused;
    const int bad = bet->slope >= 0 ? is_nonmember_accused : !is_member_accused;
    /* the limits of λ keep both factors non-negative, up to rounding */
    const double gain = fmax(0, 1 + bet->size * (good - k * bet->point - delta));
    return gain * fmax(0, 1 - bet->size * k * (bad - bet->point));
}

/* What every bet pays: [is the member accused][is the non-member accused]. */
static void pay_each(const dpa__stage *stage, const double *delta, double each[DPA__BETS][2][2]) {
    for (uint64_t j = 0; j < stage->count; ++j)
        for (int a = 0; a < 2; ++a)
            for (int b = 0; b < 2; ++b)
                each[j][a][b] = dpa__bet_pay(&stage->bet[j], delta[j], a, b);
}

void dpa__stage_pay(const dpa__stage *stage, const dpa__member *null,
                    double pay[DPA__BINS][DPA__BINS]) {
    double delta[DPA__BETS], each[DPA__BETS][2][2];
    for (uint64_t j = 0; j < stage->count; ++j)
        delta[j] = dpa__null_delta(null, stage->bet[j].slope);
    pay_each(stage, delta, each);
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b) {
            double sum = stage->kept;
            for (uint64_t j = 0; j < stage->count; ++j)
                sum += stage->bet[j].share * each[j][a > j][b > j];
            pay[a][b] = log(sum);
        }
}

double dpa__stage_log_wealth(const dpa__stage *stage, const dpa__member *null) {
    double pay[DPA__BINS][DPA__BINS], sum = 0;
    if (stage->count == 0) return 0;
    dpa__stage_pay(stage, null, pay);
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b)
            if (stage->cell[a][b] > 0) sum += (double)stage->cell[a][b] * pay[a][b];
    return sum;
}

enum { COVER_STEPS = 60, RISK_STEPS = 12, AIM_STEPS = 7, POINT_STEPS = 30, SLOPE_BITS = 20 };
static const double KEPT_LEAST = 0.02, PRIOR_WEIGHT = 1, CELL_WEIGHT = 0.25, MOST_SLOPE = 40;
/* Found by simulation (docs/methods/sequential.md): twice the likelihood ratio's size, so that many
 * bets together can risk enough; half of the best risk; 3 nats beyond the goal. */
static const double SIZE = 2, PART = 0.5, BEYOND = 3;

/* A corner of the past ROC: accused at score ≥ threshold. */
typedef struct corner {
    double threshold;
    double accused[2]; /* non-members, members */
} corner;

typedef struct planner {
    const dpa__model *model;
    const dpa__past *past;
    corner *corners; /* of the concave hull, thresholds descending */
    size_t count;
    dpa_error *err;
    dpa_status status;
} planner;

/* ── the past ──────────────────────────────────────────────────────────────────────────────── */

static double turn(const corner *a, const corner *b, const corner *c) {
    return (b->accused[0] - a->accused[0]) * (c->accused[1] - a->accused[1]) -
           (b->accused[1] - a->accused[1]) * (c->accused[0] - a->accused[0]);
}

static void add_corner(planner *p, const corner *c) {
    while (p->count >= 2 && turn(&p->corners[p->count - 2], &p->corners[p->count - 1], c) >= 0)
        --p->count;
    p->corners[p->count++] = *c;
}

/* A threshold between a score and the next lower one, so that a new score near either falls on its
 * side. */
static double between(double lower, double score) {
    const double middle = 0.5 * lower + 0.5 * score;
    return isfinite(middle) && middle > lower && middle <= score ? middle : score;
}

/* fmax without a call; scores are never NaN. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

/* Only where the ROC turns from up to right, and its ends. */
static void find_hull(planner *p) {
    const dpa__past *past = p->past;
    size_t left[2] = {past->count, past->count};
    const double *sorted[2] = {past->nonmember, past->member};
    corner last = {.threshold = HUGE_VAL}; /* the score that it ends with, until it is added */
    int is_up = 1;
    while (left[0] + left[1] > 0) {
        double score = -HUGE_VAL;
        for (int c = 0; c < 2; ++c)
            if (left[c] > 0) score = larger(score, sorted[c][left[c] - 1]);
        const size_t before[2] = {left[0], left[1]};
        for (int c = 0; c < 2; ++c)
            while (left[c] > 0 && sorted[c][left[c] - 1] >= score) --left[c];
        if (is_up && left[0] < before[0]) {
            last.threshold = between(score, last.threshold);
            add_corner(p, &last);
        }
        is_up = left[1] < before[1];
        last = (corner){score, {(double)(past->count - left[0]), (double)(past->count - left[1])}};
    }
    last.threshold = between(-HUGE_VAL, last.threshold);
    add_corner(p, &last);
}

static void find_corners(planner *p) {
    const dpa__past *past = p->past;
    if (isnan(past->fixed)) {
        find_hull(p);
        return;
    }
    p->corners[p->count++] =
        (corner){past->fixed,
                 {(double)dpa__count_at_least(past->nonmember, past->count, past->fixed),
                  (double)dpa__count_at_least(past->member, past->count, past->fixed)}};
}

static const corner *best_corner(const planner *p, double slope) {
    const corner *best = &p->corners[0];
    const double steep = exp(slope);
    double most = -HUGE_VAL;
    for (size_t i = 0; i < p->count; ++i) {
        const double value = p->corners[i].accused[1] - steep * p->corners[i].accused[0];
        if (value <= most) continue;
        most = value;
        best = &p->corners[i];
    }
    return best;
}

/* ── one bet ───────────────────────────────────────────────────────────────────────────────── */

/* An s and δ_t(s). */
typedef struct place {
    double s, delta;
} place;

/* What a bet at each slope would use: rates on the hull, and the line good = k·bad + δ of the null;
 * q is the point of that line beyond them which is nearest. */
enum { CANDIDATES = DPA__BINS };
typedef struct candidates {
    unsigned count;
    double slope[CANDIDATES], threshold[CANDIDATES];
    double good[CANDIDATES], bad[CANDIDATES], k[CANDIDATES], delta[CANDIDATES], q[CANDIDATES];
} candidates;

/* Where the two derivatives of the Kullback–Leibler distances along the line cancel; for all
 * candidates at once. */
DPA_CLONES static void find_nearest(candidates *c) {
    double low[CANDIDATES], high[CANDIDATES];
    for (int j = 0; j < CANDIDATES; ++j) {
        low[j] = c->bad[j];
        high[j] = (c->good[j] - c->delta[j]) / c->k[j];
    }
    for (int i = 0; i < POINT_STEPS; ++i)
        for (int j = 0; j < CANDIDATES; ++j) {
            const double k = c->k[j], q = 0.5 * (low[j] + high[j]), p = k * q + c->delta[j];
            const double pull = k * (c->good[j] - p) / (p * (1 - p));
            const double push = (q - c->bad[j]) / (q * (1 - q));
            low[j] = pull > push ? q : low[j];
            high[j] = pull > push ? high[j] : q;
        }
    for (int j = 0; j < CANDIDATES; ++j) c->q[j] = 0.5 * (low[j] + high[j]);
}

/* Adds the slope s or −s unless the past shows nothing beyond the null there. */
static void consider(const planner *p, place at, int sign, candidates *out) {
    const double slope = sign * at.s;
    const corner *c = best_corner(p, slope);
    const double n = (double)p->past->count;
    const double accused[2] = {(c->accused[0] + 0.5) / (n + 1), (c->accused[1] + 0.5) / (n + 1)};
    const double good = slope >= 0 ? accused[1] : 1 - accused[0];
    const double bad = slope >= 0 ? accused[0] : 1 - accused[1];
    const double k = exp(at.s);
    const unsigned j = out->count;
    if (!(good - k * bad > at.delta)) return;
    out->slope[j] = slope;
    out->threshold[j] = c->threshold;
    out->good[j] = good;
    out->bad[j] = bad;
    out->k[j] = k;
    out->delta[j] = at.delta;
    ++out->count;
}

/* Bets ascend in their thresholds, equal ones in the order of slopes. */
static void add_bet(dpa__bet bet, double delta, dpa__stage *stage, double *deltas) {
    uint64_t at = stage->count++;
    for (; at > 0 && stage->bet[at - 1].threshold > bet.threshold; --at) {
        stage->bet[at] = stage->bet[at - 1];
        deltas[at] = deltas[at - 1];
    }
    stage->bet[at] = bet;
    deltas[at] = delta;
}

static void make_bets(const candidates *c, dpa__stage *stage, double *deltas) {
    for (unsigned j = 0; j < c->count; ++j) {
        const double k = c->k[j], q = c->q[j], chance = k * q + c->delta[j];
        const double ratio = (c->good[j] - chance) / (chance * (1 - chance));
        const double most = fmin(1 / (1 + k * q), 1 / (k * (1 - q)));
        const dpa__bet bet = {.slope = c->slope[j],
                              .threshold = c->threshold[j],
                              .point = q,
                              .size = fmin(SIZE * ratio, most)};
        if (bet.size > 0) add_bet(bet, c->delta[j], stage, deltas);
    }
}

/* ── slopes ────────────────────────────────────────────────────────────────────────────────── */

/* The place in (0, parts] that log δ_t crosses, by the line through two places. */
static double crossing(const double at[2], const double excess[2]) {
    return at[0] + (at[1] - at[0]) * excess[0] / (excess[0] - excess[1]);
}

/* The s at which δ_t(s) falls to `goal`: the first multiple of a 2^20th of the bracket, as 20
 * bisections would find it. Lines through the ends find it sooner; a line that leaves the nearer
 * end alone is followed by one to its neighbour, and every third step halves. `top` is s = 0;
 * `far` is the end of the bracket of a higher goal, and becomes that of this one. */
static place place_of(const dpa__member *null, double goal, place top, place *far) {
    while (far->s < MOST_SLOPE && far->delta > goal) {
        far->s = fmin(2 * far->s, MOST_SLOPE);
        far->delta = dpa__null_delta(null, far->s);
    }
    const double unit = ldexp(far->s, -SLOPE_BITS);
    double at[2] = {0, ldexp(1, SLOPE_BITS)}, delta = far->delta;
    double excess[2] = {log(top.delta / goal), log(delta / goal)};
    for (int i = 1; at[1] - at[0] > 1; ++i) {
        const double line = crossing(at, excess);
        double next = i % 3 == 0 || !(line >= at[0] && line <= at[1])
                          ? floor(0.5 * (at[0] + at[1]))
                          : (i % 3 == 1 ? floor(line) : ceil(line));
        next = fmin(fmax(next, at[0] + 1), at[1] - 1);
        const double here = dpa__null_delta(null, next * unit);
        const int is_low = here > goal;
        if (!is_low) delta = here;
        at[!is_low] = next;
        excess[!is_low] = log(here / goal);
    }
    return (place){at[1] * unit, delta};
}

/* 0, then pairs ±s. The curve of dp has only two slopes, ±t, and a corner that every slope between
 * them touches. */
static void find_candidates(const planner *p, const dpa__member *null, candidates *out) {
    static const double shares[] = {0.65, 0.3, 0.08};
    const place top = {0, dpa__null_delta(null, 0)};
    place far = {0.125, 0};
    *out = (candidates){0};
    consider(p, top, 1, out);
    if (null->t == 0) return;
    if (null->kind != DPA__MODEL_DP) far.delta = dpa__null_delta(null, far.s);
    for (int i = 0; i < 3; ++i) {
        place here = {fmin(null->t, MOST_SLOPE) * (i + 1) / 3, 0};
        if (null->kind == DPA__MODEL_DP)
            here.delta = dpa__null_delta(null, here.s);
        else
            here = place_of(null, shares[i] * top.delta, top, &far);
        consider(p, here, 1, out);
        consider(p, here, -1, out);
    }
}

/* ── all bets ──────────────────────────────────────────────────────────────────────────────── */

/* The expected share of every bin for one class: counts, a little of both classes pooled, and a
 * little for every bin. */
static void expect_bins(const planner *p, const dpa__stage *stage, double chance[2][DPA__BINS]) {
    const dpa__past *past = p->past;
    const double *sorted[2] = {past->nonmember, past->member};
    const double n = (double)past->count, bins = (double)(stage->count + 1);
    double in_bin[2][DPA__BINS];
    for (int c = 0; c < 2; ++c) {
        size_t above = past->count;
        for (uint64_t j = 0; j <= stage->count; ++j) {
            const size_t reach = j < stage->count ? dpa__count_at_least(sorted[c], past->count,
                                                                        stage->bet[j].threshold)
                                                  : 0;
            in_bin[c][j] = (double)(above - reach);
            above = reach;
        }
    }
    for (int c = 0; c < 2; ++c)
        for (uint64_t j = 0; j <= stage->count; ++j) {
            const double pooled = (in_bin[0][j] + in_bin[1][j]) / (2 * n);
            chance[c][j] = (in_bin[c][j] + PRIOR_WEIGHT * pooled + CELL_WEIGHT) /
                           (n + PRIOR_WEIGHT + CELL_WEIGHT * bins);
        }
}

/* Cells of unused bins have no chance, and rows of them are left out. A row of cells is two
 * vectors, which stay in registers while all bets are added; a sum over cells has as many partial
 * sums as a row, so that every processor adds alike. */
enum { CELLS = DPA__BINS * DPA__BINS, HALF = DPA__BINS / 2 };
typedef double half __attribute__((vector_size(sizeof(double) * HALF), aligned(8), may_alias));

typedef struct market {
    _Alignas(64) double chance[CELLS];
    double pay[DPA__BETS][CELLS];
    uint64_t bets;
} market;

static void open_market(const planner *p, const dpa__stage *stage, const double *deltas,
                        market *m) {
    double chance[2][DPA__BINS] = {{0}}, each[DPA__BETS][2][2];
    m->bets = stage->count;
    expect_bins(p, stage, chance);
    pay_each(stage, deltas, each);
    for (uint64_t a = 0; a <= m->bets; ++a) {
        for (uint64_t b = 0; b < DPA__BINS; ++b)
            m->chance[DPA__BINS * a + b] = b <= m->bets ? chance[1][a] * chance[0][b] : 0;
        for (uint64_t j = 0; j < m->bets; ++j)
            for (uint64_t b = 0; b < DPA__BINS; ++b)
                m->pay[j][DPA__BINS * a + b] = each[j][a > j][b > j];
    }
}

static inline const half *half_at(const double *cells) {
    return (const half *)cells;
}

DPA_CLONES static void find_wealth(const market *m, const dpa__stage *stage, double *wealth) {
    for (uint64_t cell = 0; cell < DPA__BINS * (m->bets + 1); cell += DPA__BINS) {
        half first = {0}, second = {0};
        first += stage->kept;
        second += stage->kept;
        for (uint64_t j = 0; j < m->bets; ++j) {
            first += stage->bet[j].share * *half_at(&m->pay[j][cell]);
            second += stage->bet[j].share * *half_at(&m->pay[j][cell + HALF]);
        }
        *(half *)&wealth[cell] = first;
        *(half *)&wealth[cell + HALF] = second;
    }
}

/* E[pay_j/wealth]. */
DPA_CLONES static void find_ratios(const market *m, const double *wealth, double *ratio) {
    const uint64_t cells = DPA__BINS * (m->bets + 1);
    _Alignas(64) double weight[CELLS];
    for (uint64_t cell = 0; cell < cells; cell += HALF)
        *(half *)&weight[cell] = *half_at(&m->chance[cell]) / *half_at(&wealth[cell]);
    for (uint64_t j = 0; j < m->bets; ++j) {
        half sum[2] = {{0}};
        for (uint64_t cell = 0; cell < cells; cell += DPA__BINS) {
            sum[0] += *half_at(&weight[cell]) * *half_at(&m->pay[j][cell]);
            sum[1] += *half_at(&weight[cell + HALF]) * *half_at(&m->pay[j][cell + HALF]);
        }
        ratio[j] = 0;
        for (int b = 0; b < DPA__BINS; ++b) ratio[j] += sum[b / HALF][b % HALF];
    }
}

static void spread(const market *m, const double *shape, double at_risk, dpa__stage *stage) {
    stage->kept = 1 - at_risk;
    for (uint64_t j = 0; j < m->bets; ++j) stage->bet[j].share = at_risk * shape[j];
}

typedef struct mix {
    const market *m;
    double shape[DPA__BETS];
    dpa__stage *stage;
} mix;

/* Expected log wealth if `at_risk` of it is spread over the bets in the proportions of `shape`. */
static double growth_at(double at_risk, void *user) {
    const mix *x = user;
    const market *m = x->m;
    _Alignas(64) double wealth[CELLS];
    double growth = 0;
    spread(m, x->shape, at_risk, x->stage);
    find_wealth(m, x->stage, wealth);
    dpa__logs(wealth, DPA__BINS * (m->bets + 1), wealth);
    for (uint64_t a = 0; a <= m->bets; ++a)
        for (uint64_t b = 0; b <= m->bets; ++b)
            growth += m->chance[DPA__BINS * a + b] * wealth[DPA__BINS * a + b];
    return growth;
}

/* Finds the shape by a few of Cover's steps share_j ← share_j·E[pay_j/wealth] from equal shares;
 * more steps would fit the noise of the past. */
static void find_shape(const market *m, dpa__stage *stage, double *shape) {
    for (uint64_t j = 0; j < m->bets; ++j) shape[j] = 1 / (double)m->bets;
    if (m->bets == 1) return; /* x/x is 1 in every step */
    for (int step = 0; step < COVER_STEPS; ++step) {
        _Alignas(64) double wealth[CELLS];
        double ratio[DPA__BETS], sum = 0;
        spread(m, shape, 0.5, stage);
        find_wealth(m, stage, wealth);
        find_ratios(m, wealth, ratio);
        for (uint64_t j = 0; j < m->bets; ++j) sum += shape[j] *= ratio[j];
        for (uint64_t j = 0; j < m->bets; ++j) shape[j] /= sum;
    }
}

/* Golden section over the wealth at risk (growth is concave in it), of which only a part is used,
 * because rates chosen as the best of the past look better than they are. If the past is long and
 * the best risk is near its limit, the attack hardly ever fails, and nearly all of it is used. */
static double share_out(const market *m, double past, dpa__stage *stage) {
    mix x = {.m = m, .stage = stage};
    find_shape(m, stage, x.shape);
    const dpa__peak peak = dpa__golden(growth_at, &x, 0, 1 - KEPT_LEAST, RISK_STEPS);
    const double trust = past / (past + 100) * pow(peak.place[0], 8);
    spread(m, x.shape, peak.place[0] * (PART + (1 - PART) * trust), stage);
    return peak.value[0];
}

/* Plans bets against the null at t; returns the expected growth of log wealth per pair. */
static double plan_at(planner *p, double t, dpa__stage *stage) {
    dpa__member null;
    candidates all;
    double deltas[DPA__BETS];
    market m;
    stage->count = 0;
    stage->kept = 1;
    p->status = dpa__member_open(p->model, t, &null, p->err);
    if (p->status != DPA_OK) return 0;
    find_candidates(p, &null, &all);
    find_nearest(&all);
    make_bets(&all, stage, deltas);
    double growth = 0;
    if (stage->count > 0) {
        open_market(p, stage, deltas, &m);
        growth = share_out(&m, (double)p->past->count, stage);
    }
    dpa__member_close(&null);
    return growth;
}

/* ── the t to bet against ──────────────────────────────────────────────────────────────────── */

static int should_fall(planner *p, double t, dpa__stage *stage) {
    return (double)p->past->horizon * plan_at(p, t, stage) >= p->past->log_goal + BEYOND;
}

/* Plans the bets of the stage against it too. */
static double find_aim(planner *p, dpa__stage *stage) {
    const double most = fmin(fmin(p->model->max, p->past->cap), 1e4);
    double low = 0, high = fmin(fmax(1.25 * p->past->last, 0.25), most);
    dpa__stage trial = *stage;
    if (!should_fall(p, 0, stage)) return 0;
    while (p->status == DPA_OK && should_fall(p, high, &trial)) {
        *stage = trial;
        low = high;
        if (high >= most) return most;
        high = fmin(2 * high, most);
    }
    for (int i = 0; i < AIM_STEPS && high - low > 0.01 * high && p->status == DPA_OK; ++i) {
        const double middle = 0.5 * (low + high);
        if (should_fall(p, middle, &trial)) {
            *stage = trial;
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

dpa_status dpa__stage_plan(const dpa__model *model, const dpa__past *past, dpa__stage *stage,
                           double *aim, dpa_error *err) {
    planner p = {.model = model, .past = past, .err = err, .status = DPA_OK};
    *aim = 0;
    stage->count = 0;
    stage->kept = 1;
    if (past->count == 0) return DPA_OK;
    p.corners = DPA_NEW_ARRAY(corner, 2 * past->count + 2, err);
    if (p.corners == NULL) return DPA_NO_MEMORY;
    find_corners(&p);
    *aim = find_aim(&p, stage);
    free(p.corners);
    return p.status;
}
