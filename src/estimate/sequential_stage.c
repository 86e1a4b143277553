/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bets pay, cell by cell of the pairs of a stage. Every payment falls as t rises, because
 * δ_t(s) rises and nothing else depends on t: a bound is one bisection. */
#include <math.h>

#include "estimate/sequential.h"

double dpa__null_delta(const dpa__member *null, double slope) {
    const double s = fabs(slope);
    switch (null->kind) {
    case DPA__MODEL_DP: /* the line of slope −e^s that touches the corner of the curve */
        if (s >= null->t) return null->delta;
        return null->delta - (1 - null->delta) * expm1(s - null->t) / (1 + exp(-null->t));
    case DPA__MODEL_GAUSSIAN:
        return null->t > 0 ? exp(dpa__gaussian_log_delta(null->t, s)) : 0;
    case DPA__MODEL_CURVES:
        break;
    }
    return dpa_curve_delta(null->curve, s);
}

unsigned dpa__stage_bin(const dpa__stage *stage, double score) {
    unsigned bin = 0;
    while (bin < stage->count && score >= stage->bet[bin].threshold) ++bin;
    return bin;
}

double dpa__bet_pay(const dpa__bet *bet, double delta, int is_member_accused,
                    int is_nonmember_accused) {
    const double k = exp(fabs(bet->slope));
    const int good = bet->slope >= 0 ? is_member_accused : !is_nonmember_accused;
    const int bad = bet->slope >= 0 ? is_nonmember_accused : !is_member_accused;
    /* the limits of λ keep both factors non-negative, up to rounding */
    const double gain = fmax(0, 1 + bet->size * (good - k * bet->point - delta));
    return gain * fmax(0, 1 - bet->size * k * (bad - bet->point));
}

void dpa__stage_each(const dpa__stage *stage, const dpa__member *null,
                     double each[DPA__BETS][2][2]) {
    for (uint64_t j = 0; j < stage->count; ++j) {
        const double delta = dpa__null_delta(null, stage->bet[j].slope);
        for (int a = 0; a < 2; ++a)
            for (int b = 0; b < 2; ++b) each[j][a][b] = dpa__bet_pay(&stage->bet[j], delta, a, b);
    }
}

void dpa__stage_pay(const dpa__stage *stage, const dpa__member *null,
                    double pay[DPA__BINS][DPA__BINS]) {
    double each[DPA__BETS][2][2];
    dpa__stage_each(stage, null, each);
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b) {
            double sum = stage->kept;
            for (uint64_t j = 0; j < stage->count; ++j)
                sum += stage->bet[j].share * each[j][a > j][b > j];
            pay[a][b] = log(sum);
        }
}

double dpa__stage_log_wealth(const dpa__stage *stage, const dpa__member *null) {
    double pay[DPA__BINS][DPA__BINS], sum = 0;
    if (stage->count == 0) return 0;
    dpa__stage_pay(stage, null, pay);
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b)
            if (stage->cell[a][b] > 0) sum += (double)stage->cell[a][b] * pay[a][b];
    return sum;
}
