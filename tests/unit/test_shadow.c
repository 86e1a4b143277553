/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shadow game on a toy: who is in which model, which points are chosen, and its scores compared
 * with the attack run by hand on the same signals. */
#include "check.h"

#include "attack/attack.h"
#include "base/text.h"
#include "dpaudit/lab/game.h"
#include "evidence/evidence.h"

enum { POINTS = 24, MODELS = 20, TARGETS = 12 };

static char folder[] = "/tmp/dpaudit-shadow-XXXXXX";
static char training[96], experiment[96];

static void write_text(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* Random labels, which a model can only memorise. */
static int setup(void **state) {
    (void)state;
    char path[96], text[4096] = "x,y,label\n";
    size_t used = strlen(text);
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < POINTS + 20; ++i)
        used += (size_t)dpa__print(text + used, sizeof text - used, "%.3f,%.3f,%s\n", sin(3.0 * i),
                                   cos(7.0 * i), i * 7919 % 13 < 6 ? "a" : "b");
    (void)snprintf(path, sizeof path, "%s/toy.csv", folder);
    (void)snprintf(training, sizeof training, "%s/train.yaml", folder);
    (void)snprintf(experiment, sizeof experiment, "%s/run.yaml", folder);
    write_text(path, text);
    write_text(training, "data:\n  format: table\n  path: toy.csv\n  members: 0..24\n"
                         "  heldout: 24..44\nmodel: mlp:16\nloss: binary\n"
                         "train:\n  epochs: 400\n  batch: 4\n  rate: 0.3\n");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/toy.csv", folder);
    (void)unlink(path);
    (void)unlink(training);
    (void)unlink(experiment);
    return rmdir(folder);
}

/* A game played to its end. */
typedef struct play {
    dpa_experiment *experiment;
    dpa_game *game;
    dpa_values stage0[MODELS], stage1[TARGETS], brief;
    dpa_evidence evidence;
} play;

static void play_game(const char *keys, play *p) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "training: train.yaml\ngame:\n  kind: shadow\nshadow:\n  models: %d\n"
                   "  targets: %d\n%s",
                   MODELS, TARGETS, keys);
    write_text(experiment, text);
    *p = (play){0};
    assert_ok(dpa_experiment_read(experiment, &p->experiment, NULL));
    assert_ok(dpa_game_open(p->experiment, &p->game, NULL));
    assert_int_equal(dpa_game_stages(p->game), 2);
    assert_int_equal(dpa_game_trials(p->game, 0), MODELS);
    assert_int_equal(dpa_game_trials(p->game, 1), TARGETS);
    dpa_trials stages[2] = {{p->stage0, MODELS, NULL}, {p->stage1, TARGETS, NULL}};
    for (uint64_t i = MODELS; i-- > 0;) /* in any order */
        assert_ok(dpa_game_trial(p->game, 0, i, &p->brief, &p->stage0[i], NULL));
    assert_ok(dpa_game_brief(p->game, 1, stages, &p->brief, NULL));
    for (uint64_t i = 0; i < TARGETS; ++i)
        assert_ok(dpa_game_trial(p->game, 1, i, &p->brief, &p->stage1[i], NULL));
    assert_ok(dpa_game_gather(p->game, stages, &p->evidence, NULL));
}

static void end_game(play *p) {
    for (int i = 0; i < MODELS; ++i) dpa_values_free(&p->stage0[i]);
    for (int i = 0; i < TARGETS; ++i) dpa_values_free(&p->stage1[i]);
    dpa_values_free(&p->brief);
    dpa__evidence_clear(&p->evidence);
    dpa_game_close(p->game);
    dpa_experiment_free(p->experiment);
}

/* The shadow models' matrix as the public functions see it. */
static void shadow_matrix(const play *p, double *signal, uint8_t *member) {
    for (size_t m = 0; m < MODELS; ++m) {
        memcpy(signal + m * POINTS, p->stage0[m].items, POINTS * sizeof *signal);
        dpa__membership_half(1, m, POINTS, member + m * POINTS);
    }
}

/* The challenge is what the library selects from the shadow models alone; each target's score is
 * LiRA with one more row, whose other points do not matter. */
static void scores_are_those_of_the_attack(void **state) {
    (void)state;
    play p;
    double signal[(MODELS + 1) * POINTS];
    uint8_t member[(MODELS + 1) * POINTS];
    dpa_leak leaks[POINTS];
    dpa_leak_opts select;
    dpa_attack_opts opts;
    size_t worst = 0, seen[2] = {0, 0};
    play_game("", &p);
    shadow_matrix(&p, signal, member);
    dpa_signals s = {DPA_SIGNAL_LOGIT, MODELS, POINTS, signal, member, 1};
    dpa__leak_opts_init(&select);
    assert_ok(dpa__leaks_measure(&s, &select, leaks, NULL, NULL));
    assert_ok(dpa__challenges_select(leaks, POINTS, DPA_CHALLENGE_WORST, DPA_WEIGHT_ACCURACY, 1,
                                     &worst, 1, NULL));
    assert_int_equal(p.brief.count, 1);
    assert_int_equal((size_t)p.brief.items[0], worst);
    const dpa_named_array *side[2] = {dpa__evidence_find(&p.evidence, "nonmembers"),
                                      dpa__evidence_find(&p.evidence, "members")};
    dpa__attack_opts_init(&opts);
    opts.target = MODELS;
    s.models = MODELS + 1;
    for (uint64_t i = 0; i < TARGETS; ++i) {
        double scores[POINTS];
        const int coin = dpa__membership_leave_one_out(1, (UINT64_C(1) << 40) + i, 0, 0, member);
        for (size_t c = 0; c < POINTS; ++c) signal[MODELS * POINTS + c] = p.stage1[i].items[0];
        memset(member + MODELS * POINTS, 0, POINTS);
        assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &s, &opts, scores, NULL));
        assert_true(seen[coin] < side[coin]->count);
        assert_relative(side[coin]->items[seen[coin]++], scores[worst], 1e-12);
    }
    /* a target's numbers: its challenge's signal, and how many of the 20 held-out rows are right */
    for (int i = 0; i < TARGETS; ++i) {
        assert_int_equal(p.stage1[i].count, 2);
        const double right = 20 * p.stage1[i].items[1];
        assert_true(right >= 0 && right <= 20 && fabs(right - round(right)) < 1e-9);
    }
    assert_int_equal(seen[0], side[0]->count);
    assert_int_equal(seen[1], side[1]->count);
    assert_int_equal(dpa__evidence_find(&p.evidence, "shadow_signals")->rows, MODELS);
    assert_int_equal(dpa__evidence_find(&p.evidence, "point_accuracy")->count, POINTS);
    end_game(&p);
}

/* Models fit a memorised point better if it is a member: with each design, in both signals. */
static void every_signal_and_design_sees_members(void **state) {
    (void)state;
    static const char *const keys[] = {"  design: half\n", "  design: half\n  signal: gradient\n",
                                       "  attack: rmia\n  offline: true\n",
                                       "  attack: calibrated\n",
                                       "  attack: loss\n  signal: gradient\n"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
        play p;
        play_game(keys[k], &p);
        const dpa_named_array *in = dpa__evidence_find(&p.evidence, "members");
        const dpa_named_array *out = dpa__evidence_find(&p.evidence, "nonmembers");
        double mean[2] = {0, 0};
        for (size_t i = 0; i < in->count; ++i) mean[1] += in->items[i] / (double)in->count;
        for (size_t i = 0; i < out->count; ++i) mean[0] += out->items[i] / (double)out->count;
        assert_true(mean[1] > mean[0]);
        end_game(&p);
    }
}

/* Several challenges take turns. */
static void challenges_take_turns(void **state) {
    (void)state;
    play p;
    play_game("  challenges: 3\n  challenge: random\n", &p);
    assert_int_equal(p.brief.count, 3);
    const dpa_named_array *rows = dpa__evidence_find(&p.evidence, "challenge_row");
    assert_int_equal(rows->count, 3);
    for (size_t i = 0; i < 3; ++i) assert_true(rows->items[i] == p.brief.items[i]);
    end_game(&p);
}

/* A trial is a function of its index: played alone it gives the same bits, and a shadow model does
 * not change if there are more of them. */
static void trials_depend_on_their_index_alone(void **state) {
    (void)state;
    play p;
    char before[DPA_SHA256_SIZE], after[DPA_SHA256_SIZE];
    dpa_experiment *more = NULL;
    dpa_game *game = NULL;
    dpa_values again = {0}, none = {0};
    play_game("", &p);
    assert_ok(dpa_game_key(p.game, 0, before, NULL));
    write_text(experiment, "training: train.yaml\ngame:\n  kind: shadow\nshadow:\n  models: 99\n");
    assert_ok(dpa_experiment_read(experiment, &more, NULL));
    assert_ok(dpa_game_open(more, &game, NULL));
    assert_ok(dpa_game_key(game, 0, after, NULL));
    assert_string_equal(before, after);
    assert_ok(dpa_game_trial(game, 0, 7, &none, &again, NULL));
    assert_int_equal(again.count, p.stage0[7].count);
    assert_memory_equal(again.items, p.stage0[7].items, again.count * sizeof(double));
    dpa_values_free(&again);
    dpa_game_close(game);
    dpa_experiment_free(more);
    end_game(&p);
}

static void refusals(void **state) {
    (void)state;
    static const char *const keys[][2] = {
        {"  models: 3\n", "models 3: expected 4"},
        {"  targets: 1\n", "targets 1: expected 2"},
        {"  challenges: 25\n", "challenges 25: expected 1 to 24"},
        {"  challenges: 0\n", "challenges 0: expected 1 to 24"},
        {"  attack: rmia\n  signal: gradient\n", "needs probabilities"}};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
        char text[256];
        dpa_experiment *e = NULL;
        dpa_game *game = NULL;
        dpa_error err = {0};
        (void)snprintf(text, sizeof text,
                       "training: train.yaml\ngame:\n  kind: shadow\nshadow:\n%s", keys[k][0]);
        write_text(experiment, text);
        assert_ok(dpa_experiment_read(experiment, &e, NULL));
        assert_int_equal(dpa_game_open(e, &game, &err), DPA_BAD_INPUT);
        assert_non_null(strstr(err.text, keys[k][1]));
        dpa_experiment_free(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_attack),
        cmocka_unit_test(every_signal_and_design_sees_members),
        cmocka_unit_test(challenges_take_turns),
        cmocka_unit_test(trials_depend_on_their_index_alone),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
