/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a YAML file into libyaml's tree and refuses files that are deeper or larger than settings
 * need. */
#ifndef DPA_SETTINGS_DOCUMENT_H
#define DPA_SETTINGS_DOCUMENT_H

#include <yaml.h>

#include "dpaudit/status.h"

/* "-" is standard input. On success the document has a root, and the caller must call
 * yaml_document_delete. */
dpa_status dpa__document_read(const char *path, yaml_document_t *out, dpa_error *err);

/* The pair with that key in a mapping; NULL if there is none or if the node is not a mapping. */
const yaml_node_pair_t *dpa__document_find(yaml_document_t *yaml, const yaml_node_t *mapping,
                                           const char *key, size_t length);
/* The text of a scalar; "" for any other node. */
const char *dpa__document_text(const yaml_node_t *node);

#endif
