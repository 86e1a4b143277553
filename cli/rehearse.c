/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A family or method that does not exist, or does not go with the game, must not be found out after
 * the trainings. So what was asked for is tried before on evidence that was made up. */
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "options.h"

enum { SCORES = 40 };

static dpa_status try_scores(judgement *j, dpa_error *err) {
    double in[SCORES], out[SCORES];
    dpa_scores scores = {0};
    dpa_scores_query query;
    for (int i = 0; i < SCORES; ++i) {
        in[i] = i + 0.5;
        out[i] = i;
    }
    dpa_status status = dpa_scores_from(in, SCORES, out, SCORES, &scores, err);
    if (status != DPA_OK) return status;
    dpa_scores_query_init(&query);
    query.scores = &scores;
    status = dpa_audit_scores(&query, &j->request, &j->report, err);
    dpa_scores_free(&scores);
    return status;
}

static dpa_status try_one_run(judgement *j, dpa_error *err) {
    dpa_onerun_query query;
    uint64_t count = 0;
    const char *guesses = j->experiment->guesses;
    dpa_onerun_query_init(&query);
    if (guesses != NULL && !parse_guesses(guesses, &query.choice, &count)) {
        *err = (dpa_error){.status = DPA_BAD_ARGUMENT};
        (void)snprintf(err->text, sizeof err->text,
                       "guesses: '%.40s'; expected a whole number, auto or max", guesses);
        return DPA_BAD_ARGUMENT;
    }
    query.choice = DPA_GUESSES_FIXED;
    query.game = (dpa_onerun){.canaries = SCORES, .guesses = 20, .correct = 15, .options = 2};
    return dpa_audit_onerun(&query, &j->request, &j->report, err);
}

static int is_one_run(const dpa_experiment *e) {
    return e->kind == DPA_GAME_MEMBERSHIP || e->kind == DPA_GAME_RECONSTRUCTION ||
           (e->kind == DPA_GAME_COMMAND && e->command.design == DPA_DESIGN_COINS);
}

dpa_status rehearse(judgement *j, dpa_error *err) {
    if (j->family == NULL && j->method == NULL && j->request.select[0] == '\0' &&
        j->experiment->guesses == NULL)
        return DPA_OK; /* the game's own choices go with it */
    if (j->experiment->kind == DPA_GAME_FEDERATED) return DPA_OK; /* it takes all that apply */
    dpa_status status = choose_estimator(j, "all", "all", err);
    if (status == DPA_OK)
        status = is_one_run(j->experiment) ? try_one_run(j, err) : try_scores(j, err);
    dpa_report_free(j->report);
    j->report = NULL;
    return status == DPA_BAD_ARGUMENT || status == DPA_NO_MEMORY ? status : DPA_OK;
}
