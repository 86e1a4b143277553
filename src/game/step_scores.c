/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores over all steps. With a = (x − ½)/σ², e^a is the likelihood ratio of one step with the
 * canary against one without. A member of a Poisson sample is in with probability q, so the ratio
 * of a step is 1 − q + q·e^a, and the ratios of steps multiply. By Neyman and Pearson no score of
 * all steps separates in from out better. The plain sum (Steinke, Nasr and Jagielski 2023) needs no
 * assumption on sampling and noise; both rank alike if q = 1. */
#include "game/step_scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

dpa_status dpa__ledger_init(dpa__ledger *l, dpa_game_score kind, size_t count, double q,
                            double sigma, dpa_error *err) {
    *l = (dpa__ledger){.kind = kind, .q = q, .variance = sigma * sigma, .count = count};
    l->score = DPA_NEW_ARRAY(double, count, err);
    return l->score != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa__ledger_free(dpa__ledger *l) {
    free(l->score);
    *l = (dpa__ledger){0};
}

void dpa__ledger_start(dpa__ledger *l) {
    for (size_t i = 0; i < l->count; ++i) l->score[i] = 0.0;
}

/* log(1 − q + q·e^a) */
static double log_mixture(double q, double a) {
    if (a <= 30.0) return log1p(q * expm1(a));
    return a + log(q + (1.0 - q) * exp(-a));
}

void dpa__ledger_add(dpa__ledger *l, size_t i, double x) {
    l->score[i] += l->kind == DPA_SCORE_SUM ? x : log_mixture(l->q, (x - 0.5) / l->variance);
}
