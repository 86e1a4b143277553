/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of canary cosines by `jeffreys` with a threshold that is learned from a random half
 * of the canaries and used on the other half, the default of the command `cosines`
 * (estimate/cosine_lower.c).
 *
 * Only the choice is simulated, by the function that makes it. Given the threshold, the number
 * of missed canaries in the other half is binomial, so its power is exact; the plan's power is
 * the mean over simulated choices. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"
#include "estimate/cosine.h"
#include "estimate/plan.h"
#include "math/dist.h"

/* Enough dimensions for a cosine to be normal (to 1e-8). */
static const size_t DIM = 1000000000;
enum { FEW = 100, MANY = 400, LEAST = 25, MOST_DRAWS = 2000000 };

typedef struct halves {
    const dpa__plan *plan;
    size_t learning, other; /* canaries of the two halves */
    double *limit;          /* of the FNR, by the canaries missed while learning */
    double *power;          /* per simulated choice */
    double *cosines;        /* per choice: room for `learning` */
} halves;

static int learn(void *user, size_t task) {
    const halves *h = user;
    const double unit = 1 / sqrt((double)DIM), mu = h->plan->mu;
    double *cosine = h->cosines + task * h->learning;
    dpa_rng rng;
    dpa__rng_init(&rng, h->plan->asked->seed, DPA_PURPOSE_SIMULATE, task);
    for (size_t i = 0; i < h->learning; ++i) cosine[i] = unit * (mu + dpa__rng_normal(&rng));
    dpa__cosine_sort(cosine, h->learning);
    const double threshold =
        dpa__cosine_learn(cosine, h->learning, DIM, h->plan->asked->delta, h->plan->p, h->limit);
    h->power[task] = dpa__plan_cut_power(h->plan, (double)h->other, threshold / unit);
    return 0;
}

static void average(const double *power, size_t count, dpa_plan_answer *out) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) sum += power[i];
    out->power = sum / (double)count;
    for (size_t i = 0; i < count; ++i) squares += pow(power[i] - out->power, 2);
    /* even if all choices drawn have the same power, others may not */
    out->error = fmax(sqrt(squares / (double)(count - 1) / (double)count),
                      dpa__share_error(0, (double)count * (double)count));
}

static dpa_status simulate(const dpa__plan *plan, size_t n, size_t count, dpa_plan_answer *out,
                           dpa_error *err) {
    halves h = {.plan = plan, .learning = n / 2, .other = n - n / 2};
    h.limit = DPA_NEW_ARRAY(double, h.learning + 1, err);
    h.power = DPA_NEW_ARRAY(double, count, err);
    h.cosines = dpa__malloc(count, h.learning * sizeof(double), err);
    dpa_status status =
        h.limit == NULL || h.power == NULL || h.cosines == NULL ? DPA_NO_MEMORY : DPA_OK;
    for (size_t i = 0; i <= h.learning && status == DPA_OK; ++i)
        h.limit[i] = dpa__jeffreys_upper((double)i, (double)h.learning, plan->p);
    if (status == DPA_OK)
        status = dpa__parallel(dpa__threads(plan->asked->threads), count, learn, &h, err);
    if (status == DPA_OK) average(h.power, count, out);
    free(h.limit);
    free(h.power);
    free(h.cosines);
    return status;
}

dpa_status dpa__plan_split(const dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                           dpa_error *err) {
    out->power = 0;
    if (n < 2) return DPA_OK; /* too few to halve */
    const uint64_t wanted = care == DPA__ROUGHLY ? FEW : MANY, can = MOST_DRAWS / n;
    return simulate(plan, (size_t)n,
                    (size_t)(can < LEAST    ? LEAST
                             : can < wanted ? can
                                            : wanted),
                    out, err);
}
