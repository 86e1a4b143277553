/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From cells to the two pmfs on the grid.
 *
 * Pessimistic: every cell's mass sits on its two edges (connect-the-dots, Doroshenko, Ghazi,
 * Kamath, Kumar, Manurangsi 2022): under Q a mean-preserving spread of the likelihood ratio, so
 * every hockey-stick divergence grows, also after composition. Optimistic: below. */
#include <math.h>
#include <stdlib.h>

#include "account/pld.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"

/* The optimistic discretisation. Write L_i, H_i for a cell's low and high P-mass.
 *
 * Shares of cells on both sides of the grid point g_k are merged into one outcome: a
 * post-processing, so every hockey-stick divergence shrinks, also after composition. A share s of
 * cell j adds excess(j,k) = P_j − e^g_k Q_j = L_j(1−e^−(j−k)h) + H_j(1−e^−(j+1−k)h) times s; when
 * the excesses of all that is merged sum to zero, the merged likelihood ratio is e^g_k exactly and
 * nothing is lost but the spread inside. Cell k−1 has the excess −L_{k−1}(e^h−1), cell k the excess
 * H_k(1−e^−h).
 *
 * A sweep goes up: what is left of cell k−1 goes to g_k together with the share of cell k that
 * balances it; where all of cell k is not enough, higher cells help. The recursion is stable where
 * masses grow. So one sweep goes up and one down (the same sweep on the reversed pair), and they
 * are joined at the grid point where they differ least. There, and where a sweep finds no partner
 * within REACH cells, P-mass is dropped until the ratio is e^g: divergences grow with P, so this
 * shrinks them too. It is the only loss that is not of second order in h. */

enum { REACH = 24 };

/* One sweep. pending[k]: the share of cell k−1 that waits for g_k once everything below is settled;
 * NaN if the sweep never reached g_k in that state. log_mass[k]: the mass that g_k has by then. */
typedef struct sweep {
    const dpa__loss_cells *cells;
    int reversed;
    double *pending, *log_mass;
    double *lost; /* second moment of what was merged below, in cells² */
} sweep;

/* The excess of a whole cell at g_k, divided by e^reference. Its relative error is the cells'. */
static double excess(const dpa__loss_cells *cells, size_t j, size_t k, double reference) {
    const double h = cells->h, up = (double)(j - k); /* j ≥ k */
    const double low = up > 0 ? exp(cells->log_low[j] - reference) * -expm1(-up * h) : 0;
    return low + exp(cells->log_high[j] - reference) * -expm1(-(up + 1) * h);
}

/* log of e^g_k times the Q-mass of cell j, rounded down. */
static double log_at(const dpa__loss_cells *cells, size_t j, size_t k) {
    const double up = (double)(ptrdiff_t)(j - k);
    return dpa__log_add(cells->log_low[j] - up * cells->h,
                        cells->log_high[j] - (up + 1) * cells->h) -
           (double)cells->error[j];
}

static void add_log(double *log_mass, double more) {
    *log_mass = dpa__log_add(*log_mass, more);
}

/* The price of dropped P-mass, as lost second moment in cells²: a factor 1/h² makes it weigh as
 * much as a spread of order 1. */
static double price(const dpa__loss_cells *cells, double dropped) {
    return dropped / (cells->h * cells->h);
}

/* No partner was found: the share goes to an edge alone. For the pair itself it goes down, and
 * P-mass is dropped. For the reversed pair, whose P is our Q, it goes up, and its Q-mass, our
 * P-mass, is dropped. Returns the price. */
static double settle_alone(sweep *s, size_t j, double share) {
    const dpa__loss_cells *cells = s->cells;
    const double drop = share * -expm1(-cells->h);
    if (!s->reversed) {
        add_log(&s->log_mass[j], log(share) + log_at(cells, j, j));
        return price(cells, drop * exp(cells->log_high[j]));
    }
    const double whole = dpa__log_add(cells->log_low[j], cells->log_high[j]);
    add_log(&s->log_mass[j + 1], log(share) + whole - (double)cells->error[j]);
    const double loss = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)j);
    return price(cells, drop * exp(cells->log_low[j] - loss));
}

/* Balances the share of cell k−1 at g_k. Returns 1 with the cell in which the balance was reached
 * and the share of it that was used, or 0. Rounding keeps our own ratio (for the reversed pair its
 * inverse) from falling below e^g_k. */
static int balance(const sweep *s, size_t k, double share, size_t *last, double *used) {
    const dpa__loss_cells *cells = s->cells;
    const double reference = cells->log_low[k - 1];
    *last = k;
    *used = 0;
    if (share == 0 || !(reference > -HUGE_VAL)) return 1; /* nothing is missing at g_k */
    const double all = share * expm1(cells->h);
    double found = 0, error = (double)cells->error[k - 1];
    for (size_t j = k; j < cells->count && j - k < REACH; ++j) {
        error = fmax(error, (double)cells->error[j]);
        const double wanted = all * (s->reversed ? 1 - 4 * error : 1 + 4 * error);
        const double offer = excess(cells, j, k, reference);
        if (found + offer >= wanted) {
            *last = j;
            *used = fmin(fmax((wanted - found) / offer, 0), 1);
            return 1;
        }
        found += offer;
    }
    return 0;
}

/* Merges a share of cell j into g_k. Returns the second moment lost, under our own P. */
static double put(sweep *s, size_t j, size_t k, double share) {
    const dpa__loss_cells *cells = s->cells;
    if (share == 0) return 0;
    add_log(&s->log_mass[k], log(share) + log_at(cells, j, k));
    const double up = (double)(ptrdiff_t)(j - k);
    const double loss = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)k);
    const double to_own = s->reversed ? -loss : 0;
    return share * (up * up * exp(cells->log_low[j] + to_own) +
                    (up + 1) * (up + 1) * exp(cells->log_high[j] + to_own));
}

static void run_sweep(sweep *s) {
    const dpa__loss_cells *cells = s->cells;
    for (size_t k = 0; k <= cells->count; ++k) {
        s->pending[k] = NAN;
        s->log_mass[k] = -HUGE_VAL;
    }
    s->pending[0] = s->lost[0] = 0;
    double share = 1, lost = 0;
    for (size_t k = 1; k <= cells->count;) {
        s->pending[k] = share;
        s->lost[k] = lost;
        size_t last;
        double used;
        if (k == cells->count || !balance(s, k, share, &last, &used)) {
            lost += settle_alone(s, k - 1, share);
            if (share > 0) s->pending[k] = NAN; /* settled, so it cannot be met here */
            share = 1;
            ++k;
            continue;
        }
        lost += put(s, k - 1, k, share) + put(s, last, k, used);
        for (size_t j = k; j < last; ++j) lost += put(s, j, k, 1);
        share = 1 - used;
        k = last + 1;
    }
}

/* The meeting point g_k of the two sweeps: the shares of cells k−1 and k that wait there leave an
 * excess (or, if negative, a lack) of P-mass, known to ± doubt. */
typedef struct gap {
    double excess, doubt;
} gap;

static gap gap_at(const dpa__loss_cells *cells, size_t k, double below, double above) {
    const double h = cells->h;
    double offered = 0, missing = 0, error = 0;
    if (k < cells->count && above > 0) {
        offered = above * exp(cells->log_high[k]) * -expm1(-h);
        error = (double)cells->error[k];
    }
    if (k > 0 && below > 0) {
        missing = below * exp(cells->log_low[k - 1]) * expm1(h);
        error = fmax(error, (double)cells->error[k - 1]);
    }
    return (gap){offered - missing, 4 * error * (offered + missing)};
}

/* The lack that must be taken from the atom above. */
static double lack_of(gap g) {
    return fmax(g.doubt - g.excess, 0);
}

static double available(const dpa__loss_cells *cells, const sweep *down, size_t k) {
    if (k >= cells->count) return 0;
    const double loss = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)(k + 1));
    return 0.9 * exp(down->log_mass[cells->count - k - 1] + loss) * -expm1(-cells->h);
}

/* The excess that the atom below can absorb. */
static double takes(const dpa__loss_cells *cells, double log_mass) {
    return 0.9 * exp(log_mass) * expm1(cells->h);
}

/* The grid point at which the least spread is lost. 0: the downward sweep is used alone. */
static size_t meeting(const dpa__loss_cells *cells, const sweep *up, const sweep *down) {
    const size_t n = cells->count;
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t k = 0; k <= n; ++k) {
        if (isnan(up->pending[k]) || isnan(down->pending[n - k])) continue;
        const gap g = gap_at(cells, k, up->pending[k], down->pending[n - k]);
        const double below = k > 0 ? takes(cells, up->log_mass[k - 1]) : 0;
        const double dropped = fmax(g.excess - below, 0);
        const double lost =
            up->lost[k] + down->lost[n - k] + fabs(g.excess) / cells->h + price(cells, dropped);
        if (lack_of(g) <= available(cells, down, k) && lost < least) {
            least = lost;
            best = k;
        }
    }
    return best;
}

/* Closes the gap at g_m by moving mass from the neighbouring atom (above for a lack, below for an
 * excess), which is one more merge. Excess that the atom below cannot absorb is dropped. */
static void fill_gap(const dpa__loss_cells *cells, gap g, size_t m, double *log_mass) {
    const double h = cells->h, lack = lack_of(g), excess = g.excess - g.doubt;
    if (lack > 0 && m < cells->count && log_mass[m + 1] > -HUGE_VAL) {
        const double log_part = log(lack / -expm1(-h)) - log_mass[m + 1];
        log_mass[m + 1] += log1p(-exp(log_part)) - 1e-15;
        add_log(&log_mass[m], log(lack / -expm1(-h)) - h - 1e-15);
    } else if (excess > 0 && m > 0 && log_mass[m - 1] > -HUGE_VAL) {
        const double log_moved = fmin(log(excess / expm1(h)), log_mass[m - 1] + log(0.9));
        log_mass[m - 1] += log1p(-exp(log_moved - log_mass[m - 1])) - 1e-15;
        add_log(&log_mass[m], log_moved + h - 1e-15);
    }
}

static void join(const dpa__loss_cells *cells, const sweep *up, const sweep *down,
                 double *log_mass) {
    const size_t n = cells->count, m = meeting(cells, up, down);
    const double below = up->pending[m], above = down->pending[n - m];
    for (size_t k = 0; k <= n; ++k) {
        const double loss = dpa__loss_at(cells->origin, cells->h, cells->first + (ptrdiff_t)k);
        /* the reversed pair's P-mass is our Q-mass */
        log_mass[k] = k < m ? up->log_mass[k] : k > m ? down->log_mass[n - k] + loss : -HUGE_VAL;
    }
    if (m > 0 && below > 0) add_log(&log_mass[m], log(below) + log_at(cells, m - 1, m));
    if (m < n && above > 0) add_log(&log_mass[m], log(above) + log_at(cells, m, m));
    if (!isnan(below) && !isnan(above))
        fill_gap(cells, gap_at(cells, m, below, above), m, log_mass);
}

static dpa_status sweep_alloc(sweep *s, const dpa__loss_cells *cells, int reversed,
                              dpa_error *err) {
    *s = (sweep){.cells = cells, .reversed = reversed};
    s->pending = DPA_NEW_ARRAY(double, cells->count + 1, err);
    s->log_mass = DPA_NEW_ARRAY(double, cells->count + 1, err);
    s->lost = DPA_NEW_ARRAY(double, cells->count + 1, err);
    return s->pending == NULL || s->log_mass == NULL || s->lost == NULL ? DPA_NO_MEMORY : DPA_OK;
}

static void sweep_free(sweep *s) {
    free(s->pending);
    free(s->log_mass);
    free(s->lost);
}

static dpa_status merge_both(const dpa__loss_cells *cells, const dpa__loss_cells *mirrored,
                             double *log_mass, dpa_error *err) {
    sweep up, down = {0};
    dpa_status status = sweep_alloc(&up, cells, 0, err);
    if (status == DPA_OK) status = sweep_alloc(&down, mirrored, 1, err);
    if (status == DPA_OK) {
        run_sweep(&up);
        run_sweep(&down);
        join(cells, &up, &down, log_mass);
    }
    sweep_free(&up);
    sweep_free(&down);
    return status;
}

static dpa_status merge(const dpa__loss_cells *cells, double *log_mass, dpa_error *err) {
    dpa__loss_cells mirrored;
    DPA_TRY(dpa__loss_cells_mirror(cells, &mirrored, err));
    const dpa_status status = merge_both(cells, &mirrored, log_mass, err);
    dpa__loss_cells_free(&mirrored);
    return status;
}

static dpa_status pmf_alloc(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                            dpa_error *err) {
    *out = (dpa__pmf){.h = cells->h,
                      .origin = cells->origin,
                      .first = cells->first,
                      .count = cells->count + 1,
                      .steps = steps,
                      .shift = cells->shift};
    out->log_mass = DPA_NEW_ARRAY(double, out->count, err);
    return out->log_mass == NULL ? DPA_NO_MEMORY : DPA_OK;
}

void dpa__pmf_free(dpa__pmf *pmf) {
    free(pmf->log_mass);
    *pmf = (dpa__pmf){0};
}

dpa_status dpa__pmf_pessimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                                dpa_error *err) {
    DPA_TRY(pmf_alloc(cells, steps, out, err));
    for (size_t i = 0; i < out->count; ++i) {
        const double low = i < cells->count ? cells->log_low[i] : -HUGE_VAL;
        const double high = i > 0 ? cells->log_high[i - 1] : -HUGE_VAL;
        const float error_low = i < cells->count ? cells->error[i] : 0;
        const float error_high = i > 0 ? cells->error[i - 1] : 0;
        out->log_mass[i] = dpa__log_add(low, high) + (double)fmaxf(error_low, error_high);
    }
    out->out = cells->p_out;
    return DPA_OK;
}

dpa_status dpa__pmf_optimistic(const dpa__loss_cells *cells, double steps, dpa__pmf *out,
                               dpa_error *err) {
    DPA_TRY(pmf_alloc(cells, steps, out, err));
    out->out = cells->p_sure;
    const dpa_status status = merge(cells, out->log_mass, err);
    if (status != DPA_OK) dpa__pmf_free(out);
    return status;
}

double dpa__pmf_log_mgf(const dpa__pmf *pmf, double theta) {
    double top = -HUGE_VAL;
    for (size_t i = 0; i < pmf->count; ++i)
        top = fmax(top, pmf->log_mass[i] + theta * pmf->h * (double)(pmf->first + (ptrdiff_t)i));
    if (!isfinite(top)) return top;
    dpa__sum sum = {0};
    for (size_t i = 0; i < pmf->count; ++i)
        dpa__sum_add(&sum, exp(pmf->log_mass[i] +
                               theta * pmf->h * (double)(pmf->first + (ptrdiff_t)i) - top));
    return theta * pmf->origin + top + log(dpa__sum_get(&sum));
}
