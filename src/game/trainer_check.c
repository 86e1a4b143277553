/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether a trainer keeps to the protocol: asks it small things and compares answers that
 * must agree. Every fault is reported with its place. If a fault ended the trainer, the next
 * question starts it anew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "game/rules.h"

enum { MOST_MEMBERS = 256, MOST_ASKED = 16, STEPS = 3 };

typedef struct check {
    dpa__trainer *trainer;
    dpa_trainer_say *say;
    void *user;
    uint64_t faults;
    size_t members[MOST_MEMBERS], count, asked;
    size_t queries[MOST_ASKED];
} check;

static void tell(check *c, int ok, const char *what, const char *detail) {
    c->faults += !ok;
    c->say(c->user, ok, what, detail);
}

/* Returns 1 on success; else reports the fault. */
static int went(check *c, dpa_status status, const char *what, const dpa_error *err) {
    if (status == DPA_OK) return 1;
    tell(c, 0, what, err->text);
    return 0;
}

static dpa__order order_of(const check *c, uint64_t seed) {
    return (dpa__order){
        .members = c->members, .count = c->count, .init = 1, .seed = seed, .look_seed = ~seed};
}

static int train(check *c, uint64_t seed, double *signals, const char *what) {
    dpa_error err = {0};
    const dpa__order order = order_of(c, seed);
    const dpa__question ask = {.ids = c->queries, .count = c->asked, .signals = signals};
    return went(c, c->trainer->calls->train(c->trainer, &order, &ask, &err), what, &err);
}

static void check_train(check *c) {
    double first[MOST_ASKED], other[MOST_ASKED], again[MOST_ASKED];
    char text[120];
    if (!train(c, 11, first, "train")) return;
    (void)dpa__print(text, sizeof text, "%zu members, %zu finite signals", c->count, c->asked);
    tell(c, 1, "train", text);
    if (!train(c, 12, other, "train with another seed") || !train(c, 11, again, "train again"))
        return;
    size_t at = 0;
    while (at < c->asked && first[at] == again[at]) ++at;
    if (at < c->asked)
        (void)dpa__print(text, sizeof text,
                         "same seed, another signal of example %zu: %.9g and %.9g; seed everything "
                         "that is random",
                         c->queries[at], first[at], again[at]);
    tell(c, at == c->asked, "the seed decides",
         at == c->asked ? "same seed, same signals, another training in between" : text);
}

typedef struct steps {
    float *sum[STEPS], *look;
    size_t *batch;
} steps;

static int take_step(check *c, steps *s, int look, const dpa__extra *extra, float *sum) {
    dpa_error err = {0};
    dpa__step step = {.look = look, .batch = s->batch};
    if (extra != NULL) step.extra = *extra;
    if (!went(c, c->trainer->calls->batch(c->trainer, look, c->count, s->batch, &step.count, &err),
              "batch", &err))
        return 0;
    return went(c, c->trainer->calls->step(c->trainer, &step, sum, &err), "step", &err);
}

static int start(check *c, uint64_t seed) {
    dpa_error err = {0};
    const dpa__order order = order_of(c, seed);
    return went(c, c->trainer->calls->start(c->trainer, &order, &err), "start", &err);
}

/* Takes steps twice from the same start: with the same seed the sums must be the same. */
static void compare_steps(check *c, steps *s) {
    const size_t size = c->trainer->size, place = 0;
    const dpa__extra extra = {.count = 1, .place = &place, .value = 1.0F};
    char text[160];
    for (int round = 0; round < 2; ++round) {
        if (round > 0 && !start(c, 21)) return;
        for (int k = 0; k < STEPS; ++k) {
            float *sum = round == 0 ? s->sum[k] : s->look;
            /* A look must not change the training. */
            if (!take_step(c, s, 1, &extra, s->look) || !take_step(c, s, 0, NULL, sum)) return;
            for (size_t i = 0; round > 0 && i < size; ++i)
                if (sum[i] != s->sum[k][i]) {
                    (void)dpa__print(text, sizeof text,
                                     "same seed, another sum in step %d, weight %zu: %.9g and %.9g",
                                     k + 1, i, (double)s->sum[k][i], (double)sum[i]);
                    tell(c, 0, "the seed decides the steps", text);
                    return;
                }
        }
    }
    (void)dpa__print(text, sizeof text, "%d steps of %zu weights, with a look before each", STEPS,
                     size);
    tell(c, 1, "step", text);
}

static void check_with(check *c, void (*compare)(check *c, steps *s)) {
    dpa_error err = {0};
    if (!start(c, 21)) return;
    const size_t size = c->trainer->size;
    float *all = dpa__malloc(STEPS + 1, size * sizeof *all, &err);
    steps s = {.batch = DPA_NEW_ARRAY(size_t, c->count, &err)};
    if (all != NULL && s.batch != NULL) {
        for (int k = 0; k < STEPS; ++k) s.sum[k] = all + (size_t)k * size;
        s.look = all + STEPS * size;
        compare(c, &s);
    }
    free(all);
    free(s.batch);
}

/* Two rounds from the same start: sums and weights must be the same, and the first weights depend
 * on `init` alone. */
static const char *play_rounds(check *c, steps *s, int again, int *answered) {
    const size_t size = c->trainer->size, bytes = size * sizeof(float);
    const double change = 1.0;
    double *wide = dpa__calloc(size, sizeof *wide, NULL);
    dpa_error err = {0};
    const char *wrong = NULL;
    *answered = wide != NULL && start(c, again ? 52 : 51) &&
                went(c, c->trainer->calls->weights(c->trainer, s->look, &err), "weights", &err);
    if (*answered && again && memcmp(s->look, s->sum[0], bytes) != 0)
        wrong = "same init, other initial weights";
    if (*answered && !again) memcpy(s->sum[0], s->look, bytes);
    if (*answered && again) *answered = start(c, 51);
    if (wide != NULL) wide[0] = change;
    const dpa__extra extra = {.count = 1, .wide = wide, .value = 1.0F};
    for (int k = 0; *answered && k < 2; ++k) *answered = take_step(c, s, 0, &extra, s->sum[2]);
    *answered = *answered &&
                went(c, c->trainer->calls->weights(c->trainer, s->look, &err), "weights", &err);
    if (*answered && again && wrong == NULL && memcmp(s->look, s->sum[1], bytes) != 0)
        wrong = "same seed, other weights after two rounds";
    if (*answered && !again) memcpy(s->sum[1], s->look, bytes);
    free(wide);
    return wrong;
}

static void compare_rounds(check *c, steps *s) {
    int answered = 0;
    const char *wrong = play_rounds(c, s, 0, &answered);
    if (answered) wrong = play_rounds(c, s, 1, &answered);
    if (!answered) return;
    if (wrong == NULL && memcmp(s->sum[0], s->sum[1], c->trainer->size * sizeof(float)) == 0)
        wrong = "the weights do not change";
    tell(c, wrong == NULL, "round",
         wrong != NULL ? wrong : "two rounds with a canary client; same init, same first weights");
}

static void check_gradient(check *c) {
    dpa_error err = {0};
    if (!start(c, 31)) return;
    float *gradient = DPA_NEW_ARRAY(float, c->trainer->size, &err);
    if (gradient != NULL &&
        went(c, c->trainer->calls->gradient(c->trainer, c->members[0], gradient, &err), "gradient",
             &err))
        tell(c, 1, "gradient", "of one example, finite");
    free(gradient);
}

/* Makes the canary of a stream and asks for its gradient. */
static dpa_status canary_gradient(check *c, dpa_game_canary kind, uint64_t index, float *gradient,
                                  dpa_error *err) {
    const dpa__trainer_calls *calls = c->trainer->calls;
    DPA_TRY(calls->canary(c->trainer, kind, 7, index, err));
    return calls->gradient(c->trainer, c->trainer->points, gradient, err);
}

/* A trainer need not know every kind. The same request must make the same canary, whatever was made
 * before. */
static void compare_canaries(check *c, steps *s) {
    dpa_error err = {0};
    char text[200] = "made anew:";
    int made = 0;
    for (int kind = DPA_GAME_MISLABELLED; kind <= DPA_GAME_MATCHED; ++kind) {
        const dpa_game_canary k = (dpa_game_canary)kind;
        if (canary_gradient(c, k, 3, s->sum[0], &err) != DPA_OK) continue;
        if (!went(c, canary_gradient(c, k, 4, s->sum[1], &err), "canary", &err) ||
            !went(c, canary_gradient(c, k, 3, s->sum[1], &err), "canary", &err))
            return;
        const char *name = dpa__word_text(dpa__game_canaries, kind);
        const size_t used = strlen(text);
        (void)dpa__print(text + used, sizeof text - used, " %s", name);
        if (memcmp(s->sum[0], s->sum[1], c->trainer->size * sizeof(float)) != 0) {
            (void)dpa__print(text, sizeof text, "%s: same seed and index, another gradient", name);
            tell(c, 0, "canary", text);
            return;
        }
        made = 1;
    }
    tell(c, made, "canary", made ? text : err.text);
}

static void choose_examples(check *c) {
    const size_t points = c->trainer->points, most = points < MOST_MEMBERS ? points : MOST_MEMBERS;
    for (size_t i = 0; i < most; ++i) c->members[i] = i;
    c->count = most > 1 ? most - 1 : most; /* leaves one to ask about that was not trained on */
    c->asked = most < MOST_ASKED ? most : MOST_ASKED;
    for (size_t i = 0; i < c->asked; ++i) c->queries[i] = most - 1 - i;
    if (c->trainer->canaries > 0) c->queries[0] = points;
}

static void check_all(check *c) {
    static const struct {
        dpa__level level;
        void (*check)(check *c);
        void (*compare)(check *c, steps *s); /* NULL: `check` does it all */
    } all[] = {{DPA__LEVEL_TRAIN, check_train, NULL},
               {DPA__LEVEL_STEP, NULL, compare_steps},
               {DPA__LEVEL_GRADIENT, check_gradient, NULL},
               {DPA__LEVEL_ROUND, NULL, compare_rounds},
               {DPA__LEVEL_CANARY, NULL, compare_canaries}};
    const int levels = c->trainer->levels;
    choose_examples(c);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        if ((levels & (int)all[i].level) == 0) continue;
        if (all[i].compare != NULL)
            check_with(c, all[i].compare);
        else
            all[i].check(c);
    }
}

dpa_status dpa_trainer_check(const dpa_trainer_opts *opts, dpa_trainer_say *say, void *user,
                             uint64_t *faults, dpa_error *err) {
    dpa_error why = {0};
    dpa__trainer *trainer = NULL;
    DPA_TRY(dpa__remote_new(opts, "./check", NULL, &trainer, err));
    check c = {.trainer = trainer, .say = say, .user = user};
    if (opts->points == 0) trainer->points = trainer->canaries = SIZE_MAX;
    const dpa_status status = dpa__remote_hello(trainer, &why);
    if (status == DPA_IO || status == DPA_NO_MEMORY) {
        dpa__trainer_close(trainer);
        return dpa__fail(err, status, "%.400s", why.text);
    }
    if (went(&c, status, "hello", &why)) {
        char text[120] = "protocol 1, levels";
        if (trainer->canaries == SIZE_MAX) trainer->canaries = 0;
        for (int k = 0; k < DPA__LEVELS; ++k)
            if ((trainer->levels >> k & 1) != 0) {
                const size_t used = strlen(text);
                (void)dpa__print(text + used, sizeof text - used, " %s", dpa__level_names[k]);
            }
        tell(&c, 1, "hello", text);
        if (trainer->points == SIZE_MAX || trainer->points == 0)
            tell(&c, 0, "points", "the trainer does not say how many it has: give --points N");
        else
            check_all(&c);
    }
    *faults = c.faults;
    dpa__trainer_close(trainer);
    return DPA_OK;
}
