/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging a stored result again: the same evidence, claim and protocol must give the same verdict
 * and the same numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "judge/case.h"
#include "report/model/model.h"
#include "report/model/value.h"

/* Plain arrays do not say what kind of evidence they are, so the stored result tells. */
static dpa_status open_evidence(const json_t *result, const char *const *paths, size_t count,
                                dpa_evidence *out, dpa_error *err) {
    const json_t *protocol = json_object_get(result, "protocol");
    const json_t *facts = json_object_get(result, "evidence");
    const char *second = count > 1 ? paths[1] : NULL;
    const int is_one_run = dpa__is_word(protocol, "design", "one-run");
    if (dpa__is_word(protocol, "evidence", "counts")) {
        const double counts[] = {dpa__number_of(facts, "fn"), dpa__number_of(facts, "tp"),
                                 dpa__number_of(facts, "fp"), dpa__number_of(facts, "tn")};
        dpa__evidence_init(out, DPA_EVIDENCE_COUNTS);
        return dpa_evidence_copy(out, "counts", counts, 4, err);
    }
    if (count == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "evidence: the file that was judged is needed (--evidence FILE)");
    if (dpa__is_word(protocol, "evidence", "cosines")) {
        DPA_TRY(dpa__evidence_cosines(paths[0], second, out, err));
        if (out->dim == 0) out->dim = (size_t)fmax(0, dpa__number_of(facts, "dim"));
    } else if (is_one_run) {
        DPA_TRY(dpa__evidence_one_run(paths[0], second, 0, out, err));
    } else {
        DPA_TRY(dpa__evidence_scores(paths[0], second, 1, out, err));
    }
    if (dpa__is_word(protocol, "scope", "step")) out->scope = DPA_SCOPE_STEP;
    return DPA_OK;
}

/* Compares as text, because a number that was read back may have become an integer. */
static int is_same(const json_t *a, const json_t *b) {
    dpa__text first = {0}, second = {0};
    if (a == NULL || b == NULL) return a == b;
    dpa__json_write(&first, a, -1);
    dpa__json_write(&second, b, -1);
    const int same = !first.failed && !second.failed && strcmp(first.data, second.data) == 0;
    dpa__text_free(&first);
    dpa__text_free(&second);
    return same;
}

static dpa_status judge_again(const json_t *stored, const char *const *paths, size_t count,
                              json_t **again, dpa_error *err) {
    dpa__text text = {0};
    char *protocol_text = NULL;
    dpa_claim claim;
    dpa_protocol protocol;
    dpa_evidence evidence;
    dpa_report *report = NULL;
    dpa__json_write(&text, json_object_get(stored, "protocol"), -1);
    DPA_TRY(dpa__text_take(&text, &protocol_text, err));
    dpa_claim_init(&claim);
    dpa__protocol_init(&protocol);
    dpa_status status = dpa__protocol_restore(&protocol, &claim, protocol_text, err);
    free(protocol_text);
    DPA_TRY(status);
    DPA_TRY(open_evidence(stored, paths, count, &evidence, err));
    status = dpa_judge(&evidence, &claim, &protocol, &report, err);
    dpa__evidence_clear(&evidence);
    DPA_TRY(status);
    *again = dpa__report_to_json(report);
    dpa_report_free(report);
    return *again != NULL ? DPA_OK : dpa__fail(err, DPA_NO_MEMORY, "no memory for a result");
}

/* Compares the rows that decided, and the verdict without what a registration adds to it. */
static dpa_status compare(const char *path, const json_t *stored, const json_t *again,
                          dpa_error *err) {
    const json_t *was = json_object_get(stored, "verdict"), *is = json_object_get(again, "verdict");
    static const char *const keys[] = {"state",      "claim",       "scope",       "epsilon_lower",
                                       "confidence", "p_value",     "conditional", "assumptions",
                                       "decided_by", "contradicted"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i)
        if (!is_same(json_object_get(was, keys[i]), json_object_get(is, keys[i])))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "judged again, the verdict's %s is not what is stored", keys[i]);
    const json_t *first = dpa__primary_of(json_object_get(stored, "results"));
    const json_t *second = dpa__primary_of(json_object_get(again, "results"));
    if (!is_same(first, second))
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "judged again, the deciding row is not what is stored");
    return DPA_OK;
}

dpa_status dpa_verify(const char *path, const char *const *evidence, size_t count, dpa_error *err) {
    json_t *stored = NULL, *again = NULL;
    DPA_TRY(dpa__json_read(path, &stored, NULL, err));
    dpa_status status = dpa__result_check(path, stored, err);
    if (status == DPA_OK && !json_is_object(json_object_get(stored, "protocol")))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "the result has no verdict to verify");
    if (status == DPA_OK) status = judge_again(stored, evidence, count, &again, err);
    if (status == DPA_OK) status = compare(path, stored, again, err);
    json_decref(stored);
    json_decref(again);
    return status;
}
