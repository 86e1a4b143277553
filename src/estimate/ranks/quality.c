/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How good the attack is, apart from what it proves: AUC, TPR at low FPRs, balanced accuracy.
 *
 * AUC: ties count half. Its interval uses DeLong's variance on the logit scale; for classes that
 * do not overlap, where that is 0, Clopper–Pearson limits at the gap. On request
 * (--bootstrap-auc) a seeded BCa bootstrap (Efron 1987; acceleration for two samples
 * from the empirical influence of each score), which has the same width within a few percent at
 * a hundred times the cost. TPR at an FPR: the threshold is an order statistic of the
 * non-members, of which the members are independent, so the Clopper–Pearson interval is exact.
 * Balanced accuracy of the best threshold: the Dvoretzky–Kiefer–Wolfowitz inequality for both
 * classes, valid for every threshold. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/scores.h"
#include "evidence/evidence.h"
#include "math/dist.h"
#include "math/logspace.h"

static const double BOOTSTRAP_DRAWS = 4e6;
enum { MOST_REPLICATES = 2000 };

/* placement[i]: the share of the other class that the i-th score beats, ties counted half. Both
 * arrays are ascending. */
static void placements(const double *score, size_t count, const double *other, size_t others,
                       double *out) {
    size_t below = 0, upto = 0;
    for (size_t i = 0; i < count; ++i) {
        while (below < others && other[below] < score[i]) ++below;
        if (upto < below) upto = below;
        while (upto < others && other[upto] == score[i]) ++upto;
        out[i] = 0.5 * (double)(below + upto) / (double)others;
    }
}

/* How often each of `count` elements is drawn in `count` draws. */
static void resample(dpa_rng *rng, uint32_t *times, size_t count) {
    memset(times, 0, count * sizeof *times);
    for (size_t i = 0; i < count; ++i) ++times[dpa__rng_below(rng, count)];
}

/* AUC of a resample: one sweep over both sorted classes. */
static double auc_of(const dpa_scores *s, const uint32_t *in, const uint32_t *out) {
    double won = 0, below = 0;
    size_t j = 0;
    for (size_t i = 0; i < s->members;) {
        const double value = s->member[i];
        double here = 0, tied = 0;
        while (j < s->nonmembers && s->nonmember[j] < value) below += out[j++];
        for (size_t k = j; k < s->nonmembers && s->nonmember[k] == value; ++k) tied += out[k];
        for (; i < s->members && s->member[i] == value; ++i) here += in[i];
        won += here * (below + 0.5 * tied);
    }
    return won / ((double)s->members * (double)s->nonmembers);
}

/* Sums of powers of the influences (placement − AUC), each class by its own size. */
typedef struct influence {
    double variance; /* DeLong */
    double acceleration;
} influence;

static influence influence_of(const dpa_scores *s, const double *place_in, const double *place_out,
                              double auc) {
    const double m = (double)s->members, n = (double)s->nonmembers;
    double in2 = 0, in3 = 0, out2 = 0, out3 = 0;
    for (size_t i = 0; i < s->members; ++i) {
        const double d = place_in[i] - auc;
        in2 += d * d;
        in3 += d * d * d;
    }
    for (size_t j = 0; j < s->nonmembers; ++j) {
        const double d = 1 - place_out[j] - auc;
        out2 += d * d;
        out3 += d * d * d;
    }
    const double square = in2 / (m * m) + out2 / (n * n);
    const double cube = in3 / (m * m * m) + out3 / (n * n * n);
    return (influence){
        .variance = in2 / (m * fmax(m - 1, 1)) + out2 / (n * fmax(n - 1, 1)),
        .acceleration = square > 0 ? cube / (6 * square * sqrt(square)) : 0,
    };
}

/* The quantile of an ascending sample at level u, by linear interpolation. */
static double sample_quantile(const double *sorted, size_t count, double u) {
    const double place = fmin(fmax(u * (double)(count + 1) - 1, 0), (double)(count - 1));
    const size_t low = (size_t)place;
    const size_t high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (place - (double)low) * (sorted[high] - sorted[low]);
}

static void bca(double *replicate, size_t count, double acceleration, double p, dpa_measure *out) {
    const double auc = out->value;
    double below = 0;
    for (size_t b = 0; b < count; ++b)
        below += replicate[b] < auc ? 1 : replicate[b] == auc ? 0.5 : 0;
    const double share =
        fmin(fmax(below / (double)count, 0.5 / (double)count), 1 - 0.5 / (double)count);
    const double bias = dpa__norm_quantile(share, DPA_LOWER);
    for (int side = 0; side < 2; ++side) {
        const double z = bias + dpa__norm_quantile(0.5 * p, side ? DPA_UPPER : DPA_LOWER);
        const double level = dpa__norm_cdf(bias + z / (1 - acceleration * z), DPA_LOWER);
        *(side ? &out->upper : &out->lower) = sample_quantile(replicate, count, level);
    }
}

static dpa_status bootstrap(const dpa_scores *s, double acceleration, double p, uint64_t seed,
                            dpa_measure *out, dpa_error *err) {
    const double size = (double)(s->members + s->nonmembers);
    const size_t count = (size_t)fmin(MOST_REPLICATES, fmax(200, BOOTSTRAP_DRAWS / size));
    double *replicate = DPA_NEW_ARRAY(double, count, err);
    uint32_t *times = DPA_NEW_ARRAY(uint32_t, s->members + s->nonmembers, err);
    dpa_status status = replicate != NULL && times != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t b = 0; b < count && status == DPA_OK; ++b) {
        dpa_rng rng;
        dpa__rng_init(&rng, seed, DPA_PURPOSE_BOOTSTRAP, b);
        resample(&rng, times, s->members);
        resample(&rng, times + s->members, s->nonmembers);
        replicate[b] = auc_of(s, times, times + s->members);
    }
    if (status == DPA_OK) status = dpa__sort_numbers(replicate, count, err);
    if (status == DPA_OK) bca(replicate, count, acceleration, p, out);
    free(replicate);
    free(times);
    return status;
}

/* With one score in a class, or no variation, the spread is unknown. */
static void delong(double variance, double p, dpa_measure *out) {
    const double z = dpa__norm_quantile(0.5 * p, DPA_UPPER);
    const double width = z * sqrt(variance) / (out->value * (1 - out->value));
    out->lower = variance > 0 ? 1 / (1 + exp(width - dpa__logit(out->value))) : 0;
    out->upper = variance > 0 ? 1 / (1 + exp(-width - dpa__logit(out->value))) : 1;
}

/* AUC ≥ Pr[in above the gap]·Pr[out below it], and 1 cannot be excluded. */
static void separated(const dpa_scores *s, double p, dpa_measure *out) {
    const double x = dpa__cp_upper(0, (double)s->members, 0.25 * p);
    const double y = dpa__cp_upper(0, (double)s->nonmembers, 0.25 * p);
    const double least = (1 - x) * (1 - y);
    out->lower = out->value == 1 ? least : 0;
    out->upper = out->value == 1 ? 1 : 1 - least;
}

/* The AUC with DeLong's interval, and its influences. */
static dpa_status measure_auc(const dpa_scores *s, double p, dpa_measure *out, influence *shape,
                              dpa_error *err) {
    double *place = DPA_NEW_ARRAY(double, s->members + s->nonmembers, err);
    if (place == NULL) return DPA_NO_MEMORY;
    double *place_out = place + s->members;
    placements(s->member, s->members, s->nonmember, s->nonmembers, place);
    placements(s->nonmember, s->nonmembers, s->member, s->members, place_out);
    dpa__sum sum = {0, 0};
    for (size_t i = 0; i < s->members; ++i) dpa__sum_add(&sum, place[i]);
    out->value = fmin(dpa__sum_get(&sum) / (double)s->members, 1);
    *shape = influence_of(s, place, place_out, out->value);
    free(place);
    if (out->value <= 0 || out->value >= 1)
        separated(s, p, out);
    else
        delong(s->members > 1 && s->nonmembers > 1 ? shape->variance : 0, p, out);
    return DPA_OK;
}

static dpa_status check(const dpa_scores *s, dpa_error *err) {
    if (s->is_sorted && s->members > 0 && s->nonmembers > 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "scores: not prepared (dpa__scores_prepare_here)");
}

dpa_status dpa__scores_auc_bootstrap(const dpa_scores *s, const dpa_request *request,
                                     dpa_measure *out, dpa_error *err) {
    const double p = 1 - request->confidence;
    influence shape;
    DPA_TRY(check(s, err));
    DPA_TRY(measure_auc(s, p, out, &shape, err));
    if (out->value <= 0 || out->value >= 1) return DPA_OK;
    return bootstrap(s, shape.acceleration, p, request->seed, out, err);
}

static void measure_tpr(const dpa_scores *s, double p, double fpr, dpa_measure *out) {
    const double k = floor(fpr * (double)s->nonmembers * (1 + 1e-12));
    const size_t above = k < (double)s->nonmembers ? (size_t)k : s->nonmembers - 1;
    const double threshold = nextafter(s->nonmember[s->nonmembers - 1 - above], HUGE_VAL);
    const dpa_counts c = dpa__scores_counts(s, threshold);
    const double n = (double)s->members;
    out->value = (double)c.tp / n;
    out->lower = dpa__cp_lower((double)c.tp, n, 0.5 * p);
    out->upper = dpa__cp_upper((double)c.tp, n, 0.5 * p);
}

/* The best threshold is a member's score: between two of them only non-members pass. Of equally
 * good ones it is the highest; if none beats a guess, the lowest with as few false positives as the
 * highest member has. */
static void best_threshold(const dpa_scores *s, dpa_quality *out) {
    const double m = (double)s->members, n = (double)s->nonmembers;
    size_t i = s->members, j = s->nonmembers, first = SIZE_MAX;
    out->accuracy.value = 0.5;
    while (i > 0) {
        const double threshold = s->member[i - 1];
        while (j > 0 && s->nonmember[j - 1] >= threshold) --j;
        while (i > 0 && s->member[i - 1] == threshold) --i;
        const double value = 1 - 0.5 * ((double)i / m + (double)(s->nonmembers - j) / n);
        if (first == SIZE_MAX) first = j;
        if (value > out->accuracy.value || (out->accuracy.value == 0.5 && j == first))
            out->threshold = threshold;
        out->accuracy.value = fmax(out->accuracy.value, value);
    }
}

static void measure_accuracy(const dpa_scores *s, double p, dpa_quality *out) {
    const double m = (double)s->members, n = (double)s->nonmembers;
    const double each = -expm1(0.5 * log1p(-p)); /* independent classes */
    const double off = 0.5 * (sqrt(log(2 / each) / (2 * m)) + sqrt(log(2 / each) / (2 * n)));
    best_threshold(s, out);
    out->accuracy.lower = fmax(out->accuracy.value - off, 0);
    out->accuracy.upper = fmin(out->accuracy.value + off, 1);
}

/* The longer task first, so that it does not end alone. */
int dpa__quality_task(void *user, size_t task) {
    dpa__measuring *m = user;
    influence shape;
    if (task == 0)
        m->status = measure_auc(m->scores, m->p, &m->out->auc, &shape, &m->error);
    else
        measure_accuracy(m->scores, m->p, m->out);
    return 0;
}

dpa_status dpa__quality_begin(const dpa_scores *s, const dpa_request *request, dpa_quality *out,
                              dpa__measuring *m, dpa_error *err) {
    static const double rates[DPA_LOW_FPRS] = {0.001, 0.01, 0.1};
    *m = (dpa__measuring){.scores = s, .p = 1 - request->confidence, .out = out};
    *out = (dpa_quality){0};
    DPA_TRY(check(s, err));
    for (size_t i = 0; i < DPA_LOW_FPRS; ++i) {
        out->fpr[i] = rates[i];
        measure_tpr(s, m->p, rates[i], &out->tpr[i]);
    }
    return DPA_OK;
}

dpa_status dpa__quality_end(const dpa__measuring *m, dpa_error *err) {
    if (m->status != DPA_OK && err != NULL) *err = m->error;
    return m->status;
}

dpa_status dpa__scores_quality(const dpa_scores *s, const dpa_request *request, dpa_quality *out,
                               dpa_error *err) {
    dpa__measuring m;
    DPA_TRY(dpa__quality_begin(s, request, out, &m, err));
    for (size_t i = 0; i < DPA__QUALITY_TASKS; ++i) (void)dpa__quality_task(&m, i);
    return dpa__quality_end(&m, err);
}
