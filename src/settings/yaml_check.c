/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document against its schema, before libcyaml makes structs of it. libcyaml takes the longest
 * number at the start of a value ("1e6" is 1, "3.5" is 3, "-5" is 2^64-5) and every word but a few
 * for true, and places an unknown key where the value before it was. So the document is read by
 * libyaml first, and every key and value looked at as a whole. The same document tells the line of
 * a setting that was read well and is refused later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/error.h"
#include "base/number.h"
#include "base/stream.h"
#include "base/text.h"
#include "settings/yaml.h"

typedef struct document {
    const char *path;
    yaml_document_t *yaml;
} document;

static const char *text_of(const yaml_node_t *node) {
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : "";
}

static int is_whole(const char *text) {
    if (*text == '+') ++text;
    const int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
    if (hex) text += 2;
    return text[0] != '\0' && text[strspn(text, digits)] == '\0';
}

static int is_number(const char *text) {
    const char *end = text + strlen(text);
    double value;
    return dpa__number_parse(&text, end, &value) == DPA__NUMBER_OK && text == end;
}

static int is_truth(const char *text) {
    return strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0 ||
           strcasecmp(text, "false") == 0 || strcasecmp(text, "no") == 0;
}

/* "found X; expected Y" at a node. */
static dpa_status refuse(const document *d, const yaml_node_t *node, const char *found,
                         const char *expected, dpa_error *err) {
    return dpa__fail_line(err, DPA_BAD_INPUT, d->path, node->start_mark.line + 1,
                          node->start_mark.column + 1, "found %.60s; expected %s", found, expected);
}

/* The same with a list of words. */
static dpa_status refuse_word(const document *d, const yaml_node_t *node, const char *kind,
                              const dpa__text *words, dpa_error *err) {
    return dpa__fail_line(err, DPA_BAD_INPUT, d->path, node->start_mark.line + 1,
                          node->start_mark.column + 1, "found %s%.60s; expected %s", kind,
                          text_of(node), words->failed ? "another word" : words->data);
}

/* NULL: the text is what the schema says. */
static const char *wanted(cyaml_type_e type, const char *text) {
    switch (type) {
    case CYAML_UINT:
        return is_whole(text) ? NULL : "a whole number, 0 or more, in plain digits";
    case CYAML_FLOAT:
        return is_number(text) ? NULL : "a number";
    case CYAML_BOOL:
        return is_truth(text) ? NULL : "true or false";
    default:
        return NULL;
    }
}

static dpa_status check_word(const document *d, const yaml_node_t *node,
                             const cyaml_schema_value_t *schema, dpa_error *err) {
    const cyaml_strval_t *known = schema->enumeration.strings;
    for (uint32_t i = 0; i < schema->enumeration.count; ++i)
        if (strcmp(known[i].str, text_of(node)) == 0) return DPA_OK;
    dpa__text words = {0};
    for (uint32_t i = 0; i < schema->enumeration.count; ++i)
        dpa__text_printf(&words, "%s%s", i > 0 ? ", " : "", known[i].str);
    const dpa_status status = refuse_word(d, node, "", &words, err);
    dpa__text_free(&words);
    return status;
}

static dpa_status check_scalar(const document *d, const yaml_node_t *node,
                               const cyaml_schema_value_t *schema, dpa_error *err) {
    if (node->type != YAML_SCALAR_NODE)
        return refuse(d, node, node->type == YAML_SEQUENCE_NODE ? "a list" : "a section",
                      "a single value", err);
    if (schema->type == CYAML_ENUM) return check_word(d, node, schema, err);
    const char *right = wanted(schema->type, text_of(node));
    if (schema->type == CYAML_STRING && strlen(text_of(node)) < schema->string.min)
        right = "a text (or leave the key out)";
    if (right == NULL) return DPA_OK;
    return refuse(d, node, text_of(node)[0] != '\0' ? text_of(node) : "nothing", right, err);
}

static dpa_status check_node(const document *d, int index, const cyaml_schema_value_t *schema,
                             dpa_error *err);

static dpa_status refuse_key(const document *d, const yaml_node_t *key,
                             const cyaml_schema_value_t *schema, dpa_error *err) {
    dpa__text keys = {0};
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key != NULL; ++f)
        dpa__text_printf(&keys, "%s%s", f != schema->mapping.fields ? ", " : "", f->key);
    const dpa_status status = refuse_word(d, key, "the key ", &keys, err);
    dpa__text_free(&keys);
    return status;
}

/* The pair of that key in a mapping; NULL: there is none. */
static const yaml_node_pair_t *find(yaml_document_t *yaml, const yaml_node_t *mapping,
                                    const char *key, size_t length) {
    if (mapping == NULL || mapping->type != YAML_MAPPING_NODE) return NULL;
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top; ++pair) {
        const char *name = text_of(yaml_document_get_node(yaml, pair->key));
        if (strlen(name) == length && memcmp(name, key, length) == 0) return pair;
    }
    return NULL;
}

static dpa_status check_missing(const document *d, const yaml_node_t *node,
                                const cyaml_schema_value_t *schema, dpa_error *err) {
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key != NULL; ++f)
        if ((f->value.flags & CYAML_FLAG_OPTIONAL) == 0 &&
            find(d->yaml, node, f->key, strlen(f->key)) == NULL)
            return dpa__fail_line(err, DPA_BAD_INPUT, d->path, node->start_mark.line + 1, 0,
                                  "%s is missing", f->key);
    return DPA_OK;
}

static dpa_status check_mapping(const document *d, const yaml_node_t *node,
                                const cyaml_schema_value_t *schema, dpa_error *err) {
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; ++pair) {
        const yaml_node_t *key = yaml_document_get_node(d->yaml, pair->key);
        const cyaml_schema_field_t *f = schema->mapping.fields;
        while (f->key != NULL && strcmp(f->key, text_of(key)) != 0) ++f;
        if (f->key == NULL) return refuse_key(d, key, schema, err);
        if (find(d->yaml, node, f->key, strlen(f->key)) != pair)
            return dpa__fail_line(err, DPA_BAD_INPUT, d->path, key->start_mark.line + 1,
                                  key->start_mark.column + 1, "%s is given twice", f->key);
        DPA_TRY(check_node(d, pair->value, &f->value, err));
    }
    return check_missing(d, node, schema, err);
}

static dpa_status check_sequence(const document *d, const yaml_node_t *node,
                                 const cyaml_schema_value_t *schema, dpa_error *err) {
    const yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; ++item)
        DPA_TRY(check_node(d, *item, schema->sequence.entry, err));
    return DPA_OK;
}

/* As deep as the schema, whatever the document is. */
static dpa_status check_node(const document *d, int index, const cyaml_schema_value_t *schema,
                             dpa_error *err) {
    const yaml_node_t *node = yaml_document_get_node(d->yaml, index);
    if (node == NULL) return DPA_OK;
    const char *found = node->type == YAML_SCALAR_NODE     ? "a single value"
                        : node->type == YAML_SEQUENCE_NODE ? "a list"
                                                           : "a section";
    switch (schema->type) {
    case CYAML_MAPPING:
        if (node->type == YAML_MAPPING_NODE) return check_mapping(d, node, schema, err);
        return refuse(d, node, found, "settings (key: value)", err);
    case CYAML_SEQUENCE:
        if (node->type == YAML_SEQUENCE_NODE) return check_sequence(d, node, schema, err);
        return refuse(d, node, found, "a list", err);
    default:
        return check_scalar(d, node, schema, err);
    }
}

/* Give `out` to yaml_document_delete, when there is something in it. */
static dpa_status load(const char *path, const char *text, size_t size, yaml_document_t *out,
                       dpa_error *err) {
    yaml_parser_t parser;
    dpa_status status = DPA_OK;
    DPA_TRY(dpa__yaml_bounded(path, text, size, err));
    if (!yaml_parser_initialize(&parser))
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (!yaml_parser_load(&parser, out))
        status =
            parser.error == YAML_MEMORY_ERROR
                ? dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path)
                : dpa__fail_line(err, DPA_BAD_INPUT, path, parser.problem_mark.line + 1,
                                 parser.problem_mark.column + 1, "not YAML: %s",
                                 parser.problem != NULL ? parser.problem : "it cannot be read");
    else if (yaml_document_get_root_node(out) == NULL) {
        yaml_document_delete(out);
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "there are no settings in it");
    }
    yaml_parser_delete(&parser);
    return status;
}

dpa_status dpa__yaml_check(const char *path, const char *text, size_t size,
                           const cyaml_schema_value_t *schema, dpa_error *err) {
    yaml_document_t yaml;
    DPA_TRY(load(path, text, size, &yaml, err));
    const document d = {path, &yaml};
    const dpa_status status = check_node(&d, 1, schema, err);
    yaml_document_delete(&yaml);
    return status;
}

/* ---- where a setting is ---- */

/* "game: models 1: …" names the section game and in it the key models. 0: neither is there. */
static size_t line_of(yaml_document_t *yaml, const char *text) {
    const size_t section = strcspn(text, ": ");
    if (section == 0 || text[section] != ':') return 0;
    const yaml_node_pair_t *found = find(yaml, yaml_document_get_root_node(yaml), text, section);
    if (found == NULL) return 0;
    const char *key = text + section + 1 + strspn(text + section + 1, " ");
    const yaml_node_pair_t *inner =
        find(yaml, yaml_document_get_node(yaml, found->value), key, strcspn(key, ": "));
    if (inner != NULL) found = inner;
    return yaml_document_get_node(yaml, found->key)->start_mark.line + 1;
}

dpa_status dpa__yaml_locate(dpa_status status, dpa_error *err) {
    char *text = NULL;
    size_t size = 0, line = 0;
    yaml_document_t yaml;
    dpa_error ignored;
    struct stat what; /* a pipe cannot be read twice */
    if (status != DPA_BAD_INPUT || err == NULL || stat(err->place, &what) != 0 ||
        !S_ISREG(what.st_mode) || dpa__file_read_all(err->place, &text, &size, &ignored) != DPA_OK)
        return status;
    if (load(err->place, text, size, &yaml, &ignored) == DPA_OK) {
        line = line_of(&yaml, err->text);
        yaml_document_delete(&yaml);
    }
    free(text);
    const size_t used = strlen(err->place);
    if (line > 0) (void)snprintf(err->place + used, sizeof err->place - used, ":%zu", line);
    return status;
}
