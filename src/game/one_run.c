/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One training, many canaries (fdp-in-one-run, section 4; Steinke, Nasr and Jagielski 2023). Every
 * canary has a row of its own after those of the members and goes through the trainer's own
 * sampler, so that the sampling is audited too. White box: the row stands for a gradient of norm C,
 * which enters the sum whenever the row is drawn. Black box: the row is a held-out one with a wrong
 * label, and the training knows nothing of the game. */
#include "game/one_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "evidence/evidence.h"
#include "game/canary.h"
#include "game/rules.h"

/* ---- Canaries in a black box ----
 *
 * A held-out row with a wrong label contradicts what the model learns from all others, so its loss
 * is clearly lower if it was trained on (tight-auditing section 6.4). */

/* Knuth's algorithm S: every subset of the held-out rows is equally likely. */
static void draw(dpa__decoys *d, const dpa_train_data *data, uint64_t seed) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_CANARY, 0);
    size_t taken = 0;
    for (size_t i = 0; taken < d->count; ++i) {
        if (dpa__rng_below(&rng, data->heldout_count - i) >= d->count - taken) continue;
        d->row[taken] = data->heldout[i];
        d->turn[taken++] = (uint32_t)dpa__rng_below(&rng, d->classes - 1);
    }
}

dpa_status dpa__decoys_init(dpa__decoys *d, size_t count, size_t options, uint64_t seed,
                            const dpa_train_data *data, dpa_error *err) {
    *d = (dpa__decoys){.count = count, .from = data->test != NULL ? data->test : data->data};
    d->classes = dpa_dataset_classes(d->from);
    if (data->heldout_count < count)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu black-box canaries are made from as many held-out rows; there are "
                         "%zu",
                         count, data->heldout_count);
    if (options > d->classes - 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "%zu options: the black-box ones are wrong labels, and there are %zu",
                         options, d->classes - 1);
    d->row = DPA_NEW_ARRAY(size_t, count, err);
    d->turn = DPA_NEW_ARRAY(uint32_t, count, err);
    if (d->row == NULL || d->turn == NULL) {
        dpa__decoys_free(d);
        return DPA_NO_MEMORY;
    }
    draw(d, data, seed);
    return DPA_OK;
}

void dpa__decoys_free(dpa__decoys *d) {
    free(d->row);
    free(d->turn);
    *d = (dpa__decoys){0};
}

int32_t dpa__decoys_label(const dpa__decoys *d, size_t index, size_t option) {
    const size_t wrong = (d->turn[index] + option) % (d->classes - 1);
    const size_t right = (size_t)dpa_dataset_label(d->from, d->row[index]);
    return (int32_t)((right + 1 + wrong) % d->classes);
}

/* ---- Scores over all steps ----
 *
 * With a = (x − ½)/σ², e^a is the likelihood ratio of one step with the canary against one without.
 * A member of a Poisson sample is in with probability q, so the ratio of a step is 1 − q + q·e^a,
 * and the ratios of steps multiply. By Neyman and Pearson no score of all steps separates in from
 * out better. The plain sum (Steinke, Nasr and Jagielski 2023) needs no assumption on sampling and
 * noise; both rank alike if q = 1. */

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

/* ---- The game ---- */

struct dpa__one_run {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_train_data *data;
    dpa__trainer *trainer, *own; /* own: NULL if the trainer is borrowed */
    dpa_trainer_signal signal;   /* what is asked of the final model */
    size_t canaries, options;    /* options is 1 for membership */
    int is_membership;
    size_t count;       /* members that are not canaries: examples 0 to count − 1 */
    dpa_dataset *rows;  /* our own trainer: those members, then the canaries */
    size_t *trained_on; /* examples of this training; the canaries that are in come last */
    size_t member_count;
    size_t *secret; /* [canaries] the option that is in; membership: 1 in, 0 out */
    size_t *batch;  /* [count + canaries] */
    size_t *place;  /* [canaries] weights of the drawn Dirac canaries, or … */
    const float **direction;
    dpa__decoys decoys; /* our own trainer, black box */
    int has_bank;       /* white box: whether the next two, [canaries × options], are made */
    dpa__bank bank;
    dpa__ledger ledger;
    float *sum;
    double *noise; /* where the noise of null coordinates goes, the next row; NULL: nowhere */
};

/* Steps whose noise is kept: at most, and those below which nothing can be checked. */
enum { MOST_ROWS = 1000, FEWEST_ROWS = 10 };

static int is_white_box(const dpa__one_run *g) {
    return g->opts->access == DPA_ACCESS_STEPS;
}

size_t dpa__one_run_noise_rows(const dpa__one_run *g) {
    if (g->opts->null_coordinates == 0) return 0;
    const uint64_t steps = dpa_train_plan_steps(g->plan, g->count);
    return steps < FEWEST_ROWS ? 0 : steps < MOST_ROWS ? (size_t)steps : MOST_ROWS;
}

/* How many examples stand for canaries: with gradients one each, else one per option. */
static size_t stand_ins(const dpa__one_run *g) {
    return is_white_box(g) ? g->canaries : g->canaries * g->options;
}

/* ---- Setting up ---- */

static dpa_status check(const dpa__one_run *g, dpa_error *err) {
    const dpa_train_opts *t = &g->plan->train;
    if (g->canaries < 1 || g->canaries > 1U << 24)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu canaries: expected 1 to 2^24", g->canaries);
    if (!g->is_membership && (g->options < 2 || g->options > 1U << 16))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu options: expected 2 to 65536", g->options);
    if (t->microbatch != 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "microbatch %zu: a canary must be clipped by itself", t->microbatch);
    /* Of a trainer whose final model alone is seen, nobody has to say how many steps it takes. */
    const int has_steps = is_white_box(g) || g->trainer == NULL;
    if (has_steps && dpa_train_plan_steps(g->plan, g->count) == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a training of 0 steps shows nothing");
    if (is_white_box(g) && !(isfinite(t->clip) && t->clip > 0.0 && t->sigma > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "access: white-box needs DP-SGD: clip and sigma (or epsilon) under "
                         "privacy");
    if (g->opts->null_coordinates > 0 &&
        (!is_white_box(g) || !g->is_membership || g->opts->canary != DPA_GAME_DIRAC))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "null-coordinates: only membership with dirac canaries in a white box has "
                         "weights without a canary");
    return dpa__sabotage_check(g->opts, t, 0, err);
}

/* Rows of gradient canaries are never read, so they stay zero. */
static dpa_status fill_rows(dpa__one_run *g, float *x, int32_t *label, dpa_error *err) {
    const dpa_dataset *data = g->data->data;
    const size_t features = dpa_dataset_features(data), total = g->count + stand_ins(g);
    for (size_t i = 0; i < total; ++i) {
        const int is_member = i < g->count, is_zero = !is_member && is_white_box(g);
        const size_t canary = (i - g->count) / g->options, option = (i - g->count) % g->options;
        if (is_zero) continue;
        const dpa_dataset *from = is_member ? data : g->decoys.from;
        const size_t row = is_member ? g->data->members[i] : g->decoys.row[canary];
        memcpy(x + i * features, dpa_dataset_row(from, row), features * sizeof *x);
        label[i] = is_member ? dpa_dataset_label(from, row)
                             : dpa__decoys_label(&g->decoys, canary, option);
    }
    return dpa_dataset_new(x, label, total, dpa_dataset_shape(data), dpa_dataset_classes(data),
                           &g->rows, err);
}

static dpa_status make_rows(dpa__one_run *g, dpa_error *err) {
    const size_t total = g->count + stand_ins(g);
    const size_t features = dpa_dataset_features(g->data->data);
    float *x = dpa__calloc(total, features * sizeof *x, err);
    int32_t *label = dpa__calloc(total, sizeof *label, err);
    const dpa_status status =
        x != NULL && label != NULL ? fill_rows(g, x, label, err) : DPA_NO_MEMORY;
    free(x);
    free(label);
    return status;
}

/* Sets up what depends on the number of weights. */
static dpa_status make_bank(dpa__one_run *g, dpa_error *err) {
    const dpa_train_opts *t = &g->plan->train;
    const size_t count = g->canaries * g->options;
    const double q = dpa_train_plan_q(g->plan, g->count);
    if (g->has_bank) return DPA_OK;
    dpa__bank_free(&g->bank); /* left by an attempt that failed */
    free(g->sum);
    g->sum = NULL;
    /* the weights after those of the canaries are watched, as far as there are any */
    const size_t rest = g->trainer->size > count ? g->trainer->size - count : 0;
    const size_t watched = (size_t)g->opts->null_coordinates;
    DPA_TRY(dpa__bank_init(&g->bank, g->opts->canary, count + (watched < rest ? watched : rest),
                           t->clip, g->opts->seed, g->trainer, err));
    g->sum = DPA_NEW_ARRAY(float, g->trainer->size, err);
    if (g->sum == NULL) return DPA_NO_MEMORY;
    /* Shuffled batches have no q; the best guess is how often a member is in a batch. */
    DPA_TRY(dpa__ledger_init(&g->ledger, g->opts->score, count,
                             isnan(q) ? (double)t->batch / (double)g->count : q, t->sigma, err));
    g->has_bank = 1;
    return DPA_OK;
}

static dpa_status set_up_own(dpa__one_run *g, dpa_error *err) {
    if (!is_white_box(g))
        DPA_TRY(dpa__decoys_init(&g->decoys, g->canaries, g->options, g->opts->seed, g->data, err));
    DPA_TRY(make_rows(g, err));
    const dpa__local_opts opts = {.opts = g->opts,
                                  .plan = g->plan,
                                  .data = g->rows,
                                  .points = g->count,
                                  .canaries = stand_ins(g),
                                  .keeps_rate = 1,
                                  .held = g->data};
    DPA_TRY(dpa__local_new(&opts, &g->own, err));
    g->trainer = g->own;
    return is_white_box(g) ? make_bank(g, err) : DPA_OK;
}

static dpa_status set_up(dpa__one_run *g, dpa_error *err) {
    DPA_TRY(check(g, err));
    if (g->trainer == NULL) {
        DPA_TRY(set_up_own(g, err));
    } else if (g->trainer->canaries < stand_ins(g)) {
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "trainer: canaries %zu: this game needs %zu, one for each canary and "
                         "option",
                         g->trainer->canaries, stand_ins(g));
    }
    g->trained_on = DPA_NEW_ARRAY(size_t, g->count + g->canaries, err);
    g->batch = DPA_NEW_ARRAY(size_t, g->count + g->canaries, err);
    g->secret = DPA_NEW_ARRAY(size_t, g->canaries, err);
    g->place = DPA_NEW_ARRAY(size_t, g->canaries, err);
    g->direction = dpa__malloc(g->canaries, sizeof *g->direction, err);
    if (g->trained_on == NULL || g->batch == NULL || g->secret == NULL || g->place == NULL ||
        g->direction == NULL)
        return DPA_NO_MEMORY;
    return DPA_OK;
}

dpa__trainer *dpa__one_run_trainer(const dpa__one_run *g) {
    return g->trainer;
}

void dpa__one_run_free(dpa__one_run *g) {
    if (g == NULL) return;
    dpa__ledger_free(&g->ledger);
    dpa__bank_free(&g->bank);
    dpa__decoys_free(&g->decoys);
    dpa__trainer_close(g->own);
    dpa_dataset_free(g->rows);
    free(g->trained_on);
    free(g->batch);
    free(g->secret);
    free(g->place);
    free((void *)(uintptr_t)g->direction);
    free(g->sum);
    free(g);
}

dpa_status dpa__one_run_new(const dpa_game_opts *opts, uint64_t options, const dpa_train_plan *plan,
                            const dpa_train_data *data, dpa__trainer *trainer,
                            dpa_trainer_signal signal, dpa__one_run **out, dpa_error *err) {
    dpa__one_run *g = DPA_NEW(dpa__one_run, err);
    if (g == NULL) return DPA_NO_MEMORY;
    *g = (dpa__one_run){.opts = opts,
                        .plan = plan,
                        .data = data,
                        .count = data->member_count,
                        .trainer = trainer,
                        .signal = signal,
                        .canaries = opts->canaries,
                        .is_membership = options == 0,
                        .options = options == 0 ? 1 : options};
    const dpa_status status = set_up(g, err);
    if (status == DPA_OK)
        *out = g;
    else
        dpa__one_run_free(g);
    return status;
}

/* ---- Playing ---- */

/* Draws which canaries are in, and with which option. */
static void draw_secrets(dpa__one_run *g, uint64_t run, const size_t *given) {
    dpa_rng rng;
    dpa__rng_init(&rng, g->opts->seed, DPA_PURPOSE_MEMBERSHIP, run);
    for (size_t i = 0; i < g->count; ++i) g->trained_on[i] = i;
    g->member_count = g->count;
    for (size_t i = 0; i < g->canaries; ++i) {
        g->secret[i] =
            given != NULL ? given[i] : dpa__rng_below(&rng, g->is_membership ? 2 : g->options);
        if (g->is_membership && g->secret[i] == 0) continue;
        const size_t option = g->is_membership || is_white_box(g) ? 0 : g->secret[i];
        const size_t each = stand_ins(g) / g->canaries;
        g->trained_on[g->member_count++] = g->count + i * each + option;
    }
}

/* A canary that the trainer has drawn leaves the batch, and its gradient comes in instead. As in
 * the white-box game, a raw gradient is as large as a whole batch if nothing clips it. */
static void swap_canaries(dpa__one_run *g, dpa__step *step) {
    const float scale = g->opts->sabotage == DPA_SABOTAGE_CLIP ? (float)g->plan->train.batch : 1.0F;
    const int is_dirac = g->bank.place != NULL;
    size_t kept = 0, drawn = 0;
    for (size_t i = 0; i < step->count; ++i) {
        if (g->batch[i] < g->count) {
            g->batch[kept++] = g->batch[i];
            continue;
        }
        const size_t canary = g->batch[i] - g->count;
        const size_t index = canary * g->options + (g->is_membership ? 0 : g->secret[canary]);
        if (is_dirac)
            g->place[drawn++] = g->bank.place[index];
        else
            g->direction[drawn++] = g->bank.direction + index * g->bank.size;
    }
    step->count = kept;
    step->extra = (dpa__extra){.count = drawn,
                               .place = is_dirac ? g->place : NULL,
                               .row = is_dirac ? NULL : g->direction,
                               .value = is_dirac ? scale * (float)g->bank.clip : scale};
}

/* Keeps the noise of the null coordinates if this step is one of the rows. */
static void keep_noise(dpa__one_run *g, uint64_t step, uint64_t steps) {
    const uint64_t rows = dpa__one_run_noise_rows(g);
    if (g->noise == NULL || (step + 1) * rows / steps == step * rows / steps) return;
    for (size_t i = 0; i < g->opts->null_coordinates; ++i) {
        const size_t index = g->ledger.count + i;
        *g->noise++ =
            index < g->bank.count ? dpa__bank_along(&g->bank, index, g->sum) : (double)NAN;
    }
}

static dpa_status take_step(dpa__one_run *g, dpa_error *err) {
    dpa__step step = {.batch = g->batch};
    DPA_TRY(g->trainer->calls->batch(g->trainer, 0, g->member_count, g->batch, &step.count, err));
    swap_canaries(g, &step);
    DPA_TRY(g->trainer->calls->step(g->trainer, &step, g->sum, err));
    for (size_t i = 0; i < g->ledger.count; ++i)
        dpa__ledger_add(&g->ledger, i, dpa__bank_along(&g->bank, i, g->sum));
    return DPA_OK;
}

static dpa_status play_steps(dpa__one_run *g, const dpa__order *order, double *accuracy,
                             dpa_error *err) {
    const dpa_progress *p = &g->opts->progress;
    const uint64_t steps = dpa_train_plan_steps(g->plan, g->count);
    const dpa__question ask = {.accuracy = accuracy};
    DPA_TRY(g->trainer->calls->start(g->trainer, order, err));
    DPA_TRY(make_bank(g, err));
    dpa__ledger_start(&g->ledger);
    for (uint64_t t = 0; t < steps; ++t) {
        DPA_TRY(take_step(g, err));
        keep_noise(g, t, steps);
        if (p->call != NULL && p->call(p->user, "step", (double)t + 1, (double)steps) != 0)
            return dpa__fail(err, DPA_CANCELLED, "stopped after step %llu",
                             (unsigned long long)t + 1);
    }
    return accuracy != NULL ? g->trainer->calls->signals(g->trainer, &ask, err) : DPA_OK;
}

/* Guesses the option with the highest score; the gap to the second highest is the confidence. */
static void decide(const dpa__one_run *g, const double *table, dpa__one_run_result *result) {
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

/* table[i·options + k]: the evidence that canary i is in as option k. */
static dpa_status play_whole(dpa__one_run *g, const dpa__order *order, double *table,
                             double *accuracy, dpa_error *err) {
    const size_t count = stand_ins(g);
    size_t *ids = DPA_NEW_ARRAY(size_t, count, err);
    if (ids == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) ids[i] = g->count + i;
    const dpa__question ask = {
        .ids = ids, .count = count, .signal = g->signal, .signals = table, .accuracy = accuracy};
    const dpa_status status = g->trainer->calls->train(g->trainer, order, &ask, err);
    for (size_t i = 0; i < count && status == DPA_OK && g->signal == DPA_TRAINER_LOSS; ++i)
        table[i] = -table[i];
    free(ids);
    return status;
}

dpa_status dpa__one_run_play(dpa__one_run *g, uint64_t run, dpa__one_run_result *result,
                             dpa_error *err) {
    dpa_rng seeds;
    dpa__rng_init(&seeds, g->opts->seed, DPA_PURPOSE_ATTACK, run);
    draw_secrets(g, run, result->secret);
    const dpa__order order = {.members = g->trained_on,
                              .count = g->member_count,
                              .init = g->plan->init_seed,
                              .seed = dpa__rng_u64(&seeds)};
    result->accuracy = (double)NAN;
    g->noise = dpa__one_run_noise_rows(g) > 0 ? result->noise : NULL;
    double *accuracy = g->trainer->tells_accuracy ? &result->accuracy : NULL;
    if (is_white_box(g)) {
        DPA_TRY(play_steps(g, &order, accuracy, err));
        decide(g, g->ledger.score, result);
        return DPA_OK;
    }
    double *table = DPA_NEW_ARRAY(double, stand_ins(g), err);
    if (table == NULL) return DPA_NO_MEMORY;
    const dpa_status status = play_whole(g, &order, table, accuracy, err);
    if (status == DPA_OK) decide(g, table, result);
    free(table);
    return status;
}

/* ---- Membership and reconstruction, as games of one trial ----
 *
 * Its numbers are the scores of all canaries, then the answers, then the accuracy of the model if
 * there are held-out rows, then the noise of the null coordinates. */

static size_t canaries_of(const dpa_game *game) {
    return (size_t)game->experiment->game.canaries;
}

static int plays_membership(const dpa_game *game) {
    return game->experiment->kind == DPA_GAME_MEMBERSHIP;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    const dpa_experiment *e = game->experiment;
    dpa__one_run *state = NULL;
    if (!plays_membership(game) && e->game.options == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "0 options: expected 2 to 65536");
    DPA_TRY(dpa__one_run_new(
        &e->game, plays_membership(game) ? 0 : e->game.options, game->plan, &game->data,
        game->remote, game->remote != NULL ? e->trainer.signal : DPA_TRAINER_LOSS, &state, err));
    game->state = state;
    game->trainer = dpa__one_run_trainer(state);
    return DPA_OK;
}

static void close_game(dpa_game *game) {
    dpa__one_run_free(game->state);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)game, (void)stage;
    return 1;
}

static void describe(const dpa_game *game, int stage, dpa__text *text) {
    (void)stage;
    if (game->experiment->game.null_coordinates > 0)
        dpa__game_put(game, "game.null-coordinates", text);
}

static size_t noise_numbers(const dpa_game *game) {
    return dpa__one_run_noise_rows(game->state) * game->experiment->game.null_coordinates;
}

static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return 2 * canaries_of(game) + (size_t)dpa__tells_accuracy(game) + noise_numbers(game);
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)stage, (void)brief;
    const size_t count = canaries_of(game);
    dpa__one_run_result result = {.score = out->items,
                                  .answer = out->items + count,
                                  .noise = out->items + out->count - noise_numbers(game)};
    DPA_TRY(dpa__one_run_play(game->state, index, &result, err));
    if (dpa__tells_accuracy(game)) out->items[2 * count] = result.accuracy;
    return DPA_OK;
}

/* In reconstruction one of K options is in, so neighbours differ by a replaced record. */
static void expect(const dpa_game *game, dpa_evidence *out) {
    out->design = DPA_ONE_RUN;
    if (plays_membership(game)) return;
    out->kind = DPA_EVIDENCE_GUESSES;
    out->options = game->experiment->game.options;
    out->training.replace_one = 1;
}

/* Adds the noise of the null coordinates, without columns beyond the last weight. */
static dpa_status add_noise(const dpa_game *game, const dpa_values *trial, dpa_evidence *out,
                            dpa_error *err) {
    const size_t rows = dpa__one_run_noise_rows(game->state), all = noise_numbers(game);
    if (all == 0) return DPA_OK;
    const double *from = trial->items + trial->count - all;
    dpa_named_array *a = dpa__gather_array(out, "null_noise", all, err);
    if (a == NULL) return DPA_NO_MEMORY;
    a->rows = rows;
    for (size_t i = 0; i < all; ++i)
        if (!isnan(from[i])) a->items[a->count++] = from[i];
    if (a->count >= 2 * rows) return DPA_OK;
    free(a->items); /* no weight is left to compare with another */
    --out->array_count;
    return DPA_OK;
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    const size_t count = canaries_of(game);
    const double *values = stages[0].count > 0 ? stages[0].items[0].items : NULL;
    if (values == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "the one training of this game is missing");
    if (plays_membership(game)) {
        DPA_TRY(dpa__gather_split(values, values + count, count, out, err));
        DPA_TRY(add_noise(game, &stages[0].items[0], out, err));
    } else {
        DPA_TRY(dpa_evidence_copy(out, "score", values, count, err));
        DPA_TRY(dpa_evidence_copy(out, "correct", values + count, count, err));
    }
    if (!dpa__tells_accuracy(game)) return DPA_OK;
    return dpa__gather_mean(&stages[0], 2 * count, "heldout_accuracy", out, err);
}

const dpa__rules dpa__one_run_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed game.canary game.canaries game.options game.access game.score " DPA__SABOTAGE,
    .describe = describe,
    .trial = trial,
    .expect = expect,
    .gather = gather,
};
