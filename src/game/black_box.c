/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Black box (tight-auditing Algorithm 1). A trial is one training, on the members (even trials) or
 * on the members and the canary (odd ones), from the same initial weights with its own randomness.
 * The adversary sees only the trained model; its score is log(p/(1 − p)), where p is the
 * probability that the model gives to the canary's label. The canary is a member like any other:
 * the trainer's own sampling decides when it is in a batch. With `copies` it is in the data that
 * many times, and the two sides differ by a group of records. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "evidence/evidence.h"
#include "game/canary.h"
#include "game/rules.h"

enum { USUAL_OBSERVATIONS = 100 };

typedef struct black_box {
    dpa_dataset *data; /* only for our own trainer: the members in their order, then the canaries */
    dpa__trainer *own; /* likewise; NULL: an external program trains */
    size_t *members;   /* [members + copies], the canaries last */
} black_box;

static dpa_status check(const dpa_game *game, dpa_error *err) {
    const dpa_game_opts *o = &game->experiment->game;
    if (o->canary_rate != 1.0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "canary rate %g: in a black-box game the trainer samples the canary "
                         "itself",
                         o->canary_rate);
    if (o->moving)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "moving: a black-box canary is in from the beginning and stays");
    DPA_TRY(dpa__game_check_wanted(o, err));
    DPA_TRY(dpa__sabotage_check(o, &game->plan->train, game->data.member_count, err));
    return dpa__sabotage_check(o, &game->plan->train, game->data.member_count + (size_t)o->copies,
                               err);
}

/* Makes one data set of the members and the copies of the canary. */
static dpa_status join(dpa_game *game, black_box *b, dpa_error *err) {
    const dpa_dataset *data = game->data.data;
    const size_t members = game->data.member_count, features = dpa_dataset_features(data);
    const size_t count = members + (size_t)game->experiment->game.copies;
    float *x = dpa__malloc(count, features * sizeof(float), err);
    int32_t *label = DPA_NEW_ARRAY(int32_t, count, err);
    dpa_status status = x != NULL && label != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < members && status == DPA_OK; ++i) {
        const size_t row = game->data.members[i];
        memcpy(x + i * features, dpa_dataset_row(data, row), features * sizeof *x);
        label[i] = dpa_dataset_label(data, row);
    }
    const dpa__pool pool = dpa__pool_of(&game->data);
    if (status == DPA_OK)
        dpa__example_draw(game->experiment->game.canary, &pool, game->experiment->game.seed, 0,
                          x + members * features, &label[members]);
    for (size_t i = members + 1; i < count && status == DPA_OK; ++i) {
        memcpy(x + i * features, x + members * features, features * sizeof *x);
        label[i] = label[members];
    }
    if (status == DPA_OK)
        status = dpa_dataset_new(x, label, count, dpa_dataset_shape(data),
                                 dpa_dataset_classes(data), &b->data, err);
    free(x);
    free(label);
    return status;
}

static dpa_status open_own(dpa_game *game, black_box *b, dpa_error *err) {
    const size_t members = game->data.member_count;
    DPA_TRY(join(game, b, err));
    const dpa__local_opts opts = {.opts = &game->experiment->game,
                                  .plan = game->plan,
                                  .data = b->data,
                                  .points = members,
                                  .canaries = (size_t)game->experiment->game.copies,
                                  .held = &game->data,
                                  .evaluated = DPA__MOST_EVALUATED};
    DPA_TRY(dpa__local_new(&opts, &b->own, err));
    game->trainer = b->own;
    return DPA_OK;
}

static dpa_status open_game(dpa_game *game, dpa_error *err) {
    DPA_TRY(check(game, err));
    black_box *b = DPA_NEW(black_box, err);
    if (b == NULL) return DPA_NO_MEMORY;
    game->state = b; /* close_game frees it also when this fails */
    if (game->remote == NULL) DPA_TRY(open_own(game, b, err));
    const size_t points = game->data.member_count;
    const size_t count = points + (size_t)game->experiment->game.copies;
    b->members = DPA_NEW_ARRAY(size_t, count, err);
    if (b->members == NULL) return DPA_NO_MEMORY;
    /* There is one canary; its number is listed once for each copy. */
    for (size_t i = 0; i < count; ++i) b->members[i] = i > points ? points : i;
    if (game->trainer->canaries >= 1) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, game->experiment->path,
                          "trainer: canaries 0: a black-box game needs an example that is in or "
                          "not, the first after the points");
}

static void close_game(dpa_game *game) {
    black_box *b = game->state;
    if (b == NULL) return;
    dpa__trainer_close(b->own);
    dpa_dataset_free(b->data);
    free(b->members);
    free(b);
}

static uint64_t trials(const dpa_game *game, int stage) {
    (void)stage;
    return 2 * dpa__game_wanted(game, USUAL_OBSERVATIONS);
}

/* A trial gives the score, and the accuracy if the trainer tells it. */
static size_t numbers(const dpa_game *game, int stage, uint64_t index) {
    (void)stage, (void)index;
    return dpa__tells_accuracy(game) ? 2 : 1;
}

static dpa_status trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                        dpa_values *out, dpa_error *err) {
    (void)stage, (void)brief;
    const black_box *b = game->state;
    const size_t members = game->data.member_count;
    const size_t copies = (size_t)game->experiment->game.copies;
    dpa_rng seeds;
    dpa__rng_init(&seeds, game->experiment->game.seed, DPA_PURPOSE_ATTACK, index);
    const dpa__order order = {.members = b->members,
                              .count = members + (index % 2 ? copies : 0),
                              .init = game->plan->init_seed,
                              .seed = dpa__rng_u64(&seeds)};
    const dpa__question ask = {.ids = &members,
                               .count = 1,
                               .signal = game->experiment->trainer.signal,
                               .signals = &out->items[0],
                               .accuracy = out->count > 1 ? &out->items[1] : NULL};
    DPA_TRY(game->trainer->calls->train(game->trainer, &order, &ask, err));
    if (ask.signal == DPA_TRAINER_LOSS) out->items[0] = -out->items[0];
    return DPA_OK;
}

static void expect(const dpa_game *game, dpa_evidence *out) {
    out->training.records = game->experiment->game.copies;
}

static int arm(const dpa_game *game, uint64_t index) {
    (void)game;
    return (int)(index % 2);
}

static dpa_status gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                         dpa_error *err) {
    DPA_TRY(dpa__gather_arms(game, &stages[0], NULL, out, err));
    if (!dpa__tells_accuracy(game)) return DPA_OK;
    return dpa__gather_mean(&stages[0], 1, "heldout_accuracy", out, err);
}

const dpa__rules dpa__black_box_rules = {
    .open = open_game,
    .close = close_game,
    .trials = trials,
    .numbers = numbers,
    .settings = "seed game.canary game.copies " DPA__SABOTAGE,
    .trial = trial,
    .expect = expect,
    .gather = gather,
    .arm = arm,
};
