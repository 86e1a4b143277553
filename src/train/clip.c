/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heart of DP-SGD: the sum of clipped per-group gradients of one step, in one backward pass.
 *
 * tight-auditing eq. (7): Σ clip_C(∇ℓ), clip_C(v) = v·min(1, C/‖v‖). For each chunk of rows:
 * forward, deltas, norms (train/layer.h), deltas scaled by the clip factors, and only then the
 * matrix products that add up the weights' gradients. A group is one example with its
 * augmentations, or a microbatch; its mean gradient is clipped.
 *
 * Norms and sums are single precision with relative errors near 1e-6; the factor is made smaller by
 * 2⁻¹⁸ = 3.8e-6, so that what is added has norm at most C also after rounding (test: sensitivity).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "train/trainer.h"

static const double SAFETY = 1.0 - 0x1p-18;

static const float *row_of(const dpa_trainer *t, size_t row, int32_t *label) {
    const dpa_dataset *data = t->data;
    if (row >= data->rows) {
        row -= data->rows;
        data = t->opts.extra;
    }
    *label = data->label[row];
    return data->x + row * data->features;
}

/* Loads all copies of one example into the network's input. Each copy is augmented by draws that
 * depend only on the step and the place in the batch. */
static void load_example(dpa_trainer *t, size_t place, size_t at) {
    const dpa_train_opts *o = &t->opts;
    const size_t features = t->data->features;
    int32_t label;
    const float *x = row_of(t, t->rows[place], &label);
    dpa_rng rng;
    if (o->shift > 0 || o->flip)
        dpa__rng_init(&rng, o->seed, DPA_PURPOSE_AUGMENT, t->step << 24 | (place & 0xffffffU));
    for (size_t k = 0; k < o->augment; ++k) {
        float *to = t->net->value[0] + (at + k) * features;
        t->label[at + k] = label;
        if (o->shift == 0 && !o->flip) {
            memcpy(to, x, features * sizeof *to);
            continue;
        }
        const uint64_t span = 2 * o->shift + 1;
        const int down = (int)dpa__rng_below(&rng, span) - (int)o->shift;
        const int right = (int)dpa__rng_below(&rng, span) - (int)o->shift;
        const int mirror = o->flip && (dpa__rng_u32(&rng) & 1U);
        dpa__augment(x, t->data->shape, down, right, mirror, to);
    }
}

/* Loads groups starting with `first`, at least one and then as many as fit into `limit` rows.
 * Returns the first group not loaded. */
static size_t load_chunk(dpa_trainer *t, size_t first, size_t groups, size_t limit,
                         dpa__groups *out) {
    size_t rows = 0, group = first;
    t->row_start[0] = 0;
    for (; group < groups; ++group) {
        const size_t from = t->group_start[group], to = t->group_start[group + 1];
        if (group > first && rows + (to - from) * t->opts.augment > limit) break;
        for (size_t place = from; place < to; ++place, rows += t->opts.augment)
            load_example(t, place, rows);
        t->row_start[group - first + 1] = rows;
    }
    *out = (dpa__groups){group - first, t->row_start};
    return group;
}

/* factor = min(1, C/norm)/rows of the group. The division is needed because the group's mean is
 * clipped while the deltas belong to single rows. */
static dpa_status clip_factors(dpa_trainer *t, const dpa__groups *groups, dpa__tally *tally,
                               dpa_error *err) {
    const double clip = t->opts.clip;
    if (isfinite(clip)) dpa__net_norms(t->net, groups, t->norm2);
    for (size_t g = 0; g < groups->count; ++g) {
        const double rows = (double)(groups->start[g + 1] - groups->start[g]);
        t->factor[g] = (float)(1.0 / rows);
        if (!isfinite(clip)) continue;
        const double norm = sqrt(t->norm2[g]) / rows;
        if (!isfinite(norm))
            return dpa__fail(err, DPA_NUMERIC, "a gradient is not finite at step %llu",
                             (unsigned long long)t->step);
        tally->norms += norm;
        if (norm > clip * SAFETY) {
            t->factor[g] = (float)(clip * SAFETY / norm / rows);
            ++tally->clipped;
        }
    }
    tally->groups += groups->count;
    return DPA_OK;
}

static dpa_status run_chunk(dpa_trainer *t, const dpa__groups *groups, dpa__tally *tally,
                            dpa_error *err) {
    const size_t rows = groups->start[groups->count], top = t->model->layer_count;
    dpa__net_forward(t->net, rows);
    tally->right +=
        dpa__loss(t->model, t->net->value[top], t->label, rows, t->loss, t->net->delta[top]);
    double loss = 0.0;
    for (size_t r = 0; r < rows; ++r) loss += t->loss[r];
    if (!isfinite(loss))
        return dpa__fail(err, DPA_NUMERIC,
                         "the loss is not finite at step %llu: a smaller learning rate may help",
                         (unsigned long long)t->step);
    tally->loss += loss;
    tally->rows += rows;
    dpa__net_backward(t->net, rows);
    DPA_TRY(clip_factors(t, groups, tally, err));
    dpa__net_weighted_sum(t->net, groups, t->factor, isfinite(t->opts.clip), t->sum);
    return DPA_OK;
}

dpa_status dpa__clipped_sum(dpa_trainer *t, size_t examples, dpa__tally *tally, dpa_error *err) {
    memset(t->sum, 0, t->model->size * sizeof *t->sum);
    const size_t groups = dpa__sampler_groups(&t->sampler, t->rows, examples, t->group_start);
    /* Chunks of about equal size, because a last chunk of a few rows would waste a pass over the
     * weights. */
    const size_t rows = examples * t->opts.augment;
    const size_t chunks = (rows + t->chunk - 1) / t->chunk;
    const size_t limit = chunks > 0 ? (rows + chunks - 1) / chunks : 0;
    for (size_t group = 0; group < groups;) {
        dpa__groups part;
        group = load_chunk(t, group, groups, limit, &part);
        DPA_TRY(run_chunk(t, &part, tally, err));
    }
    return DPA_OK;
}
