/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each score is one training's: bounds on the whole training, judged by its claim. */
#include <math.h>
#include <string.h>

#include "judge.h"

/* One family and one method, fixed before anything is seen: the largest of many bounds would refute
 * a correct trainer more often than the confidence allows. */
dpa_status choose_estimator(judgement *j, const char *family, const char *method, dpa_error *err) {
    const char *f = j->family != NULL ? j->family : family;
    const char *m = j->method != NULL ? j->method : method;
    dpa_status status = DPA_OK;
    if (strcmp(f, "all") != 0) status = dpa_request_set(&j->request, "family", f, err);
    if (status == DPA_OK && strcmp(m, "all") != 0)
        status = dpa_request_set(&j->request, "method", m, err);
    return status;
}

dpa_status audit_scores_of(judgement *j, dpa_error *err) {
    const dpa_named_array *in = dpa_game_evidence_find(j->evidence, "members");
    const dpa_named_array *out = dpa_game_evidence_find(j->evidence, "nonmembers");
    dpa_scores scores = {0};
    dpa_status status = dpa_scores_from(in->items, in->count, out->items, out->count, &scores, err);
    if (status != DPA_OK) return status;
    dpa_scores_query query;
    dpa_scores_query_init(&query);
    query.scores = &scores;
    status = dpa_audit_scores(&query, &j->request, &j->report, err);
    dpa_scores_free(&scores);
    return status;
}

dpa_status scores_request(judgement *j, dpa_error *err) {
    dpa_status status = training_claim(j, err);
    if (status == DPA_OK && !isnan(j->claim.epsilon)) j->request.claim_epsilon = j->claim.epsilon;
    /* Who sees every step of DP-SGD can reach its curve; of other adversaries nothing is known. */
    char family[120] = "dp";
    const int sees_all = j->experiment->kind == DPA_GAME_WHOLE_TRAINING;
    if (sees_all) claimed_family(j, 0, family, sizeof family);
    if (status == DPA_OK) status = choose_estimator(j, family, sees_all ? "rank" : "cp", err);
    return status;
}

dpa_status judge_scores(judgement *j, dpa_error *err) {
    const dpa_status status = scores_request(j, err);
    return status == DPA_OK ? audit_scores_of(j, err) : status;
}
