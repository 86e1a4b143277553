/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging one run: canaries that are in or out by a coin, or have one of K options each. The
 * evidence is two lists of scores, guesses with their confidence, or counts alone (an array
 * `guess_counts`: canaries, guesses, correct). */
#include "judge/one_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "estimate/registry.h"
#include "judge/case.h"

dpa_status dpa__onerun_row(const dpa__onerun_games *games, const dpa_request *request,
                           const char *family, const char *method, dpa_result *out,
                           dpa_error *err) {
    dpa_request one = *request;
    (void)snprintf(one.family, sizeof one.family, "%s", family);
    (void)snprintf(one.method, sizeof one.method, "%s", method);
    return dpa__onerun_bound(games->items, games->count, games->choice, &one, out, err);
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
                               dpa_guess_choice choice, dpa__onerun_games *out, dpa_error *err) {
    const uint64_t fixed = strtoull(c->protocol.guesses, NULL, 10);
    uint64_t grid[DPA__GRID_SIZE];
    size_t count = 1;
    out->choice = choice;
    if (choice == DPA_GUESSES_AUTO)
        count = dpa__onerun_grid(ranked->canaries, grid, DPA__GRID_SIZE);
    if (choice == DPA_GUESSES_MAX) count = (size_t)ranked->canaries;
    if (choice == DPA_GUESSES_FIXED && fixed > ranked->canaries)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "guesses: %" PRIu64 ", but there are %" PRIu64 " canaries", fixed,
                         ranked->canaries);
    out->items = DPA_NEW_ARRAY(dpa_onerun, count, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->count = count;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t guesses = choice == DPA_GUESSES_FIXED  ? fixed
                                 : choice == DPA_GUESSES_AUTO ? grid[i]
                                                              : (uint64_t)i + 1;
        out->items[i] =
            (dpa_onerun){ranked->canaries, c->evidence->options, guesses, ranked->correct[guesses]};
    }
    return DPA_OK;
}

static dpa_status single_game(const dpa__case *c, const dpa_named_array *counts,
                              dpa__onerun_games *out, dpa_error *err) {
    out->items = DPA_NEW(dpa_onerun, err);
    if (out->items == NULL) return DPA_NO_MEMORY;
    out->items[0] = (dpa_onerun){(uint64_t)counts->items[0], c->evidence->options,
                                 (uint64_t)counts->items[1], (uint64_t)counts->items[2]};
    out->count = 1;
    out->choice = DPA_GUESSES_FIXED;
    return DPA_OK;
}

/* ── rows ────────────────────────────────────────────────────────────────────────────── */

static dpa_status add_row(dpa__case *c, const dpa__onerun_games *games, const char *family,
                          const char *method, double confidence, dpa_role role, dpa_error *err) {
    dpa_request request = c->protocol.request;
    dpa_result result;
    request.claim_epsilon = c->promise.epsilon;
    request.claim_delta = NAN;
    request.confidence = confidence;
    if (dpa__registry_is_channels(method))
        DPA_TRY(dpa__channels_row(c, &request, family, &result, err));
    else
        DPA_TRY(dpa__onerun_row(games, &request, family, method, &result, err));
    result.confidence = c->protocol.request.confidence;
    return dpa__case_add(c, &result, role, err);
}

static dpa_status decide(dpa__case *c, const dpa__onerun_games *games, dpa_error *err) {
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
static dpa_status show(dpa__case *c, const dpa__onerun_games *games, dpa_error *err) {
    static const char *const rows[][2] = {{"dp", "either"},          {"dp", "steinke"},
                                          {"dp", "recursion"},       {"gaussian", "recursion"},
                                          {"gaussian", "pointwise"}, {"laplace", "recursion"}};
    const dpa_request *r = &c->protocol.request;
    const uint64_t options = games->items[0].options;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const int is_pointwise = i == 4, is_recursion = i == 2 || i == 3 || i == 5;
        if (options != 2 && !is_recursion) continue;
        if (is_pointwise && !c->protocol.pointwise && !c->protocol.all) continue;
        if (!dpa__list_asks(r->family, rows[i][0])) continue;
        if (!dpa__list_asks(r->method, rows[i][1]) && !is_pointwise) continue;
        if (r->family[0] != '\0' && !is_pointwise && !c->protocol.all) continue;
        if (dpa__has_row(c->report, rows[i][0], rows[i][1], NULL)) continue;
        DPA_TRY(add_row(c, games, rows[i][0], rows[i][1], r->confidence, DPA_SHOWN, err));
    }
    return DPA_OK;
}

/* The best number of guesses, chosen after looking: shown but never deciding; the deciding test
 * keeps its grid. */
static dpa_status show_max(dpa__case *c, const dpa_guesses *ranked, dpa_error *err) {
    dpa__onerun_games games = {0};
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

static dpa_status say_grid(dpa_report *report, const dpa__onerun_games *games, dpa_error *err) {
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

static dpa_status put_facts(dpa__case *c, int is_ranked, const dpa__onerun_games *games,
                            dpa_error *err) {
    const dpa_onerun *game = &games->items[0];
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

/* ── all of it ───────────────────────────────────────────────────────────────────────── */

static dpa_status fill(dpa__case *c, const dpa_guesses *ranked, const dpa__onerun_games *games,
                       const dpa_lints *lints, dpa_error *err) {
    const double m = (double)games->items[0].canaries;
    DPA_TRY(dpa__channels_check(c, err));
    DPA_TRY(put_facts(c, ranked != NULL, games, err));
    DPA_TRY(decide(c, games, err));
    if (ranked != NULL && choice_of(c->protocol.guesses) == DPA_GUESSES_MAX)
        DPA_TRY(show_max(c, ranked, err));
    DPA_TRY(show(c, games, err));
    DPA_TRY(dpa__doubts(c, lints, err));
    DPA_TRY(dpa__power_state(c, 0.5 * m, 0.5 * m, err));
    if (ranked == NULL || c->protocol.plain) return DPA_OK;
    dpa_request request = c->protocol.request;
    return dpa__onerun_put_curve(c->report, ranked, c->evidence->options, &request, err);
}

static dpa_status judge_ranked(dpa__case *c, dpa_lints *lints, dpa_error *err) {
    dpa_guesses ranked = {0};
    dpa__onerun_games games = {0};
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
        dpa__onerun_games games = {0};
        status = single_game(c, counts, &games, err);
        if (status == DPA_OK) status = fill(c, NULL, &games, &lints, err);
        free(games.items);
    }
    dpa__lints_free(&lints);
    return status;
}
