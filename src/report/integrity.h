/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that a stored result is what the judge wrote. */
#ifndef DPA_REPORT_INTEGRITY_H
#define DPA_REPORT_INTEGRITY_H

#include <jansson.h>

#include "dpaudit/status.h"
#include "report/model.h"

/* Adds the digest of everything else in the result. */
dpa_status dpa__result_seal(json_t *result, dpa_error *err);
/* DPA_BAD_INPUT unless this is a result of dpaudit that is unchanged and does not contradict
 * itself. */
dpa_status dpa__result_check(const char *path, const json_t *result, dpa_error *err);

#endif
