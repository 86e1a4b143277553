/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores over all steps. With a = (x − ½)/σ², e^a is the likelihood ratio of one step with the
 * canary against one without. Each member of a Poisson sample is in with probability q: the ratio
 * of a step is 1 − q + q·e^a, and steps multiply. In shuffled batches a member is in exactly one of
 * the S steps of an epoch: the ratio of an epoch is the mean of the S ratios (of an epoch that ends
 * after s steps: (S − s + Σ e^a)/S), and epochs multiply. By Neyman and Pearson nothing separates
 * in from out better. The plain sum needs no assumption on the sampling. */
#include "game/ledger.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "math/logspace.h"

dpa_status dpa__ledger_init(dpa__ledger *t, dpa_game_score kind, size_t count, double q,
                            double sigma, dpa_error *err) {
    *t = (dpa__ledger){
        .kind = kind, .q = q, .variance = sigma * sigma, .count = count, .epoch_steps = 1};
    t->score = DPA_NEW_ARRAY(double, count, err);
    t->epoch = DPA_NEW_ARRAY(double, count, err);
    if (t->score != NULL && t->epoch != NULL) return DPA_OK;
    dpa__ledger_free(t);
    return DPA_NO_MEMORY;
}

void dpa__ledger_free(dpa__ledger *t) {
    free(t->score);
    free(t->epoch);
    *t = (dpa__ledger){0};
}

void dpa__ledger_start(dpa__ledger *t, uint64_t epoch_steps) {
    t->epoch_steps = epoch_steps;
    for (size_t i = 0; i < t->count; ++i) {
        t->score[i] = 0.0;
        t->epoch[i] = -(double)INFINITY;
    }
}

/* log(1 − q + q·e^a) */
static double log_mixture(double q, double a) {
    if (a <= 0.0) return log1p(q * expm1(a));
    return a + log(q + (1.0 - q) * exp(-a));
}

void dpa__ledger_add(dpa__ledger *t, size_t i, double x) {
    const double a = (x - 0.5) / t->variance;
    switch (t->kind) {
    case DPA_SCORE_SUM:
        t->score[i] += x;
        break;
    case DPA_SCORE_LIKELIHOOD:
        t->score[i] += log_mixture(t->q, a);
        break;
    case DPA_SCORE_EPOCHS:
        t->epoch[i] = dpa__log_add(t->epoch[i], a);
        break;
    }
}

void dpa__ledger_step(dpa__ledger *t, uint64_t step, int is_last) {
    const uint64_t done = step % t->epoch_steps + 1;
    if (t->kind != DPA_SCORE_EPOCHS || (done < t->epoch_steps && !is_last)) return;
    const double all = (double)t->epoch_steps, left = log(all - (double)done);
    for (size_t i = 0; i < t->count; ++i) {
        t->score[i] += dpa__log_add(t->epoch[i], left) - log(all);
        t->epoch[i] = -(double)INFINITY;
    }
}
