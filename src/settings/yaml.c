/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML by schema, on libcyaml, after yaml_check.c found nothing wrong with the text. */
#include "settings/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "base/stream.h"

/* libcyaml's memory comes from here, so that failed allocations can be tested. */
static void *take_memory(void *user, void *block, size_t size) {
    (void)user;
    if (size > 0) return dpa__realloc(block, size, 1, NULL);
    free(block);
    return NULL;
}

enum { MOST_BYTES = 1 << 20 }; /* of settings, unpacked */

static const cyaml_config_t config = {.mem_fn = take_memory};

dpa_status dpa__yaml_read(const char *path, const cyaml_schema_value_t *schema, void **out,
                          dpa_error *err) {
    char *text = NULL;
    size_t size = 0;
    DPA_TRY(dpa__file_read_most(path, MOST_BYTES, &text, &size, err));
    const dpa_status checked = dpa__yaml_check(path, text, size, schema, err);
    if (checked != DPA_OK) {
        free(text);
        return checked;
    }
    const dpa__plain plain = dpa__plain_begin(); /* libcyaml reads with strtod */
    const cyaml_err_t result =
        cyaml_load_data((const uint8_t *)text, size, &config, schema, (cyaml_data_t **)out, NULL);
    dpa__plain_end(plain);
    free(text);
    if (result == CYAML_OK && *out != NULL) return DPA_OK;
    if (result == CYAML_ERR_OOM) return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", cyaml_strerror(result));
}

void dpa__yaml_free(const cyaml_schema_value_t *schema, void *keys) {
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
