/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of settings: YAML to structs by a libcyaml schema, errors with line and column. */
#ifndef DPA_SETTINGS_YAML_H
#define DPA_SETTINGS_YAML_H

#include <cyaml/cyaml.h>

#include "dpaudit/status.h"

/* The keys of a file ("-": standard input), a struct as the schema has it, for dpa__yaml_free. */
dpa_status dpa__yaml_read(const char *path, const cyaml_schema_value_t *schema, void **out,
                          dpa_error *err);
/* Not too deep, and few aliases; part of dpa__yaml_check. */
dpa_status dpa__yaml_bounded(const char *path, const char *text, size_t size, dpa_error *err);
/* Numbers and truth values as a whole are what the schema says; part of dpa__yaml_read. */
dpa_status dpa__yaml_check(const char *path, const char *text, size_t size,
                           const cyaml_schema_value_t *schema, dpa_error *err);
/* An error about a setting, "section: key …", whose place is only the file gets the line of that
 * setting. Gives the status back. */
dpa_status dpa__yaml_locate(dpa_status status, dpa_error *err);
void dpa__yaml_free(const cyaml_schema_value_t *schema, void *keys);
/* A key that is a pointer replaces a default where it is there. */
#define DPA_TAKE(to, from)                                                                         \
    do {                                                                                           \
        if ((from) != NULL) (to) = *(from);                                                        \
    } while (0)
/* `name` as seen from the folder of the file `path`, for the caller to free; an absolute name
 * stays. */
char *dpa__path_beside(const char *path, const char *name, dpa_error *err);

#endif
