/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging one run: canaries that are in or out by a coin, or have one of K options each. The
 * evidence is two lists of scores, guesses with their confidence, or counts alone (an array
 * `guess_counts`: canaries, guesses, correct). Also the report on the idealised game. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "evidence/guesses.h"
#include "judge/case.h"
#include "report/model/model.h"
#include "report/model/value.h"

enum { GRID_SIZE = 32 };

/* One run, evaluated with one or several guess counts. */
typedef struct one_run_games {
    dpa_one_run *items;
    size_t count;
    dpa_guess_choice choice;
} one_run_games;

/* Families and methods that are shown if none is named. */
static const char *const usual[][2] = {{"dp", "either"},          {"dp", "steinke"},
                                       {"dp", "recursion"},       {"gaussian", "recursion"},
                                       {"gaussian", "pointwise"}, {"laplace", "recursion"}};

/* The bound for one family and method. */
static dpa_status one_run_row(const one_run_games *games, const dpa_request *request,
                              const char *family, const char *method, dpa_result *out,
                              dpa_error *err) {
    dpa_request one = *request;
    (void)snprintf(one.family, sizeof one.family, "%s", family);
    (void)snprintf(one.method, sizeof one.method, "%s", method);
    return dpa__one_run_bound(games->items, games->count, games->choice, &one, out, err);
}

/* ── the games that are looked at ────────────────────────────────────────────────────── */

/* Coins of a known rate r > ½ are made fair by dropping each member with probability 1 − (1−r)/r,
 * whatever its score. The dropped ones are certainly in. Given who was dropped, the coins of the
 * others are fair and independent, and the training keeps its promise about each of them, so every
 * test for fair coins applies to them. For r < ½ non-members are dropped instead. */
static dpa_status thin(dpa__case *c, dpa_named_array *often, double keep, dpa_error *err) {
    dpa_rng rng;
    size_t kept = 0;
    double *items = DPA_NEW_ARRAY(double, often->count, err);
    if (items == NULL) return DPA_NO_MEMORY;
    dpa__rng_init(&rng, c->protocol.request.seed, DPA_PURPOSE_MEMBERSHIP, 0);
    for (size_t i = 0; i < often->count; ++i)
        if (dpa__rng_uniform(&rng) < keep) items[kept++] = often->items[i];
    const size_t dropped = often->count - kept;
    often->items = items;
    often->count = kept;
    return dpa__report_note(
        c->report, err,
        "The inclusion rate is %g: %zu canaries, drawn at random, are left out, "
        "so that the coins of the others are fair.",
        c->evidence->inclusion_rate, dropped);
}

static dpa_status rank_members(dpa__case *c, dpa_guesses *out, dpa_lints *lints, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    const dpa_named_array *found[2] = {dpa__evidence_find(e, "members"),
                                       dpa__evidence_find(e, "nonmembers")};
    const double r = e->inclusion_rate;
    if (found[0] == NULL || found[1] == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "one run: members and nonmembers are needed");
    if (!(r > 0 && r < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "inclusion-rate: must be between 0 and 1, not %g",
                         r);
    dpa_named_array side[2] = {*found[0], *found[1]};
    const int often = r > 0.5 ? 0 : 1;
    dpa_status status = DPA_OK;
    if (r != 0.5) status = thin(c, &side[often], fmin(r, 1 - r) / fmax(r, 1 - r), err);
    if (status == DPA_OK)
        status = dpa__guesses_from_pair(side[0].items, side[0].count, side[1].items, side[1].count,
                                        (dpa_guess_side)e->side, out, lints, err);
    if (side[often].items != found[often]->items) free(side[often].items);
    return status;
}

static dpa_status rank_guesses(const dpa_evidence *e, dpa_guesses *out, dpa_lints *lints,
                               dpa_error *err) {
    const dpa_named_array *score = dpa__evidence_find(e, "score");
    const dpa_named_array *correct = dpa__evidence_find(e, "correct");
    if (score == NULL || correct == NULL || score->count != correct->count)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "one run: score and correct are needed, alike in length");
    uint8_t *right = DPA_NEW_ARRAY(uint8_t, correct->count, err);
    if (right == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < correct->count; ++i) right[i] = correct->items[i] != 0.0;
    const dpa_status status =
        dpa__guesses_from_confidence(score->items, right, score->count, out, lints, err);
    free(right);
    return status;
}

static dpa_guess_choice choice_of(const char *guesses) {
    if (guesses[0] == '\0' || guesses[0] == 'a') return DPA_GUESSES_AUTO;
    return guesses[0] == 'm' ? DPA_GUESSES_MAX : DPA_GUESSES_FIXED;
}

/* The games of a ranked run, depending on how the number of guesses is chosen. */
static dpa_status choose_games(const dpa__case *c, const dpa_guesses *ranked,
                               dpa_guess_choice choice, one_run_games *out, dpa_error *err) {
    const uint64_t fixed = strtoull(c->protocol.guesses, NULL, 10);
    uint64_t grid[GRID_SIZE];
    size_t count = 1;
    out->choice = choice;
    if (choice == DPA_GUESSES_AUTO) count = dpa__one_run_grid(ranked->canaries, grid, GRID_SIZE);
    if (choice == DPA_GUESSES_MAX) count = (size_t)ranked->canaries;
    if (choice == DPA_GUESSES_FIXED && fixed > ranked->canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "guesses: %" PRIu64 ", but there are %" PRIu64 " canaries", fixed,
                         ranked->canaries);
    out->items = DPA_NEW_ARRAY(dpa_one_run, count, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = count;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t guesses = choice == DPA_GUESSES_FIXED  ? fixed
                                 : choice == DPA_GUESSES_AUTO ? grid[i]
                                                              : (uint64_t)i + 1;
        out->items[i] = (dpa_one_run){ranked->canaries, c->evidence->options, guesses,
                                      ranked->correct[guesses]};
    }
    return DPA_OK;
}

static dpa_status single_game(const dpa__case *c, const dpa_named_array *counts, one_run_games *out,
                              dpa_error *err) {
    out->items = DPA_NEW(dpa_one_run, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->items[0] = (dpa_one_run){(uint64_t)counts->items[0], c->evidence->options,
                                  (uint64_t)counts->items[1], (uint64_t)counts->items[2]};
    out->count = 1;
    out->choice = DPA_GUESSES_FIXED;
    return DPA_OK;
}

/* ── independent channels ────────────────────────────────────────────────────────────── */

/* One run whose canaries have independent channels (docs/methods/one-run-channels.md): ranks or the
 * scan instead of guesses, and the check of the noise that they rely on. */

/* The bound of one family from the scores. */
static dpa_status channels_row(const dpa__case *c, const dpa_request *request, const char *family,
                               dpa_result *out, dpa_error *err) {
    const dpa_named_array *in = dpa__evidence_find(c->evidence, "members");
    const dpa_named_array *none = dpa__evidence_find(c->evidence, "nonmembers");
    dpa_request one = *request;
    dpa_scores scores;
    dpa_lints lints = {0};
    if (in == NULL || none == NULL || c->evidence->options != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "method channels: needs the scores of members and of non-members");
    (void)snprintf(one.family, sizeof one.family, "%s", family);
    one.method[0] = one.select[0] = '\0';
    DPA_TRY(dpa__scores_from(in->items, in->count, none->items, none->count, &scores, err));
    dpa_status status = dpa__scores_prepare_here(&scores, &lints, err);
    if (status == DPA_OK) status = dpa__one_run_channels(&scores, &one, out, err);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
    if (status != DPA_OK) return status;
    (void)snprintf(out->method, sizeof out->method, "%s", DPA__CHANNELS);
    return DPA_OK;
}

static dpa_status find_noise(const dpa__case *c, dpa_named_array *out, dpa_error *err) {
    const dpa_named_array *noise = dpa__evidence_find(c->evidence, "null_noise");
    const dpa_named_array *steps = dpa__evidence_find(c->evidence, "null_steps");
    *out = (dpa_named_array){.count = 0};
    if (noise == NULL) return DPA_OK;
    *out = *noise;
    if (noise->rows == 0 && steps != NULL && steps->count == 1 && steps->items[0] >= 1 &&
        steps->items[0] <= (double)noise->count)
        out->rows = (size_t)steps->items[0];
    if (out->rows > 0 && out->count % out->rows == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "null_noise: a matrix is needed, steps by coordinates");
}

/* Replaces channels by recursion in the list of deciding methods. */
static void fall_back(dpa__test *t) {
    char name[DPA_NAME_SIZE], list[DPA_NAME_SIZE] = "";
    size_t used = 0;
    for (size_t m = 0; dpa__list_item(t->method, m, name, sizeof name) && used < sizeof list; ++m)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", m > 0 ? "+" : "",
                                 dpa__registry_is_channels(name) ? "recursion" : name);
    (void)snprintf(t->method, sizeof t->method, "%s", list);
}

static int decides(const dpa__test *t) {
    char name[DPA_NAME_SIZE];
    for (size_t m = 0; dpa__list_item(t->method, m, name, sizeof name); ++m)
        if (dpa__registry_is_channels(name)) return 1;
    return 0;
}

/* Whether coordinates without a canary contradict independence (evidence `null_noise`). */
static dpa_status check_channels(dpa__case *c, dpa_error *err) {
    dpa_named_array noise;
    dpa_channels_check check;
    if (!decides(&c->test)) return DPA_OK;
    DPA_TRY(find_noise(c, &noise, err));
    if (noise.count == 0)
        return dpa__report_say(
            c->report, err,
            "Nothing says whether the noise is independent from canary to canary: "
            "give coordinates that no canary touched (null_noise; a game watches them by "
            "null-coordinates).");
    DPA_TRY(dpa__one_run_channels_check(noise.items, noise.rows, noise.count / noise.rows, &check,
                                        err));
    DPA_TRY(dpa__report_fact(c->report, "noise_correlation_p", check.correlation_p, err));
    DPA_TRY(dpa__report_fact(c->report, "noise_energy_p", check.energy_p, err));
    if (!check.is_refuted) return DPA_OK;
    fall_back(&c->test);
    return dpa__report_say(c->report, err,
                           "The noise of coordinates without a canary %s: channels are not "
                           "independent, and guesses decide in their place (method recursion).",
                           check.correlation_p < check.energy_p
                               ? "is correlated from one to the next"
                               : "changes its scale from step to step");
}

/* ── rows ────────────────────────────────────────────────────────────────────────────── */

static dpa_status add_row(dpa__case *c, const one_run_games *games, const char *family,
                          const char *method, double confidence, dpa_role role, dpa_error *err) {
    dpa_request request = c->protocol.request;
    dpa_result result;
    request.claim_epsilon = c->promise.epsilon;
    request.claim_delta = NAN;
    request.confidence = confidence;
    if (dpa__registry_is_channels(method))
        DPA_TRY(channels_row(c, &request, family, &result, err));
    else
        DPA_TRY(one_run_row(games, &request, family, method, &result, err));
    result.confidence = c->protocol.request.confidence;
    return dpa__case_add(c, &result, role, err);
}

static dpa_status decide(dpa__case *c, const one_run_games *games, dpa_error *err) {
    const dpa__test *t = &c->test;
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const double confidence = dpa__shared_confidence(c->protocol.request.confidence, t->count);
    for (size_t f = 0; dpa__list_item(t->family, f, family, sizeof family); ++f)
        for (size_t m = 0; dpa__list_item(t->method, m, method, sizeof method); ++m)
            DPA_TRY(add_row(c, games, family, method, confidence, DPA_PRIMARY, err));
    return DPA_OK;
}

/* Shown beside the test: other families, other methods, and the pointwise baseline if it was asked
 * for. */
static dpa_status show(dpa__case *c, const one_run_games *games, dpa_error *err) {
    const dpa_request *r = &c->protocol.request;
    const uint64_t options = games->items[0].options;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; ++i) {
        const int is_pointwise = i == 4, is_recursion = i == 2 || i == 3 || i == 5;
        if (options != 2 && !is_recursion) continue;
        if (is_pointwise && !c->protocol.pointwise && !c->protocol.all) continue;
        if (!dpa__list_asks(r->family, usual[i][0])) continue;
        if (!dpa__list_asks(r->method, usual[i][1]) && !is_pointwise) continue;
        if (r->family[0] != '\0' && !is_pointwise && !c->protocol.all) continue;
        if (dpa__has_row(c->report, usual[i][0], usual[i][1], NULL)) continue;
        DPA_TRY(add_row(c, games, usual[i][0], usual[i][1], r->confidence, DPA_SHOWN, err));
    }
    return DPA_OK;
}

/* The best number of guesses, chosen after looking: shown but never deciding; the deciding test
 * keeps its grid. */
static dpa_status show_max(dpa__case *c, const dpa_guesses *ranked, dpa_error *err) {
    one_run_games games = {0};
    DPA_TRY(choose_games(c, ranked, DPA_GUESSES_MAX, &games, err));
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    (void)dpa__list_item(c->test.family, 0, family, sizeof family);
    (void)dpa__list_item(c->test.method, 0, method, sizeof method);
    const dpa_status status =
        add_row(c, &games, family, method, c->protocol.request.confidence, DPA_SHOWN, err);
    free(games.items);
    return status;
}

/* ── facts ───────────────────────────────────────────────────────────────────────────── */

static dpa_status say_grid(dpa_report *report, const one_run_games *games, dpa_error *err) {
    json_t *grid = json_array();
    char line[512];
    size_t length = 0;
    DPA_TRY(dpa__json_set(report->sections, "guess_grid", grid, err));
    line[0] = '\0';
    for (size_t i = 0; i < games->count; ++i) {
        const unsigned long long guesses = games->items[i].guesses;
        DPA_TRY(dpa__json_append(grid, json_integer((json_int_t)guesses), err));
        if (length < sizeof line)
            length += (size_t)snprintf(line + length, sizeof line - length, "%s%llu",
                                       i > 0 ? ", " : "", guesses);
    }
    return dpa__report_say(report, err,
                           "The error is split evenly over %zu numbers of guesses: %s.",
                           games->count, line);
}

static dpa_status put_facts(dpa__case *c, int is_ranked, const one_run_games *games,
                            dpa_error *err) {
    const dpa_one_run *game = &games->items[0];
    DPA_TRY(dpa__report_evidence(c->report, is_ranked ? "guesses" : "guess-counts", err));
    DPA_TRY(dpa__report_fact(c->report, "canaries", (double)game->canaries, err));
    DPA_TRY(dpa__report_fact(c->report, "options", (double)game->options, err));
    if (games->count == 1) {
        DPA_TRY(dpa__report_fact(c->report, "guesses", (double)game->guesses, err));
        DPA_TRY(dpa__report_fact(c->report, "correct", (double)game->correct, err));
    }
    const int is_guessed = !dpa__registry_is_channels(c->test.method);
    return is_guessed && games->choice == DPA_GUESSES_AUTO ? say_grid(c->report, games, err)
                                                           : DPA_OK;
}

/* ── the bound against the number of guesses ─────────────────────────────────────────── */

/* The bound against the number of guesses, at up to eight counts per octave. For looking only:
 * picking the best of them is what `max` does. */
static const double RATIO = 1.0905077326652577; /* 2^(1/8) */

static dpa_status put_point(json_t *curve, const dpa_one_run *game, const dpa_request *request,
                            dpa_error *err) {
    dpa_result result;
    DPA_TRY(dpa__one_run_bound(game, 1, DPA_GUESSES_FIXED, request, &result, err));
    return DPA__JSON_ADD(curve, err, {"family", .text = result.family},
                         {"method", .text = result.method}, {"guesses", (double)game->guesses},
                         {"correct", (double)game->correct},
                         {"epsilon_lower", result.epsilon_lower});
}

static dpa_status put_family(json_t *curve, const dpa_guesses *ranked, uint64_t options,
                             const dpa_request *request, dpa_error *err) {
    for (double g = fmin(8.0, (double)ranked->canaries);; g = fmax(g + 1.0, floor(g * RATIO))) {
        const uint64_t guesses = g < (double)ranked->canaries ? (uint64_t)g : ranked->canaries;
        const dpa_one_run game = {ranked->canaries, options, guesses, ranked->correct[guesses]};
        DPA_TRY(put_point(curve, &game, request, err));
        if (guesses == ranked->canaries) return DPA_OK;
    }
}

/* Section `guesses_curve`: rows {family, method, guesses, correct, epsilon_lower}, each as if only
 * that number of guesses had been fixed before. */
static dpa_status put_curve(dpa_report *report, const dpa_guesses *ranked, uint64_t options,
                            const dpa_request *request, dpa_error *err) {
    static const char *const families[] = {"dp", "gaussian"};
    dpa_request one = *request;
    json_t *curve = json_array();
    DPA_TRY(dpa__json_set(report->sections, "guesses_curve", curve, err));
    one.claim_epsilon = NAN;
    /* channels are no guesses, and of several methods none is the one to draw: guesses, as usual */
    if (dpa__registry_is_channels(one.method) || dpa__list_count(one.method) > 1)
        one.method[0] = '\0';
    for (size_t i = 0; request->family[0] != '\0'; ++i) {
        if (!dpa__list_item(request->family, i, one.family, sizeof one.family)) return DPA_OK;
        /* composing every member would take minutes, too long for a picture */
        if (dpa__family_is_composed(one.family)) continue;
        DPA_TRY(put_family(curve, ranked, options, &one, err));
    }
    one.method[0] = '\0';
    for (size_t i = 0; i < 2; ++i) {
        (void)snprintf(one.family, sizeof one.family, "%s", families[i]);
        DPA_TRY(put_family(curve, ranked, options, &one, err));
    }
    return DPA_OK;
}

/* ── all of it ───────────────────────────────────────────────────────────────────────── */

static dpa_status fill(dpa__case *c, const dpa_guesses *ranked, const one_run_games *games,
                       const dpa_lints *lints, dpa_error *err) {
    const double m = (double)games->items[0].canaries;
    DPA_TRY(check_channels(c, err));
    DPA_TRY(put_facts(c, ranked != NULL, games, err));
    DPA_TRY(decide(c, games, err));
    if (ranked != NULL && choice_of(c->protocol.guesses) == DPA_GUESSES_MAX)
        DPA_TRY(show_max(c, ranked, err));
    DPA_TRY(show(c, games, err));
    DPA_TRY(dpa__doubts(c, lints, err));
    DPA_TRY(dpa__power_state(c, 0.5 * m, 0.5 * m, err));
    if (ranked == NULL || c->protocol.plain) return DPA_OK;
    dpa_request request = c->protocol.request;
    return put_curve(c->report, ranked, c->evidence->options, &request, err);
}

static dpa_status judge_ranked(dpa__case *c, dpa_lints *lints, dpa_error *err) {
    dpa_guesses ranked = {0};
    one_run_games games = {0};
    const dpa_guess_choice asked = choice_of(c->protocol.guesses);
    dpa_status status = c->evidence->kind == DPA_EVIDENCE_GUESSES
                            ? rank_guesses(c->evidence, &ranked, lints, err)
                            : rank_members(c, &ranked, lints, err);
    if (status == DPA_OK)
        status = choose_games(c, &ranked, asked == DPA_GUESSES_MAX ? DPA_GUESSES_AUTO : asked,
                              &games, err);
    if (status == DPA_OK) status = fill(c, &ranked, &games, lints, err);
    free(games.items);
    dpa__guesses_free(&ranked);
    return status;
}

dpa_status dpa__judge_one_run(dpa__case *c, dpa_error *err) {
    if (c->evidence->kind == DPA_EVIDENCE_GUESSES && c->evidence->inclusion_rate != 0.5)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "inclusion-rate: needs the scores of members and non-members; guesses do "
                         "not say who was in");
    const dpa_named_array *counts = dpa__evidence_find(c->evidence, "guess_counts");
    dpa_lints lints = {0};
    dpa_status status;
    if (counts == NULL || counts->count != 3) {
        status = judge_ranked(c, &lints, err);
    } else {
        one_run_games games = {0};
        status = single_game(c, counts, &games, err);
        if (status == DPA_OK) status = fill(c, NULL, &games, &lints, err);
        free(games.items);
    }
    dpa__lints_free(&lints);
    return status;
}

/* ── the idealised game ──────────────────────────────────────────────────────────────── */

/* The idealised one-run game as a report: a plan, not an audit. Its rows are what an audit of a
 * mechanism with exactly this noise would show when the attack gets its expected number right,
 * rounded down. */
static dpa_status games_of(const dpa_ideal *ideal, uint64_t guesses, one_run_games *out,
                           dpa_error *err) {
    double expected;
    out->choice = DPA_GUESSES_MAX;
    if (guesses == 0) return dpa__ideal_games(ideal, &out->items, &out->count, err);
    DPA_TRY(dpa__ideal_expected(ideal, guesses, &expected, err));
    out->choice = DPA_GUESSES_FIXED;
    out->items = DPA_NEW(dpa_one_run, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = 1;
    out->items[0] =
        (dpa_one_run){ideal->canaries, ideal->options, guesses, (uint64_t)floor(expected)};
    return DPA_OK;
}

static dpa_status put_played(dpa_report *report, const dpa_ideal *ideal, uint64_t guesses,
                             uint64_t repeats, json_t *row, dpa_error *err) {
    double mean, deviation;
    DPA_TRY(
        dpa__ideal_simulate(ideal, guesses, repeats, report->request.seed, &mean, &deviation, err));
    DPA_TRY(
        DPA__JSON_FILL(row, err, {"simulated_correct", mean}, {"simulated_deviation", deviation}));
    return dpa__report_say(report, err, "  %-21s %.3f right on average, deviation %.3f", "  played",
                           mean, deviation);
}

/* One bound, its number of guesses, and how many of them are right: expected exactly, and
 * simulated. */
static dpa_status put_ideal_row(dpa_report *report, const dpa_ideal *ideal,
                                const dpa_result *result, uint64_t repeats, json_t *rows,
                                dpa_error *err) {
    const double guesses = dpa__result_extra(result, "guesses"),
                 correct = dpa__result_extra(result, "correct");
    double expected, by_rank;
    char label[DPA_NAME_SIZE + DPA_FAMILY_SIZE + 2];
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(DPA__JSON_FILL(row, err, {"family", .text = result->family},
                           {"method", .text = result->method}, {"guesses", guesses},
                           {"correct", correct}));
    DPA_TRY(dpa__ideal_expected(ideal, (uint64_t)guesses, &expected, err));
    DPA_TRY(dpa__json_put(row, "expected_correct", expected, err));
    if (ideal->options == 2) {
        DPA_TRY(dpa__ideal_ranked(ideal, (uint64_t)guesses, &by_rank, err));
        DPA_TRY(dpa__json_put(row, "expected_correct_by_rank", by_rank, err));
    }
    DPA_TRY(dpa__json_put(row, "epsilon_lower", result->epsilon_lower, err));
    (void)snprintf(label, sizeof label, "%s, %s", result->family, result->method);
    DPA_TRY(dpa__report_say(report, err, "  %-22s ε ≥ %.6f with %.0f of %.0f right (expected %.2f)",
                            label, result->epsilon_lower, correct, guesses, expected));
    return repeats == 0 ? DPA_OK : put_played(report, ideal, (uint64_t)guesses, repeats, row, err);
}

/* One family and method, or the usual ones. */
static dpa_status add_bounds(dpa_report *bounds, const one_run_games *games,
                             const dpa_request *request, int pointwise, dpa_error *err) {
    const int two = games->items[0].options == 2;
    const int wanted[] = {two, two, !two, 1, two && pointwise, 1};
    dpa_result result;
    if (request->family[0] != '\0' || request->method[0] != '\0') {
        DPA_TRY(one_run_row(games, request, request->family, request->method, &result, err));
        return dpa__report_add(bounds, &result, err);
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; ++i) {
        if (!wanted[i]) continue;
        DPA_TRY(one_run_row(games, request, usual[i][0], usual[i][1], &result, err));
        DPA_TRY(dpa__report_add(bounds, &result, err));
    }
    return DPA_OK;
}

/* The bounds are computed in a separate report, because they belong to a run that never happened
 * and must not appear among results. */
static dpa_status put_ideal_rows(dpa_report *report, const dpa_report *bounds,
                                 const dpa_ideal *ideal, uint64_t repeats, json_t *section,
                                 dpa_error *err) {
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(section, "rows", rows, err));
    for (size_t i = 0; i < dpa_report_count(bounds); ++i)
        DPA_TRY(put_ideal_row(report, ideal, dpa_report_result(bounds, i), repeats, rows, err));
    return DPA_OK;
}

static dpa_status fill_ideal(dpa_report *report, const dpa_ideal *ideal, const one_run_games *games,
                             uint64_t repeats, int pointwise, dpa_error *err) {
    const dpa_request *request = &report->request;
    const double theory = dpa_gaussian_epsilon(1.0 / ideal->sigma, request->delta);
    json_t *section = json_object();
    DPA_TRY(dpa__json_set(report->sections, "ideal", section, err));
    DPA_TRY(DPA__JSON_FILL(section, err, {"sigma", ideal->sigma},
                           {"canaries", (double)ideal->canaries},
                           {"options", (double)ideal->options}, {"confidence", request->confidence},
                           {"true_epsilon", theory}));
    DPA_TRY(dpa__report_say(report, err,
                            "Idealised game: %.0f canaries, %.0f options each, σ = %g, δ = %g, "
                            "confidence %s",
                            (double)ideal->canaries, (double)ideal->options, ideal->sigma,
                            request->delta, dpa__percent_of(request->confidence).text));
    DPA_TRY(dpa__report_say(report, err, "Expected, not observed: nothing was audited."));
    DPA_TRY(dpa__report_say(report, err, "  %-22s ε = %.6f", "the mechanism itself", theory));
    dpa_report *bounds = NULL;
    DPA_TRY(dpa__report_new("one-run", request, &bounds, err));
    dpa_status status = add_bounds(bounds, games, request, pointwise, err);
    if (status == DPA_OK) status = put_ideal_rows(report, bounds, ideal, repeats, section, err);
    dpa_report_free(bounds);
    return status;
}

dpa_status dpa__audit_ideal(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                            const dpa_request *request, int pointwise, dpa_report **out,
                            dpa_error *err) {
    one_run_games games = {0};
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(dpa__request_check(request, err));
    if (ideal->canaries < 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canaries: an idealised game needs at least 2");
    DPA_TRY(games_of(ideal, guesses, &games, err));
    dpa_status status = dpa__report_new("one-run", request, &report, err);
    if (status == DPA_OK) status = fill_ideal(report, ideal, &games, repeats, pointwise, err);
    free(games.items);
    return dpa__report_end(report, status, out);
}
