/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many canaries of one training: the bound is about the whole training, judged by its claim. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "options.h"

/* In or out is add/remove; one of K options is replace-one, for which the same noise promises
 * less. */
static dpa_status claim_of(judgement *j, int is_replace, dpa_error *err) {
    dpa_status status = training_claim(j, err);
    const training_promise *claim = &j->claim;
    if (status == DPA_OK && is_replace && claim->sigma > 0.0 && !isnan(claim->q)) {
        const dpa_phase phase = {DPA_GAUSSIAN, claim->sigma, claim->q, claim->steps};
        dpa_interval promised = {0.0, 0.0};
        status = phase_epsilon(j, &phase, DPA_REPLACE_ONE, &promised, err);
        j->request.claim_epsilon = promised.upper;
    } else if (status == DPA_OK && !is_replace && !isnan(claim->epsilon)) {
        j->request.claim_epsilon = claim->epsilon;
    }
    return status;
}

/* The family of the claimed mechanism, where there is one. */
static dpa_status choose_family(judgement *j, int is_replace, dpa_error *err) {
    char family[120];
    claimed_family(j, is_replace, family, sizeof family);
    const int is_dp = strcmp(j->family != NULL ? j->family : family, "dp") == 0;
    return choose_estimator(j, family, is_dp && !is_replace ? "steinke" : "recursion", err);
}

static dpa_status rank_members(const judgement *j, dpa_guesses *out, dpa_lints *lints,
                               dpa_error *err) {
    const dpa_named_array *in = dpa_game_evidence_find(j->evidence, "members");
    const dpa_named_array *none = dpa_game_evidence_find(j->evidence, "nonmembers");
    return dpa_guesses_from_pair(in->items, in->count, none->items, none->count, DPA_GUESS_BOTH,
                                 out, lints, err);
}

static dpa_status no_memory(dpa_error *err) {
    err->status = DPA_NO_MEMORY;
    (void)snprintf(err->text, sizeof err->text, "no memory for the guesses");
    return DPA_NO_MEMORY;
}

static dpa_status rank_guesses(const judgement *j, dpa_guesses *out, dpa_lints *lints,
                               dpa_error *err) {
    const dpa_named_array *score = dpa_game_evidence_find(j->evidence, "score");
    const dpa_named_array *correct = dpa_game_evidence_find(j->evidence, "correct");
    uint8_t *right = malloc(correct->count);
    if (right == NULL) return no_memory(err);
    for (size_t i = 0; i < correct->count; ++i) right[i] = correct->items[i] != 0.0;
    const dpa_status status =
        dpa_guesses_from_confidence(score->items, right, score->count, out, lints, err);
    free(right);
    return status;
}

static dpa_status bad_guesses(const judgement *j, dpa_error *err) {
    err->status = DPA_BAD_INPUT;
    (void)snprintf(err->place, sizeof err->place, "%.400s", j->experiment->path);
    (void)snprintf(err->text, sizeof err->text,
                   "estimators: guesses '%.40s': expected a whole number, auto or max",
                   j->experiment->guesses);
    return DPA_BAD_INPUT;
}

static dpa_status audit(judgement *j, const dpa_guesses *ranked, const dpa_lints *lints,
                        uint64_t options, dpa_error *err) {
    dpa_onerun_query query;
    dpa_onerun_query_init(&query);
    query.ranked = ranked;
    query.game.options = options;
    const char *guesses = j->experiment->guesses != NULL ? j->experiment->guesses : "auto";
    if (!parse_guesses(guesses, &query.choice, &query.guesses)) return bad_guesses(j, err);
    dpa_status status = dpa_audit_onerun(&query, &j->request, &j->report, err);
    if (status == DPA_OK) status = dpa_report_lints(j->report, lints, err);
    return status;
}

dpa_status judge_one_run(judgement *j, dpa_error *err) {
    const int is_replace = j->evidence->kind == DPA_EVIDENCE_GUESSES;
    dpa_status status = claim_of(j, is_replace, err);
    if (status == DPA_OK) status = choose_family(j, is_replace, err);
    if (status != DPA_OK) return status;
    dpa_guesses ranked = {0};
    dpa_lints lints = {0};
    status =
        is_replace ? rank_guesses(j, &ranked, &lints, err) : rank_members(j, &ranked, &lints, err);
    if (status == DPA_OK)
        status = audit(j, &ranked, &lints, is_replace ? j->experiment->game.options : 2, err);
    dpa_guesses_free(&ranked);
    dpa_lints_free(&lints);
    return status;
}
