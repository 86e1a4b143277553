/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audit that may be looked at after every trial: pairs in, wealth against every ε out
 * (docs/methods/sequential.md).
 *
 * log wealth against t is a sum over stages of counts times log payments, so the whole state is the
 * bets and cells of the stages (their number grows as log n) and the newest pairs for learning. The
 * bound is where the largest log wealth at the end of a stage, or now, falls below log 1/p, to a
 * relative 1e-12, rounded down: as every wealth falls with t, that is the largest of the bounds at
 * these moments, and one search finds it when it is asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/rates/select.h"
#include "estimate/registry.h"
#include "estimate/sequential/sequential.h"
#include "evidence/evidence.h"
#include "math/root.h"

enum { FIRST_STAGE = 4 };

static double log_goal(const dpa_sequential *s) {
    return -log1p(-s->request.confidence);
}

/* ── wealth and bound ──────────────────────────────────────────────────────────────────────── */

/* log wealth against t: now, and its maximum over now and the ends of all stages. */
typedef struct wealth {
    double now, most;
} wealth;

static dpa_status wealth_at(const dpa_sequential *s, double t, wealth *out, dpa_error *err) {
    dpa__member null;
    *out = (wealth){0, 0};
    DPA_TRY(dpa__member_open(&s->model, t, &null, err));
    for (size_t i = 0; i < s->stage_count; ++i) {
        out->now += dpa__stage_log_wealth(&s->stages[i], &null);
        out->most = fmax(out->most, out->now);
    }
    dpa__member_close(&null);
    return DPA_OK;
}

/* How far the log wealth exceeded what refutes t. */
static dpa_status excess(double t, void *user, double *out, dpa_error *err) {
    const dpa_sequential *s = *(const dpa_sequential **)user;
    wealth at;
    DPA_TRY(wealth_at(s, t, &at, err));
    *out = at.most - log_goal(s);
    return DPA_OK;
}

/* The largest bound over the ends of stages and now, as t. */
static dpa_status sequential_bound(const dpa_sequential *s, double *t, dpa_error *err) {
    double at_zero;
    dpa__bracket bracket;
    *t = 0;
    DPA_TRY(excess(0, &s, &at_zero, err));
    if (at_zero < 0) return DPA_OK;
    /* not from earlier bounds: the same bits each time */
    DPA_TRY(dpa__root_above(excess, &s, 0.5, fmin(s->model.max, 1e6), 1e-12, &bracket, err));
    *t = bracket.lower;
    return DPA_OK;
}

/* ── stages ────────────────────────────────────────────────────────────────────────────────── */

/* Sorts the pairs since the last stage into the others, or all when the rings have turned. */
static dpa_status sort_history(dpa_sequential *s, size_t count, dpa_error *err) {
    const size_t known = s->pairs > DPA__HISTORY ? 0 : s->sorted_count;
    for (int c = 0; c < 2; ++c) {
        double newest[DPA__HISTORY], *const sorted = s->sorted[c];
        size_t at = count, old = known, new = count - known;
        memcpy(newest, s->history[c] + known, new * sizeof *newest);
        DPA_TRY(dpa__sort_numbers(newest, new, err));
        while (new > 0)
            sorted[--at] =
                old > 0 && sorted[old - 1] > newest[new - 1] ? sorted[--old] : newest[--new];
    }
    s->sorted_count = count;
    return DPA_OK;
}

static dpa_status plan_stage(dpa_sequential *s, uint64_t end, dpa__stage *stage, double *aim,
                             dpa_error *err) {
    const size_t count = s->pairs < DPA__HISTORY ? (size_t)s->pairs : DPA__HISTORY;
    DPA_TRY(sort_history(s, count, err));
    const int claim_stands = !isnan(s->claim) && s->refuted_at == 0;
    const dpa__past past = {.member = s->sorted[1],
                            .nonmember = s->sorted[0],
                            .count = count,
                            .horizon = end,
                            .log_goal = log_goal(s),
                            .fixed = s->fixed,
                            .last = s->aim,
                            .cap = claim_stands ? s->claim : HUGE_VAL};
    return dpa__stage_plan(&s->model, &past, stage, aim, err);
}

static dpa_status price_claim(dpa_sequential *s, const dpa__stage *stage, dpa_error *err) {
    dpa__member null;
    if (isnan(s->claim)) return DPA_OK;
    DPA_TRY(dpa__member_open(&s->claim_model, s->claim, &null, err));
    s->claim_closed = s->claim_now;
    dpa__stage_pay(stage, &null, s->claim_pay);
    dpa__member_close(&null);
    return DPA_OK;
}

static dpa_status begin_stage(dpa_sequential *s, dpa_error *err) {
    dpa__stage stage = {.first = s->pairs, .kept = 1};
    dpa__stage *stages = dpa__grown(s->stages, s->stage_count, &s->stage_room, sizeof *stages, err);
    if (stages == NULL) return DPA_NO_MEMORY;
    s->stages = stages;
    const uint64_t length = s->pairs / 4 > FIRST_STAGE ? s->pairs / 4 : FIRST_STAGE;
    double aim;
    DPA_TRY(plan_stage(s, s->pairs + length, &stage, &aim, err));
    DPA_TRY(price_claim(s, &stage, err));
    s->aim = aim;
    s->stage_end = s->pairs + length;
    s->stages[s->stage_count++] = stage;
    return DPA_OK;
}

/* The cells change within a stage, so a bound of that moment must be stored. */
static dpa_status keep_best(dpa_sequential *s, dpa_error *err) {
    double t;
    if (s->is_unseen) return DPA_OK;
    DPA_TRY(sequential_bound(s, &t, err));
    s->best = fmax(s->best, t);
    return DPA_OK;
}

/* ── pairs ─────────────────────────────────────────────────────────────────────────────────── */

/* Updates the wealth against the claim with the pair that was just put into its cell. */
static dpa_status count_claim(dpa_sequential *s, dpa_error *err) {
    const dpa__stage *stage = &s->stages[s->stage_count - 1];
    if (isnan(s->claim) || stage->count == 0) return DPA_OK;
    double sum = s->claim_closed;
    for (uint64_t a = 0; a <= stage->count; ++a)
        for (uint64_t b = 0; b <= stage->count; ++b)
            if (stage->cell[a][b] > 0) sum += (double)stage->cell[a][b] * s->claim_pay[a][b];
    const int falls = s->refuted_at == 0 && sum >= log_goal(s);
    if (falls) DPA_TRY(keep_best(s, err));
    s->claim_now = sum;
    s->claim_most = fmax(s->claim_most, sum);
    if (falls) s->refuted_at = s->pairs + 1;
    return DPA_OK;
}

static dpa_status take_pair(dpa_sequential *s, double member, double nonmember, dpa_error *err) {
    if (s->pairs == s->stage_end) DPA_TRY(begin_stage(s, err));
    dpa__stage *stage = &s->stages[s->stage_count - 1];
    uint64_t *cell = &stage->cell[dpa__stage_bin(stage, member)][dpa__stage_bin(stage, nonmember)];
    ++*cell;
    const dpa_status status = count_claim(s, err);
    if (status != DPA_OK) {
        --*cell;
        return status;
    }
    s->history[1][s->pairs % DPA__HISTORY] = member;
    s->history[0][s->pairs % DPA__HISTORY] = nonmember;
    ++s->pairs;
    return DPA_OK;
}

static dpa_status wait_for_other(dpa_sequential *s, int is_member, double score, dpa_error *err) {
    if (s->pending_first > 0 && s->pending_first == s->pending_count) {
        s->pending_first = 0;
        s->pending_count = 0;
    }
    double *pending =
        dpa__grown(s->pending, s->pending_count, &s->pending_room, sizeof *pending, err);
    if (pending == NULL) return DPA_NO_MEMORY;
    s->pending = pending;
    s->pending[s->pending_count++] = score;
    s->pending_is_member = is_member;
    return DPA_OK;
}

dpa_status dpa__sequential_push(dpa_sequential *s, int is_member, double score, dpa_error *err) {
    is_member = is_member != 0;
    const double value = isnan(score) ? (is_member ? -HUGE_VAL : HUGE_VAL) : score + 0.0;
    if (s->pending_first == s->pending_count || s->pending_is_member == is_member) {
        DPA_TRY(wait_for_other(s, is_member, value, err));
    } else {
        const double other = s->pending[s->pending_first];
        DPA_TRY(take_pair(s, is_member ? value : other, is_member ? other : value, err));
        ++s->pending_first;
    }
    ++s->pushed[is_member];
    return DPA_OK;
}

/* ── open and close ────────────────────────────────────────────────────────────────────────── */

static dpa_status open_rule(dpa_sequential *s, dpa_error *err) {
    dpa__select select;
    const char *text = s->request.select;
    s->fixed = NAN;
    if (text[0] == '\0' || strcmp(text, "running") == 0) return DPA_OK;
    DPA_TRY(dpa__select_parse(text, &select, err));
    if (select.kind != DPA__FIXED)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "select: method sequential chooses from earlier trials only: 'running' or "
                         "'fixed:T', not '%s'",
                         text);
    s->fixed = select.value;
    return DPA_OK;
}

static dpa_status open_models(dpa_sequential *s, dpa_error *err) {
    const dpa_request *r = &s->request;
    const double delta = dpa__claim_delta(r);
    s->claim = NAN;
    DPA_TRY(dpa__model_open(r->family, r->delta, &s->model, err));
    if (isnan(r->claim_epsilon)) return DPA_OK;
    DPA_TRY(dpa__model_open(r->family, delta, &s->claim_model, err));
    return dpa__model_claim(&s->claim_model, r->claim_epsilon, delta, &s->claim, err);
}

static dpa_status open_audit(dpa_sequential *s, dpa_error *err) {
    for (int c = 0; c < 2; ++c) {
        s->history[c] = DPA_NEW_ARRAY(double, DPA__HISTORY, err);
        s->sorted[c] = DPA_NEW_ARRAY(double, DPA__HISTORY, err);
        if (s->history[c] == NULL || s->sorted[c] == NULL) return DPA_NO_MEMORY;
    }
    DPA_TRY(open_rule(s, err));
    DPA_TRY(open_models(s, err));
    return begin_stage(s, err);
}

dpa_status dpa__sequential_new(const dpa_request *request, dpa_sequential **out, dpa_error *err) {
    *out = NULL;
    DPA_TRY(dpa__request_check(request, err));
    if (request->family[0] == '\0')
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family: a sequential audit needs one by name");
    if (request->sides != 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "method sequential gives lower bounds only");
    dpa_sequential *s = DPA_NEW(dpa_sequential, err);
    if (s == NULL) return DPA_NO_MEMORY;
    s->request = *request;
    const dpa_status status = open_audit(s, err);
    if (status == DPA_OK)
        *out = s;
    else
        dpa__sequential_free(s);
    return status;
}

void dpa__sequential_free(dpa_sequential *s) {
    if (s == NULL) return;
    dpa__model_close(&s->model);
    dpa__model_close(&s->claim_model);
    free(s->pending);
    free(s->stages);
    for (int c = 0; c < 2; ++c) {
        free(s->history[c]);
        free(s->sorted[c]);
    }
    free(s);
}

/* ── looking ───────────────────────────────────────────────────────────────────────────────── */

int dpa__sequential_refuted(const dpa_sequential *s) {
    return s->refuted_at > 0;
}

dpa_status dpa__sequential_log_e(const dpa_sequential *s, double epsilon, double *out,
                                 dpa_error *err) {
    double t;
    wealth at;
    if (!(epsilon >= 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "epsilon: at least 0, not %g", epsilon);
    DPA_TRY(dpa__model_claim(&s->model, epsilon, s->request.delta, &t, err));
    DPA_TRY(wealth_at(s, t, &at, err));
    *out = at.now;
    return DPA_OK;
}

dpa_status dpa__sequential_look(const dpa_sequential *s, dpa_sequential_now *out, dpa_error *err) {
    double t;
    DPA_TRY(sequential_bound(s, &t, err));
    t = fmax(t, s->best);
    *out = (dpa_sequential_now){.members = s->pushed[1],
                                .nonmembers = s->pushed[0],
                                .pairs = s->pairs,
                                .parameter_lower = dpa__model_value(&s->model, t),
                                .log_e_value = isnan(s->claim) ? (double)NAN : s->claim_now,
                                .p_value = isnan(s->claim) ? (double)NAN : exp(-s->claim_most),
                                .refuted_at = s->refuted_at};
    return dpa__model_epsilon(&s->model, t, s->request.delta, -1, &out->epsilon_lower, err);
}

/* Two lists of scores in the order of arrival as sequential audits: `--method sequential`. */

/* 1 if a list is sorted by score: it cannot be in order of arrival, and pairs would not be
 * independent draws. Only lists too long for that to be a coincidence count. */
static int looks_sorted(const double *values, size_t count) {
    size_t up = 0, down = 0;
    for (size_t i = 1; i < count; ++i) {
        up += values[i] >= values[i - 1];
        down += values[i] <= values[i - 1];
    }
    const int all_equal = up == count - 1 && down == count - 1;
    return count > 20 && !all_equal && (up == count - 1 || down == count - 1);
}

static dpa_status check_order(const dpa_scores *s, dpa_error *err) {
    if (s->members == 0 || s->nonmembers == 0)
        return dpa__fail(err, DPA_BAD_INPUT, "no %s: a bound needs scores of both classes",
                         s->members == 0 ? "members" : "non-members");
    if (s->is_sorted || looks_sorted(s->member, s->members) ||
        looks_sorted(s->nonmember, s->nonmembers))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "method sequential: the scores are sorted; it needs them in the order in "
                         "which the trials came");
    return DPA_OK;
}

static dpa_status push_all(dpa_sequential *audit, const dpa_scores *s, dpa_error *err) {
    const size_t pairs = s->members < s->nonmembers ? s->members : s->nonmembers;
    for (size_t i = 0; i < pairs; ++i) {
        DPA_TRY(dpa__sequential_push(audit, 1, s->member[i], err));
        DPA_TRY(dpa__sequential_push(audit, 0, s->nonmember[i], err));
    }
    return DPA_OK;
}

static dpa_status fill(const dpa_sequential *audit, const dpa_scores *s, dpa_result *out,
                       dpa_error *err) {
    const dpa__model *model = &audit->model;
    dpa_sequential_now now;
    DPA_TRY(dpa__sequential_look(audit, &now, err));
    dpa__result_begin(out, &audit->request, model, DPA__SEQUENTIAL,
                      DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_ORDER_OF_ARRIVAL);
    (void)snprintf(out->select, sizeof out->select, "%s",
                   isnan(audit->fixed) ? "running" : "fixed");
    (void)snprintf(out->parameter, sizeof out->parameter, "%s", model->parameter);
    out->epsilon_lower = now.epsilon_lower;
    out->parameter_lower = now.parameter_lower;
    out->threshold = audit->fixed;
    out->p_value = now.p_value;
    if (!isnan(audit->fixed)) out->assumptions |= DPA_ASSUME_THRESHOLD_FIXED;
    out->numerical_error = 1e-11 * (1 + now.epsilon_lower);
    dpa__result_add_extra(out, "pairs", (double)now.pairs);
    if (!isnan(now.log_e_value)) dpa__result_add_extra(out, "log_e_value", now.log_e_value);
    if (now.refuted_at > 0) dpa__result_add_extra(out, "refuted_at_pair", (double)now.refuted_at);
    const size_t unpaired =
        s->members > s->nonmembers ? s->members - s->nonmembers : s->nonmembers - s->members;
    if (unpaired > 0)
        (void)snprintf(out->note, sizeof out->note,
                       "%zu scores of the larger class have no partner and were not used.",
                       unpaired);
    return DPA_OK;
}

static dpa_status audit_family(const dpa_scores *s, const dpa_request *request,
                               dpa_results *results, dpa_error *err) {
    dpa_sequential *audit = NULL;
    dpa_result result;
    DPA_TRY(dpa__sequential_new(request, &audit, err));
    dpa_status status = push_all(audit, s, err);
    if (status == DPA_OK) status = fill(audit, s, &result, err);
    dpa__sequential_free(audit);
    if (status != DPA_OK) return status;
    return dpa__results_add(results, &result, err);
}

dpa_status dpa__estimate_sequential(const dpa_scores *in_order, const dpa_request *request,
                                    dpa_results *results, dpa_error *err) {
    const char *family;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(check_order(in_order, err));
    for (size_t i = 0; (family = dpa__request_family(request, i)) != NULL; ++i) {
        dpa_request each = *request;
        (void)snprintf(each.family, sizeof each.family, "%s", family);
        DPA_TRY(audit_family(in_order, &each, results, err));
    }
    return DPA_OK;
}
