/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bugs of tight-auditing section 6.3, and others that real code has had. They are put in from
 * outside; the trainer itself stays correct. */
#include "game/trainer.h"

#include <math.h>

#include "base/error.h"
#include "base/rng.h"
#include "train/noise.h"

dpa_status dpa__sabotage_check(const dpa_game_opts *o, const dpa_train_opts *claimed,
                               size_t members, dpa_error *err) {
    if (!(o->noise_scale >= 0.0 && o->noise_scale <= 1e3))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "noise scale %g: expected 0 to 1000",
                         o->noise_scale);
    if (o->seeds < 1 || o->workers < 1 || o->workers > 1024)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%llu seeds, %llu workers: expected at least 1, 1 to 1024",
                         (unsigned long long)o->seeds, (unsigned long long)o->workers);
    const int shuffles = o->sabotage == DPA_SABOTAGE_SHUFFLE || o->sabotage == DPA_SABOTAGE_PARTIAL;
    if (shuffles && claimed->sampling != DPA_SAMPLE_POISSON)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "batches are shuffled already: the bug is to claim sampling: poisson");
    if (o->sabotage == DPA_SABOTAGE_PARTIAL && members > 0 &&
        (claimed->batch == 0 || members % claimed->batch == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu members make whole batches of %zu: no partial one to divide wrongly",
                         members, claimed->batch);
    return DPA_OK;
}

void dpa__sabotage_opts(const dpa_game_opts *o, dpa_train_opts *train) {
    switch (o->sabotage) {
    case DPA_SABOTAGE_SCALE:
        train->sigma *= o->noise_scale;
        break;
    case DPA_SABOTAGE_CLIP: /* the noise stays, but no gradient reaches the clipping norm */
        train->clip *= 1e6;
        train->sigma *= 1e-6;
        break;
    case DPA_SABOTAGE_SEEDS:
    case DPA_SABOTAGE_WORKERS: /* dpa__sabotage_release adds the noise instead */
        train->sigma = 0.0;
        break;
    case DPA_SABOTAGE_SHUFFLE:
    case DPA_SABOTAGE_PARTIAL:
        train->sampling = DPA_SAMPLE_SHUFFLE;
        break;
    case DPA_SABOTAGE_NONE:
        break;
    }
}

/* The size of this step's batch if the last batch of an epoch gets the remainder. */
static size_t batch_size(const dpa_train_opts *claimed, size_t members, uint64_t step) {
    const uint64_t steps = members / claimed->batch;
    const size_t rest = members % claimed->batch;
    return step % steps + 1 == steps && rest > 0 ? rest : claimed->batch;
}

void dpa__sabotage_sample(const dpa_game_opts *o, const dpa_train_opts *claimed, size_t members,
                          uint64_t step, size_t *count) {
    if (o->sabotage != DPA_SABOTAGE_PARTIAL) return;
    const size_t size = batch_size(claimed, members, step);
    if (*count > size) *count = size;
}

static void multiply(float *sum, size_t size, double factor) {
    for (size_t i = 0; i < size; ++i) sum[i] *= (float)factor;
}

/* Clips the mean only, with noise σC on batch·mean, as someone would who believes that to be
 * enough. */
static void clip_mean(const dpa_train_opts *claimed, float *sum, size_t size) {
    double square = 0.0;
    for (size_t i = 0; i < size; ++i) square += (double)sum[i] * (double)sum[i];
    const double most = claimed->clip * (double)claimed->batch, norm = sqrt(square);
    if (norm > most) multiply(sum, size, most / norm);
}

/* Incomplete batch: the mean over the examples present gets the noise that fits a full batch. On
 * the scale of the sum, which the trainer divides by a full batch, each of them counts for more
 * than one. */
void dpa__sabotage_sum(const dpa_game_opts *o, const dpa_train_opts *claimed, size_t members,
                       uint64_t step, float *sum, size_t size) {
    if (o->sabotage == DPA_SABOTAGE_CLIP) clip_mean(claimed, sum, size);
    if (o->sabotage == DPA_SABOTAGE_PARTIAL)
        multiply(sum, size, (double)claimed->batch / (double)batch_size(claimed, members, step));
}

void dpa__sabotage_release(const dpa_game_opts *o, const dpa_train_opts *claimed, uint64_t seed,
                           uint64_t step, float *sum, size_t size) {
    const double noise = claimed->sigma * claimed->clip;
    if (o->sabotage == DPA_SABOTAGE_SEEDS) {
        dpa_rng pick;
        dpa__rng_init(&pick, seed, DPA_PURPOSE_ATTACK, step);
        dpa__noise_add(o->seed, DPA_PURPOSE_NOISE, dpa__rng_below(&pick, o->seeds), 0, (float)noise,
                       sum, size);
    }
    if (o->sabotage == DPA_SABOTAGE_WORKERS)
        for (uint64_t w = 0; w < o->workers; ++w)
            dpa__noise_add(seed, DPA_PURPOSE_NOISE, step * o->workers + w, 0,
                           (float)(noise / (double)o->workers), sum, size);
}
