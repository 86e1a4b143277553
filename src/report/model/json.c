/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as JSON (docs: design, section 5). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/model/model.h"

/* ── the report ──────────────────────────────────────────────────────────────────────────────── */

/* An object or an array; collects failures, so that a caller checks once. */
typedef struct builder {
    json_t *object;
    int failed;
} builder;

static void add(builder *b, json_t *value) {
    if (json_array_append_new(b->object, value) != 0) b->failed = 1;
}

static void put(builder *b, const char *key, json_t *value) {
    /* takes over the value even if there is no object to put it into */
    if (json_object_set_new(b->object, key, value) != 0) b->failed = 1;
}

static void put_known(builder *b, const char *key, double value) {
    if (!isnan(value)) put(b, key, dpa__json_number(value));
}

/* JSON has no infinity, so a flag says it. */
static void put_end(builder *b, const char *key, double value) {
    char flag[64];
    put(b, key, dpa__json_number(value));
    (void)snprintf(flag, sizeof flag, "%s_infinite", key);
    if (isinf(value)) put(b, flag, json_true());
}

static json_t *finish(builder *b) {
    if (!b->failed) return b->object;
    json_decref(b->object);
    return NULL;
}

static json_t *parameter_json(const dpa_result *result) {
    builder b = {json_object(), 0};
    put(&b, "name", json_string(result->parameter));
    put_known(&b, "lower", result->parameter_lower);
    put_known(&b, "upper", result->parameter_upper);
    return finish(&b);
}

static json_t *counts_json(const dpa_counts *counts) {
    builder b = {json_object(), 0};
    put(&b, "fn", json_integer((json_int_t)counts->fn));
    put(&b, "tp", json_integer((json_int_t)counts->tp));
    put(&b, "fp", json_integer((json_int_t)counts->fp));
    put(&b, "tn", json_integer((json_int_t)counts->tn));
    return finish(&b);
}

static json_t *assumptions_json(unsigned set) {
    builder b = {json_array(), 0};
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i)
        if (set >> i & 1U) add(&b, json_string(dpa__assumption_name(i)));
    return finish(&b);
}

static json_t *result_json(const dpa_result *result) {
    builder b = {json_object(), 0};
    const char *conditional = dpa__result_conditional(result);
    put(&b, "role", json_string(result->role == DPA_PRIMARY ? "primary" : "shown"));
    put(&b, "guarantee", json_string(dpa__guarantee_name(dpa__result_guarantee(result))));
    put(&b, "conditional", conditional != NULL ? json_string(conditional) : json_null());
    put(&b, "scope", json_string(dpa__scope_name(result->scope)));
    if (result->family[0]) put(&b, "family", json_string(result->family));
    put(&b, "method", json_string(result->method));
    if (result->select[0]) put(&b, "select", json_string(result->select));
    if (result->kind == DPA_ESTIMATE) put_end(&b, "epsilon", result->epsilon);
    put_end(&b, "epsilon_lower", result->epsilon_lower);
    put_end(&b, "epsilon_upper", result->epsilon_upper);
    if (result->parameter[0]) put(&b, "parameter", parameter_json(result));
    put(&b, "confidence", dpa__json_number(result->confidence));
    put(&b, "sides", json_integer(result->sides));
    put_known(&b, "threshold", result->threshold);
    if (result->has_counts) put(&b, "counts", counts_json(&result->counts));
    put_known(&b, "p_value", result->p_value);
    put(&b, "assumptions", assumptions_json(result->assumptions));
    put_known(&b, "numerical_error", result->numerical_error);
    if (result->note[0]) put(&b, "note", json_string(result->note));
    for (size_t i = 0; i < result->extra_count; ++i)
        put(&b, result->extra[i].name, dpa__json_number(result->extra[i].value));
    return finish(&b);
}

static json_t *results_json(const dpa_results *results) {
    builder b = {json_array(), 0};
    for (size_t i = 0; i < results->count; ++i) add(&b, result_json(&results->items[i]));
    return finish(&b);
}

/* The claim as it was made, and what it promises at the report's δ. */
static json_t *claim_json(const dpa_report *report) {
    const dpa__verdict *v = &report->verdict;
    const dpa_claim *c = &v->claim;
    builder b = {json_object(), 0};
    put(&b, "epsilon", dpa__json_number(v->claim_epsilon));
    put(&b, "delta",
        dpa__json_number(isnan(c->delta) || v->records > 1 ? report->request.delta : c->delta));
    if (v->records > 1) {
        put(&b, "records", json_integer((json_int_t)v->records));
        if (!isnan(c->epsilon)) {
            put(&b, "epsilon_of_one", dpa__json_number(c->epsilon));
            put(&b, "delta_of_one", dpa__json_number(c->delta));
        }
    }
    put(&b, "scope", json_string(dpa__scope_name(c->scope)));
    put(&b, "neighbours", json_string(c->replace_one ? "replace-one" : "add-remove"));
    if (!isnan(c->sigma)) {
        put(&b, "sigma", dpa__json_number(c->sigma));
        put(&b, "q", dpa__json_number(c->q));
        put(&b, "steps", json_integer((json_int_t)c->steps));
    }
    if (c->curve[0] != '\0') put(&b, "curve", dpa__json_text(c->curve));
    return finish(&b);
}

static json_t *evidence_json(const dpa_report *report) {
    builder b = {dpa__json_copy(report->evidence), 0};
    if (json_array_size(report->inputs) == 1)
        put(&b, "sha256",
            json_incref(json_object_get(json_array_get(report->inputs, 0), "sha256")));
    put(&b, "lints", json_incref(report->lints));
    return finish(&b);
}

static json_t *contradicted_json(const dpa__verdict *v) {
    builder all = {json_array(), 0};
    for (size_t i = 0; i < v->contradictions; ++i) {
        builder b = {json_object(), 0};
        put(&b, "assumption", json_string(dpa__assumption_name(v->contradicted[i].assumption)));
        put(&b, "reason", dpa__json_text(v->contradicted[i].reason));
        add(&all, finish(&b));
    }
    return finish(&all);
}

static json_t *detect_json(const dpa__verdict *v) {
    builder b = {json_object(), 0};
    if (!isnan(v->detect_worst)) put_end(&b, "epsilon", v->detect_worst);
    if (!isnan(v->detect_gaussian)) put_end(&b, "epsilon_gaussian", v->detect_gaussian);
    put(&b, "power", json_real(0.8));
    return finish(&b);
}

static json_t *protocol_json(const dpa__verdict *v) {
    builder b = {json_object(), 0};
    put(&b, "sha256", json_string(v->protocol));
    put(&b, "registered", json_boolean(v->is_registered));
    if (v->is_registered) put(&b, "as_registered", json_boolean(v->is_as_registered));
    return finish(&b);
}

static json_t *verdict_json(const dpa_report *report) {
    const dpa__verdict *v = &report->verdict;
    builder b = {json_object(), 0};
    put(&b, "state", json_string(dpa_state_name(v->state)));
    put(&b, "refuted", json_boolean(v->state == DPA_REFUTED));
    if (!isnan(v->claim_epsilon)) put(&b, "claim", claim_json(report));
    put(&b, "scope", json_string(dpa__scope_name(v->scope)));
    put_end(&b, "epsilon_lower", v->epsilon_lower);
    if (v->is_all_rejected) put(&b, "all_rejected", json_true());
    put(&b, "confidence", dpa__json_number(v->confidence));
    put_known(&b, "p_value", v->p_value);
    put(&b, "conditional", v->conditional != NULL ? json_string(v->conditional) : json_null());
    put(&b, "decided_by", json_string(v->is_posterior ? "posterior" : "confidence"));
    put(&b, "assumptions", assumptions_json(v->assumptions));
    put(&b, "contradicted", contradicted_json(v));
    if (v->obstacle[0] != '\0' && v->state == DPA_INCONCLUSIVE)
        put(&b, "obstacle", dpa__json_text(v->obstacle));
    if (!isnan(v->detect_worst) || !isnan(v->detect_gaussian))
        put(&b, "would_detect", detect_json(v));
    put_known(&b, "must_detect", v->must_detect);
    if (v->protocol[0] != '\0') put(&b, "protocol", protocol_json(v));
    put(&b, "headline", dpa__json_text(v->headline));
    return finish(&b);
}

static json_t *provenance_json(const dpa_report *report) {
    builder b = {dpa__json_copy(report->provenance), 0};
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%" PRIu64, report->request.seed);
    put(&b, "seed", json_string(seed));
    put(&b, "inputs", json_incref(report->inputs));
    return finish(&b);
}

json_t *dpa__report_to_json(const dpa_report *report) {
    builder b = {json_object(), 0};
    put(&b, "dpaudit", json_string(dpa_version()));
    put(&b, "command", json_string(report->command));
    if (report->subject[0] != '\0') put(&b, "subject", dpa__json_text(report->subject));
    put(&b, "delta", dpa__json_number(report->request.delta));
    if (report->verdict.is_made) put(&b, "verdict", verdict_json(report));
    if (report->verdict.is_made || report->results.count > 0) {
        put(&b, "evidence", evidence_json(report));
        put(&b, "results", results_json(&report->results));
    }
    const char *key;
    json_t *section;
    json_object_foreach(report->sections, key, section) put(&b, key, json_incref(section));
    if (json_array_size(report->notes) > 0) put(&b, "notes", json_incref(report->notes));
    if (report->protocol != NULL) put(&b, "protocol", json_incref(report->protocol));
    put(&b, "provenance", provenance_json(report));
    return finish(&b);
}

dpa_status dpa_report_json(const dpa_report *report, char **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    if (value == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for the JSON of a report");
    const dpa_status status = dpa__result_seal(value, err);
    if (status != DPA_OK) {
        json_decref(value);
        return status;
    }
    dpa__text text = {0};
    dpa__json_write(&text, value, 0);
    dpa__text_add(&text, "\n");
    json_decref(value);
    return dpa__text_take(&text, out, err);
}
