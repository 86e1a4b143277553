/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reader of Epsilon* must know about the losses it came from. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "evidence/losses.h"

typedef struct side {
    size_t infinite, distinct;
} side;

static side look(const double *sorted, size_t count) {
    side s = {0, 0};
    for (size_t i = 0; i < count; ++i) {
        s.infinite += isinf(sorted[i]) != 0;
        s.distinct += i == 0 || sorted[i] != sorted[i - 1];
    }
    return s;
}

/* The probability that the attack orders a random pair (train, held-out) correctly: the share of
 * pairs in which the training loss is lower, with ties counted as half. */
static double order_share(const dpa_losses *l) {
    size_t below = 0, upto = 0;
    double sum = 0.0;
    for (size_t i = 0; i < l->heldout_count; ++i) {
        while (below < l->train_count && l->train[below] < l->heldout[i]) ++below;
        if (upto < below) upto = below;
        while (upto < l->train_count && l->train[upto] <= l->heldout[i]) ++upto;
        sum += (double)below + (double)upto;
    }
    return 0.5 * sum / ((double)l->train_count * (double)l->heldout_count);
}

/* The two smallest and the two largest finite losses of both sides. */
typedef struct ends {
    double low[2], high[2];
} ends;

static void stretch(const double *sorted, size_t count, ends *e) {
    size_t first = 0, last = count;
    while (first < count && isinf(sorted[first])) ++first;
    while (last > first && isinf(sorted[last - 1])) --last;
    for (size_t i = first; i < last && i < first + 2; ++i) {
        const double x = sorted[i];
        e->low[1] = fmin(e->low[1], fmax(e->low[0], x));
        e->low[0] = fmin(e->low[0], x);
    }
    for (size_t i = last; i > first && i + 2 > last; --i) {
        const double x = sorted[i - 1];
        e->high[1] = fmax(e->high[1], fmin(e->high[0], x));
        e->high[0] = fmax(e->high[0], x);
    }
}

/* Warns if removing one loss would shrink the scale of the paper's transform to less than half. */
static dpa_status lint_scale(const dpa_losses *l, dpa_lints *lints, dpa_error *err) {
    ends e = {{HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL}};
    stretch(l->train, l->train_count, &e);
    stretch(l->heldout, l->heldout_count, &e);
    const double whole = e.high[0] - e.low[0];
    const double low = e.low[1] - e.low[0], high = e.high[0] - e.high[1];
    if (!(isfinite(whole) && fmax(low, high) > 0.5 * whole)) return DPA_OK;
    return dpa__lints_add(lints, err, "one-loss-scale",
                          "one loss, %.6g, sets the scale of the paper's transform (the next is "
                          "%.6g): 'normal' and 'mixture' hang on it; --transform quantile does not",
                          low > high ? e.low[0] : e.high[0], low > high ? e.low[1] : e.high[1]);
}

/* Warns if many losses have one single value: a saturated softmax, or clipping. */
static dpa_status lint_saturated(const dpa_losses *l, dpa_lints *lints, dpa_error *err) {
    const double *sorted[] = {l->train, l->heldout};
    const size_t count[] = {l->train_count, l->heldout_count};
    for (int s = 0; s < 2; ++s) {
        size_t most = 0, run = 0;
        double at = NAN;
        for (size_t i = 0; i < count[s]; ++i) {
            run = i > 0 && sorted[s][i] == sorted[s][i - 1] ? run + 1 : 1;
            if (run > most) at = sorted[s][i];
            most = run > most ? run : most;
        }
        if (count[s] < 20 || (double)most < 0.1 * (double)count[s]) continue;
        DPA_TRY(
            dpa__lints_add(lints, err, "saturated",
                           "%zu of %zu %s losses are %.6g: probabilities that were rounded to 0 "
                           "or 1, or clipped? No threshold can tell them apart; losses from "
                           "logits can",
                           most, count[s], s ? "held-out" : "training", at));
    }
    return DPA_OK;
}

/* The number of values that both sides have. */
static size_t shared_values(const dpa_losses *l) {
    size_t shared = 0;
    for (size_t i = 0, k = 0; i < l->train_count && k < l->heldout_count;) {
        const double x = l->train[i], y = l->heldout[k];
        shared += x == y;
        if (x <= y)
            while (i < l->train_count && l->train[i] == x) ++i;
        if (y <= x)
            while (k < l->heldout_count && l->heldout[k] == y) ++k;
    }
    return shared;
}

/* Warns if losses that hardly repeat within a side repeat between them: points that are in both
 * sets, or one file given twice. */
static dpa_status lint_shared(const dpa_losses *l, const side *train, const side *held,
                              dpa_lints *lints, dpa_error *err) {
    const size_t shared = shared_values(l);
    const size_t fewer = l->train_count < l->heldout_count ? l->train_count : l->heldout_count;
    const int is_same = l->train_count == l->heldout_count && train->distinct > 1 &&
                        memcmp(l->train, l->heldout, fewer * sizeof *l->train) == 0;
    const int repeats = (double)train->distinct < 0.99 * (double)l->train_count ||
                        (double)held->distinct < 0.99 * (double)l->heldout_count;
    if (is_same)
        return dpa__lints_add(lints, err, "same-losses",
                              "training and held-out losses are the same numbers: was one file "
                              "given twice? Then nothing can be seen");
    if (repeats || shared < 5 || (double)shared < 0.01 * (double)fewer) return DPA_OK;
    return dpa__lints_add(
        lints, err, "shared-losses",
        "%zu losses are the same on both sides, and hardly any within one: are "
        "these points in both sets? Held-out points must not have been trained on",
        shared);
}

dpa_status dpa__losses_lint(const dpa_losses *l, dpa_lints *lints, dpa_error *err) {
    const side train = look(l->train, l->train_count), held = look(l->heldout, l->heldout_count);
    const double total = (double)l->train_count + (double)l->heldout_count;
    if (l->train_count < 1000 || l->heldout_count < 1000)
        DPA_TRY(dpa__lints_add(lints, err, "few-points",
                               "%zu training and %zu held-out losses: with fewer than 1000 the "
                               "rates that decide Epsilon* are hardly seen",
                               l->train_count, l->heldout_count));
    if (train.infinite + held.infinite > 0)
        DPA_TRY(dpa__lints_add(lints, err, "infinite-losses",
                               "%zu losses are infinite: ordered as they are by 'binormal', "
                               "'empirical' and 'simultaneous', put at the nearest finite loss by "
                               "'normal' and 'mixture'",
                               train.infinite + held.infinite));
    if ((double)train.distinct + (double)held.distinct < 0.5 * total)
        DPA_TRY(dpa__lints_add(lints, err, "ties",
                               "only %zu + %zu distinct losses among %.0f: rounded, or repeated "
                               "points?",
                               train.distinct, held.distinct, total));
    DPA_TRY(lint_shared(l, &train, &held, lints, err));
    DPA_TRY(lint_scale(l, lints, err));
    DPA_TRY(lint_saturated(l, lints, err));
    const double share = order_share(l);
    const double spread =
        sqrt((total + 1.0) / (12.0 * (double)l->train_count * (double)l->heldout_count));
    if (share < 0.5 - 4.0 * spread)
        DPA_TRY(dpa__lints_add(lints, err, "wrong-direction",
                               "training losses are larger than held-out ones (a random pair is in "
                               "the expected order with probability %.3f): were the files swapped?",
                               share));
    return DPA_OK;
}
