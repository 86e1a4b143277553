/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which training records stand out: those with losses lower than held-out losses.
 *
 * If a record looks like a held-out one, its rank among m held-out losses is uniform, so (1 +
 * #{held-out ≤ loss})/(m + 1) is a p-value. The p-values of all records share the held-out
 * losses and are positively dependent in the way that Benjamini–Hochberg needs (Bates et al.,
 * Annals of Statistics 51, 2023), so q-values control the false discovery rate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/losses.h"
#include "evidence/scores_sort.h"

typedef struct entry {
    double loss;
    size_t row;
} entry;

static int compare(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->loss != b->loss) return a->loss < b->loss ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The q-value of rank i (by rising p) is the least of p_j·n/j over j ≥ i. p rises with the loss, so
 * one pass down from the largest loss computes all of them. */
static void q_values(const entry *e, size_t n, const double *heldout, size_t m, double rate,
                     dpa_loss_record *out, size_t most, size_t *found) {
    size_t below = m, j = n;
    double least = 1.0;
    *found = 0;
    while (j > 0) {
        const size_t last = j; /* ties share the rank of their last */
        const double loss = e[j - 1].loss;
        while (below > 0 && heldout[below - 1] > loss) --below;
        const double p = (1.0 + (double)below) / (1.0 + (double)m);
        least = fmin(least, p * (double)n / (double)last);
        for (; j > 0 && e[j - 1].loss == loss; --j) {
            *found += least <= rate;
            if (j - 1 < most) out[j - 1] = (dpa_loss_record){e[j - 1].row + 1, loss, p, least};
        }
    }
}

dpa_status dpa__loss_records(const double *train, size_t train_count, const double *heldout,
                             size_t heldout_count, double rate, dpa_loss_record *out, size_t most,
                             size_t *count, size_t *found, dpa_error *err) {
    *count = *found = 0;
    for (size_t i = 0; i < train_count; ++i)
        if (isnan(train[i]))
            return dpa__fail(err, DPA_BAD_INPUT, "training loss %zu is NaN; a number is right",
                             i + 1);
    entry *e = DPA_NEW_ARRAY(entry, train_count, err);
    double *sorted = DPA_NEW_ARRAY(double, heldout_count, err);
    dpa_status status = e != NULL && sorted != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) {
        memcpy(sorted, heldout, heldout_count * sizeof *sorted);
        status = dpa__sort_numbers(sorted, heldout_count, err);
    }
    if (status == DPA_OK) {
        for (size_t i = 0; i < train_count; ++i) e[i] = (entry){train[i], i};
        qsort(e, train_count, sizeof *e, compare);
        *count = most < train_count ? most : train_count;
        q_values(e, train_count, sorted, heldout_count, rate, out, *count, found);
    }
    free(e);
    free(sorted);
    return status;
}
