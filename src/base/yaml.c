/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML by schema, on libcyaml. It reports through a log: the first message says what is wrong, the
 * first place in the trace behind it where. */
#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/stream.h"

typedef struct complaint {
    char text[256];
    unsigned line, column;
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
    if (c->text[0] == '\0') memcpy(c->text, body, strlen(body) + 1);
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

dpa_status dpa__yaml_read(const char *path, const cyaml_schema_value_t *schema, void **out,
                          dpa_error *err) {
    dpa__stream *stream = NULL;
    char *text = NULL;
    size_t size = 0;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__stream_read_all(stream, &text, &size, err);
    dpa__stream_close(stream);
    if (status != DPA_OK) return status;
    complaint c = {0};
    const cyaml_config_t config = config_of(&c);
    const cyaml_err_t result =
        cyaml_load_data((const uint8_t *)text, size, &config, schema, (cyaml_data_t **)out, NULL);
    free(text);
    if (result == CYAML_OK && *out != NULL) return DPA_OK;
    if (result == CYAML_ERR_OOM) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    const char *what = c.text[0] != '\0' ? c.text : cyaml_strerror(result);
    if (c.line == 0) return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", what);
    return dpa__fail_line(err, DPA_BAD_INPUT, path, c.line, c.column, "%s", what);
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
