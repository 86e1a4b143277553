/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds: what a federation records of each canary's own rounds, the choice of canaries by
 * their rounds, and the certificate that follows. */
#include "check.h"

#include "base/rng.h"
#include "dpaudit/lab/federate.h"
#include "estimate/cosines/cosine.h"
#include "estimate/scores.h"
#include "federate/federation.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

enum { ROWS = 120, FEATURES = 5, CLASSES = 3, CLIENTS = 12, CANARIES = 9, ALL = 2 * CANARIES };

typedef struct set_up {
    dpa_dataset *data;
    dpa_clients *clients;
    dpa_model *model;
    dpa_federate_opts opts;
} set_up;

static double normal_at(uint64_t stream, size_t i) {
    dpa_rng rng;
    dpa__rng_init(&rng, 11, DPA_PURPOSE_TEST, stream << 32 | i);
    return dpa__rng_normal(&rng);
}

/* Rows of random numbers, owned by CLIENTS clients in turn. */
static set_up start(const char *layers, size_t features) {
    set_up s = {0};
    float *x = calloc(ROWS * features, sizeof *x);
    int32_t label[ROWS];
    double owner[ROWS];
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = 0; j < features; ++j) x[i * features + j] = (float)normal_at(j, i);
        label[i] = (int32_t)(i % CLASSES);
        owner[i] = (double)(i * 7 % CLIENTS);
    }
    assert_ok(dpa_dataset_new(x, label, ROWS, (dpa_shape){1, 1, features}, CLASSES, &s.data, NULL));
    free(x);
    assert_ok(dpa_clients_new(owner, ROWS, &s.clients, NULL));
    assert_ok(dpa_model_new(layers, (dpa_shape){1, 1, features}, CLASSES, DPA_LOSS_SOFTMAX,
                            &s.model, NULL));
    dpa_model_init(s.model, 3);
    dpa_federate_opts_init(&s.opts);
    s.opts.cohort = 4;
    s.opts.rounds = 6;
    s.opts.threads = 2;
    return s;
}

static void play_all_rounds(dpa_federation *f) {
    while (dpa_federation_rounds_done(f) < f->opts.rounds)
        assert_ok(dpa_federation_round(f, NULL, NULL));
}

static void finish(set_up *s) {
    dpa_dataset_free(s->data);
    dpa_clients_free(s->clients);
    dpa_model_free(s->model);
}

static dpa_federation *federation(const set_up *s) {
    dpa_federation *f = NULL;
    dpa_error err = {0};
    if (dpa_federation_new(s->model, s->data, s->clients, &s->opts, &f, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return f;
}

/* With σ = 0 and clients that do not move, a canary in one round scores its copies, and one that
 * does not take part 0; the release before the server's optimiser counts. */
static void known_rounds_are_what_the_canary_sent(void **state) {
    (void)state;
    static const dpa_server servers[] = {DPA_SERVER_SGD, DPA_SERVER_ADAGRAD, DPA_SERVER_ADAM,
                                         DPA_SERVER_YOGI};
    static const dpa_direction directions[] = {DPA_DIRECTION_HADAMARD, DPA_DIRECTION_SPHERE};
    for (size_t v = 0; v < 16; ++v) {
        set_up s = start("mlp:30", FEATURES);
        s.opts.server = servers[v % 4];
        s.opts.direction = directions[v / 4 % 2];
        s.opts.all_iterates = v < 8;
        s.opts.client_rate = 0.0;
        s.opts.momentum = 0.5;
        s.opts.clip = 0.7;
        s.opts.canaries = s.opts.unobserved = CANARIES;
        s.opts.repetitions = 2;
        s.opts.rounds = 40; /* most rounds have one canary or none */
        s.opts.fault = DPA_FAULT_REPEAT;
        s.opts.copies = 3;
        dpa_federation *f = federation(&s);
        double score[ALL], times[ALL], spread;
        assert_ok(dpa_federation_known(f, score, times, &spread, NULL));
        assert_true(isnan(score[0]) && times[0] == 0.0);
        play_all_rounds(f);
        assert_ok(dpa_federation_known(f, score, times, &spread, NULL));
        for (size_t i = 0; i < ALL; ++i) {
            const double want = i < CANARIES ? 3.0 * sqrt(2.0) : 0.0;
            assert_true(times[i] == 2.0);
            /* canaries of the sphere that share a round overlap a little */
            assert_absolute(score[i], want,
                            s.opts.direction == DPA_DIRECTION_HADAMARD ? 1e-5 : 3.0);
        }
        assert_true(s.opts.direction == DPA_DIRECTION_HADAMARD ? spread == 1.0 : spread > 1.0);
        dpa_federation_free(f);
        finish(&s);
    }
}

/* Unobserved canaries have the rounds of a client, drops included, and do not change the others. */
static void unobserved_canaries_have_rounds(void **state) {
    (void)state;
    set_up s = start("mlp:8", FEATURES);
    s.opts.canaries = 300;
    s.opts.rounds = 50;
    s.opts.drop = 0.4;
    s.opts.participation = DPA_PARTICIPATE_POISSON;
    dpa_federation *few = federation(&s);
    s.opts.unobserved = 300;
    dpa_federation *f = federation(&s);
    double in = 0.0, out = 0.0;
    for (uint64_t round = 0; round < 50; ++round) {
        dpa__participation_draw(few, round, &few->cohort);
        dpa__participation_draw(f, round, &f->cohort);
        assert_int_equal(f->cohort.canaries, few->cohort.canaries);
        assert_memory_equal(f->cohort.canary, few->cohort.canary,
                            f->cohort.canaries * sizeof(size_t));
        assert_int_equal(few->cohort.candidates, few->cohort.canaries);
        for (size_t i = f->cohort.canaries; i < f->cohort.candidates; ++i)
            assert_in_range(f->cohort.canary[i], 300, 599);
        in += (double)f->cohort.canaries;
        out += (double)(f->cohort.candidates - f->cohort.canaries);
    }
    /* 300 · 50 · (4/12) · 0.6 = 3000, deviation 49 */
    assert_absolute(in, 3000.0, 300.0);
    assert_absolute(out, 3000.0, 300.0);
    dpa_federation_free(f);
    dpa_federation_free(few);
    finish(&s);
}

/* Energies in S²: of canaries exactly, of the noise on average. */
static void rounds_say_their_energies(void **state) {
    (void)state;
    set_up s = start("mlp:30", FEATURES);
    dpa_round_info info;
    s.opts.client_rate = 0.0;
    s.opts.canaries = 4;
    s.opts.repetitions = 1;
    s.opts.rounds = 1;
    s.opts.clip = 2.0;
    s.opts.sigma = 1.5;
    dpa_federation *f = federation(&s);
    assert_ok(dpa_federation_round(f, &info, NULL));
    assert_absolute(info.energy_clients, 0.0, 1e-12);
    assert_absolute(info.energy_canaries, 4.0, 1e-12);
    assert_absolute(info.energy_noise, 2.25 * (double)dpa_model_size(s.model), 1e-9);
    dpa_federation_free(f);
    finish(&s);
}

/* ---- the choice by rounds ---- */

static void chosen_by_rounds_alone(void **state) {
    (void)state;
    enum { EACH = 400, BOTH = 2 * EACH };
    double score[BOTH], times[BOTH];
    for (size_t i = 0; i < BOTH; ++i) {
        score[i] = (double)i;
        times[i] = i % 50 == 0 ? 20.0 : i % 50 == 1 ? 0.0 : 4.0;
    }
    /* the few with 20 rounds would reduce the weight of all others */
    assert_true(dpa__canaries_choose(score, times, EACH, BOTH, 1.0) == 4.0);
    for (size_t i = 0; i < BOTH; ++i) assert_true(isnan(score[i]) == (i % 50 < 2));
    for (size_t i = 0; i < BOTH; ++i) times[i] = 0.0;
    assert_true(dpa__canaries_choose(score, times, EACH, BOTH, 1.0) == 1.0);
    for (size_t i = 0; i < BOTH; ++i) assert_true(isnan(score[i]));
}

/* ---- ε of a training ---- */

static void participation_has_the_accountants_epsilon(void **state) {
    (void)state;
    dpa_interval e;
    dpa_participation_rule rule = {.times = 4.0, .q = (double)NAN};
    assert_ok(dpa__participation_epsilon(&rule, 2.0, 1e-5, &e, NULL));
    assert_absolute(e.lower, 4.377178095681, 1e-7); /* mu = 1 */
    assert_true(e.lower <= e.upper && e.upper < e.lower + 1e-7);
    rule = (dpa_participation_rule){.q = 1.0, .rounds = 4};
    assert_ok(dpa__participation_epsilon(&rule, 2.0, 1e-5, &e, NULL));
    assert_true(e.lower <= 4.377178095681 && e.upper >= 4.377178095681 && e.upper < 4.39);
    rule.q = 0.1;
    assert_ok(dpa__participation_epsilon(&rule, 2.0, 1e-5, &e, NULL));
    assert_true(e.upper < 1.5 && e.lower > 0.0);
    assert_ok(dpa__participation_epsilon(&rule, 0.0, 1e-5, &e, NULL));
    assert_true(isinf(e.lower));
    assert_ok(dpa__participation_epsilon(&rule, 1e-6, 1e-5, &e, NULL));
    assert_true(e.lower > 1e5 && isfinite(e.lower) && isinf(e.upper));
    assert_ok(dpa__participation_epsilon(&rule, (double)INFINITY, 1e-5, &e, NULL));
    assert_true(e.lower == 0.0 && e.upper == 0.0);
    rule.q = 1.5;
    assert_int_equal(dpa__participation_epsilon(&rule, 1.0, 1e-5, &e, NULL), DPA_BAD_ARGUMENT);
    rule = (dpa_participation_rule){.times = 0.5, .q = (double)NAN};
    assert_int_equal(dpa__participation_epsilon(&rule, 1.0, 1e-5, &e, NULL), DPA_BAD_ARGUMENT);
}

/* ---- the certificate ---- */

enum { MANY = 400 };

/* Scores at the quantiles of the normal law, the observed ones higher by mu. */
static dpa_known_rounds ideal(double mu, double *score) {
    for (size_t i = 0; i < MANY; ++i) {
        score[MANY + i] = dpa__norm_quantile(((double)i + 0.5) / MANY, DPA_LOWER);
        score[i] = score[MANY + i] + mu + 1e-9;
    }
    return (dpa_known_rounds){.observed = score,
                              .observed_count = MANY,
                              .unobserved = score + MANY,
                              .unobserved_count = MANY,
                              .canary_rounds = 1.0,
                              .spread = 1.0,
                              .rule = {.times = 1.0, .q = (double)NAN},
                              .direction = DPA_DIRECTION_HADAMARD};
}

/* Without the scan, which takes seconds and is covered by one test. */
static dpa_request ranks_alone(void) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.method, sizeof request.method, "rank");
    return request;
}

static dpa_result certified(const dpa_known_rounds *known, const dpa_request *request) {
    dpa_result r, whole;
    dpa_lints lints = {0};
    dpa_error err = {0};
    if (dpa__known_rounds_participation(known, request, &r, &lints, &err) != DPA_OK)
        fail_msg("%s", err.text);
    dpa__lints_free(&lints);
    assert_int_equal(r.scope, DPA_SCOPE_PARTICIPATION);
    if (dpa__known_rounds_training(known, &r, request->delta, &whole, &err) != DPA_OK)
        fail_msg("%s", err.text);
    assert_int_equal(whole.scope, DPA_SCOPE_TRAINING);
    return whole;
}

/* The μ of the ranks is divided by the spread and by √R, and composed again. */
static void certificate_scales_as_it_should(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_known_rounds k = ideal(1.0, score);
    dpa_request request = ranks_alone();
    const dpa_result once = certified(&k, &request);
    assert_true(once.valid && once.sides == 1 && once.kind == DPA_BOUND);
    assert_string_equal(once.method, "known-rounds");
    /* 1 less 1.645 deviations of about sqrt(2/400), somewhat more for the tails of the law */
    assert_absolute(once.parameter_lower, 1.0 - 1.645 * sqrt(2.0 / MANY), 0.02);
    const double mu = once.parameter_lower;
    assert_absolute(once.epsilon_lower, dpa_gaussian_epsilon(mu, 1e-5), 1e-6);
    k.canary_rounds = 4.0;
    k.rule.times = 4.0;
    dpa_result r = certified(&k, &request);
    assert_absolute(r.parameter_lower, mu / 2.0, 1e-12);
    assert_absolute(r.epsilon_lower, once.epsilon_lower, 1e-6);
    k.spread = 1.25;
    r = certified(&k, &request);
    assert_absolute(r.parameter_lower, mu / 2.5, 1e-12);
    k.rule = (dpa_participation_rule){.q = 0.1, .rounds = 20};
    r = certified(&k, &request);
    dpa_interval e;
    assert_ok(dpa__participation_epsilon(&k.rule, 2.5 / mu, 1e-5, &e, NULL));
    assert_absolute(r.epsilon_lower, e.lower, 1e-9);
    k.spread = (double)INFINITY;
    r = certified(&k, &request);
    assert_true(r.epsilon_lower == 0.0);
}

/* A tenth of the canaries counted ten times: the scan shows more than the ranks do. */
static void scan_sees_the_few(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_known_rounds k = ideal(0.5, score);
    dpa_request request;
    dpa__request_init(&request);
    for (size_t i = 0; i < MANY; i += 10) score[i] += 9.0;
    const dpa_result both = certified(&k, &request);
    (void)snprintf(request.method, sizeof request.method, "rank");
    assert_true(both.parameter_lower > 1.3 * certified(&k, &request).parameter_lower);
}

/* The claim is about the training: its p-value is small if and only if the bound is above it. */
static void p_value_is_that_of_the_claim(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_request request = ranks_alone();
    for (int rule = 0; rule < 2; ++rule) {
        dpa_known_rounds k = ideal(1.5, score);
        k.spread = 1.1;
        k.canary_rounds = 2.0;
        if (rule == 1) k.rule = (dpa_participation_rule){.q = 0.2, .rounds = 30};
        request.claim_epsilon = (double)NAN;
        const double bound = certified(&k, &request).epsilon_lower;
        assert_true(bound > 0.5);
        request.claim_epsilon = 0.9 * bound;
        assert_true(certified(&k, &request).p_value < 0.05);
        request.claim_epsilon = 1.1 * bound;
        assert_true(certified(&k, &request).p_value > 0.05);
    }
}

/* Without a family: the scan of the scores as if they were those of independent runs. It holds for
 * the canaries' own rounds; for others it becomes the noise of a round, and for a family without
 * Gaussian noise nothing follows. */
static void any_mechanism_is_scanned(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_known_rounds k = ideal(2.0, score);
    dpa_request request;
    dpa_results results = {0};
    dpa_scores scores;
    dpa_lints lints = {0};
    dpa_result r, whole;
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "family", "dp", NULL));
    k.canary_rounds = k.rule.times = 4.0;
    const dpa_result as_claimed = certified(&k, &request);
    assert_string_equal(as_claimed.family, "dp");
    assert_string_equal(as_claimed.method, "known-rounds");
    assert_true((as_claimed.assumptions & DPA_ASSUME_CHANNELS) != 0 &&
                (as_claimed.assumptions & DPA_ASSUME_FAMILY_GAUSSIAN) == 0);
    assert_ok(dpa__scores_from(score, MANY, score + MANY, MANY, &scores, NULL));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
    request.sides = 1;
    assert_ok(dpa__request_set(&request, "method", "scan", NULL));
    assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
    assert_true(results.count == 1 && results.items[0].epsilon_lower > 1.0);
    assert_absolute(as_claimed.epsilon_lower, results.items[0].epsilon_lower, 1e-12);
    dpa__results_free(&results);
    dpa__scores_free(&scores);

    request.method[0] = '\0';
    k.rule.times = 1.0; /* a client in one round: half of the μ of four */
    const dpa_result once = certified(&k, &request);
    assert_string_equal(once.family, "gaussian");
    const double mu = dpa_gaussian_mu(as_claimed.epsilon_lower, 1e-5) / 2.0;
    assert_absolute(once.epsilon_lower, dpa_gaussian_epsilon(mu, 1e-5), 1e-6);
    assert_ok(dpa__request_set(&request, "family", "laplace", NULL));
    assert_ok(dpa__known_rounds_participation(&k, &request, &r, &lints, NULL));
    assert_int_equal(dpa__known_rounds_training(&k, &r, 1e-5, &whole, NULL), DPA_BAD_ARGUMENT);
    k.rule.times = 4.0;
    assert_ok(dpa__known_rounds_training(&k, &r, 1e-5, &whole, NULL));
    assert_true(whole.epsilon_lower == r.epsilon_lower && r.epsilon_lower > 0.0);
    k.spread = 1.01; /* overlap is understood for Gaussian noise only */
    assert_int_equal(dpa__known_rounds_participation(&k, &request, &r, &lints, NULL),
                     DPA_BAD_ARGUMENT);
    dpa__lints_free(&lints);
}

/* The bound on the canary's rounds themselves does not depend on what was claimed. */
static void participation_is_about_the_canary(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_known_rounds k = ideal(1.0, score);
    dpa_request request = ranks_alone();
    dpa_lints lints = {0};
    dpa_result first, other;
    k.canary_rounds = 4.0;
    k.spread = 1.25;
    assert_ok(dpa__known_rounds_participation(&k, &request, &first, &lints, NULL));
    assert_int_equal(first.scope, DPA_SCOPE_PARTICIPATION);
    assert_absolute(first.epsilon_lower, dpa_gaussian_epsilon(first.parameter_lower, 1e-5), 1e-6);
    k.rule = (dpa_participation_rule){.q = 0.1, .rounds = 20};
    assert_ok(dpa__known_rounds_participation(&k, &request, &other, &lints, NULL));
    assert_true(other.epsilon_lower == first.epsilon_lower);
    assert_absolute(certified(&k, &request).parameter_lower, first.parameter_lower / 2.0, 1e-12);
    dpa__lints_free(&lints);
}

static void certificate_refuses_nonsense(void **state) {
    (void)state;
    static double score[2 * MANY];
    dpa_request request;
    dpa_result r;
    dpa_lints lints = {0};
    dpa__request_init(&request);
    for (int wrong = 0; wrong < 5; ++wrong) {
        dpa_known_rounds k = ideal(1.0, score);
        if (wrong == 0) k.observed_count = 1;
        if (wrong == 1) k.unobserved_count = 0;
        if (wrong == 2) k.canary_rounds = 0.0;
        if (wrong == 3) k.spread = 0.5;
        if (wrong == 4) k.rule.times = (double)NAN;
        assert_int_not_equal(dpa__known_rounds_participation(&k, &request, &r, &lints, NULL),
                             DPA_OK);
    }
    dpa__lints_free(&lints);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_rounds_are_what_the_canary_sent),
        cmocka_unit_test(unobserved_canaries_have_rounds),
        cmocka_unit_test(rounds_say_their_energies),
        cmocka_unit_test(chosen_by_rounds_alone),
        cmocka_unit_test(participation_has_the_accountants_epsilon),
        cmocka_unit_test(certificate_scales_as_it_should),
        cmocka_unit_test(scan_sees_the_few),
        cmocka_unit_test(p_value_is_that_of_the_claim),
        cmocka_unit_test(any_mechanism_is_scanned),
        cmocka_unit_test(participation_is_about_the_canary),
        cmocka_unit_test(certificate_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
