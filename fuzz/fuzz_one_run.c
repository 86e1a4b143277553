/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as scores and coins of one run: guesses that add up, p-values that are probabilities
 * and fall with every further right guess. Byte 0: side and options; byte 1: p; byte 2: the
 * curve; then a score and a coin each. */
#include "fuzz.h"

#include <math.h>

#include "estimate/one_run/one_run.h"
#include "evidence/guesses.h"

enum { MOST = 200 };

static void must(int condition) {
    if (!condition) abort();
}

static void check_game(dpa_one_run game, const dpa_curve *curve, double p) {
    const double value = dpa__one_run_p_value(&game, curve);
    must(value > 0.0 && value <= 1.0);
    must(!dpa__one_run_refutes(&game, curve, p) || value <= p * (1.0 + 1e-9));
    if (game.options == 2) {
        const double dp = dpa__one_run_dp_p_value(&game, 1.0, p * 1e-3);
        must(dp >= 0.0 && dp <= 1.0);
    }
    if (game.correct == game.guesses) return;
    ++game.correct;
    must(dpa__one_run_p_value(&game, curve) <= value * (1.0 + 1e-9));
}

static void check_guesses(const dpa_guesses *guesses, uint64_t options, const dpa_curve *curve,
                          double p) {
    must(guesses->correct[0] == 0);
    for (uint64_t g = 1; g <= guesses->canaries; ++g) {
        must(guesses->correct[g] <= g);
    }
    const uint64_t half = guesses->canaries / 2 + 1;
    const uint64_t counts[] = {1, half, guesses->canaries};
    for (size_t i = 0; i < 3; ++i) {
        const uint64_t g = counts[i] < guesses->canaries ? counts[i] : guesses->canaries;
        check_game((dpa_one_run){guesses->canaries, options, g, guesses->correct[g]}, curve, p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    double score[MOST];
    uint8_t in[MOST];
    size_t count = 0;
    dpa_guesses guesses;
    dpa_lints lints = {0};
    dpa_curve *curve = NULL;
    dpa_error err = {0};
    if (size < 5) return 0;
    for (size_t i = 3; i + 1 < size && count < MOST; i += 2, ++count) {
        score[count] = data[i] == 255 ? HUGE_VAL : (double)data[i] - 100.0;
        in[count] = data[i + 1] & 1;
    }
    if (dpa_curve_gaussian(data[2] / 40.0, &curve, &err) != DPA_OK) return 0;
    const dpa_status status = dpa__guesses_from_scores(
        score, in, count, (dpa_guess_side)(data[0] % 3), &guesses, &lints, &err);
    fuzz_check(status, &err);
    if (status == DPA_OK) {
        check_guesses(&guesses, 2U + data[0] / 64U * 7U, curve, (data[1] + 1.0) / 257.0);
        dpa__guesses_free(&guesses);
    }
    dpa__lints_free(&lints);
    dpa_curve_free(curve);
    return 0;
}
