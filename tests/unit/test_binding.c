/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What bindings rely on: queries by name, errors, and the progress that is a flag. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "dpaudit/evidence.h"
#include "dpaudit/judge.h"
#include "report/binding.h"
#include "report/model/model.h"
#include "report/model/report.h"

static void queries(void **state) {
    (void)state;
    dpa_error err;
    dpa_plan_query *plan = NULL;
    assert_ok(dpa__query_new("plan", (void **)&plan, &err));
    assert_true(plan->most == 20000 && isnan(plan->truth_epsilon));
    assert_ok(dpa__query_set("plan", plan, "leak", "2.5", &err));
    assert_ok(dpa__query_set("plan", plan, "steps", "18446744073709551615", &err));
    assert_ok(dpa__query_set("plan", plan, "game", "one-run", &err));
    assert_true(plan->truth_epsilon == 2.5 && plan->steps == UINT64_MAX);
    assert_string_equal(plan->game, "one-run");
    dpa__query_free("plan", plan);

    dpa_leak_opts *attack = NULL;
    assert_ok(dpa__query_new("attack", (void **)&attack, &err));
    assert_int_equal(attack->attack, DPA_ATTACK_LIRA);
    assert_ok(dpa__query_set("attack", attack, "by", "quantile", &err));
    assert_ok(dpa__query_set("attack", attack, "variance", "pooled", &err));
    assert_ok(dpa__query_set("attack", attack, "offline", "1", &err));
    assert_true(attack->attack == DPA_ATTACK_QUANTILE && attack->how.offline == 1);
    assert_int_equal(attack->how.variance, DPA_VARIANCE_POOLED);
    dpa__query_free("attack", attack);
    dpa__query_free("losses", NULL);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } wrong[] = {
        {"nothing", "1", "no option is called 'nothing'"},
        {"", "1", "no option is called ''"},
        {"delta", "x", "delta: 'x' is not a number"},
        {"delta", "nan", "delta: 'nan' is not a number"},
        {"delta", NULL, "delta: needs a value"},
        {"group", "-1", "group: '-1' is not a whole number from 0 to 2^64-1"},
        {"group", "4294967296", "group: at most 4294967295, not 4294967296"},
        {"points", "18446744073709551616", "is not a whole number"},
        {"adjacency", "add", "adjacency: 'add' is none of add-remove|replace-one"},
        {"adjacency", "add-remove|replace-one", "is none of"},
        {"adjacency", "", "is none of"},
    };
    dpa_error err;
    void *query = NULL;
    assert_int_equal(dpa__query_new("nothing", &query, &err), DPA_BAD_ARGUMENT);
    assert_null(query);
    assert_ok(dpa__query_new("account", &query, &err));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        assert_int_equal(dpa__query_set("account", query, wrong[i].key, wrong[i].value, &err),
                         DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, wrong[i].says));
    }
    assert_int_equal(dpa__query_set("nothing", query, "delta", "0", &err), DPA_BAD_ARGUMENT);
    assert_true(((dpa_account_query *)query)->opts.delta == 1e-5);
    dpa__query_free("account", query);
}

static void phases(void **state) {
    (void)state;
    dpa_error err;
    dpa_account_query *query = NULL;
    dpa_account *account = NULL;
    const double delta[2] = {1e-5, 1e-6};
    double lower[2], upper[2];
    assert_ok(dpa__query_new("account", (void **)&query, &err));
    assert_ok(dpa__account_query_phase(query, DPA_GAUSSIAN, 2, 1, 3, NULL, &err));
    assert_ok(dpa__account_query_phase(query, DPA_GAUSSIAN, 2, 1, 1, NULL, &err));
    assert_int_equal(query->count, 2);
    assert_ok(dpa__account_open(query, &account, &err));
    dpa__query_free("account", query);
    assert_ok(dpa__account_ask(account, "epsilon", delta, 2, lower, upper, &err));
    /* four steps of σ = 2 are one of σ = 1 */
    assert_true(lower[0] <= 4.3771781 && upper[0] >= 4.3771780 && lower[1] > upper[0]);
    assert_ok(dpa__account_ask(account, "fnr", delta, 2, lower, upper, &err));
    assert_true(lower[0] <= upper[0] && upper[0] < lower[1]);
    const double epsilon[2] = {4.3771781, 5};
    assert_ok(dpa__account_ask(account, "delta", epsilon, 2, lower, upper, &err));
    assert_true(lower[0] <= 1e-5 && upper[0] > 0.999e-5 && upper[1] < lower[0]);
    dpa_account_free(account);
}

/* Every key reaches the field that it names, and no other query has it. */
static void keys_of_each(void **state) {
    (void)state;
    dpa_error err;
    dpa_canaries_opts *canaries = NULL;
    assert_ok(dpa__query_new("canaries", (void **)&canaries, &err));
    assert_ok(dpa__query_set("canaries", canaries, "count", "7", &err));
    assert_ok(dpa__query_set("canaries", canaries, "unobserved", "8", &err));
    assert_ok(dpa__query_set("canaries", canaries, "direction", "hadamard", &err));
    assert_true(canaries->observed == 7 && canaries->unobserved == 8);
    assert_int_equal(canaries->direction, DPA_DIRECTION_HADAMARD);
    dpa__query_free("canaries", canaries);

    dpa_ideal *ideal = NULL;
    assert_ok(dpa__query_new("ideal", (void **)&ideal, &err));
    assert_true(ideal->sigma == 0 && ideal->canaries == 0 && ideal->options == 0);
    assert_ok(dpa__query_set("ideal", ideal, "sigma", "0.5", &err));
    assert_true(ideal->sigma == 0.5);
    assert_int_equal(dpa__query_set("ideal", ideal, "delta", "0.5", &err), DPA_BAD_ARGUMENT);
    dpa__query_free("ideal", ideal);

    dpa_losses_query *losses = NULL;
    assert_ok(dpa__query_new("losses", (void **)&losses, &err));
    assert_ok(dpa__query_set("losses", losses, "neighbours", "replace-one", &err));
    assert_ok(dpa__query_set("losses", losses, "transform", "quantile", &err));
    assert_ok(dpa__query_set("losses", losses, "group", "site", &err));
    assert_true(losses->opts.replace_one == 1 && losses->opts.mixture.transform == 1);
    assert_string_equal(losses->group, "site");
    dpa__query_free("losses", losses);
}

/* Losses that a caller gives are copied, one model after the other. */
static void losses_of_a_caller(void **state) {
    (void)state;
    dpa_error err;
    dpa_losses_query *query = NULL;
    double train[] = {0.25, 0.5, 0.75}, heldout[] = {1, 2};
    assert_ok(dpa__query_new("losses", (void **)&query, &err));
    assert_ok(dpa__losses_query_add(query, train, 3, heldout, 2, &err));
    assert_ok(dpa__losses_query_add(query, heldout, 2, train, 3, &err));
    train[0] = heldout[0] = -1;
    assert_int_equal(query->count, 2);
    const dpa_losses *first = &query->losses[0], *second = &query->losses[1];
    assert_true(first->train_count == 3 && first->heldout_count == 2);
    assert_true(first->train[0] == 0.25 && first->train[2] == 0.75 && first->heldout[0] == 1);
    assert_true(second->train_count == 2 && second->heldout_count == 3);
    assert_true(second->train[1] == 2 && second->heldout[0] == 0.25);
    /* an audit of them asks whether to stop */
    dpa_request *request = NULL;
    dpa_report *report = NULL;
    dpa_progress *stop = dpa__stop_new();
    assert_non_null(stop);
    assert_ok(dpa__request_new(&request, &err));
    dpa__request_progress(request, stop);
    assert_ok(dpa__query_set("losses", query, "bootstrap", "10", &err));
    assert_ok(dpa__audit_losses(query, request, &report, &err));
    dpa_report_free(report);
    dpa__stop_set(stop);
    assert_int_equal(dpa__audit_losses(query, request, &report, &err), DPA_CANCELLED);
    assert_null(report);
    dpa_free(stop);
    assert_ok(dpa__query_set("losses", query, "goodness", "21", &err));
    assert_int_equal(dpa__audit_losses(query, request, &report, &err), DPA_BAD_ARGUMENT);
    assert_string_equal(err.text, "goodness: at most 20 components");
    dpa__query_free("losses", query);
    assert_ok(dpa__query_new("losses", (void **)&query, &err)); /* of no model */
    assert_int_equal(dpa__audit_losses(query, request, &report, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "at least one model"));
    assert_null(report);
    dpa_free(request);
    dpa__query_free("losses", query);
}

static void arrays(void **state) {
    (void)state;
    dpa_error err;
    const double f64[] = {1, 2, 3};
    dpa_vector *vector = NULL;
    assert_ok(dpa__vector_view(NULL, f64, 3, &vector, &err));
    assert_true(vector->f32 == NULL && vector->f64 == f64 && vector->dim == 3);
    dpa_free(vector);

    double value[6] = {0};
    dpa_features *features = NULL;
    assert_ok(dpa__features_view(2, 3, value, &features, &err));
    assert_true(features->points == 2 && features->count == 3 && features->value == value);

    /* three models, two points; the third has neither */
    double signal[] = {2, -1, -2, 3, -1.5, -2.5};
    uint8_t member[] = {1, 0, 0, 1, 0, 0};
    dpa_signals *signals = NULL, *population = NULL;
    assert_ok(dpa__signals_view(DPA_SIGNAL_LOGIT, 3, 2, 1, signal, member, &signals, &err));
    assert_ok(dpa__signals_view(DPA_SIGNAL_LOGIT, 3, 2, 1, signal, NULL, &population, &err));
    assert_true(signals->models == 3 && signals->points == 2 && population->member == NULL);
    const size_t exclude[] = {1};
    dpa_leak_opts *opts = NULL;
    assert_ok(dpa__query_new("attack", (void **)&opts, &err));
    dpa__attack_data(opts, population, features, features, exclude, 1);
    assert_true(opts->how.population == population && opts->how.exclude == exclude);
    assert_true(opts->how.exclude_count == 1 && opts->how.quantile.features == features);
    assert_true(opts->how.quantile.population_features == features);
    /* a score is what the attack that was named gives: of losses the signal itself */
    double scores[2] = {0};
    dpa__attack_data(opts, NULL, NULL, NULL, NULL, 0);
    assert_ok(dpa__query_set("attack", opts, "by", "loss", &err));
    assert_ok(dpa__query_set("attack", opts, "target", "1", &err));
    assert_ok(dpa__attack_score(opts, signals, scores, &err));
    assert_true(scores[0] == -2 && scores[1] == 3);
    dpa__query_free("attack", opts);
    dpa_free(signals);
    dpa_free(population);
    dpa_free(features);

    dpa_leak *leaks = NULL;
    double row[DPA__LEAK_NUMBERS];
    assert_ok(dpa__leaks_new(2, &leaks, &err));
    leaks[1] = (dpa_leak){.point = 4, .in = 5, .out = 6, .accuracy = 0.75, .epsilon = 2, .gap = 8};
    dpa__leak_row(leaks, 1, row);
    const double wanted[DPA__LEAK_NUMBERS] = {4, 5, 6, 0.75, 2, 8};
    assert_memory_equal(row, wanted, sizeof wanted);
    dpa_free(leaks);
}

/* Who judges through a handle hears the headline and the charts of the page. */
static void judged_by_handle(void **state) {
    (void)state;
    dpa_error err = {0};
    dpa_evidence *evidence = NULL;
    dpa_protocol *protocol = NULL;
    dpa_report *report = NULL;
    double members[400], nonmembers[400];
    for (int i = 0; i < 400; ++i) {
        members[i] = (i * 37 % 400) / 200.0 + 0.5;
        nonmembers[i] = (i * 37 % 400) / 200.0;
    }
    assert_ok(dpa_evidence_new(DPA_EVIDENCE_SCORES, &evidence, &err));
    assert_ok(dpa_evidence_copy(evidence, "members", members, 400, &err));
    assert_ok(dpa_evidence_copy(evidence, "nonmembers", nonmembers, 400, &err));
    assert_ok(dpa_protocol_new(&protocol, &err));
    assert_ok(dpa_protocol_set(protocol, "method", "rank", &err));
    assert_ok(dpa_protocol_set(protocol, "family", "gaussian", &err));
    assert_ok(dpa_judge(evidence, NULL, protocol, &report, &err));
    char *headline = NULL, *charts = NULL;
    assert_ok(dpa_report_headline(report, &headline, &err));
    assert_memory_equal(headline, "The leak is at least", 20);
    assert_ok(dpa__report_charts(report, &charts, &err));
    assert_true(charts[0] == '[' && strstr(charts, "\"bounds\"") != NULL);
    dpa_free(headline);
    dpa_free(charts);
    dpa_report_free(report);
    dpa_free(protocol);
    dpa_evidence_free(evidence);
}

/* What fails leaves no report, whatever was in its place. */
static void refusals_leave_nothing(void **state) {
    (void)state;
    enum { CALLS = 9 };
    static char rest;
    dpa_error err = {0};
    dpa_account_query account;
    dpa_losses_query losses;
    dpa_plan_query plan;
    dpa_request request;
    dpa_evidence *evidence = NULL;
    const dpa_ideal ideal = {.sigma = 1, .canaries = 10, .options = 2};
    dpa__account_query_init(&account);
    dpa__losses_query_init(&losses);
    dpa__plan_query_init(&plan);
    dpa__request_init(&request);
    assert_ok(dpa_evidence_new(DPA_EVIDENCE_COUNTS, &evidence, &err));
    for (int i = 0; i < CALLS; ++i) {
        dpa_report *report = (dpa_report *)(void *)&rest;
        const dpa_status status =
            i == 0   ? dpa__audit_account(&account, &report, &err)
            : i == 1 ? dpa__audit_calibrate(&account, DPA_CALIBRATE_SIGMA, &report, &err)
            : i == 2 ? dpa__audit_renyi(-1, NULL, 1e-5, NAN, &report, &err)
            : i == 3 ? dpa__audit_two_gaussians(0, 1, NAN, 1, 1e-5, &report, &err)
            : i == 4 ? dpa__audit_ideal(&ideal, 11, 0, &request, 0, &report, &err)
            : i == 5 ? dpa__audit_losses(&losses, &request, &report, &err)
            : i == 6 ? dpa__audit_landscape("/nowhere/landscape.csv", &report, &err)
            : i == 7 ? dpa__audit_plan(&plan, &request, &report, &err)
                     : dpa_judge(evidence, NULL, NULL, &report, &err);
        if (status == DPA_OK || report != NULL)
            fail_msg("call %d: %d, %p", i, status, (void *)report);
        assert_true(err.text[0] != '\0');
    }
    dpa_report *none = NULL;
    assert_int_equal(dpa__audit_renyi(0.1, NULL, 1, NAN, &none, &err), DPA_BAD_ARGUMENT);
    assert_string_equal(err.text, "delta is 1; it must be above 0 and below 1");
    dpa__account_query_free(&account);
    dpa__losses_query_free(&losses);
    dpa_evidence_free(evidence);
}

static void flag_stops(void **state) {
    (void)state;
    dpa_progress *stop = dpa__stop_new();
    assert_non_null(stop);
    assert_int_equal(stop->call(stop->user, "x", 1, 2), 0);
    dpa__stop_set(stop);
    assert_int_equal(stop->call(stop->user, "x", 1, 2), 1);
    dpa_free(stop);
}

/* A plan asks whether to stop before each power and each size that it tries. */
static void plans_stop(void **state) {
    (void)state;
    dpa_error err;
    dpa_request *request = NULL;
    dpa_report *report = NULL;
    dpa_progress *stop = dpa__stop_new();
    assert_non_null(stop);
    assert_ok(dpa__request_new(&request, &err));
    dpa__request_progress(request, stop);
    const char *const asks[][3][2] = {{{"half-width", "0.5"}, {"fnr", "0.1"}, {"fpr", "0.1"}},
                                      {{"size", "10"}, {"leak", "4"}, {"game", "runs"}}};
    snprintf(request->family, sizeof request->family, "dp");
    snprintf(request->method, sizeof request->method, "cp");
    for (size_t a = 0; a < 2; ++a) {
        dpa_plan_query *query = NULL;
        assert_ok(dpa__query_new("plan", (void **)&query, &err));
        for (size_t k = 0; k < 3; ++k)
            assert_ok(dpa__query_set("plan", query, asks[a][k][0], asks[a][k][1], &err));
        if (a == 1) request->claim_epsilon = 1;
        assert_ok(dpa__audit_plan(query, request, &report, &err));
        assert_null(report->request.progress.call);
        dpa_report_free(report);
        dpa__stop_set(stop);
        assert_int_equal(dpa__audit_plan(query, request, &report, &err), DPA_CANCELLED);
        assert_null(report);
        dpa_free(stop);
        stop = dpa__stop_new();
        assert_non_null(stop);
        dpa__request_progress(request, stop);
        dpa__query_free("plan", query);
    }
    dpa_free(stop);
    dpa_free(request);
}

static void errors(void **state) {
    (void)state;
    const dpa_error err = {.place = "a.csv:3", .text = "no number"};
    assert_int_equal(dpa__error_size(), sizeof err);
    assert_string_equal(dpa__error_place(&err), "a.csv:3");
    assert_string_equal(dpa__error_text(&err), "no number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries),          cmocka_unit_test(refused),
        cmocka_unit_test(keys_of_each),     cmocka_unit_test(losses_of_a_caller),
        cmocka_unit_test(arrays),           cmocka_unit_test(phases),
        cmocka_unit_test(judged_by_handle), cmocka_unit_test(flag_stops),
        cmocka_unit_test(errors),           cmocka_unit_test(refusals_leave_nothing),
        cmocka_unit_test(plans_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
