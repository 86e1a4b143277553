/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adaptive Gauss–Kronrod quadrature: the panel with the largest error estimate is halved until
 * the sum of the estimates is small enough. The estimate of a panel is QUADPACK's (Piessens et
 * al., 1983, section 3.4.1): |K21 − G10| relative to the mean deviation of the integrand, never
 * below the rounding error of the sum. A panel at its rounding error, or too narrow to halve,
 * leaves the heap, because halving it would gain nothing.
 *
 * An infinite end is mapped to s = 0 by x = a ± (1−s)/s. Panels are halved down to 1e-300
 * towards zero, so that x^-0.9 is integrated as well as x². At singular ends other than 0 or
 * infinity x itself has too few digits: move them to 0 (integrate over 1 − x). */
#include "math/quad.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"

/* Node, Kronrod weight, Gauss weight (0 where the node is Kronrod's alone). Derived in 70 digits:
 * zeros of the Legendre polynomial P10 and of its Stieltjes polynomial E11, weights from the
 * moments. */
static const double rule[11][3] = {
    {0.99565716302580808074, 0.011694638867371874278, 0},
    {0.97390652851717172008, 0.032558162307964727479, 0.066671344308688137594},
    {0.930157491355708226, 0.054755896574351996031, 0},
    {0.86506336668898451073, 0.075039674810919952767, 0.14945134915058059315},
    {0.78081772658641689706, 0.093125454583697605535, 0},
    {0.67940956829902440623, 0.1093871588022976419, 0.219086362515982044},
    {0.56275713466860468334, 0.12349197626206585108, 0},
    {0.4333953941292471908, 0.13470921731147332593, 0.26926671930999635509},
    {0.29439286270146019813, 0.1427759385770600808, 0},
    {0.14887433898163121088, 0.14773910490133849137, 0.29552422471475287017},
    {0.0, 0.14944555400291690566, 0},
};
enum { RULE_POINTS = 21 };

typedef enum ends { FINITE, TO_INFINITY, FROM_INFINITY } ends;

typedef struct panel {
    double from, to; /* in x, or in s */
    double anchor;   /* the finite end of an infinite piece */
    ends kind;
    double value, error;
    int is_final; /* halving it would gain nothing */
} panel;

typedef struct work {
    dpa__fn fn;
    void *user;
    panel *heap; /* the first `open` are a heap by error; the final ones come after them */
    size_t open, count, capacity;
    size_t evaluations;
    dpa__sum value, error; /* sums over all panels; compensated, because panels come and go */
    double bad;            /* where the integrand was not finite; NaN: nowhere */
} work;

/* The integrand in the variable of the panel. */
static double integrand(work *w, const panel *p, double t) {
    double x = t, scale = 1;
    if (p->kind != FINITE) {
        const double far = (1 - t) / t;
        x = p->kind == TO_INFINITY ? p->anchor + far : p->anchor - far;
        scale = 1 / t;
    }
    const double y = w->fn(x, w->user);
    /* not y/t²: the square may overflow where y has vanished */
    const double value = y == 0 ? 0 : y * scale * scale;
    if (!isfinite(value) && isnan(w->bad)) w->bad = x;
    return value;
}

static void apply_rule(work *w, panel *p) {
    const double centre = 0.5 * p->from + 0.5 * p->to, half = 0.5 * (p->to - p->from);
    double y[RULE_POINTS], weight[RULE_POINTS];
    double kronrod = 0, gauss = 0, absolute = 0, deviation = 0;
    for (int i = 0; i < RULE_POINTS; ++i) {
        const int row = i <= 10 ? i : 20 - i;
        const double shift = half * rule[row][0];
        y[i] = integrand(w, p, i <= 10 ? centre - shift : centre + shift);
        weight[i] = rule[row][1];
        kronrod += weight[i] * y[i];
        absolute += weight[i] * fabs(y[i]);
        gauss += rule[row][2] * y[i];
    }
    for (int i = 0; i < RULE_POINTS; ++i) deviation += weight[i] * fabs(y[i] - 0.5 * kronrod);
    w->evaluations += RULE_POINTS;
    p->value = half * kronrod;
    const double difference = fabs(kronrod - gauss);
    double error = difference;
    if (difference > 0 && deviation > 0) {
        error = deviation * fmin(1, pow(200 * difference / deviation, 1.5));
    }
    /* of the sum, and (at random) of the nodes: a narrow panel far from zero contains few doubles
     */
    const double rounding =
        DBL_EPSILON * (50 * absolute + 0.1 * deviation * fabs(centre) / fmax(half, DBL_MIN));
    p->error = half * fmax(error, rounding);
    p->is_final = error <= rounding || !(p->from < centre && centre < p->to);
}

static void swap(work *w, size_t i, size_t j) {
    const panel kept = w->heap[i];
    w->heap[i] = w->heap[j];
    w->heap[j] = kept;
}

static void sift_up(work *w, size_t i) {
    for (; i > 0 && w->heap[(i - 1) / 2].error < w->heap[i].error; i = (i - 1) / 2) {
        swap(w, i, (i - 1) / 2);
    }
}

static void sift_down(work *w) {
    for (size_t i = 0;;) {
        size_t largest = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < w->open; ++child) {
            if (w->heap[child].error > w->heap[largest].error) largest = child;
        }
        if (largest == i) return;
        swap(w, i, largest);
        i = largest;
    }
}

/* Evaluates the panel and adds it to the heap, or to the final ones. */
static dpa_status add(work *w, panel p, dpa_error *err) {
    panel *heap = dpa__grown(w->heap, w->count, &w->capacity, sizeof *heap, err);
    if (heap == NULL) return DPA_NO_MEMORY;
    w->heap = heap;
    apply_rule(w, &p);
    if (!isnan(w->bad)) {
        return dpa__fail(err, DPA_NUMERIC, "the integrand is not finite at %.17g", w->bad);
    }
    w->heap[w->count++] = p;
    dpa__sum_add(&w->value, p.value);
    dpa__sum_add(&w->error, p.error);
    if (!p.is_final) {
        swap(w, w->open, w->count - 1);
        sift_up(w, w->open++);
    }
    return DPA_OK;
}

/* Replaces the worst panel by its halves. */
static dpa_status halve(work *w, dpa_error *err) {
    panel lower = w->heap[0], upper = lower;
    dpa__sum_add(&w->value, -lower.value);
    dpa__sum_add(&w->error, -lower.error);
    swap(w, 0, --w->open);
    swap(w, w->open, --w->count);
    sift_down(w);
    lower.to = upper.from = 0.5 * lower.from + 0.5 * lower.to;
    DPA_TRY(add(w, lower, err));
    return add(w, upper, err);
}

/* One piece between two breakpoints, either of which may be infinite. */
static dpa_status add_piece(work *w, double from, double to, dpa_error *err) {
    if (isinf(from) && isinf(to)) {
        DPA_TRY(add_piece(w, from, 0, err));
        return add_piece(w, 0, to, err);
    }
    if (isinf(from)) {
        return add(w, (panel){.from = 0, .to = 1, .anchor = to, .kind = FROM_INFINITY}, err);
    }
    if (isinf(to)) {
        return add(w, (panel){.from = 0, .to = 1, .anchor = from, .kind = TO_INFINITY}, err);
    }
    return add(w, (panel){.from = from, .to = to, .kind = FINITE}, err);
}

static dpa_status check_breaks(const double *breaks, size_t count, dpa_error *err) {
    if (count < 2) return dpa__fail(err, DPA_BAD_ARGUMENT, "an integral needs two ends");
    for (size_t i = 0; i < count; ++i) {
        const int is_end = i == 0 || i == count - 1;
        if (isnan(breaks[i]) || (isinf(breaks[i]) && !is_end)) {
            return dpa__fail(err, DPA_BAD_ARGUMENT, "breakpoint %zu is %g", i, breaks[i]);
        }
        if (i > 0 && breaks[i] < breaks[i - 1]) {
            return dpa__fail(err, DPA_BAD_ARGUMENT, "breakpoints must ascend: %.17g after %.17g",
                             breaks[i], breaks[i - 1]);
        }
    }
    return DPA_OK;
}

static dpa_status refine(work *w, double absolute, double relative, size_t max_evaluations,
                         dpa__quad *out, dpa_error *err) {
    for (;;) {
        *out = (dpa__quad){dpa__sum_get(&w->value), dpa__sum_get(&w->error), w->evaluations};
        if (out->error <= fmax(absolute, relative * fabs(out->value)) || w->open == 0)
            return DPA_OK;
        if (w->evaluations + 2 * RULE_POINTS > max_evaluations) {
            return dpa__fail(err, DPA_NUMERIC,
                             "integral %.10g known to %.2g only after %zu evaluations", out->value,
                             out->error, w->evaluations);
        }
        DPA_TRY(halve(w, err));
    }
}

dpa_status dpa__integrate(dpa__fn fn, void *user, const double *breaks, size_t count,
                          double absolute, double relative, size_t max_evaluations, dpa__quad *out,
                          dpa_error *err) {
    *out = (dpa__quad){0};
    DPA_TRY(check_breaks(breaks, count, err));
    work w = {.fn = fn, .user = user, .bad = NAN};
    dpa_status status = DPA_OK;
    for (size_t i = 1; i < count && status == DPA_OK; ++i) {
        if (breaks[i] > breaks[i - 1]) status = add_piece(&w, breaks[i - 1], breaks[i], err);
    }
    if (status == DPA_OK) status = refine(&w, absolute, relative, max_evaluations, out, err);
    free(w.heap);
    return status;
}

/* Newton's method on P_n from Tricomi's guess; P_n and its derivative by the three-term recurrence.
 */
void dpa__gauss_legendre(size_t n, double *node, double *weight) {
    for (size_t i = 0; i < (n + 1) / 2; ++i) {
        double x = cos(M_PI * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;
        for (int turn = 0; turn < 10; ++turn) {
            double before = 1, now = x;
            for (size_t k = 2; k <= n; ++k) {
                const double degree = (double)k;
                const double next = ((2 * degree - 1) * x * now - (degree - 1) * before) / degree;
                before = now;
                now = next;
            }
            slope = (double)n * (before - x * now) / ((1 - x) * (1 + x));
            const double step = now / slope;
            x -= step;
            if (fabs(step) < DBL_EPSILON) break;
        }
        if (2 * i + 1 == n) x = 0;
        node[i] = -x;
        node[n - 1 - i] = x;
        weight[i] = weight[n - 1 - i] = 2 / ((1 - x) * (1 + x) * slope * slope);
    }
}
