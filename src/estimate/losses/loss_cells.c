/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of losses, and exact draws of counts for resampling them. */
#include "estimate/losses/epsilon_star.h"

#include <math.h>
#include <string.h>

#include "math/dist.h"
#include "math/logspace.h"

static const double GROWTH = 0.2, WIDEST = 0.01;

/* The rank at which the cell ends that starts after `rank` losses. */
static double next_cut(double rank, double all) {
    return rank + fmax(1.0, floor(fmin(GROWTH * fmin(rank, all - rank), WIDEST * all)));
}

typedef struct merge {
    const dpa_losses *l;
    size_t train, heldout;
} merge;

/* The next distinct loss; moves both sides past it. */
static double step(merge *m) {
    const dpa_losses *l = m->l;
    const double a = m->train < l->train_count ? l->train[m->train] : HUGE_VAL;
    const double b = m->heldout < l->heldout_count ? l->heldout[m->heldout] : HUGE_VAL;
    const double at = fmin(a, b);
    while (m->train < l->train_count && l->train[m->train] <= at) ++m->train;
    while (m->heldout < l->heldout_count && l->heldout[m->heldout] <= at) ++m->heldout;
    return at;
}

void dpa__cells_new(const dpa_losses *l, dpa__cells *out) {
    merge m = {l, 0, 0};
    size_t train = 0, heldout = 0;
    const double all = (double)l->train_count + (double)l->heldout_count;
    double cut = next_cut(0.0, all);
    *out = (dpa__cells){.train_total = (double)l->train_count,
                        .heldout_total = (double)l->heldout_count};
    while (m.train < l->train_count || m.heldout < l->heldout_count) {
        const double at = step(&m), rank = (double)m.train + (double)m.heldout;
        if (rank < cut && rank < all) continue;
        out->upper[out->count] = at;
        out->train[out->count] = (double)(m.train - train);
        out->heldout[out->count++] = (double)(m.heldout - heldout);
        train = m.train;
        heldout = m.heldout;
        cut = next_cut(rank, all);
    }
}

void dpa__cells_mirror(const dpa__cells *c, dpa__cells *out) {
    *out = (dpa__cells){
        .count = c->count, .train_total = c->train_total, .heldout_total = c->heldout_total};
    for (size_t i = 0; i < c->count; ++i) {
        const size_t from = c->count - 1 - i;
        out->train[i] = c->train[from];
        out->heldout[i] = c->heldout[from];
        out->upper[i] = from > 0 ? c->upper[from - 1] : -HUGE_VAL; /* losses above this one */
    }
}

/* Walks from the mode in both directions, the likelier side first, until the accumulated mass
 * reaches u. up(k) is Pr[k+1]/Pr[k]. */
typedef double ratio_of(double k, const double *law);

static double from_mode(double u, double mode, double at_mode, double least, double most,
                        ratio_of *up, const double *law) {
    double low = mode, high = mode, below = at_mode, above = at_mode;
    u -= at_mode;
    while (u > 0.0 && (low > least || high < most)) {
        const double next_below = low > least ? below / up(low - 1.0, law) : 0.0;
        const double next_above = high < most ? above * up(high, law) : 0.0;
        if (next_above >= next_below && high < most) {
            above = next_above;
            high += 1.0;
            u -= above;
            if (u <= 0.0) return high;
        } else {
            below = next_below;
            low -= 1.0;
            u -= below;
            if (u <= 0.0) return low;
        }
        if (next_above == 0.0 && next_below == 0.0) break; /* only rounding is left */
    }
    return mode;
}

static double binomial_up(double k, const double *law) { /* n, odds */
    return (law[0] - k) / (k + 1.0) * law[1];
}

double dpa__draw_binomial(dpa_rng *rng, double n, double p) {
    if (!(p > 0.0) || n <= 0.0) return 0.0;
    if (p >= 1.0) return n;
    const double law[2] = {n, p / (1.0 - p)}, mode = fmin(n, floor((n + 1.0) * p));
    return from_mode(dpa__rng_uniform(rng), mode, exp(dpa__binom_log_pmf(mode, n, p)), 0.0, n,
                     binomial_up, law);
}

static double hypergeometric_up(double k, const double *law) { /* all, marked, drawn */
    return (law[1] - k) * (law[2] - k) / ((k + 1.0) * (law[0] - law[1] - law[2] + k + 1.0));
}

double dpa__draw_hypergeometric(dpa_rng *rng, double all, double marked, double drawn) {
    const double least = fmax(0.0, drawn - (all - marked)), most = fmin(drawn, marked);
    if (least >= most) return least;
    const double law[3] = {all, marked, drawn};
    const double mode =
        fmin(most, fmax(least, floor((drawn + 1.0) * (marked + 1.0) / (all + 2.0))));
    const double at =
        exp(dpa__log_choose(marked, mode) + dpa__log_choose(all - marked, drawn - mode) -
            dpa__log_choose(all, drawn));
    return from_mode(dpa__rng_uniform(rng), mode, at, least, most, hypergeometric_up, law);
}

void dpa__cells_exchange(const dpa__cells *c, dpa_rng *rng, dpa__cells *out) {
    double all = c->train_total + c->heldout_total, marked = c->train_total;
    memcpy(out, c, sizeof *out);
    for (size_t i = 0; i < c->count; ++i) {
        const double size = c->train[i] + c->heldout[i];
        out->train[i] = dpa__draw_hypergeometric(rng, all, marked, size);
        out->heldout[i] = size - out->train[i];
        all -= size;
        marked -= out->train[i];
    }
}

void dpa__cells_draw(const double *probability, size_t count, double total, dpa_rng *rng,
                     double *out) {
    double left = 1.0, points = total;
    for (size_t i = 0; i < count; ++i) {
        const double share = left > 0.0 ? fmin(1.0, probability[i] / left) : 1.0;
        out[i] = i + 1 < count ? dpa__draw_binomial(rng, points, share) : points;
        points -= out[i];
        left -= probability[i];
    }
}
