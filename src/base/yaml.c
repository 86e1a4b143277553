/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML by schema, on libcyaml. It reports through a log: the first message says what is wrong, the
 * first place in the trace behind it where. The trace also names the fields on the way out, by
 * which the schema is asked what would have been right. */
#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/stream.h"
#include "base/text.h"

enum { DEPTH = 4 };

typedef struct complaint {
    char text[256];
    unsigned line, column;
    char field[DEPTH][64]; /* innermost first */
    size_t depth;
} complaint;

DPA_PRINTF(3, 0)
static void listen(cyaml_log_t level, void *user, const char *format, va_list args) {
    (void)level;
    complaint *c = user;
    char text[256];
    (void)vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    const char *body = strncmp(text, "Load: ", 6) == 0 ? text + 6 : text;
    const char *place = strstr(body, "(line: ");
    if (place != NULL && c->line == 0)
        (void)sscanf(place, "(line: %u, column: %u)", &c->line, &c->column);
    if (c->depth < DEPTH && sscanf(body, " in mapping field '%63[^']'", c->field[c->depth]) == 1)
        ++c->depth;
    if (c->text[0] == '\0') memcpy(c->text, body, strlen(body) + 1);
}

/* The part of the schema that the complaint is about; NULL: it cannot be told. */
static const cyaml_schema_value_t *find(const cyaml_schema_value_t *schema, const complaint *c) {
    for (size_t i = c->depth; i-- > 0;) {
        if (schema->type != CYAML_MAPPING) return NULL;
        const cyaml_schema_field_t *field = schema->mapping.fields;
        while (field->key != NULL && strcmp(field->key, c->field[i]) != 0) ++field;
        if (field->key == NULL) return NULL;
        schema = &field->value;
    }
    return schema;
}

/* What would have been right: the words of a choice, the keys of a section; "" for others. */
static void add_allowed(dpa__text *text, const cyaml_schema_value_t *schema, const complaint *c) {
    const cyaml_schema_value_t *about = find(schema, c);
    const char *separator = "; expected ";
    if (about != NULL && about->type == CYAML_ENUM && strncmp(c->text, "Invalid ENUM", 12) == 0)
        for (uint32_t i = 0; i < about->enumeration.count; ++i, separator = ", ")
            dpa__text_printf(text, "%s%s", separator, about->enumeration.strings[i].str);
    if (about != NULL && about->type == CYAML_MAPPING && strncmp(c->text, "Unexpected", 10) == 0)
        for (const cyaml_schema_field_t *f = about->mapping.fields; f->key != NULL;
             ++f, separator = ", ")
            dpa__text_printf(text, "%s%s", separator, f->key);
}

/* libcyaml's memory comes from here, so that failed allocations can be tested. */
static void *take_memory(void *user, void *block, size_t size) {
    (void)user;
    if (size > 0) return dpa__realloc(block, size, 1, NULL);
    free(block);
    return NULL;
}

static cyaml_config_t config_of(complaint *c) {
    return (cyaml_config_t){
        .log_fn = listen, .log_ctx = c, .mem_fn = take_memory, .log_level = CYAML_LOG_ERROR};
}

static dpa_status complain(const char *path, const cyaml_schema_value_t *schema, const complaint *c,
                           const char *otherwise, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_add(&text, c->text[0] != '\0' ? c->text : otherwise);
    add_allowed(&text, schema, c);
    const char *what = text.failed ? c->text : text.data;
    if (c->line == 0)
        (void)dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", what);
    else
        (void)dpa__fail_line(err, DPA_BAD_INPUT, path, c->line, c->column, "%s", what);
    dpa__text_free(&text);
    return DPA_BAD_INPUT;
}

dpa_status dpa__yaml_read(const char *path, const cyaml_schema_value_t *schema, void **out,
                          dpa_error *err) {
    char *text = NULL;
    size_t size = 0;
    DPA_TRY(dpa__file_read_all(path, &text, &size, err));
    complaint c = {0};
    const cyaml_config_t config = config_of(&c);
    const cyaml_err_t result =
        cyaml_load_data((const uint8_t *)text, size, &config, schema, (cyaml_data_t **)out, NULL);
    free(text);
    if (result == CYAML_OK && *out != NULL) return DPA_OK;
    if (result == CYAML_ERR_OOM) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    return complain(path, schema, &c,
                    result == CYAML_OK ? "there are no settings in it" : cyaml_strerror(result),
                    err);
}

void dpa__yaml_free(const cyaml_schema_value_t *schema, void *keys) {
    complaint ignored = {0};
    const cyaml_config_t config = config_of(&ignored);
    (void)cyaml_free(&config, schema, keys, 0);
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
