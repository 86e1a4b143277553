/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon* from the ranks of the losses alone: at each end of the losses the rates of thresholds
 * are a straight line on normal axes (loss_line.c), followed down to rates of δ; between the two
 * windows they are as observed. docs/methods/epsilon-star.md has the proofs, the measured errors
 * and why this is the default. */
#include <math.h>

#include "base/error.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/rates/rates.h"
#include "math/dist.h"

enum { SCAN = 48, GOLDEN = 30 };

/* A rate is taken as observed from this many losses of its side on. */
static const double FEW = 5.0;

/* A slope that differs from 1 by no more than its own error becomes 1: c of the positive-part rule.
 */
static const double SHRINK = 1.0;

/* The search for ε along one line. */
typedef struct curve {
    double intercept, slope, share;
    double train_share;    /* share of training losses among all */
    double delta, least;   /* smaller rates are not considered */
    int upper;             /* 1: the end of large losses */
    const dpa__band *band; /* NULL: the line itself */
    double deviations;     /* deviations of the band by which every ratio is raised */
    double from;           /* z below this are not considered (band) */
} curve;

static double rate(double z, double least) {
    const double p = dpa__norm_cdf(z, DPA_LOWER);
    return p < least ? least : p > 1.0 - least ? 1.0 - least : p;
}

/* The larger of (A−δ)/B and (B−δ)/A at Φ⁻¹(FPR) = z of this end. */
static double ratio_at(const curve *c, double z, int *heldout_above) {
    double height = c->intercept + c->slope * z, off = 0.0;
    if (c->band != NULL) height = dpa__band_at(c->band, z, &off);
    const double b = rate(z, c->least), more = rate(height + c->deviations * off, c->least),
                 less = rate(height - c->deviations * off, c->least);
    const double forward = (more - c->delta) / b, backward = (b - c->delta) / less;
    *heldout_above = backward > forward;
    return fmax(forward, backward);
}

/* The z at which the pooled share of losses beyond the threshold is the window's. */
static double window_end(const curve *c) {
    double low = -40.0, high = 40.0;
    for (int i = 0; i < 60; ++i) {
        const double z = 0.5 * (low + high);
        const double pooled =
            c->train_share * dpa__norm_cdf(c->intercept + c->slope * z, DPA_LOWER) +
            (1.0 - c->train_share) * dpa__norm_cdf(z, DPA_LOWER);
        if (pooled > c->share)
            high = z;
        else
            low = z;
    }
    return low;
}

static double narrow(const curve *c, double a, double b, double *at) {
    const double golden = 0.5 * (sqrt(5.0) - 1.0);
    int ignored;
    double x = b - golden * (b - a), y = a + golden * (b - a);
    double fx = ratio_at(c, x, &ignored), fy = ratio_at(c, y, &ignored);
    for (int i = 0; i < GOLDEN; ++i) {
        const int left = fx >= fy;
        *(left ? &b : &a) = left ? y : x;
        *(left ? &y : &x) = left ? x : y;
        *(left ? &fy : &fx) = left ? fx : fy;
        if (left)
            fx = ratio_at(c, x = b - golden * (b - a), &ignored);
        else
            fy = ratio_at(c, y = a + golden * (b - a), &ignored);
    }
    *at = fx >= fy ? x : y;
    return fmax(fx, fy);
}

/* ε of the line in its window, at least 0, and the rates where it is attained. */
static double curve_epsilon(const curve *c, dpa_star *out) {
    const double z = dpa__norm_quantile(c->least, DPA_LOWER), end = window_end(c);
    const double start =
        fmin(c->band != NULL ? fmax(z, c->from) : fmin(z, (z - c->intercept) / c->slope), end);
    const double step = (end - start) / SCAN;
    double best = 0.0, at = end, where;
    int which, first = 0;
    for (int i = 0; i <= SCAN; ++i) {
        const double ratio = ratio_at(c, start + i * step, &which);
        if (!(ratio > best)) continue;
        best = ratio;
        at = start + i * step;
    }
    const double finer = narrow(c, fmax(start, at - step), fmin(end, at + step), &where);
    if (finer > best) {
        best = finer;
        at = where;
    }
    if (out == NULL || !(best > 1.0)) return log(fmax(best, 1.0));
    (void)ratio_at(c, at, &first);
    const double b = dpa__norm_cdf(at, DPA_LOWER);
    const double a = dpa__norm_cdf(c->intercept + c->slope * at, DPA_LOWER);
    out->epsilon = log(best);
    out->fpr = c->upper ? 1.0 - b : b;
    out->fnr = c->upper ? a : 1.0 - a;
    out->ratio = c->upper ? (first ? DPA_STAR_TNR_FNR : DPA_STAR_FNR_TNR)
                          : (first ? DPA_STAR_FPR_TPR : DPA_STAR_TPR_FPR);
    return out->epsilon;
}

/* ── one sample, as cells ──────────────────────────────────────────────────────────────────── */

typedef struct sample {
    dpa__line at[2]; /* lower, upper; share 0: none */
    double delta, least, train_share;
    dpa_star star;
} sample;

static curve curve_of(const sample *s, int upper, const dpa__line *line) {
    return (curve){line->intercept,
                   line->slope,
                   line->share,
                   s->train_share,
                   s->delta,
                   s->least,
                   upper,
                   NULL,
                   0.0,
                   0.0};
}

/* The line used for the estimate: the slope is moved towards 1 as far as its error allows, and the
 * intercept with it. */
static dpa__line shrunk(const dpa__line *line) {
    dpa__line out = *line;
    const double off = line->slope - 1.0, variance = line->covariance[2];
    const double kept = fmax(0.0, 1.0 - SHRINK * variance / fmax(off * off, 1e-300));
    out.slope = 1.0 + off * kept;
    out.intercept += line->covariance[1] / variance * (out.slope - line->slope);
    return out;
}

/* A rate with too few losses gets half a loss more, so it is never 0. */
static double observed(double count, double total, double least) {
    return fmax(least, count < FEW ? (count + 0.5) / (total + 1.0) : count / total);
}

/* Observed rates at thresholds outside both windows. A ratio counts if enough losses have its
 * larger rate; if all of these belong to one side (sides that do not overlap leave no line), that
 * is the leak. */
static void look_between(const dpa__cells *c, sample *s) {
    const double n = c->train_total, m = c->heldout_total;
    const double low = s->at[0].share, high = s->at[1].share;
    double train = 0.0, heldout = 0.0;
    for (size_t i = 0; i + 1 < c->count; ++i) {
        train += c->train[i];
        heldout += c->heldout[i];
        const double pooled = (train + heldout) / (n + m);
        if (pooled < low || pooled > 1.0 - high) continue;
        const dpa__rates4 r = {observed(train, n, s->least), observed(n - train, n, s->least),
                               observed(heldout, m, s->least), observed(m - heldout, m, s->least)};
        const double of[] = {[DPA_STAR_TPR_FPR] = train,
                             [DPA_STAR_TNR_FNR] = m - heldout,
                             [DPA_STAR_FNR_TNR] = n - train,
                             [DPA_STAR_FPR_TPR] = heldout};
        for (dpa_star_ratio which = DPA_STAR_NONE + 1; which < sizeof of / sizeof of[0]; ++which) {
            const double epsilon = log(dpa__star_ratio_of(&r, s->delta, which));
            if (of[which] >= FEW && epsilon > s->star.epsilon)
                s->star = (dpa_star){epsilon, which, c->upper[i], r.fpr, r.fnr, 0};
        }
    }
}

static void estimate(const dpa__cells *c, double delta, sample *s) {
    const double fewest = fmin(c->train_total, c->heldout_total);
    dpa__cells other;
    *s = (sample){.delta = delta, .least = delta > 0.0 ? delta : fmin(0.25, 1.0 / fewest)};
    s->train_share = c->train_total / (c->train_total + c->heldout_total);
    s->star = (dpa_star){.threshold = NAN, .fpr = NAN, .fnr = NAN};
    dpa__cells_mirror(c, &other);
    for (int upper = 0; upper < 2; ++upper) {
        dpa_star here = {.threshold = NAN};
        if (dpa__line_fit(upper ? &other : c, &s->at[upper], NULL) != DPA_OK) continue;
        const dpa__line line = shrunk(&s->at[upper]);
        const curve along = curve_of(s, upper, &line);
        if (curve_epsilon(&along, &here) > s->star.epsilon) s->star = here;
    }
    look_between(c, s);
}

/* ── interval ──────────────────────────────────────────────────────────────────────────────── */

/* Degrees of freedom for the deviations: rates of FEW losses have no more, 2·FEW of each side. */
static const double FREEDOM = 20.0;

/* The highest ε of one end: where the true maximum is attained, the curve is within this many
 * deviations. */
static double highest(const dpa__cells *c, const sample *s, int upper, double error) {
    curve along = curve_of(s, upper, &s->at[upper]);
    dpa__band band;
    if (!dpa__band_fit(c, &s->at[upper], DPA__EXPECTED, &band)) return INFINITY;
    along.band = &band;
    along.deviations = dpa__t_quantile(error, FREEDOM, DPA_UPPER);
    along.from = -INFINITY;
    return curve_epsilon(&along, NULL);
}

/* The largest ratio at two counts if every rate is at the end of its limits that makes ratios large
 * (or small), with half of the error for each rate. */
static double ratio_of_counts(const dpa__cells *c, const sample *s, const double *count,
                              double error, int large) {
    const double total[] = {c->train_total, c->heldout_total};
    double num[4], den[4]; /* train, held-out; the same beyond the threshold */
    for (int i = 0; i < 2; ++i) {
        const uint64_t k = (uint64_t)count[i], n = (uint64_t)total[i];
        const double low = dpa__rate_lower(DPA__CLOPPER_PEARSON, k, n, 0.5 * error);
        const double high = dpa__rate_upper(DPA__CLOPPER_PEARSON, k, n, 0.5 * error);
        num[i] = large ? high : low;
        den[i] = large ? low : high;
        num[2 + i] = 1.0 - den[i];
        den[2 + i] = 1.0 - num[i];
    }
    double best = 1.0;
    for (int i = 0; i < 4; ++i)
        best = fmax(best, (fmin(num[i], 1.0 - s->least) - s->delta) / fmax(den[i ^ 1], s->least));
    return best;
}

/* The highest or lowest ε outside the windows, including thresholds beyond all losses: wherever the
 * true maximum is attained, its counts are those of a threshold that is examined. */
static double epsilon_between(const dpa__cells *c, const sample *s, double error, int highest) {
    const double all = c->train_total + c->heldout_total;
    double count[2] = {0.0, 0.0}, best = 1.0;
    for (size_t i = 0; i <= c->count; ++i) {
        const double pooled = (count[0] + count[1]) / all;
        if (pooled >= s->at[0].share && pooled <= 1.0 - s->at[1].share)
            best = fmax(best, ratio_of_counts(c, s, count, error, highest));
        if (i == c->count) break;
        count[0] += c->train[i];
        count[1] += c->heldout[i];
    }
    return log(best);
}

/* The lowest ε of one end. Any threshold may stand out by chance, so the deviations are those
 * within which a line lies everywhere at once; only rates with enough losses count. */
static double lowest(const dpa__cells *c, const sample *s, int upper, double confidence) {
    curve along = curve_of(s, upper, &s->at[upper]);
    dpa__band band;
    if (!dpa__band_fit(c, &s->at[upper], DPA__OBSERVED, &band) || isinf(band.edge)) return 0.0;
    along.band = &band;
    along.deviations = -sqrt(-2.0 * log(0.5 * (1.0 - confidence)));
    along.from = band.edge;
    return curve_epsilon(&along, NULL);
}

/* The highest ε over both ends and the part between. */
static double highest_of_all(const dpa__cells *c, const sample *s, double confidence) {
    const double error = 0.5 * (1.0 - confidence);
    double upper = epsilon_between(c, s, error, 1);
    dpa__cells other;
    dpa__cells_mirror(c, &other);
    for (int i = 0; i < 2; ++i)
        if (s->at[i].share > 0.0) upper = fmax(upper, highest(i ? &other : c, s, i, error));
    return upper;
}

static double lowest_of_all(const dpa__cells *c, const sample *s, double confidence) {
    /* the best of many thresholds gets a tenth of the error */
    double lower = epsilon_between(c, s, 0.05 * (1.0 - confidence), 0);
    dpa__cells other;
    dpa__cells_mirror(c, &other);
    for (int i = 0; i < 2; ++i)
        if (s->at[i].share > 0.0) lower = fmax(lower, lowest(i ? &other : c, s, i, confidence));
    return lower;
}

double dpa__binormal_upper(const dpa__cells *c, double delta, double least, double confidence) {
    sample s;
    estimate(c, delta, &s);
    s.least = fmax(s.least, least);
    return highest_of_all(c, &s, confidence);
}

static double exchanged_value(const dpa__cells *c, void *user) {
    sample drawn;
    estimate(c, *(const double *)user, &drawn);
    return drawn.star.epsilon;
}

/* The observed loss nearest to this held-out rate. */
static double threshold_of(const dpa_losses *l, double fpr) {
    const double at = ceil(fpr * (double)l->heldout_count) - 1.0;
    return l->heldout[(size_t)fmin(fmax(at, 0.0), (double)l->heldout_count - 1.0)];
}

static void describe(const dpa__cells *c, const sample *s, dpa_binormal *out) {
    dpa__cells other;
    dpa__cells_mirror(c, &other);
    for (int i = 0; i < 2; ++i) {
        const dpa__line *line = &s->at[i];
        dpa_binormal_end *to = i ? &out->upper : &out->lower;
        *to = (dpa_binormal_end){.p_value = NAN};
        if (!(line->share > 0.0)) continue;
        *to = (dpa_binormal_end){line->share, line->intercept, line->slope,
                                 dpa__line_p_value(i ? &other : c, line)};
    }
}

dpa_status dpa__star_binormal(const dpa_losses *losses, const dpa_request *request,
                              dpa_binormal *out, dpa_error *err) {
    dpa__cells cells;
    sample s;
    *out = (dpa_binormal){0};
    DPA_TRY(dpa__request_check(request, err));
    dpa__cells_new(losses, &cells);
    estimate(&cells, request->delta, &s);
    describe(&cells, &s, out);
    out->star = s.star;
    if (s.star.ratio != DPA_STAR_NONE && isnan(s.star.threshold))
        out->star.threshold = threshold_of(losses, s.star.fpr);
    out->epsilon_lower = fmin(lowest_of_all(&cells, &s, request->confidence), s.star.epsilon);
    out->epsilon_upper = fmax(highest_of_all(&cells, &s, request->confidence), s.star.epsilon);
    if (out->epsilon_lower > 0.0 &&
        dpa__exchange_reaches(&cells, request, exchanged_value, &s.delta, s.star.epsilon))
        out->epsilon_lower = 0.0;
    /* If the sides hardly overlap, the line has a wide error; the bands of dpa__star_lower need no
     * line. */
    dpa_star bound;
    DPA_TRY(
        dpa__star_lower(losses, request->delta, 0.5 + 0.5 * request->confidence, 0, &bound, err));
    out->epsilon_lower = fmin(fmax(out->epsilon_lower, bound.epsilon), s.star.epsilon);
    return DPA_OK;
}

/* Both rates of the line where the pooled share is `share`. */
static void rates_at_share(const sample *s, int upper, double share, double *train,
                           double *heldout) {
    curve c = curve_of(s, upper, &s->at[upper]);
    c.share = share;
    const double z = window_end(&c);
    *heldout = dpa__norm_cdf(z, DPA_LOWER);
    *train = dpa__norm_cdf(c.intercept + c.slope * z, DPA_LOWER);
}

void dpa__binormal_rates(const dpa__cells *c, double delta, double *train, double *heldout) {
    const double all = c->train_total + c->heldout_total;
    double in = 0.0, out = 0.0;
    sample s;
    estimate(c, delta, &s);
    for (size_t i = 0; i < c->count; ++i) {
        in += c->train[i];
        out += c->heldout[i];
        const double share = (in + out) / all;
        train[i] = in / c->train_total;
        heldout[i] = out / c->heldout_total;
        for (int upper = 0; upper < 2 && i + 1 < c->count; ++upper) {
            const double beyond = upper ? 1.0 - share : share;
            if (!(s.at[upper].share > 0.0) || beyond > s.at[upper].share) continue;
            rates_at_share(&s, upper, beyond, &train[i], &heldout[i]);
            if (upper) {
                train[i] = 1.0 - train[i];
                heldout[i] = 1.0 - heldout[i];
            }
            break;
        }
        if (i == 0) continue;
        train[i] = fmax(train[i], train[i - 1]);
        heldout[i] = fmax(heldout[i], heldout[i - 1]);
    }
}
