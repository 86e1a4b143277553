/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored results: the seal sees every change, and what is sealed anew must still be something that
 * the judge could have written. */
#include "check.h"

#include <jansson.h>

#include "report/model/model.h"

/* A claim of ε ≤ 1 refuted by a row of 2.5. */
static json_t *refuted(void) {
    json_t *result = json_pack(
        "{s:s, s:s, s:{s:s, s:b, s:s, s:s, s:{s:f, s:s}, s:[]}, s:[{s:s, s:s, s:s, s:f}]}",
        "dpaudit", "0.1.0", "command", "scores", "verdict", "state", "refuted", "refuted", 1,
        "headline", "REFUTED: the claim does not stand", "decided_by", "confidence", "claim",
        "epsilon", 1.0, "scope", "training", "contradicted", "results", "role", "primary",
        "guarantee", "confidence", "scope", "training", "epsilon_lower", 2.5);
    assert_non_null(result);
    return result;
}

static json_t *verdict_of(json_t *result) {
    return json_object_get(result, "verdict");
}
static json_t *row_of(json_t *result) {
    return json_array_get(json_object_get(result, "results"), 0);
}
static void set(json_t *object, const char *key, const char *word) {
    assert_int_equal(json_object_set_new(object, key, json_string(word)), 0);
}
static void set_number(json_t *object, const char *key, double value) {
    assert_int_equal(json_object_set_new(object, key, json_real(value)), 0);
}
static void set_flag(json_t *object, const char *key, int value) {
    assert_int_equal(json_object_set_new(object, key, json_boolean(value)), 0);
}

/* Seals the result, frees it, and expects these words; NULL: that nothing is wrong. */
static void expect(json_t *result, const char *words) {
    dpa_error err = {0};
    assert_ok(dpa__result_seal(result, &err));
    const dpa_status status = dpa__result_check("a.json", result, &err);
    if (words == NULL) {
        assert_ok(status);
    } else {
        char wanted[200];
        assert_int_equal(status, DPA_BAD_INPUT);
        assert_string_equal(err.place, "a.json");
        (void)snprintf(wanted, sizeof wanted, "the result contradicts itself: %s", words);
        assert_string_equal(err.text, wanted);
    }
    json_decref(result);
}

static void states(json_t *result, const char *state, int is_refuted, const char *headline) {
    set(verdict_of(result), "state", state);
    set_flag(verdict_of(result), "refuted", is_refuted);
    set(verdict_of(result), "headline", headline);
}

static void what_the_judge_writes(void **state) {
    (void)state;
    expect(refuted(), NULL);
    json_t *r = refuted();
    states(r, "not-refuted", 0, "Not refuted: …");
    set_number(row_of(r), "epsilon_lower", 1); /* as much as was claimed is no more */
    expect(r, NULL);
    r = refuted();
    states(r, "inconclusive", 0, "INCONCLUSIVE: …");
    expect(r, NULL);
    r = refuted();
    states(r, "no-claim", 0, "The leak is at least …");
    assert_int_equal(json_object_del(verdict_of(r), "claim"), 0);
    expect(r, NULL);
    r = refuted();
    assert_int_equal(json_object_del(r, "verdict"), 0); /* an account has none */
    expect(r, NULL);
    /* infinite; all members of a family rejected; a posterior where that was to decide */
    r = refuted();
    assert_int_equal(json_object_set_new(row_of(r), "epsilon_lower", json_null()), 0);
    set_flag(row_of(r), "epsilon_lower_infinite", 1);
    expect(r, NULL);
    r = refuted();
    set_number(row_of(r), "epsilon_lower", 0);
    set_flag(verdict_of(r), "all_rejected", 1);
    expect(r, NULL);
    r = refuted();
    set(row_of(r), "guarantee", "posterior");
    set(verdict_of(r), "decided_by", "posterior");
    expect(r, NULL);
    static const char *const others[] = {"estimate", "optimistic", "posterior"};
    for (size_t i = 0; i < 3; ++i) {
        r = refuted();
        json_t *shown = json_deep_copy(row_of(r));
        set(shown, "role", "shown");
        set(shown, "guarantee", others[i]);
        assert_int_equal(json_array_append_new(json_object_get(r, "results"), shown), 0);
        expect(r, NULL);
    }
}

static void verdicts_that_contradict_themselves(void **state) {
    (void)state;
    json_t *r = refuted();
    set(verdict_of(r), "state", "perhaps");
    expect(r, "the state of its verdict is unknown");
    r = refuted();
    set_flag(verdict_of(r), "refuted", 0);
    expect(r, "`refuted` is not what the state says");
    r = refuted();
    set(verdict_of(r), "refuted", "yes");
    expect(r, "`refuted` is not what the state says");
    r = refuted();
    states(r, "not-refuted", 1, "Not refuted: …");
    expect(r, "`refuted` is not what the state says");
    static const char *const state_names[] = {"refuted", "not-refuted", "inconclusive"};
    static const char *const begins[] = {"REFUTED: …", "Not refuted: …", "INCONCLUSIVE …"};
    for (size_t i = 0; i < 3; ++i)
        for (size_t k = 0; k < 3; ++k) {
            if (i == k) continue;
            r = refuted();
            states(r, state_names[i], i == 0, begins[k]);
            expect(r, "the headline is not what the state says");
        }
    r = refuted();
    states(r, "no-claim", 0, "The leak is …");
    expect(r, "the claim is not what the state says");
    r = refuted();
    assert_int_equal(json_object_del(verdict_of(r), "claim"), 0);
    expect(r, "the claim is not what the state says");
}

static void rows_that_contradict_the_verdict(void **state) {
    (void)state;
    static const char none[] = "it says refuted, and no deciding bound exceeds the claim";
    static const char *const words[][3] = {
        {"role", "shown", none},
        {"role", "decisive", "a result has no role"},
        {"guarantee", "posterior", none},
        {"guarantee", "estimate", none},
        {"guarantee", "certain", "a result has no guarantee"},
        {"scope", "step", none},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        json_t *r = refuted();
        set(row_of(r), words[i][0], words[i][1]);
        expect(r, words[i][2]);
    }
    json_t *r = refuted();
    set_number(row_of(r), "epsilon_lower", 1);
    expect(r, none);
    r = refuted();
    assert_int_equal(json_array_clear(json_object_get(r, "results")), 0);
    expect(r, none);
    /* an assumption that is contradicted, or an obstacle, lets nothing be refuted */
    r = refuted();
    assert_int_equal(
        json_array_append_new(json_object_get(verdict_of(r), "contradicted"), json_string("coins")),
        0);
    expect(r, none);
    r = refuted();
    set(verdict_of(r), "obstacle", "the rounds are not known");
    expect(r, none);
    r = refuted();
    states(r, "not-refuted", 0, "Not refuted: …");
    expect(r, "it says not refuted, and the deciding bound exceeds the claim");
}

static void other_files_and_changes(void **state) {
    (void)state;
    dpa_error err = {0};
    json_t *r = refuted();
    assert_int_equal(dpa__result_check("a.json", r, &err), DPA_BAD_INPUT); /* no seal */
    assert_string_equal(err.text, "changed since it was written: its sha256 does not fit");
    assert_ok(dpa__result_seal(r, &err));
    assert_ok(dpa__result_seal(r, &err)); /* the seal is not part of what it seals */
    assert_ok(dpa__result_check("a.json", r, &err));
    set_number(row_of(r), "epsilon_lower", 2.6);
    assert_int_equal(dpa__result_check("a.json", r, &err), DPA_BAD_INPUT);
    assert_string_equal(err.text, "changed since it was written: its sha256 does not fit");
    static const char *const needed[] = {"dpaudit", "command"};
    for (size_t i = 0; i < 2; ++i) {
        json_t *other = json_deep_copy(r);
        assert_int_equal(json_object_set_new(other, needed[i], json_integer(1)), 0);
        assert_ok(dpa__result_seal(other, &err));
        assert_int_equal(dpa__result_check("a.json", other, &err), DPA_BAD_INPUT);
        assert_non_null(strstr(err.text, "not a result of dpaudit"));
        json_decref(other);
    }
    json_decref(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_judge_writes),
        cmocka_unit_test(verdicts_that_contradict_themselves),
        cmocka_unit_test(rows_that_contradict_the_verdict),
        cmocka_unit_test(other_files_and_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
