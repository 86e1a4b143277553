/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the evidence of a game to a verdict on the claim: one file per kind of evidence. */
#ifndef DPA_CLI_JUDGE_H
#define DPA_CLI_JUDGE_H

#include "dpaudit/dpaudit.h"

/* What the training promises; NaN and 0 where nothing is known. */
typedef struct training_promise {
    double q, sigma, epsilon; /* q: NaN when shuffled; ε end to end, NaN without a claim */
    uint64_t steps;
} training_promise;

typedef struct judgement {
    const dpa_experiment *experiment;
    dpa_game *game;
    const char *command; /* that asked: "run" */
    const dpa_game_evidence *evidence;
    const char *family, *method; /* of the command line, else of the experiment; NULL: default */
    dpa_request request;
    training_promise claim;
    dpa_report *report; /* what comes out */
} judgement;

/* ε at the request's delta of a training, for neighbours of this kind. */
dpa_status phase_epsilon(const judgement *j, const dpa_phase *phase, dpa_adjacency adjacency,
                         dpa_interval *out, dpa_error *err);
/* The same for add/remove, of so much noise. */
dpa_status training_epsilon(const judgement *j, double sigma, double q, uint64_t steps,
                            dpa_interval *out, dpa_error *err);
/* Fills j->claim, and delta and confidence of the request. */
dpa_status training_claim(judgement *j, dpa_error *err);
/* The family of the claimed training (DP-SGD with its sampling and steps); "dp" where its noise or
 * sampling is not known. */
void claimed_family(const judgement *j, int is_replace, char *text, size_t size);
/* Puts family and method into the request: what was asked for, else these; "all" is every one. */
dpa_status choose_estimator(judgement *j, const char *family, const char *method, dpa_error *err);
/* The arrays members and nonmembers through dpa_audit_scores into j->report. */
dpa_status audit_scores_of(judgement *j, dpa_error *err);

/* Do family, method and selection exist, and go with the game? */
dpa_status rehearse(judgement *j, dpa_error *err);

/* The request that scores or steps will be judged by: family, method, claim. */
dpa_status scores_request(judgement *j, dpa_error *err);
dpa_status steps_request(judgement *j, dpa_error *err);

dpa_status judge_steps(judgement *j, dpa_error *err);
dpa_status judge_scores(judgement *j, dpa_error *err);
dpa_status judge_one_run(judgement *j, dpa_error *err);
dpa_status judge_cosines(judgement *j, dpa_error *err);

#endif
