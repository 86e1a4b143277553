/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attacks, leaks and selections with each allocation failing in turn. */
#include "check.h"

#include "attack/attack.h"
#include "base/rng.h"
#include "fault/alloc.h"

enum { MODELS = 30, POINTS = 20 };
static double signal[MODELS * POINTS], other[MODELS * POINTS];
static uint8_t member[MODELS * POINTS];
static const dpa_signals signals = {DPA_SIGNAL_LOGIT, MODELS, POINTS, signal, member, 1};
static const dpa_signals population = {DPA_SIGNAL_LOGIT, MODELS, POINTS, other, NULL, 1};

static double feature[2 * POINTS];
static const dpa_features features = {POINTS, 2, feature};

static int draw(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < MODELS * POINTS; ++i) {
        signal[i] = dpa__rng_normal(&rng);
        other[i] = dpa__rng_normal(&rng);
    }
    for (size_t i = 0; i < 2 * POINTS; ++i) feature[i] = dpa__rng_normal(&rng);
    for (size_t m = 0; m < MODELS; ++m) dpa__membership_half(1, m, POINTS, member + m * POINTS);
    return 0;
}

static void attacks(void **state) {
    (void)state;
    double scores[POINTS];
    dpa_attack_opts opts;
    dpa_error err;
    dpa__attack_opts_init(&opts);
    opts.population = &population;
    opts.quantile.features = opts.quantile.population_features = &features;
    opts.threads = 2;
    for (int attack = DPA_ATTACK_LOSS; attack <= DPA_ATTACK_QUANTILE; ++attack) {
        dpa_status status;
        FAULT_EVERY(status, dpa__attack_run((dpa_attack)attack, &signals, &opts, scores, &err),
                    (void)0);
    }
    dpa_status status;
    opts.quantile.form = DPA_QUANTILE_PINBALL;
    FAULT_EVERY(status, dpa__attack_run(DPA_ATTACK_QUANTILE, &signals, &opts, scores, &err),
                (void)0);
}

static void leaks_and_challenges(void **state) {
    (void)state;
    dpa_leak leaks[POINTS];
    dpa_leak_opts opts;
    dpa_error err;
    dpa_status status;
    dpa__leak_opts_init(&opts);
    opts.how.population = &population;
    opts.how.quantile.features = opts.how.quantile.population_features = &features;
    for (int attack = DPA_ATTACK_LOSS; attack <= DPA_ATTACK_QUANTILE; ++attack) {
        opts.attack = (dpa_attack)attack;
        opts.every_model = attack != DPA_ATTACK_QUANTILE; /* it allocates for every target */
        FAULT_EVERY(status, dpa__leaks_measure(&signals, &opts, leaks, NULL, &err), (void)0);
    }
    for (int challenge = DPA_CHALLENGE_WORST; challenge <= DPA_CHALLENGE_AVERAGE; ++challenge) {
        size_t chosen[3];
        FAULT_EVERY(status,
                    dpa__challenges_select(leaks, POINTS, (dpa_challenge)challenge,
                                           DPA_WEIGHT_EPSILON, 1, chosen, 3, &err),
                    (void)0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attacks),
                                       cmocka_unit_test(leaks_and_challenges)};
    return cmocka_run_group_tests(tests, draw, NULL);
}
