/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Composition: the pmf of the sum of all losses by one transform, with every error rounded to
 * the safe side.
 *
 * The steps are tilted (mass·e^(θ·loss), normalised), transformed on a circle of N bins, raised
 * to their number of steps, multiplied and transformed back. Each bin is then widened by:
 *   - wrap-around: at most the tilted mass outside the window;
 *   - rounding: a transform of masses that sum to 1 is off by at most η = c·u·log₂N at every
 *     frequency (each output is a sum over paths of log₂N rounded products; c = 6 covers radices
 *     2 to 7 with accurate twiddles, see Higham 2002, section 24.1). Then |Πẑ^T − Πz^T| ≤
 *     Π(|ẑ|+η)^T − Π|ẑ|^T at each frequency, the mean of that over all frequencies bounds the
 *     error of a bin, and the inverse transform adds c·u·log₂N times the mean modulus.
 *
 * The tilt moves the mass to where δ is read, so an error of 1e-14 of the largest bin is small
 * against δ, even if δ is 1e-300. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/pld.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/fft.h"
#include "math/logspace.h"
#include "math/root.h"

static const double ROUNDING = 1.2e-16;

/* ── tilted steps and the window of their sum ──────────────────────────────────────────────── */

/* Smaller tilted masses are dropped: all of them together, over all steps, are far below the error
 * of a bin. */
static const double LEAST_EXPONENT = -660;

static double loss_of(const dpa__tilted *tilted, size_t i) {
    return dpa__loss_at(tilted->origin, tilted->h, tilted->first + (ptrdiff_t)i);
}

static void moments(dpa__tilted *tilted) {
    dpa__sum total = {0}, first = {0}, second = {0};
    for (size_t i = 0; i < tilted->count; ++i) {
        dpa__sum_add(&total, tilted->mass[i]);
        dpa__sum_add(&first, tilted->mass[i] * loss_of(tilted, i));
    }
    tilted->mean = dpa__sum_get(&first) / dpa__sum_get(&total);
    for (size_t i = 0; i < tilted->count; ++i) {
        const double off = loss_of(tilted, i) - tilted->mean;
        dpa__sum_add(&second, tilted->mass[i] * off * off);
    }
    tilted->variance = dpa__sum_get(&second) / dpa__sum_get(&total);
}

dpa_status dpa__tilt(const dpa__pmf *pmf, double theta, dpa__tilted *out, dpa_error *err) {
    *out =
        (dpa__tilted){.h = pmf->h, .origin = pmf->origin, .first = pmf->first, .count = pmf->count};
    out->mass = DPA_NEW_ARRAY(double, out->count, err);
    if (out->mass == NULL) return DPA_NO_MEMORY;
    out->steps = pmf->steps;
    out->log_scale = dpa__pmf_log_mgf(pmf, theta);
    double largest = 0; /* of the exponents' terms */
    size_t begin = out->count, end = 0;
    for (size_t i = 0; i < out->count; ++i) {
        const double tilt = theta * loss_of(out, i);
        const double exponent = pmf->log_mass[i] + tilt - out->log_scale;
        out->mass[i] = exponent > LEAST_EXPONENT ? exp(exponent) : 0;
        if (out->mass[i] == 0) continue;
        largest = fmax(largest, fabs(pmf->log_mass[i]) + fabs(tilt));
        if (begin > i) begin = i;
        end = i + 1;
    }
    out->error = 4 * ROUNDING * (1 + largest + fabs(out->log_scale));
    if (begin < end) { /* drop the negligible masses at both ends */
        memmove(out->mass, out->mass + begin, (end - begin) * sizeof *out->mass);
        out->first += (ptrdiff_t)begin;
        out->count = end - begin;
    }
    moments(out);
    return DPA_OK;
}

void dpa__tilted_free(dpa__tilted *tilted) {
    free(tilted->mass);
    *tilted = (dpa__tilted){0};
}

/* log Σ mass·e^(s·loss), rounded up. Powers of e^(sh) are recomputed for every block, so their
 * rounding stays below 64 ulp. */
static double log_mgf(const dpa__tilted *tilted, double s) {
    enum { BLOCK = 64 };
    const double ratio = exp(s * tilted->h);
    const double last = loss_of(tilted, tilted->count - 1);
    const double top = fmax(s * loss_of(tilted, 0), s * last);
    double largest = -HUGE_VAL, total = 0; /* the sum is total·e^largest */
    for (size_t from = 0; from < tilted->count; from += BLOCK) {
        const size_t to = from + BLOCK < tilted->count ? from + BLOCK : tilted->count;
        double inner = 0;
        for (size_t i = to; i > from; --i) inner = inner * ratio + tilted->mass[i - 1];
        if (inner == 0) continue;
        const double exponent = log(inner) + s * loss_of(tilted, from);
        if (exponent > largest) {
            total = total * exp(largest - exponent) + 1;
            largest = exponent;
        } else {
            total += exp(exponent - largest);
        }
    }
    const double rounding = 4 * ROUNDING * (128 + (double)tilted->count / BLOCK + fabs(top));
    return largest + log(total) + rounding;
}

static double log_mgf_all(const dpa__tilted *tilted, size_t count, double s) {
    double total = 0;
    for (size_t k = 0; k < count; ++k) total += tilted[k].steps * log_mgf(&tilted[k], s);
    return total;
}

typedef struct end {
    const dpa__tilted *tilted;
    size_t count;
    double log_tail, sign;
} end;

/* Where the window may end on one side (positive is outwards) by the Chernoff bound at s. */
static double end_at(double s, void *user) {
    const end *e = user;
    return (log_mgf_all(e->tilted, e->count, e->sign * s) - e->log_tail) / s;
}

/* Chernoff: for any s > 0 the tilted sum exceeds w with mass at most e^(−sw)·Π M_k(s)^T_k, M_k the
 * moment generating function of the tilted step. Every s gives a valid window; a short search takes
 * a good one. The same with s < 0 for the other side. */
dpa__range dpa__window(const dpa__tilted *tilted, size_t count, double log_tail) {
    double variance = 0, least = 0, most = 0;
    for (size_t k = 0; k < count; ++k) {
        variance += tilted[k].steps * tilted[k].variance;
        least += tilted[k].steps * loss_of(&tilted[k], 0);
        most += tilted[k].steps * loss_of(&tilted[k], tilted[k].count - 1);
    }
    const double h = tilted[0].h;
    const double start = sqrt(-2 * log_tail / fmax(variance, h * h));
    end above = {tilted, count, log_tail, 1}, below = {tilted, count, log_tail, -1};
    double upper, lower;
    (void)dpa__descend(end_at, &above, start, &upper);
    (void)dpa__descend(end_at, &below, start, &lower);
    /* The sum cannot leave [least, most] at all. */
    return (dpa__range){.lower = fmax(-lower, least),
                        .upper = fmin(upper, most),
                        .log_below = -lower > least ? log_tail : -HUGE_VAL,
                        .log_above = upper < most ? log_tail : -HUGE_VAL};
}

/* ── composition ───────────────────────────────────────────────────────────────────────────── */

static const double FFT_CONSTANT = 6;
static const double SMALLEST = 1e-290;
static const double LARGEST_FALL = 200; /* θh at most: sums fall by e^−θh from bin to bin */

typedef struct spectrum {
    size_t n;
    double complex *product; /* Π ẑ_k^T_k so far */
    double complex *step;    /* ẑ of the phase at hand */
    double *upper;           /* log Π (|ẑ_k|+η_k)^T_k */
    double *circle;
} spectrum;

static void spectrum_free(spectrum *s) {
    dpa__fft_free(s->product);
    dpa__fft_free(s->step);
    dpa__fft_free(s->circle);
    free(s->upper);
    *s = (spectrum){0};
}

static dpa_status spectrum_alloc(size_t n, spectrum *s, dpa_error *err) {
    const size_t half = n / 2 + 1;
    *s = (spectrum){.n = n};
    s->product = (double complex *)(void *)dpa__fft_alloc(2 * half, err);
    if (s->product != NULL) s->step = (double complex *)(void *)dpa__fft_alloc(2 * half, err);
    if (s->step != NULL) s->circle = dpa__fft_alloc(n, err);
    if (s->circle != NULL) s->upper = DPA_NEW_ARRAY(double, half, err);
    if (s->upper == NULL) {
        spectrum_free(s);
        return DPA_NO_MEMORY;
    }
    for (size_t k = 0; k < half; ++k) {
        s->product[k] = 1;
        s->upper[k] = 0;
    }
    return DPA_OK;
}

static size_t wrap(ptrdiff_t index, size_t n) {
    const ptrdiff_t rest = index % (ptrdiff_t)n;
    return (size_t)(rest < 0 ? rest + (ptrdiff_t)n : rest);
}

static double fft_error(size_t n) {
    return FFT_CONSTANT * ROUNDING * (log2((double)n) + 1);
}

/* z^steps by squaring; relative error below 3u·steps. */
static double complex power(double complex z, double steps) {
    double complex result = 1;
    for (double rest = steps; rest >= 1; rest = floor(rest / 2)) {
        if (fmod(rest, 2) == 1) result *= z;
        z *= z;
    }
    return result;
}

/* Multiplies by the spectrum of one phase. Frequencies whose modulus is bounded by e^−200 are set
 * to zero, with that bound as error; with many steps that is most of them. */
static dpa_status multiply_phase(spectrum *s, const dpa__tilted *tilted, dpa_error *err) {
    const size_t n = s->n, half = n / 2 + 1;
    for (size_t j = 0; j < n; ++j) s->circle[j] = 0;
    double total = 0;
    for (size_t i = 0, j = wrap(tilted->first, n); i < tilted->count; ++i) {
        s->circle[j] += tilted->mass[i];
        total += tilted->mass[i];
        j = j + 1 == n ? 0 : j + 1;
    }
    DPA_TRY(dpa__fft_forward(n, s->circle, s->step, err));
    const double wraps = (double)(tilted->count / n + 2);
    const double eta = total * (1 + 1e-9) * (fft_error(n) + ROUNDING * wraps);
    for (size_t k = 0; k < half; ++k) {
        if (s->upper[k] < -200) continue;
        const double re = creal(s->step[k]), im = cimag(s->step[k]);
        const double modulus = sqrt(re * re + im * im) * (1 + 4 * ROUNDING) + eta;
        s->upper[k] += tilted->steps * (log(modulus) + 4 * ROUNDING);
        s->product[k] = s->upper[k] < -200 ? 0 : s->product[k] * power(s->step[k], tilted->steps);
    }
    return DPA_OK;
}

/* The error of a bin: the mean of the error bound over all N frequencies, plus the inverse
 * transform's. */
static double bin_error(const spectrum *s, double all_steps) {
    const size_t half = s->n / 2 + 1;
    /* of power(), and of the exponential of `upper` */
    const double doubt = ROUNDING * (4 * all_steps + 256);
    dpa__sum error = {0}, modulus = {0};
    for (size_t k = 0; k < half; ++k) {
        const double twice = k == 0 || 2 * k == s->n ? 1 : 2;
        const double bound = exp(s->upper[k]), here = cabs(s->product[k]);
        dpa__sum_add(&error, twice * (fmax(bound - here, 0) + doubt * bound));
        dpa__sum_add(&modulus, twice * bound);
    }
    const double mean = dpa__sum_get(&error) / (double)s->n;
    return (mean + fft_error(s->n) * dpa__sum_get(&modulus) / (double)s->n) * (1 + 1e-9);
}

/* Suffix sums with positive terms only: with r = e^(−θh), from the top down,
 * b ← e^(−(θ+1)h)(b + p), c ← r·(c + (1−e^−h)(b + p)). */
static void suffix_sums(const double *circle, size_t n, double error, dpa__composed *out) {
    const double decay = exp(-out->theta * out->h), drop = -expm1(-out->h);
    const double fast = exp(-(out->theta + 1) * out->h);
    double b = 0, c = 0;
    size_t at = wrap(out->first + (ptrdiff_t)out->count, n); /* of bin j, from behind */
    out->from = out->count;
    for (size_t j = out->count; j > 0; --j) {
        at = at == 0 ? n - 1 : at - 1;
        out->b[j - 1] = b;
        out->c[j - 1] = c;
        if (c > SMALLEST) out->from = j - 1;
        const double bin = circle[at];
        const double p = out->side == DPA_PESSIMISTIC ? fmax(bin, 0) + error : fmax(bin - error, 0);
        c = decay * (c + drop * (b + p));
        b = fast * (b + p);
    }
}

static dpa_status compose_window(const dpa__tilted *tilted, size_t count, dpa__range window,
                                 dpa__composed *out, dpa_error *err) {
    const size_t n = dpa__fft_good_length(out->count);
    spectrum s;
    DPA_TRY(spectrum_alloc(n, &s, err));
    dpa_status status = DPA_OK;
    double all_steps = 0;
    for (size_t k = 0; k < count && status == DPA_OK; ++k) {
        status = multiply_phase(&s, &tilted[k], err);
        all_steps += tilted[k].steps;
    }
    const double rounding = status == DPA_OK ? bin_error(&s, all_steps) : 0;
    if (status == DPA_OK) status = dpa__fft_inverse(n, s.product, s.circle, err);
    if (status == DPA_OK) {
        suffix_sums(s.circle, n, rounding + exp(window.log_below) + exp(window.log_above), out);
        /* The tilted mass above the window, converted back to P-mass: e^(log_scale − θ·loss) falls
         * with the loss. */
        if (out->side == DPA_PESSIMISTIC)
            out->extra +=
                exp(fmin(out->log_scale - out->theta * window.upper + window.log_above, 0.0));
    }
    spectrum_free(&s);
    return status;
}

static void gather(const dpa__pmf *pmf, const dpa__tilted *tilted, size_t count,
                   dpa__composed *out) {
    double error = 0, size = 0, log_finite = 0;
    for (size_t k = 0; k < count; ++k) {
        const double steps = pmf[k].steps;
        out->log_scale += steps * tilted[k].log_scale;
        size += steps * fabs(tilted[k].log_scale);
        log_finite += steps * log1p(-fmin(pmf[k].out, 1));
        out->shift += steps * (pmf[k].shift + 4 * ROUNDING * fabs(pmf[k].origin));
        error += steps * tilted[k].error;
    }
    const double room = out->side == DPA_PESSIMISTIC ? 1 + 1e-14 : 1 - 1e-14;
    out->extra = fmin(-expm1(log_finite) * room, 1); /* some step's loss is infinite */
    /* (1+e)^T, the rounding of log_scale, of the suffix sums (count terms) and of the reading. */
    const double own = ROUNDING * (8 * size + 4 * (double)out->count + 64);
    out->factor = expm1(1.01 * (error + own)); /* infinite if nothing is known */
}

/* The window in bins, wide enough to include both of its ends. */
static dpa_status set_window(dpa__range window, size_t max_grid, dpa__composed *out,
                             dpa_error *err) {
    const double from = floor((window.lower - out->origin) / out->h) - 1;
    const double to = ceil((window.upper - out->origin) / out->h) + 1;
    if (!(to - from + 1 <= (double)max_grid) || !(fabs(from) < 1e15) || !(fabs(to) < 1e15))
        return dpa__fail(
            err, DPA_NUMERIC,
            "the composed loss spans %.4g and needs %.3g cells of width %.3g, more than "
            "the grid limit %zu: raise the tolerance, or max_grid of the library",
            window.upper - window.lower, to - from + 1, out->h, max_grid);
    out->first = (ptrdiff_t)from;
    out->count = (size_t)(to - from + 1);
    return DPA_OK;
}

/* The mass that may lie outside the window: wrapped around, it must stay the wanted share of every
 * bin in the bulk of the composed pmf. */
static double tail_for(const dpa__tilted *tilted, size_t count, double log_accuracy) {
    double variance = 0;
    for (size_t k = 0; k < count; ++k) variance += tilted[k].steps * tilted[k].variance;
    const double bins = sqrt(6.3 * variance) / tilted[0].h;
    return log_accuracy - log(2 * fmax(bins, 1));
}

static dpa_status compose_tilted(const dpa__pmf *pmf, const dpa__tilted *tilted, size_t count,
                                 const dpa__compose_opts *opts, dpa__composed *out,
                                 dpa_error *err) {
    const double log_tail = tail_for(tilted, count, opts->log_accuracy);
    const dpa__range window = dpa__window(tilted, count, log_tail);
    for (size_t k = 0; k < count; ++k) out->origin += pmf[k].steps * pmf[k].origin;
    DPA_TRY(set_window(window, opts->max_grid, out, err));
    gather(pmf, tilted, count, out);
    out->b = DPA_NEW_ARRAY(double, out->count, err);
    out->c = DPA_NEW_ARRAY(double, out->count, err);
    dpa_status status = out->b == NULL || out->c == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) status = compose_window(tilted, count, window, out, err);
    if (status != DPA_OK) dpa__composed_free(out);
    return status;
}

dpa_status dpa__compose(const dpa__pmf *pmf, size_t count, dpa__rounding side,
                        const dpa__compose_opts *opts, dpa__composed *out, dpa_error *err) {
    const double theta = fmin(opts->theta, LARGEST_FALL / pmf[0].h);
    *out = (dpa__composed){.side = side, .h = pmf[0].h, .theta = theta};
    dpa__tilted *tilted = dpa__calloc(count, sizeof *tilted, err);
    if (tilted == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    for (size_t k = 0; k < count && status == DPA_OK; ++k)
        status = dpa__tilt(&pmf[k], theta, &tilted[k], err);
    if (status == DPA_OK) status = compose_tilted(pmf, tilted, count, opts, out, err);
    for (size_t k = 0; k < count; ++k) dpa__tilted_free(&tilted[k]);
    free(tilted);
    return status;
}

void dpa__composed_free(dpa__composed *composed) {
    free(composed->b);
    free(composed->c);
    *composed = (dpa__composed){0};
}

/* ── reading δ(ε) and ε(δ), and the best tilt for it ───────────────────────────────────────── */

/* For ℓ_j ≤ ε < ℓ_{j+1}: δ(ε) = e^(log_scale−θℓ_j)·(c_j − (e^(ε−ℓ_j) − 1)·b_j). */

/* log of sup over t of e^(−θt)(1−e^−t). */
static double log_peak(double theta) {
    return theta * log(theta) - (theta + 1) * log1p(theta);
}

static double bin_loss(const dpa__composed *composed, size_t j) {
    return dpa__loss_at(composed->origin, composed->h, composed->first + (ptrdiff_t)j);
}

/* Chernoff: the sum of (1 − e^(ε−ℓ))⁺ over any pmf is at most its tilted mass times the peak. Used
 * where ε lies below the window. */
static double chernoff_log_delta(const dpa__composed *composed, double at) {
    const double exponent = composed->log_scale - composed->theta * at;
    const double peak = composed->theta > 0 ? log_peak(composed->theta) : 0;
    return exponent + peak + log1p(composed->factor) + 1e-6;
}

double dpa__composed_log_delta(const dpa__composed *composed, double epsilon) {
    const int safe = composed->side == DPA_PESSIMISTIC;
    const double at = safe ? epsilon - composed->shift : epsilon + composed->shift;
    const double position = floor((at - composed->origin) / composed->h) - (double)composed->first;
    if (isinf(composed->factor)) return safe ? 0 : log(composed->extra);
    if (position < 0 && safe)
        return fmin(dpa__log_add(chernoff_log_delta(composed, at), log(composed->extra)), 0);
    if (position >= (double)composed->count) return log(composed->extra);
    size_t j = position > 0 ? (size_t)position : 0;
    double above = at - bin_loss(composed, j);
    if (!safe && j < composed->from) { /* δ falls with ε */
        if (composed->from == composed->count) return log(composed->extra);
        j = composed->from;
        above = 0;
    }
    const double loss = bin_loss(composed, j);
    const double slack = 8 * ROUNDING * (composed->c[j] + composed->b[j]);
    const double sum = composed->c[j] - expm1(above) * composed->b[j] + (safe ? slack : -slack);
    const double exponent = composed->log_scale - composed->theta * loss;
    const double doubt = log1p(composed->factor) +
                         8 * ROUNDING * (fabs(composed->log_scale) + fabs(composed->theta * loss));
    const double log_delta = exponent + log(fmax(sum, 0));
    return fmin(dpa__log_add(log_delta + (safe ? doubt : -doubt), log(composed->extra)), 0);
}

typedef struct target {
    const dpa__composed *composed;
    double log_delta;
} target;

static int is_private_enough(double epsilon, void *user) {
    const target *t = user;
    return dpa__composed_log_delta(t->composed, epsilon) <= t->log_delta;
}

double dpa__composed_epsilon(const dpa__composed *composed, double delta) {
    target t = {composed, log(delta)};
    const int safe = composed->side == DPA_PESSIMISTIC;
    const double beyond = bin_loss(composed, composed->count + 1);
    const double top = fmax(beyond, 0) + composed->shift;
    if (is_private_enough(0, &t)) return 0;
    if (!is_private_enough(top, &t)) return safe || composed->extra > delta ? HUGE_VAL : 0;
    dpa__bracket bracket;
    if (dpa__bisect(is_private_enough, &t, 0, top, 0, 1e-15, &bracket, NULL) != DPA_OK)
        return safe ? HUGE_VAL : 0;
    return safe ? bracket.upper : bracket.lower;
}

typedef struct chernoff {
    const dpa__pmf *pmf;
    size_t count;
    double log_delta, epsilon;
} chernoff;

static double cumulant(const chernoff *c, double theta) {
    double total = 0;
    for (size_t k = 0; k < c->count; ++k)
        total += c->pmf[k].steps * dpa__pmf_log_mgf(&c->pmf[k], theta);
    return total;
}

static double epsilon_bound(double theta, void *user) {
    const chernoff *c = user;
    return (cumulant(c, theta) + log_peak(theta) - c->log_delta) / theta;
}

static double log_delta_bound(double theta, void *user) {
    const chernoff *c = user;
    /* Beyond the largest loss it falls without limit; far below the range of double is low enough.
     */
    return fmax(cumulant(c, theta) + log_peak(theta) - theta * c->epsilon, -1500);
}

/* A tilt to start from. Above the best tilt the bound is nearly the largest loss of a step, which
 * is flat if losses are large; below, it is steep. So large losses should give a small start. */
static double first_tilt(const dpa__pmf *pmf, size_t count) {
    double widest = 0;
    for (size_t k = 0; k < count; ++k) widest = fmax(widest, pmf[k].h * (double)pmf[k].count);
    return fmin(4, 400 / widest);
}

double dpa__tilt_for_delta(const dpa__pmf *pmf, size_t count, double delta, double *epsilon) {
    chernoff c = {pmf, count, log(delta), 0};
    const double theta = dpa__descend(epsilon_bound, &c, first_tilt(pmf, count), epsilon);
    return *epsilon > 0 ? theta : 0;
}

double dpa__tilt_for_epsilon(const dpa__pmf *pmf, size_t count, double epsilon) {
    chernoff c = {pmf, count, 0, epsilon};
    double bound;
    const double theta = dpa__descend(log_delta_bound, &c, first_tilt(pmf, count), &bound);
    return theta < 1e-3 ? 0 : theta;
}
