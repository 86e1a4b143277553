/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The white-box game: the law of its observations against the closed form, each sabotage against
 * the noise that it leaves, correct trainers not refuted, the same bytes from the same seed. */
#include "game/table.h"

static dpa_scores play(const table_game *t, const dpa_game_opts *o) {
    dpa_scores scores;
    dpa_error err = {0};
    if (play_white_box(t, o, &scores, &err) != DPA_OK) fail_msg("%s", err.text);
    return scores;
}

/* A valid lower bound on μ from the threshold halfway between the means. */
static double bound(const dpa_scores *s) {
    dpa_counts counts = {0};
    dpa_request request;
    dpa_results results = {0};
    for (size_t i = 0; i < s->members; ++i) ++*(s->member[i] > 0.5 ? &counts.tp : &counts.fn);
    for (size_t i = 0; i < s->nonmembers; ++i) ++*(s->nonmember[i] > 0.5 ? &counts.fp : &counts.tn);
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "family", "gaussian", NULL));
    assert_ok(dpa__request_set(&request, "method", "cp", NULL));
    assert_ok(dpa__estimate_counts(&counts, &request, &results, NULL));
    const double mu = results.items[0].parameter_lower;
    dpa__results_free(&results);
    return mu;
}

static void laws(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.observations = 5 * STEPS;
    dpa_scores s = play(&t, &o);
    assert_int_equal(s.members, o.observations);
    has_law(s.member, s.members, 1.0, SIGMA);
    has_law(s.nonmember, s.nonmembers, 0.0, SIGMA);
    dpa__scores_free(&s);
    o.canary_rate = 0.25;
    s = play(&t, &o);
    has_law(s.member, s.members, 0.25, sqrt(SIGMA * SIGMA + 0.25 * 0.75));
    dpa__scores_free(&s);
    dpa_dataset_free(t.data.data);
}

/* Other canaries overlap with the data: the difference of the means is 1, the noise at least σ. */
static void kinds(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    for (int kind = DPA_GAME_DIRAC; kind <= DPA_GAME_RANDOM; ++kind)
        for (int moving = 0; moving < 2; ++moving) {
            dpa_game_opts o;
            dpa_game_opts_init(&o);
            o.canary = (dpa_game_canary)kind;
            o.moving = moving;
            o.observations = 4 * STEPS;
            dpa_scores s = play(&t, &o);
            double in, out, in_deviation, out_deviation;
            moments(s.member, s.members, &in, &in_deviation);
            moments(s.nonmember, s.nonmembers, &out, &out_deviation);
            const double error = hypot(in_deviation, out_deviation) / sqrt((double)s.members);
            assert_true(fabs(in - out - 1.0) < 4.5 * error);
            assert_true(out_deviation > 0.94 * SIGMA);
            dpa__scores_free(&s);
        }
    dpa_dataset_free(t.data.data);
}

/* A moving Dirac canary goes where it may: the noise it sees is louder among all weights than among
 * the quiet ones, and the default is the quietest tenth. */
static void quiet_shares(void **state) {
    (void)state;
    static const double shares[] = {0.05, 0.1, 1.0};
    table_game t;
    set_up(&t);
    t.plan.train.sigma = 0.05;
    double deviation[3];
    dpa_scores usual, s;
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.moving = 1;
    o.observations = 4 * STEPS;
    usual = play(&t, &o);
    for (int i = 0; i < 3; ++i) {
        double mean;
        o.quiet_share = shares[i];
        s = play(&t, &o);
        moments(s.nonmember, s.nonmembers, &mean, &deviation[i]);
        const int is_usual = memcmp(s.member, usual.member, s.members * sizeof *s.member) == 0;
        assert_int_equal(is_usual, shares[i] == 0.1);
        dpa__scores_free(&s);
    }
    assert_true(deviation[2] > 1.05 * deviation[1]);
    dpa__scores_free(&usual);
    dpa_dataset_free(t.data.data);
}

static void sabotage_law(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.observations = 3 * STEPS;
    o.sabotage = DPA_SABOTAGE_SCALE;
    o.noise_scale = 0.7;
    dpa_scores s = play(&t, &o);
    has_law(s.nonmember, s.nonmembers, 0.0, 0.7 * SIGMA);
    assert_true(bound(&s) > 1.0 / SIGMA);
    dpa__scores_free(&s);
    o.noise_scale = 0.0;
    s = play(&t, &o);
    for (size_t i = 0; i < s.members; ++i) {
        assert_true(fabs(s.member[i] - 1.0) < 1e-5);
        assert_true(fabs(s.nonmember[i]) < 1e-5);
    }
    dpa__scores_free(&s);
    o.sabotage = DPA_SABOTAGE_WORKERS;
    o.workers = 4;
    s = play(&t, &o);
    has_law(s.member, s.members, 1.0, SIGMA / 2.0);
    assert_true(bound(&s) > 1.0 / SIGMA);
    dpa__scores_free(&s);
    o.sabotage = DPA_SABOTAGE_CLIP; /* about the batch, 10, less what the data take of the norm */
    s = play(&t, &o);
    double mean, deviation;
    moments(s.member, s.members, &mean, &deviation);
    assert_true(mean > 5.0 && mean <= 10.0);
    has_law(s.nonmember, s.nonmembers, 0.0, SIGMA);
    assert_true(bound(&s) > 2.0 / SIGMA);
    dpa__scores_free(&s);
    dpa_dataset_free(t.data.data);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A static canary sees at most 100 different noises, up to the float rounding of the sum. */
static void few_seeds(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.observations = 2 * STEPS;
    o.sabotage = DPA_SABOTAGE_SEEDS;
    dpa_scores s = play(&t, &o);
    qsort(s.nonmember, s.nonmembers, sizeof(double), compare);
    size_t distinct = 1;
    for (size_t i = 1; i < s.nonmembers; ++i)
        distinct += s.nonmember[i] - s.nonmember[i - 1] > 1e-5;
    assert_in_range(distinct, 90, 100);
    dpa__scores_free(&s);
    dpa_dataset_free(t.data.data);
}

/* 40 audits at 95%: more than 6 refutations have probability 0.003. */
static void correct_stands(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    size_t refuted = 0;
    double mean = 0.0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        dpa_game_opts o;
        dpa_game_opts_init(&o);
        o.seed = seed;
        o.observations = 500;
        dpa_scores s = play(&t, &o);
        const double mu = bound(&s);
        refuted += mu > 1.0 / SIGMA;
        mean += mu / 40.0;
        dpa__scores_free(&s);
    }
    assert_true(refuted <= 6);
    assert_true(mean > 0.5 / SIGMA); /* and it does show something */
    dpa_dataset_free(t.data.data);
}

static void same_bytes(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts o;
    dpa_game_opts_init(&o);
    o.observations = 1200; /* more than one training */
    dpa_scores a = play(&t, &o), b = play(&t, &o);
    assert_memory_equal(a.member, b.member, 1200 * sizeof(double));
    assert_memory_equal(a.nonmember, b.nonmember, 1200 * sizeof(double));
    o.seed = 2;
    dpa_scores c = play(&t, &o);
    assert_memory_not_equal(a.member, c.member, 1200 * sizeof(double));
    dpa__scores_free(&a);
    dpa__scores_free(&b);
    dpa__scores_free(&c);
    dpa_dataset_free(t.data.data);
}

static void refusals(void **state) {
    (void)state;
    table_game t;
    set_up(&t);
    dpa_game_opts o;
    dpa_scores s;
    dpa_game_opts_init(&o);
    o.canary_rate = 0.0;
    assert_int_equal(play_white_box(&t, &o, &s, NULL), DPA_BAD_ARGUMENT);
    dpa_game_opts_init(&o);
    o.quiet_share = 1.01;
    assert_int_equal(play_white_box(&t, &o, &s, NULL), DPA_BAD_ARGUMENT);
    dpa_game_opts_init(&o);
    o.workers = 0;
    assert_int_equal(play_white_box(&t, &o, &s, NULL), DPA_BAD_ARGUMENT);
    dpa_game_opts_init(&o);
    t.plan.train.sigma = 0.0;
    assert_int_equal(play_white_box(&t, &o, &s, NULL), DPA_BAD_ARGUMENT);
    dpa_dataset_free(t.data.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws),         cmocka_unit_test(kinds),
        cmocka_unit_test(sabotage_law), cmocka_unit_test(few_seeds),
        cmocka_unit_test(same_bytes),   cmocka_unit_test(correct_stands),
        cmocka_unit_test(refusals),     cmocka_unit_test(quiet_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
