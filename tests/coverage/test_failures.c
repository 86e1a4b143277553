/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failing trainings, by simulation: a mechanism with outputs {NaN, 1, 0} that keeps ε = 1 exactly
 * and fails more often with the record than without it. Audits of 100 trials each of the claim ε ≤
 * 1, judged as `dpaudit run` does. With a score fixed in advance, whichever it is, the claim is
 * refuted in at most 5% plus two standard errors of the audits. If failed trials are dropped and
 * replaced, it is refuted in half of them, which is why they keep their place.
 *
 * `test_coverage_failures full` plays ten times as many audits (docs/judging.md has its numbers),
 * and 400 audits of each score with their own random numbers, seed 22: seed and number were
 * committed here before the first of them was played. */
#include "check.h"

#include "base/rng.h"
#include "judge/judge.h"

enum { TRIALS = 100, FIRST_SEED = 18, FRESH_SEED = 22, FRESH_AUDITS = 400 };
static int times = 1;
static const char *const names[] = {"high", "low", "against", "dropped and replaced"};

/* How a failed trial is treated. */
typedef enum rule { HIGH, LOW, AGAINST, DROPPED } rule;

static double play(dpa_rng *rng, int is_member) {
    const double u = dpa__rng_uniform(rng);
    const double fails = is_member ? 0.5437 : 0.2, one = is_member ? 0.1873 : 0.0689;
    return u < fails ? (double)NAN : u < fails + one ? 1.0 : 0.0;
}

static double score_of(rule failed) {
    return failed == HIGH ? (double)INFINITY : failed == LOW ? -(double)INFINITY : (double)NAN;
}

static void play_audit(rule failed, uint64_t seed, uint64_t audit, dpa_evidence *out) {
    double scores[2][TRIALS];
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_SIMULATE, audit);
    dpa__evidence_init(out, DPA_EVIDENCE_SCORES);
    for (int arm = 0; arm < 2; ++arm)
        for (int i = 0; i < TRIALS; ++i) {
            double score = play(&rng, arm == 0);
            while (failed == DROPPED && isnan(score)) score = play(&rng, arm == 0);
            if (isnan(score)) {
                ++out->failed[arm];
                score = score_of(failed);
            }
            scores[arm][i] = score;
        }
    assert_ok(dpa_evidence_copy(out, "members", scores[0], TRIALS, NULL));
    assert_ok(dpa_evidence_copy(out, "nonmembers", scores[1], TRIALS, NULL));
    assert_ok(dpa_evidence_fact(out, "trials_members", TRIALS, NULL));
    assert_ok(dpa_evidence_fact(out, "trials_nonmembers", TRIALS, NULL));
}

static int refuted(rule failed, uint64_t seed, int audits) {
    int found = 0;
    dpa_claim claim;
    dpa_protocol protocol;
    dpa_claim_init(&claim);
    claim.epsilon = 1;
    claim.delta = 1e-9;
    dpa__protocol_init(&protocol);
    protocol.bare = 1;
    for (uint64_t i = 0; i < (uint64_t)audits; ++i) {
        dpa_evidence e;
        dpa_report *report = NULL;
        play_audit(failed, seed, i, &e);
        assert_ok(dpa_judge(&e, &claim, &protocol, &report, NULL));
        found += dpa_report_state(report) == DPA_REFUTED;
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
    return found;
}

static void claim_at_the_truth(void **state) {
    (void)state;
    for (int failed = HIGH; failed <= DROPPED; ++failed) {
        const int audits = times * (failed <= LOW ? 1000 : 200);
        const int count = refuted((rule)failed, FIRST_SEED, audits);
        print_message("failed: %s: the true claim is refuted in %d of %d audits\n", names[failed],
                      count, audits);
        if (failed == DROPPED)
            assert_true(count > audits / 4);
        else
            assert_true(count <= 0.05 * audits + 2 * sqrt(0.05 * 0.95 * audits));
    }
}

static void fresh_audits(void **state) {
    (void)state;
    if (times == 1) return; /* that sample may be looked at only once: not in every test run */
    for (int failed = HIGH; failed <= AGAINST; ++failed) {
        const int count = refuted((rule)failed, FRESH_SEED, FRESH_AUDITS);
        print_message("failed: %s: seed %d: the true claim is refuted in %d of %d audits\n",
                      names[failed], FRESH_SEED, count, FRESH_AUDITS);
        assert_true(20 * count <= FRESH_AUDITS);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "full") == 0) times = 10;
    const struct CMUnitTest tests[] = {cmocka_unit_test(claim_at_the_truth),
                                       cmocka_unit_test(fresh_audits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
