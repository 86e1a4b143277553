/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A protocol: defaults, fields from text or from a file, and its canonical text, whose SHA-256
 * identifies it. A file never overwrites what was set by name. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "judge/case.h"

void dpa__protocol_init(dpa_protocol *protocol) {
    *protocol = (dpa_protocol){.must_detect = NAN, .at_epsilon = NAN};
    dpa__request_init(&protocol->request);
}

dpa_status dpa_protocol_new(dpa_protocol **out, dpa_error *err) {
    *out = DPA_NEW(dpa_protocol, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    dpa__protocol_init(*out);
    return DPA_OK;
}

void dpa_protocol_progress(dpa_protocol *protocol, const dpa_progress *progress) {
    protocol->request.progress = *progress;
}

/* The keys of a protocol; the index is the bit in `given`. */
static const char *const keys[] = {"delta", "confidence", "family",  "method", "select",
                                   "seed",  "sides",      "guesses", "decide", "must-detect"};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* "all" names nothing, so the default decides, and everything is shown. */
static int drop_all(char *name) {
    const int is_all = strcmp(name, "all") == 0;
    if (is_all) name[0] = '\0';
    return is_all;
}

static unsigned bit_of(const char *key) {
    if (strcmp(key, "one-sided") == 0 || strcmp(key, "two-sided") == 0) key = "sides";
    for (unsigned i = 0; i < KEYS; ++i)
        if (strcmp(key, keys[i]) == 0) return 1U << i;
    return 0;
}

static dpa_status set_number(const char *key, const char *value, double *out, dpa_error *err) {
    const char *at = value, *end = value + strlen(value);
    if (dpa__number_parse(&at, end, out) == DPA__NUMBER_OK && at == end && *out >= 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: '%s' is not a number from 0 on", key, value);
}

static dpa_status set_guesses(dpa_protocol *p, const char *value, dpa_error *err) {
    const int is_count = value[0] != '\0' && strspn(value, "0123456789") == strlen(value);
    const int is_word = strcmp(value, "auto") == 0 || strcmp(value, "max") == 0;
    if ((!is_count && !is_word) || strlen(value) >= sizeof p->guesses)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "guesses: '%.40s'; expected a whole number, auto or max", value);
    (void)snprintf(p->guesses, sizeof p->guesses, "%s", value);
    return DPA_OK;
}

static dpa_status set_group(dpa_protocol *p, const char *value, dpa_error *err) {
    if (strlen(value) >= sizeof p->group)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group: longer than %zu characters",
                         sizeof p->group - 1);
    (void)snprintf(p->group, sizeof p->group, "%s", value);
    return DPA_OK;
}

static dpa_status set_decide(dpa_protocol *p, const char *value, dpa_error *err) {
    p->decides_by_posterior = strcmp(value, "posterior") == 0;
    if (p->decides_by_posterior || strcmp(value, "confidence") == 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "decide: '%s' is neither confidence nor posterior",
                     value);
}

static int set_flag(dpa_protocol *p, const char *key) {
    const struct {
        const char *key;
        int *flag;
    } flags[] = {{"bare", &p->bare},
                 {"plain", &p->plain},
                 {"all", &p->all},
                 {"curve", &p->curve},
                 {"explain", &p->explain},
                 {"pointwise", &p->pointwise},
                 {"bootstrap-auc", &p->bootstrap_auc}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; ++i)
        if (strcmp(key, flags[i].key) == 0) return *flags[i].flag = 1;
    return 0;
}

dpa_status dpa__confidence_check(const dpa_request *request, dpa_error *err) {
    if (request->confidence >= 0.5) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "confidence: must be at least 0.5 (0.95 for 95%%), not %g: it is how sure the "
                     "verdict is, not its error",
                     request->confidence);
}

dpa_status dpa_protocol_set(dpa_protocol *p, const char *key, const char *value, dpa_error *err) {
    if (set_flag(p, key)) return DPA_OK;
    const int is_switch = strcmp(key, "one-sided") == 0 || strcmp(key, "two-sided") == 0;
    if (value == NULL && !is_switch)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs a value", key);
    if (strcmp(key, "guesses") == 0)
        DPA_TRY(set_guesses(p, value, err));
    else if (strcmp(key, "group") == 0)
        DPA_TRY(set_group(p, value, err));
    else if (strcmp(key, "decide") == 0)
        DPA_TRY(set_decide(p, value, err));
    else if (strcmp(key, "must-detect") == 0)
        DPA_TRY(set_number(key, value, &p->must_detect, err));
    else if (strcmp(key, "at-epsilon") == 0)
        DPA_TRY(set_number(key, value, &p->at_epsilon, err));
    else
        DPA_TRY(dpa__request_set(&p->request, key, value, err));
    DPA_TRY(dpa__confidence_check(&p->request, err));
    p->all |= drop_all(p->request.family);
    p->all |= drop_all(p->request.method);
    p->given |= bit_of(key);
    return DPA_OK;
}

/* ── from JSON ───────────────────────────────────────────────────────────────────────── */

/* One key of the file as text for dpa_protocol_set; returns 0 if it is absent or empty. */
static int text_of(const json_t *value, char *out, size_t size) {
    if (json_is_string(value))
        (void)snprintf(out, size, "%s", json_string_value(value));
    else if (json_is_number(value))
        dpa__number_text(json_number_value(value), out, size);
    else
        return 0;
    return out[0] != '\0';
}

static dpa_status fill(dpa_protocol *p, const json_t *object, dpa_error *err) {
    for (unsigned i = 0; i < KEYS; ++i) {
        char text[DPA_FAMILY_SIZE];
        if (p->given & 1U << i) continue;
        const char *key = strcmp(keys[i], "must-detect") == 0 ? "must_detect" : keys[i];
        if (!text_of(json_object_get(object, key), text, sizeof text)) continue;
        const int is_sides = strcmp(keys[i], "sides") == 0;
        const char *name = !is_sides ? keys[i] : text[0] == '2' ? "two-sided" : "one-sided";
        DPA_TRY(dpa_protocol_set(p, name, text, err));
    }
    return DPA_OK;
}

dpa_status dpa__protocol_fill(dpa_protocol *protocol, const char *json, dpa_error *err) {
    json_t *object = NULL;
    if (json == NULL) return DPA_OK;
    DPA_TRY(dpa__json_parse("the evidence's protocol", json, strlen(json), &object, err));
    const dpa_status status = fill(protocol, object, err);
    json_decref(object);
    return status;
}

static dpa_status fill_claim(dpa_claim *claim, const json_t *object, dpa_error *err) {
    static const char *const fields[][2] = {
        {"epsilon", "claim-epsilon"}, {"delta", "claim-delta"},
        {"sigma", "claim-sigma"},     {"q", "claim-q"},
        {"steps", "claim-steps"},     {"curve", "claim-curve"},
        {"scope", "claim-scope"},     {"neighbours", "neighbours"}};
    if (dpa__claim_is_made(claim)) return DPA_OK;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        char text[DPA_CURVE_PATH_SIZE];
        if (text_of(json_object_get(object, fields[i][0]), text, sizeof text))
            DPA_TRY(dpa_claim_set(claim, fields[i][1], text, err));
    }
    return dpa__claim_check(claim, err);
}

dpa_status dpa__protocol_restore(dpa_protocol *protocol, dpa_claim *claim, const char *json,
                                 dpa_error *err) {
    json_t *object = NULL;
    DPA_TRY(dpa__json_parse("the result's protocol", json, strlen(json), &object, err));
    dpa_status status = fill(protocol, object, err);
    if (status == DPA_OK) status = fill_claim(claim, json_object_get(object, "claim"), err);
    json_decref(object);
    return status;
}

dpa_status dpa_protocol_read(dpa_protocol *protocol, dpa_claim *claim, const char *path,
                             dpa_error *err) {
    json_t *object = NULL;
    DPA_TRY(dpa__json_read(path, &object, protocol->registered, err));
    dpa_status status = DPA_OK;
    if (!json_is_object(object) || !json_is_string(json_object_get(object, "method")))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path,
                                "no protocol: dpaudit plan --write-protocol makes one");
    if (status == DPA_OK) status = fill(protocol, object, err);
    if (status == DPA_OK) status = fill_claim(claim, json_object_get(object, "claim"), err);
    json_decref(object);
    return status;
}

/* ── to JSON ─────────────────────────────────────────────────────────────────────────── */

static dpa_status put_known(json_t *object, const char *key, double value, dpa_error *err) {
    return isnan(value) ? DPA_OK : dpa__json_put(object, key, value, err);
}

static dpa_status put_claim(json_t *object, const dpa_claim *c, dpa_error *err) {
    json_t *claim = json_object();
    DPA_TRY(dpa__json_set(object, "claim", claim, err));
    if (!dpa__claim_is_made(c)) return DPA_OK;
    DPA_TRY(put_known(claim, "epsilon", c->epsilon, err));
    DPA_TRY(put_known(claim, "delta", c->delta, err));
    if (!isnan(c->sigma)) {
        DPA_TRY(put_known(claim, "sigma", c->sigma, err));
        DPA_TRY(put_known(claim, "q", c->q, err));
        DPA_TRY(dpa__json_put(claim, "steps", (double)c->steps, err));
    }
    if (c->curve[0] != '\0') DPA_TRY(dpa__json_set(claim, "curve", dpa__json_text(c->curve), err));
    const char *neighbours = c->replace_one ? "replace-one" : "add-remove";
    return DPA__JSON_FILL(claim, err, {"neighbours", .text = neighbours},
                          {"scope", .text = dpa__scope_name(c->scope)});
}

static dpa_status write_object(json_t *object, const dpa__case *c, dpa_error *err) {
    const dpa_protocol *p = &c->protocol;
    const dpa_evidence *e = c->evidence;
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%" PRIu64, p->request.seed);
    DPA_TRY(put_claim(object, &c->claim, err));
    DPA_TRY(DPA__JSON_FILL(
        object, err, {"evidence", .text = dpa__evidence_kind_name(e->kind)},
        {"design", .text = e->design == DPA_ONE_RUN ? "one-run" : "independent-runs"},
        {"scope", .text = dpa__scope_name(e->scope)}, {"family", .text = c->test.family},
        {"method", .text = c->test.method}, {"select", .text = c->test.select},
        {"guesses", .text = p->guesses}, {"tests", (double)c->test.count}, {"delta", c->one_delta},
        {"confidence", p->request.confidence}, {"sides", p->request.sides},
        {"decide", .text = p->decides_by_posterior ? "posterior" : "confidence"}));
    DPA_TRY(put_known(object, "must_detect", p->must_detect, err));
    return DPA__JSON_FILL(object, err, {"seed", .text = seed});
}

dpa_status dpa__protocol_object(const dpa__case *c, json_t **out, dpa_error *err) {
    *out = json_object();
    if (*out == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a protocol");
    const dpa_status status = write_object(*out, c, err);
    if (status == DPA_OK) return DPA_OK;
    json_decref(*out);
    *out = NULL;
    return status;
}

dpa_status dpa__protocol_write(const json_t *object, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__json_write(&text, object, 0);
    dpa__text_add(&text, "\n");
    return dpa__text_take(&text, out, err);
}

dpa_status dpa_protocol_text(const dpa_protocol *protocol, const dpa_claim *claim,
                             const dpa_evidence *evidence, char **out, dpa_error *err) {
    dpa__case c;
    json_t *object = NULL;
    DPA_TRY(dpa__case_open(evidence, claim, protocol, &c, err));
    DPA_TRY(dpa__protocol_object(&c, &object, err));
    const dpa_status status = dpa__protocol_write(object, out, err);
    json_decref(object);
    return status;
}

dpa_status dpa_protocol_check(const dpa_protocol *protocol, const dpa_claim *claim,
                              const dpa_evidence *evidence, dpa_error *err) {
    dpa__case c;
    return dpa__case_open(evidence, claim, protocol, &c, err);
}

dpa_status dpa__protocol_request(const dpa_protocol *protocol, const dpa_claim *claim,
                                 const dpa_evidence *evidence, dpa_request *out, dpa_error *err) {
    dpa__case c;
    DPA_TRY(dpa__case_open(evidence, claim, protocol, &c, err));
    *out = dpa__case_request(&c);
    (void)snprintf(out->family, sizeof out->family, "%s", c.test.family);
    (void)snprintf(out->method, sizeof out->method, "%s", c.test.method);
    (void)snprintf(out->select, sizeof out->select, "%s", c.test.select);
    return DPA_OK;
}
