/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the report on losses. */
#ifndef DPA_JUDGE_LOSSES_SECTIONS_H
#define DPA_JUDGE_LOSSES_SECTIONS_H

#include <jansson.h>

#include "dpaudit/report.h"

/* Each slice of the table by a column: section "groups". The bounds share the error. */
dpa_status dpa__losses_slices(dpa_report *report, const char *path, const char *column,
                              const dpa_request *request, json_t *section, dpa_error *err);
/* So many training records that stand out: section "records", "records_found". */
dpa_status dpa__losses_records(dpa_report *report, const dpa_losses *losses, size_t most,
                               json_t *section, dpa_error *err);

#endif
