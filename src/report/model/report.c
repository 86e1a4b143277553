/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a report piece by piece. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/model/model.h"

double dpa__result_extra(const dpa_result *result, const char *name) {
    for (size_t i = 0; i < result->extra_count; ++i)
        if (strcmp(result->extra[i].name, name) == 0) return result->extra[i].value;
    return (double)NAN;
}

double dpa_result_number(const dpa_result *r, const char *name) {
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"epsilon", r->epsilon},
                   {"epsilon_lower", r->epsilon_lower},
                   {"epsilon_upper", r->epsilon_upper},
                   {"parameter_lower", r->parameter_lower},
                   {"parameter_upper", r->parameter_upper},
                   {"confidence", r->confidence},
                   {"sides", r->sides},
                   {"threshold", r->threshold},
                   {"p_value", r->p_value},
                   {"numerical_error", r->numerical_error}};
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"fn", r->counts.fn}, {"tp", r->counts.tp}, {"fp", r->counts.fp}, {"tn", r->counts.tn}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (strcmp(name, numbers[i].name) == 0) return numbers[i].value;
    for (size_t i = 0; r->has_counts && i < sizeof counts / sizeof counts[0]; ++i)
        if (strcmp(name, counts[i].name) == 0) return (double)counts[i].value;
    return dpa__result_extra(r, name);
}

const char *dpa_result_text(const dpa_result *r, const char *name) {
    const char *conditional = dpa__result_conditional(r);
    const struct {
        const char *name, *text;
    } texts[] = {{"family", r->family},
                 {"method", r->method},
                 {"select", r->select},
                 {"parameter", r->parameter},
                 {"guarantee", dpa__guarantee_name(dpa__result_guarantee(r))},
                 {"conditional", conditional != NULL ? conditional : ""},
                 {"role", r->role == DPA_PRIMARY ? "primary" : "shown"},
                 {"scope", dpa__scope_name(r->scope)},
                 {"note", r->note}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        if (strcmp(name, texts[i].name) == 0) return texts[i].text;
    return NULL;
}

const char *dpa_result_assumption(const dpa_result *r, size_t index, const char **sentence) {
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i) {
        if ((r->assumptions >> i & 1U) == 0 || index-- > 0) continue;
        if (sentence != NULL) *sentence = dpa__assumption_text(i);
        return dpa__assumption_name(i);
    }
    return NULL;
}

dpa_status dpa__report_new(const char *command, const dpa_request *request, dpa_report **out,
                           dpa_error *err) {
    *out = NULL;
    DPA_TRY(dpa__request_check(request, err));
    dpa_report *report = DPA_NEW(dpa_report, err);
    if (report == NULL) return DPA_NO_MEMORY;
    (void)snprintf(report->command, sizeof report->command, "%s", command);
    report->request = *request;
    report->request.progress = (dpa_progress){0}; /* belongs to the call, not to its result */
    report->evidence = json_object();
    report->lints = json_array();
    report->inputs = json_array();
    report->sections = json_object();
    report->provenance = json_object();
    report->notes = json_array();
    if (!report->evidence || !report->lints || !report->inputs || !report->sections ||
        !report->provenance || !report->notes) {
        dpa_report_free(report);
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for a report");
    }
    *out = report;
    return DPA_OK;
}

void dpa__report_name(dpa_report *report, const char *command, const char *subject) {
    (void)snprintf(report->command, sizeof report->command, "%s", command);
    (void)snprintf(report->subject, sizeof report->subject, "%s", subject);
}

void dpa_report_free(dpa_report *report) {
    if (report == NULL) return;
    dpa__results_free(&report->results);
    json_decref(report->evidence);
    json_decref(report->lints);
    json_decref(report->inputs);
    json_decref(report->sections);
    json_decref(report->provenance);
    json_decref(report->notes);
    json_decref(report->protocol);
    dpa__text_free(&report->lines);
    free(report);
}

dpa_status dpa__report_end(dpa_report *report, dpa_status status, dpa_report **out) {
    if (status != DPA_OK) dpa_report_free(report);
    *out = status == DPA_OK ? report : NULL;
    return status;
}

void dpa_free(void *block) {
    free(block);
}

dpa_status dpa__report_add(dpa_report *report, const dpa_result *result, dpa_error *err) {
    return dpa__results_add(&report->results, result, err);
}

dpa_status dpa__report_evidence(dpa_report *report, const char *kind, dpa_error *err) {
    return dpa__json_set(report->evidence, "kind", dpa__json_text(kind), err);
}

dpa_status dpa__report_fact(dpa_report *report, const char *key, double value, dpa_error *err) {
    return dpa__json_put(report->evidence, key, value, err);
}

dpa_status dpa__report_fact_text(dpa_report *report, const char *key, const char *value,
                                 dpa_error *err) {
    return dpa__json_set(report->evidence, key, dpa__json_text(value), err);
}

dpa_status dpa__report_lints(dpa_report *report, const dpa_lints *lints, dpa_error *err) {
    for (size_t i = 0; i < lints->count; ++i) {
        DPA_TRY(DPA__JSON_ADD(report->lints, err, {"code", .text = lints->items[i].code},
                              {"text", .text = lints->items[i].text}));
    }
    return DPA_OK;
}

dpa_status dpa__report_input(dpa_report *report, const char *path, const char *sha256,
                             dpa_error *err) {
    return DPA__JSON_ADD(report->inputs, err, {"path", .text = path}, {"sha256", .text = sha256});
}

dpa_status dpa__report_invocation(dpa_report *report, const char *text, dpa_error *err) {
    char now[32];
    const time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        now[0] = '\0';
    return DPA__JSON_FILL(report->provenance, err, {"time", .text = now},
                          {"command", .text = text});
}

dpa_status dpa__report_section(dpa_report *report, const char *key, const char *json,
                               dpa_error *err) {
    json_error_t problem;
    json_t *value = dpa__json_load(json, strlen(json), JSON_DECODE_ANY, &problem);
    if (value == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s is not JSON: line %d: %s", key, problem.line,
                         problem.text);
    return dpa__json_set(report->sections, key, value, err);
}

/* A line of the text output; a note is one of the JSON too. */
static dpa_status add_line(dpa_report *report, json_t *notes, const char *format, va_list args,
                           dpa_error *err) {
    char line[DPA_TEXT_SIZE];
    (void)dpa__vprint(line, sizeof line, format, args);
    if (notes != NULL) DPA_TRY(dpa__json_append(notes, dpa__json_text(line), err));
    dpa__utf8_tame(line, "\n"); /* names from files may reach a terminal */
    dpa__text_printf(&report->lines, "%s\n", line);
    if (report->lines.failed) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a line of text");
    return DPA_OK;
}

dpa_status dpa__report_say(dpa_report *report, dpa_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const dpa_status status = add_line(report, NULL, format, args, err);
    va_end(args);
    return status;
}

dpa_status dpa__report_note(dpa_report *report, dpa_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const dpa_status status = add_line(report, report->notes, format, args, err);
    va_end(args);
    return status;
}

size_t dpa_report_count(const dpa_report *report) {
    return report->results.count;
}

const dpa_result *dpa_report_result(const dpa_report *report, size_t index) {
    return index < report->results.count ? &report->results.items[index] : NULL;
}

const dpa_result *dpa_report_primary(const dpa_report *report) {
    const dpa_result *best = NULL;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *result = &report->results.items[i];
        if (result->role != DPA_PRIMARY) continue;
        if (best == NULL || isnan(best->epsilon_lower) ||
            result->epsilon_lower > best->epsilon_lower)
            best = result;
    }
    return best;
}

dpa_state dpa_report_state(const dpa_report *report) {
    return report->verdict.state;
}

const char *dpa_state_name(dpa_state state) {
    static const char *const names[] = {"no-claim", "not-refuted", "refuted", "inconclusive"};
    return names[state];
}

dpa_status dpa_report_headline(const dpa_report *report, char **out, dpa_error *err) {
    *out = dpa__strdup(report->verdict.headline, err);
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}
