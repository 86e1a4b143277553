/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence as a file: an NPZ of its arrays with an entry dpaudit.json that describes them, so that
 * judging the file gives the same verdict as judging the run that wrote it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/keys.h"
#include "evidence/evidence.h"

#define ENTRY "dpaudit.json"
static const char *const designs[] = {"independent-runs", "one-run"};

/* ── writing ─────────────────────────────────────────────────────────────────────────── */

static dpa_status put_known(json_t *object, const char *key, double value, dpa_error *err) {
    return isnan(value) ? DPA_OK : dpa__json_put(object, key, value, err);
}

static dpa_status put_word(json_t *object, const char *key, const char *word, dpa_error *err) {
    return word[0] == '\0' ? DPA_OK : dpa__json_set(object, key, dpa__json_text(word), err);
}

static dpa_status put_count(json_t *object, const char *key, uint64_t n, dpa_error *err) {
    return n == 0 ? DPA_OK : dpa__json_put(object, key, (double)n, err);
}

static dpa_status put_claim(json_t *meta, const dpa_claim *c, dpa_error *err) {
    if (!dpa__claim_is_made(c)) return DPA_OK;
    json_t *claim = json_object();
    DPA_TRY(dpa__json_set(meta, "claim", claim, err));
    DPA_TRY(put_word(claim, "scope", dpa__scope_name(c->scope), err));
    DPA_TRY(put_known(claim, "epsilon", c->epsilon, err));
    DPA_TRY(put_known(claim, "delta", c->delta, err));
    DPA_TRY(put_word(claim, "curve", c->curve, err));
    if (c->replace_one)
        DPA_TRY(dpa__json_set(claim, "neighbours", json_string("replace-one"), err));
    if (isnan(c->sigma)) return DPA_OK;
    DPA_TRY(put_known(claim, "sigma", c->sigma, err));
    DPA_TRY(put_known(claim, "q", c->q, err));
    return put_count(claim, "steps", c->steps, err);
}

static dpa_status put_training(json_t *meta, const dpa_training_facts *m, dpa_error *err) {
    json_t *object = json_object();
    DPA_TRY(dpa__json_set(meta, "training", object, err));
    DPA_TRY(put_known(object, "q", m->q, err));
    DPA_TRY(put_count(object, "steps", m->steps, err));
    DPA_TRY(put_known(object, "sigma", m->sigma, err));
    DPA_TRY(put_known(object, "canary_rate", m->rate, err));
    DPA_TRY(put_known(object, "participations", m->participations, err));
    if (m->replace_one) DPA_TRY(dpa__json_set(object, "replace_one", json_true(), err));
    if (m->records > 1) DPA_TRY(put_count(object, "records", m->records, err));
    return m->sees_all ? dpa__json_set(object, "sees_all", json_true(), err) : DPA_OK;
}

static dpa_status put_pair(json_t *object, const char *key, const uint64_t *pair, dpa_error *err) {
    if (pair[0] == 0 && pair[1] == 0) return DPA_OK;
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(object, key, array, err));
    DPA_TRY(dpa__json_append(array, json_integer((json_int_t)pair[0]), err));
    return dpa__json_append(array, json_integer((json_int_t)pair[1]), err);
}

static dpa_status put_facts(json_t *meta, const dpa_evidence *e, dpa_error *err) {
    json_t *facts = json_object();
    DPA_TRY(dpa__json_set(meta, "facts", facts, err));
    for (size_t i = 0; i < e->fact_count; ++i)
        DPA_TRY(put_known(facts, e->facts[i].name, e->facts[i].value, err));
    return DPA_OK;
}

static dpa_status fill(json_t *meta, const dpa_evidence *e, dpa_error *err) {
    DPA_TRY(put_word(meta, "dpaudit", dpa_version(), err));
    DPA_TRY(put_word(meta, "kind", dpa__evidence_kind_name(e->kind), err));
    DPA_TRY(put_word(meta, "scope", dpa__scope_name(e->scope), err));
    DPA_TRY(put_word(meta, "design", designs[e->design], err));
    DPA_TRY(put_known(meta, "inclusion_rate", e->inclusion_rate, err));
    DPA_TRY(put_count(meta, "options", e->options, err));
    DPA_TRY(put_count(meta, "dim", e->dim, err));
    DPA_TRY(put_word(meta, "direction", e->direction, err));
    DPA_TRY(put_count(meta, "side", (uint64_t)e->side, err));
    DPA_TRY(put_word(meta, "game", e->game, err));
    DPA_TRY(put_word(meta, "source", e->source, err));
    DPA_TRY(put_count(meta, "planned", e->planned, err));
    DPA_TRY(put_count(meta, "missing", e->missing, err));
    DPA_TRY(put_pair(meta, "failed", e->failed, err));
    DPA_TRY(put_pair(meta, "absent", e->absent, err));
    DPA_TRY(put_training(meta, &e->training, err));
    DPA_TRY(put_claim(meta, &e->claim, err));
    if (e->protocol != NULL)
        DPA_TRY(dpa__json_set(meta, "protocol",
                              dpa__json_load(e->protocol, strlen(e->protocol), 0, NULL), err));
    return put_facts(meta, e, err);
}

static dpa_status describe(const dpa_evidence *e, char **out, dpa_error *err) {
    json_t *meta = json_object();
    if (meta == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a description");
    dpa__text text = {0};
    dpa_status status = fill(meta, e, err);
    if (status == DPA_OK) {
        dpa__json_write(&text, meta, 0);
        dpa__text_add(&text, "\n");
        status = dpa__text_take(&text, out, err);
    }
    json_decref(meta);
    return status;
}

dpa_status dpa_evidence_write(const dpa_evidence *e, const char *path, dpa_error *err) {
    const char *names[DPA_EVIDENCE_ARRAYS] = {NULL};
    dpa_array arrays[DPA_EVIDENCE_ARRAYS] = {0};
    char *text = NULL;
    for (size_t i = 0; i < e->array_count; ++i) {
        names[i] = e->arrays[i].name;
        arrays[i] = dpa__named_array_view(&e->arrays[i]);
    }
    DPA_TRY(describe(e, &text, err));
    const dpa_status status =
        dpa__npz_write_with(path, names, arrays, e->array_count, ENTRY, text, err);
    free(text);
    return status;
}

/* ── reading ─────────────────────────────────────────────────────────────────────────── */

typedef struct reader {
    const char *path;
    const json_t *meta;
    dpa_error *err;
} reader;

static dpa_status bad(const reader *r, const char *key) {
    return dpa__fail_file(r->err, DPA_BAD_INPUT, r->path,
                          ENTRY ": '%.40s' is not what dpaudit writes there", key);
}

static dpa_status take_number(const reader *r, const json_t *object, const char *key, double low,
                              double high, double *out) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL) return DPA_OK;
    const double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (!(number >= low && number <= high)) return bad(r, key);
    *out = number;
    return DPA_OK;
}

static dpa_status take_count(const reader *r, const json_t *object, const char *key,
                             uint64_t *out) {
    double number = (double)*out;
    DPA_TRY(take_number(r, object, key, 0, 9007199254740992.0, &number));
    if (number != floor(number)) return bad(r, key);
    *out = (uint64_t)number;
    return DPA_OK;
}

static dpa_status take_word(const reader *r, const json_t *object, const char *key, char *out,
                            size_t size) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL) return DPA_OK;
    const char *word = json_string_value(value);
    if (word == NULL || strlen(word) >= size) return bad(r, key);
    memcpy(out, word, strlen(word) + 1);
    return DPA_OK;
}

/* The place of the word in a list; *out stays as it is if the key is absent. */
static dpa_status take_choice(const reader *r, const json_t *object, const char *key,
                              const char *words, int *out) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL) return DPA_OK;
    *out = dpa__word_place(json_string_value(value), words);
    return *out >= 0 ? DPA_OK : bad(r, key);
}

static dpa_status take_claim(const reader *r, dpa_claim *out) {
    const json_t *claim = json_object_get(r->meta, "claim");
    int scope = DPA_SCOPE_TRAINING;
    if (claim == NULL) return DPA_OK;
    if (!json_is_object(claim)) return bad(r, "claim");
    DPA_TRY(take_choice(r, claim, "scope", DPA__CLAIM_SCOPES, &scope));
    DPA_TRY(take_choice(r, claim, "neighbours", "add-remove|replace-one", &out->replace_one));
    out->scope = (dpa_scope)scope;
    DPA_TRY(take_number(r, claim, "epsilon", 0, HUGE_VAL, &out->epsilon));
    DPA_TRY(take_number(r, claim, "delta", 0, 1, &out->delta));
    DPA_TRY(take_number(r, claim, "sigma", 0, HUGE_VAL, &out->sigma));
    DPA_TRY(take_number(r, claim, "q", 0, 1, &out->q));
    DPA_TRY(take_count(r, claim, "steps", &out->steps));
    DPA_TRY(take_word(r, claim, "curve", out->curve, sizeof out->curve));
    return dpa__claim_check(out, NULL) == DPA_OK ? DPA_OK : bad(r, "claim");
}

static dpa_status take_training(const reader *r, dpa_training_facts *out) {
    const json_t *m = json_object_get(r->meta, "training");
    if (m == NULL) return DPA_OK;
    if (!json_is_object(m)) return bad(r, "training");
    DPA_TRY(take_number(r, m, "q", 0, 1, &out->q));
    DPA_TRY(take_count(r, m, "steps", &out->steps));
    DPA_TRY(take_number(r, m, "sigma", 0, HUGE_VAL, &out->sigma));
    DPA_TRY(take_number(r, m, "canary_rate", 1e-300, 1, &out->rate));
    DPA_TRY(take_number(r, m, "participations", 0, 1e300, &out->participations));
    out->replace_one = json_is_true(json_object_get(m, "replace_one"));
    DPA_TRY(take_count(r, m, "records", &out->records));
    if (out->records > DPA_RECORDS_MOST) return bad(r, "training: records");
    out->sees_all = json_is_true(json_object_get(m, "sees_all"));
    return DPA_OK;
}

static dpa_status take_pair(const reader *r, const char *key, uint64_t *out) {
    const json_t *pair = json_object_get(r->meta, key);
    if (pair == NULL) return DPA_OK;
    if (json_array_size(pair) != 2) return bad(r, key);
    for (size_t i = 0; i < 2; ++i) {
        const json_t *n = json_array_get(pair, i);
        if (!json_is_integer(n) || json_integer_value(n) < 0) return bad(r, key);
        out[i] = (uint64_t)json_integer_value(n);
    }
    return DPA_OK;
}

static dpa_status take_facts(const reader *r, dpa_evidence *out) {
    const char *key;
    json_t *value, *facts = json_object_get(r->meta, "facts");
    json_object_foreach(facts, key, value) {
        if (!json_is_number(value)) return bad(r, key);
        DPA_TRY(dpa_evidence_fact(out, key, json_number_value(value), r->err));
    }
    return DPA_OK;
}

static dpa_status take_protocol(const reader *r, dpa_evidence *out) {
    const json_t *protocol = json_object_get(r->meta, "protocol");
    dpa__text text = {0};
    if (protocol == NULL) return DPA_OK;
    if (!json_is_object(protocol)) return bad(r, "protocol");
    dpa__json_write(&text, protocol, -1);
    return dpa__text_take(&text, &out->protocol, r->err);
}

static dpa_status take(const reader *r, dpa_evidence *out) {
    int kind = -1, scope = DPA_SCOPE_TRAINING, design = 0;
    DPA_TRY(take_choice(r, r->meta, "kind", "counts|scores|guesses|cosines|signals", &kind));
    if (kind < 0) return bad(r, "kind");
    DPA_TRY(take_choice(r, r->meta, "scope", DPA__SCOPES, &scope));
    DPA_TRY(take_choice(r, r->meta, "design", DPA__DESIGNS, &design));
    dpa__evidence_init(out, (dpa_evidence_kind)kind);
    out->scope = (dpa_scope)scope;
    out->design = (dpa_evidence_design)design;
    DPA_TRY(take_number(r, r->meta, "inclusion_rate", 1e-300, 1, &out->inclusion_rate));
    DPA_TRY(take_count(r, r->meta, "options", &out->options));
    uint64_t dim = 0;
    DPA_TRY(take_count(r, r->meta, "dim", &dim));
    out->dim = (size_t)dim;
    double side = 0;
    DPA_TRY(take_number(r, r->meta, "side", 0, 2, &side));
    if (side != floor(side)) return bad(r, "side");
    out->side = (int)side;
    DPA_TRY(take_word(r, r->meta, "direction", out->direction, sizeof out->direction));
    DPA_TRY(take_word(r, r->meta, "game", out->game, sizeof out->game));
    DPA_TRY(take_word(r, r->meta, "source", out->source, sizeof out->source));
    DPA_TRY(take_count(r, r->meta, "planned", &out->planned));
    DPA_TRY(take_count(r, r->meta, "missing", &out->missing));
    DPA_TRY(take_pair(r, "failed", out->failed));
    DPA_TRY(take_pair(r, "absent", out->absent));
    DPA_TRY(take_training(r, &out->training));
    DPA_TRY(take_claim(r, &out->claim));
    DPA_TRY(take_protocol(r, out));
    return take_facts(r, out);
}

static dpa_status read_arrays(const char *path, dpa_evidence *out, dpa_error *err) {
    char names[DPA_EVIDENCE_ARRAYS][32];
    size_t count;
    DPA_TRY(dpa__npz_names(path, names, DPA_EVIDENCE_ARRAYS, &count, err));
    for (size_t i = 0; i < count; ++i) {
        dpa_array array;
        DPA_TRY(dpa__doubles_read(path, names[i], &array, err));
        memcpy(out->sha256[0], array.sha256, sizeof array.sha256);
        const size_t rows = array.ndim == 2 ? array.shape[0] : 0;
        DPA_TRY(dpa__evidence_add(out, names[i], array.data, array.count, rows, err));
    }
    (void)snprintf(out->path[0], sizeof out->path[0], "%s", path);
    return DPA_OK;
}

int dpa__evidence_is_file(const char *path) {
    char *text = NULL;
    size_t count = 0;
    const int found = dpa__npz_text(path, ENTRY, &text, &count, NULL) == DPA_OK && text != NULL;
    free(text);
    return found;
}

dpa_status dpa__evidence_read(const char *path, dpa_evidence *out, dpa_error *err) {
    char *text = NULL;
    size_t count = 0;
    *out = (dpa_evidence){0};
    DPA_TRY(dpa__npz_text(path, ENTRY, &text, &count, err));
    if (text == NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "no evidence of dpaudit: it has no entry " ENTRY);
    json_t *meta = NULL;
    dpa_status status = dpa__json_parse(path, text, count, &meta, err);
    free(text);
    if (status == DPA_OK && !json_is_object(meta))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, ENTRY " is not an object");
    const reader r = {path, meta, err};
    if (status == DPA_OK) status = take(&r, out);
    json_decref(meta);
    if (status == DPA_OK) status = read_arrays(path, out, err);
    if (status != DPA_OK) dpa__evidence_clear(out);
    return status;
}
