/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A result for CI: JUnit XML, which every CI system shows as a test, and SARIF 2.1.0, which code
 * hosts show as a finding. Both contain the verdict and its sentence, nothing that is not in the
 * JSON. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "dpaudit/status.h"
#include "report/model/model.h"
#include "report/model/value.h"
#include "report/render/html.h"

/* Escapes as for HTML; control characters are replaced, because XML 1.0 cannot express most of
 * them. */
static void add_xml(dpa__text *out, const char *text) {
    for (; *text != '\0'; ++text) {
        const char one[2] = {*text, '\0'};
        const unsigned char c = (unsigned char)*text;
        const int is_bare = c < 0x20 && c != '\t' && c != '\n' && c != '\r';
        const int is_noncharacter =
            strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0;
        dpa__html_escape(out, is_bare || is_noncharacter ? "?" : one);
        if (is_noncharacter) text += 2;
    }
}

static void add_attribute(dpa__text *out, const char *name, const char *value) {
    dpa__text_printf(out, " %s=\"", name);
    add_xml(out, value);
    dpa__text_add(out, "\"");
}

static const char *state_of(const json_t *result) {
    const char *state = dpa__word_of(json_object_get(result, "verdict"), "state");
    return state[0] != '\0' ? state : "no-claim";
}

/* What was audited: the experiment, the file or the command. */
static const char *place_of(const json_t *result) {
    const json_t *inputs = json_object_get(json_object_get(result, "provenance"), "inputs");
    const char *path = dpa__word_of(json_array_get(inputs, 0), "path");
    const char *subject = dpa__word_of(result, "subject");
    return subject[0] != '\0' ? subject : path;
}

static void add_case(dpa__text *out, const json_t *result) {
    const char *state = state_of(result);
    const char *headline = dpa__word_of(json_object_get(result, "verdict"), "headline");
    const char *place = place_of(result);
    const char *element = strcmp(state, "refuted") == 0        ? "failure"
                          : strcmp(state, "inconclusive") == 0 ? "error"
                                                               : NULL;
    dpa__text_add(out, "    <testcase classname=\"dpaudit\" name=\"");
    add_xml(out, dpa__word_of(result, "command"));
    if (place[0] != '\0') dpa__text_add(out, " ");
    add_xml(out, place);
    dpa__text_add(out, "\">\n");
    if (element != NULL) {
        dpa__text_printf(out, "      <%s", element);
        add_attribute(out, "type", state);
        add_attribute(out, "message", headline);
        dpa__text_add(out, "/>\n");
    }
    dpa__text_add(out, "      <system-out>");
    add_xml(out, headline);
    dpa__text_add(out, "</system-out>\n    </testcase>\n");
}

dpa_status dpa_report_junit(const dpa_report *report, char **out, dpa_error *err) {
    json_t *result = dpa__report_to_json(report);
    if (result == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for JUnit's XML");
    dpa__text text = {0};
    const char *state = state_of(result);
    dpa__text_printf(&text,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                     "  <testsuite name=\"dpaudit\" tests=\"1\" failures=\"%d\" errors=\"%d\">\n",
                     strcmp(state, "refuted") == 0, strcmp(state, "inconclusive") == 0);
    add_case(&text, result);
    dpa__text_add(&text, "  </testsuite>\n</testsuites>\n");
    json_decref(result);
    return dpa__text_take(&text, out, err);
}

/* ── SARIF ─────────────────────────────────────────────────────────────────────────────────────
 */

/* A path as the URI reference that SARIF wants. */
static json_t *uri_of(const char *path) {
    dpa__text text = {0};
    for (; *path != '\0'; ++path) {
        const unsigned char c = (unsigned char)*path;
        const char one[2] = {*path, '\0'};
        const int is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || strchr("/._-~", c) != NULL;
        if (is_plain)
            dpa__text_add(&text, one);
        else
            dpa__text_printf(&text, "%%%02X", c);
    }
    json_t *uri = text.failed ? NULL : json_string(text.data != NULL ? text.data : "");
    dpa__text_free(&text);
    return uri;
}

static json_t *finding(const json_t *result) {
    const char *state = state_of(result), *place = place_of(result);
    const int refuted = strcmp(state, "refuted") == 0;
    const int inconclusive = strcmp(state, "inconclusive") == 0;
    const char *kind = refuted                             ? "fail"
                       : inconclusive                      ? "open"
                       : strcmp(state, "not-refuted") == 0 ? "pass"
                                                           : "informational";
    json_t *found = json_pack("{s:s, s:s, s:s, s:{s:s}}", "ruleId",
                              inconclusive ? "privacy-claim-inconclusive" : "privacy-claim-refuted",
                              "kind", kind, "level", refuted ? "error" : "none", "message", "text",
                              dpa__word_of(json_object_get(result, "verdict"), "headline"));
    json_t *uri = place[0] != '\0' ? uri_of(place) : NULL;
    if (uri != NULL && found != NULL)
        (void)json_object_set_new(
            found, "locations",
            json_pack("[{s:{s:{s:o}}}]", "physicalLocation", "artifactLocation", "uri", uri));
    else
        json_decref(uri);
    return found;
}

dpa_status dpa_report_sarif(const dpa_report *report, char **out, dpa_error *err) {
    json_t *result = dpa__report_to_json(report);
    json_t *found = result != NULL ? finding(result) : NULL;
    json_t *log =
        found == NULL
            ? NULL
            : json_pack("{s:s, s:[{s:{s:{s:s, s:s, s:[{s:s, s:{s:s}}, {s:s, s:{s:s}}]}}, s:[o]}]}",
                        "version", "2.1.0", "runs", "tool", "driver", "name", "dpaudit", "version",
                        dpa_version(), "rules", "id", "privacy-claim-refuted", "shortDescription",
                        "text", "The leak is larger than what was claimed", "id",
                        "privacy-claim-inconclusive", "shortDescription", "text",
                        "The audit says nothing about the claim", "results", found);
    json_decref(result);
    if (log == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for SARIF");
    dpa__text text = {0};
    dpa__json_write(&text, log, 0);
    dpa__text_add(&text, "\n");
    json_decref(log);
    return dpa__text_take(&text, out, err);
}
