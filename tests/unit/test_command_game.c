/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trainers that are a command for each trial: what the command is given, what of its answer is
 * taken, what becomes evidence, what the key of a trial depends on, and which experiments are
 * refused. The command is a shell script whose signal is 1 for a member and −1 for another point.
 */
#include "check.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/write.h"
#include "dpaudit/lab/game.h"
#include "evidence/evidence.h"
#include "game/command.h"

enum { POINTS = 7, MODELS = 6 };

static dpa_error err;
static char folder[] = "/tmp/dpaudit-command-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[4][96];
    static int next;
    char *out = path[next++ % 4];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static void write_text(const char *name, const char *text) {
    assert_ok(dpa__file_write(in_folder(name), text, strlen(text), &err));
}

static const char member_script[] = "while read -r q; do\n"
                                    "  if grep -qx \"$q\" \"$1\"; then echo 1; else echo -1; fi\n"
                                    "done <\"$2\" >\"$3\"\n";

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_text("member.sh", member_script);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    static const char *const names[] = {"member.sh", "run.yaml", "noted", "cancelled"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(in_folder(names[i]));
    return rmdir(folder);
}

static dpa_status open_with(const char *keys, dpa_experiment **e, dpa_game **game) {
    char text[1024];
    (void)snprintf(text, sizeof text, "game: {kind: command, %s}\n", keys);
    write_text("run.yaml", text);
    *e = NULL;
    *game = NULL;
    DPA_TRY(dpa_experiment_read(in_folder("run.yaml"), e, &err));
    return dpa_game_open(*e, game, &err);
}

static void open_game(const char *keys, dpa_experiment **e, dpa_game **game) {
    if (open_with(keys, e, game) != DPA_OK) fail_msg("%s", err.text);
}

#define COMMAND "command: 'sh member.sh {members} {queries} {out}'"

/* Plays every trial and gathers them. */
static void play(dpa_game *game, dpa_values *items, dpa_evidence *out) {
    const dpa_values none = {0};
    const dpa_trials trials = {items, MODELS, NULL};
    assert_int_equal(dpa_game_trials(game, 0), MODELS);
    for (uint64_t i = 0; i < MODELS; ++i)
        if (dpa_game_trial(game, 0, i, &none, &items[i], &err) != DPA_OK) fail_msg("%s", err.text);
    assert_ok(dpa_game_gather(game, &trials, out, &err));
}

static void done(dpa_experiment *e, dpa_game *game, dpa_values *items, dpa_evidence *evidence) {
    for (int i = 0; items != NULL && i < MODELS; ++i) dpa_values_free(&items[i]);
    if (evidence != NULL) dpa__evidence_clear(evidence);
    dpa_game_close(game);
    dpa_experiment_free(e);
}

/* With coins each point is in about half of the models, and the evidence has each signal beside the
 * coin of its own point. */
static void coins(void **state) {
    (void)state;
    dpa_experiment *e;
    dpa_game *game;
    dpa_values items[MODELS] = {{0}};
    dpa_evidence evidence = {0};
    open_game(COMMAND ", points: 7, models: 6, signal: logit", &e, &game);
    play(game, items, &evidence);
    const dpa_named_array *signals = dpa__evidence_find(&evidence, "signals");
    const dpa_named_array *members = dpa__evidence_find(&evidence, "members");
    assert_int_equal(evidence.kind, DPA_EVIDENCE_SIGNALS);
    assert_int_equal(signals->count, MODELS * POINTS);
    assert_int_equal(members->count, MODELS * POINTS);
    assert_int_equal(signals->rows, MODELS);
    assert_int_equal(members->rows, MODELS);
    int in = 0;
    for (int k = 0; k < MODELS * POINTS; ++k) {
        const int is_in = dpa__command_member(game, (uint64_t)k / POINTS, (uint64_t)k % POINTS);
        assert_true(members->items[k] == is_in);
        assert_true(signals->items[k] == (is_in ? 1 : -1));
        in += is_in;
    }
    assert_true(in > 10 && in < 32); /* of 42; every point alike would be a multiple of 6 */
    assert_true(in % MODELS != 0 || in % POINTS != 0);
    done(e, game, items, &evidence);
    open_game(COMMAND ", points: 7, models: 6, signal: logit, queries: 3", &e, &game);
    assert_int_equal(dpa__command_queries(game), 3);
    assert_int_equal(dpa__command_query(game, 2), 2);
    done(e, game, NULL, NULL);
}

/* Every other model is without the challenge, and nothing else is asked. */
static void leave_one_out(void **state) {
    (void)state;
    static const char *const signal[] = {"logit", "loss"};
    for (int s = 0; s < 2; ++s) {
        dpa_experiment *e;
        dpa_game *game;
        dpa_values items[MODELS] = {{0}};
        dpa_evidence evidence = {0};
        char keys[256];
        (void)snprintf(keys, sizeof keys,
                       COMMAND ", points: 7, models: 6, challenge: 4, design: leave-one-out, "
                               "signal: %s",
                       signal[s]);
        open_game(keys, &e, &game);
        assert_int_equal(dpa__command_queries(game), 1);
        assert_int_equal(dpa__command_query(game, 0), 4);
        for (uint64_t i = 0; i < MODELS; ++i)
            for (uint64_t p = 0; p < POINTS; ++p)
                assert_int_equal(dpa__command_member(game, i, p), p != 4 || i % 2 == 0);
        play(game, items, &evidence);
        const dpa_named_array *in = dpa__evidence_find(&evidence, "members");
        const dpa_named_array *out = dpa__evidence_find(&evidence, "nonmembers");
        assert_int_equal(in->count, 3);
        assert_int_equal(out->count, 3);
        for (int i = 0; i < 3; ++i) {
            assert_true(in->items[i] == (s == 0 ? 1 : -1)); /* a small loss is a high score */
            assert_true(out->items[i] == -in->items[i]);
        }
        done(e, game, items, &evidence);
    }
}

static void read_text(const char *name, char *out, size_t size) {
    FILE *in = fopen(in_folder(name), "r");
    assert_non_null(in);
    const size_t n = fread(out, 1, size - 1, in);
    out[n] = '\0';
    (void)fclose(in);
}

/* Placeholders and variables say the same; a failed attempt is cancelled. */
static void what_it_is_given(void **state) {
    (void)state;
    dpa_experiment *e;
    dpa_game *game;
    dpa_values out = {0};
    const dpa_values none = {0};
    char text[512], want[96];
    write_text("member.sh", "test \"$2\" = \"$DPAUDIT_SEED\" || exit 3\n"
                            "test \"$3\" = \"$DPAUDIT_MEMBERS\" || exit 4\n"
                            "test \"$4\" = \"$DPAUDIT_OUT\" || exit 5\n"
                            "test \"$5\" = \"$DPAUDIT_ATTEMPT\" || exit 6\n"
                            "test -s \"$DPAUDIT_QUERIES\" || exit 7\n"
                            "echo \"trial $1 $DPAUDIT_TRIAL $6\" >noted\n"
                            "exit 8\n");
    open_game("command: 'sh member.sh {trial} {seed} {members} {out} {attempt} --at={trial}.x', "
              "cancel: 'touch cancelled', points: 7, models: 6, design: leave-one-out, "
              "signal: logit",
              &e, &game);
    assert_int_equal(dpa_game_trial(game, 0, 5, &none, &out, &err), DPA_TRAINER);
    (void)snprintf(want, sizeof want, "exit code 8");
    if (strstr(err.text, want) == NULL) fail_msg("%s", err.text);
    read_text("noted", text, sizeof text);
    assert_string_equal(text, "trial 5 5 --at=5.x\n");
    assert_int_equal(access(in_folder("cancelled"), F_OK), 0);
    done(e, game, NULL, NULL);
    write_text("member.sh", member_script);
}

/* Answers that are none. */
static void wrong_answers(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"exit 0", "the command ended well but wrote no {out}: expected 1 values"},
        {"printf '1\\n2\\n' >$1", "the command wrote 2 values to {out}: expected 1, one per query"},
        {"echo inf >$1", "value 1 of {out} is inf: expected a finite number"},
        {"echo nan >$1", "value 1 of {out} is nan: expected a finite number"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa_experiment *e;
        dpa_game *game;
        dpa_values out = {0};
        const dpa_values none = {0};
        write_text("member.sh", rows[k][0]);
        open_game("command: 'sh member.sh {out}', points: 7, models: 6, design: leave-one-out, "
                  "signal: logit",
                  &e, &game);
        assert_true(dpa_game_trial(game, 0, 1, &none, &out, &err) != DPA_OK);
        if (strstr(err.text, rows[k][1]) == NULL) fail_msg("'%s': no '%s'", err.text, rows[k][1]);
        done(e, game, NULL, NULL);
    }
    write_text("member.sh", member_script);
}

static void key_of(const char *keys, char key[DPA_SHA256_SIZE]) {
    dpa_experiment *e;
    dpa_game *game;
    open_game(keys, &e, &game);
    assert_ok(dpa_game_key(game, 0, key, &err));
    done(e, game, NULL, NULL);
}

/* The bytes of the script and its words decide a trial; how many there are does not. */
static void keys(void **state) {
    (void)state;
    char first[DPA_SHA256_SIZE], key[DPA_SHA256_SIZE];
    key_of(COMMAND ", points: 7, models: 6, signal: logit", first);
    key_of(COMMAND ", points: 7, models: 60, signal: logit", key);
    assert_string_equal(first, key);
    static const char *const others[] = {
        COMMAND ", points: 8, models: 6, signal: logit",
        COMMAND ", points: 7, models: 6, signal: logit, queries: 3",
        COMMAND ", points: 7, models: 6, signal: logit, design: leave-one-out",
        "command: 'sh member.sh {members} {queries} {out} more', points: 7, models: 6, "
        "signal: logit"};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; ++k) {
        key_of(others[k], key);
        assert_string_not_equal(first, key);
    }
    write_text("member.sh", "echo another\n");
    key_of(COMMAND ", points: 7, models: 6, signal: logit", key);
    assert_string_not_equal(first, key);
    write_text("member.sh", member_script);
    key_of(COMMAND ", points: 7, models: 6, signal: logit", key);
    assert_string_equal(first, key);
}

static void refusals(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"points: 7, models: 6", "game: command is missing"},
        {"command: 'sh member.sh', points: 7, models: 6",
         "command names neither {members} nor {out}"},
        {"command: 'sh x {nothing} {out}', points: 7, models: 6",
         "game: command: {nothing} stands for nothing; expected {seed}"},
        {"command: 'sh x --a={nothing} {out}', points: 7, models: 6", "{nothing} stands for"},
        {COMMAND ", cancel: 'kill {id}', points: 7, models: 6",
         "game: cancel: {id} stands for nothing"},
        {COMMAND ", models: 6", "game: points 0: expected how many"},
        {COMMAND ", points: 7, models: 6, queries: 8", "game: queries 8: there are 7 points"},
        {COMMAND ", points: 7, models: 6, challenge: 7, design: leave-one-out",
         "game: challenge 7: expected 0 to 6"},
        {COMMAND ", points: 7, models: 6, attack: lira, design: leave-one-out",
         "with leave-one-out every training gives one score"},
        {COMMAND ", points: 7, models: 1", "game: models 1: expected how many"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        dpa_experiment *e;
        dpa_game *game;
        assert_int_equal(open_with(rows[k][0], &e, &game), DPA_BAD_INPUT);
        if (strstr(err.text, rows[k][1]) == NULL) fail_msg("'%s': no '%s'", err.text, rows[k][1]);
        dpa_experiment_free(e);
    }
    /* braces of the trainer's own: in the middle of a word, or around more than a name */
    static const char *const fine[] = {"'sh x a{b} {out}'", "'sh x {B} {out}'", "'sh x {b}c {out}'",
                                       "'sh x {} {out}'"};
    for (size_t k = 0; k < sizeof fine / sizeof fine[0]; ++k) {
        dpa_experiment *e;
        dpa_game *game;
        char line[128];
        (void)snprintf(line, sizeof line, "command: %s, points: 7, models: 2, queries: 7", fine[k]);
        open_game(line, &e, &game);
        done(e, game, NULL, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(coins),
                                       cmocka_unit_test(leave_one_out),
                                       cmocka_unit_test(what_it_is_given),
                                       cmocka_unit_test(wrong_answers),
                                       cmocka_unit_test(keys),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
