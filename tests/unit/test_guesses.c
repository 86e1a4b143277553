/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guessing from scores: against the plain definition, with ties, from files; and what is
 * refused. */
#include "check.h"

#include "base/rng.h"
#include "evidence/evidence.h"
#include "evidence/guesses.h"

/* The fewest right "in" (or "out") guesses among the `taken` highest (lowest) scores, over all
 * orders of ties. */
static uint64_t fewest_right(const double *score, const uint8_t *in, size_t count, int says_in,
                             size_t taken) {
    uint64_t right = 0;
    size_t left = taken;
    uint8_t used[64] = {0};
    while (left > 0) {
        double best = -INFINITY;
        for (size_t i = 0; i < count; ++i)
            if (!used[i]) best = fmax(best, says_in ? score[i] : -score[i]);
        size_t wrong = 0, same = 0;
        for (size_t i = 0; i < count; ++i)
            if (!used[i] && (says_in ? score[i] : -score[i]) == best) {
                used[i] = 1;
                ++same;
                wrong += in[i] != says_in;
            }
        const size_t now = left < same ? left : same;
        right += now > wrong ? now - wrong : 0;
        left -= now;
    }
    return right;
}

static int has_lint(const dpa_lints *lints, const char *code) {
    for (size_t i = 0; i < lints->count; ++i)
        if (strcmp(lints->items[i].code, code) == 0) return 1;
    return 0;
}

static void agrees_with_the_definition(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 7, DPA_PURPOSE_TEST, 0);
    for (int round = 0; round < 400; ++round) {
        const size_t count = 1 + dpa__rng_below(&rng, 40), levels = 1 + dpa__rng_below(&rng, 30);
        double score[64];
        uint8_t in[64];
        for (size_t i = 0; i < count; ++i) {
            score[i] = (double)dpa__rng_below(&rng, levels);
            in[i] = (uint8_t)dpa__rng_below(&rng, 2);
        }
        for (int side = DPA_GUESS_BOTH; side <= DPA_GUESS_OUT; ++side) {
            dpa_guesses guesses;
            dpa_lints lints = {0};
            assert_ok(dpa__guesses_from_scores(score, in, count, (dpa_guess_side)side, &guesses,
                                               &lints, NULL));
            for (size_t g = 0; g <= count; ++g) {
                const size_t out = side == DPA_GUESS_BOTH ? g / 2 : side == DPA_GUESS_OUT ? g : 0;
                const uint64_t want = fewest_right(score, in, count, 1, g - out) +
                                      fewest_right(score, in, count, 0, out);
                assert_int_equal(guesses.correct[g], want);
            }
            dpa__guesses_free(&guesses);
            dpa__lints_free(&lints);
        }
    }
}

static void odd_evidence_is_said(void **state) {
    (void)state;
    double score[400];
    uint8_t in[400];
    dpa_guesses guesses;
    dpa_lints lints = {0};
    for (size_t i = 0; i < 400; ++i) {
        score[i] = (double)i;
        in[i] = i < 200; /* the lower half is "in": reversed */
    }
    assert_ok(dpa__guesses_from_scores(score, in, 400, DPA_GUESS_BOTH, &guesses, &lints, NULL));
    assert_int_equal(guesses.correct[400], 0);
    assert_true(has_lint(&lints, "reversed-scores"));
    assert_false(has_lint(&lints, "ties"));
    dpa__guesses_free(&guesses);
    for (size_t i = 0; i < 400; ++i) {
        score[i] = i == 0 ? HUGE_VAL : 1.0;
        in[i] = i % 4 != 0;
    }
    assert_ok(dpa__guesses_from_scores(score, in, 400, DPA_GUESS_BOTH, &guesses, &lints, NULL));
    assert_true(has_lint(&lints, "ties") && has_lint(&lints, "unfair-coin") &&
                has_lint(&lints, "infinite-scores"));
    dpa__guesses_free(&guesses);
    dpa__lints_free(&lints);
}

static void bad_values_are_refused(void **state) {
    (void)state;
    const double score[2] = {1.0, NAN};
    const uint8_t in[2] = {0, 1}, wrong[2] = {0, 2};
    dpa_guesses guesses;
    dpa_lints lints = {0};
    dpa_error err;
    assert_int_equal(dpa__guesses_from_scores(score, in, 2, DPA_GUESS_BOTH, &guesses, &lints, &err),
                     DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "score 2"));
    assert_int_equal(dpa__guesses_from_confidence(score, wrong, 1, &guesses, &lints, &err), DPA_OK);
    dpa__guesses_free(&guesses);
    const double good[2] = {1.0, 2.0};
    assert_int_equal(dpa__guesses_from_confidence(good, wrong, 2, &guesses, &lints, &err),
                     DPA_BAD_INPUT);
    assert_int_equal(dpa__guesses_from_scores(score, in, 0, DPA_GUESS_BOTH, &guesses, &lints, &err),
                     DPA_BAD_INPUT);
    assert_null(guesses.correct);
    dpa__lints_free(&lints);
}

static const char *write_text(const char *text) {
    static char path[] = "/tmp/dpaudit-guesses-XXXXXX";
    static int is_made;
    if (!is_made) {
        const int fd = mkstemp(path);
        assert_true(fd >= 0);
        (void)close(fd);
        is_made = 1;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* The evidence of a file, ranked as the judge does. */
static dpa_status read_ranked(const char *path, int *is_membership, dpa_guesses *guesses,
                              dpa_evidence *evidence, dpa_error *err) {
    dpa_lints lints = {0};
    dpa_status status = dpa__evidence_one_run(path, NULL, 0, evidence, err);
    if (status != DPA_OK) return status;
    assert_int_equal(evidence->design, DPA_ONE_RUN);
    *is_membership = evidence->kind == DPA_EVIDENCE_SCORES;
    const dpa_named_array *first =
        dpa__evidence_find(evidence, *is_membership ? "members" : "score");
    const dpa_named_array *second =
        dpa__evidence_find(evidence, *is_membership ? "nonmembers" : "correct");
    assert_true(first != NULL && second != NULL);
    if (*is_membership) {
        status = dpa__guesses_from_pair(first->items, first->count, second->items, second->count,
                                        DPA_GUESS_BOTH, guesses, &lints, err);
    } else {
        uint8_t right[8];
        assert_in_range(second->count, 1, sizeof right);
        for (size_t i = 0; i < second->count; ++i) right[i] = second->items[i] != 0;
        status =
            dpa__guesses_from_confidence(first->items, right, first->count, guesses, &lints, err);
    }
    dpa__lints_free(&lints);
    return status;
}

static void reads_files(void **state) {
    (void)state;
    dpa_guesses guesses;
    dpa_evidence evidence;
    dpa_error err;
    int is_membership;
    const char *path = write_text("score,member\n3,1\n2,1\n1,0\n0,0\n");
    assert_ok(read_ranked(path, &is_membership, &guesses, &evidence, &err));
    assert_true(is_membership);
    assert_int_equal(guesses.canaries, 4);
    assert_int_equal(guesses.correct[4], 4);
    assert_int_equal(strlen(evidence.sha256[0]), 64);
    dpa__guesses_free(&guesses);
    dpa__evidence_clear(&evidence);
    (void)write_text("correct,score\n1,0.9\n0,0.5\n1,0.7\n");
    assert_ok(read_ranked(path, &is_membership, &guesses, &evidence, &err));
    assert_false(is_membership);
    assert_int_equal(guesses.correct[2], 2);
    assert_int_equal(guesses.correct[3], 2);
    dpa__guesses_free(&guesses);
    dpa__evidence_clear(&evidence);
    static const char *const bad[] = {"score,member\n1,2\n", "member\n1\n", "score\n1\n",
                                      "score,member\nx,1\n", "score,member\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        (void)write_text(bad[i]);
        assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &evidence, &err), DPA_BAD_INPUT);
        assert_non_null(strstr(err.place, path));
        assert_int_equal(evidence.array_count, 0);
    }
    assert_int_not_equal(dpa__evidence_one_run("/nonexistent", NULL, 0, &evidence, &err), DPA_OK);
    (void)unlink(path);
}

static dpa_array array_of(double *items, size_t count) {
    return (dpa_array){
        .dtype = DPA_F64, .ndim = 1, .shape = {count}, .count = count, .data = items};
}

/* score and correct in an NPZ, as games write them; the same as the table. */
static void reads_archives(void **state) {
    (void)state;
    const char *path = write_text("");
    const char *const names[2] = {"score", "correct"};
    double score[3] = {0.9, 0.5, 0.7}, correct[3] = {1.0, 0.0, 1.0};
    dpa_guesses guesses;
    dpa_evidence evidence;
    dpa_error err;
    int is_membership;
    dpa_array arrays[2] = {array_of(score, 3), array_of(correct, 3)};
    assert_ok(dpa__npz_write(path, names, arrays, 2, &err));
    assert_ok(read_ranked(path, &is_membership, &guesses, &evidence, &err));
    assert_false(is_membership);
    assert_int_equal(guesses.correct[2], 2);
    assert_int_equal(guesses.correct[3], 2);
    assert_int_equal(strlen(evidence.sha256[0]), 64);
    dpa__guesses_free(&guesses);
    dpa__evidence_clear(&evidence);
    arrays[1] = array_of(correct, 2);
    assert_ok(dpa__npz_write(path, names, arrays, 2, &err));
    assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &evidence, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "3 scores, but 2"));
    correct[1] = 0.5;
    arrays[1] = array_of(correct, 3);
    assert_ok(dpa__npz_write(path, names, arrays, 2, &err));
    assert_int_equal(dpa__evidence_one_run(path, NULL, 0, &evidence, &err), DPA_BAD_INPUT);
    (void)unlink(path);
}

/* Two files of one array each; losses are the other way round. */
static void reads_pairs(void **state) {
    (void)state;
    char in[] = "/tmp/dpaudit-in-XXXXXX", out[] = "/tmp/dpaudit-out-XXXXXX";
    static const char *const texts[2] = {"1\n2\n", "3\n4\n5\n"};
    char *const paths[2] = {in, out};
    dpa_evidence evidence;
    for (int i = 0; i < 2; ++i) {
        const int fd = mkstemp(paths[i]);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        assert_int_equal(close(fd), 0);
    }
    for (int are_losses = 0; are_losses < 2; ++are_losses) {
        assert_ok(dpa__evidence_one_run(in, out, are_losses, &evidence, NULL));
        const dpa_named_array *members = dpa__evidence_find(&evidence, "members");
        const dpa_named_array *others = dpa__evidence_find(&evidence, "nonmembers");
        assert_true(members != NULL && members->count == 2 && others->count == 3);
        assert_true(members->items[1] == (are_losses ? -2 : 2));
        assert_true(others->items[2] == (are_losses ? -5 : 5));
        assert_string_equal(evidence.path[1], out);
        dpa__evidence_clear(&evidence);
    }
    (void)unlink(in);
    (void)unlink(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_definition),
        cmocka_unit_test(odd_evidence_is_said),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(reads_archives),
        cmocka_unit_test(reads_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
