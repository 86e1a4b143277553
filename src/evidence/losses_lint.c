/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reader of Epsilon* must know about the losses it came from. */
#include <math.h>

#include "base/error.h"
#include "dpaudit/losses.h"

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

/* Twice the number of pairs (train, held-out) with the training loss lower, ties counted once, as a
 * share: the probability that the attack orders a random pair rightly. */
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

dpa_status dpa_losses_lint(const dpa_losses *l, dpa_lints *lints, dpa_error *err) {
    const side train = look(l->train, l->train_count), held = look(l->heldout, l->heldout_count);
    const double total = (double)l->train_count + (double)l->heldout_count;
    if (l->train_count < 1000 || l->heldout_count < 1000)
        DPA_TRY(dpa_lints_add(lints, err, "few-points",
                              "%zu training and %zu held-out losses: with fewer than 1000 the "
                              "rates that decide Epsilon* are hardly seen",
                              l->train_count, l->heldout_count));
    if (train.infinite + held.infinite > 0)
        DPA_TRY(dpa_lints_add(lints, err, "infinite-losses",
                              "%zu losses are infinite: ordered as they are by 'empirical', put at "
                              "the nearest finite loss by the fits",
                              train.infinite + held.infinite));
    if ((double)train.distinct + (double)held.distinct < 0.5 * total)
        DPA_TRY(dpa_lints_add(lints, err, "ties",
                              "only %zu + %zu distinct losses among %.0f: rounded, or repeated "
                              "points?",
                              train.distinct, held.distinct, total));
    const double share = order_share(l);
    const double spread =
        sqrt((total + 1.0) / (12.0 * (double)l->train_count * (double)l->heldout_count));
    if (share < 0.5 - 4.0 * spread)
        DPA_TRY(dpa_lints_add(lints, err, "wrong-direction",
                              "training losses are larger than held-out ones (a random pair is in "
                              "the expected order with probability %.3f): were the files swapped?",
                              share));
    return DPA_OK;
}
