/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the report on losses. */
#ifndef DPA_JUDGE_LOSSES_SECTIONS_H
#define DPA_JUDGE_LOSSES_SECTIONS_H

#include <jansson.h>

#include "report/report.h"

/* Section "groups": Epsilon* for each value of a column of the table. The bounds share the error.
 */
dpa_status dpa__losses_slices(dpa_report *report, const char *path, const char *column,
                              const dpa_request *request, json_t *section, dpa_error *err);
/* Sections "records" and "records_found": up to `most` training records that stand out. */
dpa_status dpa__losses_records(dpa_report *report, const dpa_losses *losses, size_t most,
                               json_t *section, dpa_error *err);

#endif
