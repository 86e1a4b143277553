/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpa_judge: makes a report with a verdict from evidence, claim and protocol. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sha256.h"
#include "estimate/failures.h"
#include "estimate/registry.h"
#include "judge/case.h"

/* The claim's δ is used everywhere unless another one was asked for. (ε,δ)-DP implies (ε,δ′)-DP
 * only for δ′ ≥ δ, so a smaller δ could not test the claim. */
static dpa_status choose_delta(dpa__case *c, dpa_error *err) {
    dpa_protocol given = c->protocol;
    dpa_request *r = &c->protocol.request;
    DPA_TRY(dpa__protocol_fill(&c->protocol, c->evidence->protocol, err));
    const int said = (given.given & 1U) != 0; /* the first key is delta */
    if (isnan(c->claim.delta)) return DPA_OK;
    if (!said) r->delta = c->claim.delta;
    if (r->delta >= c->claim.delta) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "delta: the claim is at δ = %g and cannot be compared at the smaller δ = %g; "
                     "leave --delta out",
                     c->claim.delta, r->delta);
}

/* Fails on parts of a claim that would be overlooked. */
static dpa_status check_said(const dpa_claim *claim, dpa_error *err) {
    DPA_TRY(dpa__claim_check(claim, err));
    if (isnan(claim->sigma) && (claim->q < 1 || claim->steps > 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "claim-q, claim-steps: they belong to a claimed noise; give claim-sigma");
    return DPA_OK;
}

static dpa_status check_must_detect(const dpa__case *c, dpa_error *err) {
    if (isnan(c->protocol.must_detect) || dpa__claim_is_made(&c->claim)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "must-detect: there is no claim; give claim-epsilon too");
}

dpa_status dpa__case_open(const dpa_evidence *evidence, const dpa_claim *claim,
                          const dpa_protocol *protocol, dpa__case *out, dpa_error *err) {
    *out = (dpa__case){.evidence = evidence};
    out->claim = claim != NULL && dpa__claim_is_made(claim) ? *claim : evidence->claim;
    if (claim != NULL && claim->scope != DPA_SCOPE_TRAINING) out->claim.scope = claim->scope;
    if (claim != NULL && claim->replace_one) out->claim.replace_one = 1;
    if (protocol != NULL)
        out->protocol = *protocol;
    else
        dpa__protocol_init(&out->protocol);
    if (claim != NULL) DPA_TRY(check_said(claim, err));
    DPA_TRY(dpa__claim_check(&out->claim, err));
    DPA_TRY(check_must_detect(out, err));
    DPA_TRY(choose_delta(out, err));
    DPA_TRY(dpa__request_check(&out->protocol.request, err));
    DPA_TRY(dpa__confidence_check(&out->protocol.request, err));
    out->one_delta = out->protocol.request.delta;
    DPA_TRY(dpa__promise_make(out, err));
    return dpa__rule_apply(out, err);
}

dpa_request dpa__case_request(const dpa__case *c) {
    dpa_request r = c->protocol.request;
    r.claim_epsilon = r.claim_delta = NAN;
    if (c->evidence->scope == c->claim.scope) r.claim_epsilon = c->promise.epsilon;
    if (c->evidence->scope == DPA_SCOPE_STEP && !isnan(c->promise.step_epsilon))
        r.claim_epsilon = c->promise.step_epsilon;
    return r;
}

double dpa__fact(const dpa_evidence *evidence, const char *name) {
    for (size_t i = 0; i < evidence->fact_count; ++i)
        if (strcmp(evidence->facts[i].name, name) == 0) return evidence->facts[i].value;
    return (double)NAN;
}

dpa_status dpa__case_add(dpa__case *c, dpa_result *result, dpa_role role, dpa_error *err) {
    result->role = role;
    return dpa__report_add(c->report, result, err);
}

/* ── doubts ──────────────────────────────────────────────────────────────────────────── */

/* If more than this share of trials is missing, the others may have been selected by their outcome.
 */
static const double MOST_MISSING = 0.05;

static void doubt_trials(dpa__case *c) {
    const dpa_evidence *e = c->evidence;
    if (e->planned == 0 || (double)e->missing <= MOST_MISSING * (double)e->planned) return;
    dpa__verdict_contradict(c->report, DPA_ASSUMPTION_INDEX_ALL_COUNTED,
                            "%llu of %llu trials are missing, more than %g%%",
                            (unsigned long long)e->missing, (unsigned long long)e->planned,
                            100 * MOST_MISSING);
}

/* 1 if the claim is one mechanism and the test uses its own family; then no family is assumed. */
static int is_own_family(const dpa__case *c) {
    const int is_curve = !isnan(c->claim.sigma) || c->claim.curve[0] != '\0';
    return is_curve && c->protocol.request.family[0] == '\0';
}

/* If every member of a family is rejected, the family does not describe the mechanism, and its last
 * member is no bound. If the claimed mechanism is one of the members, the claim is refuted all the
 * same. */
static dpa_status doubt_family(dpa__case *c, const dpa_result *r, dpa_error *err) {
    dpa_family *family = NULL;
    if (r->family[0] == '\0' || isnan(r->parameter_lower)) return DPA_OK;
    DPA_TRY(dpa__family_parse(r->family, c->protocol.request.delta, &family, err));
    const int is_spent = dpa__family_is_spent(family, dpa__family_t(family, r->parameter_lower));
    dpa__family_free(family);
    const char *conditional = dpa__result_conditional(r);
    if (conditional == NULL || !is_spent) return DPA_OK;
    if (is_own_family(c)) {
        c->report->verdict.is_all_rejected = 1;
        return DPA_OK;
    }
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i)
        if (strcmp(conditional, dpa__assumption_name(i)) == 0)
            dpa__verdict_contradict(c->report, i, "every member of the family %.100s is rejected",
                                    r->family);
    return DPA_OK;
}

static void doubt_lints(dpa__case *c, const dpa_lints *lints) {
    const unsigned one_each =
        c->evidence->kind == DPA_EVIDENCE_COSINES ? DPA_ASSUMPTION_INDEX_CHANNELS
        : c->evidence->design == DPA_ONE_RUN      ? DPA_ASSUMPTION_INDEX_ONE_RUN_CANARIES
                                                  : DPA_ASSUMPTION_INDEX_INDEPENDENT_RUNS;
    const struct {
        const char *code;
        unsigned assumption;
    } known[] = {{"unfair-coin", DPA_ASSUMPTION_INDEX_ONE_RUN_CANARIES},
                 {"copied-scores", one_each},
                 {"shared-scores", one_each},
                 {"constant-scores", one_each},
                 {"sign", DPA_ASSUMPTION_INDEX_HIGHER_IS_IN},
                 {"reversed-scores", DPA_ASSUMPTION_INDEX_HIGHER_IS_IN}};
    for (size_t i = 0; i < lints->count; ++i)
        for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
            if (strcmp(lints->items[i].code, known[k].code) == 0)
                dpa__verdict_contradict(c->report, known[k].assumption, "%.230s",
                                        lints->items[i].text);
}

/* Below this p-value the report says it in words; the p-value itself is always among the facts. */
static const double UNLIKELY = 0.01;

/* How many trials of an arm ended, well or not; 0: not known. */
static uint64_t ended(const dpa_evidence *e, const char *fact, uint64_t absent) {
    const double trials = dpa__fact(e, fact);
    return trials >= (double)absent && trials <= 9007199254740992.0 ? (uint64_t)trials - absent : 0;
}

/* Do trainings fail more often with the record than without it? The answer is shown beside the
 * verdict but never decides: ε may allow the difference, and failed trials already count in the
 * bound, with the score that was fixed for them beforehand. */
static dpa_status say_failures(dpa__case *c, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    const dpa__failure_counts counts = {.failed_members = e->failed[0],
                                        .members = ended(e, "trials_members", e->absent[0]),
                                        .failed_nonmembers = e->failed[1],
                                        .nonmembers = ended(e, "trials_nonmembers", e->absent[1])};
    dpa_lints lints = {0};
    /* in one run both kinds of records share the training, so failing tells nothing */
    if (e->failed[0] + e->failed[1] == 0 || e->design == DPA_ONE_RUN) return DPA_OK;
    if (counts.members == 0 || counts.nonmembers == 0) return DPA_OK;
    const double p = dpa__failures_test(&counts);
    if (isnan(p))
        return dpa__fail(err, DPA_BAD_INPUT, "evidence: more trials failed than there were");
    DPA_TRY(dpa__report_fact(c->report, "failures_p_value", p, err));
    if (p > UNLIKELY) return DPA_OK;
    dpa_status status = dpa__lints_add(
        &lints, err, "failures",
        "trainings failed in %llu of %llu trials with the record and in %llu of %llu without it "
        "(p = %.2g): failing tells who was in, which is a leak by itself; the bound has it through "
        "the score of failed trials",
        (unsigned long long)counts.failed_members, (unsigned long long)counts.members,
        (unsigned long long)counts.failed_nonmembers, (unsigned long long)counts.nonmembers, p);
    if (status == DPA_OK) status = dpa__report_lints(c->report, &lints, err);
    dpa__lints_free(&lints);
    return status;
}

dpa_status dpa__doubts(dpa__case *c, const dpa_lints *lints, dpa_error *err) {
    doubt_lints(c, lints);
    doubt_trials(c);
    for (size_t i = 0; i < dpa_report_count(c->report); ++i) {
        const dpa_result *r = dpa_report_result(c->report, i);
        if (r->role == DPA_PRIMARY) DPA_TRY(doubt_family(c, r, err));
    }
    DPA_TRY(dpa__report_lints(c->report, lints, err));
    return say_failures(c, err);
}

/* ── the way through ─────────────────────────────────────────────────────────────────── */

static const char *command_of(const dpa_evidence *e) {
    if (e->design == DPA_ONE_RUN && e->kind != DPA_EVIDENCE_COSINES) return "one-run";
    return dpa__evidence_kind_name(e->kind);
}

static dpa_status put_provenance(dpa__case *c, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    if (e->game[0] != '\0') DPA_TRY(dpa__report_fact_text(c->report, "game", e->game, err));
    for (size_t i = 0; i < e->fact_count; ++i)
        DPA_TRY(dpa__report_fact(c->report, e->facts[i].name, e->facts[i].value, err));
    if (e->planned > 0)
        DPA_TRY(dpa__report_fact(c->report, "trials", (double)(e->planned - e->missing), err));
    if (e->missing > 0)
        DPA_TRY(dpa__report_fact(c->report, "missing_trials", (double)e->missing, err));
    for (int i = 0; i < 2; ++i)
        if (e->path[i][0] != '\0')
            DPA_TRY(dpa__report_input(c->report, e->path[i], e->sha256[i], err));
    return DPA_OK;
}

static dpa_status sign_protocol(dpa__case *c, dpa_error *err) {
    dpa__verdict *v = &c->report->verdict;
    char *text = NULL;
    DPA_TRY(dpa__protocol_object(c, &c->report->protocol, err));
    DPA_TRY(dpa__protocol_write(c->report->protocol, &text, err));
    dpa__sha256_of(text, strlen(text), v->protocol);
    free(text);
    v->is_registered = c->protocol.registered[0] != '\0';
    v->is_as_registered = strcmp(v->protocol, c->protocol.registered) == 0;
    return DPA_OK;
}

static dpa_status judge_kind(dpa__case *c, dpa_error *err) {
    switch (c->evidence->kind) {
    case DPA_EVIDENCE_COUNTS:
        return dpa__judge_counts(c, err);
    case DPA_EVIDENCE_SCORES:
        return c->evidence->design == DPA_ONE_RUN ? dpa__judge_one_run(c, err)
                                                  : dpa__judge_scores(c, err);
    case DPA_EVIDENCE_GUESSES:
        return dpa__judge_one_run(c, err);
    case DPA_EVIDENCE_COSINES:
        return dpa__judge_cosines(c, err);
    case DPA_EVIDENCE_SIGNALS:
        break;
    }
    return dpa__fail(err, DPA_INTERNAL, "evidence of no kind");
}

static dpa_status fill(dpa__case *c, dpa_error *err) {
    dpa_report *report = c->report;
    const double epsilon = dpa__claim_is_made(&c->claim) ? c->promise.epsilon : (double)NAN;
    report->shows_all = c->protocol.all;
    dpa__verdict_begin(report, &c->claim, epsilon);
    report->verdict.records = c->evidence->training.records;
    report->verdict.must_detect = c->protocol.must_detect;
    report->verdict.is_posterior = c->protocol.decides_by_posterior;
    DPA_TRY(judge_kind(c, err));
    DPA_TRY(put_provenance(c, err));
    DPA_TRY(sign_protocol(c, err));
    return dpa__verdict_conclude(report, err);
}

dpa_status dpa_judge(const dpa_evidence *evidence, const dpa_claim *claim,
                     const dpa_protocol *protocol, dpa_report **out, dpa_error *err) {
    dpa__case c;
    *out = NULL;
    DPA_TRY(dpa__case_open(evidence, claim, protocol, &c, err));
    DPA_TRY(dpa__report_new(command_of(evidence), &c.protocol.request, &c.report, err));
    if (evidence->source[0] != '\0')
        dpa__report_name(c.report, command_of(evidence), evidence->source);
    dpa_status status = fill(&c, err);
    if (evidence->path[0][0] != '\0') status = dpa__name_place(status, evidence->path[0], err);
    return dpa__report_end(c.report, status, out);
}
