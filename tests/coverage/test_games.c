/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Correct trainers, audited repeatedly at 95%: how often is the claim refuted? The bound exceeds
 * the truth exactly when the curve of the claim is refuted, so each audit is one test. */
#include "game/table.h"

#include "account/account.h"
#include "estimate/one_run/one_run.h"
#include "evidence/guesses.h"
#include "game/one_run.h"

enum { TRAINED = 24, AUDITS = 300, CANARIES = 80, OPTIONS = 3 };
static const double NOISE = 1.0, Q = 0.25, P = 0.05;

/* Enough quiet weights for all canaries, so that the attack is as strong as possible. */
static void prepare(table_game *t, dpa_game_opts *opts) {
    set_up(t);
    t->plan.layers = "mlp:256";
    t->plan.train.batch = ROWS / 4;
    t->plan.train.steps = TRAINED;
    t->plan.train.sigma = NOISE;
    dpa_game_opts_init(opts);
    opts->canaries = CANARIES;
    opts->score = DPA_SCORE_LIKELIHOOD;
}

/* The claimed curve, in both directions. */
static dpa_curve *claimed(dpa_adjacency adjacency) {
    const dpa_phase phase = {DPA_GAUSSIAN, NOISE, Q, TRAINED};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = adjacency;
    dpa_account *account;
    dpa_curve *one, *both;
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, NULL));
    assert_ok(dpa_account_curve(account, -1, &one, NULL));
    assert_ok(dpa__one_run_symmetric(one, &both, NULL));
    dpa_curve_free(one);
    dpa_account_free(account);
    return both;
}

static dpa_guesses rank(const double *score, const double *answer, int is_membership) {
    uint8_t bits[CANARIES];
    dpa_guesses guesses;
    dpa_lints lints = {0};
    for (size_t i = 0; i < CANARIES; ++i) bits[i] = answer[i] != 0.0;
    assert_ok(is_membership
                  ? dpa__guesses_from_scores(score, bits, CANARIES, DPA_GUESS_BOTH, &guesses,
                                             &lints, NULL)
                  : dpa__guesses_from_confidence(score, bits, CANARIES, &guesses, &lints, NULL));
    dpa__lints_free(&lints);
    return guesses;
}

static void repeat(uint64_t options, const char *name) {
    table_game t;
    dpa_game_opts o;
    prepare(&t, &o);
    dpa_curve *curve = claimed(options == 0 ? DPA_ADD_REMOVE : DPA_REPLACE_ONE);
    dpa__one_run *game = NULL;
    assert_ok(dpa__one_run_new(&o, options, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    uint64_t grid[32];
    const size_t count = dpa__one_run_grid(CANARIES, grid, 32);
    size_t refuted = 0;
    double score[CANARIES], answer[CANARIES], right = 0.0;
    for (uint64_t run = 0; run < AUDITS; ++run) {
        dpa__one_run_result result = {.score = score, .answer = answer};
        assert_ok(dpa__one_run_play(game, run, &result, NULL));
        dpa_guesses guesses = rank(score, answer, options == 0);
        int is_refuted = 0;
        for (size_t i = 0; i < count; ++i) {
            const dpa_one_run one = {CANARIES, options == 0 ? 2 : options, grid[i],
                                     guesses.correct[grid[i]]};
            is_refuted |= dpa__one_run_refutes(&one, curve, P / (double)count);
        }
        refuted += is_refuted != 0;
        right += (double)guesses.correct[CANARIES] / CANARIES / AUDITS;
        dpa__guesses_free(&guesses);
    }
    print_message("%s: %zu of %d refuted at 95%%, %.3f right\n", name, refuted, AUDITS, right);
    /* 5% of 300 is 15; 26 or more have probability 0.004 even then. */
    assert_true(refuted <= 25);
    assert_true(right > 1.2 / (options == 0 ? 2.0 : (double)options)); /* the attack works */
    dpa__one_run_free(game);
    dpa_curve_free(curve);
    dpa_dataset_free(t.data.data);
}

static void membership(void **state) {
    (void)state;
    repeat(0, "membership");
}

static void reconstruction(void **state) {
    (void)state;
    repeat(OPTIONS, "reconstruction");
}

enum { TRAININGS = 3000 };

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One canary, whole trainings: the likelihood ratio is the optimal test, so its ROC is the curve of
 * the mixture against pure noise. At low FPR that is the accountant's curve; at high FPR the
 * accountant's curve is that of the other direction, which lies above. */
static void whole_training(void **state) {
    (void)state;
    table_game t;
    dpa_game_opts o;
    prepare(&t, &o);
    o.canaries = 1;
    dpa__one_run *game = NULL;
    assert_ok(dpa__one_run_new(&o, 0, &t.plan, &t.data, NULL, DPA_TRAINER_LOSS, &game, NULL));
    static double score[2][TRAININGS];
    for (uint64_t run = 0; run < 2 * TRAININGS; ++run) {
        const size_t in = run % 2;
        double answer;
        dpa__one_run_result result = {
            .secret = &in, .score = &score[in][run / 2], .answer = &answer};
        assert_ok(dpa__one_run_play(game, run, &result, NULL));
        assert_true(answer == (double)in);
    }
    dpa__one_run_free(game);
    const dpa_phase phase = {DPA_GAUSSIAN, NOISE, Q, TRAINED};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    dpa_account *account;
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, NULL));
    qsort(score[0], TRAININGS, sizeof(double), compare);
    const double rates[] = {0.02, 0.1, 0.3, 0.6};
    for (size_t r = 0; r < 4; ++r) {
        const double threshold = score[0][(size_t)((1.0 - rates[r]) * TRAININGS)];
        double found = 0.0;
        for (size_t i = 0; i < TRAININGS; ++i)
            found += (score[1][i] > threshold) / (double)TRAININGS;
        /* The threshold is random too, so its error enters through the slope of the curve at this
         * FPR. */
        dpa_interval fnr, next;
        assert_ok(dpa_account_fnr(account, rates[r], &fnr, NULL));
        assert_ok(dpa_account_fnr(account, rates[r] + 0.01, &next, NULL));
        const double slope = (fnr.upper - next.lower) / 0.01, n = TRAININGS;
        const double error = sqrt(fnr.upper * (1.0 - fnr.upper) / n +
                                  slope * slope * rates[r] * (1.0 - rates[r]) / n);
        print_message("FPR %.2f: TPR %.4f, accountant %.4f\n", rates[r], found, 1.0 - fnr.upper);
        assert_true(found < 1.0 - fnr.lower + 4.5 * error);
        if (rates[r] <= 0.1) assert_true(found > 1.0 - fnr.upper - 4.5 * error);
    }
    dpa_account_free(account);
    dpa_dataset_free(t.data.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(membership),
                                       cmocka_unit_test(reconstruction),
                                       cmocka_unit_test(whole_training)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
