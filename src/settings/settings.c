/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills structs from a YAML document. The whole document is checked before any value is taken. */
#include "settings/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "settings/document.h"

const dpa__range dpa__positive = {0, (double)INFINITY, 1, 0};
const dpa__range dpa__finite = {0, (double)INFINITY, 1, 1};
const dpa__range dpa__rate = {0, 1, 1, 0};
const dpa__range dpa__probability = {0, 1, 1, 1};
const dpa__range dpa__some = {1, (double)INFINITY, 0, 0};

struct dpa__settings {
    char *path;
    const dpa__section *sections;
    yaml_document_t yaml;
    void **owned; /* paths and lists built from the document's texts, freed on close */
    size_t owned_count;
};

/* ---- values ---- */

static int read_whole(const char *text, uint64_t *out) {
    if (*text == '+') ++text;
    const int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    if (digits[0] == '\0' ||
        digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")] != '\0')
        return 0;
    errno = 0;
    *out = strtoull(digits, NULL, hex ? 16 : 10);
    return errno == 0;
}

static int read_number(const char *text, double *out) {
    const char *end = text + strlen(text);
    return dpa__number_parse(&text, end, out) == DPA__NUMBER_OK && text == end;
}

static int read_truth(const char *text, int *out) {
    *out = strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0;
    return *out || strcasecmp(text, "false") == 0 || strcasecmp(text, "no") == 0;
}

static int read_word(const char *text, const dpa__word *words, int *out) {
    for (; words->text != NULL; ++words)
        if (strcmp(words->text, text) == 0) {
            *out = words->value;
            return 1;
        }
    return 0;
}

const char *dpa__word_text(const dpa__word *words, int value) {
    for (; words->text != NULL; ++words)
        if (words->value == value) return words->text;
    return "";
}

/* Reads the text as the field's type into `at`. Returns NULL, or what would be right. */
static const char *read_value(const dpa__field *field, const char *text, void *at) {
    uint64_t whole = 0;
    switch (field->type) {
    case DPA__COUNT:
    case DPA__SIZE:
        if (!read_whole(text, &whole)) return "a whole number, 0 or more, in plain digits";
        if (field->type == DPA__COUNT)
            *(uint64_t *)at = whole;
        else
            *(size_t *)at = (size_t)whole;
        return NULL;
    case DPA__NUMBER:
        return read_number(text, at) ? NULL : "a number";
    case DPA__FLAG:
        return read_truth(text, at) ? NULL : "true or false";
    case DPA__WORD:
        return read_word(text, field->detail, at) ? NULL : "one of its words";
    default:
        *(const char **)at = text;
        return field->type == DPA__ANY || text[0] != '\0' ? NULL : "a text (or leave the key out)";
    }
}

/* ---- errors ---- */

static const yaml_node_t *node_at(const dpa__settings *s, int index) {
    return yaml_document_get_node((yaml_document_t *)&s->yaml, index);
}

static const char *kind_of(const yaml_node_t *node) {
    return node->type == YAML_SCALAR_NODE     ? "a single value"
           : node->type == YAML_SEQUENCE_NODE ? "a list"
                                              : "a section";
}

/* Fails with "found X; expected Y" at the place of the node. */
static dpa_status refuse(const dpa__settings *s, const yaml_node_t *node, const char *kind,
                         const char *found, const char *expected, dpa_error *err) {
    return dpa__fail_line(err, DPA_BAD_INPUT, s->path, node->start_mark.line + 1,
                          node->start_mark.column + 1, "found %s%.60s; expected %s", kind, found,
                          expected);
}

static dpa_status refuse_listed(const dpa__settings *s, const yaml_node_t *node, const char *kind,
                                dpa__text *known, dpa_error *err) {
    const char *text = dpa__document_text(node);
    const dpa_status status =
        refuse(s, node, kind, text, known->failed ? "another word" : known->data, err);
    dpa__text_free(known);
    return status;
}

static void list(dpa__text *out, const char *word) {
    dpa__text_printf(out, "%s%s", out->length > 0 ? ", " : "", word);
}

static dpa_status refuse_word(const dpa__settings *s, const yaml_node_t *node,
                              const dpa__word *words, dpa_error *err) {
    dpa__text known = {0};
    for (; words->text != NULL; ++words) list(&known, words->text);
    return refuse_listed(s, node, "", &known, err);
}

static dpa_status refuse_key(const dpa__settings *s, const yaml_node_t *key,
                             const dpa__section *section, dpa_error *err) {
    dpa__text known = {0};
    for (const dpa__field *f = section->fields; f->key != NULL; ++f) list(&known, f->key);
    if (section == s->sections)
        for (const dpa__section *other = section + 1; other->name != NULL; ++other)
            list(&known, other->name);
    return refuse_listed(s, key, "the key ", &known, err);
}

/* Fails with "section: key VALUE: expected …" if a number is out of its range. */
static dpa_status check_range(const dpa__settings *s, const dpa__section *section,
                              const dpa__field *field, const yaml_node_t *node, double value,
                              dpa_error *err) {
    const dpa__range *r = field->detail;
    if (r == NULL) return DPA_OK;
    const int is_in = (r->least_is_out ? value > r->least : value >= r->least) &&
                      (r->most_is_out ? value < r->most : value <= r->most);
    if (is_in) return DPA_OK;
    char most[48] = "";
    if (isfinite(r->most))
        (void)dpa__print(most, sizeof most, ", %s %g", r->most_is_out ? "less than" : "at most",
                         r->most);
    return dpa__fail_line(err, DPA_BAD_INPUT, s->path, node->start_mark.line + 1, 0,
                          "%s%s%s %g: expected %s %g%s", section->name,
                          section->name[0] != '\0' ? ": " : "", field->key, value,
                          r->least_is_out ? "more than" : "at least", r->least, most);
}

/* ---- checking ---- */

static dpa_status check_scalar(const dpa__settings *s, const dpa__section *section,
                               const dpa__field *field, const yaml_node_t *node, dpa_error *err) {
    union {
        uint64_t whole;
        size_t size;
        double number;
        int flag;
        const char *text;
    } value;
    const char *text = dpa__document_text(node);
    if (node->type != YAML_SCALAR_NODE)
        return refuse(s, node, "", kind_of(node), "a single value", err);
    const char *right = read_value(field, text, &value);
    if (field->type == DPA__WORD)
        return right == NULL ? DPA_OK : refuse_word(s, node, field->detail, err);
    if (right == NULL && strlen(text) != node->data.scalar.length)
        right = "a text without zero bytes";
    if (right != NULL) return refuse(s, node, "", text[0] != '\0' ? text : "nothing", right, err);
    if (field->type > DPA__NUMBER) return DPA_OK;
    return check_range(s, section, field, node,
                       field->type == DPA__NUMBER  ? value.number
                       : field->type == DPA__COUNT ? (double)value.whole
                                                   : (double)value.size,
                       err);
}

static dpa_status check_value(const dpa__settings *s, const dpa__section *section,
                              const dpa__field *field, const yaml_node_t *node, dpa_error *err) {
    if (field->type != DPA__TEXTS) return check_scalar(s, section, field, node, err);
    if (node->type != YAML_SEQUENCE_NODE) return refuse(s, node, "", kind_of(node), "a list", err);
    const yaml_node_item_t *item = node->data.sequence.items.start;
    const dpa__field text = {.key = field->key, .type = DPA__ANY};
    for (; item < node->data.sequence.items.top; ++item)
        DPA_TRY(check_scalar(s, section, &text, node_at(s, *item), err));
    return DPA_OK;
}

static const dpa__field *find_field(const dpa__section *section, const char *key, size_t length) {
    for (const dpa__field *f = section->fields; f->key != NULL; ++f)
        if (strlen(f->key) == length && memcmp(f->key, key, length) == 0) return f;
    return NULL;
}

static const dpa__section *find_section(const dpa__section *sections, const char *name,
                                        size_t length) {
    for (; sections->name != NULL; ++sections)
        if (strlen(sections->name) == length && memcmp(sections->name, name, length) == 0)
            return sections;
    return NULL;
}

const dpa__field *dpa__settings_field(const dpa__section *sections, const char *name) {
    const size_t length = strcspn(name, " ");
    const char *dot = memchr(name, '.', length), *key = dot != NULL ? dot + 1 : name;
    const dpa__section *section =
        find_section(sections, name, dot != NULL ? (size_t)(dot - name) : 0);
    return section != NULL ? find_field(section, key, length - (size_t)(key - name)) : NULL;
}

static const yaml_node_pair_t *find_key(const dpa__settings *s, const yaml_node_t *mapping,
                                        const char *key) {
    return dpa__document_find((yaml_document_t *)&s->yaml, mapping, key, strlen(key));
}

static dpa_status check_missing(const dpa__settings *s, const yaml_node_t *node,
                                const dpa__section *section, dpa_error *err) {
    const char *missing = NULL;
    for (const dpa__field *f = section->fields; f->key != NULL; ++f)
        if (f->is_needed && find_key(s, node, f->key) == NULL)
            return dpa__fail_line(err, DPA_BAD_INPUT, s->path, node->start_mark.line + 1, 0,
                                  "%s%s%s is missing: %s", section->name,
                                  section->name[0] != '\0' ? ": " : "", f->key, f->help);
    if (section == s->sections)
        for (const dpa__section *other = section + 1; other->name != NULL; ++other)
            if (missing == NULL && other->is_needed && find_key(s, node, other->name) == NULL)
                missing = other->name;
    if (missing == NULL) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, s->path, node->start_mark.line + 1, 0,
                          "%s is missing", missing);
}

static dpa_status check_section(const dpa__settings *s, const yaml_node_t *node,
                                const dpa__section *section, dpa_error *err);

static dpa_status check_pair(const dpa__settings *s, const yaml_node_t *mapping,
                             const yaml_node_pair_t *pair, const dpa__section *section,
                             dpa_error *err) {
    const yaml_node_t *key = node_at(s, pair->key), *value = node_at(s, pair->value);
    const char *name = dpa__document_text(key);
    const dpa__field *field = find_field(section, name, strlen(name));
    const dpa__section *inner = section == s->sections && name[0] != '\0'
                                    ? find_section(s->sections, name, strlen(name))
                                    : NULL;
    if (field == NULL && inner == NULL) return refuse_key(s, key, section, err);
    if (find_key(s, mapping, name) != pair)
        return dpa__fail_line(err, DPA_BAD_INPUT, s->path, key->start_mark.line + 1,
                              key->start_mark.column + 1, "%s is given twice", name);
    return inner != NULL ? check_section(s, value, inner, err)
                         : check_value(s, section, field, value, err);
}

/* Recurses no deeper than the tables of keys do, whatever the document looks like. */
static dpa_status check_section(const dpa__settings *s, const yaml_node_t *node,
                                const dpa__section *section, dpa_error *err) {
    if (node->type != YAML_MAPPING_NODE)
        return refuse(s, node, "", kind_of(node), "settings (key: value)", err);
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; ++pair)
        DPA_TRY(check_pair(s, node, pair, section, err));
    return check_missing(s, node, section, err);
}

/* ---- taking ---- */

static dpa_status own(dpa__settings *s, void *block, dpa_error *err) {
    void **more =
        block == NULL ? NULL : dpa__realloc(s->owned, s->owned_count + 1, sizeof *s->owned, err);
    if (more == NULL) {
        free(block);
        return DPA_NO_MEMORY;
    }
    s->owned = more;
    s->owned[s->owned_count++] = block;
    return DPA_OK;
}

char *dpa__path_beside(const char *path, const char *name, dpa_error *err) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash != NULL && name[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    const size_t length = strlen(name) + 1;
    char *joined = dpa__malloc(folder + length, 1, err);
    if (joined == NULL) return NULL;
    memcpy(joined, path, folder);
    memcpy(joined + folder, name, length);
    return joined;
}

dpa_status dpa__settings_path(dpa__settings *s, const char *name, const char **out,
                              dpa_error *err) {
    *out = name;
    if (strcmp(name, "-") == 0) return DPA_OK;
    char *joined = dpa__path_beside(s->path, name, err);
    DPA_TRY(own(s, joined, err));
    *out = joined;
    return DPA_OK;
}

static dpa_status take_texts(dpa__settings *s, const yaml_node_t *node, const char *const **out,
                             dpa_error *err) {
    const yaml_node_item_t *item = node->data.sequence.items.start;
    const size_t count = (size_t)(node->data.sequence.items.top - item);
    if (count == 0) return DPA_OK;
    const char **texts = dpa__calloc(count + 1, sizeof *texts, err);
    DPA_TRY(own(s, texts, err));
    for (size_t i = 0; i < count; ++i) texts[i] = dpa__document_text(node_at(s, item[i]));
    *out = texts;
    return DPA_OK;
}

static dpa_status take_value(dpa__settings *s, const dpa__field *field, const yaml_node_t *node,
                             void *target, dpa_error *err) {
    char *at = (char *)target + field->at;
    if (field->type == DPA__TEXTS) return take_texts(s, node, (const char *const **)at, err);
    (void)read_value(field, dpa__document_text(node), at);
    if (field->type != DPA__PATH) return DPA_OK;
    return dpa__settings_path(s, *(const char **)at, (const char **)at, err);
}

static const yaml_node_t *mapping_of(const dpa__settings *s, const char *section) {
    const yaml_node_t *root = yaml_document_get_root_node((yaml_document_t *)&s->yaml);
    if (section[0] == '\0') return root;
    const yaml_node_pair_t *pair = find_key(s, root, section);
    return pair != NULL ? node_at(s, pair->value) : NULL;
}

dpa_status dpa__settings_take(dpa__settings *s, const char *section, void *target, dpa_error *err) {
    const yaml_node_t *mapping = mapping_of(s, section);
    if (mapping == NULL) return DPA_OK;
    for (const dpa__field *f = find_section(s->sections, section, strlen(section))->fields;
         f->key != NULL; ++f) {
        const yaml_node_pair_t *pair = find_key(s, mapping, f->key);
        if (pair != NULL) DPA_TRY(take_value(s, f, node_at(s, pair->value), target, err));
    }
    return DPA_OK;
}

int dpa__settings_has(const dpa__settings *s, const char *section, const char *key) {
    const yaml_node_t *mapping = mapping_of(s, section);
    return mapping != NULL && (key == NULL || find_key(s, mapping, key) != NULL);
}

/* ---- the file ---- */

dpa_status dpa__settings_open(const char *path, const dpa__section *sections, dpa__settings **out,
                              dpa_error *err) {
    dpa__settings *s = DPA_NEW(dpa__settings, err);
    *out = NULL;
    if (s == NULL) return DPA_NO_MEMORY;
    s->sections = sections;
    s->path = dpa__strdup(path, err);
    dpa_status status = s->path != NULL ? dpa__document_read(path, &s->yaml, err) : DPA_NO_MEMORY;
    if (status != DPA_OK) {
        free(s->path);
        free(s);
        return status;
    }
    status = check_section(s, mapping_of(s, ""), sections, err);
    if (status == DPA_OK)
        *out = s;
    else
        dpa__settings_close(s);
    return status;
}

void dpa__settings_close(dpa__settings *s) {
    if (s == NULL) return;
    for (size_t i = 0; i < s->owned_count; ++i) free(s->owned[i]);
    free(s->owned);
    yaml_document_delete(&s->yaml);
    free(s->path);
    free(s);
}

/* ---- the line of a setting ---- */

/* For "game: models 1: …", the line of the key `models` in the section `game`; 0 if the document
 * has neither. */
static size_t line_of(yaml_document_t *yaml, const char *text) {
    const size_t section = strcspn(text, ": ");
    if (section == 0 || text[section] != ':') return 0;
    const yaml_node_pair_t *found =
        dpa__document_find(yaml, yaml_document_get_root_node(yaml), text, section);
    if (found == NULL) return 0;
    const char *key = text + section + 1 + strspn(text + section + 1, " ");
    const yaml_node_pair_t *inner = dpa__document_find(
        yaml, yaml_document_get_node(yaml, found->value), key, strcspn(key, ": "));
    if (inner != NULL) found = inner;
    return yaml_document_get_node(yaml, found->key)->start_mark.line + 1;
}

dpa_status dpa__settings_locate(dpa_status status, dpa_error *err) {
    size_t line = 0;
    yaml_document_t yaml;
    dpa_error ignored;
    struct stat what; /* a pipe cannot be read twice */
    if (status != DPA_BAD_INPUT || err == NULL || stat(err->place, &what) != 0 ||
        !S_ISREG(what.st_mode))
        return status;
    if (dpa__document_read(err->place, &yaml, &ignored) == DPA_OK) {
        line = line_of(&yaml, err->text);
        yaml_document_delete(&yaml);
    }
    const size_t used = strlen(err->place);
    if (line > 0) (void)snprintf(err->place + used, sizeof err->place - used, ":%zu", line);
    return status;
}
