/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of estimators: names, flavours, lists of names, what decides if nothing is named, and
 * who refuses which family. */
#include "check.h"

#include "estimate/registry.h"

static dpa_error err;

static void names(void **state) {
    (void)state;
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *e = dpa__estimator_at(i);
        assert_non_null(e);
        const unsigned source = e->what & (DPA_FROM_COUNTS | DPA_FROM_SCORES | DPA_FROM_ORDER |
                                           DPA_FROM_GUESSES | DPA_FROM_COSINES | DPA_FROM_LOSSES);
        assert_true(source != 0);
        assert_true((e->what & (DPA_GIVES_BOUND | DPA_GIVES_ESTIMATE)) != 0);
        const dpa__entry *found = dpa__registry_for(source, e->name, &err);
        assert_ptr_equal(&found->about, e);
        assert_ptr_equal(&dpa__registry_at(i)->about, e);
    }
    assert_null(dpa__estimator_at(dpa__estimator_count()));
    assert_null(dpa__registry_at(dpa__estimator_count()));
    assert_null(dpa__registry_find("none", &err));
    assert_non_null(strstr(err.text, "method: 'none' is none of rank, scan, exact, cp, jeffreys, "
                                     "bayes, katz, adjusted-log, bailey, inverse-sinh, sequential, "
                                     "point"));
    assert_null(strstr(err.text, "steinke"));
    assert_null(dpa__registry_for(DPA_FROM_GUESSES, "cp", &err));
    assert_non_null(strstr(err.text, "'cp' is none of either, steinke, recursion, pointwise, "
                                     "channels"));
    assert_null(dpa__registry_for(DPA_FROM_LOSSES, "cp", &err));
    assert_non_null(strstr(err.text, "binormal, empirical, normal, tail, mixture, simultaneous"));
    assert_null(dpa__registry_for(DPA_FROM_COUNTS, "rank", &err));
    assert_string_equal(err.text,
                        "method rank: needs the scores themselves, not a confusion matrix");
    assert_non_null(dpa__registry_for(DPA_FROM_SCORES, "rank", &err));
    assert_null(dpa__registry_find("ran", &err));
    assert_null(dpa__registry_find("ranks", &err));
    assert_null(dpa__registry_find("", &err));
}

static void flavours(void **state) {
    (void)state;
    assert_string_equal(dpa__registry_find("rank:slope", &err)->about.name, "rank");
    assert_int_equal(dpa__registry_flavour("rank"), 0);
    assert_int_equal(dpa__registry_flavour("rank:auc"), 0);
    assert_int_equal(dpa__registry_flavour("rank:slope"), 1);
    assert_int_equal(dpa__registry_flavour("none:slope"), 0);
    assert_null(dpa__registry_find("rank:steep", &err));
    assert_null(dpa__registry_find("scan:auc", &err)); /* has none */
    assert_null(dpa__registry_find("rank:", &err));
}

static void kinds(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int rank, scan, exact, counts, limits;
    } rows[] = {
        {"rank", 1, 0, 0, 0, 0},  {"rank:slope", 1, 0, 0, 0, 0}, {"scan", 0, 1, 0, 0, 0},
        {"exact", 0, 0, 1, 1, 0}, {"cp", 0, 0, 0, 1, 1},         {"jeffreys", 0, 0, 0, 1, 1},
        {"bayes", 0, 0, 0, 1, 1}, {"katz", 0, 0, 0, 1, 0},       {"point", 0, 0, 0, 1, 0},
        {"none", 0, 0, 0, 0, 0},  {"sequential", 0, 0, 0, 0, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        assert_int_equal(dpa__registry_is_rank(rows[k].name), rows[k].rank);
        assert_int_equal(dpa__registry_is_scan(rows[k].name), rows[k].scan);
        assert_int_equal(dpa__registry_is_exact(rows[k].name), rows[k].exact);
        assert_int_equal(dpa__registry_takes_counts(rows[k].name), rows[k].counts);
        assert_int_equal(dpa__registry_has_limits(rows[k].name), rows[k].limits);
    }
    assert_true(dpa__registry_is_channels("channels") && !dpa__registry_is_channels("channel"));
    assert_true(dpa__entry_has_band(dpa__registry_find("cp", &err)));
    assert_false(dpa__entry_has_band(dpa__registry_find("jeffreys", &err)));
    assert_false(dpa__entry_has_band(dpa__registry_find("katz", &err)));
    assert_string_equal(
        dpa__registry_name(DPA_FROM_GUESSES, 0),
        dpa__registry_for(DPA_FROM_GUESSES, dpa__registry_name(DPA_FROM_GUESSES, 0), &err)
            ->about.name);
    assert_null(dpa__registry_name(DPA_FROM_GUESSES, 1000));
}

/* "gaussian+dp": a file's name may have a plus, unless a family follows it. */
static void lists(void **state) {
    (void)state;
    static const struct {
        const char *list;
        size_t count;
        const char *items[3];
    } rows[] = {
        {"dp", 1, {"dp"}},
        {"dp+gaussian+laplace", 3, {"dp", "gaussian", "laplace"}},
        {"points:a+b.csv", 1, {"points:a+b.csv"}},
        {"points:a+b.csv+dp", 2, {"points:a+b.csv", "dp"}},
        {"points:x+dp.csv", 1, {"points:x+dp.csv"}},
        {"gaussian+pair:a+b", 2, {"gaussian", "pair:a+b"}},
        {"rank:slope+cp", 2, {"rank:slope", "cp"}},
        {"subsampled-gaussian:q=0.1,steps=2+dp", 2, {"subsampled-gaussian:q=0.1,steps=2", "dp"}}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        char item[DPA_FAMILY_SIZE];
        assert_int_equal(dpa__list_count(rows[k].list), rows[k].count);
        for (size_t i = 0; i < rows[k].count; ++i) {
            assert_int_equal(dpa__list_item(rows[k].list, i, item, sizeof item), 1);
            assert_string_equal(item, rows[k].items[i]);
            assert_true(dpa__list_asks(rows[k].list, item));
        }
        assert_int_equal(dpa__list_item(rows[k].list, rows[k].count, item, sizeof item), 0);
        assert_false(dpa__list_asks(rows[k].list, "nothing"));
    }
    assert_true(dpa__list_asks("", "anything")); /* an empty list asks for everything */
    assert_int_equal(dpa__list_count(""), 1);
}

static void defaults(void **state) {
    (void)state;
    assert_string_equal(dpa__registry_default(DPA_FROM_COUNTS, 1, 0, 0, 2), "exact");
    assert_string_equal(dpa__registry_default(DPA_FROM_COUNTS, 0, 1, 1, 2), "cp");
    assert_string_equal(dpa__registry_default(DPA_FROM_SCORES, 1, 0, 0, 2), "scan");
    assert_string_equal(dpa__registry_default(DPA_FROM_SCORES, 0, 1, 0, 2), "scan");
    assert_string_equal(dpa__registry_default(DPA_FROM_SCORES, 0, 0, 1, 2), "rank");
    assert_string_equal(dpa__registry_default(DPA_FROM_GUESSES, 1, 0, 0, 2), "either");
    assert_string_equal(dpa__registry_default(DPA_FROM_GUESSES, 1, 0, 0, 5), "recursion");
    assert_string_equal(dpa__registry_default(DPA_FROM_GUESSES, 0, 0, 0, 2), "recursion");
    assert_string_equal(dpa__registry_threshold(), "cp");
    assert_string_equal(dpa__registry_posterior(), "bayes");
    dpa_request r;
    dpa__request_init(&r);
    static const char *const usual[] = {"dp", "gaussian", "laplace"};
    for (size_t i = 0; i < 3; ++i) assert_string_equal(dpa__request_family(&r, i), usual[i]);
    assert_null(dpa__request_family(&r, 3));
    (void)snprintf(r.family, sizeof r.family, "gaussian");
    assert_string_equal(dpa__request_family(&r, 0), "gaussian");
    assert_null(dpa__request_family(&r, 1));
}

/* Who is planned in which game, in the order of the table. */
static void planned(void **state) {
    (void)state;
    static const char *const want[DPA_PLAN_GAMES] = {
        "rank scan exact cp jeffreys bayes katz adjusted-log bailey inverse-sinh sequential ", NULL,
        "either steinke recursion pointwise channels ",
        "mean mean-and-deviation jeffreys scan jeffreys-split "};
    for (int game = 0; game < DPA_PLAN_GAMES; ++game) {
        char got[400] = "";
        size_t used = 0;
        const dpa__entry *e;
        for (size_t i = 0; (e = dpa__registry_planned((dpa_plan_game)game, i)) != NULL; ++i)
            used += (size_t)snprintf(got + used, sizeof got - used, "%s ", e->about.name);
        if (want[game] != NULL) assert_string_equal(got, want[game]);
    }
}

static const char *refusal(const char *method, unsigned source, dpa__model_kind kind,
                           double delta) {
    const dpa__model model = {.kind = kind};
    return dpa__registry_refusal(dpa__registry_for(source, method, &err), &model, delta);
}

static void refusals(void **state) {
    (void)state;
    assert_null(refusal("cp", DPA_FROM_COUNTS, DPA__MODEL_DP, 1e-5));
    assert_null(refusal("katz", DPA_FROM_COUNTS, DPA__MODEL_DP, 0));
    assert_non_null(strstr(refusal("katz", DPA_FROM_COUNTS, DPA__MODEL_DP, 1e-5), "--delta 0"));
    assert_non_null(
        strstr(refusal("katz", DPA_FROM_COUNTS, DPA__MODEL_CURVES, 0), "family dp only"));
    assert_non_null(strstr(refusal("rank", DPA_FROM_SCORES, DPA__MODEL_DP, 0), "use scan"));
    assert_null(refusal("rank", DPA_FROM_SCORES, DPA__MODEL_CURVES, 0));
    assert_null(refusal("scan", DPA_FROM_SCORES, DPA__MODEL_DP, 0));
    assert_non_null(strstr(refusal("mean", DPA_FROM_COSINES, DPA__MODEL_CURVES, 0), "normal"));
    assert_non_null(strstr(refusal("mean", DPA_FROM_COSINES, DPA__MODEL_DP, 0), "for gaussian"));
    assert_null(refusal("jeffreys", DPA_FROM_COSINES, DPA__MODEL_DP, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names),    cmocka_unit_test(flavours),
                                       cmocka_unit_test(kinds),    cmocka_unit_test(lists),
                                       cmocka_unit_test(defaults), cmocka_unit_test(planned),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
