/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many samples an interval of a given width needs (bayesian-estimation, figure 4): the
 * two-sided interval from the expected counts of an attack with given error rates. Widths fall with
 * n apart from the rounding of counts; the search ends at a size that was verified. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/plan/power.h"
#include "estimate/registry.h"

enum { MOST_SAMPLES = 1000000000 };

static dpa_status check(const dpa_precision *plan, dpa_error *err) {
    if (!(plan->fnr >= 0 && plan->fnr <= 1 && plan->fpr >= 0 && plan->fpr <= 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rates: %g and %g are not both in [0, 1]",
                         plan->fnr, plan->fpr);
    if (!(plan->delta >= 0 && plan->delta < 1) || !(plan->confidence > 0 && plan->confidence < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "delta %g is not in [0, 1), or confidence %g not in (0, 1)", plan->delta,
                         plan->confidence);
    return DPA_OK;
}

static dpa_status find_entry(const dpa_precision *plan, const dpa__model *model,
                             const dpa__entry **out, dpa_error *err) {
    *out = dpa__registry_find(plan->method, err);
    if (*out == NULL) return DPA_BAD_ARGUMENT;
    const int can = (*out)->from_counts != NULL && ((*out)->about.what & DPA_GIVES_INTERVAL) != 0;
    const char *refusal = dpa__registry_refusal(*out, model, plan->delta);
    if (!can || refusal != NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "method %s, family %s: %s", plan->method,
                         plan->family, can ? refusal : "gives no interval from counts");
    return DPA_OK;
}

/* An interval that is asked for at one size after the other. */
typedef struct question {
    const dpa_precision *plan;
    dpa__model model;
    const dpa__entry *entry;
    double asked;
} question;

static dpa_status interval(question *q, uint64_t n, dpa_precision_answer *out, dpa_error *err) {
    const dpa_precision *plan = q->plan;
    const dpa_progress *progress = &plan->progress;
    const uint64_t fn = (uint64_t)llround(plan->fnr * (double)n);
    const uint64_t fp = (uint64_t)llround(plan->fpr * (double)n);
    const dpa_counts counts = {fn, n - fn, fp, n - fp};
    dpa_request request;
    dpa_result result;
    if (progress->call != NULL && progress->call(progress->user, "sizes tried", q->asked++, 0))
        return dpa__fail(err, DPA_CANCELLED, "stopped on request");
    dpa__request_init(&request);
    request.delta = plan->delta;
    request.confidence = plan->confidence;
    request.sides = 2;
    DPA_TRY(dpa__estimate_one(q->entry, &counts, &q->model, &request, &result, err));
    *out = (dpa_precision_answer){n, result.epsilon_lower, result.epsilon_upper};
    return DPA_OK;
}

static dpa_status search(question *q, double width, uint64_t most, dpa_precision_answer *out,
                         dpa_error *err) {
    uint64_t low = 0, high = 1;
    dpa_precision_answer answer;
    DPA_TRY(interval(q, high, out, err));
    while (!(out->upper - out->lower <= width) && high < most) {
        low = high;
        high = high > most / 2 ? most : 2 * high;
        DPA_TRY(interval(q, high, out, err));
    }
    if (!(out->upper - out->lower <= width)) {
        out->size = 0;
        return DPA_OK;
    }
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        DPA_TRY(interval(q, middle, &answer, err));
        if (answer.upper - answer.lower <= width) {
            high = middle;
            *out = answer;
        } else {
            low = middle;
        }
    }
    return DPA_OK;
}

/* width NaN: the interval for `n`; else the smallest n, up to `n`, with this width. */
static dpa_status run(const dpa_precision *plan, double width, uint64_t n,
                      dpa_precision_answer *out, dpa_error *err) {
    question q = {.plan = plan};
    DPA_TRY(check(plan, err));
    if (n < 1 || n > MOST_SAMPLES)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu observations: 1 to 1e9 can be planned",
                         (unsigned long long)n);
    DPA_TRY(dpa__model_open(plan->family, plan->delta, &q.model, err));
    dpa_status status = find_entry(plan, &q.model, &q.entry, err);
    if (status == DPA_OK)
        status = isnan(width) ? interval(&q, n, out, err) : search(&q, width, n, out, err);
    dpa__model_close(&q.model);
    return status;
}

dpa_status dpa__plan_interval(const dpa_precision *plan, uint64_t n, dpa_precision_answer *out,
                              dpa_error *err) {
    return run(plan, NAN, n, out, err);
}

dpa_status dpa__plan_half_width(const dpa_precision *plan, double half, uint64_t most,
                                dpa_precision_answer *out, dpa_error *err) {
    if (!(half > 0 && isfinite(half)))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "half width: %g is not above 0", half);
    return run(plan, 2 * half, most, out, err);
}
