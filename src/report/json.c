/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as JSON (docs: design, section 5). Doubles are written with the fewest digits that read
 * back as the same bits; what JSON cannot say (NaN, infinities) is null, and an infinite end says
 * so beside it. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "report/model.h"

/* A double tells 15 digits apart, and %g drops zeros at the end: when 15 digits read back, they are
 * the shortest text. Only below the normal range can fewer do. */
void dpa__number_text(double value, char *out, size_t size) {
    if (value == floor(value) && fabs(value) < 1e15) { /* 50, not 5e+01 */
        (void)snprintf(out, size, "%.0f", value + 0.0);
        return;
    }
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; ++digits) {
        double again;
        const char *at = out;
        (void)dpa__print(out, size, "%.*g", digits, value);
        if (dpa__number_parse(&at, out + strlen(out), &again) == DPA__NUMBER_OK && again == value)
            return;
    }
}

json_t *dpa__json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* ── writing ─────────────────────────────────────────────────────────────────────────────────── */

static void write_string(dpa__text *out, const char *text) {
    dpa__text_add(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\')
            dpa__text_printf(out, "\\%c", *c);
        else if (*c < 0x20)
            dpa__text_printf(out, "\\u%04x", *c);
        else
            dpa__text_add_bytes(out, (const char *)c, 1);
    }
    dpa__text_add(out, "\"");
}

static void new_line(dpa__text *out, int indent) {
    if (indent >= 0) dpa__text_printf(out, "\n%*s", indent, "");
}

static int is_flat(const json_t *value) {
    for (size_t i = 0; i < json_array_size(value); ++i) {
        const json_t *item = json_array_get(value, i);
        if (json_is_object(item) || json_is_array(item)) return 0;
    }
    return 1;
}

static void write_array(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 && !is_flat(value) ? indent + 1 : -1;
    size_t index;
    json_t *item;
    dpa__text_add(out, "[");
    json_array_foreach(value, index, item) {
        if (index > 0) dpa__text_add(out, inner >= 0 ? "," : ", ");
        new_line(out, inner);
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "]");
}

static void write_object(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 ? indent + 1 : -1;
    const char *separator = "";
    const char *key;
    json_t *item;
    dpa__text_add(out, "{");
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        dpa__text_add(out, separator);
        separator = inner >= 0 ? "," : ", ";
        new_line(out, inner);
        write_string(out, key);
        dpa__text_add(out, ": ");
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "}");
}

void dpa__json_write(dpa__text *out, const json_t *value, int indent) {
    char number[40];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value, indent);
        break;
    case JSON_ARRAY:
        write_array(out, value, indent);
        break;
    case JSON_STRING:
        write_string(out, json_string_value(value));
        break;
    case JSON_INTEGER:
        dpa__text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        dpa__number_text(json_real_value(value), number, sizeof number);
        dpa__text_add(out, number);
        break;
    case JSON_TRUE:
        dpa__text_add(out, "true");
        break;
    case JSON_FALSE:
        dpa__text_add(out, "false");
        break;
    case JSON_NULL:
        dpa__text_add(out, "null");
        break;
    }
}

/* ── the report ──────────────────────────────────────────────────────────────────────────────── */

/* Collects failures, so that a caller asks once. */
typedef struct builder {
    json_t *object;
    int failed;
} builder;

static void put(builder *b, const char *key, json_t *value) {
    /* takes the value also when there is no object to put it into */
    if (json_object_set_new(b->object, key, value) != 0) b->failed = 1;
}

static void put_known(builder *b, const char *key, double value) {
    if (!isnan(value)) put(b, key, dpa__json_number(value));
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
    json_t *array = json_array();
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT && array != NULL; ++i)
        if ((set >> i & 1U) &&
            json_array_append_new(array, json_string(dpa_assumption_name(i))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static void put_epsilon(builder *b, const dpa_result *result) {
    if (result->kind == DPA_ESTIMATE) {
        put(b, "epsilon", dpa__json_number(result->epsilon));
        if (isinf(result->epsilon)) put(b, "epsilon_infinite", json_true());
    }
    put(b, "epsilon_lower", dpa__json_number(result->epsilon_lower));
    if (isinf(result->epsilon_lower)) put(b, "epsilon_lower_infinite", json_true());
    put(b, "epsilon_upper", dpa__json_number(result->epsilon_upper));
    if (isinf(result->epsilon_upper)) put(b, "epsilon_upper_infinite", json_true());
}

static json_t *result_json(const dpa_result *result) {
    builder b = {json_object(), 0};
    put(&b, "kind", json_string(result->kind == DPA_BOUND ? "bound" : "estimate"));
    if (result->family[0]) put(&b, "family", json_string(result->family));
    put(&b, "method", json_string(result->method));
    if (result->select[0]) put(&b, "select", json_string(result->select));
    put_epsilon(&b, result);
    if (result->parameter[0]) put(&b, "parameter", parameter_json(result));
    put(&b, "confidence", dpa__json_number(result->confidence));
    put(&b, "sides", json_integer(result->sides));
    put(&b, "valid", json_boolean(result->valid));
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
    json_t *array = json_array();
    for (size_t i = 0; i < results->count && array != NULL; ++i)
        if (json_array_append_new(array, result_json(&results->items[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *claim_json(const dpa_report *report) {
    const dpa_request *request = &report->request;
    builder b = {json_object(), 0};
    put(&b, "epsilon", dpa__json_number(request->claim_epsilon));
    put(&b, "delta", dpa__json_number(dpa__claim_delta(request)));
    if (report->scope[0] != '\0') put(&b, "scope", json_string(report->scope));
    return finish(&b);
}

/* json_copy drops what it has no memory for, without a word. */
static json_t *whole_copy(json_t *object) {
    json_t *copy = json_copy(object);
    if (json_object_size(copy) == json_object_size(object)) return copy;
    json_decref(copy);
    return NULL;
}

static json_t *evidence_json(const dpa_report *report) {
    builder b = {whole_copy(report->evidence), 0};
    if (json_array_size(report->inputs) == 1)
        put(&b, "sha256",
            json_incref(json_object_get(json_array_get(report->inputs, 0), "sha256")));
    put(&b, "lints", json_incref(report->lints));
    return finish(&b);
}

static json_t *verdict_json(const dpa_report *report) {
    builder b = {json_object(), 0};
    char *headline = NULL;
    if (dpa_report_headline(report, &headline, NULL) != DPA_OK) b.failed = 1;
    put(&b, "refuted", json_boolean(dpa_report_refuted(report)));
    put(&b, "headline", headline != NULL ? json_string(headline) : NULL);
    free(headline);
    return finish(&b);
}

static json_t *provenance_json(const dpa_report *report) {
    builder b = {whole_copy(report->provenance), 0};
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
    if (!isnan(report->request.claim_epsilon)) put(&b, "claim", claim_json(report));
    if (dpa__has_verdict(report)) {
        put(&b, "evidence", evidence_json(report));
        put(&b, "results", results_json(&report->results));
    }
    const char *key;
    json_t *section;
    json_object_foreach(report->sections, key, section) put(&b, key, json_incref(section));
    if (json_array_size(report->notes) > 0) put(&b, "notes", json_incref(report->notes));
    if (dpa__has_verdict(report)) put(&b, "verdict", verdict_json(report));
    put(&b, "provenance", provenance_json(report));
    return finish(&b);
}

dpa_status dpa_report_json(const dpa_report *report, char **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    if (value == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for the JSON of a report");
    dpa__text text = {0};
    dpa__json_write(&text, value, 0);
    dpa__text_add(&text, "\n");
    json_decref(value);
    return dpa__text_take(&text, out, err);
}
