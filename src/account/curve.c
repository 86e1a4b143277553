/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trade-off curve of the composed mechanism, from both sides.
 *
 * f is the largest curve above all lines 1 − δ(ε) − e^ε·α and their mirror images, ε ≥ 0, with δ
 * the larger of both directions (Dong, Roth, Su 2022, Proposition 2.12). Below the truth: lines of
 * the pessimistic δ at many ε; the vertices are where neighbouring lines cross, so every edge lies
 * on a line. Where it is known which run is the one without the record, each direction has its own
 * δ: with P the record's run and Q the other, TPR ≤ e^ε·FPR + δ_{P‖Q}(ε) are the lines as they are,
 * 1 − FPR ≤ e^ε·FNR + δ_{Q‖P}(ε) the mirrored ones. Above the truth: vertices of the optimistic pmf
 * itself, (Σ_{ℓ>t} q, 1 − Σ_{ℓ>t} p) for many thresholds t (Neyman–Pearson); chords of a convex
 * curve lie above it. Compositions with several tilts serve the small rates with relative accuracy.
 */
#include <math.h>
#include <stdlib.h>

#include "account/family.h"
#include "account/handle.h"
#include "base/error.h"
#include "base/memory.h"

enum { LINES = 1200, MOST_TILTS = 12 };
static const double LOG_ACCURACY = -32.3; /* 1e-14 */

/* All compositions of one side: every direction, every tilt. */
typedef struct bundle {
    dpa__composed part[2][MOST_TILTS];
    size_t directions, tilts;
} bundle;

typedef struct points {
    double *fpr, *fnr;
    size_t count;
} points;

static void bundle_free(bundle *b) {
    for (size_t d = 0; d < 2; ++d)
        for (size_t t = 0; t < MOST_TILTS; ++t) dpa__composed_free(&b->part[d][t]);
}

/* Tilt 0 reads δ down to about 1e-10; further tilts for a ladder of smaller ones, down to the δ of
 * the options. */
static dpa_status bundle_make(const dpa_account *account, dpa__rounding side, dpa__detail detail,
                              bundle *b, dpa_error *err) {
    const double smallest = log(fmin(account->opts.delta, 1e-12));
    *b = (bundle){.directions = dpa__account_answers(account)->directions, .tilts = 1};
    double log_delta[MOST_TILTS] = {0};
    for (double step = log(1e-12); detail == DPA_FINE && b->tilts < MOST_TILTS; step *= 3) {
        log_delta[b->tilts++] = fmax(step, smallest);
        if (step <= smallest) break;
    }
    for (size_t d = 0; d < b->directions; ++d)
        for (size_t t = 0; t < b->tilts; ++t) {
            const dpa__pld *guide = dpa__account_guide(account, d);
            double bound, theta = 0;
            if (t > 0)
                theta = dpa__tilt_for_delta(guide->side[DPA_PESSIMISTIC], guide->count,
                                            exp(log_delta[t]), &bound);
            const dpa_status status =
                dpa__account_compose(account, d, side, theta, LOG_ACCURACY, &b->part[d][t], err);
            if (status != DPA_OK) {
                bundle_free(b);
                return status;
            }
        }
    return DPA_OK;
}

/* Which directions count (from … to − 1), and whether a point stands for itself, for its mirror
 * image, or for both. */
typedef struct use {
    size_t from, to;
    int is_plain, is_mirrored;
} use;

static use use_of(const bundle *b, dpa__way way, size_t direction) {
    if (way == DPA_EITHER_WAY || b->directions == 1) return (use){0, b->directions, 1, 1};
    return (use){direction, direction + 1, direction == 0, direction == 1};
}

/* The end of the last window; only mass outside all windows lies beyond. */
static double bundle_end(const bundle *b, const use *u) {
    double end = 0;
    for (size_t d = u->from; d < u->to; ++d)
        for (size_t t = 0; t < b->tilts; ++t) {
            const dpa__composed *c = &b->part[d][t];
            end = fmax(end, dpa__loss_at(c->origin, c->h, c->first + (ptrdiff_t)c->count));
        }
    return end;
}

/* Pessimistic δ(ε): per direction the best tilt, then the worse direction. */
static double bundle_delta(const bundle *b, const use *u, double epsilon) {
    double worst = -HUGE_VAL;
    for (size_t d = u->from; d < u->to; ++d) {
        double best = 0;
        for (size_t t = 0; t < b->tilts; ++t)
            best = fmin(best, dpa__composed_log_delta(&b->part[d][t], epsilon));
        worst = fmax(worst, best);
    }
    return exp(worst);
}

static void add_point(points *p, const use *u, double fpr, double fnr) {
    if (u->is_plain) {
        p->fpr[p->count] = fpr;
        p->fnr[p->count++] = fnr;
    }
    if (u->is_mirrored) {
        p->fpr[p->count] = fnr;
        p->fnr[p->count++] = fpr;
    }
}

/* Any abscissa is valid: the point is put on the lower of two neighbouring lines, so neither it nor
 * the next one is above the line that they share. */
static void add_lines(const bundle *b, const use *u, points *p) {
    const double end = bundle_end(b, u);
    double epsilon = 0, delta = bundle_delta(b, u, 0);
    for (size_t k = 1; k <= LINES; ++k) {
        const double next = end * (double)k / LINES;
        const double next_delta = bundle_delta(b, u, next);
        const double step = exp(epsilon) * expm1(next - epsilon);
        const double fpr = fmax((delta - next_delta) / step, 0);
        const double here = delta + exp(epsilon) * fpr, there = next_delta + exp(next) * fpr;
        if (isfinite(step) && fpr <= 1)
            add_point(p, u, fpr, fmax(1 - fmax(here, there) - 1e-15, 0));
        epsilon = next;
        delta = next_delta;
    }
    add_point(p, u, 0, fmax(nextafter(1 - delta, 0), 0));
}

/* Sums of lower bounds of the bins: FPR and TPR of a test that the optimistic pair allows, infinite
 * losses included. The factor lowers the TPR; the shift of the loss raises the FPR. */
static void add_vertices(const dpa__composed *c, const use *u, points *p) {
    const double doubt = log1p(c->factor) + 1e-15 * (64 + fabs(c->log_scale));
    const double zero = fmax(ceil(-c->origin / c->h) - (double)c->first, 0);
    const size_t from = zero < (double)c->count ? (size_t)zero : c->count;
    const size_t stride = (c->count - from) / LINES + 1;
    for (size_t j = from; j < c->count; j += stride) {
        const double loss = dpa__loss_at(c->origin, c->h, c->first + (ptrdiff_t)j);
        const double size = c->log_scale - c->theta * loss;
        const double tpr = exp(size + log(c->b[j] + c->c[j]) - doubt) + c->extra;
        const double fpr = exp(size - loss + log(c->b[j]) + c->shift + doubt);
        if (tpr > fpr) add_point(p, u, fpr, fmin(nextafter(1 - tpr, 2), 1));
    }
}

static dpa_status curve_of(const bundle *b, dpa__rounding side, dpa__way way, dpa_curve **out,
                           dpa_error *err) {
    const size_t most = 4 * (LINES + 2) * b->directions * b->tilts;
    points p = {.fpr = DPA_NEW_ARRAY(double, most, err), .fnr = DPA_NEW_ARRAY(double, most, err)};
    dpa_status status = p.fpr == NULL || p.fnr == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) {
        for (size_t pass = 0; pass < (way == DPA_EITHER_WAY ? 1 : b->directions); ++pass) {
            const use u = use_of(b, way, pass);
            if (side == DPA_PESSIMISTIC) add_lines(b, &u, &p);
            for (size_t d = u.from; side == DPA_OPTIMISTIC && d < u.to; ++d)
                for (size_t t = 0; t < b->tilts; ++t) add_vertices(&b->part[d][t], &u, &p);
        }
        status = dpa_curve_points(p.fpr, p.fnr, p.count, out, err);
    }
    free(p.fpr);
    free(p.fnr);
    return status;
}

dpa_status dpa__account_curve(const dpa_account *account, dpa__rounding side, dpa__detail detail,
                              dpa__way way, dpa_curve **out, dpa_error *err) {
    if (account->model.mu > 0) {
        const double room = side == DPA_PESSIMISTIC ? 1 + 1e-12 : 1 - 1e-12;
        return dpa_curve_gaussian(account->model.mu * room, out, err);
    }
    bundle b;
    DPA_TRY(bundle_make(account, side, detail, &b, err));
    const dpa_status status = curve_of(&b, side, way, out, err);
    bundle_free(&b);
    return status;
}

dpa_status dpa__account_directed(const dpa_account *account, int side, dpa_curve **out,
                                 dpa_error *err) {
    return dpa__account_curve(account, side < 0 ? DPA_PESSIMISTIC : DPA_OPTIMISTIC, DPA_FINE,
                              DPA_WITHOUT_TO_WITH, out, err);
}

dpa_status dpa_account_curve(const dpa_account *account, int side, dpa_curve **out,
                             dpa_error *err) {
    *out = NULL;
    if (side == 0)
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "side is 0; below 0 is the curve under the truth, above 0 the one over it");
    return dpa__account_curve(account, side < 0 ? DPA_PESSIMISTIC : DPA_OPTIMISTIC, DPA_FINE,
                              DPA_EITHER_WAY, out, err);
}

/* Makes both curves once, under the lock; readers see no other change. */
static dpa_status both_curves(dpa_account *account, dpa_error *err) {
    dpa_status status = DPA_OK;
    (void)pthread_mutex_lock(&account->lock);
    for (int side = 0; side < 2 && status == DPA_OK; ++side)
        if (account->curve[side] == NULL)
            status = dpa__account_curve(account, (dpa__rounding)side, DPA_FINE, DPA_EITHER_WAY,
                                        &account->curve[side], err);
    (void)pthread_mutex_unlock(&account->lock);
    return status;
}

dpa_status dpa_account_fnr(const dpa_account *account, double fpr, dpa_interval *out,
                           dpa_error *err) {
    if (!(fpr >= 0 && fpr <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "fpr is %g; it must be in [0, 1]", fpr);
    DPA_TRY(both_curves((dpa_account *)account, err));
    out->lower = dpa_curve_fnr(account->curve[DPA_PESSIMISTIC], fpr);
    out->upper = fmax(dpa_curve_fnr(account->curve[DPA_OPTIMISTIC], fpr), out->lower);
    return DPA_OK;
}
