/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One training, many canaries (fdp-in-one-run, section 4; Steinke, Nasr and Jagielski 2023). Every
 * canary has a row of its own after those of the members and goes through the trainer's own
 * sampler, so that how the trainer samples is part of what is audited. White box: the row stands
 * for a gradient of norm C, which takes its place in the sum whenever the row is drawn. Black box:
 * the row is a held-out one with a wrong label, and training knows nothing of the game. */
#include "game/one_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/rng.h"
#include "game/decoys.h"
#include "game/gradient_canaries.h"
#include "game/sabotage.h"
#include "game/step_scores.h"

typedef dpa__one_run game;

struct dpa__one_run {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_train_data *data;
    size_t canaries, options; /* options: 1 for membership */
    int is_membership;
    size_t count;       /* members that are no canaries: rows 0 to count − 1 */
    dpa_dataset *rows;  /* … then one row for each canary */
    size_t *trained_on; /* rows of this training, canaries that are in last */
    size_t member_count;
    size_t *secret; /* [canaries] the option that is in; membership: 1 in, 0 out */
    size_t *drawn;  /* canaries in the batch of this step */
    size_t drawn_count;
    dpa_model *model;
    dpa__decoys decoys; /* black box */
    dpa__bank bank;     /* white box: [canaries × options]; empty for the black box */
    dpa__ledger ledger; /* the same */
    uint64_t seed;      /* of this training */
};

static int is_white_box(const game *g) {
    return g->opts->access == DPA_ACCESS_STEPS;
}

/* The row of canary i has been drawn: its gradient comes in through on_sum instead. */
static dpa_status on_sample(void *user, uint64_t step, size_t *rows, size_t *count, size_t capacity,
                            dpa_error *err) {
    (void)capacity, (void)err;
    game *g = user;
    dpa__sabotage_sample(g->opts, &g->plan->train, g->member_count, step, count);
    if (!is_white_box(g)) return DPA_OK;
    size_t kept = 0;
    g->drawn_count = 0;
    for (size_t i = 0; i < *count; ++i)
        if (rows[i] < g->count)
            rows[kept++] = rows[i];
        else
            g->drawn[g->drawn_count++] = rows[i] - g->count;
    *count = kept;
    return DPA_OK;
}

/* As in the white-box game a raw canary is as large as a batch where nothing clips it. */
static dpa_status on_sum(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    const game *g = user;
    const dpa_train_opts *claimed = &g->plan->train;
    const float scale = g->opts->sabotage == DPA_SABOTAGE_CLIP ? (float)claimed->batch : 1.0F;
    for (size_t i = 0; is_white_box(g) && i < g->drawn_count; ++i) {
        const size_t canary = g->drawn[i];
        const size_t option = g->is_membership ? 0 : g->secret[canary];
        dpa__bank_add(&g->bank, canary * g->options + option, scale, sum);
    }
    dpa__sabotage_sum(g->opts, claimed, g->member_count, step, sum, size);
    return DPA_OK;
}

static dpa_status on_release(void *user, uint64_t step, float *sum, size_t size, dpa_error *err) {
    (void)err;
    game *g = user;
    dpa__sabotage_release(g->opts, &g->plan->train, g->seed, step, sum, size);
    for (size_t i = 0; i < g->bank.count; ++i)
        dpa__ledger_add(&g->ledger, i, dpa__bank_along(&g->bank, i, sum));
    return DPA_OK;
}

/* ---- Setting up ---- */

static dpa_status check(const game *g, dpa_error *err) {
    const dpa_train_opts *t = &g->plan->train;
    if (g->canaries < 1 || g->canaries > 1U << 24)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu canaries: expected 1 to 2^24", g->canaries);
    if (!g->is_membership && (g->options < 2 || g->options > 1U << 16))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu options: expected 2 to 65536", g->options);
    if (t->microbatch != 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "microbatch %zu: a canary must be clipped by itself", t->microbatch);
    if (dpa_train_plan_steps(g->plan, g->count) == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a training of 0 steps shows nothing");
    if (is_white_box(g) && !(isfinite(t->clip) && t->clip > 0.0 && t->sigma > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "access: white-box needs DP-SGD: clip and sigma (or epsilon) under "
                         "privacy");
    return dpa__sabotage_check(g->opts, t, 0, err);
}

/* The rows of gradient canaries are never read: zeros. */
static dpa_status fill_rows(game *g, float *x, int32_t *label, dpa_error *err) {
    const dpa_dataset *data = g->data->data;
    const size_t features = dpa_dataset_features(data), total = g->count + g->canaries;
    for (size_t i = 0; i < total; ++i) {
        const int is_member = i < g->count, is_zero = !is_member && is_white_box(g);
        const size_t canary = i - g->count;
        if (is_zero) continue;
        const dpa_dataset *from = is_member ? data : g->decoys.from;
        const size_t row = is_member ? g->data->members[i] : g->decoys.row[canary];
        memcpy(x + i * features, dpa_dataset_row(from, row), features * sizeof *x);
        label[i] =
            is_member ? dpa_dataset_label(from, row) : dpa__decoys_label(&g->decoys, canary, 0);
    }
    return dpa_dataset_new(x, label, total, dpa_dataset_shape(data), dpa_dataset_classes(data),
                           &g->rows, err);
}

static dpa_status make_rows(game *g, dpa_error *err) {
    const size_t total = g->count + g->canaries;
    const size_t features = dpa_dataset_features(g->data->data);
    float *x = dpa__calloc(total, features * sizeof *x, err);
    int32_t *label = dpa__calloc(total, sizeof *label, err);
    const dpa_status status =
        x != NULL && label != NULL ? fill_rows(g, x, label, err) : DPA_NO_MEMORY;
    free(x);
    free(label);
    return status;
}

static dpa_status make_white_box(game *g, dpa_error *err) {
    const dpa_train_opts *t = &g->plan->train;
    const size_t count = g->canaries * g->options;
    const double q = dpa_train_plan_q(g->plan, g->count);
    DPA_TRY(dpa__bank_init(&g->bank, g->opts->canary, count, t->clip, g->opts->seed, g->model,
                           g->data, err));
    /* Shuffled batches have no q of their own; their best guess is how often a member is in. */
    return dpa__ledger_init(&g->ledger, g->opts->score, count,
                            isnan(q) ? (double)t->batch / (double)g->count : q, t->sigma, err);
}

static dpa_status set_up(game *g, dpa_error *err) {
    DPA_TRY(check(g, err));
    const dpa_dataset *data = g->data->data;
    DPA_TRY(dpa_model_new(g->plan->layers, dpa_dataset_shape(data), dpa_dataset_classes(data),
                          g->plan->loss, &g->model, err));
    dpa_model_init(g->model, g->plan->init_seed);
    DPA_TRY(is_white_box(g) ? make_white_box(g, err)
                            : dpa__decoys_init(&g->decoys, g->canaries, g->options, g->opts->seed,
                                               g->data, err));
    DPA_TRY(make_rows(g, err));
    g->trained_on = DPA_NEW_ARRAY(size_t, g->count + g->canaries, err);
    g->secret = DPA_NEW_ARRAY(size_t, g->canaries, err);
    g->drawn = DPA_NEW_ARRAY(size_t, g->canaries, err);
    if (g->trained_on == NULL || g->secret == NULL || g->drawn == NULL) return DPA_NO_MEMORY;
    return DPA_OK;
}

void dpa__one_run_free(game *g) {
    if (g == NULL) return;
    dpa__ledger_free(&g->ledger);
    dpa__bank_free(&g->bank);
    dpa__decoys_free(&g->decoys);
    dpa_dataset_free(g->rows);
    dpa_model_free(g->model);
    free(g->trained_on);
    free(g->secret);
    free(g->drawn);
    free(g);
}

dpa_status dpa__one_run_new(const dpa_game_opts *opts, uint64_t options, const dpa_train_plan *plan,
                            const dpa_train_data *data, game **out, dpa_error *err) {
    game *g = DPA_NEW(game, err);
    if (g == NULL) return DPA_NO_MEMORY;
    *g = (game){.opts = opts, .plan = plan, .data = data, .count = data->member_count};
    g->canaries = opts->canaries;
    g->is_membership = options == 0;
    g->options = options == 0 ? 1 : options;
    const dpa_status status = set_up(g, err);
    if (status == DPA_OK)
        *out = g;
    else
        dpa__one_run_free(g);
    return status;
}

/* ---- Playing ---- */

/* Who is in, and as what. */
static void draw_secrets(game *g, uint64_t run, const size_t *given) {
    dpa_rng rng;
    dpa_rng_init(&rng, g->opts->seed, DPA_PURPOSE_MEMBERSHIP, run);
    for (size_t i = 0; i < g->count; ++i) g->trained_on[i] = i;
    g->member_count = g->count;
    for (size_t i = 0; i < g->canaries; ++i) {
        g->secret[i] =
            given != NULL ? given[i] : dpa_rng_below(&rng, g->is_membership ? 2 : g->options);
        if (g->is_membership && g->secret[i] == 0) continue;
        g->trained_on[g->member_count++] = g->count + i;
    }
}

static dpa_status set_labels(game *g, const size_t *option, size_t same, dpa_error *err) {
    for (size_t i = 0; i < g->canaries; ++i)
        DPA_TRY(dpa_dataset_set_row(
            g->rows, g->count + i, NULL,
            dpa__decoys_label(&g->decoys, i, option != NULL ? option[i] : same), err));
    return DPA_OK;
}

/* The options of the trainer as it is really run. Canaries come on top of the members that the
 * claimed q is about, so it is given; shuffled batches grow to keep it. */
static dpa_train_opts real_opts(game *g) {
    dpa_train_opts o = g->plan->train;
    const double q = dpa_train_plan_q(g->plan, g->count);
    o.steps = dpa_train_plan_steps(g->plan, g->count);
    o.seed = g->seed;
    o.hooks =
        (dpa_train_hooks){.user = g, .sample = on_sample, .sum = on_sum, .release = on_release};
    if (!isnan(q)) o.q = q;
    dpa__sabotage_opts(g->opts, &o);
    if (g->opts->sabotage == DPA_SABOTAGE_SHUFFLE)
        o.batch = (size_t)fmax(1.0, round(q * (double)g->member_count));
    return o;
}

static dpa_status train(game *g, dpa_error *err) {
    const dpa_train_opts o = real_opts(g);
    dpa_trainer *trainer = NULL;
    dpa_model_init(g->model, g->plan->init_seed);
    DPA_TRY(dpa_trainer_new(g->model, g->rows, g->trained_on, g->member_count, &o, &trainer, err));
    dpa__ledger_start(&g->ledger);
    dpa_status status = dpa_trainer_run(trainer, &g->opts->progress, err);
    if (status == DPA_OK && o.averaging != DPA_AVERAGE_NONE)
        status = dpa_trainer_average(trainer, g->model, err);
    dpa_trainer_free(trainer);
    return status;
}

/* table[i·options + k]: minus the loss of canary i as option k. */
static dpa_status look_at_losses(game *g, double *table, dpa_error *err) {
    size_t *row = DPA_NEW_ARRAY(size_t, g->canaries, err);
    double *loss = DPA_NEW_ARRAY(double, g->canaries, err);
    dpa_status status = row != NULL && loss != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < g->canaries && status == DPA_OK; ++i) row[i] = g->count + i;
    for (size_t k = 0; k < g->options && status == DPA_OK; ++k) {
        status = set_labels(g, NULL, k, err);
        if (status == DPA_OK)
            status = dpa_model_evaluate(g->model, g->rows, row, g->canaries, NULL, loss, NULL, err);
        for (size_t i = 0; i < g->canaries && status == DPA_OK; ++i)
            table[i * g->options + k] = -loss[i];
    }
    free(row);
    free(loss);
    return status;
}

/* Guesses the option with the highest score; the gap to the next one says how sure it is. */
static void decide(const game *g, const double *table, dpa__one_run_result *result) {
    for (size_t i = 0; i < g->canaries; ++i) {
        const double *score = table + i * g->options;
        size_t best = 0;
        for (size_t k = 1; k < g->options; ++k)
            if (score[k] > score[best]) best = k;
        double next = -(double)INFINITY;
        for (size_t k = 0; k < g->options; ++k)
            if (k != best && score[k] > next) next = score[k];
        result->score[i] = g->is_membership ? score[0] : score[best] - next;
        result->answer[i] =
            g->is_membership ? (double)g->secret[i] : (double)(best == g->secret[i]);
    }
}

static dpa_status look(game *g, dpa__one_run_result *result, dpa_error *err) {
    result->accuracy = (double)NAN;
    if (g->data->heldout_count > 0) {
        const dpa_dataset *from = g->data->test != NULL ? g->data->test : g->data->data;
        dpa_utility utility;
        DPA_TRY(dpa_model_evaluate(g->model, from, g->data->heldout, g->data->heldout_count, NULL,
                                   NULL, &utility, err));
        result->accuracy = utility.accuracy;
    }
    if (is_white_box(g)) {
        decide(g, g->ledger.score, result);
        return DPA_OK;
    }
    double *table = DPA_NEW_ARRAY(double, g->canaries * g->options, err);
    if (table == NULL) return DPA_NO_MEMORY;
    const dpa_status status = look_at_losses(g, table, err);
    if (status == DPA_OK) decide(g, table, result);
    free(table);
    return status;
}

dpa_status dpa__one_run_play(game *g, uint64_t run, dpa__one_run_result *result, dpa_error *err) {
    dpa_rng seeds;
    dpa_rng_init(&seeds, g->opts->seed, DPA_PURPOSE_ATTACK, run);
    g->seed = dpa_rng_u64(&seeds);
    draw_secrets(g, run, result->secret);
    if (!is_white_box(g)) DPA_TRY(set_labels(g, g->is_membership ? NULL : g->secret, 0, err));
    DPA_TRY(train(g, err));
    return look(g, result, err);
}
